/* State that outlives the daemon: small files, replaced whole, written by a thread that may block. */
#ifndef SCSI_STORE_H
#define SCSI_STORE_H

#include <stddef.h>

#include "list.h"
#include "reactor.h"

/*
 * One write. It belongs to the store from store_write until done is called on
 * home, then result is 0 or -errno. When it is 0 the file has been fsynced
 * under its name: a crash at any time leaves the old text or the new one.
 */
struct store_job {
	char name[48];			/* inside the state directory; "pr-..." */
	char *text;			/* freed by the store; NULL: the file goes */
	int result;
	struct reactor *home;
	void (*done)(struct store_job *);
	struct list link;
	struct msg msg;
};

/* Main thread. store_open only notes the directory: it is made by the first write. */
void store_open(const char *dir);
void store_close(void);			/* what was begun is finished, if that takes no longer than 5 s */

void store_write(struct store_job *);	/* any reactor; jobs are done in order */
/* The whole file, to be freed. 0, -ENOENT, or another -errno. Main thread; may block. */
int store_read(const char *name, char **text, size_t *len);

#endif
