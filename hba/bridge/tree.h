/* Waiting requests sorted by address, with their links inside. */
#ifndef TREE_H
#define TREE_H

#include <stdint.h>

#include "bridge.h"

/*
 * A treap: a search tree by io.offset, and a heap by a random weight that each
 * request gets when it comes, so that its depth is that of a random order,
 * whatever the addresses. All calls but init are O(log n).
 */
struct tree {
	struct bridge_req *root;
	uint64_t seed;
};

void tree_init(struct tree *);
/* Behind those with the same address. io.offset must not change while it is in. */
void tree_add(struct tree *, struct bridge_req *);
void tree_del(struct tree *, struct bridge_req *);

/* The first at this address or above it; of several there the one that came first. NULL: none. */
struct bridge_req *tree_from(const struct tree *, uint64_t offset);
/* The last below this address; of several there the one that came last. NULL: none. */
struct bridge_req *tree_before(const struct tree *, uint64_t offset);

#endif
