/* What an administrator sees and changes while the adapter runs. */
#include <errno.h>

#include "admit.h"
#include "host.h"
#include "wait.h"

unsigned
bridge_stats(struct bridge_host *h, struct bridge_node_stats *s, unsigned max)
{
	static const uint8_t order[] = { AT_HOST, AT_TARGET, AT_LUN, AT_INITIATOR };
	struct bridge_node *n;
	unsigned count = 0;

	host_lock(h);
	for (unsigned i = 0; i < ARRAY_LEN(order); i++)
		list_for_each(n, &h->nodes[order[i]], link)
			if (count++ < max)
				bridge_node_read(n, &s[count - 1]);
	host_unlock(h);
	return count;
}

/* Under the lock. The node has changed: whoever may run now is started by a reactor. */
static void
node_changed(struct bridge_host *h, struct bridge_node *n)
{
	wait_touch(h, n);
	admit_kick(h);
}

int
bridge_set_limit(struct bridge_host *h, enum bridge_kind kind, const char *name, uint32_t limit)
{
	struct bridge_node *n;

	if (limit < 1 || limit > h->slots.count)
		return -EINVAL;
	host_lock(h);
	n = host_find_node(h, kind, name);
	if (n) {
		n->limit = limit;
		node_changed(h, n);
	}
	host_unlock(h);
	return n ? 0 : -ENOENT;
}

static int
node_freeze(struct bridge_host *h, enum bridge_kind kind, const char *name, bool frozen)
{
	struct bridge_node *n;

	host_lock(h);
	n = host_find_node(h, kind, name);
	if (n) {
		n->frozen = frozen;
		node_changed(h, n);
	}
	host_unlock(h);
	return n ? 0 : -ENOENT;
}

int
bridge_freeze(struct bridge_host *h, enum bridge_kind kind, const char *name)
{
	return node_freeze(h, kind, name, true);
}

int
bridge_thaw(struct bridge_host *h, enum bridge_kind kind, const char *name)
{
	return node_freeze(h, kind, name, false);
}
