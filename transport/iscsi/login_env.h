/* What login and discovery ask of the rest of the daemon; tests answer it themselves. */
#ifndef ISCSI_LOGIN_ENV_H
#define ISCSI_LOGIN_ENV_H

#include "login.h"
#include "params.h"
#include "target.h"

/* limits: the target's `iscsi:` map. The others are as in target.h. */
struct login_env {
	struct target *(*find)(const char *name);
	struct target *(*next)(struct target *);
	const struct conf_target *(*conf)(const struct target *);
	int (*may)(const struct target *, const struct nexus_id *);
	const struct iscsi_target_conf *(*limits)(const struct conf_target *);
};

extern const struct login_env login_env_daemon;

/* login_new and exchange_new with another world around them. */
struct login *login_new_in(const struct login_env *, const struct login_peer *);
struct exchange *exchange_new_in(const struct login_env *);

/* The identity of an initiator as target_may wants it; it points into the arguments. */
struct nexus_id login_identity(const struct iscsi_params *, const struct login_peer *);

#endif
