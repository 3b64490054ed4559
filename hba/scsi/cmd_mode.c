/* MODE SENSE (SPC-4 6.13, 6.14): the pages, each a row. Nothing can be changed yet. */
#include <string.h>

#include "cmd.h"

enum {
	DBD = 0x08, LLBAA = 0x10,	/* byte 1 */
	PAGE_ALL = 0x3f, SUBPAGE_ALL = 0xff,
	WP = 0x80, DPOFUA = 0x10,	/* device-specific parameter (SBC-3 6.5.1) */
	HEADER_6 = 4, HEADER_10 = 8, LONG_LBA = 0x01,
	BLOCK_LEN = 8, BLOCK_LONG_LEN = 16,
	MODE_MAX = 512,
};
enum { PC_CURRENT, PC_CHANGEABLE, PC_DEFAULT, PC_SAVED };	/* byte 2, bits 7:6 */

/* Body: the bytes behind code and length, zeroed. All are of the page_0 format: subpage 0. */
struct mode_page {
	uint8_t code, len;		/* len: of the body */
	void (*body)(const struct scsi_cmd *, uint8_t *p);	/* NULL: zeros */
};

/* SBC-3 6.5.5; p[0] is byte 2 of the page. */
static void
caching_body(const struct scsi_cmd *cmd, uint8_t *p)
{
	enum { WCE = 0x04 };

	p[0] = cmd->lu->write_cache ? WCE : 0;
}

/* SPC-4 7.5.8: commands may be reordered; TAS, QERR, SWP, D_SENSE are 0. */
static void
control_body(const struct scsi_cmd *cmd, uint8_t *p)
{
	enum { UNRESTRICTED_REORDERING = 0x10 };

	p[1] = UNRESTRICTED_REORDERING;
}

/* SPC-4 7.5.13: no informational exceptions are reported. */
static void
exceptions_body(const struct scsi_cmd *cmd, uint8_t *p)
{
	enum { DEXCPT = 0x08 };

	p[0] = DEXCPT;
}

/* In ascending order: read-write error recovery, caching, control, power condition, exceptions. */
static const struct mode_page pages[] = {
	{ 0x01, 10, NULL },
	{ 0x08, 18, caching_body },
	{ 0x0a, 10, control_body },
	{ 0x1a, 38, NULL },
	{ 0x1c, 10, exceptions_body },
};

static unsigned
mode_pc(const struct scsi_cmd *cmd)
{
	return cmd->cdb[2] >> 6;
}

static bool
page_wanted(const struct scsi_cmd *cmd, const struct mode_page *page)
{
	uint8_t code = cmd->cdb[2] & 0x3f;

	return code == PAGE_ALL || code == page->code;
}

static bool
mode_check(struct scsi_cmd *cmd)
{
	uint8_t subpage = cmd->cdb[3];
	bool found = false;

	if (mode_pc(cmd) == PC_SAVED) {
		cmd_fail(cmd, COND_NO_SAVED_PAGES);
		return false;
	}
	if (subpage != 0 && subpage != SUBPAGE_ALL) {
		cmd_fail_field(cmd, 3, -1);
		return false;
	}
	for (unsigned i = 0; i < ARRAY_LEN(pages); i++)
		found |= page_wanted(cmd, &pages[i]);
	if (!found)
		cmd_fail_field(cmd, 2, 5);
	return found;
}

/* SBC-3 6.5.2: number of blocks and their size. */
static unsigned
block_descriptor(const struct scsi_cmd *cmd, uint8_t *p, bool long_lba)
{
	const struct lu *lu = cmd->lu;

	if (cmd->cdb[1] & DBD)
		return 0;
	if (long_lba) {
		wr64(p, lu->blocks);
		wr32(p + 12, lu->block_size);
		return BLOCK_LONG_LEN;
	}
	wr32(p, (uint32_t)MIN(lu->blocks, UINT32_MAX));
	wr24(p + 5, lu->block_size);
	return BLOCK_LEN;
}

static unsigned
pages_put(const struct scsi_cmd *cmd, uint8_t *p)
{
	unsigned at = 0;

	for (unsigned i = 0; i < ARRAY_LEN(pages); i++) {
		const struct mode_page *page = &pages[i];

		if (!page_wanted(cmd, page))
			continue;
		p[at] = page->code;
		p[at + 1] = page->len;
		if (page->body && mode_pc(cmd) != PC_CHANGEABLE)
			page->body(cmd, p + at + 2);
		at += 2u + page->len;
	}
	return at;
}

static uint8_t
device_specific(const struct scsi_cmd *cmd)
{
	return DPOFUA | (cmd->nlun->read_only ? WP : 0);
}

static void
sense_6_exec(struct scsi_cmd *cmd)
{
	uint8_t *p = param_room(cmd, MODE_MAX);
	unsigned block, len;

	if (!p)
		return;
	block = block_descriptor(cmd, p + HEADER_6, false);
	len = HEADER_6 + block + pages_put(cmd, p + HEADER_6 + block);
	p[0] = (uint8_t)(len - 1);
	p[2] = device_specific(cmd);
	p[3] = (uint8_t)block;
	param_done(cmd, len, cmd->cdb[4]);
}

static void
sense_10_exec(struct scsi_cmd *cmd)
{
	bool long_lba = cmd->cdb[1] & LLBAA;
	uint8_t *p = param_room(cmd, MODE_MAX);
	unsigned block, len;

	if (!p)
		return;
	block = block_descriptor(cmd, p + HEADER_10, long_lba);
	len = HEADER_10 + block + pages_put(cmd, p + HEADER_10 + block);
	wr16(p, (uint16_t)(len - 2));
	p[3] = device_specific(cmd);
	p[4] = block == BLOCK_LONG_LEN ? LONG_LBA : 0;
	wr16(p + 6, (uint16_t)block);
	param_done(cmd, len, rd16(cmd->cdb + 7));
}

/* No ROW_MEDIUM: a disk that is away can still be asked what it is. */
static const struct cmd_row mode[] = {
	{ "MODE SENSE(6)", OP_MODE_SENSE_6, 6, 0, ROW_IN,
	    { OP_MODE_SENSE_6, DBD, 0xff, 0xff, 0xff }, mode_check, sense_6_exec },
	{ "MODE SENSE(10)", OP_MODE_SENSE_10, 10, 0, ROW_IN,
	    { OP_MODE_SENSE_10, DBD | LLBAA, 0xff, 0xff, 0, 0, 0, 0xff, 0xff },
	    mode_check, sense_10_exec },
};
CMD_FAMILY(mode);
