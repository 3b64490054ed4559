/* How long a simulated command takes: the disk's one server, then the service time. */
#include "sim.h"

/* splitmix64: a number that looks random for each number. */
static uint64_t
scatter(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* mean * (part / 2^64) */
static uint64_t
scaled(uint64_t mean, uint64_t part)
{
	return (uint64_t)((unsigned __int128)mean * part >> 64);
}

/*
 * Exponential, from uniform numbers and comparisons alone (von Neumann): the
 * fraction is the first of a falling run of odd length, and each run of even
 * length before it adds a whole mean.
 */
static uint64_t
exponential(uint64_t mean, uint64_t state)
{
	uint64_t whole = 0;

	for (;; whole++) {
		uint64_t first = state = scatter(state), last = first;
		unsigned run = 1;

		while ((state = scatter(state)) < last) {
			last = state;
			run++;
		}
		if (run & 1)
			return whole * mean + scaled(mean, first);
	}
}

uint64_t
sim_draw(const struct sim_conf *conf, uint64_t salt, uint64_t n)
{
	uint64_t state = scatter(salt ^ scatter(n));

	switch ((enum sim_distribution)conf->distribution) {
	case SIM_FIXED:
		break;
	case SIM_UNIFORM:
		return scaled(2 * conf->service_ns, state);
	case SIM_EXPONENTIAL:
		return exponential(conf->service_ns, state);
	}
	return conf->service_ns;
}

/* How long the command has the disk to itself. */
static uint64_t
server_cost(const struct sim_conf *conf, const struct disk_io *io)
{
	uint64_t cost = conf->command_cost_ns;

	/* At most BUF_XFER_MAX bytes: 2^52. */
	if (conf->bytes_per_second && (io->op == DISK_READ || io->op == DISK_WRITE))
		cost += io->len * 1000000000u / conf->bytes_per_second;
	return cost;
}

uint64_t
sim_due_at(struct sim_disk *sd, const struct disk_io *io, uint64_t now)
{
	uint64_t cost = server_cost(sd->conf, io), at = now, draw = 0;

	if (cost) {
		uint64_t free_at = atomic_load_explicit(&sd->free_at, memory_order_relaxed);

		do
			at = MAX(free_at, now) + cost;
		while (!atomic_compare_exchange_weak_explicit(&sd->free_at, &free_at, at,
		    memory_order_relaxed, memory_order_relaxed));
	}
	if (sd->conf->distribution != SIM_FIXED)
		draw = atomic_fetch_add_explicit(&sd->draws, 1, memory_order_relaxed);
	return at + sim_draw(sd->conf, sd->salt, draw);
}
