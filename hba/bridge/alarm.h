/* What must be looked at again at a certain time, although no disk gives anything back. */
#ifndef ALARM_H
#define ALARM_H

#include <stdbool.h>
#include <stdint.h>

struct bridge_cpu;
struct bridge_host;
struct timer;

/*
 * Embedded in what it wakes, which lives as long as the host. Under the host's
 * lock. The earliest one is in the timer of some reactor; when that fires, fn is
 * called under the lock.
 */
struct alarm {
	void (*fn)(struct alarm *, uint64_t now);
	uint64_t at;			/* CLOCK_MONOTONIC, ns */
	struct alarm *left, *right;	/* in host->alarms: a skew heap, the earliest on top */
	bool set;
};

static inline void
alarm_init(struct alarm *a, void (*fn)(struct alarm *, uint64_t now))
{
	*a = (struct alarm){ .fn = fn };
}

/*
 * One that is set may go off sooner, not later: fn looks whether its time has
 * come, and sets it again if not.
 */
void alarm_set(struct bridge_host *, struct alarm *, uint64_t at);

/* Calls those whose time has come, if a timer has fired. */
void alarms_run(struct bridge_host *);
/* The last step under the lock, on a reactor: the earliest alarm is in somebody's timer. */
void alarms_arm(struct bridge_cpu *);
/* The timer of a reactor. */
void alarm_fired(struct timer *);

#endif
