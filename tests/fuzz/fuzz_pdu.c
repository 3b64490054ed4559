/*
 * A stream of PDUs in pieces: the parser that finds headers, additional
 * headers, and the plan of a write that its Data-Outs meet. The first byte
 * says digest or not and how the stream is cut.
 */
#include <stdlib.h>
#include <string.h>

#include "util.h"

#include "transport/iscsi/digest.h"
#include "transport/iscsi/gather.h"
#include "transport/iscsi/pdu_next.h"
#include "transport/iscsi/window.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct gather_limits lim = {
	.first_burst = 8192, .max_burst = 16384, .max_r2t = 2, .immediate_data = true,
};

static void
require(bool ok)
{
	if (!ok)
		abort();
}

static void
write_begin(struct gather *g, const struct iscsi_scsi_cmd *h, uint32_t len)
{
	uint32_t edtl = get32(h->edtl);

	gather_init(g, &lim, edtl, len, !(h->flags & SCSI_CMD_F));
	if (len)
		gather_arrived(g, &lim, len, false);
	if (edtl)
		gather_want(g, 1 + edtl / 2);
}

static void
write_data(struct gather *g, const struct iscsi_data_out *h, uint32_t len)
{
	enum gather_verdict v = gather_data_out(g, get32(h->ttt), get32(h->data_sn), get32(h->offset),
	    len, h->flags & ISCSI_F);
	struct gather_r2t r2t;

	if (v == GATHER_TAKE)
		require(get32(h->offset) <= g->edtl && len <= g->edtl - get32(h->offset));
	if (v != GATHER_STRAY)
		gather_arrived(g, &lim, len, h->flags & ISCSI_F);
	while (gather_next(g, &lim) == GATHER_ASK) {
		gather_ask(g, &lim, 1, &r2t);
		require(r2t.len && r2t.len <= lim.max_burst && r2t.len <= g->len - r2t.offset);
	}
}

static void
pdu_use(const struct pdu *pdu, struct gather *g, struct window *w)
{
	struct pdu_ext ext;

	if (pdu_ext(pdu, &ext) == 0)
		require(ext.cdb_len >= 16 && ext.cdb_len <= 32);
	if (window_check(w, get32(pdu->bhs->cmd_sn), pdu->bhs->opcode & ISCSI_IMMEDIATE) == WINDOW_NOW)
		window_take(w, w->busy < w->depth);
	else if (w->busy)
		window_done(w);
	switch (pdu->bhs->opcode & ISCSI_OPCODE_MASK) {
	case ISCSI_SCSI_CMD:
		write_begin(g, (const void *)pdu->bhs, pdu->data_len);
		break;
	case ISCSI_DATA_OUT:
		write_data(g, (const void *)pdu->bhs, pdu->data_len);
		break;
	}
	require(*iscsi_opcode_name(pdu->bhs->opcode & ISCSI_OPCODE_MASK));
}

/* As a connection does: what is not whole waits for more. A copy of exact size lets ASan see each read too far. */
static size_t
feed(const uint8_t *p, size_t n, bool digest, struct gather *g, struct window *w)
{
	uint8_t *exact = malloc(n ? n : 1);
	size_t at = 0;

	memcpy(exact, p, n);
	for (;;) {
		struct pdu pdu;
		size_t whole;

		if (pdu_next(exact + at, n - at, digest, &pdu) != PDU_HEADER)
			break;
		whole = (size_t)pdu.head_len + pdu.data_len + pdu_tail(pdu.data_len, digest);
		if (n - at < whole)
			break;
		pdu_use(&pdu, g, w);
		at += whole;
	}
	free(exact);
	return at;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gather g = { 0 };
	struct window w;
	size_t used = 0, seen, step;

	if (!size)
		return 0;
	step = 1 + (data[0] >> 1) * 3u;
	window_init(&w, 0, 8);
	size--;
	for (seen = MIN(step, size);; seen = MIN(seen + step, size)) {
		used += feed(data + 1 + used, seen - used, data[0] & 1, &g, &w);
		require(used <= seen);
		if (seen == size)
			break;
	}
	return 0;
}
