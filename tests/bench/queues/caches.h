/* The one thing that the bench asks of the inside of the bridge. */
#ifndef CACHES_H
#define CACHES_H

void caches_off(void);		/* of the first adapter, before its first flow; main thread */

#endif
