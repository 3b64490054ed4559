/* Receiving: the buffers of a channel, and which unit goes where. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "stats.h"

#include "channel.h"

COUNTER(starved, "srp_requests_starved", "requests that waited for memory for a task");
COUNTER(over_limit, "srp_request_limit_exceeded", "channels ended for sending more than granted");

enum { RX_ALIGN = 64 };

const uint8_t *
rx_iu(const struct srp_rx *rx)
{
	return rx->recv.sge.addr;
}

/* -- requests -- */

static void
rx_logout(struct srp_channel *ch, struct srp_rx *rx)
{
	rx_put(rx);
	channel_drop(ch, "the initiator logged out");
}

static void
rx_answer(struct srp_channel *ch, struct srp_rx *rx, unsigned opcode)
{
	uint64_t tag;

	if (iu_tag(rx_iu(rx), rx->len, &tag) == IU_OK)
		ask_answered(ch, opcode, tag);
	else
		channel_leave(ch, SRP_T_LOGOUT_INVALID_LEN, srp_opcode_name(opcode));
	rx_put(rx);
}

static void
rx_short(struct srp_channel *ch, struct srp_rx *rx, unsigned opcode)
{
	char why[64];

	snprintf(why, sizeof(why), "%s of %u bytes", srp_opcode_name(opcode), rx->len);
	rx_put(rx);
	channel_leave(ch, SRP_T_LOGOUT_INVALID_LEN, why);
}

/* A request, whose credit is taken. Without memory for a task it waits. */
static void
rx_request(struct srp_channel *ch, struct srp_rx *rx)
{
	uint8_t opcode = rx_iu(rx)[0];
	enum iu_verdict v;
	struct iu_cmd cmd;
	struct iu_tmf tmf;

	if (opcode == SRP_CMD) {
		v = iu_cmd(rx_iu(rx), rx->len, ch->terms.imm_offset, &cmd);
		if (v != IU_SHORT) {
			srp_cmd_rx(ch, rx, &cmd, v == IU_OK);
			return;
		}
	} else {
		v = iu_tmf(rx_iu(rx), rx->len, &tmf);
		if (v == IU_OK) {
			srp_tmf_rx(ch, rx, &tmf);
			return;
		}
	}
	srp_credit_back(&ch->credit);
	rx_short(ch, rx, opcode);
}

static void
rx_take(struct srp_channel *ch, struct srp_rx *rx)
{
	unsigned opcode = rx->len ? rx_iu(rx)[0] : SRP_LOGIN_REJ;

	switch (opcode) {
	case SRP_CMD:
	case SRP_TSK_MGMT:
		if (srp_credit_take(&ch->credit)) {
			ch->requests++;
			rx_request(ch, rx);
			return;
		}
		counter_add(&over_limit, 1);
		rx_put(rx);
		channel_drop(ch, "%s beyond the request limit of %u", srp_opcode_name(opcode),
		    ch->credit.total);
		return;
	case SRP_I_LOGOUT:
		rx_logout(ch, rx);
		return;
	case SRP_CRED_RSP:
	case SRP_AER_RSP:
		rx_answer(ch, rx, opcode);
		return;
	}
	rx_put(rx);
	channel_leave(ch, SRP_T_LOGOUT_INVALID_TYPE, "an information unit of unknown type");
}

static void
rx_done(const struct fabric_wc *wc)
{
	struct srp_rx *rx = container_of(wc->cqe, struct srp_rx, cqe);
	struct srp_channel *ch = rx->ch;

	if (wc->status == FABRIC_FAILED)
		channel_drop(ch, "receive: %s", wc->why);
	if (wc->status != FABRIC_OK || ch->state >= CHANNEL_CLOSING)
		return;
	ch->established = true;
	ch->heard_ns = reactor_now(ch->home->reactor);
	rx->len = wc->len;
	rx_take(ch, rx);
}

void
rx_wait(struct srp_rx *rx)
{
	counter_add(&starved, 1);
	list_add_tail(&rx->ch->starved, &rx->link);
}

void
rx_retry(struct srp_channel *ch)
{
	struct list batch = LIST_INIT(batch);

	list_splice_tail(&batch, &ch->starved);
	while (!list_empty(&batch)) {
		struct srp_rx *rx = list_first(&batch, struct srp_rx, link);

		list_del(&rx->link);
		rx_request(ch, rx);
	}
}

/* -- buffers -- */

void
rx_put(struct srp_rx *rx)
{
	struct srp_channel *ch = rx->ch;

	rx->recv.next = NULL;
	*ch->repost_last = &rx->recv;
	ch->repost_last = &rx->recv.next;
	if (ch->state == CHANNEL_OPEN || ch->state == CHANNEL_LEAVING)
		tx_later(ch);
}

int
rx_repost(struct srp_channel *ch)
{
	struct fabric_recv *chain = ch->repost;

	if (!chain)
		return 0;
	ch->repost = NULL;
	ch->repost_last = &ch->repost;
	return ch->fabric->post_recv(ch->conn, chain);
}

static uint32_t
rx_stride(const struct srp_channel *ch)
{
	return (ch->terms.it_iu_len + RX_ALIGN - 1) / RX_ALIGN * RX_ALIGN;
}

/* Who logs in often must not take the memory that commands need. */
int
rx_room(struct srp_channel *ch)
{
	struct buf_stats stats;
	uint64_t want = (uint64_t)(ch->credit.limit + RX_EXTRA) * rx_stride(ch);

	buf_stats(ch->home->reactor, &stats);
	return ch->home->rx_bytes + want > stats.budget / 2 ? -ENOMEM : 0;
}

/* Buffers do not cross from one piece of memory to the next. */
static int
rx_memory(struct srp_channel *ch)
{
	uint32_t stride = rx_stride(ch), per = BUF_SEG_MAX / stride;

	for (uint32_t i = 0; i < ch->nrx; i++) {
		struct srp_rx *rx = &ch->rx[i];
		struct iovec *mem;

		if (i % per == 0) {
			uint32_t n = MIN(per, ch->nrx - i);

			if (ch->nrx_mem == BUF_IOV_MAX ||
			    mem_get(ch->home->reactor, &ch->rx_mem[ch->nrx_mem], n * stride) < 0)
				return -ENOMEM;
			ch->nrx_mem++;
		}
		mem = &ch->rx_mem[ch->nrx_mem - 1];
		rx->recv.sge.addr = (uint8_t *)mem->iov_base + (size_t)(i % per) * stride;
		rx->recv.sge.len = ch->terms.it_iu_len;
	}
	return 0;
}

int
rx_open(struct srp_channel *ch)
{
	ch->rx = calloc(ch->nrx, sizeof(*ch->rx));
	if (!ch->rx)
		return -ENOMEM;
	ch->home->rx_bytes += (uint64_t)ch->nrx * rx_stride(ch);
	if (rx_memory(ch) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < ch->nrx; i++) {
		struct srp_rx *rx = &ch->rx[i];

		rx->ch = ch;
		rx->cqe.done = rx_done;
		rx->recv.cqe = &rx->cqe;
		list_init(&rx->link);
		rx_put(rx);
	}
	return 0;
}

void
rx_close(struct srp_channel *ch)
{
	while (ch->nrx_mem)
		mem_put(ch->home->reactor, &ch->rx_mem[--ch->nrx_mem]);
	if (ch->rx)
		ch->home->rx_bytes -= (uint64_t)ch->nrx * rx_stride(ch);
	free(ch->rx);
	ch->rx = NULL;
	ch->repost = NULL;
	ch->repost_last = &ch->repost;
	list_init(&ch->starved);
}
