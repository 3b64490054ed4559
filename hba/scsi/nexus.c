/* I_T nexuses: login, the units a nexus sees, and an end that waits for no disk for ever. */
#include "nexus.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "conf.h"
#include "log.h"
#include "scsi_cmd.h"
#include "scsi_tmf.h"

#include "access.h"
#include "core.h"
#include "lu.h"
#include "tmf.h"
#include "ua.h"

enum { WINDOW_DEFAULT = 256 };		/* commands of a nexus without a depth of its own */

static _Atomic uint64_t last_id;

struct bridge_flow *
nlun_flow(struct nexus_lun *nlun)
{
	if (!nlun->flow)
		nlun->flow = bridge_flow_get(nlun->lu->disk, nlun->nexus->initiator,
		    &nexus_own(nlun->nexus)->limits, nlun->nexus->reactor);
	return nlun->flow;
}

static void
nlun_free(struct nexus_lun *nlun)
{
	if (!nlun)
		return;
	lu_detach(nlun);
	if (nlun->flow)
		bridge_flow_put(nlun->flow);
	free(nlun->copies);
	free(nlun);
}

static struct nexus_lun *
nlun_new(struct nexus *nexus, const struct target_lun *tl, bool read_only, uint32_t hot)
{
	struct nexus_lun *nlun = calloc(1, sizeof(*nlun));

	if (!nlun)
		return NULL;
	nlun->number = tl->number;
	nlun->read_only = tl->read_only || read_only;
	nlun->copy = tl->copy;
	nlun->lu = tl->lu;
	nlun->nexus = nexus;
	atomic_init(&nlun->hot, hot);
	lu_attach(tl->lu, nlun);
	return nlun;
}

/*
 * Has this initiator port been here since the start? By a hash in a table of
 * fixed size: whoever invents ports costs no memory, and a collision only
 * makes a POWER ON into an I_T NEXUS LOSS.
 */
static bool
port_seen(struct target *target, const struct nexus *nexus)
{
	uint8_t digest[32] = { 0 };
	char port[sizeof(nexus->initiator) + sizeof(nexus->isid)] = { 0 };
	unsigned bit;
	uint64_t mask;
	bool seen;

	memcpy(port, nexus->initiator, sizeof(nexus->initiator));
	memcpy(port + sizeof(nexus->initiator), nexus->isid, sizeof(nexus->isid));
	EVP_Digest(port, sizeof(port), digest, NULL, EVP_sha256(), NULL);
	bit = (unsigned)(digest[0] << 8 | digest[1]) % PORTS_SEEN_BITS;
	mask = 1ull << bit % 64;

	pthread_mutex_lock(&target->lock);
	seen = target->seen[bit / 64] & mask;
	target->seen[bit / 64] |= mask;
	pthread_mutex_unlock(&target->lock);
	return seen;
}

static void
nexus_free(struct nexus *nexus)
{
	struct nexus_own *own;

	if (!nexus)
		return;
	own = nexus_own(nexus);
	for (uint32_t i = 0; nexus->luns && i < nexus->nluns; i++)
		nlun_free(nexus->luns[i]);
	free(nexus->luns);
	pthread_mutex_lock(&nexus->target->lock);
	list_del(&nexus->link);
	pthread_mutex_unlock(&nexus->target->lock);
	list_del(&own->link);
	timer_fini(&own->timer);
	free(own);
}

static int
nexus_map(struct nexus *nexus, const struct conf_rule *rule, bool joins)
{
	struct target *target = nexus->target;
	uint32_t hot = 1u << (port_seen(target, nexus) ? UA_NEXUS_LOSS : UA_POWER_ON);

	nexus->nluns = target->nluns ? target->luns[target->nluns - 1].number + 1u : 0;
	nexus->luns = calloc((size_t)nexus->nluns + 1, sizeof(nexus->luns[0]));
	if (!nexus->luns)
		return -ENOMEM;
	for (uint32_t i = 0; i < target->nluns; i++) {
		const struct target_lun *tl = &target->luns[i];

		if (!access_shows(rule, tl->number))
			continue;
		nexus->luns[tl->number] = nlun_new(nexus, tl, rule && rule->read_only,
		    joins ? 0 : hot);
		if (!nexus->luns[tl->number])
			return -ENOMEM;
	}
	return 0;
}

bool
nexus_is_same(const struct nexus *a, const struct nexus *b)
{
	return a == b || (a->target == b->target && strcmp(a->initiator, b->initiator) == 0 &&
	    memcmp(a->isid, b->isid, sizeof(a->isid)) == 0);
}

static void nexus_timeout(struct timer *);

static struct nexus *
nexus_new(struct target *target, const struct nexus_id *id, struct reactor *reactor)
{
	struct nexus_own *own = calloc(1, sizeof(*own));
	struct nexus *nexus;

	if (!own)
		return NULL;
	nexus = &own->nexus;
	nexus->target = target;
	nexus->reactor = reactor;
	nexus->id = atomic_fetch_add(&last_id, 1) + 1;
	strncpy(nexus->initiator, id->initiator, sizeof(nexus->initiator) - 1);
	memcpy(nexus->isid, id->isid, sizeof(nexus->isid));
	list_init(&nexus->tasks);
	list_init(&nexus->tmfs);
	list_init(&nexus->link);
	list_init(&own->link);
	timer_init(&own->timer, reactor, nexus_timeout);
	nexus->refs = 1;
	return nexus;
}

/* A reload may be changing it: an old number or a new one. */
#define HOT(value) __atomic_load_n(&(value), __ATOMIC_RELAXED)

/* rule NULL: whoever is not named shares alike, without limits. */
static void
limits_set(struct bridge_limits *limits, const struct conf_rule *rule)
{
	*limits = (struct bridge_limits){ .weight = 1 };
	if (!rule)
		return;
	limits->weight = MAX(HOT(rule->share), 1u);
	limits->depth = HOT(rule->depth);
	limits->iops = HOT(rule->iops);
	limits->bandwidth = HOT(rule->bandwidth);
	limits->burst_ns = HOT(rule->burst_ns);
}

static void
limits_again(struct nexus_own *own)
{
	const struct nexus *nexus = &own->nexus;
	struct bridge_limits limits;

	limits_set(&limits, own->rule);
	if (memcmp(&limits, &own->limits, sizeof(limits)) == 0)
		return;
	own->limits = limits;
	for (uint32_t i = 0; i < nexus->nluns; i++)
		if (nexus->luns[i] && nexus->luns[i]->flow)
			bridge_flow_limit(nexus->luns[i]->flow, &limits);
}

static void
limits_again_here(void *arg)
{
	struct nexus_own *own;

	list_for_each(own, &core_of(reactor_self())->nexuses, link)
		limits_again(own);
}

void
nexus_limits_again(void)
{
	for (unsigned i = 0; i < reactor_count(); i++)
		reactor_call(reactor_get(i), limits_again_here, NULL);
}

int
nexus_login(struct target *target, const struct nexus_id *id, struct reactor *reactor,
    const struct transport_ops *ops, void *session, struct nexus **out)
{
	const struct conf_rule *rule;
	struct nexus *nexus;
	int r;

	OWNED_BY(reactor);
	if (!access_find(target->conf, id, &rule))
		return -EACCES;
	nexus = nexus_new(target, id, reactor);
	if (!nexus)
		return -ENOMEM;
	nexus->ops = ops;
	nexus->session = session;
	nexus_own(nexus)->rule = rule;
	limits_set(&nexus_own(nexus)->limits, rule);
	nexus->depth = nexus_own(nexus)->limits.depth;
	if (!nexus->depth)
		nexus->depth = WINDOW_DEFAULT;
	r = nexus_map(nexus, rule, id->joins);
	if (r < 0) {
		nexus_free(nexus);
		return r;
	}
	list_add_tail(&core_of(reactor)->nexuses, &nexus_own(nexus)->link);
	pthread_mutex_lock(&target->lock);
	list_add_tail(&target->nexuses, &nexus->link);
	pthread_mutex_unlock(&target->lock);
	*out = nexus;
	return 0;
}

void
nexus_put(struct nexus *nexus)
{
	assert(nexus->refs);
	if (--nexus->refs == 0)
		nexus_free(nexus);
}

static void
nexus_gone(struct nexus *nexus)
{
	void (*gone)(void *) = nexus->gone;

	timer_stop(&nexus_own(nexus)->timer);
	nexus->gone = NULL;
	if (gone)
		gone(nexus->gone_arg);
	nexus_put(nexus);
}

static bool
nexus_busy(const struct nexus *nexus)
{
	return nexus->ntasks || !list_empty(&nexus->tmfs);
}

void
nexus_check_gone(struct nexus *nexus)
{
	if (!nexus_busy(nexus) && timer_is_set(&nexus_own(nexus)->timer))
		nexus_gone(nexus);
}

/* The disk keeps commands of a nexus that ended. Those that write are fenced since it did. */
static void
nexus_timeout(struct timer *timer)
{
	struct nexus_own *own = container_of(timer, struct nexus_own, timer);

	log_warn("%s: %u commands of %s are still in the disk after its session ended",
	    own->nexus.target->conf->name, own->nexus.ntasks, own->nexus.initiator);
	nexus_gone(&own->nexus);
}

void
nexus_logout(struct nexus *nexus, void (*gone)(void *), void *arg)
{
	struct core *core = core_of(nexus->reactor);
	struct list ended = LIST_INIT(ended);

	OWNED_BY(nexus->reactor);
	assert(!nexus->closed);
	__atomic_store_n(&nexus->closed, true, __ATOMIC_RELAXED);
	nexus->session = NULL;
	nexus->gone = gone;
	nexus->gone_arg = arg;
	nexus->refs++;
	while (!list_empty(&nexus->tasks))
		tmf_abort(core, list_first(&nexus->tasks, struct scsi_cmd, task), 0, &ended);
	tmf_finish(&ended);
	tmf_nexus_ended(nexus);
	if (nexus_busy(nexus))
		timer_set(&nexus_own(nexus)->timer, TMF_WAIT_NS);
	else
		nexus_gone(nexus);
	nexus_put(nexus);
}
