/* Simulated disks behind an adapter, and many commands at them at once. */
#ifndef SIM_RIG_H
#define SIM_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bridge.h"
#include "buf.h"
#include "conf.h"
#include "hba/disk/sim.h"
#include "stats.h"

enum { SIM_CMDS = 4096, SIM_FLOWS = 64 };

/* For reactor threads, where cmocka's own cannot jump back to the test. */
#define sure(x)                                                                     \
	do {                                                                        \
		if (!(x)) {                                                         \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #x); \
			abort();                                                    \
		}                                                                   \
	} while (0)

struct sim_cmd {
	struct bridge_req req;
	struct iovec iov[BUF_IOV_MAX];
	enum bridge_verdict verdict;
	int order;			/* when it was done, from 1; 0: is not */
	int again;			/* submits itself so many times more */
};

static struct conf *srig_conf;
static struct sim_cmd srig_cmd[SIM_CMDS];
static struct bridge_flow *srig_flow[SIM_FLOWS];
static unsigned srig_home[SIM_FLOWS];
static int srig_ncmds;
static _Atomic int srig_done;
static sem_t srig_sem;
static char srig_said[4096];

static inline void
srig_reset(void)
{
	memset(srig_cmd, 0, sizeof(srig_cmd));
	srig_ncmds = 0;
	atomic_store(&srig_done, 0);
	sem_init(&srig_sem, 0, 0);
}

/* An adapter "a" of so many places and depths; disks is a YAML list in one line. */
static inline void
srig_open(unsigned reactors, const char *adapter, const char *disks)
{
	char text[2048];
	int n = snprintf(text, sizeof(text), "adapters: [{ name: a, %s, disks: [ %s ] }]\n", adapter,
	    disks);

	assert_in_range(n, 1, sizeof(text) - 1);
	stats_init();
	stats_thread_init(REACTORS_MAX);
	assert_int_equal(reactors_start(reactors, 0), 0);
	assert_int_equal(conf_load_text("t", text, strlen(text), &srig_conf, stderr), 0);
	assert_int_equal(adapters_open(srig_conf), 0);
	srig_reset();
}

struct srig_call {
	int flow, cmd, n;
	const char *disk, *initiator;
};

static inline void
srig_on_flow(void *arg)
{
	struct srig_call *c = arg;

	srig_flow[c->flow] = bridge_flow_get(disk_find(c->disk), c->initiator,
	    &(struct bridge_limits){ .weight = 1 }, reactor_self());
	sure(srig_flow[c->flow]);
}

/* Flow number f: an initiator at a disk, at home on that reactor. */
static inline void
srig_flow_get(int f, unsigned reactor, const char *disk, const char *initiator)
{
	struct srig_call c = { .flow = f, .disk = disk, .initiator = initiator };

	srig_home[f] = reactor;
	reactor_call(reactor_get(reactor), srig_on_flow, &c);
}

static inline void
srig_on_put(void *arg)
{
	int f = *(int *)arg;

	bridge_flow_put(srig_flow[f]);
	srig_flow[f] = NULL;
}

static inline void
srig_close(void)
{
	struct bridge_host *h = bridge_host_next(NULL);

	for (int f = 0; f < SIM_FLOWS; f++)
		if (srig_flow[f])
			reactor_call(reactor_get(srig_home[f]), srig_on_put, &f);
	assert_true(adapters_settle(5000000000u));
	assert_int_equal(bridge_check(h, stderr), 0);
	adapters_close();
	reactors_stop();
	conf_free(srig_conf);
	sem_destroy(&srig_sem);
	assert_int_equal(sim_rows(NULL, 0), 0);
}

static void srig_ended(struct bridge_req *);

static inline void
srig_start(struct sim_cmd *c)
{
	for (;;) {
		c->verdict = bridge_submit(&c->req);
		sure(c->verdict == BRIDGE_DONE || c->verdict == BRIDGE_PENDING);
		if (c->verdict == BRIDGE_PENDING)
			return;
		c->order = atomic_fetch_add(&srig_done, 1) + 1;
		if (!c->again--) {
			sem_post(&srig_sem);
			return;
		}
	}
}

static void
srig_ended(struct bridge_req *req)
{
	struct sim_cmd *c = container_of(req, struct sim_cmd, req);

	c->order = atomic_fetch_add(&srig_done, 1) + 1;
	if (c->again--)
		srig_start(c);
	else
		sem_post(&srig_sem);
}

static inline void
srig_on_submit(void *arg)
{
	struct srig_call *call = arg;

	for (int i = 0; i < call->n; i++)
		srig_start(&srig_cmd[call->cmd + i]);
}

/* A command that will be submitted; iov, op, offset and len are the caller's to set. */
static inline struct sim_cmd *
srig_new(int f, enum disk_op op, uint64_t offset, void *buf, uint64_t len)
{
	struct sim_cmd *c = &srig_cmd[srig_ncmds++];

	assert_true(srig_ncmds <= SIM_CMDS);
	c->iov[0] = (struct iovec){ buf, len };
	c->req.flow = srig_flow[f];
	c->req.done = srig_ended;
	c->req.io.op = (uint8_t)op;
	c->req.io.offset = offset;
	c->req.io.len = len;
	c->req.io.iov = c->iov;
	c->req.io.niov = buf ? 1 : 0;
	c->req.io.result = -1000;
	return c;
}

/* Submits commands from..to-1, all of flow f, in one go. */
static inline void
srig_submit(int f, int from, int to)
{
	struct srig_call c = { .cmd = from, .n = to - from };

	reactor_call(reactor_get(srig_home[f]), srig_on_submit, &c);
}

static inline void
srig_wait(int n)
{
	while (n > 0)
		if (!sem_wait(&srig_sem))
			n--;
}

/* One command from beginning to end. */
static inline int
srig_io(int f, enum disk_op op, uint64_t offset, void *buf, uint64_t len)
{
	struct sim_cmd *c = srig_new(f, op, offset, buf, len);

	srig_submit(f, srig_ncmds - 1, srig_ncmds);
	srig_wait(1);
	return c->req.io.result;
}

static inline struct sim_row
srig_row(enum sim_kind kind, const char *name)
{
	static struct sim_row rows[2048];
	unsigned n = sim_rows(rows, ARRAY_LEN(rows));

	assert_true(n <= ARRAY_LEN(rows));
	for (unsigned i = 0; i < n; i++)
		if (rows[i].kind == kind && (!name || strcmp(rows[i].name, name) == 0))
			return rows[i];
	fail_msg("no row %s", name ? name : "of that kind");
	return rows[0];
}

/* Collects what is logged until srig_listened, in srig_said. */
static FILE *srig_log;
static int srig_stderr;

static inline void
srig_listen(void)
{
	srig_log = tmpfile();
	srig_stderr = dup(STDERR_FILENO);
	assert_true(srig_log && srig_stderr >= 0);
	fflush(stderr);
	dup2(fileno(srig_log), STDERR_FILENO);
}

static inline void
srig_listened(void)
{
	ssize_t n;

	dup2(srig_stderr, STDERR_FILENO);
	close(srig_stderr);
	n = pread(fileno(srig_log), srig_said, sizeof(srig_said) - 1, 0);
	assert_true(n >= 0);
	srig_said[n] = 0;
	fclose(srig_log);
}

#endif
