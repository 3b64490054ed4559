/* A worker's loop: epoll, one receive and one send for each connection and turn. */
#include "load.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "util.h"

enum { EVENTS = 256, RETRY_MS = 1, SLEEP_MS = 100 };

static void
conn_retry(struct conn *conn)
{
	struct ring *again = &conn->again;

	while (again->head != again->tail)
		ring_put(&conn->ready, again->v[again->head++ & again->mask]);
}

static bool
conn_busy(const struct conn *conn)
{
	return !conn->dead && (conn->running || conn->ready.head != conn->ready.tail ||
	    conn->again.head != conn->again.tail);
}

static void
conn_turn(struct conn *conn, uint32_t events)
{
	if (conn->dead)
		return;
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		conn_receive(conn);
	if (!conn->dead)
		conn_issue(conn);
}

/* Gives the slots that have nothing to do a new plan. */
static void
worker_begin(struct worker *worker)
{
	worker->now = now_ns();
	for (uint32_t i = 0; i < worker->nconns; i++) {
		struct conn *conn = worker->conns[i];

		for (uint32_t k = 0; k < opt.depth; k++)
			if (slot_plan(conn, &conn->slots[k]))
				ring_put(&conn->ready, (uint16_t)k);
		conn_turn(conn, 0);
	}
}

/*
 * With --verify the drain reads every block back. Slots that found no free
 * block before stay out of it; those still at work go on with the sweep, and
 * with none at work the first slot begins it.
 */
static void
worker_sweep(struct worker *worker)
{
	for (uint32_t i = 0; i < worker->nconns; i++) {
		struct conn *conn = worker->conns[i];

		if (!conn->dead && !conn_busy(conn) && opt.depth &&
		    slot_plan(conn, &conn->slots[0]))
			ring_put(&conn->ready, 0);
		conn_turn(conn, 0);
	}
}

static void
worker_notice(struct worker *worker, enum phase next)
{
	worker->phase = next;
	worker->now = now_ns();
	switch (next) {
	case WARM_UP:
		break;
	case MEASURE:
		worker->tally.sends = worker->tally.receives = worker->tally.window = 0;
		worker->begun = worker->now;
		worker->cpu_begun = thread_cpu_ns();
		break;
	case DRAIN:
		worker->ended = worker->now;
		worker->cpu_ended = thread_cpu_ns();
		if (opt.verify)
			worker_sweep(worker);
		break;
	}
}

static bool
worker_busy(const struct worker *worker)
{
	for (uint32_t i = 0; i < worker->nconns; i++)
		if (conn_busy(worker->conns[i]))
			return true;
	return false;
}

static bool
worker_must_retry(const struct worker *worker)
{
	for (uint32_t i = 0; i < worker->nconns; i++)
		if (worker->conns[i]->again.head != worker->conns[i]->again.tail)
			return true;
	return false;
}

static void
worker_turn(struct worker *worker)
{
	struct epoll_event ev[EVENTS];
	int timeout = worker->phase == DRAIN ? RETRY_MS : SLEEP_MS, n;

	if (opt.spin_ns && now_ns() - worker->now < opt.spin_ns)
		timeout = 0;
	else if (worker_must_retry(worker))
		timeout = RETRY_MS;
	n = epoll_wait(worker->epoll, ev, EVENTS, timeout);
	for (int i = 0; i < n; i++)
		conn_turn(ev[i].data.ptr, ev[i].events);
	if (n > 0 || timeout != RETRY_MS)
		return;
	worker->now = now_ns();
	for (uint32_t i = 0; i < worker->nconns; i++) {
		conn_retry(worker->conns[i]);
		conn_turn(worker->conns[i], 0);
	}
}

static void
worker_logout(struct worker *worker)
{
	for (uint32_t i = 0; i < worker->nconns; i++) {
		struct conn *conn = worker->conns[i];

		for (int tries = 0; !conn->dead && !conn->logged_out && tries < 2000; tries++) {
			if (!tries)
				conn_logout(conn);
			if (!conn_receive(conn))
				usleep(1000);
		}
		close(conn->fd);
	}
}

void *
worker_run(void *arg)
{
	struct worker *worker = arg;
	uint64_t patience = (opt.verify ? 60u : 10u) * 1000000000ull;

	worker_begin(worker);
	for (;;) {
		worker_turn(worker);
		if (phase != (int)worker->phase)
			worker_notice(worker, phase);
		if (worker->phase != DRAIN)
			continue;
		if (!worker_busy(worker) || now_ns() - worker->ended > patience)
			break;
	}
	for (uint32_t i = 0; i < worker->nconns; i++)
		worker->tally.lost += worker->conns[i]->running;
	if (opt.logout)
		worker_logout(worker);
	return NULL;
}
