/* Unit attentions: raised by any thread, told once to each nexus, in the order of precedence. */
#include "ua.h"

#include "lu.h"
#include "nexus.h"
#include "util.h"

static const enum cond conds[UAS] = {
	[UA_POWER_ON] = COND_POWER_ON,
	[UA_LU_RESET] = COND_LU_RESET,
	[UA_NEXUS_LOSS] = COND_NEXUS_LOSS,
	[UA_LUNS_CHANGED] = COND_LUNS_CHANGED,
	[UA_CAPACITY_CHANGED] = COND_CAPACITY_CHANGED,
	[UA_MODE_CHANGED] = COND_MODE_CHANGED,
	[UA_RESERVATIONS_PREEMPTED] = COND_RESERVATIONS_PREEMPTED,
	[UA_RESERVATIONS_RELEASED] = COND_RESERVATIONS_RELEASED,
	[UA_REGISTRATIONS_PREEMPTED] = COND_REGISTRATIONS_PREEMPTED,
	[UA_CLEARED] = COND_CLEARED,
};

void
ua_raise(struct nexus_lun *nlun, enum ua ua)
{
	atomic_fetch_or(&nlun->hot, 1u << ua);
}

bool
ua_peek(const struct nexus_lun *nlun, enum cond *cond)
{
	unsigned pending = atomic_load(&nlun->hot) & UA_MASK;

	if (!pending)
		return false;
	*cond = conds[__builtin_ctz(pending)];
	return true;
}

/* Once told over one channel it is told to the I_T nexus. */
static void
ua_told(const struct nexus_lun *nlun, unsigned bit)
{
	struct lu *lu = nlun->lu;
	struct nexus_lun *other;

	pthread_mutex_lock(&lu->lock);
	list_for_each(other, &lu->nluns, link)
		if (other != nlun && nexus_is_same(other->nexus, nlun->nexus))
			atomic_fetch_and(&other->hot, ~bit);
	pthread_mutex_unlock(&lu->lock);
}

bool
ua_take(struct nexus_lun *nlun, enum cond *cond)
{
	unsigned pending, first, bit;

	do {
		pending = atomic_load(&nlun->hot) & UA_MASK;
		if (!pending)
			return false;
		first = (unsigned)__builtin_ctz(pending);
		bit = 1u << first;
		/* Another channel of this I_T nexus may just have told it. */
	} while (!(atomic_fetch_and(&nlun->hot, ~bit) & bit));
	ua_told(nlun, bit);
	*cond = conds[first];
	return true;
}

void
ua_luns_reported(struct nexus *nexus)
{
	for (uint32_t i = 0; i < nexus->nluns; i++)
		if (nexus->luns[i])
			atomic_fetch_and(&nexus->luns[i]->hot, ~(1u << UA_LUNS_CHANGED));
}
