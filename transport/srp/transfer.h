/* Cuts a transfer into RDMA work: the pieces of our memory do not fit those of a peer's. */
#ifndef SRP_TRANSFER_H
#define SRP_TRANSFER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "fabric.h"
#include "srp.h"

/* Pure. What it points to must stay while it is used. */
struct transfer {
	const struct srp_direct_buf *desc;
	uint32_t ndesc, desc_at;	/* descriptors, and bytes of the first that are done */
	const struct iovec *iov;
	uint32_t iov_at;
	uint32_t left;			/* bytes of the whole */
};

enum { TRANSFER_SGE_MAX = 32 };

void transfer_init(struct transfer *, const struct srp_direct_buf *, uint32_t ndesc,
    const struct iovec *, uint32_t len);
/*
 * The next piece: fills wr->remote, rkey, nsge and up to max_sge elements, at
 * most max_msg bytes. Returns its bytes, 0: the descriptors are used up.
 */
uint32_t transfer_next(struct transfer *, uint32_t max_sge, uint32_t max_msg, struct fabric_wr *,
    struct fabric_sge *);

#endif
