/* The SRP target on fake disks and an initiator that counts its credits: the fabric is memory. */
#ifndef SRP_RIG_H
#define SRP_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transport.h"

#include "tests/fake/fake_transport.h"
#include "tests/fake/mem_fabric.h"
#include "transport/srp/channel.h"

#include "srp_build.h"

enum { RIG_DEPTH = 16, RIG_IU = 4148, RIG_IMM = 80, RIG_KEY = 0x1234 };
#define RIG_VA 0x7f0000001000ull

static struct srp_target_conf rig_conf[FAKE_TARGETS];
static struct srp_portal_conf rig_portal;

/* What a test wants otherwise it sets between this and rig_start. */
static inline void
rig_init(unsigned ndisks)
{
	const struct transport *srp = transport_find("srp");

	mem_reset();
	fake_world_init(ndisks);
	rig_portal = (struct srp_portal_conf){ .backlog = 64, .max_channels = 64 };
	fakes.portal.transport = srp;
	fakes.portal.opts = &rig_portal;
	for (int i = 0; i < FAKE_TARGETS; i++) {
		rig_conf[i] = (struct srp_target_conf){ .queue_depth = RIG_DEPTH,
		    .max_channels = 8 };
		fakes.target[i].opts[transport_index(srp)] = &rig_conf[i];
	}
}

static inline void
rig_start(unsigned reactors)
{
	assert_int_equal(fake_world_start(reactors), 0);
	assert_int_equal(srp_transport.portal_open(&fakes.portal), 0);
}

/* Fails when anything is left over: channels, connections, pools, memory, slots. */
static inline void
rig_stop(void)
{
	srp_transport.portal_close(&fakes.portal);
	assert_int_equal(transports_stop(8 * SEC), 0);
	assert_int_equal(mem.conns, 0);
	assert_int_equal(mem.requests, 0);
	assert_int_equal(mem.listeners, 0);
	fake_world_stop();
}

static inline int
rig_up(void **state)
{
	rig_init(1);
	rig_start(1);
	return 0;
}

static inline int
rig_down(void **state)
{
	rig_stop();
	return 0;
}

/* Until it is so; the rig's own time is the machine's, so what waits for a timer gets 10 s. */
#define rig_until(what)                                                             \
	do {                                                                        \
		int rig_n = 0;                                                          \
		while (mem_settle(), !(what)) {                                         \
			assert_true(rig_n++ < 10000);                                   \
			usleep(1000);                                                   \
		}                                                                       \
	} while (0)

static inline void
rig_live_add(void *n)
{
	*(unsigned *)n += srp_transport.live(reactor_self());
}

/* Channels and tasks that are left. */
static inline unsigned
rig_live(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < reactor_count(); i++)
		fake_run(i, rig_live_add, &n);
	return n;
}

/* -- time -- */

static inline void
rig_tick_run(void *later)
{
	struct srp_reactor *home = srp_reactor(reactor_self());
	struct srp_channel *ch;

	list_for_each(ch, &home->channels, link)
		channel_tick(ch, reactor_now(home->reactor) + *(uint64_t *)later);
}

/* What the first reactor's timer would do so much later. */
static inline void
rig_tick(uint64_t later)
{
	fake_run(0, rig_tick_run, &later);
	mem_settle();
}

/* -- the initiator -- */

struct ini {
	struct mem_end *end;
	uint64_t tag;			/* of the next request */
	uint32_t limit;			/* credits there are now */
	uint32_t granted, sent;		/* all of them, and requests that used one */
	uint8_t multichan;		/* MULTI-CHANNEL RESULT */
	uint16_t imm;			/* offset of immediate data, 0: none */
	bool mute;			/* answers no request of the target */
	unsigned events;		/* SRP_AER_REQ that came; the last one: */
	struct { unsigned lun; uint32_t asc; bool solicited; } event;
	struct srp_login_rsp rsp;
};

/* What the next login says otherwise. */
struct say {
	uint8_t flags;
	uint8_t port;			/* in the initiator's port identifier */
	uint8_t target;			/* which of the world's */
	bool rdma_form;
	uint32_t iu_len;		/* 0: RIG_IU */
	uint16_t imm;
};

static inline struct srp_login_req
login_build(struct say say)
{
	struct srp_login_req h = {
		.opcode = SRP_LOGIN_REQ,
		.tag = put64(0x1000 + say.port),
		.req_it_iu_len = put32(say.iu_len ? say.iu_len : RIG_IU),
		.req_buf_fmt = put16(SRP_BUF_FORMAT_DIRECT | SRP_BUF_FORMAT_INDIRECT),
		.req_flags = (uint8_t)(say.flags | (say.imm ? SRP_IMMED_REQUESTED : 0)),
		.imm_data_offset = put16(say.imm),
	};

	memset(h.initiator_port_id, 0x11, 16);
	h.initiator_port_id[15] = say.port;
	port_id(&fakes.target[say.target], h.target_port_id);
	return h;
}

static inline void
ini_connect(struct ini *ini, struct say say)
{
	struct srp_login_req h = login_build(say);
	struct srp_login_req_rdma r = {
		.opcode = h.opcode, .tag = h.tag, .req_it_iu_len = h.req_it_iu_len,
		.req_buf_fmt = h.req_buf_fmt, .req_flags = h.req_flags,
		.imm_data_offset = h.imm_data_offset,
	};

	memcpy(r.initiator_port_id, h.initiator_port_id, 16);
	memcpy(r.target_port_id, h.target_port_id, 16);
	*ini = (struct ini){ .tag = 1, .imm = say.imm };
	if (say.rdma_form)
		ini->end = mem_connect(&fakes.portal, &r, sizeof(r));
	else
		ini->end = mem_connect(&fakes.portal, &h, sizeof(h));
}

/* The answer has come, and it is yes. */
static inline void
ini_entered(struct ini *ini)
{
	struct srp_login_rsp *rsp = &ini->rsp;

	assert_int_equal(mem_answer(ini->end, rsp, sizeof(*rsp)), sizeof(*rsp));
	assert_int_equal(rsp->opcode, SRP_LOGIN_RSP);
	ini->limit = ini->granted = get32(rsp->req_lim_delta);
	assert_true(ini->limit >= 2);
	ini->multichan = rsp->rsp_flags & SRP_MULTICHAN_MASK;
	if (!(rsp->rsp_flags & SRP_IMMED_SUPP))
		ini->imm = 0;
}

static inline void
ini_login_as(struct ini *ini, struct say say)
{
	ini_connect(ini, say);
	mem_settle();
	assert_int_equal(mem_state(ini->end), MEM_UP);
	ini_entered(ini);
}

/* The reason the login was refused for. */
static inline uint32_t
ini_refused(struct ini *ini)
{
	struct srp_login_rej rej = { 0 };

	assert_int_equal(mem_state(ini->end), MEM_REFUSED);
	assert_int_equal(mem_answer(ini->end, &rej, sizeof(rej)), sizeof(rej));
	assert_int_equal(rej.opcode, SRP_LOGIN_REJ);
	assert_int_equal(get16(rej.buf_fmt), 6);
	mem_free(ini->end);
	ini->end = NULL;
	return get32(rej.reason);
}

static inline void
ini_free(struct ini *ini)
{
	mem_free(ini->end);
	ini->end = NULL;
}

/* -- units -- */

struct got {
	union {
		uint8_t b[SRP_TI_IU_MAX];
		struct srp_rsp rsp;
		struct srp_t_logout logout;
		struct srp_cred_req cred;
	};
	int len;
	bool solicited;
};

static inline void
ini_request(struct ini *ini, const struct build *u)
{
	assert_true(ini->limit > 0);
	ini->limit--;
	ini->sent++;
	mem_send(ini->end, u->b, u->len);
}

static inline void
ini_reply(struct ini *ini, uint8_t opcode, be64 tag)
{
	struct srp_cred_rsp h = { .opcode = opcode, .tag = tag };

	if (!ini->mute)
		mem_send(ini->end, &h, sizeof(h));
}

static inline void
ini_event(struct ini *ini, const struct got *got)
{
	const struct srp_aer_req *h = (const void *)got->b;
	const uint8_t *sense = got->b + sizeof(*h);

	assert_int_equal(got->len, sizeof(*h) + get32(h->sense_data_len));
	assert_true(get32(h->sense_data_len) >= 18);
	assert_int_equal(h->sol_not, got->solicited ? SRP_SOLNT : 0);
	ini->events++;
	ini->event.lun = (unsigned)scsi_lun_number(h->lun);
	ini->event.asc = (uint32_t)(sense[2] & 15) << 16 | (uint32_t)sense[12] << 8 | sense[13];
	ini->event.solicited = got->solicited;
	ini_reply(ini, SRP_AER_RSP, h->tag);
}

/* The next response or logout; false: none. Counts credits, answers requests of the target. */
static inline bool
ini_poll(struct ini *ini, struct got *got)
{
	for (;;) {
		memset(got->b, 0, sizeof(got->b));
		got->len = mem_recv(ini->end, got->b, sizeof(got->b), &got->solicited);
		if (got->len < 0)
			return false;
		assert_true(got->len >= 16);
		if (got->b[0] != SRP_T_LOGOUT) {
			ini->limit += get32(got->rsp.req_lim_delta);
			ini->granted += get32(got->rsp.req_lim_delta);
		}
		if (got->b[0] == SRP_AER_REQ) {
			ini_event(ini, got);
			continue;
		}
		if (got->b[0] != SRP_CRED_REQ)
			return true;
		assert_int_equal(got->len, sizeof(got->cred));
		ini_reply(ini, SRP_CRED_RSP, got->cred.tag);
	}
}

/* A response to this tag, whole and well made, comes next. */
static inline void
ini_rsp(struct ini *ini, struct got *got, uint64_t tag)
{
	uint32_t sense, data;

	rig_until(ini_poll(ini, got) || mem_state(ini->end) != MEM_UP);
	assert_int_equal(got->b[0], SRP_RSP);
	assert_int_equal(get64(got->rsp.tag), tag);
	sense = got->rsp.flags & SRP_RSP_SNSVALID ? get32(got->rsp.sense_data_len) : 0;
	data = got->rsp.flags & SRP_RSP_RSPVALID ? get32(got->rsp.resp_data_len) : 0;
	assert_int_equal(got->len, sizeof(got->rsp) + sense + data);
}

static inline const uint8_t *
got_sense(const struct got *got)
{
	assert_true(got->rsp.flags & SRP_RSP_SNSVALID);
	assert_int_equal(got->rsp.status, SCSI_CHECK_CONDITION);
	return got->b + sizeof(got->rsp);
}

/* Key, asc and ascq of a fixed or descriptor format. */
static inline uint32_t
got_asc(const struct got *got)
{
	const uint8_t *s = got_sense(got);

	if ((s[0] & 0x7f) >= 0x72)
		return (uint32_t)(s[1] & 15) << 16 | (uint32_t)s[2] << 8 | s[3];
	return (uint32_t)(s[2] & 15) << 16 | (uint32_t)s[12] << 8 | s[13];
}

static inline uint8_t
got_code(const struct got *got)
{
	assert_true(got->rsp.flags & SRP_RSP_RSPVALID);
	assert_int_equal(get32(got->rsp.resp_data_len), 4);
	return got->b[sizeof(got->rsp) + 3];
}

/* Nothing more has come, the connection is there, and all credits are where they should be. */
static inline void
ini_at_rest(struct ini *ini)
{
	struct got got;

	mem_settle();
	assert_false(ini_poll(ini, &got));
	assert_int_equal(mem_state(ini->end), MEM_UP);
	assert_int_equal(mem_waiting(ini->end), 0);
	assert_int_equal(ini->limit, ini->granted - ini->sent);
	assert_int_equal(ini->limit, get32(ini->rsp.req_lim_delta));
}

/* -- commands -- */

static struct build rig_u;

static inline uint64_t
ini_cmd(struct ini *ini, struct build *u, unsigned lun, const uint8_t *cdb, uint32_t cdb_len)
{
	scsi_lun_wire(build_cmd(u, ini->tag, cdb, cdb_len)->lun, lun);
	return ini->tag++;
}

/* READ(10) and WRITE(10) of blocks, without their descriptors. */
static inline uint64_t
ini_rw(struct ini *ini, struct build *u, bool out, uint32_t lba, uint16_t blocks)
{
	uint8_t cdb[16] = { out ? 0x2a : 0x28 };

	wr32(cdb + 2, lba);
	wr16(cdb + 7, blocks);
	return ini_cmd(ini, u, 0, cdb, 16);
}

static inline uint64_t
ini_tmf(struct ini *ini, struct build *u, uint8_t fn, uint64_t task_tag)
{
	build_tmf(u, ini->tag, fn, task_tag);
	return ini->tag++;
}

/* TEST UNIT READY until all attentions have been told. */
static inline void
ini_quiet_unit(struct ini *ini, unsigned lun)
{
	static const uint8_t tur[16];
	struct got got;

	do {
		uint64_t tag = ini_cmd(ini, &rig_u, lun, tur, 16);

		ini_request(ini, &rig_u);
		ini_rsp(ini, &got, tag);
		if (got.rsp.status != SCSI_GOOD)
			assert_int_equal(got_asc(&got) >> 16, 6);
	} while (got.rsp.status != SCSI_GOOD);
}

static inline void
ini_login(struct ini *ini)
{
	ini_login_as(ini, (struct say){ .flags = SRP_MULTICHAN_MULTI, .imm = RIG_IMM });
	ini_quiet_unit(ini, 0);
}

static inline void
ini_good(struct ini *ini, uint64_t tag)
{
	struct got got;

	ini_rsp(ini, &got, tag);
	assert_int_equal(got.rsp.status, SCSI_GOOD);
	assert_int_equal(got.rsp.flags, 0);
}

#endif
