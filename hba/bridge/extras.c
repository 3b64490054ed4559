/* What the bridge adds to the verbs of others: LUNs, sessions and stats. */
#include "control.h"
#include "seen.h"

static void
number_set(json_t *row, const char *key, uint64_t v)
{
	json_object_set_new(row, key, json_integer((json_int_t)v));
}

static void
waits_add(json_t *row, const struct bridge_node_stats *s)
{
	number_set(row, "in_flight", s->in_flight);
	number_set(row, "waiting", s->waiting);
	number_set(row, "wait_p50_us", s->wait_p50_ns / 1000);
	number_set(row, "wait_p99_us", s->wait_p99_ns / 1000);
	number_set(row, "wait_max_us", s->wait_max_ns / 1000);
	number_set(row, "admitted", s->admitted);
	number_set(row, "slow", s->slow);
}

/* To each row whose `key` names a node of that kind. Without memory the rows stay as they are. */
static void
rows_add(json_t *rows, enum bridge_kind kind, const char *key,
    void (*add)(json_t *row, const struct seen_node *))
{
	struct seen_node node;
	struct seen seen;
	json_t *row;
	size_t i;

	if (seen_init(&seen) == 0)
		json_array_foreach(rows, i, row) {
			const char *name = json_string_value(json_object_get(row, key));

			if (name && seen_find(&seen, kind, name, &node))
				add(row, &node);
		}
	seen_fini(&seen);
}

static void
lun_add(json_t *row, const struct seen_node *node)
{
	number_set(row, "depth", node->stats.limit);
	number_set(row, "depth_configured", node->stats.configured);
	waits_add(row, &node->stats);
}

static void
luns_add(json_t *result)
{
	rows_add(json_object_get(result, "luns"), BRIDGE_LUN, "disk", lun_add);
}

static const struct control_extra luns = {
	.verb = "luns",
	.columns = "depth:DEPTH:r in_flight:FLIGHT:r waiting:WAIT:r wait_p99_us:P99-US:r",
	.add = luns_add,
	.last = true,
};
REGISTER(control_extras, struct control_extra, &luns);

/* Of the initiator, over all its sessions: so its limits and its share are counted. */
static void
session_add(json_t *row, const struct seen_node *node)
{
	waits_add(row, &node->stats);
	json_object_set_new(row, "share", json_real(node->share));
	json_object_set_new(row, "depth", node->stats.limit == UINT32_MAX ? json_null() :
	    json_integer(node->stats.limit));
}

static void
sessions_add(json_t *result)
{
	rows_add(json_object_get(result, "sessions"), BRIDGE_INITIATOR, "initiator", session_add);
}

static const struct control_extra sessions = {
	.verb = "sessions",
	.columns = "depth:DEPTH:r in_flight:FLIGHT:r waiting:WAIT:r wait_p99_us:P99-US:r "
		   "share:SHARE%:r",
	.add = sessions_add,
	.last = true,
};
REGISTER(control_extras, struct control_extra, &sessions);

/* The adapters' own rows, summed: a request is counted once. */
static void
stats_add(json_t *result)
{
	uint64_t fast = 0, slow = 0, merged = 0, handed = 0, flushes = 0, waiting = 0;
	struct seen seen;
	int err = seen_init(&seen);

	for (unsigned i = 0; i < seen.n; i++) {
		const struct bridge_node_stats *s = &seen.node[i].stats;

		if (s->kind != BRIDGE_HOST)
			continue;
		fast += s->fast;
		slow += s->slow;
		merged += s->merged;
		handed += s->handoffs;
		flushes += s->flushes;
		waiting += s->waiting;
	}
	seen_fini(&seen);
	if (err)
		return;
	number_set(result, "bridge_fast", fast);
	number_set(result, "bridge_slow", slow);
	number_set(result, "bridge_merged", merged);
	number_set(result, "bridge_handed", handed);
	number_set(result, "bridge_flushes", flushes);
	number_set(result, "bridge_waiting", waiting);
}

static const struct control_extra stats = {
	.verb = "stats",
	.columns = "",
	.add = stats_add,
};
REGISTER(control_extras, struct control_extra, &stats);
