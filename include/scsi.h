/* Names of SAM-5, SPC-4 and SBC-3 that both sides of the seam use. */
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

enum scsi_opcode {			/* SPC-4 and SBC-3 */
	OP_TEST_UNIT_READY = 0x00,
	OP_REQUEST_SENSE = 0x03,
	OP_FORMAT_UNIT = 0x04,
	OP_READ_6 = 0x08,
	OP_WRITE_6 = 0x0a,
	OP_INQUIRY = 0x12,
	OP_MODE_SELECT_6 = 0x15,
	OP_RESERVE_6 = 0x16,
	OP_RELEASE_6 = 0x17,
	OP_MODE_SENSE_6 = 0x1a,
	OP_START_STOP_UNIT = 0x1b,
	OP_RECEIVE_DIAGNOSTIC = 0x1c,
	OP_SEND_DIAGNOSTIC = 0x1d,
	OP_PREVENT_ALLOW = 0x1e,
	OP_READ_CAPACITY_10 = 0x25,
	OP_READ_10 = 0x28,
	OP_WRITE_10 = 0x2a,
	OP_WRITE_VERIFY_10 = 0x2e,
	OP_VERIFY_10 = 0x2f,
	OP_PREFETCH_10 = 0x34,
	OP_SYNC_CACHE_10 = 0x35,
	OP_READ_DEFECT_10 = 0x37,
	OP_WRITE_SAME_10 = 0x41,
	OP_UNMAP = 0x42,
	OP_SANITIZE = 0x48,		/* with SA_SANITIZE_OVERWRITE and the like */
	OP_LOG_SELECT = 0x4c,
	OP_LOG_SENSE = 0x4d,
	OP_MODE_SELECT_10 = 0x55,
	OP_RESERVE_10 = 0x56,
	OP_RELEASE_10 = 0x57,
	OP_MODE_SENSE_10 = 0x5a,
	OP_PR_IN = 0x5e,		/* PERSISTENT RESERVE IN, OUT */
	OP_PR_OUT = 0x5f,
	OP_VARIABLE = 0x7f,		/* 32-byte CDBs, with SA_READ_32 and the like in bytes 8 and 9 */
	OP_COPY_OUT = 0x83,		/* with SA_COPY_LID1 and the like */
	OP_COPY_IN = 0x84,
	OP_READ_16 = 0x88,
	OP_COMPARE_WRITE = 0x89,
	OP_WRITE_16 = 0x8a,
	OP_ORWRITE_16 = 0x8b,
	OP_WRITE_VERIFY_16 = 0x8e,
	OP_VERIFY_16 = 0x8f,
	OP_PREFETCH_16 = 0x90,
	OP_SYNC_CACHE_16 = 0x91,
	OP_WRITE_SAME_16 = 0x93,
	OP_WRITE_ATOMIC_16 = 0x9c,	/* SBC-4 */
	OP_SERVICE_IN_16 = 0x9e,	/* with SA_READ_CAPACITY_16 and the like */
	OP_REPORT_LUNS = 0xa0,
	OP_MAINTENANCE_IN = 0xa3,	/* with SA_REPORT_OPCODES, SA_REPORT_TMFS */
	OP_READ_12 = 0xa8,
	OP_WRITE_12 = 0xaa,
	OP_WRITE_VERIFY_12 = 0xae,
	OP_VERIFY_12 = 0xaf,
	OP_READ_DEFECT_12 = 0xb7,
};

enum {					/* service actions */
	SA_READ_CAPACITY_16 = 0x10,
	SA_GET_LBA_STATUS = 0x12,
	SA_REPORT_OPCODES = 0x0c,
	SA_REPORT_TMFS = 0x0d,
	SA_READ_32 = 0x09,		/* of OP_VARIABLE */
	SA_VERIFY_32 = 0x0a,
	SA_WRITE_32 = 0x0b,
	SA_WRITE_VERIFY_32 = 0x0c,
	SA_WRITE_SAME_32 = 0x0d,
	SA_SANITIZE_OVERWRITE = 0x01,	/* of OP_SANITIZE */
	SA_SANITIZE_ERASE = 0x02,
	SA_SANITIZE_EXIT_FAILURE = 0x1f,
	SA_COPY_LID1 = 0x00,		/* of OP_COPY_OUT */
	SA_COPY_STATUS = 0x00,		/* of OP_COPY_IN */
	SA_COPY_PARAMETERS = 0x03,
	SA_COPY_FAILURE = 0x04,
};

enum scsi_key {				/* SPC-4 4.5.6 */
	KEY_NO_SENSE = 0x0,
	KEY_NOT_READY = 0x2,
	KEY_MEDIUM_ERROR = 0x3,
	KEY_HARDWARE_ERROR = 0x4,
	KEY_ILLEGAL_REQUEST = 0x5,
	KEY_UNIT_ATTENTION = 0x6,
	KEY_DATA_PROTECT = 0x7,
	KEY_COPY_ABORTED = 0xa,
	KEY_ABORTED_COMMAND = 0xb,
	KEY_MISCOMPARE = 0xe,
};

enum {					/* SPC-4 7.6.1, protocol identifiers */
	PROTOCOL_SRP = 4,
	PROTOCOL_ISCSI = 5,
};

/*
 * An 8-byte LUN (SAM-5 4.7) as a number 0 to 16383, for the peripheral
 * (address method 00b, bus 0) and flat (01b) forms with nothing in the lower
 * levels; -1 for any other, such as a well-known LUN. scsi_lun_wire writes the
 * peripheral form below 256 and the flat form above.
 */
int scsi_lun_number(const uint8_t lun[8]);
void scsi_lun_wire(uint8_t lun[8], unsigned number);

#endif
