/* Waiting requests sorted by address: a treap without memory of its own. */
#include "tree.h"

#include "util.h"

/* An initiator that knew the weights could choose addresses that make the tree a list. */
void
tree_init(struct tree *t)
{
	t->root = NULL;
	t->seed = now_ns() ^ (uintptr_t)t;
}

static uint32_t
weight_next(struct tree *t)
{
	t->seed = t->seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(t->seed >> 32);
}

/* Where n hangs. */
static struct bridge_req **
place_of(struct tree *t, struct bridge_req *n)
{
	if (!n->up)
		return &t->root;
	return n->up->left == n ? &n->up->left : &n->up->right;
}

/*
 *	   p		    n
 *	  / \		   / \
 *	 n   c	  <->	  a   p		the order a n b p c stays
 *	/ \		     / \
 *     a   b		    b   c
 */
static void
rotate_up(struct tree *t, struct bridge_req *n)
{
	struct bridge_req *p = n->up, *b;

	*place_of(t, p) = n;
	n->up = p->up;
	p->up = n;
	if (p->left == n) {
		p->left = b = n->right;
		n->right = p;
	} else {
		p->right = b = n->left;
		n->left = p;
	}
	if (b)
		b->up = p;
}

void
tree_add(struct tree *t, struct bridge_req *n)
{
	struct bridge_req **at = &t->root;

	n->up = n->left = n->right = NULL;
	n->weight = weight_next(t);
	while (*at) {
		n->up = *at;
		at = n->io.offset < n->up->io.offset ? &n->up->left : &n->up->right;
	}
	*at = n;
	while (n->up && n->up->weight < n->weight)
		rotate_up(t, n);
}

void
tree_del(struct tree *t, struct bridge_req *n)
{
	struct bridge_req *child;

	while (n->left && n->right)
		rotate_up(t, n->left->weight > n->right->weight ? n->left : n->right);
	child = n->left ? n->left : n->right;
	*place_of(t, n) = child;
	if (child)
		child->up = n->up;
	n->up = n->left = n->right = NULL;
}

struct bridge_req *
tree_from(const struct tree *t, uint64_t offset)
{
	struct bridge_req *n = t->root, *found = NULL;

	while (n)
		if (n->io.offset >= offset) {
			found = n;
			n = n->left;
		} else {
			n = n->right;
		}
	return found;
}

struct bridge_req *
tree_before(const struct tree *t, uint64_t offset)
{
	struct bridge_req *n = t->root, *found = NULL;

	while (n)
		if (n->io.offset < offset) {
			found = n;
			n = n->right;
		} else {
			n = n->left;
		}
	return found;
}
