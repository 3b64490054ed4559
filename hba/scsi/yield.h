/* Long commands, in slices: between two of them, others have their turn. */
#ifndef SCSI_YIELD_H
#define SCSI_YIELD_H

#include <stdbool.h>
#include <stdint.h>

struct core;
struct scsi_cmd;

/* Bytes that a slice asks of the disk at once where the disk does the work (UNMAP, ZERO). */
enum { YIELD_SLICE = 32 * 1024 * 1024 };

/* When exec began; for yield_due. */
uint64_t yield_start(void);
/*
 * Has this exec kept the reactor long enough? Then exec is called again in the
 * next turn of the loop; it has nothing in the disk, no lock, and returns.
 */
bool yield_due(struct scsi_cmd *, uint64_t start);
/* It was aborted in between. */
void yield_cancel(struct scsi_cmd *);
/* Those that yielded in the last turn go on. Between turns. */
void yield_run(struct core *);

#endif
