/* What the tests of range locks share: two ways to one disk, and commands that lock. */
#ifndef RANGE_RIG_H
#define RANGE_RIG_H

#include "scsi_rig.h"

#include "hba/scsi/fence.h"
#include "hba/scsi/lu.h"
#include "hba/scsi/nexus.h"

/* Two ways to one disk: a on reactor 0, b by the other target on reactor 1. */
static struct nexus *a, *b;
enum { LUN_B = 5 };

static inline void
start(void)
{
	a = rig_start(1, 2);
	b = fake_login_quiet(1, "iqn.2026-11.test:b", 1);
}

static inline void
nothing_is_left(void)
{
	struct lu *lu = lu_next(NULL);

	fake_settle();
	assert_true(list_empty(&lu->locks));
	assert_true(list_empty(&lu->locked));
	assert_int_equal(fence_orphans(lu), 0);
	assert_int_equal(fake_disk_held(disk), 0);
	if (a)
		assert_int_equal(a->luns[0]->hot, 0);
	if (b)
		assert_int_equal(b->luns[LUN_B]->hot, 0);
}

static inline void
stop(void)
{
	nothing_is_left();
	fake_logout(b, NULL);
	rig_stop(a);
}

static inline struct fake_cmd *
caw_a(uint16_t lba, uint8_t n, uint8_t old, uint8_t new)
{
	struct fake_cmd *fc = send_compare(a, 0, lba, n, 0, old, new, DATA_POOL);

	fake_settle();
	return fc;
}

static inline struct fake_cmd *
caw_b(uint16_t lba, uint8_t n, uint8_t old, uint8_t new)
{
	struct fake_cmd *fc = send_compare(b, LUN_B, lba, n, 0, old, new, DATA_POOL);

	fake_settle();
	return fc;
}

static inline void
hold(bool on)
{
	disk->hold[DISK_READ] = disk->hold[DISK_WRITE] = on;
}

static inline void
release(unsigned n)
{
	fake_disk_release(disk, n);
	fake_settle();
}

/* A lock of blocks 10 to 13 whose read the disk has. */
static inline struct fake_cmd *
locked(void)
{
	struct fake_cmd *fc;

	start();
	disk->hold[DISK_READ] = true;
	fc = caw_a(10, 4, 0, 0x11);
	disk->hold[DISK_READ] = false;
	assert_int_equal(fake_disk_held(disk), 1);
	return fc;
}

#endif
