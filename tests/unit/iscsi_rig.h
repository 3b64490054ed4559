/* The iSCSI target on fake disks, and an initiator made of bytes on the other end of a socket pair. */
#ifndef ISCSI_RIG_H
#define ISCSI_RIG_H

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport.h"

#include "tests/fake/fake_transport.h"
#include "transport/iscsi/digest.h"
#include "transport/iscsi/iscsi.h"

#define RIG_TARGET "iqn.2026-11.test:all"
#define RIG_INITIATOR "iqn.2026-11.test:rig"

static struct iscsi_target_conf rig_conf;
static struct sockaddr_storage rig_addr;

/* What a test wants otherwise it sets between this and rig_start. */
static inline void
rig_init(unsigned ndisks)
{
	/* What discovery tells; a test that listens says where. */
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(3260),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	fake_world_init(ndisks);
	rig_conf = (struct iscsi_target_conf){
		.max_connections = 1,
		.immediate_data = true,
		.header_digest = { 2, { ISCSI_DIGEST_CRC32C, ISCSI_DIGEST_NONE } },
		.data_digest = { 2, { ISCSI_DIGEST_CRC32C, ISCSI_DIGEST_NONE } },
		.first_burst = 65536,
		.max_burst = 262144,
		.max_outstanding_r2t = 4,
		.queue_depth = 64,
	};
	for (int i = 0; i < FAKE_TARGETS; i++)
		fakes.target[i].opts[transport_index(transport_find("iscsi"))] = &rig_conf;
	fakes.portal.transport = transport_find("iscsi");
	memcpy(&rig_addr, &addr, sizeof(addr));
	fakes.portal.addrs = &rig_addr;
	fakes.portal.naddrs = 1;
}

static inline void
rig_start(unsigned reactors)
{
	assert_int_equal(fake_world_start(reactors), 0);
}

/* All connections must be gone or going. Fails when anything is left over: pools, memory, slots. */
static inline void
rig_stop(void)
{
	assert_int_equal(transports_stop(8 * SEC), 0);
	fake_world_stop();
}

static inline int
rig_up(void **state)
{
	rig_init(1);
	rig_start(2);
	return 0;
}

static inline int
rig_down(void **state)
{
	rig_stop();
	return 0;
}

/* -- the initiator -- */

struct ini {
	int fd;
	uint32_t cmd_sn, exp_stat_sn, itt, max_cmd_sn;
	bool header_digest, data_digest;
	uint16_t tsih;
};

struct in {				/* a PDU that came */
	union {
		struct iscsi_bhs bhs;
		struct iscsi_scsi_rsp rsp;
		struct iscsi_data_in data_in;
		struct iscsi_r2t r2t;
		struct iscsi_tmf_rsp tmf;
		struct iscsi_login_rsp login;
		struct iscsi_reject reject;
		struct iscsi_nop_in nop;
		struct iscsi_logout_rsp logout;
		struct iscsi_async async;
	};
	uint32_t len;
	uint8_t data[ISCSI_RECV_DSL + 8];
};

static inline void
ini_open(struct ini *ini, unsigned reactor)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	*ini = (struct ini){ .fd = fds[0], .cmd_sn = 0xfffffff0, .exp_stat_sn = 0xfffffffa, .itt = 100 };
	conn_adopt(fds[1], &fakes.portal, reactor_get(reactor));
}

static inline void
ini_write(struct ini *ini, const void *p, size_t n)
{
	const uint8_t *at = p;

	while (n) {
		ssize_t sent = send(ini->fd, at, n, MSG_NOSIGNAL);

		assert_true(sent > 0);
		at += sent;
		n -= (size_t)sent;
	}
}

/* A PDU as bytes: header, digests, padding. Returns its length. */
static inline size_t
ini_pack(const struct ini *ini, void *bhs, const void *data, uint32_t len, uint8_t *out)
{
	struct iscsi_bhs *h = bhs;
	size_t n = ISCSI_BHS;

	h->data_len = put24(len);
	memcpy(out, h, n);
	if (ini->header_digest) {
		digest_end(digest_add(DIGEST_INIT, out, n), out + n);
		n += ISCSI_DIGEST;
	}
	if (!len)
		return n;
	memcpy(out + n, data, len);
	memset(out + n + len, 0, 4);
	if (ini->data_digest)
		digest_end(digest_add(DIGEST_INIT, out + n, len + pdu_pad(len)),
		    out + n + len + pdu_pad(len));
	return n + len + pdu_tail(len, ini->data_digest);
}

static inline void
ini_send(struct ini *ini, void *bhs, const void *data, uint32_t len)
{
	uint8_t *bytes = malloc(ISCSI_BHS + 8 + (size_t)len + 8);

	ini_write(ini, bytes, ini_pack(ini, bhs, data, len, bytes));
	free(bytes);
}

/* False: the target closed. Fails when nothing comes. */
static inline bool
ini_read(struct ini *ini, void *p, size_t n)
{
	struct pollfd pfd = { .fd = ini->fd, .events = POLLIN };
	uint8_t *at = p;

	while (n) {
		ssize_t got;

		assert_int_equal(poll(&pfd, 1, 10000), 1);
		got = recv(ini->fd, at, n, 0);
		if (got <= 0)
			return false;
		at += got;
		n -= (size_t)got;
	}
	return true;
}

static inline bool
ini_recv(struct ini *ini, struct in *in)
{
	uint8_t digest[4];
	uint32_t tail;

	if (!ini_read(ini, &in->bhs, ISCSI_BHS))
		return false;
	if (ini->header_digest) {
		assert_true(ini_read(ini, digest, 4));
		assert_true(digest_matches(digest_add(DIGEST_INIT, &in->bhs, ISCSI_BHS), digest));
	}
	in->len = get24(in->bhs.data_len);
	assert_true(in->len <= ISCSI_RECV_DSL);
	tail = pdu_tail(in->len, ini->data_digest);
	assert_true(ini_read(ini, in->data, in->len + tail));
	for (uint32_t i = 0; i < pdu_pad(in->len); i++)
		assert_int_equal(in->data[in->len + i], 0);
	if (ini->data_digest && in->len)
		assert_true(digest_matches(digest_add(DIGEST_INIT, in->data, in->len + pdu_pad(in->len)),
		    in->data + in->len + tail - 4));
	ini->max_cmd_sn = get32(in->nop.max_cmd_sn);
	return true;
}

static inline void
ini_expect(struct ini *ini, struct in *in, enum iscsi_opcode opcode)
{
	assert_true(ini_recv(ini, in));
	assert_int_equal(in->bhs.opcode, opcode);
}

/* Nothing comes for a moment. */
static inline void
ini_quiet(struct ini *ini)
{
	struct pollfd pfd = { .fd = ini->fd, .events = POLLIN };

	fake_settle();
	assert_int_equal(poll(&pfd, 1, 30), 0);
}

static inline void
ini_eof(struct ini *ini)
{
	uint8_t byte;

	assert_false(ini_read(ini, &byte, 1));
	close(ini->fd);
	ini->fd = -1;
}

static inline void
ini_close(struct ini *ini)
{
	close(ini->fd);
	ini->fd = -1;
}

/* One step from operational to full feature phase. `more`: further keys, "a=b\0c=d" with their length. Returns the status. */
static inline unsigned
ini_enter(struct ini *ini, uint8_t isid, uint16_t tsih, uint16_t cid, const char *more, uint32_t len,
    struct in *in)
{
	static const char first[] = "InitiatorName=" RIG_INITIATOR "\0TargetName=" RIG_TARGET
	    "\0SessionType=Normal\0MaxRecvDataSegmentLength=262144";
	struct iscsi_login_req h = {
		.opcode = ISCSI_LOGIN_REQ | ISCSI_IMMEDIATE,
		.flags = ISCSI_LOGIN_T | ISCSI_STAGE_OPERATIONAL << 2 | ISCSI_STAGE_FULL_FEATURE,
		.isid = { 0x80, 0, 0, 0, 0, isid },
		.tsih = put16(tsih),
		.itt = put32(1),
		.cid = put16(cid),
		.cmd_sn = put32(ini->cmd_sn),
		.exp_stat_sn = put32(ini->exp_stat_sn),
	};
	char text[1024];

	memcpy(text, first, sizeof(first));
	memcpy(text + sizeof(first), more, len);
	ini_send(ini, &h, text, (uint32_t)sizeof(first) + len);
	ini_expect(ini, in, ISCSI_LOGIN_RSP);
	ini->exp_stat_sn++;
	ini->tsih = get16(in->login.tsih);
	return (unsigned)in->login.status_class << 8 | in->login.status_detail;
}

static struct in rig_in;

#define INI_LOGIN(ini, isid, keys) \
	assert_int_equal(ini_enter(ini, isid, 0, 0, keys, sizeof(keys), &rig_in), LOGIN_OK)

/* A session on a reactor, its attentions taken. */
static inline void ini_quiet_units(struct ini *ini, unsigned n);

static inline void
ini_session(struct ini *ini, unsigned reactor, uint8_t isid)
{
	ini_open(ini, reactor);
	INI_LOGIN(ini, isid, "InitialR2T=No\0ImmediateData=Yes\0FirstBurstLength=16384\0"
	    "MaxBurstLength=65536\0MaxOutstandingR2T=2");
	ini_quiet_units(ini, (unsigned)fakes.target[0].nluns);
}

/* -- requests -- */

static inline struct iscsi_scsi_cmd
req_cmd(struct ini *ini, uint8_t flags, uint32_t edtl)
{
	return (struct iscsi_scsi_cmd){
		.opcode = ISCSI_SCSI_CMD,
		.flags = flags | ISCSI_ATTR_SIMPLE,
		.itt = put32(ini->itt++),
		.edtl = put32(edtl),
		.cmd_sn = put32(ini->cmd_sn++),
		.exp_stat_sn = put32(ini->exp_stat_sn),
	};
}

static inline struct iscsi_scsi_cmd
req_tur(struct ini *ini)
{
	return req_cmd(ini, SCSI_CMD_F, 0);
}

/* READ(10) or WRITE(10) of 512-byte blocks; flags as given. */
static inline struct iscsi_scsi_cmd
req_rw(struct ini *ini, uint8_t flags, uint32_t lba, uint16_t blocks)
{
	struct iscsi_scsi_cmd h = req_cmd(ini, flags, blocks * 512u);

	h.cdb[0] = flags & SCSI_CMD_W ? 0x2a : 0x28;
	wr32(h.cdb + 2, lba);
	wr16(h.cdb + 7, blocks);
	return h;
}

static inline struct iscsi_data_out
req_data(const struct iscsi_r2t *r2t, uint32_t data_sn, uint32_t offset, bool final)
{
	struct iscsi_data_out h = {
		.opcode = ISCSI_DATA_OUT,
		.flags = final ? ISCSI_F : 0,
		.itt = r2t->itt,
		.ttt = r2t->ttt,
		.data_sn = put32(data_sn),
		.offset = put32(offset),
	};

	memcpy(h.lun, r2t->lun, sizeof(h.lun));
	return h;
}

/* Unsolicited. */
static inline struct iscsi_data_out
req_first(const struct iscsi_scsi_cmd *cmd, uint32_t data_sn, uint32_t offset, bool final)
{
	return (struct iscsi_data_out){
		.opcode = ISCSI_DATA_OUT,
		.flags = final ? ISCSI_F : 0,
		.itt = cmd->itt,
		.ttt = put32(ISCSI_NO_TAG),
		.data_sn = put32(data_sn),
		.offset = put32(offset),
	};
}

static inline struct iscsi_tmf_req
req_tmf(struct ini *ini, unsigned fn, be32 ref_itt, be32 ref_cmd_sn)
{
	return (struct iscsi_tmf_req){
		.opcode = ISCSI_TMF_REQ | ISCSI_IMMEDIATE,
		.flags = (uint8_t)(ISCSI_F | fn),
		.itt = put32(ini->itt++),
		.ref_itt = ref_itt,
		.cmd_sn = put32(ini->cmd_sn),
		.ref_cmd_sn = ref_cmd_sn,
	};
}

/* A ping goes round: everything sent before it has been handled. */
static inline void
ini_ping(struct ini *ini, struct in *in)
{
	struct iscsi_nop_out h = {
		.opcode = ISCSI_NOP_OUT | ISCSI_IMMEDIATE,
		.flags = ISCSI_F,
		.itt = put32(ini->itt++),
		.ttt = put32(ISCSI_NO_TAG),
		.cmd_sn = put32(ini->cmd_sn),
	};

	ini_send(ini, &h, NULL, 0);
	ini_expect(ini, in, ISCSI_NOP_IN);
	assert_int_equal(get32(in->nop.itt), get32(h.itt));
}

static inline void
ini_response(struct ini *ini, struct in *in, be32 itt, uint8_t status)
{
	ini_expect(ini, in, ISCSI_SCSI_RSP);
	assert_int_equal(get32(in->rsp.itt), get32(itt));
	assert_int_equal(in->rsp.status, status);
}

/* CHECK CONDITION with ABORTED COMMAND and this additional sense. */
static inline void
ini_aborted(struct ini *ini, struct in *in, be32 itt, uint16_t sense)
{
	ini_response(ini, in, itt, SCSI_CHECK_CONDITION);
	assert_int_equal(rd16(in->data), in->len - 2);
	assert_int_equal(in->data[2 + 2] & 0xf, 0x0b);
	assert_int_equal(rd16(in->data + 2 + 12), sense);
}

static inline void
ini_quiet_units(struct ini *ini, unsigned n)
{
	for (unsigned lun = 0; lun < n; lun++) {
		struct iscsi_scsi_cmd h = req_tur(ini);

		h.lun[1] = (uint8_t)lun;
		ini_send(ini, &h, NULL, 0);
		ini_expect(ini, &rig_in, ISCSI_SCSI_RSP);
	}
}

static inline void
rig_pattern(uint8_t *p, uint32_t len, unsigned seed)
{
	for (uint32_t i = 0; i < len; i++)
		p[i] = (uint8_t)(i * 31 + i / 256 * 7 + seed);
}

/* Requests that disk 0 has begun. */
static inline unsigned
rig_ops(enum disk_op op)
{
	unsigned n;

	pthread_mutex_lock(&fakes.fake[0].lock);
	n = fakes.fake[0].ops[op];
	pthread_mutex_unlock(&fakes.fake[0].lock);
	return n;
}

/* Waits until cond holds; for what other threads do. */
#define RIG_UNTIL(cond)                                                             \
	do {                                                                        \
		for (int tries_ = 0; !(cond); tries_++) {                           \
			assert_true(tries_ < 5000);                                 \
			usleep(2000);                                               \
		}                                                                   \
	} while (0)

#endif
