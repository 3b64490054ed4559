/* A SCSI command as a row: what its CDB may hold, what it needs, and its two steps. */
#ifndef SCSI_ROW_H
#define SCSI_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include "registry.h"
#include "scsi.h"

struct nexus_lun;
struct scsi_cmd;

enum {					/* cmd_row.flags */
	ROW_UA_OK = 1 << 0,		/* runs with a unit attention pending (SAM-5 5.14) */
	ROW_MEDIUM = 1 << 1,		/* needs the disk */
	ROW_WRITES = 1 << 2,		/* refused on a read-only unit */
	ROW_IN = 1 << 3,		/* sends data */
	ROW_OUT = 1 << 4,		/* takes data */
	ROW_BORROWS = 1 << 5,		/* exec copes with data that is only borrowed */
	ROW_ANY_LUN = 1 << 6,		/* answers also where no disk is: cmd->lu may be NULL */
	ROW_SA = 1 << 7,		/* bits 4:0 of byte 1 are the service action; in 32 bytes, 8 and 9 */
	ROW_THIN = 1 << 8,		/* is there only where blocks can be unmapped, */
	ROW_COPY = 1 << 9,		/* where copies are allowed, */
	ROW_SANITIZE = 1 << 10,		/* or SANITIZE, */
	ROW_CDB32 = 1 << 11,		/* or 32 bytes */
	ROW_OPTIONS = ROW_THIN | ROW_COPY | ROW_SANITIZE | ROW_CDB32,
};

/*
 * check answers the initiator (with a cmd_ function) and returns false when the
 * command cannot run; else it sets cmd->asked, and cmd->len for data to be
 * taken, and changes nothing else. exec runs when the data is here. It starts
 * I/O with cmd_io and is called again when that is back; cmd->step, 0 at first,
 * is its own.
 */
struct cmd_row {
	const char *name;
	uint8_t opcode;
	uint8_t cdb_len;
	uint16_t sa;
	uint16_t flags;
	uint8_t usage[SCSI_CDB_MAX];	/* SPC-4 6.35.3: bits that may be set; [0] the opcode */
	bool (*check)(struct scsi_cmd *);	/* may be NULL */
	void (*exec)(struct scsi_cmd *);
};

/* Is it there, on this unit as this nexus sees it? */
bool row_is_there(const struct cmd_row *, const struct nexus_lun *);

/* The commands of a file. */
struct cmd_family {
	const struct cmd_row *rows;
	unsigned n;
};
REGISTRY(cmd_families, struct cmd_family);

#define CMD_FAMILY(table)                                                           \
	static const struct cmd_family table##_family = { table, ARRAY_LEN(table) }; \
	REGISTER(cmd_families, struct cmd_family, &table##_family)

#endif
