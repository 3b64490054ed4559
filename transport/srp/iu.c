/* Information units of an initiator: commands with their descriptors, functions, answers. */
#include "iu.h"

#include "scsi.h"

/* Where reading goes on in an IU: `at` never passes `len`. */
struct cursor {
	const uint8_t *iu;
	uint32_t at, len;
};

/* The next n bytes; NULL: they did not come. */
static const void *
take(struct cursor *c, uint32_t n)
{
	const uint8_t *p = c->iu + c->at;

	if (n > c->len - c->at)
		return NULL;
	c->at += n;
	return p;
}

bool
iu_table_ok(const struct srp_direct_buf *desc, uint32_t n, uint32_t len)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t part = get32(desc[i].len);

		if (part && part - 1 > UINT64_MAX - get64(desc[i].va))
			return false;
		sum += part;
	}
	return sum == len;
}

static bool
take_direct(struct cursor *c, struct iu_data *d)
{
	d->desc = take(c, sizeof(*d->desc));
	if (!d->desc)
		return false;
	d->ndesc = 1;
	d->len = get32(d->desc->len);
	return iu_table_ok(d->desc, 1, d->len);
}

/*
 * The first `count` descriptors are here. When there are more, all of them are
 * in the initiator's memory too, and nothing here is needed.
 */
static bool
take_indirect(struct cursor *c, uint32_t count, struct iu_data *d)
{
	const struct srp_indirect_buf *head = take(c, sizeof(*head));
	uint32_t bytes;

	if (!head)
		return false;
	d->desc = take(c, count * (uint32_t)sizeof(*d->desc));
	if (!d->desc)
		return false;
	d->table = head->table_desc;
	d->len = get32(head->len);
	bytes = get32(d->table.len);
	d->ndesc = bytes / (uint32_t)sizeof(*d->desc);
	if (bytes % sizeof(*d->desc) || d->ndesc < count || d->ndesc > IU_DESCS_MAX)
		return false;
	d->external = d->ndesc > count;
	if (d->external)
		return iu_table_ok(&d->table, 1, bytes);
	return iu_table_ok(d->desc, count, d->len);
}

static bool
take_imm(struct cursor *c, uint32_t imm_offset, struct iu_data *d)
{
	const struct srp_imm_buf *head = take(c, sizeof(*head));

	if (!head || !imm_offset)
		return false;
	d->len = get32(head->len);
	d->imm = c->iu + imm_offset;
	return true;
}

static bool
take_data(struct cursor *c, unsigned fmt, uint32_t count, uint32_t imm_offset, struct iu_data *d)
{
	*d = (struct iu_data){ .kind = (uint8_t)fmt };
	switch (fmt) {
	case SRP_NO_DATA_DESC:
		return true;
	case SRP_DATA_DESC_DIRECT:
		return take_direct(c, d);
	case SRP_DATA_DESC_INDIRECT:
		return take_indirect(c, count, d);
	case SRP_DATA_DESC_IMM:
		return take_imm(c, imm_offset, d);
	}
	return false;
}

/* It begins behind the descriptors, and all of it came. */
static bool
imm_ok(const struct cursor *c, uint32_t imm_offset, const struct iu_data *d)
{
	if (d->kind != SRP_DATA_DESC_IMM)
		return true;
	return imm_offset >= c->at && imm_offset <= c->len && d->len <= c->len - imm_offset;
}

static bool
attr_ok(unsigned attr)
{
	return attr == SRP_ATTR_SIMPLE || attr == SRP_ATTR_HEAD_OF_QUEUE ||
	    attr == SRP_ATTR_ORDERED || attr == SRP_ATTR_ACA;
}

enum iu_verdict
iu_cmd(const uint8_t *iu, uint32_t len, uint32_t imm_offset, struct iu_cmd *cmd)
{
	struct cursor c = { iu, 0, len };
	const struct srp_cmd *h = take(&c, sizeof(*h));

	*cmd = (struct iu_cmd){ 0 };
	if (!h)
		return IU_SHORT;
	cmd->tag = get64(h->tag);
	cmd->sol_not = h->sol_not;
	cmd->lun = h->lun;
	cmd->cdb = h->cdb;
	cmd->attr = h->task_attr & SRP_ATTR_MASK;
	cmd->add_cdb_len = h->add_cdb_len & SRP_ADD_CDB_LEN;
	cmd->add_cdb = take(&c, cmd->add_cdb_len);
	if (!cmd->add_cdb || cmd->add_cdb_len > SCSI_CDB_MAX - sizeof(h->cdb))
		return IU_BAD;
	if (!attr_ok(cmd->attr))
		return IU_BAD;
	if (!take_data(&c, h->buf_fmt >> 4, h->data_out_desc_cnt, imm_offset, &cmd->out))
		return IU_BAD;
	/* SRP-2: only data-out can be immediate. */
	if (!take_data(&c, h->buf_fmt & 0xf, h->data_in_desc_cnt, 0, &cmd->in))
		return IU_BAD;
	return imm_ok(&c, imm_offset, &cmd->out) ? IU_OK : IU_BAD;
}

enum iu_verdict
iu_tmf(const uint8_t *iu, uint32_t len, struct iu_tmf *tmf)
{
	const struct srp_tsk_mgmt *h = (const void *)iu;

	*tmf = (struct iu_tmf){ 0 };
	if (len < sizeof(*h))
		return IU_SHORT;
	tmf->tag = get64(h->tag);
	tmf->task_tag = get64(h->task_tag);
	tmf->lun = h->lun;
	tmf->fn = h->tsk_mgmt_func;
	tmf->sol_not = h->sol_not;
	return IU_OK;
}

enum iu_verdict
iu_tag(const uint8_t *iu, uint32_t len, uint64_t *tag)
{
	const struct srp_i_logout *h = (const void *)iu;

	*tag = 0;
	if (len < sizeof(*h))
		return IU_SHORT;
	*tag = get64(h->tag);
	return IU_OK;
}

const char *
srp_opcode_name(unsigned opcode)
{
#define X(name, value, text) case value: return text;
	switch (opcode) {
	SRP_OPCODES(X)
	}
#undef X
	return "unknown opcode";
}
