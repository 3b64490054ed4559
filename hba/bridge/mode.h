/* How an adapter's hardware queues share its slots. */
#ifndef MODE_H
#define MODE_H

#include "host.h"

/* Before the first flow. 0 or -errno. */
int mode_set(struct bridge_host *, int mode, uint32_t queues);
/* -- under the lock -- */
/* The adapter's limit, in as many parts as the mode has; -EINVAL: some queue would get nothing. */
int mode_set_limit(struct bridge_host *, uint32_t limit);
/* Sets or clears bits of the adapter's gate. */
void mode_gate(struct bridge_host *, uint32_t bits, bool on);
/* The adapter's nodes in use, from 0; NULL: no more. */
struct bridge_node *mode_part(struct bridge_host *, unsigned i);
/* Caches are sized anew, after a change of what they depend on. */
void mode_set_caches(struct bridge_host *);

#endif
