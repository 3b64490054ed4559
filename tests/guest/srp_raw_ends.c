/* What ends a channel, in the middle of what: the daemon goes on, the disk has all or nothing. */
#include <string.h>
#include <unistd.h>

#include "srp_raw.h"

enum { BIG = 1 << 20, OLD = 0x11, NEW = 0x22 };

static struct build u;
static struct raw r;
static const uint8_t tur[16];

static bool
in(void)
{
	return raw_login(&r, (struct raw_say){ .port = 2 }) && raw_ready(&r);
}

/* Another channel: everything serves, and nothing is missing. */
static bool
alive(void)
{
	bool ok;

	raw_close(&r);
	ok = in() && raw_at_rest(&r);
	raw_close(&r);
	return ok;
}

static uint64_t
big(bool out, uint32_t rkey)
{
	uint64_t tag = raw_rw(&r, &u, out, 2048, BIG / 512);

	build_direct(&u, out, (uintptr_t)r.data, rkey, BIG);
	raw_request(&r, &u);
	return tag;
}

static bool
fill(uint8_t what)
{
	struct srp_rsp rsp;

	memset(r.data, what, BIG);
	return raw_response(&r, big(true, r.mr_data->rkey), &rsp, NULL) && !rsp.status;
}

/* Which of the two all blocks are; 0: they are mixed, or cannot be read. */
static uint8_t
disk_is(void)
{
	struct srp_rsp rsp;

	memset(r.data, 0, BIG);
	if (!raw_response(&r, big(false, r.mr_data->rkey), &rsp, NULL) || rsp.status)
		return 0;
	return memcmp(r.data, r.data + 1, BIG - 1) ? 0 : r.data[0];
}

/* -- units -- */

/* L23. */
static void
short_units(void)
{
	static const struct { uint8_t op; uint32_t len; } rows[] = {
		{ 2, 0 }, { 2, 1 }, { 2, 15 }, { 2, 47 }, { 1, 47 }, { 0x41, 15 },
		{ 0x99, 64 }, { 0, 64 },
		{ 0x41, 16 }, { 0x42, 16 }, { 0xc1, 36 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t b[64] = { rows[i].op }, iu[SRP_TI_IU_MAX];
		char what[96];
		int len;

		snprintf(what, sizeof(what), "a unit %02x of %u bytes: told to go, then dropped",
		    rows[i].op, rows[i].len);
		in();
		raw_send(&r, b, rows[i].len);
		len = raw_recv(&r, iu, sizeof(iu), 5000);
		RAW_OK(what, len == 16 && iu[0] == SRP_T_LOGOUT && raw_is_down(&r, 10000));
		raw_close(&r);
	}
	RAW_OK("the daemon serves after them", alive());
}

/* R05. */
static void
too_many(void)
{
	in();
	for (unsigned i = 0, n = r.limit + 16; i < n; i++) {
		build_cmd(&u, r.tag++, tur, 16);
		raw_send(&r, u.b, u.len);
	}
	/* They may be served as fast as they come: then keep on until one is too many. */
	for (int i = 0; i < 5000 && r.state == RAW_UP; i++) {
		build_cmd(&u, r.tag++, tur, 16);
		raw_send(&r, u.b, u.len);
		if (i % 64 == 0)
			raw_is_down(&r, 1);
	}
	RAW_OK("more requests than granted: dropped", raw_is_down(&r, 30000));
	RAW_OK("the daemon serves after that", alive());
}

static void
logout(void)
{
	struct srp_i_logout h = { .opcode = SRP_I_LOGOUT, .tag = put64(1) };

	in();
	raw_send(&r, &h, sizeof(h));
	RAW_OK("SRP_I_LOGOUT: dropped", raw_is_down(&r, 10000));
	RAW_OK("the daemon serves after that", alive());
}

/* -- in the middle of data -- */

/* R10: memory that is not there; never GOOD, never a byte. */
static void
bad_keys(void)
{
	for (int out = 0; out < 2; out++) {
		struct srp_rsp rsp;
		bool ok = in() && fill(OLD);

		memset(r.data, NEW, BIG);
		ok = ok && !raw_response(&r, big(out, r.mr_data->rkey ^ 0x5a5a), &rsp, NULL);
		RAW_OK(out ? "a WRITE from memory that is not there: no answer, dropped" :
		    "a READ to memory that is not there: no answer, dropped",
		    ok && raw_is_down(&r, 30000));
		raw_close(&r);
		RAW_OK("the disk is as it was", in() && disk_is() == OLD);
		raw_close(&r);
	}
}

/* T03: valid when it is sent, taken away at some moment after; with an abort, or not. */
static void
keys_taken_away(void)
{
	bool ok = true;

	for (int i = 0; i < 20; i++) {
		uint64_t tag;
		uint8_t is;

		ok = ok && in() && fill(OLD);
		if (!ok)
			break;
		memset(r.data, NEW, BIG);
		tag = big(true, r.mr_data->rkey);
		if (i & 1) {
			build_tmf(&u, r.tag++, SRP_TSK_ABORT_TASK, tag);
			raw_request(&r, &u);
		}
		usleep((unsigned)i * 300);
		ibv_dereg_mr(r.mr_data);
		r.mr_data = NULL;
		raw_is_down(&r, 500);
		raw_close(&r);
		ok = in();
		is = ok ? disk_is() : 0;
		ok = ok && (is == OLD || is == NEW);
		raw_close(&r);
	}
	RAW_OK("memory taken away under a WRITE, 20 times: all of it or nothing", ok);
	RAW_OK("the daemon serves after that", alive());
}

/* R02, R10: the peer goes while large transfers run both ways. */
static void
leave_in_the_middle(void)
{
	bool ok = true;

	for (int i = 0; i < 20; i++) {
		ok = ok && in();
		if (!ok)
			break;
		for (int k = 0; k < 6; k++)
			big(k & 1, r.mr_data->rkey);
		usleep((unsigned)i * 500);
		raw_close(&r);
	}
	RAW_OK("gone in the middle of transfers, 20 times", ok);
	RAW_OK("the daemon serves after that", alive());
}

/* Its answer is a promise: what the disk has then, it has for good. */
static void
aborts(void)
{
	bool ok = true;

	for (int i = 0; i < 20; i++) {
		struct srp_rsp rsp;
		uint64_t tag, fn;
		uint8_t is;

		ok = ok && in() && fill(OLD);
		if (!ok)
			break;
		memset(r.data, NEW, BIG);
		tag = big(true, r.mr_data->rkey);
		fn = r.tag++;
		build_tmf(&u, fn, i & 1 ? SRP_TSK_ABORT_TASK : SRP_TSK_LUN_RESET, tag);
		usleep((unsigned)i * 200);
		ok = raw_request(&r, &u) && raw_response(&r, fn, &rsp, NULL) &&
		    rsp.flags & SRP_RSP_RSPVALID;
		ok = ok && raw_ready(&r);
		is = disk_is();
		ok = ok && (is == OLD || is == NEW) && disk_is() == is && raw_at_rest(&r);
		raw_close(&r);
	}
	RAW_OK("aborts and resets under a WRITE, 20 times: all or nothing, credits exact", ok);
}

/* As many large ones as there are credits: more than the daemon may have memory for at a time. */
static void
full_queue(void)
{
	struct srp_rsp rsp;
	unsigned n = 0, good = 0, busy = 0;
	bool ok = in() && fill(NEW);

	while (r.limit > 1 && ok) {
		big(false, r.mr_data->rkey);
		n++;
	}
	while (good + busy < n && raw_any(&r, &rsp)) {
		good += rsp.status == 0;
		busy += rsp.status == 8;
	}
	printf("# %u reads of 1 MiB: %u GOOD, %u BUSY\n", n, good, busy);
	RAW_OK("as many reads of 1 MiB as there are credits: each GOOD or BUSY", ok && n > 16 &&
	    good > 16 && good + busy == n);
	RAW_OK("and all credits are back", raw_at_rest(&r));
	raw_close(&r);
}

void
raw_ends(void)
{
	short_units();
	too_many();
	logout();
	bad_keys();
	keys_taken_away();
	leave_in_the_middle();
	aborts();
	full_queue();
	RAW_OK("a channel at the end", alive());
}
