/* Reads information units of an initiator; nothing is believed beyond the bytes that came. */
#ifndef SRP_IU_H
#define SRP_IU_H

#include <stdbool.h>
#include <stdint.h>

#include "srp.h"

/* Pure: no global, no allocation, no I/O. */

enum {
	IU_DESCS_MAX = 4096,		/* memory descriptors of one table */
	IU_TABLE_BYTES = IU_DESCS_MAX * 16,
};

/* One direction of a command's data. Pointers are into the IU. */
struct iu_data {
	uint8_t kind;			/* enum srp_data_desc */
	bool external;			/* `desc` is not all of the table: it is at `table`, to be fetched */
	uint32_t len;			/* bytes of data */
	uint32_t ndesc;			/* descriptors of the whole table */
	const struct srp_direct_buf *desc;
	struct srp_direct_buf table;
	const uint8_t *imm;		/* SRP_DATA_DESC_IMM: len bytes */
};

struct iu_cmd {
	uint64_t tag;
	const uint8_t *lun;
	const uint8_t *cdb, *add_cdb;	/* 16 bytes, and add_cdb_len more */
	uint8_t add_cdb_len;
	uint8_t attr;			/* as on the wire */
	uint8_t sol_not;
	struct iu_data out, in;
};

enum iu_verdict {
	IU_OK,
	IU_SHORT,			/* no whole header: nobody knows what it is an answer to */
	IU_BAD,				/* the header is there, what it says is not so: tag and sol_not are set */
};

/*
 * imm_offset: where immediate data begins, 0: none was agreed.
 * IU_BAD: a descriptor, the CDB or the data does not fit in the len bytes, a
 * descriptor format is unknown, lengths disagree.
 */
enum iu_verdict iu_cmd(const uint8_t *iu, uint32_t len, uint32_t imm_offset, struct iu_cmd *);
/*
 * The sum of a table's lengths is what the command said, and the last byte of
 * each descriptor has an address. For fetched tables too, whose entries came later.
 */
bool iu_table_ok(const struct srp_direct_buf *, uint32_t n, uint32_t len);

struct iu_tmf {
	uint64_t tag, task_tag;
	const uint8_t *lun;
	uint8_t fn;
	uint8_t sol_not;
};
enum iu_verdict iu_tmf(const uint8_t *iu, uint32_t len, struct iu_tmf *);
/* SRP_I_LOGOUT, SRP_CRED_RSP, SRP_AER_RSP: nothing but a tag. */
enum iu_verdict iu_tag(const uint8_t *iu, uint32_t len, uint64_t *tag);

#endif
