/* Conditions a command can end in, and the sense data that says so. */
#ifndef SCSI_SENSE_H
#define SCSI_SENSE_H

#include <stdbool.h>
#include <stdint.h>

#include "scsi.h"

/* One row a condition: name, sense key, additional sense code and qualifier (SPC-4 annex D). */
#define CONDITIONS(X)                                                               \
	X(NO_SENSE, KEY_NO_SENSE, 0x00, 0x00)                                       \
	X(OFFLINE, KEY_NOT_READY, 0x04, 0x03)                                       \
	X(SANITIZE_IN_PROGRESS, KEY_NOT_READY, 0x04, 0x1b)                          \
	X(SANITIZE_FAILED, KEY_MEDIUM_ERROR, 0x31, 0x03)                            \
	X(READ_ERROR, KEY_MEDIUM_ERROR, 0x11, 0x00)                                 \
	X(WRITE_ERROR, KEY_MEDIUM_ERROR, 0x0c, 0x00)                                \
	X(INTERNAL_FAILURE, KEY_HARDWARE_ERROR, 0x44, 0x00)                         \
	X(INVALID_OPCODE, KEY_ILLEGAL_REQUEST, 0x20, 0x00)                          \
	X(LBA_RANGE, KEY_ILLEGAL_REQUEST, 0x21, 0x00)                               \
	X(INVALID_FIELD, KEY_ILLEGAL_REQUEST, 0x24, 0x00)                           \
	X(NO_LUN, KEY_ILLEGAL_REQUEST, 0x25, 0x00)                                  \
	X(INVALID_PARAM, KEY_ILLEGAL_REQUEST, 0x26, 0x00)                           \
	X(PARAM_LENGTH, KEY_ILLEGAL_REQUEST, 0x1a, 0x00)                            \
	X(BAD_RELEASE, KEY_ILLEGAL_REQUEST, 0x26, 0x04)                             \
	X(NO_REGISTRATIONS, KEY_ILLEGAL_REQUEST, 0x55, 0x04)                        \
	X(INVALID_IU, KEY_ILLEGAL_REQUEST, 0x0e, 0x03)                              \
	X(NO_SAVED_PAGES, KEY_ILLEGAL_REQUEST, 0x39, 0x00)                          \
	X(WRITE_PROTECTED, KEY_DATA_PROTECT, 0x27, 0x00)                            \
	X(SOFT_WRITE_PROTECTED, KEY_DATA_PROTECT, 0x27, 0x02)                       \
	X(NO_SPACE, KEY_DATA_PROTECT, 0x27, 0x07)                                   \
	X(COPY_TOO_MANY_UNITS, KEY_ILLEGAL_REQUEST, 0x26, 0x06)                     \
	X(COPY_UNIT_TYPE, KEY_ILLEGAL_REQUEST, 0x26, 0x07)                          \
	X(COPY_TOO_MANY_SEGMENTS, KEY_ILLEGAL_REQUEST, 0x26, 0x08)                  \
	X(COPY_SEGMENT_TYPE, KEY_ILLEGAL_REQUEST, 0x26, 0x09)                       \
	X(COPY_IN_PROGRESS, KEY_ILLEGAL_REQUEST, 0x00, 0x16)                        \
	X(COPY_INDEX, KEY_COPY_ABORTED, 0x08, 0x04)                                 \
	X(COPY_UNIT_FAILED, KEY_COPY_ABORTED, 0x0d, 0x01)                           \
	X(COPY_UNREACHABLE, KEY_COPY_ABORTED, 0x0d, 0x02)                           \
	X(COPY_DEVICE_TYPE, KEY_COPY_ABORTED, 0x0d, 0x03)                           \
	X(COPY_RANGE, KEY_COPY_ABORTED, 0x00, 0x00)                                 \
	X(COPY_INEXACT, KEY_COPY_ABORTED, 0x26, 0x0a)                               \
	X(COMMAND_TIMEOUT, KEY_ABORTED_COMMAND, 0x2e, 0x02)                         \
	X(MISCOMPARE, KEY_MISCOMPARE, 0x1d, 0x00)                                   \
	X(POWER_ON, KEY_UNIT_ATTENTION, 0x29, 0x00)                                 \
	X(LU_RESET, KEY_UNIT_ATTENTION, 0x29, 0x03)                                 \
	X(NEXUS_LOSS, KEY_UNIT_ATTENTION, 0x29, 0x07)                               \
	X(LUNS_CHANGED, KEY_UNIT_ATTENTION, 0x3f, 0x0e)                             \
	X(CAPACITY_CHANGED, KEY_UNIT_ATTENTION, 0x2a, 0x09)                         \
	X(MODE_CHANGED, KEY_UNIT_ATTENTION, 0x2a, 0x01)                             \
	X(RESERVATIONS_PREEMPTED, KEY_UNIT_ATTENTION, 0x2a, 0x03)                   \
	X(RESERVATIONS_RELEASED, KEY_UNIT_ATTENTION, 0x2a, 0x04)                    \
	X(REGISTRATIONS_PREEMPTED, KEY_UNIT_ATTENTION, 0x2a, 0x05)                  \
	X(CLEARED, KEY_UNIT_ATTENTION, 0x2f, 0x00)

enum cond {
#define X(name, key, asc, ascq) COND_##name,
	CONDITIONS(X)
#undef X
	CONDS
};

/* Sense in parts; sense_init gives those of a condition. */
struct sense {
	uint8_t key, asc, ascq;
	bool has_info, has_field;
	bool in_cdb;			/* the field is in the CDB, not in the parameter list */
	int8_t bit;			/* of byte field, or -1 */
	uint16_t field;
	bool has_progress;		/* instead of a field: */
	uint16_t progress;		/* of 65536 */
	uint64_t info;			/* INFORMATION */
};

void sense_init(struct sense *, enum cond);

/*
 * Writes sense data in the fixed (SPC-4 4.5.3) or the descriptor format (4.5.2)
 * into buf of SCSI_SENSE_MAX bytes; returns its length.
 */
unsigned sense_fixed(uint8_t *buf, const struct sense *);
unsigned sense_descriptor(uint8_t *buf, const struct sense *);

/*
 * The condition of a disk's -errno; write: the request changes the medium.
 * CONDS: no condition but status BUSY, as memory was short.
 */
enum cond sense_of_errno(int error, bool write);

#endif
