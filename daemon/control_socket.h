/* The control socket: where it is, and that only one daemon has it. */
#ifndef CONTROL_SOCKET_H
#define CONTROL_SOCKET_H

struct event_base;

/*
 * Makes the folder of the socket and takes the lock beside it, before anything
 * else is touched: a second daemon on the same socket stops here. The lock ends
 * with the process. 0, or -errno with a log line.
 */
int control_lock(const char *path);

/* Main thread. Listens at path, answers on base. 0, or -errno with a log line. */
int control_open(const char *path, struct event_base *);
/* Ends all clients and removes the socket; allowed when not open. */
void control_close(void);

#endif
