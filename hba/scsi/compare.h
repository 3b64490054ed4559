/* Data that a command took, compared with what a disk holds. */
#ifndef SCSI_COMPARE_H
#define SCSI_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

struct disk_io;
struct scsi_cmd;

/*
 * Compares what io has read with cmd->len bytes of data from byte `at`, which
 * begin again at their end. False: *where is the first byte of the data that
 * differs.
 */
bool compare_data(const struct scsi_cmd *, const struct disk_io *, uint64_t at, uint64_t *where);

#endif
