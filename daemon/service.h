/* What systemd, signals and the terminal ask of the process. */
#ifndef SERVICE_H
#define SERVICE_H

struct event_base;

/* Descriptors 0 to 2 are open, as many files as allowed, libevent's messages go to the log. */
void service_prepare(void);

/*
 * Main thread, after reactors_start: signals and the watchdog on base. 0, or
 * -errno with a log line.
 */
int service_start(struct event_base *);
/* Says that portals listen, turns base until somebody wants an end, says that it comes. */
void service_run(void);
void service_stop(void);		/* allowed when not started */

#endif
