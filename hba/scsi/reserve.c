/* Reservations at a unit: a change is made on a copy, kept on disk if it must be, then put in place and told. */
#include "reserve.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf.h"
#include "log.h"
#include "scsi_tmf.h"

#include "access.h"
#include "cmd.h"
#include "core.h"
#include "fence.h"
#include "store.h"
#include "tmf.h"
#include "ua.h"

COUNTER(changes, "scsi_reservation_changes", "PERSISTENT RESERVE OUT commands done");

/*
 * A change on its way: to the disk (lu->pr_busy is set meanwhile), or waiting
 * for the end of the tasks it preempted. cmd is NULL when that was aborted.
 */
struct change {
	struct store_job job;
	struct scsi_tmf tmf;
	struct scsi_cmd *cmd;
	struct lu *lu;
	struct pr next;
	struct pr_nexus nexus;
	uint8_t action;
};

void
pr_nexus_of(const struct nexus *nexus, struct pr_nexus *p)
{
	memset(p, 0, sizeof(*p));
	snprintf(p->initiator, sizeof(p->initiator), "%s", nexus->initiator);
	snprintf(p->target, sizeof(p->target), "%s", target_conf(nexus->target)->name);
	memcpy(p->isid, nexus->isid, sizeof(p->isid));
	p->protocol = strcmp(nexus->ops->name, "srp") == 0 ? PROTOCOL_SRP : PROTOCOL_ISCSI;
}

/* -- who is kept out, and who is told; under lu->lock -- */

static void
limit_set(const struct lu *lu, struct nexus_lun *nlun)
{
	static const uint32_t bits[] = {
		[PR_FREE] = 0, [PR_NO_WRITES] = NLUN_NO_WRITES, [PR_NO_ACCESS] = NLUN_NO_ACCESS,
	};
	struct pr_nexus p;
	uint32_t want;

	pr_nexus_of(nlun->nexus, &p);
	want = bits[pr_limit(&lu->pr, &p)];
	if (lu->reserved_by && !nexus_is_same(lu->reserved_by->nexus, nlun->nexus))
		want |= NLUN_RESERVED;
	atomic_fetch_and(&nlun->hot, ~(uint32_t)NLUN_CONFLICTS | want);
	atomic_fetch_or(&nlun->hot, want);
}

static void
limits_set(struct lu *lu)
{
	struct nexus_lun *nlun;

	list_for_each(nlun, &lu->nluns, link)
		limit_set(lu, nlun);
}

void
reserve_inherit(struct lu *lu, struct nexus_lun *nlun)
{
	if (lu->pr.type != PR_NONE || lu->pr.lost || lu->reserved_by)
		limit_set(lu, nlun);
}

/* Was the reservation that others knew of ended, or made another? */
static bool
was_released(const struct pr *old, const struct pr *now, uint8_t action)
{
	bool shared = pr_type_is_ro(old->type) || pr_type_is_ar(old->type);

	if (old->type == PR_NONE || old->type == now->type)
		return false;
	return shared || action == PR_PREEMPT || action == PR_PREEMPT_ABORT;
}

/*
 * SPC-4 5.13.11: who lost its registration learns of it (but by its own hand);
 * who keeps it learns that the reservation it had a part in is gone. Those cut
 * off by PREEMPT AND ABORT are marked. True: there are some.
 */
static bool
tell(struct lu *lu, const struct pr *old, const struct change *c)
{
	bool released = was_released(old, &lu->pr, c->action), marked = false;
	bool cut = c->action == PR_PREEMPT_ABORT;
	bool told = cut || c->action == PR_PREEMPT || c->action == PR_CLEAR;
	struct nexus_lun *nlun;
	struct pr_nexus p;

	list_for_each(nlun, &lu->nluns, link) {
		int before, after;

		pr_nexus_of(nlun->nexus, &p);
		before = pr_find(old, &p);
		after = pr_find(&lu->pr, &p);
		if (before < 0 || memcmp(&p, &c->nexus, sizeof(p)) == 0)
			continue;
		if (after >= 0 && released)
			ua_raise(nlun, UA_RESERVATIONS_RELEASED);
		if (after >= 0 || !told)
			continue;
		ua_raise(nlun, c->action == PR_CLEAR ? UA_RESERVATIONS_PREEMPTED :
		    UA_REGISTRATIONS_PREEMPTED);
		if (cut) {
			atomic_store(&nlun->cut, c->tmf.cut);
			marked = true;
		}
	}
	return marked;
}

/* -- a change -- */

static enum pr_outcome
act(struct pr *pr, const struct pr_ask *a)
{
	switch ((enum pr_action)a->action) {
	case PR_REGISTER:
	case PR_REGISTER_IGNORE:
		return pr_register(pr, &a->nexus, &a->keys, a->action == PR_REGISTER_IGNORE,
		    a->aptpl, a->also, a->nalso);
	case PR_RESERVE:
		return pr_reserve(pr, &a->nexus, a->keys.key, a->type);
	case PR_RELEASE:
		return pr_release(pr, &a->nexus, a->keys.key, a->type);
	case PR_CLEAR:
		return pr_clear(pr, &a->nexus, a->keys.key);
	case PR_PREEMPT:
	case PR_PREEMPT_ABORT:
		return pr_preempt(pr, &a->nexus, &a->keys, a->type);
	case PR_MOVE:
		return pr_move(pr, &a->nexus, &a->keys, a->also, a->unreg, a->aptpl);
	case PR_REPLACE_LOST:
		return pr_replace_lost(pr, &a->nexus, &a->keys, a->type, a->aptpl);
	case PR_ACTIONS:
		break;
	}
	return PR_CONFLICT;
}

static void
answer(struct scsi_cmd *cmd, enum pr_outcome outcome)
{
	enum { SERVICE_KEY_AT = 8 };

	switch (outcome) {
	case PR_DONE:
		counter_add(&changes, 1);
		cmd_good(cmd);
		return;
	case PR_CONFLICT:
		cmd_status(cmd, SCSI_RESERVATION_CONFLICT);
		return;
	case PR_BAD_RELEASE:
		cmd_fail(cmd, COND_BAD_RELEASE);
		return;
	case PR_BAD_KEY:
		cmd_fail_param(cmd, SERVICE_KEY_AT, -1);
		return;
	case PR_NO_ROOM:
		cmd_fail(cmd, COND_NO_REGISTRATIONS);
		return;
	}
}

static void
change_free(struct change *c)
{
	pr_fini(&c->next);
	free(c);
}

/* The tasks of those it preempted have ended. */
static void
change_tasks_ended(struct scsi_tmf *tmf)
{
	struct change *c = container_of(tmf, struct change, tmf);
	struct scsi_cmd *cmd = c->cmd;
	bool all = tmf->response == TMF_COMPLETE;

	change_free(c);
	if (!cmd)
		return;
	cmd->flags &= (uint16_t)~CMD_CHANGING;
	if (all)
		answer(cmd, PR_DONE);
	else
		cmd_fail(cmd, COND_INTERNAL_FAILURE);
}

static void
commands_wake(struct lu *lu)
{
	uint64_t wake;

	pthread_mutex_lock(&lu->lock);
	lu->pr_busy = false;
	wake = lu->pr_wait;
	lu->pr_wait = 0;
	pthread_mutex_unlock(&lu->lock);
	fence_wake(wake);
}

/* The change takes effect; c is answered and freed. */
static void
change_install(struct change *c)
{
	struct lu *lu = c->lu;
	struct scsi_cmd *cmd = c->cmd;
	struct pr old;
	bool cut;

	pthread_mutex_lock(&lu->lock);
	old = lu->pr;
	lu->pr = c->next;
	c->tmf.cut = ++lu->cuts;
	cut = tell(lu, &old, c);
	limits_set(lu);
	pthread_mutex_unlock(&lu->lock);
	c->next = old;
	if (cut && cmd) {
		/* It may end in here. */
		cmd->flags |= CMD_CHANGING;
		tmf_cut(&c->tmf, cmd->nexus, lu, change_tasks_ended);
		return;
	}
	change_free(c);
	if (cmd)
		answer(cmd, PR_DONE);
}

static void
change_kept(struct store_job *job)
{
	struct change *c = container_of(job, struct change, job);
	struct lu *lu = c->lu;

	if (c->cmd)
		c->cmd->flags &= (uint16_t)~CMD_CHANGING;
	if (job->result == 0) {
		change_install(c);
	} else {
		if (c->cmd)
			cmd_fail(c->cmd, COND_INTERNAL_FAILURE);
		change_free(c);
	}
	commands_wake(lu);
}

static void
kept_name(const struct lu *lu, char *name, size_t size)
{
	size_t at = 0;

	text_add(name, size, &at, "pr-");
	for (unsigned i = 0; i < LU_NAA_LEN; i++)
		text_add(name, size, &at, "%02x", lu->naa[i]);
}

/* lu->pr_busy is set. */
static void
change_keep(struct change *c)
{
	c->job.text = NULL;
	if (c->next.aptpl) {
		c->job.text = pr_text(&c->next);
		if (!c->job.text) {
			struct lu *lu = c->lu;

			cmd_full(c->cmd);
			change_free(c);
			commands_wake(lu);
			return;
		}
	}
	kept_name(c->lu, c->job.name, sizeof(c->job.name));
	c->job.home = c->cmd->nexus->reactor;
	c->job.done = change_kept;
	c->cmd->flags |= CMD_CHANGING;
	c->cmd->change = c;
	store_write(&c->job);
}

/* Behind a change that is on its way to the disk. Under lu->lock. */
static void
command_queue(struct scsi_cmd *cmd)
{
	struct reactor *home = cmd->nexus->reactor;

	cmd->lu->pr_wait |= 1ull << reactor_id(home);
	cmd->flags |= CMD_CHANGING;
	cmd->change = NULL;
	list_add_tail(&core_of(home)->changing, &cmd->fence);
}

void
reserve_change(struct scsi_cmd *cmd, const struct pr_ask *a)
{
	struct change *c = calloc(1, sizeof(*c));
	struct lu *lu = cmd->lu;
	enum pr_outcome outcome = PR_DONE;
	bool keep = false, room;

	if (!c) {
		cmd_full(cmd);
		return;
	}
	c->cmd = cmd;
	c->lu = lu;
	c->nexus = a->nexus;
	c->action = a->action;
	list_init(&c->job.link);
	pthread_mutex_lock(&lu->lock);
	if (lu->pr_busy) {
		command_queue(cmd);
		pthread_mutex_unlock(&lu->lock);
		free(c);
		return;
	}
	room = pr_copy(&c->next, &lu->pr, 1 + a->nalso);
	if (room) {
		outcome = act(&c->next, a);
		keep = outcome == PR_DONE && (lu->pr.aptpl || c->next.aptpl);
		/* Until it is in place, no other change may begin from the old state. */
		lu->pr_busy = outcome == PR_DONE;
	}
	pthread_mutex_unlock(&lu->lock);
	if (!room || outcome != PR_DONE) {
		change_free(c);
		if (room)
			answer(cmd, outcome);
		else
			cmd_full(cmd);
		return;
	}
	cmd->change = c;
	if (keep) {
		change_keep(c);
		return;
	}
	change_install(c);
	commands_wake(lu);
}

void
reserve_abandon(struct scsi_cmd *cmd)
{
	struct change *c = cmd->change;

	cmd->flags &= (uint16_t)~CMD_CHANGING;
	if (c)
		c->cmd = NULL;
	else
		list_del(&cmd->fence);
}

void
reserve_run(struct core *core)
{
	struct list again = LIST_INIT(again);

	/* Each begins anew; those that must wait once more come back to the list. */
	list_splice_tail(&again, &core->changing);
	while (!list_empty(&again)) {
		struct scsi_cmd *cmd = list_first(&again, struct scsi_cmd, fence);

		list_del(&cmd->fence);
		cmd->flags &= (uint16_t)~CMD_CHANGING;
		cmd->row->exec(cmd);
	}
}

/* -- RESERVE and RELEASE of SPC-2 -- */

/* SPC-4 5.13.3: with registrations these commands do nothing: GOOD to who is registered, else a conflict. */
static bool
registered_instead(const struct scsi_cmd *cmd, bool *ok)
{
	struct pr_nexus p;

	if (cmd->lu->pr.n == 0 && !cmd->lu->pr.lost)
		return false;
	pr_nexus_of(cmd->nexus, &p);
	*ok = pr_find(&cmd->lu->pr, &p) >= 0 && pr_limit(&cmd->lu->pr, &p) == PR_FREE;
	return true;
}

bool
reserve_take(struct scsi_cmd *cmd)
{
	struct lu *lu = cmd->lu;
	bool ok;

	pthread_mutex_lock(&lu->lock);
	if (!registered_instead(cmd, &ok)) {
		ok = !lu->reserved_by || nexus_is_same(lu->reserved_by->nexus, cmd->nexus);
		if (ok) {
			lu->reserved_by = cmd->nlun;
			limits_set(lu);
		}
	}
	pthread_mutex_unlock(&lu->lock);
	return ok;
}

/* SPC-2 7.22: a release by who does not hold it is no error. */
bool
reserve_give(struct scsi_cmd *cmd)
{
	struct lu *lu = cmd->lu;
	bool ok = true;

	pthread_mutex_lock(&lu->lock);
	if (!registered_instead(cmd, &ok) && lu->reserved_by &&
	    nexus_is_same(lu->reserved_by->nexus, cmd->nexus)) {
		lu->reserved_by = NULL;
		limits_set(lu);
	}
	pthread_mutex_unlock(&lu->lock);
	return ok;
}

void
reserve_forget(struct lu *lu, const struct nexus_lun *nlun)
{
	const struct nexus_lun *other;

	if (lu->reserved_by != nlun)
		return;
	lu->reserved_by = NULL;
	/* Another channel of the same I_T nexus keeps it. */
	list_for_each(other, &lu->nluns, link)
		if (other != nlun && !nexus_is_closed(other->nexus) &&
		    nexus_is_same(other->nexus, nlun->nexus))
			lu->reserved_by = other;
	limits_set(lu);
}

void
reserve_reset(struct lu *lu)
{
	pthread_mutex_lock(&lu->lock);
	if (lu->reserved_by) {
		lu->reserved_by = NULL;
		limits_set(lu);
	}
	pthread_mutex_unlock(&lu->lock);
}

/* -- over a restart -- */

void
reserve_load(struct lu *lu)
{
	char name[48], *text;
	size_t len;
	int r;

	lu->pr.holder = -1;
	kept_name(lu, name, sizeof(name));
	r = store_read(name, &text, &len);
	if (r == -ENOENT)
		return;
	if (r == 0) {
		r = pr_from_text(&lu->pr, text, len);
		free(text);
	}
	if (r == 0) {
		log_info("disk %s: %u registrations kept, reservation type %u", lu->disk->name,
		    lu->pr.n, lu->pr.type);
		return;
	}
	lu->pr.lost = true;
	log_err("disk %s: its persistent reservations cannot be read (%s: %s): nobody is let in "
	    "until they are replaced (PERSISTENT RESERVE OUT, REPLACE LOST RESERVATION)",
	    lu->disk->name, name, strerror(-r));
}
