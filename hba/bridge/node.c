/* A thing with a limit: making it, and reading it out. */
#include "node.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void
bridge_node_init(struct bridge_node *n, enum level level, char *name, uint32_t limit)
{
	memset(n, 0, sizeof(*n));
	n->level = level;
	n->name = name;
	n->limit = limit;
	list_init(&n->ring);
	list_init(&n->dirty);
	list_init(&n->link);
}

struct bridge_node *
bridge_node_new(enum level level, const char *name, uint32_t limit)
{
	struct bridge_node *n = aligned_alloc(CACHE_LINE,
	    (sizeof(*n) + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE);
	char *copy = strdup(name);

	if (!n || !copy) {
		free(n);
		free(copy);
		return NULL;
	}
	bridge_node_init(n, level, copy, limit);
	return n;
}

void
bridge_node_free(struct bridge_node *n)
{
	if (!n)
		return;
	assert(n->in_flight == 0 && n->waiting == 0 && list_empty(&n->ring));
	list_del(&n->dirty);
	list_del(&n->link);
	free(n->name);
	free(n);
}

enum bridge_kind
bridge_node_kind(const struct bridge_node *n)
{
	static const uint8_t kinds[LEVELS] = {
		[AT_INITIATOR] = BRIDGE_INITIATOR,
		[AT_LUN] = BRIDGE_LUN,
		[AT_TARGET] = BRIDGE_TARGET,
		[AT_HOST] = BRIDGE_HOST,
	};

	return kinds[n->level];
}

void
bridge_node_read(const struct bridge_node *n, struct bridge_node_stats *s)
{
	size_t len = strnlen(n->name, sizeof(s->name) - 1);

	memset(s, 0, sizeof(*s));
	s->kind = bridge_node_kind(n);
	memcpy(s->name, n->name, len);
	s->limit = n->limit;
	s->in_flight = n->in_flight;
	s->max_in_flight = n->max_in_flight;
	s->waiting = n->waiting;
	s->admitted = n->admitted;
	s->waited = n->waited;
	s->wait_ns = n->wait_ns;
	s->wait_max_ns = n->wait_max_ns;
}
