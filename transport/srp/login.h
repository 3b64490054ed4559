/* A login: what an initiator asks for, what it is granted, and why not. */
#ifndef SRP_LOGIN_H
#define SRP_LOGIN_H

#include <stdbool.h>
#include <stdint.h>

#include "srp.h"

/* Pure: no global, no allocation, no I/O. */

struct login_req {
	uint64_t tag;
	uint32_t iu_len;		/* REQUESTED INITIATOR TO TARGET IU LENGTH */
	uint16_t buf_fmt;
	uint16_t imm_offset;
	uint8_t flags;
	uint8_t i_port[16], t_port[16];
};

/* What this target can do. */
struct login_limits {
	uint32_t iu_max;		/* longest IU from an initiator */
};

/* What both sides keep to from now on. */
struct login_terms {
	uint32_t it_iu_len;		/* bytes of a receive buffer */
	uint16_t imm_offset;		/* 0: no immediate data */
	bool multi;			/* the other channels stay */
	uint8_t solnt;			/* SRP_LOSOLNT, SRP_CRSOLNT, SRP_AESOLNT */
};

/*
 * The 64-byte form when that many bytes came, else the 56-byte form of
 * RDMA/CM. False: neither; tag is 0 unless it was there.
 */
bool login_parse(const uint8_t *data, uint32_t len, struct login_req *);
/* All that can be said without knowing targets and sessions. */
enum srp_login_rej_reason login_check(const struct login_req *, const struct login_limits *,
    struct login_terms *);
/* multichan: SRP_MULTICHAN_NO_CHAN, _TERMINATED or _MAINTAINED. */
void login_rsp(struct srp_login_rsp *, const struct login_req *, const struct login_terms *,
    uint32_t credits, uint8_t multichan);
void login_rej(struct srp_login_rej *, uint64_t tag, enum srp_login_rej_reason);

#endif
