/* A connection's life: taken over, moved, timed, ended once. */
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "log.h"
#include "stats.h"

#include "iscsi.h"

COUNTER(drops, "iscsi_connections_ended", "connections that ended, for whatever reason");
COUNTER(stalls, "iscsi_connections_timed_out",
    "connections ended by a timer: login, silence, unread output");

static void
conn_event(struct watch *w, short what)
{
	struct iscsi_conn *conn = container_of(w, struct iscsi_conn, watch);

	if (conn->state == CONN_DEAD)
		return;
	if (what & EV_READ)
		conn_readable(conn);
	else
		conn_flush(conn);
}

void
conn_want(struct iscsi_conn *conn)
{
	short what = 0;

	if (conn->state == CONN_DEAD)
		return;
	if (conn->state != CONN_ENTERING && !conn->rx.stopped)
		what |= EV_READ;
	if (conn->blocked)
		what |= EV_WRITE;
	watch_want(&conn->watch, what);
}

/* -- the end -- */

void
conn_drop(struct iscsi_conn *conn, const char *fmt, ...)
{
	va_list ap;

	if (conn->state == CONN_DEAD)
		return;
	conn->state = CONN_DEAD;
	if (!conn->why[0]) {
		va_start(ap, fmt);
		vsnprintf(conn->why, sizeof(conn->why), fmt, ap);
		va_end(ap);
	}
	reactor_defer(conn->home->reactor, &conn->close);
}

void
conn_last(struct iscsi_conn *conn, const char *why)
{
	if (conn->state >= CONN_LAST)
		return;
	conn->state = CONN_LAST;
	snprintf(conn->why, sizeof(conn->why), "%s", why);
	conn->deadline_ns = reactor_now(conn->home->reactor) + STALL_NS;
	if (!conn->in_turn)
		reactor_defer(conn->home->reactor, &conn->flush);
}

void
conn_ask_logout(struct iscsi_conn *conn)
{
	struct pdu_out *out;

	if (conn->state != CONN_FULL) {
		conn_drop(conn, "ended by the target");
		return;
	}
	out = out_get(conn, ISCSI_ASYNC);
	if (!out) {
		conn_drop(conn, "out of memory");
		return;
	}
	out->async.itt = put32(ISCSI_NO_TAG);
	out->async.event = ISCSI_ASYNC_LOGOUT;
	out->async.param3 = put16(GRACE_NS / SEC);
	conn_queue(conn, out, STAT_SN_NEXT);
	conn->deadline_ns = reactor_now(conn->home->reactor) + GRACE_NS;
}

static void
conn_free(struct iscsi_conn *conn)
{
	enter_fini(conn);
	rx_fini(conn);
	close(conn->fd);
	free(conn);
}

static void
conn_log_end(const struct iscsi_conn *conn)
{
	const struct iscsi_sess *sess = conn->sess;

	counter_add(&drops, 1);
	if (sess)
		log_peer(LOG_LEVEL_INFO, sess->params.initiator, "%s: %s left %s: %s",
		    conn->peer_text, sess->params.initiator,
		    sess->target ? sess->params.target : "discovery", conn->why);
	else if (!conn->told)
		log_peer(LOG_LEVEL_INFO, conn->host, "%s: ended before login: %s", conn->peer_text,
		    conn->why);
}

/* From the end of the round only: nobody up the stack knows the connection any more. */
static void
conn_close(struct work *w)
{
	struct iscsi_conn *conn = container_of(w, struct iscsi_conn, close);
	struct iscsi_reactor *home = conn->home;

	OWNED_BY(home->reactor);
	conn_log_end(conn);
	watch_fini(&conn->watch);
	work_cancel(&conn->flush);
	work_cancel(&conn->parse);
	half_open_del(conn);
	conn_unqueue(conn);
	if (conn->sess)
		sess_end(conn->sess);
	list_del(&conn->link);
	iscsi_count(home, -1);
	reactor_load_add(home->reactor, -1);
	conn_free(conn);
}

static void
conn_flush_work(struct work *w)
{
	conn_flush(container_of(w, struct iscsi_conn, flush));
}

/* -- from reactor to reactor -- */

/* On the reactor it was sent to. */
static void
conn_arrive(struct msg *m)
{
	struct iscsi_conn *conn = container_of(m, struct iscsi_conn, msg);
	struct iscsi_reactor *home = iscsi_reactor(conn->to);

	if (!home || home->stopping) {
		half_open_del(conn);
		reactor_load_add(conn->to, -1);
		conn_free(conn);
		return;
	}
	conn->home = home;
	list_add_tail(&home->conns, &conn->link);
	iscsi_count(home, 1);
	if (home->nconns == 1)
		timer_set(&home->tick, TICK_NS);
	watch_init(&conn->watch, conn->to, conn->fd, conn_event);
	conn->heard_ns = conn->moved_ns = reactor_now(conn->to);
	if (!conn->deadline_ns)
		conn->deadline_ns = conn->heard_ns + LOGIN_NS;
	conn_want(conn);
	if (conn->arrived)
		conn->arrived(conn);
}

void
conn_move(struct iscsi_conn *conn, struct reactor *to, void (*fn)(struct iscsi_conn *))
{
	struct iscsi_reactor *home = conn->home;

	assert(!conn->out && conn->state == CONN_ENTERING && !conn->in_turn);
	watch_fini(&conn->watch);
	work_cancel(&conn->flush);
	work_cancel(&conn->parse);
	list_del(&conn->link);
	iscsi_count(home, -1);
	reactor_load_add(home->reactor, -1);
	reactor_load_add(to, 1);
	conn->arrived = fn;
	conn->to = to;
	conn->home = NULL;
	conn->msg.fn = conn_arrive;
	reactor_post(to, &conn->msg);
}

/* None of these is vital: a socket that refuses them (not TCP) works without. */
static void
conn_tune(int fd)
{
	static const struct { int level, name, value; } opts[] = {
		{ IPPROTO_TCP, TCP_NODELAY, 1 },
		{ IPPROTO_TCP, TCP_USER_TIMEOUT, STALL_NS / MS },
		{ IPPROTO_TCP, TCP_KEEPIDLE, 30 },
		{ IPPROTO_TCP, TCP_KEEPINTVL, 5 },
		{ IPPROTO_TCP, TCP_KEEPCNT, 3 },
		{ SOL_SOCKET, SO_KEEPALIVE, 1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(opts); i++)
		setsockopt(fd, opts[i].level, opts[i].name, &opts[i].value, sizeof(opts[i].value));
}

void
conn_adopt(int fd, const struct conf_portal *portal, struct reactor *to)
{
	struct iscsi_conn *conn = calloc(1, sizeof(*conn));
	socklen_t len = sizeof(conn->peer_addr);
	char *port;

	if (!conn) {
		close(fd);
		return;
	}
	conn_tune(fd);
	conn->fd = fd;
	conn->to = to;
	conn->out_last = &conn->out;
	work_init(&conn->flush, conn_flush_work);
	work_init(&conn->close, conn_close);
	work_init(&conn->parse, NULL);
	list_init(&conn->half_open);
	list_init(&conn->link);
	getpeername(fd, (void *)&conn->peer_addr, &len);
	len = sizeof(conn->local_addr);
	getsockname(fd, (void *)&conn->local_addr, &len);
	conn->peer = (struct login_peer){
		.peer = (const void *)&conn->peer_addr,
		.local = (const void *)&conn->local_addr,
		.portal = portal,
	};
	sockaddr_text(conn->peer.peer, conn->peer_text, sizeof(conn->peer_text));
	memcpy(conn->host, conn->peer_text, sizeof(conn->host));
	port = strrchr(conn->host, ':');
	if (port)
		*port = '\0';
	conn->msg.fn = conn_arrive;
	half_open_add(conn);
	reactor_load_add(to, 1);
	reactor_post(to, &conn->msg);
}

/* -- time -- */

static const char *
deadline_text(const struct iscsi_conn *conn)
{
	switch (conn->state) {
	case CONN_LOGIN:
	case CONN_ENTERING:
		return "login took too long";
	case CONN_FULL:
		return "did not log out when asked to";
	case CONN_LAST:
	case CONN_LINGER:
	case CONN_DEAD:
		break;
	}
	return "the last answer was not taken";
}

/*
 * A ping stands behind all output before it, which a slow link takes its time
 * for: while the peer takes some of that it is there, and the wait begins anew.
 */
static void
conn_ping_moved(struct iscsi_conn *conn, uint64_t now)
{
	int unacked = 0;

	ioctl(conn->fd, SIOCOUTQ, &unacked);
	if (unacked < conn->unacked)
		conn->pinged_ns = now;
	else if (conn->pinged_ns < conn->moved_ns)
		conn->pinged_ns = conn->moved_ns;
	conn->unacked = unacked;
}

/* RFC 7143 11.19: is a silent initiator there? While we do not read, silence says nothing. */
static void
conn_ping(struct iscsi_conn *conn, uint64_t now)
{
	const struct iscsi_sess *sess = conn->sess;

	if (!sess->nop_interval_ns || conn->rx.stopped || conn->blocked)
		return;
	if (conn->pinged_ns) {
		conn_ping_moved(conn, now);
		if (now - conn->pinged_ns < sess->nop_timeout_ns)
			return;
		counter_add(&stalls, 1);
		conn_drop(conn, "no answer to a ping");
		return;
	}
	if (now - conn->heard_ns < sess->nop_interval_ns)
		return;
	conn->pinged_ns = now;
	conn->unacked = 0;
	misc_ping(conn);
}

void
conn_tick(struct iscsi_conn *conn, uint64_t now)
{
	if (conn->state == CONN_DEAD)
		return;
	if (conn->deadline_ns && now >= conn->deadline_ns) {
		counter_add(&stalls, conn->state != CONN_LINGER);
		conn_drop(conn, "%s", deadline_text(conn));
	} else if (conn->blocked && now - conn->moved_ns > STALL_NS) {
		counter_add(&stalls, 1);
		conn_drop(conn, "took no output for %u s", (unsigned)(STALL_NS / SEC));
	} else if (conn->state == CONN_FULL) {
		conn_ping(conn, now);
	}
}
