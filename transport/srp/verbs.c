/* Control: SRP channels among the sessions, and how a target is reached over SRP. */
#include <stdio.h>

#include "control.h"

#include "channel.h"

/* -- sessions -- */

static json_t *
channel_json(const struct srp_channel *ch, unsigned reactor, uint64_t now)
{
	return json_pack("{s:I, s:s, s:s, s:s, s:i, s:i, s:s, s:I, s:s, s:s, s:i, s:i, s:i, s:I}",
	    "id", (json_int_t)ch->id,
	    "initiator", ch->initiator,
	    "target", target_conf(ch->target)->name,
	    "peer", ch->peer_text,
	    "reactor", (int)reactor,
	    "commands", (int)ch->credit.busy,
	    "digests", "none",
	    "age", (json_int_t)((now - ch->login_ns) / SEC),
	    "transport", "srp",
	    "state", channel_state_name(ch),
	    "credits", (int)ch->credit.req_lim,
	    "limit", (int)ch->credit.limit,
	    "channels", (int)session_channels(ch),
	    "requests", (json_int_t)ch->requests);
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
	const struct srp_reactor *home = srp_reactor_at(id);
	const struct srp_channel *ch;

	if (!home->reactor)
		return;
	/* One that waits for a disk after its end is nobody's any more. */
	list_for_each(ch, &home->channels, link) {
		if (ch->state < CHANNEL_CLOSING)
			json_array_append_new(c->array, channel_json(ch, id, now_ns()));
	}
}

static void
sessions_add(json_t *result)
{
	struct collect c = { .array = json_object_get(result, "sessions") };

	for (unsigned i = 0; i < reactor_count(); i++) {
		c.reactor = reactor_get(i);
		reactor_call(c.reactor, collect, &c);
	}
}

static const struct control_extra sessions = {
	.verb = "sessions",
	.columns = "channels:CHANNELS:r credits:CREDITS:r state:STATE:l",
	.add = sessions_add,
};
REGISTER(control_extras, struct control_extra, &sessions);

/* -- targets -- */

/* What the Linux initiator is told: echo ... > /sys/class/infiniband_srp/.../add_target */
static void
add_target(char *buf, size_t size, const struct conf_target *ct, const struct sockaddr *addr)
{
	char id_ext[17], ioc_guid[17], dest[64];
	uint8_t id[16];

	port_id(ct, id);
	port_text(id_ext, sizeof(id_ext), id, 8);
	port_text(ioc_guid, sizeof(ioc_guid), id + 8, 8);
	snprintf(buf, size, "id_ext=%s,ioc_guid=%s,pkey=ffff,dest=%s", id_ext, ioc_guid,
	    sockaddr_text(addr, dest, sizeof(dest)));
}

static void
target_add(json_t *row, const struct conf_target *ct)
{
	json_t *lines = json_array();
	char line[192], port[33];
	uint8_t id[16];

	for (int i = 0; i < ct->nportals; i++) {
		const struct conf_portal *p = ct->portals[i];

		for (int n = 0; p->transport == &srp_transport && n < p->naddrs; n++) {
			add_target(line, sizeof(line), ct, (const struct sockaddr *)&p->addrs[n]);
			json_array_append_new(lines, json_string(line));
		}
	}
	if (json_array_size(lines)) {
		port_id(ct, id);
		port_text(port, sizeof(port), id, sizeof(id));
		json_object_set_new(row, "srp_port", json_string(port));
		json_object_set(row, "add_target", json_array_get(lines, 0));
		json_object_set(row, "add_targets", lines);
	}
	json_decref(lines);
}

static void
targets_add(json_t *result)
{
	json_t *row;
	size_t i;

	json_array_foreach(json_object_get(result, "targets"), i, row) {
		const char *name = json_string_value(json_object_get(row, "name"));
		struct target *target = name ? target_find(name) : NULL;

		if (target)
			target_add(row, target_conf(target));
	}
}

static const struct control_extra targets = {
	.verb = "targets",
	.columns = "add_target:ADD_TARGET:l",
	.add = targets_add,
};
REGISTER(control_extras, struct control_extra, &targets);
