/* The private data of a request to connect over RDMA, in memory of exactly its size. */
#include <stdlib.h>
#include <string.h>

#include "util.h"

#include "transport/srp/login.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PRIVATE_MAX = 256, IU_MAX_HERE = 16384 };

static void
require(bool ok)
{
	if (!ok)
		abort();
}

/* What must hold of terms that are granted. */
static void
granted(const struct login_req *req, const struct login_terms *terms)
{
	struct srp_login_rsp rsp;

	require(terms->it_iu_len >= SRP_IU_MIN && terms->it_iu_len <= IU_MAX_HERE);
	require(terms->it_iu_len == req->iu_len);
	require(!terms->imm_offset ||
	    (terms->imm_offset >= 52 && terms->imm_offset < terms->it_iu_len));
	require(!(req->buf_fmt & ~(SRP_BUF_FORMAT_DIRECT | SRP_BUF_FORMAT_INDIRECT)));
	login_rsp(&rsp, req, terms, 7, SRP_MULTICHAN_MAINTAINED);
	require(get64(rsp.tag) == req->tag && get32(rsp.req_lim_delta) == 7);
	require(!!(rsp.rsp_flags & SRP_IMMED_SUPP) == !!terms->imm_offset);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct login_limits limits = { .iu_max = IU_MAX_HERE };
	uint32_t len = (uint32_t)MIN(size, (size_t)PRIVATE_MAX);
	enum srp_login_rej_reason reason;
	uint8_t *exact = calloc(1, len ? len : 1);
	struct login_terms terms;
	struct srp_login_rej rej;
	struct login_req req;

	require(exact);
	if (len)
		memcpy(exact, data, len);
	if (login_parse(exact, len, &req)) {
		require(len >= sizeof(struct srp_login_req_rdma));
		reason = login_check(&req, &limits, &terms);
		require(*srp_login_reason_name(reason));
		if (reason == SRP_LOGIN_OK)
			granted(&req, &terms);
		login_rej(&rej, req.tag, reason);
		require(get64(rej.tag) == req.tag);
	} else {
		require(len >= sizeof(struct srp_login_req_rdma) || !req.tag);
	}
	free(exact);
	return 0;
}
