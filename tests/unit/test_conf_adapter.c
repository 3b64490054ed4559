/* Adapters and disks: what is refused. */
#include "tests/unit/conf/check.h"

#define A(keys) "adapters:\n- { name: a, " keys " }\n"
#define D(disks) "adapters:\n- name: a\n  disks:\n" disks

static const struct said table[] = {
	{ "adapters: []", "" },
	{ A("disks: []"), "" },
	{ A("can_queue: 1, target_depth: 65535, lun_depth: 65535, max_waiters: 65535"), "" },
	{ "adapters: {}", "t:1:11: adapters: expected a list, found a map\n" },
	{ "adapters:", "t:1:10: adapters: expected a list, found nothing\n" },
	{ "adapters: [a]", "t:1:12: an adapter: expected a map, found \"a\"\n" },
	{ "adapters: [{}]", "t:1:12: an adapter: name is missing\n" },
	{ A("disks: {}"), "t:2:21: disks: expected a list, found a map\n" },
	{ A("disks: [a, []]"), "t:2:22: a disk: expected a map, found \"a\"\n"
	    "t:2:25: a disk: expected a map, found a list\n" },
	{ A("can_queue: 0"), "t:2:25: can_queue: expected a number from 1 to 65535, found \"0\"\n" },
	{ A("can_queue: 65536"),
	    "t:2:25: can_queue: expected a number from 1 to 65535, found \"65536\"\n" },
	{ A("max_waiters: auto"),
	    "t:2:27: max_waiters: expected a number from 1 to 65535, found \"auto\"\n" },
	{ A("hw_queues: auto, queue_mode: shared, scheduler: none"), "" },
	{ A("hw_queues: 1"), "" },
	{ A("hw_queues: 64"), "" },
	{ A("hw_queues: 65"),
	    "t:2:25: hw_queues: expected auto or a number from 1 to 64, found \"65\"\n" },
	{ A("hw_queues: 0"),
	    "t:2:25: hw_queues: expected auto or a number from 1 to 64, found \"0\"\n" },
	{ A("queue_mode: shared_single"), "" },
	{ A("queue_mode: single, hw_queues: 1"), "" },
	{ A("queue_mode: divided, hw_queues: 8"), "" },
	{ A("queue_mode: divided_borrow, hw_queues: auto"), "" },
	{ A("queue_mode: split"), "t:2:26: queue_mode: expected one of shared, shared_single, "
	    "single, divided, divided_borrow, found \"split\"\n" },
	{ A("scheduler: deadline"), "" },
	{ A("scheduler: cfq"),
	    "t:2:25: scheduler: expected one of none, deadline, found \"cfq\"\n" },
	{ A("scheduler: deadline, coalesce: yes"), "" },
	{ A("coalesce: yes, max_xfer: 4M, cost: length, latency_target: 1m"), "" },
	{ A("coalesce: maybe"), "t:2:24: coalesce: expected yes or no, found \"maybe\"\n" },
	{ A("max_xfer: 4095"), "t:2:24: max_xfer: expected at least 4K, found 4095\n" },
	{ A("max_xfer: 5M"), "t:2:24: max_xfer: expected at most 4M, found 5M\n" },
	{ A("cost: blocks"), "t:2:20: cost: expected one of command, length, found \"blocks\"\n" },
	{ A("latency_target: 61s"),
	    "t:2:30: latency_target: expected at most 1m, found 61s\n" },
	/* What contradicts itself, in whichever order it is written. */
	{ A("queue_mode: single, hw_queues: 2"),
	    "t:2:45: hw_queues: 2, but queue_mode single has one queue\n" },
	{ A("hw_queues: 3, queue_mode: shared_single"),
	    "t:2:25: hw_queues: 3, but queue_mode shared_single has one queue\n" },
	{ A("can_queue: 7, queue_mode: divided, hw_queues: 8"),
	    "t:2:60: hw_queues: can_queue 7 divided by 8 leaves nothing\n" },
	{ A("can_queue: 7, queue_mode: divided_borrow, hw_queues: 8"), "" },
	{ A("scheduler: deadline, coalesce: no"),
	    "t:2:45: coalesce: scheduler deadline always merges\n" },
	{ "adapters: [{ name: a }, { name: b, hw_queues: 3 }, { name: c, hw_queues: 2 }]\n"
	    "reactors: 2\n", "t:1:47: hw_queues: 3, but there are 2 reactors to serve them\n" },
	{ "adapters: [5, { hw_queues: 3 }]\nreactors: 2\n",
	    "t:1:12: an adapter: expected a map, found \"5\"\n"
	    "t:1:15: an adapter: name is missing\n"
	    "t:1:28: hw_queues: 3, but there are 2 reactors to serve them\n" },
	{ "reactors: auto\n" A("hw_queues: 64"), "" },
	{ A("canqueue: 5"), "t:2:14: unknown key \"canqueue\" (did you mean can_queue?)\n" },
	{ "adapters:\n- name: a/b\n", "t:2:9: name: \"a/b\" may hold letters, digits and . _ - only\n" },
	{ "adapters:\n- name: \"\"\n", "t:2:9: name: expected 1 to 63 bytes of text, found 0\n" },
	{ "adapters:\n- name: a\n- name: b\n- name: a\n- name: a\n",
	    "t:4:9: adapter \"a\" is used twice, first at t:2:9\n"
	    "t:5:9: adapter \"a\" is used twice, first at t:2:9\n" },

	{ D("  - {}\n"), "t:4:5: a disk: driver is missing\nt:4:5: a disk: name is missing\n" },
	{ D("  - { name: x, driver: ram }\n"), "t:4:5: a disk: size is missing\n" },
	{ D("  - { name: x, driver: null }\n"),
	    "t:4:24: driver: expected a text, found null (in quotes it is a text)\n" },
	{ D("  - { name: x, driver: [ram] }\n"), "t:4:24: driver: expected a text, found a list\n" },
	{ D("  - { name: x, driver: sg, path: \"3:0:13:0\" }\n"),
	    "t:4:24: driver sg is not supported yet\n" },
	{ D("  - { name: x, driver: iscsi, url: y }\n"),
	    "t:4:24: driver iscsi is not supported yet\n" },
	{ D("  - { name: x, driver: rbd, pool: y, depth: 0 }\n"),
	    "t:4:24: driver rbd is not supported yet\n"
	    "t:4:45: depth: expected a number from 1 to 65535, found \"0\"\n" },
	{ D("  - { name: x, driver: ram, size: 1M, latency_target: 2ms }\n"), "" },
	{ D("  - { name: x, driver: sim, service: 1m, distribution: uniform, seed: 0, command_cost: 5us,\n"
	    "      bytes_per_second: 1G, queue_cost: 1us, device_queue: 5, busy_above: 4, store: ram }\n"), "" },
	{ D("  - { name: x, driver: sim, service: 61s, distribution: normal, device_queue: 0 }\n"),
	    "t:4:38: service: expected at most 1m, found 61s\n"
	    "t:4:57: distribution: expected one of fixed, uniform, exponential, found \"normal\"\n"
	    "t:4:79: device_queue: expected a number from 1 to 65535, found \"0\"\n" },
	{ D("  - { name: x, driver: fault }\n"), "t:4:24: driver fault is not supported yet\n" },
	{ D("  - { name: x, driver: ram, size: 1M, path: /x }\n"), "t:4:39: unknown key \"path\" (a disk "
	    "takes driver, name, depth, latency_target, address, block_size, read_only, serial, "
	    "max_write_same, sanitize, cdb32, size)\n" },
	{ D("  - { name: x, driver: ram, size: 1M, block_size: 1024 }\n"),
	    "t:4:51: block_size: expected one of 512, 4096, found \"1024\"\n" },
	{ D("  - { name: x, driver: ram, size: 1M, read_only: maybe }\n"),
	    "t:4:50: read_only: expected yes or no, found \"maybe\"\n" },
	{ D("  - { name: x, driver: ram, size: 1M, serial: \"\xc3\xa9\" }\n"),
	    "t:4:47: serial: only ASCII can be told to initiators\n" },
	{ D("  - { name: x, driver: ram, size: 1M, serial: s }\n"
	    "  - { name: y, driver: ram, size: 1M, serial: s }\n"),
	    "t:5:47: serial \"s\" is used twice, first at t:4:47\n" },
	/* Also of another adapter: LUNs name disks alone. */
	{ "adapters:\n- { name: a, disks: [{ name: x, driver: ram, size: 1M }] }\n"
	    "- { name: b, disks: [{ name: x, driver: ram, size: 1M }] }\n",
	    "t:3:30: disk \"x\" is used twice, first at t:2:30\n" },
	{ D("  - { name: x, driver: ram, size: 1M, address: \"0:2:0\" }\n"
	    "  - { name: y, driver: ram, size: 1M, address: 0:2:1 }\n"
	    "  - { name: z, driver: ram, size: 1M }\n"
	    "  - { name: w, driver: ram, size: 1M, address: \"0:2:1\" }\n"),
	    "t:6:5: address \"0:2:0\" is used twice, first at t:4:48\n"
	    "t:7:48: address \"0:2:1\" is used twice, first at t:5:48\n" },
	{ "adapters:\n- { name: a, disks: [{ name: x, driver: ram, size: 1M }] }\n"
	    "- { disks: [{ name: y, driver: ram, size: 1M }], name: b }\n", "" },
};

static void
what_is_refused(void **state)
{
	check_said(table, ARRAY_LEN(table));
}

static void
only_plain_addresses(void **state)
{
	static const char *const wrong[] = {
		"0", "0:0", "0:0:0:0", "0:0:", ":0:0", "-1:0:0", "+1:0:0", "0:65536:0", "0:0:16384",
		"00:0:0", "0:0:00", "0x1:0:0", "0:0:0 ", "0:0:0x", "0: 0:0", "99999:0:0", "100000:0:0",
		"a:b:c",
	};
	char text[256], want[256], *errors;

	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		snprintf(text, sizeof(text),
		    D("  - { name: x, driver: ram, size: 1M, address: \"%s\" }\n"), wrong[i]);
		snprintf(want, sizeof(want), "t:4:48: address: expected \"channel:target:lun\" "
		    "(to 65535:65535:16383), found \"%s\"\n", wrong[i]);
		assert_null(check_load(text, strlen(text), &errors));
		assert_string_equal(errors, want);
		free(errors);
	}
}

static void
unknown_drivers_name_the_known(void **state)
{
	static const char text[] = D("  - { name: x, driver: zfs, pool: tank }\n");
	static const char want[] = "t:4:24: unknown driver \"zfs\" (there are ";
	char *errors;

	assert_null(check_load(text, strlen(text), &errors));
	assert_memory_equal(errors, want, strlen(want));
	assert_non_null(strstr(errors, "ram"));
	assert_non_null(strstr(errors, "file"));
	/* Its keys may be right: nothing is said about them. */
	assert_ptr_equal(strchr(errors, '\n') + 1, errors + strlen(errors));
	free(errors);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_refused),
		cmocka_unit_test(only_plain_addresses),
		cmocka_unit_test(unknown_drivers_name_the_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
