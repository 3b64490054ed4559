/* Files a reactor watches. */
#include <string.h>

#include "log.h"

#include "loop.h"

static void
watch_event(evutil_socket_t fd, short what, void *arg)
{
	struct watch *w = arg;

	loop_event(loop_self);
	w->fn(w, what & (EV_READ | EV_WRITE));
}

void
watch_init(struct watch *w, struct reactor *r, int fd, void (*fn)(struct watch *, short))
{
	w->fn = fn;
	w->want = 0;
	w->fd = fd;
	event_assign(&w->ev, r->base, fd, EV_PERSIST, watch_event, w);
}

void
watch_want(struct watch *w, short what)
{
	struct event_base *base = event_get_base(&w->ev);

	what &= EV_READ | EV_WRITE;
	if (what == w->want)
		return;
	if (w->want)
		event_del(&w->ev);
	w->want = what;
	if (!what)
		return;
	event_assign(&w->ev, base, w->fd, what | EV_PERSIST, watch_event, w);
	if (event_add(&w->ev, NULL) == 0)
		return;
	/* The kernel or we are out of memory for it. Its owner's time-outs will end it. */
	w->want = 0;
	log_peer(LOG_LEVEL_ERR, "watch", "cannot watch file %d: out of memory or watches", w->fd);
}

void
watch_fini(struct watch *w)
{
	if (!w->fn)
		return;
	if (w->want)
		event_del(&w->ev);
	memset(w, 0, sizeof(*w));
}
