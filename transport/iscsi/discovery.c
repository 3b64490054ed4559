/* Which targets an initiator hears of, and under which addresses. */
#include "discovery.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "conf.h"
#include "target.h"

static bool
is_wildcard(const struct sockaddr_storage *a)
{
	if (a->ss_family == AF_INET)
		return ((const struct sockaddr_in *)a)->sin_addr.s_addr == htonl(INADDR_ANY);
	return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)a)->sin6_addr);
}

static in_port_t
port_of(const struct sockaddr_storage *a)
{
	/* The port is at the same place in both. */
	return ((const struct sockaddr_in *)a)->sin_port;
}

static void
address_put(struct text_out *out, const struct sockaddr_storage *a, unsigned group)
{
	char text[96], value[112];

	sockaddr_text((const struct sockaddr *)a, text, sizeof(text));
	snprintf(value, sizeof(value), "%s,%u", text, group);
	text_put(out, "TargetAddress", value);
}

/* The address by which the peer reached us, with the port of another socket of ours. */
static struct sockaddr_storage
local_with_port(const struct login_peer *peer, in_port_t port)
{
	struct sockaddr_storage a = { 0 };

	if (peer->local->sa_family == AF_INET) {
		memcpy(&a, peer->local, sizeof(struct sockaddr_in));
		((struct sockaddr_in *)&a)->sin_port = port;
	} else {
		memcpy(&a, peer->local, sizeof(struct sockaddr_in6));
		((struct sockaddr_in6 *)&a)->sin6_port = port;
	}
	return a;
}

/* A wildcard is no address to connect to: of its family the peer has found one that works. */
static unsigned
portal_put(struct text_out *out, const struct conf_portal *portal, const struct login_peer *peer)
{
	struct sockaddr_storage a;
	unsigned n = 0;
	int i;

	for (i = 0; i < portal->naddrs; i++) {
		a = portal->addrs[i];
		if (is_wildcard(&a)) {
			if (a.ss_family != peer->local->sa_family)
				continue;
			a = local_with_port(peer, port_of(&a));
		}
		address_put(out, &a, portal->group);
		n++;
	}
	return n;
}

/* Portals of other transports have addresses that iSCSI cannot use. */
static void
target_put(struct text_out *out, const struct conf_target *conf, const struct login_peer *peer)
{
	const struct conf_portal *portal = NULL;
	struct sockaddr_storage a;
	unsigned n = 0;
	int i;

	for (i = 0; i < conf->nportals; i++) {
		if (conf->portals[i]->transport != peer->portal->transport)
			continue;
		if (portal == NULL)
			text_put(out, "TargetName", conf->name);
		portal = conf->portals[i];
		n += portal_put(out, portal, peer);
	}
	if (portal == NULL || n > 0)
		return;
	/* Only wildcards of the other family: a socket may still take both. */
	a = local_with_port(peer, port_of(&portal->addrs[0]));
	address_put(out, &a, portal->group);
}

void
discovery_put(const struct login_env *env, const struct iscsi_params *params,
    const struct login_peer *peer, const char *name, struct text_out *out)
{
	const struct nexus_id id = login_identity(params, peer);
	struct target *t = name != NULL ? env->find(name) : env->next(NULL);
	const struct conf_target *conf;

	while (t != NULL) {
		conf = env->conf(t);
		if (conf != NULL && env->may(t, &id) == 0)
			target_put(out, conf, peer);
		t = name != NULL ? NULL : env->next(t);
	}
}
