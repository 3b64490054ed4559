/* Policy b: as a kernel does it: increment, check, undo at each level, a shared map of tags, and tries again. */
#include <assert.h>
#include <stdlib.h>

#include "cell.h"

/*
 * A reactor fills what it frees itself, but for one time in eight: to wake
 * another each time costs a sixth of the throughput, never starves the others.
 * Who was told of nothing tries again after 3 ms, as Linux does.
 */
enum { PASS_EVERY = 8, RETRY_NS = 3000000 };

struct level {
	OWN_LINE atomic_int in;
	int limit;
};

struct tag_word {
	_Alignas(64) _Atomic uint64_t used;
};

/* A reactor's own. */
struct local {
	OWN_LINE struct queue waiting[LUNS_MAX];
	uint32_t nwaiting, next_lun, hint, next_kick, turns;
	bool freed;			/* since the last turn */
	OWN_LINE struct msg kick;
	uint32_t hops;			/* of whoever raised kicked */
	atomic_bool kicked;
};

static struct level host, target[TARGETS_MAX], lun[LUNS_MAX];
static struct tag_word *tags;
static uint32_t ntag_words;
static struct local *locals;
static OWN_LINE _Atomic uint64_t waiting;	/* a bit for each reactor where somebody waits */

static void
level_init(struct level *l, uint32_t limit)
{
	atomic_init(&l->in, 0);
	l->limit = (int)limit;
}

static bool
level_take(struct level *l)
{
	if (atomic_fetch_add(&l->in, 1) < l->limit)
		return true;
	atomic_fetch_sub(&l->in, 1);
	return false;
}

static void
level_give(struct level *l)
{
	atomic_fetch_sub(&l->in, 1);
}

/* A place at the host says that there is one; a scan may miss it and begins again. */
static uint32_t
tag_take(struct local *self)
{
	for (uint32_t i = self->hint;; i = (i + 1) % ntag_words) {
		uint64_t used = atomic_load_explicit(&tags[i].used, memory_order_relaxed);

		while (~used) {
			uint32_t bit = (uint32_t)__builtin_ctzll(~used);

			used = atomic_fetch_or_explicit(&tags[i].used, 1ull << bit,
			    memory_order_acquire);
			if (!(used & 1ull << bit)) {
				self->hint = i;
				return i * 64 + bit;
			}
		}
	}
}

static void
tag_give(uint32_t tag)
{
	atomic_fetch_and_explicit(&tags[tag / 64].used, ~(1ull << tag % 64), memory_order_release);
}

enum taken { TAKEN, FULL_LUN, FULL_TARGET, FULL_HOST };

static enum taken
take(struct local *self, struct command *cmd)
{
	struct level *l = &lun[cmd->lun], *t = &target[cmd->lun % setup.targets];
	enum taken taken = FULL_HOST;

	if (!level_take(l))
		return FULL_LUN;
	if (!level_take(t)) {
		taken = FULL_TARGET;
	} else if (level_take(&host)) {
		cmd->tag = tag_take(self);
		return TAKEN;
	} else {
		level_give(t);
	}
	level_give(l);
	return taken;
}

/* Starts what waits on this reactor and finds a place, LUN by LUN in turn. False: stopped by the full adapter. */
static bool
retry(struct worker *w, struct local *self)
{
	enum taken taken = TAKEN;

	for (uint32_t i = 0; i < setup.luns && self->nwaiting && taken != FULL_HOST; i++) {
		struct queue *q = &self->waiting[(self->next_lun + i) % setup.luns];

		while (q->first && (taken = take(self, q->first)) == TAKEN) {
			self->nwaiting--;
			device_start(queue_take(q));
		}
	}
	self->next_lun = (self->next_lun + 1) % setup.luns;
	w->retry_at = self->nwaiting ? now_ns() + RETRY_NS : 0;
	if (!self->nwaiting)
		atomic_fetch_and(&waiting, ~(1ull << w->id));
	return taken != FULL_HOST;
}

static void
submit(struct command *cmd)
{
	struct worker *w = worker_self;
	struct local *self = &locals[w->id];

	if (!self->waiting[cmd->lun].first && take(self, cmd) == TAKEN) {
		device_start(cmd);
		return;
	}
	queue_add(&self->waiting[cmd->lun], cmd);
	if (self->nwaiting++)
		return;
	atomic_fetch_or(&waiting, 1ull << w->id);
	/* What was given back before the bit was seen is not announced: look again. */
	retry(w, self);
}

static void
release(struct command *cmd)
{
	tag_give(cmd->tag);
	level_give(&host);
	level_give(&target[cmd->lun % setup.targets]);
	level_give(&lun[cmd->lun]);
	locals[worker_self->id].freed = true;
	command_back(cmd);
}

/*
 * Places were given back: the reactors where somebody waits have them in turn,
 * this one too. One that leaves some passes the word on, at most once round.
 */
static void
pass_on(struct worker *w, struct local *self, uint32_t hops)
{
	while (hops--) {
		uint64_t mask = atomic_load(&waiting);
		struct local *next;

		if (!mask)
			return;
		do
			self->next_kick = (self->next_kick + 1) % setup.threads;
		while (!(mask & 1ull << self->next_kick));
		next = &locals[self->next_kick];
		if (next != self) {
			if (!atomic_exchange(&next->kicked, true)) {
				next->hops = hops;
				reactor_post(workers[self->next_kick].reactor, &next->kick);
			}
			return;
		}
		if (!retry(w, self))
			return;
	}
}

static void
kicked(struct msg *m)
{
	struct local *self = container_of(m, struct local, kick);
	uint32_t hops = self->hops;

	atomic_store(&self->kicked, false);
	if (retry(worker_self, self))
		pass_on(worker_self, self, hops);
}

static bool
turn(struct worker *w)
{
	struct local *self = &locals[w->id];

	if (self->freed) {
		self->freed = false;
		if (++self->turns % PASS_EVERY == 0 || !self->nwaiting || retry(w, self))
			pass_on(w, self, setup.threads);
	}
	if (w->retry_at && now_ns() >= w->retry_at)
		retry(w, self);
	return false;
}

static void
open_levels(void)
{
	level_init(&host, setup.can_queue);
	for (uint32_t i = 0; i < setup.targets; i++)
		level_init(&target[i], setup.target_depth);
	for (uint32_t i = 0; i < setup.luns; i++)
		level_init(&lun[i], setup.lun_depth);
	ntag_words = (setup.can_queue + 63) / 64;
	tags = must(aligned_alloc(64, ntag_words * sizeof(*tags)));
	for (uint32_t i = 0; i < ntag_words; i++)
		atomic_init(&tags[i].used, 0);
	if (setup.can_queue % 64)
		atomic_init(&tags[ntag_words - 1].used, ~0ull << setup.can_queue % 64);
	locals = must(aligned_alloc(128, setup.threads * sizeof(*locals)));
	for (uint32_t i = 0; i < setup.threads; i++) {
		locals[i] = (struct local){ .hint = i * ntag_words / setup.threads,
			.kick.fn = kicked };
		for (uint32_t k = 0; k < setup.luns; k++)
			queue_init(&locals[i].waiting[k]);
	}
}

static void
close_levels(void)
{
	assert(atomic_load(&host.in) == 0);
	free(tags);
	free(locals);
}

const struct policy policy_atomics = {
	.name = "b",
	.open = open_levels,
	.submit = submit,
	.release = release,
	.turn = turn,
	.close = close_levels,
};
