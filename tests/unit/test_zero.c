/* UNMAP and WRITE SAME. */
#include "scsi_rig.h"

#include <errno.h>

/* It may go on in later turns. */
static struct fake_cmd *
ended(struct fake_cmd *fc)
{
	rig_wait(&fc->dones, 0);
	return fc;
}

static struct fake_cmd *
unmap(struct nexus *nexus, const uint8_t *list, uint16_t len, uint32_t edtl)
{
	struct fake_cmd *fc = fake_cmd_new(nexus, 0, CDB(OP_UNMAP, 0, 0, 0, 0, 0, 0,
	    (uint8_t)(len >> 8), (uint8_t)len));

	fake_cmd_expect(fc, edtl, 0, 0);
	memcpy(fc->out, list, edtl);
	fc->how = DATA_BORROWED;
	fake_cmd_submit(fc);
	return ended(fc);
}

static void
list_item(uint8_t *list, unsigned i, uint64_t lba, uint32_t blocks)
{
	wr64(list + 8 + 16 * i, lba);
	wr32(list + 16 + 16 * i, blocks);
}

static void
unmap_checks_all_before_it_does_any(void **state)
{
	struct nexus *nexus = start_with(DISK_CAP_UNMAP | DISK_CAP_UNMAP_ZEROES);
	uint8_t list[8 + 16 * 3] = { 0, 54, 0, 48 };
	struct fake_cmd *fc;

	memset(disk->mem, 0xee, 1 << 20);
	list_item(list, 0, 0, 1);
	list_item(list, 1, 10, 0);
	list_item(list, 2, 0xffffffffffffffff, 1);
	fc = unmap(nexus, list, sizeof(list), sizeof(list));
	assert_sense(fc, KEY_ILLEGAL_REQUEST, 0x21, 0x00);
	fake_cmd_free(fc);
	assert_int_equal(disk->ops[DISK_UNMAP], 0);
	list_item(list, 2, 2047, 1);
	DONE(unmap(nexus, list, sizeof(list), sizeof(list)), SCSI_GOOD);
	assert_int_equal(disk->ops[DISK_UNMAP], 2);
	assert_true(all_bytes(disk->mem, 512, 0));
	assert_true(all_bytes(disk->mem + 512, (1 << 20) - 1024, 0xee));
	assert_true(all_bytes(disk->mem + (1 << 20) - 512, 512, 0));
	rig_stop(nexus);
}

static void
unmap_parameter_lists(void **state)
{
	struct nexus *nexus = start_with(DISK_CAP_UNMAP);
	uint8_t list[8 + 16] = { 0, 22, 0, 16 };
	struct fake_cmd *fc;

	list_item(list, 0, 0, 1);
	for (uint16_t len = 1; len < 8; len++) {
		fc = unmap(nexus, list, len, len);
		assert_sense(fc, KEY_ILLEGAL_REQUEST, 0x1a, 0x00);
		fake_cmd_free(fc);
	}
	DONE(unmap(nexus, list, 0, 0), SCSI_GOOD);
	DONE(unmap(nexus, list, 8, 8), SCSI_GOOD);
	DONE(unmap(nexus, list, 23, 23), SCSI_GOOD);	/* the descriptor is not whole */
	assert_int_equal(disk->ops[DISK_UNMAP], 0);
	fc = unmap(nexus, list, 24, 23);
	assert_sense(fc, KEY_ILLEGAL_REQUEST, 0x0e, 0x03);
	fake_cmd_free(fc);
	list[2] = 0xff;					/* says it is longer than it is */
	DONE(unmap(nexus, list, 24, 24), SCSI_GOOD);
	assert_int_equal(disk->ops[DISK_UNMAP], 1);
	disk->error[DISK_UNMAP] = -EIO;
	fc = unmap(nexus, list, 24, 24);
	assert_sense(fc, KEY_MEDIUM_ERROR, 0x0c, 0x00);
	fake_cmd_free(fc);
	rig_stop(nexus);
}

static void
unmap_too_many_descriptors(void **state)
{
	struct nexus *nexus = start_with(DISK_CAP_UNMAP);
	uint8_t list[8 + 16 * 129] = { 0 };
	struct fake_cmd *fc;

	wr16(list + 2, 16 * 129);
	fc = unmap(nexus, list, sizeof(list), sizeof(list));
	assert_sense(fc, KEY_ILLEGAL_REQUEST, 0x26, 0x00);
	fake_cmd_free(fc);
	wr16(list + 2, 16 * 128);
	DONE(unmap(nexus, list, sizeof(list), sizeof(list)), SCSI_GOOD);
	rig_stop(nexus);
}

static void
no_unmap_where_the_disk_has_none(void **state)
{
	struct nexus *nexus = start_with(0);
	uint8_t list[8] = { 0 };
	struct fake_cmd *fc = unmap(nexus, list, 8, 8);

	assert_sense(fc, KEY_ILLEGAL_REQUEST, 0x20, 0x00);
	fake_cmd_free(fc);
	rig_stop(nexus);
}

static void
write_same_fills_the_range(void **state)
{
	static const struct { uint32_t caps; uint8_t flags, pattern; enum disk_op op; unsigned n; }
	how[] = {
		{ 0, 0, 0x78, DISK_WRITE, 3 },
		{ 0, 0, 0, DISK_WRITE, 3 },
		{ DISK_CAP_ZERO, 0, 0, DISK_ZERO, 1 },
		{ DISK_CAP_ZERO, 0, 0x78, DISK_WRITE, 3 },
		{ DISK_CAP_UNMAP | DISK_CAP_UNMAP_ZEROES, 8, 0, DISK_UNMAP, 1 },
		{ DISK_CAP_UNMAP | DISK_CAP_UNMAP_ZEROES, 8, 0x78, DISK_WRITE, 3 },
	};

	for (unsigned i = 0; i < ARRAY_LEN(how); i++) {
		struct nexus *nexus = start_with(how[i].caps);

		memset(disk->mem, 0xaa, 1 << 20);
		/* 1025 blocks from block 3. */
		DONE(ended(send_out(nexus, CDB(OP_WRITE_SAME_10, how[i].flags, 0, 0, 0, 3, 0, 4, 1),
		    512, how[i].pattern, DATA_BORROWED)), SCSI_GOOD);
		assert_int_equal(disk->ops[how[i].op], how[i].n);
		assert_true(all_bytes(disk->mem, 3 * 512, 0xaa));
		assert_true(all_bytes(disk->mem + 3 * 512, 1025 * 512, how[i].pattern));
		assert_true(all_bytes(disk->mem + 1028 * 512, 512, 0xaa));
		rig_stop(nexus);
	}
}

static void
write_same_refusals(void **state)
{
	struct nexus *nexus = start_with(DISK_CAP_UNMAP);
	struct fake_cmd *fc;

	/* ANCHOR: nothing is anchored here (ANC_SUP = 0). */
	fc = send_out(nexus, CDB(OP_WRITE_SAME_10, 0x10, 0, 0, 0, 0, 0, 0, 1), 512, 0, DATA_POOL);
	assert_field(fc, 1, 4);
	fake_cmd_free(fc);
	fc = send_out(nexus, CDB(OP_WRITE_SAME_16, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 8, 0), 512, 0,
	    DATA_POOL);
	assert_sense(fc, KEY_ILLEGAL_REQUEST, 0x21, 0x00);
	fake_cmd_free(fc);
	/* Unmapped blocks of this disk may read as anything. */
	fc = send_out(nexus, CDB(OP_WRITE_SAME_10, 8, 0, 0, 0, 0, 0, 0, 1), 512, 0, DATA_POOL);
	assert_field(fc, 1, 3);
	fake_cmd_free(fc);
	for (uint32_t edtl = 256; edtl <= 1024; edtl += 768) {
		fc = send_out(nexus, CDB(OP_WRITE_SAME_10, 0, 0, 0, 0, 0, 0, 0, 1), edtl, 0,
		    DATA_POOL);
		assert_sense(fc, KEY_ILLEGAL_REQUEST, 0x0e, 0x03);
		fake_cmd_free(fc);
	}
	memset(disk->mem, 0xaa, 1024);
	DONE(fake_in(nexus, 0, CDB(OP_WRITE_SAME_16, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1), 0),
	    SCSI_GOOD);
	assert_true(all_bytes(disk->mem, 512, 0));
	assert_true(all_bytes(disk->mem + 512, 512, 0xaa));
	rig_stop(nexus);
}

static void
write_same_of_no_blocks_is_all_the_rest(void **state)
{
	struct nexus *nexus = start_with(DISK_CAP_UNMAP | DISK_CAP_UNMAP_ZEROES);
	struct fake_cmd *fc;

	memset(disk->mem, 0xaa, 1 << 20);
	DONE(send_out(nexus, CDB(OP_WRITE_SAME_16, 0, 0, 0, 0, 0, 0, 0, 7, 0xff), 512, 0x33,
	    DATA_BORROWED), SCSI_GOOD);
	assert_true(all_bytes(disk->mem, 2047 * 512, 0xaa));
	assert_true(all_bytes(disk->mem + 2047 * 512, 512, 0x33));
	DONE(ended(send_out(nexus, CDB(OP_WRITE_SAME_16, 8, 0, 0, 0, 0, 0, 0, 0, 2), 512, 0,
	    DATA_POOL)), SCSI_GOOD);
	assert_int_equal(disk->ops[DISK_UNMAP], 1);
	assert_true(all_bytes(disk->mem, 1024, 0xaa));
	assert_true(all_bytes(disk->mem + 1024, 2046 * 512, 0));
	/* Of a block that is not there, there is no rest. */
	fc = send_out(nexus, CDB(OP_WRITE_SAME_16, 0, 0, 0, 0, 0, 0, 0, 8, 0), 512, 0, DATA_POOL);
	assert_sense(fc, KEY_ILLEGAL_REQUEST, 0x21, 0x00);
	fake_cmd_free(fc);
	rig_stop(nexus);
}

static void
write_same_keeps_to_the_limit(void **state)
{
	struct nexus *nexus;
	struct fake_cmd *fc;

	fake_world_init(1);
	fakes.disk[0].max_write_same = 5 * 512 + 1;
	assert_int_equal(fake_world_start(1), 0);
	nexus = fake_login_quiet(0, "iqn.2026-11.test:a", 0);
	fc = fake_in(nexus, 0, CDB(OP_INQUIRY, 1, 0xb0, 0, 64), 64);
	assert_int_equal(fc->in[4], 1);			/* WSNZ */
	assert_int_equal(rd64(fc->in + 36), 5);
	fake_cmd_free(fc);
	for (uint8_t n = 0; n <= 6; n++) {
		fc = send_out(nexus, CDB(OP_WRITE_SAME_10, 0, 0, 0, 0, 0, 0, 0, n), 512, 0, DATA_POOL);
		if (n && n < 6)
			assert_status(fc, SCSI_GOOD);
		else
			assert_field(fc, 7, -1);
		fake_cmd_free(fc);
		fc = send_out(nexus, CDB(OP_WRITE_SAME_16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, n),
		    512, 0, DATA_POOL);
		if (n && n < 6)
			assert_status(fc, SCSI_GOOD);
		else
			assert_field(fc, 10, -1);
		fake_cmd_free(fc);
	}
	rig_stop(nexus);
}

enum { LARGE = 160 * 1024 * 1024 };

/* Many slices, each of which the disk fails or not. */
static void
zeros_and_unmaps_go_in_slices(void **state)
{
	const uint32_t caps = DISK_CAP_UNMAP | DISK_CAP_UNMAP_ZEROES | DISK_CAP_ZERO;
	uint8_t list[8 + 16] = { 0, 22, 0, 16 };
	struct nexus *nexus;
	struct fake_cmd *fc;

	fake_world_init(1);
	disk->caps = caps;
	disk->size = LARGE;
	assert_int_equal(fake_world_start(1), 0);
	nexus = fake_login_quiet(0, "iqn.2026-11.test:a", 0);
	fc = send_out(nexus, CDB(OP_WRITE_SAME_16), 512, 0, DATA_POOL);
	rig_wait(&fc->dones, 0);
	DONE(fc, SCSI_GOOD);
	assert_int_equal(disk->ops[DISK_ZERO], 5);
	list_item(list, 0, 1, LARGE / 512 - 1);
	fc = unmap(nexus, list, sizeof(list), sizeof(list));
	DONE(fc, SCSI_GOOD);
	assert_int_equal(disk->ops[DISK_UNMAP], 5);
	disk->error[DISK_ZERO] = -EIO;
	fc = send_out(nexus, CDB(OP_WRITE_SAME_16), 512, 0, DATA_POOL);
	assert_sense(fc, KEY_MEDIUM_ERROR, 0x0c, 0x00);
	fake_cmd_free(fc);
	assert_int_equal(disk->ops[DISK_ZERO], 6);
	rig_stop(nexus);
}

/* On one reactor, in one turn of its loop. */
struct race {
	struct fake_cmd *same, *read;
	struct scsi_tmf *tmf;
	unsigned same_dones, read_dones;
};

static void
race_run(void *arg)
{
	struct race *race = arg;

	scsi_submit(&race->same->cmd);
	scsi_submit(&race->read->cmd);
	race->same_dones = race->same->dones;
	race->read_dones = race->read->dones;
	if (race->tmf)
		scsi_tmf(race->tmf);
}

static struct race
race_new(struct nexus *nexus, struct nexus *other)
{
	struct race race = { .same = fake_cmd_new(nexus, 0, CDB(OP_WRITE_SAME_16)),
		.read = fake_cmd_new(other, 0, CDB(OP_READ_10, 0, 0, 0, 0, 0, 0, 0, 8)) };

	fake_cmd_expect(race.same, 512, 0, 0x5a);
	race.same->how = DATA_POOL;
	fake_cmd_expect(race.read, 0, 4096, 0);
	return race;
}

static struct nexus *
start_large(void)
{
	fake_world_init(1);
	disk->size = LARGE;
	assert_int_equal(fake_world_start(1), 0);
	return fake_login_quiet(0, "iqn.2026-11.test:a", 0);
}

static void
a_read_does_not_wait_for_a_long_write_same(void **state)
{
	struct nexus *nexus = start_large();
	struct race race = race_new(nexus, nexus);

	fake_run(0, race_run, &race);
	assert_int_equal(race.same_dones, 0);
	assert_int_equal(race.read_dones, 1);
	rig_wait(&race.same->dones, 0);
	DONE(race.same, SCSI_GOOD);
	DONE(race.read, SCSI_GOOD);
	assert_true(all_bytes(disk->mem, LARGE, 0x5a));
	rig_stop(nexus);
}

static void
a_long_write_same_is_aborted_between_slices(void **state)
{
	struct nexus *nexus = start_large();
	struct nexus *other = fake_login_quiet(0, "iqn.2026-11.test:b", 0);
	struct race race = race_new(nexus, other);
	struct fake_tmf ft = { .tmf = { .nexus = nexus, .fn = TMF_ABORT_TASK,
		.tag = race.same->cmd.tag } };

	race.tmf = &ft.tmf;
	fake_run(0, race_run, &race);
	rig_wait(&ft.dones, 0);
	assert_int_equal(race.same_dones, 0);
	assert_int_equal(race.read_dones, 1);
	assert_int_equal(ft.response, TMF_COMPLETE);
	SILENT(race.same);
	DONE(race.read, SCSI_GOOD);
	assert_int_equal(disk->mem[LARGE - 1], 0);
	/* And by the end of its session. */
	race = race_new(nexus, other);
	fake_run(0, race_run, &race);
	fake_logout(nexus, NULL);
	assert_int_equal(race.same->dones, 1);
	fake_cmd_free(race.same);
	DONE(race.read, SCSI_GOOD);
	rig_stop(other);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unmap_checks_all_before_it_does_any),
		cmocka_unit_test(unmap_parameter_lists),
		cmocka_unit_test(unmap_too_many_descriptors),
		cmocka_unit_test(no_unmap_where_the_disk_has_none),
		cmocka_unit_test(write_same_fills_the_range),
		cmocka_unit_test(write_same_refusals),
		cmocka_unit_test(write_same_of_no_blocks_is_all_the_rest),
		cmocka_unit_test(write_same_keeps_to_the_limit),
		cmocka_unit_test(zeros_and_unmaps_go_in_slices),
		cmocka_unit_test(a_read_does_not_wait_for_a_long_write_same),
		cmocka_unit_test(a_long_write_same_is_aborted_between_slices),
	};

	return cmocka_run_group_tests_name("zero", tests, NULL, NULL);
}
