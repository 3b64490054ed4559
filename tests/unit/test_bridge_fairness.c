/*
 * Who gets how much of a saturated adapter, in ticks of a clock of its own:
 * initiators that always have so many requests out, a device that takes so many
 * ticks for each, two reactors.
 */
#include "bridge_rig.h"

enum { REACTORS = 2, INIS = 64, SERVICE = 8, WARM_UP = 300, TICKS = 2500, WAIT_MAX = 4096 };

struct fjob {
	struct bridge_req req;
	struct list link;		/* in the device */
	int ini;
	unsigned sent, due;		/* ticks */
};

/* One initiator: its requests go to one LUN, from one home. */
static struct ini {
	int window, disk;
	uint32_t weight;
	bool active;			/* sends again when something is done */
	struct fjob *jobs;
	struct bridge_flow *flow;
	unsigned home;
	/* since the warm-up */
	unsigned done;
	atomic_uint waits[WAIT_MAX], longest;
	int out;
} inis[INIS];

static struct list running[REACTORS];
static atomic_uint now;
static atomic_bool counting;

static enum disk_result
device_submit(struct disk_io *io)
{
	struct fjob *j = container_of(io, struct fjob, req.io);
	struct ini *i = &inis[j->ini];
	unsigned wait = now - j->sent;

	io->result = 0;
	j->due = now + SERVICE;
	list_add_tail(&running[reactor_id(reactor_self())], &j->link);
	if (counting) {
		atomic_fetch_add(&i->waits[MIN(wait, (unsigned)WAIT_MAX - 1)], 1);
		if (wait > i->longest)
			i->longest = wait;
	}
	return DISK_PENDING;
}

static void
job_send(struct fjob *j)
{
	j->sent = now;
	inis[j->ini].out++;
	sure(bridge_submit(&j->req) == BRIDGE_PENDING);
}

static void
job_done(struct bridge_req *req)
{
	struct fjob *j = container_of(req, struct fjob, req);
	struct ini *i = &inis[j->ini];

	i->out--;
	i->done += counting;
	if (i->active)
		job_send(j);
}

/* What is due is done; those who wait for it go, with the next tick at the latest. */
static void
tick_on(void *arg)
{
	struct list *mine = &running[reactor_id(reactor_self())];

	while (!list_empty(mine)) {
		struct fjob *j = list_first(mine, struct fjob, link);

		if (j->due > now)
			break;
		list_del(&j->link);
		disk_io_done(&j->req.io);
	}
}

static void
tick(int n)
{
	while (n-- > 0) {
		now++;
		for (unsigned r = 0; r < REACTORS; r++)
			rig_run(r, tick_on, NULL);
		for (unsigned r = 0; r < 2 * REACTORS; r++)
			rig_run(r % REACTORS, rig_nothing, NULL);
	}
}

static void
begin_on(void *arg)
{
	for (int k = 0; k < INIS; k++) {
		struct ini *i = &inis[k];
		const struct bridge_limits limits = { .weight = i->weight };
		char name[16];

		if (i->home != reactor_id(reactor_self()))
			continue;
		snprintf(name, sizeof(name), "i%d", k);
		i->flow = bridge_flow_get(rig_disk(i->disk), name, &limits, reactor_self());
		i->jobs = calloc((size_t)i->window, sizeof(*i->jobs));
		sure(i->flow && i->jobs);
		i->active = true;
		for (int n = 0; n < i->window; n++) {
			struct fjob *j = &i->jobs[n];

			j->ini = k;
			j->req.flow = i->flow;
			j->req.done = job_done;
		}
	}
}

/* Its whole window; only what is not out. */
static void
start_on(void *arg)
{
	struct ini *i = arg;

	i->active = true;
	for (int n = 0; n < i->window; n++)
		job_send(&i->jobs[n]);
}

static void
end_on(void *arg)
{
	for (int k = 0; k < INIS; k++)
		if (inis[k].home == reactor_id(reactor_self())) {
			sure(inis[k].out == 0);
			bridge_flow_put(inis[k].flow);
			free(inis[k].jobs);
		}
}

static void
world_open(uint32_t host, uint32_t lun, int disks)
{
	now = 0;
	counting = false;
	for (int r = 0; r < REACTORS; r++)
		list_init(&running[r]);
	for (int k = 0; k < INIS; k++)
		inis[k].home = (unsigned)k / 8 % REACTORS;
	rig_open(REACTORS, host, host, lun, disks, 1, device_submit);
	for (unsigned r = 0; r < REACTORS; r++)
		rig_run(r, begin_on, NULL);
	/* Not all in the same tick, so that completions do not come in one wave. */
	for (int k = 0; k < INIS; k++) {
		rig_run(inis[k].home, start_on, &inis[k]);
		if (k % 4 == 3)
			tick(1);
	}
	tick(WARM_UP);
	counting = true;
}

static void
world_close(void)
{
	for (int k = 0; k < INIS; k++)
		inis[k].active = false;
	counting = false;
	for (int n = 0; n < 100000 && rig_stats(BRIDGE_HOST, "rig").in_flight; n++)
		tick(1);
	for (unsigned r = 0; r < REACTORS; r++)
		rig_run(r, end_on, NULL);
	rig_close();
}

/* -- what is told of it -- */

/* Of those from..to: 1 when all got the same for their weight. */
static double
jain(int from, int to)
{
	double sum = 0, squares = 0;

	for (int k = from; k < to; k++) {
		double x = (double)inis[k].done / inis[k].weight;

		sum += x;
		squares += x * x;
	}
	return sum * sum / ((to - from) * squares);
}

static double
most_to_least(int from, int to)
{
	unsigned most = 0, least = UINT32_MAX;

	for (int k = from; k < to; k++) {
		most = MAX(most, inis[k].done);
		least = MIN(least, inis[k].done);
	}
	return (double)most / least;
}

static unsigned
mean(int from, int to)
{
	unsigned sum = 0;

	for (int k = from; k < to; k++)
		sum += inis[k].done;
	return sum / (unsigned)(to - from);
}

/* So many ticks did 99 of 100 requests of these wait at most. */
static unsigned
wait_p99(int from, int to)
{
	uint64_t all = 0, seen = 0;
	unsigned t = 0;

	for (int k = from; k < to; k++)
		for (int i = 0; i < WAIT_MAX; i++)
			all += inis[k].waits[i];
	for (; t < WAIT_MAX; t++) {
		for (int k = from; k < to; k++)
			seen += inis[k].waits[t];
		if (seen * 100 >= all * 99)
			break;
	}
	return t;
}

static unsigned
longest(int from, int to)
{
	unsigned most = 0;

	for (int k = from; k < to; k++)
		most = MAX(most, atomic_load(&inis[k].longest));
	return most;
}

/* Everybody alike but for the window, which grows from 4 to 256. */
static void
windows_4_to_256(int disks)
{
	memset(inis, 0, sizeof(inis));
	for (int k = 0; k < INIS; k++) {
		inis[k].weight = 1;
		inis[k].disk = k % disks;
		inis[k].window = 4;
		for (int n = 0; n < k * 6 / (INIS - 1); n++)
			inis[k].window *= 2;
	}
}

static void
offers_64_to_1_bound_at_the_adapter(void **state)
{
	windows_4_to_256(8);
	world_open(128, 512, 8);
	tick(TICKS);
	print_message("# Jain %.4f, most to least %.3f, %u each\n", jain(0, INIS),
	    most_to_least(0, INIS), mean(0, INIS));
	assert_true(jain(0, INIS) >= 0.99);
	assert_true(most_to_least(0, INIS) <= 1.1);
	/* And nothing was left lying about: as many as can be done. */
	assert_true(mean(0, INIS) * INIS >= 0.97 * TICKS * 128 / SERVICE);
	world_close();
}

static void
offers_64_to_1_bound_at_the_luns(void **state)
{
	windows_4_to_256(8);
	world_open(512, 16, 8);
	tick(TICKS);
	print_message("# Jain %.4f, most to least %.3f, %u each\n", jain(0, INIS),
	    most_to_least(0, INIS), mean(0, INIS));
	assert_true(jain(0, INIS) >= 0.98);
	assert_true(most_to_least(0, INIS) <= 1.3);
	assert_true(mean(0, INIS) * INIS >= 0.97 * TICKS * 128 / SERVICE);
	world_close();
}

static void
small_ones_among_eight_hogs(void **state)
{
	memset(inis, 0, sizeof(inis));
	for (int k = 0; k < INIS; k++) {
		inis[k].weight = 1;
		inis[k].disk = k % 8;
		inis[k].window = k < 8 ? 512 : 1;
	}
	world_open(96, 512, 8);
	tick(TICKS);
	print_message("# the small: p99 %u, longest %u ticks, of %u\n", wait_p99(8, INIS),
	    longest(8, INIS), (unsigned)SERVICE);
	assert_true(wait_p99(8, INIS) <= SERVICE * 3 / 2);
	assert_true(longest(8, INIS) <= SERVICE * 3);
	/* The hogs share the rest. */
	assert_true(jain(0, 8) >= 0.99);
	world_close();
}

static void
weights_of_4_and_1(uint32_t host, uint32_t lun)
{
	double ratio;

	memset(inis, 0, sizeof(inis));
	for (int k = 0; k < INIS; k++) {
		inis[k].weight = k % 4 == 0 ? 4 : 1;
		inis[k].disk = k / 8;
		inis[k].window = 64;
	}
	world_open(host, lun, 8);
	tick(TICKS);
	ratio = 0;
	for (int k = 0; k < INIS; k++)
		ratio += k % 4 == 0 ? inis[k].done : 0;
	ratio = ratio / 16 / ((mean(0, INIS) * (double)INIS - ratio) / 48);
	print_message("# %.3f to 1, Jain by weight %.4f\n", ratio, jain(0, INIS));
	assert_true(ratio >= 3.8 && ratio <= 4.2);
	assert_true(jain(0, INIS) >= 0.99);
	world_close();
}

static void
four_times_the_weight_is_four_times_the_share(void **state)
{
	weights_of_4_and_1(128, 512);
	weights_of_4_and_1(512, 16);
}

/* Eight hogs on LUN 0; the others use LUNs 1 to 7, and have room there. */
static void
a_crowded_lun_slows_no_other(void **state)
{
	struct bridge_node_stats s;
	uint64_t admitted = 0, waited = 0;

	memset(inis, 0, sizeof(inis));
	for (int k = 0; k < INIS; k++) {
		inis[k].weight = 1;
		inis[k].disk = k < 8 ? 0 : 1 + k % 7;
		inis[k].window = k < 8 ? 128 : 2;
	}
	world_open(256, 32, 8);
	tick(TICKS);
	for (int k = 8; k < INIS; k++) {
		char name[16];

		snprintf(name, sizeof(name), "i%d", k);
		s = rig_stats(BRIDGE_INITIATOR, name);
		admitted += s.admitted;
		waited += s.waited;
	}
	print_message("# of %llu requests to other LUNs %llu waited; p99 %u, longest %u ticks\n",
	    (unsigned long long)admitted, (unsigned long long)waited, wait_p99(8, INIS),
	    longest(8, INIS));
	assert_true(admitted > 10000);
	assert_true(waited * 100 <= admitted);
	assert_int_equal(wait_p99(8, INIS), 0);
	assert_true(longest(8, INIS) <= 1);
	assert_int_equal(rig_stats(BRIDGE_LUN, "d0").in_flight, 32);
	world_close();
}

/* It goes for so long that a right saved up would be worth much, and comes back. */
static void
who_was_away_has_no_more_than_others(void **state)
{
	unsigned before[INIS];

	windows_4_to_256(8);
	for (int k = 0; k < INIS; k++)
		inis[k].window = 32;
	world_open(128, 512, 8);
	inis[7].active = false;
	tick(1500);
	assert_int_equal(inis[7].out, 0);
	rig_run(inis[7].home, start_on, &inis[7]);
	for (int k = 0; k < INIS; k++)
		before[k] = inis[k].done;
	tick(600);
	for (int k = 0; k < INIS; k++)
		inis[k].done -= before[k];
	print_message("# who was away %u, the others %u each, Jain %.4f\n", inis[7].done,
	    mean(8, INIS), jain(0, INIS));
	assert_in_range(inis[7].done, mean(8, INIS) * 9 / 10, mean(8, INIS) * 11 / 10);
	assert_true(jain(0, INIS) >= 0.99);
	world_close();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(offers_64_to_1_bound_at_the_adapter),
		cmocka_unit_test(offers_64_to_1_bound_at_the_luns),
		cmocka_unit_test(small_ones_among_eight_hogs),
		cmocka_unit_test(four_times_the_weight_is_four_times_the_share),
		cmocka_unit_test(a_crowded_lun_slows_no_other),
		cmocka_unit_test(who_was_away_has_no_more_than_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
