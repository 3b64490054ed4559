/* What a run came to, as one line of JSON; histograms; and work that takes a given time. */
#include <stdio.h>

#include "cell.h"

/* -- histograms -- */

static unsigned
hist_step(uint64_t ns)
{
	unsigned power;

	if (ns < HIST_STEPS)
		return (unsigned)ns;
	power = 63 - (unsigned)__builtin_clzll(ns);
	return MIN((power - 4) * HIST_STEPS + (unsigned)(ns >> (power - 5)) - HIST_STEPS,
	    HIST_SIZE - 1u);
}

/* The upper end of a step. */
static double
hist_ns(unsigned step)
{
	unsigned power = step / HIST_STEPS;

	if (power == 0)
		return step + 1;
	return (double)(HIST_STEPS + step % HIST_STEPS + 1) * (double)(1ull << (power - 1));
}

void
waits_note(struct waits *w, uint64_t ns, bool slow)
{
	unsigned step = hist_step(ns);

	w->all[step]++;
	if (slow)
		w->of_slow[step]++;
	if (ns > w->max_ns)
		w->max_ns = ns;
}

static double
hist_part(const uint32_t *hist, double part)
{
	uint64_t n = 0, at = 0;

	for (unsigned i = 0; i < HIST_SIZE; i++)
		n += hist[i];
	for (unsigned i = 0; i < HIST_SIZE && n; i++) {
		at += hist[i];
		if ((double)at >= part * (double)n)
			return hist_ns(i);
	}
	return 0;
}

/* -- work -- */

static double rounds_a_ns = 1;

static void
work_rounds(uint64_t n)
{
	uint64_t x = n | 1;

	/* Each round needs the one before; the barrier keeps the compiler from summing up. */
	while (n--) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		__asm__ volatile("" : "+r"(x));
	}
}

void
work_calibrate(void)
{
	double best = 0;

	if (!setup.work_ns)
		return;
	/* The fastest of some is the one that was not disturbed. */
	for (int i = 0; i < 20; i++) {
		uint64_t start = now_ns();
		double rate;

		work_rounds(200000);
		rate = 200000.0 / (double)(now_ns() - start);
		best = MAX(best, rate);
	}
	rounds_a_ns = best;
}

void
work_for(uint32_t ns)
{
	work_rounds((uint64_t)(ns * rounds_a_ns));
}

/* -- the line -- */

static struct waits sum[CLASSES];

static void
waits_sum(void)
{
	for (uint32_t i = 0; i < setup.threads; i++)
		for (int c = 0; c < CLASSES; c++) {
			const struct waits *from = &workers[i].waits[c];
			struct waits *to = &sum[c];

			to->asked += from->asked;
			to->slow += from->slow;
			to->max_ns = MAX(to->max_ns, from->max_ns);
			for (int k = 0; k < HIST_SIZE; k++) {
				to->all[k] += from->all[k];
				to->of_slow[k] += from->of_slow[k];
			}
		}
}

/* Jain's index of what each got for its weight: 1 is equal, 1/n is all to one. */
static void
print_shares(const uint64_t *done)
{
	double total = 0, squares = 0, least = 1e300, most = 0;
	double heavy = 0, light = 0;
	uint32_t n = setup.initiators;

	for (uint32_t i = 0; i < n; i++) {
		double share = (double)done[i] / initiators[i].weight;

		total += share;
		squares += share * share;
		least = MIN(least, share);
		most = MAX(most, share);
		if (i < setup.heavy)
			heavy += (double)done[i] / setup.heavy;
		else
			light += (double)done[i] / (n - setup.heavy);
	}
	printf(", \"jain\": %.5f, \"max_min\": %.3f", squares > 0 ? total * total / (n * squares) : 0,
	    least > 0 ? most / least : 0);
	if (setup.heavy)
		printf(", \"heavy_light\": %.4f", light > 0 ? heavy / light : 0);
}

void
results_print(const uint64_t *done, uint64_t ns, uint64_t cpu_ns)
{
	static const char *const class[CLASSES] = { "small", "hog" };
	uint64_t ops = 0;

	for (uint32_t i = 0; i < setup.initiators; i++)
		ops += done[i];
	if (!ops)
		die("%s: nothing was done", setup.policy);
	waits_sum();
	printf("{\"policy\": \"%s\", \"ops\": %llu, \"seconds\": %.4f, \"iops\": %.0f, \"cpu_ns\": %.2f"
	       ", \"most\": %d", setup.policy, (unsigned long long)ops, (double)ns / 1e9,
	    (double)ops * 1e9 / (double)ns, (double)cpu_ns / (double)ops, device_max());
	print_shares(done);
	for (int c = 0; c < CLASSES; c++)
		printf(", \"%s\": {\"asked\": %llu, \"slow\": %llu, \"p50\": %.0f, \"p99\": %.0f, "
		       "\"max\": %llu, \"slow_p99\": %.0f}", class[c],
		    (unsigned long long)sum[c].asked, (unsigned long long)sum[c].slow,
		    hist_part(sum[c].all, .5), hist_part(sum[c].all, .99),
		    (unsigned long long)sum[c].max_ns, hist_part(sum[c].of_slow, .99));
	puts("}");
}
