/* Tasks: found by tag, in line to be posted, and given back when nothing of them is out. */
#include <errno.h>
#include <stdlib.h>

#include "channel.h"

/* -- by tag -- */

static struct srp_task **
task_slot(const struct srp_channel *ch, uint64_t tag)
{
	/* Initiators number in the low or in the high half. */
	return &ch->tasks[(uint64_t)(tag * 0x9e3779b97f4a7c15ull) >> ch->task_shift];
}

/* An aborted one that a disk still has is no task any more: its tag is free. */
static bool
task_is_over(const struct srp_task *task)
{
	return task->submitted && task->scsi.flags & CMD_ABORTED;
}

struct srp_task *
task_find(struct srp_channel *ch, uint64_t tag)
{
	struct srp_task *task = *task_slot(ch, tag);

	while (task && (task->tag != tag || task_is_over(task)))
		task = task->hash_next;
	return task;
}

/* Its tag is free: the initiator hears, or has heard, that the task has ended. */
static void
task_forget(struct srp_task *task)
{
	struct srp_task **at = task_slot(task->ch, task->tag);

	while (*at && *at != task)
		at = &(*at)->hash_next;
	if (*at)
		*at = task->hash_next;
}

int
task_open(struct srp_channel *ch)
{
	uint32_t n = TASK_SLOTS_MIN;

	ch->task_shift = 64 - 4;
	for (; n < ch->credit.limit && n < TASK_SLOTS_MAX; n *= 2)
		ch->task_shift--;
	ch->tasks = calloc(n, sizeof(ch->tasks[0]));
	return ch->tasks ? 0 : -ENOMEM;
}

/* -- life -- */

static void
rdma_done(const struct fabric_wc *wc)
{
	struct srp_task *task = container_of(wc->cqe, struct srp_task, rdma);
	struct srp_channel *ch = task->ch;
	bool ok = tx_ended(ch, wc, "RDMA READ");

	assert(task->out);
	task->out--;
	if (task->state == TASK_ENDED) {
		if (!task->out)
			task_put(task);
		return;
	}
	/* What failed or was flushed did not bring its data: the command is never given on. */
	if (!ok || ch->state >= CHANNEL_CLOSING || task->out || task->xfer.left)
		return;
	if (task->state == TASK_FETCHING || task->state == TASK_GATHERING)
		srp_cmd_arrived(task);
}

static void
sent_done(const struct fabric_wc *wc)
{
	struct srp_task *task = container_of(wc->cqe, struct srp_task, sent);

	tx_ended(task->ch, wc, "response");
	/* In order of posting: whatever it had out before has come back. */
	task_put(task);
}

struct srp_task *
task_new(struct srp_channel *ch, struct srp_rx *rx, uint64_t tag)
{
	struct srp_task *task = obj_get(&ch->home->tasks);
	struct srp_task **slot = task_slot(ch, tag);

	if (!task)
		return NULL;
	task->ch = ch;
	task->tag = tag;
	task->rx = rx;
	list_init(&task->link);
	list_init(&task->order);
	task->state = TASK_SERVED;
	task->is_tmf = task->submitted = false;
	task->sol_not = 0;
	task->rsp_code = 0;
	task->out = 0;
	task->data_out = task->data_in = (struct iu_data){ 0 };
	task->xfer = (struct transfer){ 0 };
	task->table.iov_base = NULL;
	list_init(&task->memory.link);
	task->rdma.done = rdma_done;
	task->sent.done = sent_done;
	task->hash_next = *slot;
	*slot = task;
	ch->ntasks++;
	return task;
}

/* It is in line, or gone: those behind it that only waited for that. */
static void
order_leave(struct srp_task *task)
{
	struct srp_channel *ch = task->ch;

	if (list_empty(&task->order))
		return;
	list_del(&task->order);
	while (!list_empty(&ch->order)) {
		struct srp_task *next = list_first(&ch->order, struct srp_task, order);

		if (!next->is_tmf)
			break;
		list_del(&next->order);
		task_line(next, TASK_ANSWERING);
	}
}

void
task_line(struct srp_task *task, enum task_state state)
{
	struct srp_channel *ch = task->ch;

	task->state = state;
	list_del(&task->link);
	list_add_tail(&ch->tx, &task->link);
	tx_later(ch);
	if (state == TASK_ANSWERING)
		order_leave(task);
}

void
task_line_behind(struct srp_task *task)
{
	struct srp_channel *ch = task->ch;

	if (task->is_tmf && list_empty(&ch->order)) {
		task_line(task, TASK_ANSWERING);
		return;
	}
	list_add_tail(&ch->order, &task->order);
	if (task->is_tmf)
		task->state = TASK_WAITING;
	else
		task_line(task, TASK_FETCHING);
}

/* The buffer of its IU goes back to be received into, and with it, its credit. */
void
task_unit_put(struct srp_task *task)
{
	struct srp_channel *ch = task->ch;

	if (!task->rx)
		return;
	/* Of a channel that has drained no buffers are left. */
	if (!ch->drained)
		rx_put(task->rx);
	task->rx = NULL;
	srp_credit_back(&ch->credit);
}

void
task_sent(struct srp_task *task)
{
	task_forget(task);
	list_del(&task->link);
	list_add_tail(&task->ch->sent, &task->link);
}

void
task_put(struct srp_task *task)
{
	struct srp_channel *ch = task->ch;

	task_forget(task);
	list_del(&task->link);
	list_del(&task->order);
	buf_wait_cancel(&task->memory);
	task_unit_put(task);
	mem_put(ch->home->reactor, &task->table);
	if (task->submitted)
		scsi_release(&task->scsi);
	obj_put(&ch->home->tasks, task);
	ch->ntasks--;
	if (unlikely(!list_empty(&ch->starved)) && ch->state < CHANNEL_CLOSING)
		rx_retry(ch);
	if (unlikely(ch->state >= CHANNEL_CLOSING))
		channel_check_gone(ch);
}

void
task_end(struct srp_task *task)
{
	task->state = TASK_ENDED;
	buf_wait_cancel(&task->memory);
	/* What is posted for it still uses its memory. */
	if (task->out && !task->ch->drained)
		task_sent(task);
	else
		task_put(task);
}

void
task_drained(struct srp_channel *ch)
{
	while (!list_empty(&ch->order))
		task_put(list_first(&ch->order, struct srp_task, order));
	while (!list_empty(&ch->tx))
		task_put(list_first(&ch->tx, struct srp_task, link));
	while (!list_empty(&ch->sent))
		task_put(list_first(&ch->sent, struct srp_task, link));
}
