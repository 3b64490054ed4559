/* The commands that a task management function is about. */
#ifndef SCSI_SCOPE_H
#define SCSI_SCOPE_H

#include <stdbool.h>
#include <stdint.h>

#include "list.h"

struct core;
struct lu;
struct nexus;
struct scsi_tmf;
struct target;

/* What a function is about, without the function: that may be answered meanwhile. */
struct scope {
	uint8_t fn;
	bool live;
	uint64_t id, tag, cut;
	const struct nexus *nexus;
	const struct target *target;
	const struct lu *lu;
};

struct scope scope_of(const struct scsi_tmf *);
/* Ends what is in scope on this reactor: see tmf_abort. */
void scope_hit(struct core *, const struct scope *, struct list *ended);
/* Does a disk still have a command that the function waits for? On this reactor. */
bool scope_waits(const struct core *, const struct scope *);
/* Has the function's own nexus a live command in scope? Its reactor. */
bool scope_live(const struct scope *);

#endif
