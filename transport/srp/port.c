/* Target port identifiers: configured or derived from the target's name, and the way back. */
#include <openssl/evp.h>
#include <string.h>

#include "channel.h"

enum { GUID = 8 };

const struct conf_key srp_target_keys[] = {
	{ "id_ext", CONF_GUID, .offset = offsetof(struct srp_target_conf, id_ext),
	    .help = "first half of the target port identifier; absent: from the target's name" },
	{ "ioc_guid", CONF_GUID, .offset = offsetof(struct srp_target_conf, ioc_guid),
	    .help = "second half of it" },
	{ "queue_depth", CONF_UINT, .offset = offsetof(struct srp_target_conf, queue_depth),
	    .min = 2, .max = QUEUE_DEPTH_MAX, .fallback = "128",
	    .help = "requests that an initiator may have outstanding on a channel" },
	{ "max_channels", CONF_UINT, .offset = offsetof(struct srp_target_conf, max_channels),
	    .min = 1, .max = 256, .fallback = "64",
	    .help = "channels of one initiator port; 1: no multichannel" },
	{ "async_events", CONF_BOOL, .offset = offsetof(struct srp_target_conf, async_events),
	    .fallback = "yes", .help = "tell initiators that are idle of unit attentions" },
	{ .name = NULL }
};

static bool
guid_is_set(const uint8_t *guid)
{
	static const uint8_t none[GUID];

	return memcmp(guid, none, GUID) != 0;
}

static const struct srp_target_conf *
target_srp(const struct conf_target *ct)
{
	return ct->opts[transport_index(&srp_transport)];
}

/* The same on every machine that serves a target of this name, so a standby takes over its port. */
void
port_id(const struct conf_target *ct, uint8_t id[16])
{
	const struct srp_target_conf *conf = target_srp(ct);
	uint8_t digest[32] = { 0 };

	EVP_Digest(ct->name, strlen(ct->name), digest, NULL, EVP_sha256(), NULL);
	memcpy(id, digest, 2 * GUID);
	/* An EUI-64 that no maker has given: locally administered, of one port (IEEE 802). */
	id[GUID] = (uint8_t)((id[GUID] & 0xfc) | 0x02);
	if (guid_is_set(conf->id_ext))
		memcpy(id, conf->id_ext, GUID);
	if (guid_is_set(conf->ioc_guid))
		memcpy(id + GUID, conf->ioc_guid, GUID);
}

static bool
serves(const struct conf_target *ct, const struct conf_portal *portal)
{
	for (int i = 0; i < ct->nportals; i++)
		if (ct->portals[i] == portal)
			return true;
	return false;
}

static void
halves_swap(uint8_t id[16])
{
	uint8_t half[GUID];

	memcpy(half, id, GUID);
	memcpy(id, id + GUID, GUID);
	memcpy(id + GUID, half, GUID);
}

static struct target *
find(const struct conf_portal *portal, const uint8_t want[16])
{
	struct target *t;
	uint8_t id[16];

	for (t = target_next(NULL); t; t = target_next(t)) {
		if (!serves(target_conf(t), portal))
			continue;
		port_id(target_conf(t), id);
		if (!memcmp(id, want, sizeof(id)))
			return t;
	}
	return NULL;
}

/* Initiators of draft revision 10 (I/O class FF00) have the halves of both ports swapped. */
struct target *
port_find(const struct conf_portal *portal, struct login_req *login)
{
	struct target *t = find(portal, login->t_port);

	if (t)
		return t;
	halves_swap(login->t_port);
	t = find(portal, login->t_port);
	if (t)
		halves_swap(login->i_port);
	return t;
}

void
port_text(char *buf, size_t size, const uint8_t *id, size_t n)
{
	size_t at = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < n; i++)
		text_add(buf, size, &at, "%02x", id[i]);
}

static bool
serves_srp(const struct conf_target *ct)
{
	for (int i = 0; i < ct->nportals; i++)
		if (ct->portals[i] && ct->portals[i]->transport == &srp_transport)
			return true;
	return false;
}

/* A login names a target by nothing but its port. */
void
port_check(struct conf_load *load, const struct conf *conf)
{
	const struct conf_target *a, *b;
	uint8_t ida[16], idb[16];

	list_for_each(a, &conf->targets, link) {
		if (!a->name || !serves_srp(a))
			continue;
		port_id(a, ida);
		list_for_each(b, &conf->targets, link) {
			if (b == a)
				break;
			if (!b->name || !serves_srp(b))
				continue;
			port_id(b, idb);
			if (memcmp(ida, idb, sizeof(ida)))
				continue;
			conf_error(load, a->pos, "srp: target %s has the id_ext and ioc_guid of %s",
			    a->name, b->name);
		}
	}
}
