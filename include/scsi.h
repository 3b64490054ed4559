/* Names of SAM-5, SPC-4 and SBC-4 that both sides of the seam use. */
#ifndef SCSI_H
#define SCSI_H

#include <stdint.h>

enum scsi_status {			/* SAM-5 5.3.1 */
	SCSI_GOOD = 0x00,
	SCSI_CHECK_CONDITION = 0x02,
	SCSI_CONDITION_MET = 0x04,
	SCSI_BUSY = 0x08,
	SCSI_RESERVATION_CONFLICT = 0x18,
	SCSI_TASK_SET_FULL = 0x28,
	SCSI_ACA_ACTIVE = 0x30,
	SCSI_TASK_ABORTED = 0x40,
};

enum scsi_attr { SCSI_SIMPLE, SCSI_ORDERED, SCSI_HEAD_OF_QUEUE, SCSI_ACA };	/* SAM-5 8.6 */

enum { SCSI_CDB_MAX = 32, SCSI_SENSE_MAX = 96 };

/*
 * An 8-byte LUN (SAM-5 4.7) as a number 0 to 16383, for the peripheral
 * (address method 00b, bus 0) and flat (01b) forms with nothing in the lower
 * levels; -1 for any other, such as a well-known LUN. scsi_lun_wire writes the
 * peripheral form below 256 and the flat form above.
 */
int scsi_lun_number(const uint8_t lun[8]);
void scsi_lun_wire(uint8_t lun[8], unsigned number);

#endif
