/* iSCSI PDUs as they stand on the wire (RFC 7143 11). */
#ifndef ISCSI_PDU_H
#define ISCSI_PDU_H

#include <stddef.h>
#include <stdint.h>

#include "wire.h"

enum {
	ISCSI_BHS = 48,			/* every PDU begins with this many bytes */
	ISCSI_AHS_MAX = 255 * 4,
	ISCSI_DIGEST = 4,
	ISCSI_HEADER_MAX = ISCSI_BHS + ISCSI_AHS_MAX + ISCSI_DIGEST,
};

/* X(name, value, text for logs) */
#define ISCSI_OPCODES(X)                                                            \
	X(ISCSI_NOP_OUT, 0x00, "NOP-Out")                                           \
	X(ISCSI_SCSI_CMD, 0x01, "SCSI Command")                                     \
	X(ISCSI_TMF_REQ, 0x02, "Task Management Request")                           \
	X(ISCSI_LOGIN_REQ, 0x03, "Login Request")                                   \
	X(ISCSI_TEXT_REQ, 0x04, "Text Request")                                     \
	X(ISCSI_DATA_OUT, 0x05, "Data-Out")                                         \
	X(ISCSI_LOGOUT_REQ, 0x06, "Logout Request")                                 \
	X(ISCSI_SNACK, 0x10, "SNACK")                                               \
	X(ISCSI_NOP_IN, 0x20, "NOP-In")                                             \
	X(ISCSI_SCSI_RSP, 0x21, "SCSI Response")                                    \
	X(ISCSI_TMF_RSP, 0x22, "Task Management Response")                          \
	X(ISCSI_LOGIN_RSP, 0x23, "Login Response")                                  \
	X(ISCSI_TEXT_RSP, 0x24, "Text Response")                                    \
	X(ISCSI_DATA_IN, 0x25, "Data-In")                                           \
	X(ISCSI_LOGOUT_RSP, 0x26, "Logout Response")                                \
	X(ISCSI_R2T, 0x31, "R2T")                                                   \
	X(ISCSI_ASYNC, 0x32, "Async Message")                                       \
	X(ISCSI_REJECT, 0x3f, "Reject")

#define X(name, value, text) name = value,
enum iscsi_opcode { ISCSI_OPCODES(X) };
#undef X

enum {
	ISCSI_OPCODE_MASK = 0x3f,
	ISCSI_IMMEDIATE = 0x40,		/* opcode byte of a request: delivered at once, CmdSN not consumed */
	ISCSI_F = 0x80,			/* flags byte: final PDU of a sequence; always set where not used */
};

/* Initiator and target task tags that name nothing (RFC 7143 11.2.1.8, 11.7.4). */
#define ISCSI_NO_TAG 0xffffffffu

/* What all PDUs share (RFC 7143 11.2.1). */
struct iscsi_bhs {
	uint8_t	opcode;
	uint8_t	flags;
	uint8_t	specific1[2];
	uint8_t	ahs_len;		/* in words of 4 bytes */
	be24	data_len;		/* without padding */
	uint8_t	lun[8];
	be32	itt;
	be32	ttt;			/* requests and responses that have one */
	be32	cmd_sn;			/* requests but Data-Out and SNACK; StatSN in responses */
	be32	exp_stat_sn;		/* requests; ExpCmdSN in responses */
	uint8_t	specific2[16];
};
WIRE_SIZE(struct iscsi_bhs, 48);
WIRE_AT(struct iscsi_bhs, ahs_len, 4);
WIRE_AT(struct iscsi_bhs, data_len, 5);
WIRE_AT(struct iscsi_bhs, lun, 8);
WIRE_AT(struct iscsi_bhs, itt, 16);
WIRE_AT(struct iscsi_bhs, cmd_sn, 24);
WIRE_AT(struct iscsi_bhs, exp_stat_sn, 28);

/* SCSI Command (11.3) */
enum {
	SCSI_CMD_F = 0x80,		/* no unsolicited Data-Out follows */
	SCSI_CMD_R = 0x40,
	SCSI_CMD_W = 0x20,
	SCSI_CMD_ATTR = 0x07,
};

enum {					/* SCSI_CMD_ATTR (11.3.1.1) */
	ISCSI_ATTR_UNTAGGED = 0,
	ISCSI_ATTR_SIMPLE = 1,
	ISCSI_ATTR_ORDERED = 2,
	ISCSI_ATTR_HEAD_OF_QUEUE = 3,
	ISCSI_ATTR_ACA = 4,
};

struct iscsi_scsi_cmd {
	uint8_t	opcode;			/* ISCSI_SCSI_CMD */
	uint8_t	flags;
	uint8_t	reserved[2];
	uint8_t	ahs_len;
	be24	data_len;		/* immediate data */
	uint8_t	lun[8];
	be32	itt;
	be32	edtl;			/* expected data transfer length */
	be32	cmd_sn;
	be32	exp_stat_sn;
	uint8_t	cdb[16];
};
WIRE_SIZE(struct iscsi_scsi_cmd, 48);
WIRE_AT(struct iscsi_scsi_cmd, edtl, 20);
WIRE_AT(struct iscsi_scsi_cmd, cmd_sn, 24);
WIRE_AT(struct iscsi_scsi_cmd, cdb, 32);

/* Additional header segments (11.2.2): length counts what follows the type byte, without padding. */
enum {
	ISCSI_AHS_EXTENDED_CDB = 1,
	ISCSI_AHS_BIDI_READ = 2,
	ISCSI_AHS_TYPE = 0x3f,
};

struct iscsi_ahs {
	be16	length;
	uint8_t	type;
	uint8_t	specific;		/* the first byte that length counts */
};
WIRE_SIZE(struct iscsi_ahs, 4);

/* SCSI Response (11.4) */
enum {
	SCSI_RSP_BIDI_OVER = 0x10,
	SCSI_RSP_BIDI_UNDER = 0x08,
	SCSI_RSP_OVER = 0x04,
	SCSI_RSP_UNDER = 0x02,
};

enum {					/* response (11.4.3) */
	SCSI_RSP_COMPLETED = 0x00,
	SCSI_RSP_TARGET_FAILURE = 0x01,
};

struct iscsi_scsi_rsp {
	uint8_t	opcode;			/* ISCSI_SCSI_RSP */
	uint8_t	flags;			/* F, always */
	uint8_t	response;
	uint8_t	status;
	uint8_t	ahs_len;
	be24	data_len;		/* 2 + sense length, or 0 */
	uint8_t	reserved[8];
	be32	itt;
	be32	snack_tag;
	be32	stat_sn, exp_cmd_sn, max_cmd_sn;
	be32	exp_data_sn;		/* number of Data-In and R2T PDUs sent */
	be32	bidi_resid;
	be32	resid;
};
WIRE_SIZE(struct iscsi_scsi_rsp, 48);
WIRE_AT(struct iscsi_scsi_rsp, snack_tag, 20);
WIRE_AT(struct iscsi_scsi_rsp, stat_sn, 24);
WIRE_AT(struct iscsi_scsi_rsp, max_cmd_sn, 32);
WIRE_AT(struct iscsi_scsi_rsp, exp_data_sn, 36);
WIRE_AT(struct iscsi_scsi_rsp, resid, 44);

/* Task Management Function Request (11.5) */
enum {
	ISCSI_TMF_FN = 0x7f,

	ISCSI_ABORT_TASK = 1,
	ISCSI_ABORT_TASK_SET = 2,
	ISCSI_CLEAR_ACA = 3,
	ISCSI_CLEAR_TASK_SET = 4,
	ISCSI_LUN_RESET = 5,
	ISCSI_TARGET_WARM_RESET = 6,
	ISCSI_TARGET_COLD_RESET = 7,
	ISCSI_TASK_REASSIGN = 8,
	ISCSI_QUERY_TASK = 9,		/* these four: RFC 7144 */
	ISCSI_QUERY_TASK_SET = 10,
	ISCSI_I_T_NEXUS_RESET = 11,
	ISCSI_QUERY_ASYNC_EVENT = 12,
};

struct iscsi_tmf_req {
	uint8_t	opcode;			/* ISCSI_TMF_REQ */
	uint8_t	flags;			/* F and the function */
	uint8_t	reserved[2];
	uint8_t	ahs_len;
	be24	data_len;
	uint8_t	lun[8];
	be32	itt;
	be32	ref_itt;		/* the task that is meant */
	be32	cmd_sn;
	be32	exp_stat_sn;
	be32	ref_cmd_sn;
	be32	exp_data_sn;
	uint8_t	reserved2[8];
};
WIRE_SIZE(struct iscsi_tmf_req, 48);
WIRE_AT(struct iscsi_tmf_req, ref_itt, 20);
WIRE_AT(struct iscsi_tmf_req, ref_cmd_sn, 32);

/* Task Management Function Response (11.6) */
enum {					/* response (11.6.1) */
	ISCSI_TMF_COMPLETE = 0,
	ISCSI_TMF_NO_TASK = 1,
	ISCSI_TMF_NO_LUN = 2,
	ISCSI_TMF_STILL_ALLEGIANT = 3,
	ISCSI_TMF_NO_REASSIGN = 4,
	ISCSI_TMF_NOT_SUPPORTED = 5,
	ISCSI_TMF_AUTH_FAILED = 6,
	ISCSI_TMF_SUCCEEDED = 7,	/* RFC 7144 */
	ISCSI_TMF_REJECTED = 255,
};

struct iscsi_tmf_rsp {
	uint8_t	opcode;			/* ISCSI_TMF_RSP */
	uint8_t	flags;			/* F, always */
	uint8_t	response;
	uint8_t	reserved;
	uint8_t	ahs_len;
	be24	data_len;
	uint8_t	reserved2[8];
	be32	itt;
	uint8_t	reserved3[4];
	be32	stat_sn, exp_cmd_sn, max_cmd_sn;
	uint8_t	reserved4[12];
};
WIRE_SIZE(struct iscsi_tmf_rsp, 48);
WIRE_AT(struct iscsi_tmf_rsp, stat_sn, 24);

/* SCSI Data-Out (11.7) */
struct iscsi_data_out {
	uint8_t	opcode;			/* ISCSI_DATA_OUT */
	uint8_t	flags;			/* F: last of its burst */
	uint8_t	reserved[2];
	uint8_t	ahs_len;
	be24	data_len;
	uint8_t	lun[8];
	be32	itt, ttt;
	uint8_t	reserved2[4];
	be32	exp_stat_sn;
	uint8_t	reserved3[4];
	be32	data_sn;
	be32	offset;
	uint8_t	reserved4[4];
};
WIRE_SIZE(struct iscsi_data_out, 48);
WIRE_AT(struct iscsi_data_out, ttt, 20);
WIRE_AT(struct iscsi_data_out, exp_stat_sn, 28);
WIRE_AT(struct iscsi_data_out, data_sn, 36);
WIRE_AT(struct iscsi_data_out, offset, 40);

/* SCSI Data-In (11.7) */
enum {
	DATA_IN_F = 0x80,		/* last of a sequence of at most MaxBurstLength */
	DATA_IN_A = 0x40,
	DATA_IN_OVER = 0x04,
	DATA_IN_UNDER = 0x02,
	DATA_IN_S = 0x01,		/* carries the status; then F too */
};

struct iscsi_data_in {
	uint8_t	opcode;			/* ISCSI_DATA_IN */
	uint8_t	flags;
	uint8_t	reserved;
	uint8_t	status;			/* with S */
	uint8_t	ahs_len;
	be24	data_len;
	uint8_t	lun[8];			/* with A */
	be32	itt, ttt;
	be32	stat_sn;		/* with S */
	be32	exp_cmd_sn, max_cmd_sn;
	be32	data_sn;
	be32	offset;
	be32	resid;			/* with S */
};
WIRE_SIZE(struct iscsi_data_in, 48);
WIRE_AT(struct iscsi_data_in, ttt, 20);
WIRE_AT(struct iscsi_data_in, stat_sn, 24);
WIRE_AT(struct iscsi_data_in, data_sn, 36);
WIRE_AT(struct iscsi_data_in, offset, 40);
WIRE_AT(struct iscsi_data_in, resid, 44);

/* Ready To Transfer (11.8) */
struct iscsi_r2t {
	uint8_t	opcode;			/* ISCSI_R2T */
	uint8_t	flags;			/* F, always */
	uint8_t	reserved[2];
	uint8_t	ahs_len;
	be24	data_len;		/* 0 */
	uint8_t	lun[8];
	be32	itt, ttt;
	be32	stat_sn, exp_cmd_sn, max_cmd_sn;
	be32	r2t_sn;
	be32	offset, length;
};
WIRE_SIZE(struct iscsi_r2t, 48);
WIRE_AT(struct iscsi_r2t, ttt, 20);
WIRE_AT(struct iscsi_r2t, stat_sn, 24);
WIRE_AT(struct iscsi_r2t, r2t_sn, 36);
WIRE_AT(struct iscsi_r2t, offset, 40);
WIRE_AT(struct iscsi_r2t, length, 44);

/* Asynchronous Message (11.9) */
enum {
	ISCSI_ASYNC_SCSI = 0,
	ISCSI_ASYNC_LOGOUT = 1,		/* the target asks for a logout within param3 seconds */
	ISCSI_ASYNC_DROP_CONN = 2,
	ISCSI_ASYNC_DROP_SESSION = 3,
	ISCSI_ASYNC_NEGOTIATE = 4,
};

struct iscsi_async {
	uint8_t	opcode;			/* ISCSI_ASYNC */
	uint8_t	flags;			/* F, always */
	uint8_t	reserved[2];
	uint8_t	ahs_len;
	be24	data_len;
	uint8_t	lun[8];
	be32	itt;			/* ISCSI_NO_TAG */
	uint8_t	reserved2[4];
	be32	stat_sn, exp_cmd_sn, max_cmd_sn;
	uint8_t	event;
	uint8_t	vcode;
	be16	param1, param2, param3;
	uint8_t	reserved3[4];
};
WIRE_SIZE(struct iscsi_async, 48);
WIRE_AT(struct iscsi_async, stat_sn, 24);
WIRE_AT(struct iscsi_async, event, 36);
WIRE_AT(struct iscsi_async, param3, 42);

/* Text Request and Response (11.10, 11.11) */
enum {
	ISCSI_TEXT_F = 0x80,
	ISCSI_TEXT_C = 0x40,		/* the text goes on in the next PDU */
};

struct iscsi_text_req {
	uint8_t	opcode;			/* ISCSI_TEXT_REQ */
	uint8_t	flags;
	uint8_t	reserved[2];
	uint8_t	ahs_len;
	be24	data_len;
	uint8_t	lun[8];
	be32	itt, ttt;
	be32	cmd_sn;
	be32	exp_stat_sn;
	uint8_t	reserved2[16];
};
WIRE_SIZE(struct iscsi_text_req, 48);
WIRE_AT(struct iscsi_text_req, ttt, 20);
WIRE_AT(struct iscsi_text_req, cmd_sn, 24);

struct iscsi_text_rsp {
	uint8_t	opcode;			/* ISCSI_TEXT_RSP */
	uint8_t	flags;
	uint8_t	reserved[2];
	uint8_t	ahs_len;
	be24	data_len;
	uint8_t	lun[8];
	be32	itt, ttt;
	be32	stat_sn, exp_cmd_sn, max_cmd_sn;
	uint8_t	reserved2[12];
};
WIRE_SIZE(struct iscsi_text_rsp, 48);
WIRE_AT(struct iscsi_text_rsp, ttt, 20);
WIRE_AT(struct iscsi_text_rsp, stat_sn, 24);

/* Login Request and Response (11.12, 11.13); the stages are CSG << 2 | NSG in flags */
enum {
	ISCSI_LOGIN_T = 0x80,		/* transit to the next stage */
	ISCSI_LOGIN_C = 0x40,		/* the text goes on in the next PDU */
	ISCSI_LOGIN_CSG = 0x0c,
	ISCSI_LOGIN_NSG = 0x03,
	ISCSI_LOGIN_CSG_SHIFT = 2,
};

enum {
	ISCSI_STAGE_SECURITY = 0,
	ISCSI_STAGE_OPERATIONAL = 1,
	ISCSI_STAGE_FULL_FEATURE = 3,
};

struct iscsi_login_req {
	uint8_t	opcode;			/* ISCSI_LOGIN_REQ | ISCSI_IMMEDIATE */
	uint8_t	flags;
	uint8_t	version_max, version_min;
	uint8_t	ahs_len;
	be24	data_len;
	uint8_t	isid[6];
	be16	tsih;
	be32	itt;
	be16	cid;
	uint8_t	reserved[2];
	be32	cmd_sn;
	be32	exp_stat_sn;
	uint8_t	reserved2[16];
};
WIRE_SIZE(struct iscsi_login_req, 48);
WIRE_AT(struct iscsi_login_req, isid, 8);
WIRE_AT(struct iscsi_login_req, tsih, 14);
WIRE_AT(struct iscsi_login_req, cid, 20);
WIRE_AT(struct iscsi_login_req, cmd_sn, 24);

struct iscsi_login_rsp {
	uint8_t	opcode;			/* ISCSI_LOGIN_RSP */
	uint8_t	flags;
	uint8_t	version_max, version_active;
	uint8_t	ahs_len;
	be24	data_len;
	uint8_t	isid[6];
	be16	tsih;
	be32	itt;
	uint8_t	reserved[4];
	be32	stat_sn, exp_cmd_sn, max_cmd_sn;
	uint8_t	status_class, status_detail;
	uint8_t	reserved2[10];
};
WIRE_SIZE(struct iscsi_login_rsp, 48);
WIRE_AT(struct iscsi_login_rsp, tsih, 14);
WIRE_AT(struct iscsi_login_rsp, stat_sn, 24);
WIRE_AT(struct iscsi_login_rsp, status_class, 36);

/* Logout Request and Response (11.14, 11.15) */
enum {
	ISCSI_LOGOUT_REASON = 0x7f,

	ISCSI_LOGOUT_SESSION = 0,
	ISCSI_LOGOUT_CONNECTION = 1,
	ISCSI_LOGOUT_RECOVERY = 2,
};

struct iscsi_logout_req {
	uint8_t	opcode;			/* ISCSI_LOGOUT_REQ */
	uint8_t	flags;			/* F and the reason */
	uint8_t	reserved[2];
	uint8_t	ahs_len;
	be24	data_len;
	uint8_t	reserved2[8];
	be32	itt;
	be16	cid;
	uint8_t	reserved3[2];
	be32	cmd_sn;
	be32	exp_stat_sn;
	uint8_t	reserved4[16];
};
WIRE_SIZE(struct iscsi_logout_req, 48);
WIRE_AT(struct iscsi_logout_req, cid, 20);

enum {					/* response (11.15.1) */
	ISCSI_LOGOUT_OK = 0,
	ISCSI_LOGOUT_NO_CID = 1,
	ISCSI_LOGOUT_NO_RECOVERY = 2,
	ISCSI_LOGOUT_FAILED = 3,
};

struct iscsi_logout_rsp {
	uint8_t	opcode;			/* ISCSI_LOGOUT_RSP */
	uint8_t	flags;			/* F, always */
	uint8_t	response;
	uint8_t	reserved;
	uint8_t	ahs_len;
	be24	data_len;
	uint8_t	reserved2[8];
	be32	itt;
	uint8_t	reserved3[4];
	be32	stat_sn, exp_cmd_sn, max_cmd_sn;
	uint8_t	reserved4[4];
	be16	time2wait, time2retain;
	uint8_t	reserved5[4];
};
WIRE_SIZE(struct iscsi_logout_rsp, 48);
WIRE_AT(struct iscsi_logout_rsp, stat_sn, 24);
WIRE_AT(struct iscsi_logout_rsp, time2wait, 40);

/* SNACK Request (11.16) */
struct iscsi_snack {
	uint8_t	opcode;			/* ISCSI_SNACK */
	uint8_t	flags;			/* F and the type */
	uint8_t	reserved[2];
	uint8_t	ahs_len;
	be24	data_len;
	uint8_t	lun[8];
	be32	itt, ttt;
	uint8_t	reserved2[4];
	be32	exp_stat_sn;
	uint8_t	reserved3[8];
	be32	beg_run, run_length;
};
WIRE_SIZE(struct iscsi_snack, 48);
WIRE_AT(struct iscsi_snack, beg_run, 40);

/* Reject (11.17); its data segment is the header that was refused */
#define ISCSI_REJECTS(X)                                                            \
	X(ISCSI_REJECT_DATA_DIGEST, 0x02, "data digest error")                      \
	X(ISCSI_REJECT_SNACK, 0x03, "SNACK refused")                                \
	X(ISCSI_REJECT_PROTOCOL, 0x04, "protocol error")                            \
	X(ISCSI_REJECT_UNSUPPORTED, 0x05, "command not supported")                  \
	X(ISCSI_REJECT_TOO_MANY, 0x06, "too many immediate commands")               \
	X(ISCSI_REJECT_IN_PROGRESS, 0x07, "task in progress")                       \
	X(ISCSI_REJECT_DATA_ACK, 0x08, "invalid data acknowledgement")              \
	X(ISCSI_REJECT_FIELD, 0x09, "invalid PDU field")                            \
	X(ISCSI_REJECT_RESOURCES, 0x0a, "out of resources")                         \
	X(ISCSI_REJECT_NEGOTIATION, 0x0b, "negotiation reset")                      \
	X(ISCSI_REJECT_LOGOUT, 0x0c, "waiting for logout")

#define X(name, value, text) name = value,
enum iscsi_reject_reason { ISCSI_REJECTS(X) };
#undef X

struct iscsi_reject {
	uint8_t	opcode;			/* ISCSI_REJECT */
	uint8_t	flags;			/* F, always */
	uint8_t	reason;
	uint8_t	reserved;
	uint8_t	ahs_len;
	be24	data_len;
	uint8_t	reserved2[8];
	be32	itt;			/* ISCSI_NO_TAG */
	uint8_t	reserved3[4];
	be32	stat_sn, exp_cmd_sn, max_cmd_sn;
	be32	data_sn;
	uint8_t	reserved4[8];
};
WIRE_SIZE(struct iscsi_reject, 48);
WIRE_AT(struct iscsi_reject, stat_sn, 24);
WIRE_AT(struct iscsi_reject, data_sn, 36);

/* NOP-Out and NOP-In (11.18, 11.19) */
struct iscsi_nop_out {
	uint8_t	opcode;			/* ISCSI_NOP_OUT */
	uint8_t	flags;			/* F, always */
	uint8_t	reserved[2];
	uint8_t	ahs_len;
	be24	data_len;		/* ping data */
	uint8_t	lun[8];
	be32	itt;			/* ISCSI_NO_TAG: no answer wanted */
	be32	ttt;			/* the target's ping, or ISCSI_NO_TAG */
	be32	cmd_sn;
	be32	exp_stat_sn;
	uint8_t	reserved2[16];
};
WIRE_SIZE(struct iscsi_nop_out, 48);
WIRE_AT(struct iscsi_nop_out, ttt, 20);

struct iscsi_nop_in {
	uint8_t	opcode;			/* ISCSI_NOP_IN */
	uint8_t	flags;			/* F, always */
	uint8_t	reserved[2];
	uint8_t	ahs_len;
	be24	data_len;
	uint8_t	lun[8];
	be32	itt;			/* ISCSI_NO_TAG: the target's ping */
	be32	ttt;			/* ISCSI_NO_TAG: an answer, or no answer wanted */
	be32	stat_sn, exp_cmd_sn, max_cmd_sn;
	uint8_t	reserved2[12];
};
WIRE_SIZE(struct iscsi_nop_in, 48);
WIRE_AT(struct iscsi_nop_in, stat_sn, 24);

#endif
