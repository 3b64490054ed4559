/* READ, WRITE and SYNCHRONIZE CACHE: ranges, residuals, errors, what reaches the disk. */
#include "scsi_rig.h"

#include <errno.h>

static void
what_is_written_is_read(void **state)
{
	static const uint32_t caps[] = { 0, DISK_CAP_LENDS, DISK_CAP_INLINE,
		DISK_CAP_LENDS | DISK_CAP_INLINE };

	for (unsigned c = 0; c < ARRAY_LEN(caps); c++) {
		struct nexus *nexus = start_with(caps[c]);

		for (int how = DATA_BORROWED; how <= DATA_POOL; how++) {
			struct fake_cmd *fc;

			DONE(fake_write(nexus, 0, 7, 9, (uint8_t)(0x40 + how), (enum fake_data)how),
			    SCSI_GOOD);
			fc = fake_read(nexus, 0, 7, 9);
			assert_status(fc, SCSI_GOOD);
			assert_resid(fc, RESID_NONE, 0);
			assert_int_equal(fc->data_in, 9 * 512);
			assert_true(all_bytes(fc->in, 9 * 512, (uint8_t)(0x40 + how)));
			fake_cmd_free(fc);
		}
		assert_true(all_bytes(disk->mem, 7 * 512, 0));
		assert_true(all_bytes(disk->mem + 16 * 512, 512, 0));
		rig_stop(nexus);
	}
}

static void
each_form_reads_the_same_block(void **state)
{
	struct nexus *nexus = start_with(0);
	static const uint8_t cdbs[][16] = {
		{ OP_READ_6, 0, 1, 2, 3 },
		{ OP_READ_10, 0, 0, 0, 1, 2, 0, 0, 3 },
		{ OP_READ_12, 0, 0, 0, 1, 2, 0, 0, 0, 3 },
		{ OP_READ_16, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 3 },
	};

	memset(disk->mem + 0x102 * 512, 0x77, 3 * 512);
	for (unsigned i = 0; i < ARRAY_LEN(cdbs); i++) {
		struct fake_cmd *fc = fake_in(nexus, 0, cdbs[i], 16, 3 * 512);

		assert_status(fc, SCSI_GOOD);
		assert_true(all_bytes(fc->in, 3 * 512, 0x77));
		fake_cmd_free(fc);
	}
	rig_stop(nexus);
}

static void
read_6_of_0_blocks_is_256(void **state)
{
	struct nexus *nexus = start_with(0);
	struct fake_cmd *fc = fake_in(nexus, 0, CDB(OP_READ_6), 256 * 512);

	assert_status(fc, SCSI_GOOD);
	assert_int_equal(fc->data_in, 256 * 512);
	fake_cmd_free(fc);
	rig_stop(nexus);
}

static void
no_blocks_no_work(void **state)
{
	struct nexus *nexus = start_with(0);

	DONE(fake_read(nexus, 0, 0, 0), SCSI_GOOD);
	DONE(fake_read(nexus, 0, 2048, 0), SCSI_GOOD);
	DONE(fake_write(nexus, 0, 5, 0, 1, DATA_POOL), SCSI_GOOD);
	assert_int_equal(disk->ops[DISK_READ] + disk->ops[DISK_WRITE], 0);
	rig_stop(nexus);
}

static void
read_past_the_end(void **state)
{
	struct nexus *nexus = start_with(0);
	static const struct { uint32_t lba; uint16_t blocks; } past[] = {
		{ 2048, 1 }, { 2047, 2 }, { 2049, 0 }, { 0, 2049 }, { 0xffffffff, 1 },
	};

	for (unsigned i = 0; i < ARRAY_LEN(past); i++) {
		struct fake_cmd *fc = fake_read(nexus, 0, past[i].lba, past[i].blocks);

		assert_sense(fc, KEY_ILLEGAL_REQUEST, 0x21, 0x00);
		assert_int_equal(fc->data_in, 0);
		fake_cmd_free(fc);
		fc = fake_write(nexus, 0, past[i].lba, past[i].blocks, 1, DATA_POOL);
		assert_sense(fc, KEY_ILLEGAL_REQUEST, 0x21, 0x00);
		assert_int_equal(fc->wants, 0);
		fake_cmd_free(fc);
	}
	DONE(fake_read(nexus, 0, 2047, 1), SCSI_GOOD);
	rig_stop(nexus);
}

static void
ranges_do_not_wrap_at_2_to_the_64(void **state)
{
	struct nexus *nexus = start_with(0);
	static const uint8_t ops[] = { OP_READ_16, OP_WRITE_16, OP_VERIFY_16, OP_WRITE_VERIFY_16,
		OP_SYNC_CACHE_16, OP_WRITE_SAME_16 };

	for (unsigned i = 0; i < ARRAY_LEN(ops); i++) {
		/* The last block there could be, and two: their end is block 1. */
		struct fake_cmd *fc = fake_cmd_new(nexus, 0, CDB(ops[i], 0, 0xff, 0xff, 0xff, 0xff,
		    0xff, 0xff, 0xff, 0xff, 0, 0, 0, 2, 0, 0));
		bool in = ops[i] == OP_READ_16;

		fake_cmd_expect(fc, in ? 0 : 512, in ? 512 : 0, 0);
		fake_cmd_submit(fc);
		assert_sense(fc, KEY_ILLEGAL_REQUEST, 0x21, 0x00);
		fake_cmd_free(fc);
	}
	rig_stop(nexus);
}

static void
more_than_the_maximum_is_refused_at_its_field(void **state)
{
	struct nexus *nexus;
	struct fake_cmd *fc;

	fake_world_init(1);
	disk->size = 64 << 20;
	assert_int_equal(fake_world_start(1), 0);
	nexus = fake_login_quiet(0, "iqn.2026-11.test:a", 0);
	fc = fake_in(nexus, 0, CDB(OP_READ_10, 0, 0, 0, 0, 0, 0, 0x20, 0x01), 512);
	assert_field(fc, 7, -1);
	fake_cmd_free(fc);
	fc = fake_in(nexus, 0, CDB(OP_READ_12, 0, 0, 0, 0, 0, 0, 0, 0x20, 0x01), 512);
	assert_field(fc, 6, -1);
	fake_cmd_free(fc);
	fc = fake_in(nexus, 0, CDB(OP_READ_16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x20, 0x01), 512);
	assert_field(fc, 10, -1);
	fake_cmd_free(fc);
	fc = fake_in(nexus, 0, CDB(OP_READ_10, 0, 0, 0, 0, 0, 0, 0x20, 0x00), BUF_XFER_MAX);
	assert_status(fc, SCSI_GOOD);
	assert_int_equal(fc->data_in, BUF_XFER_MAX);
	fake_cmd_free(fc);
	rig_stop(nexus);
}

/* -- residuals -- */

static void
read_residuals(void **state)
{
	static const struct { uint32_t edtl, sent; int kind; uint32_t resid; } want[] = {
		{ 1024, 1024, RESID_NONE, 0 },
		{ 10000, 1024, RESID_UNDER, 10000 - 1024 },
		{ 512, 512, RESID_OVER, 512 },
		{ 200, 200, RESID_OVER, 824 },
		{ 1023, 1023, RESID_OVER, 1 },
		{ 0, 0, RESID_OVER, 1024 },
	};

	for (int lends = 0; lends < 2; lends++) {
		struct nexus *nexus = start_with(lends ? DISK_CAP_LENDS : 0);

		memset(disk->mem, 0x33, 2048);
		for (unsigned i = 0; i < ARRAY_LEN(want); i++) {
			struct fake_cmd *fc = fake_in(nexus, 0,
			    CDB(OP_READ_10, 0, 0, 0, 0, 0, 0, 0, 2), want[i].edtl);

			assert_status(fc, SCSI_GOOD);
			assert_int_equal(fc->data_in, want[i].sent);
			assert_true(all_bytes(fc->in, want[i].sent, 0x33));
			assert_resid(fc, want[i].kind, want[i].resid);
			fake_cmd_free(fc);
		}
		rig_stop(nexus);
	}
}

static void
write_residuals(void **state)
{
	struct nexus *nexus = start_with(0);
	static const struct { uint32_t edtl, written; int kind; uint32_t resid; } want[] = {
		{ 1024, 1024, RESID_NONE, 0 },
		{ 10000, 1024, RESID_UNDER, 10000 - 1024 },
		{ 512, 512, RESID_OVER, 512 },
		{ 0, 0, RESID_OVER, 1024 },
	};

	for (unsigned i = 0; i < ARRAY_LEN(want); i++) {
		struct fake_cmd *fc;

		memset(disk->mem, 'a', 2048);
		fc = send_out(nexus, CDB(OP_WRITE_10, 0, 0, 0, 0, 0, 0, 0, 2), want[i].edtl, 'b',
		    DATA_POOL);
		assert_status(fc, SCSI_GOOD);
		assert_resid(fc, want[i].kind, want[i].resid);
		assert_true(all_bytes(disk->mem, want[i].written, 'b'));
		assert_true(all_bytes(disk->mem + want[i].written, 2048 - want[i].written, 'a'));
		fake_cmd_free(fc);
	}
	rig_stop(nexus);
}

static void
no_part_of_a_block_is_written(void **state)
{
	static const uint8_t ops[] = { OP_WRITE_10, OP_WRITE_VERIFY_10 };
	struct nexus *nexus = start_with(0);

	for (unsigned o = 0; o < ARRAY_LEN(ops); o++) {
		for (uint32_t edtl = 1; edtl < 1024; edtl += 71) {
			struct fake_cmd *fc = send_out(nexus,
			    CDB(ops[o], 0, 0, 0, 0, 0, 0, 0, 2), edtl, 'b', DATA_POOL);

			assert_sense(fc, KEY_ILLEGAL_REQUEST, 0x0e, 0x03);
			assert_resid(fc, RESID_OVER, 1024 - edtl);
			assert_int_equal(fc->wants, 0);
			fake_cmd_free(fc);
		}
	}
	assert_int_equal(disk->ops[DISK_WRITE], 0);
	rig_stop(nexus);
}

static void
data_of_the_other_direction(void **state)
{
	struct nexus *nexus = start_with(0);
	struct fake_cmd *fc;

	/* A write of which data is to come: nothing is written, nothing is taken. */
	fc = fake_in(nexus, 0, CDB(OP_WRITE_10, 0, 0, 0, 0, 0, 0, 0, 1), 512);
	assert_sense(fc, KEY_ILLEGAL_REQUEST, 0x0e, 0x03);
	assert_resid(fc, RESID_OVER, 512);
	fake_cmd_free(fc);
	/* A read that announces data: it is left where it is. */
	fc = send_out(nexus, CDB(OP_READ_10, 0, 0, 0, 0, 0, 0, 0, 1), 512, 1, DATA_POOL);
	assert_status(fc, SCSI_GOOD);
	assert_resid(fc, RESID_OVER, 512);
	assert_int_equal(fc->wants, 0);
	fake_cmd_free(fc);
	/* Both ways at once. */
	fc = fake_cmd_new(nexus, 0, CDB(OP_READ_10, 0, 0, 0, 0, 0, 0, 0, 1));
	fake_cmd_expect(fc, 512, 512, 0);
	fake_cmd_submit(fc);
	assert_sense(fc, KEY_ILLEGAL_REQUEST, 0x0e, 0x03);
	assert_int_equal(fc->wants, 0);
	fake_cmd_free(fc);
	/* A command without data. */
	fc = fake_in(nexus, 0, CDB(OP_TEST_UNIT_READY), 512);
	assert_status(fc, SCSI_GOOD);
	assert_resid(fc, RESID_UNDER, 512);
	fake_cmd_free(fc);
	rig_stop(nexus);
}

/* -- errors -- */

static void
errors_of_the_disk_become_sense(void **state)
{
	struct nexus *nexus = start_with(0);
	struct fake_cmd *fc;

	disk->error[DISK_READ] = -EIO;
	fc = fake_read(nexus, 0, 0x123, 2);
	assert_sense(fc, KEY_MEDIUM_ERROR, 0x11, 0x00);
	assert_int_equal(fc->sense[0], 0xf0);
	assert_int_equal(rd32(fc->sense + 3), 0x123);
	assert_int_equal(fc->data_in, 0);
	assert_resid(fc, RESID_UNDER, 1024);
	fake_cmd_free(fc);
	disk->error[DISK_WRITE] = -EIO;
	fc = fake_write(nexus, 0, 0x44, 2, 1, DATA_BORROWED);
	assert_sense(fc, KEY_MEDIUM_ERROR, 0x0c, 0x00);
	assert_int_equal(rd32(fc->sense + 3), 0x44);
	fake_cmd_free(fc);
	disk->error[DISK_WRITE] = -ENOSPC;
	fc = fake_write(nexus, 0, 0, 2, 1, DATA_POOL);
	assert_sense(fc, KEY_DATA_PROTECT, 0x27, 0x07);
	fake_cmd_free(fc);
	disk->error[DISK_READ] = -ENOMEM;
	DONE(fake_read(nexus, 0, 0, 1), SCSI_BUSY);
	rig_stop(nexus);
}

static void
data_that_did_not_come(void **state)
{
	struct nexus *nexus = start_with(0);
	struct fake_cmd *fc = fake_write(nexus, 0, 0, 1, 1, DATA_LATER);

	assert_int_equal(fc->dones, 0);
	assert_int_equal(fc->wants, 1);
	fake_data_fail(fc, 0x0c, 0x0d);
	assert_sense(fc, KEY_ABORTED_COMMAND, 0x0c, 0x0d);
	fake_cmd_free(fc);
	assert_int_equal(disk->ops[DISK_WRITE], 0);
	rig_stop(nexus);
}

static void
read_only_and_offline(void **state)
{
	struct nexus *nexus;
	struct fake_cmd *fc;

	fake_world_init(2);
	fakes.lun[0][0].read_only = true;
	fakes.fake[1].open_error = -ENOENT;
	assert_int_equal(fake_world_start(1), 0);
	nexus = fake_login_quiet(0, "iqn.2026-11.test:a", 0);
	fc = fake_write(nexus, 0, 0, 1, 1, DATA_POOL);
	assert_sense(fc, KEY_DATA_PROTECT, 0x27, 0x00);
	fake_cmd_free(fc);
	DONE(fake_read(nexus, 0, 0, 1), SCSI_GOOD);
	fc = fake_read(nexus, 1, 0, 1);
	assert_sense(fc, KEY_NOT_READY, 0x04, 0x03);
	fake_cmd_free(fc);
	DONE(fake_in(nexus, 1, CDB(OP_INQUIRY, 0, 0, 0, 96), 96), SCSI_GOOD);
	DONE(fake_in(nexus, 1, CDB(OP_MODE_SENSE_6, 0, 0x3f, 0, 255), 255), SCSI_GOOD);
	rig_stop(nexus);
}

static void
limits_full(void **state)
{
	struct nexus *nexus;
	struct fake_cmd *running, *waiting, *fc;

	fake_world_init(1);
	fakes.adapter.lun_depth = 1;
	fakes.adapter.max_waiters = 1;
	disk->hold[DISK_READ] = true;
	assert_int_equal(fake_world_start(1), 0);
	nexus = fake_login_quiet(0, "iqn.2026-11.test:a", 0);
	running = fake_read(nexus, 0, 0, 1);
	waiting = fake_read(nexus, 0, 1, 1);
	fc = fake_read(nexus, 0, 2, 1);
	assert_int_equal(running->dones + waiting->dones, 0);
	assert_status(fc, SCSI_TASK_SET_FULL);
	fake_cmd_free(fc);
	disk->hold[DISK_READ] = false;
	fake_disk_release(disk, 1);
	fake_settle();
	assert_status(running, SCSI_GOOD);
	assert_status(waiting, SCSI_GOOD);
	fake_cmd_free(running);
	fake_cmd_free(waiting);
	rig_stop(nexus);
}

/* A write whose data is borrowed must own it before it waits. */
static void
borrowed_data_outlives_its_buffer(void **state)
{
	static const uint32_t caps[] = { 0, DISK_CAP_INLINE };

	for (unsigned c = 0; c < ARRAY_LEN(caps); c++) {
		struct nexus *nexus;
		struct fake_cmd *running, *fc;

		fake_world_init(1);
		fakes.adapter.lun_depth = 1;
		disk->caps = caps[c];
		disk->hold[DISK_FLUSH] = true;
		assert_int_equal(fake_world_start(1), 0);
		nexus = fake_login_quiet(0, "iqn.2026-11.test:a", 0);
		/* A read that holds the only slot: the write waits behind it. */
		disk->hold[DISK_READ] = true;
		running = fake_read(nexus, 0, 100, 1);
		fc = fake_write(nexus, 0, 0, 3, 0x66, DATA_BORROWED);
		assert_int_equal(fc->dones, 0);
		fake_disk_release(disk, 1);
		fake_settle();
		assert_status(fc, SCSI_GOOD);
		assert_true(all_bytes(disk->mem, 3 * 512, 0x66));
		fake_cmd_free(fc);
		assert_status(running, SCSI_GOOD);
		fake_cmd_free(running);
		rig_stop(nexus);
	}
}

/* -- FUA and caches -- */

static void
fua_reaches_the_medium(void **state)
{
	struct nexus *nexus = start_with(DISK_CAP_WRITE_CACHE);

	DONE(send_out(nexus, CDB(OP_WRITE_10, 0x08, 0, 0, 0, 0, 0, 0, 1), 512, 1, DATA_BORROWED),
	    SCSI_GOOD);
	assert_int_equal(disk->ops[DISK_FLUSH], 1);
	DONE(fake_in(nexus, 0, CDB(OP_READ_10, 0x08, 0, 0, 0, 0, 0, 0, 1), 512), SCSI_GOOD);
	assert_int_equal(disk->ops[DISK_FLUSH], 2);
	DONE(fake_write(nexus, 0, 0, 1, 1, DATA_POOL), SCSI_GOOD);
	assert_int_equal(disk->ops[DISK_FLUSH], 2);
	rig_stop(nexus);

	nexus = start_with(DISK_CAP_WRITE_CACHE | DISK_CAP_FUA);
	DONE(send_out(nexus, CDB(OP_WRITE_10, 0x08, 0, 0, 0, 0, 0, 0, 1), 512, 1, DATA_POOL),
	    SCSI_GOOD);
	assert_int_equal(disk->ops[DISK_FLUSH], 0);
	assert_int_equal(disk->fua, 1);
	rig_stop(nexus);
}

static void
a_failed_flush_fails_the_fua_write(void **state)
{
	struct nexus *nexus = start_with(DISK_CAP_WRITE_CACHE);
	struct fake_cmd *fc;

	disk->error[DISK_FLUSH] = -EIO;
	fc = send_out(nexus, CDB(OP_WRITE_10, 0x08, 0, 0, 0, 0, 0, 0, 1), 512, 1, DATA_POOL);
	assert_sense(fc, KEY_MEDIUM_ERROR, 0x0c, 0x00);
	fake_cmd_free(fc);
	fc = fake_in(nexus, 0, CDB(OP_SYNC_CACHE_10), 0);
	assert_sense(fc, KEY_MEDIUM_ERROR, 0x0c, 0x00);
	fake_cmd_free(fc);
	rig_stop(nexus);
}

static void
synchronize_waits_unless_immediate(void **state)
{
	struct nexus *nexus = start_with(DISK_CAP_WRITE_CACHE);
	struct fake_cmd *fc, *now;

	disk->hold[DISK_FLUSH] = true;
	fc = fake_in(nexus, 0, CDB(OP_SYNC_CACHE_10), 0);
	assert_int_equal(fc->dones, 0);
	now = fake_in(nexus, 0, CDB(OP_SYNC_CACHE_16, 0x02), 0);
	assert_status(now, SCSI_GOOD);
	fake_cmd_free(now);
	assert_int_equal(disk->ops[DISK_FLUSH], 2);
	/* Two more while that one runs are one more flush. */
	DONE(fake_in(nexus, 0, CDB(OP_SYNC_CACHE_10, 0x02), 0), SCSI_GOOD);
	DONE(fake_in(nexus, 0, CDB(OP_SYNC_CACHE_10, 0x02), 0), SCSI_GOOD);
	assert_int_equal(disk->ops[DISK_FLUSH], 2);
	fake_disk_release(disk, 2);
	fake_settle();
	assert_status(fc, SCSI_GOOD);
	fake_cmd_free(fc);
	assert_int_equal(disk->ops[DISK_FLUSH], 3);
	/* The nexus goes, its flush still runs. */
	fake_logout(nexus, NULL);
	fake_disk_release(disk, 1);
	fake_world_stop();
}

static void
synchronize_past_the_end(void **state)
{
	struct nexus *nexus = start_with(0);
	struct fake_cmd *fc = fake_in(nexus, 0, CDB(OP_SYNC_CACHE_10, 0, 0, 0, 8, 0, 0, 0, 1), 0);

	assert_sense(fc, KEY_ILLEGAL_REQUEST, 0x21, 0x00);
	fake_cmd_free(fc);
	DONE(fake_in(nexus, 0, CDB(OP_SYNC_CACHE_10, 0, 0, 0, 7, 0xff, 0, 0, 1), 0), SCSI_GOOD);
	rig_stop(nexus);
}

/* -- memory -- */

static void
reads_wait_for_memory(void **state)
{
	enum { READS = 20 };
	struct fake_cmd *fc[READS];
	struct nexus *nexus;
	unsigned done = 0;

	buf_budget(8 << 20);
	fake_world_init(1);
	disk->size = 16 << 20;
	disk->hold[DISK_READ] = true;
	assert_int_equal(fake_world_start(1), 0);
	nexus = fake_login_quiet(0, "iqn.2026-11.test:a", 0);
	for (unsigned i = 0; i < READS; i++)
		fc[i] = fake_read(nexus, 0, 0, 2048);
	assert_true(fake_disk_held(disk) < READS);
	/* One that waits for memory is aborted; the others get theirs. */
	struct fake_tmf ft;
	fake_tmf(&ft, nexus, TMF_ABORT_TASK, 0, fc[READS - 2]->cmd.tag);
	assert_int_equal(ft.dones, 1);
	assert_int_equal(ft.response, TMF_COMPLETE);
	disk->hold[DISK_READ] = false;
	fake_disk_release(disk, READS);
	fake_settle();
	for (unsigned i = 0; i < READS; i++) {
		done += fc[i]->status == SCSI_GOOD && !(fc[i]->flags & CMD_SILENT);
		fake_cmd_free(fc[i]);
	}
	assert_int_equal(done, READS - 1);
	rig_stop(nexus);
	buf_budget(256 << 20);
}

static void
blocks_of_4096(void **state)
{
	struct nexus *nexus;
	struct fake_cmd *fc;

	fake_world_init(1);
	fakes.disk[0].block_size = 4096;
	assert_int_equal(fake_world_start(1), 0);
	nexus = fake_login_quiet(0, "iqn.2026-11.test:a", 0);
	DONE(send_out(nexus, CDB(OP_WRITE_10, 0, 0, 0, 0, 1, 0, 0, 2), 8192, 0x21, DATA_BORROWED),
	    SCSI_GOOD);
	assert_true(all_bytes(disk->mem + 4096, 8192, 0x21));
	fc = fake_in(nexus, 0, CDB(OP_READ_10, 0, 0, 0, 0, 1, 0, 0, 2), 5000);
	assert_status(fc, SCSI_GOOD);
	assert_int_equal(fc->data_in, 5000);
	assert_true(all_bytes(fc->in, 5000, 0x21));
	fake_cmd_free(fc);
	fc = fake_in(nexus, 0, CDB(OP_READ_10, 0, 0, 0, 1, 0, 0, 0, 1), 4096);
	assert_sense(fc, KEY_ILLEGAL_REQUEST, 0x21, 0x00);
	fake_cmd_free(fc);
	rig_stop(nexus);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(each_form_reads_the_same_block),
		cmocka_unit_test(read_6_of_0_blocks_is_256),
		cmocka_unit_test(no_blocks_no_work),
		cmocka_unit_test(read_past_the_end),
		cmocka_unit_test(ranges_do_not_wrap_at_2_to_the_64),
		cmocka_unit_test(more_than_the_maximum_is_refused_at_its_field),
		cmocka_unit_test(read_residuals),
		cmocka_unit_test(write_residuals),
		cmocka_unit_test(no_part_of_a_block_is_written),
		cmocka_unit_test(data_of_the_other_direction),
		cmocka_unit_test(errors_of_the_disk_become_sense),
		cmocka_unit_test(data_that_did_not_come),
		cmocka_unit_test(read_only_and_offline),
		cmocka_unit_test(limits_full),
		cmocka_unit_test(borrowed_data_outlives_its_buffer),
		cmocka_unit_test(fua_reaches_the_medium),
		cmocka_unit_test(a_failed_flush_fails_the_fua_write),
		cmocka_unit_test(synchronize_waits_unless_immediate),
		cmocka_unit_test(synchronize_past_the_end),
		cmocka_unit_test(reads_wait_for_memory),
		cmocka_unit_test(blocks_of_4096),
	};

	return cmocka_run_group_tests_name("rw", tests, NULL, NULL);
}
