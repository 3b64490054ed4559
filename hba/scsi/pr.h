/* Persistent reservations of a unit (SPC-4 5.13): who is registered, who holds it, and what each action makes of that. */
#ifndef SCSI_PR_H
#define SCSI_PR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pr_type {				/* SPC-4 6.14.3.4 */
	PR_NONE = 0,
	PR_WRITE_EXCLUSIVE = 1,
	PR_EXCLUSIVE = 3,
	PR_WRITE_EXCLUSIVE_RO = 5,	/* registrants only */
	PR_EXCLUSIVE_RO = 6,
	PR_WRITE_EXCLUSIVE_AR = 7,	/* all registrants hold it */
	PR_EXCLUSIVE_AR = 8,
};

enum {
	PR_NAME_MAX = 224,		/* bytes of an initiator's name with its NUL */
	PR_REGS_MAX = 1024,		/* registrations of a unit, */
	PR_REGS_INITIATOR = 128,	/* and of one initiator name there: an ISID of its own is made fast */
};

/* An I_T nexus as reservations know it: it need not be logged in. Compared whole: zeroed before it is filled. */
struct pr_nexus {
	char initiator[PR_NAME_MAX];	/* iSCSI name, or SRP port id as text */
	char target[PR_NAME_MAX];	/* a target has one port */
	uint8_t isid[6];		/* zero where there is none */
	uint8_t protocol;		/* PROTOCOL_ISCSI ... */
};

struct pr_reg {
	struct pr_nexus nexus;
	uint64_t key;			/* not 0 */
};

/*
 * A value: an action is done on a copy, which takes the place of the old one
 * when it is on disk (if it must be). holder: index of the registration that
 * has it; -1 with PR_NONE and the all registrants types.
 */
struct pr {
	uint32_t generation;
	uint8_t type;			/* enum pr_type */
	bool aptpl;			/* kept over a restart */
	bool lost;			/* what was kept could not be read: nobody gets in until it is replaced */
	int holder;
	unsigned n;
	struct pr_reg *reg;		/* room for PR_REGS_MAX is not made before it is needed */
	unsigned room;
};

enum pr_outcome {
	PR_DONE,
	PR_CONFLICT,			/* RESERVATION CONFLICT */
	PR_BAD_RELEASE,			/* 05/26/04 */
	PR_BAD_KEY,			/* the service action key cannot be 0, or be this: INVALID FIELD IN PARAMETER LIST */
	PR_NO_ROOM,			/* 05/55/04 */
};

struct pr_keys { uint64_t key, service; };	/* RESERVATION KEY, SERVICE ACTION RESERVATION KEY */

/* A deep copy with room for `more` further registrations; false: no memory (or above PR_REGS_MAX: NULL too). */
bool pr_copy(struct pr *to, const struct pr *from, unsigned more);
void pr_fini(struct pr *);

int pr_find(const struct pr *, const struct pr_nexus *);	/* index, or -1 */
bool pr_holds(const struct pr *, int reg);		/* reg -1: no */
static inline bool
pr_type_is_ar(unsigned type)
{
	return type == PR_WRITE_EXCLUSIVE_AR || type == PR_EXCLUSIVE_AR;
}
static inline bool
pr_type_is_ro(unsigned type)
{
	return type == PR_WRITE_EXCLUSIVE_RO || type == PR_EXCLUSIVE_RO;
}
bool pr_type_known(unsigned type);

/* -- actions (SPC-4 5.13.7 to 5.13.11) -- */

/*
 * REGISTER (ignore: REGISTER AND IGNORE EXISTING KEY) for `nexus`, and with it
 * for the `n` of `also` that are not registered yet (ALL_TG_PT, SPEC_I_PT).
 */
enum pr_outcome pr_register(struct pr *, const struct pr_nexus *nexus, const struct pr_keys *,
    bool ignore, bool aptpl, const struct pr_nexus *also, unsigned n);
enum pr_outcome pr_reserve(struct pr *, const struct pr_nexus *, uint64_t key, unsigned type);
enum pr_outcome pr_release(struct pr *, const struct pr_nexus *, uint64_t key, unsigned type);
enum pr_outcome pr_clear(struct pr *, const struct pr_nexus *, uint64_t key);
enum pr_outcome pr_preempt(struct pr *, const struct pr_nexus *, const struct pr_keys *,
    unsigned type);
/* REGISTER AND MOVE: the reservation goes to `to`; unreg: the mover's registration ends. */
enum pr_outcome pr_move(struct pr *, const struct pr_nexus *, const struct pr_keys *,
    const struct pr_nexus *to, bool unreg, bool aptpl);
/* REPLACE LOST RESERVATION, when pr->lost (else its caller refuses it, SPC-4 5.13.11.4). */
enum pr_outcome pr_replace_lost(struct pr *, const struct pr_nexus *, const struct pr_keys *,
    unsigned type, bool aptpl);

/* -- what a nexus may do meanwhile (SPC-4 5.13.1) -- */

enum pr_limit { PR_FREE, PR_NO_WRITES, PR_NO_ACCESS };
enum pr_limit pr_limit(const struct pr *, const struct pr_nexus *);

/* -- on disk -- */

/* JSON text, NUL ended, to be freed by the caller; NULL: no memory. */
char *pr_text(const struct pr *);
/* 0, -ENOMEM, or -EINVAL when it is not what pr_text wrote (pr is empty then). */
int pr_from_text(struct pr *, const char *text, size_t len);

#endif
