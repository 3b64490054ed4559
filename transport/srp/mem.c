/* Pool memory in one piece, and answers that a device cannot reach. */
#include <errno.h>
#include <string.h>

#include "channel.h"

/* The sizes of segments: a request for one of them is one piece. */
static uint32_t
segment(uint32_t len)
{
	uint32_t size = 4096;

	while (size < len)
		size *= 4;
	return size;
}

int
mem_get(struct reactor *reactor, struct iovec *iov, uint32_t len)
{
	struct iovec pieces[BUF_IOV_MAX];
	int n;

	assert(len && len <= BUF_SEG_MAX);
	n = buf_get(reactor, pieces, segment(len));
	if (n < 0)
		return n;
	assert(n == 1);
	*iov = pieces[0];
	return 0;
}

void
mem_put(struct reactor *reactor, struct iovec *iov)
{
	if (iov->iov_base)
		buf_put(reactor, iov, 1);
	iov->iov_base = NULL;
}

static bool
reaches(const struct srp_channel *ch, const struct scsi_cmd *scsi)
{
	for (int i = 0; i < scsi->niov; i++)
		if (!ch->fabric->reaches(ch->conn, scsi->iov[i].iov_base, scsi->iov[i].iov_len))
			return false;
	return true;
}

static void
copy(const struct iovec *to, int n, const struct iovec *from)
{
	size_t used = 0;

	for (int i = 0; i < n; i++) {
		uint8_t *p = to[i].iov_base;

		for (size_t room = to[i].iov_len; room;) {
			size_t part = MIN(room, from->iov_len - used);

			memcpy(p, (const char *)from->iov_base + used, part);
			p += part;
			room -= part;
			used += part;
			if (used == from->iov_len) {
				used = 0;
				from++;
			}
		}
	}
}

int
mem_reach(struct srp_channel *ch, struct scsi_cmd *scsi)
{
	struct iovec iov[BUF_IOV_MAX];
	int n;

	if (likely(reaches(ch, scsi)))
		return 0;
	/* Pool memory that is not reached is no better when it is copied. */
	if (scsi->mem == MEM_POOL)
		return -ENOMEM;
	n = buf_get(ch->home->reactor, iov, scsi->data_in);
	if (n < 0)
		return n;
	copy(iov, n, scsi->iov);
	memcpy(scsi->iov, iov, sizeof(iov[0]) * (size_t)n);
	scsi->niov = (int8_t)n;
	scsi->mem = MEM_POOL;
	return reaches(ch, scsi) ? 0 : -ENOMEM;
}
