/* Finds PDUs in a stream of bytes and reads additional headers. */
#include <errno.h>
#include <string.h>

#include "util.h"

#include "digest.h"
#include "pdu_next.h"

enum pdu_verdict
pdu_next(const uint8_t *p, size_t n, bool header_digest, struct pdu *pdu)
{
	const struct iscsi_bhs *bhs = (const void *)p;

	if (n < ISCSI_BHS)
		return PDU_MORE;
	pdu->bhs = bhs;
	pdu->ahs = p + ISCSI_BHS;
	pdu->ahs_len = bhs->ahs_len * 4u;
	pdu->head_len = ISCSI_BHS + pdu->ahs_len + (header_digest ? ISCSI_DIGEST : 0);
	pdu->data_len = get24(bhs->data_len);
	if (n < pdu->head_len)
		return PDU_MORE;
	if (header_digest) {
		uint32_t covered = ISCSI_BHS + pdu->ahs_len;

		if (!digest_matches(digest_add(DIGEST_INIT, p, covered), p + covered))
			return PDU_BAD_DIGEST;
	}
	return PDU_HEADER;
}

/* One additional header of `len` bytes behind its type byte, the reserved byte counted. */
static int
ahs_take(const struct iscsi_ahs *ahs, uint32_t len, struct pdu_ext *ext)
{
	const uint8_t *bytes = &ahs->specific + 1;

	switch (ahs->type & ISCSI_AHS_TYPE) {
	case ISCSI_AHS_EXTENDED_CDB:
		/* 11.2.2.3: CDBLength - 15, so 1 + the bytes beyond 16. */
		if (len < 2 || len - 1 > sizeof(ext->cdb) || ext->cdb_len != 16)
			return -EINVAL;
		memcpy(ext->cdb, bytes, len - 1);
		ext->cdb_len = (uint8_t)(16 + len - 1);
		return 0;
	case ISCSI_AHS_BIDI_READ:
		if (len != 5 || ext->bidi)
			return -EINVAL;
		ext->bidi = true;
		ext->edtl_in = rd32(bytes);
		return 0;
	}
	return -EINVAL;
}

int
pdu_ext(const struct pdu *pdu, struct pdu_ext *ext)
{
	const uint8_t *p = pdu->ahs;
	uint32_t left = pdu->ahs_len;

	*ext = (struct pdu_ext){ .cdb_len = 16 };
	while (left >= sizeof(struct iscsi_ahs)) {
		const struct iscsi_ahs *ahs = (const void *)p;
		uint32_t len = get16(ahs->length);
		uint32_t whole = 3 + len;

		whole += pdu_pad(whole);
		if (!len || whole > left)
			return -EINVAL;
		if (ahs_take(ahs, len, ext) < 0)
			return -EINVAL;
		p += whole;
		left -= whole;
	}
	return left ? -EINVAL : 0;
}

const char *
iscsi_opcode_name(unsigned opcode)
{
#define X(name, value, text) case value: return text;
	switch (opcode) {
	ISCSI_OPCODES(X)
	}
#undef X
	return "unknown opcode";
}

const char *
iscsi_reject_name(unsigned reason)
{
#define X(name, value, text) case value: return text;
	switch (reason) {
	ISCSI_REJECTS(X)
	}
#undef X
	return "unknown reason";
}
