/*
 * Sanitize operations (SBC-3 4.11): a unit overwrites or erases all of itself.
 * It goes on whatever becomes of who asked for it; meanwhile, and after a
 * failure, the unit's medium is closed to everybody (NLUN_SANITIZE).
 */
#ifndef SCSI_SANITIZE_H
#define SCSI_SANITIZE_H

#include <stdbool.h>
#include <stdint.h>

struct lu;
struct nexus_lun;
struct scsi_cmd;
struct sense;

enum sanitize_state { SANITIZE_NONE, SANITIZE_RUNS, SANITIZE_FAILS };
enum { SANITIZE_STATE_SHIFT = 16 };	/* lu->sanitize: progress below it */

struct sanitize_how {
	bool erase;			/* UNMAP it; else overwrite with */
	uint8_t pattern[4096];		/* this, */
	uint16_t pattern_len;		/* again and again in each block, */
	uint8_t passes;			/* 1 to 31 times, */
	bool invert;			/* inverted from one pass to the next */
	bool may_exit;			/* AUSE */
};

/*
 * Begins, on the command's reactor, which is the operation's from here on. The
 * command has all blocks to itself; they are given back, and by then the unit is
 * closed. wait: exec is called again at the end, if the command lives so long.
 * 0, -EBUSY: one runs; -ENOMEM.
 */
int sanitize_start(struct scsi_cmd *, const struct sanitize_how *, bool wait);
/* Opens a unit on which it has failed. False: not allowed; it was started without AUSE. */
bool sanitize_exit(struct lu *);

/* The unit is NLUN_SANITIZE: does that concern the command? It is answered then. */
bool sanitize_refuses(struct scsi_cmd *);
/* What REQUEST SENSE tells of it. False: nothing. */
bool sanitize_sense(struct lu *, struct sense *);
void sanitize_inherit(struct lu *, struct nexus_lun *);	/* a new nexus meets it; under lu->lock */
void sanitize_stop(struct lu *);	/* the daemon stops; any thread */

static inline enum sanitize_state
sanitize_state(uint32_t word)
{
	return (enum sanitize_state)(word >> SANITIZE_STATE_SHIFT);
}

#endif
