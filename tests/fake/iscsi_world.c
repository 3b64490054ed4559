/* A world for logins without a daemon. */
#include "iscsi_world.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "conf.h"
#include "transport.h"
#include "util.h"

struct world world;

static const struct transport iscsi = { .name = "iscsi" }, srp = { .name = "srp" };
static struct conf_portal *portals[WORLD_TARGETS][2];
static struct conf_portal *crowd_portals[] = { &world.lan };
static struct conf_target crowd[WORLD_CROWD];
static char crowd_names[WORLD_CROWD][ISCSI_NAME_MAX + 1];
static struct sockaddr_storage lan_address, other_addresses[2], fabric_address, peer_address,
    local_address;

/* A target is its conf. */
static struct conf_target *
world_target(unsigned i)
{
	return i < WORLD_TARGETS ? &world.targets[i] :
	    i < WORLD_TARGETS + world.crowd ? &crowd[i - WORLD_TARGETS] : NULL;
}

static struct target *
world_find(const char *name)
{
	struct conf_target *t;
	unsigned i;

	for (i = 0; (t = world_target(i)) != NULL; i++)
		if (strcmp(t->name, name) == 0)
			return (struct target *)t;
	return NULL;
}

static struct target *
world_next(struct target *after)
{
	unsigned i;

	if (after == NULL)
		return (struct target *)world_target(0);
	for (i = 0; (struct target *)world_target(i) != after; i++)
		;
	return (struct target *)world_target(i + 1);
}

static const struct conf_target *
world_conf(const struct target *t)
{
	return (const struct conf_target *)t;
}

static int
world_may(const struct target *t, const struct nexus_id *id)
{
	return strcmp(world_conf(t)->name, WORLD_PRIVATE) == 0 ? -EACCES : 0;
}

static const struct iscsi_target_conf *
world_limits(const struct conf_target *conf)
{
	return &world.limits;
}

const struct login_env world_env = {
	.find = world_find,
	.next = world_next,
	.conf = world_conf,
	.may = world_may,
	.limits = world_limits,
};

static struct conf_portal
portal_of(
    const char *name, const struct transport *tr, struct sockaddr_storage *a, int n, uint32_t group)
{
	return (struct conf_portal){
		.name = (char *)name, .transport = tr, .naddrs = n, .addrs = a, .group = group,
	};
}

static void
target_add(unsigned i, const char *name, struct conf_portal *a, struct conf_portal *b)
{
	portals[i][0] = a;
	portals[i][1] = b;
	world.targets[i] = (struct conf_target){
		.name = (char *)name, .nportals = b != NULL ? 2 : 1, .portals = portals[i],
	};
}

static void
crowd_begin(void)
{
	unsigned i;

	for (i = 0; i < WORLD_CROWD; i++) {
		memset(crowd_names[i], 'n', ISCSI_NAME_MAX);
		snprintf(crowd_names[i], ISCSI_NAME_MAX, "iqn.2026-11.com.example:crowd-%02u", i);
		crowd_names[i][strlen(crowd_names[i])] = '-';
		crowd[i] = (struct conf_target){
			.name = crowd_names[i], .nportals = 1, .portals = crowd_portals,
		};
	}
}

void
world_local(const char *address)
{
	conf_sockaddr(address, &local_address);
}

void
world_begin(void)
{
	memset(&world, 0, sizeof(world));
	conf_sockaddr("10.0.0.1:3260", &lan_address);
	conf_sockaddr("0.0.0.0:3261", &other_addresses[0]);
	conf_sockaddr("[::]:3261", &other_addresses[1]);
	conf_sockaddr("10.0.0.1:5555", &fabric_address);
	conf_sockaddr("10.0.0.9:40000", &peer_address);
	world_local("10.0.0.1:3260");
	world.lan = portal_of("lan", &iscsi, &lan_address, 1, 1);
	world.other = portal_of("other", &iscsi, other_addresses, 2, 7);
	world.fabric = portal_of("fabric", &srp, &fabric_address, 1, 1);
	world.peer = (struct login_peer){
		.peer = (struct sockaddr *)&peer_address,
		.local = (struct sockaddr *)&local_address,
		.portal = &world.lan,
	};
	target_add(0, WORLD_OPEN, &world.lan, NULL);
	target_add(1, WORLD_LOCKED, &world.lan, &world.other);
	target_add(2, WORLD_ELSEWHERE, &world.other, NULL);
	target_add(3, WORLD_PRIVATE, &world.lan, NULL);
	target_add(4, WORLD_FABRIC, &world.fabric, NULL);
	world.targets[0].alias = (char *)"the open one";
	world.auth = (struct conf_auth){
		.user = (char *)WORLD_USER, .secret = (char *)WORLD_SECRET,
		.mutual_user = (char *)WORLD_TARGET_USER,
		.mutual_secret = (char *)WORLD_TARGET_SECRET,
		.algorithms = { 4, { CHAP_SHA3_256, CHAP_SHA256, CHAP_SHA1, CHAP_MD5 } },
	};
	world.targets[1].auth = &world.auth;
	world.limits = (struct iscsi_target_conf){
		.max_connections = 1, .immediate_data = true,
		.header_digest = { 2, { ISCSI_DIGEST_NONE, ISCSI_DIGEST_CRC32C } },
		.data_digest = { 2, { ISCSI_DIGEST_NONE, ISCSI_DIGEST_CRC32C } },
		.first_burst = 262144, .max_burst = 1048576, .max_outstanding_r2t = 4,
	};
	crowd_begin();
}
