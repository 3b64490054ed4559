/* The configuration: top-level keys, and a load from beginning to end. */
#include "conf_load.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "reactor.h"
#include "transport.h"

#define AT(f) .offset = offsetof(struct conf, f)

const struct conf_key conf_top_keys[] = {
	{ "reactors", CONF_UINT_AUTO, .min = 1, .max = REACTORS_MAX, AT(reactors), .fallback = "auto",
	    .help = "threads that serve connections; auto: one per processor" },
	{ "poll", CONF_TIME, .max = 1000000000, AT(poll_ns), .fallback = "50us",
	    .help = "how long a busy reactor polls after the last event before it sleeps; 0 never" },
	{ "memory", CONF_SIZE, .min = 64 << 20, AT(memory), .fallback = "1G",
	    .help = "budget for data on its way; above it sockets are not read" },
	{ "control", CONF_TEXT, .min = 1, .max = 107, AT(control),
	    .fallback = "/run/sluice/control.sock", .help = "socket of sluicectl" },
	{ "state_dir", CONF_TEXT, AT(state_dir), .fallback = "/var/lib/sluice",
	    .help = "folder of what must survive a restart" },
	{ "metrics", CONF_TEXT, CONF_LATER, .help = "address of the OpenMetrics page" },
	{ "include", CONF_TEXTS, CONF_LATER,
	    .help = "more files, relative to this one; patterns are allowed" },
	{ "adapters", CONF_CUSTOM, .parse = conf_adapters, .help = "what holds the disks" },
	{ "portals", CONF_CUSTOM, .parse = conf_portals, .help = "where initiators connect" },
	{ "auth", CONF_CUSTOM, .parse = conf_auths, .help = "who may log in with which secret" },
	{ "targets", CONF_CUSTOM, .parse = conf_targets, .help = "what initiators see" },
	{ .name = NULL }
};

int
conf_begin(struct conf_load *l)
{
	memset(l, 0, sizeof(*l));
	l->keep = arena_new();
	l->scratch = arena_new();
	if (!l->keep || !l->scratch)
		goto fail;
	l->conf = arena_get(l->keep, sizeof(*l->conf));
	l->root = arena_get(l->scratch, sizeof(*l->root));
	if (!l->conf || !l->root)
		goto fail;
	l->conf->arena = l->keep;
	list_init(&l->conf->adapters);
	list_init(&l->conf->portals);
	list_init(&l->conf->auths);
	list_init(&l->conf->targets);
	l->root->kind = NODE_MAP;
	return 0;
fail:
	arena_free(l->keep);
	arena_free(l->scratch);
	return -ENOMEM;
}

/* From the tree to the structs; cross references last, they may lead to any file. */
static void
conf_check(struct conf_load *l)
{
	struct conf_rows rows = { conf_top_keys, l->conf };
	const struct transport *t;

	l->conf->pos = (struct conf_pos){ l->files->name, 1, 1 };
	if (!l->root->n) {
		/* An emptied file must not take every target away at the next reload. */
		if (!l->partial)
			conf_error(l, l->conf->pos,
			    "nothing is configured: there is no key in the file");
		return;
	}
	conf_map(l, l->root, "the top level", &rows, 1);
	conf_adapters_check(l);
	conf_names_check(l);
	for_each_registered(transports, t)
		if (t->check)
			t->check(l, l->conf);
	conf_depths_set(l->conf);
}

int
conf_end(struct conf_load *l, struct conf **out, FILE *err)
{
	int result;

	if (l->files)
		conf_check(l);
	result = l->no_memory ? -ENOMEM : l->nerrors ? -EINVAL : 0;
	conf_issues_print(l, err);
	arena_free(l->scratch);
	*out = result ? NULL : l->conf;
	if (result)
		arena_free(l->keep);
	return result;
}

int
conf_load_default(const char *path, const char *dropins, struct conf **out, FILE *err)
{
	struct conf_load l;
	int e = conf_begin(&l);

	*out = NULL;
	if (e)
		return e;
	conf_read(&l, path);
	if (dropins)
		conf_read_dropins(&l, dropins);
	return conf_end(&l, out, err);
}

int
conf_load(const char *path, struct conf **out, void *err)
{
	if (path)
		return conf_load_default(path, NULL, out, err);
	return conf_load_default("/etc/sluice/sluice.yaml", "/etc/sluice/conf.d/*.yaml", out, err);
}

int
conf_load_text(const char *name, const char *text, size_t len, struct conf **out, void *err)
{
	struct conf_load l;
	int e = conf_begin(&l);

	*out = NULL;
	if (e)
		return e;
	conf_read_text(&l, name, text, len);
	return conf_end(&l, out, err);
}

void
conf_free(struct conf *conf)
{
	if (conf)
		arena_free(conf->arena);
}
