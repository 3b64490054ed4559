/* What systemd, signals and the terminal ask of the process. */
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "log.h"
#include "reactor.h"
#include "util.h"

#include "reload.h"
#include "service.h"

/* A turn this long is no callback that waits its turn: somebody blocks. */
#define STALL_NS 1000000000u

static const int signals[] = { SIGTERM, SIGINT, SIGHUP };

static struct {
	struct event_base *base;
	struct event *signal[ARRAY_LEN(signals)];
	struct event *tick;
	uint64_t watchdog_ns;		/* WATCHDOG_USEC; 0: nobody watches */
	bool stalled[REACTORS_MAX];
} srv;

static void
event_log(int severity, const char *text)
{
	log_msg(severity >= EVENT_LOG_ERR ? LOG_LEVEL_ERR : severity == EVENT_LOG_WARN ?
	    LOG_LEVEL_WARN : LOG_LEVEL_DEBUG, "libevent: %s", text);
}

void
service_prepare(void)
{
	struct rlimit files;
	int fd;

	/* Else a socket could become descriptor 2, and the log be sent to a peer. */
	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
	if (!getrlimit(RLIMIT_NOFILE, &files) && files.rlim_cur < files.rlim_max) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	event_set_log_callback(event_log);
}

static void
signalled(evutil_socket_t sig, short what, void *arg)
{
	if (sig == SIGHUP) {
		reload_signalled();
		return;
	}
	log_info("%s: stopping", sig == SIGTERM ? "SIGTERM" : "SIGINT");
	event_base_loopbreak(srv.base);
}

/* Looks at each reactor's pulse; says once when it stops and when it is back. */
static bool
reactors_turn(void)
{
	bool well = true;

	for (unsigned i = 0; i < reactor_count(); i++) {
		uint64_t age = reactor_heartbeat_age(reactor_get(i));

		if (age > STALL_NS && !srv.stalled[i])
			log_warn("reactor %u does not turn: busy with one thing for %llu ms", i,
			    (unsigned long long)age / 1000000);
		else if (age <= STALL_NS && srv.stalled[i])
			log_warn("reactor %u turns again", i);
		srv.stalled[i] = age > STALL_NS;
		well &= age < MAX(srv.watchdog_ns / 2, (uint64_t)STALL_NS);
	}
	return well;
}

static void
ticked(evutil_socket_t fd, short what, void *arg)
{
	if (reactors_turn() && srv.watchdog_ns)
		sd_notify(0, "WATCHDOG=1");
}

int
service_start(struct event_base *base)
{
	struct timeval every = { 1, 0 };
	uint64_t us;

	srv.base = base;
	if (sd_watchdog_enabled(0, &us) > 0) {
		srv.watchdog_ns = us * 1000;
		if (us < 2000000)
			every = (struct timeval){ 0, (suseconds_t)us / 2 };
	}
	srv.tick = event_new(base, -1, EV_PERSIST, ticked, NULL);
	if (!srv.tick || event_add(srv.tick, &every))
		goto fail;
	for (unsigned i = 0; i < ARRAY_LEN(signals); i++) {
		srv.signal[i] = evsignal_new(base, signals[i], signalled, NULL);
		if (!srv.signal[i] || event_add(srv.signal[i], NULL))
			goto fail;
	}
	return 0;
fail:
	log_err("cannot watch for signals: %s", strerror(ENOMEM));
	service_stop();
	return -ENOMEM;
}

void
service_run(void)
{
	puts("ready");
	fflush(stdout);
	sd_notifyf(0, "READY=1\nSTATUS=%u reactors", reactor_count());
	event_base_dispatch(srv.base);
	sd_notify(0, "STOPPING=1\nWATCHDOG=1");
}

/* Gives the signals back: who asks a second time does not want to wait. */
void
service_stop(void)
{
	for (unsigned i = 0; i < ARRAY_LEN(signals); i++) {
		if (srv.signal[i])
			event_free(srv.signal[i]);
		srv.signal[i] = NULL;
	}
	if (srv.tick)
		event_free(srv.tick);
	srv.tick = NULL;
}
