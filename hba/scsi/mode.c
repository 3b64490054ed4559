/* What initiators may change of a unit's mode pages: kept, told, and seen by the data path. */
#include "mode.h"

#include "lu.h"
#include "nexus.h"
#include "ua.h"

struct mode_values
mode_values_get(struct lu *lu)
{
	struct mode_values v;

	pthread_mutex_lock(&lu->lock);
	v.d_sense = atomic_load_explicit(&lu->d_sense, memory_order_relaxed);
	v.swp = lu->swp;
	pthread_mutex_unlock(&lu->lock);
	return v;
}

/* Under the lock. */
static void
protect(const struct lu *lu, struct nexus_lun *nlun)
{
	if (lu->swp)
		atomic_fetch_or(&nlun->hot, NLUN_SWP);
	else
		atomic_fetch_and(&nlun->hot, ~(uint32_t)NLUN_SWP);
}

void
mode_values_inherit(struct lu *lu, struct nexus_lun *nlun)
{
	protect(lu, nlun);
}

/* tell: the change is news; who was reset is told that. */
static void
change(struct lu *lu, const struct mode_values *v, const struct nexus *by, bool tell)
{
	struct nexus_lun *nlun;

	pthread_mutex_lock(&lu->lock);
	tell = tell && (v->d_sense != lu->d_sense || v->swp != lu->swp);
	atomic_store_explicit(&lu->d_sense, v->d_sense, memory_order_relaxed);
	lu->swp = v->swp;
	list_for_each(nlun, &lu->nluns, link) {
		protect(lu, nlun);
		if (tell && nlun->nexus != by)
			ua_raise(nlun, UA_MODE_CHANGED);
	}
	pthread_mutex_unlock(&lu->lock);
}

void
mode_values_set(struct lu *lu, const struct mode_values *v, const struct nexus *by)
{
	change(lu, v, by, true);
}

void
mode_values_reset(struct lu *lu)
{
	change(lu, &(struct mode_values){ 0 }, NULL, false);
}
