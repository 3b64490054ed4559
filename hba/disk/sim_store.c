/* What a simulated disk holds: nothing, or memory that is taken when first written. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "log.h"

#include "sim.h"

enum {
	SIM_PAGE = 4096,
	/* Bytes given back in one turn of the loop: well under a millisecond of page freeing. */
	WIPE_STEP = 16 * 1024 * 1024,
};

int
sim_store_open(struct sim_disk *sd)
{
	struct disk *d = sd->disk;
	void *mem;
	int err;

	if (sd->conf->store == SIM_STORE_NONE)
		return 0;
	mem = mmap(NULL, d->size, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (mem == MAP_FAILED) {
		err = errno;
		log_err("disk %s: cannot map %llu bytes: %s", d->name, (unsigned long long)d->size,
		    strerror(err));
		return -err;
	}
	/* A core file of the daemon is not to hold what initiators stored. */
	madvise(mem, d->size, MADV_DONTDUMP);
	sd->mem = mem;
	return 0;
}

void
sim_store_close(struct sim_disk *sd)
{
	if (sd->mem)
		munmap(sd->mem, sd->disk->size);
}

static void
data_move(struct disk_io *io, char *at)
{
	for (int i = 0; i < io->niov; i++) {
		const struct iovec *v = &io->iov[i];

		if (!at)
			memset(v->iov_base, 0, v->iov_len);
		else if (io->op == DISK_READ)
			memcpy(v->iov_base, at, v->iov_len);
		else
			memcpy(at, v->iov_base, v->iov_len);
		at += at ? v->iov_len : 0;
	}
}

/* Zeros a range: whole pages go back to the system, edges are overwritten. */
static int
wipe(char *start, uint64_t len)
{
	char *end = start + len;
	char *first = (char *)(((uintptr_t)start + SIM_PAGE - 1) & ~(uintptr_t)(SIM_PAGE - 1));
	char *last = (char *)((uintptr_t)end & ~(uintptr_t)(SIM_PAGE - 1));

	if (first >= last) {
		memset(start, 0, len);
		return 0;
	}
	memset(start, 0, (size_t)(first - start));
	memset(last, 0, (size_t)(end - last));
	return madvise(first, (size_t)(last - first), MADV_DONTNEED) ? -errno : 0;
}

static bool
wipe_step(struct disk_io *io, char *mem)
{
	struct sim_io *sio = sim_io_of(io);
	uint64_t n = MIN(io->len - sio->wiped, (uint64_t)WIPE_STEP);

	io->result = wipe(mem + io->offset + sio->wiped, n);
	sio->wiped += n;
	return io->result || sio->wiped == io->len;
}

bool
sim_store_step(struct disk_io *io)
{
	char *mem = ((struct sim_disk *)io->disk->priv)->mem;

	io->result = 0;
	switch ((enum disk_op)io->op) {
	case DISK_READ:
		data_move(io, mem ? mem + io->offset : NULL);
		break;
	case DISK_WRITE:
		if (mem)
			data_move(io, mem + io->offset);
		break;
	case DISK_FLUSH:
		break;
	case DISK_UNMAP:
	case DISK_ZERO:
		return !mem || wipe_step(io, mem);
	case DISK_COMPARE_WRITE:
	case DISK_STATUS:
	case DISK_OPS:
		io->result = -EOPNOTSUPP;
	}
	return true;
}
