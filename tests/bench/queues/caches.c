/* Policy e1: the bridge's reactors keep no credits. Alone here, because its own headers have names that ours have too. */
#include "hba/bridge/host.h"

#include "caches.h"

void
caches_off(void)
{
	host_set_cap(bridge_host_next(NULL), 0);
}
