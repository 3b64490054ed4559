/* SRP as the daemon sees it: the transport, its portals, what reactors share, and its end. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

#include "channel.h"

static struct srp_reactor reactors[REACTORS_MAX];

struct srp_reactor *
srp_reactor_at(unsigned id)
{
	return &reactors[id];
}

/* Credits go out again when memory comes back; they never shrink below what is out. */
static void
memory_check(struct srp_reactor *home)
{
	struct buf_stats stats;

	buf_stats(home->reactor, &stats);
	home->tight = stats.used > stats.budget / 8 * 7;
}

static void
reactor_tick(struct timer *t)
{
	struct srp_reactor *home = container_of(t, struct srp_reactor, tick);
	uint64_t now = reactor_now(home->reactor);
	struct srp_channel *ch;

	memory_check(home);
	list_for_each(ch, &home->channels, link)
		channel_tick(ch, now);
	if (home->nchannels)
		timer_set(&home->tick, TICK_NS);
}

struct srp_reactor *
srp_reactor(struct reactor *reactor)
{
	struct srp_reactor *home = &reactors[reactor_id(reactor)];

	OWNED_BY(reactor);
	if (home->reactor)
		return home;
	home->reactor = reactor;
	obj_pool_init(&home->tasks, sizeof(struct srp_task));
	list_init(&home->channels);
	timer_init(&home->tick, reactor, reactor_tick);
	return home;
}

/* -- portals -- */

/* Of one portal; main thread. */
struct portal {
	struct list link;
	const struct conf_portal *conf;
	const struct fabric *fabric;
	struct fabric_listener *listener;
};

static struct list portals = LIST_INIT(portals);

static const struct fabric *
fabric_first(void)
{
	const struct fabric *f;

	for_each_registered(fabrics, f)
		return f;
	return NULL;
}

/*
 * Without a device the portal stays down and the rest of the daemon runs, as
 * with a disk that does not open. Anything else that is wrong with it is an error.
 */
static int
srp_portal_open(const struct conf_portal *conf)
{
	const struct fabric *fabric = fabric_first();
	struct portal *p = calloc(1, sizeof(*p));
	int rc = fabric ? 0 : -ENODEV;

	if (!p) {
		log_err("portal %s: out of memory", conf->name);
		return -ENOMEM;
	}
	p->conf = conf;
	p->fabric = fabric;
	if (!rc)
		rc = fabric->listen(conf, cm_request, &p->listener);
	if (!rc) {
		list_add_tail(&portals, &p->link);
		return 0;
	}
	free(p);
	if (rc != -ENODEV)
		return rc;
	log_err("portal %s stays down: this machine has no RDMA device", conf->name);
	return 0;
}

static void
srp_portal_close(const struct conf_portal *conf)
{
	struct portal *p, *tmp;

	list_for_each_safe(p, tmp, &portals, link) {
		if (p->conf != conf)
			continue;
		p->fabric->unlisten(p->listener);
		list_del(&p->link);
		free(p);
	}
}

/* -- the end -- */

static void
srp_shutdown(struct reactor *reactor)
{
	struct srp_reactor *home = srp_reactor(reactor);
	struct srp_channel *ch;

	home->stopping = true;
	list_for_each(ch, &home->channels, link)
		channel_leave(ch, SRP_T_LOGOUT_NO_REASON, "the daemon stops");
}

static unsigned
srp_live(struct reactor *reactor)
{
	struct srp_reactor *home = &reactors[reactor_id(reactor)];

	return home->reactor ? home->nchannels + home->tasks.used : 0;
}

static void
srp_fini(struct reactor *reactor)
{
	struct srp_reactor *home = &reactors[reactor_id(reactor)];
	const struct fabric *f;

	if (!home->reactor)
		return;
	for_each_registered(fabrics, f)
		if (f->fini)
			f->fini(reactor);
	timer_fini(&home->tick);
	obj_pool_fini(&home->tasks);
	*home = (struct srp_reactor){ 0 };
}

static void
srp_drop(struct nexus *nexus)
{
	channel_leave(nexus->session, SRP_T_LOGOUT_NO_REASON, "ended by the target");
}

const struct transport_ops srp_ops = {
	.name = "srp",
	.want_data = srp_cmd_want,
	.done = srp_cmd_done,
	.tmf_done = srp_tmf_done,
	.drop = srp_drop,
};

const struct conf_key srp_portal_keys[] = {
	{ "poll", CONF_TIME, .offset = offsetof(struct srp_portal_conf, poll_ns),
	    .max = 1000000000, .fallback = "0",
	    .help = "look for completions so long after the last one before sleeping" },
	{ "backlog", CONF_UINT, .offset = offsetof(struct srp_portal_conf, backlog),
	    .min = 1, .max = 65535, .fallback = "1024",
	    .help = "requests to connect that may wait" },
	{ "max_channels", CONF_UINT, .offset = offsetof(struct srp_portal_conf, max_channels),
	    .min = 1, .max = 65535, .fallback = "1024",
	    .help = "channels of all initiators; a login beyond that is refused" },
	{ .name = NULL }
};

const struct transport srp_transport = {
	.name = "srp",
	.portal_keys = srp_portal_keys,
	.portal_conf_size = sizeof(struct srp_portal_conf),
	.target_keys = srp_target_keys,
	.target_conf_size = sizeof(struct srp_target_conf),
	.check = port_check,
	.portal_open = srp_portal_open,
	.portal_close = srp_portal_close,
	.shutdown = srp_shutdown,
	.live = srp_live,
	.fini = srp_fini,
};
REGISTER(transports, struct transport, &srp_transport);
