/* A disk in memory that a test can make fail, and whose requests it can hold back. */
#ifndef FAKE_DISK_H
#define FAKE_DISK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "disk.h"
#include "list.h"

/*
 * conf_disk.opts of the driver "fake". The test sets the first group before
 * adapters_open, the second at any time between commands.
 */
struct fake_disk {
	uint64_t size;
	uint32_t phys_size;		/* 0: the block size */
	uint32_t caps;
	int open_error;			/* open fails with it: -errno */

	int error[DISK_OPS];		/* requests end with it: -errno, or 0 */
	bool hold[DISK_OPS];		/* requests stay pending until fake_disk_release */

	/* -- what happened -- */
	unsigned ops[DISK_OPS];		/* requests begun */
	unsigned fua;			/* of these writes with DISK_FUA */
	uint8_t *mem;
	pthread_mutex_t lock;		/* of the above, and of held: requests that are pending */
	struct list held;
};

extern const struct disk_driver fake_disk_driver;

struct fake_disk *fake_disk_of(const struct disk *);
unsigned fake_disk_held(struct fake_disk *);
/*
 * Finishes the oldest requests that are held, at most n, each on the reactor
 * it was submitted on: only now are they carried out. From the main thread.
 */
void fake_disk_release(struct fake_disk *, unsigned n);

#endif
