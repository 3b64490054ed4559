/* Which parts of a file are there, and which are holes. */
#include <errno.h>
#include <unistd.h>

#include "file.h"

/* Where from offset on data or a hole (what: SEEK_) begins, cut to the request's end; end: nowhere before. */
static int
seek(const struct disk_io *io, int what, uint64_t *at)
{
	const struct file_disk *fd = io->disk->priv;
	uint64_t end = io->offset + io->len;
	off_t r = lseek(fd->fd, (off_t)io->offset, what);

	/* Behind the last data, and behind the end of a file that was cut, all is hole. */
	if (r < 0 && errno == ENXIO)
		*at = what == SEEK_HOLE ? io->offset : end;
	else if (r < 0)
		return -errno;
	else
		*at = MIN((uint64_t)r, end);
	return 0;
}

void
file_status(struct disk_io *io)
{
	uint64_t mask = io->disk->block_size - 1, at;

	io->info = DISK_MAPPED;
	io->result = seek(io, SEEK_HOLE, &at);
	if (io->result == 0 && at == io->offset) {
		io->info = DISK_HOLE;
		io->result = seek(io, SEEK_DATA, &at);
	}
	if (io->result < 0) {
		io->result = -EIO;
		return;
	}
	/* A block that is there in part is there. */
	at = io->info == DISK_HOLE ? at & ~mask : (at + mask) & ~mask;
	if (at > io->offset) {
		io->len = at - io->offset;
	} else {
		io->info = DISK_MAPPED;
		io->len = io->disk->block_size;
	}
}
