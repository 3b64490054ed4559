/* A libevent base without locks, and the one door other threads may knock on. */
#ifndef REACTOR_H
#define REACTOR_H

#include <assert.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdbool.h>
#include <stdint.h>

#include "list.h"

enum { REACTORS_MAX = 64 };

struct reactor;

/* Number of reactors; fixed from start to stop. Ids are 0 to reactor_count() - 1. */
unsigned reactor_count(void);
struct reactor *reactor_get(unsigned id);
unsigned reactor_id(const struct reactor *);
/* The calling thread's reactor; NULL on the main thread. */
struct reactor *reactor_self(void);
/* Nanoseconds (CLOCK_MONOTONIC) read once at the start of this turn of the loop. Own thread. */
uint64_t reactor_now(const struct reactor *);

#define OWNED_BY(r) assert(reactor_self() == (r))

/* -- messages: the only way in from another thread -- */

/*
 * An intrusive message. It belongs to the receiver from reactor_post until fn
 * is called; fn may free it or post it again. Posting does not allocate and
 * cannot fail. Messages of one sender arrive in order. Posting to one's own
 * reactor is allowed: fn runs in a later turn, never inside reactor_post.
 */
struct msg {
	struct msg *next;
	void (*fn)(struct msg *);
};
void reactor_post(struct reactor *, struct msg *);	/* any thread */

/*
 * Runs fn(arg) on the reactor and waits for its end. Main thread only: a
 * reactor never waits for anybody. After reactors_stop it runs fn here.
 */
void reactor_call(struct reactor *, void (*fn)(void *), void *arg);

/* -- files -- own thread only */

struct watch {
	struct event ev;
	void (*fn)(struct watch *, short what);	/* EV_READ, EV_WRITE */
	short want;
	int fd;
};
void watch_init(struct watch *, struct reactor *, int fd, void (*fn)(struct watch *, short));
void watch_want(struct watch *, short what);	/* EV_READ | EV_WRITE or 0; level triggered */
void watch_fini(struct watch *);		/* leaves fd open; allowed when never inited (zeroed) */

/* -- timers -- own thread only; one shot; late by some microseconds, never early */

struct timer {
	void (*fn)(struct timer *);
	struct reactor *reactor;
	uint64_t at;			/* CLOCK_MONOTONIC, ns; 0: not set */
	struct timer *child, *next, *prev;	/* the reactor's heap; see daemon/timer.c */
};
void timer_init(struct timer *, struct reactor *, void (*fn)(struct timer *));
void timer_set(struct timer *, uint64_t ns);	/* from now; again: replaces */
void timer_stop(struct timer *);
bool timer_is_set(const struct timer *);
void timer_fini(struct timer *);		/* allowed when never inited (zeroed) */

/* -- the end of the round -- own thread only */

/*
 * reactor_defer: fn runs once when the events of this turn are handled, before
 * the loop sleeps; queued again while queued, it still runs once. This is where
 * all answers of a round leave in one send.
 */
struct work {
	struct list link;
	void (*fn)(struct work *);
};
void work_init(struct work *, void (*fn)(struct work *));
void reactor_defer(struct reactor *, struct work *);
void work_cancel(struct work *);

/* -- pollers -- added and removed on the own thread */

/*
 * poll runs each turn before the events and again after them; it returns true
 * if it did something. idle (may be NULL) runs before the loop blocks and
 * returns false when it found work, then the loop does not block.
 */
struct poller {
	struct list link;
	bool (*poll)(struct poller *);
	bool (*idle)(struct poller *);
};
void poller_add(struct reactor *, struct poller *);
void poller_del(struct poller *);

/* -- load, for spreading connections -- any thread */

void reactor_load_add(struct reactor *, int n);	/* connections owned */
unsigned reactor_load(const struct reactor *);
struct reactor *reactor_least_loaded(void);

/* -- life: daemon/main.c and tests -- main thread */

/* n threads (0: one per processor this process may run on); poll_ns as `poll:`. 0 or -errno. */
int reactors_start(unsigned n, uint64_t poll_ns);
/*
 * Ends all threads: each drains its inbox, runs no more events. Objects that
 * live on reactors must be gone before. Memory is freed.
 */
void reactors_stop(void);
/* Asserts in every build that a turn's heartbeat is younger than this; for the watchdog. Any thread. Nanoseconds. */
uint64_t reactor_heartbeat_age(const struct reactor *);

#endif
