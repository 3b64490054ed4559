/* What the device server asks of the bridge: the right to have one command in the adapter. */
#ifndef BRIDGE_H
#define BRIDGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "disk.h"
#include "list.h"
#include "reactor.h"

struct conf;
struct bridge_host;
struct bridge_flow;
struct merge;

/* What a reactor leaves for whoever has the adapter's lock; the bridge's own. */
enum bridge_op_kind {
	OP_ADMIT,			/* a request that has to wait */
	OP_ADMIT_TOUCH,			/* the same; it held credits for a moment */
	OP_RELEASE,			/* a slot that came back */
	OP_AGAIN,			/* a request that its disk had no room for */
	OP_ALONE,			/* one whose merged command failed: nobody knows by whose fault */
	OP_TOOK,			/* how long a LUN's requests took (credit_cache) */
};
struct bridge_op {
	struct bridge_op *next;
	uint8_t kind;
};

/*
 * A request for one slot, embedded in scsi_cmd. The caller fills io and done
 * (and flow), and owns it again when it is done.
 */
struct bridge_req {
	struct disk_io io;
	struct bridge_flow *flow;
	void (*done)(struct bridge_req *);	/* on the flow's home reactor */
	/* the bridge's own; what changes while it waits is one line of the cache */
	struct list link;
	struct bridge_op op;
	uint64_t wait_ns;		/* when it began to wait; 0: did not */
	uint32_t slot;			/* tag, and with it */
	uint32_t gen;			/* the slot's generation */
	uint8_t state;
	uint8_t place;			/* among its flow's (order.c) */
	bool alone;			/* is sent again after a failure: takes nobody along */
	bool unwanted;			/* cancelled while the disk had it: not sent again */
	uint32_t weight;		/* in the tree */
	struct merge *merge;		/* who rides with it, or with whom it rides (merge.c) */
	struct msg home;
	struct bridge_req *up, *left, *right;	/* while it waits and is sorted (tree.c) */
	uint64_t sent_ns;		/* when the disk got it, if that is asked for (depth.c) */
	uint64_t refused_ns;		/* when the disk first had no room for it; 0: not yet */
};

enum bridge_verdict {
	BRIDGE_DONE,		/* finished: io.result is set, done is not called */
	BRIDGE_PENDING,		/* waits or runs; done will be called, never inside bridge_submit */
	BRIDGE_FULL,		/* max_waiters of this initiator reached: answer TASK SET FULL */
	BRIDGE_WOULD_WAIT,	/* bridge_try only: it cannot start now; nothing was done */
};

/*
 * Asks for a slot at LUN, bus target, host and initiator, all or nothing, and
 * then gives the request to the disk, at once or when it is this flow's turn.
 * On the flow's home reactor. Never above a limit; never a slot leaked; never a
 * wake-up lost. The disk's submit may run on another reactor (the one that freed the slot).
 */
enum bridge_verdict bridge_submit(struct bridge_req *);
/* The same, but never waits: BRIDGE_WOULD_WAIT when it cannot start now. For data that is only borrowed. */
enum bridge_verdict bridge_try(struct bridge_req *);
/*
 * For error handling only: on one of a few tags that stand beside every limit
 * and freeze. BRIDGE_WOULD_WAIT when those are out too. On the home reactor.
 */
enum bridge_verdict bridge_urgent(struct bridge_req *);

enum bridge_cancel {
	BRIDGE_CANCELLED,	/* was waiting: taken out, held nothing; done is not called */
	BRIDGE_RUNNING,		/* the disk has it: done will be called when it gives it back */
};
/* On the home reactor, for a request that is pending and whose done has not run. */
enum bridge_cancel bridge_cancel(struct bridge_req *);

/* What one initiator may use of an adapter. */
struct bridge_limits {
	uint32_t weight;		/* share in turns, 1 to 255 */
	uint32_t depth;			/* requests in flight; 0: no limit */
	uint64_t iops;			/* requests a second; 0: no limit */
	uint64_t bandwidth;		/* bytes a second; 0: no limit */
	uint64_t burst_ns;		/* what it may have saved up: so long at its rate */
};

/*
 * A flow: one initiator's requests to one LUN (I_T_L nexus). bridge_flow_get on
 * its home reactor; initiator is the name fairness and the limits count by (over
 * all its nexuses to this adapter). NULL: no memory. bridge_flow_put when none
 * of its requests is pending.
 */
struct bridge_flow *bridge_flow_get(struct disk *, const char *initiator,
    const struct bridge_limits *, struct reactor *home);
void bridge_flow_put(struct bridge_flow *);
/* Other limits, from now on, as a login with them would bring. On the home reactor. */
void bridge_flow_limit(struct bridge_flow *, const struct bridge_limits *);

/* -- management: any thread; may take the host's lock -- */

enum bridge_kind { BRIDGE_HOST, BRIDGE_TARGET, BRIDGE_LUN, BRIDGE_INITIATOR };

struct bridge_node_stats {
	enum bridge_kind kind;
	char name[224];			/* adapter; "channel:target"; disk; initiator name */
	uint32_t limit, in_flight, waiting;	/* exact when the adapter is at rest */
	uint32_t max_in_flight;		/* the most seen when somebody waited, or statistics were read */
	uint64_t admitted, waited;	/* requests, and those that had to wait */
	uint64_t fast, slow;		/* admitted at once; admitted in their turn */
	uint64_t merged;		/* of the slow ones: rode along in the command of a neighbour */
	uint64_t handoffs;		/* of the slow ones: in a slot that had just come back */
	uint64_t flushes;		/* times that a reactor gave back what it kept */
	uint64_t wait_ns, wait_max_ns;	/* sum and longest of the waits */
	uint64_t wait_p50_ns, wait_p99_ns;	/* so long did half, and 99 of 100 of them wait at most */
	uint32_t configured;		/* limit before a full or slow disk cut it back (limit shows what holds) */
};

struct bridge_host *bridge_host_next(struct bridge_host *);	/* NULL: the first */
const char *bridge_host_name(const struct bridge_host *);
/* Fills up to max; returns how many nodes there are. */
unsigned bridge_stats(struct bridge_host *, struct bridge_node_stats *, unsigned max);
/* 1 to the adapter's slots; below the number in flight: nothing is revoked, none starts until under it. 0 or -EINVAL, -ENOENT. */
int bridge_set_limit(struct bridge_host *, enum bridge_kind, const char *name, uint32_t limit);
/* Arrivals wait from freeze to thaw; requests at the disk go on. */
int bridge_freeze(struct bridge_host *, enum bridge_kind, const char *name);
int bridge_thaw(struct bridge_host *, enum bridge_kind, const char *name);
/* Recounts every invariant of docs/BRIDGE.md; prints each breach to f. Returns their number. At rest or under load. */
int bridge_check(struct bridge_host *, FILE *);

/*
 * How the adapter's hardware queues share its slots (enum queue_mode of conf.h;
 * queues 0: as many as there are reactors). Nothing starts until all that runs
 * has come back; who waits goes on waiting, in order of arrival at its LUN. Any
 * thread but a reactor; waits. 0; -EINVAL; -EBUSY: another change is under way;
 * -ETIMEDOUT, -ENOMEM: all is as it was.
 */
int bridge_set_mode(struct bridge_host *, int mode, uint32_t queues, uint64_t wait_ns);
void bridge_get_mode(struct bridge_host *, int *mode, uint32_t *queues);

/* What a reactor did for an adapter. */
struct bridge_reactor_stats {
	uint64_t combines, ops;		/* times it settled what had collected, and how many operations that were */
	uint64_t grants;		/* requests that got their slot from it in their turn */
	uint32_t kept;			/* tags in its cache now */
};
/* False: there is no such reactor. */
bool bridge_reactor_stats(struct bridge_host *, unsigned reactor, struct bridge_reactor_stats *);

/* -- life, by daemon/main.c on the main thread, reactors running -- */

/*
 * adapters_open: a host for each conf_adapter with its nodes, opens its disks
 * and their queues on each reactor. A disk that does not open is logged and
 * stays offline (disk->online); the others come up. 0 or -errno.
 */
int adapters_open(const struct conf *);
/*
 * A reload: hosts and nodes take what differs in the adapters of both, which
 * have the same names and disks. May wait some seconds for an adapter to
 * drain. 0, or -errno with a sentence in why: then nothing is changed.
 */
int adapters_reload(const struct conf *running, const struct conf *loaded, char *why, size_t size);
/*
 * After the last nexus was asked to end: waits until every request has come
 * back and every flow is put, for at most so long. False: not all; a line for
 * each disk says how many requests it keeps, and their memory is in use: no
 * adapters_close, the process can only end as it is.
 */
bool adapters_settle(uint64_t wait_ns);
void adapters_close(void);		/* asserts that no slot is out */

#endif
