/* Policy c: nothing is shared, each reactor has its part of every limit; the floor of what admission costs. */
#include <stdlib.h>

#include "room.h"

static struct room *rooms[REACTORS_MAX];

static void
worker_open(struct worker *w)
{
	/* On its thread, and lines of its own. */
	rooms[w->id] = must(aligned_alloc(128, (sizeof(struct room) + 127) / 128 * 128));
	room_init(rooms[w->id], setup.threads);
}

static void
submit(struct command *cmd)
{
	if (room_take(rooms[worker_self->id], cmd))
		device_start(cmd);
}

static void
release(struct command *cmd)
{
	struct queue granted;
	struct command *next;

	queue_init(&granted);
	room_give(rooms[worker_self->id], cmd->lun, cmd->tag, &granted);
	while ((next = queue_take(&granted)))
		device_start(next);
	command_back(cmd);
}

static void
worker_close(struct worker *w)
{
	room_fini(rooms[w->id]);
	free(rooms[w->id]);
}

const struct policy policy_divided = {
	.name = "c",
	.worker_open = worker_open,
	.submit = submit,
	.release = release,
	.worker_close = worker_close,
};
