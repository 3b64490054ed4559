/* What became of the last copies, for who asks afterwards (SPC-4 5.16.4). On the nexus' reactor. */
#include <stdlib.h>
#include <string.h>

#include "copy.h"
#include "nexus.h"

bool
copies_make(struct nexus_lun *nlun)
{
	if (!nlun->copies)
		nlun->copies = calloc(1, sizeof(*nlun->copies));
	return nlun->copies;
}

struct copy_result *
copies_find(const struct nexus_lun *nlun, uint8_t id)
{
	if (!nlun->copies)
		return NULL;
	for (unsigned i = 0; i < COPIES_HELD; i++) {
		struct copy_result *r = &nlun->copies->result[i];

		if (r->held && r->id == id)
			return r;
	}
	return NULL;
}

struct copy_result *
copies_put(struct nexus_lun *nlun, uint8_t id)
{
	struct copy_result *r = copies_find(nlun, id);

	if (!r)
		r = &nlun->copies->result[nlun->copies->next++ % COPIES_HELD];
	memset(r, 0, sizeof(*r));
	r->held = true;
	r->id = id;
	return r;
}
