/* Task management (SAM-5 7): what a function ends, and when it may be answered. */
#include <assert.h>
#include <pthread.h>

#include "conf.h"
#include "log.h"
#include "scsi_cmd.h"
#include "scsi_tmf.h"
#include "stats.h"

#include "access.h"
#include "core.h"
#include "lu.h"
#include "nexus.h"
#include "scope.h"
#include "tmf.h"
#include "ua.h"

/*
 * Every reactor ends its own commands. A function lists the reactors it
 * concerns (todo); each of them marks its commands (hit) and says when none is
 * left in a disk (clear). When all are clear, or TMF_WAIT_NS later, the
 * function is answered on its own reactor:
 *
 *	scsi_tmf --> all --core_poke--> tmf_run ... tmf_settle --msg--> tmf_done
 *
 * A function waits for commands only, never for another function: it waits for
 * those in its scope that were aborted by itself or before it (abort_id).
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct list all = LIST_INIT(all);	/* scsi_tmf.all: not yet answered */
static uint64_t last_id;

COUNTER(functions, "scsi_task_management", "task management functions answered");
COUNTER(timeouts, "scsi_task_management_timeouts",
    "of these, answered while a disk still had commands");

static uint64_t
reactor_bit(const struct reactor *r)
{
	return 1ull << reactor_id(r);
}

/* -- answering -- */

static void
tmf_answer(struct scsi_tmf *tmf, enum tmf_response response)
{
	struct nexus *nexus = tmf->nexus;

	list_del(&tmf->link);
	timer_fini(&tmf->timer);
	tmf->response = (uint8_t)response;
	counter_add(&functions, 1);
	if (tmf->done)
		tmf->done(tmf);
	else
		nexus->ops->tmf_done(tmf);
	if (nexus->closed)
		nexus_check_gone(nexus);
	nexus_put(nexus);
}

static void
tmf_cleared(struct msg *msg)
{
	tmf_answer(container_of(msg, struct scsi_tmf, msg), TMF_COMPLETE);
}

/* False: another reactor has found it done, and its message is on the way. */
static bool
tmf_take(struct scsi_tmf *tmf)
{
	bool mine;

	pthread_mutex_lock(&lock);
	mine = !list_empty(&tmf->all);
	list_del(&tmf->all);
	pthread_mutex_unlock(&lock);
	return mine;
}

/* As every reactor has marked its commands, what is left can write no more: the fence is up. */
static void
tmf_timeout(struct timer *timer)
{
	struct scsi_tmf *tmf = container_of(timer, struct scsi_tmf, timer);

	if (!tmf_take(tmf))
		return;
	counter_add(&timeouts, 1);
	log_peer(LOG_LEVEL_WARN, tmf->nexus->initiator,
	    "%s: task management function %u of %s is answered while a disk still has commands",
	    tmf->nexus->target->conf->name, tmf->fn, tmf->nexus->initiator);
	tmf_answer(tmf, tmf->hit == tmf->todo ? TMF_COMPLETE : TMF_REJECTED);
}

void
tmf_settle(struct core *core)
{
	struct reactor *self = reactor_self();
	uint64_t bit = reactor_bit(self);
	struct list done = LIST_INIT(done);
	struct scsi_tmf *tmf, *tmp;

	pthread_mutex_lock(&lock);
	list_for_each_safe(tmf, tmp, &all, all) {
		struct scope s = scope_of(tmf);

		if (!(tmf->hit & bit) || tmf->clear & bit || scope_waits(core, &s))
			continue;
		tmf->clear |= bit;
		if (tmf->clear != tmf->todo)
			continue;
		list_del(&tmf->all);
		if (tmf->nexus->reactor == self)
			list_add_tail(&done, &tmf->all);
		else
			reactor_post(tmf->nexus->reactor, &tmf->msg);
	}
	pthread_mutex_unlock(&lock);
	while (!list_empty(&done)) {
		tmf = list_first(&done, struct scsi_tmf, all);
		list_del(&tmf->all);
		tmf_answer(tmf, TMF_COMPLETE);
	}
}

/* The oldest function that this reactor has not seen. */
static bool
tmf_unseen(uint64_t bit, struct scope *s)
{
	struct scsi_tmf *tmf;
	bool found = false;

	pthread_mutex_lock(&lock);
	list_for_each(tmf, &all, all) {
		if (tmf->todo & bit && !(tmf->hit & bit)) {
			*s = scope_of(tmf);
			found = true;
			break;
		}
	}
	pthread_mutex_unlock(&lock);
	return found;
}

static void
tmf_mark_hit(uint64_t id, uint64_t bit)
{
	struct scsi_tmf *tmf;

	pthread_mutex_lock(&lock);
	list_for_each(tmf, &all, all)
		if (tmf->id == id)
			tmf->hit |= bit;
	pthread_mutex_unlock(&lock);
}

void
tmf_run(struct core *core)
{
	uint64_t bit = reactor_bit(reactor_self());
	struct list ended = LIST_INIT(ended);
	struct scope s;

	while (tmf_unseen(bit, &s)) {
		scope_hit(core, &s, &ended);
		tmf_mark_hit(s.id, bit);
	}
	tmf_finish(&ended);
	tmf_settle(core);
}

void
tmf_nexus_ended(struct nexus *nexus)
{
	struct scsi_tmf *tmf, *tmp;

	list_for_each_safe(tmf, tmp, &nexus->tmfs, link)
		if (tmf_take(tmf))
			tmf_answer(tmf, TMF_REJECTED);
}

/* -- asking -- */

/* SAM-5 7.10: FUNCTION SUCCEEDED with the depth, the key and the codes of what comes first. */
static enum tmf_response
query_async_event(struct scsi_tmf *tmf, const struct nexus_lun *nlun)
{
	struct sense s;
	enum cond cond;

	if (!ua_peek(nlun, &cond))
		return TMF_COMPLETE;
	sense_init(&s, cond);
	tmf->info[0] = s.key;
	tmf->info[1] = s.asc;
	tmf->info[2] = s.ascq;
	return TMF_SUCCEEDED;
}

/* Answers what needs no waiting. False: the function ends commands. */
static bool
tmf_at_once(struct scsi_tmf *tmf, const struct nexus_lun *nlun, enum tmf_response *response)
{
	struct scope s = scope_of(tmf);

	switch ((enum tmf_fn)tmf->fn) {
	case TMF_QUERY_TASK:
	case TMF_QUERY_TASK_SET:
		*response = scope_live(&s) ? TMF_SUCCEEDED : TMF_COMPLETE;
		return true;
	case TMF_QUERY_ASYNC_EVENT:
		*response = query_async_event(tmf, nlun);
		return true;
	case TMF_CLEAR_ACA:	/* NORMACA is 0: there never is one */
		*response = TMF_REJECTED;
		return true;
	case TMF_ABORT_TASK:
		*response = TMF_NO_TASK;
		tmf->live = scope_live(&s);
		if (tmf->live)
			return false;
		s.id = UINT64_MAX;	/* aborted by whatever was before */
		return !scope_waits(core_of(tmf->nexus->reactor), &s);
	case TMF_ABORT_TASK_SET:
	case TMF_CLEAR_TASK_SET:
	case TMF_LUN_RESET:
	case TMF_TARGET_RESET:
	case TMF_I_T_NEXUS_RESET:
		return false;
	case TMF_CUT:
		break;
	}
	*response = TMF_REJECTED;
	return true;
}

/* The attentions a function establishes (SAM-5 6.3, 7): a reset on every nexus, the one that asked included. */
static void
tmf_attention(const struct scsi_tmf *tmf)
{
	struct nexus *nexus = tmf->nexus;

	if (tmf->fn == TMF_LUN_RESET)
		lu_was_reset(tmf->lu);
	for (uint32_t i = 0; tmf->fn == TMF_TARGET_RESET && i < nexus->target->nluns; i++)
		lu_was_reset(nexus->target->luns[i].lu);
	for (uint32_t i = 0; tmf->fn == TMF_I_T_NEXUS_RESET && i < nexus->nluns; i++)
		if (nexus->luns[i])
			ua_raise(nexus->luns[i], UA_NEXUS_LOSS);
}

static bool
fn_is_for_all(uint8_t fn)
{
	/* The channels of an I_T nexus may be on several reactors. */
	return fn == TMF_ABORT_TASK_SET || fn == TMF_CLEAR_TASK_SET || fn == TMF_LUN_RESET ||
	    fn == TMF_TARGET_RESET || fn == TMF_CUT;
}

static void
tmf_start(struct scsi_tmf *tmf)
{
	struct reactor *self = tmf->nexus->reactor;
	struct core *core = core_of(self);
	unsigned count = reactor_count();

	timer_init(&tmf->timer, self, tmf_timeout);
	timer_set(&tmf->timer, TMF_WAIT_NS);
	tmf->msg.fn = tmf_cleared;
	tmf->hit = tmf->clear = 0;
	tmf->todo = reactor_bit(self);
	if (fn_is_for_all(tmf->fn))
		tmf->todo = ~0ull >> (64 - count);
	tmf_attention(tmf);
	pthread_mutex_lock(&lock);
	tmf->id = ++last_id;
	list_add_tail(&all, &tmf->all);
	pthread_mutex_unlock(&lock);
	for (unsigned i = 0; fn_is_for_all(tmf->fn) && i < count; i++)
		if (reactor_get(i) != self)
			core_poke(reactor_get(i));
	tmf_run(core);
}

/* Takes its place among the functions of its nexus, and holds that. */
static void
tmf_enter(struct scsi_tmf *tmf)
{
	list_init(&tmf->all);
	list_add_tail(&tmf->nexus->tmfs, &tmf->link);
	tmf->nexus->refs++;
	tmf->timer = (struct timer){ 0 };
	tmf->id = 0;
	tmf->live = false;
	tmf->info[0] = tmf->info[1] = tmf->info[2] = 0;
}

void
tmf_cut(struct scsi_tmf *tmf, struct nexus *nexus, struct lu *lu, void (*done)(struct scsi_tmf *))
{
	tmf->nexus = nexus;
	tmf->fn = TMF_CUT;
	tmf->lu = lu;
	tmf->done = done;
	tmf_enter(tmf);
	tmf_start(tmf);
}

void
scsi_tmf(struct scsi_tmf *tmf)
{
	struct nexus *nexus = tmf->nexus;
	unsigned number = (unsigned)scsi_lun_number(tmf->lun);
	const struct nexus_lun *nlun = number < nexus->nluns ? nexus->luns[number] : NULL;
	enum tmf_response response;

	OWNED_BY(nexus->reactor);
	tmf_enter(tmf);
	tmf->lu = nlun ? nlun->lu : NULL;
	tmf->done = NULL;
	tmf->cut = 0;
	if (!nlun && tmf->fn != TMF_TARGET_RESET && tmf->fn != TMF_I_T_NEXUS_RESET)
		tmf_answer(tmf, TMF_WRONG_LUN);
	else if (tmf_at_once(tmf, nlun, &response))
		tmf_answer(tmf, response);
	else
		tmf_start(tmf);
}
