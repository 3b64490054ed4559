/* Policy d: one thread owns all limits, the others send it chains of operations. */
#include <assert.h>
#include <stdlib.h>

#include "room.h"

struct chain {
	OWN_LINE struct op *first;
	struct op **last;
};

static struct room room;
static struct chain out[REACTORS_MAX];	/* of a worker to the owner; its own */
static struct chain grants[REACTORS_MAX];	/* of the owner to a worker; the owner's */
static struct op *releases;		/* by tag: the command may be sent again meanwhile */
static struct reactor *owner;
static struct poller owner_poller;

static void
chain_init(struct chain *c)
{
	c->first = NULL;
	c->last = &c->first;
}

static void
chain_add(struct chain *c, struct op *op)
{
	op->next = NULL;
	*c->last = op;
	c->last = &op->next;
}

static bool
chain_send(struct chain *c, struct reactor *to, void (*fn)(struct msg *))
{
	struct op *first = c->first;

	if (!first)
		return false;
	chain_init(c);
	first->msg.fn = fn;
	reactor_post(to, &first->msg);
	return true;
}

static void
grant(struct command *cmd)
{
	chain_add(&grants[cmd->initiator->home->id], &cmd->op);
}

/* On the owner. */
static void
owner_receive(struct msg *m)
{
	struct op *op, *next;

	for (op = container_of(m, struct op, msg); op; op = next) {
		struct queue granted;
		struct command *cmd;

		next = op->next;
		if (op->cmd) {
			if (room_take(&room, op->cmd))
				grant(op->cmd);
			continue;
		}
		queue_init(&granted);
		room_give(&room, op->lun, op->tag, &granted);
		while ((cmd = queue_take(&granted)))
			grant(cmd);
	}
}

static void
worker_receive(struct msg *m)
{
	struct op *op, *next;

	for (op = container_of(m, struct op, msg); op; op = next) {
		next = op->next;
		device_start(op->cmd);
	}
}

static bool
owner_poll(struct poller *p)
{
	bool busy = false;

	for (uint32_t i = 0; i < setup.threads; i++)
		busy |= chain_send(&grants[i], workers[i].reactor, worker_receive);
	return busy;
}

static void
owner_start(void *arg)
{
	pin_to(setup.threads);
	owner_poller.poll = owner_poll;
	poller_add(owner, &owner_poller);
}

static void
owner_stop(void *arg)
{
	poller_del(&owner_poller);
}

static void
open_room(void)
{
	room_init(&room, 1);
	releases = must(calloc(setup.can_queue, sizeof(*releases)));
	for (unsigned i = 0; i < setup.threads; i++) {
		chain_init(&out[i]);
		chain_init(&grants[i]);
	}
	owner = reactor_get(setup.threads);
	reactor_call(owner, owner_start, NULL);
}

static void
submit(struct command *cmd)
{
	cmd->op.cmd = cmd;
	chain_add(&out[worker_self->id], &cmd->op);
}

static void
release(struct command *cmd)
{
	struct op *op = &releases[cmd->tag];

	op->cmd = NULL;
	op->tag = cmd->tag;
	op->lun = cmd->lun;
	chain_add(&out[worker_self->id], op);
	command_back(cmd);
}

static bool
turn(struct worker *w)
{
	return chain_send(&out[w->id], owner, owner_receive);
}

static void
close_room(void)
{
	reactor_call(owner, owner_stop, NULL);
	room_fini(&room);
	free(releases);
}

const struct policy policy_owner = {
	.name = "d",
	.extra = 1,
	.open = open_room,
	.submit = submit,
	.release = release,
	.turn = turn,
	.close = close_room,
};
