/* Loads an iSCSI target and tells what that cost it. */
#include "load.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "util.h"

struct lun *luns;
_Atomic int phase;

void
die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("load: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit(2);
}

void *
must(void *memory)
{
	if (!memory)
		die("out of memory");
	return memory;
}

static struct ring
ring_new(uint32_t room)
{
	struct ring ring = { .mask = 1 };

	while (ring.mask < room)
		ring.mask = ring.mask << 1 | 1;
	ring.v = must(calloc(ring.mask + 1, sizeof(*ring.v)));
	return ring;
}

static struct conn *
conn_new(int id, struct worker *worker)
{
	struct conn *conn = must(calloc(1, sizeof(*conn)));

	conn->id = id;
	conn->worker = worker;
	conn->ready = ring_new(opt.depth);
	conn->again = ring_new(opt.depth);
	conn->burst_mask = conn->ready.mask * 2 + 1;
	conn->bursts = must(calloc(conn->burst_mask + 1, sizeof(*conn->bursts)));
	conn->slots = must(calloc(opt.depth + 1, sizeof(*conn->slots)));
	conn->headers = must(aligned_alloc(64, HEADERS_SIZE));
	work_init(conn);
	worker->conns[worker->nconns++] = conn;
	return conn;
}

static void
conn_free(struct conn *conn)
{
	work_fini(conn);
	free(conn->headers);
	free(conn->slots);
	free(conn->bursts);
	free(conn->again.v);
	free(conn->ready.v);
	free(conn);
}

static struct worker *
workers_new(void)
{
	struct worker *workers = must(calloc(opt.threads, sizeof(*workers)));

	for (uint32_t i = 0; i < opt.threads; i++) {
		workers[i].epoll = epoll_create1(EPOLL_CLOEXEC);
		workers[i].conns = must(calloc(opt.sessions, sizeof(struct conn *)));
		workers[i].receive = must(aligned_alloc(4096, (opt.receive + 4095) & ~4095u));
		/* Touched now, not while it is measured. */
		memset(workers[i].receive, 0, opt.receive);
	}
	return workers;
}

static void
workers_free(struct worker *workers)
{
	for (uint32_t i = 0; i < opt.threads; i++) {
		for (uint32_t k = 0; k < workers[i].nconns; k++)
			conn_free(workers[i].conns[k]);
		free(workers[i].receive);
		free(workers[i].conns);
		close(workers[i].epoll);
	}
	free(workers);
}

static void
luns_probe(struct conn *conn)
{
	luns = must(calloc(opt.nluns, sizeof(*luns)));
	for (unsigned i = 0; i < opt.nluns; i++) {
		luns[i].number = opt.luns[i];
		lun_probe(conn, &luns[i]);
	}
}

static void
conn_start(struct conn *conn)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = conn };

	if (fcntl(conn->fd, F_SETFL, O_NONBLOCK) ||
	    epoll_ctl(conn->worker->epoll, EPOLL_CTL_ADD, conn->fd, &ev))
		die("epoll: %s", strerror(errno));
}

static void
wait_seconds(double s)
{
	struct timespec t = { (time_t)s, (long)((s - (double)(time_t)s) * 1e9) };

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

int
main(int argc, char **argv)
{
	struct rlimit files = { 70000, 70000 };
	struct usage begun, ended;
	struct worker *workers;
	struct conn **conns;
	uint64_t t0, t1, errors;
	double login_ms;

	options_read(argc, argv);
	signal(SIGPIPE, SIG_IGN);
	setrlimit(RLIMIT_NOFILE, &files);
	workers = workers_new();
	conns = must(calloc(opt.sessions, sizeof(struct conn *)));
	t0 = now_ns();
	for (uint32_t i = 0; i < opt.sessions; i++) {
		conns[i] = conn_new((int)i, &workers[i % opt.threads]);
		conn_login(conns[i]);
	}
	login_ms = (double)(now_ns() - t0) / 1e6 / opt.sessions;
	luns_probe(conns[0]);
	for (uint32_t i = 0; i < opt.sessions; i++)
		conn_start(conns[i]);

	for (uint32_t i = 0; i < opt.threads; i++)
		if (pthread_create(&workers[i].thread, NULL, worker_run, &workers[i]))
			die("cannot start a thread");
	wait_seconds(opt.warm_up);
	begun = usage_read(opt.target_pid);
	t0 = now_ns();
	phase = MEASURE;
	wait_seconds(opt.seconds);
	ended = usage_read(opt.target_pid);
	t1 = now_ns();
	phase = DRAIN;
	for (uint32_t i = 0; i < opt.threads; i++)
		pthread_join(workers[i].thread, NULL);
	errors = report_print(workers, conns, login_ms, (double)(t1 - t0) / 1e9, &begun, &ended);
	workers_free(workers);
	free(conns);
	free(luns);
	return errors ? 1 : 0;
}
