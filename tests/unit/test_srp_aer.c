/* Asynchronous events: who is idle is told what is new, once, and only when it can be news. */
#include "srp_rig.h"

#include "hba/scsi/nexus.h"
#include "hba/scsi/ua.h"

static struct ini ini;
static struct got got;

static int
up_with(uint8_t flags, bool wanted)
{
	rig_init(3);
	rig_conf[0].async_events = wanted;
	rig_start(1);
	ini_login_as(&ini, (struct say){ .flags = flags });
	for (unsigned lun = 0; lun < 3; lun++)
		ini_quiet_unit(&ini, lun);
	rig_tick(0);
	return 0;
}

static int
up(void **state)
{
	return up_with(0, true);
}

static int
unwanted_up(void **state)
{
	return up_with(0, false);
}

static int
waking_up(void **state)
{
	return up_with(SRP_AESOLNT, true);
}

static int
down(void **state)
{
	ini_free(&ini);
	rig_stop();
	return 0;
}

struct raise {
	unsigned lun;
	enum ua ua;
};

static void
raise_run(void *arg)
{
	struct raise *r = arg;
	struct srp_reactor *home = srp_reactor(reactor_self());
	struct srp_channel *ch = list_first(&home->channels, struct srp_channel, link);

	ua_raise(ch->nexus->luns[r->lun], r->ua);
}

static void
attention(unsigned lun, enum ua ua)
{
	struct raise r = { lun, ua };

	fake_run(0, raise_run, &r);
}

static void
idle(void)
{
	rig_tick(3 * SEC);
	assert_false(ini_poll(&ini, &got));
	mem_settle();
}

static void
told_once(void **state)
{
	idle();
	assert_int_equal(ini.events, 0);
	attention(1, UA_CAPACITY_CHANGED);
	idle();
	assert_int_equal(ini.events, 1);
	assert_int_equal(ini.event.lun, 1);
	assert_int_equal(ini.event.asc, 0x062a09);
	assert_false(ini.event.solicited);
	for (int i = 0; i < 5; i++)
		idle();
	assert_int_equal(ini.events, 1);
	/* It is still an attention of the next command, and then it may be news again. */
	ini_quiet_unit(&ini, 1);
	idle();
	attention(1, UA_CAPACITY_CHANGED);
	idle();
	assert_int_equal(ini.events, 2);
	ini_quiet_unit(&ini, 1);
	ini_at_rest(&ini);
}

/* One request of the target at a time: the next unit's when it is answered. */
static void
one_by_one(void **state)
{
	for (unsigned lun = 0; lun < 3; lun++)
		attention(lun, UA_LUNS_CHANGED);
	for (unsigned i = 0; i < 12; i++)
		idle();
	assert_int_equal(ini.events, 3);
	ini_quiet_unit(&ini, 0);
	ini_quiet_unit(&ini, 1);
	ini_quiet_unit(&ini, 2);
	ini_at_rest(&ini);
}

static void
never_answered(void **state)
{
	ini.mute = true;
	for (unsigned lun = 0; lun < 3; lun++)
		attention(lun, UA_CAPACITY_CHANGED);
	for (int i = 0; i < 10; i++)
		idle();
	assert_int_equal(ini.events, 1);
	ini_quiet_unit(&ini, 0);
	ini_quiet_unit(&ini, 1);
	ini_quiet_unit(&ini, 2);
	ini_at_rest(&ini);
}

static void
no_news(void **state)
{
	attention(0, UA_POWER_ON);
	attention(1, UA_LU_RESET);
	idle();
	assert_int_equal(ini.events, 0);
	/* Nor to one that sends commands. */
	attention(2, UA_CAPACITY_CHANGED);
	rig_tick(0);
	assert_false(ini_poll(&ini, &got));
	assert_int_equal(ini.events, 0);
}

static void
unwanted(void **state)
{
	attention(0, UA_CAPACITY_CHANGED);
	for (int i = 0; i < 3; i++)
		idle();
	assert_int_equal(ini.events, 0);
}

static void
waking(void **state)
{
	attention(0, UA_CAPACITY_CHANGED);
	idle();
	assert_int_equal(ini.events, 1);
	assert_true(ini.event.solicited);
}

/* An answer to another request, or twice: it is not playing by the rules. */
static void
wrong_answers(void **state)
{
	ini.mute = true;
	attention(0, UA_CAPACITY_CHANGED);
	idle();
	assert_int_equal(ini.events, 1);
	ini.mute = false;
	ini_reply(&ini, SRP_CRED_RSP, put64(0));
	rig_until(ini_poll(&ini, &got));
	assert_int_equal(got.b[0], SRP_T_LOGOUT);
	assert_int_equal(get32(got.logout.reason), SRP_T_LOGOUT_SPURIOUS_RSP);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name, up_) cmocka_unit_test_setup_teardown(name, up_, down)
		T(told_once, up), T(one_by_one, up), T(never_answered, up), T(no_news, up),
		T(unwanted, unwanted_up), T(waking, waking_up), T(wrong_answers, up),
#undef T
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
