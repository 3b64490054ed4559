/* Control verb: limits that change at once, until the next start. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bridge.h"
#include "control.h"
#include "disk.h"

static const char *const kinds[] = {
	[BRIDGE_HOST] = "adapter",
	[BRIDGE_TARGET] = "target",
	[BRIDGE_LUN] = "lun",
	[BRIDGE_INITIATOR] = "initiator",
};

/* What is asked for. */
struct setting {
	char kind[16], name[256], what[16], value[16];
};

static bool
word_copy(char *to, size_t size, const char *from, size_t len)
{
	if (!len || len >= size)
		return false;
	memcpy(to, from, len);
	to[len] = '\0';
	return true;
}

/* "lun/NAME/depth=N": the name may hold anything, the others no slash and no equals sign. */
static bool
path_read(struct setting *s, const char *path)
{
	const char *name = strchr(path, '/'), *value = strrchr(path, '='), *what;

	if (!name || !value || value < name)
		return false;
	what = memrchr(name, '/', (size_t)(value - name));
	return what != name && word_copy(s->kind, sizeof(s->kind), path, (size_t)(name - path)) &&
	    word_copy(s->name, sizeof(s->name), name + 1, (size_t)(what - name - 1)) &&
	    word_copy(s->what, sizeof(s->what), what + 1, (size_t)(value - what - 1)) &&
	    word_copy(s->value, sizeof(s->value), value + 1, strlen(value + 1));
}

static bool
param_read(json_t *params, const char *key, char *to, size_t size)
{
	const json_t *v = json_object_get(params, key);

	if (json_is_integer(v))
		return (size_t)snprintf(to, size, "%lld", (long long)json_integer_value(v)) < size;
	return json_is_string(v) && word_copy(to, size, json_string_value(v), json_string_length(v));
}

static bool
params_read(struct setting *s, json_t *params)
{
	const char *kind = json_string_value(json_object_get(params, "kind"));

	if (kind && json_object_size(params) == 1)
		return path_read(s, kind);
	return param_read(params, "kind", s->kind, sizeof(s->kind)) &&
	    param_read(params, "name", s->name, sizeof(s->name)) &&
	    param_read(params, "what", s->what, sizeof(s->what)) &&
	    param_read(params, "value", s->value, sizeof(s->value));
}

/* A bus target may be "ADAPTER/0:1"; then it is that adapter's. Returns the name on this one, or NULL. */
static const char *
name_on(const struct bridge_host *h, enum bridge_kind kind, const char *name)
{
	const char *slash = kind == BRIDGE_TARGET ? strchr(name, '/') : NULL;
	const char *host = bridge_host_name(h);

	if (!slash)
		return name;
	return strlen(host) == (size_t)(slash - name) && !memcmp(host, name, (size_t)(slash - name)) ?
	    slash + 1 : NULL;
}

/* On every adapter that has such a thing. Returns on how many, or -EINVAL. */
static int
limit_set(enum bridge_kind kind, const char *name, uint32_t limit)
{
	int n = 0, err;

	for (struct bridge_host *h = bridge_host_next(NULL); h; h = bridge_host_next(h)) {
		const char *here = name_on(h, kind, name);

		if (!here)
			continue;
		err = bridge_set_limit(h, kind, here, limit);
		if (err == -EINVAL)
			return err;
		n += err == 0;
	}
	return n;
}

static int
kind_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (strcmp(kinds[i], name) == 0)
			return (int)i;
	return -1;
}

static json_t *
set_run(json_t *params, char *err, size_t err_size)
{
	struct setting s = { .kind = "" };
	unsigned long value;
	char *end;
	int kind, n;

	if (!params_read(&s, params)) {
		snprintf(err, err_size, "set takes KIND NAME limit N, or KIND/NAME/limit=N");
		return NULL;
	}
	kind = kind_find(s.kind);
	if (kind < 0 || (strcmp(s.what, "limit") && strcmp(s.what, "depth"))) {
		snprintf(err, err_size, "what can be set is the limit of an adapter, target, lun "
		    "or initiator");
		return NULL;
	}
	errno = 0;
	value = strtoul(s.value, &end, 10);
	/* No blanks and no sign. */
	if (*end || errno || s.value[0] < '0' || s.value[0] > '9' || value > UINT32_MAX)
		value = 0;
	n = value ? limit_set((enum bridge_kind)kind, s.name, (uint32_t)value) : -EINVAL;
	if (n == -EINVAL)
		snprintf(err, err_size, "a limit is 1 to the can_queue of the start%s, not %s",
		    kind == BRIDGE_HOST ? ", and divided at least 1 for each queue" : "",
		    s.value);
	else if (n == 0)
		snprintf(err, err_size, "there is no such %s; `adapters` lists them", s.kind);
	return n > 0 ? json_pack("{s:s, s:s, s:I}", "kind", s.kind, "name", s.name, "limit",
	    (json_int_t)value) : NULL;
}

static const struct control_verb set_verb = {
	.name = "set",
	.help = "a limit at once, until the next start: set lun NAME depth N, or lun/NAME/depth=N",
	.params = "kind name what value",
	.columns = "",
	.run = set_run,
};
REGISTER(control_verbs, struct control_verb, &set_verb);
