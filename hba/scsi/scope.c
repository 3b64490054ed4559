/* Which commands a task management function is about, and how they end. */
#include "scope.h"

#include "scsi_cmd.h"
#include "scsi_tmf.h"

#include "access.h"
#include "core.h"
#include "fence.h"
#include "nexus.h"
#include "reserve.h"
#include "submit.h"
#include "tmf.h"
#include "ua.h"
#include "yield.h"

struct scope
scope_of(const struct scsi_tmf *tmf)
{
	struct scope s = { .fn = tmf->fn, .live = tmf->live, .id = tmf->id, .tag = tmf->tag,
		.cut = tmf->cut, .nexus = tmf->nexus, .target = tmf->nexus->target,
		.lu = tmf->lu };

	return s;
}

static bool
target_has(const struct target *target, const struct lu *lu)
{
	for (uint32_t i = 0; i < target->nluns; i++)
		if (target->luns[i].lu == lu)
			return true;
	return false;
}

/* Is it a task of this unit? A copy is one of the unit it was sent to and of the one it works on. */
static bool
is_in(const struct scsi_cmd *cmd, const struct lu *lu)
{
	return cmd->lu == lu || (cmd->home && cmd->home->lu == lu);
}

/* The unit as its nexus sees it. */
static struct nexus_lun *
part_in(const struct scsi_cmd *cmd, const struct lu *lu)
{
	return cmd->lu == lu ? cmd->nlun : cmd->home;
}

static bool
scope_has(const struct scope *s, const struct scsi_cmd *cmd)
{
	switch ((enum tmf_fn)s->fn) {
	case TMF_ABORT_TASK:
	case TMF_QUERY_TASK:
		return cmd->nexus == s->nexus && is_in(cmd, s->lu) && cmd->tag == s->tag;
	case TMF_ABORT_TASK_SET:
	case TMF_QUERY_TASK_SET:
		return is_in(cmd, s->lu) && nexus_is_same(cmd->nexus, s->nexus);
	case TMF_CLEAR_TASK_SET:
	case TMF_LUN_RESET:
		return is_in(cmd, s->lu);
	case TMF_TARGET_RESET:
		return (cmd->lu && target_has(s->target, cmd->lu)) ||
		    (cmd->home && target_has(s->target, cmd->home->lu));
	case TMF_I_T_NEXUS_RESET:
		return cmd->nexus == s->nexus;
	case TMF_CUT:
		return cmd->lu && is_in(cmd, s->lu) &&
		    atomic_load(&part_in(cmd, s->lu)->cut) == s->cut;
	case TMF_CLEAR_ACA:
	case TMF_QUERY_ASYNC_EVENT:
		break;
	}
	return false;
}

void
tmf_abort(struct core *core, struct scsi_cmd *cmd, unsigned long long id, struct list *ended)
{
	list_del(&cmd->task);
	cmd->flags |= CMD_ABORTED | CMD_SILENT;
	cmd->abort_id = id;
	cmd->data_in = 0;
	if (cmd->flags & CMD_IN_DISK) {
		if (bridge_cancel(&cmd->req) == BRIDGE_RUNNING) {
			list_add_tail(&core->dying, &cmd->task);
			fence_add(cmd);
			fence_left(cmd);
			return;
		}
		cmd->flags &= (uint16_t)~CMD_IN_DISK;
	} else if (cmd->flags & CMD_PARKED) {
		fence_unpark(cmd);
	} else if (cmd->flags & CMD_YIELDED) {
		yield_cancel(cmd);
	} else if (cmd->flags & CMD_CHANGING) {
		reserve_abandon(cmd);
	} else {
		buf_wait_cancel(&cmd->buf_wait);
	}
	fence_left(cmd);
	list_add_tail(ended, &cmd->task);
}

void
tmf_finish(struct list *ended)
{
	while (!list_empty(ended))
		scsi_complete(list_first(ended, struct scsi_cmd, task));
}

static void
scope_end(struct core *core, const struct scope *s, struct nexus *nexus, struct list *ended)
{
	struct scsi_cmd *cmd, *tmp;

	list_for_each_safe(cmd, tmp, &nexus->tasks, task) {
		if (!scope_has(s, cmd))
			continue;
		/* SAM-5 5.14: the others learn that their commands were cleared. */
		if (s->fn == TMF_CLEAR_TASK_SET && !nexus_is_same(nexus, s->nexus))
			ua_raise(part_in(cmd, s->lu), UA_CLEARED);
		tmf_abort(core, cmd, s->id, ended);
	}
}

void
scope_hit(struct core *core, const struct scope *s, struct list *ended)
{
	struct nexus_own *own;
	struct scsi_cmd *cmd;

	list_for_each(cmd, &core->dying, task)
		if (scope_has(s, cmd) && cmd->abort_id > s->id)
			cmd->abort_id = s->id;
	list_for_each(own, &core->nexuses, link)
		scope_end(core, s, &own->nexus, ended);
}

bool
scope_waits(const struct core *core, const struct scope *s)
{
	const struct scsi_cmd *cmd;

	list_for_each(cmd, &core->dying, task) {
		/* Who was told of the end of a task may have given its tag to the next. */
		if (s->live && cmd->abort_id != s->id)
			continue;
		if (cmd->abort_id <= s->id && scope_has(s, cmd))
			return true;
	}
	return false;
}

bool
scope_live(const struct scope *s)
{
	const struct scsi_cmd *cmd;

	list_for_each(cmd, &s->nexus->tasks, task)
		if (scope_has(s, cmd))
			return true;
	return false;
}
