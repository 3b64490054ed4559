/* Requests to connect over RDMA: listened for on the first reactor, answered on any. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "conf.h"
#include "log.h"
#include "stats.h"

#include "fabric_rdma.h"

COUNTER(dropped, "rdma_requests_dropped", "requests to connect that there was no memory for");

enum { EVENT_BATCH = 16 };

#define AGAIN_NS 2000000000u		/* to listen again when a device went away */

/* Made and freed on the main thread, used on the first reactor. */
struct fabric_listener {
	const struct conf_portal *conf;
	void (*request)(struct fabric_request *);
	struct reactor *reactor;
	struct hca_channel *home;
	struct watch watch;
	struct timer again;
	int n;
	struct rdma_cm_id *ids[];	/* by address; NULL: its device is gone for now */
};

/* -- event channels -- */

static struct hca_channel *
channel_get(void)
{
	struct hca_channel *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->channel = rdma_create_event_channel();
	if (!c->channel || fcntl(c->channel->fd, F_SETFL, O_NONBLOCK) < 0) {
		int err = errno;

		if (c->channel)
			rdma_destroy_event_channel(c->channel);
		free(c);
		errno = err;
		return NULL;
	}
	atomic_init(&c->refs, 1);
	return c;
}

static void
channel_put(struct hca_channel *c)
{
	if (!c || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) > 1)
		return;
	rdma_destroy_event_channel(c->channel);
	free(c);
}

/* -- requests -- */

/* The addresses are the id's own; a GID stands in them in the fabric's form. */
static void
request_addresses(struct hca_request *req)
{
	const struct sockaddr *peer = rdma_get_peer_addr(req->id);
	const struct sockaddr *local = rdma_get_local_addr(req->id);
	const struct rdma_ib_addr *ib = &req->id->route.addr.addr.ibaddr;

	if (peer->sa_family == AF_INET || peer->sa_family == AF_INET6) {
		memcpy(&req->req.peer, peer, sizeof(struct sockaddr_in6));
		memcpy(&req->req.local, local, sizeof(struct sockaddr_in6));
	}
	if (req->id->verbs->device->transport_type != IBV_TRANSPORT_IB)
		return;
	memcpy(req->req.gid, &ib->dgid, sizeof(req->req.gid));
	memcpy(req->req.local_gid, &ib->sgid, sizeof(req->req.local_gid));
}

static struct hca_request *
request_new(struct fabric_listener *l, const struct rdma_cm_event *e)
{
	const struct srp_portal_conf *conf = l->conf->opts;
	struct hca_request *req = calloc(1, sizeof(*req));

	if (!req)
		return NULL;
	req->poll_ns = conf->poll_ns;
	req->id = e->id;
	req->id->context = NULL;
	req->home = l->home;
	atomic_fetch_add_explicit(&l->home->refs, 1, memory_order_relaxed);
	req->responder_resources = e->param.conn.responder_resources;
	req->initiator_depth = e->param.conn.initiator_depth;
	req->req.fabric = &rdma_fabric;
	req->req.portal = l->conf;
	req->req.data = req->data;
	if (e->param.conn.private_data) {
		req->req.len = e->param.conn.private_data_len;
		memcpy(req->data, e->param.conn.private_data, req->req.len);
	}
	request_addresses(req);
	hca_limits(req->id, &req->req.limits);
	return req;
}

void
hca_request_free(struct hca_request *req)
{
	channel_put(req->home);
	free(req);
}

int
hca_request_move(struct hca_request *req, struct rdma_event_channel *channel)
{
	if (rdma_migrate_id(req->id, channel))
		return -errno;
	channel_put(req->home);
	req->home = NULL;
	return 0;
}

void
hca_reject(struct fabric_request *fr, const void *data, size_t len)
{
	struct hca_request *req = container_of(fr, struct hca_request, req);

	rdma_reject(req->id, data, (uint8_t)len);
	/* Before its channel, which the last of the requests takes along. */
	rdma_destroy_id(req->id);
	hca_request_free(req);
}

/* -- listening, on the first reactor -- */

static int
id_listen(struct fabric_listener *l, int i)
{
	const struct srp_portal_conf *conf = l->conf->opts;
	struct sockaddr *addr = (struct sockaddr *)&l->conf->addrs[i];
	struct rdma_cm_id *id;
	int one = 1, err;

	if (rdma_create_id(l->home->channel, &id, NULL, RDMA_PS_TCP))
		return -errno;
	/* Both wildcards can be listened on, each for its own family. */
	if (addr->sa_family == AF_INET6)
		rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &one, sizeof(one));
	if (rdma_bind_addr(id, addr) || rdma_listen(id, (int)conf->backlog)) {
		err = errno;
		rdma_destroy_id(id);
		return -err;
	}
	l->ids[i] = id;
	return 0;
}

static void
listen_again(struct timer *t)
{
	struct fabric_listener *l = container_of(t, struct fabric_listener, again);
	char text[64];

	for (int i = 0; i < l->n; i++) {
		if (l->ids[i])
			continue;
		if (id_listen(l, i) < 0)
			timer_set(t, AGAIN_NS);
		else
			log_info("portal %s: listens again on %s", l->conf->name,
			    sockaddr_text((const void *)&l->conf->addrs[i], text, sizeof(text)));
	}
}

/* Its device went away, or its address went to another one. */
static void
id_gone(struct fabric_listener *l, struct rdma_cm_id *id)
{
	for (int i = 0; i < l->n; i++) {
		if (l->ids[i] != id)
			continue;
		l->ids[i] = NULL;
		rdma_destroy_id(id);
		log_warn("portal %s: the RDMA device is gone; will listen again when it is back",
		    l->conf->name);
		timer_set(&l->again, AGAIN_NS);
	}
}

/*
 * An event of a request that nobody has opened yet is of no interest: what is
 * done with it next fails.
 */
static void
listener_readable(struct watch *w, short what)
{
	struct fabric_listener *l = container_of(w, struct fabric_listener, watch);
	struct rdma_cm_event *e;

	for (int i = 0; i < EVENT_BATCH && !rdma_get_cm_event(l->home->channel, &e); i++) {
		enum rdma_cm_event_type type = e->event;
		struct hca_request *req = NULL;
		struct rdma_cm_id *id = e->id;

		if (type == RDMA_CM_EVENT_CONNECT_REQUEST)
			req = request_new(l, e);
		rdma_ack_cm_event(e);
		if (req) {
			l->request(&req->req);
		} else if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
			counter_add(&dropped, 1);
			rdma_destroy_id(id);
		} else if (type == RDMA_CM_EVENT_DEVICE_REMOVAL || type == RDMA_CM_EVENT_ADDR_CHANGE) {
			id_gone(l, id);
		}
	}
}

static void
listener_start(void *arg)
{
	struct fabric_listener *l = arg;

	hca_mem_limit(l->reactor, l->conf->name);
	timer_init(&l->again, l->reactor, listen_again);
	watch_init(&l->watch, l->reactor, l->home->channel->fd, listener_readable);
	watch_want(&l->watch, EV_READ);
}

static void
listener_stop(void *arg)
{
	struct fabric_listener *l = arg;

	timer_fini(&l->again);
	watch_fini(&l->watch);
	for (int i = 0; i < l->n; i++)
		if (l->ids[i])
			rdma_destroy_id(l->ids[i]);
	l->n = 0;
}

/* -- on the main thread -- */

static void
listener_free(struct fabric_listener *l)
{
	for (int i = 0; i < l->n; i++)
		if (l->ids[i])
			rdma_destroy_id(l->ids[i]);
	channel_put(l->home);
	free(l);
}

static int
listener_open(struct fabric_listener *l)
{
	char text[64];

	l->home = channel_get();
	if (!l->home) {
		/* Without the module there is no file; without the right to use it, no access. */
		if (errno == ENOENT || errno == ENODEV)
			return -ENODEV;
		log_err("portal %s: RDMA cannot be used: %s", l->conf->name, strerror(errno));
		return -errno;
	}
	for (; l->n < l->conf->naddrs; l->n++) {
		int rc = id_listen(l, l->n);

		if (rc) {
			log_err("portal %s: cannot listen on %s: %s", l->conf->name,
			    sockaddr_text((const void *)&l->conf->addrs[l->n], text, sizeof(text)),
			    rc == -ENODEV ? "not an address of an RDMA device" : strerror(-rc));
			return rc;
		}
	}
	return 0;
}

int
hca_listen(const struct conf_portal *conf, void (*request)(struct fabric_request *),
    struct fabric_listener **out)
{
	struct fabric_listener *l = calloc(1, sizeof(*l) + sizeof(l->ids[0]) * (size_t)conf->naddrs);
	int rc;

	if (!l) {
		log_err("portal %s: out of memory", conf->name);
		return -ENOMEM;
	}
	/* Before any memory is registered: a child must not take pages from the device. */
	ibv_fork_init();
	l->conf = conf;
	l->request = request;
	l->reactor = reactor_get(0);
	rc = listener_open(l);
	if (rc) {
		listener_free(l);
		return rc;
	}
	reactor_call(l->reactor, listener_start, l);
	*out = l;
	return 0;
}

void
hca_unlisten(struct fabric_listener *l)
{
	reactor_call(l->reactor, listener_stop, l);
	listener_free(l);
}
