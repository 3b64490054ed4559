/* Parameter lists of EXTENDED COPY, and copies between units: who may, what fails, and how it is told. */
#include "scsi_rig.h"

#include <errno.h>

#include "hba/scsi/copy.h"
#include "hba/scsi/lu.h"
#include "hba/scsi/nexus.h"

enum { UNITS = 2, MEM = 1 << 20 };

struct plist {
	uint8_t bytes[COPY_HEADER + COPY_DESCRIPTORS + 256];
	uint32_t len;
};

static const struct lu *
lu_of(unsigned disk_number)
{
	struct lu *lu = NULL;

	while ((lu = lu_next(lu)))
		if (lu->disk == disk_find(fakes.name[disk_number]))
			return lu;
	return NULL;
}

/* LUN n copies, unless `off` says no. */
static struct nexus *
start(uint32_t caps, unsigned off)
{
	fake_world_init(UNITS + 1);
	for (unsigned i = 0; i <= UNITS; i++) {
		fakes.fake[i].caps = caps;
		fakes.lun[0][i].copy = !(off & 1u << i);
	}
	assert_int_equal(fake_world_start(1), 0);
	for (unsigned i = 0; i <= UNITS; i++)
		for (unsigned b = 0; b < MEM; b++)
			fakes.fake[i].mem[b] = (uint8_t)(b / 512 * 7 + b % 512 + i * 91);
	return fake_login_quiet(0, "iqn.2026-11.test:a", 0);
}

/* An empty list with units 0 and 1 by their NAA. */
static void
list_init_units(struct plist *l, unsigned first, unsigned second)
{
	memset(l, 0, sizeof(*l));
	l->len = COPY_HEADER + 2 * COPY_UNIT_LEN;
	wr16(l->bytes + 2, 2 * COPY_UNIT_LEN);
	for (unsigned i = 0; i < 2; i++) {
		uint8_t *d = l->bytes + COPY_HEADER + i * COPY_UNIT_LEN;

		d[0] = COPY_UNIT_IDENTIFICATION;
		d[4] = 1;
		d[5] = 3;
		d[7] = LU_NAA_LEN;
		memcpy(d + 8, lu_of(i ? second : first)->naa, LU_NAA_LEN);
		wr16(d + 30, 512);
	}
}

static void
list_add(struct plist *l, unsigned from, unsigned to, uint16_t blocks, uint64_t from_lba,
    uint64_t to_lba)
{
	uint8_t *d = l->bytes + l->len;

	d[0] = COPY_SEGMENT_BLOCKS;
	wr16(d + 2, COPY_SEGMENT_LEN - 4);
	wr16(d + 4, (uint16_t)from);
	wr16(d + 6, (uint16_t)to);
	wr16(d + 10, blocks);
	wr64(d + 12, from_lba);
	wr64(d + 20, to_lba);
	l->len += COPY_SEGMENT_LEN;
	wr32(l->bytes + 8, rd32(l->bytes + 8) + COPY_SEGMENT_LEN);
}

static struct fake_cmd *
send_list(struct nexus *nexus, const struct plist *l, enum fake_data how)
{
	uint8_t cdb[16] = { OP_COPY_OUT };
	struct fake_cmd *fc;

	wr32(cdb + 10, l->len);
	fc = fake_cmd_new(nexus, 0, cdb, sizeof(cdb));
	fake_cmd_expect(fc, l->len, 0, 0);
	memcpy(fc->out, l->bytes, l->len);
	fc->how = how;
	fake_cmd_submit(fc);
	return fc;
}

static struct fake_cmd *
copy(struct nexus *nexus, const struct plist *l)
{
	struct fake_cmd *fc = send_list(nexus, l, DATA_BORROWED);

	rig_wait(&fc->dones, 0);
	return fc;
}

static struct fake_cmd *
results(struct nexus *nexus, uint8_t sa, uint8_t id)
{
	return fake_in(nexus, 0, CDB(OP_COPY_IN, sa, id, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 200), 200);
}

static void
blocks_go_from_unit_to_unit(void **state)
{
	static const uint32_t caps[] = { 0, DISK_CAP_LENDS, DISK_CAP_INLINE | DISK_CAP_LENDS };

	for (unsigned c = 0; c < ARRAY_LEN(caps); c++) {
		struct nexus *nexus = start(caps[c], 0);
		uint8_t *a = fakes.fake[0].mem, *b = fakes.fake[1].mem, *want = malloc(MEM);
		struct plist l;

		memcpy(want, b, MEM);
		memcpy(want + 512, a + 3 * 512, 1200 * 512);
		memcpy(want + 2047 * 512, a, 512);
		list_init_units(&l, 0, 1);
		list_add(&l, 0, 1, 1200, 3, 1);
		list_add(&l, 0, 1, 0, 7, 9);
		list_add(&l, 0, 1, 1, 0, 2047);
		DONE(copy(nexus, &l), SCSI_GOOD);
		assert_memory_equal(b, want, MEM);
		free(want);
		rig_stop(nexus);
	}
}

/* As if all had been read before anything was written. */
static void
parts_of_one_unit_that_overlap(void **state)
{
	static const struct { uint16_t from, to, n; } row[] = {
		{ 0, 1, 1500 }, { 1, 0, 1500 }, { 100, 700, 1300 }, { 700, 100, 1300 }, { 5, 5, 900 },
	};

	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		struct nexus *nexus = start(i & 1 ? DISK_CAP_LENDS : 0, 0);
		uint8_t *a = fakes.fake[0].mem, *want = malloc(MEM);
		struct plist l;

		memcpy(want, a, MEM);
		memmove(want + row[i].to * 512, a + row[i].from * 512, row[i].n * 512u);
		list_init_units(&l, 0, 0);
		list_add(&l, 0, 1, row[i].n, row[i].from, row[i].to);
		DONE(copy(nexus, &l), SCSI_GOOD);
		assert_memory_equal(a, want, MEM);
		free(want);
		rig_stop(nexus);
	}
}

/* K21, and everything else that is not a list of what this nexus may copy: nothing is copied. */
static void
nothing_is_copied_that_may_not_be(void **state)
{
	enum { UNIT1 = COPY_HEADER + COPY_UNIT_LEN, SEG = COPY_HEADER + 2 * COPY_UNIT_LEN };
	static const struct { unsigned at, value; uint8_t key, asc, ascq; const char *what; } bad[] = {
		{ UNIT1 + 8, 0xff, KEY_COPY_ABORTED, 0x0d, 0x02, "a unit that is not here" },
		{ UNIT1 + 7, 7, KEY_COPY_ABORTED, 0x0d, 0x02, "a part of a name" },
		{ UNIT1 + 7, 21, KEY_ILLEGAL_REQUEST, 0x26, 0x00, "a name that is too long" },
		{ UNIT1 + 1, 0x20, KEY_COPY_ABORTED, 0x0d, 0x02, "NUL" },
		{ UNIT1 + 1, 0x01, KEY_COPY_ABORTED, 0x0d, 0x03, "a tape" },
		{ UNIT1 + 30, 0x10, KEY_ILLEGAL_REQUEST, 0x26, 0x00, "other blocks" },
		{ UNIT1, 0xe0, KEY_ILLEGAL_REQUEST, 0x26, 0x07, "an N_Port" },
		{ COPY_HEADER, 0xe0, KEY_ILLEGAL_REQUEST, 0x26, 0x07, "an N_Port first" },
		{ SEG, 0x03, KEY_ILLEGAL_REQUEST, 0x26, 0x09, "streams" },
		{ SEG + 3, 0x17, KEY_ILLEGAL_REQUEST, 0x26, 0x00, "a short segment" },
		{ SEG + 5, 2, KEY_COPY_ABORTED, 0x08, 0x04, "no third unit, from" },
		{ SEG + 6, 0xff, KEY_COPY_ABORTED, 0x08, 0x04, "no such unit, to" },
		{ SEG + 12, 0xff, KEY_COPY_ABORTED, 0, 0, "past the end, from" },
		{ SEG + 26, 0x08, KEY_COPY_ABORTED, 0, 0, "past the end, to" },
		{ 3, 2 * COPY_UNIT_LEN - 1, KEY_ILLEGAL_REQUEST, 0x26, 0x00, "units not whole" },
		{ 2, 1, KEY_ILLEGAL_REQUEST, 0x1a, 0x00, "more units than bytes" },
		{ 8, 0xff, KEY_ILLEGAL_REQUEST, 0x1a, 0x00, "more segments than bytes" },
		{ 12, 0xff, KEY_ILLEGAL_REQUEST, 0x1a, 0x00, "more inline data than bytes" },
	};
	struct nexus *nexus = start(0, 0);
	struct plist l, good;
	struct fake_cmd *fc;

	list_init_units(&good, 0, 1);
	list_add(&good, 0, 1, 8, 0, 2040);
	for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
		l = good;
		l.bytes[bad[i].at] = (uint8_t)bad[i].value;
		fc = copy(nexus, &l);
		if (fc->sense[2] != bad[i].key || fc->sense[12] != bad[i].asc)
			print_message("%s\n", bad[i].what);
		assert_sense(fc, bad[i].key, bad[i].asc, bad[i].ascq);
		fake_cmd_free(fc);
	}
	for (uint32_t len = 0; len < good.len; len++) {
		l = good;
		l.len = len;
		fc = copy(nexus, &l);
		if (len)
			assert_sense(fc, KEY_ILLEGAL_REQUEST, 0x1a, 0x00);
		else
			assert_status(fc, SCSI_GOOD);
		fake_cmd_free(fc);
	}
	assert_int_equal(fakes.fake[0].ops[DISK_READ] + fakes.fake[1].ops[DISK_WRITE], 0);
	rig_stop(nexus);
}

static void
only_over_luns_that_copy(void **state)
{
	struct nexus *nexus = start(0, 1u << 1);
	struct plist l;
	struct fake_cmd *fc;

	list_init_units(&l, 0, 1);
	list_add(&l, 0, 1, 1, 0, 0);
	fc = copy(nexus, &l);
	assert_sense(fc, KEY_COPY_ABORTED, 0x0d, 0x02);
	fake_cmd_free(fc);
	rig_stop(nexus);

	nexus = start(0, 1u << 0);
	fc = copy(nexus, &l);
	assert_sense(fc, KEY_ILLEGAL_REQUEST, 0x20, 0x00);
	fake_cmd_free(fc);
	fc = results(nexus, SA_COPY_PARAMETERS, 0);
	assert_sense(fc, KEY_ILLEGAL_REQUEST, 0x20, 0x00);
	fake_cmd_free(fc);
	fc = fake_in(nexus, 0, CDB(OP_INQUIRY, 1, 0x8f, 0, 255), 255);
	assert_field(fc, 2, -1);
	fake_cmd_free(fc);
	rig_stop(nexus);
}

static void
too_many_descriptors(void **state)
{
	struct nexus *nexus = start(0, 0);
	struct plist l;
	struct fake_cmd *fc;

	list_init_units(&l, 0, 1);
	for (unsigned i = 0; i < COPY_SEGMENTS; i++)
		list_add(&l, 0, 1, 1, i, i);
	DONE(copy(nexus, &l), SCSI_GOOD);
	assert_memory_equal(fakes.fake[0].mem, fakes.fake[1].mem, 64 * 512);
	list_add(&l, 0, 1, 1, 0, 0);
	fc = copy(nexus, &l);
	assert_sense(fc, KEY_ILLEGAL_REQUEST, 0x26, 0x08);
	fake_cmd_free(fc);
	memset(&l, 0, sizeof(l));
	l.len = COPY_HEADER + (COPY_UNITS + 1) * COPY_UNIT_LEN;
	wr16(l.bytes + 2, (COPY_UNITS + 1) * COPY_UNIT_LEN);
	l.bytes[COPY_HEADER] = COPY_UNIT_IDENTIFICATION;
	fc = copy(nexus, &l);
	assert_sense(fc, KEY_ILLEGAL_REQUEST, 0x26, 0x06);
	fake_cmd_free(fc);
	l.len = COPY_LIST_MAX + 1;
	fc = copy(nexus, &l);
	assert_sense(fc, KEY_ILLEGAL_REQUEST, 0x1a, 0x00);
	assert_int_equal(fc->wants, 0);
	fake_cmd_free(fc);
	rig_stop(nexus);
}

static void
how_it_ended_is_told(void **state)
{
	struct nexus *nexus = start(0, 0);
	struct plist l;
	struct fake_cmd *fc;

	fc = results(nexus, SA_COPY_STATUS, 9);
	assert_field(fc, 2, -1);
	fake_cmd_free(fc);
	list_init_units(&l, 0, 1);
	list_add(&l, 0, 1, 3, 0, 0);
	list_add(&l, 1, 0, 5, 100, 100);
	l.bytes[0] = 9;
	DONE(copy(nexus, &l), SCSI_GOOD);
	fc = results(nexus, SA_COPY_STATUS, 9);
	assert_int_equal(fc->data_in, 12);
	assert_int_equal(fc->in[4], 1);
	assert_int_equal(rd16(fc->in + 5), 2);
	assert_int_equal(rd32(fc->in + 8), 8 * 512);
	DONE(fc, SCSI_GOOD);
	fc = results(nexus, SA_COPY_FAILURE, 9);
	assert_int_equal(fc->data_in, 4);
	DONE(fc, SCSI_GOOD);
	/* The second segment fails. */
	fakes.fake[1].error[DISK_READ] = -EIO;
	l.bytes[0] = 10;
	fc = copy(nexus, &l);
	assert_sense(fc, KEY_COPY_ABORTED, 0x0d, 0x01);
	assert_int_equal(rd32(fc->sense + 3), 1);
	fake_cmd_free(fc);
	fc = results(nexus, SA_COPY_STATUS, 10);
	assert_int_equal(fc->in[4], 2);
	assert_int_equal(rd16(fc->in + 5), 1);
	assert_int_equal(rd32(fc->in + 8), 3 * 512);
	DONE(fc, SCSI_GOOD);
	fc = results(nexus, SA_COPY_FAILURE, 10);
	assert_int_equal(fc->in[56], SCSI_CHECK_CONDITION);
	assert_int_equal(fc->in[60 + 2], KEY_COPY_ABORTED);
	DONE(fc, SCSI_GOOD);
	fc = results(nexus, SA_COPY_FAILURE, 10);
	assert_field(fc, 2, -1);
	fake_cmd_free(fc);
	/* Who does not ask for it is not remembered. */
	l.bytes[0] = 11;
	l.bytes[1] = 0x18;
	fc = copy(nexus, &l);
	assert_sense(fc, KEY_COPY_ABORTED, 0x0d, 0x01);
	fake_cmd_free(fc);
	fc = results(nexus, SA_COPY_STATUS, 11);
	assert_field(fc, 2, -1);
	fake_cmd_free(fc);
	rig_stop(nexus);
}

static void
while_it_runs(void **state)
{
	struct nexus *nexus = start(0, 0);
	struct plist l;
	struct fake_cmd *fc, *other;

	list_init_units(&l, 0, 1);
	list_add(&l, 0, 1, 3, 0, 0);
	l.bytes[0] = 4;
	fakes.fake[1].hold[DISK_WRITE] = true;
	fc = send_list(nexus, &l, DATA_POOL);
	assert_int_equal(fc->dones, 0);
	other = results(nexus, SA_COPY_STATUS, 4);
	assert_int_equal(other->in[4], 0);
	DONE(other, SCSI_GOOD);
	other = copy(nexus, &l);
	assert_sense(other, KEY_ILLEGAL_REQUEST, 0x00, 0x16);
	fake_cmd_free(other);
	fakes.fake[1].hold[DISK_WRITE] = false;
	fake_disk_release(&fakes.fake[1], 1);
	rig_wait(&fc->dones, 0);
	DONE(fc, SCSI_GOOD);
	rig_stop(nexus);
}

/* A reset of the unit that it writes to ends it, too, and its write is fenced there. */
static void
resets_of_either_unit_end_it(void **state)
{
	for (unsigned lun = 0; lun < 2; lun++) {
		struct nexus *nexus = start(0, 0);
		struct fake_cmd *fc, *read;
		struct fake_tmf ft;
		struct plist l;

		list_init_units(&l, 0, 1);
		list_add(&l, 0, 1, 3, 0, 0);
		fakes.fake[1].hold[DISK_WRITE] = true;
		fc = send_list(nexus, &l, DATA_POOL);
		fake_tmf(&ft, nexus, TMF_LUN_RESET, lun, 0);
		assert_int_equal(fc->dones, 0);
		assert_int_equal(ft.dones, 0);
		fakes.fake[1].hold[DISK_WRITE] = false;
		fake_disk_release(&fakes.fake[1], 1);
		rig_wait(&ft.dones, 0);
		assert_int_equal(ft.response, TMF_COMPLETE);
		SILENT(fc);
		DONE(fake_in(nexus, 1, CDB(OP_REQUEST_SENSE, 0, 0, 0, 18), 18), SCSI_GOOD);
		read = fake_read(nexus, 1, 0, 1);
		assert_status(read, SCSI_GOOD);
		fake_cmd_free(read);
		rig_stop(nexus);
	}
}

static void
reserved_and_read_only_units(void **state)
{
	struct nexus *nexus, *other;
	struct plist l;
	struct fake_cmd *fc;

	nexus = start(0, 0);
	other = fake_login_quiet(0, "iqn.2026-11.test:b", 0);
	DONE(fake_in(other, 1, CDB(OP_RESERVE_6, 0, 0, 0, 0, 0), 0), SCSI_GOOD);
	list_init_units(&l, 0, 1);
	list_add(&l, 0, 1, 3, 0, 0);
	fc = copy(nexus, &l);
	assert_sense(fc, KEY_COPY_ABORTED, 0x0d, 0x02);
	fake_cmd_free(fc);
	fake_logout(other, NULL);
	rig_stop(nexus);

	fake_world_init(UNITS);
	fakes.lun[0][0].copy = fakes.lun[0][1].copy = true;
	fakes.lun[0][1].read_only = true;
	assert_int_equal(fake_world_start(1), 0);
	nexus = fake_login_quiet(0, "iqn.2026-11.test:a", 0);
	fc = copy(nexus, &l);
	assert_sense(fc, KEY_COPY_ABORTED, 0x0d, 0x02);
	fake_cmd_free(fc);
	/* From there it may. */
	list_init_units(&l, 1, 0);
	list_add(&l, 0, 1, 3, 0, 0);
	DONE(copy(nexus, &l), SCSI_GOOD);
	rig_stop(nexus);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_go_from_unit_to_unit),
		cmocka_unit_test(parts_of_one_unit_that_overlap),
		cmocka_unit_test(nothing_is_copied_that_may_not_be),
		cmocka_unit_test(only_over_luns_that_copy),
		cmocka_unit_test(too_many_descriptors),
		cmocka_unit_test(how_it_ended_is_told),
		cmocka_unit_test(while_it_runs),
		cmocka_unit_test(resets_of_either_unit_end_it),
		cmocka_unit_test(reserved_and_read_only_units),
	};

	return cmocka_run_group_tests_name("copy", tests, NULL, NULL);
}
