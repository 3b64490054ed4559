/* WRITE ATOMIC: how much a unit promises to write as a whole, for its capability pages. */
#ifndef SCSI_ATOMIC_H
#define SCSI_ATOMIC_H

#include <stdint.h>

struct lu;

uint32_t atomic_blocks(const struct lu *);

#endif
