/* Reservations at a unit: changes as transactions, who is told, and who is kept out. */
#ifndef SCSI_RESERVE_H
#define SCSI_RESERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "pr.h"

struct core;
struct lu;
struct nexus;
struct nexus_lun;
struct scsi_cmd;

/* What a PERSISTENT RESERVE OUT asks, ready to be done. */
struct pr_ask {
	uint8_t action;			/* enum pr_action */
	uint8_t type;
	bool aptpl, unreg;
	struct pr_keys keys;
	unsigned nalso;
	struct pr_nexus nexus;		/* who asks */
	struct pr_nexus *also;		/* REGISTER: others to be registered with it; MOVE: the one it goes to */
};

enum pr_action {			/* SPC-4 6.14.2 */
	PR_REGISTER, PR_RESERVE, PR_RELEASE, PR_CLEAR, PR_PREEMPT, PR_PREEMPT_ABORT,
	PR_REGISTER_IGNORE, PR_MOVE, PR_REPLACE_LOST, PR_ACTIONS
};

void pr_nexus_of(const struct nexus *, struct pr_nexus *);

/*
 * Does what cmd asks and answers it, perhaps later: when another change of the
 * unit is on its way to the disk, this one waits; what must be kept is on disk
 * before it takes effect; PREEMPT AND ABORT is answered when no task of those
 * it ended can touch the disk. The ask is copied. On the command's reactor.
 */
void reserve_change(struct scsi_cmd *, const struct pr_ask *);
/* A command that waits in here is aborted. What it asked may happen all the same. */
void reserve_abandon(struct scsi_cmd *);
/* Changes of this reactor that waited may go on. */
void reserve_run(struct core *);

/* Under lu->lock. */
void reserve_inherit(struct lu *, struct nexus_lun *);	/* a new nexus */
void reserve_forget(struct lu *, const struct nexus_lun *);	/* a nexus ends: RESERVE(6) of its own ends with it */
/* A reset of the unit ends a reservation of SPC-2, whoever has it. Any thread. */
void reserve_reset(struct lu *);

/* RESERVE(6), (10): false, RESERVATION CONFLICT. */
bool reserve_take(struct scsi_cmd *);
bool reserve_give(struct scsi_cmd *);

/* Reads what was kept. Main thread, when the unit is made. */
void reserve_load(struct lu *);

#endif
