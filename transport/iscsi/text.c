/* Reads and writes the text of login and text PDUs; every value from outside is decoded here. */
#include "text.h"

#include <errno.h>
#include <inttypes.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

/* Encoded characters; no binary value of iSCSI has more than 1024 bytes. */
enum { BASE64_MAX = 2048 };

/* Letters, digits, . - + @ _ by 6.1, # by the X# form of RFC 3720: printable and no separator. */
static bool
key_char_ok(char c)
{
	return c > 0x20 && c < 0x7f && c != '=';
}

int
text_next(struct text_in *in, struct text_pair *p)
{
	const char *end;
	size_t n, whole;

	/* Stray NULs are harmless: some initiators count their padding as text. */
	while (in->left > 0 && *in->at == '\0') {
		in->at++;
		in->left--;
	}
	if (in->left == 0)
		return 0;
	end = memchr(in->at, '\0', in->left);
	if (end == NULL || in->pairs == TEXT_PAIRS_MAX)
		return -EPROTO;
	whole = (size_t)(end - in->at);
	for (n = 0; n < whole && key_char_ok(in->at[n]); n++)
		;
	if (n == 0 || n > TEXT_KEY_MAX || n == whole || in->at[n] != '=')
		return -EPROTO;
	memcpy(p->key, in->at, n);
	p->key[n] = '\0';
	p->value = in->at + n + 1;
	p->len = whole - n - 1;
	in->at += whole + 1;
	in->left -= whole + 1;
	in->pairs++;
	return 1;
}

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool
prefix_is(const char *s, char letter)
{
	return s[0] == '0' && (s[1] | 0x20) == letter;
}

int
text_number(const char *s, uint64_t max, uint64_t *out)
{
	unsigned base = 10;
	uint64_t v = 0;
	int d;

	if (prefix_is(s, 'x')) {
		base = 16;
		s += 2;
	} else if (s[0] == '0' && s[1] != '\0') {
		return -EINVAL;		/* 6.1: a decimal constant starts with a non-zero digit */
	}
	if (*s == '\0')
		return -EINVAL;
	for (; *s != '\0'; s++) {
		d = hex_digit(*s);
		if (d < 0 || (unsigned)d >= base)
			return -EINVAL;
		if (v > (UINT64_MAX - (unsigned)d) / base)
			return -ERANGE;
		v = v * base + (unsigned)d;
	}
	if (v > max)
		return -ERANGE;
	*out = v;
	return 0;
}

static int
hex_decode(const char *s, uint8_t *out, size_t size, size_t *len)
{
	size_t n = strlen(s), i;
	int hi, lo;

	if (n == 0 || n % 2 != 0)
		return -EINVAL;
	if (n / 2 > size)
		return -E2BIG;
	for (i = 0; i < n / 2; i++) {
		hi = hex_digit(s[2 * i]);
		lo = hex_digit(s[2 * i + 1]);
		if (hi < 0 || lo < 0)
			return -EINVAL;
		out[i] = (uint8_t)(hi << 4 | lo);
	}
	*len = n / 2;
	return 0;
}

static int
base64_decode(const char *s, uint8_t *out, size_t size, size_t *len)
{
	uint8_t whole[BASE64_MAX / 4 * 3];
	size_t n = strlen(s), digits, got;

	digits = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
	/* EVP_DecodeBlock forgives blanks and padding in the middle: be exact first. */
	if (n == 0 || n % 4 != 0 || n - digits > 2 || strspn(s + digits, "=") != n - digits)
		return -EINVAL;
	got = n / 4 * 3 - (n - digits);
	if (got > size || n > BASE64_MAX)
		return -E2BIG;
	if (EVP_DecodeBlock(whole, (const unsigned char *)s, (int)n) != (int)(n / 4 * 3))
		return -EINVAL;
	memcpy(out, whole, got);
	OPENSSL_cleanse(whole, sizeof(whole));
	*len = got;
	return 0;
}

int
text_binary(const char *s, uint8_t *out, size_t size, size_t *len)
{
	if (prefix_is(s, 'x'))
		return hex_decode(s + 2, out, size, len);
	if (prefix_is(s, 'b'))
		return base64_decode(s + 2, out, size, len);
	return -EINVAL;
}

bool
text_item(const char **list, const char **item, size_t *len)
{
	if (*list == NULL)
		return false;
	*item = *list;
	*len = strcspn(*list, ",");
	*list = (*list)[*len] == ',' ? *list + *len + 1 : NULL;
	return true;
}

bool
text_is(const char *item, size_t len, const char *word)
{
	return strlen(word) == len && memcmp(item, word, len) == 0;
}

void
text_put(struct text_out *o, const char *key, const char *value)
{
	size_t k = strlen(key), v = strlen(value);

	if (o->full || k + v + 2 > o->size - o->len) {
		o->full = true;
		return;
	}
	memcpy(o->buf + o->len, key, k);
	o->buf[o->len + k] = '=';
	memcpy(o->buf + o->len + k + 1, value, v + 1);
	o->len += k + v + 2;
}

void
text_put_number(struct text_out *o, const char *key, uint64_t v)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%" PRIu64, v);
	text_put(o, key, digits);
}

void
text_put_hex(struct text_out *o, const char *key, const uint8_t *p, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	size_t k = strlen(key), i;
	char *at;

	/* Divide rather than multiply: 2 * n may wrap. */
	if (o->full || k + 4 > o->size - o->len || n > (o->size - o->len - k - 4) / 2) {
		o->full = true;
		return;
	}
	at = o->buf + o->len;
	memcpy(at, key, k);
	memcpy(at + k, "=0x", 3);
	at += k + 3;
	for (i = 0; i < n; i++) {
		*at++ = digits[p[i] >> 4];
		*at++ = digits[p[i] & 15];
	}
	*at++ = '\0';
	o->len = (size_t)(at - o->buf);
}
