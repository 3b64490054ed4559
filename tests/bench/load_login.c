/* Connects, logs in and asks the LUNs for their size: one blocking step after the other. */
#include "load.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scsi.h"
#include "transport/iscsi/digest.h"
#include "util.h"

enum { TEXT_SIZE = 16 * 1024 };

static void
write_all(int fd, const void *bytes, size_t len)
{
	while (len) {
		ssize_t n = write(fd, bytes, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			die("write: %s", strerror(errno));
		bytes = (const char *)bytes + n;
		len -= (size_t)n;
	}
}

static void
read_all(int fd, void *bytes, size_t len)
{
	while (len) {
		ssize_t n = read(fd, bytes, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			die("read: %s", n ? strerror(errno) : "the target closed the connection");
		bytes = (char *)bytes + n;
		len -= (size_t)n;
	}
}

static void
conn_connect(struct conn *conn)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *ai;
	int one = 1, err = getaddrinfo(opt.host, opt.port, &hints, &ai);

	if (err)
		die("%s port %s: %s", opt.host, opt.port, gai_strerror(err));
	conn->fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (conn->fd < 0 || connect(conn->fd, ai->ai_addr, ai->ai_addrlen))
		die("connect to %s port %s: %s", opt.host, opt.port, strerror(errno));
	freeaddrinfo(ai);
	setsockopt(conn->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

__attribute__((format(printf, 3, 4)))
static void
key_put(char *text, uint32_t *len, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	*len += (uint32_t)vsnprintf(text + *len, TEXT_SIZE - *len, fmt, ap) + 1;
	va_end(ap);
	if (*len > ISCSI_BHS + 8192)
		die("the names are too long for a login");
}

static const char *
key_get(const char *text, uint32_t len, const char *key)
{
	size_t n = strlen(key);

	for (uint32_t i = 0; i < len; i += (uint32_t)strlen(text + i) + 1)
		if (!strncmp(text + i, key, n) && text[i + n] == '=')
			return text + i + n + 1;
	return NULL;
}

static void
keys_security(const struct conn *conn, char *text, uint32_t *len)
{
	if (opt.initiator_per_session)
		key_put(text, len, "InitiatorName=%s-%d", opt.initiator, conn->id);
	else
		key_put(text, len, "InitiatorName=%s", opt.initiator);
	key_put(text, len, "SessionType=Normal");
	key_put(text, len, "TargetName=%s", opt.target);
	key_put(text, len, "AuthMethod=None");
}

static void
keys_operational(char *text, uint32_t *len)
{
	key_put(text, len, "HeaderDigest=%s", opt.header_digest ? "CRC32C" : "None");
	key_put(text, len, "DataDigest=%s", opt.data_digest ? "CRC32C" : "None");
	key_put(text, len, "ErrorRecoveryLevel=0");
	key_put(text, len, "InitialR2T=%s", opt.initial_r2t ? "Yes" : "No");
	key_put(text, len, "ImmediateData=%s", opt.immediate_data ? "Yes" : "No");
	key_put(text, len, "MaxBurstLength=%u", opt.max_burst);
	key_put(text, len, "FirstBurstLength=%u", opt.first_burst);
	key_put(text, len, "MaxOutstandingR2T=1");
	key_put(text, len, "MaxConnections=1");
	key_put(text, len, "DataPDUInOrder=Yes");
	key_put(text, len, "DataSequenceInOrder=Yes");
	key_put(text, len, "DefaultTime2Wait=2");
	key_put(text, len, "DefaultTime2Retain=0");
	key_put(text, len, "MaxRecvDataSegmentLength=%u", opt.mrdsl);
}

static void
number_get(const char *text, uint32_t len, const char *key, uint32_t *to)
{
	const char *v = key_get(text, len, key);

	if (v && atoi(v) > 0)
		*to = (uint32_t)atoi(v);
}

static bool
value_is(const char *text, uint32_t len, const char *key, const char *value)
{
	const char *v = key_get(text, len, key);

	return v && !strcmp(v, value);
}

/* Keys that the target leaves out keep the RFC's default or what was set before. */
static void
answer_read(struct conn *conn, const char *text, uint32_t len)
{
	conn->header_digest |= value_is(text, len, "HeaderDigest", "CRC32C");
	conn->data_digest |= value_is(text, len, "DataDigest", "CRC32C");
	conn->immediate_data &= !value_is(text, len, "ImmediateData", "No");
	conn->initial_r2t &= !value_is(text, len, "InitialR2T", "No");
	number_get(text, len, "MaxRecvDataSegmentLength", &conn->max_xmit_dsl);
	number_get(text, len, "FirstBurstLength", &conn->first_burst);
	number_get(text, len, "MaxBurstLength", &conn->max_burst);
}

/* One request and its answer. Returns the stage that follows. */
static unsigned
login_step(struct conn *conn, unsigned stage, bool first, be16 *tsih)
{
	union { struct iscsi_login_req req; struct iscsi_login_rsp rsp; } head = { 0 };
	unsigned next = stage ? ISCSI_STAGE_FULL_FEATURE : ISCSI_STAGE_OPERATIONAL;
	char text[TEXT_SIZE] = { 0 };
	uint32_t len = 0, pid = (uint32_t)getpid();

	if (first && stage == ISCSI_STAGE_SECURITY)
		keys_security(conn, text, &len);
	else if (first)
		keys_operational(text, &len);
	head.req.opcode = ISCSI_LOGIN_REQ | ISCSI_IMMEDIATE;
	head.req.flags = (uint8_t)(ISCSI_LOGIN_T | stage << ISCSI_LOGIN_CSG_SHIFT | next);
	head.req.data_len = put24(len);
	memcpy(head.req.isid, (uint8_t[]){ 0x80, (uint8_t)(pid >> 8), (uint8_t)pid, 1,
	    (uint8_t)(conn->id >> 8), (uint8_t)conn->id }, sizeof(head.req.isid));
	head.req.tsih = *tsih;
	head.req.itt = put32(0x10000);
	head.req.cmd_sn = put32(1);
	head.req.exp_stat_sn = put32(conn->exp_stat_sn);
	write_all(conn->fd, &head, ISCSI_BHS);
	write_all(conn->fd, text, len + pdu_pad(len));

	read_all(conn->fd, &head, ISCSI_BHS);
	len = get24(head.rsp.data_len);
	if ((head.rsp.opcode & ISCSI_OPCODE_MASK) != ISCSI_LOGIN_RSP || head.rsp.ahs_len ||
	    len > TEXT_SIZE - 4)
		die("not a login response: opcode %02x, %u bytes", head.rsp.opcode, len);
	read_all(conn->fd, text, len + pdu_pad(len));
	text[len] = 0;
	if (head.rsp.status_class)
		die("login refused: status %02x%02x", head.rsp.status_class,
		    head.rsp.status_detail);
	conn->exp_stat_sn = get32(head.rsp.stat_sn) + 1;
	conn->cmd_sn = get32(head.rsp.exp_cmd_sn);
	conn->max_cmd_sn = get32(head.rsp.max_cmd_sn);
	*tsih = head.rsp.tsih;
	answer_read(conn, text, len);
	return head.rsp.flags & ISCSI_LOGIN_T ? head.rsp.flags & ISCSI_LOGIN_NSG : stage;
}

void
conn_login(struct conn *conn)
{
	unsigned stage = ISCSI_STAGE_SECURITY, next;
	bool first = true;
	be16 tsih = put16(0);

	conn_connect(conn);
	conn->immediate_data = opt.immediate_data;
	conn->initial_r2t = true;
	conn->max_xmit_dsl = 8192;
	conn->first_burst = opt.first_burst;
	conn->max_burst = opt.max_burst;
	for (int step = 0; step < 12; step++) {
		next = login_step(conn, stage, first, &tsih);
		first = next != stage;
		stage = next;
		if (stage != ISCSI_STAGE_FULL_FEATURE)
			continue;
		if (conn->header_digest != opt.header_digest ||
		    conn->data_digest != opt.data_digest)
			die("the target refused the digests");
		return;
	}
	die("the login does not end");
}

/* Reads the PDUs up to the status. len is the room in data; returns the status, sets *attention. */
static int
status_read(struct conn *conn, void *data, uint32_t len, bool *attention)
{
	union { uint8_t bytes[52]; struct iscsi_data_in in; struct iscsi_scsi_rsp rsp; } head;
	uint8_t segment[MISC_SIZE];
	uint32_t n, opcode;

	for (;;) {
		read_all(conn->fd, &head, conn->header_digest ? 52 : 48);
		n = get24(head.rsp.data_len);
		opcode = head.rsp.opcode & ISCSI_OPCODE_MASK;
		if (n + pdu_tail(n, true) > sizeof(segment) || head.rsp.ahs_len)
			die("a %u byte segment where none was asked for", n);
		read_all(conn->fd, segment, n + pdu_tail(n, conn->data_digest));
		conn->max_cmd_sn = get32(head.rsp.max_cmd_sn);
		if (opcode == ISCSI_NOP_IN)
			continue;
		if (opcode != ISCSI_DATA_IN && opcode != ISCSI_SCSI_RSP)
			die("opcode %02x in answer to a command", opcode);
		if (opcode == ISCSI_DATA_IN) {
			memcpy(data, segment, MIN(n, len));
			if (!(head.in.flags & DATA_IN_S))
				continue;
		}
		conn->exp_stat_sn = get32(head.rsp.stat_sn) + 1;
		*attention = opcode == ISCSI_SCSI_RSP && n > 4 && (segment[4] & 15) == 6;
		return head.rsp.status;
	}
}

/* A command that reads up to len bytes. Returns the status, past unit attentions. */
static int
command_run(struct conn *conn, const struct lun *lun, const uint8_t cdb[16], void *data,
    uint32_t len)
{
	struct { struct iscsi_scsi_cmd cmd; uint8_t digest[ISCSI_DIGEST]; } head;
	bool attention;
	int status = 0;

	for (uint32_t attempt = 0; attempt < 10; attempt++) {
		memset(&head, 0, sizeof(head));
		head.cmd.opcode = ISCSI_SCSI_CMD;
		head.cmd.flags = SCSI_CMD_F | (len ? SCSI_CMD_R : 0) | ISCSI_ATTR_SIMPLE;
		memcpy(head.cmd.lun, lun->addr, sizeof(head.cmd.lun));
		head.cmd.itt = put32(0x7000 + attempt);
		head.cmd.edtl = put32(len);
		head.cmd.cmd_sn = put32(conn->cmd_sn++);
		head.cmd.exp_stat_sn = put32(conn->exp_stat_sn);
		memcpy(head.cmd.cdb, cdb, sizeof(head.cmd.cdb));
		digest_end(digest_add(DIGEST_INIT, &head, ISCSI_BHS), head.digest);
		write_all(conn->fd, &head, conn->header_digest ? 52 : 48);
		status = status_read(conn, data, len, &attention);
		if (!attention)
			break;
	}
	return status;
}

void
lun_probe(struct conn *conn, struct lun *lun)
{
	const uint8_t test_unit_ready[16] = { 0 };
	const uint8_t read_capacity[16] = { [0] = 0x9e, [1] = 0x10, [13] = 32 };
	uint8_t data[32] = { 0 };
	int status;

	if (lun->number < 256)
		lun->addr[1] = (uint8_t)lun->number;
	else
		wr16(lun->addr, 0x4000 | lun->number);
	command_run(conn, lun, test_unit_ready, data, 0);
	status = command_run(conn, lun, read_capacity, data, sizeof(data));
	if (status)
		die("LUN %u: READ CAPACITY(16) ends with status %02x", lun->number, status);
	lun->blocks = rd64(data) + 1;
	lun->block_size = rd32(data + 8);
	if (!lun->block_size || opt.size % lun->block_size ||
	    lun->blocks < opt.size / lun->block_size)
		die("LUN %u: %llu blocks of %u bytes do not take an I/O of %u", lun->number,
		    (unsigned long long)lun->blocks, lun->block_size, opt.size);
	if (opt.verify && opt.base + (uint64_t)opt.sessions * opt.verify_blocks *
	    (opt.size / lun->block_size) > lun->blocks)
		die("LUN %u is too small for --verify", lun->number);
}
