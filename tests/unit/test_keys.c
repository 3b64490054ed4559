/* Negotiation of each key: who wins, what is refused, what comes out, and the defaults. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "transport/iscsi/keys.h"

#include "util.h"

static const struct iscsi_target_conf limits = {
	.max_connections = 4,
	.error_recovery_level = 1,
	.initial_r2t = false,
	.immediate_data = true,
	.header_digest = { 2, { ISCSI_DIGEST_NONE, ISCSI_DIGEST_CRC32C } },
	.data_digest = { 1, { ISCSI_DIGEST_NONE } },
	.first_burst = 262144,
	.max_burst = 1048576,
	.max_outstanding_r2t = 4,
};

static struct iscsi_params params;
static struct keys keys;
static char buf[4096];
static struct text_out out;

static int
begin(void **state)
{
	params_default(&params);
	keys = (struct keys){ .params = &params, .conf = &limits };
	out = (struct text_out){ buf, sizeof(buf), 0, false };
	return 0;
}

/* Offers key=value; the answer's value, "" for none, or "!" when refused. */
static const char *
offer_at(enum key_place place, const char *key, const char *value)
{
	struct text_pair p = { .value = value, .len = strlen(value) };
	size_t at = out.len, k = strlen(key);

	memcpy(p.key, key, k + 1);
	if (keys_take(&keys, place, &p, &out) != 0) {
		assert_int_equal(out.len, at);
		assert_non_null(strstr(keys.why, key));
		return "!";
	}
	if (out.len == at)
		return "";
	assert_memory_equal(buf + at, key, k);
	assert_int_equal(buf[at + k], '=');
	return buf + at + k + 1;
}

static const char *
offer(const char *key, const char *value)
{
	return offer_at(KEY_OPERATIONAL, key, value);
}

/* L08: the RFC's defaults, not the configuration's. */
static void
what_is_never_offered_has_the_defaults_of_the_rfc(void **state)
{
	assert_true(params.initial_r2t);
	assert_true(params.immediate_data);
	assert_true(params.data_pdu_in_order);
	assert_true(params.data_sequence_in_order);
	assert_false(params.header_digest);
	assert_false(params.data_digest);
	assert_int_equal(params.max_connections, 1);
	assert_int_equal(params.max_outstanding_r2t, 1);
	assert_int_equal(params.max_burst, 262144);
	assert_int_equal(params.first_burst, 65536);
	assert_int_equal(params.max_xmit_dsl, 8192);
	assert_int_equal(params.time2wait, 2);
	assert_int_equal(params.time2retain, 20);
	assert_int_equal(params.error_recovery_level, 0);
	assert_int_equal(params.type, ISCSI_NORMAL);
	assert_int_equal(keys_finish(&keys), 0);
	assert_int_equal(params.first_burst, 65536);
}

struct offer_case {
	const char *key, *value, *answer;
};

static void
offers_are_answered(const struct offer_case *c, size_t n)
{
	const char *answer;
	size_t i;

	for (i = 0; i < n; i++) {
		begin(NULL);
		answer = offer(c[i].key, c[i].value);
		if (strcmp(answer, c[i].answer) != 0)
			print_error("%s=%s: %s\n", c[i].key, c[i].value, keys.why);
		assert_string_equal(answer, c[i].answer);
	}
}

static void
booleans_are_and_or_or(void **state)
{
	static const struct offer_case cases[] = {
		{ "InitialR2T", "Yes", "Yes" }, { "InitialR2T", "No", "No" },
		{ "ImmediateData", "Yes", "Yes" }, { "ImmediateData", "No", "No" },
		{ "DataPDUInOrder", "Yes", "Yes" }, { "DataPDUInOrder", "No", "Yes" },
		{ "DataSequenceInOrder", "Yes", "Yes" }, { "DataSequenceInOrder", "No", "Yes" },
		{ "InitialR2T", "yes", "!" }, { "InitialR2T", "", "!" }, { "InitialR2T", "1", "!" },
		{ "ImmediateData", "Yes ", "!" }, { "ImmediateData", "Yes,No", "!" },
	};

	offers_are_answered(cases, ARRAY_LEN(cases));
	begin(NULL);
	offer("InitialR2T", "No");
	offer("ImmediateData", "No");
	assert_false(params.initial_r2t);
	assert_false(params.immediate_data);
}

static void
this_side_can_insist_on_r2t_and_refuse_immediate_data(void **state)
{
	struct iscsi_target_conf strict = limits;

	strict.initial_r2t = true;
	strict.immediate_data = false;
	keys.conf = &strict;
	assert_string_equal(offer("InitialR2T", "No"), "Yes");
	assert_string_equal(offer("ImmediateData", "Yes"), "No");
	assert_true(params.initial_r2t);
	assert_false(params.immediate_data);
}

static void
numbers_are_the_smaller_or_the_larger(void **state)
{
	static const struct offer_case cases[] = {
		{ "MaxConnections", "1", "1" },
		{ "MaxConnections", "65535", "4" },
		{ "MaxConnections", "0", "!" },
		{ "MaxConnections", "65536", "!" },
		{ "MaxBurstLength", "512", "512" },
		{ "MaxBurstLength", "16777215", "1048576" },
		{ "MaxBurstLength", "511", "!" },
		{ "MaxBurstLength", "16777216", "!" },
		{ "FirstBurstLength", "0x10000", "65536" },
		{ "FirstBurstLength", "16777215", "262144" },
		{ "FirstBurstLength", "-1", "!" },
		{ "FirstBurstLength", "64K", "!" },
		{ "MaxOutstandingR2T", "1", "1" },
		{ "MaxOutstandingR2T", "16", "4" },
		{ "MaxOutstandingR2T", "0", "!" },
		{ "DefaultTime2Wait", "0", "2" },
		{ "DefaultTime2Wait", "5", "5" },
		{ "DefaultTime2Wait", "3601", "!" },
		{ "DefaultTime2Retain", "0", "0" },
		{ "DefaultTime2Retain", "3600", "20" },
		{ "ErrorRecoveryLevel", "0", "0" },
		{ "ErrorRecoveryLevel", "2", "1" },
		{ "ErrorRecoveryLevel", "3", "!" },
		{ "iSCSIProtocolLevel", "0", "0" },
		{ "iSCSIProtocolLevel", "2", "1" },
		{ "iSCSIProtocolLevel", "32", "!" },
	};

	offers_are_answered(cases, ARRAY_LEN(cases));
}

static void
outcomes_are_kept(void **state)
{
	offer("MaxConnections", "2");
	offer("MaxBurstLength", "0x80000");
	offer("FirstBurstLength", "4096");
	offer("MaxOutstandingR2T", "3");
	offer("DefaultTime2Wait", "7");
	offer("DefaultTime2Retain", "8");
	offer("ErrorRecoveryLevel", "1");
	assert_int_equal(params.max_connections, 2);
	assert_int_equal(params.max_burst, 524288);
	assert_int_equal(params.first_burst, 4096);
	assert_int_equal(params.max_outstanding_r2t, 3);
	assert_int_equal(params.time2wait, 7);
	assert_int_equal(params.time2retain, 8);
	assert_int_equal(params.error_recovery_level, 1);
	assert_int_equal(keys_finish(&keys), 0);
}

/* L12: out of range is an error, in range needs no answer. */
static void
the_receive_limit_is_declared(void **state)
{
	static const struct offer_case cases[] = {
		{ "MaxRecvDataSegmentLength", "512", "" },
		{ "MaxRecvDataSegmentLength", "16777215", "" },
		{ "MaxRecvDataSegmentLength", "511", "!" },
		{ "MaxRecvDataSegmentLength", "16777216", "!" },
		{ "MaxRecvDataSegmentLength", "", "!" },
	};

	offers_are_answered(cases, ARRAY_LEN(cases));
	begin(NULL);
	offer("MaxRecvDataSegmentLength", "262144");
	assert_int_equal(params.max_xmit_dsl, 262144);
}

static void
the_first_allowed_digest_of_the_initiator_wins(void **state)
{
	static const struct offer_case cases[] = {
		{ "HeaderDigest", "CRC32C,None", "CRC32C" },
		{ "HeaderDigest", "None,CRC32C", "None" },
		{ "HeaderDigest", "X-foo,CRC32C", "CRC32C" },
		{ "HeaderDigest", "CRC32C", "CRC32C" },
		{ "HeaderDigest", ",CRC32C", "CRC32C" },
		{ "HeaderDigest", "crc32c", "!" },
		{ "HeaderDigest", "CRC32CC", "!" },
		{ "HeaderDigest", "", "!" },
		{ "DataDigest", "CRC32C,None", "None" },
		{ "DataDigest", "CRC32C", "!" },
	};

	offers_are_answered(cases, ARRAY_LEN(cases));
	begin(NULL);
	offer("HeaderDigest", "CRC32C");
	offer("DataDigest", "None");
	assert_true(params.header_digest);
	assert_false(params.data_digest);
}

/* L09: nothing is agreed on in discovery that is not done there. */
static void
a_discovery_session_gets_no_digest_and_no_session_keys(void **state)
{
	static const char *const irrelevant[] = { "MaxConnections", "InitialR2T", "ImmediateData",
		"MaxBurstLength", "FirstBurstLength", "MaxOutstandingR2T", "DataPDUInOrder",
		"DataSequenceInOrder", "TaskReporting", "iSCSIProtocolLevel" };
	size_t i;

	assert_string_equal(offer("SessionType", "Discovery"), "");
	assert_int_equal(params.type, ISCSI_DISCOVERY);
	keys.conf = &discovery_limits;
	assert_string_equal(offer("HeaderDigest", "CRC32C,None"), "None");
	assert_string_equal(offer("DataDigest", "CRC32C,None"), "None");
	assert_string_equal(offer("MaxRecvDataSegmentLength", "32768"), "");
	assert_string_equal(offer("ErrorRecoveryLevel", "2"), "0");
	for (i = 0; i < ARRAY_LEN(irrelevant); i++)
		assert_string_equal(offer(irrelevant[i], "1"), "Irrelevant");
	assert_int_equal(params.max_connections, 1);
}

static void
obsolete_marker_keys_are_declined(void **state)
{
	static const struct offer_case cases[] = {
		{ "IFMarker", "No", "No" }, { "OFMarker", "Yes", "No" },
		{ "IFMarkInt", "2048~8192", "Reject" }, { "OFMarkInt", "2048", "Reject" },
	};

	offers_are_answered(cases, ARRAY_LEN(cases));
}

static void
task_reporting_is_what_rfc_3720_had(void **state)
{
	static const struct offer_case cases[] = {
		{ "TaskReporting", "FastAbort,RFC3720", "RFC3720" },
		{ "TaskReporting", "FastAbort", "Reject" },
	};

	offers_are_answered(cases, ARRAY_LEN(cases));
}

static void
unknown_keys_are_not_understood(void **state)
{
	static const char *const names[] = { "X-com.example.foo", "X#NodeArchitecture",
		"RDMAExtensions", "maxburstlength", "MaxBurstLengthX", "A" };
	char longest[TEXT_KEY_MAX + 1];
	size_t i;

	for (i = 0; i < ARRAY_LEN(names); i++)
		assert_string_equal(offer(names[i], "1"), "NotUnderstood");
	memset(longest, 'A', TEXT_KEY_MAX);
	longest[TEXT_KEY_MAX] = '\0';
	assert_string_equal(offer(longest, "1"), "NotUnderstood");
	assert_string_equal(offer_at(KEY_SECURITY, "RDMAExtensions", "Yes"), "NotUnderstood");
}

static void
keys_have_their_stage(void **state)
{
	assert_string_equal(offer_at(KEY_SECURITY, "MaxBurstLength", "65536"), "!");
	assert_string_equal(offer_at(KEY_SECURITY, "HeaderDigest", "None"), "!");
	assert_string_equal(offer_at(KEY_SECURITY, "InitiatorAlias", "host"), "");
	assert_string_equal(offer_at(KEY_FULL, "MaxBurstLength", "65536"), "!");
	assert_string_equal(offer_at(KEY_FULL, "InitiatorName", "iqn.2026-11.com.example:a"), "!");
	assert_string_equal(offer_at(KEY_FULL, "MaxRecvDataSegmentLength", "65536"), "");
	assert_string_equal(offer("SendTargets", "All"), "!");
	assert_string_equal(offer("AuthMethod", "None"), "!");
	assert_int_equal(params.max_burst, 262144);
}

/* Only the target may say these; that the initiator does not care is no error. */
static void
target_keys_are_refused(void **state)
{
	assert_string_equal(offer("TargetPortalGroupTag", "1"), "!");
	assert_string_equal(offer("TargetAddress", "10.0.0.1:3260,1"), "!");
	assert_string_equal(offer("TargetAlias", "mine"), "!");
	assert_string_equal(offer("TargetAlias", "NotUnderstood"), "");
}

/* L06 c, d: the second offer is refused, the first outcome stays. */
static void
a_key_is_not_offered_twice(void **state)
{
	assert_string_equal(offer("MaxBurstLength", "65536"), "65536");
	assert_string_equal(offer("MaxBurstLength", "65536"), "!");
	assert_string_equal(offer("MaxRecvDataSegmentLength", "65536"), "");
	assert_string_equal(offer("MaxRecvDataSegmentLength", "4096"), "!");
	assert_int_equal(params.max_xmit_dsl, 65536);
}

/* L06 a, b */
static void
identity_may_be_repeated_but_not_changed(void **state)
{
	assert_string_equal(
	    offer_at(KEY_SECURITY, "InitiatorName", "iqn.2026-11.com.example:A"), "");
	assert_string_equal(offer("InitiatorName", "iqn.2026-11.com.example:a"), "");
	assert_string_equal(offer("InitiatorName", "iqn.2026-11.com.example:b"), "!");
	assert_string_equal(params.initiator, "iqn.2026-11.com.example:a");
	assert_string_equal(offer("SessionType", "Normal"), "");
	assert_string_equal(offer("SessionType", "Normal"), "");
	assert_string_equal(offer("SessionType", "Discovery"), "!");
	assert_string_equal(offer("SessionType", "Other"), "!");
}

/* L24 */
static void
names_are_checked_and_lowered(void **state)
{
	char name[300] = "iqn.2026-11.com.example:";

	memset(name + 24, 'n', 223 - 24);
	name[223] = '\0';
	assert_string_equal(offer("InitiatorName", name), "");
	begin(NULL);
	name[223] = 'n';
	name[224] = '\0';
	assert_string_equal(offer("InitiatorName", name), "!");
	assert_string_equal(offer("InitiatorName", ""), "!");
	assert_string_equal(offer("InitiatorName", "iqn."), "!");
	assert_string_equal(offer("InitiatorName", "iqn.2026-11.com.example:a/../b"), "!");
	assert_string_equal(offer("InitiatorName", "eui.02004567A425678"), "!");
	assert_string_equal(offer("InitiatorName", "iqn.2026-11.com.example:a\nb"), "!");
	assert_null(strchr(keys.why, '\n'));
	assert_string_equal(offer("InitiatorName", "EUI.02004567A425678D"), "");
	assert_string_equal(params.initiator, "eui.02004567a425678d");
}

static void
a_refusal_never_carries_raw_text(void **state)
{
	const char *at;

	assert_string_equal(offer("MaxBurstLength", "\x1b[2J\xff\n%n%s"), "!");
	for (at = keys.why; *at != '\0'; at++)
		assert_true(*at >= 0x20 && *at < 0x7f);
}

static void
an_alias_fits_or_is_refused(void **state)
{
	char alias[300];

	memset(alias, 'a', sizeof(alias));
	alias[255] = '\0';
	assert_string_equal(offer("InitiatorAlias", alias), "");
	assert_string_equal(params.initiator_alias, alias);
	begin(NULL);
	alias[255] = 'a';
	alias[256] = '\0';
	assert_string_equal(offer("InitiatorAlias", alias), "!");
}

static void
a_first_burst_above_the_max_burst_is_refused(void **state)
{
	offer("MaxBurstLength", "65536");
	offer("FirstBurstLength", "131072");
	assert_int_equal(keys_finish(&keys), -EPROTO);
	assert_non_null(strstr(keys.why, "FirstBurstLength"));
}

static void
a_first_burst_never_offered_gives_way(void **state)
{
	offer("MaxBurstLength", "8192");
	assert_int_equal(keys_finish(&keys), 0);
	assert_int_equal(params.first_burst, 8192);
}

/* Our own limits never make a conflict of offers that had none, in either order. */
static void
our_limits_keep_the_first_burst_below_the_max_burst(void **state)
{
	struct iscsi_target_conf crossed = limits;

	crossed.max_burst = 65536;
	keys.conf = &crossed;
	assert_string_equal(offer("FirstBurstLength", "262144"), "65536");
	assert_string_equal(offer("MaxBurstLength", "262144"), "65536");
	assert_int_equal(keys_finish(&keys), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(what_is_never_offered_has_the_defaults_of_the_rfc, begin),
		cmocka_unit_test_setup(booleans_are_and_or_or, begin),
		cmocka_unit_test_setup(
		    this_side_can_insist_on_r2t_and_refuse_immediate_data, begin),
		cmocka_unit_test_setup(numbers_are_the_smaller_or_the_larger, begin),
		cmocka_unit_test_setup(outcomes_are_kept, begin),
		cmocka_unit_test_setup(the_receive_limit_is_declared, begin),
		cmocka_unit_test_setup(the_first_allowed_digest_of_the_initiator_wins, begin),
		cmocka_unit_test_setup(
		    a_discovery_session_gets_no_digest_and_no_session_keys, begin),
		cmocka_unit_test_setup(obsolete_marker_keys_are_declined, begin),
		cmocka_unit_test_setup(task_reporting_is_what_rfc_3720_had, begin),
		cmocka_unit_test_setup(unknown_keys_are_not_understood, begin),
		cmocka_unit_test_setup(keys_have_their_stage, begin),
		cmocka_unit_test_setup(target_keys_are_refused, begin),
		cmocka_unit_test_setup(a_key_is_not_offered_twice, begin),
		cmocka_unit_test_setup(identity_may_be_repeated_but_not_changed, begin),
		cmocka_unit_test_setup(names_are_checked_and_lowered, begin),
		cmocka_unit_test_setup(a_refusal_never_carries_raw_text, begin),
		cmocka_unit_test_setup(an_alias_fits_or_is_refused, begin),
		cmocka_unit_test_setup(a_first_burst_above_the_max_burst_is_refused, begin),
		cmocka_unit_test_setup(a_first_burst_never_offered_gives_way, begin),
		cmocka_unit_test_setup(our_limits_keep_the_first_burst_below_the_max_burst, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
