/* SRP's fabric without a device: both ends in memory, steps that count, failures to order. */
#ifndef MEM_FABRIC_H
#define MEM_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "transport/srp/fabric.h"

/*
 * The table of functions is the target's end and runs on reactors. Everything
 * else here is the initiator's end, called on the test's main thread.
 *
 * It is as unkind as a device may be: memory that something is posted for is
 * overwritten, up to the moment its end is told; memory that is being sent must
 * not change until then (MEM_LENT sources: mem.lent); nothing is told inside a
 * call. A rule of fabric.h that the target breaks ends the program.
 */
extern const struct fabric mem_fabric;

/* In which order what is ready happens. */
enum mem_order {
	MEM_SENDS_FIRST,		/* work, its ends, then what comes in */
	MEM_RECVS_FIRST,		/* ends of work are told last */
	MEM_RANDOM,			/* anything allowed, few things in a turn: mem.seed */
};

enum mem_fault {
	MEM_FAIL,			/* not done and told as failed; a call: -EIO */
	MEM_FAIL_HALF,			/* half of its bytes were moved */
	MEM_FAIL_DONE,			/* it was done, only nobody knows */
	MEM_AGAIN, MEM_NOMEM,		/* post_send: -EAGAIN, -ENOMEM, this once */
	MEM_LEAVE,			/* the peer goes away: told before */
	MEM_LEAVE_LATE,			/* or after everything was flushed */
	MEM_FAULTS
};
extern const char *const mem_fault_names[MEM_FAULTS];

enum {					/* what a connection holds back: mem_hold */
	MEM_HOLD_SEND = 1 << FABRIC_SEND,	/* this work, and what is behind it, */
	MEM_HOLD_READ = 1 << FABRIC_RDMA_READ,
	MEM_HOLD_WRITE = 1 << FABRIC_RDMA_WRITE,
	MEM_HOLD_DONE = 1 << 3,		/* the ends of work that is done, */
	MEM_HOLD_RECV = 1 << 4,		/* what the initiator sends, */
	MEM_HOLD_ESTABLISHED = 1 << 5,	/* that the peer has seen the answer, */
	MEM_HOLD_DRAIN = 1 << 6,	/* the flushes after a disconnect */
};

struct mem_arm {
	bool on;
	unsigned at;
	enum mem_fault fault;
};

/* Set by a test between connections; mem_reset gives what is said here. */
struct mem_world {
	struct fabric_limits limits;	/* of the device */
	enum mem_order order;
	uint32_t seed;			/* not 0 */
	unsigned reactor;		/* where requests to connect arrive */
	struct sockaddr_storage peer;	/* 192.0.2.9:40000 */
	uint8_t gid[16];		/* of the peer */
	uint32_t hold;			/* of connections from now on */
	struct mem_arm arm;		/* of the next mem_connect, from its begin */
	bool lent;			/* RDMA WRITE sources may change: a disk's own memory */
	const void *foreign;		/* memory the device cannot reach */
	size_t foreign_len;
	bool absent;			/* this machine has no device */
	/* -- what happened -- */
	unsigned listeners, requests, conns;	/* there are now */
	unsigned finis;
};
extern struct mem_world mem;
void mem_reset(void);

/* Until nothing moves any more on any reactor. */
void mem_settle(void);

enum mem_state {
	MEM_ASKING,
	MEM_REFUSED,
	MEM_UP,
	MEM_LEFT,			/* by mem_leave, or a fault */
	MEM_DROPPED,			/* by the target, or since work of it failed */
};

/* The initiator's end. From mem_connect to mem_free. */
struct mem_end;
struct mem_end *mem_connect(const struct conf_portal *, const void *data, size_t len);
void mem_free(struct mem_end *);	/* leaves first; settles */
enum mem_state mem_state(struct mem_end *);
/* The private data of the answer; bytes, 0: none has come. */
size_t mem_answer(struct mem_end *, void *buf, size_t size);
void mem_leave(struct mem_end *);

void mem_hold(struct mem_end *, uint32_t mask);		/* exactly this; 0: nothing */
/* Counts points from here: the at'th (from 0) meets with the fault. */
void mem_arm(struct mem_end *, unsigned at, enum mem_fault);
enum mem_where {
	MEM_NOWHERE,			/* not there yet, or it could not happen there */
	MEM_AT_OPEN, MEM_AT_ACCEPT, MEM_AT_POST_RECV, MEM_AT_POST_SEND,
	MEM_AT_RECV,			/* an IU arrives at the target */
	MEM_AT_SEND, MEM_AT_READ, MEM_AT_WRITE,	/* work is done */
};
enum mem_where mem_hit(struct mem_end *);
unsigned mem_points(struct mem_end *);	/* passed since mem_arm */

void mem_send(struct mem_end *, const void *iu, size_t len);
/* The next IU the target sent: its bytes, or -1. *solicited may be NULL. */
int mem_recv(struct mem_end *, void *buf, size_t size, bool *solicited);
void mem_room(struct mem_end *, unsigned n);	/* receives of the initiator: more units wait */
unsigned mem_waiting(struct mem_end *);	/* sent, and the target had no receive for it yet */

/* Memory the target may read and write. Zeroed; ends with mem_hide or the end. */
uint8_t *mem_expose(struct mem_end *, uint64_t va, uint32_t rkey, size_t len);
void mem_hide(struct mem_end *, uint32_t rkey);

struct mem_count {
	unsigned sends, reads, writes;	/* done */
	unsigned signalled, solicited, inlined;
	unsigned posts;			/* calls of post_send */
	unsigned longest;		/* work requests posted at a time */
};
struct mem_count mem_count(struct mem_end *);

#endif
