/* PERSISTENT RESERVE IN (SPC-4 6.13): what is registered and reserved, as a nexus may see it any time. */
#include <string.h>

#include "access.h"
#include "cmd.h"
#include "conf.h"
#include "reserve.h"
#include "transport_id.h"

enum { HEADER = 8, KEY_LEN = 8, FULL_HEAD = 24, IN_MAX = BUF_SEG_MAX };

/* The generation and the length of what follows. */
static uint32_t
header_put(uint8_t *p, const struct pr *pr, uint32_t len)
{
	wr32(p, pr->generation);
	wr32(p + 4, len - HEADER);
	return len;
}

static void
in_done(struct scsi_cmd *cmd, uint32_t len)
{
	param_done(cmd, MIN(len, (uint32_t)IN_MAX), rd16(cmd->cdb + 7));
}

static void
keys_exec(struct scsi_cmd *cmd)
{
	struct lu *lu = cmd->lu;
	uint8_t *p = param_room(cmd, HEADER + PR_REGS_MAX * KEY_LEN);
	uint32_t len = HEADER;

	if (!p)
		return;
	pthread_mutex_lock(&lu->lock);
	for (unsigned i = 0; i < lu->pr.n; i++, len += KEY_LEN)
		wr64(p + len, lu->pr.reg[i].key);
	header_put(p, &lu->pr, len);
	pthread_mutex_unlock(&lu->lock);
	in_done(cmd, len);
}

static void
reservation_exec(struct scsi_cmd *cmd)
{
	enum { RESERVATION_LEN = 16 };
	struct lu *lu = cmd->lu;
	uint8_t *p = param_room(cmd, HEADER + RESERVATION_LEN);
	uint32_t len = HEADER;

	if (!p)
		return;
	pthread_mutex_lock(&lu->lock);
	if (lu->pr.type != PR_NONE) {
		/* One of all registrants has no key of its own. */
		wr64(p + HEADER, lu->pr.holder < 0 ? 0 : lu->pr.reg[lu->pr.holder].key);
		p[HEADER + 13] = lu->pr.type;
		len += RESERVATION_LEN;
	}
	header_put(p, &lu->pr, len);
	pthread_mutex_unlock(&lu->lock);
	in_done(cmd, len);
}

static void
capabilities_exec(struct scsi_cmd *cmd)
{
	enum {
		CAPABILITIES_LEN = 8,
		RLR_C = 0x80, CRH = 0x10, SIP_C = 0x08, ATP_C = 0x04, PTPL_C = 0x01,
		TMV = 0x80, ALLOW_COMMANDS = 3 << 4, PTPL_A = 0x01,
		TYPES_LOW = 0xea, TYPES_HIGH = 0x01,	/* all six types */
	};
	uint8_t *p = param_room(cmd, CAPABILITIES_LEN);

	if (!p)
		return;
	wr16(p, CAPABILITIES_LEN);
	p[2] = RLR_C | CRH | SIP_C | ATP_C | PTPL_C;
	pthread_mutex_lock(&cmd->lu->lock);
	p[3] = TMV | ALLOW_COMMANDS | (cmd->lu->pr.aptpl ? PTPL_A : 0);
	pthread_mutex_unlock(&cmd->lu->lock);
	p[4] = TYPES_LOW;
	p[5] = TYPES_HIGH;
	in_done(cmd, CAPABILITIES_LEN);
}

/* The relative port of a target that may be gone: then 0, which SPC-4 reserves. */
static uint16_t
port_of(const char *name)
{
	const struct target *target = target_find(name);

	return target ? target->port : 0;
}

/* SPC-4 6.13.5: one full status descriptor; its length. */
static uint32_t
full_put(uint8_t *p, const struct pr *pr, int i)
{
	enum { R_HOLDER = 0x01 };
	const struct pr_reg *reg = &pr->reg[i];
	unsigned id = transport_id_put(p + FULL_HEAD, &reg->nexus);

	wr64(p, reg->key);
	if (pr_holds(pr, i)) {
		p[12] = R_HOLDER;
		p[13] = pr->type;
	}
	wr16(p + 18, port_of(reg->nexus.target));
	wr32(p + 20, id);
	return FULL_HEAD + id;
}

/* What does not fit the memory of the answer is counted all the same: no CDB can ask for it. */
static void
full_exec(struct scsi_cmd *cmd)
{
	struct lu *lu = cmd->lu;
	uint8_t *p = param_room(cmd, IN_MAX), one[FULL_HEAD + TRANSPORT_ID_MAX];
	uint32_t len = HEADER;

	if (!p)
		return;
	pthread_mutex_lock(&lu->lock);
	for (unsigned i = 0; i < lu->pr.n; i++) {
		uint32_t n;

		memset(one, 0, sizeof(one));
		n = full_put(one, &lu->pr, (int)i);
		if (len + n <= IN_MAX)
			memcpy(p + len, one, n);
		len += n;
	}
	header_put(p, &lu->pr, len);
	pthread_mutex_unlock(&lu->lock);
	in_done(cmd, len);
}

#define PR_IN(name, sa, exec)                                                       \
	{ "PERSISTENT RESERVE IN, " name, OP_PR_IN, 10, sa, ROW_IN | ROW_SA,        \
	    { OP_PR_IN, 0x1f, 0, 0, 0, 0, 0, 0xff, 0xff }, NULL, exec }

static const struct cmd_row pr_in[] = {
	PR_IN("READ KEYS", 0, keys_exec),
	PR_IN("READ RESERVATION", 1, reservation_exec),
	PR_IN("REPORT CAPABILITIES", 2, capabilities_exec),
	PR_IN("READ FULL STATUS", 3, full_exec),
};
CMD_FAMILY(pr_in);
