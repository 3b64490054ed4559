/* Sense data (SPC-4 4.5): a table from conditions to codes, one from errors to conditions. */
#include "sense.h"

#include <errno.h>
#include <string.h>

#include "util.h"
#include "wire.h"

enum {
	FORMAT_FIXED = 0x70, FORMAT_DESCRIPTOR = 0x72,
	VALID = 0x80,			/* INFORMATION is defined */
	SKSV = 0x80, SKS_CD = 0x40, SKS_BPV = 0x08,
	FIXED_LEN = 18,
	DESC_INFO = 0x00, DESC_INFO_LEN = 12,
	DESC_SKS = 0x02, DESC_SKS_LEN = 8,
};

static const struct { uint8_t key, asc, ascq; } codes[CONDS] = {
#define X(name, key, asc, ascq) [COND_##name] = { key, asc, ascq },
	CONDITIONS(X)
#undef X
};

void
sense_init(struct sense *s, enum cond cond)
{
	memset(s, 0, sizeof(*s));
	s->key = codes[cond].key;
	s->asc = codes[cond].asc;
	s->ascq = codes[cond].ascq;
	s->bit = -1;
}

/* Sense key specific data: a field pointer (SPC-4 4.5.2.4.2), or a progress indication (4.5.2.4.4). */
static void
sks_put(uint8_t *p, const struct sense *s)
{
	if (s->has_progress) {
		p[0] = SKSV;
		wr16(p + 1, s->progress);
		return;
	}
	p[0] = SKSV | (s->in_cdb ? SKS_CD : 0);
	if (s->bit >= 0)
		p[0] |= SKS_BPV | (uint8_t)s->bit;
	wr16(p + 1, s->field);
}

unsigned
sense_fixed(uint8_t *buf, const struct sense *s)
{
	memset(buf, 0, FIXED_LEN);
	buf[0] = FORMAT_FIXED;
	buf[2] = s->key;
	/* SPC-4 4.5.3: what does not fit four bytes is not VALID. */
	if (s->has_info && s->info <= UINT32_MAX) {
		buf[0] |= VALID;
		wr32(buf + 3, (uint32_t)s->info);
	}
	buf[7] = FIXED_LEN - 8;
	buf[12] = s->asc;
	buf[13] = s->ascq;
	if (s->has_field || s->has_progress)
		sks_put(buf + 15, s);
	return FIXED_LEN;
}

unsigned
sense_descriptor(uint8_t *buf, const struct sense *s)
{
	unsigned at = 8;

	memset(buf, 0, 8 + DESC_INFO_LEN + DESC_SKS_LEN);
	buf[0] = FORMAT_DESCRIPTOR;
	buf[1] = s->key;
	buf[2] = s->asc;
	buf[3] = s->ascq;
	if (s->has_info) {
		buf[at] = DESC_INFO;
		buf[at + 1] = DESC_INFO_LEN - 2;
		buf[at + 2] = VALID;
		wr64(buf + at + 4, s->info);
		at += DESC_INFO_LEN;
	}
	if (s->has_field || s->has_progress) {
		buf[at] = DESC_SKS;
		buf[at + 1] = DESC_SKS_LEN - 2;
		sks_put(buf + at + 4, s);
		at += DESC_SKS_LEN;
	}
	buf[7] = (uint8_t)(at - 8);
	return at;
}

static const struct { int error; enum cond reading, writing; } errors[] = {
	{ EIO,		COND_READ_ERROR,	COND_WRITE_ERROR },
	{ ENOSPC,	COND_NO_SPACE,		COND_NO_SPACE },
	{ EDQUOT,	COND_NO_SPACE,		COND_NO_SPACE },
	{ EROFS,	COND_WRITE_PROTECTED,	COND_WRITE_PROTECTED },
	{ ENODEV,	COND_OFFLINE,		COND_OFFLINE },
	{ ENXIO,	COND_OFFLINE,		COND_OFFLINE },
	{ ENOMEM,	CONDS,			CONDS },
	{ EAGAIN,	CONDS,			CONDS },
	{ EOPNOTSUPP,	COND_INVALID_OPCODE,	COND_INVALID_OPCODE },
	{ ETIMEDOUT,	COND_COMMAND_TIMEOUT,	COND_COMMAND_TIMEOUT },
	{ EILSEQ,	COND_MISCOMPARE,	COND_MISCOMPARE },
};

enum cond
sense_of_errno(int error, bool write)
{
	for (unsigned i = 0; i < ARRAY_LEN(errors); i++)
		if (errors[i].error == -error)
			return write ? errors[i].writing : errors[i].reading;
	return COND_INTERNAL_FAILURE;
}
