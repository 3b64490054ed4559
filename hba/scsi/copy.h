/* Third-party copies: what a parameter list asks for, and what became of it. */
#ifndef SCSI_COPY_H
#define SCSI_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "sense.h"

struct nexus;
struct nexus_lun;
struct scsi_cmd;

enum {
	COPY_HEADER = 16, COPY_UNIT_LEN = 32, COPY_SEGMENT_LEN = 28,
	COPY_UNITS = 16,		/* CSCD descriptors of one list, */
	COPY_SEGMENTS = 64,		/* segment descriptors, */
	COPY_DESCRIPTORS = COPY_UNITS * COPY_UNIT_LEN + COPY_SEGMENTS * COPY_SEGMENT_LEN,
	COPY_LIST_MAX = COPY_HEADER + COPY_DESCRIPTORS,
	COPY_UNIT_IDENTIFICATION = 0xe4, COPY_SEGMENT_BLOCKS = 0x02,	/* the types there are */
	COPY_CAT = 0x01, COPY_DC = 0x02,	/* byte 1 of a segment */
	COPY_USAGE = 0x18, COPY_HELD = 0x00,	/* LIST ID USAGE: the result is kept */
};

/* What is wrong with a list, and where if that can be said. */
struct copy_fault {
	enum cond cond;
	unsigned field;			/* with COND_INVALID_PARAM */
	int bit;
};

/* A list that was checked: list[0] LIST IDENTIFIER. */
struct copy_list {
	const uint8_t *list, *units, *segments;
	unsigned nunits, nsegments;
	struct nexus_lun *unit[COPY_UNITS];
};

/* From, to, how much: blocks of both units, bytes between. */
struct copy_segment {
	struct nexus_lun *from, *to;
	uint64_t from_at, to_at, len;	/* bytes */
};

/*
 * Checks a list of len bytes for this nexus, before anything is copied: lengths,
 * types, that every unit is one that the nexus sees and may copy, and every
 * segment inside its units. Pure but for reading the units.
 */
bool copy_list_ok(struct copy_list *, const struct nexus *, const uint8_t *list, uint32_t len,
    struct copy_fault *);
/* A segment of a list that copy_list_ok passed. */
void copy_segment_get(const struct copy_list *, unsigned n, struct copy_segment *);
/* May this nexus write (or else read) the unit just now? */
bool copy_may(const struct nexus_lun *, bool write);

/* -- what became of copies (copy_result.c): the last few of a nexus' unit -- */

enum { COPIES_HELD = 8, COPY_SENSE_MAX = SCSI_SENSE_MAX };

struct copy_result {
	bool held;
	uint8_t id;			/* LIST IDENTIFIER */
	uint8_t status;			/* enum scsi_status, how the command ended */
	uint8_t sense_len;
	uint8_t sense[COPY_SENSE_MAX];
	uint32_t segments;		/* done */
	uint64_t bytes;
};

struct copies {
	struct copy_result result[COPIES_HELD];
	unsigned next;			/* is overwritten next */
};

/* There will be a result to keep. False: no memory. */
bool copies_make(struct nexus_lun *);
/* The one of this identifier, or NULL. */
struct copy_result *copies_find(const struct nexus_lun *, uint8_t id);
/* Where the next result goes: that of the same identifier, or the oldest. */
struct copy_result *copies_put(struct nexus_lun *, uint8_t id);

/* The command that copies under this identifier for this nexus and unit, but for one; or NULL (cmd_copy.c). */
const struct scsi_cmd *copy_running(const struct nexus_lun *, uint8_t id, const struct scsi_cmd *but);
/* How far it is. */
uint32_t copy_segments_done(const struct scsi_cmd *);
uint64_t copy_bytes_done(const struct scsi_cmd *);

/* VPD 8Fh behind its header (copy_vpd.c); returns its length. */
unsigned copy_vpd(const struct scsi_cmd *, uint8_t *p);

#endif
