/* Sizes of a disk, checked once for all drivers. */
#include "geometry.h"

#include <errno.h>

#include "log.h"

int
disk_size_set(struct disk *d, uint64_t bytes)
{
	if (bytes == 0) {
		log_err("disk %s: holds no bytes", d->name);
		return -EINVAL;
	}
	if (bytes % d->block_size) {
		log_err("disk %s: %llu bytes are not whole blocks of %u", d->name,
		    (unsigned long long)bytes, d->block_size);
		return -EINVAL;
	}
	d->size = bytes;
	return 0;
}
