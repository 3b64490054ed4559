/* Vital product data pages. */
#ifndef SCSI_VPD_H
#define SCSI_VPD_H

#include <stdbool.h>
#include <stdint.h>

struct scsi_cmd;

enum { VPD_MAX = 1024 };		/* no page is longer */

/*
 * Writes the page with its header into p, VPD_MAX zeroed bytes, for the unit
 * and nexus of the command; cmd->lu may be NULL. Its length; 0: no such page.
 */
unsigned vpd_page(const struct scsi_cmd *, uint8_t code, uint8_t *p);

#endif
