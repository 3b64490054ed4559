/* The parameter list of EXTENDED COPY(LID1) (SPC-4 6.4): read, checked, and its units looked up. */
#include <string.h>

#include "conflict.h"
#include "copy.h"
#include "lu.h"
#include "nexus.h"
#include "scsi.h"
#include "util.h"
#include "wire.h"

static bool
fault(struct copy_fault *f, enum cond cond)
{
	*f = (struct copy_fault){ .cond = cond, .bit = -1 };
	return false;
}

static bool
fault_at(struct copy_fault *f, unsigned field, int bit)
{
	*f = (struct copy_fault){ .cond = COND_INVALID_PARAM, .field = field, .bit = bit };
	return false;
}

/* -- units -- */

enum {
	UNIT_KIND = 1, NUL = 0x20, DEVICE_TYPE = 0x1f,
	UNIT_CODE = 4, UNIT_ASSOC = 5, UNIT_ID_LEN = 7, UNIT_ID = 8, UNIT_ID_MAX = 20, UNIT_BLOCK = 29,
	CODE_BINARY = 1, CODE_ASCII = 2, KIND_T10 = 1, KIND_NAA = 3,
};

/* Is this designator one of the unit's, as VPD 83h has them? */
static bool
unit_is(const struct lu *lu, const uint8_t *d)
{
	unsigned code = d[UNIT_CODE] & 0x0f, kind = d[UNIT_ASSOC] & 0x3f, len = d[UNIT_ID_LEN];
	const uint8_t *id = d + UNIT_ID;
	size_t serial = strlen(lu->serial);

	if (code == CODE_BINARY && kind == KIND_NAA)
		return len == LU_NAA_LEN && !memcmp(id, lu->naa, LU_NAA_LEN);
	return code == CODE_ASCII && kind == KIND_T10 && len == LU_VENDOR_LEN + serial &&
	    !memcmp(id, lu_vendor, LU_VENDOR_LEN) && !memcmp(id + LU_VENDOR_LEN, lu->serial, serial);
}

/* K21: only what this nexus sees, over LUNs that allow copies. */
static struct nexus_lun *
unit_find(const struct nexus *nexus, const uint8_t *d)
{
	for (uint32_t i = 0; i < nexus->nluns; i++) {
		struct nexus_lun *nlun = nexus->luns[i];

		if (nlun && nlun->copy && unit_is(nlun->lu, d))
			return nlun;
	}
	return NULL;
}

static bool
unit_ok(struct copy_list *l, const struct nexus *nexus, unsigned n, struct copy_fault *f)
{
	const uint8_t *d = l->units + (size_t)n * COPY_UNIT_LEN;
	unsigned at = COPY_HEADER + n * COPY_UNIT_LEN;
	struct nexus_lun *nlun;
	uint32_t block;

	if (d[0] != COPY_UNIT_IDENTIFICATION)
		return fault(f, COND_COPY_UNIT_TYPE);
	if (d[UNIT_ID_LEN] > UNIT_ID_MAX)
		return fault_at(f, at + UNIT_ID_LEN, -1);
	if (d[UNIT_KIND] & NUL)
		return fault(f, COND_COPY_UNREACHABLE);
	l->unit[n] = nlun = unit_find(nexus, d);
	if (!nlun || !nlun->lu->disk->online)
		return fault(f, COND_COPY_UNREACHABLE);
	if (d[UNIT_KIND] & DEVICE_TYPE)
		return fault(f, COND_COPY_DEVICE_TYPE);
	/* 0: not said. */
	block = rd24(d + UNIT_BLOCK);
	if (block && block != nlun->lu->block_size)
		return fault_at(f, at + UNIT_BLOCK, -1);
	return true;
}

/* -- segments -- */

bool
copy_may(const struct nexus_lun *nlun, bool write)
{
	static const uint8_t read_cdb[16] = { OP_READ_16 }, write_cdb[16] = { OP_WRITE_16 };
	uint32_t hot = atomic_load_explicit(&nlun->hot, memory_order_acquire);

	if (hot & NLUN_SANITIZE)
		return false;
	if (write && (nlun->read_only || hot & NLUN_SWP))
		return false;
	return !(hot & NLUN_CONFLICTS) || !conflict_stops(hot, write ? write_cdb : read_cdb);
}

void
copy_segment_get(const struct copy_list *l, unsigned n, struct copy_segment *s)
{
	const uint8_t *d = l->segments + (size_t)n * COPY_SEGMENT_LEN;
	const struct lu *counted;

	s->from = l->unit[rd16(d + 4)];
	s->to = l->unit[rd16(d + 6)];
	/* DC: whose blocks the number of blocks counts. */
	counted = d[1] & COPY_DC ? s->to->lu : s->from->lu;
	s->len = (uint64_t)rd16(d + 10) << counted->shift;
	s->from_at = rd64(d + 12) << s->from->lu->shift;
	s->to_at = rd64(d + 20) << s->to->lu->shift;
}

/* Blocks that len bytes from lba on touch are there. */
static bool
range_ok(const struct lu *lu, uint64_t lba, uint64_t len)
{
	uint64_t blocks = (len + lu->block_size - 1) >> lu->shift;

	return lba <= lu->blocks && blocks <= lu->blocks - lba;
}

static bool
segment_ok(const struct copy_list *l, unsigned n, struct copy_fault *f)
{
	const uint8_t *d = l->segments + (size_t)n * COPY_SEGMENT_LEN;
	struct copy_segment s;

	if (d[0] != COPY_SEGMENT_BLOCKS)
		return fault(f, COND_COPY_SEGMENT_TYPE);
	if (rd16(d + 2) != COPY_SEGMENT_LEN - 4)
		return fault_at(f, (unsigned)(d - l->list) + 2, -1);
	if (rd16(d + 4) >= l->nunits || rd16(d + 6) >= l->nunits)
		return fault(f, COND_COPY_INDEX);
	copy_segment_get(l, n, &s);
	if (!range_ok(s.from->lu, rd64(d + 12), s.len) || !range_ok(s.to->lu, rd64(d + 20), s.len))
		return fault(f, COND_COPY_RANGE);
	/* Nothing is carried from one segment to the next, nor filled up (CAT, PAD). */
	if (s.len & (s.from->lu->block_size - 1) || s.len & (s.to->lu->block_size - 1))
		return fault(f, COND_COPY_INEXACT);
	if (s.len && (!copy_may(s.from, false) || !copy_may(s.to, true)))
		return fault(f, COND_COPY_UNREACHABLE);
	return true;
}

/* -- the list -- */

/* An unknown type tells nothing of its length, so types come before numbers of whole descriptors. */
static bool
lengths_ok(struct copy_list *l, uint32_t len, struct copy_fault *f)
{
	uint32_t units = rd16(l->list + 2), segments = rd32(l->list + 8), inl = rd32(l->list + 12);
	uint32_t left = len - COPY_HEADER;

	if (units > left || segments > left - units || inl > left - units - segments)
		return fault(f, COND_PARAM_LENGTH);
	if (inl)
		return fault_at(f, 12, -1);
	l->units = l->list + COPY_HEADER;
	l->segments = l->units + units;
	if (units && l->units[0] != COPY_UNIT_IDENTIFICATION)
		return fault(f, COND_COPY_UNIT_TYPE);
	if (units % COPY_UNIT_LEN)
		return fault_at(f, 2, -1);
	if (segments && l->segments[0] != COPY_SEGMENT_BLOCKS)
		return fault(f, COND_COPY_SEGMENT_TYPE);
	if (segments % COPY_SEGMENT_LEN)
		return fault_at(f, 8, -1);
	l->nunits = units / COPY_UNIT_LEN;
	l->nsegments = segments / COPY_SEGMENT_LEN;
	if (l->nunits > COPY_UNITS)
		return fault(f, COND_COPY_TOO_MANY_UNITS);
	return l->nsegments <= COPY_SEGMENTS || fault(f, COND_COPY_TOO_MANY_SEGMENTS);
}

bool
copy_list_ok(struct copy_list *l, const struct nexus *nexus, const uint8_t *list, uint32_t len,
    struct copy_fault *f)
{
	*l = (struct copy_list){ .list = list };
	if (len < COPY_HEADER)
		return fault(f, COND_PARAM_LENGTH);
	if (!lengths_ok(l, len, f))
		return false;
	for (unsigned i = 0; i < l->nunits; i++)
		if (!unit_ok(l, nexus, i, f))
			return false;
	for (unsigned i = 0; i < l->nsegments; i++)
		if (!segment_ok(l, i, f))
			return false;
	return true;
}
