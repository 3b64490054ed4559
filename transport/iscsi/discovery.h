/* The answer to SendTargets (RFC 7143, appendix C). */
#ifndef ISCSI_DISCOVERY_H
#define ISCSI_DISCOVERY_H

#include "login_env.h"
#include "text.h"

/* All targets that this initiator may see, or the one of this name; nothing when there is none. */
void discovery_put(const struct login_env *, const struct iscsi_params *, const struct login_peer *,
    const char *name, struct text_out *);

#endif
