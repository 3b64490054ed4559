/* Requests that their disk gave back without having done them, and those that rode along. */
#ifndef BACK_H
#define BACK_H

#include <errno.h>
#include <stdbool.h>

#include "cache.h"

/* Does back_again have to be asked? Its slot is back, nobody else has the request. */
static inline bool
back_is_special(const struct bridge_req *req)
{
	return unlikely(req->merge != NULL) || unlikely(req->io.result == -EAGAIN);
}

/*
 * True: it waits again, and is the bridge's; combining must follow. False: it is
 * done. Those that rode with it are sent home, or wait again too. cpu NULL: the
 * thread is no reactor, and one is told.
 */
bool back_again(struct bridge_host *, struct bridge_cpu *, struct bridge_req *);

/*
 * Under the lock: a command that waits to be sent again is its leader's alone;
 * its riders wait for themselves.
 */
void back_unmerge(struct bridge_req *leader);
/*
 * Under the lock: the same, if one of them was cancelled meanwhile. Each time
 * before it waits or is sent again.
 */
void back_part(struct bridge_req *leader);
/* Under the lock: to the front of its flow; or home, if it was cancelled while the disk had it. */
void back_queue(struct bridge_req *);

/* To the home reactor, to be done there. */
void req_post(struct bridge_req *);

#endif
