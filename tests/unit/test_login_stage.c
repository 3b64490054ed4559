/* What a login's stages do with its text: names, keys, discovery, proofs of identity. */
#include "login_initiator.h"

#include "transport/iscsi/chap.h"
#include "transport/iscsi/login_stage.h"

#include "conf.h"

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
	refused(OP | TO_FULL,
	    "InitiatorName=" WORLD_INITIATOR "\nTargetName=iqn.2026-11.com.example:no\n",
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
	refused(OP | TO_FULL, "InitiatorName=host1\nTargetName=" WORLD_OPEN "\n",
	    LOGIN_INITIATOR_ERROR);
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
	refused(
	    OP | TO_FULL, NAMES "ImmediateData=Yes\nImmediateData=Yes\n", LOGIN_INITIATOR_ERROR);
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int
main(void)
{
	const struct CMUnitTest tests[] = {
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
