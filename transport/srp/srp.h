/* SRP information units as they stand on the wire (T10 SRP r16a; SRP-2 for immediate data). */
#ifndef SRP_SRP_H
#define SRP_SRP_H

#include <stddef.h>
#include <stdint.h>

#include "wire.h"

/* X(name, value, text for logs) */
#define SRP_OPCODES(X)                                                              \
	X(SRP_LOGIN_REQ, 0x00, "SRP_LOGIN_REQ")                                     \
	X(SRP_TSK_MGMT, 0x01, "SRP_TSK_MGMT")                                       \
	X(SRP_CMD, 0x02, "SRP_CMD")                                                 \
	X(SRP_I_LOGOUT, 0x03, "SRP_I_LOGOUT")                                       \
	X(SRP_CRED_RSP, 0x41, "SRP_CRED_RSP")                                       \
	X(SRP_AER_RSP, 0x42, "SRP_AER_RSP")                                         \
	X(SRP_T_LOGOUT, 0x80, "SRP_T_LOGOUT")                                       \
	X(SRP_CRED_REQ, 0x81, "SRP_CRED_REQ")                                       \
	X(SRP_AER_REQ, 0x82, "SRP_AER_REQ")                                         \
	X(SRP_LOGIN_RSP, 0xc0, "SRP_LOGIN_RSP")                                     \
	X(SRP_RSP, 0xc1, "SRP_RSP")                                                 \
	X(SRP_LOGIN_REJ, 0xc2, "SRP_LOGIN_REJ")

#define X(name, value, text) name = value,
enum srp_opcode { SRP_OPCODES(X) };
#undef X
const char *srp_opcode_name(unsigned opcode);

/* -- login -- */

enum {				/* buffer formats, of requests and responses */
	SRP_BUF_FORMAT_DIRECT = 1 << 1,
	SRP_BUF_FORMAT_INDIRECT = 1 << 2,
};

enum {				/* srp_login_req.req_flags */
	SRP_MULTICHAN_SINGLE = 0x00,	/* other channels of this I_T nexus end */
	SRP_MULTICHAN_MULTI = 0x01,	/* they stay */
	SRP_MULTICHAN_MASK = 0x03,
	SRP_LOSOLNT = 0x10,		/* logouts with solicited notification, */
	SRP_CRSOLNT = 0x20,		/* credit requests, */
	SRP_AESOLNT = 0x40,		/* asynchronous events */
	SRP_IMMED_REQUESTED = 0x80,	/* SRP-2 */
};

struct srp_login_req {
	uint8_t	opcode;
	uint8_t	reserved1[7];
	be64	tag;
	be32	req_it_iu_len;
	uint8_t	reserved2[4];
	be16	req_buf_fmt;
	uint8_t	req_flags;
	uint8_t	reserved3;
	be16	imm_data_offset;	/* SRP-2 */
	uint8_t	reserved4[2];
	uint8_t	initiator_port_id[16];
	uint8_t	target_port_id[16];
};
WIRE_SIZE(struct srp_login_req, 64);
WIRE_AT(struct srp_login_req, tag, 8);
WIRE_AT(struct srp_login_req, req_it_iu_len, 16);
WIRE_AT(struct srp_login_req, req_buf_fmt, 24);
WIRE_AT(struct srp_login_req, req_flags, 26);
WIRE_AT(struct srp_login_req, imm_data_offset, 28);
WIRE_AT(struct srp_login_req, initiator_port_id, 32);
WIRE_AT(struct srp_login_req, target_port_id, 48);

/* The same without most of what is reserved: RDMA/CM leaves 56 bytes of private data. */
struct srp_login_req_rdma {
	be64	tag;
	be16	req_buf_fmt;
	uint8_t	req_flags;
	uint8_t	opcode;
	be32	req_it_iu_len;
	uint8_t	initiator_port_id[16];
	uint8_t	target_port_id[16];
	be16	imm_data_offset;
	uint8_t	reserved[6];
};
WIRE_SIZE(struct srp_login_req_rdma, 56);
WIRE_AT(struct srp_login_req_rdma, req_flags, 10);
WIRE_AT(struct srp_login_req_rdma, opcode, 11);
WIRE_AT(struct srp_login_req_rdma, initiator_port_id, 16);
WIRE_AT(struct srp_login_req_rdma, target_port_id, 32);
WIRE_AT(struct srp_login_req_rdma, imm_data_offset, 48);

enum {				/* srp_login_rsp.rsp_flags */
	SRP_MULTICHAN_NO_CHAN = 0x00,
	SRP_MULTICHAN_TERMINATED = 0x01,
	SRP_MULTICHAN_MAINTAINED = 0x02,
	SRP_SOLNTSUP = 0x10,
	SRP_IMMED_SUPP = 0x80,		/* SRP-2 */
};

struct srp_login_rsp {
	uint8_t	opcode;
	uint8_t	reserved1[3];
	be32	req_lim_delta;
	be64	tag;
	be32	max_it_iu_len;
	be32	max_ti_iu_len;
	be16	buf_fmt;
	uint8_t	rsp_flags;
	uint8_t	reserved2[25];
};
WIRE_SIZE(struct srp_login_rsp, 52);
WIRE_AT(struct srp_login_rsp, req_lim_delta, 4);
WIRE_AT(struct srp_login_rsp, max_it_iu_len, 16);
WIRE_AT(struct srp_login_rsp, rsp_flags, 26);

/* X(name, value, text for logs) */
#define SRP_LOGIN_REASONS(X)                                                        \
	X(SRP_LOGIN_REJ_UNABLE_ESTABLISH_CHANNEL, 0x00010000,                       \
	    "unable to establish the channel")                                      \
	X(SRP_LOGIN_REJ_INSUFFICIENT_RESOURCES, 0x00010001,                         \
	    "insufficient resources")                                               \
	X(SRP_LOGIN_REJ_REQ_IT_IU_LENGTH_TOO_LARGE, 0x00010002,                     \
	    "requested information unit length is not supported")                   \
	X(SRP_LOGIN_REJ_UNABLE_ASSOCIATE_CHANNEL, 0x00010003,                       \
	    "unable to associate the channel with this I_T nexus")                  \
	X(SRP_LOGIN_REJ_UNSUPPORTED_DESCRIPTOR_FMT, 0x00010004,                     \
	    "unsupported buffer descriptor format")                                 \
	X(SRP_LOGIN_REJ_MULTI_CHANNEL_UNSUPPORTED, 0x00010005,                      \
	    "no more than one channel for an I_T nexus")                            \
	X(SRP_LOGIN_REJ_CHANNEL_LIMIT_REACHED, 0x00010006,                          \
	    "channel limit reached")

#define X(name, value, text) name = value,
enum srp_login_rej_reason { SRP_LOGIN_OK = 0, SRP_LOGIN_REASONS(X) };
#undef X
const char *srp_login_reason_name(unsigned reason);

struct srp_login_rej {
	uint8_t	opcode;
	uint8_t	reserved1[3];
	be32	reason;
	be64	tag;
	uint8_t	reserved2[8];
	be16	buf_fmt;
	uint8_t	reserved3[6];
};
WIRE_SIZE(struct srp_login_rej, 32);
WIRE_AT(struct srp_login_rej, reason, 4);
WIRE_AT(struct srp_login_rej, buf_fmt, 24);

/* -- logout -- */

struct srp_i_logout {
	uint8_t	opcode;
	uint8_t	reserved[7];
	be64	tag;
};
WIRE_SIZE(struct srp_i_logout, 16);

enum srp_t_logout_reason {
	SRP_T_LOGOUT_NO_REASON = 0,
	SRP_T_LOGOUT_INACTIVE = 1,	/* resources are reclaimed */
	SRP_T_LOGOUT_INVALID_TYPE = 2,	/* an IU of an unknown type came */
	SRP_T_LOGOUT_SPURIOUS_RSP = 3,	/* a response to no request */
	SRP_T_LOGOUT_MULTICHAN = 4,	/* the MULTI-CHANNEL ACTION of a new login */
	SRP_T_LOGOUT_INVALID_LEN = 8,	/* an IU shorter or longer than its type allows */
};

enum { SRP_SOLNT = 0x01 };		/* sol_not of what the target sends */

struct srp_t_logout {
	uint8_t	opcode;
	uint8_t	sol_not;
	uint8_t	reserved[2];
	be32	reason;
	be64	tag;
};
WIRE_SIZE(struct srp_t_logout, 16);

/* -- commands -- */

enum {				/* sol_not of what the initiator sends */
	SRP_SCSOLNT = 0x02,		/* the response of a success with solicited notification, */
	SRP_UCSOLNT = 0x04,		/* that of anything else */
};

enum srp_data_desc {			/* a nibble of srp_cmd.buf_fmt: high is data-out */
	SRP_NO_DATA_DESC = 0,
	SRP_DATA_DESC_DIRECT = 1,
	SRP_DATA_DESC_INDIRECT = 2,
	SRP_DATA_DESC_IMM = 3,		/* SRP-2 */
};

struct srp_direct_buf {			/* a memory descriptor */
	be64	va;
	be32	key;
	be32	len;
};
WIRE_SIZE(struct srp_direct_buf, 16);

/* Followed by as many memory descriptors as the command's count says. */
struct srp_indirect_buf {
	struct srp_direct_buf table_desc;	/* where the whole table is */
	be32	len;				/* bytes of data, over all of it */
};
WIRE_SIZE(struct srp_indirect_buf, 20);

struct srp_imm_buf {
	be32	len;
};
WIRE_SIZE(struct srp_imm_buf, 4);

enum {				/* task attributes: bits 2-0 of task_attr */
	SRP_ATTR_SIMPLE = 0,
	SRP_ATTR_HEAD_OF_QUEUE = 1,
	SRP_ATTR_ORDERED = 2,
	SRP_ATTR_ACA = 4,
	SRP_ATTR_MASK = 7,
};

/* Followed by the rest of the CDB, the data-out descriptor, the data-in descriptor. */
struct srp_cmd {
	uint8_t	opcode;
	uint8_t	sol_not;
	uint8_t	reserved1[3];
	uint8_t	buf_fmt;
	uint8_t	data_out_desc_cnt;
	uint8_t	data_in_desc_cnt;
	be64	tag;
	uint8_t	reserved2[4];
	uint8_t	lun[8];
	uint8_t	reserved3;
	uint8_t	task_attr;
	uint8_t	reserved4;
	uint8_t	add_cdb_len;		/* bits 7-2: in words, so without the rest in bytes */
	uint8_t	cdb[16];
};
WIRE_SIZE(struct srp_cmd, 48);
WIRE_AT(struct srp_cmd, buf_fmt, 5);
WIRE_AT(struct srp_cmd, tag, 8);
WIRE_AT(struct srp_cmd, lun, 20);
WIRE_AT(struct srp_cmd, task_attr, 29);
WIRE_AT(struct srp_cmd, add_cdb_len, 31);
WIRE_AT(struct srp_cmd, cdb, 32);

enum { SRP_ADD_CDB_LEN = 0xfc };

enum {				/* tsk_mgmt_func */
	SRP_TSK_ABORT_TASK = 0x01,
	SRP_TSK_ABORT_TASK_SET = 0x02,
	SRP_TSK_CLEAR_TASK_SET = 0x04,
	SRP_TSK_LUN_RESET = 0x08,
	SRP_TSK_CLEAR_ACA = 0x40,
};

struct srp_tsk_mgmt {
	uint8_t	opcode;
	uint8_t	sol_not;
	uint8_t	reserved1[6];
	be64	tag;
	uint8_t	reserved2[4];
	uint8_t	lun[8];
	uint8_t	reserved3[2];
	uint8_t	tsk_mgmt_func;
	uint8_t	reserved4;
	be64	task_tag;
	uint8_t	reserved5[8];
};
WIRE_SIZE(struct srp_tsk_mgmt, 48);
WIRE_AT(struct srp_tsk_mgmt, lun, 20);
WIRE_AT(struct srp_tsk_mgmt, tsk_mgmt_func, 30);
WIRE_AT(struct srp_tsk_mgmt, task_tag, 32);

/* -- responses -- */

enum {				/* srp_rsp.flags */
	SRP_RSP_RSPVALID = 1 << 0,
	SRP_RSP_SNSVALID = 1 << 1,
	SRP_RSP_DOOVER = 1 << 2,
	SRP_RSP_DOUNDER = 1 << 3,
	SRP_RSP_DIOVER = 1 << 4,
	SRP_RSP_DIUNDER = 1 << 5,
};

/* Followed by resp_data_len bytes of response data, then sense_data_len bytes of sense data. */
struct srp_rsp {
	uint8_t	opcode;
	uint8_t	sol_not;
	uint8_t	reserved1[2];
	be32	req_lim_delta;
	be64	tag;
	uint8_t	reserved2[2];
	uint8_t	flags;
	uint8_t	status;
	be32	data_out_res_cnt;
	be32	data_in_res_cnt;
	be32	sense_data_len;
	be32	resp_data_len;
};
WIRE_SIZE(struct srp_rsp, 36);
WIRE_AT(struct srp_rsp, req_lim_delta, 4);
WIRE_AT(struct srp_rsp, flags, 18);
WIRE_AT(struct srp_rsp, status, 19);
WIRE_AT(struct srp_rsp, sense_data_len, 28);

enum srp_rsp_code {			/* r16a table 24 */
	SRP_TSK_MGMT_COMPLETE = 0x00,
	SRP_RSP_FIELDS_INVALID = 0x02,
	SRP_TSK_MGMT_NOT_SUPPORTED = 0x04,
	SRP_TSK_MGMT_FAILED = 0x05,
};

struct srp_rsp_data {
	uint8_t	reserved[3];
	uint8_t	rsp_code;
};
WIRE_SIZE(struct srp_rsp_data, 4);

/* -- requests of the target -- */

struct srp_cred_req {
	uint8_t	opcode;
	uint8_t	sol_not;
	uint8_t	reserved[2];
	be32	req_lim_delta;
	be64	tag;
};
WIRE_SIZE(struct srp_cred_req, 16);

struct srp_cred_rsp {			/* and srp_aer_rsp */
	uint8_t	opcode;
	uint8_t	reserved[7];
	be64	tag;
};
WIRE_SIZE(struct srp_cred_rsp, 16);

/* Followed by sense_data_len bytes. */
struct srp_aer_req {
	uint8_t	opcode;
	uint8_t	sol_not;
	uint8_t	reserved1[2];
	be32	req_lim_delta;
	be64	tag;
	uint8_t	reserved2[4];
	uint8_t	lun[8];
	be32	sense_data_len;
	uint8_t	reserved3[4];
};
WIRE_SIZE(struct srp_aer_req, 36);
WIRE_AT(struct srp_aer_req, lun, 20);
WIRE_AT(struct srp_aer_req, sense_data_len, 28);

enum {
	SRP_IU_MIN = 64,		/* the least REQUESTED INITIATOR TO TARGET IU LENGTH */
	SRP_TI_IU_MAX = 256,		/* no longer IU is sent: a response, its sense and response data */
};

#endif
