/* The daemon's control socket, from the other side. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "client.h"

/* A daemon that is stuck must not keep a script for ever. */
enum { PATIENCE_SECONDS = 60, READ = 64 * 1024 };

int
client_open(struct client *c, const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct timeval patience = { PATIENCE_SECONDS, 0 };
	int err;

	*c = (struct client){ .fd = -1 };
	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	memcpy(addr.sun_path, path, strlen(path));
	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		return -errno;
	setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(c->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (connect(c->fd, (struct sockaddr *)&addr, sizeof(addr)) == 0)
		return 0;
	err = -errno;
	client_close(c);
	return err;
}

void
client_close(struct client *c)
{
	if (c->fd >= 0)
		close(c->fd);
	free(c->in);
	*c = (struct client){ .fd = -1 };
}

static int
send_all(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = send(fd, text, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		len -= (size_t)n;
	}
	return 0;
}

static int
receive(struct client *c)
{
	ssize_t n;
	char *more;

	if (c->cap - c->len < READ) {
		more = realloc(c->in, c->cap + 2 * READ);
		if (!more)
			return -ENOMEM;
		c->in = more;
		c->cap += 2 * READ;
	}
	do
		n = recv(c->fd, c->in + c->len, READ, 0);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n ? -errno : -ECONNRESET;
	c->len += (size_t)n;
	return 0;
}

static int
receive_answer(struct client *c, json_t **answer)
{
	size_t seen = 0, line;
	char *end = NULL;
	int err;

	while (!end) {
		if (c->len > seen)
			end = memchr(c->in + seen, '\n', c->len - seen);
		seen = c->len;
		err = end ? 0 : receive(c);
		if (err)
			return err;
	}
	line = (size_t)(end - c->in);
	*answer = json_loadb(c->in, line, 0, NULL);
	c->len -= line + 1;
	memmove(c->in, end + 1, c->len);
	return json_is_object(*answer) ? 0 : -EPROTO;
}

int
client_ask(struct client *c, const char *verb, json_t *params, json_t **answer)
{
	json_t *request = json_pack("{s:s, s:i, s:s, s:O*}", "jsonrpc", "2.0", "id", ++c->id,
	    "method", verb, "params", params);
	char *text = json_dumps(request, JSON_COMPACT);
	int err = text ? send_all(c->fd, text, strlen(text)) : -EINVAL;

	*answer = NULL;
	json_decref(request);
	free(text);
	if (!err)
		err = send_all(c->fd, "\n", 1);
	if (!err)
		err = receive_answer(c, answer);
	if (!err)
		return 0;
	json_decref(*answer);
	*answer = NULL;
	return err;
}
