/* Sending: the line of tasks, work requests in one chain a round, room in the send queue. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stats.h"

#include "channel.h"

COUNTER(posts, "srp_posts", "calls that posted work requests, and with them");
COUNTER(work_requests, "srp_work_requests", "work requests posted");
COUNTER(full, "srp_send_queue_full", "times that work waited for room in a send queue");
COUNTER(refused, "srp_posts_refused", "posts that the device had no room for; tried again");

#define RETRY_NS (1 * MS)

/* -- posting -- */

/* Posts what was built. False: the device has no room or the channel ended; build nothing more. */
static bool
tx_post(struct srp_channel *ch)
{
	struct batch *b = ch->batch;
	struct fabric_wr *bad = NULL;
	int rc;

	if (rx_repost(ch) < 0) {
		channel_drop(ch, "cannot post receives");
		return false;
	}
	if (b->first == b->n)
		return true;
	for (uint32_t i = b->first; i < b->n; i++)
		b->wr[i].next = i + 1 < b->n ? &b->wr[i + 1] : NULL;
	rc = ch->fabric->post_send(ch->conn, &b->wr[b->first], &bad);
	counter_add(&posts, 1);
	if (!rc) {
		counter_add(&work_requests, b->n - b->first);
		b->first = b->n = b->nsge = 0;
		return true;
	}
	if (rc != -ENOMEM && rc != -EAGAIN) {
		channel_drop(ch, "cannot post work: %s", strerror(-rc));
		return false;
	}
	b->first = bad ? (uint32_t)(bad - b->wr) : b->first;
	counter_add(&refused, 1);
	timer_set(&ch->retry, RETRY_NS);
	return false;
}

static void
tx_retry(struct timer *t)
{
	tx_later(container_of(t, struct srp_channel, retry));
}

/* The line, in order: no task overtakes another, so none starves. */
static void
tx_flush(struct work *w)
{
	struct srp_channel *ch = container_of(w, struct srp_channel, flush);

	if (ch->state != CHANNEL_OPEN && ch->state != CHANNEL_LEAVING)
		return;
	if (!tx_post(ch))
		return;
	ask_check(ch);
	while (ask_emit(ch) && !list_empty(&ch->tx)) {
		struct srp_task *task = list_first(&ch->tx, struct srp_task, link);

		if (!task_emit(task))
			break;
	}
	if (ch->state < CHANNEL_CLOSING)
		tx_post(ch);
}

void
tx_later(struct srp_channel *ch)
{
	reactor_defer(ch->home->reactor, &ch->flush);
}

/* -- building -- */

static bool
batch_full(const struct srp_channel *ch, uint32_t n, uint32_t nsge)
{
	return n == BATCH_WR || nsge + ch->limits.max_sge > BATCH_SGE;
}

struct fabric_wr *
tx_wr(struct srp_channel *ch, enum fabric_op op)
{
	struct batch *b = ch->batch;
	struct fabric_wr *wr;

	if (!ch->sq_free) {
		counter_add(&full, 1);
		return NULL;
	}
	if (batch_full(ch, b->n, b->nsge) && !tx_post(ch))
		return NULL;
	wr = &b->wr[b->n];
	*wr = (struct fabric_wr){ .op = (uint8_t)op, .sge = &b->sge[b->nsge] };
	return wr;
}

bool
tx_is_last(const struct srp_channel *ch, const struct fabric_wr *wr)
{
	const struct batch *b = ch->batch;

	return ch->sq_free == 1 || batch_full(ch, b->n + 1, b->nsge + wr->nsge);
}

void
tx_add(struct srp_channel *ch, struct fabric_wr *wr, struct fabric_cqe *cqe)
{
	struct batch *b = ch->batch;

	wr->cqe = cqe ? cqe : &ch->quiet;
	ch->unmarked++;
	/* Without a completion now and then no room would ever be known to be free. */
	if (cqe || ch->sq_free == 1 || ch->unmarked >= ch->sq_size / 4) {
		wr->flags |= FABRIC_SIGNALED;
		ch->marks[ch->mark_head++ % ch->sq_size] = (uint16_t)ch->unmarked;
		ch->unmarked = 0;
	}
	ch->sq_free--;
	b->n++;
	b->nsge += wr->nsge;
}

/*
 * As many places as there may be work requests, used in turn: when one is used
 * again, as many have been posted since, so the one before has ended.
 */
uint8_t *
tx_iu(struct srp_channel *ch, struct fabric_wr *wr, uint32_t len)
{
	struct fabric_sge *sge = (struct fabric_sge *)wr->sge;
	size_t at = (size_t)(ch->tx_next++ % ch->sq_size) * SRP_TI_IU_MAX;
	const struct iovec *mem = ch->tx_mem;
	uint8_t *iu;

	assert(len <= SRP_TI_IU_MAX);
	for (; at >= mem->iov_len; mem++)
		at -= mem->iov_len;
	iu = (uint8_t *)mem->iov_base + at;
	memset(iu, 0, len);
	*sge = (struct fabric_sge){ iu, len };
	wr->nsge = 1;
	if (len <= ch->limits.inline_max)
		wr->flags |= FABRIC_INLINE;
	return iu;
}

/* -- completions -- */

bool
tx_ended(struct srp_channel *ch, const struct fabric_wc *wc, const char *what)
{
	if (wc->status == FABRIC_FAILED)
		channel_drop(ch, "%s: %s", what, wc->why);
	if (wc->status != FABRIC_OK)
		return false;
	assert(ch->mark_tail != ch->mark_head);
	ch->sq_free += ch->marks[ch->mark_tail++ % ch->sq_size];
	if (!list_empty(&ch->tx))
		tx_later(ch);
	return true;
}

static void
quiet_done(const struct fabric_wc *wc)
{
	tx_ended(container_of(wc->cqe, struct srp_channel, quiet), wc, "RDMA WRITE or send");
}

static void
probe_done(const struct fabric_wc *wc)
{
	struct srp_channel *ch = container_of(wc->cqe, struct srp_channel, probe);

	if (tx_ended(ch, wc, "the peer does not answer"))
		ch->heard_ns = reactor_now(ch->home->reactor);
}

/* -- life -- */

int
tx_open(struct srp_channel *ch)
{
	int n;

	ch->sq_size = ch->sq_free = ch->limits.send_wr;
	ch->marks = calloc(ch->sq_size, sizeof(ch->marks[0]));
	ch->batch = calloc(1, sizeof(*ch->batch));
	if (!ch->marks || !ch->batch)
		return -ENOMEM;
	n = buf_get(ch->home->reactor, ch->tx_mem, ch->sq_size * SRP_TI_IU_MAX);
	if (n < 0)
		return n;
	ch->ntx_mem = n;
	ch->quiet.done = quiet_done;
	ch->probe.done = probe_done;
	return 0;
}

void
tx_close(struct srp_channel *ch)
{
	if (ch->ntx_mem)
		buf_put(ch->home->reactor, ch->tx_mem, ch->ntx_mem);
	ch->ntx_mem = 0;
	free(ch->marks);
	free(ch->batch);
	ch->marks = NULL;
	ch->batch = NULL;
}

void
tx_init(struct srp_channel *ch)
{
	work_init(&ch->flush, tx_flush);
	timer_init(&ch->retry, ch->home->reactor, tx_retry);
	list_init(&ch->tx);
	list_init(&ch->order);
	list_init(&ch->sent);
}
