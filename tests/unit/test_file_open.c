/* Opening files and block devices as disks: what is taken and what is refused. */
#include "file_rig.h"

#include <pthread.h>
#include <time.h>

enum { SOON_MS = 200 };

static void *
close_soon(void *arg)
{
	const struct timespec t = { .tv_nsec = SOON_MS * 1000000 };

	nanosleep(&t, NULL);
	close(*(int *)arg);
	return NULL;
}

static uint64_t
ms_since(uint64_t began)
{
	return (now_ns() - began) / 1000000;
}

/* What keeps the disk from opening is let go a little later, as by a killed process. */
static void
opens_when_let_go(int fd)
{
	uint64_t began = now_ns();
	pthread_t thread;

	assert_true(fd >= 0);
	assert_int_equal(pthread_create(&thread, NULL, close_soon, &fd), 0);
	file_claim_until = 0;
	assert_true(opens(4096, false));
	pthread_join(thread, NULL);
	assert_true(ms_since(began) >= SOON_MS - 20);
	/* Who waits next waits for the rest of that time, not for as long again. */
	assert_true(file_claim_until > began && file_claim_until <= began + 5100000000u);
}

/* Makes /dev/loopN of the file at path. False: not root, or no loop devices here. */
static bool
loop_attach(char *dev, size_t size)
{
	char cmd[160];
	FILE *f;
	bool ok;

	snprintf(cmd, sizeof(cmd), "losetup --show -f %s 2>/dev/null", path);
	f = popen(cmd, "r");
	if (!f)
		return false;
	ok = fgets(dev, (int)size, f) && strncmp(dev, "/dev/", 5) == 0;
	dev[strcspn(dev, "\n")] = 0;
	return pclose(f) == 0 && ok;
}

static void
loop_detach(const char *dev)
{
	char cmd[160];

	snprintf(cmd, sizeof(cmd), "losetup -d %s", dev);
	assert_int_equal(system(cmd), 0);
}

static void
a_block_device_is_a_disk(void **state)
{
	for (int direct = 0; direct < 2; direct++) {
		struct way w = { .direct = direct };
		char dev[64] = "";

		assert_true(prepare(&w));
		make(SIZE);
		if (!loop_attach(dev, sizeof(dev))) {
			print_message("# no loop device may be made here\n");
			tidy();
			skip();
		}
		conf.path = dev;
		conf.size = 0;
		conf.create = false;
		opens_when_let_go(open(dev, O_RDONLY | O_EXCL));
		assert_true(drig_open2("file", &conf, &conf, 4096, false));
		/* Opened exclusively: the second export of it fails. */
		assert_false(disk_find("e")->online);
		assert_int_equal(drig.disk->size, SIZE);
		drig_expect_zeros(0, 65536);
		write_pattern(0, 1 << 20, 1, 4, 0);
		write_pattern(1 << 20, 4096, 2, 1, DISK_FUA);
		assert_int_equal(drig_io(DISK_FLUSH, 0, 0, NULL, 0, 0), 0);
		drig_expect(0, 1 << 20, 1);
		drig_expect(1 << 20, 4096, 2);
		assert_true(drig.disk->caps & DISK_CAP_ZERO);
		assert_int_equal(drig_io(DISK_ZERO, 0, 8192, NULL, 65536, 0), 0);
		drig_expect_zeros(8192, 65536);
		if (drig.disk->caps & DISK_CAP_UNMAP) {
			assert_int_equal(drig_io(DISK_UNMAP, 0, 131072, NULL, 65536, 0), 0);
			drig_expect_zeros(131072, 65536);
		}
		drig_expect(0, 8192, 1);
		drig_close();
		conf.size = SIZE + 4096;
		assert_false(opens(4096, false));
		loop_detach(dev);
		tidy();
	}
}

static void
strange_paths_are_refused(void **state)
{
	char fifo[128], sym[128];

	assert_true(prepare(&ways[0]));
	conf.create = false;
	conf.size = 0;
	assert_false(opens(512, false));	/* absent */
	conf.create = true;
	assert_false(opens(512, false));	/* create without size */
	assert_int_equal(access(path, F_OK), -1);
	conf.size = SIZE;
	assert_false(opens(512, true));		/* create, but read-only */
	conf.path = dir;
	assert_false(opens(512, false));
	conf.path = (char *)"/dev/null";
	assert_false(opens(512, false));
	snprintf(fifo, sizeof(fifo), "%s/fifo", dir);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	conf.path = fifo;
	assert_false(opens(512, false));
	unlink(fifo);
	conf.path = path;
	conf.size = 0;
	make(0);
	assert_false(opens(512, false));	/* empty */
	make(4096 + 100);
	assert_false(opens(512, false));	/* half a block */
	make(4096 + 512);
	assert_true(opens(512, false));
	assert_false(opens(4096, false));
	conf.size = 8192;
	assert_false(opens(4096, false));	/* smaller than asked for */
	conf.size = 4096;
	assert_true(opens(4096, false));	/* the first part */
	snprintf(sym, sizeof(sym), "%s/sym", dir);
	assert_int_equal(symlink("disk", sym), 0);
	conf.path = sym;
	assert_true(opens(4096, false));
	unlink(sym);
	tidy();
}

static void
create_never_touches_what_is_there(void **state)
{
	struct stat st;
	int fd;

	assert_true(prepare(&ways[0]));
	make(65536);
	fd = open(path, O_WRONLY);
	assert_int_equal(pwrite(fd, "keep", 4, 0), 4);
	close(fd);
	conf.size = 65536;
	assert_true(opens(4096, false));
	conf.size = SIZE;
	assert_false(opens(4096, false));
	stat(path, &st);
	assert_int_equal(st.st_size, 65536);
	tidy();
}

static void
one_writer_or_many_readers(void **state)
{
	int fd;

	assert_true(prepare(&ways[0]));
	make(SIZE);
	/* Twice in one configuration. */
	assert_true(drig_open2("file", &conf, &conf, 512, false));
	assert_false(disk_find("e")->online);
	drig_close();
	assert_true(drig_open2("file", &conf, &conf, 512, true));
	assert_true(disk_find("e")->online);
	drig_close();
	/* And by somebody else, who keeps it. */
	file_claim_until = 1;
	fd = open(path, O_RDONLY);
	assert_int_equal(flock(fd, LOCK_SH), 0);
	assert_false(opens(512, false));
	assert_true(opens(512, true));
	close(fd);
	assert_true(opens(512, false));
	tidy();
}

static void
a_file_that_is_let_go_late_is_taken(void **state)
{
	int fd;

	assert_true(prepare(&ways[0]));
	make(SIZE);
	fd = open(path, O_RDONLY);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	opens_when_let_go(fd);
	tidy();
}

static void
all_disks_wait_once(void **state)
{
	char second[128];
	struct file_conf other;
	uint64_t began;
	int a, b;

	assert_true(prepare(&ways[0]));
	make(SIZE);
	a = open(path, O_RDONLY);
	snprintf(second, sizeof(second), "%s/second", dir);
	b = open(second, O_RDWR | O_CREAT, 0600);
	assert_true(a >= 0 && b >= 0 && ftruncate(b, SIZE) == 0);
	assert_int_equal(flock(a, LOCK_EX), 0);
	assert_int_equal(flock(b, LOCK_EX), 0);
	other = conf;
	other.path = second;
	began = now_ns();
	file_claim_until = began + 300000000;
	assert_false(drig_open2("file", &conf, &other, 512, false));
	assert_false(disk_find("e")->online);
	assert_in_range(ms_since(began), 300, 550);
	drig_close();
	close(a);
	close(b);
	unlink(second);
	tidy();
}

static void
one_file_under_two_names_is_one_file(void **state)
{
	char name[128];
	struct file_conf other;
	uint64_t began = now_ns();

	assert_true(prepare(&ways[0]));
	make(SIZE);
	snprintf(name, sizeof(name), "%s/link", dir);
	assert_int_equal(link(path, name), 0);
	other = conf;
	other.path = name;
	file_claim_until = 0;
	assert_true(drig_open2("file", &conf, &other, 512, false));
	assert_false(disk_find("e")->online);
	drig_close();
	/* Nobody waits for itself. */
	assert_int_equal(file_claim_until, 0);
	assert_true(ms_since(began) < 2000);
	unlink(name);
	tidy();
}

static void
read_only_is_opened_so(void **state)
{
	struct file_disk *fd;

	assert_true(prepare(&ways[0]));
	make(SIZE);
	assert_true(drig_open("file", &conf, 512, true));
	fd = drig.disk->priv;
	assert_int_equal(fcntl(fd->fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	assert_true(drig.disk->caps & DISK_CAP_READ_ONLY);
	assert_false(drig.disk->caps & (DISK_CAP_UNMAP | DISK_CAP_ZERO));
	drig_expect_zeros(0, 4096);
	drig_close();
	tidy();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_block_device_is_a_disk),
		cmocka_unit_test(strange_paths_are_refused),
		cmocka_unit_test(create_never_touches_what_is_there),
		cmocka_unit_test(one_writer_or_many_readers),
		cmocka_unit_test(a_file_that_is_let_go_late_is_taken),
		cmocka_unit_test(all_disks_wait_once),
		cmocka_unit_test(one_file_under_two_names_is_one_file),
		cmocka_unit_test(read_only_is_opened_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
