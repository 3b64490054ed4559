/* That a file or block device belongs to no other disk here and to no other process. */
#include <errno.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "conf.h"
#include "log.h"
#include "util.h"

#include "file.h"

#define WAIT_NS 5000000000u
#define STEP_NS 10000000

uint64_t file_claim_until;

/* Those that have a claim; main thread. */
static struct list claims = LIST_INIT(claims);

int
file_claim(struct disk *d, const char *path, const struct stat *st)
{
	struct file_claim *claim = &((struct file_disk *)d->priv)->claim, *other;
	bool block = S_ISBLK(st->st_mode);

	claim->disk = d;
	claim->dev = block ? st->st_rdev : st->st_dev;
	claim->ino = block ? 0 : st->st_ino;
	list_for_each(other, &claims, link) {
		if (other->dev != claim->dev || other->ino != claim->ino)
			continue;
		/* Many readers of a file are fine; a block device is opened exclusively. */
		if (!block && d->conf->read_only && other->disk->conf->read_only)
			continue;
		log_err("disk %s: %s: is disk %s already", d->name, path, other->disk->name);
		return -EBUSY;
	}
	list_add_tail(&claims, &claim->link);
	return 0;
}

bool
file_claim_wait(struct disk *d, const char *path)
{
	struct file_claim *claim = &((struct file_disk *)d->priv)->claim;
	const struct timespec step = { .tv_nsec = STEP_NS };
	uint64_t now = now_ns();

	if (!file_claim_until)
		file_claim_until = now + WAIT_NS;
	if (now >= file_claim_until)
		return false;
	if (!claim->waited)
		log_warn("disk %s: %s: in use: waits up to %llu ms until it is let go",
		    d->name, path, (unsigned long long)(file_claim_until - now) / 1000000);
	claim->waited = true;
	nanosleep(&step, NULL);
	return true;
}

int
file_claim_lock(struct disk *d, const char *path)
{
	struct file_disk *fd = d->priv;
	int how = LOCK_NB | (d->conf->read_only ? LOCK_SH : LOCK_EX);

	while (flock(fd->fd, how)) {
		int err = errno;

		if (err != EWOULDBLOCK && err != EINTR) {
			log_err("disk %s: %s: cannot be locked: %s", d->name, path, strerror(err));
			return -err;
		}
		if (!file_claim_wait(d, path)) {
			log_err("disk %s: %s: is exported by another process (locked)", d->name,
			    path);
			return -EBUSY;
		}
	}
	return 0;
}
