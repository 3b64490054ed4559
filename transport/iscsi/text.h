/* The text of login and text PDUs: "key=value" pairs, each ended by a NUL (RFC 7143 6.1). */
#ifndef ISCSI_TEXT_H
#define ISCSI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	TEXT_KEY_MAX = 63,		/* 6.1, standard-label */
	TEXT_VALUE_MAX = 255,		/* 6.1, of a simple value */
	TEXT_PAIRS_MAX = 256,		/* ours: bounds the answer to a text of unknown keys */
};

/* A text being read; the memory stays the caller's and must outlive the pairs. */
struct text_in {
	const char *at;
	size_t left;
	unsigned pairs;
};

struct text_pair {
	char key[TEXT_KEY_MAX + 1];
	const char *value;		/* inside the text; its NUL is there */
	size_t len;
};

/* The next pair: 1; 0 at the end; -EPROTO: not a text, and nothing after it can be read. */
int text_next(struct text_in *, struct text_pair *);

/* Decimal, or hexadecimal after 0x (6.1). 0; -EINVAL: no number; -ERANGE: above max. */
int text_number(const char *value, uint64_t max, uint64_t *out);

/*
 * Hexadecimal after 0x or base64 after 0b (6.1, large-binary-value), at most size
 * bytes. 0 and *len; -EINVAL: malformed; -E2BIG: longer.
 */
int text_binary(const char *value, uint8_t *out, size_t size, size_t *len);

/* Cuts the next item off a list; an empty one has length 0. False: the list is over. */
bool text_item(const char **list, const char **item, size_t *len);
/* Whether an item is exactly this word. */
bool text_is(const char *item, size_t len, const char *word);

/* An answer being written. A pair that does not fit is left out whole and full is set. */
struct text_out {
	char *buf;
	size_t size, len;
	bool full;
};

void text_put(struct text_out *, const char *key, const char *value);
void text_put_number(struct text_out *, const char *key, uint64_t);
void text_put_hex(struct text_out *, const char *key, const uint8_t *, size_t);

#endif
