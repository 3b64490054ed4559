/* iSCSI names (RFC 7143 4.2.7, RFC 3722 6.2). */
#include "tests/unit/conf/check.h"

static const struct {
	const char *name, *normal;	/* NULL: refused */
} names[] = {
	{ "iqn.2026-11.com.example:store", NULL },
	{ "iqn.2026-11.com.example", NULL },
	{ "IQN.2026-11.COM.Example:STORE", "iqn.2026-11.com.example:store" },
	{ "iqn.1991-05.com.microsoft:host.example.com", NULL },
	{ "iqn.1998-01.com.vmware:esx-5f3c", NULL },
	{ "iqn.2008-11.org.linux-kvm", NULL },
	{ "iqn.2007-10.com.github:sahlberg:libiscsi:iscsi-test", NULL },
	{ "eui.02004567A425678D", "eui.02004567a425678d" },
	{ "naa.52004567BA64678D", "naa.52004567ba64678d" },
	{ "naa.62004567BA64678D0123456789ABCDEF", "naa.62004567ba64678d0123456789abcdef" },
};

static const char *const wrong[] = {
	"", "iqn", "iqn.", "iqn.2026-11", "iqn.2026-11.", "iqn.2026-11.:x", "iqn.2026-1.com.example",
	"iqn.26-11.com.example", "iqn.2026-11com.example", "iqn.20261-1.com.example",
	"iqn.2026-11..example", "iqn.2026-11.com.example:../../etc", "iqn.2026-11.com.example:a..b",
	"iqn.2026-11.com.example:a/b", "iqn.2026-11.com.example:%n", "iqn.2026-11.com.example:a b",
	"iqn.2026-11.com.example:a\n", "iqn.2026-11.com.example:\xff", "iqn.2026-11.com.example:a_b",
	"iqn.2026-11.com.example:\xc3\xa9", "iqn.2026-11.com.example:a\"", " iqn.2026-11.com.example",
	"iqn.2026-11.com.example\\", "iqn.2026-11.com.example:*", "iqn.2026-11.com.example:{}",
	"eui.", "eui.02004567A425678", "eui.02004567A425678DA", "eui.02004567A425678G",
	"naa.", "naa.52004567BA64678", "naa.52004567BA64678D0", "naa.52004567BA64678D.",
	"naa.62004567BA64678D0123456789ABCDEF0", "store", "2026-11.com.example", "iscsi.2026-11.x",
};

static void
names_are_normalised(void **state)
{
	char text[256];

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		snprintf(text, sizeof(text), "%s", names[i].name);
		assert_int_equal(conf_iscsi_name(text), 0);
		assert_string_equal(text, names[i].normal ? names[i].normal : names[i].name);
	}
}

static void
other_names_are_refused(void **state)
{
	char text[256];

	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		snprintf(text, sizeof(text), "%s", wrong[i]);
		if (conf_iscsi_name(text) == 0)
			print_error("about: %s\n", wrong[i]);
		assert_int_equal(conf_iscsi_name(text), -EINVAL);
	}
}

static void
names_have_223_bytes_at_most(void **state)
{
	char text[512];

	for (int len = 220; len < 260; len++) {
		memset(text, 'a', sizeof(text));
		memcpy(text, "iqn.2026-11.", 12);
		text[len] = '\0';
		assert_int_equal(conf_iscsi_name(text), len <= 223 ? 0 : -EINVAL);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_normalised),
		cmocka_unit_test(other_names_are_refused),
		cmocka_unit_test(names_have_223_bytes_at_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
