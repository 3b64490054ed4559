/* Neighbours that ride in one adapter command: found, built and let go. */
#include "merge.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

int
merge_pool_init(struct merge_pool *p, uint32_t n)
{
	p->free = NULL;
	p->fresh = 0;
	atomic_init(&p->back, NULL);
	/* Large memory from calloc is not touched: what is never in use costs addresses only. */
	p->all = calloc(n, sizeof(*p->all));
	p->n = p->all ? n : 0;
	return p->all ? 0 : -ENOMEM;
}

void
merge_pool_fini(struct merge_pool *p)
{
	uint32_t home = 0;

	for (struct merge *m = p->free; m; m = m->next)
		home++;
	for (struct merge *m = atomic_load(&p->back); m; m = m->next)
		home++;
	assert(home == p->fresh);
	free(p->all);
	*p = (struct merge_pool){ 0 };
}

static struct merge *
merge_get(struct merge_pool *p)
{
	struct merge *m;

	/* Acquire: whoever gave it back has finished with it. */
	if (!p->free)
		p->free = atomic_exchange_explicit(&p->back, NULL, memory_order_acquire);
	m = p->free;
	if (m)
		p->free = m->next;
	else if (p->fresh < p->n)
		m = &p->all[p->fresh++];
	return m;
}

/* Taken over only whole, so that one that is away and back (ABA) does no harm. */
static void
merge_put(struct merge_pool *p, struct merge *m)
{
	m->next = atomic_load_explicit(&p->back, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&p->back, &m->next, m, memory_order_release,
	    memory_order_relaxed))
		;
}

static void
merge_init(struct merge *m, const struct disk_io *io)
{
	list_init(&m->below);
	list_init(&m->above);
	m->offset = m->own.offset = io->offset;
	m->len = m->own.len = io->len;
	m->own.iov = io->iov;
	m->niov = m->own.niov = io->niov;
	m->riders = 0;
}

/* May this one come along, if it is a neighbour? */
static bool
is_alike(const struct merge *m, const struct disk_io *of, const struct bridge_req *req,
    uint64_t max_xfer)
{
	return req->io.op == of->op && req->io.flags == of->flags && !req->alone &&
	    req->io.len <= max_xfer - m->len && req->io.niov <= MERGE_IOV - m->niov;
}

static bool
is_neighbour(const struct merge *m, const struct bridge_req *req)
{
	return req->io.offset == m->offset + m->len || req->io.offset + req->io.len == m->offset;
}

static void
join(struct merge *m, struct order *o, struct bridge_req *req)
{
	order_del(o, req);
	if (req->io.offset == m->offset + m->len) {
		list_add_tail(&m->above, &req->link);
	} else {
		list_add_head(&m->below, &req->link);
		m->offset = req->io.offset;
	}
	m->len += req->io.len;
	m->niov += req->io.niov;
	m->riders++;
	req->merge = m;
}

/* Those that are sorted: both neighbours are found by their address. */
static void
gather_sorted(struct merge *m, struct order *o, const struct disk_io *of, uint64_t max_xfer)
{
	const struct tree *t = &o->sorted[of->op].tree;
	struct bridge_req *req;

	while ((req = tree_from(t, m->offset + m->len)) && is_neighbour(m, req) &&
	    is_alike(m, of, req, max_xfer))
		join(m, o, req);
	while ((req = tree_before(t, m->offset)) && is_neighbour(m, req) &&
	    is_alike(m, of, req, max_xfer))
		join(m, o, req);
}

/*
 * Those in line: neighbours of a sequential stream stand close together. Nobody
 * from behind a barrier.
 */
static void
gather_in_line(struct merge *m, struct order *o, const struct disk_io *of, uint64_t max_xfer)
{
	struct bridge_req *req, *next;
	int misses = 0;

	list_for_each_safe(req, next, &o->line, link) {
		if (!order_is_transfer(req))
			return;
		if (is_neighbour(m, req) && is_alike(m, of, req, max_xfer)) {
			join(m, o, req);
			misses = 0;
		} else if (++misses == MERGE_LOOK) {
			return;
		}
	}
}

uint32_t
merge_gather(struct merge_pool *p, struct order *o, struct bridge_req *leader, uint64_t max_xfer)
{
	const struct disk_io *io = &leader->io;
	struct merge *m;

	assert(!leader->merge);
	if (leader->alone || !order_is_transfer(leader) || order_empty(o) ||
	    io->len >= max_xfer || io->niov >= MERGE_IOV ||
	    /* It answers with its own memory, in as many parts as it likes. */
	    (io->op == DISK_READ && io->disk->caps & DISK_CAP_LENDS))
		return 0;
	m = merge_get(p);
	if (!m)
		return 0;
	merge_init(m, io);
	gather_sorted(m, o, io, max_xfer);
	gather_in_line(m, o, io, max_xfer);
	if (m->riders == 0) {
		m->next = p->free;
		p->free = m;
		return 0;
	}
	leader->merge = m;
	return m->riders;
}

static struct iovec *
iov_add(struct iovec *to, const struct iovec *iov, int n)
{
	memcpy(to, iov, (size_t)n * sizeof(*to));
	return to + n;
}

void
merge_build(struct bridge_req *leader)
{
	struct merge *m = leader->merge;
	struct iovec *to = m->iov;
	const struct bridge_req *req;

	list_for_each(req, &m->below, link)
		to = iov_add(to, req->io.iov, req->io.niov);
	to = iov_add(to, m->own.iov, m->own.niov);
	list_for_each(req, &m->above, link)
		to = iov_add(to, req->io.iov, req->io.niov);
	assert(to - m->iov == m->niov);
	leader->io.offset = m->offset;
	leader->io.len = m->len;
	leader->io.iov = m->iov;
	leader->io.niov = m->niov;
}

static bool
any_unwanted(const struct list *riders)
{
	const struct bridge_req *req;

	list_for_each(req, riders, link)
		if (req->unwanted)
			return true;
	return false;
}

bool
merge_is_unwanted(const struct bridge_req *leader)
{
	const struct merge *m = leader->merge;

	return leader->unwanted || any_unwanted(&m->below) || any_unwanted(&m->above);
}

void
merge_end(struct merge_pool *p, struct bridge_req *leader, struct list *to)
{
	struct merge *m = leader->merge;
	struct bridge_req *req;

	assert(list_empty(to));
	list_splice_tail(to, &m->below);
	list_splice_tail(to, &m->above);
	list_for_each(req, to, link) {
		req->merge = NULL;
		req->io.result = leader->io.result;
	}
	leader->io.offset = m->own.offset;
	leader->io.len = m->own.len;
	leader->io.iov = m->own.iov;
	leader->io.niov = m->own.niov;
	leader->merge = NULL;
	merge_put(p, m);
}
