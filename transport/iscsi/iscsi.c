/* iSCSI as the daemon sees it: the transport, its reactors' shared parts, and its end. */
#include "iscsi.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "portal.h"

static struct iscsi_reactor reactors[REACTORS_MAX];

struct iscsi_reactor *
iscsi_reactor_at(unsigned id)
{
	return &reactors[id];
}

/* Windows open again when memory comes back; they never close further than what is unanswered. */
static void
memory_check(struct iscsi_reactor *home)
{
	struct buf_stats stats;

	buf_stats(home->reactor, &stats);
	home->tight = stats.used > stats.budget / 8 * 7;
}

/*
 * Slow readers, however many, must leave memory for the others: what a
 * connection may make us hold shrinks as their number grows.
 */
void
iscsi_count(struct iscsi_reactor *home, int by)
{
	struct buf_stats stats;
	uint64_t part;

	home->nconns += (uint32_t)by;
	buf_stats(home->reactor, &stats);
	part = stats.budget / 2 / MAX(home->nconns, 1u);
	home->tx_cap = (uint32_t)MAX(MIN(part, (uint64_t)TX_CAP), (uint64_t)TX_CAP_MIN);
}

static void
reactor_tick(struct timer *t)
{
	struct iscsi_reactor *home = container_of(t, struct iscsi_reactor, tick);
	uint64_t now = reactor_now(home->reactor);
	struct iscsi_conn *conn;
	struct iscsi_sess *sess, *tmp;

	memory_check(home);
	list_for_each(conn, &home->conns, link)
		conn_tick(conn, now);
	list_for_each_safe(sess, tmp, &home->sessions, link)
		sess_tick(sess, now);
	if (home->nconns)
		timer_set(&home->tick, TICK_NS);
}

struct iscsi_reactor *
iscsi_reactor(struct reactor *reactor)
{
	struct iscsi_reactor *home = &reactors[reactor_id(reactor)];

	OWNED_BY(reactor);
	if (home->reactor)
		return home;
	home->rx = mmap(NULL, RX_BUF, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (home->rx == MAP_FAILED)
		return NULL;
	home->reactor = reactor;
	obj_pool_init(&home->cmds, sizeof(struct iscsi_cmd));
	obj_pool_init(&home->outs, sizeof(struct pdu_out));
	obj_pool_init(&home->tmfs, tmf_size());
	list_init(&home->conns);
	list_init(&home->sessions);
	timer_init(&home->tick, reactor, reactor_tick);
	return home;
}

static void
iscsi_shutdown(struct reactor *reactor)
{
	struct iscsi_reactor *home = &reactors[reactor_id(reactor)];
	struct iscsi_conn *conn;

	home->stopping = true;
	if (!home->reactor)
		return;
	list_for_each(conn, &home->conns, link)
		conn_ask_logout(conn);
}

static unsigned
iscsi_live(struct reactor *reactor)
{
	struct iscsi_reactor *home = &reactors[reactor_id(reactor)];

	if (!home->reactor)
		return 0;
	return home->nconns + home->nsessions + home->cmds.used + home->tmfs.used;
}

static void
iscsi_fini(struct reactor *reactor)
{
	struct iscsi_reactor *home = &reactors[reactor_id(reactor)];

	if (home->reactor) {
		timer_fini(&home->tick);
		obj_pool_fini(&home->cmds);
		obj_pool_fini(&home->outs);
		obj_pool_fini(&home->tmfs);
		munmap(home->rx, RX_BUF);
	}
	*home = (struct iscsi_reactor){ 0 };
}

static void
iscsi_drop(struct nexus *nexus)
{
	struct iscsi_sess *sess = nexus->session;

	if (sess->conn)
		conn_ask_logout(sess->conn);
}

const struct transport_ops iscsi_ops = {
	.name = "iscsi",
	.want_data = data_want,
	.done = command_done,
	.tmf_done = tmf_done,
	.drop = iscsi_drop,
};

const struct transport iscsi_transport = {
	.name = "iscsi",
	.target_keys = iscsi_target_keys,
	.target_conf_size = sizeof(struct iscsi_target_conf),
	.portal_open = portal_open,
	.portal_close = portal_close,
	.shutdown = iscsi_shutdown,
	.live = iscsi_live,
	.fini = iscsi_fini,
};
REGISTER(transports, struct transport, &iscsi_transport);
