/*
 * A whole channel: any units in any order while work, receives and disks are
 * held back, fail, or end. The input is a row of records: what (1 byte), a
 * number (1), length (2), bytes. Whatever happens, nothing is left behind.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fake/fake_transport.h"
#include "tests/fake/mem_fabric.h"
#include "transport/srp/channel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {					/* what */
	R_SEND, R_SETTLE, R_HOLD, R_ARM, R_LEAVE, R_DISK, R_ROOM, R_HIDE, R_KINDS
};
enum { DEPTH = 8, KEY = 0x1234, TABLE_KEY = 77, LEN = 65536 };
#define VA 0x1000ull
#define TABLE_VA 0x100000ull

static struct srp_target_conf target_opts;
static struct srp_portal_conf portal_opts = { .backlog = 4, .max_channels = 16 };

static void
require(bool ok)
{
	if (!ok)
		abort();
}

static void
world_start(void)
{
	const struct transport *srp = transport_find("srp");

	mem_reset();
	fake_world_init(2);
	target_opts = (struct srp_target_conf){ .queue_depth = DEPTH, .max_channels = 4 };
	fakes.portal.transport = srp;
	fakes.portal.opts = &portal_opts;
	for (int i = 0; i < FAKE_TARGETS; i++)
		fakes.target[i].opts[transport_index(srp)] = &target_opts;
	require(fake_world_start(1) == 0);
	require(srp->portal_open(&fakes.portal) == 0);
}

static struct mem_end *
login(void)
{
	struct srp_login_req h = {
		.opcode = SRP_LOGIN_REQ, .req_it_iu_len = put32(2048), .req_buf_fmt = put16(6),
		.req_flags = SRP_MULTICHAN_MULTI | SRP_IMMED_REQUESTED | SRP_LOSOLNT | SRP_CRSOLNT,
		.imm_data_offset = put16(80),
	};
	struct mem_end *end;

	port_id(&fakes.target[0], h.target_port_id);
	end = mem_connect(&fakes.portal, &h, sizeof(h));
	mem_settle();
	require(mem_state(end) == MEM_UP);
	return end;
}

/* What a table elsewhere says: pieces of the exposed memory. */
static void
expose(struct mem_end *end)
{
	struct srp_direct_buf *d = (void *)mem_expose(end, TABLE_VA, TABLE_KEY, 64 * sizeof(*d));

	mem_expose(end, VA, KEY, LEN);
	for (unsigned i = 0; i < 64; i++)
		d[i] = (struct srp_direct_buf){ put64(VA + i * 512), put32(KEY), put32(256) };
}

/* What comes back is well made, and never more credits than there are. */
static void
read_all(struct mem_end *end)
{
	uint8_t b[SRP_TI_IU_MAX];
	const struct srp_rsp *rsp = (void *)b;
	int len;

	while ((len = mem_recv(end, b, sizeof(b), NULL)) >= 0) {
		require(len >= 16);
		if (b[0] == SRP_T_LOGOUT || b[0] == SRP_CRED_REQ || b[0] == SRP_AER_REQ)
			continue;
		require(b[0] == SRP_RSP && len >= (int)sizeof(*rsp));
		require(get32(rsp->req_lim_delta) <= DEPTH);
		require((uint32_t)len == sizeof(*rsp) + get32(rsp->sense_data_len) +
		    get32(rsp->resp_data_len));
	}
}

static void
disk_hold(bool hold)
{
	for (unsigned i = 0; i < 2; i++) {
		for (unsigned op = 0; op < DISK_OPS; op++)
			fakes.fake[i].hold[op] = hold;
		if (!hold)
			fake_disk_release(&fakes.fake[i], 1000);
	}
}

static void
record(struct mem_end *end, unsigned what, uint8_t n, const uint8_t *data, uint32_t len)
{
	switch (what % R_KINDS) {
	case R_SEND:
		mem_send(end, data, len);
		break;
	case R_SETTLE:
		mem_settle();
		read_all(end);
		break;
	case R_HOLD:
		mem_hold(end, n & 0x7f);
		break;
	case R_ARM:
		mem_arm(end, n / MEM_FAULTS, (enum mem_fault)(n % MEM_FAULTS));
		break;
	case R_LEAVE:
		mem_leave(end);
		break;
	case R_DISK:
		disk_hold(n & 1);
		break;
	case R_ROOM:
		mem_room(end, n);
		break;
	case R_HIDE:
		mem_hide(end, n & 1 ? KEY : TABLE_KEY);
		break;
	}
}

static void
live(void *n)
{
	*(unsigned *)n = srp_transport.live(reactor_self());
}

/* All of it ends by itself once nobody holds anything back. */
static void
gone(void)
{
	unsigned n = 1;

	for (int i = 0; i < 10000 && (n || mem.conns); i++) {
		disk_hold(false);
		mem_settle();
		fake_run(0, live, &n);
		if (n)
			usleep(100);
	}
	require(!n && !mem.conns && !mem.requests);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool started;
	struct mem_end *end;

	if (!started)
		world_start();
	started = true;
	mem.order = (enum mem_order)(size % 3);
	mem.seed = 1 + (uint32_t)size;
	end = login();
	expose(end);
	while (size >= 4) {
		uint32_t len = (uint32_t)MIN((size_t)rd16(data + 2), size - 4);

		record(end, data[0], data[1], data + 4, len);
		data += 4 + len;
		size -= 4 + len;
	}
	mem_settle();
	read_all(end);
	mem_room(end, UINT32_MAX);
	mem_free(end);
	gone();
	return 0;
}
