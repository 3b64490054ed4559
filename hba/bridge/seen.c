/* What the nodes of all adapters have counted, for verbs. */
#include "seen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Appends one adapter's. Initiators may come between the two calls; those are seen the next time. */
static int
host_see(struct seen *seen, struct bridge_host *h)
{
	unsigned max = bridge_stats(h, NULL, 0), n;
	struct bridge_node_stats *s = calloc(max, sizeof(*s));
	struct seen_node *node = realloc(seen->node, (seen->n + max) * sizeof(*node));

	if (node)
		seen->node = node;
	if (!s || !node) {
		free(s);
		return -ENOMEM;
	}
	n = bridge_stats(h, s, max);
	for (unsigned i = 0; i < MIN(n, max); i++)
		node[seen->n++] = (struct seen_node){ .host = h, .stats = s[i] };
	free(s);
	return 0;
}

/* In tenths, so that people can read it. */
static double
percent(uint64_t part, uint64_t all)
{
	return all ? (double)(part * 1000 / all) / 10 : 0;
}

/* The adapter's own row stands first. */
static void
shares_set(struct seen_node *node, unsigned n)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < n; i++)
		if (node[i].stats.kind == BRIDGE_INITIATOR)
			all += node[i].stats.admitted;
	for (unsigned i = 0; i < n; i++)
		if (node[i].stats.kind == BRIDGE_INITIATOR)
			node[i].share = percent(node[i].stats.admitted, all);
}

int
seen_init(struct seen *seen)
{
	struct bridge_host *h;
	unsigned first;
	int err;

	*seen = (struct seen){ .node = NULL };
	for (h = bridge_host_next(NULL); h; h = bridge_host_next(h)) {
		first = seen->n;
		err = host_see(seen, h);
		if (err)
			return err;
		shares_set(seen->node + first, seen->n - first);
	}
	return 0;
}

void
seen_fini(struct seen *seen)
{
	free(seen->node);
}

static void
node_add(struct seen_node *to, const struct seen_node *from)
{
	struct bridge_node_stats *a = &to->stats;
	const struct bridge_node_stats *b = &from->stats;

	a->limit = b->limit > UINT32_MAX - a->limit ? UINT32_MAX : a->limit + b->limit;
	a->in_flight += b->in_flight;
	a->waiting += b->waiting;
	a->admitted += b->admitted;
	a->slow += b->slow;
	a->wait_p50_ns = MAX(a->wait_p50_ns, b->wait_p50_ns);
	a->wait_p99_ns = MAX(a->wait_p99_ns, b->wait_p99_ns);
	a->wait_max_ns = MAX(a->wait_max_ns, b->wait_max_ns);
	to->share = MAX(to->share, from->share);
}

bool
seen_find(const struct seen *seen, enum bridge_kind kind, const char *name, struct seen_node *out)
{
	bool found = false;

	for (unsigned i = 0; i < seen->n; i++) {
		const struct seen_node *node = &seen->node[i];

		if (node->stats.kind != kind || strcmp(node->stats.name, name) != 0)
			continue;
		if (found)
			node_add(out, node);
		else
			*out = *node;
		found = true;
	}
	return found;
}
