/* TransportIDs: an initiator port as bytes (SPC-4 7.6.4). */
#ifndef SCSI_TRANSPORT_ID_H
#define SCSI_TRANSPORT_ID_H

#include <stdint.h>

#include "pr.h"

enum { TRANSPORT_ID_MAX = 4 + 256 };

/* Writes the TransportID of the nexus' initiator port; returns its length, a multiple of 4, at least 24. */
unsigned transport_id_put(uint8_t p[TRANSPORT_ID_MAX], const struct pr_nexus *);
/*
 * Reads one of at most len bytes into initiator, isid and protocol of the
 * nexus. Returns its length, or 0 when it is none that could log in here: an
 * iSCSI name without an initiator port is none.
 */
unsigned transport_id_get(const uint8_t *p, unsigned len, struct pr_nexus *);

#endif
