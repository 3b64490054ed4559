/* LUNs on the wire. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "scsi.h"

static void
every_number_comes_back(void **state)
{
	uint8_t lun[8];

	for (unsigned n = 0; n <= 16383; n++) {
		scsi_lun_wire(lun, n);
		assert_int_equal(scsi_lun_number(lun), n);
	}
}

static void
peripheral_below_256_flat_above(void **state)
{
	uint8_t lun[8];

	scsi_lun_wire(lun, 255);
	assert_memory_equal(lun, "\x00\xff\0\0\0\0\0\0", 8);
	scsi_lun_wire(lun, 256);
	assert_memory_equal(lun, "\x41\x00\0\0\0\0\0\0", 8);
	scsi_lun_wire(lun, 16383);
	assert_memory_equal(lun, "\x7f\xff\0\0\0\0\0\0", 8);
}

static void
flat_form_of_a_small_number(void **state)
{
	assert_int_equal(scsi_lun_number((const uint8_t *)"\x40\x05\0\0\0\0\0\0"), 5);
}

static void
other_forms_are_no_number(void **state)
{
	static const char *const forms[] = {
		"\xc1\x01\0\0\0\0\0\0",		/* the well-known unit REPORT LUNS */
		"\x01\x05\0\0\0\0\0\0",		/* peripheral, bus 1 */
		"\x3f\x00\0\0\0\0\0\0",		/* peripheral, bus 63 */
		"\x80\x05\0\0\0\0\0\0",		/* logical unit addressing */
		"\xd2\x00\x00\x05\0\0\0\0",	/* extended flat */
		"\xff\xff\xff\xff\xff\xff\xff\xff",
	};

	for (unsigned i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		assert_int_equal(scsi_lun_number((const uint8_t *)forms[i]), -1);
}

static void
lower_levels_must_be_empty(void **state)
{
	uint8_t lun[8];

	for (unsigned i = 2; i < 8; i++) {
		scsi_lun_wire(lun, 5);
		lun[i] = 1;
		assert_int_equal(scsi_lun_number(lun), -1);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_number_comes_back),
		cmocka_unit_test(peripheral_below_256_flat_above),
		cmocka_unit_test(flat_form_of_a_small_number),
		cmocka_unit_test(other_forms_are_no_number),
		cmocka_unit_test(lower_levels_must_be_empty),
	};

	return cmocka_run_group_tests_name("lun", tests, NULL, NULL);
}
