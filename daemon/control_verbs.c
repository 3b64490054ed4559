/* Verbs about the process itself: status, version, stats, verbs. */
#include <string.h>
#include <unistd.h>

#include "bridge.h"
#include "buf.h"
#include "control.h"
#include "reactor.h"
#include "stats.h"
#include "target.h"

static uint64_t started_ns;

/* The clock of the uptime starts with the process, not with the first question. */
__attribute__((constructor)) static void
note_start(void)
{
	started_ns = now_ns();
}

static json_t *
version_run(json_t *params, char *err, size_t size)
{
	return json_pack("{s:s, s:s}", "name", "sluiced", "version", SLUICE_VERSION);
}

static const struct control_verb version_verb = {
	.name = "version", .help = "name and version of the daemon", .params = "", .columns = "",
	.run = version_run,
};
REGISTER(control_verbs, struct control_verb, &version_verb);

static json_t *
stats_run(json_t *params, char *err, size_t size)
{
	const struct counter *c;
	json_t *out = json_object();

	for_each_registered(counters, c)
		json_object_set_new(out, c->name, json_integer((json_int_t)counter_read(c)));
	return out;
}

static const struct control_verb stats_verb = {
	.name = "stats", .help = "every counter", .params = "", .columns = "", .run = stats_run,
};
REGISTER(control_verbs, struct control_verb, &stats_verb);

static json_t *
verb_json(const struct control_verb *v)
{
	const struct control_extra *extra;
	char columns[1024];
	size_t at = 0;

	text_add(columns, sizeof(columns), &at, "%s", v->columns);
	for_each_registered(control_extras, extra)
		if (!strcmp(extra->verb, v->name))
			text_add(columns, sizeof(columns), &at, " %s", extra->columns);
	return json_pack("{s:s, s:s, s:s, s:s}", "name", v->name, "help", v->help, "params",
	    v->params, "columns", columns);
}

/* What sluicectl needs to know any verb. */
static json_t *
verbs_run(json_t *params, char *err, size_t size)
{
	const struct control_verb *v;
	json_t *list = json_array();

	for_each_registered(control_verbs, v)
		json_array_append_new(list, verb_json(v));
	return json_pack("{s:o}", "verbs", list);
}

static const struct control_verb verbs_verb = {
	.name = "verbs", .help = "what can be asked", .params = "",
	.columns = "name:VERB params:PARAMETERS help:WHAT", .run = verbs_run,
};
REGISTER(control_verbs, struct control_verb, &verbs_verb);

/* -- status -- */

static void
see_memory(void *arg)
{
	buf_stats(reactor_self(), arg);
}

static json_t *
memory_json(const struct buf_stats *m)
{
	return json_pack("{s:I, s:I, s:I, s:I}", "budget", (json_int_t)m->budget, "mapped",
	    (json_int_t)m->mapped, "used", (json_int_t)m->used, "refused",
	    (json_int_t)m->refused);
}

static json_t *
reactor_json(struct reactor *r, struct buf_stats *sum)
{
	struct buf_stats m = { 0 };

	reactor_call(r, see_memory, &m);
	sum->budget += m.budget;
	sum->mapped += m.mapped;
	sum->used += m.used;
	sum->refused += m.refused;
	return json_pack("{s:i, s:i, s:I, s:I}", "id", (int)reactor_id(r), "connections",
	    (int)reactor_load(r), "memory_mapped", (json_int_t)m.mapped, "memory_used",
	    (json_int_t)m.used);
}

static unsigned
adapters(void)
{
	struct bridge_host *h = NULL;
	unsigned n = 0;

	while ((h = bridge_host_next(h)))
		n++;
	return n;
}

static unsigned
targets(void)
{
	struct target *t = NULL;
	unsigned n = 0;

	while ((t = target_next(t)))
		n++;
	return n;
}

static json_t *
status_run(json_t *params, char *err, size_t size)
{
	struct buf_stats sum = { 0 };
	json_t *list = json_array();
	unsigned connections = 0;

	for (unsigned i = 0; i < reactor_count(); i++) {
		connections += reactor_load(reactor_get(i));
		json_array_append_new(list, reactor_json(reactor_get(i), &sum));
	}
	return json_pack("{s:s, s:i, s:I, s:i, s:i, s:i, s:o, s:o}", "version", SLUICE_VERSION,
	    "pid", (int)getpid(), "uptime_s", (json_int_t)((now_ns() - started_ns) / 1000000000u),
	    "adapters", (int)adapters(), "targets", (int)targets(), "connections",
	    (int)connections, "memory", memory_json(&sum), "reactors", list);
}

static const struct control_verb status_verb = {
	.name = "status", .help = "how the daemon is", .params = "", .columns = "",
	.run = status_run,
};
REGISTER(control_verbs, struct control_verb, &status_verb);
