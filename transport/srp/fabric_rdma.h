/* RDMA devices through librdmacm and libibverbs: who owns what. */
#ifndef FABRIC_RDMA_H
#define FABRIC_RDMA_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>

#include "buf.h"
#include "list.h"
#include "reactor.h"

#include "fabric.h"

enum {
	HCA_ARENA_BUCKETS = 1024,
	HCA_CQ_SIZE = 8192,		/* entries of a completion queue, and more when one connection needs them */
	HCA_SGE_MAX = 32,
	HCA_INLINE_MAX = 256,
	HCA_POLL = 32,			/* completions taken at a time, */
	HCA_WR = 64,			/* and work handed over */
	HCA_SGE = 512,
};

/* -- memory: fabric_rdma_mem.c -- */

/* An arena of pool memory. mr NULL: the device did not take it. */
struct hca_arena {
	struct hca_arena *next;
	uintptr_t base;
	struct ibv_mr *mr;
};

/* All arenas of a reactor, as a device knows them. */
struct hca_mem {
	struct buf_watch watch;
	struct ibv_pd *pd;
	int access;
	struct hca_arena *bucket[HCA_ARENA_BUCKETS];
};

void hca_mem_init(struct hca_mem *, struct reactor *, struct ibv_pd *, int access);
void hca_mem_fini(struct hca_mem *);	/* also a zeroed one */
/* False: the device does not reach all of it. */
bool hca_mem_key(const struct hca_mem *, const void *addr, size_t len, uint32_t *lkey);
/* Allows as much locked memory as this process may, and warns when that is less than `memory:`. */
void hca_mem_limit(struct reactor *, const char *portal);

/* -- devices: fabric_rdma_hca.c -- */

/*
 * One completion queue. While no connection has work on it that could end, it
 * sleeps: `armed` says that the next completion wakes the reactor.
 */
struct hca_cq {
	struct list link;		/* in hca->cqs */
	struct hca *hca;
	struct ibv_cq *cq;
	uint32_t size, taken;		/* entries, and what its connections may need at most */
	unsigned unacked;		/* events */
	bool armed;
};

/*
 * One RDMA device as one reactor uses it: made with its first connection
 * there, freed with its last. The device context is librdmacm's: it stays while
 * a connection's id is there, so that goes last.
 */
struct hca {
	struct list link;		/* in hca_home.hcas */
	struct reactor *reactor;
	struct ibv_context *verbs;
	struct ibv_device_attr attr;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct watch completions, events;
	struct poller poller;
	struct list cqs, conns;
	struct hca_mem mem;
	uint64_t poll_ns;		/* the longest of its portals' */
	uint64_t found_ns;		/* when a completion was there last */
	/* for a call into the device */
	struct ibv_send_wr wr[HCA_WR];
	struct ibv_recv_wr recv[HCA_WR];
	struct ibv_sge sge[HCA_SGE];
};

/* What the connections of one reactor share; by reactor id; own thread. */
struct hca_home {
	struct reactor *reactor;	/* NULL: none has been here */
	struct rdma_event_channel *channel;
	struct watch watch;
	struct list hcas;
};

int hca_home(struct reactor *, struct hca_home **);
int hca_get(struct hca_home *, struct ibv_context *, struct hca **);
void hca_put(struct hca *);		/* freed when it has no connection */
void hca_limits(const struct rdma_cm_id *, struct fabric_limits *);	/* zero: it is gone */
int hca_cq_get(struct hca *, uint32_t n, struct hca_cq **);
void hca_cq_put(struct hca_cq *, uint32_t n);
/* Tells all that has ended by now. */
void hca_cq_drain(struct hca_cq *);
void hca_fini(struct reactor *);

/* -- work: fabric_rdma_work.c -- */

/* Posted, and not told. */
struct hca_wr {
	struct fabric_conn *conn;
	struct fabric_cqe *cqe;
};

/* A ring: work ends in the order of posting. */
struct hca_queue {
	struct hca_wr *wr;
	uint32_t size, head, tail;	/* size: a power of two */
};

int hca_queue_init(struct hca_queue *, struct fabric_conn *, uint32_t n);
void hca_queue_fini(struct hca_queue *);
/* Tells of all that is left that it was flushed. */
void hca_queue_flush(struct hca_queue *);
void hca_ended(const struct ibv_wc *);
int hca_post_send(struct fabric_conn *, struct fabric_wr *, struct fabric_wr **bad);
int hca_post_recv(struct fabric_conn *, struct fabric_recv *);

/* -- connections: fabric_rdma.c -- */

/* Lives on its hca's reactor from open to close. */
struct fabric_conn {
	struct hca *hca;
	struct hca_cq *cq;
	uint32_t ncqe;			/* of the queue's entries */
	struct rdma_cm_id *id;		/* the request's until it is accepted */
	const struct fabric_events *events;
	void *ctx;
	uint64_t poll_ns;
	struct hca_queue sq, rq;
	struct list link;		/* in hca->conns */
	struct work drain;
	bool accepted, lost, closing;
};

void hca_conn_event(struct fabric_conn *, enum rdma_cm_event_type);
void hca_conn_lost(struct fabric_conn *, const char *why);

/* -- requests to connect: fabric_rdma_listen.c -- */

/* An event channel that a listener and the requests from it share; the last one frees it. */
struct hca_channel {
	struct rdma_event_channel *channel;
	_Atomic unsigned refs;
};

struct hca_request {
	struct fabric_request req;
	struct rdma_cm_id *id;
	struct hca_channel *home;	/* NULL: the id moved to its connection's reactor */
	uint64_t poll_ns;		/* of its portal */
	uint8_t responder_resources, initiator_depth;
	uint8_t data[UINT8_MAX];
};

int hca_listen(const struct conf_portal *, void (*request)(struct fabric_request *),
    struct fabric_listener **);
void hca_unlisten(struct fabric_listener *);
void hca_reject(struct fabric_request *, const void *data, size_t len);
/* The request's id hears from now on on this channel. 0 or -errno. */
int hca_request_move(struct hca_request *, struct rdma_event_channel *);
void hca_request_free(struct hca_request *);	/* its id stays */

extern const struct fabric rdma_fabric;

#endif
