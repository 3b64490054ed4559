/* One daemon for each control socket. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"

#include "control_socket.h"

/* Makes the folders above path that are missing. */
static int
make_parents(const char *path)
{
	char *copy = strdup(path), *slash;
	int err = 0;

	if (!copy)
		return -ENOMEM;
	for (slash = strchr(copy + 1, '/'); slash && !err; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		/* EROFS, EACCES and the like come also where the folder exists. */
		if (mkdir(copy, 0755) && errno != EEXIST && access(copy, X_OK))
			err = -errno;
		*slash = '/';
	}
	free(copy);
	return err;
}

int
control_lock(const char *path)
{
	char lock[4096];
	int fd, err;

	if ((size_t)snprintf(lock, sizeof(lock), "%s.lock", path) >= sizeof(lock)) {
		log_err("control socket %s: the path is too long", path);
		return -ENAMETOOLONG;
	}
	err = make_parents(path);
	if (err) {
		log_err("control socket %s: cannot make its folder: %s", path, strerror(-err));
		return err;
	}
	fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0) {
		err = -errno;
		log_err("control socket %s: cannot open %s: %s", path, lock, strerror(-err));
		return err;
	}
	if (flock(fd, LOCK_EX | LOCK_NB)) {
		err = -errno;
		close(fd);
		if (err == -EWOULDBLOCK)
			log_err("another sluiced is running with the control socket %s", path);
		else
			log_err("control socket %s: cannot lock it: %s", path, strerror(-err));
		return err;
	}
	/* fd stays open, and with it the lock, until the process ends. */
	return 0;
}
