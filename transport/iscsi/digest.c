/* CRC32C by ISA-L, which takes several streams of the processor's instruction at once. */
#include "digest.h"

#include <isa-l/crc.h>
#include <string.h>

uint32_t
digest_add(uint32_t crc, const void *bytes, size_t len)
{
	/* ISA-L takes an int; no data segment is longer than 2^24. */
	return len ? crc32_iscsi((unsigned char *)(uintptr_t)bytes, (int)len, crc) : crc;
}

void
digest_end(uint32_t crc, uint8_t out[4])
{
	crc = ~crc;
	out[0] = (uint8_t)crc;
	out[1] = (uint8_t)(crc >> 8);
	out[2] = (uint8_t)(crc >> 16);
	out[3] = (uint8_t)(crc >> 24);
}

bool
digest_matches(uint32_t crc, const uint8_t on_wire[4])
{
	uint8_t mine[4];

	digest_end(crc, mine);
	return !memcmp(mine, on_wire, sizeof(mine));
}
