/* Sizes of a disk, checked once for all drivers. */
#ifndef GEOMETRY_H
#define GEOMETRY_H

#include <stdint.h>

#include "disk.h"

/* Sets the size; -EINVAL with a log line when it is nothing or not whole blocks. */
int disk_size_set(struct disk *, uint64_t bytes);

#endif
