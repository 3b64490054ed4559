/* Disks in files: every way a request can go, and answers of the kernel that are hard to get. */
#include "file_rig.h"

static void
what_was_written_is_read_on_every_way(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		if (!prepare(&ways[i])) {
			print_message("# %s: no such file system here\n", ways[i].name);
			continue;
		}
		assert_true(drig_open("file", &conf, 4096, false));
		assert_int_equal(drig.disk->size, SIZE);
		drig_expect_zeros(0, BUF_XFER_MAX);
		write_pattern(0, 4096, 1, 1, 0);
		write_pattern(8192, 16 * 4096, 2, 16, DISK_FUA);
		write_pattern(SIZE - 4096, 4096, 3, 1, 0);
		write_pattern(1 << 20, BUF_XFER_MAX, 4, 16, 0);
		for (int pass = 0; pass < 2; pass++) {
			drig_expect(0, 4096, 1);
			drig_expect(8192, 16 * 4096, 2);
			drig_expect(SIZE - 4096, 4096, 3);
			drig_expect(1 << 20, BUF_XFER_MAX, 4);
			drig_expect_zeros(4096, 4096);
			drop_cache();
		}
		assert_int_equal(drig_io(DISK_FLUSH, 0, 0, NULL, 0, 0), 0);
		drig_close();

		/* And after a restart, which does not make the file anew. */
		assert_true(drig_open("file", &conf, 4096, false));
		drig_expect(8192, 16 * 4096, 2);
		drig_close();
		tidy();
	}
}

static void
unmap_and_zero_on_every_way(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(ways) * 2; i++) {
		struct stat before, after;
		enum disk_op op = i & 1 ? DISK_UNMAP : DISK_ZERO;

		if (!prepare(&ways[i / 2]))
			continue;
		assert_true(drig_open("file", &conf, 4096, false));
		if (drig.disk->caps & DISK_CAP_UNMAP) {
			write_pattern(0, 1 << 20, 7, 1, 0);
			assert_int_equal(drig_io(DISK_FLUSH, 0, 0, NULL, 0, 0), 0);
			stat(path, &before);
			assert_int_equal(drig_io(op, 0, 64 * 1024, NULL, 512 * 1024, 0), 0);
			drig_expect_zeros(64 * 1024, 512 * 1024);
			drig_expect(0, 64 * 1024, 7);
			drig_expect(576 * 1024, 64 * 1024, 7);
			stat(path, &after);
			assert_int_equal(after.st_size, SIZE);
			if (op == DISK_UNMAP)
				assert_true(after.st_blocks < before.st_blocks);
		} else {
			print_message("# %s: no holes here\n", ways[i / 2].name);
		}
		drig_close();
		tidy();
	}
}

/* The file's file system can answer instead of waiting; those that surely can must have said so. */
static bool
may_be_tried(void)
{
	char byte;
	struct iovec iov = { &byte, 1 };
	struct statfs fs;
	int fd = open(path, O_RDONLY);
	bool can;

	assert_true(fd >= 0);
	can = preadv2(fd, &iov, 1, 0, RWF_NOWAIT) >= 0 || errno == EAGAIN;
	assert_int_equal(fstatfs(fd, &fs), 0);
	if (fs.f_type == EXT4_SUPER_MAGIC || fs.f_type == XFS_SUPER_MAGIC)
		assert_true(can);
	close(fd);
	return can;
}

static void
capabilities_say_what_happens(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		struct file_disk *fd;

		if (!prepare(&ways[i]))
			continue;
		assert_true(drig_open("file", &conf, 4096, false));
		fd = drig.disk->priv;
		assert_int_equal(!!(drig.disk->caps & DISK_CAP_WRITE_CACHE),
		    !ways[i].write_through);
		assert_int_equal(!!(fcntl(fd->fd, F_GETFL) & O_DSYNC), ways[i].write_through);
		assert_int_equal(!!(fcntl(fd->fd, F_GETFL) & O_DIRECT), ways[i].direct);
		assert_int_equal(!!(drig.disk->caps & DISK_CAP_INLINE), ways[i].tmpfs);
		/* The fast way where there is one, `direct` or not. */
		assert_int_equal(fd->async, !may_be_tried());
		assert_int_equal(fd->nowait, !fd->async && !ways[i].direct);
		drig_close();
		tidy();
	}
}

static void
cached_reads_are_done_at_once(void **state)
{
	if (!prepare(&ways[0]))
		skip();
	assert_true(drig_open("file", &conf, 512, false));
	write_pattern(0, 65536, 1, 1, 0);
	drig_expect(0, 4096, 1);
	if (((struct file_disk *)drig.disk->priv)->nowait)
		assert_int_equal(drig.verdict, BRIDGE_DONE);
	else
		print_message("# no RWF_NOWAIT here\n");
	drig_close();
	tidy();
}

static void
memory_that_is_not_aligned_goes_past_direct(void **state)
{
	char *buf;

	if (!prepare(&ways[2]))
		skip();
	assert_true(drig_open("file", &conf, 4096, false));
	buf = aligned(3 * 4096);
	drig_fill(buf + 3, 4096, 8192, 5);
	assert_int_equal(drig_write(4096, buf + 3, 8192), 0);
	drig_expect(4096, 8192, 5);
	memset(buf, 0, 3 * 4096);
	assert_int_equal(drig_read(4096, buf + 1, 8192), 0);
	drig_fill(buf + 8192 + 8, 4096, 64, 5);
	assert_memory_equal(buf + 1, buf + 8192 + 8, 64);
	free(buf);
	drig_close();
	tidy();
}

/* K27: a file that was cut behind our back reads zeros where it ended, on every way. */
static void
behind_the_end_are_zeros(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		if (!prepare(&ways[i]))
			continue;
		assert_true(drig_open("file", &conf, 512, false));
		write_pattern(0, 65536, 1, 1, 0);
		assert_int_equal(drig_io(DISK_FLUSH, 0, 0, NULL, 0, 0), 0);
		assert_int_equal(truncate(path, 5000), 0);
		drig_expect(0, 4608, 1);
		drig_expect_zeros(5120, 60416);
		drig_expect_zeros(SIZE - 4096, 4096);
		{
			unsigned char got[8192], want[8192] = { 0 };

			memset(got, 0xee, sizeof(got));
			drig_fill(want, 0, 5000, 1);
			assert_int_equal(drig_io(DISK_READ, 0, 0, got, sizeof(got), 4), 0);
			assert_memory_equal(got, want, sizeof(got));
		}
		drig_close();
		tidy();
	}
}

/* -- answers of the kernel that are hard to get -- */

static atomic_int seam_calls;
static enum disk_op seam_op;
static int seam_fail;

static int
fail_once(const struct disk_io *io, int res)
{
	if (io->op != seam_op || atomic_fetch_add(&seam_calls, 1))
		return res;
	return seam_fail;
}

/* Says that the transfer was interrupted twice. */
static int
interrupt(const struct disk_io *io, int res)
{
	int n = atomic_fetch_add(&seam_calls, 1);

	return n == 0 ? -EINTR : n == 1 ? -EAGAIN : res;
}

static void
a_failed_flush_is_never_retried_into_success(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		if (!prepare(&ways[i]))
			continue;
		assert_true(drig_open("file", &conf, 4096, false));
		write_pattern(0, 4096, 1, 1, 0);
		seam_op = DISK_FLUSH;
		seam_fail = -EIO;
		atomic_store(&seam_calls, 0);
		file_seam = fail_once;
		assert_int_equal(drig_io(DISK_FLUSH, 0, 0, NULL, 0, 0), -EIO);
		assert_int_equal(drig_io(DISK_FLUSH, 0, 0, NULL, 0, 0), -EIO);
		{
			char buf[4096] __attribute__((aligned(4096))) = { 0 };

			assert_int_equal(drig_io(DISK_WRITE, DISK_FUA, 0, buf, 4096, 1), -EIO);
			assert_int_equal(drig_io(DISK_WRITE, 0, 4096, buf, 4096, 1), 0);
		}
		assert_int_equal(seam_calls > 0, 1);
		drig_expect(0, 4096, 1);
		drig_close();
		tidy();
	}
}

static void
a_failed_fua_write_spoils_later_flushes(void **state)
{
	char buf[4096] __attribute__((aligned(4096))) = { 0 };

	for (int i = 0; i < 2; i++) {
		if (!prepare(&ways[0]))
			skip();
		assert_true(drig_open("file", &conf, 4096, false));
		seam_op = DISK_WRITE;
		/* No space is the write's own failure; once there is some, all is well. */
		seam_fail = i ? -ENOSPC : -EIO;
		atomic_store(&seam_calls, 0);
		file_seam = fail_once;
		assert_int_equal(drig_io(DISK_WRITE, DISK_FUA, 0, buf, 4096, 1), seam_fail);
		assert_int_equal(drig_io(DISK_FLUSH, 0, 0, NULL, 0, 0), i ? 0 : -EIO);
		drig_close();
		tidy();
	}
}

static void
an_interrupted_call_is_asked_again(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		if (!prepare(&ways[i]))
			continue;
		assert_true(drig_open("file", &conf, 4096, false));
		atomic_store(&seam_calls, 0);
		file_seam = interrupt;
		write_pattern(0, 4096, 1, 1, 0);
		atomic_store(&seam_calls, 0);
		assert_int_equal(drig_io(DISK_FLUSH, 0, 0, NULL, 0, 0), 0);
		assert_int_equal(seam_calls, 3);
		file_seam = NULL;
		drig_expect(0, 4096, 1);
		drig_close();
		tidy();
	}
}

static int
fail_always(const struct disk_io *io, int res)
{
	return io->op == seam_op ? seam_fail : res;
}

/* K42: the device server makes sense data of these, and of no others (disk.h). */
static void
what_the_kernel_says_is_told(void **state)
{
	static const struct { int said, told; } rows[] = {
		{ -EIO, -EIO },
		{ -ENOSPC, -ENOSPC }, { -EDQUOT, -ENOSPC }, { -EFBIG, -ENOSPC },
		{ -ENODEV, -ENODEV }, { -ENXIO, -ENODEV },
		{ -ENOTCONN, -ENODEV }, { -ECONNABORTED, -ENODEV }, { -ESTALE, -ENODEV },
		{ -EROFS, -EROFS }, { -EPERM, -EROFS },
		{ -ENOMEM, -ENOMEM }, { -EAGAIN, -EAGAIN },
		{ -ETIMEDOUT, -ETIMEDOUT }, { -ETIME, -ETIMEDOUT }, { -ENOLINK, -ETIMEDOUT },
		{ -EOPNOTSUPP, -EOPNOTSUPP },
		/* Never a miscompare. */
		{ -EILSEQ, -EIO }, { -EINVAL, -EIO }, { -ENODATA, -EIO }, { -EINTR, -EIO },
	};
	static const enum disk_op ops[] = { DISK_READ, DISK_WRITE, DISK_UNMAP };
	char buf[4096] __attribute__((aligned(4096))) = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		if (!prepare(&ways[i]))
			continue;
		assert_true(drig_open("file", &conf, 4096, false));
		/* Else it comes from the page cache, and nobody is asked. */
		((struct file_disk *)drig.disk->priv)->nowait = false;
		for (size_t k = 0; k < ARRAY_LEN(rows) * ARRAY_LEN(ops); k++) {
			seam_op = ops[k % ARRAY_LEN(ops)];
			seam_fail = rows[k / ARRAY_LEN(ops)].said;
			file_seam = fail_always;
			assert_int_equal(drig_io(seam_op, 0, 0, buf, 4096, 1),
			    ways[i].tmpfs && seam_op != DISK_UNMAP ? 0 :
			    rows[k / ARRAY_LEN(ops)].told);
			file_seam = NULL;
		}
		drig_close();
		tidy();
	}
}

/* Each transfer is said to have moved 1000 bytes at most. */
static int
short_answer(const struct disk_io *io, int res)
{
	return (io->op == DISK_READ || io->op == DISK_WRITE) && res > 1000 ? 1000 : res;
}

static void
a_short_transfer_is_continued(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		char *buf, *want;

		if (!prepare(&ways[i]))
			continue;
		assert_true(drig_open("file", &conf, 4096, false));
		buf = aligned(65536);
		want = malloc(65536);
		assert_non_null(want);
		file_seam = short_answer;
		write_pattern(4096, 65536, 6, 13, 0);
		drop_cache();
		assert_int_equal(drig_io(DISK_READ, 0, 4096, buf, 65536, 7), 0);
		file_seam = NULL;
		drig_fill(want, 4096, 65536, 6);
		assert_memory_equal(buf, want, 65536);
		free(buf);
		free(want);
		drig_close();
		tidy();
	}
}

static int
no_zero_range(const struct disk_io *io, int res)
{
	if (io->op != DISK_ZERO)
		return res;
	return file_io_of((struct disk_io *)io)->hole ? res : -EOPNOTSUPP;
}

static void
zero_falls_back_to_a_hole(void **state)
{
	if (!prepare(&ways[0]))
		skip();
	assert_true(drig_open("file", &conf, 4096, false));
	file_seam = no_zero_range;
	for (int i = 0; i < 2; i++) {
		write_pattern(0, 65536, 6, 1, 0);
		assert_int_equal(drig_io(DISK_ZERO, 0, 0, NULL, 65536, 0), 0);
		drig_expect_zeros(0, 65536);
	}
	assert_true(((struct file_disk *)drig.disk->priv)->zero_by_hole);
	drig_close();
	tidy();
}

static void
no_space_is_told(void **state)
{
	char mnt[] = "/tmp/sluice-test-XXXXXX", *buf = malloc(1 << 20);

	if (geteuid() != 0) {
		print_message("# needs root for a small tmpfs\n");
		free(buf);
		skip();
	}
	assert_non_null(buf);
	assert_non_null(mkdtemp(mnt));
	if (mount("none", mnt, "tmpfs", 0, "size=2m")) {
		print_message("# no tmpfs may be mounted here\n");
		rmdir(mnt);
		free(buf);
		skip();
	}
	snprintf(path, sizeof(path), "%s/disk", mnt);
	conf = (struct file_conf){ .path = path, .size = SIZE, .create = true,
		.write_cache = true };
	assert_true(drig_open("file", &conf, 4096, false));
	drig_fill(buf, 0, 1 << 20, 1);
	assert_int_equal(drig_write(0, buf, 1 << 20), 0);
	assert_int_equal(drig_write(4 << 20, buf, 1 << 20), 0);
	assert_int_equal(drig_write(6 << 20, buf, 1 << 20), -ENOSPC);
	/* Room again after an unmap: nothing sticks. */
	assert_int_equal(drig_io(DISK_UNMAP, 0, 4 << 20, NULL, 1 << 20, 0), 0);
	assert_int_equal(drig_write(6 << 20, buf, 1 << 20), 0);
	drig_expect(0, 1 << 20, 1);
	drig_close();
	umount(mnt);
	rmdir(mnt);
	free(buf);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_written_is_read_on_every_way),
		cmocka_unit_test(unmap_and_zero_on_every_way),
		cmocka_unit_test(capabilities_say_what_happens),
		cmocka_unit_test(cached_reads_are_done_at_once),
		cmocka_unit_test(memory_that_is_not_aligned_goes_past_direct),
		cmocka_unit_test(behind_the_end_are_zeros),
		cmocka_unit_test(a_failed_flush_is_never_retried_into_success),
		cmocka_unit_test(a_failed_fua_write_spoils_later_flushes),
		cmocka_unit_test(an_interrupted_call_is_asked_again),
		cmocka_unit_test(what_the_kernel_says_is_told),
		cmocka_unit_test(a_short_transfer_is_continued),
		cmocka_unit_test(zero_falls_back_to_a_hole),
		cmocka_unit_test(no_space_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
