/* Malformed logins: each meets with its reason, and the next good one stands. */
#include <string.h>

#include "srp_raw.h"

static void
reasons(void)
{
	static const struct {
		const char *what;
		struct raw_say say;
		uint32_t reason;
	} rows[] = {
		{ "an opcode that is no login", { .opcode = 0xc0 }, 0x00010000 },
		{ "units of 63 bytes", { .iu_len = 63 }, 0x00010002 },
		{ "units of 64 KiB", { .iu_len = 65536 }, 0x00010002 },
		{ "units of 2^32 - 1 bytes", { .iu_len = UINT32_MAX }, 0x00010002 },
		{ "an unknown buffer format", { .fmt = 1 | 6 }, 0x00010004 },
		{ "another unknown buffer format", { .fmt = 0x8000 }, 0x00010004 },
		{ "a target port that is not here", { .strange_target = true }, 0x00010003 },
		{ "multichannel action 2", { .flags = 2 }, 0x00010005 },
		{ "multichannel action 3", { .flags = 3 }, 0x00010005 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char what[96];
		struct raw r;

		snprintf(what, sizeof(what), "%s: refused with %08x", rows[i].what, rows[i].reason);
		raw_login(&r, rows[i].say);
		RAW_OK(what, raw_reason(&r) == rows[i].reason);
		raw_close(&r);
	}
}

/* R07. What is not sent RDMA/CM fills with zeros: a login for units of no bytes. */
static void
private_data(void)
{
	static const size_t lens[] = { 0, 1, 11, 12, 16, 55, 56 };

	for (int fill = 0; fill < 2; fill++) {
		for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
			uint8_t data[56];
			char what[96];
			struct raw r;

			memset(data, fill ? 0xff : 0, sizeof(data));
			snprintf(what, sizeof(what), "%zu bytes of %02x: refused", lens[i],
			    data[0]);
			raw_connect(&r, data, lens[i]);
			RAW_OK(what, raw_reason(&r) >= 0x00010000 && raw_reason(&r) <= 0x00010006);
			raw_close(&r);
		}
	}
}

static void
lengths(void)
{
	static const uint32_t lens[] = { 64, 68, 4148, 8192 };

	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		char what[64];
		struct raw r;
		bool in;

		snprintf(what, sizeof(what), "units of %u bytes are taken", lens[i]);
		in = raw_login(&r, (struct raw_say){ .iu_len = lens[i] });
		RAW_OK(what, in && get32(r.rsp.max_it_iu_len) == lens[i] && raw_ready(&r) &&
		    raw_at_rest(&r));
		raw_close(&r);
	}
}

/* R14. */
static void
channels(void)
{
	struct raw a, b, c;
	uint8_t iu[SRP_TI_IU_MAX];

	RAW_OK("a first channel", raw_login(&a, (struct raw_say){ .flags = SRP_MULTICHAN_MULTI }) &&
	    (a.rsp.rsp_flags & SRP_MULTICHAN_MASK) == SRP_MULTICHAN_NO_CHAN);
	RAW_OK("an independent one beside it",
	    raw_login(&b, (struct raw_say){ .flags = SRP_MULTICHAN_MULTI }) &&
	    (b.rsp.rsp_flags & SRP_MULTICHAN_MASK) == SRP_MULTICHAN_MAINTAINED);
	RAW_OK("both serve", raw_ready(&a) && raw_ready(&b));
	RAW_OK("one that ends the others",
	    raw_login(&c, (struct raw_say){ .flags = SRP_MULTICHAN_SINGLE }) &&
	    (c.rsp.rsp_flags & SRP_MULTICHAN_MASK) == SRP_MULTICHAN_TERMINATED);
	RAW_OK("the first is told and dropped", raw_recv(&a, iu, sizeof(iu), 1000) == 16 &&
	    iu[0] == SRP_T_LOGOUT && raw_is_down(&a, 5000));
	RAW_OK("and the second", raw_recv(&b, iu, sizeof(iu), 1000) == 16 &&
	    iu[0] == SRP_T_LOGOUT && raw_is_down(&b, 5000));
	RAW_OK("the new one serves", raw_ready(&c) && raw_at_rest(&c));
	raw_close(&a);
	raw_close(&b);
	raw_close(&c);
}

void
raw_logins(void)
{
	reasons();
	private_data();
	lengths();
	channels();
}
