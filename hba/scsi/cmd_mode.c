/* MODE SENSE and MODE SELECT (SPC-4 6.10, 6.11, 6.13, 6.14): the pages, each a row. */
#include <string.h>

#include "cmd.h"
#include "mode.h"

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
	/* The values as they are, or, v all false, the defaults; NULL: zeros. */
	void (*body)(const struct scsi_cmd *, const struct mode_values *, uint8_t *p);
	const uint8_t *mask;		/* bits that MODE SELECT may change; NULL: none */
	void (*take)(struct mode_values *, const uint8_t *p);	/* with mask */
};

/* SBC-3 6.5.5; p[0] is byte 2 of the page. */
static void
caching_body(const struct scsi_cmd *cmd, const struct mode_values *v, uint8_t *p)
{
	enum { WCE = 0x04 };

	p[0] = cmd->lu->write_cache ? WCE : 0;
}

enum { D_SENSE = 0x04, SWP = 0x08 };	/* bytes 2 and 4 of the control page */
static const uint8_t control_mask[10] = { [0] = D_SENSE, [2] = SWP };

/* SPC-4 7.5.8: commands may be reordered; TAS and QERR are 0. */
static void
control_body(const struct scsi_cmd *cmd, const struct mode_values *v, uint8_t *p)
{
	enum { UNRESTRICTED_REORDERING = 0x10 };

	p[0] = v->d_sense ? D_SENSE : 0;
	p[1] = UNRESTRICTED_REORDERING;
	p[2] = v->swp ? SWP : 0;
}

static void
control_take(struct mode_values *v, const uint8_t *p)
{
	v->d_sense = p[0] & D_SENSE;
	v->swp = p[2] & SWP;
}

/* SPC-4 7.5.13: no informational exceptions are reported. */
static void
exceptions_body(const struct scsi_cmd *cmd, const struct mode_values *v, uint8_t *p)
{
	enum { DEXCPT = 0x08 };

	p[0] = DEXCPT;
}

/* In ascending order: read-write error recovery, caching, control, power condition, exceptions. */
static const struct mode_page pages[] = {
	{ 0x01, 10, NULL, NULL, NULL },
	{ 0x08, 18, caching_body, NULL, NULL },
	{ 0x0a, 10, control_body, control_mask, control_take },
	{ 0x1a, 38, NULL, NULL, NULL },
	{ 0x1c, 10, exceptions_body, NULL, NULL },
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

/* The body of a page as a page control asks for it; p is zeroed. */
static void
page_body(const struct scsi_cmd *cmd, const struct mode_page *page, unsigned pc,
    const struct mode_values *now, uint8_t *p)
{
	static const struct mode_values defaults;

	if (pc == PC_CHANGEABLE && page->mask)
		memcpy(p, page->mask, page->len);
	else if (pc != PC_CHANGEABLE && page->body)
		page->body(cmd, pc == PC_DEFAULT ? &defaults : now, p);
}

static unsigned
pages_put(const struct scsi_cmd *cmd, uint8_t *p)
{
	struct mode_values now = mode_values_get(cmd->lu);
	unsigned at = 0;

	for (unsigned i = 0; i < ARRAY_LEN(pages); i++) {
		const struct mode_page *page = &pages[i];

		if (!page_wanted(cmd, page))
			continue;
		p[at] = page->code;
		p[at + 1] = page->len;
		page_body(cmd, page, mode_pc(cmd), &now, p + at + 2);
		at += 2u + page->len;
	}
	return at;
}

static uint8_t
device_specific(const struct scsi_cmd *cmd)
{
	return DPOFUA | (cmd->nlun->read_only || mode_values_get(cmd->lu).swp ? WP : 0);
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

/* -- MODE SELECT: everything is checked before the first value changes -- */

enum { PF = 0x10, SELECT_MAX = 4096 };

static uint32_t
select_len(const struct scsi_cmd *cmd)
{
	return cmd->row->cdb_len == 6 ? cmd->cdb[4] : rd16(cmd->cdb + 7);
}

/* Nothing can be saved (PS is 0 in every page), so SP is no bit of these CDBs. */
static bool
select_check(struct scsi_cmd *cmd)
{
	uint32_t len = select_len(cmd);

	if (len > SELECT_MAX) {
		cmd_fail(cmd, COND_PARAM_LENGTH);
		return false;
	}
	cmd->asked = len;
	if (cmd->edtl_out < len) {
		cmd_fail(cmd, COND_INVALID_IU);
		return false;
	}
	cmd->len = len;
	return true;
}

/* Into one piece. False: memory is short. */
static bool
select_gather(struct scsi_cmd *cmd)
{
	uint32_t at = 0;

	if (!cmd->ntmp && !cmd_room_tmp(cmd, SELECT_MAX))
		return false;
	for (const struct iovec *v = cmd->iov; at < cmd->len; v++) {
		uint32_t n = (uint32_t)MIN(v->iov_len, cmd->len - at);

		memcpy((uint8_t *)cmd->tmp[0].iov_base + at, v->iov_base, n);
		at += n;
	}
	return true;
}

/* SBC-3 6.5.2: a block descriptor may repeat what is so; 0 blocks, or all ones, mean that too. */
static bool
descriptor_ok(const struct lu *lu, const uint8_t *p, unsigned len)
{
	uint64_t blocks = len == BLOCK_LEN ? rd32(p) : rd64(p);
	uint32_t size = len == BLOCK_LEN ? rd24(p + 5) : rd32(p + 12);
	uint64_t all = len == BLOCK_LEN ? UINT32_MAX : UINT64_MAX;

	return size == lu->block_size &&
	    (blocks == 0 || blocks == all || blocks == lu->blocks);
}

/* Header and block descriptor. Returns where the pages begin, or 0: answered. */
static uint32_t
select_head(struct scsi_cmd *cmd, const uint8_t *p)
{
	bool ten = cmd->row->cdb_len == 10;
	uint32_t head = ten ? HEADER_10 : HEADER_6, block;

	if (cmd->len < head) {
		cmd_fail(cmd, COND_PARAM_LENGTH);
		return 0;
	}
	block = ten ? rd16(p + 6) : p[3];
	if (block != 0 && block != (ten && p[4] & LONG_LBA ? BLOCK_LONG_LEN : BLOCK_LEN)) {
		cmd_fail_param(cmd, ten ? 6 : 3, -1);
		return 0;
	}
	if (block > cmd->len - head) {
		cmd_fail(cmd, COND_PARAM_LENGTH);
		return 0;
	}
	if (block && !descriptor_ok(cmd->lu, p + head, block)) {
		cmd_fail_param(cmd, head, -1);
		return 0;
	}
	return head + block;
}

static const struct mode_page *
page_find(uint8_t code)
{
	for (unsigned i = 0; i < ARRAY_LEN(pages); i++)
		if (pages[i].code == code)
			return &pages[i];
	return NULL;
}

/* One page at byte `at`, into v. Returns its length, or 0: answered. */
static uint32_t
select_page(struct scsi_cmd *cmd, const uint8_t *p, uint32_t at, struct mode_values *v)
{
	enum { PS = 0x80, SPF = 0x40, CODE = 0x3f };
	const struct mode_page *page = page_find(p[at] & CODE);
	uint8_t now[UINT8_MAX] = { 0 };

	if (p[at] & SPF || !page) {
		cmd_fail_param(cmd, at, page ? 6 : 5);
		return 0;
	}
	if (cmd->len - at < 2 || p[at + 1] != page->len) {
		cmd_fail_param(cmd, at + 1, -1);
		return 0;
	}
	if (cmd->len - at - 2 < page->len) {
		cmd_fail(cmd, COND_PARAM_LENGTH);
		return 0;
	}
	page_body(cmd, page, PC_CURRENT, v, now);
	for (uint32_t i = 0; i < page->len; i++) {
		uint8_t fixed = page->mask ? (uint8_t)~page->mask[i] : UINT8_MAX;
		uint8_t wrong = (p[at + 2 + i] ^ now[i]) & fixed;

		if (wrong) {
			cmd_fail_param(cmd, at + 2 + i, 31 - __builtin_clz(wrong));
			return 0;
		}
	}
	if (page->mask)
		page->take(v, p + at + 2);
	return 2u + page->len;
}

static void
select_exec(struct scsi_cmd *cmd)
{
	struct mode_values v = mode_values_get(cmd->lu);
	const uint8_t *p;
	uint32_t at, len;

	/* SPC-4 6.10: no parameter list is no error. */
	if (!cmd->len) {
		cmd_good(cmd);
		return;
	}
	if (!select_gather(cmd))
		return;
	p = cmd->tmp[0].iov_base;
	at = select_head(cmd, p);
	if (!at)
		return;
	for (; at < cmd->len; at += len) {
		len = select_page(cmd, p, at, &v);
		if (!len)
			return;
	}
	mode_values_set(cmd->lu, &v, cmd->nexus);
	cmd_good(cmd);
}

/* No ROW_MEDIUM: a disk that is away can still be asked what it is. */
static const struct cmd_row mode[] = {
	{ "MODE SENSE(6)", OP_MODE_SENSE_6, 6, 0, ROW_IN,
	    { OP_MODE_SENSE_6, DBD, 0xff, 0xff, 0xff }, mode_check, sense_6_exec },
	{ "MODE SENSE(10)", OP_MODE_SENSE_10, 10, 0, ROW_IN,
	    { OP_MODE_SENSE_10, DBD | LLBAA, 0xff, 0xff, 0, 0, 0, 0xff, 0xff },
	    mode_check, sense_10_exec },
	{ "MODE SELECT(6)", OP_MODE_SELECT_6, 6, 0, ROW_OUT,
	    { OP_MODE_SELECT_6, PF, 0, 0, 0xff }, select_check, select_exec },
	{ "MODE SELECT(10)", OP_MODE_SELECT_10, 10, 0, ROW_OUT,
	    { OP_MODE_SELECT_10, PF, 0, 0, 0, 0, 0, 0xff, 0xff }, select_check, select_exec },
};
CMD_FAMILY(mode);
