/* The requests of one flow that wait, and which of them is next. */
#include "order.h"

#include <assert.h>

enum { IN_LINE, SORTED, AGAIN };	/* bridge_req.place */

_Static_assert(DISK_READ == 0 && DISK_WRITE == 1, "index struct order.sorted");

void
order_init(struct order *o)
{
	list_init(&o->again);
	list_init(&o->line);
	for (int i = 0; i < 2; i++) {
		tree_init(&o->sorted[i].tree);
		list_init(&o->sorted[i].oldest);
	}
	o->count = 0;
	o->batch = o->reads_first = 0;
	o->op = DISK_READ;
}

void
order_add(struct order *o, struct bridge_req *req)
{
	req->place = IN_LINE;
	list_add_tail(&o->line, &req->link);
	o->count++;
}

void
order_add_again(struct order *o, struct bridge_req *req)
{
	req->place = AGAIN;
	list_add_tail(&o->again, &req->link);
	o->count++;
}

void
order_del(struct order *o, struct bridge_req *req)
{
	if (req->place == SORTED)
		tree_del(&o->sorted[req->io.op].tree, req);
	list_del(&req->link);
	o->count--;
}

/* Sorts those that came next, up to a barrier; a few at a time, since the lock is held. */
static void
sort_some(struct order *o)
{
	for (int i = 0; i < ORDER_SORT && !list_empty(&o->line); i++) {
		struct bridge_req *req = list_first(&o->line, struct bridge_req, link);
		struct sorted *to = &o->sorted[req->io.op == DISK_WRITE];

		if (!order_is_transfer(req))
			return;
		list_del(&req->link);
		list_add_tail(&to->oldest, &req->link);
		tree_add(&to->tree, req);
		req->place = SORTED;
	}
}

/* Which direction the next batch has: reads, but not always. */
static uint8_t
batch_begin(struct order *o)
{
	o->batch = 0;
	if (list_empty(&o->sorted[DISK_WRITE].oldest))
		return DISK_READ;
	if (!list_empty(&o->sorted[DISK_READ].oldest) && o->reads_first < ORDER_READS_FIRST) {
		o->reads_first++;
		return DISK_READ;
	}
	o->reads_first = 0;
	return DISK_WRITE;
}

/*
 * The first of a batch: the oldest if it waited too long; else the next on the
 * way, or from the start again.
 */
static struct bridge_req *
batch_first(const struct sorted *s, uint64_t at, uint64_t patience, uint64_t now)
{
	struct bridge_req *req = list_first(&s->oldest, struct bridge_req, link);

	/* It may have come after `now` was read. */
	if ((int64_t)(now - req->wait_ns) >= (int64_t)patience)
		return req;
	req = tree_from(&s->tree, at);
	return req ? req : tree_from(&s->tree, 0);
}

static struct bridge_req *
sorted_next(struct order *o, struct sweep *sweep, uint64_t now)
{
	static const uint64_t patience[] = { ORDER_READ_NS, ORDER_WRITE_NS };
	struct bridge_req *req = NULL;

	if (o->batch > 0 && o->batch < ORDER_BATCH)
		req = tree_from(&o->sorted[o->op].tree, sweep->at);
	if (!req) {
		o->op = batch_begin(o);
		req = batch_first(&o->sorted[o->op], sweep->at, patience[o->op], now);
	}
	o->batch++;
	sweep->at = req->io.offset + req->io.len;
	return req;
}

static bool
is_sorted_empty(const struct order *o)
{
	return list_empty(&o->sorted[DISK_READ].oldest) &&
	    list_empty(&o->sorted[DISK_WRITE].oldest);
}

struct bridge_req *
order_take(struct order *o, struct sweep *sweep, uint64_t now)
{
	struct bridge_req *req;

	assert(o->count > 0);
	if (!list_empty(&o->again)) {
		req = list_first(&o->again, struct bridge_req, link);
	} else {
		if (sweep->on)
			sort_some(o);
		/* Also when sorting was switched off: they came before those in line. */
		if (!is_sorted_empty(o))
			req = sorted_next(o, sweep, now);
		else
			req = list_first(&o->line, struct bridge_req, link);
	}
	order_del(o, req);
	return req;
}

struct bridge_req *
order_next(const struct order *o, const struct bridge_req *req)
{
	const struct list *lists[] = { &o->again, &o->sorted[DISK_READ].oldest,
		&o->sorted[DISK_WRITE].oldest, &o->line };
	const struct list *next = req ? req->link.next : lists[0]->next;

	/* At the head of a list: on to the next one that has members. */
	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		if (next == lists[i])
			next = i + 1 < ARRAY_LEN(lists) ? lists[i + 1]->next : NULL;
	return next ? list_entry(next, struct bridge_req, link) : NULL;
}
