/* What each command of the load does, and whether what came back is right. */
#include "load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scsi.h"
#include "util.h"

static uint8_t *fixed;			/* what is written without --verify */

void
work_init(struct conn *conn)
{
	if (!fixed) {
		fixed = must(aligned_alloc(4096, (opt.size + 4095) & ~4095u));
		for (uint32_t i = 0; i < opt.size; i++)
			fixed[i] = (uint8_t)(i * 7 + 3);
	}
	conn->random = 88172645463325252u ^ ((uint64_t)conn->id + 1) * 0x9e3779b97f4a7c15u;
	if (!opt.verify)
		return;
	conn->versions = must(calloc(opt.verify_blocks, sizeof(*conn->versions)));
	conn->in_use = must(calloc(opt.verify_blocks, sizeof(*conn->in_use)));
	for (uint32_t i = 0; i < opt.depth; i++)
		conn->slots[i].buf = must(aligned_alloc(4096, (opt.size + 4095) & ~4095u));
}

void
work_fini(struct conn *conn)
{
	for (uint32_t i = 0; i < opt.depth; i++)
		free(conn->slots[i].buf);
	free(conn->in_use);
	free(conn->versions);
}

static uint64_t
random_next(struct conn *conn)
{
	uint64_t x = conn->random;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return conn->random = x;
}

/* The content of a block names its LUN, place and version, so that any mix-up shows. */
static uint64_t
pattern_seed(const struct slot *slot)
{
	return (uint64_t)luns[slot->lun].number << 48 ^ slot->lba * 0x9e3779b97f4a7c15u ^
	    (uint64_t)slot->version << 20 ^ 0x1234567;
}

static void
pattern_fill(struct slot *slot)
{
	uint64_t x = pattern_seed(slot);

	for (uint32_t i = 0; i < opt.size; i += 8) {
		x += 0x9e3779b97f4a7c15u;
		memcpy(slot->buf + i, &x, 8);
	}
}

static bool
pattern_ok(const struct slot *slot)
{
	uint64_t x = pattern_seed(slot), there, wrong = 0;

	for (uint32_t i = 0; i < opt.size; i += 8) {
		x += 0x9e3779b97f4a7c15u;
		memcpy(&there, slot->buf + i, 8);
		wrong |= x ^ there;
	}
	return !wrong;
}

/* Any block that no command is on; opt.verify_blocks: all are in use. */
static uint32_t
block_any(struct conn *conn)
{
	uint32_t n = opt.verify_blocks, j = (uint32_t)(random_next(conn) % n);

	for (uint32_t tries = 0; tries < n; tries++, j = (j + 1) % n)
		if (!conn->in_use[j])
			return j;
	return n;
}

/* The next block of the final read-back. One still in use is awaited: its end asks again. */
static uint32_t
block_sweep(struct conn *conn)
{
	uint32_t n = opt.verify_blocks;

	while (conn->sweep < n && !conn->versions[conn->sweep] && !conn->in_use[conn->sweep])
		conn->sweep++;
	if (conn->sweep == n || conn->in_use[conn->sweep])
		return n;
	return conn->sweep++;
}

static bool
verify_plan(struct conn *conn, struct slot *slot)
{
	bool sweep = conn->worker->phase == DRAIN;
	uint32_t j = sweep ? block_sweep(conn) : block_any(conn);

	if (j == opt.verify_blocks)
		return false;
	conn->in_use[j] = true;
	slot->write = !sweep && random_next(conn) % 100 >= opt.read_percent;
	slot->block = j;
	slot->lun = (uint16_t)(j % opt.nluns);
	slot->lba = opt.base + ((uint64_t)conn->id * opt.verify_blocks + j) *
	    (opt.size / luns[slot->lun].block_size);
	slot->version = conn->versions[j];
	if (slot->write) {
		slot->version++;
		pattern_fill(slot);
	}
	return true;
}

static void
load_plan(struct conn *conn, struct slot *slot)
{
	uint64_t r = random_next(conn), blocks, count;
	const struct lun *lun;

	slot->lun = (uint16_t)(opt.nluns == 1 ? 0 :
	    opt.lun_per_session ? (unsigned)conn->id % opt.nluns : (r >> 40) % opt.nluns);
	lun = &luns[slot->lun];
	blocks = opt.size / lun->block_size;
	count = lun->blocks / blocks;
	if (opt.span && opt.span / opt.size < count)
		count = MAX(opt.span / opt.size, 1);
	if (opt.sequential)
		r = conn->ops + conn->running;
	slot->lba = opt.base + r % count * blocks;
	slot->write = opt.read_percent < 100 &&
	    (!opt.read_percent || random_next(conn) % 100 >= opt.read_percent);
}

/* Asks for twice or half of what the CDB says (RFC 7143 11.4.5: underflow, overflow). */
static void
residual_plan(struct conn *conn, struct slot *slot)
{
	switch (random_next(conn) & 7) {
	case 0:
		slot->edtl = 2 * opt.size;
		slot->want_flags = SCSI_RSP_UNDER;
		slot->want_resid = opt.size;
		break;
	case 1:
		slot->edtl = slot->moves = opt.size / 2;
		slot->want_flags = SCSI_RSP_OVER;
		slot->want_resid = opt.size - opt.size / 2;
		break;
	}
}

bool
slot_plan(struct conn *conn, struct slot *slot)
{
	if (conn->worker->phase == DRAIN && !opt.verify)
		return false;
	if (opt.verify) {
		if (!verify_plan(conn, slot))
			return false;
	} else {
		load_plan(conn, slot);
	}
	slot->moves = slot->edtl = opt.size;
	slot->want_flags = 0;
	slot->want_resid = 0;
	if (opt.residuals && !slot->write && !opt.verify)
		residual_plan(conn, slot);
	return true;
}

const uint8_t *
slot_data(const struct slot *slot, uint32_t offset)
{
	return (opt.verify ? slot->buf : fixed) + offset;
}

static void
check_condition(struct conn *conn, const struct slot *slot, uint8_t status)
{
	/* The first is shown, the rest counted. conn->misc: the sense behind its length. */
	if (!conn->worker->tally.check++)
		fprintf(stderr, "load: status %02x, sense key %x asc %02x%02x, LUN %u block %llu\n",
		    status, conn->misc[4] & 15, conn->misc[14], conn->misc[15],
		    luns[slot->lun].number, (unsigned long long)slot->lba);
	if (!opt.verify)
		return;
	conn->in_use[slot->block] = false;
	if (slot->write)
		conn->versions[slot->block] = 0;
}

void
slot_check(struct conn *conn, struct slot *slot, uint8_t status, uint8_t flags, uint32_t resid)
{
	struct tally *tally = &conn->worker->tally;

	if (status) {
		check_condition(conn, slot, status);
		return;
	}
	flags &= SCSI_RSP_OVER | SCSI_RSP_UNDER;
	if (flags != slot->want_flags || (flags && resid != slot->want_resid) ||
	    (!slot->write && slot->got != slot->moves))
		if (!tally->residual++)
			fprintf(stderr, "load: residual %x not %x, %u not %u; %u of %u bytes\n",
			    flags, slot->want_flags, resid, slot->want_resid, slot->got,
			    slot->moves);
	if (!opt.verify)
		return;
	conn->in_use[slot->block] = false;
	if (slot->write)
		conn->versions[slot->block] = slot->version;
	else if (slot->version && !pattern_ok(slot) && !tally->miscompare++)
		fprintf(stderr, "load: MISCOMPARE session %d LUN %u block %llu version %u\n",
		    conn->id, luns[slot->lun].number, (unsigned long long)slot->lba,
		    slot->version);
}
