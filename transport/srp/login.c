/* Logins: both forms of the request, what is granted, and why not (T10 SRP r16a). */
#include "login.h"

#include <string.h>

enum { FORMATS = SRP_BUF_FORMAT_DIRECT | SRP_BUF_FORMAT_INDIRECT };

static bool
parse_rdma(const struct srp_login_req_rdma *h, struct login_req *req)
{
	req->tag = get64(h->tag);
	req->iu_len = get32(h->req_it_iu_len);
	req->buf_fmt = get16(h->req_buf_fmt);
	req->imm_offset = get16(h->imm_data_offset);
	req->flags = h->req_flags;
	memcpy(req->i_port, h->initiator_port_id, sizeof(req->i_port));
	memcpy(req->t_port, h->target_port_id, sizeof(req->t_port));
	return h->opcode == SRP_LOGIN_REQ;
}

static bool
parse_ib(const struct srp_login_req *h, struct login_req *req)
{
	req->tag = get64(h->tag);
	req->iu_len = get32(h->req_it_iu_len);
	req->buf_fmt = get16(h->req_buf_fmt);
	req->imm_offset = get16(h->imm_data_offset);
	req->flags = h->req_flags;
	memcpy(req->i_port, h->initiator_port_id, sizeof(req->i_port));
	memcpy(req->t_port, h->target_port_id, sizeof(req->t_port));
	return h->opcode == SRP_LOGIN_REQ;
}

bool
login_parse(const uint8_t *data, uint32_t len, struct login_req *req)
{
	memset(req, 0, sizeof(*req));
	if (len >= sizeof(struct srp_login_req))
		return parse_ib((const void *)data, req);
	if (len >= sizeof(struct srp_login_req_rdma))
		return parse_rdma((const void *)data, req);
	return false;
}

enum srp_login_rej_reason
login_check(const struct login_req *req, const struct login_limits *limits,
    struct login_terms *terms)
{
	uint8_t multichan = req->flags & SRP_MULTICHAN_MASK;

	*terms = (struct login_terms){
		.it_iu_len = req->iu_len,
		.multi = multichan == SRP_MULTICHAN_MULTI,
		.solnt = req->flags & (SRP_LOSOLNT | SRP_CRSOLNT | SRP_AESOLNT),
	};
	/* Too small has no reason of its own. */
	if (req->iu_len < SRP_IU_MIN || req->iu_len > limits->iu_max)
		return SRP_LOGIN_REJ_REQ_IT_IU_LENGTH_TOO_LARGE;
	if (req->buf_fmt & ~FORMATS)
		return SRP_LOGIN_REJ_UNSUPPORTED_DESCRIPTOR_FMT;
	if (multichan != SRP_MULTICHAN_SINGLE && multichan != SRP_MULTICHAN_MULTI)
		return SRP_LOGIN_REJ_MULTI_CHANNEL_UNSUPPORTED;
	/* An offset where no data can be is no reason to refuse: it may do without. */
	if (req->flags & SRP_IMMED_REQUESTED &&
	    req->imm_offset >= sizeof(struct srp_cmd) + sizeof(struct srp_imm_buf) &&
	    req->imm_offset < req->iu_len)
		terms->imm_offset = req->imm_offset;
	return SRP_LOGIN_OK;
}

void
login_rsp(struct srp_login_rsp *rsp, const struct login_req *req, const struct login_terms *terms,
    uint32_t credits, uint8_t multichan)
{
	*rsp = (struct srp_login_rsp){
		.opcode = SRP_LOGIN_RSP,
		.req_lim_delta = put32(credits),
		.tag = put64(req->tag),
		.max_it_iu_len = put32(terms->it_iu_len),
		.max_ti_iu_len = put32(SRP_TI_IU_MAX),
		.buf_fmt = put16(FORMATS),
		.rsp_flags = (uint8_t)(multichan | SRP_SOLNTSUP |
		    (terms->imm_offset ? SRP_IMMED_SUPP : 0)),
	};
}

void
login_rej(struct srp_login_rej *rej, uint64_t tag, enum srp_login_rej_reason reason)
{
	*rej = (struct srp_login_rej){
		.opcode = SRP_LOGIN_REJ,
		.reason = put32(reason),
		.tag = put64(tag),
		.buf_fmt = put16(FORMATS),
	};
}

const char *
srp_login_reason_name(unsigned reason)
{
#define X(name, value, text) case value: return text;
	switch (reason) {
	SRP_LOGIN_REASONS(X)
	}
#undef X
	return "unknown reason";
}
