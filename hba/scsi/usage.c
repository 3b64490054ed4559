/* The table of all commands, built at start, and the search for a CDB bit that must not be set. */
#include "usage.h"

#include <assert.h>
#include <stdlib.h>

#include "log.h"
#include "util.h"

enum { SERVICE_ACTIONS_MAX = 96 };

struct usage usages[256];
static struct usage service_actions[SERVICE_ACTIONS_MAX];
static unsigned nservice_actions;

/* Orders the service actions of an opcode, so that reports list them so. */
static void
more_add(struct usage *u, struct usage *sa)
{
	struct usage **at = &u->more;

	while (*at && (*at)->row->sa < sa->row->sa)
		at = &(*at)->more;
	sa->more = *at;
	*at = sa;
}

static struct usage *
usage_claim(const struct cmd_row *row)
{
	struct usage *u = &usages[row->opcode];
	struct usage *sa;

	if (u->row || (u->more && (!(row->flags & ROW_SA) || usage_find_sa(u, row->sa)))) {
		log_err("SCSI command %02x/%02x is claimed by %s and by another", row->opcode,
		    row->sa, row->name);
		abort();
	}
	if (!(row->flags & ROW_SA)) {
		u->row = row;
		return u;
	}
	assert(nservice_actions < SERVICE_ACTIONS_MAX);
	sa = &service_actions[nservice_actions++];
	sa->row = row;
	more_add(u, sa);
	return sa;
}

void
usage_init(void)
{
	const struct cmd_family *family;

	memset(usages, 0, sizeof(usages));
	memset(service_actions, 0, sizeof(service_actions));
	nservice_actions = 0;
	for_each_registered(cmd_families, family) {
		for (unsigned i = 0; i < family->n; i++) {
			struct usage *u = usage_claim(&family->rows[i]);
			uint8_t bad[SCSI_CDB_MAX] = { 0 };

			assert(u->row->cdb_len <= SCSI_CDB_MAX);
			for (unsigned j = 0; j < u->row->cdb_len; j++)
				bad[j] = (uint8_t)~u->row->usage[j];
			bad[0] = 0;
			memcpy(u->undefined, bad, sizeof(bad));
		}
	}
}

const struct usage *
usage_find_sa(const struct usage *u, unsigned sa)
{
	for (u = u->more; u; u = u->more)
		if (u->row->sa == sa)
			return u;
	return NULL;
}

void
usage_fault(const struct usage *u, const uint8_t *cdb, unsigned *byte, unsigned *bit)
{
	*byte = *bit = 0;
	for (unsigned i = 1; i < u->row->cdb_len; i++) {
		unsigned bad = cdb[i] & ~u->row->usage[i];

		if (bad) {
			*byte = i;
			*bit = 31 - (unsigned)__builtin_clz(bad);
			return;
		}
	}
	assert(!"a CDB with an undefined bit set");
}

const struct cmd_row *
usage_nth(unsigned n)
{
	for (unsigned op = 0; op < ARRAY_LEN(usages); op++) {
		const struct usage *u = &usages[op];

		if (u->row && n-- == 0)
			return u->row;
		for (u = u->more; u; u = u->more)
			if (n-- == 0)
				return u->row;
	}
	return NULL;
}
