/* Reports: which units, commands and functions there are (SPC-4 6.33, 6.35, 6.36). */
#include <string.h>

#include "cmd.h"
#include "ua.h"
#include "usage.h"

/* -- REPORT LUNS -- */

enum { SELECT_UNITS = 0, SELECT_WELL_KNOWN = 1, SELECT_ALL = 2, LUN_LEN = 8, LUNS_HEADER = 8 };

static bool
luns_check(struct scsi_cmd *cmd)
{
	if (cmd->cdb[2] > SELECT_ALL) {
		cmd_fail_field(cmd, 2, -1);
		return false;
	}
	return true;
}

static uint32_t
luns_count(const struct nexus *nexus)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < nexus->nluns; i++)
		n += nexus->luns[i] != NULL;
	return n;
}

static void
luns_exec(struct scsi_cmd *cmd)
{
	const struct nexus *nexus = cmd->nexus;
	bool units = cmd->cdb[2] != SELECT_WELL_KNOWN, well_known = cmd->cdb[2] != SELECT_UNITS;
	uint32_t n = (units ? luns_count(nexus) : 0) + well_known;
	uint8_t *p = param_room(cmd, LUNS_HEADER + n * LUN_LEN);
	uint32_t at = LUNS_HEADER;

	if (!p)
		return;
	wr32(p, n * LUN_LEN);
	for (uint32_t i = 0; units && i < nexus->nluns; i++) {
		if (!nexus->luns[i])
			continue;
		scsi_lun_wire(p + at, i);
		at += LUN_LEN;
	}
	if (well_known)
		wr64(p + at, 0xc101000000000000);
	ua_luns_reported(cmd->nexus);
	param_done(cmd, LUNS_HEADER + n * LUN_LEN, rd32(cmd->cdb + 6));
}

/* -- REPORT SUPPORTED OPERATION CODES -- */

enum {
	RCTD = 0x80, OPTIONS = 0x07,	/* byte 2 */
	OPTION_ALL = 0, OPTION_OPCODE = 1, OPTION_SA = 2, OPTION_EITHER = 3,
	CTDP = 0x02, SERVACTV = 0x01,	/* byte 5 of a command descriptor */
	SUPPORTED = 3, UNSUPPORTED = 1, ONE_CTDP = 0x80,	/* byte 1 of the one-command form */
	DESCRIPTOR_LEN = 8, TIMEOUTS_LEN = 12, OPCODES_MAX = 4096,
};

/* SPC-4 6.35.4: no command has a time to be named. */
static uint32_t
timeouts_put(uint8_t *p)
{
	wr16(p, TIMEOUTS_LEN - 2);
	return TIMEOUTS_LEN;
}

static uint32_t
opcodes_all(uint8_t *p, const struct nexus_lun *nlun, bool timeouts)
{
	const struct cmd_row *row;
	uint32_t at = 4;

	for (unsigned i = 0; (row = usage_nth(i)); i++) {
		if (!row_is_there(row, nlun))
			continue;
		p[at] = row->opcode;
		wr16(p + at + 2, row->sa);
		p[at + 5] = (timeouts ? CTDP : 0) | (row->flags & ROW_SA ? SERVACTV : 0);
		wr16(p + at + 6, row->cdb_len);
		at += DESCRIPTOR_LEN;
		if (timeouts)
			at += timeouts_put(p + at);
	}
	wr32(p, at - 4);
	return at;
}

static uint32_t
opcodes_one(uint8_t *p, const struct cmd_row *row, bool timeouts)
{
	uint32_t at = 4 + row->cdb_len;

	p[1] = SUPPORTED | (timeouts ? ONE_CTDP : 0);
	wr16(p + 2, row->cdb_len);
	memcpy(p + 4, row->usage, row->cdb_len);
	return timeouts ? at + timeouts_put(p + at) : at;
}

/* The option must fit the opcode: with a service action where it has some, else without. */
static bool
opcodes_check(struct scsi_cmd *cmd)
{
	unsigned option = cmd->cdb[2] & OPTIONS;
	const struct usage *u = &usages[cmd->cdb[3]];

	if (option > OPTION_EITHER || (option == OPTION_OPCODE && u->more)) {
		cmd_fail_field(cmd, 2, 2);
		return false;
	}
	if (option == OPTION_SA && u->row) {
		cmd_fail_field(cmd, 2, 2);
		return false;
	}
	return true;
}

/* NULL: not supported. */
static const struct cmd_row *
opcodes_find(const struct scsi_cmd *cmd)
{
	const struct usage *u = &usages[cmd->cdb[3]];
	unsigned sa = rd16(cmd->cdb + 4);

	if (u->more)
		u = usage_find_sa(u, sa);
	else if (sa && (cmd->cdb[2] & OPTIONS) == OPTION_EITHER)
		return NULL;
	return u && u->row && row_is_there(u->row, cmd->nlun) ? u->row : NULL;
}

static void
opcodes_exec(struct scsi_cmd *cmd)
{
	bool timeouts = cmd->cdb[2] & RCTD;
	const struct cmd_row *row;
	uint8_t *p = param_room(cmd, OPCODES_MAX);
	uint32_t len = 4;

	if (!p)
		return;
	if ((cmd->cdb[2] & OPTIONS) == OPTION_ALL)
		len = opcodes_all(p, cmd->nlun, timeouts);
	else if ((row = opcodes_find(cmd)))
		len = opcodes_one(p, row, timeouts);
	else
		p[1] = UNSUPPORTED;
	param_done(cmd, len, rd32(cmd->cdb + 6));
}

/* -- REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS -- */

enum {
	REPD = 0x80,			/* byte 2 */
	ATS = 0x80, ATSS = 0x40, CTSS = 0x10, LURS = 0x08, QTS = 0x04, TRS = 0x02,	/* byte 0 */
	QAES = 0x04, QTSS = 0x02, ITNRS = 0x01,						/* byte 1 */
	TMFS_LEN = 4, TMFS_LONG_LEN = 16,
};

static void
tmfs_exec(struct scsi_cmd *cmd)
{
	bool extended = cmd->cdb[2] & REPD;
	uint8_t *p = param_room(cmd, TMFS_LONG_LEN);

	if (!p)
		return;
	p[0] = ATS | ATSS | CTSS | LURS | QTS | TRS;
	p[1] = QAES | QTSS | ITNRS;
	if (extended)
		p[3] = TMFS_LONG_LEN - 4;
	param_done(cmd, extended ? TMFS_LONG_LEN : TMFS_LEN, rd32(cmd->cdb + 6));
}

static const struct cmd_row report[] = {
	{ "REPORT LUNS", OP_REPORT_LUNS, 12, 0, ROW_UA_OK | ROW_ANY_LUN | ROW_IN,
	    { OP_REPORT_LUNS, 0, 0xff, 0, 0, 0, 0xff, 0xff, 0xff, 0xff }, luns_check, luns_exec },
	{ "REPORT SUPPORTED OPERATION CODES", OP_MAINTENANCE_IN, 12, SA_REPORT_OPCODES,
	    ROW_IN | ROW_SA,
	    { OP_MAINTENANCE_IN, 0x1f, RCTD | OPTIONS, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff },
	    opcodes_check, opcodes_exec },
	{ "REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS", OP_MAINTENANCE_IN, 12, SA_REPORT_TMFS,
	    ROW_IN | ROW_SA,
	    { OP_MAINTENANCE_IN, 0x1f, REPD, 0, 0, 0, 0xff, 0xff, 0xff, 0xff }, NULL, tmfs_exec },
};
CMD_FAMILY(report);
