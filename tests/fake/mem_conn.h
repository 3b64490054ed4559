/* Inside the fabric in memory: connections, their work, and the points where faults may be. */
#ifndef MEM_CONN_H
#define MEM_CONN_H

#include <assert.h>
#include <pthread.h>

#include "list.h"
#include "reactor.h"

#include "mem_fabric.h"

/* A rule that fabric.h states was broken: in every build. */
#define mem_rule(ok) ((ok) ? (void)0 : mem_broken(#ok, __FILE__, __LINE__))
_Noreturn void mem_broken(const char *rule, const char *file, int line);

enum { MEM_SGES = 64 };

/* A work request, from post_send until its end was told. */
struct mem_work {
	struct list link;
	struct fabric_cqe *cqe;
	struct fabric_sge sge[MEM_SGES];
	uint8_t nsge, op, flags;
	uint32_t rkey;
	uint64_t remote;
	uint32_t len;
	uint64_t sum;			/* of the bytes at post_send */
	bool may_change;		/* nobody promised that they stay the same */
	uint8_t *copy;			/* FABRIC_INLINE: sge[0] points to it */
	enum fabric_status status;
};

struct mem_recv {
	struct list link;
	struct fabric_cqe *cqe;
	struct fabric_sge sge;
	uint32_t len;
	enum fabric_status status;
};

struct mem_iu {				/* under way, in either direction */
	struct list link;
	size_t len;
	bool solicited;
	uint8_t data[];
};

struct mem_region {
	struct list link;
	uint64_t va;
	uint32_t rkey;
	size_t len;
	uint8_t *mem;
};

/* The target's end. Both ends are under mem_lock, and nothing is told inside it. */
struct fabric_conn {
	struct mem_end *end;		/* NULL: freed by the test */
	struct mem_request *request;	/* until accepted */
	struct fabric_setup setup;
	struct msg run;
	bool posted;			/* run is on its way */
	bool running;			/* conn_run is telling something */
	bool broken;			/* nothing is done any more, all is flushed */
	bool accepted, established;
	bool to_lose, lost_late;	/* `lost` is to be told */
	bool disconnected, drained, closed;
	const char *why;
	uint32_t hold;
	struct list work, ended;	/* mem_work: not done yet; done, to be told in order */
	struct list recvs, came;	/* mem_recv: posted; to be told */
	unsigned nwork, nrecv;		/* posted and not told */
	unsigned unmarked;		/* of nwork: ended in silence */
};

struct mem_end {
	struct fabric_conn *conn;	/* NULL: not yet, or closed */
	struct mem_request *request;	/* NULL: answered */
	enum mem_state state;
	uint8_t *answer;
	size_t answer_len;
	struct list sent;		/* mem_iu to the target, */
	struct list got;		/* and from it */
	unsigned room;			/* receives that are posted here */
	unsigned ngot;
	struct list regions;
	struct mem_count count;
	struct mem_arm arm;
	enum mem_where hit;
	unsigned points;
};

struct mem_request {
	struct fabric_request req;
	struct mem_end *end;		/* NULL: freed by the test */
	struct fabric_conn *conn;	/* open was called */
	struct msg msg;
	uint8_t *data;			/* exactly as long as it says */
};

struct fabric_listener {
	struct list link;
	const struct conf_portal *portal;
	void (*arrive)(struct fabric_request *);
};

extern pthread_mutex_t mem_lock;
extern struct list mem_listeners;
extern unsigned mem_moves;		/* anything that happened */
uint32_t mem_random(uint32_t below);

/* All below under mem_lock. */

/* A place for faults: true when one of this mask (bits of enum mem_fault) is wanted here. */
bool mem_point(struct mem_end *, enum mem_where, unsigned mask, enum mem_fault *);
void conn_wake(struct fabric_conn *);
/* The connection has failed; `lost` is told unless disconnect was called. */
void conn_break(struct fabric_conn *, const char *why, bool late);
void conn_init(struct fabric_conn *);
void conn_free(struct fabric_conn *);

/* mem_work.c: what the device does */
void work_do(struct fabric_conn *, struct mem_work *);	/* goes from conn->work to conn->ended */
void work_flush(struct fabric_conn *, struct mem_work *);
void recv_do(struct fabric_conn *, struct mem_iu *);	/* goes from conn->recvs to conn->came */
void recv_flush(struct fabric_conn *, struct mem_recv *);
uint64_t work_sum(const struct mem_work *);
void work_inline(struct mem_work *, uint32_t max);	/* its bytes are copied */
void work_spoil(const struct mem_work *);	/* the device may have written where it was to */
struct mem_iu *iu_new(const void *, size_t);

#endif
