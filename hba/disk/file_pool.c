/* A few threads that do file I/O where io_uring cannot. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "file.h"

/* One for the process; everything under its lock. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct list queue;		/* file_io */
	unsigned users, threads;
	bool stop;
	pthread_t thread[FILE_WORKERS];
} pool = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.more = PTHREAD_COND_INITIALIZER,
	.queue = LIST_INIT(pool.queue),
};

static void
io_home(struct msg *m)
{
	disk_io_done(file_io_back(container_of(m, struct file_io, msg)));
}

static struct file_io *
pool_take(void)
{
	struct file_io *fio = NULL;

	pthread_mutex_lock(&pool.lock);
	while (list_empty(&pool.queue) && !pool.stop)
		pthread_cond_wait(&pool.more, &pool.lock);
	if (!list_empty(&pool.queue)) {
		fio = list_first(&pool.queue, struct file_io, link);
		list_del(&fio->link);
	}
	pthread_mutex_unlock(&pool.lock);
	return fio;
}

static void *
worker(void *arg)
{
	struct file_io *fio;

	while ((fio = pool_take())) {
		struct disk_io *io = file_io_back(fio);

		if (io->op == DISK_STATUS)
			file_status(io);
		else
			file_run(io);
		fio->msg.fn = io_home;
		reactor_post(fio->home, &fio->msg);
	}
	return NULL;
}

void
file_pool_submit(struct disk_io *io)
{
	pthread_mutex_lock(&pool.lock);
	list_add_tail(&pool.queue, &file_io_of(io)->link);
	pthread_cond_signal(&pool.more);
	pthread_mutex_unlock(&pool.lock);
}

int
file_pool_get(unsigned threads)
{
	sigset_t all, old;
	int err = 0;

	pthread_mutex_lock(&pool.lock);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	while (pool.threads < threads && !err) {
		err = pthread_create(&pool.thread[pool.threads], NULL, worker, NULL);
		if (!err)
			pool.threads++;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	/* Some are enough. */
	if (pool.threads > 0) {
		pool.users++;
		err = 0;
	}
	pthread_mutex_unlock(&pool.lock);
	return -err;
}

void
file_pool_put(void)
{
	unsigned threads = 0;

	pthread_mutex_lock(&pool.lock);
	if (--pool.users == 0) {
		assert(list_empty(&pool.queue));
		pool.stop = true;
		threads = pool.threads;
		pthread_cond_broadcast(&pool.more);
	}
	pthread_mutex_unlock(&pool.lock);
	for (unsigned i = 0; i < threads; i++)
		pthread_join(pool.thread[i], NULL);
	if (threads) {
		pool.threads = 0;
		pool.stop = false;
	}
}
