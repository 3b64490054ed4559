/* PERSISTENT RESERVE OUT (SPC-4 6.14), and RESERVE and RELEASE of SPC-2. */
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "cmd.h"
#include "conf.h"
#include "reserve.h"
#include "transport_id.h"

enum {
	BASIC_LEN = 24, LIST_AT = 28,	/* SPEC_I_PT: the TransportIDs begin there */
	OUT_MAX = 16 * 1024,		/* of parameter data: what is longer is refused */
	SPEC_I_PT = 0x08, ALL_TG_PT = 0x04, APTPL = 0x01,	/* byte 20 */
	MOVE_UNREG = 0x02, MOVE_APTPL = 0x01,			/* byte 17 of REGISTER AND MOVE */
	ALSO_MAX = 512,
};

static unsigned
out_action(const struct scsi_cmd *cmd)
{
	return cmd->cdb[1] & 0x1f;
}

/* Does the action look at scope and type (SPC-4 table 213)? */
static bool
action_has_type(unsigned action)
{
	return action == PR_RESERVE || action == PR_RELEASE || action == PR_PREEMPT ||
	    action == PR_PREEMPT_ABORT || action == PR_REPLACE_LOST;
}

static bool
out_check(struct scsi_cmd *cmd)
{
	uint32_t len = rd32(cmd->cdb + 5);
	unsigned action = out_action(cmd);

	if (action_has_type(action) && cmd->cdb[2] >> 4) {
		cmd_fail_field(cmd, 2, 7);	/* only the whole unit can be reserved */
		return false;
	}
	if (action_has_type(action) && !pr_type_known(cmd->cdb[2] & 0x0f)) {
		cmd_fail_field(cmd, 2, 3);
		return false;
	}
	if (len < BASIC_LEN || len > OUT_MAX) {
		cmd_fail(cmd, COND_PARAM_LENGTH);
		return false;
	}
	cmd->asked = len;
	if (cmd->edtl_out < len) {
		cmd_fail(cmd, COND_INVALID_IU);
		return false;
	}
	cmd->len = len;
	return true;
}

/* Copies the parameter list into one piece, once. False: memory is short. */
static bool
out_gather(struct scsi_cmd *cmd)
{
	uint32_t at = 0;

	if (cmd->ntmp)
		return true;
	if (!cmd_room_tmp(cmd, OUT_MAX))
		return false;
	for (const struct iovec *v = cmd->iov; at < cmd->len; v++) {
		uint32_t n = (uint32_t)MIN(v->iov_len, cmd->len - at);

		memcpy((uint8_t *)cmd->tmp[0].iov_base + at, v->iov_base, n);
		at += n;
	}
	return true;
}

/* What is being asked, with the list that may come with it. */
struct out {
	struct scsi_cmd *cmd;
	const uint8_t *p;
	struct pr_ask ask;
	unsigned room;
};

/* False: too many. */
static bool
also_add(struct out *o, const struct pr_nexus *nexus, const char *target)
{
	struct pr_nexus *also = o->ask.also;

	if (o->ask.nalso == ALSO_MAX)
		return false;
	if (o->ask.nalso == o->room) {
		o->room = o->room ? 2 * o->room : 8;
		also = realloc(also, o->room * sizeof(also[0]));
		if (!also)
			return false;
		o->ask.also = also;
	}
	also += o->ask.nalso++;
	*also = *nexus;
	memset(also->target, 0, sizeof(also->target));
	snprintf(also->target, sizeof(also->target), "%s", target);
	return true;
}

static bool
target_shows(const struct target *target, const struct lu *lu)
{
	for (uint32_t i = 0; i < target->nluns; i++)
		if (target->luns[i].lu == lu)
			return true;
	return false;
}

/* The nexus, through every target that has the unit (ALL_TG_PT), or through its own. */
static bool
also_ports(struct out *o, const struct pr_nexus *nexus, bool all)
{
	struct target *t;

	if (!all)
		return also_add(o, nexus, o->ask.nexus.target);
	for (t = target_next(NULL); t; t = target_next(t))
		if (target_shows(t, o->cmd->lu) && !also_add(o, nexus, target_conf(t)->name))
			return false;
	return true;
}

/* SPC-4 6.14.3, SPEC_I_PT: a list of TransportIDs behind the basic parameters. False: answered. */
static bool
also_list(struct out *o, bool all)
{
	uint32_t len = o->cmd->len, at = LIST_AT;

	if (len < LIST_AT || rd32(o->p + BASIC_LEN) != len - LIST_AT) {
		cmd_fail(o->cmd, COND_PARAM_LENGTH);
		return false;
	}
	while (at < len) {
		struct pr_nexus nexus = { 0 };
		unsigned n = transport_id_get(o->p + at, len - at, &nexus);

		if (!n) {
			cmd_fail_param(o->cmd, at, -1);
			return false;
		}
		if (!also_ports(o, &nexus, all)) {
			cmd_fail(o->cmd, COND_NO_REGISTRATIONS);
			return false;
		}
		at += n;
	}
	return true;
}

/* False: answered. */
static bool
register_read(struct out *o)
{
	uint8_t bits = o->p[20];
	bool spec = bits & SPEC_I_PT, all = bits & ALL_TG_PT;

	o->ask.aptpl = bits & APTPL;
	/* SPC-4 6.14.3: a list only for REGISTER. */
	if (spec && o->ask.action != PR_REGISTER) {
		cmd_fail_param(o->cmd, 20, 3);
		return false;
	}
	if (!spec && o->cmd->len != BASIC_LEN) {
		cmd_fail(o->cmd, COND_PARAM_LENGTH);
		return false;
	}
	if (all && !also_ports(o, &o->ask.nexus, true)) {
		cmd_fail(o->cmd, COND_NO_REGISTRATIONS);
		return false;
	}
	return !spec || also_list(o, all);
}

static const struct target *
target_of_port(uint16_t port, const struct lu *lu)
{
	struct target *t;

	for (t = target_next(NULL); t; t = target_next(t))
		if (t->port == port && target_shows(t, lu))
			return t;
	return NULL;
}

/* SPC-4 6.14.4: parameters of REGISTER AND MOVE. False: answered. */
static bool
move_read(struct out *o)
{
	const struct target *target = target_of_port(rd16(o->p + 18), o->cmd->lu);
	struct pr_nexus nexus = { 0 };
	uint32_t len = o->cmd->len;

	o->ask.unreg = o->p[17] & MOVE_UNREG;
	o->ask.aptpl = o->p[17] & MOVE_APTPL;
	if (rd32(o->p + 20) != len - BASIC_LEN) {
		cmd_fail(o->cmd, COND_PARAM_LENGTH);
		return false;
	}
	if (!target) {
		cmd_fail_param(o->cmd, 18, -1);
		return false;
	}
	if (transport_id_get(o->p + BASIC_LEN, len - BASIC_LEN, &nexus) != len - BASIC_LEN) {
		cmd_fail_param(o->cmd, BASIC_LEN, -1);
		return false;
	}
	if (!also_add(o, &nexus, target_conf(target)->name)) {
		cmd_fail(o->cmd, COND_NO_REGISTRATIONS);
		return false;
	}
	return true;
}

/* False: answered. */
static bool
out_read(struct out *o)
{
	switch (o->ask.action) {
	case PR_REGISTER:
	case PR_REGISTER_IGNORE:
		return register_read(o);
	case PR_MOVE:
		return move_read(o);
	case PR_REPLACE_LOST:
		o->ask.aptpl = o->p[20] & APTPL;
		/* SPC-4 5.13.11.4: there must be something to replace. */
		if (!o->cmd->lu->pr.lost) {
			cmd_fail_field(o->cmd, 1, 4);
			return false;
		}
		break;
	}
	if (o->cmd->len != BASIC_LEN) {
		cmd_fail(o->cmd, COND_PARAM_LENGTH);
		return false;
	}
	return true;
}

static void
out_exec(struct scsi_cmd *cmd)
{
	struct out o = { .cmd = cmd };

	if (!out_gather(cmd))
		return;
	o.p = cmd->tmp[0].iov_base;
	o.ask.action = (uint8_t)out_action(cmd);
	o.ask.type = cmd->cdb[2] & 0x0f;
	o.ask.keys = (struct pr_keys){ rd64(o.p), rd64(o.p + 8) };
	pr_nexus_of(cmd->nexus, &o.ask.nexus);
	if (out_read(&o))
		reserve_change(cmd, &o.ask);
	free(o.ask.also);
}

static void
reserve_exec(struct scsi_cmd *cmd)
{
	if (reserve_take(cmd))
		cmd_good(cmd);
	else
		cmd_status(cmd, SCSI_RESERVATION_CONFLICT);
}

static void
release_exec(struct scsi_cmd *cmd)
{
	if (reserve_give(cmd))
		cmd_good(cmd);
	else
		cmd_status(cmd, SCSI_RESERVATION_CONFLICT);
}

#define PR_OUT(name, sa)                                                            \
	{ "PERSISTENT RESERVE OUT, " name, OP_PR_OUT, 10, sa, ROW_OUT | ROW_SA,     \
	    { OP_PR_OUT, 0x1f, 0xff, 0, 0, 0xff, 0xff, 0xff, 0xff }, out_check, out_exec }

static const struct cmd_row pr_out[] = {
	PR_OUT("REGISTER", PR_REGISTER),
	PR_OUT("RESERVE", PR_RESERVE),
	PR_OUT("RELEASE", PR_RELEASE),
	PR_OUT("CLEAR", PR_CLEAR),
	PR_OUT("PREEMPT", PR_PREEMPT),
	PR_OUT("PREEMPT AND ABORT", PR_PREEMPT_ABORT),
	PR_OUT("REGISTER AND IGNORE EXISTING KEY", PR_REGISTER_IGNORE),
	PR_OUT("REGISTER AND MOVE", PR_MOVE),
	PR_OUT("REPLACE LOST RESERVATION", PR_REPLACE_LOST),
	/* SPC-2 7.21, 7.22, 7.16, 7.17: the whole unit, for oneself. */
	{ "RESERVE(6)", OP_RESERVE_6, 6, 0, 0, { OP_RESERVE_6 }, NULL, reserve_exec },
	{ "RELEASE(6)", OP_RELEASE_6, 6, 0, 0, { OP_RELEASE_6 }, NULL, release_exec },
	{ "RESERVE(10)", OP_RESERVE_10, 10, 0, 0, { OP_RESERVE_10 }, NULL, reserve_exec },
	{ "RELEASE(10)", OP_RELEASE_10, 10, 0, 0, { OP_RELEASE_10 }, NULL, release_exec },
};
CMD_FAMILY(pr_out);
