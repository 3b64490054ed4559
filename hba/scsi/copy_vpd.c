/* Third-party Copy VPD page (SPC-4 7.8.17): which copies this unit takes part in. */
#include "cmd.h"
#include "copy.h"
#include "usage.h"

enum {
	SUPPORTED_COMMANDS = 0x0001, PARAMETER_DATA = 0x0004, SUPPORTED_DESCRIPTORS = 0x0008,
	SUPPORTED_UNIT_IDS = 0x000c, GENERAL_COPY = 0x8001,
	DESCRIPTOR_HEADER = 4,
};

/* Descriptors are filled to a multiple of four; their length counts that. */
static unsigned
descriptor_end(uint8_t *d, unsigned type, unsigned len)
{
	len = (len + 3) & ~3u;
	wr16(d, (uint16_t)type);
	wr16(d + 2, (uint16_t)(len - DESCRIPTOR_HEADER));
	return len;
}

/* The service actions of an opcode that are copy commands; the space they take. */
static unsigned
actions_put(uint8_t *p, uint8_t opcode)
{
	unsigned n = 0;

	for (const struct usage *u = usages[opcode].more; u; u = u->more)
		if (u->row->flags & ROW_COPY)
			p[2 + n++] = (uint8_t)u->row->sa;
	p[0] = opcode;
	p[1] = (uint8_t)n;
	return 2 + n;
}

static unsigned
commands_put(uint8_t *d)
{
	unsigned at = DESCRIPTOR_HEADER + 1;

	at += actions_put(d + at, OP_COPY_OUT);
	at += actions_put(d + at, OP_COPY_IN);
	d[DESCRIPTOR_HEADER] = (uint8_t)(at - DESCRIPTOR_HEADER - 1);
	return descriptor_end(d, SUPPORTED_COMMANDS, at);
}

static unsigned
parameters_put(uint8_t *d)
{
	wr16(d + 8, COPY_UNITS);
	wr16(d + 10, COPY_SEGMENTS);
	wr32(d + 12, COPY_DESCRIPTORS);
	return descriptor_end(d, PARAMETER_DATA, 32);
}

static unsigned
descriptors_put(uint8_t *d)
{
	d[4] = 2;
	d[5] = COPY_SEGMENT_BLOCKS;
	d[6] = COPY_UNIT_IDENTIFICATION;
	return descriptor_end(d, SUPPORTED_DESCRIPTORS, 7);
}

/* No identifiers stand for units without a descriptor. */
static unsigned
unit_ids_put(uint8_t *d)
{
	return descriptor_end(d, SUPPORTED_UNIT_IDS, 6);
}

static unsigned
general_put(uint8_t *d, const struct lu *lu)
{
	wr32(d + 4, UINT16_MAX);	/* TOTAL CONCURRENT COPIES */
	wr32(d + 8, UINT8_MAX);		/* MAXIMUM IDENTIFIED CONCURRENT COPIES */
	wr32(d + 12, (uint32_t)UINT16_MAX << lu->shift);	/* MAXIMUM SEGMENT LENGTH */
	d[16] = lu->shift;		/* DATA SEGMENT GRANULARITY */
	return descriptor_end(d, GENERAL_COPY, 36);
}

unsigned
copy_vpd(const struct scsi_cmd *cmd, uint8_t *p)
{
	unsigned at = commands_put(p);

	at += parameters_put(p + at);
	at += descriptors_put(p + at);
	at += unit_ids_put(p + at);
	return at + general_put(p + at, cmd->lu);
}
