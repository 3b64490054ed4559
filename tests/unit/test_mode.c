/* MODE SENSE: pages, headers, block descriptors, truth about caches and write protection. */
#include "scsi_rig.h"

static struct fake_cmd *
sense_6(struct nexus *nexus, uint8_t flags, uint8_t page, uint8_t subpage, uint8_t allocation)
{
	return fake_in(nexus, 0, CDB(OP_MODE_SENSE_6, flags, page, subpage, allocation),
	    allocation);
}

static struct fake_cmd *
sense_10(struct nexus *nexus, uint8_t flags, uint8_t page, uint8_t subpage, uint16_t allocation)
{
	return fake_in(nexus, 0, CDB(OP_MODE_SENSE_10, flags, page, subpage, 0, 0, 0,
	    (uint8_t)(allocation >> 8), (uint8_t)allocation), allocation);
}

static void
all_pages(void **state)
{
	struct nexus *nexus = rig_start(1, 1);
	static const uint8_t codes[] = { 0x01, 0x08, 0x0a, 0x1a, 0x1c };
	struct fake_cmd *fc = sense_6(nexus, 0, 0x3f, 0, 255);
	unsigned at = 12;

	assert_status(fc, SCSI_GOOD);
	assert_int_equal(fc->in[0] + 1, fc->data_in);
	assert_int_equal(fc->in[2], 0x10);		/* DPO and FUA are there */
	assert_int_equal(fc->in[3], 8);
	assert_int_equal(rd32(fc->in + 4), 2048);
	assert_int_equal(rd24(fc->in + 9), 512);
	for (unsigned i = 0; i < ARRAY_LEN(codes); i++) {
		assert_int_equal(fc->in[at], codes[i]);
		at += 2u + fc->in[at + 1];
	}
	assert_int_equal(at, fc->data_in);
	fake_cmd_free(fc);
	rig_stop(nexus);
}

static void
each_page_alone(void **state)
{
	struct nexus *nexus = rig_start(1, 1);
	static const uint8_t len[0x40] = { [0x01] = 12, [0x08] = 20, [0x0a] = 12, [0x1a] = 40,
		[0x1c] = 12 };

	for (unsigned page = 0; page < 0x3f; page++) {
		for (unsigned subpage = 0; subpage < 256; subpage += 51) {
			struct fake_cmd *fc = sense_6(nexus, 8, (uint8_t)page, (uint8_t)subpage,
			    64);

			if (subpage && subpage != 255) {
				assert_field(fc, 3, -1);
			} else if (!len[page]) {
				assert_field(fc, 2, 5);
			} else {
				assert_status(fc, SCSI_GOOD);
				assert_int_equal(fc->data_in, 4 + len[page]);
				assert_int_equal(fc->in[4], page);
			}
			fake_cmd_free(fc);
		}
	}
	rig_stop(nexus);
}

static void
the_caching_page_tells_the_truth(void **state)
{
	for (int cache = 0; cache < 2; cache++) {
		struct nexus *nexus = start_with(cache ? DISK_CAP_WRITE_CACHE : 0);
		struct fake_cmd *fc = sense_6(nexus, 8, 0x08, 0, 64);

		assert_int_equal(fc->in[4 + 2] & 0x04, cache ? 0x04 : 0);
		fake_cmd_free(fc);
		fc = sense_6(nexus, 8, 0x80 | 0x08, 0, 64);	/* the default is the same */
		assert_int_equal(fc->in[4 + 2] & 0x04, cache ? 0x04 : 0);
		fake_cmd_free(fc);
		rig_stop(nexus);
	}
}

static void
little_is_changeable_and_nothing_saved(void **state)
{
	struct nexus *nexus = start_with(DISK_CAP_WRITE_CACHE);
	struct fake_cmd *fc = sense_6(nexus, 8, 0x40 | 0x3f, 0, 255);
	unsigned at = 4;

	assert_status(fc, SCSI_GOOD);
	while (at < fc->data_in) {
		unsigned len = fc->in[at + 1];

		if (fc->in[at] == 0x0a) {		/* D_SENSE and SWP */
			assert_int_equal(fc->in[at + 2], 0x04);
			assert_int_equal(fc->in[at + 4], 0x08);
			fc->in[at + 2] = fc->in[at + 4] = 0;
		}
		assert_true(all_bytes(fc->in + at + 2, len, 0));
		at += 2 + len;
	}
	fake_cmd_free(fc);
	fc = sense_6(nexus, 0, 0xc0 | 0x08, 0, 255);
	assert_sense(fc, KEY_ILLEGAL_REQUEST, 0x39, 0x00);
	fake_cmd_free(fc);
	rig_stop(nexus);
}

static void
write_protection_shows(void **state)
{
	struct nexus *nexus;
	struct fake_cmd *fc;

	fake_world_init(1);
	fakes.disk[0].read_only = true;
	assert_int_equal(fake_world_start(1), 0);
	nexus = fake_login_quiet(0, "iqn.2026-11.test:a", 0);
	fc = sense_6(nexus, 0, 0x3f, 0, 4);
	assert_int_equal(fc->in[2], 0x90);
	assert_int_equal(fc->data_in, 4);
	assert_resid(fc, RESID_NONE, 0);
	fake_cmd_free(fc);
	fc = sense_10(nexus, 0, 0x3f, 0, 8);
	assert_int_equal(fc->in[3], 0x90);
	fake_cmd_free(fc);
	rig_stop(nexus);
}

static void
long_header_and_long_lba(void **state)
{
	struct nexus *nexus = rig_start(1, 1);
	struct fake_cmd *fc = sense_10(nexus, 0x10, 0x0a, 0, 255);

	assert_status(fc, SCSI_GOOD);
	assert_int_equal(rd16(fc->in) + 2, fc->data_in);
	assert_int_equal(fc->data_in, 8 + 16 + 12);
	assert_int_equal(fc->in[4], 1);
	assert_int_equal(rd16(fc->in + 6), 16);
	assert_int_equal(rd64(fc->in + 8), 2048);
	assert_int_equal(rd32(fc->in + 20), 512);
	assert_int_equal(fc->in[24], 0x0a);
	assert_int_equal(fc->in[27], 0x10);		/* commands may be reordered */
	fake_cmd_free(fc);
	fc = sense_10(nexus, 0x18, 0x0a, 255, 255);
	assert_int_equal(fc->data_in, 8 + 12);
	assert_int_equal(rd16(fc->in + 6), 0);
	fake_cmd_free(fc);
	rig_stop(nexus);
}

static void
any_room(void **state)
{
	struct nexus *nexus = rig_start(1, 1);
	struct fake_cmd *whole = sense_6(nexus, 0, 0x3f, 0, 255);

	for (unsigned n = 0; n < 256; n++) {
		struct fake_cmd *fc = sense_6(nexus, 0, 0x3f, 0, (uint8_t)n);

		assert_status(fc, SCSI_GOOD);
		assert_int_equal(fc->data_in, MIN(n, whole->data_in));
		assert_memory_equal(fc->in, whole->in, fc->data_in);
		fake_cmd_free(fc);
	}
	fake_cmd_free(whole);
	rig_stop(nexus);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_pages),
		cmocka_unit_test(each_page_alone),
		cmocka_unit_test(the_caching_page_tells_the_truth),
		cmocka_unit_test(little_is_changeable_and_nothing_saved),
		cmocka_unit_test(write_protection_shows),
		cmocka_unit_test(long_header_and_long_lba),
		cmocka_unit_test(any_room),
	};

	return cmocka_run_group_tests_name("mode", tests, NULL, NULL);
}
