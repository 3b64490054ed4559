/* The first byte of INQUIRY data. */
#ifndef SCSI_INQUIRY_H
#define SCSI_INQUIRY_H

#include <stdint.h>

struct scsi_cmd;

/* Qualifier and device type (SPC-4 6.6.2): a disk, the well-known unit, or nothing there. */
uint8_t inquiry_type(const struct scsi_cmd *);

#endif
