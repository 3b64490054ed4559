/* Targets as the device server keeps them, and who may do what there. */
#ifndef SCSI_ACCESS_H
#define SCSI_ACCESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "list.h"
#include "target.h"

struct conf_rule;
struct lu;

enum { PORTS_SEEN_BITS = 1 << 16 };

struct target_lun {
	uint16_t number;
	bool read_only;
	bool copy;
	struct lu *lu;
};

/* Made by targets_open, freed by targets_close. The first group does not change in between. */
struct target {
	struct list link;
	const struct conf_target *conf;
	uint16_t port;			/* relative target port identifier, 1 to 65535, and its */
	uint16_t group;			/* target port group: the tag of its first portal */
	uint32_t nluns;
	struct target_lun *luns;	/* sorted by number */

	pthread_mutex_t lock;
	struct list nexuses;		/* nexus.link */
	uint64_t seen[PORTS_SEEN_BITS / 64];	/* by hash: initiator ports that logged in before */
};

/* The first rule that fits decides. False: no access. *rule NULL: no rules, all is allowed. */
bool access_find(const struct conf_target *, const struct nexus_id *,
    const struct conf_rule **rule);
bool access_shows(const struct conf_rule *, unsigned lun);

#endif
