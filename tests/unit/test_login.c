/* The login phase as an initiator meets it: stages, text in parts, long answers, bounds. */
#include "login_initiator.h"

#include <stdio.h>

#include "transport/iscsi/login_stage.h"

static void
straight_into_the_operational_stage(void **state)
{
	granted(OP | TO_FULL, NAMES);
	assert_string_equal(login_params(login)->initiator, WORLD_INITIATOR);
	assert_string_equal(login_params(login)->target, WORLD_OPEN);
	assert_ptr_equal(login_target(login), &world.targets[0]);
	assert_int_equal(login_params(login)->cid, 9);
	assert_memory_equal(login_params(login)->isid, req.isid, 6);
	assert_string_equal(login_params(login)->user, "");
}

static void
through_the_security_stage(void **state)
{
	granted(SECURITY | TO_OP, NAMES "AuthMethod=CHAP,None\n");
	assert_string_equal(value("AuthMethod"), "None");
	assert_null(value("MaxRecvDataSegmentLength"));
	granted(OP | TO_FULL, "HeaderDigest=CRC32C\n");
	assert_string_equal(value("HeaderDigest"), "CRC32C");
	assert_true(login_params(login)->header_digest);
}

static void
from_security_to_full_feature_phase(void **state)
{
	granted(SECURITY | TO_FULL, NAMES "AuthMethod=None\n");
	assert_int_equal(login_params(login)->max_xmit_dsl, 8192);
}

static void
a_stage_lasts_until_the_initiator_leaves_it(void **state)
{
	held(SECURITY, NAMES);
	held(SECURITY, "AuthMethod=None\n");
	granted(SECURITY | TO_OP, "");
	held(OP, "InitialR2T=No\n");
	assert_string_equal(value("InitialR2T"), "No");
	held(OP, "ImmediateData=No\n");
	granted(OP | TO_FULL, "");
	assert_false(login_params(login)->initial_r2t);
	assert_false(login_params(login)->immediate_data);
}

/* L27 */
static void
impossible_stages_are_refused(void **state)
{
	static const unsigned flags[] = { OP | T | 2, 3 << 2 | T | 3, 2 << 2 | T | 3, OP | T | 1,
		OP | T, SECURITY | T, SECURITY | T | 2, 3 << 2, 2 << 2 };
	size_t i;

	for (i = 0; i < ARRAY_LEN(flags); i++) {
		refused(flags[i], NAMES, LOGIN_INITIATOR_ERROR);
		again();
	}
	granted(SECURITY | TO_OP, NAMES);
	refused(SECURITY, "", LOGIN_INITIATOR_ERROR);
	again();
	held(SECURITY, NAMES);
	refused(OP, "", LOGIN_INITIATOR_ERROR);
}

static void
nothing_follows_a_finished_login(void **state)
{
	granted(OP | TO_FULL, NAMES);
	assert_int_equal(send_text(OP | TO_FULL, NAMES), LOGIN_DROP);
}

static void
versions_above_ours_are_refused(void **state)
{
	req.version_min = req.version_max = 1;
	refused(OP | TO_FULL, NAMES, LOGIN_VERSION);
	again();
	req.version_max = 3;
	granted(OP | TO_FULL, NAMES);
	assert_int_equal(rsp.version_active, 0);
}

/* RFC 7143 11.12: what names the session and the connection stays the same. */
static void
isid_tsih_and_cid_stay_the_same(void **state)
{
	granted(SECURITY | TO_OP, NAMES);
	req.isid[5]++;
	refused(OP | TO_FULL, "", LOGIN_INITIATOR_ERROR);
	again();
	granted(SECURITY | TO_OP, NAMES);
	req.tsih = put16(1);
	refused(OP | TO_FULL, "", LOGIN_INITIATOR_ERROR);
	again();
	granted(SECURITY | TO_OP, NAMES);
	req.cid = put16(8);
	refused(OP | TO_FULL, "", LOGIN_INITIATOR_ERROR);
}

/* L27: whether the session exists is the session layer's to say. */
static void
a_tsih_is_passed_on(void **state)
{
	req.tsih = put16(0x7ff7);
	granted(OP | TO_FULL, NAMES);
	assert_int_equal(login_params(login)->tsih, 0x7ff7);
	login_refuse(&rsp, LOGIN_NO_SESSION);
	assert_int_equal(status(), 0x020a);
	assert_int_equal(rsp.flags, OP);
	assert_int_equal(get24(rsp.data_len), 0);
}

/* L05 */
static void
text_may_be_cut_anywhere(void **state)
{
	static const char text[] = "InitiatorName=" WORLD_INITIATOR "\0TargetName=" WORLD_OPEN;
	size_t cut;

	for (cut = 0; cut <= sizeof(text); cut++) {
		assert_int_equal(send_bytes(OP | C, text, cut), LOGIN_ANSWER);
		assert_int_equal(rsp.flags, OP);
		assert_int_equal(answer_len, 0);
		assert_int_equal(
		    send_bytes(OP | TO_FULL, text + cut, sizeof(text) - cut), LOGIN_ENTER);
		assert_string_equal(login_params(login)->target, WORLD_OPEN);
		again();
	}
}

static void
a_second_text_may_be_cut_too(void **state)
{
	granted(SECURITY | TO_OP, NAMES);
	assert_int_equal(send_text(OP | C, "MaxBurst"), LOGIN_ANSWER);
	assert_int_equal(send_text(OP | C, "Length=65"), LOGIN_ANSWER);
	granted(OP | TO_FULL, "536\n");
	assert_int_equal(login_params(login)->max_burst, 65536);
}

static void
c_with_t_is_refused(void **state)
{
	refused(OP | TO_FULL | C, NAMES, LOGIN_INITIATOR_ERROR);
}

static void
a_text_does_not_change_its_stage(void **state)
{
	assert_int_equal(send_text(SECURITY | C, "InitiatorNa"), LOGIN_ANSWER);
	refused(OP | TO_FULL, "me=" WORLD_INITIATOR "\nTargetName=" WORLD_OPEN "\n",
	    LOGIN_INITIATOR_ERROR);
}

static void
rounds_are_bounded(void **state)
{
	int i;

	for (i = 0; i < LOGIN_ROUNDS_MAX; i++)
		assert_int_equal(send_text(OP | C, ""), LOGIN_ANSWER);
	refused(OP | C, "", LOGIN_INITIATOR_ERROR);
	again();
	held(OP, NAMES);
	for (i = 1; i < LOGIN_ROUNDS_MAX; i++)
		held(OP, "");
	refused(OP | TO_FULL, "", LOGIN_INITIATOR_ERROR);
}

static void
text_is_bounded(void **state)
{
	char part[8192];
	int i;

	memset(part, 'x', sizeof(part));
	for (i = 0; i < ISCSI_TEXT_MAX / 8192; i++)
		assert_int_equal(send_bytes(OP | C, part, sizeof(part)), LOGIN_ANSWER);
	assert_int_equal(send_bytes(OP | C, part, 1), LOGIN_REFUSE);
	assert_int_equal(status(), LOGIN_INITIATOR_ERROR);
	again();
	for (i = 0; i < ISCSI_TEXT_MAX / 8192; i++)
		assert_int_equal(send_bytes(OP | C, part, sizeof(part)), LOGIN_ANSWER);
	assert_int_equal(send_bytes(OP | TO_FULL, part, 1), LOGIN_REFUSE);
}

static void
what_is_no_text_is_refused(void **state)
{
	static const char cut[] = "InitiatorName=" WORLD_INITIATOR;
	char text[8000];

	assert_int_equal(send_bytes(OP | TO_FULL, cut, sizeof(cut) - 1), LOGIN_REFUSE);
	assert_int_equal(status(), LOGIN_INITIATOR_ERROR);
	again();
	refused(OP | TO_FULL, NAMES "=1\n", LOGIN_INITIATOR_ERROR);
	again();
	refused(OP | TO_FULL, NAMES "noise\n", LOGIN_INITIATOR_ERROR);
	again();
	/* L02: a name of 64 bytes. */
	snprintf(text, sizeof(text), "%s%064d=1\n", NAMES, 7);
	refused(OP | TO_FULL, text, LOGIN_INITIATOR_ERROR);
}

/* L02 */
static void
unknown_keys_are_not_understood(void **state)
{
	granted(OP | TO_FULL, NAMES "X-com.example.foo=1\nRDMAExtensions=Yes\n");
	assert_string_equal(value("X-com.example.foo"), "NotUnderstood");
	assert_string_equal(value("RDMAExtensions"), "NotUnderstood");
}

/* 120 unknown keys of 62 bytes: an answer of more than one PDU. */
static size_t
long_request(char *text, size_t size)
{
	size_t at = 0;
	int i;

	text_add(text, size, &at, "%s", NAMES);
	for (i = 0; i < 120; i++)
		text_add(text, size, &at, "%062d=\n", i);
	assert_true(at <= ISCSI_LOGIN_DSL_MAX);
	return at;
}

static void
a_long_answer_comes_in_parts(void **state)
{
	char text[16384], whole[65536];
	size_t len = 0;
	struct text_in in;
	struct text_pair p;
	int n = 0, parts = 1;

	long_request(text, sizeof(text));
	assert_int_equal(send_text(OP | TO_FULL, text), LOGIN_ANSWER);
	while (rsp.flags & C) {
		assert_int_equal(rsp.flags, OP | C);
		assert_true(answer_len > 0);
		memcpy(whole + len, answer, answer_len);
		len += answer_len;
		assert_int_equal(send_text(OP, ""), LOGIN_ANSWER);
		parts++;
	}
	memcpy(whole + len, answer, answer_len);
	len += answer_len;
	assert_int_equal(rsp.flags, OP);
	assert_true(parts > 1);
	in = (struct text_in){ whole, len, 0 };
	while (text_next(&in, &p) > 0)
		n += strcmp(p.value, "NotUnderstood") == 0;
	assert_int_equal(n, 120);
	assert_int_equal(in.left, 0);
	granted(OP | TO_FULL, "");
}

static void
the_last_part_may_carry_the_transit(void **state)
{
	char text[16384];

	long_request(text, sizeof(text));
	assert_int_equal(send_text(OP | TO_FULL, text), LOGIN_ANSWER);
	assert_int_equal(rsp.flags, OP | C);
	granted(OP | TO_FULL, "");
}

static void
text_while_an_answer_waits_is_refused(void **state)
{
	char text[16384];

	long_request(text, sizeof(text));
	assert_int_equal(send_text(OP, text), LOGIN_ANSWER);
	assert_int_equal(rsp.flags, OP | C);
	refused(OP, "InitialR2T=No\n", LOGIN_INITIATOR_ERROR);
}

/* As many pairs as a text may have, each with the longest key: the answer has room. */
static void
the_longest_answer_has_room(void **state)
{
	char text[65536];
	size_t len = 0, at;
	int i, parts;

	for (i = 0; i < TEXT_PAIRS_MAX - 2; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%063d=", i) + 1;
	assert_int_equal(send_text(OP | C, NAMES), LOGIN_ANSWER);
	for (at = 0; at < len; at += 8192)
		assert_int_equal(send_bytes(OP | C, text + at, MIN(len - at, 8192u)), LOGIN_ANSWER);
	assert_int_equal(send_text(OP | TO_FULL, ""), LOGIN_ANSWER);
	for (parts = 1; rsp.flags & C; parts++)
		send_text(OP | TO_FULL, "");
	assert_int_equal(verdict, LOGIN_ENTER);
	assert_int_equal(parts, 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(straight_into_the_operational_stage),
		TEST(through_the_security_stage),
		TEST(from_security_to_full_feature_phase),
		TEST(a_stage_lasts_until_the_initiator_leaves_it),
		TEST(impossible_stages_are_refused),
		TEST(nothing_follows_a_finished_login),
		TEST(versions_above_ours_are_refused),
		TEST(isid_tsih_and_cid_stay_the_same),
		TEST(a_tsih_is_passed_on),
		TEST(text_may_be_cut_anywhere),
		TEST(a_second_text_may_be_cut_too),
		TEST(c_with_t_is_refused),
		TEST(a_text_does_not_change_its_stage),
		TEST(rounds_are_bounded),
		TEST(text_is_bounded),
		TEST(what_is_no_text_is_refused),
		TEST(unknown_keys_are_not_understood),
		TEST(a_long_answer_comes_in_parts),
		TEST(the_last_part_may_carry_the_transit),
		TEST(text_while_an_answer_waits_is_refused),
		TEST(the_longest_answer_has_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
