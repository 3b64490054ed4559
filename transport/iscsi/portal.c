/* Listening sockets: opened on the main thread, accepted from on the first reactor. */
#include "portal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "log.h"
#include "stats.h"

#include "iscsi.h"

COUNTER(accepts, "iscsi_connections", "connections accepted");
COUNTER(accept_errors, "iscsi_accept_errors", "connections that could not be accepted");

enum { ACCEPT_BATCH = 64, BACKLOG = 1024 };

#define ACCEPT_PAUSE_NS (100 * MS)

struct listener {
	struct watch watch;
	struct timer pause;		/* after a want of files or memory */
	const struct conf_portal *conf;
	int fd;
};

/* Of one portal; made and freed on the main thread, watched on the first reactor. */
struct portal {
	struct list link;
	const struct conf_portal *conf;
	int n;
	struct listener listeners[];
};

static struct list portals = LIST_INIT(portals);	/* main thread */

/* -- accepting, on the first reactor -- */

/* Closed to have a file left when there are none: the peer hears it at once instead of never. */
static int spare = -1;

static void
accept_starved(struct listener *l)
{
	int fd;

	counter_add(&accept_errors, 1);
	log_peer(LOG_LEVEL_ERR, l->conf->name, "portal %s: accept: %s", l->conf->name,
	    strerror(errno));
	if (spare >= 0) {
		close(spare);
		fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd >= 0)
			close(fd);
		spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	}
	watch_want(&l->watch, 0);
	timer_set(&l->pause, ACCEPT_PAUSE_NS);
}

static void
accept_again(struct timer *t)
{
	watch_want(&container_of(t, struct listener, pause)->watch, EV_READ);
}

static void
accept_ready(struct watch *w, short what)
{
	struct listener *l = container_of(w, struct listener, watch);

	for (int i = 0; i < ACCEPT_BATCH; i++) {
		int fd = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0) {
			counter_add(&accepts, 1);
			conn_adopt(fd, l->conf, reactor_least_loaded());
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
			accept_starved(l);
			return;
		}
		/* The others concern one connection, which is gone. */
		if (errno == EAGAIN)
			return;
	}
}

static void
portal_watch(void *arg)
{
	struct portal *p = arg;

	for (int i = 0; i < p->n; i++) {
		struct listener *l = &p->listeners[i];

		timer_init(&l->pause, reactor_self(), accept_again);
		watch_init(&l->watch, reactor_self(), l->fd, accept_ready);
		watch_want(&l->watch, EV_READ);
	}
}

static void
portal_unwatch(void *arg)
{
	struct portal *p = arg;

	for (int i = 0; i < p->n; i++) {
		timer_fini(&p->listeners[i].pause);
		watch_fini(&p->listeners[i].watch);
	}
}

/* -- opening, on the main thread -- */

static int
listener_set(int fd, int family)
{
	int one = 1;

	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0)
		return -errno;
	/* Both wildcards can be listened on, each for its own family. */
	if (family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one)) < 0)
		return -errno;
	/* The address may come later (DHCP, a bond that is still down). */
	if (family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_FREEBIND, &one, sizeof(one));
	else
		setsockopt(fd, IPPROTO_IP, IP_FREEBIND, &one, sizeof(one));
	return 0;
}

static int
listener_open(const struct sockaddr_storage *addr)
{
	socklen_t len = addr->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
						    : sizeof(struct sockaddr_in);
	int fd = socket(addr->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int rc;

	if (fd < 0)
		return -errno;
	rc = listener_set(fd, addr->ss_family);
	if (!rc && (bind(fd, (const void *)addr, len) < 0 || listen(fd, BACKLOG) < 0))
		rc = -errno;
	if (!rc)
		return fd;
	close(fd);
	return rc;
}

static void
portal_free(struct portal *p)
{
	for (int i = 0; i < p->n; i++)
		close(p->listeners[i].fd);
	free(p);
}

int
portal_open(const struct conf_portal *conf)
{
	struct portal *p = calloc(1, sizeof(*p) + sizeof(p->listeners[0]) * (size_t)conf->naddrs);
	char text[64];

	if (!p) {
		log_err("portal %s: out of memory", conf->name);
		return -ENOMEM;
	}
	p->conf = conf;
	for (int i = 0; i < conf->naddrs; i++) {
		int fd = listener_open(&conf->addrs[i]);

		if (fd < 0) {
			log_err("portal %s: cannot listen on %s: %s", conf->name,
			    sockaddr_text((const void *)&conf->addrs[i], text, sizeof(text)),
			    strerror(-fd));
			portal_free(p);
			return fd;
		}
		p->listeners[p->n++] = (struct listener){ .conf = conf, .fd = fd };
	}
	if (spare < 0)
		spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	list_add_tail(&portals, &p->link);
	reactor_call(reactor_get(0), portal_watch, p);
	return 0;
}

void
portal_close(const struct conf_portal *conf)
{
	struct portal *p, *tmp;

	list_for_each_safe(p, tmp, &portals, link) {
		if (p->conf != conf)
			continue;
		reactor_call(reactor_get(0), portal_unwatch, p);
		list_del(&p->link);
		portal_free(p);
	}
	if (list_empty(&portals) && spare >= 0) {
		close(spare);
		spare = -1;
	}
}
