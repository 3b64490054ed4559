/* What a transport may ask of unit attentions without taking them. */
#include "nexus.h"
#include "sense.h"
#include "ua.h"

bool
nexus_attention(const struct nexus *nexus, unsigned lun, uint8_t sense[3])
{
	const struct nexus_lun *nlun = lun < nexus->nluns ? nexus->luns[lun] : NULL;
	struct sense s;
	enum cond cond;

	OWNED_BY(nexus->reactor);
	if (!nlun || !ua_peek(nlun, &cond))
		return false;
	sense_init(&s, cond);
	sense[0] = s.key;
	sense[1] = s.asc;
	sense[2] = s.ascq;
	return true;
}
