/* Log lines, their limits, and text into small buffers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "util.h"

#include "daemon/log_limit.h"

#define SECOND 1000000000ull

/* -- text -- */

static void
text_add_cuts_and_clamps(void **state)
{
	char buf[8];
	size_t at = 0;

	text_add(buf, sizeof(buf), &at, "%s", "abc");
	assert_string_equal(buf, "abc");
	assert_int_equal(at, 3);
	text_add(buf, sizeof(buf), &at, "%d", 123456);
	assert_string_equal(buf, "abc1234");
	assert_int_equal(at, 7);
	text_add(buf, sizeof(buf), &at, "more");
	assert_string_equal(buf, "abc1234");
	assert_int_equal(at, 7);
	/* A position past the end is not followed. */
	at = 100;
	text_add(buf, sizeof(buf), &at, "more");
	assert_int_equal(at, 100);
	at = 0;
	text_add(buf, 0, &at, "more");
	text_add(buf, 1, &at, "more");
	assert_int_equal(at, 0);
}

static void
log_text_escapes_what_is_not_plain(void **state)
{
	char buf[64], small[6];

	assert_string_equal(log_text(buf, sizeof(buf), "iqn.a b~", 8), "iqn.a b~");
	assert_string_equal(log_text(buf, sizeof(buf), "a\n\033[\0\377", 6), "a\\x0a\\x1b[\\x00\\xff");
	assert_string_equal(log_text(buf, sizeof(buf), "", 0), "");
	/* No half escape. */
	assert_string_equal(log_text(small, sizeof(small), "abcdefg", 7), "abcde");
	assert_string_equal(log_text(small, sizeof(small), "ab\n", 3), "ab");
	assert_string_equal(log_text(small, sizeof(small), "a\nb", 3), "a\\x0a");
	log_text(NULL, 0, "abc", 3);
}

/* -- limits, with a clock of our own -- */

static int
pass(struct log_limit *l, const char *place, const char *peer, uint64_t now, int lines,
    uint32_t *held)
{
	int passed = 0;

	*held = 0;
	while (lines--) {
		uint32_t h = 0;

		passed += log_limit_pass(l, place, peer, now, &h);
		*held += h;
	}
	return passed;
}

static void
a_peer_has_a_few_lines_a_second(void **state)
{
	static const char here[] = "here", there[] = "there";
	struct log_limit *l = calloc(1, sizeof(*l));
	uint64_t now = 100 * SECOND;
	uint32_t held;

	assert_non_null(l);
	assert_int_equal(pass(l, here, "10.0.0.1", now, 50, &held), LOG_BURST);
	assert_int_equal(held, 0);
	/* Another peer and another place have their own. */
	assert_int_equal(pass(l, here, "10.0.0.2", now, 50, &held), LOG_BURST);
	assert_int_equal(pass(l, there, "10.0.0.1", now, 50, &held), LOG_BURST);
	assert_int_equal(pass(l, here, "10.0.0.1", now + SECOND - 1, 1, &held), 0);
	/* The next line tells how many were held back, once. */
	assert_int_equal(pass(l, here, "10.0.0.1", now + SECOND, 2, &held), 2);
	assert_int_equal(held, 50 - LOG_BURST + 1);
	free(l);
}

static void
a_peer_of_many_names_meets_the_common_limit(void **state)
{
	struct log_limit *l = calloc(1, sizeof(*l));
	int passed = 0;

	assert_non_null(l);
	for (int i = 0; i < 10000; i++) {
		char name[32];
		uint32_t held;

		snprintf(name, sizeof(name), "10.0.0.1:%d", i);
		passed += pass(l, "here", name, 100 * SECOND, 1, &held);
	}
	assert_int_equal(passed, LOG_BURST_ALL);
	free(l);
}

/* -- what comes out -- */

static FILE *caught;
static int real_stderr;

static void
catch_start(void)
{
	caught = tmpfile();
	assert_non_null(caught);
	real_stderr = dup(STDERR_FILENO);
	dup2(fileno(caught), STDERR_FILENO);
}

static const char *
catch_end(void)
{
	static char text[16384];
	size_t n;

	dup2(real_stderr, STDERR_FILENO);
	close(real_stderr);
	rewind(caught);
	n = fread(text, 1, sizeof(text) - 1, caught);
	text[n] = 0;
	fclose(caught);
	return text;
}

static int
lines_in(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static void
a_message_is_one_line(void **state)
{
	char *huge = malloc(5000);
	const char *text;

	assert_non_null(huge);
	memset(huge, 'x', 4999);
	huge[4999] = 0;
	catch_start();
	log_warn("disk %s: %d\nfaked line", "sdd", 5);
	log_msg(LOG_LEVEL_ERR, "%s", huge);
	log_debug("not by default");
	text = catch_end();
	free(huge);
	assert_int_equal(lines_in(text), 2);
	assert_non_null(strstr(text, " warning: disk sdd: 5?faked line\n"));
	assert_non_null(strstr(text, " error: xxxx"));
	assert_null(strstr(text, "not by default"));
}

static void
log_peer_holds_lines_back(void **state)
{
	const char *text;

	catch_start();
	for (int i = 0; i < 1000; i++)
		log_peer(LOG_LEVEL_WARN, "10.9.8.7", "bad digest, number %d", i);
	text = catch_end();
	/* The test may cross one second's end. */
	assert_in_range(lines_in(text), LOG_BURST, 2 * LOG_BURST);
	assert_non_null(strstr(text, "bad digest, number 0\n"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_add_cuts_and_clamps),
		cmocka_unit_test(log_text_escapes_what_is_not_plain),
		cmocka_unit_test(a_peer_has_a_few_lines_a_second),
		cmocka_unit_test(a_peer_of_many_names_meets_the_common_limit),
		cmocka_unit_test(a_message_is_one_line),
		cmocka_unit_test(log_peer_holds_lines_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
