/* Task management (SAM-5 7): what a transport asks and what comes back. */
#ifndef SCSI_TMF_H
#define SCSI_TMF_H

#include <stdbool.h>
#include <stdint.h>

#include "list.h"
#include "reactor.h"

struct nexus;
struct lu;

enum tmf_fn {
	TMF_ABORT_TASK,
	TMF_ABORT_TASK_SET,
	TMF_CLEAR_ACA,
	TMF_CLEAR_TASK_SET,
	TMF_LUN_RESET,
	TMF_TARGET_RESET,		/* RFC 7143 11.5.1 TARGET WARM RESET; COLD is the same, then the transport drops all sessions */
	TMF_QUERY_TASK,
	TMF_QUERY_TASK_SET,
	TMF_QUERY_ASYNC_EVENT,
	TMF_I_T_NEXUS_RESET,
	TMF_CUT,			/* not for transports: tasks of those that PREEMPT AND ABORT ended */
};

enum tmf_response {			/* SAM-5 7.1 */
	TMF_COMPLETE,
	TMF_SUCCEEDED,
	TMF_REJECTED,			/* not supported, or could not be done in time */
	TMF_WRONG_LUN,
	TMF_NO_TASK,			/* FUNCTION COMPLETE by SAM; transports that can, say so */
};

/*
 * Embedded in the transport's own object; owned by the device server from
 * scsi_tmf until ops->tmf_done. It copies what it needs: the PDU that caused it
 * may be gone. It needs no slot and no memory, so it works when all limits are
 * used up. The answer is a promise that no later write of the ended commands
 * can be seen: it waits for the disk to give them back, at most TMF_WAIT_NS,
 * then fences what is still out (hba/scsi/fence.c) and answers.
 */
struct scsi_tmf {
	struct nexus *nexus;
	uint8_t fn;			/* enum tmf_fn */
	uint8_t lun[8];
	uint64_t tag;			/* for ABORT TASK and QUERY TASK */
	/* answer */
	uint8_t response;		/* enum tmf_response */
	uint8_t info[3];		/* SAM-5 7.1 additional response information: QUERY ASYNC EVENT */
	/* the device server's own */
	struct list link;		/* in nexus->tmfs */
	struct list all;		/* in the list of all that wait */
	struct timer timer;
	struct msg msg;
	struct lu *lu;
	uint64_t cut;			/* TMF_CUT: which; */
	void (*done)(struct scsi_tmf *);	/* and who is answered instead of the transport; else NULL */
	bool live;			/* ABORT TASK: its task was not aborted before */
	uint64_t id;			/* in order of arrival, over all reactors */
	uint64_t todo, hit, clear;	/* bit per reactor: concerned, has marked its commands, has none left */
};

#define TMF_WAIT_NS 5000000000u

/* On the nexus' reactor. Answers through ops->tmf_done, perhaps before returning. */
void scsi_tmf(struct scsi_tmf *);

#endif
