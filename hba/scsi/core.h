/* What the device server keeps on each reactor. */
#ifndef SCSI_CORE_H
#define SCSI_CORE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "list.h"
#include "reactor.h"

/* Lists belong to the reactor; poked and msg are how others call it. */
struct core {
	OWN_LINE struct list nexuses;	/* nexus_own.link */
	struct list dying;		/* scsi_cmd.task: aborted, and the disk has them */
	struct list parked;		/* scsi_cmd.fence: wait for an orphan write or a lock */
	struct list yielded;		/* scsi_cmd.fence: long commands, for the next turn */
	struct list changing;		/* scsi_cmd.fence: changes of reservations that wait for another */
	OWN_LINE atomic_bool poked;
	struct msg msg;
};

void cores_init(void);			/* main thread, before any nexus */
struct core *core_of(const struct reactor *);
/* The reactor looks soon for functions it has not seen and commands it can resume. Any thread. */
void core_poke(struct reactor *);

#endif
