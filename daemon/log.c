/* One line a message, to stderr; and how often a peer may cause one. */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "log.h"
#include "log_limit.h"
#include "util.h"

enum { LINE = 1024 };

enum log_level log_level = LOG_LEVEL_INFO;

static const struct {
	const char *word;
	int priority;			/* syslog(3)'s, as sd-daemon(3) wants it */
} levels[] = {
	[LOG_LEVEL_ERR] = { "error", 3 },
	[LOG_LEVEL_WARN] = { "warning", 4 },
	[LOG_LEVEL_INFO] = { "info", 6 },
	[LOG_LEVEL_DEBUG] = { "debug", 7 },
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool to_journal;
static pthread_mutex_t limit_lock = PTHREAD_MUTEX_INITIALIZER;
static struct log_limit limit;

/*
 * systemd.exec(5): JOURNAL_STREAM names the device and inode of the stream;
 * stderr may have been redirected since.
 */
static void
find_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;
	struct stat st;

	to_journal = stream && sscanf(stream, "%llu:%llu", &dev, &ino) == 2 &&
	    fstat(STDERR_FILENO, &st) == 0 && st.st_dev == dev && st.st_ino == ino;
}

static void
add_prefix(char *line, size_t *at, enum log_level level)
{
	struct timespec t;
	struct tm tm;

	pthread_once(&once, find_journal);
	if (to_journal) {
		text_add(line, LINE, at, "<%d>", levels[level].priority);
		return;
	}
	clock_gettime(CLOCK_REALTIME, &t);
	localtime_r(&t.tv_sec, &tm);
	*at = strftime(line, LINE, "%F %T", &tm);
	text_add(line, LINE, at, ".%03ld %s: ", t.tv_nsec / 1000000, levels[level].word);
}

static void
log_line(enum log_level level, uint32_t held, const char *fmt, va_list ap)
{
	char line[LINE + 1];
	size_t at = 0, start;
	int n;

	add_prefix(line, &at, level);
	start = at;
	n = vsnprintf(line + at, LINE - at, fmt, ap);
	if (n > 0)
		at += MIN((size_t)n, LINE - 1 - at);
	if (held)
		text_add(line, LINE, &at, " (%u more like this were not logged)", held);
	/* One message is one line, also when somebody forgot log_text. */
	for (size_t i = start; i < at; i++)
		if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
			line[i] = '?';
	line[at++] = '\n';
	while (write(STDERR_FILENO, line, at) < 0 && errno == EINTR)
		;
}

void
log_msg(enum log_level level, const char *fmt, ...)
{
	va_list ap;

	if (level > log_level)
		return;
	va_start(ap, fmt);
	log_line(level, 0, fmt, ap);
	va_end(ap);
}

void
log_peer(enum log_level level, const char *peer, const char *fmt, ...)
{
	uint32_t held = 0;
	bool may;
	va_list ap;

	if (level > log_level)
		return;
	pthread_mutex_lock(&limit_lock);
	may = log_limit_pass(&limit, fmt, peer, now_ns(), &held);
	pthread_mutex_unlock(&limit_lock);
	if (!may)
		return;
	va_start(ap, fmt);
	log_line(level, held, fmt, ap);
	va_end(ap);
}

const char *
log_text(char *buf, unsigned size, const void *text, unsigned len)
{
	const unsigned char *p = text;
	size_t at = 0;

	if (!size)
		return buf;
	for (; len; p++, len--) {
		bool plain = *p >= ' ' && *p < 0x7f;

		/* Half an escape would be a different text. */
		if ((plain ? 1 : 4) > size - 1 - at)
			break;
		if (plain)
			buf[at++] = (char)*p;
		else
			at += (size_t)snprintf(buf + at, size - at, "\\x%02x", *p);
	}
	buf[at] = 0;
	return buf;
}
