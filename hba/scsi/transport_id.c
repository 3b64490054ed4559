/* TransportIDs: an initiator port as bytes (SPC-4 7.6.4.5 SRP, 7.6.4.6 iSCSI). */
#include "transport_id.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "conf.h"
#include "scsi.h"
#include "wire.h"

enum {
	HEAD = 4, LEN_MIN = 24, FORMAT = 0xc0, FORMAT_PORT = 0x40, PROTOCOL = 0x0f,
	SRP_ID_AT = 8, SRP_ID_LEN = 16, ISID_LEN = 6,
};
static const char separator[] = ",i,0x";

/* 2 * n hexadecimal digits. */
static bool
hex_bytes(const char *text, uint8_t *to, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		unsigned byte;

		if (!isxdigit((unsigned char)text[2 * i]) ||
		    !isxdigit((unsigned char)text[2 * i + 1]) ||
		    sscanf(text + 2 * i, "%2x", &byte) != 1)
			return false;
		to[i] = (uint8_t)byte;
	}
	return true;
}

unsigned
transport_id_put(uint8_t p[TRANSPORT_ID_MAX], const struct pr_nexus *nexus)
{
	const uint8_t *i = nexus->isid;
	const char *srp = nexus->initiator;
	unsigned len;

	memset(p, 0, TRANSPORT_ID_MAX);
	p[0] = nexus->protocol;
	if (nexus->protocol == PROTOCOL_SRP) {
		if (!hex_bytes(srp, p + SRP_ID_AT, SRP_ID_LEN))
			memset(p + SRP_ID_AT, 0, SRP_ID_LEN);
		return LEN_MIN;
	}
	p[0] |= FORMAT_PORT;
	len = (unsigned)snprintf((char *)p + HEAD, TRANSPORT_ID_MAX - HEAD,
	    "%s%s%02x%02x%02x%02x%02x%02x", nexus->initiator, separator, i[0], i[1], i[2], i[3],
	    i[4], i[5]);
	/* Ended by a NUL, filled up to a multiple of four. */
	len = MAX((len + 4) & ~3u, (unsigned)(LEN_MIN - HEAD));
	wr16(p + 2, (uint16_t)len);
	return HEAD + len;
}

static bool
iscsi_get(const uint8_t *p, unsigned len, struct pr_nexus *nexus)
{
	const char *text = (const char *)p, *at;
	size_t text_len = strnlen(text, len), name_len;

	if (text_len == len)
		return false;
	at = memmem(text, text_len, separator, sizeof(separator) - 1);
	if (!at)
		return false;
	name_len = (size_t)(at - text);
	if (name_len == 0 || name_len >= sizeof(nexus->initiator))
		return false;
	at += sizeof(separator) - 1;
	if (strlen(at) != 2 * ISID_LEN || !hex_bytes(at, nexus->isid, ISID_LEN))
		return false;
	memcpy(nexus->initiator, text, name_len);
	return conf_iscsi_name(nexus->initiator) == 0;
}

unsigned
transport_id_get(const uint8_t *p, unsigned len, struct pr_nexus *nexus)
{
	unsigned size;

	if (len < LEN_MIN)
		return 0;
	nexus->protocol = p[0] & PROTOCOL;
	if (nexus->protocol == PROTOCOL_SRP && (p[0] & FORMAT) == 0) {
		char *to = nexus->initiator;

		for (unsigned i = 0; i < SRP_ID_LEN; i++)
			to += sprintf(to, "%02x", p[SRP_ID_AT + i]);
		return LEN_MIN;
	}
	if (nexus->protocol != PROTOCOL_ISCSI || (p[0] & FORMAT) != FORMAT_PORT)
		return 0;
	size = rd16(p + 2);
	if (size % 4 || size < LEN_MIN - HEAD || size > len - HEAD)
		return 0;
	return iscsi_get(p + HEAD, size, nexus) ? HEAD + size : 0;
}
