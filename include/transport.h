/* What a transport is. */
#ifndef TRANSPORT_H
#define TRANSPORT_H

#include <stdint.h>

#include "reactor.h"
#include "registry.h"

struct conf;
struct conf_key;
struct conf_load;
struct conf_portal;

/*
 * A transport, registered with REGISTER(transports, struct transport, &x).
 * portal_open: listens on all addresses of the portal; main thread; 0, or
 * -errno with a log line. portal_close: no new connections; connections stay.
 * shutdown: on each reactor's own thread: end all sessions of this reactor in
 * good order (logout request, flush); idle() then tells when nothing is left.
 */
struct transport {
	const char *name;
	const struct conf_key *portal_keys;	/* its keys in `portals:` items; may be NULL */
	uint32_t portal_conf_size;		/* conf_portal.opts */
	const struct conf_key *target_keys;	/* its map in `targets:` items, named as the transport */
	uint32_t target_conf_size;		/* an element of conf_target.opts */
	void (*check)(struct conf_load *, const struct conf *);	/* what rows cannot: conf_error; may be NULL */
	int (*portal_open)(const struct conf_portal *);
	void (*portal_close)(const struct conf_portal *);
	void (*shutdown)(struct reactor *);
	unsigned (*live)(struct reactor *);	/* connections and sessions left on this reactor; own thread */
	void (*fini)(struct reactor *);		/* own thread, when live() is 0: frees its pools */
};
REGISTRY(transports, struct transport);

const struct transport *transport_find(const char *name);
/* This transport's place in conf_target.opts. */
unsigned transport_index(const struct transport *);
enum { TRANSPORTS_MAX = 4 };

/*
 * By daemon/main.c on the main thread. transports_start opens every portal: 0
 * or -errno with a log line. transports_stop closes portals, shuts sessions
 * down and waits at most wait_ns for their end. Returns connections left.
 */
int transports_start(const struct conf *);
unsigned transports_stop(uint64_t wait_ns);

#endif
