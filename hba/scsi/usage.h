/* The table of all commands, by opcode and service action, and the check of CDB bits against it. */
#ifndef SCSI_USAGE_H
#define SCSI_USAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "row.h"
#include "wire.h"

/* A row, ready to be matched with a CDB. */
struct usage {
	const struct cmd_row *row;	/* NULL: no such command, or more holds it */
	struct usage *more;		/* service actions of this opcode */
	uint64_t undefined[4];		/* bits that must be zero */
};
extern struct usage usages[256];

/* Builds the table of the registered rows; aborts when two claim one command. Main thread. */
void usage_init(void);

/* NULL: not supported. */
const struct usage *usage_find_sa(const struct usage *, unsigned sa);

/* The service action of a CDB that has one. */
static inline unsigned
usage_sa(const uint8_t *cdb)
{
	return cdb[0] == OP_VARIABLE ? rd16(cdb + 8) : cdb[1] & 0x1f;
}

static inline const struct usage *
usage_find(const uint8_t *cdb)
{
	const struct usage *u = &usages[cdb[0]];

	if (u->row)
		return u;
	return u->more ? usage_find_sa(u, usage_sa(cdb)) : NULL;
}

/* Is no undefined bit of the CDB set? It is zeroed behind its end. */
static inline bool
usage_ok(const struct usage *u, const uint8_t *cdb)
{
	uint64_t w[4];

	memcpy(w, cdb, sizeof(w));
	return ((w[0] & u->undefined[0]) | (w[1] & u->undefined[1]) | (w[2] & u->undefined[2]) |
	    (w[3] & u->undefined[3])) == 0;
}

/* Where the first undefined bit is that is set; the CDB has one. */
void usage_fault(const struct usage *, const uint8_t *cdb, unsigned *byte, unsigned *bit);

/* The n-th supported command, in order of opcode and service action; NULL: no more. */
const struct cmd_row *usage_nth(unsigned n);

#endif
