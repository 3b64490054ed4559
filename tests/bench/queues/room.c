/* Plain accounting: take all or wait; a place given back goes to who waited longest. */
#include "room.h"

#include <assert.h>
#include <stdlib.h>

static void
line_init(struct room_line *line)
{
	line->first = NULL;
	line->last = &line->first;
}

static void
line_add(struct room_line *line, struct room_lun *lun)
{
	lun->next = NULL;
	*line->last = lun;
	line->last = &lun->next;
}

static struct room_lun *
line_take(struct room_line *line)
{
	struct room_lun *lun = line->first;

	if (lun && !(line->first = lun->next))
		line->last = &line->first;
	return lun;
}

static bool
has_place(const struct room_level *level)
{
	return level->in < level->limit;
}

void
room_init(struct room *r, uint32_t divided_by)
{
	r->host = (struct room_level){ .limit = MAX(setup.can_queue / divided_by, 1u) };
	line_init(&r->ready);
	for (uint32_t i = 0; i < setup.targets; i++) {
		r->target[i] =
		    (struct room_level){ .limit = MAX(setup.target_depth / divided_by, 1u) };
		line_init(&r->blocked[i]);
	}
	for (uint32_t i = 0; i < setup.luns; i++) {
		struct room_lun *lun = &r->lun[i];

		lun->level = (struct room_level){ .limit = MAX(setup.lun_depth / divided_by, 1u) };
		lun->target = i % setup.targets;
		lun->lined = false;
		queue_init(&lun->waiting);
	}
	r->tags = must(calloc(r->host.limit, sizeof(*r->tags)));
	for (r->ntags = 0; r->ntags < r->host.limit; r->ntags++)
		r->tags[r->ntags] = r->ntags;
}

void
room_fini(struct room *r)
{
	assert(r->host.in == 0 && r->ntags == r->host.limit && !r->ready.first);
	free(r->tags);
}

static void
enter(struct room *r, struct room_lun *lun, struct command *cmd)
{
	r->host.in++;
	r->target[lun->target].in++;
	lun->level.in++;
	cmd->tag = r->tags[--r->ntags];
}

/* The LUN stands where it will be looked at when it can start something. */
static void
lun_line_up(struct room *r, struct room_lun *lun)
{
	if (lun->lined || !lun->waiting.first || !has_place(&lun->level))
		return;
	lun->lined = true;
	line_add(&r->ready, lun);
}

bool
room_take(struct room *r, struct command *cmd)
{
	struct room_lun *lun = &r->lun[cmd->lun];

	if (!lun->waiting.first && !r->ready.first && has_place(&lun->level) &&
	    has_place(&r->target[lun->target]) && has_place(&r->host)) {
		enter(r, lun, cmd);
		return true;
	}
	queue_add(&lun->waiting, cmd);
	lun_line_up(r, lun);
	return false;
}

static void
start_waiting(struct room *r, struct queue *granted)
{
	while (has_place(&r->host) && r->ready.first) {
		struct room_lun *lun = line_take(&r->ready);
		struct command *cmd;

		if (!has_place(&r->target[lun->target])) {
			line_add(&r->blocked[lun->target], lun);
			continue;
		}
		lun->lined = false;
		if (!has_place(&lun->level))
			continue;
		cmd = queue_take(&lun->waiting);
		enter(r, lun, cmd);
		queue_add(granted, cmd);
		lun_line_up(r, lun);
	}
}

void
room_give(struct room *r, uint32_t lun, uint32_t tag, struct queue *granted)
{
	uint32_t target = r->lun[lun].target;
	struct room_lun *blocked;

	r->host.in--;
	r->target[target].in--;
	r->lun[lun].level.in--;
	r->tags[r->ntags++] = tag;
	blocked = line_take(&r->blocked[target]);
	if (blocked)
		line_add(&r->ready, blocked);
	lun_line_up(r, &r->lun[lun]);
	start_waiting(r, granted);
}
