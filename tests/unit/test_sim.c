/* The simulated disk as a disk: what it keeps, and how long it takes. */
#include "sim_rig.h"

static uint64_t began;

static uint64_t
took_ms(void)
{
	return (now_ns() - began) / 1000000;
}

/* n writes of len bytes at once; all must end well. */
static void
burst(int f, int n, uint64_t len)
{
	static char buf[65536];
	int first = srig_ncmds;

	assert_true(len <= sizeof(buf));
	for (int i = 0; i < n; i++)
		srig_new(f, DISK_WRITE, (uint64_t)i * len, buf, len);
	began = now_ns();
	srig_submit(f, first, srig_ncmds);
	srig_wait(n);
	for (int i = first; i < srig_ncmds; i++)
		assert_int_equal(srig_cmd[i].req.io.result, 0);
}

static void
without_a_store_reads_are_zeros(void **state)
{
	char buf[8192];

	srig_open(1, "can_queue: 8", "{ name: d, driver: sim, service: 0 }");
	assert_int_equal(disk_find("d")->size, 1ull << 40);
	srig_flow_get(0, 0, "d", "i");
	memset(buf, 1, sizeof(buf));
	assert_int_equal(srig_io(0, DISK_WRITE, 4096, buf, sizeof(buf)), 0);
	memset(buf, 1, sizeof(buf));
	assert_int_equal(srig_io(0, DISK_READ, 4096, buf, sizeof(buf)), 0);
	for (size_t i = 0; i < sizeof(buf); i++)
		assert_int_equal(buf[i], 0);
	assert_int_equal(srig_io(0, DISK_FLUSH, 0, NULL, 0), 0);
	assert_int_equal(srig_io(0, DISK_ZERO, 0, NULL, 1ull << 40), 0);
	assert_int_equal(srig_io(0, DISK_COMPARE_WRITE, 0, buf, 8192), -EOPNOTSUPP);
	/* Merged and pending as at a real one: never at once. */
	for (int i = 0; i < srig_ncmds; i++)
		assert_int_equal(srig_cmd[i].verdict, BRIDGE_PENDING);
	srig_close();
}

static void
a_store_keeps_what_was_written(void **state)
{
	static char in[65536], out[65536];
	struct sim_cmd *c;

	srig_open(1, "can_queue: 8", "{ name: d, driver: sim, service: 0, store: ram, size: 1G }");
	srig_flow_get(0, 0, "d", "i");
	for (size_t i = 0; i < sizeof(in); i++)
		in[i] = (char)(i * 7 + i / 256 + 1);
	/* In segments of odd lengths. */
	c = srig_new(0, DISK_WRITE, (1u << 30) - sizeof(in), in, sizeof(in));
	c->iov[0].iov_len = 1000;
	c->iov[1] = (struct iovec){ in + 1000, 30000 };
	c->iov[2] = (struct iovec){ in + 31000, sizeof(in) - 31000 };
	c->req.io.niov = 3;
	srig_submit(0, 0, 1);
	srig_wait(1);
	assert_int_equal(c->req.io.result, 0);
	assert_int_equal(srig_io(0, DISK_READ, (1u << 30) - sizeof(in), out, sizeof(out)), 0);
	assert_memory_equal(in, out, sizeof(in));
	assert_int_equal(srig_row(SIM_DISK, "d").bytes, 2 * sizeof(in));
	srig_close();
}

static void
a_long_zero_wipes_its_range_and_no_more(void **state)
{
	/* More than one step, neither end on a page. */
	const uint64_t from = 4096 * 3 + 512, len = (40u << 20) + 1024;
	const uint64_t probes[] = { from - 512, from, from + (20u << 20), from + len - 512, from + len };
	char buf[512];

	srig_open(1, "can_queue: 8", "{ name: d, driver: sim, service: 0, store: ram, size: 64M }");
	srig_flow_get(0, 0, "d", "i");
	for (enum disk_op op = DISK_UNMAP; op <= DISK_ZERO; op++) {
		memset(buf, 7, sizeof(buf));
		for (size_t i = 0; i < ARRAY_LEN(probes); i++)
			assert_int_equal(srig_io(0, DISK_WRITE, probes[i], buf, 512), 0);
		assert_int_equal(srig_io(0, op, from, NULL, len), 0);
		for (size_t i = 0; i < ARRAY_LEN(probes); i++) {
			memset(buf, 1, sizeof(buf));
			assert_int_equal(srig_io(0, DISK_READ, probes[i], buf, 512), 0);
			for (size_t k = 0; k < sizeof(buf); k++)
				assert_int_equal(buf[k], i == 0 || i == 4 ? 7 : 0);
		}
	}
	srig_close();
}

static void
service_times_pass_side_by_side(void **state)
{
	srig_open(1, "can_queue: 64", "{ name: d, driver: sim, service: 40ms }");
	srig_flow_get(0, 0, "d", "i");
	burst(0, 64, 4096);
	assert_in_range(took_ms(), 40, 1000);
	srig_close();
}

static void
command_costs_follow_one_another(void **state)
{
	srig_open(2, "can_queue: 64",
	    "{ name: d, driver: sim, service: 5ms, command_cost: 3ms }, "
	    "{ name: e, driver: sim, service: 5ms, command_cost: 3ms }");
	srig_flow_get(0, 0, "d", "i");
	srig_flow_get(1, 1, "e", "i");
	burst(0, 40, 4096);
	assert_in_range(took_ms(), 40 * 3 + 5, 2000);
	/* The other disk has a server of its own: it was idle, and owes nothing. */
	burst(1, 1, 4096);
	assert_in_range(took_ms(), 3 + 5, 100);
	srig_close();
}

static void
length_costs_at_its_rate(void **state)
{
	srig_open(1, "can_queue: 64",
	    "{ name: d, driver: sim, service: 0, bytes_per_second: 10M }");
	srig_flow_get(0, 0, "d", "i");
	burst(0, 16, 65536);
	/* 1 MiB at 10 MiB a second. */
	assert_in_range(took_ms(), 100, 2000);
	began = now_ns();
	assert_int_equal(srig_io(0, DISK_FLUSH, 0, NULL, 0), 0);
	assert_in_range(took_ms(), 0, 50);
	srig_close();
}

/* What merging gains: one command, one cost. The data goes where each request said. */
static void
neighbours_in_one_command_cost_once(void **state)
{
	static char in[64][4096], out[64][4096];

	srig_open(1, "can_queue: 64, lun_depth: 2, coalesce: yes, max_xfer: 64K",
	    "{ name: d, driver: sim, service: 0, command_cost: 5ms, store: ram, size: 1G }");
	srig_flow_get(0, 0, "d", "i");
	for (int i = 0; i < 64; i++) {
		memset(in[i], i + 1, sizeof(in[i]));
		srig_new(0, DISK_WRITE, 4096u * (unsigned)i, in[i], sizeof(in[i]));
	}
	began = now_ns();
	srig_submit(0, 0, 64);
	srig_wait(64);
	/* Two at once, the rest sixteen in one, where nothing comes between. */
	assert_in_range(srig_row(SIM_DISK, "d").commands, 6, 8);
	assert_in_range(took_ms(), 30, 200);
	assert_int_equal(srig_row(SIM_DISK, "d").bytes, sizeof(in));
	for (int i = 0; i < 64; i++) {
		assert_int_equal(srig_cmd[i].req.io.result, 0);
		assert_int_equal(srig_io(0, DISK_READ, 4096u * (unsigned)i, out[i], 4096), 0);
	}
	assert_memory_equal(in, out, sizeof(in));
	srig_close();
}

static void
a_held_queue_holds_its_reactor(void **state)
{
	srig_open(1, "can_queue: 64", "{ name: d, driver: sim, service: 0, queue_cost: 2ms }");
	srig_flow_get(0, 0, "d", "i");
	for (int i = 0; i < 20; i++)
		srig_new(0, DISK_FLUSH, 0, NULL, 0);
	began = now_ns();
	srig_submit(0, 0, 20);
	/* Submitting alone took so long. */
	assert_in_range(took_ms(), 40, 2000);
	srig_wait(20);
	srig_close();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_store_reads_are_zeros),
		cmocka_unit_test(a_store_keeps_what_was_written),
		cmocka_unit_test(a_long_zero_wipes_its_range_and_no_more),
		cmocka_unit_test(service_times_pass_side_by_side),
		cmocka_unit_test(command_costs_follow_one_another),
		cmocka_unit_test(length_costs_at_its_rate),
		cmocka_unit_test(neighbours_in_one_command_cost_once),
		cmocka_unit_test(a_held_queue_holds_its_reactor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
