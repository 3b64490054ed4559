/* Policy a: everything under one lock; who frees a place starts the next command. */
#include <pthread.h>

#include "room.h"

static OWN_LINE pthread_mutex_t lock = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
static struct room room;

static void
open_room(void)
{
	room_init(&room, 1);
}

static void
submit(struct command *cmd)
{
	bool granted;

	pthread_mutex_lock(&lock);
	granted = room_take(&room, cmd);
	pthread_mutex_unlock(&lock);
	if (granted)
		device_start(cmd);
}

static void
came_home(struct msg *m)
{
	command_back(container_of(m, struct command, op.msg));
}

static void
release(struct command *cmd)
{
	struct queue granted;
	struct command *next;

	queue_init(&granted);
	pthread_mutex_lock(&lock);
	room_give(&room, cmd->lun, cmd->tag, &granted);
	pthread_mutex_unlock(&lock);
	while ((next = queue_take(&granted)))
		device_start(next);
	if (cmd->initiator->home == worker_self) {
		command_back(cmd);
		return;
	}
	cmd->op.msg.fn = came_home;
	reactor_post(cmd->initiator->home->reactor, &cmd->op.msg);
}

static void
close_room(void)
{
	room_fini(&room);
}

const struct policy policy_mutex = {
	.name = "a",
	.open = open_room,
	.submit = submit,
	.release = release,
	.close = close_room,
};
