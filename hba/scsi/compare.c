/* Data that a command took, compared with what a disk holds. */
#include "compare.h"

#include <string.h>

#include "cmd.h"

/* The byte of the data taken at offset, and how many follow it in one piece. */
static const uint8_t *
data_at(const struct scsi_cmd *cmd, uint64_t offset, size_t *follow)
{
	const struct iovec *v = cmd->iov;

	while (offset >= v->iov_len)
		offset -= v++->iov_len;
	*follow = v->iov_len - offset;
	return (const uint8_t *)v->iov_base + offset;
}

static size_t
differs_at(const uint8_t *a, const uint8_t *b, size_t n)
{
	size_t i = 0;

	if (memcmp(a, b, n) == 0)
		return n;
	/* Memory that a disk lends may have become the same meanwhile. */
	while (i < n && a[i] == b[i])
		i++;
	return i;
}

/* Compares what lies at byte `at` of the range with the data taken. False: *where differs. */
static bool
piece_same(const struct scsi_cmd *cmd, const struct iovec *piece, uint64_t at, uint64_t *where)
{
	const uint8_t *p = piece->iov_base;
	size_t left = piece->iov_len;

	while (left) {
		uint64_t offset = at % cmd->len;
		size_t n, same;
		const uint8_t *data = data_at(cmd, offset, &n);

		n = MIN(n, left);
		same = differs_at(p, data, n);
		if (same < n) {
			*where = offset + same;
			return false;
		}
		p += n;
		at += n;
		left -= n;
	}
	return true;
}

bool
compare_data(const struct scsi_cmd *cmd, const struct disk_io *io, uint64_t at, uint64_t *where)
{
	for (int i = 0; i < io->niov; i++) {
		if (!piece_same(cmd, &io->iov[i], at, where))
			return false;
		at += io->iov[i].iov_len;
	}
	return true;
}
