/* Which CmdSN is taken now, and how far the initiator may go. */
#include "window.h"

#include <assert.h>

#include "wire.h"

/* Unanswered commands count against the window, so it bounds what a session can make us hold. */
static void
window_open(struct window *w)
{
	uint32_t room = w->depth > w->busy ? w->depth - w->busy : 0;
	uint32_t max = w->exp_cmd_sn + room - 1;

	if (sn_before(w->max_cmd_sn, max))
		w->max_cmd_sn = max;
}

void
window_init(struct window *w, uint32_t cmd_sn, uint32_t depth)
{
	*w = (struct window){ .exp_cmd_sn = cmd_sn, .max_cmd_sn = cmd_sn - 1, .depth = depth };
	window_open(w);
}

enum window_verdict
window_check(const struct window *w, uint32_t cmd_sn, bool immediate)
{
	if (sn_before(cmd_sn, w->exp_cmd_sn))
		return WINDOW_IGNORE;
	/* An immediate one carries the next command's number, which a closed window excludes. */
	if (immediate)
		return sn_before(w->max_cmd_sn + 1, cmd_sn) ? WINDOW_IGNORE : WINDOW_NOW;
	if (sn_before(w->max_cmd_sn, cmd_sn))
		return WINDOW_IGNORE;
	return cmd_sn == w->exp_cmd_sn ? WINDOW_NOW : WINDOW_HOLD;
}

void
window_take(struct window *w, bool busy)
{
	w->exp_cmd_sn++;
	w->busy += busy;
	window_open(w);
}

void
window_done(struct window *w)
{
	assert(w->busy);
	w->busy--;
	window_open(w);
}

void
window_resize(struct window *w, uint32_t depth)
{
	w->depth = depth;
	window_open(w);
}
