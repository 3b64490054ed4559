/* Task management: to the device server and back (SRP_TSK_MGMT). */
#include <string.h>

#include "stats.h"

#include "channel.h"

COUNTER(functions, "srp_task_management", "task management functions asked for");

enum { FN_UNKNOWN = 0xff };

static uint8_t
function(uint8_t fn)
{
	switch (fn) {
	case SRP_TSK_ABORT_TASK:
		return TMF_ABORT_TASK;
	case SRP_TSK_ABORT_TASK_SET:
		return TMF_ABORT_TASK_SET;
	case SRP_TSK_CLEAR_TASK_SET:
		return TMF_CLEAR_TASK_SET;
	case SRP_TSK_LUN_RESET:
		return TMF_LUN_RESET;
	case SRP_TSK_CLEAR_ACA:
		return TMF_CLEAR_ACA;
	}
	return FN_UNKNOWN;
}

static void
tmf_answer(struct srp_task *task, enum srp_rsp_code code)
{
	task->rsp_code = (uint8_t)code;
	task_line_behind(task);
}

void
srp_tmf_rx(struct srp_channel *ch, struct srp_rx *rx, const struct iu_tmf *iu)
{
	bool overlaps = task_find(ch, iu->tag);
	struct srp_task *task = task_new(ch, rx, iu->tag);
	uint8_t fn = function(iu->fn);

	if (!task) {
		rx_wait(rx);
		return;
	}
	counter_add(&functions, 1);
	task->is_tmf = true;
	task->sol_not = iu->sol_not;
	if (overlaps) {
		tmf_answer(task, SRP_RSP_FIELDS_INVALID);
		return;
	}
	if (fn == FN_UNKNOWN) {
		tmf_answer(task, SRP_TSK_MGMT_NOT_SUPPORTED);
		return;
	}
	memset(&task->tmf, 0, sizeof(task->tmf));
	task->tmf.nexus = ch->nexus;
	task->tmf.fn = fn;
	task->tmf.tag = iu->task_tag;
	memcpy(task->tmf.lun, iu->lun, sizeof(task->tmf.lun));
	scsi_tmf(&task->tmf);
}

/* SRP has no words for some of them. */
static enum srp_rsp_code
response(enum tmf_response response)
{
	switch (response) {
	case TMF_COMPLETE:
	case TMF_SUCCEEDED:
	/* SAM-5 7.2: a task that is not there has ended. */
	case TMF_NO_TASK:
		return SRP_TSK_MGMT_COMPLETE;
	case TMF_WRONG_LUN:
		return SRP_RSP_FIELDS_INVALID;
	case TMF_REJECTED:
		break;
	}
	return SRP_TSK_MGMT_FAILED;
}

void
srp_tmf_done(struct scsi_tmf *tmf)
{
	struct srp_task *task = container_of(tmf, struct srp_task, tmf);

	if (task->ch->state >= CHANNEL_CLOSING)
		task_end(task);
	/* There never is an ACA to clear. */
	else if (tmf->fn == TMF_CLEAR_ACA && tmf->response == TMF_REJECTED)
		tmf_answer(task, SRP_TSK_MGMT_NOT_SUPPORTED);
	else
		tmf_answer(task, response((enum tmf_response)tmf->response));
}
