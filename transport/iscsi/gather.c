/* Plans R2Ts and checks Data-Outs against them. */
#include "gather.h"

#include <assert.h>

#include "util.h"

#include "pdu.h"

void
gather_fail(struct gather *g, uint16_t sense)
{
	if (!g->sense)
		g->sense = sense;
}

void
gather_abandon(struct gather *g, uint16_t sense)
{
	gather_fail(g, sense);
	g->immediate = g->unsolicited = false;
	g->over = true;
}

void
gather_init(struct gather *g, const struct gather_limits *lim, uint32_t edtl, uint32_t immediate,
    bool more)
{
	*g = (struct gather){
		.edtl = edtl,
		.end = MIN(lim->first_burst, edtl),
		.ttt = ISCSI_NO_TAG,
		.immediate = immediate != 0,
		.unsolicited = more,
	};
	if ((immediate && !lim->immediate_data) || (more && lim->initial_r2t))
		gather_fail(g, GATHER_UNEXPECTED);
	if (immediate > g->end)
		gather_fail(g, GATHER_AMOUNT);
}

void
gather_want(struct gather *g, uint32_t len)
{
	assert(!g->wanted && len <= g->edtl);
	g->wanted = true;
	g->len = len;
}

/* Is this one of our R2Ts, but not the one whose turn it is? */
static bool
is_later_burst(const struct gather *g, uint32_t ttt)
{
	return g->open > 1 && ttt - g->ttt < g->open;
}

enum gather_verdict
gather_data_out(struct gather *g, uint32_t ttt, uint32_t data_sn, uint32_t offset, uint32_t len,
    bool final)
{
	if (ttt == ISCSI_NO_TAG ? !g->unsolicited : !g->open)
		return GATHER_STRAY;
	if (ttt != ISCSI_NO_TAG && ttt != g->ttt) {
		if (!is_later_burst(g, ttt))
			return GATHER_STRAY;
		gather_fail(g, GATHER_AMOUNT);
	}
	/* next never passes end, so the difference cannot wrap; offset + len could. */
	if (offset != g->next || len > g->end - g->next || data_sn != g->data_sn)
		gather_fail(g, GATHER_AMOUNT);
	else if (final && ttt != ISCSI_NO_TAG && len != g->end - g->next)
		gather_fail(g, GATHER_AMOUNT);
	g->data_sn++;
	return g->sense ? GATHER_SWALLOW : GATHER_TAKE;
}

static void
burst_done(struct gather *g, const struct gather_limits *lim)
{
	g->data_sn = 0;
	if (g->unsolicited) {
		g->unsolicited = false;
		return;
	}
	assert(g->open);
	g->open--;
	g->ttt++;
	g->end += MIN(lim->max_burst, g->asked - g->end);
}

void
gather_arrived(struct gather *g, const struct gather_limits *lim, uint32_t len, bool final)
{
	/* A burst that failed is over when the initiator says so; offsets mean nothing any more. */
	if (g->sense) {
		g->over |= final;
	} else {
		assert(len <= g->end - g->next);
		g->next += len;
	}
	if (g->immediate) {
		g->immediate = false;
		return;
	}
	if ((g->unsolicited || g->open) && (final || (!g->sense && g->open && g->next == g->end)))
		burst_done(g, lim);
}

enum gather_next
gather_next(const struct gather *g, const struct gather_limits *lim)
{
	if (g->immediate || g->unsolicited || !g->wanted)
		return GATHER_WAIT;
	if (g->sense)
		return g->open && !g->over ? GATHER_WAIT : GATHER_FAILED;
	if (g->next >= g->len)
		return GATHER_READY;
	if (g->open < lim->max_r2t && (g->r2t_sn ? g->asked : g->next) < g->len)
		return GATHER_ASK;
	return GATHER_WAIT;
}

uint32_t
gather_bursts(const struct gather *g, const struct gather_limits *lim)
{
	uint32_t left = g->len - g->next;

	return left / lim->max_burst + (left % lim->max_burst != 0);
}

void
gather_ask(struct gather *g, const struct gather_limits *lim, uint32_t first_ttt,
    struct gather_r2t *r2t)
{
	if (!g->r2t_sn)
		g->asked = g->next;
	r2t->offset = g->asked;
	r2t->len = MIN(lim->max_burst, g->len - g->asked);
	r2t->r2t_sn = g->r2t_sn++;
	r2t->ttt = first_ttt + r2t->r2t_sn;
	g->asked += r2t->len;
	if (!g->open) {
		g->ttt = r2t->ttt;
		g->end = g->asked;
	}
	g->open++;
}
