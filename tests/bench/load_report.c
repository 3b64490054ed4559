/* What was measured: latencies, the target's CPU time and memory, one line of JSON. */
#include "load.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "util.h"

/* Exact to 63, then 64 buckets for each power of two: at most 1.6 % wrong. */
static unsigned
bucket(uint64_t v)
{
	unsigned e;

	if (v < 64)
		return (unsigned)v;
	e = 63 - (unsigned)__builtin_clzll(v);
	return ((e - 6) << 6) + (unsigned)(v >> (e - 6));
}

static double
bucket_ns(unsigned i)
{
	if (i < 128)
		return i;
	return (((i & 63) | 64) + 0.5) * (double)(1ull << ((i >> 6) - 1));
}

void
latency_add(struct tally *tally, uint64_t ns)
{
	tally->latency[bucket(ns)]++;
	if (ns > tally->max_ns)
		tally->max_ns = ns;
}

static double
percentile_us(const struct tally *tally, double share)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < BUCKETS; i++) {
		sum += tally->latency[i];
		if (sum && (double)sum >= share * (double)tally->ops)
			return bucket_ns(i) / 1000;
	}
	return 0;
}

uint64_t
thread_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The scheduler's own count, in nanoseconds; stat and getrusage have ticks only. */
static uint64_t
cpu_read(pid_t pid)
{
	char path[320];
	unsigned long long ns;
	uint64_t sum = 0;
	struct dirent *entry;
	FILE *f;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%s/schedstat", (int)pid, entry->d_name);
		f = fopen(path, "r");
		if (f && fscanf(f, "%llu", &ns) == 1)
			sum += ns;
		if (f)
			fclose(f);
	}
	if (dir)
		closedir(dir);
	return sum;
}

struct usage
usage_read(pid_t pid)
{
	struct usage usage = { 0 };
	char line[256];
	FILE *f;

	if (!pid)
		return usage;
	usage.cpu_ns = cpu_read(pid);
	snprintf(line, sizeof(line), "/proc/%d/status", (int)pid);
	f = fopen(line, "r");
	while (f && fgets(line, sizeof(line), f)) {
		sscanf(line, "VmHWM: %ld", &usage.rss_max_kb);
		sscanf(line, "VmRSS: %ld", &usage.rss_kb);
	}
	if (f)
		fclose(f);
	return usage;
}

static void
tally_add(struct tally *sum, const struct tally *t)
{
#define X(name, error) sum->name += t->name;
	TALLIES(X)
#undef X
	sum->ops += t->ops;
	sum->reads += t->reads;
	sum->max_ns = MAX(sum->max_ns, t->max_ns);
	for (unsigned i = 0; i < BUCKETS; i++)
		sum->latency[i] += t->latency[i];
}

static uint64_t
errors_count(const struct tally *t)
{
	uint64_t errors = 0;

#define X(name, error) errors += error ? t->name : 0;
	TALLIES(X)
#undef X
	return errors;
}

static void
sessions_print(struct conn **conns)
{
	uint64_t least = UINT64_MAX, most = 0;

	for (uint32_t i = 0; i < opt.sessions; i++) {
		least = MIN(least, conns[i]->ops);
		most = MAX(most, conns[i]->ops);
	}
	printf(",\"session_min\":%llu,\"session_max\":%llu", (unsigned long long)least,
	    (unsigned long long)most);
}

static void
target_print(double ops, double seconds, const struct usage *begun, const struct usage *ended)
{
	double cpu = (double)(ended->cpu_ns - begun->cpu_ns);

	if (!opt.target_pid)
		return;
	printf(",\"t_us\":%.3f,\"t_cpu\":%.4f,\"rss_kb\":%ld,\"rss_max_kb\":%ld",
	    ops > 0 ? cpu / 1000 / ops : 0, cpu / 1e9 / seconds, ended->rss_kb,
	    ended->rss_max_kb);
}

uint64_t
report_print(struct worker *workers, struct conn **conns, double login_ms, double seconds,
    const struct usage *begun, const struct usage *ended)
{
	struct tally *sum = must(calloc(1, sizeof(*sum)));
	double iops = 0, cpu = 0;
	uint64_t errors;

	for (uint32_t i = 0; i < opt.threads; i++) {
		const struct worker *w = &workers[i];

		tally_add(sum, &w->tally);
		iops += (double)w->tally.ops * 1e9 / (double)(w->ended - w->begun);
		cpu += (double)(w->cpu_ended - w->cpu_begun);
	}
	errors = errors_count(sum);
	printf("{\"label\":\"%s\",\"sessions\":%u,\"depth\":%u,\"size\":%u,\"ops\":%llu,"
	    "\"reads\":%llu,\"iops\":%.0f,\"mbps\":%.1f,\"p50\":%.1f,\"p99\":%.1f,\"p999\":%.1f,"
	    "\"max\":%.1f,\"login_ms\":%.2f,\"self_us\":%.3f,\"errors\":%llu", opt.label,
	    opt.sessions, opt.depth, opt.size, (unsigned long long)sum->ops,
	    (unsigned long long)sum->reads, iops, iops * opt.size / 1e6,
	    percentile_us(sum, 0.5), percentile_us(sum, 0.99), percentile_us(sum, 0.999),
	    (double)sum->max_ns / 1000, login_ms, sum->ops ? cpu / 1000 / (double)sum->ops : 0,
	    (unsigned long long)errors);
#define X(name, error) printf(",\"" #name "\":%llu", (unsigned long long)sum->name);
	TALLIES(X)
#undef X
	sessions_print(conns);
	target_print(iops * seconds, seconds, begun, ended);
	printf("}\n");
	free(sum);
	return errors;
}
