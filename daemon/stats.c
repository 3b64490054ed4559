/* Counters: an array for each thread, summed when somebody asks. */
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "reactor.h"
#include "stats.h"

enum { SLOTS = REACTORS_MAX + 1 };	/* reactors and the main thread */

/* Untouched rows cost no memory. Id 0 is nobody's: counts before stats_init go there. */
static OWN_LINE uint64_t rows[SLOTS][COUNTERS_MAX];
static OWN_LINE uint64_t nowhere[COUNTERS_MAX];

__thread uint64_t *stats_self = nowhere;

void
stats_init(void)
{
	const struct counter *c, *other;
	uint32_t next = 1;

	for_each_registered(counters, c) {
		for_each_registered(counters, other) {
			if (other == c)
				break;
			if (strcmp(other->name, c->name))
				continue;
			log_err("two counters are named %s", c->name);
			abort();
		}
		if (next == COUNTERS_MAX) {
			log_err("more than %d counters", COUNTERS_MAX - 1);
			abort();
		}
		*c->id = next++;
	}
}

void
stats_thread_init(unsigned slot)
{
	assert(slot < SLOTS);
	stats_self = rows[slot];
}

uint64_t
counter_read(const struct counter *c)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < SLOTS; i++)
		sum += __atomic_load_n(&rows[i][*c->id], __ATOMIC_RELAXED);
	return sum;
}
