/*
 * Any CDB with any EDTL and data: one answer, arithmetic that adds up, and
 * nothing left behind. The input is a row of records of RECORD bytes:
 *
 *	0	what the disk is and does, who sends it how: see below
 *	2	EDTL
 *	6	CDB
 *	22	the first bytes of the data
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fake/fake_transport.h"
#include "wire.h"

enum {
	RECORD = 62,
	/* byte 0 */
	F_IN = 0x01, F_OUT = 0x02, F_BORROWED = 0x04, F_LUN = 0x18, F_FAIL = 0x20, F_SHORT = 0x40,
	/* byte 1 is the disk's error, when F_FAIL */
};

static struct nexus *nexus;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Four units of different talents, so that every command is there somewhere. */
static void
world_start(void)
{
	static const uint32_t caps[FAKE_DISKS] = {
		DISK_CAP_UNMAP | DISK_CAP_UNMAP_ZEROES | DISK_CAP_ZERO | DISK_CAP_WRITE_CACHE,
		DISK_CAP_LENDS | DISK_CAP_INLINE | DISK_CAP_FUA | DISK_CAP_WRITE_CACHE,
		DISK_CAP_UNMAP | DISK_CAP_READ_ONLY,
		0,
	};
	int r;

	fake_world_init(FAKE_DISKS);
	for (unsigned i = 0; i < FAKE_DISKS; i++) {
		fakes.fake[i].caps = caps[i];
		fakes.lun[0][i].copy = true;
	}
	fakes.disk[3].block_size = 4096;
	fakes.lun[0][3].lun = 300;
	r = fake_world_start(1);
	assert(r == 0);
	nexus = fake_login_quiet(0, "iqn.2026-11.test:fuzz", 0);
}

static void
answer_check(const struct fake_cmd *fc)
{
	uint64_t expected = (uint64_t)fc->cmd.edtl_in + fc->cmd.edtl_out;

	assert(fc->dones == 1);
	assert(fc->wants <= 1);
	assert(!(fc->flags & (CMD_SILENT | CMD_ABORTED | CMD_IN_DISK | CMD_PARKED)));
	assert(fc->data_in <= fc->cmd.edtl_in);
	if (fc->status == SCSI_CHECK_CONDITION) {
		assert(fc->sense_len >= 18 && (fc->sense[2] & 0xf) != 0);
		assert(fc->data_in == 0);
	} else {
		assert(fc->status == SCSI_GOOD || fc->status == SCSI_BUSY);
		assert(fc->sense_len == 0);
	}
	switch ((enum cmd_resid)fc->resid_kind) {
	case RESID_NONE:
		assert(fc->resid == 0);
		if (fc->cmd.edtl_in && !fc->cmd.edtl_out)
			assert(fc->data_in == fc->cmd.edtl_in);
		break;
	case RESID_UNDER:
		assert(fc->resid && fc->resid <= expected);
		if (fc->cmd.edtl_in && !fc->cmd.edtl_out)
			assert(fc->data_in + fc->resid == fc->cmd.edtl_in);
		break;
	case RESID_OVER:
		assert(fc->resid);
		if (fc->status == SCSI_GOOD && !fc->cmd.edtl_out)
			assert(fc->data_in == fc->cmd.edtl_in);
		break;
	}
}

static void
record_run(const uint8_t *r)
{
	static const unsigned luns[4] = { 0, 1, 2, 300 };
	struct fake_cmd *fc = fake_cmd_new(nexus, luns[(r[0] & F_LUN) >> 3], r + 6, 16);
	uint32_t edtl = rd32(r + 2);

	/* Mostly lengths that come near what a CDB asks. */
	if (r[0] & F_SHORT)
		edtl &= 0xffff;
	fake_cmd_expect(fc, r[0] & F_OUT ? edtl : 0, r[0] & F_IN ? edtl : 0, r[61]);
	if (r[0] & F_OUT)
		memcpy(fc->out, r + 22, MIN(edtl, RECORD - 22));
	fc->how = r[0] & F_BORROWED ? DATA_BORROWED : DATA_POOL;
	for (unsigned i = 0; i < FAKE_DISKS; i++)
		for (unsigned op = 0; op < DISK_OPS; op++)
			fakes.fake[i].error[op] = r[0] & F_FAIL ? -(int)(r[1] & 0x7f) : 0;
	/* A unit number of any form, now and then. */
	if ((r[0] & 0x80) && (r[1] & 0x80))
		memcpy(fc->cmd.lun, r + 30, 8);
	fake_cmd_submit(fc);
	/* COMPARE AND WRITE and the like take a few turns, a long WRITE SAME more. */
	for (unsigned i = 0; i < 1000 && !fc->dones; i++)
		fake_settle();
	answer_check(fc);
	fake_cmd_free(fc);
	assert(nexus->ntasks == 0 && nexus->refs == 1 && list_empty(&nexus->tasks));
}

static void
memory_check(void *arg)
{
	struct buf_stats s;

	buf_stats(reactor_self(), &s);
	assert(s.used == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!nexus)
		world_start();
	for (; size >= RECORD; data += RECORD, size -= RECORD)
		record_run(data);
	fake_run(0, memory_check, NULL);
	return 0;
}
