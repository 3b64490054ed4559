/* Transfers: one work request for each run of the peer's memory. */
#include "transfer.h"

#include "util.h"

void
transfer_init(struct transfer *t, const struct srp_direct_buf *desc, uint32_t ndesc,
    const struct iovec *iov, uint32_t len)
{
	*t = (struct transfer){ .desc = desc, .ndesc = ndesc, .iov = iov, .left = len };
}

/* Local pieces for up to `want` bytes; returns how many it found room for. */
static uint32_t
local_take(struct transfer *t, uint32_t want, uint32_t max_sge, struct fabric_sge *sge,
    uint8_t *nsge)
{
	uint32_t got = 0, n = 0;

	while (got < want && n < max_sge) {
		size_t room = t->iov->iov_len - t->iov_at;
		uint32_t part = (uint32_t)MIN(room, (size_t)(want - got));

		uint8_t *at = (uint8_t *)t->iov->iov_base + t->iov_at;

		if (part)
			sge[n++] = (struct fabric_sge){ at, part };
		got += part;
		t->iov_at += part;
		if (t->iov_at == t->iov->iov_len && got < t->left) {
			t->iov++;
			t->iov_at = 0;
		}
	}
	*nsge = (uint8_t)n;
	return got;
}

uint32_t
transfer_next(struct transfer *t, uint32_t max_sge, uint32_t max_msg, struct fabric_wr *wr,
    struct fabric_sge *sge)
{
	uint32_t want, got;

	while (t->ndesc && t->desc_at == get32(t->desc->len)) {
		t->desc++;
		t->ndesc--;
		t->desc_at = 0;
	}
	if (!t->ndesc || !t->left)
		return 0;
	want = MIN(get32(t->desc->len) - t->desc_at, t->left);
	want = MIN(want, max_msg);
	wr->remote = get64(t->desc->va) + t->desc_at;
	wr->rkey = get32(t->desc->key);
	got = local_take(t, want, MIN(max_sge, (uint32_t)TRANSFER_SGE_MAX), sge, &wr->nsge);
	t->desc_at += got;
	t->left -= got;
	return got;
}
