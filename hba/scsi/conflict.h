/* Which commands a reservation of somebody else stops (SPC-4 5.13.1, SBC-3 4.17, SPC-2 5.5.1). */
#ifndef SCSI_CONFLICT_H
#define SCSI_CONFLICT_H

#include <stdbool.h>
#include <stdint.h>

/* hot: nexus_lun.hot; cdb: 16 bytes. True: RESERVATION CONFLICT. */
bool conflict_stops(uint32_t hot, const uint8_t *cdb);

#endif
