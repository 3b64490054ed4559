/* Unit attentions: who sees them, once, and in which order. */
#include "scsi_rig.h"

#include "hba/scsi/lu.h"
#include "hba/scsi/nexus.h"
#include "hba/scsi/ua.h"

#define assert_attention(fc, asc, ascq)                                             \
	do {                                                                        \
		struct fake_cmd *a_ = (fc);                                         \
		assert_sense(a_, KEY_UNIT_ATTENTION, asc, ascq);                    \
		fake_cmd_free(a_);                                                  \
	} while (0)

static struct fake_cmd *
ready(struct nexus *nexus, unsigned lun)
{
	return fake_in(nexus, lun, CDB(OP_TEST_UNIT_READY), 0);
}

static void
told_in_order_of_precedence_each_once(void **state)
{
	static const uint16_t codes[UAS] = { 0x2900, 0x2903, 0x2907, 0x3f0e, 0x2a09, 0x2a01, 0x2a03,
		0x2a04, 0x2a05, 0x2f00 };
	struct nexus *nexus = rig_start(1, 1);

	/* Raised in the wrong order, and some twice. */
	for (int ua = UAS - 1; ua >= 0; ua--) {
		ua_raise(nexus->luns[0], (enum ua)ua);
		ua_raise(nexus->luns[0], (enum ua)(UAS - 1));
	}
	for (int ua = 0; ua < UAS; ua++)
		assert_attention(ready(nexus, 0), codes[ua] >> 8, codes[ua] & 0xff);
	DONE(ready(nexus, 0), SCSI_GOOD);
	rig_stop(nexus);
}

static void
a_login_raises_power_on_then_nexus_loss(void **state)
{
	struct nexus *nexus;

	fake_world_init(2);
	assert_int_equal(fake_world_start(1), 0);
	nexus = fake_login(0, "iqn.2026-11.test:a", 0, NULL);
	assert_attention(ready(nexus, 0), 0x29, 0x00);
	assert_attention(ready(nexus, 1), 0x29, 0x00);
	DONE(ready(nexus, 0), SCSI_GOOD);
	fake_logout(nexus, NULL);
	nexus = fake_login(0, "iqn.2026-11.test:a", 0, NULL);
	assert_attention(ready(nexus, 0), 0x29, 0x07);
	fake_logout(nexus, NULL);
	nexus = fake_login(0, "iqn.2026-11.test:b", 0, NULL);
	assert_attention(ready(nexus, 0), 0x29, 0x00);
	rig_stop(nexus);
}

static void
some_commands_pass(void **state)
{
	struct nexus *nexus = rig_start(1, 1);
	struct fake_cmd *fc;

	ua_raise(nexus->luns[0], UA_POWER_ON);
	DONE(fake_in(nexus, 0, CDB(OP_INQUIRY, 0, 0, 0, 96), 96), SCSI_GOOD);
	DONE(fake_in(nexus, 0, CDB(OP_REPORT_LUNS, 0, 0, 0, 0, 0, 0, 0, 0, 64), 64), SCSI_GOOD);
	/* It is data of REQUEST SENSE, and then no longer pending. */
	fc = fake_in(nexus, 0, CDB(OP_REQUEST_SENSE, 0, 0, 0, 252), 252);
	assert_status(fc, SCSI_GOOD);
	assert_int_equal(fc->data_in, 18);
	assert_int_equal(fc->in[2], KEY_UNIT_ATTENTION);
	assert_int_equal(fc->in[12], 0x29);
	fake_cmd_free(fc);
	fc = fake_in(nexus, 0, CDB(OP_REQUEST_SENSE, 1, 0, 0, 252), 252);
	assert_status(fc, SCSI_GOOD);
	assert_int_equal(fc->in[0], 0x72);
	assert_int_equal(fc->in[1], KEY_NO_SENSE);
	fake_cmd_free(fc);
	DONE(ready(nexus, 0), SCSI_GOOD);
	rig_stop(nexus);
}

static void
the_command_that_is_told_does_nothing(void **state)
{
	struct nexus *nexus = rig_start(1, 1);
	struct fake_cmd *fc;

	ua_raise(nexus->luns[0], UA_CAPACITY_CHANGED);
	fc = fake_write(nexus, 0, 0, 1, 1, DATA_POOL);
	assert_int_equal(fc->wants, 0);
	assert_attention(fc, 0x2a, 0x09);
	assert_int_equal(disk->ops[DISK_WRITE], 0);
	rig_stop(nexus);
}

static void
reporting_luns_tells_that_they_changed(void **state)
{
	struct nexus *nexus = rig_start(2, 1);

	for (unsigned i = 0; i < 2; i++) {
		ua_raise(nexus->luns[i], UA_LUNS_CHANGED);
		ua_raise(nexus->luns[i], UA_CAPACITY_CHANGED);
	}
	DONE(fake_in(nexus, 0, CDB(OP_REPORT_LUNS, 0, 0, 0, 0, 0, 0, 0, 0, 64), 64), SCSI_GOOD);
	for (unsigned i = 0; i < 2; i++) {
		assert_attention(ready(nexus, i), 0x2a, 0x09);
		DONE(ready(nexus, i), SCSI_GOOD);
	}
	rig_stop(nexus);
}

static void
every_nexus_of_a_unit_but_one(void **state)
{
	struct nexus *a = rig_start(2, 2);
	struct nexus *b = fake_login_quiet(0, "iqn.2026-11.test:b", 1);
	/* Another target, the same disk. */
	struct nexus *c = fake_login_quiet(1, "iqn.2026-11.test:c", 1);

	lu_attention(a->luns[0]->lu, UA_CAPACITY_CHANGED, a);
	DONE(ready(a, 0), SCSI_GOOD);
	assert_attention(ready(b, 0), 0x2a, 0x09);
	DONE(ready(b, 1), SCSI_GOOD);
	assert_attention(ready(c, 5), 0x2a, 0x09);
	fake_logout(b, NULL);
	fake_logout(c, NULL);
	rig_stop(a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(told_in_order_of_precedence_each_once),
		cmocka_unit_test(a_login_raises_power_on_then_nexus_loss),
		cmocka_unit_test(some_commands_pass),
		cmocka_unit_test(the_command_that_is_told_does_nothing),
		cmocka_unit_test(reporting_luns_tells_that_they_changed),
		cmocka_unit_test(every_nexus_of_a_unit_but_one),
	};

	return cmocka_run_group_tests_name("ua", tests, NULL, NULL);
}
