/* Logging in over the fabric: every reason to refuse, both forms, channels of one nexus, limits. */
#include "srp_rig.h"

static void
both_forms(void **state)
{
	for (int form = 0; form < 2; form++) {
		struct ini ini;

		ini_login_as(&ini, (struct say){ .rdma_form = form, .imm = RIG_IMM });
		assert_int_equal(ini.limit, RIG_DEPTH);
		assert_int_equal(get64(ini.rsp.tag), 0x1000);
		assert_int_equal(get32(ini.rsp.max_it_iu_len), RIG_IU);
		assert_int_equal(get32(ini.rsp.max_ti_iu_len), SRP_TI_IU_MAX);
		assert_int_equal(get16(ini.rsp.buf_fmt), 6);
		assert_int_equal(ini.rsp.rsp_flags,
		    SRP_MULTICHAN_NO_CHAN | SRP_SOLNTSUP | SRP_IMMED_SUPP);
		ini_quiet_unit(&ini, 0);
		ini_at_rest(&ini);
		ini_free(&ini);
	}
}

/* R07: bytes that are no login, at every length. Nothing reads past them. */
static void
no_login(void **state)
{
	for (size_t len = 0; len <= 196; len++) {
		for (int fill = 0; fill < 2; fill++) {
			struct srp_login_rej rej;
			uint8_t data[196];
			struct mem_end *end;

			memset(data, fill ? 0xff : 0, sizeof(data));
			end = mem_connect(&fakes.portal, data, len);
			mem_settle();
			assert_int_equal(mem_state(end), MEM_REFUSED);
			assert_int_equal(mem_answer(end, &rej, sizeof(rej)), sizeof(rej));
			assert_int_equal(rej.opcode, SRP_LOGIN_REJ);
			assert_in_range(get32(rej.reason), 0x00010000, 0x00010006);
			mem_free(end);
		}
	}
	assert_int_equal(mem.conns, 0);
}

/* R06. */
static void
refused(void **state)
{
	static const struct {
		const char *what;
		uint32_t iu_len;
		uint16_t fmt;
		uint8_t flags;
		uint8_t other_target;
		uint32_t reason;
	} rows[] = {
		{ "IU length 0", 0, 6, 0, 0, 0x00010002 },
		{ "IU length 63", 63, 6, 0, 0, 0x00010002 },
		{ "IU length 65536", 65536, 6, 0, 0, 0x00010002 },
		{ "IU length 2^32 - 1", UINT32_MAX, 6, 0, 0, 0x00010002 },
		{ "unknown format 1", 64, 1, 0, 0, 0x00010004 },
		{ "unknown format 8", 64, 8 | 6, 0, 0, 0x00010004 },
		{ "unknown format 8000", 64, 0x8000, 0, 0, 0x00010004 },
		{ "multichannel action 2", 64, 6, 2, 0, 0x00010005 },
		{ "multichannel action 3", 64, 6, 3, 0, 0x00010005 },
		{ "another target port", 64, 6, 0, 1, 0x00010003 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct srp_login_req h = login_build((struct say){ 0 });
		struct ini ini = { 0 };

		h.req_it_iu_len = put32(rows[i].iu_len);
		h.req_buf_fmt = put16(rows[i].fmt);
		h.req_flags = rows[i].flags;
		h.target_port_id[rows[i].other_target ? 3 : 0] ^= rows[i].other_target;
		ini.end = mem_connect(&fakes.portal, &h, sizeof(h));
		mem_settle();
		if (ini_refused(&ini) != rows[i].reason)
			fail_msg("%s: another reason", rows[i].what);
		assert_int_equal(mem.conns, 0);
	}
}

/* The least and the most that a unit may be, formats of one kind or none: all serve. */
static void
taken(void **state)
{
	static const struct { uint32_t iu_len; uint16_t fmt; } rows[] = {
		{ 64, 6 }, { 68, 6 }, { 4148, 6 }, { 16384, 6 }, { 64, 0 }, { 64, 2 }, { 64, 4 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct srp_login_req h = login_build((struct say){ 0 });
		struct ini ini = { .tag = 1 };

		h.req_it_iu_len = put32(rows[i].iu_len);
		h.req_buf_fmt = put16(rows[i].fmt);
		ini.end = mem_connect(&fakes.portal, &h, sizeof(h));
		mem_settle();
		assert_int_equal(mem_state(ini.end), MEM_UP);
		ini_entered(&ini);
		assert_int_equal(get32(ini.rsp.max_it_iu_len), rows[i].iu_len);
		ini_quiet_unit(&ini, 0);
		ini_at_rest(&ini);
		ini_free(&ini);
	}
}

/* A unit of all the bytes that were agreed on arrives; one byte more ends the channel. */
static void
the_longest_unit(void **state)
{
	struct ini ini;
	static const uint8_t tur[16];
	uint64_t tag;

	ini_login(&ini);
	tag = ini_cmd(&ini, &rig_u, 0, tur, 16);
	memset(rig_u.b + rig_u.len, 0xff, RIG_IU + 1 - rig_u.len);
	rig_u.len = RIG_IU;
	ini_request(&ini, &rig_u);
	ini_good(&ini, tag);
	rig_u.len = RIG_IU + 1;
	ini_request(&ini, &rig_u);
	rig_until(mem_state(ini.end) == MEM_DROPPED && mem.conns == 0);
	ini_free(&ini);
}

/* Immediate data where none can be: refused as such, and the session stands without. */
static void
immediate_offset(void **state)
{
	static const uint16_t offsets[] = { 1, 51, RIG_IU, RIG_IU + 1, 0xffff };

	for (size_t i = 0; i < ARRAY_LEN(offsets); i++) {
		struct ini ini;

		ini_login_as(&ini, (struct say){ .imm = offsets[i] });
		assert_int_equal(ini.imm, 0);
		ini_quiet_unit(&ini, 0);
		ini_free(&ini);
	}
}

/* -- channels of one nexus -- */

static void
multi_keeps(void **state)
{
	struct ini ini[8];

	for (int i = 0; i < 8; i++) {
		ini_login_as(&ini[i], (struct say){ .flags = SRP_MULTICHAN_MULTI });
		assert_int_equal(ini[i].multichan,
		    i ? SRP_MULTICHAN_MAINTAINED : SRP_MULTICHAN_NO_CHAN);
	}
	for (int i = 0; i < 8; i++) {
		ini_quiet_unit(&ini[i], 0);
		ini_at_rest(&ini[i]);
	}
	for (int i = 0; i < 8; i++)
		ini_free(&ini[i]);
}

static void
single_ends_the_others(void **state)
{
	struct ini old[3], new;

	for (int i = 0; i < 3; i++)
		ini_login_as(&old[i], (struct say){ .flags = SRP_MULTICHAN_MULTI });
	ini_connect(&new, (struct say){ .flags = SRP_MULTICHAN_SINGLE });
	rig_until(mem_state(new.end) == MEM_UP);
	ini_entered(&new);
	assert_int_equal(new.multichan, SRP_MULTICHAN_TERMINATED);
	for (int i = 0; i < 3; i++) {
		struct got got;

		/* It was told why, and is gone. */
		assert_true(ini_poll(&old[i], &got));
		assert_int_equal(got.b[0], SRP_T_LOGOUT);
		assert_int_equal(got.len, 16);
		assert_int_equal(get32(got.logout.reason), SRP_T_LOGOUT_MULTICHAN);
		assert_int_equal(mem_state(old[i].end), MEM_DROPPED);
		ini_free(&old[i]);
	}
	ini_quiet_unit(&new, 0);
	ini_at_rest(&new);
	ini_free(&new);
}

/* Another initiator port, or the same at another target: another nexus. */
static void
single_spares_strangers(void **state)
{
	struct ini a, b, c, d;

	ini_login_as(&a, (struct say){ .port = 1 });
	ini_login_as(&b, (struct say){ .port = 2 });
	ini_login_as(&c, (struct say){ .port = 1, .target = 1 });
	ini_connect(&d, (struct say){ .port = 1 });
	rig_until(mem_state(d.end) == MEM_UP);
	assert_int_equal(mem_state(a.end), MEM_DROPPED);
	assert_int_equal(mem_state(b.end), MEM_UP);
	assert_int_equal(mem_state(c.end), MEM_UP);
	ini_free(&a);
	ini_free(&b);
	ini_free(&c);
	ini_free(&d);
}

/* R14: the old channel's write is over before the new channel may do anything. */
static void
single_waits_for_the_disk(void **state)
{
	struct ini old, new;
	uint8_t *mem_out;

	ini_login(&old);
	mem_out = mem_expose(old.end, RIG_VA, RIG_KEY, 512);
	memset(mem_out, 0x77, 512);
	fakes.fake[0].hold[DISK_WRITE] = true;
	ini_rw(&old, &rig_u, true, 0, 1);
	build_direct(&rig_u, true, RIG_VA, RIG_KEY, 512);
	ini_request(&old, &rig_u);
	rig_until(fake_disk_held(&fakes.fake[0]) == 1);
	ini_connect(&new, (struct say){ .flags = SRP_MULTICHAN_SINGLE });
	mem_settle();
	usleep(50000);
	mem_settle();
	assert_int_equal(mem_state(new.end), MEM_ASKING);
	fakes.fake[0].hold[DISK_WRITE] = false;
	fake_disk_release(&fakes.fake[0], 1);
	rig_until(mem_state(new.end) == MEM_UP);
	ini_entered(&new);
	assert_int_equal(new.multichan, SRP_MULTICHAN_TERMINATED);
	ini_free(&old);
	ini_free(&new);
}

static void
channel_limit(void **state)
{
	struct ini ini[9];

	for (int i = 0; i < 8; i++)
		ini_login_as(&ini[i], (struct say){ .flags = SRP_MULTICHAN_MULTI });
	ini_connect(&ini[8], (struct say){ .flags = SRP_MULTICHAN_MULTI });
	mem_settle();
	assert_int_equal(ini_refused(&ini[8]), SRP_LOGIN_REJ_CHANNEL_LIMIT_REACHED);
	/* One goes, one may come. */
	ini_free(&ini[3]);
	rig_until(mem.conns == 7);
	ini_login_as(&ini[3], (struct say){ .flags = SRP_MULTICHAN_MULTI });
	for (int i = 0; i < 8; i++)
		ini_free(&ini[i]);
}

static void
one_channel_only(void **state)
{
	struct ini a, b;

	rig_conf[0].max_channels = 1;
	ini_login_as(&a, (struct say){ .flags = SRP_MULTICHAN_MULTI });
	ini_connect(&b, (struct say){ .flags = SRP_MULTICHAN_MULTI });
	mem_settle();
	assert_int_equal(ini_refused(&b), SRP_LOGIN_REJ_MULTI_CHANNEL_UNSUPPORTED);
	ini_free(&a);
	rig_conf[0].max_channels = 8;
}

static void
portal_limit(void **state)
{
	struct ini ini[4];

	rig_portal.max_channels = 3;
	for (uint8_t i = 0; i < 3; i++)
		ini_login_as(&ini[i], (struct say){ .port = i });
	ini_connect(&ini[3], (struct say){ .port = 3 });
	mem_settle();
	assert_int_equal(ini_refused(&ini[3]), SRP_LOGIN_REJ_INSUFFICIENT_RESOURCES);
	for (int i = 0; i < 3; i++)
		ini_free(&ini[i]);
	rig_portal.max_channels = 64;
}

/* A device with few receives grants fewer credits; with too few to work, none. */
static void
small_devices(void **state)
{
	for (uint32_t wr = 1; wr < 24; wr++) {
		struct ini ini;

		mem.limits.recv_wr = wr;
		ini_connect(&ini, (struct say){ 0 });
		mem_settle();
		if (mem_state(ini.end) == MEM_REFUSED) {
			assert_true(wr < 2 + RX_EXTRA);
			assert_int_equal(ini_refused(&ini), SRP_LOGIN_REJ_INSUFFICIENT_RESOURCES);
			continue;
		}
		ini_entered(&ini);
		assert_true(ini.limit <= RIG_DEPTH && ini.limit <= wr);
		ini_quiet_unit(&ini, 0);
		ini_at_rest(&ini);
		ini_free(&ini);
	}
	mem.limits.recv_wr = 4096;
}

/* -- several reactors -- */

static int
spread_up(void **state)
{
	rig_init(1);
	rig_start(4);
	return 0;
}

static void
live_run(void *n)
{
	*(unsigned *)n = srp_transport.live(reactor_self());
}

/* Channels go where there are fewest, wherever their requests arrive. */
static void
spread(void **state)
{
	struct ini ini[8];

	for (int i = 0; i < 8; i++)
		ini_login_as(&ini[i], (struct say){ .flags = SRP_MULTICHAN_MULTI });
	for (unsigned i = 0; i < 4; i++) {
		unsigned n;

		fake_run(i, live_run, &n);
		assert_int_equal(n, 2);
	}
	for (int i = 0; i < 8; i++) {
		ini_quiet_unit(&ini[i], 0);
		ini_at_rest(&ini[i]);
		ini_free(&ini[i]);
	}
}

/* R23: as many as may be in, at the same time. */
static void
all_at_once(void **state)
{
	struct ini ini[64];

	for (unsigned i = 0; i < 64; i++) {
		mem.reactor = i % 4;
		ini_connect(&ini[i], (struct say){ .port = (uint8_t)i });
	}
	mem_settle();
	for (int i = 0; i < 64; i++) {
		assert_int_equal(mem_state(ini[i].end), MEM_UP);
		ini_entered(&ini[i]);
		ini_quiet_unit(&ini[i], 0);
		ini_free(&ini[i]);
	}
}

/* -- who may -- */

static int
rules_up(void **state)
{
	static struct conf_rule rule;

	rig_init(1);
	rule = (struct conf_rule){ .match = (char *)"*01", .share = 1, .pos.file = "world" };
	fakes.target[0].rules = &rule;
	fakes.target[0].nrules = 1;
	rig_start(1);
	return 0;
}

static void
only_those_allowed(void **state)
{
	struct ini ini;

	ini_connect(&ini, (struct say){ .port = 2 });
	mem_settle();
	assert_int_equal(ini_refused(&ini), SRP_LOGIN_REJ_UNABLE_ASSOCIATE_CHANNEL);
	ini_login_as(&ini, (struct say){ .port = 1 });
	ini_quiet_unit(&ini, 0);
	ini_free(&ini);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, rig_up, rig_down)
		T(both_forms), T(no_login), T(refused), T(taken), T(the_longest_unit),
		T(immediate_offset), T(multi_keeps), T(single_ends_the_others),
		T(single_spares_strangers), T(single_waits_for_the_disk), T(channel_limit),
		T(one_channel_only), T(portal_limit), T(small_devices),
#undef T
		cmocka_unit_test_setup_teardown(spread, spread_up, rig_down),
		cmocka_unit_test_setup_teardown(all_at_once, spread_up, rig_down),
		cmocka_unit_test_setup_teardown(only_those_allowed, rules_up, rig_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
