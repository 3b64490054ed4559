/* One cell of the tables of queue admission: what its files share. */
#ifndef CELL_H
#define CELL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "include/bridge.h"
#include "include/reactor.h"
#include "include/util.h"

/* What is asked for, from the command line; see cell_main.c's table of options. */
struct setup {
	const char *policy;
	uint32_t threads;		/* reactors with a hardware queue */
	uint32_t loaded;		/* of these, the first so many have initiators; 0: all */
	uint32_t targets, luns, initiators;
	uint32_t can_queue, target_depth, lun_depth;
	uint32_t window_min, window_max;	/* commands an initiator keeps up, in geometric steps */
	uint32_t hogs;			/* with it: so many have window_max, the others window_min */
	uint32_t spread;		/* 1: each initiator goes round all LUNs; 0: keeps to one */
	uint32_t apart;			/* 1: the hogs have LUN 0 to themselves */
	uint32_t heavy;			/* so many initiators have weight 4 */
	uint32_t batch;			/* completions, then submissions, of one step */
	uint32_t work_ns;		/* other work of the processor for each command */
	uint32_t service_ns;		/* of the device; 0: at once */
	uint32_t nap_ns;		/* an idle reactor sleeps so long at least */
	uint32_t poll_ns;		/* and polls so long before */
	uint32_t count;			/* 1: the device counts who is in it */
	uint32_t device_slots;		/* what it bears; 0: can_queue */
	uint32_t warm_ms, run_ms;
	/* the bridge alone */
	const char *mode;		/* queue_mode */
	const char *device;		/* "bench", or a driver of the product */
	uint32_t caches;		/* 0: reactors keep no credits (policy e1) */
	uint32_t coalesce;
	uint32_t sequential;		/* bytes of each of the WRITEs that follow each other; 0: READs of 512 */
	uint32_t command_ns;		/* of the sim device: how long a command has its disk to itself */
};
extern struct setup setup;

enum { TARGETS_MAX = 64, LUNS_MAX = 64, INITIATORS_MAX = 256, SMALL = 0, HOG = 1, CLASSES };

/* Prints and ends the process with 2. */
__attribute__((format(printf, 1, 2), noreturn))
void die(const char *fmt, ...);
void *must(void *memory);

struct worker;
struct initiator;

/* An operation on its way to the owner thread (policy d), or to a worker. */
struct op {
	struct op *next;
	struct msg msg;			/* the first of a chain carries it */
	struct command *cmd;		/* to be admitted; NULL: a release */
	uint32_t tag, lun;
};

/* Of its initiator, which has it again after command_back. On lines of its own, as the daemon's are. */
struct command {
	_Alignas(CACHE_LINE) struct bridge_req req;	/* policy e */
	struct command *next;		/* in one queue at a time */
	struct initiator *initiator;
	uint32_t lun, tag;
	uint64_t asked_ns, due_ns;
	struct op op;			/* policy d; op.msg: policy a's way home */
};

struct queue {
	struct command *first, **last;
};

struct initiator {
	OWN_LINE _Atomic uint64_t done;	/* counted by its worker alone */
	struct worker *home;
	uint32_t id, window, weight, next_lun;
	uint8_t class;
	struct command *commands;
	struct bridge_flow *flow[LUNS_MAX];
	uint64_t offset[LUNS_MAX];	/* of its next WRITE */
};

/* Times in ns in steps of 3 %. */
enum { HIST_STEPS = 32, HIST_SIZE = 40 * HIST_STEPS };

struct waits {
	uint64_t asked, slow;		/* commands, and those that were not started at once */
	uint64_t max_ns;
	uint32_t all[HIST_SIZE], of_slow[HIST_SIZE];
};

/* A reactor with its hardware queue and its initiators. Own thread. */
struct worker {
	OWN_LINE struct poller poller;
	struct timer timer;
	struct reactor *reactor;
	unsigned id;
	struct queue busy;		/* in the device, in order of due_ns */
	struct queue ready;		/* to be asked for */
	struct command *asking;		/* submit is on the stack; NULL when it was started in it */
	atomic_uint at_rest;		/* commands that are not sent again: the end */
	uint64_t retry_at;		/* the policy wants to be polled by then; 0: does not */
	struct waits waits[CLASSES];
};
extern struct worker *workers;
extern struct initiator *initiators;
extern __thread struct worker *worker_self;
extern atomic_bool recording, stopping;

/* On its home's thread: the initiator has its answer. */
void command_back(struct command *);

static inline void
queue_init(struct queue *q)
{
	q->first = NULL;
	q->last = &q->first;
}

static inline void
queue_add(struct queue *q, struct command *cmd)
{
	cmd->next = NULL;
	*q->last = cmd;
	q->last = &cmd->next;
}

static inline struct command *
queue_take(struct queue *q)
{
	struct command *cmd = q->first;

	if (cmd && !(q->first = cmd->next))
		q->last = &q->first;
	return cmd;
}

/* -- the device -- */

void device_init(void);
/* Starts cmd on the calling worker's hardware queue. Ends the process when that is one too many. */
void device_start(struct command *);
/* Gives up to max commands whose time has come to the policy. */
unsigned device_finish(struct worker *, uint64_t now, unsigned max);
int device_max(void);			/* most that were in it at once; 0: not counted */

/* -- policies -- */

/*
 * submit: on the home's thread; calls device_start there or anywhere, now or
 * later. release: the device is finished with it, on the thread that started it;
 * leads to command_back. The rest may be NULL: open and close on the main thread
 * while reactors run, worker_open and worker_close on each worker's, turn after
 * each batch of completions and submissions; true: it did something.
 */
struct policy {
	const char *name;
	unsigned extra;			/* reactors beside the workers */
	void (*open)(void);
	void (*worker_open)(struct worker *);
	void (*submit)(struct command *);
	void (*release)(struct command *);
	bool (*turn)(struct worker *);
	void (*worker_close)(struct worker *);
	void (*close)(void);
};
extern const struct policy policy_mutex, policy_atomics, policy_divided, policy_owner, policy_bridge;
extern const struct policy *policy;

/* -- a run -- */

void crowd_make(void);
void crowd_free(void);
void worker_start(void *);		/* on its reactor */
void worker_stop(void *);
void pin_to(unsigned id);		/* the calling thread, one of those reactors */

void waits_note(struct waits *, uint64_t ns, bool slow);
void results_print(const uint64_t *done, uint64_t ns, uint64_t cpu_ns);
/* Lets the calling thread work for so long. */
void work_calibrate(void);
void work_for(uint32_t ns);

#endif
