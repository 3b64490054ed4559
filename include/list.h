/* A doubly linked list whose links live in the members. Not thread-safe. */
#ifndef LIST_H
#define LIST_H

#include <stdbool.h>

#include "util.h"

struct list {
	struct list *next, *prev;
};

#define LIST_INIT(l) { &(l), &(l) }

static inline void
list_init(struct list *l)
{
	l->next = l->prev = l;
}

static inline bool
list_empty(const struct list *l)
{
	return l->next == l;
}

/* Puts n behind the last member; l is the head. */
static inline void
list_add_tail(struct list *l, struct list *n)
{
	n->prev = l->prev;
	n->next = l;
	l->prev->next = n;
	l->prev = n;
}

static inline void
list_add_head(struct list *l, struct list *n)
{
	list_add_tail(l->next, n);
}

/* Takes n out; n is then an empty list, so taking it out again does no harm. */
static inline void
list_del(struct list *n)
{
	n->prev->next = n->next;
	n->next->prev = n->prev;
	list_init(n);
}

/* Moves all members of from to the tail of l. */
static inline void
list_splice_tail(struct list *l, struct list *from)
{
	if (list_empty(from))
		return;
	from->next->prev = l->prev;
	l->prev->next = from->next;
	from->prev->next = l;
	l->prev = from->prev;
	list_init(from);
}

#define list_entry(ptr, type, member) container_of(ptr, type, member)
#define list_first(l, type, member) list_entry((l)->next, type, member)

/* The link of *pos by its address alone: at a loop's end pos is no object, and may not be aligned as one. */
#define list_link(pos, member)                                                      \
	((struct list *)((char *)(pos) + offsetof(__typeof__(*(pos)), member)))

/* The loop body must not take other members out; the safe form allows taking out the present one. */
#define list_for_each(pos, l, member)                                               \
	for (pos = list_entry((l)->next, __typeof__(*pos), member);                 \
	     list_link(pos, member) != (l);                                         \
	     pos = list_entry(pos->member.next, __typeof__(*pos), member))

#define list_for_each_safe(pos, tmp, l, member)                                     \
	for (pos = list_entry((l)->next, __typeof__(*pos), member),                 \
	    tmp = list_entry(list_link(pos, member)->next, __typeof__(*pos), member); \
	     list_link(pos, member) != (l);                                         \
	     pos = tmp, tmp = list_entry(list_link(tmp, member)->next, __typeof__(*tmp), member))

#endif
