/* Persistent reservations of a unit (SPC-4 5.13): registrations and the actions on them, without I/O. */
#include "pr.h"

#include <stdlib.h>
#include <string.h>

#include "util.h"

bool
pr_copy(struct pr *to, const struct pr *from, unsigned more)
{
	*to = *from;
	to->room = MIN(from->n + more, (unsigned)PR_REGS_MAX);
	to->reg = calloc(MAX(to->room, 1u), sizeof(to->reg[0]));
	if (!to->reg)
		return false;
	if (from->n)
		memcpy(to->reg, from->reg, from->n * sizeof(to->reg[0]));
	return true;
}

void
pr_fini(struct pr *pr)
{
	free(pr->reg);
	memset(pr, 0, sizeof(*pr));
	pr->holder = -1;
}

static bool
nexus_same(const struct pr_nexus *a, const struct pr_nexus *b)
{
	return a->protocol == b->protocol && memcmp(a->isid, b->isid, sizeof(a->isid)) == 0 &&
	    strcmp(a->initiator, b->initiator) == 0 && strcmp(a->target, b->target) == 0;
}

int
pr_find(const struct pr *pr, const struct pr_nexus *nexus)
{
	for (unsigned i = 0; i < pr->n; i++)
		if (nexus_same(&pr->reg[i].nexus, nexus))
			return (int)i;
	return -1;
}

bool
pr_holds(const struct pr *pr, int reg)
{
	return reg >= 0 && pr->type != PR_NONE && (pr_type_is_ar(pr->type) || pr->holder == reg);
}

bool
pr_type_known(unsigned type)
{
	return type == PR_WRITE_EXCLUSIVE || type == PR_EXCLUSIVE ||
	    (type >= PR_WRITE_EXCLUSIVE_RO && type <= PR_EXCLUSIVE_AR);
}

static unsigned
regs_of_initiator(const struct pr *pr, const char *initiator)
{
	unsigned n = 0;

	for (unsigned i = 0; i < pr->n; i++)
		n += strcmp(pr->reg[i].nexus.initiator, initiator) == 0;
	return n;
}

static enum pr_outcome
reg_add(struct pr *pr, const struct pr_nexus *nexus, uint64_t key)
{
	if (pr->n == pr->room || regs_of_initiator(pr, nexus->initiator) >= PR_REGS_INITIATOR)
		return PR_NO_ROOM;
	pr->reg[pr->n].nexus = *nexus;
	pr->reg[pr->n++].key = key;
	return PR_DONE;
}

static void
reservation_end(struct pr *pr)
{
	pr->type = PR_NONE;
	pr->holder = -1;
}

/* A holder that goes takes its reservation along; one of all registrants stays until the last goes. */
static void
reg_del(struct pr *pr, unsigned i)
{
	if (pr->holder == (int)i)
		reservation_end(pr);
	else if (pr->holder > (int)i)
		pr->holder--;
	pr->n--;
	memmove(&pr->reg[i], &pr->reg[i + 1], (pr->n - i) * sizeof(pr->reg[0]));
	if (pr->n == 0)
		reservation_end(pr);
}

enum pr_outcome
pr_register(struct pr *pr, const struct pr_nexus *nexus, const struct pr_keys *keys, bool ignore,
    bool aptpl, const struct pr_nexus *also, unsigned n)
{
	int at = pr_find(pr, nexus);
	enum pr_outcome r = PR_DONE;

	if (!ignore && keys->key != (at < 0 ? 0 : pr->reg[at].key))
		return PR_CONFLICT;
	if (at >= 0 && !keys->service)
		reg_del(pr, (unsigned)at);
	else if (at >= 0)
		pr->reg[at].key = keys->service;
	else if (keys->service)
		r = reg_add(pr, nexus, keys->service);
	for (unsigned i = 0; i < n && r == PR_DONE; i++) {
		at = pr_find(pr, &also[i]);
		if (at >= 0 && !keys->service)
			reg_del(pr, (unsigned)at);
		else if (at >= 0)
			pr->reg[at].key = keys->service;
		else if (keys->service)
			r = reg_add(pr, &also[i], keys->service);
	}
	if (r != PR_DONE)
		return r;
	pr->aptpl = aptpl;
	pr->generation++;
	return PR_DONE;
}

/* The registration that may act: of this nexus and with this key; -1: RESERVATION CONFLICT. */
static int
actor(const struct pr *pr, const struct pr_nexus *nexus, uint64_t key)
{
	int at = pr_find(pr, nexus);

	return at >= 0 && pr->reg[at].key == key ? at : -1;
}

static void
reservation_make(struct pr *pr, int reg, unsigned type)
{
	pr->type = (uint8_t)type;
	pr->holder = pr_type_is_ar(type) ? -1 : reg;
}

enum pr_outcome
pr_reserve(struct pr *pr, const struct pr_nexus *nexus, uint64_t key, unsigned type)
{
	int at = actor(pr, nexus, key);

	if (at < 0)
		return PR_CONFLICT;
	if (pr->type == PR_NONE) {
		reservation_make(pr, at, type);
		return PR_DONE;
	}
	/* SPC-4 5.13.9: the same once more is no change, anything else a conflict. */
	return pr->type == type && pr_holds(pr, at) ? PR_DONE : PR_CONFLICT;
}

enum pr_outcome
pr_release(struct pr *pr, const struct pr_nexus *nexus, uint64_t key, unsigned type)
{
	int at = actor(pr, nexus, key);

	if (at < 0)
		return PR_CONFLICT;
	if (!pr_holds(pr, at))
		return PR_DONE;
	if (pr->type != type)
		return PR_BAD_RELEASE;
	reservation_end(pr);
	return PR_DONE;
}

enum pr_outcome
pr_clear(struct pr *pr, const struct pr_nexus *nexus, uint64_t key)
{
	if (actor(pr, nexus, key) < 0)
		return PR_CONFLICT;
	reservation_end(pr);
	pr->n = 0;
	pr->generation++;
	return PR_DONE;
}

/* Ends every registration with this key (all: with any) but the actor's; how many there were. */
static unsigned
regs_end(struct pr *pr, const struct pr_nexus *actor_nexus, uint64_t key, bool all)
{
	unsigned ended = 0;

	for (unsigned i = pr->n; i-- > 0;) {
		if ((!all && pr->reg[i].key != key) || nexus_same(&pr->reg[i].nexus, actor_nexus))
			continue;
		reg_del(pr, i);
		ended++;
	}
	return ended;
}

/* SPC-4 5.13.11.2.3, table 75. */
enum pr_outcome
pr_preempt(struct pr *pr, const struct pr_nexus *nexus, const struct pr_keys *keys, unsigned type)
{
	int at = actor(pr, nexus, keys->key);
	bool ar = pr_type_is_ar(pr->type), all = ar && !keys->service;
	bool takes, own;

	if (at < 0)
		return PR_CONFLICT;
	if (!keys->service && !ar)
		return PR_BAD_KEY;
	takes = all || (pr->type != PR_NONE && !ar &&
	    pr->reg[pr->holder].key == keys->service);
	own = pr->reg[at].key == keys->service;
	if (regs_end(pr, nexus, keys->service, all) == 0 && !takes && !own)
		return PR_CONFLICT;
	if (takes)
		reservation_make(pr, pr_find(pr, nexus), type);
	pr->generation++;
	return PR_DONE;
}

enum pr_outcome
pr_move(struct pr *pr, const struct pr_nexus *nexus, const struct pr_keys *keys,
    const struct pr_nexus *to, bool unreg, bool aptpl)
{
	int at = actor(pr, nexus, keys->key), dest;
	uint8_t type = pr->type;
	enum pr_outcome r = PR_DONE;

	/* SPC-4 5.13.8: only who alone holds it can hand it on. */
	if (at < 0 || pr->type == PR_NONE || pr_type_is_ar(pr->type) || pr->holder != at)
		return PR_CONFLICT;
	if (!keys->service || nexus_same(nexus, to))
		return PR_BAD_KEY;
	dest = pr_find(pr, to);
	if (dest >= 0)
		pr->reg[dest].key = keys->service;
	else
		r = reg_add(pr, to, keys->service);
	if (r != PR_DONE)
		return r;
	if (unreg)
		reg_del(pr, (unsigned)at);
	reservation_make(pr, pr_find(pr, to), type);
	pr->aptpl = aptpl;
	pr->generation++;
	return PR_DONE;
}

enum pr_outcome
pr_replace_lost(struct pr *pr, const struct pr_nexus *nexus, const struct pr_keys *keys,
    unsigned type, bool aptpl)
{
	enum pr_outcome r;

	if (!keys->service)
		return PR_BAD_KEY;
	reservation_end(pr);
	pr->n = 0;
	r = reg_add(pr, nexus, keys->service);
	if (r != PR_DONE)
		return r;
	reservation_make(pr, 0, type);
	pr->lost = false;
	pr->aptpl = aptpl;
	pr->generation++;
	return PR_DONE;
}

enum pr_limit
pr_limit(const struct pr *pr, const struct pr_nexus *nexus)
{
	bool writes_only = pr->type == PR_WRITE_EXCLUSIVE || pr->type == PR_WRITE_EXCLUSIVE_RO ||
	    pr->type == PR_WRITE_EXCLUSIVE_AR;
	int at;

	if (pr->lost)
		return PR_NO_ACCESS;
	if (pr->type == PR_NONE)
		return PR_FREE;
	at = pr_find(pr, nexus);
	if (pr_holds(pr, at) || (at >= 0 && pr_type_is_ro(pr->type)))
		return PR_FREE;
	return writes_only ? PR_NO_WRITES : PR_NO_ACCESS;
}
