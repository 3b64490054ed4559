/* A raw SRP initiator over librdmacm: one connection, made by hand, whose units may be anything. */
#ifndef SRP_RAW_H
#define SRP_RAW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "transport/srp/srp.h"
#include "tests/unit/srp_build.h"

enum {
	RAW_DATA = 2 << 20,		/* bytes the target may read and write */
	RAW_TABLE = 65536,		/* the same, for descriptors */
	RAW_IU = 8192,			/* longest unit that is sent */
	RAW_SENDS = 256, RAW_RECVS = 512,
};

enum raw_state { RAW_DOWN, RAW_REFUSED, RAW_UP };

struct raw {
	struct rdma_event_channel *events;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr_data, *mr_table, *mr_units;
	uint8_t *data, *table, *units;	/* units: those that are sent, then those that come */
	unsigned next_send, sends_out;
	enum raw_state state;
	uint8_t answer[256];		/* private data of the answer */
	uint32_t answer_len;
	struct { uint32_t slot, len; } came[RAW_RECVS];	/* a ring of what was not looked at yet */
	unsigned came_head, came_tail;
	uint64_t tag;
	uint32_t limit, granted, sent;	/* credits now, all that were given, all that were used */
	struct srp_login_rsp rsp;
};

/* Where the target is: `address port` and the 16 bytes of its port. */
struct raw_target {
	const char *address, *port;
	uint8_t id[16];
};
extern struct raw_target raw_target;

/* Resolves and connects with this private data. False: the address cannot be had at all. */
bool raw_connect(struct raw *, const void *data, size_t len);
/* Leaves and frees everything; allowed at any state, also zeroed. */
void raw_close(struct raw *);
/* One SEND of these bytes, at most RAW_IU. False: the connection is down. */
bool raw_send(struct raw *, const void *iu, uint32_t len);
/* The next unit that came, within ms; its bytes, or -1. Sees that the target hangs up. */
int raw_recv(struct raw *, void *iu, size_t size, int ms);
bool raw_is_down(struct raw *, int ms);	/* within this time */

/* -- SRP -- */

/* What a login says. Zero: MULTI, units of 4148 bytes, both formats. */
struct raw_say {
	uint8_t flags;
	uint32_t iu_len;
	uint16_t fmt, imm;
	uint8_t port;			/* last byte of the initiator's port */
	bool strange_target;
	uint8_t opcode;
};
struct srp_login_req_rdma raw_login_build(struct raw_say);
/* True: it is in. */
bool raw_login(struct raw *, struct raw_say);
/* The reason of the SRP_LOGIN_REJ, or 0. */
uint32_t raw_reason(const struct raw *);
/* Sends a request; counts its credit. */
bool raw_request(struct raw *, const struct build *);
/* The next response. False: none, in 10 s. */
bool raw_any(struct raw *, struct srp_rsp *);
/* The response to this tag; others before it are counted and passed over. False: none, in 10 s. */
bool raw_response(struct raw *, uint64_t tag, struct srp_rsp *, uint8_t sense[96]);
/* Until TEST UNIT READY says GOOD. */
bool raw_ready(struct raw *);
uint64_t raw_cmd(struct raw *, struct build *, const uint8_t cdb[16]);
uint64_t raw_rw(struct raw *, struct build *, bool out, uint32_t lba, uint16_t blocks);
/* All credits are here again. */
bool raw_at_rest(struct raw *);

/* -- TAP -- */

#define RAW_OK(what, cond) raw_ok(what, cond, #cond, __LINE__)
bool raw_ok(const char *what, bool cond, const char *text, int line);
extern unsigned raw_failures;

/* srp_raw_login.c, srp_raw_units.c, srp_raw_ends.c */
void raw_logins(void);
void raw_units(void);
void raw_ends(void);

#endif
