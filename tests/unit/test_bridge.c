/* The bridge on one reactor: limits, order, shares, cancel, freeze, bad completions. */
#include "bridge_rig.h"

enum { REQS = 512 };

/* What the fake disk does with the next requests. */
static enum { HOLD, INLINE, FINISH_INSIDE, FINISH_FIRST } mode;

struct treq {
	struct bridge_req req;
	int flow;			/* which of flows[] */
	int done;			/* times done was called */
	int order;			/* when it reached the disk, from 1; 0: has not */
	enum bridge_verdict verdict;
	enum bridge_cancel cancelled;
};

static struct treq reqs[REQS];
static int nreqs, started;
static int order[REQS];			/* the flow of the n-th request that reached the disk */
static struct bridge_flow *flows[RIG_DISKS * 2];
static bool inside_submit;

static enum disk_result
fake_submit(struct disk_io *io)
{
	struct treq *t = container_of(io, struct treq, req.io);

	order[started++] = t->flow;
	t->order = started;
	io->result = 0;
	if (mode == FINISH_INSIDE) {
		disk_io_done(io);
		return DISK_PENDING;
	}
	if (mode == FINISH_FIRST) {
		mode = HOLD;
		disk_io_done(&reqs[0].req.io);
	}
	return mode == INLINE ? DISK_DONE : DISK_PENDING;
}

static void
treq_done(struct bridge_req *req)
{
	struct treq *t = container_of(req, struct treq, req);

	sure(!inside_submit);
	sure(reactor_self() == reactor_get(0));
	t->done++;
}

/* -- steps, each run on the reactor -- */

struct step {
	int i, j;
	const char *name;
	unsigned weight, depth;
	enum bridge_verdict (*submit)(struct bridge_req *);
};

static void
on_flow(void *arg)
{
	struct step *s = arg;

	flows[s->i] = bridge_flow_get(rig_disk(s->j), s->name, s->weight, s->depth, reactor_get(0));
	sure(flows[s->i]);
}

static void
flow(int i, int disk, const char *name, unsigned weight, unsigned depth)
{
	struct step s = { .i = i, .j = disk, .name = name, .weight = weight, .depth = depth };

	rig_run(0, on_flow, &s);
}

static void
on_submit(void *arg)
{
	struct step *s = arg;
	struct treq *t = &reqs[s->j];

	memset(t, 0, sizeof(*t));
	t->flow = s->i;
	t->req.flow = flows[s->i];
	t->req.done = treq_done;
	inside_submit = true;
	t->verdict = s->submit(&t->req);
	inside_submit = false;
}

/* Submits one more request of a flow; returns its number. */
static int
submit_by(enum bridge_verdict (*fn)(struct bridge_req *), int f)
{
	struct step s = { .i = f, .j = nreqs++, .submit = fn };

	assert_true(nreqs <= REQS);
	rig_run(0, on_submit, &s);
	return s.j;
}

static int
submit(int f)
{
	return submit_by(bridge_submit, f);
}

static void
on_finish(void *arg)
{
	disk_io_done(&reqs[*(int *)arg].req.io);
}

static void
finish(int i)
{
	rig_run(0, on_finish, &i);
	rig_settle();
}

static void
on_cancel(void *arg)
{
	int i = *(int *)arg;

	reqs[i].cancelled = bridge_cancel(&reqs[i].req);
}

static enum bridge_cancel
cancel(int i)
{
	rig_run(0, on_cancel, &i);
	rig_settle();
	return reqs[i].cancelled;
}

static void
on_put(void *arg)
{
	for (size_t i = 0; i < ARRAY_LEN(flows); i++) {
		bridge_flow_put(flows[i]);
		flows[i] = NULL;
	}
}

static bool
running(int i)
{
	return reqs[i].order && !reqs[i].done && reqs[i].verdict == BRIDGE_PENDING;
}

/* Finishes the oldest running request. False: none runs. */
static bool
finish_oldest(void)
{
	int best = -1;

	for (int i = 0; i < nreqs; i++)
		if (running(i) && (best < 0 || reqs[i].order < reqs[best].order))
			best = i;
	if (best >= 0)
		finish(best);
	return best >= 0;
}

static void
check(void)
{
	assert_int_equal(bridge_check(rig.host, stderr), 0);
}

static void
set_limit(enum bridge_kind kind, const char *name, uint32_t limit)
{
	assert_int_equal(bridge_set_limit(rig.host, kind, name, limit), 0);
	rig_settle();
}

static void
start(uint32_t can_queue, uint32_t target_depth, uint32_t lun_depth, int ndisks, int per_target)
{
	mode = HOLD;
	nreqs = started = 0;
	rig_open(1, can_queue, target_depth, lun_depth, ndisks, per_target, fake_submit);
}

static void
end(void)
{
	while (finish_oldest())
		;
	for (int i = 0; i < nreqs; i++)
		if (reqs[i].verdict == BRIDGE_PENDING && reqs[i].cancelled != BRIDGE_CANCELLED)
			assert_int_equal(reqs[i].done + (reqs[i].order == 0), 1);
	rig_run(0, on_put, NULL);
	rig_close();
}

/* -- limits -- */

static void
each_limit_stops_the_request_above_it(void **state)
{
	static const struct {
		uint32_t host, target, lun, initiator;
		enum bridge_kind kind;
		const char *name;
	} row[] = {
		{ 3, 9, 9, 0, BRIDGE_HOST, "rig" },
		{ 9, 3, 9, 0, BRIDGE_TARGET, "0:0" },
		{ 9, 9, 3, 0, BRIDGE_LUN, "d0" },
		{ 9, 9, 9, 3, BRIDGE_INITIATOR, "a" },
	};

	for (size_t r = 0; r < ARRAY_LEN(row); r++) {
		start(row[r].host, row[r].target, row[r].lun, 1, 1);
		flow(0, 0, "a", 1, row[r].initiator);
		for (int i = 0; i < 5; i++)
			assert_int_equal(reqs[submit(0)].verdict, BRIDGE_PENDING);
		assert_int_equal(started, 3);
		assert_int_equal(rig_stats(row[r].kind, row[r].name).limit, 3);
		assert_int_equal(rig_stats(row[r].kind, row[r].name).in_flight, 3);
		assert_int_equal(rig_stats(row[r].kind, row[r].name).waiting, 2);
		check();
		finish(1);
		assert_int_equal(started, 4);
		assert_int_equal(reqs[3].order, 4);
		assert_int_equal(reqs[1].done, 1);
		end();
	}
}

static void
done_at_once_gives_the_slot_back(void **state)
{
	start(1, 1, 1, 1, 1);
	flow(0, 0, "a", 1, 1);
	mode = INLINE;
	for (int i = 0; i < 20; i++) {
		assert_int_equal(reqs[submit(0)].verdict, BRIDGE_DONE);
		assert_int_equal(reqs[i].done, 0);
	}
	assert_int_equal(rig_stats(BRIDGE_HOST, "rig").in_flight, 0);
	assert_int_equal(rig_stats(BRIDGE_HOST, "rig").admitted, 20);
	check();
	end();
}

static void
a_disk_may_finish_inside_submit(void **state)
{
	start(1, 1, 1, 1, 1);
	flow(0, 0, "a", 1, 0);
	mode = FINISH_INSIDE;
	for (int i = 0; i < 5; i++)
		assert_int_equal(reqs[submit(0)].verdict, BRIDGE_PENDING);
	rig_settle();
	for (int i = 0; i < 5; i++)
		assert_int_equal(reqs[i].done, 1);
	/* And while others wait: each hand-off finishes inside submit. */
	mode = HOLD;
	for (int i = 5; i < 300; i++)
		submit(0);
	mode = FINISH_INSIDE;
	finish(5);
	for (int i = 0; i < 20; i++)
		rig_settle();
	for (int i = 5; i < 300; i++)
		assert_int_equal(reqs[i].done, 1);
	check();
	end();
}

/* The request that it finishes from inside submit is another one, for whose slot somebody waits. */
static void
a_disk_may_finish_another_inside_submit(void **state)
{
	int waiter, other;

	start(8, 8, 1, 2, 1);
	flow(0, 0, "a", 1, 0);
	flow(1, 1, "a", 1, 0);
	submit(0);
	waiter = submit(0);
	assert_int_equal(reqs[waiter].order, 0);
	mode = FINISH_FIRST;
	other = submit(1);
	rig_settle();
	assert_int_equal(reqs[0].done, 1);
	assert_int_equal(reqs[other].order, 2);
	assert_int_equal(reqs[waiter].order, 3);
	check();
	end();
}

static void
many_inline_hand_offs_neither_recurse_nor_stop(void **state)
{
	start(1, 1, 1, 1, 1);
	flow(0, 0, "a", 1, 0);
	for (int i = 0; i < 500; i++)
		submit(0);
	mode = INLINE;
	finish(0);
	for (int i = 0; i < 20; i++)
		rig_settle();
	for (int i = 0; i < 500; i++)
		assert_int_equal(reqs[i].done, 1);
	assert_int_equal(rig_stats(BRIDGE_LUN, "d0").max_in_flight, 1);
	check();
	end();
}

static void
try_does_nothing_when_it_would_wait(void **state)
{
	int i;

	start(1, 8, 8, 1, 1);
	flow(0, 0, "a", 1, 0);
	assert_int_equal(reqs[submit_by(bridge_try, 0)].verdict, BRIDGE_PENDING);
	i = submit_by(bridge_try, 0);
	assert_int_equal(reqs[i].verdict, BRIDGE_WOULD_WAIT);
	assert_int_equal(rig_stats(BRIDGE_HOST, "rig").waiting, 0);
	finish(0);
	assert_int_equal(reqs[i].order, 0);
	check();
	end();
}

static void
an_initiator_has_so_many_waiters(void **state)
{
	start(1, 8, 8, 2, 1);
	adapters_close();
	rig.adapter.max_waiters = 3;
	assert_int_equal(adapters_open(&rig.conf), 0);
	rig.host = bridge_host_next(NULL);
	flow(0, 0, "a", 1, 0);
	flow(1, 1, "a", 1, 0);
	flow(2, 1, "b", 1, 0);
	submit(0);
	assert_int_equal(reqs[submit(0)].verdict, BRIDGE_PENDING);
	assert_int_equal(reqs[submit(1)].verdict, BRIDGE_PENDING);
	assert_int_equal(reqs[submit(0)].verdict, BRIDGE_PENDING);
	assert_int_equal(reqs[submit(1)].verdict, BRIDGE_FULL);
	assert_int_equal(reqs[submit(2)].verdict, BRIDGE_PENDING);
	check();
	end();
}

static void
reserved_tags_stand_beside_the_limits(void **state)
{
	start(1, 1, 1, 1, 1);
	flow(0, 0, "a", 1, 0);
	submit(0);
	assert_int_equal(bridge_freeze(rig.host, BRIDGE_HOST, "rig"), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(reqs[submit_by(bridge_urgent, 0)].verdict, BRIDGE_PENDING);
	assert_int_equal(reqs[submit_by(bridge_urgent, 0)].verdict, BRIDGE_WOULD_WAIT);
	assert_int_equal(rig_stats(BRIDGE_HOST, "rig").in_flight, 1);
	check();
	finish(2);
	assert_int_equal(reqs[2].done, 1);
	assert_int_equal(reqs[submit_by(bridge_urgent, 0)].verdict, BRIDGE_PENDING);
	assert_int_equal(bridge_thaw(rig.host, BRIDGE_HOST, "rig"), 0);
	check();
	end();
}

static void
an_offline_disk_is_never_asked(void **state)
{
	start(1, 1, 1, 1, 1);
	flow(0, 0, "a", 1, 0);
	rig_disk(0)->online = false;
	assert_int_equal(reqs[submit(0)].verdict, BRIDGE_DONE);
	assert_int_equal(reqs[0].req.io.result, -ENODEV);
	assert_int_equal(started, 0);
	rig_disk(0)->online = true;
	end();
}

static void
a_completion_that_comes_twice_is_dropped(void **state)
{
	start(2, 2, 2, 1, 1);
	flow(0, 0, "a", 1, 0);
	for (int i = 0; i < 4; i++)
		submit(0);
	finish(0);
	assert_int_equal(started, 3);
	finish(0);
	assert_int_equal(started, 3);
	assert_int_equal(reqs[0].done, 1);
	assert_int_equal(rig_stats(BRIDGE_HOST, "rig").in_flight, 2);
	check();
	/* Nor one for a request that never got a slot, or whose slot has another generation. */
	finish(3);
	assert_int_equal(reqs[3].done, 0);
	reqs[1].req.gen++;
	finish(1);
	assert_int_equal(reqs[1].done, 0);
	reqs[1].req.gen--;
	check();
	end();
}

/* -- cancel -- */

static void
cancel_takes_a_waiter_out_and_returns_no_credit(void **state)
{
	start(2, 2, 2, 1, 1);
	flow(0, 0, "a", 1, 0);
	for (int i = 0; i < 5; i++)
		submit(0);
	assert_int_equal(cancel(3), BRIDGE_CANCELLED);
	assert_int_equal(started, 2);
	assert_int_equal(rig_stats(BRIDGE_HOST, "rig").in_flight, 2);
	assert_int_equal(rig_stats(BRIDGE_HOST, "rig").waiting, 2);
	check();
	finish(0);
	finish(1);
	assert_int_equal(reqs[2].order, 3);
	assert_int_equal(reqs[4].order, 4);
	assert_int_equal(cancel(2), BRIDGE_RUNNING);
	finish(2);
	assert_int_equal(reqs[2].done, 1);
	assert_int_equal(reqs[3].done, 0);
	check();
	end();
}

/* The flow that stood at the adapter held a place at its LUN; when it leaves, the next of that LUN moves up. */
static void
cancel_of_who_stood_further_out_lets_others_pass(void **state)
{
	int a, b;

	start(2, 8, 1, 2, 1);
	flow(0, 0, "a", 1, 0);
	flow(1, 0, "b", 1, 0);
	flow(2, 1, "c", 1, 0);
	set_limit(BRIDGE_HOST, "rig", 1);
	submit(2);
	a = submit(0);
	b = submit(1);
	check();
	assert_int_equal(cancel(a), BRIDGE_CANCELLED);
	check();
	finish(0);
	assert_int_equal(reqs[b].order, 2);
	end();
}

/* -- fairness -- */

/* Lets `rounds` slots pass one at a time and counts which flow got how many. */
static void
serve(int rounds, int *got)
{
	int from = started;

	memset(got, 0, sizeof(int) * ARRAY_LEN(flows));
	for (int i = 0; i < rounds; i++)
		assert_true(finish_oldest());
	assert_int_equal(started - from, rounds);
	for (int i = from; i < started; i++)
		got[order[i]]++;
}

static void
equal_shares_are_exact(void **state)
{
	int got[ARRAY_LEN(flows)];

	start(1, 8, 8, 4, 1);
	for (int f = 0; f < 4; f++)
		flow(f, f, (const char *[]){ "a", "b", "c", "d" }[f], 1, 0);
	/* Offered load 1 : 2 : 4 : 6. */
	for (int i = 0; i < 30; i++)
		for (int f = 0; f < 4; f++)
			for (int k = 0; k < (int[]){ 1, 2, 4, 6 }[f]; k++)
				submit(f);
	serve(80, got);
	for (int f = 0; f < 4; f++)
		assert_int_equal(got[f], 20);
	check();
	end();
}

static void
weights_are_exact(void **state)
{
	/* Bound at the adapter, at the bus target, at the LUN. */
	static const struct { uint32_t host, target, lun; } row[] = {
		{ 1, 8, 8 }, { 8, 1, 8 }, { 8, 8, 1 },
	};
	int got[ARRAY_LEN(flows)];

	for (size_t r = 0; r < ARRAY_LEN(row); r++) {
		start(row[r].host, row[r].target, row[r].lun, 1, 1);
		flow(0, 0, "a", 4, 0);
		flow(1, 0, "b", 1, 0);
		flow(2, 0, "c", 2, 0);
		for (int i = 0; i < 60; i++)
			for (int f = 0; f < 3; f++)
				submit(f);
		serve(70, got);
		/* A turn may be cut at either end of what is looked at. */
		assert_in_range(got[0], 39, 41);
		assert_in_range(got[1], 9, 11);
		assert_in_range(got[2], 19, 21);
		check();
		end();
	}
}

static void
many_flows_are_no_larger_share(void **state)
{
	int got[ARRAY_LEN(flows)], a = 0;

	start(1, 8, 8, 32, 1);
	for (int f = 0; f < 32; f++)
		flow(f, f, "a", 1, 0);
	flow(32, 0, "b", 1, 0);
	for (int i = 0; i < 4; i++)
		for (int f = 0; f < 32; f++)
			submit(f);
	for (int i = 0; i < 100; i++)
		submit(32);
	serve(128, got);
	for (int f = 0; f < 32; f++) {
		assert_int_equal(got[f], 2);
		a += got[f];
	}
	assert_int_equal(a, got[32]);
	check();
	end();
}

static void
a_small_one_does_not_wait_behind_a_large_one(void **state)
{
	int small;

	start(4, 8, 8, 1, 1);
	flow(0, 0, "hog", 1, 0);
	flow(1, 0, "small", 1, 0);
	for (int i = 0; i < 200; i++)
		submit(0);
	small = submit(1);
	finish(0);
	finish(1);
	assert_in_range(reqs[small].order, 5, 6);
	check();
	end();
}

static void
an_initiator_that_was_away_has_saved_nothing(void **state)
{
	int got[ARRAY_LEN(flows)], from;

	start(1, 8, 8, 1, 1);
	flow(0, 0, "a", 1, 0);
	flow(1, 0, "b", 3, 0);
	for (int i = 0; i < 60; i++)
		submit(0);
	submit(1);
	serve(20, got);
	assert_int_equal(got[1], 1);
	for (int i = 0; i < 60; i++)
		submit(1);
	from = started;
	serve(20, got);
	assert_int_equal(got[1], 15);
	/* It comes behind who is there, not in front with the rest of its last turn. */
	assert_int_equal(order[from], 0);
	check();
	end();
}

/* A LUN that is full does not hold up another one of the same initiator or target. */
static void
a_full_lun_stops_only_its_own(void **state)
{
	start(8, 8, 2, 2, 2);
	flow(0, 0, "a", 1, 0);
	flow(1, 1, "a", 1, 0);
	for (int i = 0; i < 10; i++)
		submit(0);
	assert_int_equal(started, 2);
	submit(1);
	assert_int_equal(started, 3);
	check();
	end();
}

/* An initiator at its limit stands in front of a LUN it shares: the LUN goes to the other. */
static void
a_limited_initiator_does_not_idle_the_lun(void **state)
{
	int got[ARRAY_LEN(flows)];

	start(8, 8, 2, 2, 1);
	flow(0, 0, "a", 1, 1);
	flow(1, 1, "a", 1, 1);
	flow(2, 0, "b", 1, 0);
	submit(1);
	for (int i = 0; i < 20; i++) {
		submit(0);
		submit(2);
	}
	assert_int_equal(rig_stats(BRIDGE_LUN, "d0").in_flight, 2);
	check();
	finish(0);
	check();
	serve(18, got);
	assert_int_equal(rig_stats(BRIDGE_INITIATOR, "a").max_in_flight, 1);
	assert_int_equal(rig_stats(BRIDGE_LUN, "d0").in_flight, 2);
	assert_in_range(got[0], 6, 12);
	check();
	end();
}

/* -- limits that change -- */

static void
a_shrunk_limit_revokes_nothing_and_is_then_kept(void **state)
{
	start(8, 8, 8, 1, 1);
	flow(0, 0, "a", 1, 0);
	for (int i = 0; i < 20; i++)
		submit(0);
	assert_int_equal(started, 8);
	set_limit(BRIDGE_LUN, "d0", 3);
	check();
	for (int i = 0; i < 5; i++) {
		finish(i);
		assert_int_equal(started, 8);
	}
	finish(5);
	assert_int_equal(started, 9);
	assert_int_equal(rig_stats(BRIDGE_LUN, "d0").in_flight, 3);
	set_limit(BRIDGE_LUN, "d0", 6);
	assert_int_equal(started, 12);
	check();
	end();
}

static void
every_limit_to_one_and_back(void **state)
{
	static const struct { enum bridge_kind kind; const char *name; } row[] = {
		{ BRIDGE_HOST, "rig" }, { BRIDGE_TARGET, "0:0" }, { BRIDGE_LUN, "d0" },
		{ BRIDGE_INITIATOR, "a" },
	};

	for (size_t r = 0; r < ARRAY_LEN(row); r++) {
		start(6, 6, 6, 1, 1);
		flow(0, 0, "a", 1, 6);
		for (int i = 0; i < 30; i++)
			submit(0);
		set_limit(row[r].kind, row[r].name, 1);
		for (int i = 0; i < 10; i++)
			assert_true(finish_oldest());
		assert_int_equal(rig_stats(row[r].kind, row[r].name).in_flight, 1);
		assert_int_equal(rig_stats(row[r].kind, row[r].name).waiting, 19);
		set_limit(row[r].kind, row[r].name, 6);
		assert_int_equal(rig_stats(row[r].kind, row[r].name).in_flight, 6);
		check();
		end();
	}
}

static void
limits_that_make_no_sense_are_refused(void **state)
{
	start(6, 6, 6, 1, 1);
	assert_int_equal(bridge_set_limit(rig.host, BRIDGE_HOST, "rig", 0), -EINVAL);
	assert_int_equal(bridge_set_limit(rig.host, BRIDGE_HOST, "rig", 7), -EINVAL);
	assert_int_equal(bridge_set_limit(rig.host, BRIDGE_LUN, "d9", 1), -ENOENT);
	assert_int_equal(bridge_freeze(rig.host, BRIDGE_INITIATOR, "a"), -ENOENT);
	end();
}

static void
a_login_with_another_depth_sets_it(void **state)
{
	start(6, 6, 6, 2, 1);
	flow(0, 0, "a", 1, 2);
	for (int i = 0; i < 6; i++)
		submit(0);
	assert_int_equal(started, 2);
	set_limit(BRIDGE_INITIATOR, "a", 3);
	flow(1, 1, "a", 1, 2);
	assert_int_equal(rig_stats(BRIDGE_INITIATOR, "a").limit, 3);
	flow(2, 1, "a", 1, 5);
	rig_settle();
	assert_int_equal(started, 5);
	check();
	end();
}

static void
frozen_at_any_level_nothing_starts(void **state)
{
	static const struct { enum bridge_kind kind; const char *name; } row[] = {
		{ BRIDGE_HOST, "rig" }, { BRIDGE_TARGET, "0:0" }, { BRIDGE_LUN, "d0" },
		{ BRIDGE_INITIATOR, "a" },
	};

	for (size_t r = 0; r < ARRAY_LEN(row); r++) {
		start(4, 4, 4, 2, 1);
		flow(0, 0, "a", 1, 0);
		flow(1, 1, "b", 1, 0);
		submit(0);
		submit(0);
		assert_int_equal(bridge_freeze(rig.host, row[r].kind, row[r].name), 0);
		for (int i = 0; i < 6; i++)
			submit(0);
		assert_int_equal(started, 2);
		finish(0);
		assert_int_equal(started, 2);
		check();
		if (row[r].kind != BRIDGE_HOST) {
			submit(1);
			assert_int_equal(started, 3);
		}
		assert_int_equal(bridge_thaw(rig.host, row[r].kind, row[r].name), 0);
		rig_settle();
		assert_int_equal(rig_stats(BRIDGE_HOST, "rig").in_flight, 4);
		check();
		end();
	}
}

/* Who had been let pass to the adapter's own ring when its LUN froze goes back, and others pass. */
static void
freeze_behind_a_flow_that_has_passed(void **state)
{
	int b;

	start(1, 4, 4, 2, 1);
	flow(0, 0, "a", 1, 0);
	flow(1, 1, "b", 1, 0);
	submit(0);
	submit(0);
	b = submit(1);
	assert_int_equal(bridge_freeze(rig.host, BRIDGE_LUN, "d0"), 0);
	finish(0);
	assert_int_equal(reqs[b].order, 2);
	check();
	finish(b);
	assert_int_equal(started, 2);
	check();
	assert_int_equal(bridge_thaw(rig.host, BRIDGE_LUN, "d0"), 0);
	rig_settle();
	assert_int_equal(started, 3);
	end();
}

static void
the_longest_wait_is_known(void **state)
{
	start(1, 4, 4, 1, 1);
	flow(0, 0, "a", 1, 0);
	submit(0);
	submit(0);
	finish(0);
	assert_int_equal(rig_stats(BRIDGE_LUN, "d0").waited, 1);
	assert_true(rig_stats(BRIDGE_LUN, "d0").wait_max_ns > 0);
	assert_true(rig_stats(BRIDGE_LUN, "d0").wait_ns > 0);
	assert_int_equal(rig_stats(BRIDGE_LUN, "d0").admitted, 2);
	end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_limit_stops_the_request_above_it),
		cmocka_unit_test(done_at_once_gives_the_slot_back),
		cmocka_unit_test(a_disk_may_finish_inside_submit),
		cmocka_unit_test(a_disk_may_finish_another_inside_submit),
		cmocka_unit_test(many_inline_hand_offs_neither_recurse_nor_stop),
		cmocka_unit_test(try_does_nothing_when_it_would_wait),
		cmocka_unit_test(an_initiator_has_so_many_waiters),
		cmocka_unit_test(reserved_tags_stand_beside_the_limits),
		cmocka_unit_test(an_offline_disk_is_never_asked),
		cmocka_unit_test(a_completion_that_comes_twice_is_dropped),
		cmocka_unit_test(cancel_takes_a_waiter_out_and_returns_no_credit),
		cmocka_unit_test(cancel_of_who_stood_further_out_lets_others_pass),
		cmocka_unit_test(equal_shares_are_exact),
		cmocka_unit_test(weights_are_exact),
		cmocka_unit_test(many_flows_are_no_larger_share),
		cmocka_unit_test(a_small_one_does_not_wait_behind_a_large_one),
		cmocka_unit_test(an_initiator_that_was_away_has_saved_nothing),
		cmocka_unit_test(a_full_lun_stops_only_its_own),
		cmocka_unit_test(a_limited_initiator_does_not_idle_the_lun),
		cmocka_unit_test(a_shrunk_limit_revokes_nothing_and_is_then_kept),
		cmocka_unit_test(every_limit_to_one_and_back),
		cmocka_unit_test(limits_that_make_no_sense_are_refused),
		cmocka_unit_test(a_login_with_another_depth_sets_it),
		cmocka_unit_test(frozen_at_any_level_nothing_starts),
		cmocka_unit_test(freeze_behind_a_flow_that_has_passed),
		cmocka_unit_test(the_longest_wait_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
