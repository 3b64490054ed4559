/* What a task posts: RDMA READs of its table or data, or its data and its response. */
#include <string.h>

#include "stats.h"

#include "channel.h"

COUNTER(read_bytes, "srp_read_bytes", "bytes written to initiators' memory");
COUNTER(write_bytes, "srp_write_bytes", "bytes read from initiators' memory");

/*
 * The rest of the task's transfer. The last request that is posted for now
 * tells, through `last`, that all of them have ended.
 */
static bool
emit_transfer(struct srp_task *task, enum fabric_op op, uint32_t max_sge)
{
	struct srp_channel *ch = task->ch;

	while (task->xfer.left) {
		struct fabric_wr *wr = tx_wr(ch, op);
		bool asks;

		if (!wr)
			return false;
		if (!transfer_next(&task->xfer, max_sge, ch->limits.max_msg, wr,
		    (struct fabric_sge *)wr->sge)) {
			channel_drop(ch, "descriptors end before their data");
			return false;
		}
		asks = op == FABRIC_RDMA_READ && (!task->xfer.left || tx_is_last(ch, wr));
		task->out += asks;
		tx_add(ch, wr, asks ? &task->rdma : NULL);
	}
	return true;
}

static uint8_t
sol_not(const struct srp_task *task, bool good)
{
	return task->sol_not & (good ? SRP_SCSOLNT : SRP_UCSOLNT) ? SRP_SOLNT : 0;
}

static void
residual_put(struct srp_rsp *rsp, const struct scsi_cmd *scsi)
{
	bool out = scsi->dir & CMD_OUT;

	switch ((enum cmd_resid)scsi->resid_kind) {
	case RESID_NONE:
		return;
	case RESID_UNDER:
		rsp->flags |= out ? SRP_RSP_DOUNDER : SRP_RSP_DIUNDER;
		break;
	case RESID_OVER:
		rsp->flags |= out ? SRP_RSP_DOOVER : SRP_RSP_DIOVER;
		break;
	}
	if (out)
		rsp->data_out_res_cnt = put32(scsi->resid);
	else
		rsp->data_in_res_cnt = put32(scsi->resid);
	if (scsi->dir == CMD_BIDI && scsi->edtl_in) {
		rsp->flags |= SRP_RSP_DIUNDER;
		rsp->data_in_res_cnt = put32(scsi->edtl_in);
	}
}

static void
command_rsp(const struct srp_task *task, struct srp_rsp *rsp)
{
	const struct scsi_cmd *scsi = &task->scsi;

	rsp->sol_not = sol_not(task, scsi->status == SCSI_GOOD);
	rsp->status = scsi->status;
	residual_put(rsp, scsi);
	if (scsi->sense_len) {
		rsp->flags |= SRP_RSP_SNSVALID;
		rsp->sense_data_len = put32(scsi->sense_len);
		memcpy(rsp + 1, scsi->sense, scsi->sense_len);
	}
}

static void
tmf_rsp(const struct srp_task *task, struct srp_rsp *rsp)
{
	struct srp_rsp_data *data = (void *)(rsp + 1);

	rsp->sol_not = sol_not(task, task->rsp_code == SRP_TSK_MGMT_COMPLETE);
	rsp->flags = SRP_RSP_RSPVALID;
	rsp->resp_data_len = put32(sizeof(*data));
	data->rsp_code = task->rsp_code;
}

static uint32_t
rsp_len(const struct srp_task *task)
{
	return (uint32_t)sizeof(struct srp_rsp) +
	    (task->is_tmf ? (uint32_t)sizeof(struct srp_rsp_data) : task->scsi.sense_len);
}

/*
 * The buffer of its unit goes first: the credit in this response may be used
 * before its own completion is seen.
 */
static bool
emit_response(struct srp_task *task)
{
	struct srp_channel *ch = task->ch;
	struct fabric_wr *wr = tx_wr(ch, FABRIC_SEND);
	bool holds = task->out || (!task->is_tmf && task->scsi.data_in);
	struct srp_rsp *rsp;

	if (!wr)
		return false;
	rsp = (void *)tx_iu(ch, wr, rsp_len(task));
	task_unit_put(task);
	rsp->opcode = SRP_RSP;
	rsp->req_lim_delta = put32(srp_credit_give(&ch->credit));
	rsp->tag = put64(task->tag);
	if (task->is_tmf)
		tmf_rsp(task, rsp);
	else
		command_rsp(task, rsp);
	if (rsp->sol_not)
		wr->flags |= FABRIC_SOLICITED;
	tx_add(ch, wr, holds ? &task->sent : NULL);
	if (holds)
		task_sent(task);
	else
		task_put(task);
	return true;
}

bool
task_emit(struct srp_task *task)
{
	const struct fabric_limits *limits = &task->ch->limits;

	switch (task->state) {
	case TASK_FETCHING:
	case TASK_GATHERING:
		if (!emit_transfer(task, FABRIC_RDMA_READ, limits->max_read_sge))
			return false;
		list_del(&task->link);
		/* A read's table: the device server has done, so the channel must find it. */
		if (!(task->scsi.flags & CMD_WANT_DATA))
			list_add_tail(&task->ch->sent, &task->link);
		return true;
	case TASK_ANSWERING:
		if (!emit_transfer(task, FABRIC_RDMA_WRITE, limits->max_sge))
			return false;
		return emit_response(task);
	case TASK_SERVED:
	case TASK_WAITING:
	case TASK_ENDED:
		break;
	}
	assert(!"a task in line has something to post");
	return false;
}
