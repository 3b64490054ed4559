/* The disks behind all adapters. */
#ifndef ADAPTER_H
#define ADAPTER_H

#include "disk.h"
#include "list.h"

struct adapter_disk {
	struct disk disk;
	struct list link;
};

struct disk *adapter_disk_next(struct disk *);	/* NULL: the first; any thread */

#endif
