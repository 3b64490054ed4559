/* What a transport asks of the device server about targets, access and I_T nexuses. */
#ifndef TARGET_H
#define TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "list.h"
#include "reactor.h"

struct conf;
struct conf_target;
struct target;
struct transport_ops;

/* Targets of the running configuration; names are compared as normalised (lower case). Any thread. NULL: none. */
struct target *target_find(const char *name);
struct target *target_next(struct target *);		/* NULL: the first */
const struct conf_target *target_conf(const struct target *);

/* Who wants in. Pointers need to live only during the call. */
struct nexus_id {
	const char *initiator;		/* normalised iSCSI name, or SRP port id as text */
	uint8_t isid[6];		/* with the name, the initiator port; zero where there is none */
	const struct sockaddr *peer;
	const char *user;		/* as authenticated, NULL: not */
	const uint8_t *port_id;		/* 16 bytes: SRP initiator port identifier, as claimed; NULL: no SRP */
	const uint8_t *gid;		/* 16 bytes: of the peer's RDMA port, as its fabric says; NULL: none */
	bool joins;			/* the I_T nexus is there already, as another nexus: a second SRP channel. No
					   attention is raised */
};

/* May this initiator log in (the `initiators:` rules)? Any thread. 0, or -EACCES. */
int target_may(const struct target *, const struct nexus_id *);

/*
 * The I_T nexus: initiator port and target, on one reactor for life. Made by
 * nexus_login, ended by nexus_logout; freed by the device server when the last
 * of its commands has come back.
 */
struct nexus {
	struct target *target;
	struct reactor *reactor;
	const struct transport_ops *ops;
	void *session;			/* the transport's, until nexus_logout */
	uint64_t id;			/* unique for the life of the process */
	char initiator[224];
	uint8_t isid[6];
	bool closed;			/* nexus_logout was called */
	uint32_t depth;			/* commands it may have outstanding: the window a transport grants */
	struct list tasks;		/* scsi_cmd.task, in order of arrival, but for those aborted in a disk */
	uint32_t ntasks;		/* from scsi_submit to `done`, those too */
	uint32_t refs;			/* commands not yet released, functions not yet answered, the login */
	struct list tmfs;
	struct list link;		/* in target's list, under its lock */
	struct nexus_lun **luns;	/* by LUN number, nluns entries, NULL: not mapped */
	uint32_t nluns;
	void (*gone)(void *);
	void *gone_arg;
};

/*
 * nexus_login: on the reactor it shall live on. Returns 0, -EACCES (rules),
 * -ENOMEM. Raises the POWER ON attention on its LUNs.
 * nexus_logout: on its reactor; the session pointer is dead from here. Commands
 * that wait are finished at once (CMD_SILENT); those a disk has finish into
 * nothing when it gives them back, each through ops->done with CMD_SILENT.
 * gone(arg) (may be NULL) is called once when no command of the nexus can touch
 * a disk any more or, after TMF_WAIT_NS, when the rest is fenced: perhaps
 * before nexus_logout returns.
 */
int nexus_login(struct target *, const struct nexus_id *, struct reactor *,
    const struct transport_ops *, void *session, struct nexus **);
void nexus_logout(struct nexus *, void (*gone)(void *), void *arg);

/*
 * The unit attention that this nexus would hear of first at a unit: sense key,
 * additional sense code and its qualifier. It stays. On the nexus' reactor. False: none, or no such unit.
 */
bool nexus_attention(const struct nexus *, unsigned lun, uint8_t sense[3]);

/* -- life, by daemon/main.c on the main thread -- */

/*
 * targets_open: makes a target of each conf_target, on disks that adapters_open
 * has opened. 0 or -errno with a log line. targets_stop: after all transports
 * have stopped, and before adapters_settle: what units do by themselves ends
 * with what the disk has of it. targets_close: after that; waits for nothing.
 */
int targets_open(const struct conf *);
void targets_stop(void);
void targets_close(void);
/* After a reload: who is logged in has the depth, share and rates of its rule from now on. */
void nexus_limits_again(void);

#endif
