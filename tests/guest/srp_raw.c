/* The raw SRP initiator: logs in, counts credits, and runs what a proper initiator never does. */
#include <stdlib.h>
#include <string.h>

#include "srp_raw.h"
#include "wire.h"

struct raw_target raw_target;
unsigned raw_failures;

bool
raw_ok(const char *what, bool cond, const char *text, int line)
{
	printf("%sok - %s\n", cond ? "" : "not ", what);
	if (!cond) {
		printf("#   line %d: %s\n", line, text);
		raw_failures++;
	}
	fflush(stdout);
	return cond;
}

/* -- logging in -- */

struct srp_login_req_rdma
raw_login_build(struct raw_say say)
{
	struct srp_login_req_rdma h = {
		.tag = put64(0x77),
		.req_buf_fmt = put16(say.fmt ? say.fmt : 6),
		.req_flags = (uint8_t)(say.flags | (say.imm ? SRP_IMMED_REQUESTED : 0)),
		.opcode = say.opcode,
		.req_it_iu_len = put32(say.iu_len ? say.iu_len : 4148),
		.imm_data_offset = put16(say.imm),
	};

	memset(h.initiator_port_id, 0x2a, sizeof(h.initiator_port_id));
	h.initiator_port_id[15] = say.port;
	memcpy(h.target_port_id, raw_target.id, sizeof(h.target_port_id));
	if (say.strange_target)
		h.target_port_id[2] ^= 0xff;
	return h;
}

bool
raw_login(struct raw *r, struct raw_say say)
{
	struct srp_login_req_rdma h = raw_login_build(say);

	if (!raw_connect(r, &h, sizeof(h)) || r->state != RAW_UP || r->answer_len < sizeof(r->rsp))
		return false;
	memcpy(&r->rsp, r->answer, sizeof(r->rsp));
	if (r->rsp.opcode != SRP_LOGIN_RSP || get64(r->rsp.tag) != 0x77)
		return false;
	r->limit = r->granted = get32(r->rsp.req_lim_delta);
	return true;
}

uint32_t
raw_reason(const struct raw *r)
{
	struct srp_login_rej rej;

	if (r->state != RAW_REFUSED || r->answer_len < sizeof(rej))
		return 0;
	memcpy(&rej, r->answer, sizeof(rej));
	return rej.opcode == SRP_LOGIN_REJ ? get32(rej.reason) : 0;
}

/* -- requests -- */

bool
raw_request(struct raw *r, const struct build *u)
{
	if (!r->limit)
		return false;
	r->limit--;
	r->sent++;
	return raw_send(r, u->b, u->len);
}

static void
answer(struct raw *r, uint8_t opcode, be64 tag)
{
	struct srp_cred_rsp h = { .opcode = opcode, .tag = tag };

	raw_send(r, &h, sizeof(h));
}

/* The next response; requests of the target are answered on the way. */
static int
response_next(struct raw *r, uint8_t iu[SRP_TI_IU_MAX], int ms)
{
	int len;

	while ((len = raw_recv(r, iu, SRP_TI_IU_MAX, ms)) >= 16) {
		const struct srp_rsp *rsp = (const void *)iu;

		if (iu[0] == SRP_T_LOGOUT)
			return -1;
		r->limit += get32(rsp->req_lim_delta);
		r->granted += get32(rsp->req_lim_delta);
		if (iu[0] == SRP_RSP)
			return len;
		answer(r, iu[0] == SRP_AER_REQ ? SRP_AER_RSP : SRP_CRED_RSP, rsp->tag);
	}
	return -1;
}

bool
raw_any(struct raw *r, struct srp_rsp *rsp)
{
	uint8_t iu[SRP_TI_IU_MAX];

	if (response_next(r, iu, 10000) < (int)sizeof(*rsp))
		return false;
	memcpy(rsp, iu, sizeof(*rsp));
	return true;
}

bool
raw_response(struct raw *r, uint64_t tag, struct srp_rsp *rsp, uint8_t sense[96])
{
	uint8_t iu[SRP_TI_IU_MAX];
	int len;

	while ((len = response_next(r, iu, 10000)) >= (int)sizeof(*rsp)) {
		memcpy(rsp, iu, sizeof(*rsp));
		if (get64(rsp->tag) != tag)
			continue;
		if (sense) {
			memset(sense, 0, 96);
			len -= (int)sizeof(*rsp);
			memcpy(sense, iu + sizeof(*rsp), (size_t)(len < 96 ? len : 96));
		}
		return true;
	}
	return false;
}

uint64_t
raw_cmd(struct raw *r, struct build *u, const uint8_t cdb[16])
{
	build_cmd(u, r->tag, cdb, 16);
	return r->tag++;
}

uint64_t
raw_rw(struct raw *r, struct build *u, bool out, uint32_t lba, uint16_t blocks)
{
	uint8_t cdb[16] = { out ? 0x2a : 0x28 };

	wr32(cdb + 2, lba);
	wr16(cdb + 7, blocks);
	return raw_cmd(r, u, cdb);
}

bool
raw_ready(struct raw *r)
{
	static const uint8_t tur[16];
	static struct build u;
	struct srp_rsp rsp;

	for (int i = 0; i < 5; i++) {
		uint64_t tag = raw_cmd(r, &u, tur);

		if (!raw_request(r, &u) || !raw_response(r, tag, &rsp, NULL))
			return false;
		if (!rsp.status)
			return true;
	}
	return false;
}

bool
raw_at_rest(struct raw *r)
{
	uint8_t iu[SRP_TI_IU_MAX];

	for (int i = 0; i < 20 && r->limit != get32(r->rsp.req_lim_delta); i++)
		response_next(r, iu, 100);
	return r->state == RAW_UP && r->limit == get32(r->rsp.req_lim_delta) &&
	    r->granted == r->limit + r->sent;
}

int
main(int argc, char **argv)
{
	if (argc != 4 || strlen(argv[3]) != 32) {
		fprintf(stderr, "usage: srp_raw ADDRESS PORT TARGET_PORT (32 hex digits)\n");
		return 2;
	}
	raw_target.address = argv[1];
	raw_target.port = argv[2];
	for (int i = 0; i < 16; i++) {
		char byte[3] = { argv[3][2 * i], argv[3][2 * i + 1], 0 };

		raw_target.id[i] = (uint8_t)strtoul(byte, NULL, 16);
	}
	raw_logins();
	raw_units();
	raw_ends();
	return raw_failures != 0;
}
