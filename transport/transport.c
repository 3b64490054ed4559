/* Transports: the registry, portals up and down, and the end of all connections. */
#include "transport.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "conf.h"
#include "log.h"

const struct transport *
transport_find(const char *name)
{
	const struct transport *t;

	for_each_registered(transports, t) {
		if (!strcmp(t->name, name))
			return t;
	}
	return NULL;
}

unsigned
transport_index(const struct transport *transport)
{
	const struct transport *t;
	unsigned i = 0;

	for_each_registered(transports, t) {
		if (t == transport)
			break;
		i++;
	}
	return i;
}

/* -- portals -- */

static const struct conf *opened;	/* main thread; NULL: none are */

static void
portals_close(const struct conf *conf, const struct conf_portal *end)
{
	struct conf_portal *p;

	list_for_each(p, &conf->portals, link) {
		if (p == end)
			return;
		p->transport->portal_close(p);
	}
}

int
transports_start(const struct conf *conf)
{
	struct conf_portal *p;
	int rc;

	list_for_each(p, &conf->portals, link) {
		rc = p->transport->portal_open(p);
		if (rc) {
			portals_close(conf, p);
			return rc;
		}
	}
	opened = conf;
	return 0;
}

/* -- the end -- */

static void
shutdown_all(void *arg)
{
	const struct transport *t;

	for_each_registered(transports, t)
		t->shutdown(arg);
}

static void
fini_all(void *arg)
{
	const struct transport *t;

	for_each_registered(transports, t)
		t->fini(arg);
}

struct live {
	struct reactor *reactor;
	unsigned n;
};

static void
live_count(void *arg)
{
	struct live *live = arg;
	const struct transport *t;

	live->n = 0;
	for_each_registered(transports, t)
		live->n += t->live(live->reactor);
}

static unsigned
live_all(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < reactor_count(); i++) {
		struct live live = { .reactor = reactor_get(i) };

		reactor_call(live.reactor, live_count, &live);
		n += live.n;
	}
	return n;
}

static void
each_reactor(void (*fn)(void *))
{
	for (unsigned i = 0; i < reactor_count(); i++)
		reactor_call(reactor_get(i), fn, reactor_get(i));
}

unsigned
transports_stop(uint64_t wait_ns)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	uint64_t end = now_ns() + wait_ns;
	unsigned left;

	if (opened)
		portals_close(opened, NULL);
	opened = NULL;
	each_reactor(shutdown_all);
	while ((left = live_all()) && now_ns() < end)
		nanosleep(&pause, NULL);
	if (!left)
		each_reactor(fini_all);
	return left;
}
