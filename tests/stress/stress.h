/* An adapter on several reactors, a device that counts for itself, and a dog that barks when nothing moves any more. */
#ifndef STRESS_H
#define STRESS_H

#include <limits.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "bridge.h"
#include "conf.h"

enum { CPUS_MAX = 40, INIS_MAX = 4, DISKS_MAX = 32, JOBS_MAX = 64 };

/* Less of everything where each step costs more. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { SLOWER = 2 };
#else
enum { SLOWER = 1 };
#endif

/* Also on reactors, and in every build. */
#define sure(x)                                                                     \
	do {                                                                        \
		if (!(x))                                                           \
			bark("%s:%d: not so: %s", __FILE__, __LINE__, #x);          \
	} while (0)

/* The adapter that a scenario wants. 0: as many as there are of the others. */
struct shape {
	unsigned reactors;
	bool awake;			/* reactors poll without end; else they sleep at once */
	int host, target, lun, ini;	/* limits */
	unsigned disks, per_target, inis;
	unsigned jobs;			/* of each reactor */
	int mode;
	unsigned queues;
};

/* Counted by the device, apart from the bridge. */
struct limit {
	OWN_LINE atomic_int in;
	atomic_int cap;			/* more ends the test */
	atomic_int most;		/* that were seen, nearly */
	const char *what;
};

struct job {
	struct bridge_req req;
	struct list link;		/* in the device */
	unsigned home, disk, ini;
	unsigned queue;			/* that it is counted by, in the device */
	/* -- its home's -- */
	bool pending, unwanted;
	/* -- the device's, and its home's while it does not pend -- */
	atomic_bool seen;		/* reached the device */
	atomic_bool held;		/* stays there */
};

/* One hardware queue on each reactor, with what its thread alone uses. */
struct hw {
	OWN_LINE struct poller poller;
	unsigned id;
	unsigned seed;
	struct list running;
	struct bridge_flow *flow[INIS_MAX][DISKS_MAX];
	struct job job[JOBS_MAX];
	struct msg msg;
	unsigned done, cancelled;
	int left;			/* submissions to go */
	OWN_LINE atomic_ulong moves, turns;	/* the owner writes */
	atomic_bool posted;
};

extern struct world {
	struct shape shape;
	struct hw *hw;
	struct bridge_host *host;
	struct limit all, target[DISKS_MAX], lun[DISKS_MAX], ini[INIS_MAX], queue[CPUS_MAX];
	const char *scenario, *part;
	/* What the device does; one in so many, 0: never. Between two runs only. */
	unsigned inline_of, error_of, full_of, twice_of;
	int offline_at;			/* it dies of so many; 0: never */
	atomic_bool offline, stop;
	atomic_bool only_first;		/* only reactor 0 may submit */
	atomic_uint queues;		/* a job's queue is its home modulo so many */
	/* Called on the home reactor when a job has come back; NULL: nothing more. */
	void (*back)(struct hw *, struct job *);
	atomic_int outstanding;		/* jobs, and whoever will still submit some */
	sem_t silence;			/* nothing is; perhaps something again */
	atomic_ulong duplicates;	/* completions that came twice */
} world;

extern unsigned stress_seed;

static inline unsigned
rnd(unsigned *seed, unsigned n)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (*seed >> 8) % n;
}

static inline bool
one_in(unsigned *seed, unsigned n)
{
	return n && rnd(seed, n) == 0;
}

/* -- the device's side -- */

enum disk_result device_submit(struct disk_io *);
bool device_poll(struct poller *);
bool device_idle(struct poller *);
void device_finish(struct hw *, struct job *);	/* here and now; it was held */
void hw_moved(struct hw *);		/* for the dog */

static inline struct hw *
hw_self(void)
{
	return &world.hw[reactor_id(reactor_self())];
}

/* -- the world: main thread -- */

void world_open(const struct shape *);
void world_close(void);			/* and everything is as it was */
void world_caps(void);			/* caps as the shape says */
void world_run(unsigned reactor, void (*fn)(struct msg *));	/* posts it */
void world_run_all(void (*fn)(struct msg *));	/* counted in outstanding: each must call world_over */
void world_silence(void);		/* waits until nothing is outstanding; barks if nothing moves */
void world_until(bool (*is_so)(void));	/* the same, for anything */
void world_pass(unsigned moves);	/* lets so much happen */
void world_turn(void);			/* each reactor is finished with what it was doing */
void world_check(void);			/* the bridge's own recount */
/* Lets all go that the device holds, or would. */
void world_let_go(void);

/* Random load on each reactor, with cancels: so many submissions each, or until it is stopped. */
void load_begin(int each);
void load_end(void);			/* waits for the end, and closes the world */
void load_stop(void);			/* stops it, and the same */

/* -- on a reactor -- */

static inline struct hw *
hw_of(struct msg *m)
{
	return container_of(m, struct hw, msg);
}

void world_over(void);			/* one thing less is outstanding */
struct job *job_free(struct hw *);	/* one that does not pend, or NULL */
/* Submits it with fn, as disk and ini say. What comes of it is counted. */
enum bridge_verdict job_submit(struct hw *, struct job *, enum bridge_verdict (*fn)(struct bridge_req *));
void job_aim(struct hw *, struct job *);	/* any disk, any initiator */
bool job_cancel(struct hw *, struct job *);	/* true: it was waiting */
void flow_open(struct hw *, unsigned ini, unsigned disk);
void flow_close(struct hw *, unsigned ini, unsigned disk);

/* What the bridge does at its marked places: another thread comes in between. NULL: nothing. */
void yield_random(void);
void yield_set(void (*)(void));

/* Says what is wrong and what the bridge thinks of it, and ends the process. Any thread. */
__attribute__((noreturn, format(printf, 1, 2))) void bark(const char *fmt, ...);

/* -- scenarios -- */

struct scenario {
	const char *name, *shows;
	void (*run)(void);
};
void rounds_run(void);
void borrow_run(void);
void load_run(void);
void limits_run(void);
void aborts_run(void);
void resets_run(void);
void refusals_run(void);
void modes_run(void);
void overrun_run(void);
void steps_run(void);

#endif
