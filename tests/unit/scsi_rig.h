/* What the device server's unit tests share. */
#ifndef SCSI_RIG_H
#define SCSI_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "tests/fake/fake_transport.h"
#include "wire.h"

/* A world of `ndisks` plain disks that is running, and a nexus to target 0 on reactor 0. */
static inline struct nexus *
rig_start(unsigned ndisks, unsigned reactors)
{
	fake_world_init(ndisks);
	assert_int_equal(fake_world_start(reactors), 0);
	return fake_login_quiet(0, "iqn.2026-11.test:a", 0);
}

static inline void
rig_stop(struct nexus *nexus)
{
	fake_logout(nexus, NULL);
	fake_world_stop();
}

#define assert_status(fc, want)                                                     \
	do {                                                                        \
		assert_int_equal((fc)->dones, 1);                                   \
		assert_int_equal((fc)->status, (want));                             \
	} while (0)

#define assert_sense(fc, key, asc, ascq)                                            \
	do {                                                                        \
		assert_status(fc, SCSI_CHECK_CONDITION);                            \
		assert_int_equal((fc)->sense[0] & 0x7f, 0x70);                      \
		assert_int_equal((fc)->sense[2], (key));                            \
		assert_int_equal((fc)->sense[12] << 8 | (fc)->sense[13],            \
		    (asc) << 8 | (ascq));                                           \
	} while (0)

/* INVALID FIELD IN CDB with its pointer; bit -1: none. */
#define assert_field(fc, byte, bit)                                                 \
	do {                                                                        \
		assert_sense(fc, KEY_ILLEGAL_REQUEST, 0x24, 0x00);                  \
		assert_int_equal((fc)->sense[15],                                   \
		    0xc0 | ((bit) < 0 ? 0 : 0x08 | ((bit) & 7)));                   \
		assert_int_equal(rd16((fc)->sense + 16), (byte));                   \
	} while (0)

#define assert_resid(fc, kind, n)                                                   \
	do {                                                                        \
		assert_int_equal((fc)->resid_kind, (kind));                         \
		assert_int_equal((fc)->resid, (n));                                 \
	} while (0)

#define CDB(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })

/* Disk d0. */
static struct fake_disk *const disk = &fakes.fake[0];

/* One disk with these capabilities. */
static inline struct nexus *
start_with(uint32_t caps)
{
	fake_world_init(1);
	disk->caps = caps;
	assert_int_equal(fake_world_start(1), 0);
	return fake_login_quiet(0, "iqn.2026-11.test:a", 0);
}

/* A command to LUN 0 with data to take. */
static inline struct fake_cmd *
send_out(struct nexus *nexus, const uint8_t *cdb, size_t len, uint32_t edtl, uint8_t pattern,
    enum fake_data how)
{
	struct fake_cmd *fc = fake_cmd_new(nexus, 0, cdb, len);

	fake_cmd_expect(fc, edtl, 0, pattern);
	fc->how = how;
	fake_cmd_submit(fc);
	return fc;
}

/* COMPARE AND WRITE of n blocks from lba, with these flags in byte 1. */
#define CAW(lba, n, flags)                                                          \
	CDB(OP_COMPARE_WRITE, flags, 0, 0, 0, 0, 0, 0, (lba) >> 8, (lba) & 0xff, 0, 0, 0, n)

/* One that compares with `old` and writes `new`; it is begun, and never done yet. */
static inline struct fake_cmd *
send_compare(struct nexus *nexus, unsigned lun, uint16_t lba, uint8_t n, uint8_t flags, uint8_t old,
    uint8_t new, enum fake_data how)
{
	struct fake_cmd *fc = fake_cmd_new(nexus, lun, CAW(lba, n, flags));
	uint32_t half = n * fakes.disk[0].block_size;

	fake_cmd_expect(fc, 2 * half, 0, old);
	memset(fc->out + half, new, half);
	fc->how = how;
	fake_cmd_submit(fc);
	return fc;
}

/* A command of which only the status matters. */
#define DONE(fc, status)                                                            \
	do {                                                                        \
		struct fake_cmd *done_ = (fc);                                      \
		assert_status(done_, status);                                       \
		fake_cmd_free(done_);                                               \
	} while (0)

/* Ended without an answer. */
#define SILENT(fc)                                                                  \
	do {                                                                        \
		struct fake_cmd *silent_ = (fc);                                    \
		assert_int_equal(silent_->dones, 1);                                \
		assert_true(silent_->flags & CMD_SILENT);                           \
		fake_cmd_free(silent_);                                             \
	} while (0)

static inline void
rig_timer_run(void *arg)
{
	struct timer *timer = arg;

	timer_stop(timer);
	timer->fn(timer);
}

/* The time of this timer has come. */
static inline void
rig_timer_fire(struct timer *timer, unsigned reactor)
{
	fake_run(reactor, rig_timer_run, timer);
}

struct rig_look {
	const unsigned *dones;
	unsigned seen;
};

static inline void
rig_look_run(void *arg)
{
	struct rig_look *look = arg;

	look->seen = *look->dones;
}

/* Until this is no longer 0, as its reactor sees it. */
static inline void
rig_wait(const unsigned *dones, unsigned reactor)
{
	struct rig_look look = { dones, 0 };

	while (!look.seen)
		fake_run(reactor, rig_look_run, &look);
}

static inline bool
all_bytes(const uint8_t *p, size_t n, uint8_t value)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != value)
			return false;
	return true;
}

#endif
