/* One value as text on a terminal. */
#include <stdbool.h>
#include <string.h>

#include "cell.h"

static void
add(char buf[CELL], size_t *at, const char *text)
{
	for (; *text && *at < CELL - 1; text++) {
		unsigned char c = (unsigned char)*text;

		buf[(*at)++] = c < ' ' || c == 0x7f ? '?' : *text;
	}
	buf[*at] = 0;
}

static void
add_value(char buf[CELL], size_t *at, const json_t *value)
{
	char number[64];
	json_t *item;
	size_t i;

	switch (value ? json_typeof(value) : JSON_NULL) {
	case JSON_STRING:
		add(buf, at, json_string_value(value));
		break;
	case JSON_INTEGER:
		snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT,
		    json_integer_value(value));
		add(buf, at, number);
		break;
	case JSON_REAL:
		snprintf(number, sizeof(number), "%.6g", json_real_value(value));
		add(buf, at, number);
		break;
	case JSON_TRUE:
		add(buf, at, "yes");
		break;
	case JSON_FALSE:
		add(buf, at, "no");
		break;
	case JSON_NULL:
		add(buf, at, "-");
		break;
	case JSON_ARRAY:
		json_array_foreach(value, i, item) {
			if (i)
				add(buf, at, ",");
			/* One level: deeper is for --json. */
			if (json_is_array(item) || json_is_object(item))
				add(buf, at, "...");
			else
				add_value(buf, at, item);
		}
		break;
	case JSON_OBJECT:
		add(buf, at, "...");
		break;
	}
}

const char *
cell_text(char buf[CELL], const json_t *value)
{
	size_t at = 0;

	buf[0] = 0;
	add_value(buf, &at, value);
	return buf;
}

/* A byte that goes on with a character rather than beginning one. */
static bool
continues(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

int
cell_width(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += !continues(*text);
	return n;
}

void
cell_print(FILE *f, const char *text, int width)
{
	bool cut = cell_width(text) > width;
	int n = 0;

	for (; *text; text++) {
		if (!continues(*text) && n++ == width - cut)
			break;
		putc(*text, f);
	}
	if (cut)
		putc('~', f);
}
