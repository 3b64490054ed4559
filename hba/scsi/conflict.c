/* Which commands a reservation of somebody else stops: the conflict matrix, a row an opcode. */
#include "conflict.h"

#include "nexus.h"
#include "scsi.h"
#include "usage.h"
#include "util.h"

/* What a command is to a reservation; a command that is not in the table is a write. */
enum kind {
	WRITES = 0,			/* stopped by every type */
	READS,				/* stopped by the exclusive access types */
	NEITHER,			/* passes */
	NEITHER_NEW,			/* passes; but a reservation of SPC-2 stops it */
	BY_ACTION,			/* the service action says */
	BY_START, BY_PREVENT,		/* byte 4 says */
};

static const uint8_t kinds[256] = {
	[OP_TEST_UNIT_READY] = NEITHER_NEW,
	[OP_REQUEST_SENSE] = NEITHER,
	[OP_READ_6] = READS, [OP_READ_10] = READS, [OP_READ_12] = READS, [OP_READ_16] = READS,
	[OP_INQUIRY] = NEITHER,
	[OP_REPORT_LUNS] = NEITHER,
	[OP_RESERVE_6] = NEITHER, [OP_RESERVE_10] = NEITHER,	/* they look for themselves */
	[OP_RELEASE_6] = NEITHER, [OP_RELEASE_10] = NEITHER,
	[OP_PR_IN] = NEITHER_NEW, [OP_PR_OUT] = NEITHER_NEW,
	[OP_MODE_SENSE_6] = READS, [OP_MODE_SENSE_10] = READS,
	[OP_LOG_SENSE] = NEITHER_NEW,
	[OP_READ_CAPACITY_10] = NEITHER_NEW,
	[OP_VERIFY_10] = READS, [OP_VERIFY_12] = READS, [OP_VERIFY_16] = READS,
	[OP_PREFETCH_10] = READS, [OP_PREFETCH_16] = READS,
	[OP_READ_DEFECT_10] = READS, [OP_READ_DEFECT_12] = READS,
	[OP_RECEIVE_DIAGNOSTIC] = READS,
	[OP_SERVICE_IN_16] = BY_ACTION,
	[OP_VARIABLE] = BY_ACTION,
	[OP_MAINTENANCE_IN] = BY_ACTION,
	[OP_START_STOP_UNIT] = BY_START,
	[OP_PREVENT_ALLOW] = BY_PREVENT,
};

static enum kind
kind_of_action(uint8_t opcode, unsigned action)
{
	if (opcode == OP_VARIABLE)
		return action == SA_READ_32 || action == SA_VERIFY_32 ? READS : WRITES;
	if (opcode == OP_SERVICE_IN_16)
		return action == SA_READ_CAPACITY_16 ? NEITHER_NEW : READS;
	/* REPORT TARGET PORT GROUPS, ALIASES, PRIORITY, TIMESTAMP pass; the supported ones are READS. */
	return action == SA_REPORT_OPCODES || action == SA_REPORT_TMFS ? READS : NEITHER_NEW;
}

static enum kind
kind_of(const uint8_t *cdb)
{
	enum { START = 0x01, POWER_CONDITION = 0xf0, PREVENT = 0x03 };
	enum kind kind = (enum kind)kinds[cdb[0]];

	switch (kind) {
	case BY_ACTION:
		return kind_of_action(cdb[0], usage_sa(cdb));
	case BY_START:
		return (cdb[4] & (START | POWER_CONDITION)) == START ? NEITHER_NEW : WRITES;
	case BY_PREVENT:
		return cdb[4] & PREVENT ? WRITES : NEITHER_NEW;
	default:
		return kind;
	}
}

bool
conflict_stops(uint32_t hot, const uint8_t *cdb)
{
	enum kind kind = kind_of(cdb);

	if (hot & NLUN_RESERVED && kind != NEITHER)
		return true;
	if (hot & NLUN_NO_ACCESS)
		return kind == WRITES || kind == READS;
	return hot & NLUN_NO_WRITES && kind == WRITES;
}
