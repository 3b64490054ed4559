/* Control verb: what simulated adapters have counted. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "control.h"

#include "sim.h"

static json_t *
row_json(const struct sim_row *r)
{
	static const char *const kinds[] = {
		[SIM_ADAPTER] = "adapter", [SIM_TARGET] = "target", [SIM_DISK] = "disk",
		[SIM_INITIATOR] = "initiator",
	};
	json_t *limit = r->limit ? json_integer(r->limit) : json_null();

	return json_pack("{ss ss ss ss so sI sI sI sI sI}", "adapter", r->adapter, "kind",
	    kinds[r->kind], "name", r->name, "state", r->offline ? "offline" : "online", "limit",
	    limit, "in_flight", (json_int_t)r->in_flight, "max", (json_int_t)r->max, "commands",
	    (json_int_t)r->commands, "bytes", (json_int_t)r->bytes, "busy", (json_int_t)r->busy);
}

static json_t *
sim_run(json_t *params, char *err, size_t err_size)
{
	/* Initiators may come between the two calls; those are seen the next time. */
	unsigned max = sim_rows(NULL, 0), n;
	struct sim_row *rows = calloc(max + 1, sizeof(*rows));
	json_t *out = json_array();

	if (!rows || !out) {
		free(rows);
		json_decref(out);
		snprintf(err, err_size, "out of memory; try again");
		return NULL;
	}
	n = sim_rows(rows, max);
	for (unsigned i = 0; i < MIN(n, max); i++)
		json_array_append_new(out, row_json(&rows[i]));
	free(rows);
	return json_pack("{so}", "sim", out);
}

static const struct control_verb sim_verb = {
	.name = "sim",
	.help = "simulated adapters: what they counted themselves, whatever the bridge believes",
	.params = "",
	.columns = "adapter:ADAPTER kind:KIND name:NAME state:STATE limit:LIMIT:r "
		   "in_flight:FLIGHT:r max:MAX:r commands:COMMANDS:r bytes:BYTES:r busy:BUSY:r",
	.run = sim_run,
};
REGISTER(control_verbs, struct control_verb, &sim_verb);
