/*
 * The least that an iSCSI target can do, on one thread: fixed login answers,
 * each READ answered from one buffer, each WRITE swallowed. What the kernel's
 * TCP costs on one core, and so the ceiling for a target. It checks nothing.
 *
 * usage: echo PORT [SPIN_MICROSECONDS]
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "transport/iscsi/pdu_next.h"
#include "util.h"

enum { RECEIVE = 256 * 1024, SEGMENT = 256 * 1024, IOVS = 1000, ANSWERS = 2048, TAGS = 65536 };

union answer {
	uint8_t bytes[ISCSI_BHS];
	struct iscsi_bhs bhs;
	struct iscsi_data_in data_in;
	struct iscsi_scsi_rsp rsp;
	struct iscsi_r2t r2t;
	struct iscsi_login_rsp login;
};

struct conn {
	int fd;
	bool closing, wants_out;
	uint32_t stat_sn, exp_cmd_sn;
	/* received: a header, and how much of its data segment is still to come */
	union { uint8_t bytes[ISCSI_BHS]; struct iscsi_bhs bhs; struct iscsi_scsi_cmd cmd;
		struct iscsi_data_out out; } head;
	uint32_t head_len, data_left;
	struct { uint32_t expected, received, r2t_sn; } writes[TAGS];	/* by the tag's low half */
	/* input that waits until the output is gone */
	uint8_t *held;
	size_t held_len;
	/* output */
	union answer answers[ANSWERS];
	uint32_t nanswers;
	struct iovec iov[IOVS];
	int iov_at, iov_len;
};

static uint8_t receive[RECEIVE], segment[SEGMENT];
static int epoll;

/* Ended by an empty key; kept as one string so that the NULs are in it. */
static const char security[] = "TargetPortalGroupTag=1\0AuthMethod=None";
static const char operational[] = "HeaderDigest=None\0DataDigest=None\0ErrorRecoveryLevel=0\0"
    "InitialR2T=Yes\0ImmediateData=Yes\0MaxBurstLength=262144\0FirstBurstLength=262144\0"
    "MaxOutstandingR2T=1\0MaxConnections=1\0DataPDUInOrder=Yes\0DataSequenceInOrder=Yes\0"
    "DefaultTime2Wait=2\0DefaultTime2Retain=0\0MaxRecvDataSegmentLength=262144";

static bool
room(const struct conn *conn)
{
	return conn->nanswers < ANSWERS && conn->iov_len + 4 < IOVS;
}

static union answer *
answer_begin(struct conn *conn, uint8_t opcode, uint8_t flags)
{
	union answer *a = &conn->answers[conn->nanswers];

	memset(a, 0, sizeof(*a));
	a->bhs.opcode = opcode;
	a->bhs.flags = flags;
	a->bhs.itt = conn->head.bhs.itt;
	a->rsp.exp_cmd_sn = put32(conn->exp_cmd_sn);
	a->rsp.max_cmd_sn = put32(conn->exp_cmd_sn + 1023);
	return a;
}

static void
iov_add(struct conn *conn, const void *p, size_t n)
{
	struct iovec *last = conn->iov_len > conn->iov_at ? &conn->iov[conn->iov_len - 1] : NULL;

	if (last && (uint8_t *)last->iov_base + last->iov_len == p)
		last->iov_len += n;
	else
		conn->iov[conn->iov_len++] = (struct iovec){ (void *)(uintptr_t)p, n };
}

static void
answer_end(struct conn *conn, union answer *a, const void *data, uint32_t len)
{
	static const uint8_t zeros[3];

	a->bhs.data_len = put24(len);
	conn->nanswers++;
	iov_add(conn, a, ISCSI_BHS);
	if (len)
		iov_add(conn, data, len);
	if (pdu_pad(len))
		iov_add(conn, zeros, pdu_pad(len));
}

static void
status_send(struct conn *conn)
{
	union answer *a = answer_begin(conn, ISCSI_SCSI_RSP, ISCSI_F);

	a->rsp.stat_sn = put32(conn->stat_sn++);
	answer_end(conn, a, NULL, 0);
}

static void
data_send(struct conn *conn, const void *data, uint32_t len)
{
	union answer *a = answer_begin(conn, ISCSI_DATA_IN, DATA_IN_F | DATA_IN_S);

	a->data_in.ttt = put32(ISCSI_NO_TAG);
	a->data_in.stat_sn = put32(conn->stat_sn++);
	answer_end(conn, a, data, len);
}

/* The rest of a write is asked for, at most 256 KiB at once, or its status sent. */
static void
write_go_on(struct conn *conn, uint32_t tag)
{
	uint32_t left = conn->writes[tag].expected - conn->writes[tag].received;
	union answer *a;

	if (conn->writes[tag].received >= conn->writes[tag].expected) {
		status_send(conn);
		return;
	}
	a = answer_begin(conn, ISCSI_R2T, ISCSI_F);
	a->r2t.ttt = put32(tag);
	a->r2t.stat_sn = put32(conn->stat_sn);
	a->r2t.r2t_sn = put32(conn->writes[tag].r2t_sn++);
	a->r2t.offset = put32(conn->writes[tag].received);
	a->r2t.length = put32(MIN(left, SEGMENT));
	answer_end(conn, a, NULL, 0);
}

static void
command_rx(struct conn *conn)
{
	const struct iscsi_scsi_cmd *cmd = &conn->head.cmd;
	uint32_t edtl = get32(cmd->edtl), tag = get32(cmd->itt) % TAGS;
	static uint8_t capacity[32];

	conn->exp_cmd_sn = get32(cmd->cmd_sn) + 1;
	switch (cmd->cdb[0]) {
	case 0x28:
	case 0x88:
		data_send(conn, segment, MIN(edtl, SEGMENT));
		break;
	case 0x2a:
	case 0x8a:
		conn->writes[tag].expected = edtl;
		conn->writes[tag].received = get24(cmd->data_len);
		conn->writes[tag].r2t_sn = 0;
		write_go_on(conn, tag);
		break;
	case 0x9e:
		wr64(capacity, (1u << 31) - 1);
		wr32(capacity + 8, 512);
		data_send(conn, capacity, MIN(edtl, sizeof(capacity)));
		break;
	default:
		status_send(conn);
	}
}

static void
login_rx(struct conn *conn)
{
	unsigned stages = conn->head.bhs.flags & 15;
	bool first = !(stages & ISCSI_LOGIN_CSG);
	union answer *a;

	conn->exp_cmd_sn = get32(conn->head.bhs.cmd_sn);
	a = answer_begin(conn, ISCSI_LOGIN_RSP, (uint8_t)(ISCSI_LOGIN_T | stages));
	memcpy(a->login.isid, conn->head.bhs.lun, sizeof(a->login.isid));
	a->login.tsih = put16(1);
	a->login.stat_sn = put32(conn->stat_sn++);
	answer_end(conn, a, first ? security : operational,
	    first ? sizeof(security) : sizeof(operational));
}

static void
pdu_rx(struct conn *conn)
{
	uint32_t tag = get32(conn->head.bhs.ttt) % TAGS;
	union answer *a;

	switch (conn->head.bhs.opcode & ISCSI_OPCODE_MASK) {
	case ISCSI_LOGIN_REQ:
		login_rx(conn);
		break;
	case ISCSI_SCSI_CMD:
		command_rx(conn);
		break;
	case ISCSI_DATA_OUT:
		conn->writes[tag].received += get24(conn->head.bhs.data_len);
		if (conn->head.bhs.flags & ISCSI_F)
			write_go_on(conn, tag);
		break;
	case ISCSI_LOGOUT_REQ:
		a = answer_begin(conn, ISCSI_LOGOUT_RSP, ISCSI_F);
		a->rsp.stat_sn = put32(conn->stat_sn++);
		answer_end(conn, a, NULL, 0);
		conn->closing = true;
		break;
	default:
		conn->closing = true;
	}
}

/* Returns how many bytes were taken: fewer when there is no room for answers. */
static size_t
bytes_rx(struct conn *conn, const uint8_t *p, size_t n)
{
	const uint8_t *begin = p;

	while (n) {
		size_t k = MIN(n, ISCSI_BHS - conn->head_len);

		if (!room(conn))
			break;
		memcpy(conn->head.bytes + conn->head_len, p, k);
		p += k;
		n -= k;
		if (conn->head_len < ISCSI_BHS && (conn->head_len += (uint32_t)k) == ISCSI_BHS) {
			conn->data_left = get24(conn->head.bhs.data_len);
			conn->data_left += pdu_pad(conn->data_left);
		}
		if (conn->head_len < ISCSI_BHS)
			break;
		k = MIN(n, conn->data_left);
		conn->data_left -= (uint32_t)k;
		p += k;
		n -= k;
		if (conn->data_left)
			break;
		conn->head_len = 0;
		pdu_rx(conn);
	}
	return (size_t)(p - begin);
}

static void
want_out(struct conn *conn, bool want)
{
	struct epoll_event ev = { .events = EPOLLIN | (want ? EPOLLOUT : 0), .data.ptr = conn };

	if (want != conn->wants_out)
		epoll_ctl(epoll, EPOLL_CTL_MOD, conn->fd, &ev);
	conn->wants_out = want;
}

/* True: nothing is left to send. */
static bool
flush(struct conn *conn)
{
	while (conn->iov_at < conn->iov_len) {
		struct iovec *v = &conn->iov[conn->iov_at];
		struct msghdr msg = { .msg_iov = v,
			.msg_iovlen = (size_t)(conn->iov_len - conn->iov_at) };
		ssize_t n = sendmsg(conn->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EAGAIN) {
			want_out(conn, true);
			return false;
		}
		if (n < 0) {
			conn->closing = true;
			break;
		}
		for (; n && (size_t)n >= v->iov_len; v++) {
			n -= (ssize_t)v->iov_len;
			conn->iov_at++;
		}
		if (n) {
			v->iov_base = (uint8_t *)v->iov_base + n;
			v->iov_len -= (size_t)n;
		}
	}
	conn->iov_at = conn->iov_len = 0;
	conn->nanswers = 0;
	want_out(conn, false);
	return true;
}

/* Answers input until it is all taken or the socket is full; keeps the rest. */
static void
feed(struct conn *conn, const uint8_t *p, size_t n)
{
	do {
		size_t k = bytes_rx(conn, p, n);

		p += k;
		n -= k;
	} while (flush(conn) && n && !conn->closing);
	if (n)
		memmove(conn->held, p, n);
	conn->held_len = n;
}

static void
conn_event(struct conn *conn, uint32_t events)
{
	ssize_t n;

	if (conn->iov_len && !flush(conn))
		return;
	if (conn->held_len) {
		feed(conn, conn->held, conn->held_len);
		if (conn->held_len)
			return;
	}
	if (!(events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
		return;
	n = recv(conn->fd, receive, sizeof(receive), MSG_DONTWAIT);
	if (n > 0)
		feed(conn, receive, (size_t)n);
	else if (!n || errno != EAGAIN)
		conn->closing = true;
}

static void
conn_accept(int listener)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC), one = 1;
	struct conn *conn;

	if (fd < 0)
		return;
	conn = calloc(1, sizeof(*conn));
	if (!conn || !(conn->held = malloc(RECEIVE)))
		abort();
	conn->fd = fd;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	ev.data.ptr = conn;
	epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &ev);
}

static int
listen_on(uint16_t port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct epoll_event ev = { .events = EPOLLIN };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), one = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (void *)&addr, sizeof(addr)) || listen(fd, 1024)) {
		perror("echo: listen");
		exit(2);
	}
	epoll = epoll_create1(EPOLL_CLOEXEC);
	epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &ev);
	return fd;
}

int
main(int argc, char **argv)
{
	uint64_t spin = argc > 2 ? strtoull(argv[2], NULL, 10) * 1000 : 0, last = 0;
	int listener = listen_on((uint16_t)(argc > 1 ? atoi(argv[1]) : 3290));
	struct epoll_event ev[256];

	signal(SIGPIPE, SIG_IGN);
	for (;;) {
		int n = epoll_wait(epoll, ev, 256, spin && now_ns() - last < spin ? 0 : -1);

		if (n > 0)
			last = now_ns();
		for (int i = 0; i < n; i++) {
			struct conn *conn = ev[i].data.ptr;

			if (!conn) {
				conn_accept(listener);
				continue;
			}
			conn_event(conn, ev[i].events);
			if (!conn->closing)
				continue;
			flush(conn);
			close(conn->fd);
			free(conn->held);
			free(conn);
		}
	}
}
