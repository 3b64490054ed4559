/* The edges of the login phase: the whole matrix of states and flags. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "transport/iscsi/login_stage.h"
#include "transport/iscsi/login_table.h"

#include "util.h"

enum { T = ISCSI_LOGIN_T, C = ISCSI_LOGIN_C };

static FILE *
golden_open(void)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 64);
	FILE *f = NULL;
	char *slash;

	/* The program stands somewhere under the tree's build folder. */
	for (path[MAX(n, 0)] = '\0'; f == NULL && (slash = strrchr(path, '/')) != NULL;
	     *slash = '\0') {
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

	text_add(line, size, &at, "%-11s T=%d C=%d CSG=%u NSG=%u: ", login_state_name(st),
	    !!(flags & T), !!(flags & C), flags >> 2 & 3, flags & 3);
	if (e == NULL)
		text_add(line, size, &at, "refused\n");
	else if (e->action == login_gather)
		text_add(line, size, &at, "gather, stay %s (%s)\n", login_state_name(e->stay),
		    e->clause);
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

static void
statuses_have_names(void **state)
{
	assert_string_equal(login_status_name(LOGIN_AUTH_FAILED), "authentication failure");
	assert_string_equal(login_status_name(0x0302), "out of resources");
	assert_string_equal(login_status_name(0x7777), "unknown status");
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_matrix_is_the_golden_one),
		cmocka_unit_test(reserved_flag_bits_are_ignored),
		cmocka_unit_test(statuses_have_names),
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
