/* Logging in: from a request to connect to a channel that is accepted, or the reason why not. */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "log.h"
#include "stats.h"

#include "channel.h"

COUNTER(logins, "srp_logins", "channels that logged in");
COUNTER(refusals, "srp_logins_refused", "logins refused");

static _Atomic uint32_t nchannels;	/* of the process, from the request until channel_free */

void
cm_freed(void)
{
	atomic_fetch_sub_explicit(&nchannels, 1, memory_order_relaxed);
}

void
cm_reject(struct fabric_request *req, uint64_t tag, enum srp_login_rej_reason reason)
{
	struct srp_login_rej rej;

	counter_add(&refusals, 1);
	login_rej(&rej, tag, reason);
	req->fabric->reject(req, &rej, sizeof(rej));
}

/* -- on the channel's reactor -- */

static int
enter_nexus(struct srp_channel *ch, bool joins)
{
	const struct srp_target_conf *conf =
	    target_conf(ch->target)->opts[transport_index(&srp_transport)];
	const struct fabric_request *req = ch->request;
	static const uint8_t no_gid[16];
	struct nexus_id id = {
		.initiator = ch->initiator,
		.peer = req->peer.ss_family ? (const struct sockaddr *)&req->peer : NULL,
		.gid = memcmp(req->gid, no_gid, sizeof(no_gid)) ? req->gid : NULL,
		.port_id = ch->req.i_port,
		.joins = joins,
	};
	int rc;

	rc = nexus_login(ch->target, &id, ch->home->reactor, &srp_ops, ch, &ch->nexus);
	if (rc < 0)
		return rc;
	ch->id = ch->nexus->id;
	ch->depth = conf->queue_depth;
	if (ch->nexus->depth)
		ch->depth = MIN(ch->depth, ch->nexus->depth);
	if (req->limits.recv_wr > RX_EXTRA)
		ch->depth = MIN(ch->depth, req->limits.recv_wr - RX_EXTRA);
	ch->depth = MAX(ch->depth, 2u);
	srp_credit_init(&ch->credit, ch->depth);
	return 0;
}

static int
enter_accept(struct srp_channel *ch, uint8_t multichan)
{
	struct srp_login_rsp rsp;
	int rc = channel_open(ch);

	if (rc < 0)
		return rc;
	login_rsp(&rsp, &ch->req, &ch->terms, ch->credit.req_lim, multichan);
	rc = ch->fabric->accept(ch->conn, ch->request, &rsp, sizeof(rsp));
	if (rc < 0)
		return rc;
	ch->request = NULL;
	return 0;
}

static void
enter_channel(struct srp_channel *ch, uint8_t multichan)
{
	int rc = enter_nexus(ch, multichan == SRP_MULTICHAN_MAINTAINED);

	if (rc < 0) {
		channel_refuse(ch, rc == -EACCES ? SRP_LOGIN_REJ_UNABLE_ASSOCIATE_CHANNEL :
		    SRP_LOGIN_REJ_INSUFFICIENT_RESOURCES, strerror(-rc));
		return;
	}
	rc = aer_open(ch);
	if (!rc)
		rc = enter_accept(ch, multichan);
	if (rc < 0) {
		channel_refuse(ch, SRP_LOGIN_REJ_INSUFFICIENT_RESOURCES, strerror(-rc));
		return;
	}
	ch->state = CHANNEL_OPEN;
	ch->deadline_ns = reactor_now(ch->home->reactor) + ESTABLISH_NS;
	counter_add(&logins, 1);
	log_peer(LOG_LEVEL_INFO, ch->initiator,
	    "%s: %s logged in to %s, %u requests, units of %u bytes, reactor %u", ch->peer_text,
	    ch->initiator, target_conf(ch->target)->name, ch->credit.limit, ch->terms.it_iu_len,
	    reactor_id(ch->home->reactor));
}

void
cm_enter(struct srp_channel *ch)
{
	enum srp_login_rej_reason reason;
	uint8_t multichan;

	if (ch->state != CHANNEL_LOGIN) {
		channel_check_gone(ch);
		return;
	}
	switch (session_enter(ch, &multichan, &reason)) {
	case SESSION_WAIT:
		return;
	case SESSION_REFUSED:
		channel_refuse(ch, reason, "of one initiator port");
		return;
	case SESSION_IN:
		enter_channel(ch, multichan);
		return;
	}
}

static void
arrived(struct msg *m)
{
	struct srp_channel *ch = container_of(m, struct srp_channel, msg);
	/* Its number, as nobody may have been on this reactor. */
	struct srp_reactor *home = srp_reactor(reactor_self());

	assert(home == ch->home);
	ch->msg_posted = false;
	channel_start(ch);
	if (home->stopping)
		channel_refuse(ch, SRP_LOGIN_REJ_INSUFFICIENT_RESOURCES, "the daemon stops");
	else
		cm_enter(ch);
}

/* -- on the reactor that the request came to -- */

static void
refuse(struct fabric_request *req, uint64_t tag, enum srp_login_rej_reason reason)
{
	char peer[64] = "?";

	if (req->peer.ss_family)
		sockaddr_text((const struct sockaddr *)&req->peer, peer, sizeof(peer));
	log_peer(LOG_LEVEL_WARN, peer, "%s: SRP login refused: %s", peer,
	    srp_login_reason_name(reason));
	cm_reject(req, tag, reason);
}

static enum srp_login_rej_reason
look(const struct fabric_request *req, struct login_req *login, struct login_terms *terms,
    struct target **target)
{
	static const struct login_limits limits = { .iu_max = IU_MAX };
	enum srp_login_rej_reason reason;

	if (!login_parse(req->data, req->len, login))
		return SRP_LOGIN_REJ_UNABLE_ESTABLISH_CHANNEL;
	reason = login_check(login, &limits, terms);
	if (reason)
		return reason;
	*target = port_find(req->portal, login);
	return *target ? SRP_LOGIN_OK : SRP_LOGIN_REJ_UNABLE_ASSOCIATE_CHANNEL;
}

static bool
count_up(const struct conf_portal *portal)
{
	const struct srp_portal_conf *conf = portal->opts;
	uint32_t n = atomic_fetch_add_explicit(&nchannels, 1, memory_order_relaxed);

	if (n < conf->max_channels)
		return true;
	cm_freed();
	return false;
}

void
cm_request(struct fabric_request *req)
{
	struct reactor *reactor;
	struct login_req login;
	struct login_terms terms;
	struct target *target = NULL;
	struct srp_channel *ch;
	enum srp_login_rej_reason reason = look(req, &login, &terms, &target);

	if (reason) {
		refuse(req, login.tag, reason);
		return;
	}
	if (!count_up(req->portal)) {
		refuse(req, login.tag, SRP_LOGIN_REJ_INSUFFICIENT_RESOURCES);
		return;
	}
	reactor = reactor_least_loaded();
	ch = channel_new(req, srp_reactor_at(reactor_id(reactor)));
	if (!ch) {
		cm_freed();
		refuse(req, login.tag, SRP_LOGIN_REJ_INSUFFICIENT_RESOURCES);
		return;
	}
	ch->req = login;
	ch->terms = terms;
	ch->target = target;
	port_text(ch->initiator, sizeof(ch->initiator), login.i_port, sizeof(login.i_port));
	reactor_load_add(reactor, 1);
	ch->msg.fn = arrived;
	reactor_post(reactor, &ch->msg);
}
