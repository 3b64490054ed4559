/* A LUN whose disk has less room than configured, or answers late: its depth follows. */
#ifndef LUN_H
#define LUN_H

#include <stdint.h>

#include "cache.h"
#include "node.h"

enum {
	/* A disk that had no room while it had nothing else is asked again after so long. */
	LUN_RETRY_NS = 10 * 1000 * 1000,
	/* How long latencies are collected on a reactor before they are told to the LUN. */
	LUN_TELL_NS = 1000 * 1000,
};
/*
 * For so long a request is sent again, 5 s; then its initiator gets the TASK
 * SET FULL. A test may be less patient.
 */
extern uint64_t lun_patience_ns;

void lun_init(struct bridge_node *, uint32_t depth);
/* -- under the lock -- */
/* The administrator's words; they replace what was learned. */
void lun_set_depth(struct bridge_node *, uint32_t depth);
void lun_set_target(struct bridge_node *, uint64_t target_ns);
/* Its disk had no room for a request, whose credit is back already. */
void lun_full(struct bridge_node *, uint64_t now);
/* What a reactor has told. */
void lun_told(struct credit_cache *);
/* -- on a reactor -- */
/* A request of it came back here, which was sent then. */
void lun_took(struct bridge_cpu *, struct bridge_node *, uint64_t sent_ns);

#endif
