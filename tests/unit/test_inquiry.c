/* INQUIRY, vital product data and READ CAPACITY: what a host sees, whatever room it gives. */
#include "scsi_rig.h"

static const uint32_t rooms[] = { 0, 1, 4, 5, 8, 20, 36, 64, 96, 255, 256, 1024, 65535 };

static struct fake_cmd *
inquire(struct nexus *nexus, unsigned lun, int page, uint32_t allocation, uint32_t edtl)
{
	return fake_in(nexus, lun, CDB(OP_INQUIRY, page >= 0, (uint8_t)(page >= 0 ? page : 0),
	    (uint8_t)(allocation >> 8), (uint8_t)allocation), edtl);
}

static void
standard_data(void **state)
{
	struct nexus *nexus = rig_start(1, 1);
	struct fake_cmd *fc = inquire(nexus, 0, -1, 255, 255);

	assert_status(fc, SCSI_GOOD);
	assert_int_equal(fc->data_in, 96);
	assert_resid(fc, RESID_UNDER, 255 - 96);
	assert_int_equal(fc->in[0], 0);			/* a disk */
	assert_int_equal(fc->in[1], 0);			/* not removable */
	assert_int_equal(fc->in[2], 6);			/* SPC-4 */
	assert_int_equal(fc->in[3], 0x12);
	assert_int_equal(fc->in[4], 91);
	assert_int_equal(fc->in[7], 2);			/* command queuing */
	assert_memory_equal(fc->in + 8, "SLUICE  d0              ", 24);
	assert_memory_equal(fc->in + 32, SLUICE_VERSION, 4);
	assert_int_equal(rd16(fc->in + 58), 0x00a0);
	assert_int_equal(rd16(fc->in + 60), 0x0460);
	assert_int_equal(rd16(fc->in + 62), 0x04c0);
	assert_int_equal(rd16(fc->in + 64), 0x0960);
	fake_cmd_free(fc);
	rig_stop(nexus);
}

/* The data of each page, whole, then with each pair of allocation length and EDTL. */
static void
try_rooms(struct nexus *nexus, int page)
{
	struct fake_cmd *whole = inquire(nexus, 0, page, 65535, 65535);

	assert_status(whole, SCSI_GOOD);
	assert_int_equal(whole->data_in, page < 0 ? whole->in[4] + 5u : 4u + rd16(whole->in + 2));
	for (unsigned a = 0; a < ARRAY_LEN(rooms); a++) {
		for (unsigned e = 0; e < ARRAY_LEN(rooms); e++) {
			struct fake_cmd *fc = inquire(nexus, 0, page, rooms[a], rooms[e]);
			uint32_t asked = MIN(whole->data_in, rooms[a]);
			uint32_t sent = MIN(asked, rooms[e]);

			assert_status(fc, SCSI_GOOD);
			assert_int_equal(fc->data_in, sent);
			assert_memory_equal(fc->in, whole->in, sent);
			if (asked > rooms[e])
				assert_resid(fc, RESID_OVER, asked - rooms[e]);
			else if (asked < rooms[e])
				assert_resid(fc, RESID_UNDER, rooms[e] - asked);
			else
				assert_resid(fc, RESID_NONE, 0);
			fake_cmd_free(fc);
		}
	}
	fake_cmd_free(whole);
}

static void
any_room_gives_a_cut_copy(void **state)
{
	static const int pages[] = { -1, 0x00, 0x80, 0x83, 0x86, 0xb0, 0xb1, 0xb2 };
	struct nexus *nexus = start_with(DISK_CAP_UNMAP);

	for (unsigned i = 0; i < ARRAY_LEN(pages); i++)
		try_rooms(nexus, pages[i]);
	rig_stop(nexus);
}

static void
pages_listed_are_there_and_no_others(void **state)
{
	for (int thin = 0; thin < 2; thin++) {
		struct nexus *nexus = start_with(thin ? DISK_CAP_UNMAP : 0);
		struct fake_cmd *list = inquire(nexus, 0, 0, 255, 255);
		unsigned n = 0;

		for (int page = 0; page < 256; page++) {
			struct fake_cmd *fc = inquire(nexus, 0, page, 4, 4);

			if (n < list->in[3] && list->in[4 + n] == page) {
				assert_status(fc, SCSI_GOOD);
				assert_int_equal(fc->in[1], page);
				n++;
			} else {
				assert_field(fc, 2, -1);
			}
			fake_cmd_free(fc);
		}
		assert_int_equal(n, list->in[3]);
		assert_int_equal(n, thin ? 7 : 6);
		fake_cmd_free(list);
		rig_stop(nexus);
	}
}

static void
a_page_without_evpd(void **state)
{
	struct nexus *nexus = rig_start(1, 1);
	struct fake_cmd *fc = fake_in(nexus, 0, CDB(OP_INQUIRY, 0, 0x83, 0, 255), 255);

	assert_field(fc, 2, -1);
	fake_cmd_free(fc);
	rig_stop(nexus);
}

/* The designator of this association and kind; NULL: none. */
static const uint8_t *
designator_find(const struct fake_cmd *fc, uint8_t kind)
{
	unsigned at = 4, end = 4u + rd16(fc->in + 2);

	while (at < end) {
		if ((fc->in[at + 1] & 0x3f) == kind)
			return fc->in + at;
		at += 4u + fc->in[at + 3];
	}
	assert_int_equal(at, end);
	return NULL;
}

static void
identification(void **state)
{
	struct nexus *nexus = rig_start(1, 1);
	struct nexus *other = fake_login_quiet(1, "iqn.2026-11.test:b", 0);
	struct fake_cmd *fc = inquire(nexus, 0, 0x83, 1024, 1024);
	struct fake_cmd *by_other = inquire(other, 5, 0x83, 1024, 1024);
	const uint8_t *d = designator_find(fc, 0x03);

	assert_non_null(d);
	assert_int_equal(d[0], 1);
	assert_int_equal(d[3], 8);
	assert_int_equal(d[4] >> 4, 3);			/* locally assigned */
	/* The unit is the same by every path; the port is not. */
	assert_memory_equal(d, designator_find(by_other, 0x03), 12);
	d = designator_find(fc, 0x01);
	assert_memory_equal(d + 4, "SLUICE  ", 8);
	assert_null(memchr(d + 4, 0, d[3]));
	assert_memory_equal(d, designator_find(by_other, 0x01), 4u + d[3]);
	d = designator_find(fc, 0x14);
	assert_int_equal(rd16(d + 6), 1);
	assert_int_equal(rd16(designator_find(by_other, 0x14) + 6), 2);
	assert_non_null(designator_find(fc, 0x15));
	d = designator_find(fc, 0x18);
	assert_int_equal(d[0], 0x53);
	assert_int_equal(d[1], 0x98);
	assert_string_equal((const char *)d + 4, "iqn.2026-11.test:all,t,0x0001");
	assert_int_equal(d[3] % 4, 0);
	d = designator_find(fc, 0x28);
	assert_string_equal((const char *)d + 4, "iqn.2026-11.test:all");
	fake_cmd_free(fc);
	fake_cmd_free(by_other);
	fake_logout(other, NULL);
	rig_stop(nexus);
}

/* Names that differ only behind what fits a product field, and a given serial number. */
static void
identities_differ(void **state)
{
	struct nexus *nexus;
	struct fake_cmd *a, *b;

	fake_world_init(3);
	fakes.disk[0].name = (char *)(uintptr_t)"a-long-name-of-a-disk-in-the-cellar-1";
	fakes.disk[1].name = (char *)(uintptr_t)"a-long-name-of-a-disk-in-the-cellar-2";
	fakes.disk[2].serial = (char *)(uintptr_t)"WD-42";
	assert_int_equal(fake_world_start(1), 0);
	nexus = fake_login_quiet(0, "iqn.2026-11.test:a", 0);
	a = inquire(nexus, 0, 0x83, 1024, 1024);
	b = inquire(nexus, 1, 0x83, 1024, 1024);
	assert_memory_not_equal(designator_find(a, 0x03) + 4, designator_find(b, 0x03) + 4, 8);
	fake_cmd_free(a);
	fake_cmd_free(b);
	a = inquire(nexus, 0, 0x80, 255, 255);
	b = inquire(nexus, 1, 0x80, 255, 255);
	assert_memory_not_equal(a->in + 4, b->in + 4, 16);
	fake_cmd_free(a);
	fake_cmd_free(b);
	a = inquire(nexus, 2, 0x80, 255, 255);
	assert_int_equal(a->data_in, 9);
	assert_memory_equal(a->in + 4, "WD-42", 5);
	fake_cmd_free(a);
	a = inquire(nexus, 0, -1, 36, 36);
	assert_memory_equal(a->in + 16, "a-long-name-of-a", 16);
	fake_cmd_free(a);
	rig_stop(nexus);
}

static void
one_serial_number_for_two_disks_is_refused(void **state)
{
	fake_world_init(2);
	fakes.disk[0].serial = fakes.disk[1].serial = (char *)(uintptr_t)"WD-42";
	assert_true(fake_world_start(1) < 0);
}

static void
block_limits(void **state)
{
	struct nexus *nexus = start_with(DISK_CAP_UNMAP | DISK_CAP_UNMAP_ZEROES);
	struct fake_cmd *fc = inquire(nexus, 0, 0xb0, 255, 255);

	assert_int_equal(fc->data_in, 64);
	assert_int_equal(rd32(fc->in + 8), BUF_XFER_MAX / 512);
	assert_int_equal(rd32(fc->in + 20), 1 << 20);
	assert_int_equal(rd32(fc->in + 24), 128);
	assert_int_equal(fc->in[4], 0);			/* WSNZ, and no limit of WRITE SAME: */
	assert_int_equal(rd64(fc->in + 36), 0);
	assert_int_equal(rd32(fc->in + 32), 0);		/* UGAVALID */
	fake_cmd_free(fc);
	fc = inquire(nexus, 0, 0xb2, 255, 255);
	assert_int_equal(fc->in[5], 0xe4);
	assert_int_equal(fc->in[6], 2);
	fake_cmd_free(fc);
	rig_stop(nexus);

	nexus = start_with(0);
	fc = inquire(nexus, 0, 0xb0, 255, 255);
	assert_int_equal(rd32(fc->in + 20) | rd32(fc->in + 24), 0);
	fake_cmd_free(fc);
	rig_stop(nexus);
}

static void
capacity(void **state)
{
	struct nexus *nexus;
	struct fake_cmd *fc;

	fake_world_init(1);
	disk->phys_size = 4096;
	disk->caps = DISK_CAP_UNMAP;
	assert_int_equal(fake_world_start(1), 0);
	nexus = fake_login_quiet(0, "iqn.2026-11.test:a", 0);
	fc = fake_in(nexus, 0, CDB(OP_READ_CAPACITY_10), 8);
	assert_status(fc, SCSI_GOOD);
	assert_int_equal(rd32(fc->in), 2047);
	assert_int_equal(rd32(fc->in + 4), 512);
	fake_cmd_free(fc);
	for (uint32_t n = 0; n <= 40; n++) {
		fc = fake_in(nexus, 0, CDB(OP_SERVICE_IN_16, SA_READ_CAPACITY_16, 0, 0, 0, 0, 0, 0,
		    0, 0, 0, 0, 0, (uint8_t)n), n);
		assert_status(fc, SCSI_GOOD);
		assert_int_equal(fc->data_in, MIN(n, 32));
		if (n >= 32) {
			assert_int_equal(rd64(fc->in), 2047);
			assert_int_equal(rd32(fc->in + 8), 512);
			assert_int_equal(fc->in[13], 3);
			assert_int_equal(fc->in[14], 0x80);
		}
		fake_cmd_free(fc);
	}
	rig_stop(nexus);
}

/* -- where no disk is -- */

static struct fake_cmd *
to_well_known(struct nexus *nexus, const uint8_t *cdb, size_t len, uint32_t edtl)
{
	struct fake_cmd *fc = fake_cmd_new(nexus, 0, cdb, len);

	memcpy(fc->cmd.lun, "\xc1\x01\0\0\0\0\0\0", 8);
	fake_cmd_expect(fc, 0, edtl, 0);
	fake_cmd_submit(fc);
	return fc;
}

static void
no_disk_at_lun_0(void **state)
{
	struct nexus *nexus;
	struct fake_cmd *fc;

	fake_world_init(1);
	assert_int_equal(fake_world_start(1), 0);
	nexus = fake_login_quiet(1, "iqn.2026-11.test:a", 0);	/* only LUN 5 */
	fc = inquire(nexus, 0, -1, 96, 96);
	assert_status(fc, SCSI_GOOD);
	assert_int_equal(fc->in[0], 0x7f);
	assert_memory_equal(fc->in + 8, "SLUICE  ", 8);
	fake_cmd_free(fc);
	fc = inquire(nexus, 0, 0, 96, 96);
	assert_status(fc, SCSI_GOOD);
	assert_memory_equal(fc->in, "\x7f\x00\x00\x02\x00\x83", 6);
	fake_cmd_free(fc);
	fc = fake_in(nexus, 0, CDB(OP_REPORT_LUNS, 0, 0, 0, 0, 0, 0, 0, 0, 64), 64);
	assert_status(fc, SCSI_GOOD);
	assert_int_equal(rd32(fc->in), 8);
	assert_memory_equal(fc->in + 8, "\0\x05\0\0\0\0\0\0", 8);
	fake_cmd_free(fc);
	fc = fake_in(nexus, 0, CDB(OP_REQUEST_SENSE, 0, 0, 0, 252), 252);
	assert_status(fc, SCSI_GOOD);
	assert_int_equal(fc->in[2], KEY_ILLEGAL_REQUEST);
	assert_int_equal(fc->in[12], 0x25);
	fake_cmd_free(fc);
	fc = fake_in(nexus, 0, CDB(OP_TEST_UNIT_READY), 0);
	assert_sense(fc, KEY_ILLEGAL_REQUEST, 0x25, 0x00);
	fake_cmd_free(fc);
	fc = fake_read(nexus, 0, 0, 1);
	assert_sense(fc, KEY_ILLEGAL_REQUEST, 0x25, 0x00);
	fake_cmd_free(fc);
	/* Another number that is not mapped, and one past all. */
	for (unsigned lun = 4; lun < 9; lun += 2) {
		fc = inquire(nexus, lun, -1, 96, 96);
		assert_int_equal(fc->in[0], 0x7f);
		fake_cmd_free(fc);
		fc = fake_in(nexus, lun, CDB(OP_REPORT_LUNS, 0, 0, 0, 0, 0, 0, 0, 0, 64), 64);
		assert_sense(fc, KEY_ILLEGAL_REQUEST, 0x25, 0x00);
		fake_cmd_free(fc);
	}
	rig_stop(nexus);
}

static void
the_well_known_unit(void **state)
{
	struct nexus *nexus = rig_start(2, 1);
	struct fake_cmd *fc;

	fc = to_well_known(nexus, CDB(OP_INQUIRY, 0, 0, 0, 96), 96);
	assert_status(fc, SCSI_GOOD);
	assert_int_equal(fc->in[0], 0x1e);
	fake_cmd_free(fc);
	DONE(to_well_known(nexus, CDB(OP_TEST_UNIT_READY), 0), SCSI_GOOD);
	fc = to_well_known(nexus, CDB(OP_REPORT_LUNS, 0, 0, 0, 0, 0, 0, 0, 0, 64), 64);
	assert_status(fc, SCSI_GOOD);
	assert_int_equal(rd32(fc->in), 16);
	fake_cmd_free(fc);
	fc = to_well_known(nexus, CDB(OP_REQUEST_SENSE, 0, 0, 0, 252), 252);
	assert_status(fc, SCSI_GOOD);
	assert_int_equal(fc->in[2], KEY_NO_SENSE);
	fake_cmd_free(fc);
	fc = to_well_known(nexus, CDB(OP_READ_10, 0, 0, 0, 0, 0, 0, 0, 1), 512);
	assert_sense(fc, KEY_ILLEGAL_REQUEST, 0x25, 0x00);
	fake_cmd_free(fc);
	rig_stop(nexus);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(standard_data),
		cmocka_unit_test(any_room_gives_a_cut_copy),
		cmocka_unit_test(pages_listed_are_there_and_no_others),
		cmocka_unit_test(a_page_without_evpd),
		cmocka_unit_test(identification),
		cmocka_unit_test(identities_differ),
		cmocka_unit_test(one_serial_number_for_two_disks_is_refused),
		cmocka_unit_test(block_limits),
		cmocka_unit_test(capacity),
		cmocka_unit_test(no_disk_at_lun_0),
		cmocka_unit_test(the_well_known_unit),
	};

	return cmocka_run_group_tests_name("inquiry", tests, NULL, NULL);
}
