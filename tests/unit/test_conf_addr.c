/* Addresses: what is one, and that one address has one form. */
#include "tests/unit/conf/check.h"

static const struct {
	const char *text, *back;	/* NULL: refused */
} listens[] = {
	{ "0.0.0.0:3260", "0.0.0.0:3260" },
	{ "127.0.0.1:1", "127.0.0.1:1" },
	{ "10.0.0.1:65535", "10.0.0.1:65535" },
	{ "[::]:3260", "[::]:3260" },
	{ "[::1]:3260", "[::1]:3260" },
	{ "[FD00:0:0::0001]:3260", "[fd00::1]:3260" },
	{ "*:3260", "[::]:3260" },
	{ "[::ffff:10.0.0.1]:3260", "10.0.0.1:3260" },
	{ "[::ffff:a00:1]:3260", "10.0.0.1:3260" },
	{ "[fe80::1%1]:3260", "[fe80::1%1]:3260" },
	{ "[fe80::1%lo]:3260", "[fe80::1%1]:3260" },
	{ "1:2:3:4:5:6:7:8:3260", "[1:2:3:4:5:6:7:8]:3260" },
	{ "", NULL }, { ":", NULL }, { ":3260", NULL }, { "*", NULL }, { "*:", NULL },
	{ "10.0.0.1", NULL }, { "10.0.0.1:", NULL }, { "10.0.0.1:0", NULL },
	{ "10.0.0.1:65536", NULL }, { "10.0.0.1:99999999999", NULL }, { "10.0.0.1:-1", NULL },
	{ "10.0.0.1:+1", NULL }, { "10.0.0.1: 1", NULL }, { "10.0.0.1:1x", NULL },
	{ "10.0.0:3260", NULL }, { "10.1:3260", NULL }, { "0x7f.0.0.1:3260", NULL },
	{ "10.0.0.256:3260", NULL }, { "10.0.0.1.:3260", NULL }, { "localhost:3260", NULL },
	{ "::1:3260", NULL }, { "fe80::1", NULL }, { "[::1]", NULL }, { "[::1]3260", NULL },
	{ "[::1:3260", NULL }, { "::1]:3260", NULL }, { "[]:3260", NULL }, { "[10.0.0.1]:3260", NULL },
	{ "[*]:3260", NULL }, { "**:3260", NULL }, { "[fe80::1%]:3260", NULL },
	{ "[fe80::1%no-such-link]:3260", NULL }, { "[::1%1%1]:3260", NULL }, { "[g::1]:3260", NULL },
	{ "[1:2:3:4:5:6:7:8:9]:3260", NULL },
	{ "1111111111111111111111111111111111111111111111111111111111111111111111111:1", NULL },
};

static void
addresses_and_ports(void **state)
{
	struct sockaddr_storage ss;
	char text[64];
	int e;

	for (size_t i = 0; i < ARRAY_LEN(listens); i++) {
		e = conf_sockaddr(listens[i].text, &ss);
		if (e != (listens[i].back ? 0 : -EINVAL))
			print_error("about: %s\n", listens[i].text);
		assert_int_equal(e, listens[i].back ? 0 : -EINVAL);
		if (e == 0)
			assert_string_equal(sockaddr_text((struct sockaddr *)&ss, text, sizeof(text)),
			    listens[i].back);
	}
}

/* What accept() gives for a v4 client of a v6 socket, and other families. */
static void
text_of_addresses(void **state)
{
	struct sockaddr_in6 mapped = { .sin6_family = AF_INET6, .sin6_port = htons(3260) };
	struct sockaddr_storage other = { .ss_family = AF_UNIX };
	char text[64], small[8];

	mapped.sin6_addr.s6_addr[10] = mapped.sin6_addr.s6_addr[11] = 0xff;
	mapped.sin6_addr.s6_addr[12] = 192;
	mapped.sin6_addr.s6_addr[15] = 7;
	assert_string_equal(sockaddr_text((struct sockaddr *)&mapped, text, sizeof(text)),
	    "192.0.0.7:3260");
	assert_string_equal(sockaddr_text((struct sockaddr *)&mapped, small, sizeof(small)),
	    "192.0.0");
	assert_string_equal(sockaddr_text((struct sockaddr *)&other, text, sizeof(text)),
	    "(address family 1)");
}

static const struct {
	const char *text, *back;	/* NULL: refused */
	int bits;
} prefixes[] = {
	{ "10.0.0.0/8", "10.0.0.0:0", 8 }, { "10.0.0.7", "10.0.0.7:0", 32 },
	{ "0.0.0.0/0", "0.0.0.0:0", 0 }, { "10.128.0.0/9", "10.128.0.0:0", 9 },
	{ "10.0.0.7/32", "10.0.0.7:0", 32 }, { "::/0", "[::]:0", 0 },
	{ "fd00::/8", "[fd00::]:0", 8 }, { "[fd00::]/8", "[fd00::]:0", 8 },
	{ "fd00::1", "[fd00::1]:0", 128 }, { "[fd00::1]", "[fd00::1]:0", 128 },
	{ "fe80::c071:9aff:fe61:a2d4", "[fe80::c071:9aff:fe61:a2d4]:0", 128 },
	{ "::ffff:10.0.0.0/104", "10.0.0.0:0", 8 }, { "::ffff:10.0.0.7", "10.0.0.7:0", 32 },
	{ "[::ffff:10.0.0.7]/128", "10.0.0.7:0", 32 },
	{ "10.0.0.0/7", "10.0.0.0:0", 7 },
	{ "10.1.2.3/8", NULL, 0 }, { "11.0.0.0/7", NULL, 0 }, { "fd00::1/64", NULL, 0 },
	{ "10.0.0.0/33", NULL, 0 }, { "10.0.0.0/104", NULL, 0 }, { "fd00::/129", NULL, 0 },
	{ "::ffff:0.0.0.0/95", NULL, 0 }, { "10.0.0.0/", NULL, 0 }, { "10.0.0.0/-1", NULL, 0 },
	{ "10.0.0.0/8/8", NULL, 0 }, { "10.0.0.0/255.0.0.0", NULL, 0 }, { "/8", NULL, 0 },
	{ "", NULL, 0 }, { "10.0.0", NULL, 0 }, { "[10.0.0.1]", NULL, 0 }, { "host", NULL, 0 },
	{ "[fd00::1", NULL, 0 }, { "*", NULL, 0 }, { "10.0.0.*", NULL, 0 },
};

static void
prefixes_of_addresses(void **state)
{
	struct sockaddr_storage ss;
	const char *wrong;
	char text[64];
	uint8_t bits;

	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
		wrong = conf_prefix(prefixes[i].text, &ss, &bits);
		if (!wrong != !!prefixes[i].back)
			print_error("about: %s\n", prefixes[i].text);
		assert_int_equal(!wrong, !!prefixes[i].back);
		if (wrong)
			continue;
		assert_int_equal(bits, prefixes[i].bits);
		assert_string_equal(sockaddr_text((struct sockaddr *)&ss, text, sizeof(text)),
		    prefixes[i].back);
	}
}

static const struct {
	const char *a, *b;
	bool overlap;
} pairs[] = {
	{ "10.0.0.1:1", "10.0.0.1:1", true }, { "10.0.0.1:1", "10.0.0.1:2", false },
	{ "10.0.0.1:1", "10.0.0.2:1", false }, { "0.0.0.0:1", "10.0.0.2:1", true },
	{ "0.0.0.0:1", "[::]:1", false }, { "[::]:1", "[::1]:1", true },
	{ "[::1]:1", "[0::0:1]:1", true }, { "[::ffff:10.0.0.1]:1", "10.0.0.1:1", true },
	{ "[fe80::1%1]:1", "[fe80::1%2]:1", false }, { "[fe80::1%1]:1", "[fe80::1%1]:1", true },
};

static void
addresses_that_meet(void **state)
{
	struct sockaddr_storage a, b;

	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		assert_int_equal(conf_sockaddr(pairs[i].a, &a), 0);
		assert_int_equal(conf_sockaddr(pairs[i].b, &b), 0);
		assert_int_equal(sockaddr_overlap(&a, &b), pairs[i].overlap);
		assert_int_equal(sockaddr_overlap(&b, &a), pairs[i].overlap);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_and_ports),
		cmocka_unit_test(text_of_addresses),
		cmocka_unit_test(prefixes_of_addresses),
		cmocka_unit_test(addresses_that_meet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
