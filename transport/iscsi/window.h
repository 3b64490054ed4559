/* The CmdSN window of a session (RFC 7143 4.2.2.1): pure arithmetic on serial numbers. */
#ifndef ISCSI_WINDOW_H
#define ISCSI_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

struct window {
	uint32_t exp_cmd_sn;		/* the next that is taken */
	uint32_t max_cmd_sn;		/* the last that may be sent; never goes back */
	uint32_t depth;			/* commands that may be unanswered, at least 1 */
	uint32_t busy;			/* commands that are */
};

enum window_verdict {
	WINDOW_NOW,			/* in turn */
	WINDOW_HOLD,			/* inside, but one before it is missing */
	WINDOW_IGNORE,			/* outside */
};

void window_init(struct window *, uint32_t cmd_sn, uint32_t depth);
enum window_verdict window_check(const struct window *, uint32_t cmd_sn, bool immediate);
/* The request in turn was taken; a task (busy) holds its place until window_done. */
void window_take(struct window *, bool busy);
void window_done(struct window *);
/* Another depth: a smaller one closes the window only as answers go out. */
void window_resize(struct window *, uint32_t depth);

#endif
