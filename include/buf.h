/* Memory of the data path: pools of each reactor, within one budget (`memory:`). */
#ifndef BUF_H
#define BUF_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "list.h"

struct reactor;

/*
 * Data memory comes in segments of 4, 16, 64 and 256 KiB (never more), each
 * aligned to 4 KiB, cut from 2 MiB arenas that each reactor maps for itself:
 * no lock, and a transport can register whole arenas with its device. A
 * reactor's share of the budget is memory / reactors. Arenas that were wholly
 * free for a second or two go back to the system but for one of each size.
 * Content is not zeroed: who sends a buffer has written all of it.
 */
enum { BUF_SEG_MAX = 256 * 1024, BUF_IOV_MAX = 17, BUF_XFER_MAX = 4 * 1024 * 1024 };

/* Memory budget in bytes for all reactors. Before reactors_start. */
void buf_budget(uint64_t bytes);

/*
 * buf_get: segments for len bytes (1 to BUF_XFER_MAX) into iov (room for
 * BUF_IOV_MAX), lengths summing to exactly len. Returns how many, or -ENOMEM
 * when the budget is used up: then nothing was taken; see buf_wait.
 * buf_put: gives segments back by their iov_base; lengths do not matter.
 * Both on the reactor's own thread.
 */
int buf_get(struct reactor *, struct iovec *iov, uint32_t len);
void buf_put(struct reactor *, struct iovec *iov, int n);

/* fn runs once, soon after memory came back to this reactor's budget, first come first served. */
struct buf_wait {
	struct list link;
	void (*fn)(struct buf_wait *);
};
void buf_wait(struct reactor *, struct buf_wait *);
void buf_wait_cancel(struct buf_wait *);	/* allowed when not waiting (link inited) */

/*
 * For who must know where this memory lies, such as a device that it is
 * registered with. All on the reactor's own thread. buf_watch_add calls mapped
 * for each arena that is there; later ones are told before the first segment of
 * them is handed out, and unmapping before they are gone. buf_watch_del calls nothing.
 */
struct buf_watch {
	struct list link;
	void (*mapped)(struct buf_watch *, void *arena, size_t len);
	void (*unmapping)(struct buf_watch *, void *arena, size_t len);
};
enum { BUF_ARENA = 2 * 1024 * 1024 };	/* its size, and what it is aligned to */
void buf_watch_add(struct reactor *, struct buf_watch *);
void buf_watch_del(struct buf_watch *);

/* Objects of one size, such as a transport's commands; per reactor; zeroed when new, not when reused. */
struct obj_pool {
	uint32_t size;			/* rounded up to a cache line */
	uint32_t used, made;
	void *free;
	void *slabs;
};
void obj_pool_init(struct obj_pool *, uint32_t size);
void *obj_get(struct obj_pool *);	/* NULL: out of memory */
void obj_put(struct obj_pool *, void *);
void obj_pool_fini(struct obj_pool *);	/* asserts used == 0 */

struct buf_stats {
	uint64_t budget, mapped, used;	/* bytes of this reactor */
	uint64_t refused;		/* buf_get calls that met the limit */
};
void buf_stats(struct reactor *, struct buf_stats *);	/* own thread */

/* Called by the reactor's own start and end. */
int buf_pool_init(struct reactor *, unsigned id, unsigned count);
void buf_pool_fini(unsigned id);

#endif
