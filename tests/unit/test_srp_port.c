/* Target ports: where identifiers come from, who finds which target where, old initiators. */
#include "srp_rig.h"

static const uint8_t ext[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
static const uint8_t guid[8] = { 9, 10, 11, 12, 13, 14, 15, 16 };

static void
derived(void **state)
{
	uint8_t a[16], b[16], again[16];

	port_id(&fakes.target[0], a);
	port_id(&fakes.target[1], b);
	port_id(&fakes.target[0], again);
	assert_memory_equal(a, again, 16);
	assert_memory_not_equal(a, b, 16);
	/* As an EUI-64 that nobody else has: local, of one port. */
	assert_int_equal(a[8] & 3, 2);
	assert_int_equal(b[8] & 3, 2);
}

static void
configured(void **state)
{
	uint8_t id[16], was[16];

	port_id(&fakes.target[0], was);
	memcpy(rig_conf[0].id_ext, ext, 8);
	port_id(&fakes.target[0], id);
	assert_memory_equal(id, ext, 8);
	assert_memory_equal(id + 8, was + 8, 8);
	memcpy(rig_conf[0].ioc_guid, guid, 8);
	port_id(&fakes.target[0], id);
	assert_memory_equal(id, ext, 8);
	assert_memory_equal(id + 8, guid, 8);
}

static struct target *
find(const struct conf_portal *portal, const uint8_t id[16])
{
	struct login_req req = { 0 };

	memcpy(req.t_port, id, 16);
	return port_find(portal, &req);
}

static void
found(void **state)
{
	struct conf_portal elsewhere = fakes.portal;
	uint8_t id[16], none[16] = { 0 };

	for (int i = 0; i < FAKE_TARGETS; i++) {
		port_id(&fakes.target[i], id);
		assert_ptr_equal(find(&fakes.portal, id), target_find(fakes.target[i].name));
		assert_null(find(&elsewhere, id));
		for (int k = 0; k < 16; k++) {
			id[k] ^= 1;
			assert_null(find(&fakes.portal, id));
			id[k] ^= 1;
		}
	}
	assert_null(find(&fakes.portal, none));
}

/* R18: draft revision 10 has the halves of both ports the other way round; it is the same port. */
static void
swapped(void **state)
{
	struct login_req req = { .i_port = { 1, [8] = 2 } };
	struct srp_login_req h = login_build((struct say){ .flags = SRP_MULTICHAN_MULTI });
	struct ini a, b;
	uint8_t id[16];

	port_id(&fakes.target[0], id);
	memcpy(req.t_port, id + 8, 8);
	memcpy(req.t_port + 8, id, 8);
	assert_ptr_equal(port_find(&fakes.portal, &req), target_find(fakes.target[0].name));
	assert_memory_equal(req.t_port, id, 16);
	assert_int_equal(req.i_port[0], 2);
	assert_int_equal(req.i_port[8], 1);

	/* Over the fabric: a second channel of the same initiator port. */
	ini_login_as(&a, (struct say){ .flags = SRP_MULTICHAN_MULTI });
	memcpy(id, h.target_port_id, 16);
	memcpy(h.target_port_id, id + 8, 8);
	memcpy(h.target_port_id + 8, id, 8);
	memcpy(id, h.initiator_port_id, 16);
	memcpy(h.initiator_port_id, id + 8, 8);
	memcpy(h.initiator_port_id + 8, id, 8);
	b = (struct ini){ .tag = 1, .end = mem_connect(&fakes.portal, &h, sizeof(h)) };
	mem_settle();
	ini_entered(&b);
	assert_int_equal(b.multichan, SRP_MULTICHAN_MAINTAINED);
	ini_free(&a);
	ini_free(&b);
}

static void
text(void **state)
{
	char buf[33];

	port_text(buf, sizeof(buf), ext, 8);
	assert_string_equal(buf, "0102030405060708");
	port_text(buf, 5, ext, 8);
	assert_string_equal(buf, "0102");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, rig_up, rig_down)
		T(derived), T(configured), T(found), T(swapped), T(text),
#undef T
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
