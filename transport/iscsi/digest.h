/* CRC32C over headers and data (RFC 7143 13.1). */
#ifndef ISCSI_DIGEST_H
#define ISCSI_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The state of a digest that covers nothing yet. */
#define DIGEST_INIT 0xffffffffu

/* Covers len more bytes. */
uint32_t digest_add(uint32_t crc, const void *bytes, size_t len);
/* Writes the four bytes as the wire has them: least significant first. */
void digest_end(uint32_t crc, uint8_t out[4]);
bool digest_matches(uint32_t crc, const uint8_t on_wire[4]);

#endif
