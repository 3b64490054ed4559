/* One value: text from the file to a number, size, time, word or text. */
#include "conf_load.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>

#include "util.h"

enum { TEXT_MAX = 4095 };

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit size_units[] = {
	{ "T", 1ull << 40 }, { "G", 1ull << 30 }, { "M", 1ull << 20 }, { "K", 1ull << 10 },
	{ "", 1 }, { NULL, 0 }
};

static const struct unit time_units[] = {
	{ "m", 60000000000ull }, { "s", 1000000000ull }, { "ms", 1000000ull }, { "us", 1000ull },
	{ NULL, 0 }
};

/* What a message says about the value in its place. */
__attribute__((format(printf, 4, 5)))
static int
value_error(struct conf_load *l, const struct conf_key *k, const struct conf_node *n,
    const char *fmt, ...)
{
	char text[768];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	conf_error(l, n->pos, "%s: %s", k->name, text);
	return -EINVAL;
}

static int
expected(struct conf_load *l, const struct conf_key *k, const struct conf_node *n, const char *what)
{
	char found[320];

	if (n->kind == NODE_BAD)
		return -EINVAL;
	return value_error(l, k, n, "expected %s, found %s", what,
	    conf_found(n, found, sizeof(found)));
}

static bool
is_scalar(const struct conf_node *n)
{
	return n->kind == NODE_SCALAR && !conf_node_is_null(n);
}

/* Decimal digits, no sign, no leading zero (octal to some readers). Returns what follows, NULL: no number. */
static const char *
digits(const char *s, uint64_t *v, bool *overflow)
{
	const char *start = s;

	*v = 0;
	*overflow = false;
	for (; *s >= '0' && *s <= '9'; s++) {
		if (__builtin_mul_overflow(*v, 10u, v) ||
		    __builtin_add_overflow(*v, (uint64_t)(*s - '0'), v))
			*overflow = true;
	}
	if (s == start || (*start == '0' && s - start > 1))
		return NULL;
	return s;
}

static int
bool_value(struct conf_load *l, const struct conf_key *k, const struct conf_node *n, bool *out)
{
	static const char *const words[] = { "no", "yes", "false", "true", "off", "on" };
	unsigned i;

	for (i = 0; is_scalar(n) && !n->quoted && i < 6; i++) {
		if (strcasecmp(n->text, words[i]) == 0) {
			*out = i & 1;
			return 0;
		}
	}
	return expected(l, k, n, "yes or no");
}

int
conf_uint(struct conf_load *l, const struct conf_key *k, const struct conf_node *n, uint32_t *out)
{
	uint64_t max = k->max ? k->max : UINT32_MAX, v;
	bool with_auto = k->type == CONF_UINT_AUTO, overflow;
	const char *end;
	char what[96];

	if (with_auto && is_scalar(n) && strcmp(n->text, "auto") == 0) {
		*out = 0;
		return 0;
	}
	snprintf(what, sizeof(what), "%sa number from %llu to %llu", with_auto ? "auto or " : "",
	    (unsigned long long)k->min, (unsigned long long)max);
	if (!is_scalar(n) || n->quoted)
		return expected(l, k, n, what);
	end = digits(n->text, &v, &overflow);
	if (!end || *end || overflow || v < k->min || v > max)
		return expected(l, k, n, what);
	if ((k->flags & CONF_MORE_LATER) && v > k->later)
		return value_error(l, k, n, "%llu is not supported yet", (unsigned long long)v);
	*out = (uint32_t)v;
	return 0;
}

/* In the largest unit that shows it exactly. */
static const char *
with_unit(uint64_t v, const struct unit *units, char *buf, size_t size)
{
	const struct unit *u;

	for (u = units; u->name; u++) {
		if (v >= u->factor && v % u->factor == 0)
			break;
	}
	if (u->name)
		snprintf(buf, size, "%llu%s", (unsigned long long)(v / u->factor), u->name);
	else
		snprintf(buf, size, "%llu", (unsigned long long)v);
	return buf;
}

/* Numbers with a unit; zero needs none. */
static int
unit_value(struct conf_load *l, const struct conf_key *k, const struct conf_node *n,
    const struct unit *units, const char *what, uint64_t *out)
{
	const struct unit *u;
	const char *end;
	char limit[32];
	uint64_t v;
	bool overflow;

	if (!is_scalar(n))
		return expected(l, k, n, what);
	end = digits(n->text, &v, &overflow);
	if (!end)
		return expected(l, k, n, what);
	for (u = units; u->name && strcmp(u->name, end) != 0; u++)
		continue;
	if (!u->name && !(v == 0 && !*end))
		return expected(l, k, n, what);
	if (overflow || (u->name && __builtin_mul_overflow(v, u->factor, &v)))
		return value_error(l, k, n, "%.48s is more than 64 bits hold", n->text);
	if (v < k->min)
		return value_error(l, k, n, "expected at least %s, found %.48s",
		    with_unit(k->min, units, limit, sizeof(limit)), n->text);
	if (k->max && v > k->max)
		return value_error(l, k, n, "expected at most %s, found %.48s",
		    with_unit(k->max, units, limit, sizeof(limit)), n->text);
	*out = v;
	return 0;
}

/* Never quotes the value: it may be a secret. */
int
conf_text(struct conf_load *l, const struct conf_key *k, const struct conf_node *n, char **out)
{
	size_t min = k->max ? k->min : 1, max = k->max ? k->max : TEXT_MAX, len;
	const char *p;

	if (!is_scalar(n))
		return expected(l, k, n, "a text");
	len = strlen(n->text);
	if (len < min || len > max)
		return value_error(l, k, n, "expected %zu to %zu bytes of text, found %zu", min, max,
		    len);
	for (p = n->text; *p; p++) {
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return value_error(l, k, n, "a control character (0x%02x) in the text",
			    (unsigned char)*p);
	}
	*out = arena_text(l->keep, n->text, len);
	if (!*out) {
		conf_no_memory(l);
		return -ENOMEM;
	}
	return 0;
}

/* Hexadecimal digits, in pairs. Returns how many bytes they make; 0: not so. */
size_t
conf_hex(const char *text, uint8_t *out, size_t max)
{
	static const char hex[] = "0123456789abcdef";
	size_t n = 0;

	for (; text[0] && text[1] && n < max; text += 2, n++) {
		const char *high = strchr(hex, tolower((unsigned char)text[0]));
		const char *low = strchr(hex, tolower((unsigned char)text[1]));

		if (!high || !low)
			return 0;
		out[n] = (uint8_t)((high - hex) << 4 | (low - hex));
	}
	return text[0] ? 0 : n;
}

static int
guid_value(struct conf_load *l, const struct conf_key *k, const struct conf_node *n, uint8_t *out)
{
	static const uint8_t zero[8];
	uint8_t guid[8];

	if (!is_scalar(n) || conf_hex(n->text, guid, sizeof(guid)) != sizeof(guid) ||
	    !memcmp(guid, zero, sizeof(guid)))
		return expected(l, k, n, "16 hexadecimal digits, not all of them 0");
	memcpy(out, guid, sizeof(guid));
	return 0;
}

static const char *
words_list(const struct conf_key *k, char *buf, size_t size)
{
	const char *const *w;
	size_t at = 0;

	buf[0] = '\0';
	for (w = k->words; *w; w++)
		text_add(buf, size, &at, "%s%s", w == k->words ? "" : ", ", *w);
	return buf;
}

int
conf_word(struct conf_load *l, const struct conf_key *k, const struct conf_node *n, int *out)
{
	const char *near = NULL;
	char list[384], found[320];
	int i;

	for (i = 0; is_scalar(n) && k->words[i]; i++) {
		if (strcmp(k->words[i], n->text) != 0)
			continue;
		if (k->later >> i & 1)
			return value_error(l, k, n, "%s is not supported yet", n->text);
		*out = i;
		return 0;
	}
	if (n->kind == NODE_BAD)
		return -EINVAL;
	if (is_scalar(n))
		near = conf_nearest(n->text, k->words, i);
	return value_error(l, k, n, "expected %s%s, found %s%s%s%s",
	    k->words[0] && k->words[1] ? "one of " : "", words_list(k, list, sizeof(list)),
	    conf_found(n, found, sizeof(found)), near ? " (did you mean " : "", near ? near : "",
	    near ? "?)" : "");
}

static int
map_value(struct conf_load *l, const struct conf_key *k, const struct conf_node *n, void **out)
{
	struct conf_rows rows = { k->map, conf_opts(l, k->map_size) };

	if (!rows.base)
		return -ENOMEM;
	*out = rows.base;
	return conf_map(l, n, k->name, &rows, 1);
}

int
conf_value(struct conf_load *l, const struct conf_key *k, const struct conf_node *n, void *out)
{
	switch ((enum conf_type)k->type) {
	case CONF_BOOL:
		return bool_value(l, k, n, out);
	case CONF_UINT:
	case CONF_UINT_AUTO:
		return conf_uint(l, k, n, out);
	case CONF_SIZE:
		return unit_value(l, k, n, size_units, "a size such as 512, 64K, 10M, 4G or 1T", out);
	case CONF_TIME:
		return unit_value(l, k, n, time_units, "a time such as 50us, 10ms, 5s, 2m or 0", out);
	case CONF_TEXT:
		return conf_text(l, k, n, out);
	case CONF_WORD:
		return conf_word(l, k, n, out);
	case CONF_WORDS:
		return conf_words(l, k, n, out);
	case CONF_TEXTS:
		return conf_texts(l, k, n, out);
	case CONF_UINTS:
		return conf_uints(l, k, n, out);
	case CONF_GUID:
		return guid_value(l, k, n, out);
	case CONF_CUSTOM:
		return k->parse(l, n, out);
	case CONF_MAP:
		return map_value(l, k, n, out);
	}
	return -EINVAL;
}
