/* COMPARE AND WRITE from many threads: a counter in a block, to which each GOOD adds one. */
#include "scsi_rig.h"

#include <sched.h>
#include <stdatomic.h>

#include "hba/scsi/fence.h"
#include "hba/scsi/lu.h"
#include "hba/scsi/nexus.h"

enum { REACTORS = 4, WORKERS = 8, GOODS = 150, LBA = 10, WORDS = 512 / 8 };

/*
 * Reads the counter's block and both its neighbours, then compares and adds
 * one; after a miscompare again. Each end of a command wakes it.
 */
struct worker {
	struct msg msg, tmf_msg;
	struct nexus *nexus;
	struct fake_cmd *read, *caw;
	struct fake_tmf tmf;
	uint64_t tag, goods, misses, silent;
	enum { READING, COMPARING, ABORTING } step;
	bool aborts;			/* every other one of its own, */
	uint64_t rounds;		/* after so many of the main thread's loop */
	atomic_bool done;
};
static struct worker workers[WORKERS];

static void
again(struct worker *w, struct fake_cmd *fc)
{
	fc->dones = fc->wants = 0;
	fc->cmd.tag = ++w->tag;
	cmd_init(&fc->cmd);
	scsi_submit(&fc->cmd);
}

/* The counter, of which a block holds many copies: never of two values. */
static uint64_t
counter_of(const uint8_t *block)
{
	uint64_t first;

	memcpy(&first, block, sizeof(first));
	for (unsigned i = 1; i < WORDS; i++) {
		uint64_t word;

		memcpy(&word, block + i * sizeof(word), sizeof(word));
		assert_int_equal(word, first);
	}
	return first;
}

static void
compare_begin(struct worker *w)
{
	uint64_t old;

	assert_int_equal(w->read->status, SCSI_GOOD);
	old = counter_of(w->read->in + 512);
	for (unsigned i = 0; i < 2 * WORDS; i++) {
		uint64_t word = old + i / WORDS;

		memcpy(w->caw->out + i * sizeof(word), &word, sizeof(word));
	}
	w->step = COMPARING;
	again(w, w->caw);
	if (w->aborts && w->tag % 4 < 2) {
		w->step = ABORTING;
		w->tmf.dones = 0;
		w->tmf.tmf.tag = w->caw->cmd.tag;
		w->rounds = w->tag * 7 % 37 + 1;
	}
}

static void
compare_end(struct worker *w)
{
	if (w->caw->flags & CMD_SILENT) {
		w->silent++;
	} else if (w->caw->status == SCSI_GOOD) {
		w->goods++;
	} else {
		assert_sense(w->caw, KEY_MISCOMPARE, 0x1d, 0x00);
		w->misses++;
	}
	w->step = READING;
	if (w->goods < GOODS)
		again(w, w->read);
	else
		atomic_store(&w->done, true);
}

static void
worker_step(struct worker *w)
{
	if (w->step == READING && w->read->dones)
		compare_begin(w);
	else if (w->step != READING && w->caw->dones && (w->step == COMPARING || w->tmf.dones))
		compare_end(w);
}

static void
worker_woken(struct msg *msg)
{
	worker_step(container_of(msg, struct worker, msg));
}

static void
worker_answered(struct msg *msg)
{
	worker_step(container_of(msg, struct worker, tmf_msg));
}

static void
worker_round(void *arg)
{
	struct worker *w = arg;

	if (w->rounds && --w->rounds == 0)
		scsi_tmf(&w->tmf.tmf);
}

static void
worker_start(void *arg)
{
	struct worker *w = arg;

	again(w, w->read);
}

static void
worker_init(struct worker *w, unsigned n, bool aborts)
{
	static const char *const names[WORKERS] = { "iqn.2026-11.test:0", "iqn.2026-11.test:1",
		"iqn.2026-11.test:2", "iqn.2026-11.test:3", "iqn.2026-11.test:4",
		"iqn.2026-11.test:5", "iqn.2026-11.test:6", "iqn.2026-11.test:7" };
	unsigned lun = n / REACTORS ? 5 : 0;	/* half of them by the other target */

	memset(w, 0, sizeof(*w));
	w->msg.fn = worker_woken;
	w->tmf_msg.fn = worker_answered;
	w->aborts = aborts;
	w->nexus = fake_login_quiet(n / REACTORS, names[n], n % REACTORS);
	w->read = fake_cmd_new(w->nexus, lun, CDB(OP_READ_10, 0, 0, 0, 0, LBA - 1, 0, 0, 3));
	fake_cmd_expect(w->read, 0, 3 * 512, 0);
	w->caw = fake_cmd_new(w->nexus, lun, CAW(LBA, 1, 0));
	fake_cmd_expect(w->caw, 1024, 0, 0);
	w->read->wake = w->caw->wake = &w->msg;
	w->tmf.wake = &w->tmf_msg;
	w->tmf.tmf.nexus = w->nexus;
	w->tmf.tmf.fn = TMF_ABORT_TASK;
	scsi_lun_wire(w->tmf.tmf.lun, lun);
}

static bool
all_done(void)
{
	for (unsigned i = 0; i < WORKERS; i++)
		if (!atomic_load(&workers[i].done))
			return false;
	return true;
}

static void
run(uint32_t caps, bool hold, bool aborts)
{
	uint64_t goods = 0, misses = 0, silent = 0, now;

	fake_world_init(1);
	disk->caps = caps;
	disk->hold[DISK_READ] = disk->hold[DISK_WRITE] = hold;
	assert_int_equal(fake_world_start(REACTORS), 0);
	for (unsigned i = 0; i < WORKERS; i++)
		worker_init(&workers[i], i, aborts && i % 3 == 0);
	for (unsigned i = 0; i < WORKERS; i++)
		fake_run(i % REACTORS, worker_start, &workers[i]);
	while (!all_done()) {
		fake_disk_release(disk, 1);
		for (unsigned i = 0; i < WORKERS; i++)
			if (workers[i].aborts)
				fake_run(i % REACTORS, worker_round, &workers[i]);
		sched_yield();
	}
	fake_settle();
	now = counter_of(disk->mem + LBA * 512);
	for (unsigned i = 0; i < WORKERS; i++) {
		struct worker *w = &workers[i];

		goods += w->goods;
		misses += w->misses;
		silent += w->silent;
		fake_cmd_free(w->read);
		fake_cmd_free(w->caw);
		fake_logout(w->nexus, NULL);
	}
	assert_int_equal(goods, WORKERS * GOODS);
	/* An aborted one may have written, but once at most, and not after it was told. */
	assert_in_range(now, goods, goods + silent);
	assert_true(aborts || now == goods);
	print_message("# %llu added, %llu miscompares, %llu aborted, %llu of them written\n",
	    (unsigned long long)goods, (unsigned long long)misses, (unsigned long long)silent,
	    (unsigned long long)(now - goods));
	assert_true(all_bytes(disk->mem, LBA * 512, 0));
	assert_true(all_bytes(disk->mem + (LBA + 1) * 512, 512, 0));
	assert_int_equal(fence_orphans(lu_next(NULL)), 0);
	assert_true(list_empty(&lu_next(NULL)->locks));
	fake_world_stop();
}

static void
on_a_disk_that_answers_at_once(void **state)
{
	run(0, false, false);
}

static void
on_a_disk_that_lends(void **state)
{
	run(DISK_CAP_LENDS | DISK_CAP_INLINE, false, false);
}

static void
on_a_disk_that_takes_its_time(void **state)
{
	run(0, true, false);
}

static void
with_aborts(void **state)
{
	run(0, true, true);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(on_a_disk_that_answers_at_once),
		cmocka_unit_test(on_a_disk_that_lends),
		cmocka_unit_test(on_a_disk_that_takes_its_time),
		cmocka_unit_test(with_aborts),
	};

	return cmocka_run_group_tests_name("range_lock_threads", tests, NULL, NULL);
}
