/* A changed configuration for the running daemon. */
#ifndef RELOAD_H
#define RELOAD_H

struct conf;

/* From here on the configuration can be read again: from path, into running. Both live as long as the daemon. */
void reload_init(const char *path, struct conf *running);
/* SIGHUP: the outcome goes to the log. Main thread; may wait some seconds for an adapter to drain. */
void reload_signalled(void);

#endif
