/* Channels: made for a request to connect, opened, and taken down in the middle of anything. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

#include "channel.h"

enum { TIGHT_SHARE = 8 };		/* of the request limit is left when memory is tight */

const char *
channel_state_name(const struct srp_channel *ch)
{
	switch (ch->state) {
	case CHANNEL_LOGIN:
		return "login";
	case CHANNEL_OPEN:
		return ch->established ? "open" : "connecting";
	case CHANNEL_LEAVING:
		return "leaving";
	case CHANNEL_CLOSING:
		return "closing";
	case CHANNEL_GONE:
		return "gone";
	}
	return "?";
}

/* -- the end -- */

void
channel_drop(struct srp_channel *ch, const char *fmt, ...)
{
	va_list ap;

	if (ch->state >= CHANNEL_CLOSING)
		return;
	/* One that was asked to leave has its reason. */
	if (ch->state != CHANNEL_LEAVING) {
		va_start(ap, fmt);
		vsnprintf(ch->why, sizeof(ch->why), fmt, ap);
		va_end(ap);
	}
	log_peer(LOG_LEVEL_INFO, ch->initiator, "%s: channel of %s to %s ended: %s", ch->peer_text,
	    ch->initiator, target_conf(ch->target)->name, ch->why);
	ch->state = CHANNEL_CLOSING;
	reactor_defer(ch->home->reactor, &ch->close);
}

void
channel_refuse(struct srp_channel *ch, enum srp_login_rej_reason reason, const char *why)
{
	if (ch->state >= CHANNEL_CLOSING)
		return;
	ch->refusal = reason;
	channel_drop(ch, "login refused: %s: %s", srp_login_reason_name(reason), why);
}

void
channel_leave(struct srp_channel *ch, enum srp_t_logout_reason reason, const char *why)
{
	if (ch->state == CHANNEL_LOGIN) {
		channel_refuse(ch, SRP_LOGIN_REJ_UNABLE_ESTABLISH_CHANNEL, why);
		return;
	}
	if (ch->state != CHANNEL_OPEN)
		return;
	snprintf(ch->why, sizeof(ch->why), "%s", why);
	ch->state = CHANNEL_LEAVING;
	ch->deadline_ns = reactor_now(ch->home->reactor) + GRACE_NS;
	ask_logout(ch, reason);
}

/* No connection has it any more, so it can be answered. */
static void
request_end(struct srp_channel *ch)
{
	if (ch->request)
		cm_reject(ch->request, ch->req.tag, ch->refusal);
	ch->request = NULL;
}

static void
nexus_gone(void *arg)
{
	struct srp_channel *ch = arg;

	ch->nexus_gone = true;
	channel_check_gone(ch);
}

/* Both ways down begin at once: what the peer can still touch, and what a disk can. */
static void
channel_close(struct work *w)
{
	struct srp_channel *ch = container_of(w, struct srp_channel, close);
	struct nexus *nexus = ch->nexus;

	timer_stop(&ch->retry);
	if (ch->conn) {
		ch->fabric->disconnect(ch->conn);
	} else {
		ch->drained = true;
		request_end(ch);
	}
	ch->nexus = NULL;
	if (nexus)
		nexus_logout(nexus, nexus_gone, ch);
	else
		nexus_gone(ch);
}

static void
channel_drained(void *ctx)
{
	struct srp_channel *ch = ctx;

	assert(ch->state >= CHANNEL_CLOSING);
	ch->drained = true;
	task_drained(ch);
	rx_close(ch);
	tx_close(ch);
	ch->fabric->close(ch->conn);
	ch->conn = NULL;
	request_end(ch);
	channel_check_gone(ch);
}

static void
channel_lost(void *ctx, const char *why)
{
	channel_drop(ctx, "%s", why);
}

static void
channel_established(void *ctx)
{
	struct srp_channel *ch = ctx;

	ch->established = true;
}

static const struct fabric_events events = {
	.established = channel_established,
	.lost = channel_lost,
	.drained = channel_drained,
};

static void
channel_free(struct srp_channel *ch)
{
	work_cancel(&ch->close);
	work_cancel(&ch->flush);
	timer_fini(&ch->retry);
	aer_close(ch);
	free(ch->tasks);
	free(ch);
	cm_freed();
}

static void
channel_reap(struct work *w)
{
	struct srp_channel *ch = container_of(w, struct srp_channel, reap);

	list_del(&ch->link);
	ch->home->nchannels--;
	reactor_load_add(ch->home->reactor, -1);
	channel_free(ch);
}

void
channel_check_gone(struct srp_channel *ch)
{
	if (!ch->drained || !ch->nexus_gone)
		return;
	if (ch->state == CHANNEL_CLOSING) {
		ch->state = CHANNEL_GONE;
		session_leave(ch);
	}
	if (!ch->ntasks && !ch->msg_posted)
		reactor_defer(ch->home->reactor, &ch->reap);
}

/* -- making -- */

static void
peer_name(struct srp_channel *ch, const struct fabric_request *req)
{
	if (req->peer.ss_family)
		sockaddr_text((const struct sockaddr *)&req->peer, ch->peer_text,
		    sizeof(ch->peer_text));
	else
		port_text(ch->peer_text, sizeof(ch->peer_text), req->gid, sizeof(req->gid));
}

struct srp_channel *
channel_new(struct fabric_request *req, struct srp_reactor *home)
{
	struct srp_channel *ch = calloc(1, sizeof(*ch));

	if (!ch)
		return NULL;
	ch->home = home;
	ch->state = CHANNEL_LOGIN;
	ch->fabric = req->fabric;
	ch->request = req;
	ch->refusal = SRP_LOGIN_REJ_INSUFFICIENT_RESOURCES;
	list_init(&ch->reg);
	list_init(&ch->wait);
	list_init(&ch->link);
	list_init(&ch->starved);
	ch->repost_last = &ch->repost;
	work_init(&ch->close, channel_close);
	work_init(&ch->reap, channel_reap);
	peer_name(ch, req);
	return ch;
}

void
channel_start(struct srp_channel *ch)
{
	struct reactor *reactor = ch->home->reactor;

	tx_init(ch);
	list_add_tail(&ch->home->channels, &ch->link);
	ch->home->nchannels++;
	if (!timer_is_set(&ch->home->tick))
		timer_set(&ch->home->tick, TICK_NS);
	ch->login_ns = ch->heard_ns = reactor_now(reactor);
	ch->deadline_ns = ch->login_ns + LOGIN_NS;
}

int
channel_open(struct srp_channel *ch)
{
	struct fabric_setup setup = {
		.reactor = ch->home->reactor,
		.events = &events,
		.ctx = ch,
	};
	int rc;

	if (rx_room(ch) < 0)
		return -ENOMEM;
	setup.limits.send_wr = MIN((uint32_t)SEND_WR, ch->request->limits.send_wr);
	setup.limits.recv_wr = ch->credit.limit + RX_EXTRA;
	setup.limits.inline_max = SRP_TI_IU_MAX;
	rc = ch->fabric->open(ch->request, &setup, &ch->conn);
	if (rc < 0)
		return rc;
	ch->limits = setup.limits;
	ch->limits.max_sge = MIN(ch->limits.max_sge, (uint32_t)TRANSFER_SGE_MAX);
	ch->limits.max_read_sge = MIN(ch->limits.max_read_sge, ch->limits.max_sge);
	ch->nrx = ch->credit.limit + RX_EXTRA;
	if (ch->limits.recv_wr < ch->nrx || ch->limits.send_wr < 4)
		return -ENOSPC;
	rc = task_open(ch);
	if (!rc)
		rc = tx_open(ch);
	if (!rc)
		rc = rx_open(ch);
	return rc ? rc : rx_repost(ch);
}

/* -- time -- */

static void
channel_credits(struct srp_channel *ch)
{
	uint32_t limit = ch->home->tight ? MAX(ch->depth / TIGHT_SHARE, 2u) : ch->depth;

	if (limit == ch->credit.limit)
		return;
	srp_credit_resize(&ch->credit, limit);
	tx_later(ch);
}

void
channel_tick(struct srp_channel *ch, uint64_t now)
{
	if (ch->state >= CHANNEL_CLOSING)
		return;
	if (ch->deadline_ns && now > ch->deadline_ns) {
		if (ch->state == CHANNEL_LOGIN)
			channel_refuse(ch, SRP_LOGIN_REJ_INSUFFICIENT_RESOURCES,
			    "the channels before it do not end");
		else
			channel_drop(ch, "it was never established");
		return;
	}
	if (ch->state == CHANNEL_LOGIN)
		return;
	if (ch->state == CHANNEL_OPEN && ch->established)
		ch->deadline_ns = 0;
	channel_credits(ch);
	if (!list_empty(&ch->starved))
		rx_retry(ch);
	if (ch->state == CHANNEL_OPEN)
		aer_tick(ch, now);
	if (now - ch->heard_ns > IDLE_NS) {
		/* Not again before the answer, or the next silence. */
		ch->heard_ns = now;
		ch->ask.probe = true;
		tx_later(ch);
	}
}
