/* Requests on their way to the disk and back. */
#ifndef ADMIT_H
#define ADMIT_H

#include "host.h"
#include "reactor.h"

/*
 * Under the lock: waiters may have become able to run, and this is no reactor,
 * or one that has done its share of this turn: a reactor is told to look.
 */
void admit_kick(struct bridge_host *);
void admit_kicked(struct msg *);

#endif
