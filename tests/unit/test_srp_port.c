/* Target ports: derived from the name or configured, and named in a login in either order of halves. */
#include "srp_rig.h"

static void
derived_from_the_name(void **state)
{
	uint8_t a[16], again[16], b[16];

	rig_init(1);
	port_id(&fakes.target[0], a);
	port_id(&fakes.target[0], again);
	port_id(&fakes.target[1], b);
	assert_memory_equal(a, again, 16);
	assert_memory_not_equal(a, b, 16);
	/* Of one port, and given by no maker. */
	assert_int_equal(a[8] & 3, 2);
	memcpy(rig_conf[0].id_ext, "\1\2\3\4\5\6\7\10", 8);
	port_id(&fakes.target[0], again);
	assert_memory_equal(again, "\1\2\3\4\5\6\7\10", 8);
	assert_memory_equal(again + 8, a + 8, 8);
	memcpy(rig_conf[0].ioc_guid, "\21\22\23\24\25\26\27\30", 8);
	port_id(&fakes.target[0], again);
	assert_memory_equal(again + 8, "\21\22\23\24\25\26\27\30", 8);
}

static void
swap(uint8_t id[16])
{
	uint8_t half[8];

	memcpy(half, id, 8);
	memmove(id, id + 8, 8);
	memcpy(id + 8, half, 8);
}

/* R18: revision 10 has the halves the other way round; here all ports are in one order. */
static void
either_order_of_halves(void **state)
{
	struct login_req login = { 0 };
	uint8_t port[16], mine[16];

	for (unsigned i = 0; i < 16; i++)
		mine[i] = (uint8_t)i;
	rig_init(1);
	rig_start(1);
	port_id(&fakes.target[1], port);
	memcpy(login.t_port, port, 16);
	memcpy(login.i_port, mine, 16);
	assert_ptr_equal(port_find(&fakes.portal, &login), target_find(fakes.target[1].name));
	assert_memory_equal(login.t_port, port, 16);
	assert_memory_equal(login.i_port, mine, 16);
	swap(login.t_port);
	swap(login.i_port);
	assert_ptr_equal(port_find(&fakes.portal, &login), target_find(fakes.target[1].name));
	assert_memory_equal(login.t_port, port, 16);
	assert_memory_equal(login.i_port, mine, 16);
	login.t_port[3] ^= 1;
	assert_null(port_find(&fakes.portal, &login));
	rig_stop();
}

/* A target is there on its own portals only. */
static void
on_its_portals(void **state)
{
	struct conf_portal elsewhere = fakes.portal;
	struct login_req login = { 0 };

	rig_init(1);
	rig_start(1);
	port_id(&fakes.target[0], login.t_port);
	assert_null(port_find(&elsewhere, &login));
	assert_non_null(port_find(&fakes.portal, &login));
	rig_stop();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(derived_from_the_name),
		cmocka_unit_test(either_order_of_halves),
		cmocka_unit_test(on_its_portals),
	};

	return cmocka_run_group_tests_name("srp_port", tests, NULL, NULL);
}
