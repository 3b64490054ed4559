/* Commands and Data-Outs: gathered for one sendmsg a round. */
#include "load.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "scsi.h"
#include "transport/iscsi/digest.h"
#include "util.h"

void
ring_put(struct ring *ring, uint16_t v)
{
	ring->v[ring->tail++ & ring->mask] = v;
}

void
conn_break(struct conn *conn, const char *why)
{
	if (conn->dead)
		return;
	conn->dead = true;
	if (!conn->worker->tally.broken++)
		fprintf(stderr, "load: session %d: %s\n", conn->id, why);
	epoll_ctl(conn->worker->epoll, EPOLL_CTL_DEL, conn->fd, NULL);
}

/* Room for this many PDUs with data and both digests. */
static bool
send_room(const struct conn *conn, uint32_t pdus)
{
	return conn->headers_len + pdus * 60 <= HEADERS_SIZE &&
	    conn->iov_len + 2 * (int)pdus + 2 <= IOV_COUNT;
}

/* n bytes were put behind the headers so far. */
static void
headers_grow(struct conn *conn, uint32_t n)
{
	uint8_t *at = conn->headers + conn->headers_len;
	struct iovec *last = conn->iov_len > conn->iov_at ? &conn->iov[conn->iov_len - 1] : NULL;

	if (last && (uint8_t *)last->iov_base + last->iov_len == at)
		last->iov_len += n;
	else
		conn->iov[conn->iov_len++] = (struct iovec){ at, n };
	conn->headers_len += n;
}

static void *
header_begin(struct conn *conn)
{
	return memset(conn->headers + conn->headers_len, 0, ISCSI_BHS);
}

static void
header_end(struct conn *conn)
{
	uint8_t *at = conn->headers + conn->headers_len;

	if (conn->header_digest)
		digest_end(digest_add(DIGEST_INIT, at, ISCSI_BHS), at + ISCSI_BHS);
	headers_grow(conn, ISCSI_BHS + (conn->header_digest ? ISCSI_DIGEST : 0));
}

/* I/O sizes are whole blocks and bursts multiples of 512, so there is no padding. */
static void
data_put(struct conn *conn, const struct slot *slot, uint32_t offset, uint32_t len)
{
	const uint8_t *data = slot_data(slot, offset);

	conn->iov[conn->iov_len++] = (struct iovec){ (void *)(uintptr_t)data, len };
	if (!conn->data_digest)
		return;
	digest_end(digest_add(DIGEST_INIT, data, len), conn->headers + conn->headers_len);
	headers_grow(conn, ISCSI_DIGEST);
}

static void
data_out_put(struct conn *conn, const struct slot *slot, struct burst *burst)
{
	uint32_t n = MIN(burst->left, conn->max_xmit_dsl & ~3u);
	struct iscsi_data_out *h = header_begin(conn);

	h->opcode = ISCSI_DATA_OUT;
	h->flags = n == burst->left ? ISCSI_F : 0;
	h->data_len = put24(n);
	memcpy(h->lun, luns[slot->lun].addr, sizeof(h->lun));
	h->itt = put32(slot->itt);
	h->ttt = put32(burst->ttt);
	h->exp_stat_sn = put32(conn->exp_stat_sn);
	h->data_sn = put32(burst->data_sn++);
	h->offset = put32(burst->offset);
	header_end(conn);
	data_put(conn, slot, burst->offset, n);
	burst->offset += n;
	burst->left -= n;
}

static void
cdb_put(uint8_t *cdb, const struct slot *slot)
{
	uint32_t blocks = opt.size / luns[slot->lun].block_size;

	if (slot->lba + blocks <= UINT32_MAX && blocks < 65536) {
		cdb[0] = slot->write ? 0x2a : 0x28;
		wr32(cdb + 2, (uint32_t)slot->lba);
		wr16(cdb + 7, (uint16_t)blocks);
	} else {
		cdb[0] = slot->write ? 0x8a : 0x88;
		wr64(cdb + 2, slot->lba);
		wr32(cdb + 10, blocks);
	}
}

static void
command_put(struct conn *conn, struct slot *slot, uint32_t immediate, uint32_t unsolicited)
{
	struct iscsi_scsi_cmd *h = header_begin(conn);
	struct burst burst = { .ttt = ISCSI_NO_TAG, .offset = immediate, .left = unsolicited };

	/* A generation in the tag shows an answer that comes twice. */
	slot->itt = (uint32_t)(++slot->generation & 0x7fff) << 16 |
	    (uint32_t)(slot - conn->slots);
	slot->got = slot->data_sn = slot->r2t_sn = 0;
	slot->solicited = immediate + unsolicited;
	slot->live = true;
	slot->begun = conn->worker->now;
	conn->running++;
	h->opcode = ISCSI_SCSI_CMD;
	h->flags = (uint8_t)((unsolicited ? 0 : SCSI_CMD_F) |
	    (slot->write ? SCSI_CMD_W : SCSI_CMD_R) | ISCSI_ATTR_SIMPLE);
	h->data_len = put24(immediate);
	memcpy(h->lun, luns[slot->lun].addr, sizeof(h->lun));
	h->itt = put32(slot->itt);
	h->edtl = put32(slot->edtl);
	h->cmd_sn = put32(conn->cmd_sn++);
	h->exp_stat_sn = put32(conn->exp_stat_sn);
	cdb_put(h->cdb, slot);
	header_end(conn);
	if (immediate)
		data_put(conn, slot, 0, immediate);
	while (burst.left)
		data_out_put(conn, slot, &burst);
}

/* Serves R2Ts; false: no more room in this send. */
static bool
bursts_put(struct conn *conn)
{
	while (conn->burst_head != conn->burst_tail) {
		struct burst *burst = &conn->bursts[conn->burst_head & conn->burst_mask];

		while (burst->left) {
			if (!send_room(conn, 1))
				return false;
			data_out_put(conn, &conn->slots[burst->slot], burst);
		}
		conn->burst_head++;
	}
	return true;
}

static void
commands_put(struct conn *conn)
{
	struct ring *ready = &conn->ready;

	while (ready->head != ready->tail) {
		struct slot *slot = &conn->slots[ready->v[ready->head & ready->mask]];
		uint32_t first_burst = MIN(slot->edtl, conn->first_burst);
		uint32_t immediate = 0, unsolicited = 0;

		if (sn_before(conn->max_cmd_sn, conn->cmd_sn)) {
			conn->worker->tally.window++;
			return;
		}
		if (slot->write && conn->immediate_data)
			immediate = MIN(first_burst, conn->max_xmit_dsl) & ~3u;
		if (slot->write && !conn->initial_r2t)
			unsolicited = first_burst - immediate;
		if (!send_room(conn, 2 + unsolicited / conn->max_xmit_dsl))
			return;
		ready->head++;
		command_put(conn, slot, immediate, unsolicited);
	}
}

static void
conn_flush(struct conn *conn)
{
	struct epoll_event ev = { .data.ptr = conn };
	bool left;

	while (conn->iov_at < conn->iov_len) {
		struct msghdr msg = { .msg_iov = conn->iov + conn->iov_at,
			.msg_iovlen = (size_t)(conn->iov_len - conn->iov_at) };
		ssize_t n = sendmsg(conn->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
		struct iovec *v;

		conn->worker->tally.sends++;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0) {
			conn_break(conn, strerror(errno));
			return;
		}
		for (v = &conn->iov[conn->iov_at]; n && (size_t)n >= v->iov_len; v++) {
			n -= (ssize_t)v->iov_len;
			conn->iov_at++;
		}
		if (n) {
			v->iov_base = (uint8_t *)v->iov_base + n;
			v->iov_len -= (size_t)n;
		}
	}
	left = conn->iov_at < conn->iov_len;
	if (!left)
		conn->iov_at = conn->iov_len = 0, conn->headers_len = 0;
	if (left == conn->wants_out)
		return;
	conn->wants_out = left;
	ev.events = EPOLLIN | (left ? EPOLLOUT : 0);
	epoll_ctl(conn->worker->epoll, EPOLL_CTL_MOD, conn->fd, &ev);
}

void
conn_issue(struct conn *conn)
{
	do {
		if (bursts_put(conn))
			commands_put(conn);
		if (!conn->iov_len)
			return;
		conn_flush(conn);
	} while (!conn->dead && !conn->iov_len);
}

void
conn_nop(struct conn *conn, const struct iscsi_nop_in *ping)
{
	struct iscsi_nop_out *h;

	if (!send_room(conn, 1))
		return;		/* a target whose answer does not come asks again or closes */
	h = header_begin(conn);
	h->opcode = ISCSI_NOP_OUT | ISCSI_IMMEDIATE;
	h->flags = ISCSI_F;
	memcpy(h->lun, ping->lun, sizeof(h->lun));
	h->itt = put32(ISCSI_NO_TAG);
	h->ttt = ping->ttt;
	h->cmd_sn = put32(conn->cmd_sn);
	h->exp_stat_sn = put32(conn->exp_stat_sn);
	header_end(conn);
}

void
conn_logout(struct conn *conn)
{
	struct iscsi_logout_req *h = header_begin(conn);

	h->opcode = ISCSI_LOGOUT_REQ | ISCSI_IMMEDIATE;
	h->flags = ISCSI_F | ISCSI_LOGOUT_SESSION;
	h->itt = put32(0x7ffffffe);
	h->cmd_sn = put32(conn->cmd_sn);
	h->exp_stat_sn = put32(conn->exp_stat_sn);
	header_end(conn);
	conn_flush(conn);
}
