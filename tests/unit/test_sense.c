/* Sense data: both formats, and the table of errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "hba/scsi/sense.h"
#include "wire.h"

static void
fixed_holds_key_and_codes(void **state)
{
	uint8_t buf[SCSI_SENSE_MAX];
	struct sense s;

	sense_init(&s, COND_LBA_RANGE);
	assert_int_equal(sense_fixed(buf, &s), 18);
	assert_memory_equal(buf, "\x70\0\x05\0\0\0\0\x0a\0\0\0\0\x21\0\0\0\0\0", 18);
}

static void
fixed_information_is_valid_when_it_fits(void **state)
{
	uint8_t buf[SCSI_SENSE_MAX];
	struct sense s;

	sense_init(&s, COND_READ_ERROR);
	s.has_info = true;
	s.info = 0xfffffffe;
	sense_fixed(buf, &s);
	assert_int_equal(buf[0], 0xf0);
	assert_int_equal(rd32(buf + 3), 0xfffffffe);
	s.info = 0x100000000;
	sense_fixed(buf, &s);
	assert_int_equal(buf[0], 0x70);
	assert_int_equal(rd32(buf + 3), 0);
}

static void
field_pointer_names_byte_and_bit(void **state)
{
	uint8_t buf[SCSI_SENSE_MAX];
	struct sense s;

	sense_init(&s, COND_INVALID_FIELD);
	s.has_field = s.in_cdb = true;
	s.field = 14;
	s.bit = 5;
	sense_fixed(buf, &s);
	assert_memory_equal(buf + 15, "\xcd\x00\x0e", 3);
	s.in_cdb = false;
	s.bit = -1;
	sense_fixed(buf, &s);
	assert_memory_equal(buf + 15, "\x80\x00\x0e", 3);
}

static void
descriptors_hold_the_same(void **state)
{
	uint8_t buf[SCSI_SENSE_MAX];
	struct sense s;

	sense_init(&s, COND_MISCOMPARE);
	assert_int_equal(sense_descriptor(buf, &s), 8);
	assert_memory_equal(buf, "\x72\x0e\x1d\0\0\0\0\0", 8);
	s.has_info = s.has_field = s.in_cdb = true;
	s.info = 0x123456789a;
	s.field = 2;
	s.bit = 7;
	assert_int_equal(sense_descriptor(buf, &s), 28);
	assert_int_equal(buf[7], 20);
	assert_memory_equal(buf + 8, "\x00\x0a\x80\0\0\0\0\x12\x34\x56\x78\x9a", 12);
	assert_memory_equal(buf + 20, "\x02\x06\0\0\xcf\0\x02\0", 8);
}

static void
no_condition_overflows_the_buffer(void **state)
{
	uint8_t buf[SCSI_SENSE_MAX + 1];

	for (int c = 0; c < CONDS; c++) {
		struct sense s;

		sense_init(&s, (enum cond)c);
		s.has_info = s.has_field = true;
		buf[SCSI_SENSE_MAX] = 0x5a;
		assert_true(sense_fixed(buf, &s) <= SCSI_SENSE_MAX);
		assert_true(sense_descriptor(buf, &s) <= SCSI_SENSE_MAX);
		assert_int_equal(buf[SCSI_SENSE_MAX], 0x5a);
	}
}

static void
each_error_has_its_sense(void **state)
{
	static const struct { int error; bool write; uint8_t key, asc, ascq; } want[] = {
		{ EIO,		false, 0x3, 0x11, 0x00 },
		{ EIO,		true,  0x3, 0x0c, 0x00 },
		{ ENOSPC,	true,  0x7, 0x27, 0x07 },
		{ EROFS,	true,  0x7, 0x27, 0x00 },
		{ ENODEV,	false, 0x2, 0x04, 0x03 },
		{ ENXIO,	true,  0x2, 0x04, 0x03 },
		{ EOPNOTSUPP,	true,  0x5, 0x20, 0x00 },
		{ ETIMEDOUT,	true,  0xb, 0x2e, 0x02 },
		{ EILSEQ,	true,  0xe, 0x1d, 0x00 },
		{ EBADMSG,	false, 0x4, 0x44, 0x00 },	/* whatever else */
	};

	for (unsigned i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		struct sense s;

		sense_init(&s, sense_of_errno(-want[i].error, want[i].write));
		assert_int_equal(s.key, want[i].key);
		assert_int_equal(s.asc, want[i].asc);
		assert_int_equal(s.ascq, want[i].ascq);
	}
	assert_int_equal(sense_of_errno(-ENOMEM, true), CONDS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fixed_holds_key_and_codes),
		cmocka_unit_test(fixed_information_is_valid_when_it_fits),
		cmocka_unit_test(field_pointer_names_byte_and_bit),
		cmocka_unit_test(descriptors_hold_the_same),
		cmocka_unit_test(no_condition_overflows_the_buffer),
		cmocka_unit_test(each_error_has_its_sense),
	};

	return cmocka_run_group_tests_name("sense", tests, NULL, NULL);
}
