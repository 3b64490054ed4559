/* The device of a simulated adapter: how many places it has, and who is in them. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bridge.h"
#include "conf.h"
#include "log.h"

#include "sim.h"

enum { FLIGHT_BITS = 20 };		/* of sim_count.word; more than any adapter takes */
#define FLIGHT_MASK ((1u << FLIGHT_BITS) - 1)

static struct sim_adapter *adapters;	/* main thread */

/* -- counts -- */

static uint32_t
flight(uint64_t word)
{
	return (uint32_t)(word & FLIGHT_MASK);
}

static void
max_note(struct sim_count *c, uint32_t n)
{
	uint32_t max = atomic_load_explicit(&c->max, memory_order_relaxed);

	while (n > max && !atomic_compare_exchange_weak_explicit(&c->max, &max, n,
	    memory_order_relaxed, memory_order_relaxed))
		;
}

/* One more, whatever there is. Returns how many that makes. */
static uint32_t
count_enter(struct sim_count *c)
{
	uint32_t n = flight(atomic_fetch_add_explicit(&c->word, 1, memory_order_relaxed)) + 1;

	max_note(c, n);
	return n;
}

/* One more unless there are as many. A count above, even for a moment, would refuse others too. */
static bool
count_enter_below(struct sim_count *c, uint32_t limit)
{
	uint64_t word = atomic_load_explicit(&c->word, memory_order_relaxed);

	do {
		if (flight(word) >= limit)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(&c->word, &word, word + 1,
	    memory_order_relaxed, memory_order_relaxed));
	max_note(c, flight(word) + 1);
	return true;
}

/* done: the command was carried out, and is counted as such. */
static void
count_leave(struct sim_count *c, bool done)
{
	uint64_t change = (done ? 1ull << FLIGHT_BITS : 0) - 1;
	uint64_t word = atomic_fetch_add_explicit(&c->word, change, memory_order_relaxed);

	assert(flight(word));
}

static struct sim_initiator *
initiator_find(struct sim_adapter *a, uint64_t who)
{
	unsigned at = (unsigned)(who ^ who >> 32) % SIM_INITIATORS;

	if (!who)
		return NULL;
	for (unsigned i = 0; i < SIM_INITIATORS; i++, at = (at + 1) % SIM_INITIATORS) {
		struct sim_initiator *in = &a->initiator[at];
		uint64_t have = atomic_load_explicit(&in->who, memory_order_relaxed);

		if (have == who || (!have && (atomic_compare_exchange_strong_explicit(&in->who,
		    &have, who, memory_order_relaxed, memory_order_relaxed) || have == who)))
			return in;
	}
	return NULL;
}

static void
offline_set(struct sim_adapter *a)
{
	if (!atomic_exchange_explicit(&a->offline, true, memory_order_relaxed))
		log_err("adapter %s is offline: status code 0x6100c", bridge_host_name(a->host));
}

int
sim_enter(struct disk_io *io)
{
	struct sim_disk *sd = io->disk->priv;
	struct sim_adapter *a = sd->adapter;
	struct sim_initiator *in;

	if (unlikely(atomic_load_explicit(&a->offline, memory_order_relaxed)))
		return -ENODEV;
	if (!sd->conf->busy_above) {
		count_enter(&sd->count);
	} else if (!count_enter_below(&sd->count, sd->conf->busy_above)) {
		atomic_fetch_add_explicit(&sd->busy, 1, memory_order_relaxed);
		return -EAGAIN;
	}
	if (unlikely(count_enter(&a->count) > a->device_queue)) {
		offline_set(a);
		count_leave(&a->count, false);
		count_leave(&sd->count, false);
		return -ENODEV;
	}
	count_enter(&sd->target->count);
	sim_io_of(io)->initiator = in = initiator_find(a, io->who);
	if (in)
		count_enter(&in->count);
	return 0;
}

void
sim_leave(struct disk_io *io)
{
	struct sim_disk *sd = io->disk->priv;
	bool done = !io->result;

	if (done && (io->op == DISK_READ || io->op == DISK_WRITE))
		atomic_fetch_add_explicit(&sd->bytes, io->len, memory_order_relaxed);
	if (sim_io_of(io)->initiator)
		count_leave(&sim_io_of(io)->initiator->count, done);
	count_leave(&sd->target->count, done);
	count_leave(&sd->count, done);
	count_leave(&sd->adapter->count, done);
}

/* -- adapters -- */

/* In the order of the configuration, as people look for them. */
static struct sim_target *
target_get(struct sim_adapter *a, const struct conf_disk *cd)
{
	struct sim_target **at, *t;

	for (at = &a->targets; (t = *at); at = &t->next) {
		if (t->channel == cd->channel && t->id == cd->id) {
			t->disks++;
			return t;
		}
	}
	t = aligned_alloc(_Alignof(struct sim_target), sizeof(*t));
	if (!t)
		return NULL;
	*t = (struct sim_target){ .channel = cd->channel, .id = cd->id, .disks = 1 };
	*at = t;
	return t;
}

static struct sim_adapter *
adapter_get(struct bridge_host *host, uint32_t device_queue)
{
	struct sim_adapter *a;

	for (a = adapters; a; a = a->next)
		if (a->host == host)
			return a;
	a = aligned_alloc(_Alignof(struct sim_adapter), sizeof(*a));
	if (!a)
		return NULL;
	memset(a, 0, sizeof(*a));
	a->host = host;
	a->device_queue = device_queue;
	a->next = adapters;
	adapters = a;
	return a;
}

struct sim_adapter *
sim_adapter_get(struct sim_disk *sd)
{
	const struct conf_disk *cd = sd->disk->conf;
	uint32_t places = sd->conf->device_queue ? sd->conf->device_queue : cd->adapter->can_queue;
	struct sim_adapter *a = adapter_get(sd->disk->host, places);
	struct sim_disk **at;

	if (!a)
		goto no_memory;
	sd->adapter = a;
	a->users++;
	for (at = &a->disks; *at; at = &(*at)->next)
		continue;
	*at = sd;
	if (places != a->device_queue) {
		log_err("disk %s: device_queue %u, but the first disk of adapter %s says %u",
		    cd->name, places, bridge_host_name(a->host), a->device_queue);
		return NULL;
	}
	sd->target = target_get(a, cd);
	if (sd->target)
		return a;
no_memory:
	log_err("disk %s: out of memory", cd->name);
	return NULL;
}

static void
target_put(struct sim_adapter *a, struct sim_target *t)
{
	struct sim_target **at = &a->targets;

	if (--t->disks)
		return;
	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	free(t);
}

void
sim_adapter_put(struct sim_disk *sd)
{
	struct sim_adapter *a = sd->adapter, **at = &adapters;
	struct sim_disk **disk;

	if (!a)
		return;
	if (sd->target)
		target_put(a, sd->target);
	for (disk = &a->disks; *disk != sd; disk = &(*disk)->next)
		continue;
	*disk = sd->next;
	if (--a->users)
		return;
	while (*at != a)
		at = &(*at)->next;
	*at = a->next;
	free(a);
}

/* -- what is seen of it -- */

static void
row_add(struct sim_row *rows, unsigned max, unsigned *n, struct sim_row row, struct sim_count *c)
{
	uint64_t word = atomic_load_explicit(&c->word, memory_order_relaxed);

	row.in_flight = flight(word);
	row.commands = word >> FLIGHT_BITS;
	row.max = atomic_load_explicit(&c->max, memory_order_relaxed);
	if ((*n)++ < max)
		rows[*n - 1] = row;
}

static void
adapter_rows(struct sim_adapter *a, struct sim_row *rows, unsigned max, unsigned *n)
{
	struct sim_row row = { .adapter = bridge_host_name(a->host), .limit = a->device_queue,
		.offline = atomic_load_explicit(&a->offline, memory_order_relaxed) };
	struct sim_target *t;
	struct sim_disk *sd;

	snprintf(row.name, sizeof(row.name), "%s", row.adapter);
	row_add(rows, max, n, row, &a->count);
	row.limit = 0;
	row.kind = SIM_TARGET;
	for (t = a->targets; t; t = t->next) {
		snprintf(row.name, sizeof(row.name), "%u:%u", t->channel, t->id);
		row_add(rows, max, n, row, &t->count);
	}
	row.kind = SIM_INITIATOR;
	for (unsigned i = 0; i < SIM_INITIATORS; i++) {
		struct sim_initiator *in = &a->initiator[i];
		uint64_t who = atomic_load_explicit(&in->who, memory_order_relaxed);

		if (!who)
			continue;
		snprintf(row.name, sizeof(row.name), "%016llx", (unsigned long long)who);
		row_add(rows, max, n, row, &in->count);
	}
	row.kind = SIM_DISK;
	for (sd = a->disks; sd; sd = sd->next) {
		snprintf(row.name, sizeof(row.name), "%s", sd->disk->name);
		row.limit = sd->conf->busy_above;
		row.bytes = atomic_load_explicit(&sd->bytes, memory_order_relaxed);
		row.busy = atomic_load_explicit(&sd->busy, memory_order_relaxed);
		row_add(rows, max, n, row, &sd->count);
	}
}

unsigned
sim_rows(struct sim_row *rows, unsigned max)
{
	struct sim_adapter *a;
	unsigned n = 0;

	for (a = adapters; a; a = a->next)
		adapter_rows(a, rows, max, &n);
	return n;
}
