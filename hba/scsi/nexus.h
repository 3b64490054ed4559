/* What the device server keeps of an I_T nexus, and of each unit it sees. */
#ifndef SCSI_NEXUS_H
#define SCSI_NEXUS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "bridge.h"
#include "list.h"
#include "reactor.h"
#include "target.h"

struct copies;
struct lu;
struct scsi_cmd;

/* Bits of nexus_lun.hot beside the unit attentions (UA_MASK of ua.h). */
enum {
	NLUN_FENCED = 1 << 16,		/* the unit has orphan writes or range locks: fence.h */
	NLUN_NO_WRITES = 1 << 17,	/* a persistent reservation keeps it from writing, */
	NLUN_NO_ACCESS = 1 << 18,	/* or from reading too: conflict.h */
	NLUN_RESERVED = 1 << 19,	/* another nexus did RESERVE(6) or (10) */
	NLUN_SWP = 1 << 20,		/* an initiator has write-protected the unit: mode.h */
	NLUN_SANITIZE = 1 << 21,	/* the unit is sanitized, or that failed: sanitize.h */
	NLUN_CONFLICTS = NLUN_NO_WRITES | NLUN_NO_ACCESS | NLUN_RESERVED,
};

/* SYNCHRONIZE CACHE that is answered before it is done: one at a time, one more remembered. */
struct nlun_flush {
	struct bridge_req req;
	bool busy, again;
};

/*
 * One unit as one nexus sees it (I_T_L nexus). Belongs to the nexus' reactor.
 * Others only write hot: all that is special about the unit for this nexus, so
 * that one acquire load tells the data path that nothing is.
 */
struct nexus_lun {
	_Atomic uint32_t hot;
	uint16_t number;
	bool read_only;
	bool copy;			/* third-party copies from and to it */
	struct lu *lu;
	struct nexus *nexus;
	struct bridge_flow *flow;	/* made by the first command that needs it */
	uint32_t lent;			/* commands that are CMD_LENT */
	_Atomic uint64_t cut;		/* PREEMPT AND ABORT that ended its registration last: reserve.c */
	struct list link;		/* in lu->nluns, under its lock */
	struct nlun_flush flush;
	struct copies *copies;		/* what became of the last ones: copy.h; NULL: there were none */
};

/* A nexus with what only the device server uses; nexus_own() finds it. */
struct nexus_own {
	struct nexus nexus;
	struct list link;		/* in its core */
	struct timer timer;		/* of the end: TMF_WAIT_NS */
	const struct conf_rule *rule;	/* that let it in; NULL: everyone may */
	struct bridge_limits limits;	/* of its flows */
};

static inline struct nexus_own *
nexus_own(struct nexus *nexus)
{
	return container_of(nexus, struct nexus_own, nexus);
}

/* All on the nexus' reactor. The last reference of a closed nexus frees it. */
void nexus_put(struct nexus *);
/* A command was answered: perhaps the last that a closed nexus waited for. */
void nexus_check_gone(struct nexus *);
/* One I_T nexus by its names: the channels of an SRP initiator port have a nexus each. Any thread. */
bool nexus_is_same(const struct nexus *, const struct nexus *);
/* Was it logged out? Any thread that keeps it from being freed. */
static inline bool
nexus_is_closed(const struct nexus *nexus)
{
	return __atomic_load_n(&nexus->closed, __ATOMIC_RELAXED);
}

/* NULL: no memory. */
struct bridge_flow *nlun_flow(struct nexus_lun *);

#endif
