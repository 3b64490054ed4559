/* Unit attentions (SAM-5 5.14): a bit each per nexus and unit, so their number is bounded. */
#ifndef SCSI_UA_H
#define SCSI_UA_H

#include <stdbool.h>
#include <stdint.h>

#include "sense.h"

struct nexus;
struct nexus_lun;

/* In order of precedence (SPC-4 5.14, SAM-5 5.14): resets, then the LUN list, then the rest. */
enum ua {
	UA_POWER_ON,
	UA_LU_RESET,
	UA_NEXUS_LOSS,
	UA_LUNS_CHANGED,
	UA_CAPACITY_CHANGED,
	UA_MODE_CHANGED,
	UA_RESERVATIONS_PREEMPTED,
	UA_RESERVATIONS_RELEASED,
	UA_REGISTRATIONS_PREEMPTED,
	UA_CLEARED,
	UAS
};
enum { UA_MASK = (1 << UAS) - 1 };	/* their place in nexus_lun.hot */

void ua_raise(struct nexus_lun *, enum ua);		/* any thread */
/* Takes the first pending one: reported, so no longer pending. False: none. */
bool ua_take(struct nexus_lun *, enum cond *);
/* The first pending one, left pending. */
bool ua_peek(const struct nexus_lun *, enum cond *);
/* REPORT LUNS has told what LUNS_CHANGED would (SPC-4 6.33), for all units of this nexus. */
void ua_luns_reported(struct nexus *);

#endif
