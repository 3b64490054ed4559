/* Requests of the target: credits, events, its logout, and a look whether the peer is there. */
#include "log.h"
#include "stats.h"

#include "channel.h"

COUNTER(cred_reqs, "srp_credit_requests", "SRP_CRED_REQ sent");
COUNTER(aer_reqs, "srp_async_events", "SRP_AER_REQ sent");
COUNTER(t_logouts, "srp_target_logouts", "SRP_T_LOGOUT sent");

/*
 * SRP r16a: an initiator keeps room for one request of the target. So one is
 * out at a time; an initiator that never answers it gets no other, and needs
 * none: responses carry credits too.
 */
void
ask_check(struct srp_channel *ch)
{
	if (!ch->ask.opcode && srp_credit_stuck(&ch->credit))
		ch->ask.credits = true;
}

static bool
emit_credits(struct srp_channel *ch)
{
	struct fabric_wr *wr = tx_wr(ch, FABRIC_SEND);
	struct srp_cred_req *req;

	if (!wr)
		return false;
	req = (void *)tx_iu(ch, wr, sizeof(*req));
	ch->ask.credits = false;
	ch->ask.opcode = SRP_CRED_REQ;
	ch->ask.tag = ch->ask.next_tag++;
	req->opcode = SRP_CRED_REQ;
	req->req_lim_delta = put32(srp_credit_give(&ch->credit));
	req->tag = put64(ch->ask.tag);
	if (ch->terms.solnt & SRP_CRSOLNT) {
		req->sol_not = SRP_SOLNT;
		wr->flags |= FABRIC_SOLICITED;
	}
	tx_add(ch, wr, NULL);
	counter_add(&cred_reqs, 1);
	return true;
}

static bool
emit_event(struct srp_channel *ch)
{
	struct fabric_wr *wr = tx_wr(ch, FABRIC_SEND);
	const uint8_t *sense = ch->ask.event_sense;
	struct srp_aer_req *req;

	if (!wr)
		return false;
	req = (void *)tx_iu(ch, wr, sizeof(*req) + SENSE_FIXED);
	ch->ask.event = false;
	ch->ask.opcode = SRP_AER_REQ;
	ch->ask.tag = ch->ask.next_tag++;
	req->opcode = SRP_AER_REQ;
	req->req_lim_delta = put32(srp_credit_give(&ch->credit));
	req->tag = put64(ch->ask.tag);
	scsi_lun_wire(req->lun, ch->ask.event_lun);
	req->sense_data_len = put32(SENSE_FIXED);
	srp_sense((uint8_t *)(req + 1), sense[0], sense[1], sense[2]);
	if (ch->terms.solnt & SRP_AESOLNT) {
		req->sol_not = SRP_SOLNT;
		wr->flags |= FABRIC_SOLICITED;
	}
	tx_add(ch, wr, NULL);
	counter_add(&aer_reqs, 1);
	return true;
}

static bool
emit_logout(struct srp_channel *ch)
{
	struct fabric_wr *wr = tx_wr(ch, FABRIC_SEND);
	struct srp_t_logout *req;

	if (!wr)
		return false;
	req = (void *)tx_iu(ch, wr, sizeof(*req));
	ch->ask.logout = false;
	req->opcode = SRP_T_LOGOUT;
	req->reason = put32(ch->ask.reason);
	req->tag = put64(ch->ask.next_tag++);
	if (ch->terms.solnt & SRP_LOSOLNT) {
		req->sol_not = SRP_SOLNT;
		wr->flags |= FABRIC_SOLICITED;
	}
	tx_add(ch, wr, NULL);
	counter_add(&t_logouts, 1);
	return true;
}

/* A write of nothing is acknowledged, or it ends the connection. */
static bool
emit_probe(struct srp_channel *ch)
{
	struct fabric_wr *wr = tx_wr(ch, FABRIC_RDMA_WRITE);

	if (!wr)
		return false;
	ch->ask.probe = false;
	tx_add(ch, wr, &ch->probe);
	return true;
}

bool
ask_emit(struct srp_channel *ch)
{
	if (unlikely(ch->ask.credits) && !ch->ask.opcode && !emit_credits(ch))
		return false;
	if (unlikely(ch->ask.event) && !ch->ask.opcode && !emit_event(ch))
		return false;
	if (unlikely(ch->ask.probe) && !emit_probe(ch))
		return false;
	return likely(!ch->ask.logout) || emit_logout(ch);
}

void
ask_logout(struct srp_channel *ch, enum srp_t_logout_reason reason)
{
	ch->ask.logout = true;
	ch->ask.reason = reason;
	tx_later(ch);
}

void
ask_answered(struct srp_channel *ch, unsigned opcode, uint64_t tag)
{
	/* Opcodes of responses are those of requests with another top. */
	if (!ch->ask.opcode || (ch->ask.opcode & 0x3f) != (opcode & 0x3f) || ch->ask.tag != tag) {
		channel_leave(ch, SRP_T_LOGOUT_SPURIOUS_RSP, "a response to no request");
		return;
	}
	ch->ask.opcode = 0;
}
