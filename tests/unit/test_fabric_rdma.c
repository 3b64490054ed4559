/* The RDMA fabric on a pretended device: what is handed over, what is told, and that nothing is left or lost. */
#include "rdma_rig.h"

#include "conf.h"

/* -- a portal, its requests, a connection -- */

static struct srp_portal_conf portal_opts = { .backlog = 8 };
static struct sockaddr_storage portal_addr = { .ss_family = AF_INET };
static struct conf_portal portal = { .name = (char *)"fabric", .naddrs = 1, .addrs = &portal_addr,
	.opts = &portal_opts };
static struct fabric_listener *listener;
static struct fabric_request *request;
static atomic_int requests;

/* One whose end is told; `at` says when. */
struct tell {
	struct fabric_cqe cqe;
	struct fabric_wc wc;
	atomic_int n;
	int at;
};

static struct {
	struct fabric_conn *conn;
	struct fabric_setup setup;
	int rc;
	atomic_int established, lost, drained, told;
	const char *why;
	int qps_when_drained;
} peer;

static void
told(const struct fabric_wc *wc)
{
	struct tell *t = container_of(wc->cqe, struct tell, cqe);

	assert_int_equal(peer.drained, 0);
	t->wc = *wc;
	t->at = ++peer.told;
	t->n++;
}

static void
established(void *ctx)
{
	peer.established++;
}

static void
lost(void *ctx, const char *why)
{
	peer.why = why;
	peer.lost++;
}

static void
drained(void *ctx)
{
	peer.qps_when_drained = dev.qps;
	rdma_fabric.close(peer.conn);
	peer.drained++;
}

static const struct fabric_events events = { established, lost, drained };

static void
arrived(struct fabric_request *req)
{
	request = req;
	requests++;
}

static void
listen_open(void)
{
	request = NULL;
	requests = 0;
	memset(&peer, 0, sizeof(peer));
	assert_int_equal(rdma_fabric.listen(&portal, arrived, &listener), 0);
}

/* A peer wants to connect: its id is the library's. */
static void
connect_request(void)
{
	struct rdma_cm_id *id = NULL;
	int was = requests;

	assert_int_equal(rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP), 0);
	rig_event(id, RDMA_CM_EVENT_CONNECT_REQUEST, dev.listening);
	id->channel = dev.listening->channel;
	assert_true(comes_true(&requests, was + 1));
}

static void
do_open(void *arg)
{
	peer.setup = (struct fabric_setup){ .reactor = reactor_self(), .events = &events,
		.limits = { .send_wr = 256, .recv_wr = 64, .inline_max = 256 } };
	peer.rc = rdma_fabric.open(request, &peer.setup, &peer.conn);
}

static void
do_accept(void *arg)
{
	peer.rc = rdma_fabric.accept(peer.conn, request, "yes", 3);
}

static void
do_disconnect(void *arg)
{
	rdma_fabric.disconnect(peer.conn);
	rdma_fabric.disconnect(peer.conn);
	assert_int_equal(peer.drained, 0);
}

static void
do_reject(void *arg)
{
	rdma_fabric.reject(request, "no", 2);
}

static void
conn_up(void)
{
	listen_open();
	connect_request();
	assert_int_equal(request->len, 8);
	assert_string_equal((const char *)request->data, "a login");
	reactor_call(r0, do_open, NULL);
	assert_int_equal(peer.rc, 0);
	reactor_call(r0, do_accept, NULL);
	assert_int_equal(peer.rc, 0);
}

static void
conn_down(void)
{
	reactor_call(r0, do_disconnect, NULL);
	assert_true(comes_true(&peer.drained, 1));
	assert_int_equal(peer.qps_when_drained, 0);
	rdma_fabric.unlisten(listener);
}

/* -- work -- */

enum { WORK = 130 };

static struct work_set {
	struct tell tell[WORK];
	struct fabric_wr wr[WORK];
	struct fabric_recv recv[WORK];
	struct fabric_sge sge[WORK][2];
	struct iovec iov[BUF_IOV_MAX];
	struct fabric_wr *bad;
	int niov, n, rc;
} w;

/* n writes of two pieces of pool memory; the last one is signalled. */
static void
work_make(void *arg)
{
	memset(&w, 0, sizeof(w));
	w.n = *(int *)arg;
	w.niov = buf_get(reactor_self(), w.iov, 256 * 1024);
	for (int i = 0; i < w.n; i++) {
		char *p = (char *)w.iov[0].iov_base + 1024 * i;

		w.tell[i].cqe.done = told;
		w.sge[i][0] = (struct fabric_sge){ p, 500 };
		w.sge[i][1] = (struct fabric_sge){ p + 500, 12 };
		w.wr[i] = (struct fabric_wr){ .next = i + 1 < w.n ? &w.wr[i + 1] : NULL,
			.cqe = &w.tell[i].cqe, .sge = w.sge[i], .nsge = 2, .op = FABRIC_RDMA_WRITE,
			.flags = i + 1 < w.n ? 0 : FABRIC_SIGNALED, .rkey = 7, .remote = 4096u * (unsigned)i };
		w.recv[i] = (struct fabric_recv){ .next = i + 1 < w.n ? &w.recv[i + 1] : NULL,
			.cqe = &w.tell[i].cqe, .sge = { p, 64 } };
	}
}

static void
work_send(void *arg)
{
	w.bad = NULL;
	w.rc = rdma_fabric.post_send(peer.conn, w.wr, &w.bad);
}

static void
work_receive(void *arg)
{
	w.rc = rdma_fabric.post_recv(peer.conn, w.recv);
}

static void
work_drop(void *arg)
{
	buf_put(reactor_self(), w.iov, w.niov);
}

static void
work_start(int n)
{
	reactor_call(r0, work_make, &n);
	assert_int_equal(w.niov, 1);
}

static void
chains_are_handed_over_whole(void **state)
{
	conn_up();
	work_start(WORK);
	reactor_call(r0, work_send, NULL);
	assert_int_equal(w.rc, 0);
	assert_int_equal(dev.nsent, WORK);
	for (int i = 0; i < WORK; i++) {
		assert_int_equal(dev.sent[i].opcode, IBV_WR_RDMA_WRITE);
		assert_int_equal(dev.sent[i].nsge, 2);
		assert_int_equal(dev.sent[i].len, 512);
		assert_int_equal(dev.sent[i].remote, 4096 * i);
		assert_int_equal(dev.sent[i].lkey, rig_key(w.iov[0].iov_base));
		assert_int_equal(dev.sent[i].flags, i + 1 < WORK ? 0 : IBV_SEND_SIGNALED);
	}
	/* One completion speaks for all of them, and only of itself. */
	rig_complete(dev.sent[WORK - 1].wr_id, IBV_WC_SUCCESS, 0);
	assert_true(comes_true(&peer.told, 1));
	assert_int_equal(w.tell[WORK - 1].n, 1);
	assert_int_equal(w.tell[WORK - 1].wc.status, FABRIC_OK);
	conn_down();
	assert_int_equal(peer.told, 1);
	reactor_call(r0, work_drop, NULL);
}

static void
what_is_refused_is_handed_back(void **state)
{
	for (int room = 0; room < WORK; room += 43) {
		conn_up();
		dev.nsent = 0;
		dev.room = room;
		work_start(WORK);
		reactor_call(r0, work_send, NULL);
		assert_int_equal(w.rc, -ENOMEM);
		assert_ptr_equal(w.bad, &w.wr[room]);
		/* It goes on from there, and each is told once. */
		dev.room = 1 << 30;
		w.wr[0] = w.wr[room];
		w.wr[0].next = w.bad->next;
		reactor_call(r0, work_send, NULL);
		assert_int_equal(w.rc, 0);
		assert_int_equal(dev.nsent, WORK);
		conn_down();
		assert_int_equal(peer.told, WORK);
		for (int i = 0; i < WORK; i++) {
			assert_int_equal(w.tell[i].n, 1);
			assert_int_equal(w.tell[i].at, i + 1);
			assert_int_equal(w.tell[i].wc.status, FABRIC_FLUSHED);
		}
		reactor_call(r0, work_drop, NULL);
	}
}

static void
foreign_memory_is_refused(void **state)
{
	static char own[64];

	conn_up();
	work_start(3);
	w.sge[2][0].addr = own;
	reactor_call(r0, work_send, NULL);
	assert_int_equal(w.rc, -EFAULT);
	assert_ptr_equal(w.bad, &w.wr[2]);
	assert_int_equal(dev.nsent, 2);
	assert_false(rdma_fabric.reaches(peer.conn, own, 1));
	assert_true(rdma_fabric.reaches(peer.conn, w.iov[0].iov_base, w.iov[0].iov_len));
	/* Not across the end of an arena, whatever lies behind it. */
	assert_false(rdma_fabric.reaches(peer.conn, w.iov[0].iov_base, BUF_ARENA));
	/* What the processor copies needs no registration. */
	w.wr[2].flags |= FABRIC_INLINE;
	w.wr[0] = w.wr[2];
	reactor_call(r0, work_send, NULL);
	assert_int_equal(w.rc, 0);
	w.recv[0].sge.addr = own;
	w.recv[0].next = NULL;
	reactor_call(r0, work_receive, NULL);
	assert_int_equal(w.rc, -EFAULT);
	conn_down();
	assert_int_equal(peer.told, 3);
	reactor_call(r0, work_drop, NULL);
}

static void
a_failure_is_told_and_ends_it(void **state)
{
	conn_up();
	work_start(4);
	reactor_call(r0, work_send, NULL);
	rig_complete(dev.sent[1].wr_id, IBV_WC_REM_ACCESS_ERR, 0);
	rig_complete(dev.sent[2].wr_id, IBV_WC_WR_FLUSH_ERR, 0);
	rig_complete(dev.sent[3].wr_id, IBV_WC_WR_FLUSH_ERR, 0);
	assert_true(comes_true(&peer.told, 3));
	assert_true(comes_true(&peer.lost, 1));
	assert_int_equal(w.tell[0].n, 0);
	assert_int_equal(w.tell[1].wc.status, FABRIC_FAILED);
	assert_string_equal(w.tell[1].wc.why, peer.why);
	assert_int_equal(w.tell[3].wc.status, FABRIC_FLUSHED);
	rig_event(peer.conn->id, RDMA_CM_EVENT_DISCONNECTED, NULL);
	conn_down();
	assert_int_equal(peer.lost, 1);
	assert_int_equal(peer.told, 3);
	reactor_call(r0, work_drop, NULL);
}

static void
do_disconnect_full(void *arg)
{
	/* It ended before the queue pair was destroyed: that is told, not that it was flushed. */
	dev.armed = false;
	rig_complete(dev.received[0].wr_id, IBV_WC_SUCCESS, 48);
	do_disconnect(arg);
}

static void
drained_comes_last_and_tells_the_truth(void **state)
{
	conn_up();
	work_start(4);
	reactor_call(r0, work_receive, NULL);
	assert_int_equal(w.rc, 0);
	reactor_call(r0, do_disconnect_full, NULL);
	assert_true(comes_true(&peer.drained, 1));
	assert_int_equal(peer.told, 4);
	assert_int_equal(w.tell[0].wc.status, FABRIC_OK);
	assert_int_equal(w.tell[0].wc.len, 48);
	for (int i = 1; i < 4; i++)
		assert_int_equal(w.tell[i].wc.status, FABRIC_FLUSHED);
	assert_int_equal(peer.lost, 0);
	assert_int_equal(peer.qps_when_drained, 0);
	rdma_fabric.unlisten(listener);
	reactor_call(r0, work_drop, NULL);
}

static void
events_of_the_peer_are_told(void **state)
{
	conn_up();
	rig_event(peer.conn->id, RDMA_CM_EVENT_ESTABLISHED, NULL);
	assert_true(comes_true(&peer.established, 1));
	rig_event(peer.conn->id, RDMA_CM_EVENT_DISCONNECTED, NULL);
	rig_event(peer.conn->id, RDMA_CM_EVENT_TIMEWAIT_EXIT, NULL);
	assert_true(comes_true(&peer.lost, 1));
	conn_down();
	assert_int_equal(dev.disconnects, 1);
}

/* -- memory -- */

static void
arenas_that_are_refused_are_not_reached(void **state)
{
	dev.mr_room = 0;
	conn_up();
	work_start(1);
	assert_false(rdma_fabric.reaches(peer.conn, w.iov[0].iov_base, 1));
	reactor_call(r0, work_send, NULL);
	assert_int_equal(w.rc, -EFAULT);
	conn_down();
	reactor_call(r0, work_drop, NULL);
}

/* -- beginnings that fail -- */

static void
a_smaller_queue_pair_will_do(void **state)
{
	dev.sge_max = 5;
	conn_up();
	assert_int_equal(peer.setup.limits.max_sge, 4);
	assert_int_equal(peer.setup.limits.max_read_sge, 4);
	assert_int_equal(peer.setup.limits.send_wr, 256);
	conn_down();
}

static void
every_call_that_fails_leaves_nothing(void **state)
{
	int failed = 0;

	for (int at = 1;; at++) {
		listen_open();
		connect_request();
		dev.calls = 0;
		dev.fail_at = at;
		reactor_call(r0, do_open, NULL);
		if (!peer.rc)
			reactor_call(r0, do_accept, NULL);
		dev.fail_at = 0;
		if (!peer.rc) {
			conn_down();
			break;
		}
		failed++;
		/* Opened, but not accepted: it is taken down before the request is rejected. */
		if (peer.conn) {
			reactor_call(r0, do_disconnect, NULL);
			assert_true(comes_true(&peer.drained, 1));
		}
		reactor_call(r0, do_reject, NULL);
		assert_int_equal(dev.pds + dev.mrs + dev.cqs + dev.qps + dev.comp_channels, 0);
		rdma_fabric.unlisten(listener);
		assert_int_equal(dev.ids, 0);
	}
	assert_true(failed >= 8);
	assert_int_equal(dev.rejects, failed);
}

static void
listening_that_fails_leaves_nothing(void **state)
{
	for (int at = 1; at <= 4; at++) {
		dev.calls = 0;
		dev.fail_at = at;
		assert_true(rdma_fabric.listen(&portal, arrived, &listener) < 0);
		assert_int_equal(dev.ids + dev.event_channels, 0);
	}
}

static void
a_request_outlives_its_listener(void **state)
{
	listen_open();
	connect_request();
	rdma_fabric.unlisten(listener);
	assert_int_equal(dev.event_channels, 1);
	reactor_call(reactor_get(1), do_reject, NULL);
	assert_int_equal(dev.rejects, 1);
	assert_int_equal(dev.event_channels + dev.ids, 0);
}

/* -- sleeping -- */

static void
do_end_now(void *arg)
{
	/* The queue is armed anew before the next sleep. */
	rig_complete(dev.received[0].wr_id, IBV_WC_SUCCESS, 1);
	*(uint64_t *)arg = dev.received[1].wr_id;
}

/* Whatever the moment, it is told without another completion's help. */
static void
an_end_just_before_or_after_arming_is_not_slept_over(void **state)
{
	uint64_t *moments[] = { &dev.before_arm, &dev.after_arm };

	conn_up();
	for (unsigned i = 0; i < ARRAY_LEN(moments); i++) {
		peer.told = 0;
		dev.nreceived = 0;
		work_start(2);
		reactor_call(r0, work_receive, NULL);
		reactor_call(r0, do_end_now, moments[i]);
		assert_true(comes_true(&peer.told, 2));
		reactor_call(r0, work_drop, NULL);
	}
	conn_down();
}

/* A device completes at moments of its own. */
static void
no_completion_is_slept_over(void **state)
{
	enum { ROUNDS = 3000 };
	unsigned seed = 1;

	conn_up();
	work_start(1);
	for (int i = 1; i <= ROUNDS; i++) {
		dev.nreceived = 0;
		reactor_call(r0, work_receive, NULL);
		for (int spin = rand_r(&seed) % 20000; spin > 0; spin--)
			__asm__ volatile("");
		assert_true(rig_complete(dev.received[0].wr_id, IBV_WC_SUCCESS, 1));
		assert_true(comes_true(&peer.told, i));
	}
	conn_down();
	/* Armed when it woke, not for each look. */
	assert_true(dev.arms <= ROUNDS + 16);
	reactor_call(r0, work_drop, NULL);
}

#define RIG(test) cmocka_unit_test_setup_teardown(test, rig_start, rig_stop)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		RIG(chains_are_handed_over_whole),
		RIG(what_is_refused_is_handed_back),
		RIG(foreign_memory_is_refused),
		RIG(a_failure_is_told_and_ends_it),
		RIG(drained_comes_last_and_tells_the_truth),
		RIG(events_of_the_peer_are_told),
		RIG(arenas_that_are_refused_are_not_reached),
		RIG(a_smaller_queue_pair_will_do),
		RIG(every_call_that_fails_leaves_nothing),
		RIG(listening_that_fails_leaves_nothing),
		RIG(a_request_outlives_its_listener),
		RIG(an_end_just_before_or_after_arming_is_not_slept_over),
		RIG(no_completion_is_slept_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
