/* Finding PDUs in a stream of bytes: pure, no state. */
#ifndef ISCSI_PDU_NEXT_H
#define ISCSI_PDU_NEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pdu.h"

/* Zero bytes up to the next multiple of four (RFC 7143 11.1). */
static inline uint32_t
pdu_pad(uint32_t len)
{
	return -len & 3;
}

/* A header as it lies in the stream, and what it says of its length. */
struct pdu {
	const struct iscsi_bhs *bhs;
	const uint8_t *ahs;
	uint32_t ahs_len;		/* bytes */
	uint32_t head_len;		/* BHS, AHS and header digest */
	uint32_t data_len;		/* data segment without padding */
};

enum pdu_verdict {
	PDU_MORE,			/* not whole yet */
	PDU_HEADER,			/* *pdu is set; the data segment begins at head_len */
	PDU_BAD_DIGEST,
};

/* Looks at n bytes of a stream that begin with a PDU. */
enum pdu_verdict pdu_next(const uint8_t *p, size_t n, bool header_digest, struct pdu *);

/* Bytes that follow a data segment of len: padding and digest; without data there is neither. */
static inline uint32_t
pdu_tail(uint32_t len, bool data_digest)
{
	return pdu_pad(len) + (data_digest && len ? ISCSI_DIGEST : 0);
}

/* What a SCSI Command's additional headers say (11.2.2, 11.3.5). */
struct pdu_ext {
	uint8_t cdb[16];		/* bytes 16 to 31, zero behind cdb_len */
	uint8_t cdb_len;		/* of the whole CDB: 16, or up to 32 */
	bool bidi;
	uint32_t edtl_in;		/* with bidi: read data transfer length */
};
/* 0, or -EINVAL: a length that does not fit, an unknown type, the same type twice. */
int pdu_ext(const struct pdu *, struct pdu_ext *);

const char *iscsi_opcode_name(unsigned opcode);		/* without the immediate bit */
const char *iscsi_reject_name(unsigned reason);

#endif
