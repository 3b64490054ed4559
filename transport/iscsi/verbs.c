/* Control verb: sessions. */
#include <stdio.h>

#include "control.h"
#include "transport.h"

#include "iscsi.h"

static const char *
digests_text(const struct iscsi_params *p)
{
	if (p->header_digest)
		return p->data_digest ? "header,data" : "header";
	return p->data_digest ? "data" : "none";
}

static json_t *
session_json(const struct iscsi_sess *sess, unsigned reactor, uint64_t now)
{
	return json_pack("{s:I, s:s, s:s, s:s, s:i, s:i, s:s, s:I}",
	    "id", (json_int_t)sess->id,
	    "initiator", sess->params.initiator,
	    "target", sess->target ? sess->params.target : "(discovery)",
	    "peer", sess->conn->peer_text,
	    "reactor", (int)reactor,
	    "commands", (int)(sess->window.busy + sess->immediates),
	    "digests", digests_text(&sess->params),
	    "age", (json_int_t)((now - sess->login_ns) / SEC));
}

struct collect {
	struct reactor *reactor;
	json_t *array;
};

static void
collect(void *arg)
{
	struct collect *c = arg;
	unsigned id = reactor_id(c->reactor);
	const struct iscsi_reactor *home = iscsi_reactor_at(id);
	const struct iscsi_sess *sess;

	if (!home->reactor)
		return;
	/* One that waits for a disk after its end is nobody's session any more. */
	list_for_each(sess, &home->sessions, link) {
		if (sess->conn)
			json_array_append_new(c->array, session_json(sess, id, now_ns()));
	}
}

static json_t *
sessions_run(json_t *params, char *err, size_t err_size)
{
	struct collect c = { .array = json_array() };

	if (!c.array) {
		snprintf(err, err_size, "out of memory");
		return NULL;
	}
	for (unsigned i = 0; i < reactor_count(); i++) {
		c.reactor = reactor_get(i);
		reactor_call(c.reactor, collect, &c);
	}
	return json_pack("{s:o}", "sessions", c.array);
}

static const struct control_verb sessions = {
	.name = "sessions",
	.help = "initiators that are logged in over iSCSI",
	.params = "",
	.columns = "id:ID:r initiator:INITIATOR:l target:TARGET:l peer:PEER:l reactor:REACTOR:r "
		   "commands:COMMANDS:r digests:DIGESTS:l age:AGE:r",
	.run = sessions_run,
};
REGISTER(control_verbs, struct control_verb, &sessions);
