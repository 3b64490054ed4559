/* Measures one cell: options as NAME=VALUE, one line of JSON. */
#include "cell.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "include/stats.h"

struct setup setup = {
	.policy = "e2", .threads = 2, .targets = 2, .luns = 8, .initiators = 2, .can_queue = 1024,
	.target_depth = 1024, .lun_depth = 1024, .window_min = 32, .window_max = 32, .spread = 1,
	.batch = 16, .nap_ns = 50000, .warm_ms = 50, .run_ms = 100, .mode = "shared",
	.device = "bench", .caches = 1,
};
const struct policy *policy;

struct option {
	const char *name;
	size_t at;
	bool text;
};

#define NUMBER(field) { #field, offsetof(struct setup, field), false }
#define TEXT(field) { #field, offsetof(struct setup, field), true }

static const struct option options[] = {
	TEXT(policy), NUMBER(threads), NUMBER(loaded), NUMBER(targets), NUMBER(luns),
	NUMBER(initiators), NUMBER(can_queue), NUMBER(target_depth), NUMBER(lun_depth),
	NUMBER(window_min), NUMBER(window_max), NUMBER(hogs), NUMBER(spread), NUMBER(apart),
	NUMBER(heavy), NUMBER(batch), NUMBER(work_ns), NUMBER(service_ns), NUMBER(nap_ns),
	NUMBER(poll_ns), NUMBER(count), NUMBER(device_slots), NUMBER(warm_ms), NUMBER(run_ms),
	TEXT(mode), TEXT(device), NUMBER(caches), NUMBER(coalesce), NUMBER(sequential),
	NUMBER(command_ns),
};

void
die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("cell: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	/* Not exit: other threads are in the middle of something. */
	_Exit(2);
}

void *
must(void *memory)
{
	if (!memory)
		die("out of memory");
	return memory;
}

static void
option_set(char *arg)
{
	char *value = strchr(arg, '='), *end;

	if (!value)
		die("%s: not NAME=VALUE", arg);
	*value++ = '\0';
	for (size_t i = 0; i < ARRAY_LEN(options); i++) {
		char *to = (char *)&setup + options[i].at;

		if (strcmp(options[i].name, arg) != 0)
			continue;
		if (options[i].text) {
			*(const char **)to = value;
			return;
		}
		*(uint32_t *)to = (uint32_t)strtoul(value, &end, 10);
		if (end == value || *end)
			die("%s: %s is no number", arg, value);
		return;
	}
	die("there is no option %s", arg);
}

static void
setup_check(void)
{
	static const struct policy *const all[] = {
		&policy_mutex, &policy_atomics, &policy_divided, &policy_owner, &policy_bridge,
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (strcmp(all[i]->name, setup.policy) == 0)
			policy = all[i];
	if (!policy)
		die("there is no policy %s", setup.policy);
	if (!setup.loaded || setup.loaded > setup.threads)
		setup.loaded = setup.threads;
	if (!setup.threads || setup.threads + policy->extra > REACTORS_MAX)
		die("threads: 1 to %u", REACTORS_MAX - policy->extra);
	if (!setup.luns || setup.luns > LUNS_MAX || !setup.targets || setup.targets > setup.luns)
		die("luns: 1 to %d, targets: 1 to luns", LUNS_MAX);
	if (!setup.initiators || setup.initiators > INITIATORS_MAX)
		die("initiators: 1 to %d", INITIATORS_MAX);
	if (!setup.window_min || setup.window_max < setup.window_min || !setup.batch)
		die("windows and batches are at least 1");
	if (setup.apart && setup.luns < 2)
		die("a LUN apart wants two");
}

/* -- the run -- */

static void
all_workers(void (*fn)(void *))
{
	for (uint32_t i = 0; i < setup.threads; i++)
		reactor_call(workers[i].reactor, fn, &workers[i]);
}

static void
pause_ms(uint32_t ms)
{
	const struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	nanosleep(&t, NULL);
}

static uint64_t
cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Of each initiator; returns the sum. */
static uint64_t
read_done(uint64_t *done)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < setup.initiators; i++) {
		done[i] = atomic_load_explicit(&initiators[i].done, memory_order_relaxed);
		sum += done[i];
	}
	return sum;
}

/* All commands come back, or something was lost. */
static void
stop_all(void)
{
	uint64_t end = now_ns() + 20000000000u;
	uint64_t want = 0, rest;

	for (uint32_t i = 0; i < setup.initiators; i++)
		want += initiators[i].window;
	atomic_store(&stopping, true);
	do {
		pause_ms(1);
		rest = 0;
		for (uint32_t i = 0; i < setup.threads; i++)
			rest += atomic_load(&workers[i].at_rest);
		if (now_ns() > end)
			die("%s: %llu commands never came back", setup.policy,
			    (unsigned long long)(want - rest));
	} while (rest < want);
}

static void
measure(void)
{
	uint64_t before[INITIATORS_MAX], after[INITIATORS_MAX], ns, cpu, sum;

	pause_ms(setup.warm_ms);
	atomic_store(&recording, true);
	ns = now_ns();
	cpu = cpu_ns();
	sum = read_done(before);
	/* A run of some ms may pass without our having had a processor. */
	for (int i = 0; i < 100; i++) {
		pause_ms(setup.run_ms);
		if (read_done(after) > sum)
			break;
	}
	cpu = cpu_ns() - cpu;
	ns = now_ns() - ns;
	atomic_store(&recording, false);
	for (uint32_t i = 0; i < setup.initiators; i++)
		after[i] -= before[i];
	stop_all();
	results_print(after, ns, cpu);
}

int
main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		option_set(argv[i]);
	setup_check();
	work_calibrate();
	stats_init();
	stats_thread_init(REACTORS_MAX);
	if (reactors_start(setup.threads + policy->extra, setup.poll_ns))
		die("reactors do not start");
	device_init();
	crowd_make();
	if (policy->open)
		policy->open();
	all_workers(worker_start);
	measure();
	all_workers(worker_stop);
	if (policy->close)
		policy->close();
	reactors_stop();
	crowd_free();
	return 0;
}
