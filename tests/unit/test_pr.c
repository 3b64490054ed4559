/* Persistent reservations as values: every action, the conflict matrix, TransportIDs, and the text on disk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hba/scsi/conflict.h"
#include "hba/scsi/nexus.h"
#include "hba/scsi/pr.h"
#include "hba/scsi/transport_id.h"
#include "scsi.h"
#include "util.h"
#include "wire.h"

enum { A, B, C, D, WHO };

static struct pr_nexus who[WHO];
static struct pr pr;

static int
setup(void **state)
{
	memset(who, 0, sizeof(who));
	for (int i = 0; i < WHO; i++) {
		snprintf(who[i].initiator, sizeof(who[i].initiator), "iqn.2026-11.test:%c", 'a' + i);
		strcpy(who[i].target, "iqn.2026-11.test:target");
		who[i].protocol = PROTOCOL_ISCSI;
		who[i].isid[5] = (uint8_t)i;
	}
	pr = (struct pr){ .holder = -1, .room = PR_REGS_MAX };
	pr.reg = calloc(PR_REGS_MAX, sizeof(pr.reg[0]));
	return !pr.reg;
}

static int
teardown(void **state)
{
	pr_fini(&pr);
	return 0;
}

static enum pr_outcome
reg(int i, uint64_t key, uint64_t service)
{
	return pr_register(&pr, &who[i], &(struct pr_keys){ key, service }, false, false, NULL, 0);
}

static enum pr_outcome
preempt(int i, uint64_t key, uint64_t service, unsigned type)
{
	return pr_preempt(&pr, &who[i], &(struct pr_keys){ key, service }, type);
}

/* Who is registered, as letters; upper case: holds the reservation. */
static const char *
picture(void)
{
	static char text[WHO + 1];
	unsigned at = 0;

	for (int i = 0; i < WHO; i++) {
		int r = pr_find(&pr, &who[i]);

		if (r >= 0)
			text[at++] = (char)((pr_holds(&pr, r) ? 'A' : 'a') + i);
	}
	text[at] = '\0';
	return text;
}

static void
registering(void **state)
{
	assert_int_equal(reg(A, 7, 1), PR_CONFLICT);
	assert_int_equal(reg(A, 0, 0), PR_DONE);
	assert_string_equal(picture(), "");
	assert_int_equal(reg(A, 0, 0xa), PR_DONE);
	assert_int_equal(reg(A, 0, 0xaa), PR_CONFLICT);
	assert_int_equal(reg(A, 0xa, 0xaa), PR_DONE);
	assert_int_equal(pr.reg[0].key, 0xaa);
	assert_int_equal(pr_register(&pr, &who[A], &(struct pr_keys){ 99, 0xab }, true, false, NULL,
	    0), PR_DONE);
	assert_int_equal(pr.reg[0].key, 0xab);
	assert_int_equal(pr.generation, 4);
	assert_int_equal(reg(A, 0xab, 0), PR_DONE);
	assert_string_equal(picture(), "");
	/* Another ISID, another target: other nexuses. */
	assert_int_equal(reg(A, 0, 1), PR_DONE);
	who[A].isid[0] = 9;
	assert_int_equal(pr_find(&pr, &who[A]), -1);
	who[A].isid[0] = 0;
	strcpy(who[A].target, "iqn.2026-11.test:other");
	assert_int_equal(pr_find(&pr, &who[A]), -1);
}

static void
registering_others_too(void **state)
{
	assert_int_equal(pr_register(&pr, &who[A], &(struct pr_keys){ 0, 5 }, false, true, &who[B], 2),
	    PR_DONE);
	assert_string_equal(picture(), "abc");
	assert_true(pr.aptpl);
	assert_int_equal(pr.generation, 1);
}

static void
too_many(void **state)
{
	struct pr_nexus n = who[A];

	for (unsigned i = 0; i < PR_REGS_INITIATOR; i++) {
		n.isid[1] = (uint8_t)(i >> 8);
		n.isid[2] = (uint8_t)i;
		n.isid[3] = 1;
		assert_int_equal(pr_register(&pr, &n, &(struct pr_keys){ 0, 1 }, false, false, NULL,
		    0), PR_DONE);
	}
	assert_int_equal(reg(A, 0, 1), PR_NO_ROOM);
	assert_int_equal(reg(B, 0, 1), PR_DONE);
}

static void
reserving(void **state)
{
	assert_int_equal(pr_reserve(&pr, &who[A], 0, PR_EXCLUSIVE), PR_CONFLICT);
	reg(A, 0, 1);
	reg(B, 0, 2);
	assert_int_equal(pr_reserve(&pr, &who[A], 2, PR_EXCLUSIVE), PR_CONFLICT);
	assert_int_equal(pr_reserve(&pr, &who[A], 1, PR_EXCLUSIVE), PR_DONE);
	assert_string_equal(picture(), "Ab");
	assert_int_equal(pr_reserve(&pr, &who[A], 1, PR_EXCLUSIVE), PR_DONE);
	assert_int_equal(pr_reserve(&pr, &who[A], 1, PR_WRITE_EXCLUSIVE), PR_CONFLICT);
	assert_int_equal(pr_reserve(&pr, &who[B], 2, PR_EXCLUSIVE), PR_CONFLICT);
	assert_int_equal(pr_release(&pr, &who[B], 2, PR_EXCLUSIVE), PR_DONE);
	assert_string_equal(picture(), "Ab");
	assert_int_equal(pr_release(&pr, &who[A], 1, PR_WRITE_EXCLUSIVE), PR_BAD_RELEASE);
	assert_int_equal(pr_release(&pr, &who[A], 7, PR_EXCLUSIVE), PR_CONFLICT);
	assert_int_equal(pr_release(&pr, &who[C], 0, PR_EXCLUSIVE), PR_CONFLICT);
	assert_int_equal(pr_release(&pr, &who[A], 1, PR_EXCLUSIVE), PR_DONE);
	assert_string_equal(picture(), "ab");
	assert_int_equal(pr_release(&pr, &who[A], 1, PR_EXCLUSIVE), PR_DONE);
	assert_int_equal(pr.generation, 2);
}

/* K30: it stays until the last registrant goes. */
static void
all_registrants(void **state)
{
	reg(A, 0, 1);
	reg(B, 0, 2);
	assert_int_equal(pr_reserve(&pr, &who[A], 1, PR_WRITE_EXCLUSIVE_AR), PR_DONE);
	assert_string_equal(picture(), "AB");
	reg(A, 1, 0);
	assert_string_equal(picture(), "B");
	assert_int_equal(pr_limit(&pr, &who[D]), PR_NO_WRITES);
	assert_int_equal(pr_limit(&pr, &who[B]), PR_FREE);
	reg(B, 2, 0);
	assert_int_equal(pr.type, PR_NONE);
	assert_int_equal(pr_limit(&pr, &who[D]), PR_FREE);
}

static void
holder_leaves(void **state)
{
	reg(A, 0, 1);
	reg(B, 0, 2);
	pr_reserve(&pr, &who[B], 2, PR_EXCLUSIVE_RO);
	reg(A, 1, 0);
	assert_string_equal(picture(), "B");
	reg(B, 2, 0);
	assert_int_equal(pr.type, PR_NONE);
	assert_int_equal(pr.holder, -1);
}

static void
clearing(void **state)
{
	reg(A, 0, 1);
	reg(B, 0, 2);
	pr_reserve(&pr, &who[B], 2, PR_EXCLUSIVE);
	assert_int_equal(pr_clear(&pr, &who[A], 2), PR_CONFLICT);
	assert_int_equal(pr_clear(&pr, &who[A], 1), PR_DONE);
	assert_string_equal(picture(), "");
	assert_int_equal(pr.type, PR_NONE);
	assert_int_equal(pr.generation, 3);
}

/* SPC-4 5.13.11.2.3: A acts with key 1; B and C have keys 2 and 3, D has B's. */
static const struct {
	const char *what;
	int holder;			/* -1: no reservation */
	unsigned type;
	uint64_t service;
	enum pr_outcome outcome;
	const char *after;
	unsigned type_after;
} preempts[] = {
	{ "nothing is reserved", -1, 0, 2, PR_DONE, "ac", PR_NONE },
	{ "nobody has the key", -1, 0, 9, PR_CONFLICT, "abcd", PR_NONE },
	{ "no key", -1, 0, 0, PR_BAD_KEY, "abcd", PR_NONE },
	{ "no key, one holds", B, PR_EXCLUSIVE, 0, PR_BAD_KEY, "aBcd", PR_EXCLUSIVE },
	{ "the holder's key", B, PR_EXCLUSIVE, 2, PR_DONE, "Ac", PR_WRITE_EXCLUSIVE_RO },
	{ "another's key", B, PR_EXCLUSIVE, 3, PR_DONE, "aBd", PR_EXCLUSIVE },
	{ "a key of a holder and another", D, PR_EXCLUSIVE_RO, 2, PR_DONE, "Ac",
	    PR_WRITE_EXCLUSIVE_RO },
	{ "nobody's, while one holds", B, PR_EXCLUSIVE, 9, PR_CONFLICT, "aBcd", PR_EXCLUSIVE },
	{ "its own, while it holds", A, PR_EXCLUSIVE, 1, PR_DONE, "Abcd", PR_WRITE_EXCLUSIVE_RO },
	{ "its own, while another holds", B, PR_EXCLUSIVE, 1, PR_DONE, "aBcd", PR_EXCLUSIVE },
	{ "all registrants, no key", A, PR_EXCLUSIVE_AR, 0, PR_DONE, "A", PR_WRITE_EXCLUSIVE_RO },
	{ "all registrants, a key", A, PR_EXCLUSIVE_AR, 2, PR_DONE, "AC", PR_EXCLUSIVE_AR },
	{ "all registrants, nobody's", A, PR_EXCLUSIVE_AR, 9, PR_CONFLICT, "ABCD", PR_EXCLUSIVE_AR },
};

static void
preempting(void **state)
{
	static const uint64_t keys[] = { 1, 2, 3, 2 };

	for (unsigned i = 0; i < ARRAY_LEN(preempts); i++) {
		uint32_t generation;

		teardown(NULL);
		setup(NULL);
		for (int w = 0; w < WHO; w++)
			reg(w, 0, keys[w]);
		if (preempts[i].holder >= 0)
			assert_int_equal(pr_reserve(&pr, &who[preempts[i].holder],
			    keys[preempts[i].holder], preempts[i].type), PR_DONE);
		generation = pr.generation;
		print_message("# %s\n", preempts[i].what);
		assert_int_equal(preempt(A, 1, preempts[i].service, PR_WRITE_EXCLUSIVE_RO),
		    preempts[i].outcome);
		assert_string_equal(picture(), preempts[i].after);
		assert_int_equal(pr.type, preempts[i].type_after);
		assert_int_equal(pr.generation - generation, preempts[i].outcome == PR_DONE);
	}
	assert_int_equal(preempt(A, 4, 2, PR_EXCLUSIVE), PR_CONFLICT);
}

static void
moving(void **state)
{
	struct pr_keys keys = { 1, 8 };

	reg(A, 0, 1);
	assert_int_equal(pr_move(&pr, &who[A], &keys, &who[B], false, false), PR_CONFLICT);
	pr_reserve(&pr, &who[A], 1, PR_EXCLUSIVE_AR);
	assert_int_equal(pr_move(&pr, &who[A], &keys, &who[B], false, false), PR_CONFLICT);
	pr_release(&pr, &who[A], 1, PR_EXCLUSIVE_AR);
	pr_reserve(&pr, &who[A], 1, PR_EXCLUSIVE);
	assert_int_equal(pr_move(&pr, &who[A], &keys, &who[A], false, false), PR_BAD_KEY);
	assert_int_equal(pr_move(&pr, &who[A], &(struct pr_keys){ 1, 0 }, &who[B], false, false),
	    PR_BAD_KEY);
	assert_int_equal(pr_move(&pr, &who[B], &keys, &who[C], false, false), PR_CONFLICT);
	assert_int_equal(pr_move(&pr, &who[A], &keys, &who[B], false, true), PR_DONE);
	assert_string_equal(picture(), "aB");
	assert_true(pr.aptpl);
	assert_int_equal(pr_move(&pr, &who[B], &(struct pr_keys){ 8, 9 }, &who[C], true, false),
	    PR_DONE);
	assert_string_equal(picture(), "aC");
	assert_int_equal(pr.type, PR_EXCLUSIVE);
}

static void
lost(void **state)
{
	pr.lost = true;
	assert_int_equal(pr_limit(&pr, &who[A]), PR_NO_ACCESS);
	assert_int_equal(pr_replace_lost(&pr, &who[A], &(struct pr_keys){ 0, 0 }, PR_EXCLUSIVE, true),
	    PR_BAD_KEY);
	assert_int_equal(pr_replace_lost(&pr, &who[A], &(struct pr_keys){ 0, 3 }, PR_EXCLUSIVE, true),
	    PR_DONE);
	assert_int_equal(pr_limit(&pr, &who[A]), PR_FREE);
	assert_int_equal(pr_limit(&pr, &who[B]), PR_NO_ACCESS);
	assert_string_equal(picture(), "A");
}

/* What holder, registered and stranger may do, by type: SPC-4 5.13.1. */
static void
limits(void **state)
{
	static const struct {
		unsigned type;
		enum pr_limit holder, registered, stranger;
	} rows[] = {
		{ PR_WRITE_EXCLUSIVE, PR_FREE, PR_NO_WRITES, PR_NO_WRITES },
		{ PR_EXCLUSIVE, PR_FREE, PR_NO_ACCESS, PR_NO_ACCESS },
		{ PR_WRITE_EXCLUSIVE_RO, PR_FREE, PR_FREE, PR_NO_WRITES },
		{ PR_EXCLUSIVE_RO, PR_FREE, PR_FREE, PR_NO_ACCESS },
		{ PR_WRITE_EXCLUSIVE_AR, PR_FREE, PR_FREE, PR_NO_WRITES },
		{ PR_EXCLUSIVE_AR, PR_FREE, PR_FREE, PR_NO_ACCESS },
	};

	reg(A, 0, 1);
	reg(B, 0, 2);
	for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(pr_reserve(&pr, &who[A], 1, rows[i].type), PR_DONE);
		assert_int_equal(pr_limit(&pr, &who[A]), rows[i].holder);
		assert_int_equal(pr_limit(&pr, &who[B]), rows[i].registered);
		assert_int_equal(pr_limit(&pr, &who[C]), rows[i].stranger);
		assert_int_equal(pr_release(&pr, &who[A], 1, rows[i].type), PR_DONE);
	}
	assert_int_equal(pr_limit(&pr, &who[C]), PR_FREE);
}

/*
 * The matrix of SPC-4 table 66 and SBC-3 table 13 for who is kept out: stopped
 * (1) by write exclusive, by exclusive access, by a reservation of SPC-2.
 */
static const struct {
	const char *name;
	uint8_t op, b1, b4;
	uint8_t no_writes, no_access, reserved;
} matrix[] = {
	{ "TEST UNIT READY", OP_TEST_UNIT_READY, 0, 0, 0, 0, 1 },
	{ "REQUEST SENSE", OP_REQUEST_SENSE, 0, 0, 0, 0, 0 },
	{ "INQUIRY", OP_INQUIRY, 0, 0, 0, 0, 0 },
	{ "REPORT LUNS", OP_REPORT_LUNS, 0, 0, 0, 0, 0 },
	{ "READ(6)", OP_READ_6, 0, 0, 0, 1, 1 },
	{ "READ(10)", OP_READ_10, 0, 0, 0, 1, 1 },
	{ "READ(12)", OP_READ_12, 0, 0, 0, 1, 1 },
	{ "READ(16)", OP_READ_16, 0, 0, 0, 1, 1 },
	{ "VERIFY(10)", OP_VERIFY_10, 0, 0, 0, 1, 1 },
	{ "VERIFY(16)", OP_VERIFY_16, 0, 0, 0, 1, 1 },
	{ "PRE-FETCH(10)", OP_PREFETCH_10, 0, 0, 0, 1, 1 },
	{ "WRITE(6)", OP_WRITE_6, 0, 0, 1, 1, 1 },
	{ "WRITE(10)", OP_WRITE_10, 0, 0, 1, 1, 1 },
	{ "WRITE(16)", OP_WRITE_16, 0, 0, 1, 1, 1 },
	{ "WRITE AND VERIFY(10)", OP_WRITE_VERIFY_10, 0, 0, 1, 1, 1 },
	{ "ORWRITE(16)", OP_ORWRITE_16, 0, 0, 1, 1, 1 },
	{ "READ(32)", OP_VARIABLE, SA_READ_32, 0, 0, 1, 1 },
	{ "VERIFY(32)", OP_VARIABLE, SA_VERIFY_32, 0, 0, 1, 1 },
	{ "WRITE(32)", OP_VARIABLE, SA_WRITE_32, 0, 1, 1, 1 },
	{ "WRITE AND VERIFY(32)", OP_VARIABLE, SA_WRITE_VERIFY_32, 0, 1, 1, 1 },
	{ "WRITE SAME(32)", OP_VARIABLE, SA_WRITE_SAME_32, 0, 1, 1, 1 },
	{ "FORMAT UNIT", OP_FORMAT_UNIT, 0, 0, 1, 1, 1 },
	{ "SANITIZE", OP_SANITIZE, SA_SANITIZE_OVERWRITE, 0, 1, 1, 1 },
	{ "EXTENDED COPY", OP_COPY_OUT, SA_COPY_LID1, 0, 1, 1, 1 },
	{ "RECEIVE COPY RESULTS", OP_COPY_IN, SA_COPY_STATUS, 0, 1, 1, 1 },
	{ "WRITE ATOMIC(16)", OP_WRITE_ATOMIC_16, 0, 0, 1, 1, 1 },
	{ "WRITE SAME(16)", OP_WRITE_SAME_16, 0, 0, 1, 1, 1 },
	{ "UNMAP", OP_UNMAP, 0, 0, 1, 1, 1 },
	{ "COMPARE AND WRITE", OP_COMPARE_WRITE, 0, 0, 1, 1, 1 },
	{ "SYNCHRONIZE CACHE(10)", OP_SYNC_CACHE_10, 0, 0, 1, 1, 1 },
	{ "MODE SELECT(6)", OP_MODE_SELECT_6, 0, 0, 1, 1, 1 },
	{ "MODE SENSE(6)", OP_MODE_SENSE_6, 0, 0, 0, 1, 1 },
	{ "MODE SENSE(10)", OP_MODE_SENSE_10, 0, 0, 0, 1, 1 },
	{ "LOG SENSE", OP_LOG_SENSE, 0, 0, 0, 0, 1 },
	{ "LOG SELECT", OP_LOG_SELECT, 0, 0, 1, 1, 1 },
	{ "READ CAPACITY(10)", OP_READ_CAPACITY_10, 0, 0, 0, 0, 1 },
	{ "READ CAPACITY(16)", OP_SERVICE_IN_16, SA_READ_CAPACITY_16, 0, 0, 0, 1 },
	{ "GET LBA STATUS", OP_SERVICE_IN_16, SA_GET_LBA_STATUS, 0, 0, 1, 1 },
	{ "REPORT SUPPORTED OPERATION CODES", OP_MAINTENANCE_IN, SA_REPORT_OPCODES, 0, 0, 1, 1 },
	{ "REPORT TARGET PORT GROUPS", OP_MAINTENANCE_IN, 0x0a, 0, 0, 0, 1 },
	{ "START STOP UNIT, START", OP_START_STOP_UNIT, 0, 0x01, 0, 0, 1 },
	{ "START STOP UNIT, stop", OP_START_STOP_UNIT, 0, 0x00, 1, 1, 1 },
	{ "START STOP UNIT, power condition", OP_START_STOP_UNIT, 0, 0x11, 1, 1, 1 },
	{ "PREVENT", OP_PREVENT_ALLOW, 0, 0x01, 1, 1, 1 },
	{ "ALLOW", OP_PREVENT_ALLOW, 0, 0x00, 0, 0, 1 },
	{ "SEND DIAGNOSTIC", OP_SEND_DIAGNOSTIC, 0, 0, 1, 1, 1 },
	{ "RECEIVE DIAGNOSTIC RESULTS", OP_RECEIVE_DIAGNOSTIC, 0, 0, 0, 1, 1 },
	{ "PERSISTENT RESERVE IN", OP_PR_IN, 0, 0, 0, 0, 1 },
	{ "PERSISTENT RESERVE OUT", OP_PR_OUT, 0, 0, 0, 0, 1 },
	{ "RESERVE(6)", OP_RESERVE_6, 0, 0, 0, 0, 0 },
	{ "RELEASE(6)", OP_RELEASE_6, 0, 0, 0, 0, 0 },
	{ "an unknown command", 0xc7, 0, 0, 1, 1, 1 },
};

static void
conflict_matrix(void **state)
{
	for (unsigned i = 0; i < ARRAY_LEN(matrix); i++) {
		uint8_t cdb[SCSI_CDB_MAX] = { matrix[i].op, matrix[i].b1, 0, 0, matrix[i].b4 };

		if (cdb[0] == OP_VARIABLE) {
			cdb[9] = cdb[1];
			cdb[1] = 0;
		}
		print_message("# %s\n", matrix[i].name);
		assert_int_equal(conflict_stops(NLUN_NO_WRITES, cdb), matrix[i].no_writes);
		assert_int_equal(conflict_stops(NLUN_NO_ACCESS, cdb), matrix[i].no_access);
		assert_int_equal(conflict_stops(NLUN_RESERVED, cdb), matrix[i].reserved);
	}
}

/* -- TransportIDs -- */

static void
transport_ids(void **state)
{
	uint8_t p[TRANSPORT_ID_MAX];
	struct pr_nexus back = { 0 };
	unsigned n;

	who[A].isid[0] = 0x40;
	n = transport_id_put(p, &who[A]);
	assert_int_equal(p[0], 0x45);
	assert_int_equal(rd16(p + 2) + 4, n);
	assert_int_equal(n % 4, 0);
	assert_string_equal((char *)p + 4, "iqn.2026-11.test:a,i,0x400000000000");
	assert_int_equal(transport_id_get(p, n, &back), n);
	strcpy(back.target, who[A].target);
	assert_memory_equal(&back, &who[A], sizeof(back));

	/* Every cut, and a length that lies. */
	for (unsigned cut = 0; cut < n; cut++) {
		memset(&back, 0, sizeof(back));
		assert_int_equal(transport_id_get(p, cut, &back), 0);
	}
	wr16(p + 2, 0xfffc);
	assert_int_equal(transport_id_get(p, n, &back), 0);
}

static void
transport_id_srp(void **state)
{
	static const char port[] = "00112233445566778899aabbccddeeff";
	uint8_t p[TRANSPORT_ID_MAX];
	struct pr_nexus back = { 0 };

	strcpy(who[A].initiator, port);
	who[A].protocol = PROTOCOL_SRP;
	assert_int_equal(transport_id_put(p, &who[A]), 24);
	assert_int_equal(p[0], PROTOCOL_SRP);
	assert_int_equal(p[8] << 8 | p[23], 0x00ff);
	assert_int_equal(transport_id_get(p, 24, &back), 24);
	assert_string_equal(back.initiator, port);
}

/* -- on disk -- */

static void
text_round(void **state)
{
	char *text;
	struct pr back;

	reg(A, 0, 0x1122334455667788);
	reg(B, 0, UINT64_MAX);
	pr_reserve(&pr, &who[B], UINT64_MAX, PR_EXCLUSIVE_RO);
	pr.generation = UINT32_MAX;
	text = pr_text(&pr);
	assert_non_null(text);
	assert_int_equal(pr_from_text(&back, text, strlen(text)), 0);
	assert_int_equal(back.n, 2);
	assert_memory_equal(back.reg, pr.reg, 2 * sizeof(pr.reg[0]));
	assert_int_equal(back.generation, UINT32_MAX);
	assert_int_equal(back.type, PR_EXCLUSIVE_RO);
	assert_int_equal(back.holder, 1);
	assert_true(back.aptpl);
	pr_fini(&back);
	/* A text that was cut is none. */
	for (size_t cut = 0; cut < strlen(text); cut++)
		assert_int_equal(pr_from_text(&back, text, cut), -EINVAL);
	free(text);
}

static void
text_wrong(void **state)
{
	static const char *const texts[] = {
		"", "[]", "{}", "{\"version\": 2}",
		"{\"version\":1,\"generation\":0,\"type\":3,\"holder\":0,\"registrations\":[]}",
		"{\"version\":1,\"generation\":-1,\"type\":0,\"holder\":-1,\"registrations\":[]}",
		"{\"version\":1,\"generation\":0,\"type\":0,\"holder\":0,\"registrations\":[]}",
		"{\"version\":1,\"generation\":0,\"type\":0,\"holder\":-1,\"registrations\":[{}]}",
		"{\"version\":1,\"generation\":0,\"type\":2,\"holder\":0,\"registrations\":[{"
		"\"initiator\":\"i\",\"target\":\"t\",\"protocol\":5,\"isid\":\"000000000000\","
		"\"key\":\"0000000000000001\"}]}",
		"{\"version\":1,\"generation\":0,\"type\":3,\"holder\":1,\"registrations\":[{"
		"\"initiator\":\"i\",\"target\":\"t\",\"protocol\":5,\"isid\":\"000000000000\","
		"\"key\":\"0000000000000001\"}]}",
		"{\"version\":1,\"generation\":0,\"type\":0,\"holder\":-1,\"registrations\":[{"
		"\"initiator\":\"i\",\"target\":\"t\",\"protocol\":5,\"isid\":\"00000000000\","
		"\"key\":\"0000000000000001\"}]}",
		"{\"version\":1,\"generation\":0,\"type\":0,\"holder\":-1,\"registrations\":[{"
		"\"initiator\":\"i\",\"target\":\"t\",\"protocol\":5,\"isid\":\"000000000000\","
		"\"key\":\"0000000000000000\"}]}",
	};
	struct pr back;

	for (unsigned i = 0; i < ARRAY_LEN(texts); i++) {
		assert_int_equal(pr_from_text(&back, texts[i], strlen(texts[i])), -EINVAL);
		assert_int_equal(back.n, 0);
		assert_null(back.reg);
	}
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(registering), T(registering_others_too), T(too_many), T(reserving),
		T(all_registrants), T(holder_leaves), T(clearing), T(preempting), T(moving), T(lost),
		T(limits), T(conflict_matrix), T(transport_ids), T(transport_id_srp), T(text_round),
		T(text_wrong),
	};

	return cmocka_run_group_tests_name("pr", tests, NULL, NULL);
}
