/* Portals over TCP: up, in use, both wildcards, and the end of everything. */
#include "iscsi_rig.h"

#include <arpa/inet.h>
#include <netinet/in.h>

static struct sockaddr_storage addrs[2];

/* A port nobody listens on, for both families. */
static uint16_t
free_port(void)
{
	struct sockaddr_in6 a = { .sin6_family = AF_INET6 };
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET6, SOCK_STREAM, 0);

	assert_int_equal(bind(fd, (void *)&a, sizeof(a)), 0);
	assert_int_equal(getsockname(fd, (void *)&a, &len), 0);
	close(fd);
	return ntohs(a.sin6_port);
}

static uint16_t port;

static void
listen_on(const char *v4, bool v6)
{
	struct sockaddr_in *a = (void *)&addrs[0];
	struct sockaddr_in6 *b = (void *)&addrs[1];

	port = free_port();
	memset(addrs, 0, sizeof(addrs));
	a->sin_family = AF_INET;
	a->sin_port = htons(port);
	inet_pton(AF_INET, v4, &a->sin_addr);
	b->sin6_family = AF_INET6;
	b->sin6_port = htons(port);
	fakes.portal.addrs = addrs;
	fakes.portal.naddrs = v6 ? 2 : 1;
	list_add_tail(&fakes.conf.portals, &fakes.portal.link);
}

static int
dial(int family)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 b = { .sin6_family = AF_INET6, .sin6_port = htons(port),
		.sin6_addr = IN6ADDR_LOOPBACK_INIT };
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int rc = family == AF_INET ? connect(fd, (void *)&a, sizeof(a)) : connect(fd, (void *)&b, sizeof(b));

	if (rc == 0)
		return fd;
	close(fd);
	return -errno;
}

static void
dial_ini(struct ini *i, int family, uint8_t isid)
{
	*i = (struct ini){ .fd = dial(family), .cmd_sn = 1, .itt = 1 };
	assert_true(i->fd >= 0);
	INI_LOGIN(i, isid, "HeaderDigest=None");
}

static void
the_registry_knows_iscsi(void **state)
{
	const struct transport *t = transport_find("iscsi");

	assert_ptr_equal(t, &iscsi_transport);
	assert_null(transport_find("iscs"));
	assert_null(transport_find(""));
	assert_true(transport_index(t) < TRANSPORTS_MAX);
}

static void
both_wildcards_on_one_port(void **state)
{
	struct ini a, b;

	rig_init(1);
	listen_on("0.0.0.0", true);
	rig_start(2);
	assert_int_equal(transports_start(&fakes.conf), 0);
	dial_ini(&a, AF_INET, 1);
	dial_ini(&b, AF_INET6, 2);
	ini_ping(&a, &rig_in);
	ini_ping(&b, &rig_in);
	ini_close(&a);
	ini_close(&b);
	rig_stop();
	assert_true(dial(AF_INET) < 0);
}

static void
a_port_in_use(void **state)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	rig_init(1);
	listen_on("127.0.0.1", false);
	assert_int_equal(bind(fd, (void *)&addrs[0], sizeof(struct sockaddr_in)), 0);
	assert_int_equal(listen(fd, 1), 0);
	rig_start(1);
	assert_int_equal(transports_start(&fakes.conf), -EADDRINUSE);
	close(fd);
	/* Nothing of the first try is in the way. */
	assert_int_equal(transports_start(&fakes.conf), 0);
	rig_stop();
}

static void
an_address_that_is_not_there_yet(void **state)
{
	rig_init(1);
	listen_on("192.0.2.77", false);
	rig_start(1);
	assert_int_equal(transports_start(&fakes.conf), 0);
	rig_stop();
}

static void
stop_asks_sessions_to_leave_and_does_not_wait_for_ever(void **state)
{
	struct ini polite, deaf;
	struct iscsi_logout_req out = {
		.opcode = ISCSI_LOGOUT_REQ | ISCSI_IMMEDIATE, .flags = ISCSI_F, .itt = put32(5),
		.cmd_sn = put32(1),
	};
	uint64_t began;
	int half;

	rig_init(1);
	listen_on("127.0.0.1", false);
	rig_start(2);
	assert_int_equal(transports_start(&fakes.conf), 0);
	dial_ini(&polite, AF_INET, 1);
	dial_ini(&deaf, AF_INET, 2);
	half = dial(AF_INET);
	/* It logs out in advance; the other one never does. */
	ini_send(&polite, &out, NULL, 0);
	began = now_ns();
	rig_stop();
	assert_true(now_ns() - began < GRACE_NS + SEC);
	ini_expect(&polite, &rig_in, ISCSI_LOGOUT_RSP);
	ini_eof(&polite);
	ini_expect(&deaf, &rig_in, ISCSI_ASYNC);
	assert_int_equal(rig_in.async.event, ISCSI_ASYNC_LOGOUT);
	ini_eof(&deaf);
	close(half);
}

static void
start_and_stop_again(void **state)
{
	rig_init(1);
	listen_on("127.0.0.1", false);
	rig_start(2);
	for (unsigned k = 0; k < 3; k++) {
		struct ini i;

		assert_int_equal(transports_start(&fakes.conf), 0);
		dial_ini(&i, AF_INET, 1);
		ini_close(&i);
		assert_int_equal(transports_stop(5 * SEC), 0);
	}
	fake_world_stop();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_registry_knows_iscsi),
		cmocka_unit_test(both_wildcards_on_one_port),
		cmocka_unit_test(a_port_in_use),
		cmocka_unit_test(an_address_that_is_not_there_yet),
		cmocka_unit_test(stop_asks_sessions_to_leave_and_does_not_wait_for_ever),
		cmocka_unit_test(start_and_stop_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
