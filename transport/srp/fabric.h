/* What carries SRP: connections that send, receive, and read and write a peer's memory. */
#ifndef SRP_FABRIC_H
#define SRP_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "registry.h"

struct conf_portal;
struct fabric;
struct fabric_conn;
struct fabric_cqe;
struct fabric_listener;
struct reactor;

/* -- work -- */

/*
 * Something was posted and has ended. Embedded in what it belongs to; must live
 * until `done` was called for it or, for work without FABRIC_SIGNALED, until
 * later signalled work of the connection has succeeded or `drained` came.
 */
enum fabric_status {
	FABRIC_OK,
	FABRIC_FLUSHED,			/* not done: the connection had ended already */
	FABRIC_FAILED,			/* this is what ended it; `why` says how */
};

struct fabric_wc {
	struct fabric_cqe *cqe;
	enum fabric_status status;
	uint32_t len;			/* of a receive: bytes that came */
	const char *why;		/* FABRIC_FAILED: a word for the log, static */
};

struct fabric_cqe {
	void (*done)(const struct fabric_wc *);
};

/* Local memory: of the reactor's buf_get, or what `reaches` says yes to. */
struct fabric_sge {
	void *addr;
	uint32_t len;
};

struct fabric_recv {
	struct fabric_recv *next;
	struct fabric_cqe *cqe;
	struct fabric_sge sge;
};

enum fabric_op { FABRIC_SEND, FABRIC_RDMA_READ, FABRIC_RDMA_WRITE };

enum {					/* fabric_wr.flags */
	FABRIC_SIGNALED = 1 << 0,	/* its success is told; failure and flush always are */
	FABRIC_SOLICITED = 1 << 1,	/* SEND: the peer is to be woken */
	FABRIC_INLINE = 1 << 2,		/* the memory is free again when post_send returns; up to inline_max bytes */
};

struct fabric_wr {
	struct fabric_wr *next;
	struct fabric_cqe *cqe;
	const struct fabric_sge *sge;	/* read by post_send only */
	uint8_t nsge;			/* 1 to max_sge (RDMA READ: max_read_sge); 0: an RDMA WRITE of nothing,
					   which succeeds when the peer is there */
	uint8_t op;			/* enum fabric_op */
	uint8_t flags;
	uint32_t rkey;			/* RDMA: the peer's memory, one piece */
	uint64_t remote;
};

/* -- connections -- */

struct fabric_limits {
	uint32_t send_wr, recv_wr;	/* work requests that may be posted at a time */
	uint32_t max_sge, max_read_sge;	/* at least 1 */
	uint32_t inline_max;		/* bytes; 0: none */
	uint32_t max_msg;		/* bytes of one work request */
};

/*
 * A peer wants to connect. Made by the fabric, owned by SRP from `request` on
 * until `reject`, or a successful `accept`, ends it; `data` is readable until then.
 */
struct fabric_request {
	const struct fabric *fabric;
	const struct conf_portal *portal;
	struct sockaddr_storage peer, local;	/* ss_family 0: the fabric has none */
	uint8_t gid[16], local_gid[16];		/* zero: none */
	const uint8_t *data;			/* the private data, as many bytes as came; a fabric that */
	uint32_t len;				/* always carries as many as fit says those */
	struct fabric_limits limits;		/* of the device */
};

/*
 * What SRP hears of a connection, all on its reactor and never inside a call
 * into the fabric. Completions come through fabric_cqe.
 *
 * established: the peer has seen the answer. May come after the first receive,
 *	or not at all.
 * lost: the peer went away, or the device, or work failed; `why` is for the log.
 *	At most once, not after disconnect was called. What is posted is being
 *	flushed; disconnect is called in answer.
 * drained: once, after disconnect: everything that was posted has been told,
 *	nothing here is read or written by device or peer any more, nothing
 *	else will be told. close may be called from inside it.
 */
struct fabric_events {
	void (*established)(void *ctx);
	void (*lost)(void *ctx, const char *why);
	void (*drained)(void *ctx);
};

/* in: what is wanted; out: `limits` as it was made, none above what was wanted. */
struct fabric_setup {
	struct reactor *reactor;	/* the connection's for life */
	const struct fabric_events *events;
	void *ctx;
	struct fabric_limits limits;	/* send_wr, recv_wr, inline_max; the rest only out */
};

/*
 * A fabric, registered with REGISTER(fabrics, struct fabric, &x); the first one
 * is used. Calls do not block longer than the system takes for them.
 *
 * listen: main thread: all addresses of the portal. Each attempt to connect
 *	calls request, on some reactor, until unlisten returns. 0, or -errno
 *	with a log line; -ENODEV: this machine has no device for it.
 * unlisten: main thread; connections stay.
 * reject: on any reactor; frees the request. Data of at most 148 bytes.
 * open: on setup->reactor: makes the connection's queues. 0 or -errno; the
 *	request stays. Then post_recv, then accept.
 * accept: 0: the request is gone, and the connection lives. -errno: the request
 *	stays to be rejected, after disconnect, drained and close. Data of at most 196 bytes.
 * post_recv: a chain; 0 or -errno. Never more than recv_wr at a time.
 *	In order; a receive that succeeds has filled its memory.
 * post_send: a chain, in order; 0, or -errno and *bad the first that was not
 *	posted: -ENOMEM, -EAGAIN: again later; any other: the connection is done for.
 *	Never more than send_wr at a time: work counts until it, or signalled work
 *	posted after it, has been told. A conn's send completions come in order
 *	of posting. A SEND or WRITE behind a WRITE takes effect at the peer after it; when
 *	work fails, nothing posted after it takes effect.
 * disconnect: from any state after open, also twice; -> drained.
 * close: after drained; frees the connection.
 * reaches: may this memory stand in an sge? Memory of the conn's reactor's
 *	buf_get: true, but for a device that cannot take more of it.
 * fini: on each reactor's own thread when no connection is left; may be NULL.
 */
struct fabric {
	const char *name;
	int (*listen)(const struct conf_portal *, void (*request)(struct fabric_request *),
	    struct fabric_listener **);
	void (*unlisten)(struct fabric_listener *);
	void (*reject)(struct fabric_request *, const void *data, size_t len);
	int (*open)(struct fabric_request *, struct fabric_setup *, struct fabric_conn **);
	int (*accept)(struct fabric_conn *, struct fabric_request *, const void *data, size_t len);
	int (*post_recv)(struct fabric_conn *, struct fabric_recv *);
	int (*post_send)(struct fabric_conn *, struct fabric_wr *, struct fabric_wr **bad);
	void (*disconnect)(struct fabric_conn *);
	void (*close)(struct fabric_conn *);
	bool (*reaches)(struct fabric_conn *, const void *addr, size_t len);
	void (*fini)(struct reactor *);
};
REGISTRY(fabrics, struct fabric);

/* conf_portal.opts of a portal of this transport. */
struct srp_portal_conf {
	uint64_t poll_ns;		/* `poll:`: look for completions so long after the last before sleeping */
	uint32_t backlog;		/* `backlog:`: connections that may wait to be taken */
	uint32_t max_channels;		/* `max_channels:`: of all initiators together */
};

#endif
