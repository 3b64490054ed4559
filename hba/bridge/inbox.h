/* What reactors could not settle on the spot: collected, and settled by whoever has the lock. */
#ifndef INBOX_H
#define INBOX_H

#include <stdbool.h>

#include "cache.h"
#include "host.h"

/* Appends to what this reactor has not sent yet; sends all when that is much. */
void inbox_add(struct bridge_cpu *, struct bridge_op *, enum bridge_op_kind);
/* Sends all of it. inbox_combine must follow. */
void inbox_push(struct bridge_cpu *);
/* One from a thread that is no reactor. */
void inbox_push_one(struct bridge_host *, struct bridge_op *, enum bridge_op_kind);

/*
 * Runs what is in the inbox, unless somebody else holds the lock, who then does
 * it. Requests that get their slots are in bridge_grants afterwards.
 */
void inbox_combine(struct bridge_cpu *);
/* The same for who holds the lock already. */
void inbox_run(struct bridge_cpu *);
/* Somebody must look at all who wait. inbox_combine must follow. */
void inbox_recheck(struct bridge_host *);

/* Tells a reactor to combine; any thread, not under the lock. */
void inbox_kick(struct bridge_host *);

#endif
