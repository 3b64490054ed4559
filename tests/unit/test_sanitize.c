/* SANITIZE: what it writes, who is kept out meanwhile, and what becomes of it when things end or fail. */
#include "scsi_rig.h"

#include <errno.h>

#include "scsi_tmf.h"

enum { SIZE = 1 << 20 };

static struct nexus *
start(uint32_t caps)
{
	fake_world_init(1);
	disk->caps = caps;
	fakes.disk[0].sanitize = true;
	assert_int_equal(fake_world_start(1), 0);
	memset(disk->mem, 0xee, SIZE);
	return fake_login_quiet(0, "iqn.2026-11.test:a", 0);
}

/* OVERWRITE with a pattern of n bytes 1, 2, 3 ... */
static struct fake_cmd *
overwrite(struct nexus *nexus, uint8_t flags, uint8_t count, uint16_t n, uint16_t list)
{
	struct fake_cmd *fc = fake_cmd_new(nexus, 0, CDB(OP_SANITIZE, flags | SA_SANITIZE_OVERWRITE,
	    0, 0, 0, 0, 0, (uint8_t)(list >> 8), (uint8_t)list));

	fake_cmd_expect(fc, list, 0, 0);
	fc->how = DATA_POOL;
	if (list >= 4) {
		fc->out[0] = count;
		wr16(fc->out + 2, n);
		for (unsigned i = 4; i < list; i++)
			fc->out[i] = (uint8_t)(i - 3);
	}
	fake_cmd_submit(fc);
	return fc;
}

static struct fake_cmd *
erase(struct nexus *nexus, uint8_t flags)
{
	return fake_in(nexus, 0, CDB(OP_SANITIZE, flags | SA_SANITIZE_ERASE, 0, 0, 0, 0, 0, 0, 0, 0), 0);
}

static struct fake_cmd *
leave(struct nexus *nexus)
{
	return fake_in(nexus, 0, CDB(OP_SANITIZE, SA_SANITIZE_EXIT_FAILURE, 0, 0, 0, 0, 0, 0, 0, 0), 0);
}

static struct fake_cmd *
ready(struct nexus *nexus)
{
	return fake_in(nexus, 0, CDB(OP_TEST_UNIT_READY, 0, 0, 0, 0, 0), 0);
}

/* IMMED: answered when it has begun. */
static void
begin(struct nexus *nexus, uint8_t count)
{
	struct fake_cmd *fc = overwrite(nexus, 0x80, count, 1, 5);

	rig_wait(&fc->dones, 0);
	DONE(fc, SCSI_GOOD);
}

static void
until_ready(struct nexus *nexus)
{
	uint8_t status;

	do {
		struct fake_cmd *fc = ready(nexus);

		status = fc->status;
		fake_cmd_free(fc);
	} while (status != SCSI_GOOD);
}

static void
every_block_begins_with_the_pattern(void **state)
{
	static const uint16_t lens[] = { 1, 4, 7, 511, 512 };

	for (unsigned i = 0; i < ARRAY_LEN(lens); i++) {
		struct nexus *nexus = start(DISK_CAP_WRITE_CACHE);
		struct fake_cmd *fc = overwrite(nexus, 0, 1, lens[i], lens[i] + 4);

		rig_wait(&fc->dones, 0);
		DONE(fc, SCSI_GOOD);
		for (unsigned at = 0; at < SIZE; at++)
			assert_int_equal(disk->mem[at], (uint8_t)(at % 512 % lens[i] + 1));
		assert_int_equal(disk->ops[DISK_FLUSH], 1);
		DONE(ready(nexus), SCSI_GOOD);
		rig_stop(nexus);
	}
}

static void
passes_and_their_inversion(void **state)
{
	static const struct { uint8_t count, first; unsigned passes; } row[] = {
		{ 1, 1, 1 }, { 3, 1, 3 }, { 0x82, 0xfe, 2 }, { 0x83, 1, 3 }, { 31, 1, 31 },
	};

	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		struct nexus *nexus = start(0);
		struct fake_cmd *fc = overwrite(nexus, 0, row[i].count, 1, 5);

		rig_wait(&fc->dones, 0);
		DONE(fc, SCSI_GOOD);
		assert_true(all_bytes(disk->mem, SIZE, row[i].first));
		assert_int_equal(disk->ops[DISK_WRITE], row[i].passes * (SIZE / BUF_SEG_MAX));
		rig_stop(nexus);
	}
}

static void
an_erase_unmaps_all(void **state)
{
	struct nexus *nexus = start(DISK_CAP_UNMAP | DISK_CAP_UNMAP_ZEROES);
	struct fake_cmd *fc = fake_in(nexus, 0, CDB(OP_INQUIRY, 1, 0xb1, 0, 64), 64);

	assert_int_equal(fc->in[7], 0x40);		/* WABEREQ: can be read */
	fake_cmd_free(fc);
	fc = erase(nexus, 0);
	rig_wait(&fc->dones, 0);
	DONE(fc, SCSI_GOOD);
	assert_int_equal(disk->ops[DISK_UNMAP], 1);
	assert_true(all_bytes(disk->mem, SIZE, 0));
	rig_stop(nexus);
	nexus = start(0);
	fc = erase(nexus, 0);
	assert_sense(fc, KEY_ILLEGAL_REQUEST, 0x20, 0x00);
	fake_cmd_free(fc);
	rig_stop(nexus);
}

static void
only_where_it_is_allowed(void **state)
{
	struct nexus *nexus = start_with(DISK_CAP_UNMAP);
	struct fake_cmd *fc[] = { overwrite(nexus, 0, 1, 1, 5), erase(nexus, 0), leave(nexus) };

	for (unsigned i = 0; i < ARRAY_LEN(fc); i++) {
		assert_sense(fc[i], KEY_ILLEGAL_REQUEST, 0x20, 0x00);
		fake_cmd_free(fc[i]);
	}
	rig_stop(nexus);
}

static void
lists_that_say_nonsense(void **state)
{
	static const struct { uint8_t count; uint16_t n, list; bool cdb; } bad[] = {
		{ 1, 1, 0, true }, { 1, 1, 4, true }, { 1, 1, 517, true }, { 0, 1, 5, false },
		{ 0x80, 1, 5, false }, { 1, 0, 5, false }, { 1, 2, 5, false }, { 1, 513, 516, false },
		{ 1, 0xffff, 516, false },
	};
	struct nexus *nexus = start(0);

	for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
		struct fake_cmd *fc = overwrite(nexus, 0, bad[i].count, bad[i].n, bad[i].list);

		assert_sense(fc, KEY_ILLEGAL_REQUEST, bad[i].cdb ? 0x24 : 0x26, 0x00);
		fake_cmd_free(fc);
	}
	assert_int_equal(disk->ops[DISK_WRITE], 0);
	assert_true(all_bytes(disk->mem, SIZE, 0xee));
	rig_stop(nexus);
}

/* Held at the last quarter of its first pass of two. */
static void
nobody_gets_in_meanwhile(void **state)
{
	struct nexus *nexus = start(0);
	struct nexus *other = fake_login_quiet(0, "iqn.2026-11.test:b", 0), *late;
	struct fake_cmd *fc, *sense;

	disk->hold[DISK_WRITE] = true;
	begin(nexus, 2);
	for (unsigned i = 0; i < 3; i++) {
		fake_settle();
		assert_int_equal(fake_disk_held(disk), 1);
		fake_disk_release(disk, 1);
	}
	fake_settle();
	late = fake_login_quiet(0, "iqn.2026-11.test:c", 0);
	for (unsigned i = 0; i < 3; i++) {
		struct nexus *who = i == 0 ? nexus : i == 1 ? other : late;

		fc = fake_read(who, 0, 0, 1);
		assert_sense(fc, KEY_NOT_READY, 0x04, 0x1b);
		assert_int_equal(fc->sense[15], 0x80);
		assert_in_range(rd16(fc->sense + 16), 65536 * 3 / 8 - 8, 65536 * 3 / 8);
		fake_cmd_free(fc);
		fc = fake_write(who, 0, 0, 1, 1, DATA_POOL);
		assert_sense(fc, KEY_NOT_READY, 0x04, 0x1b);
		assert_int_equal(fc->wants, 0);
		fake_cmd_free(fc);
		fc = overwrite(who, 0, 1, 1, 5);
		assert_sense(fc, KEY_NOT_READY, 0x04, 0x1b);
		fake_cmd_free(fc);
		DONE(fake_in(who, 0, CDB(OP_INQUIRY, 0, 0, 0, 36, 0), 36), SCSI_GOOD);
		sense = fake_in(who, 0, CDB(OP_REQUEST_SENSE, 0, 0, 0, 18, 0), 18);
		assert_int_equal(sense->in[2], KEY_NOT_READY);
		assert_int_equal(rd16(sense->in + 12), 0x041b);
		assert_int_equal(sense->in[15], 0x80);
		DONE(sense, SCSI_GOOD);
	}
	disk->hold[DISK_WRITE] = false;
	fake_disk_release(disk, 1);
	until_ready(other);
	DONE(fake_write(other, 0, 0, 1, 1, DATA_POOL), SCSI_GOOD);
	fake_logout(late, NULL);
	fake_logout(other, NULL);
	rig_stop(nexus);
}

/* A write that has asked for its data, and a read that the disk has. */
static void
what_was_there_before(void **state)
{
	struct nexus *nexus = start(0);
	struct fake_cmd *write, *read, *fc;

	write = fake_write(nexus, 0, 7, 1, 0x55, DATA_LATER);
	disk->hold[DISK_READ] = true;
	read = fake_read(nexus, 0, 0, 1);
	fc = overwrite(nexus, 0, 1, 1, 5);
	fake_settle();
	assert_int_equal(disk->ops[DISK_WRITE], 0);	/* the read still has the old data */
	disk->hold[DISK_READ] = false;
	fake_disk_release(disk, 1);
	rig_wait(&fc->dones, 0);
	DONE(fc, SCSI_GOOD);
	DONE(read, SCSI_GOOD);
	/* It is done: this write is a new one. */
	fake_data_come(write);
	DONE(write, SCSI_GOOD);
	assert_int_equal(disk->mem[7 * 512], 0x55);

	write = fake_write(nexus, 0, 7, 1, 0x66, DATA_LATER);
	disk->hold[DISK_WRITE] = true;
	begin(nexus, 1);
	fake_settle();
	fake_data_come(write);
	assert_sense(write, KEY_NOT_READY, 0x04, 0x1b);
	fake_cmd_free(write);
	disk->hold[DISK_WRITE] = false;
	fake_disk_release(disk, 1);
	until_ready(nexus);
	assert_true(all_bytes(disk->mem, SIZE, 1));
	rig_stop(nexus);
}

static void
it_outlives_who_asked_for_it(void **state)
{
	struct nexus *nexus = start(0);
	struct nexus *other = fake_login_quiet(0, "iqn.2026-11.test:b", 0);
	struct fake_cmd *fc, *again;
	struct fake_tmf ft;

	disk->hold[DISK_WRITE] = true;
	fc = overwrite(nexus, 0, 1, 1, 5);
	fake_settle();
	fake_tmf(&ft, other, TMF_LUN_RESET, 0, 0);
	rig_wait(&ft.dones, 0);
	assert_int_equal(ft.response, TMF_COMPLETE);
	SILENT(fc);
	fake_logout(nexus, NULL);
	DONE(fake_in(other, 0, CDB(OP_REQUEST_SENSE, 0, 0, 0, 18, 0), 18), SCSI_GOOD);
	again = ready(other);
	assert_sense(again, KEY_NOT_READY, 0x04, 0x1b);
	fake_cmd_free(again);
	disk->hold[DISK_WRITE] = false;
	fake_disk_release(disk, 1);
	until_ready(other);
	assert_true(all_bytes(disk->mem, SIZE, 1));
	rig_stop(other);
}

static void
after_a_failure(void **state)
{
	for (unsigned ause = 0; ause < 2; ause++) {
		struct nexus *nexus = start(DISK_CAP_UNMAP);
		struct fake_cmd *fc;

		DONE(leave(nexus), SCSI_GOOD);		/* of nothing */
		disk->error[DISK_WRITE] = -EIO;
		fc = overwrite(nexus, ause ? 0x20 : 0, 1, 1, 5);
		rig_wait(&fc->dones, 0);
		assert_sense(fc, KEY_MEDIUM_ERROR, 0x31, 0x03);
		fake_cmd_free(fc);
		fc = fake_read(nexus, 0, 0, 1);
		assert_sense(fc, KEY_MEDIUM_ERROR, 0x31, 0x03);
		fake_cmd_free(fc);
		fc = leave(nexus);
		if (ause)
			assert_status(fc, SCSI_GOOD);
		else
			assert_field(fc, 1, 4);
		fake_cmd_free(fc);
		if (!ause) {
			fc = erase(nexus, 0);
			rig_wait(&fc->dones, 0);
			DONE(fc, SCSI_GOOD);
		}
		DONE(ready(nexus), SCSI_GOOD);
		rig_stop(nexus);
	}
}

/* No room now is no failure. */
static void
it_tries_again(void **state)
{
	struct nexus *nexus = start(0);
	struct fake_cmd *fc;

	disk->error[DISK_WRITE] = -EAGAIN;
	fc = overwrite(nexus, 0, 1, 1, 5);
	fake_settle();
	assert_int_equal(fc->dones, 0);
	disk->error[DISK_WRITE] = 0;
	rig_wait(&fc->dones, 0);
	DONE(fc, SCSI_GOOD);
	assert_true(all_bytes(disk->mem, SIZE, 1));
	rig_stop(nexus);
}

static void
it_ends_with_the_daemon(void **state)
{
	struct nexus *nexus = start(0);

	disk->hold[DISK_WRITE] = true;
	begin(nexus, 31);
	fake_settle();
	fake_logout(nexus, NULL);
	targets_stop();
	disk->hold[DISK_WRITE] = false;
	fake_disk_release(disk, 1);
	fake_settle();
	assert_int_equal(disk->ops[DISK_WRITE], 1);
	fake_world_stop();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_block_begins_with_the_pattern),
		cmocka_unit_test(passes_and_their_inversion),
		cmocka_unit_test(an_erase_unmaps_all),
		cmocka_unit_test(only_where_it_is_allowed),
		cmocka_unit_test(lists_that_say_nonsense),
		cmocka_unit_test(nobody_gets_in_meanwhile),
		cmocka_unit_test(what_was_there_before),
		cmocka_unit_test(it_outlives_who_asked_for_it),
		cmocka_unit_test(after_a_failure),
		cmocka_unit_test(it_tries_again),
		cmocka_unit_test(it_ends_with_the_daemon),
	};

	return cmocka_run_group_tests_name("sanitize", tests, NULL, NULL);
}
