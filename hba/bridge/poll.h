/* A reactor's turn: what its adapter's part has collected leaves, and nothing is kept asleep. */
#ifndef POLL_H
#define POLL_H

#include "cache.h"

/* On the reactor: it joins and leaves the adapter. NULL: no memory. */
struct bridge_cpu *cpu_new(struct bridge_host *, unsigned id);
void cpu_open(struct bridge_cpu *);
void cpu_close(struct bridge_cpu *);

/* The poller's poll, for tests that look between two turns. */
bool cpu_poll(struct poller *);

#endif
