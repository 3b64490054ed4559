/*
 * An information unit of an initiator, and the table that it names. The input:
 * immediate data offset (2 bytes), length of the unit (2), the unit, the table.
 * What is accepted is carried out on paper: no byte outside what was described.
 */
#include <stdlib.h>
#include <string.h>

#include "util.h"

#include "transport/srp/iu.h"
#include "transport/srp/transfer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SGES = 3, PIECE = 1000, PIECES = 64 };

static void
require(bool ok)
{
	if (!ok)
		abort();
}

static uint8_t *
exact_copy(const uint8_t *data, uint32_t len)
{
	uint8_t *p = malloc(len ? len : 1);

	require(p);
	if (len)
		memcpy(p, data, len);
	return p;
}

/* The bytes of the peer that a request touches lie in one descriptor of the table. */
static void
described(const struct srp_direct_buf *desc, uint32_t n, const struct fabric_wr *wr, uint32_t len)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t va = get64(desc[i].va);
		uint32_t part = get32(desc[i].len);

		if (get32(desc[i].key) == wr->rkey && wr->remote >= va && wr->remote - va <= part &&
		    len <= part - (wr->remote - va))
			return;
	}
	abort();
}

static void
carry(const struct srp_direct_buf *desc, uint32_t n, uint32_t len)
{
	static uint8_t memory[PIECE];
	struct iovec iov[PIECES];
	struct fabric_sge sge[SGES];
	struct transfer t;
	uint32_t done = 0, got;

	len = MIN(len, (uint32_t)PIECE * PIECES);
	for (int i = 0; i < PIECES; i++)
		iov[i] = (struct iovec){ memory, PIECE };
	transfer_init(&t, desc, n, iov, len);
	for (;;) {
		struct fabric_wr wr = { 0 };

		got = transfer_next(&t, SGES, 1u << 16, &wr, sge);
		if (!got)
			break;
		require(wr.nsge && wr.nsge <= SGES);
		described(desc, n, &wr, got);
		done += got;
	}
	require(done == len);
}

static void
data_use(const struct iu_data *d, const uint8_t *iu, uint32_t len, const uint8_t *table,
    uint32_t table_len)
{
	const struct srp_direct_buf *desc = d->desc;

	require(d->kind <= SRP_DATA_DESC_IMM);
	if (d->kind == SRP_DATA_DESC_IMM) {
		require(d->imm >= iu && d->imm <= iu + len);
		require(d->len <= (size_t)(iu + len - d->imm));
		return;
	}
	if (d->kind == SRP_NO_DATA_DESC) {
		require(!d->len);
		return;
	}
	if (d->external) {
		require(d->ndesc <= IU_DESCS_MAX && get32(d->table.len) == d->ndesc * 16);
		if (d->ndesc * 16 > table_len)
			return;
		desc = (const void *)table;
		if (!iu_table_ok(desc, d->ndesc, d->len))
			return;
	} else {
		require((const uint8_t *)desc >= iu);
		require((const uint8_t *)(desc + d->ndesc) <= iu + len);
	}
	carry(desc, d->ndesc, d->len);
}

static void
unit_use(const uint8_t *iu, uint32_t len, uint32_t imm, const uint8_t *table, uint32_t table_len)
{
	struct iu_cmd cmd;
	struct iu_tmf tmf;
	uint64_t tag;
	enum iu_verdict v = iu_cmd(iu, len, imm, &cmd);

	require((v == IU_SHORT) == (len < sizeof(struct srp_cmd)));
	if (v == IU_OK) {
		require(cmd.add_cdb_len <= 16 && cmd.add_cdb + cmd.add_cdb_len <= iu + len);
		data_use(&cmd.out, iu, len, table, table_len);
		data_use(&cmd.in, iu, len, table, table_len);
		require(cmd.in.kind != SRP_DATA_DESC_IMM);
		require(imm || cmd.out.kind != SRP_DATA_DESC_IMM);
	}
	v = iu_tmf(iu, len, &tmf);
	require((v == IU_OK) == (len >= sizeof(struct srp_tsk_mgmt)));
	v = iu_tag(iu, len, &tag);
	require((v == IU_OK) == (len >= sizeof(struct srp_i_logout)));
	require(!len || *srp_opcode_name(iu[0]));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t imm, len;
	uint8_t *iu, *table;

	if (size < 4)
		return 0;
	imm = rd16(data);
	len = (uint32_t)MIN((size_t)rd16(data + 2), size - 4);
	iu = exact_copy(data + 4, len);
	table = exact_copy(data + 4 + len, (uint32_t)(size - 4 - len));
	unit_use(iu, len, imm, table, (uint32_t)(size - 4 - len));
	free(table);
	free(iu);
	return 0;
}
