/* UNMAP and WRITE SAME: what a unit can do of them, for its capability pages. */
#ifndef SCSI_ZERO_H
#define SCSI_ZERO_H

#include <stdint.h>

struct lu;

enum {
	ZERO_UNMAP_DESCRIPTORS = 128,	/* of one UNMAP */
	ZERO_UNMAP_BLOCKS = 1 << 20,	/* all of them together */
};

/* Of one WRITE SAME; 0: no limit. */
uint64_t zero_same_blocks(const struct lu *);

#endif
