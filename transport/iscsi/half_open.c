/* Connections that have not logged in: how many there may be, and who goes when there are more. */
#include <pthread.h>
#include <string.h>

#include "log.h"
#include "stats.h"

#include "iscsi.h"

COUNTER(evictions, "iscsi_half_open_evicted",
    "connections closed because too many had not logged in");

/*
 * Process-wide, oldest first. Touched when a connection is accepted and when
 * its login ends, so one lock does.
 */
static struct {
	pthread_mutex_t lock;
	struct list conns;
	unsigned n;
} half_open = { PTHREAD_MUTEX_INITIALIZER, LIST_INIT(half_open.conns), 0 };

static bool
same_address(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
		    ((const struct sockaddr_in *)b)->sin_addr.s_addr;
	if (a->ss_family == AF_INET6)
		return !memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr,
		    &((const struct sockaddr_in6 *)b)->sin6_addr, sizeof(struct in6_addr));
	return true;
}

/* On a reactor that has marked connections. */
static void
evict(struct msg *m)
{
	struct iscsi_reactor *home = container_of(m, struct iscsi_reactor, evict);
	struct iscsi_conn *conn;

	pthread_mutex_lock(&half_open.lock);
	home->evict_posted = false;
	if (!home->reactor) {
		pthread_mutex_unlock(&half_open.lock);
		return;
	}
	list_for_each(conn, &home->conns, link) {
		if (!conn->evicted)
			continue;
		conn->evicted = false;
		conn_drop(conn, "too many connections that have not logged in");
	}
	pthread_mutex_unlock(&half_open.lock);
}

/* The reactor has set itself up: the connection got there before this message. */
static void
mark(struct iscsi_conn *conn)
{
	struct iscsi_reactor *home = iscsi_reactor_at(reactor_id(conn->to));

	list_del(&conn->half_open);
	half_open.n--;
	conn->evicted = true;
	counter_add(&evictions, 1);
	if (home->evict_posted)
		return;
	home->evict_posted = true;
	home->evict.fn = evict;
	reactor_post(conn->to, &home->evict);
}

void
half_open_add(struct iscsi_conn *conn)
{
	struct iscsi_conn *at, *oldest = NULL;
	unsigned same = 0;

	pthread_mutex_lock(&half_open.lock);
	list_for_each(at, &half_open.conns, half_open) {
		if (!same_address(&at->peer_addr, &conn->peer_addr))
			continue;
		if (!same++)
			oldest = at;
	}
	if (same >= HALF_OPEN_PER_ADDRESS)
		mark(oldest);
	else if (half_open.n >= HALF_OPEN_MAX)
		mark(list_first(&half_open.conns, struct iscsi_conn, half_open));
	list_add_tail(&half_open.conns, &conn->half_open);
	half_open.n++;
	pthread_mutex_unlock(&half_open.lock);
}

void
half_open_del(struct iscsi_conn *conn)
{
	pthread_mutex_lock(&half_open.lock);
	/* It may have logged in while it was being marked. */
	conn->evicted = false;
	if (!list_empty(&conn->half_open)) {
		list_del(&conn->half_open);
		half_open.n--;
	}
	pthread_mutex_unlock(&half_open.lock);
}
