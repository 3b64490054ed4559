/* Numbers as they stand on the wire: big-endian bytes that cannot be mistaken for numbers. */
#ifndef WIRE_H
#define WIRE_H

#include <stddef.h>
#include <stdint.h>

/*
 * A field of a wire struct has one of these types.  `h->itt == v` does not
 * compile; `get32(h->itt) == v` does.  Bytes need no alignment, so wire structs
 * need no packed attribute; gcc and clang make one mov and one bswap of each.
 */
typedef struct { uint8_t b[2]; } be16;
typedef struct { uint8_t b[3]; } be24;
typedef struct { uint8_t b[4]; } be32;
typedef struct { uint8_t b[8]; } be64;

static inline uint16_t
get16(be16 v)
{
	return (uint16_t)(v.b[0] << 8 | v.b[1]);
}

static inline uint32_t
get24(be24 v)
{
	return (uint32_t)v.b[0] << 16 | (uint32_t)v.b[1] << 8 | v.b[2];
}

static inline uint32_t
get32(be32 v)
{
	return (uint32_t)v.b[0] << 24 | (uint32_t)v.b[1] << 16 | (uint32_t)v.b[2] << 8 | v.b[3];
}

static inline uint64_t
get64(be64 v)
{
	return (uint64_t)v.b[0] << 56 | (uint64_t)v.b[1] << 48 | (uint64_t)v.b[2] << 40 |
	    (uint64_t)v.b[3] << 32 | (uint64_t)v.b[4] << 24 | (uint64_t)v.b[5] << 16 |
	    (uint64_t)v.b[6] << 8 | v.b[7];
}

static inline be16
put16(uint16_t v)
{
	return (be16){ { (uint8_t)(v >> 8), (uint8_t)v } };
}

static inline be24
put24(uint32_t v)
{
	return (be24){ { (uint8_t)(v >> 16), (uint8_t)(v >> 8), (uint8_t)v } };
}

static inline be32
put32(uint32_t v)
{
	return (be32){ { (uint8_t)(v >> 24), (uint8_t)(v >> 16), (uint8_t)(v >> 8), (uint8_t)v } };
}

static inline be64
put64(uint64_t v)
{
	return (be64){ { (uint8_t)(v >> 56), (uint8_t)(v >> 48), (uint8_t)(v >> 40),
	    (uint8_t)(v >> 32), (uint8_t)(v >> 24), (uint8_t)(v >> 16), (uint8_t)(v >> 8),
	    (uint8_t)v } };
}

/* The same for bytes that have no struct, such as a CDB or a parameter list. */
#define GETTER(bits, type)                                                          \
	static inline type rd##bits(const uint8_t *p)                               \
	{                                                                           \
		be##bits v;                                                         \
		__builtin_memcpy(&v, p, sizeof(v));                                 \
		return get##bits(v);                                                \
	}                                                                           \
	static inline void wr##bits(uint8_t *p, type n)                             \
	{                                                                           \
		be##bits v = put##bits(n);                                          \
		__builtin_memcpy(p, &v, sizeof(v));                                 \
	}
GETTER(16, uint16_t)
GETTER(24, uint32_t)
GETTER(32, uint32_t)
GETTER(64, uint64_t)
#undef GETTER

/* After every wire struct: its size, and offsets with the standard's byte numbers. */
#define WIRE_SIZE(type, n) _Static_assert(sizeof(type) == (n), #type " is not " #n " bytes")
#define WIRE_AT(type, field, n)                                                     \
	_Static_assert(offsetof(type, field) == (n), #type "." #field " is not at " #n)

/* Serial numbers (RFC 1982): a comes before b. Distance must be under 2^31. */
static inline int
sn_before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

#endif
