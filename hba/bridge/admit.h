/* Requests on their way to the disk and back. */
#ifndef ADMIT_H
#define ADMIT_H

#include "cache.h"
#include "reactor.h"

/* Requests let go in their turn, in one go; the rest is left to a later turn of the loop. */
enum { HANDOFF_MAX = 64 };

/* Around every combining: how many may be let go; then they are submitted. */
void admit_begin(void);
void admit_end(void);
/* May this thread still let somebody go? */
bool admit_more(void);
void admit_kicked(struct msg *);

#endif
