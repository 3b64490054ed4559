/* Text requests in full feature phase: who hears of which target, and answers in parts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fake/iscsi_world.h"
#include "transport/iscsi/text.h"

#include "conf.h"
#include "util.h"

enum { F = ISCSI_TEXT_F, C = ISCSI_TEXT_C };

static struct exchange *exchange;
static struct iscsi_params params;
static struct iscsi_text_req req;
static struct iscsi_text_rsp rsp;
static uint8_t *answer;			/* exactly size bytes */
static uint32_t answer_len, size;
static char whole[256 * 1024];		/* all parts of an answer */
static size_t whole_len;

static int
begin(void **state)
{
	world_begin();
	exchange = exchange_new_in(&world_env);
	assert_non_null(exchange);
	params_default(&params);
	params.type = ISCSI_DISCOVERY;
	strcpy(params.initiator, WORLD_INITIATOR);
	req = (struct iscsi_text_req){ .opcode = ISCSI_TEXT_REQ, .itt = put32(0x77) };
	size = 8192;
	answer = NULL;
	return 0;
}

static int
end(void **state)
{
	exchange_free(exchange);
	free(answer);
	return 0;
}

static void
normal_session(void)
{
	params.type = ISCSI_NORMAL;
	strcpy(params.target, WORLD_LOCKED);
}

static int
send_bytes(unsigned flags, uint32_t ttt, const void *data, size_t len)
{
	uint8_t *copy = malloc(len + (len == 0));
	int rc;

	memcpy(copy, data, len);
	free(answer);
	answer = malloc(size);
	req.flags = (uint8_t)flags;
	req.ttt = put32(ttt);
	rc = exchange_step(exchange, &params, &world.peer, &req, copy, (uint32_t)len, &rsp, answer,
	    size, &answer_len);
	free(copy);
	if (rc != 0) {
		assert_int_equal(answer_len, 0);
		return rc;
	}
	assert_int_equal(rsp.opcode, ISCSI_TEXT_RSP);
	assert_int_equal(get32(rsp.itt), get32(req.itt));
	assert_int_equal(get24(rsp.data_len), answer_len);
	assert_true(answer_len <= size && answer_len <= params.max_xmit_dsl);
	/* RFC 7143 11.11: F without a tag, or a tag without F; never F with C. */
	if (rsp.flags & F)
		assert_true(get32(rsp.ttt) == ISCSI_NO_TAG);
	else
		assert_true(get32(rsp.ttt) != ISCSI_NO_TAG);
	assert_true((rsp.flags & (F | C)) != (F | C));
	return 0;
}

/* Pairs that end with \n each. */
static int
send_text(unsigned flags, uint32_t ttt, const char *text)
{
	char copy[8192];
	size_t len = strlen(text), i;

	assert_true(len < sizeof(copy));
	for (i = 0; i <= len; i++)
		copy[i] = text[i] == '\n' ? '\0' : text[i];
	return send_bytes(flags, ttt, copy, len);
}

/* Asks and fetches all parts; returns how many there were. */
static int
ask(const char *text)
{
	int parts = 1;

	whole_len = 0;
	assert_int_equal(send_text(F, ISCSI_NO_TAG, text), 0);
	for (;; parts++) {
		assert_true(answer_len <= sizeof(whole) - whole_len);
		memcpy(whole + whole_len, answer, answer_len);
		whole_len += answer_len;
		if (rsp.flags & F)
			return parts;
		assert_int_equal(rsp.flags, C);
		assert_int_equal(answer_len, MIN(size, params.max_xmit_dsl));
		assert_int_equal(send_text(F, get32(rsp.ttt), ""), 0);
	}
}

/* The whole answer with \n for NUL. */
static const char *
answered(const char *text)
{
	static char shown[sizeof(whole) + 1];
	size_t i;

	ask(text);
	for (i = 0; i < whole_len; i++)
		shown[i] = whole[i] == '\0' ? '\n' : whole[i];
	shown[whole_len] = '\0';
	return shown;
}

#define OPEN_LINES "TargetName=" WORLD_OPEN "\nTargetAddress=10.0.0.1:3260,1\n"
#define LOCKED_LINES                                                                               \
	"TargetName=" WORLD_LOCKED "\nTargetAddress=10.0.0.1:3260,1\n"                             \
	"TargetAddress=10.0.0.1:3261,7\n"
#define ELSEWHERE_LINES "TargetName=" WORLD_ELSEWHERE "\nTargetAddress=10.0.0.1:3261,7\n"

/* L14: what may not be used is not shown, nor what iSCSI does not reach. */
static void
all_targets_with_their_addresses(void **state)
{
	assert_string_equal(answered("SendTargets=All\n"), OPEN_LINES LOCKED_LINES ELSEWHERE_LINES);
	assert_int_equal(rsp.flags, F);
}

static void
one_target_by_name(void **state)
{
	assert_string_equal(answered("SendTargets=" WORLD_LOCKED "\n"), LOCKED_LINES);
	assert_string_equal(answered("SendTargets=IQN.2026-11.com.example:OPEN\n"), OPEN_LINES);
	assert_string_equal(answered("SendTargets=" WORLD_PRIVATE "\n"), "");
	assert_string_equal(answered("SendTargets=" WORLD_OPEN "x\n"), "");
	assert_string_equal(answered("SendTargets=noise\n"), "SendTargets=Reject\n");
	assert_string_equal(answered("SendTargets=\n"), "SendTargets=Reject\n");
}

/* RFC 7143 appendix C: a session to a target asks for that target only. */
static void
a_normal_session_hears_of_its_own_target(void **state)
{
	normal_session();
	assert_string_equal(answered("SendTargets=\n"), LOCKED_LINES);
	assert_string_equal(answered("SendTargets=" WORLD_LOCKED "\n"), LOCKED_LINES);
	assert_string_equal(answered("SendTargets=All\n"), "SendTargets=Reject\n");
	assert_string_equal(answered("SendTargets=" WORLD_OPEN "\n"), "SendTargets=Reject\n");
}

static void
a_name_of_any_length_is_answered(void **state)
{
	char text[1100] = "SendTargets=";
	size_t n;

	for (n = 222; n <= 1024; n += n < 226 ? 1 : 100) {
		memset(text + 12, 'n', n);
		strcpy(text + 12 + n, "\n");
		assert_string_equal(answered(text), "SendTargets=Reject\n");
	}
}

/* L14: the address that works for this peer, of its own family. */
static void
wildcards_answer_with_the_address_that_was_reached(void **state)
{
	world_local("[fd00::1]:3261");
	world.peer.portal = &world.other;
	assert_string_equal(answered("SendTargets=" WORLD_ELSEWHERE "\n"),
	    "TargetName=" WORLD_ELSEWHERE "\nTargetAddress=[fd00::1]:3261,7\n");
	world_local("192.168.7.7:3261");
	assert_string_equal(answered("SendTargets=" WORLD_ELSEWHERE "\n"),
	    "TargetName=" WORLD_ELSEWHERE "\nTargetAddress=192.168.7.7:3261,7\n");
}

static void
a_target_has_an_address_in_any_case(void **state)
{
	/* Only the IPv4 wildcard, and the peer came over IPv6. */
	world.other.naddrs = 1;
	world_local("[fd00::1]:3260");
	assert_string_equal(answered("SendTargets=" WORLD_ELSEWHERE "\n"),
	    "TargetName=" WORLD_ELSEWHERE "\nTargetAddress=[fd00::1]:3261,7\n");
}

/* L04: parts no longer than the initiator takes, and nothing is lost between them. */
static void
a_long_answer_comes_in_parts_of_what_the_initiator_takes(void **state)
{
	struct text_in in;
	struct text_pair p;
	unsigned names = 0, addresses = 0;
	int parts;

	world.crowd = WORLD_CROWD;
	params.max_xmit_dsl = 512;
	parts = ask("SendTargets=All\n");
	assert_int_equal(parts, (whole_len + 511) / 512);
	assert_true(parts > WORLD_CROWD * 223 / 512);
	in = (struct text_in){ whole, whole_len, 0 };
	while (text_next(&in, &p) > 0) {
		names += strcmp(p.key, "TargetName") == 0;
		addresses += strcmp(p.key, "TargetAddress") == 0;
		if (strcmp(p.key, "TargetName") == 0 && strstr(p.value, "crowd") != NULL)
			assert_int_equal(p.len, 223);
	}
	assert_int_equal(in.left, 0);
	assert_int_equal(names, 3 + WORLD_CROWD);
	assert_int_equal(addresses, 4 + WORLD_CROWD);
}

static void
a_part_has_room_in_the_callers_memory(void **state)
{
	world.crowd = WORLD_CROWD;
	params.max_xmit_dsl = 65536;
	size = 1000;
	assert_int_equal(ask("SendTargets=All\n"), (whole_len + 999) / 1000);
}

static void
an_answer_longer_than_the_first_buffer_is_whole(void **state)
{
	static struct sockaddr_storage addresses[40];
	size_t i;

	for (i = 0; i < ARRAY_LEN(addresses); i++)
		conf_sockaddr("10.0.0.1:3260", &addresses[i]);
	world.crowd = WORLD_CROWD;
	world.lan.addrs = addresses;
	world.lan.naddrs = ARRAY_LEN(addresses);
	ask("SendTargets=All\n");
	assert_true(whole_len > 64 * 1024);
	assert_int_equal(whole[whole_len - 1], '\0');
}

/* RFC 7143 6.2: a request in parts, cut at every place. */
static void
a_request_may_come_in_parts(void **state)
{
	static const char text[] = "SendTargets=All";
	size_t cut;

	for (cut = 0; cut <= sizeof(text); cut++) {
		assert_int_equal(send_bytes(C, ISCSI_NO_TAG, text, cut), 0);
		assert_int_equal(answer_len, 0);
		assert_int_equal(rsp.flags, 0);
		assert_int_equal(send_bytes(F, get32(rsp.ttt), text + cut, sizeof(text) - cut), 0);
		assert_int_equal(rsp.flags, F);
		assert_int_equal(answer_len, strlen(OPEN_LINES LOCKED_LINES ELSEWHERE_LINES));
	}
}

static void
a_negotiation_goes_on_until_f(void **state)
{
	assert_int_equal(send_text(0, ISCSI_NO_TAG, "X-a=1\n"), 0);
	assert_int_equal(rsp.flags, 0);
	assert_string_equal((char *)answer, "X-a=NotUnderstood");
	assert_int_equal(send_text(F, get32(rsp.ttt), "X-b=1\n"), 0);
	assert_int_equal(rsp.flags, F);
	assert_string_equal((char *)answer, "X-b=NotUnderstood");
}

static void
a_wrong_tag_is_a_protocol_error(void **state)
{
	uint32_t ttt;

	assert_int_equal(send_text(F, 1, "SendTargets=All\n"), -EPROTO);
	world.crowd = WORLD_CROWD;
	assert_int_equal(send_text(F, ISCSI_NO_TAG, "SendTargets=All\n"), 0);
	ttt = get32(rsp.ttt);
	assert_int_equal(send_text(F, ttt + 1, ""), -EPROTO);
	/* The exchange is over with it. */
	assert_int_equal(send_text(F, ttt, ""), -EPROTO);
	assert_int_equal(send_text(F, ISCSI_NO_TAG, "SendTargets=All\n"), 0);
	req.itt = put32(0x78);
	assert_int_equal(send_text(F, get32(rsp.ttt), ""), -EPROTO);
}

static void
the_tag_of_a_finished_exchange_is_no_tag(void **state)
{
	uint32_t ttt;

	assert_int_equal(send_text(C, ISCSI_NO_TAG, "SendTar"), 0);
	ttt = get32(rsp.ttt);
	assert_int_equal(send_text(F, ttt, "gets=All\n"), 0);
	assert_int_equal(rsp.flags, F);
	assert_int_equal(send_text(F, ttt, ""), -EPROTO);
}

static void
a_new_request_ends_the_one_under_way(void **state)
{
	uint32_t old;

	world.crowd = WORLD_CROWD;
	assert_int_equal(send_text(F, ISCSI_NO_TAG, "SendTargets=All\n"), 0);
	old = get32(rsp.ttt);
	req.itt = put32(0x78);
	assert_int_equal(send_text(F, ISCSI_NO_TAG, "SendTargets=" WORLD_OPEN "\n"), 0);
	assert_int_equal(rsp.flags, F);
	assert_int_equal(answer_len, strlen(OPEN_LINES));
	assert_int_equal(send_text(F, old, ""), -EPROTO);
}

static void
text_while_an_answer_waits_is_a_protocol_error(void **state)
{
	world.crowd = WORLD_CROWD;
	assert_int_equal(send_text(F, ISCSI_NO_TAG, "SendTargets=All\n"), 0);
	assert_int_equal(send_text(F, get32(rsp.ttt), "X-a=1\n"), -EPROTO);
}

static void
c_with_f_is_a_protocol_error(void **state)
{
	assert_int_equal(send_text(C | F, ISCSI_NO_TAG, "SendTargets=All\n"), -EPROTO);
}

static void
what_is_no_text_is_a_protocol_error(void **state)
{
	assert_int_equal(send_bytes(F, ISCSI_NO_TAG, "SendTargets=All", 15), -EPROTO);
	assert_int_equal(send_text(F, ISCSI_NO_TAG, "=1\n"), -EPROTO);
	assert_int_equal(send_text(F, ISCSI_NO_TAG, "SendTargets=All\nSendTargets=All\n"), -EPROTO);
}

static void
text_is_bounded(void **state)
{
	static char part[8192];
	int i, rc = 0;

	memset(part, 'x', sizeof(part));
	rsp.ttt = put32(ISCSI_NO_TAG);
	for (i = 0; i < ISCSI_TEXT_MAX / 8192; i++)
		assert_int_equal(send_bytes(C, get32(rsp.ttt), part, sizeof(part)), 0);
	rc = send_bytes(C, get32(rsp.ttt), part, 1);
	assert_int_equal(rc, -ENOMEM);
	assert_string_equal(answered("SendTargets=" WORLD_OPEN "\n"), OPEN_LINES);
}

static void
the_receive_limit_may_be_declared_again(void **state)
{
	assert_string_equal(answered("MaxRecvDataSegmentLength=65536\n"), "");
	assert_int_equal(params.max_xmit_dsl, 65536);
	assert_string_equal(
	    answered("MaxRecvDataSegmentLength=511\n"), "MaxRecvDataSegmentLength=Reject\n");
	assert_int_equal(params.max_xmit_dsl, 65536);
	assert_string_equal(
	    answered("MaxRecvDataSegmentLength=512\nSendTargets=" WORLD_OPEN "\n"), OPEN_LINES);
	assert_int_equal(params.max_xmit_dsl, 512);
}

/* A text that is refused changes nothing. */
static void
a_declaration_beside_an_error_does_not_count(void **state)
{
	assert_int_equal(
	    send_text(F, ISCSI_NO_TAG, "MaxRecvDataSegmentLength=65536\n=\n"), -EPROTO);
	assert_int_equal(params.max_xmit_dsl, 8192);
}

static void
login_keys_are_rejected(void **state)
{
	static const char *const keys[] = { "MaxBurstLength=65536", "HeaderDigest=CRC32C",
		"ErrorRecoveryLevel=0", "InitiatorName=iqn.2026-11.com.example:other",
		("TargetName=" WORLD_OPEN), "SessionType=Normal", "AuthMethod=None" };
	char text[128], want[128];
	size_t i, at;

	normal_session();
	for (i = 0; i < ARRAY_LEN(keys); i++) {
		at = 0;
		text_add(text, sizeof(text), &at, "%s\n", keys[i]);
		at = 0;
		text_add(
		    want, sizeof(want), &at, "%.*s=Reject\n", (int)strcspn(keys[i], "="), keys[i]);
		assert_string_equal(answered(text), want);
	}
	assert_string_equal(params.initiator, WORLD_INITIATOR);
	assert_string_equal(params.target, WORLD_LOCKED);
	assert_int_equal(params.max_burst, 262144);
	assert_string_equal(answered("InitiatorAlias=host\nX-a=1\n"), "X-a=NotUnderstood\n");
	assert_string_equal(params.initiator_alias, "host");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_targets_with_their_addresses),
		TEST(one_target_by_name),
		TEST(a_normal_session_hears_of_its_own_target),
		TEST(a_name_of_any_length_is_answered),
		TEST(wildcards_answer_with_the_address_that_was_reached),
		TEST(a_target_has_an_address_in_any_case),
		TEST(a_long_answer_comes_in_parts_of_what_the_initiator_takes),
		TEST(a_part_has_room_in_the_callers_memory),
		TEST(an_answer_longer_than_the_first_buffer_is_whole),
		TEST(a_request_may_come_in_parts),
		TEST(a_negotiation_goes_on_until_f),
		TEST(a_wrong_tag_is_a_protocol_error),
		TEST(the_tag_of_a_finished_exchange_is_no_tag),
		TEST(a_new_request_ends_the_one_under_way),
		TEST(text_while_an_answer_waits_is_a_protocol_error),
		TEST(c_with_f_is_a_protocol_error),
		TEST(what_is_no_text_is_a_protocol_error),
		TEST(text_is_bounded),
		TEST(the_receive_limit_may_be_declared_again),
		TEST(a_declaration_beside_an_error_does_not_count),
		TEST(login_keys_are_rejected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
