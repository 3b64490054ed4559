/* Asynchronous events: an initiator that is idle hears of an attention once, and nothing depends on it. */
#include "hba/scsi/lu.h"
#include "hba/scsi/ua.h"

#include "srp_rig.h"

static const uint8_t tur[16];
static struct ini ini;
static struct got got;

static void
begin(bool events, bool mute)
{
	rig_init(2);
	rig_conf[0].async_events = events;
	rig_start(1);
	ini_login(&ini);
	ini_quiet_unit(&ini, 1);
	ini.mute = mute;
}

static int
down(void **state)
{
	ini_free(&ini);
	rig_stop();
	return 0;
}

/* The unit of disk n. */
static struct lu *
unit(unsigned n)
{
	struct lu *lu = NULL;

	for (unsigned i = 0; i <= n; i++)
		lu = lu_next(lu);
	return lu;
}

static void
told(unsigned lun)
{
	struct srp_aer_req *aer = (void *)got.b;
	const uint8_t *sense = got.b + sizeof(*aer);

	rig_until(ini_poll(&ini, &got));
	assert_int_equal(aer->opcode, SRP_AER_REQ);
	assert_int_equal(got.len, sizeof(*aer) + 18);
	assert_int_equal(get32(aer->sense_data_len), 18);
	assert_int_equal(scsi_lun_number(aer->lun), lun);
	assert_int_equal(sense[0], 0x70);
	assert_int_equal(sense[2], KEY_UNIT_ATTENTION);
	assert_int_equal(sense[12] << 8 | sense[13], 0x2a09);
	ini_reply(&ini, SRP_AER_RSP, aer->tag);
}

/* For longer than it takes to tell. */
static void
silent(void)
{
	for (int i = 0; i < 18; i++) {
		usleep(100000);
		mem_settle();
		assert_false(ini_poll(&ini, &got));
	}
}

static void
attention(unsigned lun)
{
	uint64_t tag = ini_cmd(&ini, &rig_u, lun, tur, 16);

	ini_request(&ini, &rig_u);
	ini_rsp(&ini, &got, tag);
	assert_int_equal(got_asc(&got), 0x062a09);
}

static void
told_once_each_time(void **state)
{
	begin(true, false);
	silent();
	lu_attention(unit(1), UA_CAPACITY_CHANGED, NULL);
	told(1);
	silent();
	/* It is still there for the next command; after that a new one is news. */
	attention(1);
	silent();
	lu_attention(unit(1), UA_CAPACITY_CHANGED, NULL);
	lu_attention(unit(0), UA_CAPACITY_CHANGED, NULL);
	told(0);
	told(1);
	attention(0);
	attention(1);
	ini_at_rest(&ini);
}

static void
resets_are_no_events(void **state)
{
	begin(true, false);
	lu_attention(unit(0), UA_LU_RESET, NULL);
	silent();
	ini_at_rest(&ini);
}

static void
only_where_asked_for(void **state)
{
	begin(false, false);
	lu_attention(unit(0), UA_CAPACITY_CHANGED, NULL);
	silent();
	attention(0);
	ini_at_rest(&ini);
}

/* It never answers: no other request comes, and commands go on as ever. */
static void
the_deaf_hear_one(void **state)
{
	begin(true, true);
	lu_attention(unit(0), UA_CAPACITY_CHANGED, NULL);
	told(0);
	lu_attention(unit(1), UA_CAPACITY_CHANGED, NULL);
	silent();
	attention(0);
	attention(1);
	ini_at_rest(&ini);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(told_once_each_time, down),
		cmocka_unit_test_teardown(resets_are_no_events, down),
		cmocka_unit_test_teardown(only_where_asked_for, down),
		cmocka_unit_test_teardown(the_deaf_hear_one, down),
	};

	return cmocka_run_group_tests_name("srp_aer", tests, NULL, NULL);
}
