/* The control socket: a few local clients, one JSON object a line each way. */
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "list.h"
#include "log.h"

#include "control_rpc.h"
#include "control_socket.h"

enum {
	CLIENTS_MAX = 16,
	LINE_MAX_BYTES = 64 * 1024,
	UNREAD_MAX = 1024 * 1024,	/* answers a client may leave unread and still ask more */
	READ_SECONDS = 300,
	WRITE_SECONDS = 10,
};

/* Made by accept, freed by client_free; main thread. */
struct client {
	struct list link;
	struct bufferevent *bev;
	bool closing;			/* reads no more; ends when its answers are out */
};

static struct {
	struct event_base *base;
	struct evconnlistener *listener;
	struct event *retry;		/* accepts again after it ran out of descriptors */
	struct sockaddr_un addr;
	struct list clients;		/* the one silent for longest first */
	unsigned nclients;
} ctl;

static void
client_free(struct client *c)
{
	list_del(&c->link);
	ctl.nclients--;
	bufferevent_free(c->bev);
	free(c);
}

/* Takes no more requests; ends at once or when the answers are out. False: c is gone. */
static bool
client_finish(struct client *c)
{
	if (!evbuffer_get_length(bufferevent_get_output(c->bev))) {
		client_free(c);
		return false;
	}
	c->closing = true;
	bufferevent_disable(c->bev, EV_READ);
	return true;
}

static int
add_text(const char *text, size_t len, void *out)
{
	return evbuffer_add(out, text, len);
}

/* Sends and drops the answer. */
static void
client_send(struct client *c, json_t *answer)
{
	struct evbuffer *out = bufferevent_get_output(c->bev);

	if (answer && !json_dump_callback(answer, add_text, out, JSON_COMPACT))
		evbuffer_add(out, "\n", 1);
	json_decref(answer);
}

/* One request, if a whole line is there. */
static bool
client_line(struct client *c)
{
	struct evbuffer *in = bufferevent_get_input(c->bev);
	struct evbuffer_ptr eol = evbuffer_search_eol(in, NULL, NULL, EVBUFFER_EOL_LF);
	char *line;

	if (eol.pos < 0 || eol.pos > LINE_MAX_BYTES)
		return false;
	line = (char *)evbuffer_pullup(in, eol.pos + 1);
	if (!line)
		return false;
	client_send(c, rpc_answer(line, (size_t)eol.pos));
	evbuffer_drain(in, (size_t)eol.pos + 1);
	list_del(&c->link);
	list_add_tail(&ctl.clients, &c->link);
	return true;
}

static void
client_readable(struct bufferevent *bev, void *arg)
{
	struct client *c = arg;
	struct evbuffer *in = bufferevent_get_input(bev), *out = bufferevent_get_output(bev);

	if (c->closing)
		return;
	do {
		if (evbuffer_get_length(in) && evbuffer_get_length(out) > UNREAD_MAX) {
			log_peer(LOG_LEVEL_WARN, "control",
			    "a control client asks but does not read: dropped");
			client_free(c);
			return;
		}
	} while (client_line(c));
	if (evbuffer_get_length(in) <= LINE_MAX_BYTES)
		return;
	client_send(c, rpc_error(NULL, RPC_INVALID_REQUEST, "a line is at most 64 KiB"));
	client_finish(c);
}

static void
client_written(struct bufferevent *bev, void *arg)
{
	struct client *c = arg;

	if (c->closing)
		client_free(c);
}

static void
client_event(struct bufferevent *bev, short what, void *arg)
{
	struct client *c = arg;

	/* It has said all, but may still want the answers. */
	if (what & BEV_EVENT_EOF && !(what & BEV_EVENT_WRITING))
		client_finish(c);
	else
		client_free(c);
}

/* -- who may -- */

static bool
peer_may(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len))
		return false;
	return peer.uid == 0 || peer.uid == geteuid();
}

static void
refuse(int fd, const char *why)
{
	json_t *answer = rpc_error(NULL, RPC_REFUSED, why);
	char *text = json_dumps(answer, JSON_COMPACT);

	if (text) {
		(void)!send(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
		(void)!send(fd, "\n", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	}
	free(text);
	json_decref(answer);
	close(fd);
}

static struct client *
client_new(int fd)
{
	static const struct timeval idle = { READ_SECONDS, 0 }, stalled = { WRITE_SECONDS, 0 };
	struct client *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->bev = bufferevent_socket_new(ctl.base, fd, BEV_OPT_CLOSE_ON_FREE);
	if (!c->bev) {
		free(c);
		return NULL;
	}
	list_add_tail(&ctl.clients, &c->link);
	ctl.nclients++;
	bufferevent_setcb(c->bev, client_readable, client_written, client_event, c);
	/* One byte over: enough to see that a line is too long, and no more. */
	bufferevent_setwatermark(c->bev, EV_READ, 0, LINE_MAX_BYTES + 1);
	bufferevent_set_timeouts(c->bev, &idle, &stalled);
	bufferevent_enable(c->bev, EV_READ | EV_WRITE);
	return c;
}

static void
accepted(struct evconnlistener *l, evutil_socket_t fd, struct sockaddr *from, int len, void *arg)
{
	if (!peer_may(fd)) {
		refuse(fd, "only root and the daemon's own user may use the control socket");
		return;
	}
	/* Who connects and says nothing must not lock others out. */
	if (ctl.nclients == CLIENTS_MAX)
		client_free(list_first(&ctl.clients, struct client, link));
	if (!client_new(fd))
		refuse(fd, "out of memory");
}

static void
accept_again(evutil_socket_t fd, short what, void *arg)
{
	evconnlistener_enable(ctl.listener);
}

/* Out of descriptors, most likely: the socket stays readable, so look away for a while. */
static void
accept_failed(struct evconnlistener *l, void *arg)
{
	static const struct timeval pause = { 0, 200000 };

	log_peer(LOG_LEVEL_WARN, "control", "control socket: accept: %s", strerror(errno));
	evconnlistener_disable(l);
	event_add(ctl.retry, &pause);
}

/* -- life -- */

static int
listen_at(const char *path)
{
	int err, fd;

	ctl.addr = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof(ctl.addr.sun_path))
		return -ENAMETOOLONG;
	memcpy(ctl.addr.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	/* What is there was left by one that crashed: we hold the lock. */
	unlink(path);
	/* The descriptor's mode becomes the socket's: at no time may others connect. */
	if (fchmod(fd, 0600) || bind(fd, (struct sockaddr *)&ctl.addr, sizeof(ctl.addr)) ||
	    listen(fd, CLIENTS_MAX)) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

int
control_open(const char *path, struct event_base *base)
{
	int fd = listen_at(path), err = fd;

	ctl.base = base;
	list_init(&ctl.clients);
	if (fd >= 0) {
		err = -ENOMEM;
		ctl.retry = evtimer_new(base, accept_again, NULL);
		ctl.listener = evconnlistener_new(base, accepted, NULL,
		    LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, fd);
		if (!ctl.listener)
			close(fd);
		else if (ctl.retry)
			err = 0;
	}
	if (err) {
		log_err("control socket %s: %s", path, strerror(-err));
		control_close();
		return err;
	}
	evconnlistener_set_error_cb(ctl.listener, accept_failed);
	return 0;
}

void
control_close(void)
{
	struct client *c, *next;

	if (!ctl.base)
		return;
	list_for_each_safe(c, next, &ctl.clients, link)
		client_free(c);
	if (ctl.listener) {
		evconnlistener_free(ctl.listener);
		unlink(ctl.addr.sun_path);
	}
	if (ctl.retry)
		event_free(ctl.retry);
	ctl.listener = NULL;
	ctl.retry = NULL;
	ctl.base = NULL;
}
