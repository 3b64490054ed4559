/* Task management: to the device server and back (RFC 7143 11.5, 11.6; RFC 7144). */
#include <string.h>

#include "log.h"
#include "stats.h"

#include "iscsi.h"

COUNTER(functions, "iscsi_task_management", "task management functions asked for");

/* From the reactor's pool; owned by the device server from scsi_tmf to tmf_done. */
struct iscsi_tmf {
	struct scsi_tmf scsi;
	struct iscsi_reactor *home;
	struct iscsi_conn *conn;	/* NULL: gone; nobody waits for the answer */
	struct list link;		/* in sess->tmfs */
	uint32_t itt;
	uint32_t cmd_sn, ref_cmd_sn;
	uint8_t fn;			/* as on the wire */
};

enum { TMF_UNKNOWN = 0xff };

static const uint8_t functions_scsi[] = {
	[0] = TMF_UNKNOWN,
	[ISCSI_ABORT_TASK] = TMF_ABORT_TASK,
	[ISCSI_ABORT_TASK_SET] = TMF_ABORT_TASK_SET,
	[ISCSI_CLEAR_ACA] = TMF_CLEAR_ACA,
	[ISCSI_CLEAR_TASK_SET] = TMF_CLEAR_TASK_SET,
	[ISCSI_LUN_RESET] = TMF_LUN_RESET,
	[ISCSI_TARGET_WARM_RESET] = TMF_TARGET_RESET,
	[ISCSI_TARGET_COLD_RESET] = TMF_TARGET_RESET,
	[ISCSI_TASK_REASSIGN] = TMF_UNKNOWN,
	[ISCSI_QUERY_TASK] = TMF_QUERY_TASK,
	[ISCSI_QUERY_TASK_SET] = TMF_QUERY_TASK_SET,
	[ISCSI_I_T_NEXUS_RESET] = TMF_I_T_NEXUS_RESET,
	[ISCSI_QUERY_ASYNC_EVENT] = TMF_QUERY_ASYNC_EVENT,
};

/* These end all commands of a unit or target, also those that have not had their turn. */
static bool
ends_many(unsigned fn)
{
	return fn == ISCSI_ABORT_TASK_SET || fn == ISCSI_CLEAR_TASK_SET || fn == ISCSI_LUN_RESET ||
	    fn == ISCSI_TARGET_WARM_RESET || fn == ISCSI_TARGET_COLD_RESET;
}

uint32_t
tmf_size(void)
{
	return sizeof(struct iscsi_tmf);
}

static void
tmf_answer(struct iscsi_conn *conn, uint32_t itt, uint8_t response)
{
	struct pdu_out *out = out_get(conn, ISCSI_TMF_RSP);

	if (!out) {
		conn_drop(conn, "out of memory");
		return;
	}
	out->tmf_rsp.response = response;
	out->tmf_rsp.itt = put32(itt);
	conn_queue(conn, out, STAT_SN_NEXT);
}

/*
 * 11.6.1: a task that is not here may still come. If its CmdSN is before the
 * function's and in the window, it is counted as received, and so ended.
 */
static uint8_t
tmf_absent(struct iscsi_sess *sess, uint32_t cmd_sn, uint32_t ref_cmd_sn)
{
	if (sn_before(ref_cmd_sn, sess->window.exp_cmd_sn) || !sn_before(ref_cmd_sn, cmd_sn) ||
	    sn_before(sess->window.max_cmd_sn, ref_cmd_sn))
		return ISCSI_TMF_NO_TASK;
	return held_skip(sess, ref_cmd_sn) < 0 ? ISCSI_TMF_REJECTED : ISCSI_TMF_COMPLETE;
}

static void
tmf_start(struct iscsi_conn *conn, const struct iscsi_tmf_req *h, struct iscsi_tmf *tmf)
{
	struct iscsi_sess *sess = conn->sess;

	memset(tmf, 0, sizeof(*tmf));
	tmf->home = conn->home;
	tmf->conn = conn;
	tmf->itt = get32(h->itt);
	tmf->cmd_sn = get32(h->cmd_sn);
	tmf->ref_cmd_sn = get32(h->ref_cmd_sn);
	tmf->fn = h->flags & ISCSI_TMF_FN;
	tmf->scsi.nexus = sess->nexus;
	tmf->scsi.fn = functions_scsi[tmf->fn];
	memcpy(tmf->scsi.lun, h->lun, sizeof(h->lun));
	tmf->scsi.tag = get32(h->ref_itt);
	list_add_tail(&sess->tmfs, &tmf->link);
	sess->immediates++;
	if (ends_many(tmf->fn))
		held_abort(sess, tmf->scsi.fn == TMF_TARGET_RESET ? NULL : h->lun, ISCSI_NO_TAG,
		    tmf->cmd_sn);
	scsi_tmf(&tmf->scsi);
}

void
tmf_rx(struct iscsi_conn *conn, const struct iscsi_tmf_req *h)
{
	struct iscsi_sess *sess = conn->sess;
	unsigned fn = h->flags & ISCSI_TMF_FN;
	uint32_t itt = get32(h->itt);
	struct iscsi_tmf *tmf;

	counter_add(&functions, 1);
	if (!sess->nexus || itt == ISCSI_NO_TAG) {
		misc_reject(conn, (const void *)h, ISCSI_REJECT_PROTOCOL);
	} else if (command_find(sess, itt)) {
		misc_reject(conn, (const void *)h, ISCSI_REJECT_IN_PROGRESS);
	} else if (fn == ISCSI_TASK_REASSIGN) {
		tmf_answer(conn, itt, ISCSI_TMF_NO_REASSIGN);
	} else if (fn >= ARRAY_LEN(functions_scsi) || functions_scsi[fn] == TMF_UNKNOWN) {
		tmf_answer(conn, itt, ISCSI_TMF_NOT_SUPPORTED);
	} else if (sess->immediates >= IMMEDIATE_MAX) {
		misc_reject(conn, (const void *)h, ISCSI_REJECT_TOO_MANY);
	} else if (fn == ISCSI_ABORT_TASK &&
	    held_abort(sess, h->lun, get32(h->ref_itt), get32(h->cmd_sn))) {
		tmf_answer(conn, itt, ISCSI_TMF_COMPLETE);
	} else {
		tmf = obj_get(&conn->home->tmfs);
		if (tmf)
			tmf_start(conn, h, tmf);
		else
			misc_reject(conn, (const void *)h, ISCSI_REJECT_RESOURCES);
	}
}

static uint8_t
tmf_response(struct iscsi_sess *sess, const struct iscsi_tmf *tmf)
{
	switch ((enum tmf_response)tmf->scsi.response) {
	case TMF_COMPLETE:
		return ISCSI_TMF_COMPLETE;
	case TMF_SUCCEEDED:
		return ISCSI_TMF_SUCCEEDED;
	case TMF_REJECTED:
		return ISCSI_TMF_REJECTED;
	case TMF_WRONG_LUN:
		return ISCSI_TMF_NO_LUN;
	case TMF_NO_TASK:
		return tmf->fn == ISCSI_ABORT_TASK ?
		    tmf_absent(sess, tmf->cmd_sn, tmf->ref_cmd_sn) : ISCSI_TMF_NO_TASK;
	}
	return ISCSI_TMF_REJECTED;
}

void
tmf_done(struct scsi_tmf *scsi)
{
	struct iscsi_tmf *tmf = container_of(scsi, struct iscsi_tmf, scsi);
	struct iscsi_conn *conn = tmf->conn;

	if (conn) {
		struct iscsi_sess *sess = conn->sess;

		list_del(&tmf->link);
		sess->immediates--;
		tmf_answer(conn, tmf->itt, tmf_response(sess, tmf));
		/* 11.5.1: then all connections of the target to all initiators end. */
		if (tmf->fn == ISCSI_TARGET_COLD_RESET && scsi->response == TMF_COMPLETE) {
			log_info("%s: target cold reset by %s", sess->params.target,
			    sess->params.initiator);
			sess_kick(sess->target, 0);
		}
	}
	obj_put(&tmf->home->tmfs, tmf);
}

void
tmf_orphan_all(struct iscsi_sess *sess)
{
	struct iscsi_tmf *tmf, *tmp;

	list_for_each_safe(tmf, tmp, &sess->tmfs, link) {
		list_del(&tmf->link);
		tmf->conn = NULL;
	}
}
