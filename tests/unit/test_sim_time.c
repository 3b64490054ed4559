/* Draws of the simulated disk: means, shapes, and the same again for the same seed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "hba/disk/sim.h"

enum { DRAWS = 200000 };
#define MEAN 1000000u

static uint64_t draw[DRAWS];

static void
draw_all(enum sim_distribution distribution, uint64_t salt)
{
	const struct sim_conf conf = { .service_ns = MEAN, .distribution = distribution };

	for (uint64_t n = 0; n < DRAWS; n++)
		draw[n] = sim_draw(&conf, salt, n);
}

static double
mean(void)
{
	double sum = 0;

	for (int i = 0; i < DRAWS; i++)
		sum += (double)draw[i];
	return sum / DRAWS / MEAN;
}

/* Share of draws above so many thousandths of the mean. */
static double
above(unsigned thousandths)
{
	int n = 0;

	for (int i = 0; i < DRAWS; i++)
		n += draw[i] > (uint64_t)MEAN * thousandths / 1000;
	return (double)n / DRAWS;
}

static void
near(double have, double want, double by)
{
	if (have < want - by || have > want + by)
		fail_msg("%f is not near %f", have, want);
}

static void
fixed_is_always_the_same(void **state)
{
	draw_all(SIM_FIXED, 1);
	for (int i = 0; i < DRAWS; i++)
		assert_int_equal(draw[i], MEAN);
}

static void
uniform_fills_twice_the_mean(void **state)
{
	draw_all(SIM_UNIFORM, 1);
	near(mean(), 1, 0.01);
	near(above(500), 0.75, 0.01);
	near(above(1000), 0.5, 0.01);
	near(above(1900), 0.05, 0.005);
	assert_true(above(2000) == 0);
}

static void
exponential_has_its_tail(void **state)
{
	draw_all(SIM_EXPONENTIAL, 1);
	near(mean(), 1, 0.01);
	/* e^-x */
	near(above(100), 0.90484, 0.005);
	near(above(693), 0.5, 0.005);
	near(above(1000), 0.36788, 0.005);
	near(above(2000), 0.13534, 0.005);
	near(above(5000), 0.00674, 0.001);
}

static void
a_seed_is_a_seed(void **state)
{
	static uint64_t first[DRAWS];
	int same = 0;

	draw_all(SIM_EXPONENTIAL, 7);
	for (int i = 0; i < DRAWS; i++)
		first[i] = draw[i];
	draw_all(SIM_EXPONENTIAL, 7);
	assert_memory_equal(first, draw, sizeof(draw));
	draw_all(SIM_EXPONENTIAL, 8);
	for (int i = 0; i < DRAWS; i++)
		same += first[i] == draw[i];
	assert_in_range(same, 0, 20);
}

/* The server's time is taken once, whoever asks and in whatever order. */
static void
the_server_gives_each_its_own_time(void **state)
{
	struct sim_conf conf = { .service_ns = 5, .command_cost_ns = 100 };
	struct sim_disk *sd = aligned_alloc(_Alignof(struct sim_disk), sizeof(*sd));
	struct disk_io io = { .op = DISK_READ, .len = 4096 };

	assert_non_null(sd);
	*sd = (struct sim_disk){ .conf = &conf };
	assert_int_equal(sim_due_at(sd, &io, 1000), 1105);
	assert_int_equal(sim_due_at(sd, &io, 1000), 1205);
	assert_int_equal(sim_due_at(sd, &io, 1050), 1305);
	/* Idle time is not saved up. */
	assert_int_equal(sim_due_at(sd, &io, 5000), 5105);
	conf.bytes_per_second = 4096000000;
	assert_int_equal(sim_due_at(sd, &io, 9000), 10105);
	io.op = DISK_FLUSH;
	assert_int_equal(sim_due_at(sd, &io, 9000), 10205);
	free(sd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fixed_is_always_the_same),
		cmocka_unit_test(uniform_fills_twice_the_mean),
		cmocka_unit_test(exponential_has_its_tail),
		cmocka_unit_test(a_seed_is_a_seed),
		cmocka_unit_test(the_server_gives_each_its_own_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
