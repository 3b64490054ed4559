/* COMPARE AND WRITE: what it takes, compares, writes and answers. */
#include "scsi_rig.h"

#include <errno.h>

#include "hba/scsi/lu.h"
#include "hba/scsi/nexus.h"

static struct fake_cmd *
caw(struct nexus *nexus, uint16_t lba, uint8_t n, uint8_t flags, uint8_t old, uint8_t new)
{
	struct fake_cmd *fc = send_compare(nexus, 0, lba, n, flags, old, new, DATA_POOL);

	fake_settle();
	return fc;
}

/* The lock is gone whatever happened. */
static void
stop(struct nexus *nexus)
{
	struct lu *lu = lu_next(NULL);

	assert_true(list_empty(&lu->locks));
	assert_int_equal(nexus->luns[0]->hot, 0);
	rig_stop(nexus);
}

static void
writes_what_is_the_same(void **state)
{
	static const uint32_t caps[] = { 0, DISK_CAP_LENDS, DISK_CAP_LENDS | DISK_CAP_INLINE };
	static const uint8_t sizes[] = { 1, 2, 17, 255 };
	static const enum fake_data hows[] = { DATA_POOL, DATA_BORROWED };

	for (unsigned c = 0; c < ARRAY_LEN(caps); c++) {
		struct nexus *nexus = start_with(caps[c]);
		uint8_t now = 0;

		for (unsigned i = 0; i < ARRAY_LEN(sizes) * ARRAY_LEN(hows); i++) {
			uint8_t n = sizes[i / 2], next = (uint8_t)(now + 1);
			struct fake_cmd *fc = send_compare(nexus, 0, 7, n, 0, now, next, hows[i % 2]);

			fake_settle();
			assert_status(fc, SCSI_GOOD);
			assert_resid(fc, RESID_NONE, 0);
			fake_cmd_free(fc);
			assert_true(all_bytes(disk->mem, 7 * 512, 0));
			assert_true(all_bytes(disk->mem + 7 * 512, n * 512u, next));
			assert_true(all_bytes(disk->mem + (7 + n) * 512, 512, 0));
			now = next;
			/* For the next one, which may be longer. */
			memset(disk->mem + 7 * 512, 0, 256 * 512);
			memset(disk->mem + 7 * 512, now, sizes[(i + 1) / 2 % 4] * 512u);
		}
		stop(nexus);
	}
}

/* 255 blocks of 4 KiB: read in pieces, written in one. */
static void
large_blocks(void **state)
{
	static const uint32_t caps[] = { 0, DISK_CAP_LENDS };

	for (unsigned c = 0; c < ARRAY_LEN(caps); c++) {
		struct nexus *nexus;
		struct fake_cmd *fc;

		fake_world_init(1);
		disk->caps = caps[c];
		disk->size = 2 << 20;
		fakes.disk[0].block_size = 4096;
		assert_int_equal(fake_world_start(1), 0);
		nexus = fake_login_quiet(0, "iqn.2026-11.test:a", 0);
		DONE(caw(nexus, 1, 255, 0, 0, 0x77), SCSI_GOOD);
		assert_true(all_bytes(disk->mem + 4096, 255 * 4096, 0x77));
		assert_int_equal(disk->ops[DISK_WRITE], 1);
		/* The last byte of the last piece. */
		disk->mem[256 * 4096 - 1] = 0x78;
		fc = caw(nexus, 1, 255, 0, 0x77, 0x99);
		assert_sense(fc, KEY_MISCOMPARE, 0x1d, 0x00);
		assert_int_equal(rd32(fc->sense + 3), 255 * 4096 - 1);
		fake_cmd_free(fc);
		assert_int_equal(disk->ops[DISK_WRITE], 1);
		stop(nexus);
	}
}

static void
miscompares_name_the_first_byte(void **state)
{
	static const uint32_t places[] = { 0, 17, 511, 512, 1000, 1023 };
	static const uint32_t caps[] = { 0, DISK_CAP_LENDS };

	for (unsigned c = 0; c < ARRAY_LEN(caps); c++) {
		struct nexus *nexus = start_with(caps[c]);

		for (unsigned i = 0; i < ARRAY_LEN(places); i++) {
			struct fake_cmd *fc;

			memset(disk->mem, 0x11, 1 << 20);
			disk->mem[3 * 512 + places[i]] = 0x12;
			disk->mem[3 * 512 + 1023] = 0x13;
			fc = caw(nexus, 3, 2, 0, 0x11, 0x22);
			assert_sense(fc, KEY_MISCOMPARE, 0x1d, 0x00);
			assert_int_equal(fc->sense[0], 0xf0);
			assert_int_equal(rd32(fc->sense + 3), places[i]);
			assert_int_equal(disk->mem[3 * 512 + places[i] / 2], places[i] ? 0x11 : 0x12);
			fake_cmd_free(fc);
		}
		assert_int_equal(disk->ops[DISK_WRITE], 0);
		stop(nexus);
	}
}

static void
lengths(void **state)
{
	struct nexus *nexus = start_with(0);
	static const uint32_t wrong[] = { 0, 512, 1024, 2047, 2049, 2560, 4096 };
	struct fake_cmd *fc;

	for (unsigned i = 0; i < ARRAY_LEN(wrong); i++) {
		fc = send_out(nexus, CAW(0, 2, 0), wrong[i], 0, DATA_POOL);
		assert_sense(fc, KEY_ILLEGAL_REQUEST, 0x0e, 0x03);
		assert_int_equal(fc->wants, 0);
		assert_int_equal(fc->resid_kind, wrong[i] < 2048 ? RESID_OVER : RESID_UNDER);
		assert_int_equal(fc->resid, wrong[i] < 2048 ? 2048 - wrong[i] : wrong[i]);
		fake_cmd_free(fc);
	}
	/* As much, but the other way. */
	fc = fake_in(nexus, 0, CAW(0, 2, 0), 2048);
	assert_sense(fc, KEY_ILLEGAL_REQUEST, 0x0e, 0x03);
	fake_cmd_free(fc);
	/* No blocks are no error, wherever they are. */
	DONE(fake_in(nexus, 0, CAW(5, 0, 0), 0), SCSI_GOOD);
	DONE(fake_in(nexus, 0, CAW(2048, 0, 0), 0), SCSI_GOOD);
	/* But with data: somebody meant 256, which the field cannot say. */
	fc = send_out(nexus, CAW(5, 0, 0), 1024, 0, DATA_POOL);
	assert_sense(fc, KEY_ILLEGAL_REQUEST, 0x24, 0x00);
	fake_cmd_free(fc);
	assert_int_equal(disk->ops[DISK_READ] + disk->ops[DISK_WRITE], 0);
	stop(nexus);
}

static void
ranges_and_bits(void **state)
{
	struct nexus *nexus = start_with(0);
	struct fake_cmd *fc;

	DONE(caw(nexus, 2047, 1, 0, 0, 1), SCSI_GOOD);
	fc = caw(nexus, 2047, 2, 0, 0, 1);
	assert_sense(fc, KEY_ILLEGAL_REQUEST, 0x21, 0x00);
	fake_cmd_free(fc);
	fc = fake_in(nexus, 0, CAW(2049, 0, 0), 0);
	assert_sense(fc, KEY_ILLEGAL_REQUEST, 0x21, 0x00);
	fake_cmd_free(fc);
	fc = send_out(nexus, CDB(OP_COMPARE_WRITE, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	    0, 0, 0, 2), 2048, 0, DATA_POOL);
	assert_sense(fc, KEY_ILLEGAL_REQUEST, 0x21, 0x00);
	fake_cmd_free(fc);
	/* WRPROTECT, and a number of blocks that would not fit its byte. */
	fc = send_out(nexus, CAW(0, 1, 0x20), 1024, 0, DATA_POOL);
	assert_field(fc, 1, 5);
	fake_cmd_free(fc);
	fc = send_out(nexus, CDB(OP_COMPARE_WRITE, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0), 1024, 0,
	    DATA_POOL);
	assert_field(fc, 12, 0);
	fake_cmd_free(fc);
	DONE(caw(nexus, 9, 1, 0x10, 0, 1), SCSI_GOOD);
	stop(nexus);
}

static void
read_only_units_refuse(void **state)
{
	struct nexus *nexus = start_with(DISK_CAP_READ_ONLY);
	struct fake_cmd *fc = caw(nexus, 0, 1, 0, 0, 1);

	assert_sense(fc, KEY_DATA_PROTECT, 0x27, 0x00);
	assert_int_equal(fc->wants, 0);
	fake_cmd_free(fc);
	stop(nexus);
}

static void
fua_is_durable(void **state)
{
	static const struct { uint32_t caps; unsigned fua, flushes; } rows[] = {
		{ 0, 0, 0 },
		{ DISK_CAP_WRITE_CACHE, 0, 1 },
		{ DISK_CAP_WRITE_CACHE | DISK_CAP_FUA, 1, 0 },
		{ DISK_CAP_FUA, 1, 0 },
	};

	for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
		struct nexus *nexus = start_with(rows[i].caps);
		struct fake_cmd *fc;

		DONE(caw(nexus, 0, 1, 0, 0, 1), SCSI_GOOD);
		assert_int_equal(disk->fua + disk->ops[DISK_FLUSH], 0);
		DONE(caw(nexus, 0, 1, 0x08, 1, 2), SCSI_GOOD);
		assert_int_equal(disk->fua, rows[i].fua);
		assert_int_equal(disk->ops[DISK_FLUSH], rows[i].flushes);
		/* What was not written needs no flush. */
		fc = caw(nexus, 0, 1, 0x08, 1, 2);
		assert_sense(fc, KEY_MISCOMPARE, 0x1d, 0x00);
		fake_cmd_free(fc);
		assert_int_equal(disk->ops[DISK_FLUSH], rows[i].flushes);
		stop(nexus);
	}
}

static void
errors_of_the_disk(void **state)
{
	struct nexus *nexus = start_with(DISK_CAP_WRITE_CACHE);
	struct fake_cmd *fc;

	disk->error[DISK_READ] = -EIO;
	fc = caw(nexus, 9, 1, 0, 0, 1);
	assert_sense(fc, KEY_MEDIUM_ERROR, 0x11, 0x00);
	assert_int_equal(rd32(fc->sense + 3), 9);
	fake_cmd_free(fc);
	disk->error[DISK_READ] = 0;
	disk->error[DISK_WRITE] = -ENOSPC;
	fc = caw(nexus, 9, 1, 0, 0, 1);
	assert_sense(fc, KEY_DATA_PROTECT, 0x27, 0x07);
	fake_cmd_free(fc);
	disk->error[DISK_WRITE] = 0;
	disk->error[DISK_FLUSH] = -EIO;
	fc = caw(nexus, 9, 1, 0x08, 0, 1);
	assert_sense(fc, KEY_MEDIUM_ERROR, 0x0c, 0x00);
	fake_cmd_free(fc);
	disk->error[DISK_READ] = -ENOMEM;
	DONE(caw(nexus, 9, 1, 0, 0, 1), SCSI_BUSY);
	stop(nexus);
}

static void
a_disk_that_takes_its_time(void **state)
{
	struct nexus *nexus = start_with(DISK_CAP_WRITE_CACHE);
	struct fake_cmd *fc;

	disk->hold[DISK_READ] = disk->hold[DISK_WRITE] = disk->hold[DISK_FLUSH] = true;
	fc = caw(nexus, 9, 2, 0x08, 0, 0x44);
	for (unsigned op = 0; op < 3; op++) {
		static const enum disk_op ops[] = { DISK_READ, DISK_WRITE, DISK_FLUSH };

		assert_int_equal(fc->dones, 0);
		assert_int_equal(disk->ops[ops[op]], 1);
		/* The lock ends with the write. */
		assert_int_equal(list_empty(&lu_next(NULL)->locks), op == 2);
		fake_disk_release(disk, 1);
		fake_settle();
	}
	assert_status(fc, SCSI_GOOD);
	fake_cmd_free(fc);
	assert_true(all_bytes(disk->mem + 9 * 512, 1024, 0x44));
	stop(nexus);
}

/* All memory of the reactor. */
static struct { struct iovec seg[4096]; int n; } hog;

static void
hog_take(void *arg)
{
	while (buf_get(reactor_self(), &hog.seg[hog.n], 4096) == 1)
		hog.n++;
}

static void
hog_give(void *arg)
{
	int n = *(int *)arg;

	hog.n -= n;
	buf_put(reactor_self(), &hog.seg[hog.n], n);
}

/* Memory comes first: who waits for it keeps nobody from the blocks. */
static void
waits_for_memory_without_a_lock(void **state)
{
	buf_budget(8 << 20);
	for (int aborted = 0; aborted < 2; aborted++) {
		struct nexus *nexus = start_with(DISK_CAP_LENDS | DISK_CAP_INLINE);
		struct fake_cmd *fc;
		struct fake_tmf ft;
		int n = 1;

		fake_run(0, hog_take, NULL);
		assert_in_range(hog.n, 100, ARRAY_LEN(hog.seg) - 1);
		/* Enough for the data, and no more. */
		fake_run(0, hog_give, &n);
		fc = caw(nexus, 10, 1, 0, 0x55, 0x66);
		assert_int_equal(fc->dones, 0);
		assert_true(list_empty(&lu_next(NULL)->locks));
		DONE(fake_write(nexus, 0, 10, 1, 0x55, DATA_BORROWED), SCSI_GOOD);
		if (aborted) {
			fake_tmf(&ft, nexus, TMF_ABORT_TASK, 0, fc->cmd.tag);
			assert_int_equal(ft.dones, 1);
			SILENT(fc);
		}
		n = hog.n;
		fake_run(0, hog_give, &n);
		fake_settle();
		if (!aborted)
			DONE(fc, SCSI_GOOD);
		assert_true(all_bytes(disk->mem + 5120, 512, aborted ? 0x55 : 0x66));
		stop(nexus);
	}
	buf_budget(256 << 20);
}

/* After a lock reads of a disk that lends are copied, so they wait for memory too. */
static void
reads_that_are_copied_wait_for_memory(void **state)
{
	struct nexus *nexus;
	struct fake_cmd *fc;
	int n;

	buf_budget(8 << 20);
	nexus = start_with(DISK_CAP_LENDS | DISK_CAP_INLINE);
	DONE(caw(nexus, 10, 1, 0, 0, 0x66), SCSI_GOOD);
	fake_run(0, hog_take, NULL);
	fc = fake_in(nexus, 0, CDB(OP_READ_10, 0, 0, 0, 0, 10, 0, 0, 2), 700);
	assert_int_equal(fc->dones, 0);
	/* What it reads is what is there when it can be copied. */
	DONE(fake_write(nexus, 0, 10, 1, 0x77, DATA_BORROWED), SCSI_GOOD);
	n = hog.n;
	fake_run(0, hog_give, &n);
	fake_settle();
	assert_status(fc, SCSI_GOOD);
	assert_int_equal(fc->data_in, 700);
	assert_true(all_bytes(fc->in, 512, 0x77));
	assert_true(all_bytes(fc->in + 512, 188, 0));
	fake_cmd_free(fc);
	stop(nexus);
	buf_budget(256 << 20);
}

static void
it_is_announced(void **state)
{
	struct nexus *nexus = start_with(0);
	struct fake_cmd *fc;

	fc = fake_in(nexus, 0, CDB(OP_INQUIRY, 1, 0xb0, 0, 64), 64);
	assert_status(fc, SCSI_GOOD);
	assert_int_equal(fc->in[5], 255);
	fake_cmd_free(fc);
	fc = fake_in(nexus, 0, CDB(OP_MAINTENANCE_IN, SA_REPORT_OPCODES, 1, OP_COMPARE_WRITE, 0, 0, 0, 0,
	    0, 64), 64);
	assert_status(fc, SCSI_GOOD);
	assert_int_equal(fc->in[1], 3);
	assert_int_equal(rd16(fc->in + 2), 16);
	assert_memory_equal(fc->in + 4, ((const uint8_t[16]){ OP_COMPARE_WRITE, 0x18, 0xff, 0xff, 0xff,
	    0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0xff }), 16);
	fake_cmd_free(fc);
	stop(nexus);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_what_is_the_same),
		cmocka_unit_test(large_blocks),
		cmocka_unit_test(miscompares_name_the_first_byte),
		cmocka_unit_test(lengths),
		cmocka_unit_test(ranges_and_bits),
		cmocka_unit_test(read_only_units_refuse),
		cmocka_unit_test(fua_is_durable),
		cmocka_unit_test(errors_of_the_disk),
		cmocka_unit_test(a_disk_that_takes_its_time),
		cmocka_unit_test(waits_for_memory_without_a_lock),
		cmocka_unit_test(reads_that_are_copied_wait_for_memory),
		cmocka_unit_test(it_is_announced),
	};

	return cmocka_run_group_tests_name("compare", tests, NULL, NULL);
}
