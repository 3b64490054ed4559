/* Sessions: made at login, found again by a new one that replaces them, ended with their nexus. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "stats.h"

#include "iscsi.h"
#include "login_env.h"

COUNTER(reinstated, "iscsi_sessions_replaced",
    "sessions replaced by a new login of the same initiator port");
COUNTER(overdue, "iscsi_writes_overdue", "writes ended because their data did not come");

enum { TASK_SLOTS_MIN = 16, TASK_SLOTS_MAX = 1024, DISCOVERY_DEPTH = 16 };

/*
 * All sessions of the process, touched at login, at the end, and by the main
 * thread; whoever finds a session here may use only its reg, home, params,
 * tsih, target, id and kicked, and only under the lock, unless it is on its
 * reactor.
 */
static struct {
	pthread_mutex_t lock;
	struct list sessions;
	uint16_t last_tsih;
} registry = { PTHREAD_MUTEX_INITIALIZER, LIST_INIT(registry.sessions), 0 };

static struct iscsi_sess *
registry_by_tsih(uint16_t tsih)
{
	struct iscsi_sess *sess;

	list_for_each(sess, &registry.sessions, reg) {
		if (sess->tsih == tsih)
			return sess;
	}
	return NULL;
}

/* Same initiator port, same target (RFC 7143 6.3.5). */
static bool
same_nexus(const struct iscsi_params *a, const struct iscsi_params *b)
{
	return a->type == ISCSI_NORMAL && b->type == ISCSI_NORMAL &&
	    !memcmp(a->isid, b->isid, sizeof(a->isid)) && !strcmp(a->initiator, b->initiator) &&
	    !strcmp(a->target, b->target);
}

static struct iscsi_sess *
registry_by_nexus(const struct iscsi_params *p)
{
	struct iscsi_sess *sess;

	list_for_each(sess, &registry.sessions, reg) {
		if (same_nexus(&sess->params, p))
			return sess;
	}
	return NULL;
}

/* 0: all are in use. */
static uint16_t
registry_tsih(void)
{
	for (unsigned i = 0; i < UINT16_MAX; i++) {
		if (++registry.last_tsih == 0)
			registry.last_tsih = 1;
		if (!registry_by_tsih(registry.last_tsih))
			return registry.last_tsih;
	}
	return 0;
}

/*
 * Puts a session of these parameters in, or finds the one that is in its
 * way (*old). sess->tsih is that of a session it continues, or a new one.
 */
static enum login_status
registry_add(struct iscsi_sess *sess, struct iscsi_sess **old)
{
	const struct iscsi_params *p = &sess->params;
	struct iscsi_sess *named;

	*old = registry_by_nexus(p);
	if (p->tsih) {
		named = registry_by_tsih(p->tsih);
		/* Gone by now is no fault: this login waited for that (sess->tsih is set). */
		if (named ? !same_nexus(&named->params, p) : !sess->tsih)
			return LOGIN_NO_SESSION;
		/* MaxConnections is 1; the same CID replaces the connection, at level 0 the session. */
		if (named && named->params.cid != p->cid)
			return LOGIN_TOO_MANY_CONNECTIONS;
	}
	if (*old)
		return LOGIN_OK;
	sess->tsih = p->tsih ? p->tsih : registry_tsih();
	if (!sess->tsih)
		return LOGIN_OUT_OF_RESOURCES;
	list_add_tail(&registry.sessions, &sess->reg);
	return LOGIN_OK;
}

static void
registry_del(struct iscsi_sess *sess)
{
	pthread_mutex_lock(&registry.lock);
	list_del(&sess->reg);
	pthread_mutex_unlock(&registry.lock);
}

/* -- making -- */

static void
sess_free(struct iscsi_sess *sess)
{
	if (!sess)
		return;
	registry_del(sess);
	if (!list_empty(&sess->link)) {
		list_del(&sess->link);
		sess->home->nsessions--;
	}
	exchange_free(sess->exchange);
	free(sess->tasks);
	free(sess);
}

static struct iscsi_sess *
sess_new(struct iscsi_conn *conn)
{
	struct iscsi_sess *sess = calloc(1, sizeof(*sess));

	if (!sess)
		return NULL;
	sess->home = conn->home;
	sess->conn = conn;
	sess->params = *login_params(conn->login);
	sess->target = login_target(conn->login);
	sess->max_xmit_dsl = sess->params.max_xmit_dsl;
	sess->limits = (struct gather_limits){
		.first_burst = sess->params.first_burst,
		.max_burst = sess->params.max_burst,
		.max_r2t = sess->params.max_outstanding_r2t,
		.initial_r2t = sess->params.initial_r2t,
		.immediate_data = sess->params.immediate_data,
	};
	list_init(&sess->gathering);
	list_init(&sess->tmfs);
	list_init(&sess->held);
	list_init(&sess->waiters);
	list_init(&sess->reg);
	list_init(&sess->link);
	sess->login_ns = reactor_now(conn->home->reactor);
	return sess;
}

static int
sess_tasks(struct iscsi_sess *sess)
{
	uint32_t n = TASK_SLOTS_MIN, shift = 28;

	for (; n < sess->depth && n < TASK_SLOTS_MAX; n *= 2)
		shift--;
	sess->tasks = calloc(n, sizeof(struct iscsi_cmd *));
	sess->task_shift = shift;
	return sess->tasks ? 0 : -ENOMEM;
}

static int
sess_nexus(struct iscsi_sess *sess)
{
	const struct iscsi_target_conf *conf =
	    target_conf(sess->target)->opts[transport_index(&iscsi_transport)];
	struct nexus_id id = login_identity(&sess->params, &sess->conn->peer);
	int rc;

	rc = nexus_login(sess->target, &id, sess->home->reactor, &iscsi_ops, sess, &sess->nexus);
	if (rc < 0)
		return rc;
	sess->nop_interval_ns = conf->nop_interval_ns;
	sess->nop_timeout_ns = conf->nop_timeout_ns;
	sess->depth = conf->queue_depth;
	if (sess->nexus->depth)
		sess->depth = MIN(sess->depth, sess->nexus->depth);
	pthread_mutex_lock(&registry.lock);
	sess->id = sess->nexus->id;
	pthread_mutex_unlock(&registry.lock);
	return 0;
}

static enum login_status
sess_start(struct iscsi_sess *sess)
{
	int rc = 0;

	sess->depth = DISCOVERY_DEPTH;
	if (sess->target)
		rc = sess_nexus(sess);
	if (!rc)
		rc = sess_tasks(sess);
	if (rc) {
		if (sess->nexus)
			nexus_logout(sess->nexus, NULL, NULL);
		return rc == -EACCES ? LOGIN_FORBIDDEN : LOGIN_OUT_OF_RESOURCES;
	}
	window_init(&sess->window, sess->conn->cmd_sn, MAX(sess->depth, 1u));
	list_add_tail(&sess->home->sessions, &sess->link);
	sess->home->nsessions++;
	sess->conn->sess = sess;
	return LOGIN_OK;
}

/* Another session of this initiator port is alive here: it ends, and this login waits for that. */
static void
sess_replace(struct iscsi_conn *conn, struct iscsi_sess *old)
{
	log_peer(LOG_LEVEL_WARN, old->params.initiator,
	    "%s: %s logs in to %s again with the same ISID", conn->peer_text,
	    old->params.initiator, old->params.target);
	counter_add(&reinstated, 1);
	list_add_tail(&old->waiters, enter_link(conn));
	if (!old->conn)
		return;
	/* It may have been let in only just now. */
	conn_flush(old->conn);
	conn_drop(old->conn, "replaced by a login from %s", conn->peer_text);
}

void
sess_enter(struct iscsi_conn *conn)
{
	struct iscsi_sess *sess = sess_new(conn), *old = NULL;
	enum login_status status = LOGIN_OUT_OF_RESOURCES;
	struct reactor *at = NULL;

	if (sess) {
		sess->tsih = conn->waited_tsih;
		pthread_mutex_lock(&registry.lock);
		status = registry_add(sess, &old);
		at = old ? old->home->reactor : NULL;
		pthread_mutex_unlock(&registry.lock);
	}
	if (status == LOGIN_OK && !old)
		status = sess_start(sess);
	if (status != LOGIN_OK) {
		sess_free(sess);
		enter_done(conn, status);
		return;
	}
	if (!old) {
		enter_done(conn, status);
		return;
	}
	conn->waited_tsih = sess->params.tsih;
	sess_free(sess);
	if (at == conn->home->reactor)
		sess_replace(conn, old);
	else if (conn->out)
		conn_drop(conn, "its answers are not read");
	else
		conn_move(conn, at, sess_enter);
}

/* -- ending -- */

/* No command of the nexus can touch a disk any more: who waited may enter. */
static void
sess_gone(void *arg)
{
	struct iscsi_sess *sess = arg;

	registry_del(sess);
	while (!list_empty(&sess->waiters)) {
		struct list *link = sess->waiters.next;

		list_del(link);
		enter_later(link);
	}
	sess_free(sess);
}

void
sess_end(struct iscsi_sess *sess)
{
	struct nexus *nexus = sess->nexus;

	command_orphan_all(sess);
	tmf_orphan_all(sess);
	held_fini(sess);
	sess->conn->sess = NULL;
	sess->conn = NULL;
	sess->nexus = NULL;
	if (nexus)
		nexus_logout(nexus, sess_gone, sess);
	else
		sess_gone(sess);
}

/* -- ended by others -- */

static void
kicked(struct msg *m)
{
	struct iscsi_reactor *home = container_of(m, struct iscsi_reactor, kick);
	struct iscsi_sess *sess;

	pthread_mutex_lock(&registry.lock);
	home->kick_posted = false;
	list_for_each(sess, &home->sessions, link) {
		if (sess->kicked && sess->conn)
			conn_last(sess->conn, "ended by the target");
		sess->kicked = false;
	}
	pthread_mutex_unlock(&registry.lock);
}

unsigned
sess_kick(const struct target *target, uint64_t id)
{
	struct iscsi_sess *sess;
	unsigned n = 0;

	pthread_mutex_lock(&registry.lock);
	list_for_each(sess, &registry.sessions, reg) {
		struct iscsi_reactor *home = sess->home;

		if ((target && sess->target != target) || (id && sess->id != id))
			continue;
		n++;
		sess->kicked = true;
		if (home->kick_posted)
			continue;
		home->kick_posted = true;
		home->kick.fn = kicked;
		reactor_post(home->reactor, &home->kick);
	}
	pthread_mutex_unlock(&registry.lock);
	return n;
}

/* -- time -- */

static struct iscsi_cmd *
first_overdue(const struct iscsi_sess *sess, uint64_t now)
{
	struct iscsi_cmd *cmd;

	list_for_each(cmd, &sess->gathering, waiting) {
		if (now - cmd->moved_ns > GATHER_NS)
			return cmd;
	}
	return NULL;
}

void
sess_tick(struct iscsi_sess *sess, uint64_t now)
{
	struct iscsi_cmd *cmd;

	if (!sess->conn)
		return;
	/* From the start each time: the end of one may begin or end others. */
	while ((cmd = first_overdue(sess, now))) {
		counter_add(&overdue, 1);
		data_overdue(cmd);
	}
	window_resize(&sess->window, sess->home->tight ? 1 : MAX(sess->depth, 1u));
}
