/* Asynchronous events: an initiator that is idle is told what is new at a unit (SRP_AER_REQ). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "channel.h"

enum { LUNS_A_TICK = 64, ASC_RESET = 0x29 };

#define QUIET_NS (1 * SEC)		/* who sends commands hears of attentions in the answers */

/* Of a channel. Units are asked in turns, a few in each tick. */
struct aer {
	uint32_t lun;			/* the next one to ask */
	uint64_t told[];		/* bit per unit: its attention was told and is still there */
};

int
aer_open(struct srp_channel *ch)
{
	const struct srp_target_conf *conf =
	    target_conf(ch->target)->opts[transport_index(&srp_transport)];
	size_t words = (ch->nexus->nluns + 63) / 64;

	if (!conf->async_events)
		return 0;
	ch->aer = calloc(1, sizeof(*ch->aer) + words * sizeof(ch->aer->told[0]));
	return ch->aer ? 0 : -ENOMEM;
}

void
aer_close(struct srp_channel *ch)
{
	free(ch->aer);
	ch->aer = NULL;
}

/* The next unit in turn. */
static void
aer_ask(struct srp_channel *ch)
{
	struct aer *aer = ch->aer;
	uint64_t *told = &aer->told[aer->lun / 64], bit = 1ull << aer->lun % 64;
	uint8_t sense[3];

	if (!nexus_attention(ch->nexus, aer->lun, sense)) {
		*told &= ~bit;
	/* What a login or a reset brings is news to nobody who waits. */
	} else if (!(*told & bit) && sense[1] != ASC_RESET) {
		*told |= bit;
		ch->ask.event = true;
		ch->ask.event_lun = aer->lun;
		memcpy(ch->ask.event_sense, sense, sizeof(sense));
		tx_later(ch);
	}
	if (++aer->lun >= ch->nexus->nluns)
		aer->lun = 0;
}

void
aer_tick(struct srp_channel *ch, uint64_t now)
{
	uint32_t n = MIN((uint32_t)LUNS_A_TICK, ch->nexus->nluns);

	if (!ch->aer || !ch->established || now - ch->heard_ns < QUIET_NS)
		return;
	while (n-- && !ch->ask.event && !ch->ask.opcode)
		aer_ask(ch);
}
