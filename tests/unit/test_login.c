/* The login phase as an initiator meets it: stages, names, identity, text in parts, refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fake/iscsi_world.h"
#include "transport/iscsi/chap.h"
#include "transport/iscsi/login_stage.h"
#include "transport/iscsi/login_table.h"

#include "conf.h"
#include "util.h"

enum {
	T = ISCSI_LOGIN_T, C = ISCSI_LOGIN_C,
	SECURITY = 0 << 2, OP = 1 << 2,			/* CSG */
	TO_OP = T | 1, TO_FULL = T | 3,			/* T and NSG */
};

#define NAMES "InitiatorName=" WORLD_INITIATOR "\nTargetName=" WORLD_OPEN "\n"
#define LOCKED "InitiatorName=" WORLD_INITIATOR "\nTargetName=" WORLD_LOCKED "\n"
#define DISCOVERY "InitiatorName=" WORLD_INITIATOR "\nSessionType=Discovery\n"

/* An initiator with its connection; what came back last. */
static struct login *login;
static struct iscsi_login_req req;
static struct iscsi_login_rsp rsp;
static uint8_t answer[ISCSI_LOGIN_DSL_MAX];
static uint32_t answer_len;
static const char *why;
static enum login_verdict verdict;

static int
begin(void **state)
{
	world_begin();
	login = login_new_in(&world_env, &world.peer);
	assert_non_null(login);
	req = (struct iscsi_login_req){
		.opcode = ISCSI_LOGIN_REQ | ISCSI_IMMEDIATE,
		.isid = { 0x80, 1, 2, 3, 4, 5 }, .itt = put32(0x1234), .cid = put16(9),
	};
	return 0;
}

static int
end(void **state)
{
	login_free(login);
	return 0;
}

static void
again(void)
{
	end(NULL);
	begin(NULL);
}

/* Sends len bytes, in memory of exactly that size. */
static enum login_verdict
send_bytes(unsigned flags, const void *data, size_t len)
{
	uint8_t *copy = malloc(len + (len == 0));

	memcpy(copy, data, len);
	req.flags = (uint8_t)flags;
	why = NULL;
	verdict = login_step(login, &req, copy, (uint32_t)len, &rsp, answer, &answer_len, &why);
	free(copy);
	if (verdict == LOGIN_REFUSE || verdict == LOGIN_DROP) {
		assert_non_null(why);
		assert_true(why[0] != '\0');
		assert_int_equal(answer_len, 0);
	}
	if (verdict == LOGIN_REFUSE)
		assert_int_equal(rsp.flags & (T | C | 3), 0);
	if (verdict != LOGIN_DROP) {
		assert_int_equal(rsp.opcode, ISCSI_LOGIN_RSP);
		assert_int_equal(get24(rsp.data_len), answer_len);
		assert_int_equal(get32(rsp.itt), 0x1234);
		assert_memory_equal(rsp.isid, req.isid, 6);
	}
	return verdict;
}

/* Sends pairs that end with \n each. */
static enum login_verdict
send_text(unsigned flags, const char *text)
{
	char copy[16384];
	size_t len = strlen(text), i;

	assert_true(len < sizeof(copy));
	for (i = 0; i <= len; i++)
		copy[i] = text[i] == '\n' ? '\0' : text[i];
	return send_bytes(flags, copy, len);
}

static unsigned
status(void)
{
	return (unsigned)rsp.status_class << 8 | rsp.status_detail;
}

static void
refused(unsigned flags, const char *text, unsigned want)
{
	if (send_text(flags, text) != LOGIN_REFUSE || status() != want)
		print_error("verdict %d status %04x: %s\n", verdict, status(), why ? why : "-");
	assert_int_equal(verdict, LOGIN_REFUSE);
	assert_int_equal(status(), want);
	/* Nothing more is said on this connection. */
	assert_int_equal(send_text(flags, text), LOGIN_DROP);
}

static void
granted(unsigned flags, const char *text)
{
	if (send_text(flags, text) != LOGIN_ANSWER && verdict != LOGIN_ENTER)
		print_error("status %04x: %s\n", status(), why);
	assert_int_equal(status(), 0);
	assert_int_equal(rsp.flags, flags);
	assert_int_equal(verdict, (flags & TO_FULL) == TO_FULL ? LOGIN_ENTER : LOGIN_ANSWER);
}

/* Answered, but T is not granted. */
static void
held(unsigned flags, const char *text)
{
	assert_int_equal(send_text(flags, text), LOGIN_ANSWER);
	assert_int_equal(status(), 0);
	assert_int_equal(rsp.flags, flags & ISCSI_LOGIN_CSG);
}

static const char *
value(const char *key)
{
	struct text_in in = { (char *)answer, answer_len, 0 };
	struct text_pair p;

	while (text_next(&in, &p) > 0)
		if (strcmp(p.key, key) == 0)
			return p.value;
	return NULL;
}

/* -- the table -- */

static FILE *
golden_open(void)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 64);
	FILE *f = NULL;
	char *slash;

	/* The program stands somewhere under the tree's build folder. */
	for (path[MAX(n, 0)] = '\0'; f == NULL && (slash = strrchr(path, '/')) != NULL; *slash = '\0') {
		strcpy(slash, "/tests/unit/login_matrix.golden");
		f = fopen(path, "r");
	}
	return f;
}

static void
matrix_line(char *line, size_t size, enum login_state st, unsigned flags)
{
	const struct login_edge *e = login_edge(st, login_event((uint8_t)flags));
	size_t at = 0;

	text_add(line, size, &at, "%-11s T=%d C=%d CSG=%u NSG=%u: ", login_state_name(st), !!(flags & T),
	    !!(flags & C), flags >> 2 & 3, flags & 3);
	if (e == NULL)
		text_add(line, size, &at, "refused\n");
	else if (e->action == login_gather)
		text_add(line, size, &at, "gather, stay %s (%s)\n", login_state_name(e->stay), e->clause);
	else
		text_add(line, size, &at, "%s, stay %s, to %s (%s)\n",
		    e->action == login_security ? "security" : "operational",
		    login_state_name(e->stay), login_state_name(e->to), e->clause);
}

/* L27: every state with every T, C, CSG, NSG. A change of the table is a change of the file. */
static void
the_matrix_is_the_golden_one(void **state)
{
	FILE *f = golden_open();
	char want[256], got[256];
	unsigned st, i;

	assert_non_null(f);
	for (st = 0; st < LOGIN_STATE_COUNT; st++) {
		for (i = 0; i < 64; i++) {
			matrix_line(got, sizeof(got), st, (i & 0x30) << 2 | (i & 0x0f));
			assert_non_null(fgets(want, sizeof(want), f));
			assert_string_equal(got, want);
		}
	}
	assert_null(fgets(want, sizeof(want), f));
	fclose(f);
}

/* The reserved bits 4 and 5 mean nothing. */
static void
reserved_flag_bits_are_ignored(void **state)
{
	unsigned flags;

	for (flags = 0; flags < 256; flags++)
		assert_int_equal(login_event((uint8_t)flags), login_event((uint8_t)(flags & 0xcf)));
}

/* -- stages -- */

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
	static const unsigned flags[] = { OP | T | 2, 3 << 2 | T | 3, 2 << 2 | T | 3, OP | T | 1, OP | T,
		SECURITY | T, SECURITY | T | 2, 3 << 2, 2 << 2 };
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

/* -- names -- */

/* L26 a */
static void
names_that_are_missing_are_asked_for(void **state)
{
	refused(OP | TO_FULL, "", LOGIN_MISSING_PARAMETER);
	again();
	refused(OP | TO_FULL, "TargetName=" WORLD_OPEN "\n", LOGIN_MISSING_PARAMETER);
	again();
	refused(OP | TO_FULL, "InitiatorName=" WORLD_INITIATOR "\n", LOGIN_MISSING_PARAMETER);
	again();
	refused(SECURITY | TO_OP, "InitiatorName=" WORLD_INITIATOR "\nSessionType=Normal\n",
	    LOGIN_MISSING_PARAMETER);
}

/* L17: each refusal has its own status and its own words. */
static void
refusals_are_told_apart(void **state)
{
	refused(OP | TO_FULL, "InitiatorName=" WORLD_INITIATOR "\nTargetName=iqn.2026-11.com.example:no\n",
	    LOGIN_NOT_FOUND);
	again();
	refused(OP | TO_FULL, "InitiatorName=" WORLD_INITIATOR "\nTargetName=" WORLD_ELSEWHERE "\n",
	    LOGIN_NOT_FOUND);
	again();
	refused(OP | TO_FULL, "InitiatorName=" WORLD_INITIATOR "\nTargetName=" WORLD_PRIVATE "\n",
	    LOGIN_FORBIDDEN);
	again();
	refused(OP | TO_FULL, LOCKED, LOGIN_AUTH_FAILED);
}

static void
names_may_stand_behind_other_keys(void **state)
{
	granted(OP | TO_FULL, "HeaderDigest=None\nMaxBurstLength=65536\n" NAMES);
	assert_int_equal(login_params(login)->max_burst, 65536);
}

static void
names_are_normalised(void **state)
{
	granted(OP | TO_FULL, "InitiatorName=IQN.2026-11.COM.EXAMPLE:Host\n"
	    "TargetName=Iqn.2026-11.com.example:OPEN\n");
	assert_string_equal(login_params(login)->initiator, WORLD_INITIATOR);
	assert_string_equal(login_params(login)->target, WORLD_OPEN);
}

/* L24 */
static void
a_bad_initiator_name_is_refused(void **state)
{
	refused(OP | TO_FULL, "InitiatorName=host1\nTargetName=" WORLD_OPEN "\n", LOGIN_INITIATOR_ERROR);
	assert_non_null(strstr(login->keys.why, "InitiatorName"));
}

/* L06 */
static void
repeated_names_are_accepted_and_changed_ones_are_not(void **state)
{
	granted(SECURITY | TO_OP, NAMES "AuthMethod=None\n");
	granted(OP | TO_FULL, NAMES);
	again();
	granted(SECURITY | TO_OP, NAMES "AuthMethod=None\n");
	refused(OP | TO_FULL, "InitiatorName=" WORLD_INITIATOR "x\n", LOGIN_INITIATOR_ERROR);
	again();
	granted(SECURITY | TO_OP, NAMES "AuthMethod=None\n");
	refused(OP | TO_FULL, "TargetName=" WORLD_LOCKED "\n", LOGIN_INITIATOR_ERROR);
	again();
	granted(SECURITY | TO_OP, NAMES);
	refused(OP | TO_FULL, "SessionType=Discovery\n", LOGIN_INITIATOR_ERROR);
}

static void
a_key_twice_is_refused_and_named(void **state)
{
	refused(OP | TO_FULL, NAMES "ImmediateData=Yes\nImmediateData=Yes\n", LOGIN_INITIATOR_ERROR);
	again();
	held(OP, NAMES "ImmediateData=Yes\n");
	send_text(OP | TO_FULL, "ImmediateData=No\n");
	assert_int_equal(status(), LOGIN_INITIATOR_ERROR);
	assert_non_null(strstr(why, "ImmediateData"));
}

/* L11 */
static void
the_portal_group_is_in_the_first_answer_only(void **state)
{
	granted(SECURITY | TO_OP, NAMES "AuthMethod=None\n");
	assert_string_equal(value("TargetPortalGroupTag"), "1");
	assert_string_equal(value("TargetAlias"), "the open one");
	granted(OP | TO_FULL, "");
	assert_null(value("TargetPortalGroupTag"));
	assert_null(value("TargetAlias"));
	assert_int_equal(login_params(login)->tpgt, 1);
	again();
	granted(OP | TO_FULL, NAMES);
	assert_string_equal(value("TargetPortalGroupTag"), "1");
}

/* L12 */
static void
the_target_declares_its_receive_limit_once(void **state)
{
	held(OP, NAMES);
	assert_string_equal(value("MaxRecvDataSegmentLength"), "262144");
	granted(OP | TO_FULL, "MaxRecvDataSegmentLength=16384\n");
	assert_null(value("MaxRecvDataSegmentLength"));
	assert_int_equal(login_params(login)->max_xmit_dsl, 16384);
	again();
	refused(OP | TO_FULL, NAMES "MaxRecvDataSegmentLength=511\n", LOGIN_INITIATOR_ERROR);
	again();
	refused(OP | TO_FULL, NAMES "MaxRecvDataSegmentLength=16777216\n", LOGIN_INITIATOR_ERROR);
}

/* L08 */
static void
keys_never_offered_have_the_defaults_of_the_rfc(void **state)
{
	world.limits.immediate_data = false;
	granted(OP | TO_FULL, NAMES);
	assert_true(login_params(login)->initial_r2t);
	assert_true(login_params(login)->immediate_data);
	assert_int_equal(login_params(login)->max_burst, 262144);
	assert_int_equal(login_params(login)->first_burst, 65536);
	assert_int_equal(login_params(login)->max_outstanding_r2t, 1);
	assert_int_equal(login_params(login)->max_xmit_dsl, 8192);
}

static void
a_first_burst_above_the_max_burst_is_refused(void **state)
{
	refused(OP | TO_FULL, NAMES "MaxBurstLength=65536\nFirstBurstLength=131072\n",
	    LOGIN_INITIATOR_ERROR);
}

/* -- discovery -- */

/* L09, L11, L26 b */
static void
a_discovery_session_needs_no_target(void **state)
{
	granted(OP | TO_FULL, DISCOVERY "HeaderDigest=CRC32C,None\nDataDigest=CRC32C,None\n");
	assert_string_equal(value("HeaderDigest"), "None");
	assert_string_equal(value("DataDigest"), "None");
	assert_null(value("TargetPortalGroupTag"));
	assert_null(login_target(login));
	assert_int_equal(login_params(login)->type, ISCSI_DISCOVERY);
	again();
	granted(SECURITY | TO_OP, DISCOVERY "TargetName=" WORLD_PRIVATE "\nAuthMethod=None\n");
	assert_null(value("TargetPortalGroupTag"));
	granted(OP | TO_FULL, "TargetName=" WORLD_PRIVATE "\n");
	assert_null(login_target(login));
	assert_string_equal(login_params(login)->target, "");
}

/* -- text -- */

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
		assert_int_equal(send_bytes(OP | TO_FULL, text + cut, sizeof(text) - cut), LOGIN_ENTER);
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

/* -- identity -- */

/* The conversation up to the response; returns what CHAP_N and CHAP_R to send. */
static const char *
chap_until_response(const char *secret)
{
	static char text[512];
	uint8_t challenge[64], d[CHAP_DIGEST_MAX];
	uint64_t id;
	size_t len, at = 0, i;
	unsigned n;

	held(SECURITY | TO_OP, LOCKED "AuthMethod=CHAP,None\n");
	assert_string_equal(value("AuthMethod"), "CHAP");
	assert_string_equal(value("TargetPortalGroupTag"), "1");
	held(SECURITY, "CHAP_A=7,5\n");
	assert_string_equal(value("CHAP_A"), "7");
	assert_int_equal(text_number(value("CHAP_I"), 255, &id), 0);
	assert_int_equal(text_binary(value("CHAP_C"), challenge, sizeof(challenge), &len), 0);
	n = chap_digest(CHAP_SHA256, (uint8_t)id, secret, challenge, len, d);
	text_add(text, sizeof(text), &at, "CHAP_N=" WORLD_USER "\nCHAP_R=0x");
	for (i = 0; i < n; i++)
		text_add(text, sizeof(text), &at, "%02x", d[i]);
	text_add(text, sizeof(text), &at, "\n");
	return text;
}

static void
chap_lets_in(void **state)
{
	granted(SECURITY | TO_OP, chap_until_response(WORLD_SECRET));
	assert_null(value("CHAP_R"));
	granted(OP | TO_FULL, "");
	assert_string_equal(login_params(login)->user, WORLD_USER);
	assert_ptr_equal(login_target(login), &world.targets[1]);
}

static void
chap_straight_into_full_feature_phase(void **state)
{
	granted(SECURITY | TO_FULL, chap_until_response(WORLD_SECRET));
}

static void
mutual_chap_proves_the_target(void **state)
{
	char text[512];

	snprintf(text, sizeof(text), "%sCHAP_I=17\nCHAP_C=0x00112233445566778899aabbccddeeff\n",
	    chap_until_response(WORLD_SECRET));
	granted(SECURITY | TO_OP, text);
	assert_string_equal(value("CHAP_N"), WORLD_TARGET_USER);
	assert_int_equal(strlen(value("CHAP_R")), 2 + 64);
}

static void
the_wrong_secret_is_refused(void **state)
{
	refused(SECURITY | TO_OP, chap_until_response("wrong"), LOGIN_AUTH_FAILED);
	again();
	chap_until_response("wrong");
	refused(SECURITY | TO_OP, "CHAP_N=" WORLD_USER "\nCHAP_R=0xabc\n", LOGIN_INITIATOR_ERROR);
}

/* C09: with a credential there is no way in without it. */
static void
without_a_proof_nobody_enters(void **state)
{
	refused(OP | TO_FULL, LOCKED, LOGIN_AUTH_FAILED);
	again();
	refused(OP, LOCKED, LOGIN_AUTH_FAILED);
	again();
	refused(SECURITY | TO_OP, LOCKED "AuthMethod=None\n", LOGIN_AUTH_FAILED);
	again();
	refused(SECURITY | TO_OP, LOCKED, LOGIN_AUTH_FAILED);
	again();
	refused(SECURITY | TO_FULL, LOCKED, LOGIN_AUTH_FAILED);
	again();
	refused(SECURITY | TO_OP, LOCKED "AuthMethod=KRB5,SRP\n", LOGIN_AUTH_FAILED);
	again();
	refused(SECURITY | TO_OP, LOCKED "AuthMethod=CHAPX,CHA\n", LOGIN_AUTH_FAILED);
	again();
	/* Asked for again and again, the transit is not granted before the response. */
	held(SECURITY | TO_FULL, LOCKED "AuthMethod=CHAP\n");
	held(SECURITY | TO_FULL, "");
	held(SECURITY | TO_FULL, "CHAP_A=5\n");
	held(SECURITY | TO_FULL, "");
	refused(OP | TO_FULL, "", LOGIN_INITIATOR_ERROR);
}

static void
chap_keys_without_chap_are_refused(void **state)
{
	refused(SECURITY | TO_OP, NAMES "CHAP_A=5\n", LOGIN_INITIATOR_ERROR);
	again();
	held(SECURITY, LOCKED "AuthMethod=CHAP\n");
	refused(SECURITY, "CHAP_A=5\nCHAP_A=7\n", LOGIN_INITIATOR_ERROR);
	again();
	held(SECURITY, LOCKED "AuthMethod=CHAP\n");
	refused(SECURITY, "AuthMethod=CHAP\n", LOGIN_INITIATOR_ERROR);
}

static void
an_open_target_does_not_do_chap(void **state)
{
	refused(SECURITY | TO_OP, NAMES "AuthMethod=CHAP\n", LOGIN_AUTH_FAILED);
}

/* A credential that appears in the middle of a login holds from there on. */
static void
a_credential_added_meanwhile_counts(void **state)
{
	granted(SECURITY | TO_OP, NAMES "AuthMethod=None\n");
	world.targets[0].auth = &world.auth;
	refused(OP | TO_FULL, "", LOGIN_AUTH_FAILED);
}

static void
a_target_that_goes_meanwhile_is_not_found(void **state)
{
	granted(SECURITY | TO_OP, NAMES "AuthMethod=None\n");
	world.targets[0].name = (char *)WORLD_OPEN "2";
	refused(OP | TO_FULL, "", LOGIN_NOT_FOUND);
}

static void
reasons_are_safe_to_print(void **state)
{
	const char *at;

	send_text(OP | TO_FULL, NAMES "MaxBurstLength=\x1b[2J\xff%n\n");
	assert_int_equal(verdict, LOGIN_REFUSE);
	for (at = why; *at != '\0'; at++)
		assert_true(*at >= 0x20 && *at < 0x7f);
	assert_non_null(strstr(why, "MaxBurstLength"));
}

static void
statuses_have_names(void **state)
{
	assert_string_equal(login_status_name(LOGIN_AUTH_FAILED), "authentication failure");
	assert_string_equal(login_status_name(0x0302), "out of resources");
	assert_string_equal(login_status_name(0x7777), "unknown status");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(the_matrix_is_the_golden_one),
		TEST(reserved_flag_bits_are_ignored),
		TEST(straight_into_the_operational_stage),
		TEST(through_the_security_stage),
		TEST(from_security_to_full_feature_phase),
		TEST(a_stage_lasts_until_the_initiator_leaves_it),
		TEST(impossible_stages_are_refused),
		TEST(nothing_follows_a_finished_login),
		TEST(versions_above_ours_are_refused),
		TEST(isid_tsih_and_cid_stay_the_same),
		TEST(a_tsih_is_passed_on),
		TEST(names_that_are_missing_are_asked_for),
		TEST(refusals_are_told_apart),
		TEST(names_may_stand_behind_other_keys),
		TEST(names_are_normalised),
		TEST(a_bad_initiator_name_is_refused),
		TEST(repeated_names_are_accepted_and_changed_ones_are_not),
		TEST(a_key_twice_is_refused_and_named),
		TEST(the_portal_group_is_in_the_first_answer_only),
		TEST(the_target_declares_its_receive_limit_once),
		TEST(keys_never_offered_have_the_defaults_of_the_rfc),
		TEST(a_first_burst_above_the_max_burst_is_refused),
		TEST(a_discovery_session_needs_no_target),
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
		TEST(chap_lets_in),
		TEST(chap_straight_into_full_feature_phase),
		TEST(mutual_chap_proves_the_target),
		TEST(the_wrong_secret_is_refused),
		TEST(without_a_proof_nobody_enters),
		TEST(chap_keys_without_chap_are_refused),
		TEST(an_open_target_does_not_do_chap),
		TEST(a_credential_added_meanwhile_counts),
		TEST(a_target_that_goes_meanwhile_is_not_found),
		TEST(reasons_are_safe_to_print),
		TEST(statuses_have_names),
	};
	char line[256];
	unsigned st, i;

	/* --matrix prints what the golden file shall hold. */
	if (argc > 1 && strcmp(argv[1], "--matrix") == 0) {
		for (st = 0; st < LOGIN_STATE_COUNT; st++) {
			for (i = 0; i < 64; i++) {
				matrix_line(line, sizeof(line), st, (i & 0x30) << 2 | (i & 0x0f));
				fputs(line, stdout);
			}
		}
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
