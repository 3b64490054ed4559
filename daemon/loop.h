/* One reactor as the daemon's own files see it. */
#ifndef LOOP_H
#define LOOP_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "reactor.h"

struct buf_pool;

struct reactor {
	/* -- the owner's: no other thread looks -- */
	struct event_base *base;
	uint64_t now;			/* read once a turn */
	uint64_t last;			/* when something last happened: the next turn's start */
	uint64_t poll_ns;
	bool busy;			/* something happened in this turn */
	bool slept;			/* blocked, and no callback has run since */
	bool stop;
	struct list pollers;
	struct list *cursor;		/* where the walk over the pollers goes on */
	struct list work;
	struct timer *timers;		/* the heap's root: the earliest */
	uint64_t timer_armed;		/* what timer_fd is set to; 0: not */
	struct watch wake, tick;
	struct msg stop_msg;
	struct buf_pool *bufs;

	/* -- fixed while threads run -- */
	unsigned id;
	int wake_fd, timer_fd;
	pthread_t thread;
	sem_t started;
	int start_err;

	/* -- written by whoever posts -- */
	OWN_LINE _Atomic(struct msg *) inbox;
	atomic_bool armed;		/* the owner sleeps or is about to: write wake_fd */

	/* -- written by the owner, read by the main thread -- */
	OWN_LINE _Atomic uint64_t beat;	/* start of the newest turn */
	atomic_bool asleep;
	atomic_int load;
};

extern __thread struct reactor *loop_self;

/* Builds what a loop needs, and takes it down; main thread, while the thread does not run. */
int loop_init(struct reactor *, unsigned id, uint64_t poll_ns);
void loop_fini(struct reactor *);
/* Turns until r->stop. */
void loop_run(struct reactor *);
/* Runs deferred work, and what that defers. */
void loop_work(struct reactor *);
/* Every callback out of the event base calls this first: time went on while it slept. */
void loop_event(struct reactor *);

/* Runs the messages that are there, oldest first; false if there were none. */
bool inbox_drain(struct reactor *);
/* Announces that the owner is about to sleep; false: there are messages, it must not. */
bool inbox_arm(struct reactor *);

/* Runs timers that are due. */
void timers_run(struct reactor *);
/* Sees to it that timer_fd ends a sleep no later than the earliest timer. */
void timers_arm(struct reactor *);

#endif
