/* Plain accounting of three levels, for those policies that keep others out by themselves. */
#ifndef ROOM_H
#define ROOM_H

#include "cell.h"

/*
 * Who finds no place waits in order at its LUN; LUNs that could start something
 * stand in a line of their own, or at their target when that is full. So each
 * operation looks at a fixed number of things.
 */
struct room_level {
	uint32_t in, limit;
};

struct room_lun {
	struct room_level level;
	uint32_t target;
	struct queue waiting;
	bool lined;			/* in ready, or blocked at its target */
	struct room_lun *next;
};

struct room_line {
	struct room_lun *first, **last;
};

struct room {
	struct room_level host, target[TARGETS_MAX];
	struct room_lun lun[LUNS_MAX];
	struct room_line ready, blocked[TARGETS_MAX];
	uint32_t *tags, ntags;
};

/* Limits are those of the setup divided by this. */
void room_init(struct room *, uint32_t divided_by);
void room_fini(struct room *);		/* asserts that nobody is in it */
/* True: cmd has its place and tag. False: it waits. */
bool room_take(struct room *, struct command *);
/* Gives a place back; those who have theirs now are added to granted. */
void room_give(struct room *, uint32_t lun, uint32_t tag, struct queue *granted);

#endif
