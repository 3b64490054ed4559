/* The daemon as login and discovery see it. */
#include "login_env.h"

#include <string.h>

#include "transport.h"

static const struct iscsi_target_conf *
target_limits(const struct conf_target *conf)
{
	return conf->opts[transport_index(transport_find("iscsi"))];
}

const struct login_env login_env_daemon = {
	.find = target_find,
	.next = target_next,
	.conf = target_conf,
	.may = target_may,
	.limits = target_limits,
};

struct login *
login_new(const struct login_peer *peer)
{
	return login_new_in(&login_env_daemon, peer);
}

struct exchange *
exchange_new(void)
{
	return exchange_new_in(&login_env_daemon);
}

struct nexus_id
login_identity(const struct iscsi_params *p, const struct login_peer *peer)
{
	struct nexus_id id = {
		.initiator = p->initiator,
		.peer = peer->peer,
		.user = p->user[0] != '\0' ? p->user : NULL,
	};

	memcpy(id.isid, p->isid, sizeof(id.isid));
	return id;
}
