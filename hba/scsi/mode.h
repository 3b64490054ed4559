/* What initiators may change of a unit's mode pages (SPC-4 7.5). */
#ifndef SCSI_MODE_H
#define SCSI_MODE_H

#include <stdbool.h>

struct lu;
struct nexus;
struct nexus_lun;

/* One set of values. Nothing is saved: a reset brings the defaults back, all false. */
struct mode_values {
	bool d_sense;			/* sense in descriptor format */
	bool swp;			/* software write protect */
};

/* Any thread. mode_values_set tells every other nexus (2A/01) when something changes. */
struct mode_values mode_values_get(struct lu *);
void mode_values_set(struct lu *, const struct mode_values *, const struct nexus *by);
void mode_values_reset(struct lu *);
void mode_values_inherit(struct lu *, struct nexus_lun *);	/* a new nexus; under lu->lock */

#endif
