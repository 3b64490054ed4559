/* Answers: Data-In with the status in the last one, or a SCSI Response (RFC 7143 11.4, 11.7). */
#include <string.h>

#include "digest.h"
#include "iscsi.h"

uint32_t
data_in_cut(uint32_t at, uint32_t len, uint32_t dsl, uint32_t max_burst, bool *final)
{
	uint32_t burst = max_burst - at % max_burst;
	uint32_t n = MIN(len - at, MIN(dsl, burst));

	*final = n == len - at || n == burst;
	return n;
}

/* O and U stand at the same bits in both PDUs. */
static uint8_t
resid_flags(const struct scsi_cmd *scsi)
{
	switch ((enum cmd_resid)scsi->resid_kind) {
	case RESID_NONE:
		return 0;
	case RESID_UNDER:
		return SCSI_RSP_UNDER;
	case RESID_OVER:
		return SCSI_RSP_OVER;
	}
	return 0;
}

/* The status in a PDU of its own, with sense if there is any. */
static void
response_send(struct iscsi_cmd *cmd)
{
	struct scsi_cmd *scsi = &cmd->scsi;
	struct pdu_out *out = &cmd->out;

	out_init(out, ISCSI_SCSI_RSP);
	out->cmd = cmd;
	out->scsi_rsp.flags |= resid_flags(scsi);
	out->scsi_rsp.response = SCSI_RSP_COMPLETED;
	out->scsi_rsp.status = scsi->status;
	out->scsi_rsp.itt = put32(cmd->itt);
	out->scsi_rsp.resid = put32(scsi->resid);
	out->scsi_rsp.exp_data_sn = put32(cmd->data_sn + cmd->gather.r2t_sn);
	if (scsi->dir == CMD_BIDI && scsi->edtl_in) {
		out->scsi_rsp.flags |= SCSI_RSP_BIDI_UNDER;
		out->scsi_rsp.bidi_resid = put32(scsi->edtl_in);
	}
	if (scsi->sense_len) {
		wr16(cmd->sense_len, scsi->sense_len);
		cmd->sense_iov[0] = (struct iovec){ cmd->sense_len, sizeof(cmd->sense_len) };
		cmd->sense_iov[1] = (struct iovec){ scsi->sense, scsi->sense_len };
		out->iov = cmd->sense_iov;
		out->data_len = (uint32_t)sizeof(cmd->sense_len) + scsi->sense_len;
	}
	conn_queue(cmd->conn, out, STAT_SN_NEXT);
}

/*
 * What others may write while it is sent must not be covered by a digest:
 * the command gets a copy of its own.
 */
static int
data_in_copy(struct iscsi_cmd *cmd)
{
	struct scsi_cmd *scsi = &cmd->scsi;
	struct iovec iov[BUF_IOV_MAX];
	uint32_t left = scsi->data_in;
	uint8_t *to;
	int n = buf_get(cmd->home->reactor, iov, left);
	int at = 0;
	size_t used = 0;

	if (n < 0)
		return n;
	for (int i = 0; i < n; i++) {
		to = iov[i].iov_base;
		for (size_t room = iov[i].iov_len; room;) {
			size_t part = MIN(room, scsi->iov[at].iov_len - used);

			memcpy(to, (char *)scsi->iov[at].iov_base + used, part);
			to += part;
			room -= part;
			used += part;
			if (used == scsi->iov[at].iov_len) {
				used = 0;
				at++;
			}
		}
	}
	memcpy(scsi->iov, iov, sizeof(iov[0]) * (size_t)n);
	scsi->niov = (int8_t)n;
	scsi->mem = MEM_POOL;
	return 0;
}

/* One Data-In; false: no memory for it. */
static bool
data_in_queue(struct iscsi_cmd *cmd, uint32_t at, uint32_t len, bool final, bool status,
    const struct iovec *iov, size_t skip)
{
	struct scsi_cmd *scsi = &cmd->scsi;
	struct pdu_out *out = &cmd->out;

	if (status) {
		out_init(out, ISCSI_DATA_IN);
		out->cmd = cmd;
	} else {
		out = out_get(cmd->conn, ISCSI_DATA_IN);
		if (!out)
			return false;
	}
	out->data_in.flags = final ? DATA_IN_F : 0;
	out->data_in.itt = put32(cmd->itt);
	out->data_in.ttt = put32(ISCSI_NO_TAG);
	out->data_in.data_sn = put32(cmd->data_sn++);
	out->data_in.offset = put32(at);
	if (status) {
		out->data_in.flags |= DATA_IN_S | resid_flags(scsi);
		out->data_in.status = scsi->status;
		out->data_in.resid = put32(scsi->resid);
	}
	out->iov = iov;
	out->skip = (uint32_t)skip;
	out->data_len = len;
	conn_queue(cmd->conn, out, status ? STAT_SN_NEXT : STAT_SN_NONE);
	return true;
}

void
data_in_send(struct iscsi_cmd *cmd)
{
	struct iscsi_conn *conn = cmd->conn;
	struct scsi_cmd *scsi = &cmd->scsi;
	const struct iscsi_sess *sess = conn->sess;
	const struct iovec *iov = scsi->iov;
	uint32_t len = cmd->busy ? 0 : scsi->data_in, at = 0, n;
	/* 11.7.3: only a status without sense may ride on data. */
	bool phase = scsi->status == SCSI_GOOD && !scsi->sense_len;
	size_t skip = 0;

	if (len && conn->data_digest && scsi->mem == MEM_LENT && data_in_copy(cmd) < 0) {
		scsi->status = SCSI_BUSY;
		scsi->resid_kind = RESID_UNDER;
		scsi->resid = scsi->edtl_in;
		len = 0;
	}
	for (; at < len; at += n) {
		bool final;

		n = data_in_cut(at, len, sess->max_xmit_dsl, sess->limits.max_burst, &final);
		if (!data_in_queue(cmd, at, n, final, phase && at + n == len, iov, skip)) {
			conn_drop(conn, "out of memory");
			command_sent(cmd);
			return;
		}
		for (skip += n; skip && skip >= iov->iov_len; iov++)
			skip -= iov->iov_len;
	}
	if (!len || !phase)
		response_send(cmd);
}
