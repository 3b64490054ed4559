/* State that outlives the daemon: written beside the old, synced, renamed, and the directory synced. */
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "log.h"
#include "util.h"

enum { TEXT_MAX = 4 * 1024 * 1024, CLOSE_WAIT_S = 5 };

static struct {
	char *dir;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct list jobs;
	bool running, stop;
	pthread_t thread;
} store = { .lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER,
	.jobs = LIST_INIT(store.jobs) };

static int
write_all(int fd, const char *text)
{
	size_t left = strlen(text);

	while (left) {
		ssize_t n = write(fd, text, left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		left -= (size_t)n;
	}
	return 0;
}

static int
write_synced(int dir, const char *name, const char *text)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	int r;

	if (fd < 0)
		return -errno;
	r = write_all(fd, text);
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	if (close(fd) < 0 && r == 0)
		r = -errno;
	return r;
}

static int
replace(int dir, const char *name, const char *text)
{
	char next[64];
	int r;

	if (!text)
		return unlinkat(dir, name, 0) < 0 && errno != ENOENT ? -errno : 0;
	snprintf(next, sizeof(next), "%s.new", name);
	r = write_synced(dir, next, text);
	if (r == 0 && renameat(dir, next, dir, name) < 0)
		r = -errno;
	if (r < 0)
		unlinkat(dir, next, 0);
	return r;
}

static int
job_run(const struct store_job *job)
{
	int dir, r;

	if (mkdir(store.dir, 0700) < 0 && errno != EEXIST)
		return -errno;
	dir = open(store.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	r = replace(dir, job->name, job->text);
	if (r == 0 && fsync(dir) < 0)
		r = -errno;
	close(dir);
	return r;
}

static void
job_home(struct msg *m)
{
	struct store_job *job = container_of(m, struct store_job, msg);

	job->done(job);
}

static void *
store_thread(void *arg)
{
	struct store_job *job;

	pthread_mutex_lock(&store.lock);
	for (;;) {
		while (list_empty(&store.jobs) && !store.stop)
			pthread_cond_wait(&store.wake, &store.lock);
		if (list_empty(&store.jobs))
			break;
		job = list_first(&store.jobs, struct store_job, link);
		list_del(&job->link);
		pthread_mutex_unlock(&store.lock);

		job->result = job_run(job);
		if (job->result < 0)
			log_err("%s/%s: cannot be written: %s", store.dir, job->name,
			    strerror(-job->result));
		free(job->text);
		job->text = NULL;
		job->msg.fn = job_home;
		reactor_post(job->home, &job->msg);
		pthread_mutex_lock(&store.lock);
	}
	pthread_mutex_unlock(&store.lock);
	return NULL;
}

void
store_open(const char *dir)
{
	store.dir = strdup(dir);
	store.stop = false;
}

void
store_close(void)
{
	struct timespec end;
	bool running;

	pthread_mutex_lock(&store.lock);
	running = store.running;
	store.stop = true;
	store.running = false;
	pthread_cond_signal(&store.wake);
	pthread_mutex_unlock(&store.lock);
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += CLOSE_WAIT_S;
	if (running && pthread_timedjoin_np(store.thread, NULL, &end) != 0) {
		log_warn("%s: a write does not end", store.dir);
		return;
	}
	free(store.dir);
	store.dir = NULL;
}

/* Under the lock. The thread comes with the first job: most daemons keep nothing. */
static int
thread_start(void)
{
	int r;

	if (store.running)
		return 0;
	if (!store.dir)
		return -ENOENT;
	r = pthread_create(&store.thread, NULL, store_thread, NULL);
	store.running = r == 0;
	return -r;
}

void
store_write(struct store_job *job)
{
	int r;

	pthread_mutex_lock(&store.lock);
	r = thread_start();
	if (r == 0) {
		list_add_tail(&store.jobs, &job->link);
		pthread_cond_signal(&store.wake);
	}
	pthread_mutex_unlock(&store.lock);
	if (r == 0)
		return;
	free(job->text);
	job->text = NULL;
	job->result = r;
	job->msg.fn = job_home;
	reactor_post(job->home, &job->msg);
}

int
store_read(const char *name, char **text, size_t *len)
{
	char path[4096];
	struct stat st;
	int fd, r = 0;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%s", store.dir ? store.dir : ".", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || st.st_size > TEXT_MAX)
		r = -EFBIG;
	*text = r == 0 ? malloc((size_t)st.st_size + 1) : NULL;
	if (r == 0 && !*text)
		r = -ENOMEM;
	if (r == 0) {
		n = read(fd, *text, (size_t)st.st_size);
		r = n < 0 ? -errno : 0;
		*len = n < 0 ? 0 : (size_t)n;
	}
	close(fd);
	if (r < 0 && *text) {
		free(*text);
		*text = NULL;
	}
	return r;
}
