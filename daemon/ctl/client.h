/* The daemon's control socket, from the other side. */
#ifndef CLIENT_H
#define CLIENT_H

#include <jansson.h>

struct client {
	int fd;
	char *in;			/* bytes received and not yet used */
	size_t len, cap;
	int id;
};

/* 0, or -errno. */
int client_open(struct client *, const char *path);
void client_close(struct client *);
/*
 * Asks and waits. params (or NULL) stays the caller's. 0 and the whole answer,
 * which the caller owns; -errno when the daemon went away or does not speak JSON.
 */
int client_ask(struct client *, const char *verb, json_t *params, json_t **answer);

#endif
