/* CHAP: known answers, both directions, and the tricks that must not work. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/iscsi/chap.h"

#include "conf.h"
#include "util.h"

#define USER "host1"
#define SECRET "a secret of 16 b"
#define TARGET_USER "store"
#define TARGET_SECRET "another secret.."

static struct conf_auth auth;
static struct chap chap;
static char buf[4096];
static struct text_out out;
static const char *why;

static int
begin(void **state)
{
	auth = (struct conf_auth){
		.user = (char *)USER, .secret = (char *)SECRET,
		.mutual_user = (char *)TARGET_USER, .mutual_secret = (char *)TARGET_SECRET,
		.algorithms = { 4, { CHAP_SHA3_256, CHAP_SHA256, CHAP_SHA1, CHAP_MD5 } },
	};
	out = (struct text_out){ buf, sizeof(buf), 0, false };
	why = NULL;
	chap_init(&chap);
	return 0;
}

static int
end(void **state)
{
	chap_fini(&chap);
	return 0;
}

/* One step of a conversation with keys given as a, n, r, i, c. */
static enum chap_verdict
step_of(struct chap *ch, const char *a, const char *n, const char *r, const char *i, const char *c)
{
	const struct chap_keys k = { a, n, r, i, c };
	enum chap_verdict v;

	out.len = 0;
	v = chap_step(ch, &auth, &k, &out, &why);
	if (v != CHAP_GOES_ON) {
		assert_non_null(why);
		assert_null(strstr(why, SECRET));
		assert_int_equal(out.len, 0);
		assert_int_equal(ch->state, CHAP_OVER);
	}
	return v;
}

/* The value of a key of the last answer, or NULL. */
static const char *
answer(const char *key)
{
	struct text_in in = { buf, out.len, 0 };
	struct text_pair p;

	while (text_next(&in, &p) > 0)
		if (strcmp(p.key, key) == 0)
			return p.value;
	return NULL;
}

/* Digests computed here, not by the code under test. */
static unsigned
digest(const char *name, unsigned id, const char *secret, const uint8_t *c, size_t len, uint8_t *d)
{
	uint8_t m[1 + 256 + 1024];
	size_t n = strlen(secret);
	unsigned out_len = 0;

	m[0] = (uint8_t)id;
	memcpy(m + 1, secret, n);
	memcpy(m + 1 + n, c, len);
	assert_int_equal(
	    EVP_Digest(m, 1 + n + len, d, &out_len, EVP_get_digestbyname(name), NULL), 1);
	return out_len;
}

static const char *
hex(const uint8_t *p, size_t n)
{
	static char texts[4][2 * 1024 + 3];
	static unsigned turn;
	char *text = texts[turn++ % ARRAY_LEN(texts)];
	size_t i;

	strcpy(text, "0x");
	for (i = 0; i < n; i++)
		sprintf(text + 2 + 2 * i, "%02x", p[i]);
	return text;
}

/* The right response to the conversation's challenge. */
static const char *
response(const struct chap *ch, const char *name, const char *secret)
{
	uint8_t d[64];
	unsigned n;

	n = digest(name, ch->id, secret, ch->challenge, ch->challenge_len, d);
	return hex(d, n);
}

static void
challenged(const char *a)
{
	assert_int_equal(step_of(&chap, a, NULL, NULL, NULL, NULL), CHAP_GOES_ON);
	assert_int_equal(chap.state, CHAP_WANT_RESPONSE);
}

static void
digests_have_known_answers(void **state)
{
	static const struct {
		int alg;
		const char *hex;
	} cases[] = {
		{ CHAP_MD5, "0xa2e30ede851fefc5587285a260624dc8" },
		{ CHAP_SHA1, "0xfbd487c1f7fc69cd055cfae28925a55baeb294c0" },
		{ CHAP_SHA256,
		    "0x1bb8f0bb5cf65959a5f7be921ea84d52d58ec04278b63fcc814d53963fd0ba20" },
		{ CHAP_SHA3_256,
		    "0xbb095da82bee3b52cc2518268b177fb77f0517e389dab5f52b36251639380480" },
	};
	uint8_t challenge[16], d[CHAP_DIGEST_MAX];
	unsigned n;
	size_t i;

	for (i = 0; i < sizeof(challenge); i++)
		challenge[i] = (uint8_t)i;
	for (i = 0; i < ARRAY_LEN(cases); i++) {
		n = chap_digest(cases[i].alg, 0x23, SECRET, challenge, sizeof(challenge), d);
		assert_string_equal(hex(d, n), cases[i].hex);
	}
}

static const struct {
	const char *number, *name;
	unsigned len;
} algs[] = {
	{ "5", "MD5", 16 }, { "6", "SHA1", 20 }, { "7", "SHA256", 32 }, { "8", "SHA3-256", 32 },
};

static void
one_way_succeeds_with_each_algorithm(void **state)
{
	uint8_t sent[64];
	uint64_t id;
	size_t i, len;

	for (i = 0; i < ARRAY_LEN(algs); i++) {
		begin(NULL);
		challenged(algs[i].number);
		assert_string_equal(answer("CHAP_A"), algs[i].number);
		assert_int_equal(text_number(answer("CHAP_I"), 255, &id), 0);
		assert_int_equal(id, chap.id);
		assert_int_equal(text_binary(answer("CHAP_C"), sent, sizeof(sent), &len), 0);
		assert_int_equal(len, algs[i].len);
		assert_memory_equal(sent, chap.challenge, len);
		assert_int_equal(
		    step_of(&chap, NULL, USER, response(&chap, algs[i].name, SECRET), NULL, NULL),
		    CHAP_GOES_ON);
		assert_int_equal(chap.state, CHAP_PROVED);
		assert_int_equal(out.len, 0);
		end(NULL);
	}
	begin(NULL);
}

static void
mutual_succeeds_with_each_algorithm(void **state)
{
	uint8_t challenge[1024], d[64];
	unsigned n;
	size_t i;

	memset(challenge, 0xc5, sizeof(challenge));
	for (i = 0; i < ARRAY_LEN(algs); i++) {
		begin(NULL);
		challenged(algs[i].number);
		assert_int_equal(step_of(&chap, NULL, USER, response(&chap, algs[i].name, SECRET),
				     "200", hex(challenge, sizeof(challenge))),
		    CHAP_GOES_ON);
		assert_int_equal(chap.state, CHAP_PROVED);
		n = digest(algs[i].name, 200, TARGET_SECRET, challenge, sizeof(challenge), d);
		assert_string_equal(answer("CHAP_N"), TARGET_USER);
		assert_string_equal(answer("CHAP_R"), hex(d, n));
		end(NULL);
	}
	begin(NULL);
}

/* C08: bytes above 0x7f are bytes like others. */
static void
mutual_succeeds_256_times(void **state)
{
	char secret[32];
	uint8_t challenge[16], d[64];
	int i;

	for (i = 0; i < 256; i++) {
		begin(NULL);
		snprintf(secret, sizeof(secret), "secret number %d\xff\x80", i);
		auth.secret = secret;
		memset(challenge, i, sizeof(challenge));
		challenged("5");
		assert_int_equal(step_of(&chap, NULL, USER, response(&chap, "MD5", secret), "0xff",
		    hex(challenge, sizeof(challenge))), CHAP_GOES_ON);
		digest("MD5", 255, TARGET_SECRET, challenge, sizeof(challenge), d);
		assert_string_equal(answer("CHAP_R"), hex(d, 16));
		end(NULL);
	}
	begin(NULL);
}

/* C05: the first of the initiator's list that is allowed here, by exact token. */
static void
the_first_supported_algorithm_is_taken(void **state)
{
	static const struct {
		const char *list, *taken;
	} cases[] = {
		{ "7,6,5", "7" },
		{ "5", "5" },
		{ "5,7", "5" },
		{ "8", "8" },
		{ ",5", "5" },
		{ "5,", "5" },
		{ "99,123,6", "6" },
		{ "05", NULL },
		{ "55", NULL },
		{ "", NULL },
		{ "1,2,3", NULL },
		{ "0x5", NULL },
		{ " 5", NULL },
		{ "57,75", NULL },
	};
	size_t i;

	for (i = 0; i < ARRAY_LEN(cases); i++) {
		begin(NULL);
		assert_int_equal(step_of(&chap, cases[i].list, NULL, NULL, NULL, NULL),
		    cases[i].taken != NULL ? CHAP_GOES_ON : CHAP_MALFORMED);
		if (cases[i].taken != NULL)
			assert_string_equal(answer("CHAP_A"), cases[i].taken);
		end(NULL);
	}
	begin(NULL);
}

static void
an_algorithm_that_is_not_allowed_is_passed_over(void **state)
{
	auth.algorithms = (struct conf_words){ 1, { CHAP_SHA256 } };
	challenged("5,6,8,7");
	assert_string_equal(answer("CHAP_A"), "7");
}

static void
a_list_of_a_thousand_is_searched(void **state)
{
	char list[8192] = "";
	int i;

	for (i = 1000; i < 2000; i++)
		sprintf(list + strlen(list), "%d,", i);
	strcat(list, "6");
	challenged(list);
	assert_string_equal(answer("CHAP_A"), "6");
}

/* C03: exactly the digest's length; nothing is written past it. */
static void
a_response_of_another_length_is_wrong(void **state)
{
	static const size_t digits[] = { 2, 30, 34, 64, 1024, 2048, 4096 };
	char text[4200];
	size_t i;

	for (i = 0; i < ARRAY_LEN(digits); i++) {
		begin(NULL);
		challenged("5");
		strcpy(text, "0x");
		memset(text + 2, 'a', digits[i]);
		text[2 + digits[i]] = '\0';
		assert_int_equal(step_of(&chap, NULL, USER, text, NULL, NULL), CHAP_FAILED);
		end(NULL);
	}
	begin(NULL);
}

/* The right digest with a byte more or less is no response. */
static void
a_longer_or_shorter_right_response_is_wrong(void **state)
{
	char text[80];

	challenged("5");
	snprintf(text, sizeof(text), "%s00", response(&chap, "MD5", SECRET));
	assert_int_equal(step_of(&chap, NULL, USER, text, NULL, NULL), CHAP_FAILED);
	end(NULL);
	begin(NULL);
	challenged("5");
	snprintf(text, sizeof(text), "%.32s", response(&chap, "MD5", SECRET));
	assert_int_equal(step_of(&chap, NULL, USER, text, NULL, NULL), CHAP_FAILED);
}

static void
a_response_that_does_not_decode_is_malformed(void **state)
{
	static const char *const bad[] = { "", "0x", "0xabc", "0xzz", "1234", "0b", "0b===", "0bA",
		"0b!!!!" };
	size_t i;

	for (i = 0; i < ARRAY_LEN(bad); i++) {
		begin(NULL);
		challenged("5");
		assert_int_equal(step_of(&chap, NULL, USER, bad[i], NULL, NULL), CHAP_MALFORMED);
		end(NULL);
	}
	begin(NULL);
}

static void
a_response_in_base64_or_capitals_is_taken(void **state)
{
	uint8_t d[64];
	char text[128] = "0b";
	size_t i;

	challenged("7");
	digest("SHA256", chap.id, SECRET, chap.challenge, chap.challenge_len, d);
	EVP_EncodeBlock((unsigned char *)text + 2, d, 32);
	assert_int_equal(step_of(&chap, NULL, USER, text, NULL, NULL), CHAP_GOES_ON);
	end(NULL);
	begin(NULL);
	challenged("5");
	snprintf(text, sizeof(text), "%s", response(&chap, "MD5", SECRET));
	for (i = 1; text[i] != '\0'; i++)
		text[i] = text[i] >= 'a' ? (char)(text[i] - 32) : text[i];
	assert_int_equal(step_of(&chap, NULL, USER, text, NULL, NULL), CHAP_GOES_ON);
}

static void
the_wrong_secret_fails_and_ends_it(void **state)
{
	challenged("5");
	assert_int_equal(
	    step_of(&chap, NULL, USER, response(&chap, "MD5", "wrong secret"), NULL, NULL),
	    CHAP_FAILED);
	/* A second try at the same challenge is not answered either. */
	assert_int_equal(step_of(&chap, NULL, USER, response(&chap, "MD5", SECRET), NULL, NULL),
	    CHAP_MALFORMED);
}

/* C06: a name is text, also when it looks like a number. */
static void
the_user_is_compared_byte_for_byte(void **state)
{
	static const struct {
		const char *configured, *sent;
		bool same;
	} cases[] = {
		{ "0xadmin", "0xadmin", true },
		{ "0bob", "0bob", true },
		{ "0x", "0x", true },
		{ "0xadmin", "admin", false },
		{ "admin", "0xadmin", false },
		{ "admin", "Admin", false },
		{ "admin", "admin ", false },
		{ "admin", "", false },
		{ "0x61", "a", false },
	};
	size_t i;

	for (i = 0; i < ARRAY_LEN(cases); i++) {
		begin(NULL);
		auth.user = (char *)cases[i].configured;
		challenged("5");
		assert_int_equal(
		    step_of(&chap, NULL, cases[i].sent, response(&chap, "MD5", SECRET), NULL, NULL),
		    cases[i].same ? CHAP_GOES_ON : CHAP_FAILED);
		end(NULL);
	}
	begin(NULL);
}

static void
the_target_proves_nothing_to_who_has_not(void **state)
{
	challenged("5");
	assert_int_equal(step_of(&chap, NULL, USER, response(&chap, "MD5", "wrong secret"), "1",
	    "0x00112233445566778899aabbccddeeff"), CHAP_FAILED);
	assert_null(answer("CHAP_R"));
}

static void
a_proof_that_is_not_configured_is_not_given(void **state)
{
	auth.mutual_user = auth.mutual_secret = NULL;
	challenged("5");
	assert_int_equal(step_of(&chap, NULL, USER, response(&chap, "MD5", SECRET), "1",
	    "0x00112233445566778899aabbccddeeff"), CHAP_FAILED);
}

/* C02: the challenge of conversation A offered on B, in every spelling. */
static void
our_own_challenge_is_not_answered(void **state)
{
	struct chap other;
	char base64[128] = "0b", upper[128], zeros[128];
	const char *spelling[4];
	size_t i, j;

	challenged("5");
	EVP_EncodeBlock((unsigned char *)base64 + 2, chap.challenge, (int)chap.challenge_len);
	spelling[0] = hex(chap.challenge, chap.challenge_len);
	snprintf(zeros, sizeof(zeros), "0x0000%s", spelling[0] + 2);
	snprintf(upper, sizeof(upper), "0X%s", spelling[0] + 2);
	for (j = 2; upper[j] != '\0'; j++)
		upper[j] = upper[j] >= 'a' ? (char)(upper[j] - 32) : upper[j];
	spelling[1] = base64;
	spelling[2] = upper;
	spelling[3] = zeros;
	for (i = 0; i < ARRAY_LEN(spelling); i++) {
		chap_init(&other);
		assert_int_equal(step_of(&other, "5", NULL, NULL, NULL, NULL), CHAP_GOES_ON);
		assert_int_equal(step_of(&other, NULL, USER, response(&other, "MD5", SECRET), "1",
		    spelling[i]), CHAP_FAILED);
		assert_non_null(strstr(why, "sent back"));
		chap_fini(&other);
	}
	/* And A's own challenge on A. */
	assert_int_equal(
	    step_of(&chap, NULL, USER, response(&chap, "MD5", SECRET), "1", spelling[1]),
	    CHAP_FAILED);
}

static void
a_challenge_is_outstanding_until_its_response(void **state)
{
	struct chap other;
	char old[128];

	challenged("5");
	snprintf(old, sizeof(old), "%s", hex(chap.challenge, chap.challenge_len));
	assert_int_equal(step_of(&chap, NULL, USER, response(&chap, "MD5", SECRET), NULL, NULL),
	    CHAP_GOES_ON);
	chap_init(&other);
	assert_int_equal(step_of(&other, "5", NULL, NULL, NULL, NULL), CHAP_GOES_ON);
	assert_int_equal(step_of(&other, NULL, USER, response(&other, "MD5", SECRET), "1", old),
	    CHAP_GOES_ON);
	chap_fini(&other);
}

static void
challenges_differ(void **state)
{
	struct chap other;

	challenged("7");
	chap_init(&other);
	assert_int_equal(step_of(&other, "7", NULL, NULL, NULL, NULL), CHAP_GOES_ON);
	assert_memory_not_equal(other.challenge, chap.challenge, 32);
	chap_fini(&other);
}

static void
keys_out_of_order_are_malformed(void **state)
{
	static const struct chap_keys first[] = {
		{ .n = USER }, { .a = "5", .n = USER }, { .r = "0x00" }, { .i = "1", .c = "0x00" },
		{ .a = "5", .i = "1", .c = "0x00" },
	};
	static const struct chap_keys second[] = {
		{ .a = "5" },
		{ .n = USER },
		{ .r = "0x00" },
		{ .n = USER, .r = "0x00", .i = "1" },
		{ .n = USER, .r = "0x00", .c = "0x00" },
		{ .a = "5", .n = USER, .r = "0x00" },
		{ .n = USER, .r = "0x00", .i = "256", .c = "0x00" },
		{ .n = USER, .r = "0x00", .i = "1", .c = "7" },
	};
	size_t i;

	for (i = 0; i < ARRAY_LEN(first); i++) {
		begin(NULL);
		assert_int_equal(chap_step(&chap, &auth, &first[i], &out, &why), CHAP_MALFORMED);
		end(NULL);
	}
	for (i = 0; i < ARRAY_LEN(second); i++) {
		begin(NULL);
		challenged("5");
		assert_int_equal(chap_step(&chap, &auth, &second[i], &out, &why), CHAP_MALFORMED);
		end(NULL);
	}
	begin(NULL);
}

static void
a_challenge_above_1024_bytes_is_malformed(void **state)
{
	char text[2 + 2050 + 1] = "0x";

	memset(text + 2, 'a', 2050);
	challenged("5");
	assert_int_equal(step_of(&chap, NULL, USER, response(&chap, "MD5", SECRET), "1", text),
	    CHAP_MALFORMED);
}

static void
an_empty_request_changes_nothing(void **state)
{
	assert_int_equal(step_of(&chap, NULL, NULL, NULL, NULL, NULL), CHAP_GOES_ON);
	assert_int_equal(chap.state, CHAP_WANT_ALGORITHM);
	challenged("5");
	assert_int_equal(step_of(&chap, NULL, NULL, NULL, NULL, NULL), CHAP_GOES_ON);
	assert_int_equal(chap.state, CHAP_WANT_RESPONSE);
}

static void
chap_keys_are_told_apart(void **state)
{
	struct chap_keys k = { 0 };
	struct text_pair p = { .key = "CHAP_A", .value = "5", .len = 1 };

	assert_true(chap_keys_take(&k, &p));
	assert_ptr_equal(k.a, p.value);
	assert_false(chap_keys_take(&k, &p));
	strcpy(p.key, "CHAP_X");
	assert_false(chap_keys_take(&k, &p));
	strcpy(p.key, "CHAP_");
	assert_false(chap_keys_take(&k, &p));
	strcpy(p.key, "CHAP_NN");
	assert_false(chap_keys_take(&k, &p));
	strcpy(p.key, "CHAP_C");
	assert_true(chap_keys_take(&k, &p));
	assert_ptr_equal(k.c, p.value);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(digests_have_known_answers),
		TEST(one_way_succeeds_with_each_algorithm),
		TEST(mutual_succeeds_with_each_algorithm),
		TEST(mutual_succeeds_256_times),
		TEST(the_first_supported_algorithm_is_taken),
		TEST(an_algorithm_that_is_not_allowed_is_passed_over),
		TEST(a_list_of_a_thousand_is_searched),
		TEST(a_response_of_another_length_is_wrong),
		TEST(a_longer_or_shorter_right_response_is_wrong),
		TEST(a_response_that_does_not_decode_is_malformed),
		TEST(a_response_in_base64_or_capitals_is_taken),
		TEST(the_wrong_secret_fails_and_ends_it),
		TEST(the_user_is_compared_byte_for_byte),
		TEST(the_target_proves_nothing_to_who_has_not),
		TEST(a_proof_that_is_not_configured_is_not_given),
		TEST(our_own_challenge_is_not_answered),
		TEST(a_challenge_is_outstanding_until_its_response),
		TEST(challenges_differ),
		TEST(keys_out_of_order_are_malformed),
		TEST(a_challenge_above_1024_bytes_is_malformed),
		TEST(an_empty_request_changes_nothing),
		TEST(chap_keys_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
