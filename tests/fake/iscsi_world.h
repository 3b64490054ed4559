/* A world for logins without a daemon: a few targets on a few portals. */
#ifndef ISCSI_WORLD_H
#define ISCSI_WORLD_H

#include "transport/iscsi/login_env.h"
#include "transport/iscsi/params.h"

#define WORLD_INITIATOR "iqn.2026-11.com.example:host"
#define WORLD_OPEN "iqn.2026-11.com.example:open"		/* no credential; alias */
#define WORLD_LOCKED "iqn.2026-11.com.example:locked"		/* CHAP, both ways */
#define WORLD_ELSEWHERE "iqn.2026-11.com.example:elsewhere"	/* on portal `other` only */
#define WORLD_PRIVATE "iqn.2026-11.com.example:private"		/* nobody may */
#define WORLD_FABRIC "iqn.2026-11.com.example:fabric"		/* on no iSCSI portal */
#define WORLD_USER "host1"
#define WORLD_SECRET "a secret of 16 b"
#define WORLD_TARGET_USER "store"
#define WORLD_TARGET_SECRET "another secret.."

enum { WORLD_TARGETS = 5, WORLD_CROWD = 64 };

struct world {
	struct conf_target targets[WORLD_TARGETS];
	struct conf_portal lan;		/* 10.0.0.1:3260, group 1: where the peer is */
	struct conf_portal other;	/* 0.0.0.0:3261, [::]:3261, group 7 */
	struct conf_portal fabric;	/* another transport */
	struct conf_auth auth;
	struct iscsi_target_conf limits;
	struct login_peer peer;		/* 10.0.0.9 on lan, at 10.0.0.1:3260 */
	unsigned crowd;			/* targets more, with names of 223 bytes */
};

extern struct world world;
extern const struct login_env world_env;

void world_begin(void);			/* everything as said above */
void world_local(const char *address);	/* the address the peer reached, "10.0.0.1:3260" */

#endif
