/* RECEIVE COPY RESULTS (SPC-4 6.24): how a copy is getting on, how it ended, and what copies there can be. */
#include <string.h>

#include "cmd.h"
#include "copy.h"

enum { LIST_ID = 2, ALLOCATION = 10 };	/* in the CDB */

/* -- COPY STATUS (6.24.2) -- */

enum { IN_PROGRESS = 0x00, NO_ERRORS = 0x01, WITH_ERRORS = 0x02 };
enum { STATUS_LEN = 12 };

/* Of one that is under way, or of one that has ended: neither is no such copy. */
static bool
status_check(struct scsi_cmd *cmd)
{
	uint8_t id = cmd->cdb[LIST_ID];

	if (copy_running(cmd->nlun, id, cmd) || copies_find(cmd->nlun, id))
		return true;
	cmd_fail_field(cmd, LIST_ID, -1);
	return false;
}

/* TRANSFER COUNT UNITS: the smallest in which the number fits. */
static void
count_put(uint8_t *p, uint64_t bytes)
{
	static const uint8_t shifts[] = { 0, 10, 20, 30, 40, 50 };
	unsigned unit = 0;

	while (bytes >> shifts[unit] > UINT32_MAX)
		unit++;
	p[7] = (uint8_t)unit;
	wr32(p + 8, (uint32_t)(bytes >> shifts[unit]));
}

static void
status_exec(struct scsi_cmd *cmd)
{
	const struct scsi_cmd *running = copy_running(cmd->nlun, cmd->cdb[LIST_ID], cmd);
	const struct copy_result *r = copies_find(cmd->nlun, cmd->cdb[LIST_ID]);
	uint8_t *p = param_room(cmd, STATUS_LEN);
	uint32_t segments;

	if (!p)
		return;
	/* Memory may have been waited for: meanwhile it has ended, or its result was overwritten. */
	if (!running && !r) {
		cmd_fail_field(cmd, LIST_ID, -1);
		return;
	}
	wr32(p, STATUS_LEN - 4);
	p[4] = running ? IN_PROGRESS : r->status == SCSI_GOOD ? NO_ERRORS : WITH_ERRORS;
	segments = running ? copy_segments_done(running) : r->segments;
	wr16(p + 5, (uint16_t)MIN(segments, (uint32_t)UINT16_MAX));
	count_put(p, running ? copy_bytes_done(running) : r->bytes);
	param_done(cmd, STATUS_LEN, rd32(cmd->cdb + ALLOCATION));
}

/* -- OPERATING PARAMETERS (6.24.4) -- */

enum { PARAMETERS_LEN = 46, SNLID = 0x01, GRANULARITY = 9 };

static void
parameters_exec(struct scsi_cmd *cmd)
{
	uint8_t *p = param_room(cmd, PARAMETERS_LEN);

	if (!p)
		return;
	wr32(p, PARAMETERS_LEN - 4);
	p[4] = SNLID;
	wr16(p + 8, COPY_UNITS);
	wr16(p + 10, COPY_SEGMENTS);
	wr32(p + 12, COPY_DESCRIPTORS);
	wr32(p + 16, (uint32_t)UINT16_MAX << cmd->lu->shift);	/* bytes of a segment */
	wr16(p + 34, UINT16_MAX);	/* as many copies at once as there can be commands; */
	p[36] = UINT8_MAX;		/* and with an identifier */
	p[37] = cmd->lu->shift;		/* what is copied, in powers of 2 */
	p[43] = 2;
	p[44] = COPY_SEGMENT_BLOCKS;
	p[45] = COPY_UNIT_IDENTIFICATION;
	param_done(cmd, PARAMETERS_LEN, rd32(cmd->cdb + ALLOCATION));
}

/* -- FAILED SEGMENT DETAILS (6.24.5) -- */

enum { FAILURE_HEADER = 60, FAILURE_MAX = FAILURE_HEADER + COPY_SENSE_MAX };

static bool
failure_check(struct scsi_cmd *cmd)
{
	if (copies_find(cmd->nlun, cmd->cdb[LIST_ID]))
		return true;
	cmd_fail_field(cmd, LIST_ID, -1);
	return false;
}

/* Nothing failed: no details. What was told is forgotten. */
static void
failure_exec(struct scsi_cmd *cmd)
{
	struct copy_result *r = copies_find(cmd->nlun, cmd->cdb[LIST_ID]);
	uint8_t *p = param_room(cmd, FAILURE_MAX);
	uint32_t len = 4;

	if (!p)
		return;
	if (r && r->status != SCSI_GOOD) {
		len = FAILURE_HEADER + r->sense_len;
		wr32(p, len - 4);
		p[56] = r->status;
		wr16(p + 58, r->sense_len);
		memcpy(p + FAILURE_HEADER, r->sense, r->sense_len);
		r->held = false;
	}
	param_done(cmd, len, rd32(cmd->cdb + ALLOCATION));
}

#define CDB(id) { OP_COPY_IN, 0x1f, id, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff }

static const struct cmd_row copy_in[] = {
	{ "RECEIVE COPY STATUS(LID1)", OP_COPY_IN, 16, SA_COPY_STATUS, ROW_IN | ROW_SA | ROW_COPY,
	    CDB(0xff), status_check, status_exec },
	{ "RECEIVE COPY OPERATING PARAMETERS", OP_COPY_IN, 16, SA_COPY_PARAMETERS,
	    ROW_IN | ROW_SA | ROW_COPY, CDB(0), NULL, parameters_exec },
	{ "RECEIVE COPY FAILURE DETAILS(LID1)", OP_COPY_IN, 16, SA_COPY_FAILURE,
	    ROW_IN | ROW_SA | ROW_COPY, CDB(0xff), failure_check, failure_exec },
};
CMD_FAMILY(copy_in);
