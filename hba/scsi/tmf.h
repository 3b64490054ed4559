/* The part of task management that commands and nexuses call. */
#ifndef SCSI_TMF_OWN_H
#define SCSI_TMF_OWN_H

#include "list.h"

struct core;
struct lu;
struct nexus;
struct scsi_cmd;
struct scsi_tmf;

/* This reactor's part of the functions it has not seen yet. */
void tmf_run(struct core *);
/* An aborted command came back from the disk: functions that waited for it may be done. */
void tmf_settle(struct core *);
/*
 * Ends the tasks of the nexuses that are marked with tmf->cut (nexus_lun.cut),
 * on every reactor; done when none can touch the disk, perhaps in here.
 */
void tmf_cut(struct scsi_tmf *, struct nexus *, struct lu *, void (*done)(struct scsi_tmf *));
/* The nexus ended: its own functions are answered as they are. */
void tmf_nexus_ended(struct nexus *);

/*
 * Ends a live command without an answer: it leaves nexus->tasks, and is put on
 * `ended` when nothing holds it any more (tmf_finish answers those), or into
 * core->dying when the disk still has it.
 */
void tmf_abort(struct core *, struct scsi_cmd *, unsigned long long id, struct list *ended);
void tmf_finish(struct list *ended);

#endif
