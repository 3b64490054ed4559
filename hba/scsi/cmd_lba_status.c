/* GET LBA STATUS (SBC-3 5.6): which blocks are mapped, as far as it is known. */
#include "cmd.h"

enum { HEADER = 8, DESCRIPTOR = 16, DESCRIPTORS_MAX = 256 };
enum { MAPPED_OR_UNKNOWN = 0, DEALLOCATED = 1 };
/* Bytes that one search goes through: the disk answers soon. */
#define SEARCH_MAX (64ull << 30)

static bool
lba_status_check(struct scsi_cmd *cmd)
{
	cmd->lba = rd64(cmd->cdb + 2);
	if (cmd->lba < cmd->lu->blocks)
		return true;
	cmd_fail(cmd, COND_LBA_RANGE);
	return false;
}

/* As many as the initiator has room for, but one is always looked for. */
static unsigned
descriptors_wanted(const struct scsi_cmd *cmd)
{
	uint32_t room = rd32(cmd->cdb + 10);

	if (room < HEADER + 2 * DESCRIPTOR)
		return 1;
	return MIN((room - HEADER) / DESCRIPTOR, (unsigned)DESCRIPTORS_MAX);
}

/*
 * What lies from cmd->lba on: blocks of one status. It continues the last
 * descriptor or is a new one; false: there is no room for that. step is how many
 * there are.
 */
static bool
descriptor_add(struct scsi_cmd *cmd, uint64_t blocks, uint8_t status)
{
	uint8_t *p = (uint8_t *)cmd->iov[0].iov_base + HEADER;
	uint8_t *last = p + (cmd->step - 1) * DESCRIPTOR;

	blocks = MIN(blocks, (uint64_t)UINT32_MAX);
	if (cmd->step && last[12] == status && rd32(last + 8) <= UINT32_MAX - blocks) {
		wr32(last + 8, rd32(last + 8) + (uint32_t)blocks);
	} else {
		if (cmd->step == descriptors_wanted(cmd))
			return false;
		p += cmd->step++ * DESCRIPTOR;
		wr64(p, cmd->lba);
		wr32(p + 8, (uint32_t)blocks);
		p[12] = status;
	}
	cmd->lba += blocks;
	return true;
}

static bool
search(struct scsi_cmd *cmd)
{
	struct disk_io *io = &cmd->req.io;

	io->op = DISK_STATUS;
	io->flags = 0;
	io->offset = lu_bytes(cmd->lu, cmd->lba);
	io->len = MIN(lu_bytes(cmd->lu, cmd->lu->blocks) - io->offset, SEARCH_MAX);
	io->iov = NULL;
	io->niov = 0;
	cmd->scratch[0] = true;
	return cmd_io(cmd);
}

static void
lba_status_done(struct scsi_cmd *cmd)
{
	uint32_t len = HEADER + cmd->step * DESCRIPTOR;

	wr32(cmd->iov[0].iov_base, len - 4);
	param_done(cmd, len, rd32(cmd->cdb + 10));
}

/* scratch[0]: a search is back. */
static void
lba_status_search(struct scsi_cmd *cmd)
{
	const struct disk_io *io = &cmd->req.io;

	while (cmd->lba < cmd->lu->blocks) {
		if (!cmd->scratch[0] && !search(cmd))
			return;
		cmd->scratch[0] = false;
		if (io->result < 0) {
			cmd_fail_io(cmd);
			return;
		}
		if (!descriptor_add(cmd, io->len >> cmd->lu->shift,
		    io->info == DISK_HOLE ? DEALLOCATED : MAPPED_OR_UNKNOWN))
			break;
	}
	lba_status_done(cmd);
}

static void
lba_status_exec(struct scsi_cmd *cmd)
{
	if (cmd->mem == MEM_NONE) {
		if (!param_room(cmd, HEADER + DESCRIPTORS_MAX * DESCRIPTOR))
			return;
		cmd->scratch[0] = false;
	}
	if (cmd->lu->disk->caps & DISK_CAP_STATUS) {
		lba_status_search(cmd);
		return;
	}
	descriptor_add(cmd, cmd->lu->blocks - cmd->lba, MAPPED_OR_UNKNOWN);
	lba_status_done(cmd);
}

static const struct cmd_row lba_status[] = {
	{ "GET LBA STATUS", OP_SERVICE_IN_16, 16, SA_GET_LBA_STATUS, ROW_MEDIUM | ROW_IN | ROW_SA,
	    { OP_SERVICE_IN_16, 0x1f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	    0xff, 0xff, 0xff, 0xff }, lba_status_check, lba_status_exec },
};
CMD_FAMILY(lba_status);
