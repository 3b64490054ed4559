/* One line a message, to stderr; under systemd with the priority prefix the journal knows. */
#ifndef LOG_H
#define LOG_H

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_LEVEL_ERR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* Messages above this are dropped; INFO by default, DEBUG with -v. Set before threads start. */
extern enum log_level log_level;

/*
 * Any thread. One write(2) a line; never blocks the daemon for a slow reader
 * longer than the pipe does. What a peer sent goes through log_text() first.
 */
__attribute__((format(printf, 2, 3)))
void log_msg(enum log_level level, const char *fmt, ...);

#define log_err(...) log_msg(LOG_LEVEL_ERR, __VA_ARGS__)
#define log_warn(...) log_msg(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...) log_msg(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...)                                                              \
	do {                                                                        \
		if (log_level >= LOG_LEVEL_DEBUG)                                   \
			log_msg(LOG_LEVEL_DEBUG, __VA_ARGS__);                      \
	} while (0)

/*
 * For what a peer can trigger at will: at most `burst` lines of this place a
 * second and peer (peer: any text that names it, hashed); the next line let
 * through says how many were held back. Any thread.
 */
__attribute__((format(printf, 3, 4)))
void log_peer(enum log_level level, const char *peer, const char *fmt, ...);

/* Copies len bytes of text from outside into buf (size bytes, always ended), other than printable ASCII as \xNN. Returns buf. */
const char *log_text(char *buf, unsigned size, const void *text, unsigned len);

#endif
