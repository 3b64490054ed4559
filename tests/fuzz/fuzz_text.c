/* Key=value text: nothing is read or written outside, and what decodes encodes again. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "transport/iscsi/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
value_decode(const struct text_pair *p)
{
	const char *list = p->value, *item;
	uint8_t bytes[64], again[64];
	char buf[256];
	struct text_out out = { buf, sizeof(buf), 0, false };
	size_t len = 0, again_len = 0, items = 0;
	uint64_t v = 0;

	if (text_number(p->value, 1000000, &v) == 0)
		assert(v <= 1000000);
	while (text_item(&list, &item, &len)) {
		assert(item >= p->value && item + len <= p->value + p->len);
		items++;
	}
	assert(items >= 1 && items <= p->len + 1);
	if (text_binary(p->value, bytes, sizeof(bytes), &len) != 0)
		return;
	assert(len <= sizeof(bytes));
	text_put_hex(&out, "K", bytes, len);
	assert(!out.full && out.len == 2 + 2 + 2 * len + 1);
	assert(text_binary(buf + 2, again, sizeof(again), &again_len) == 0);
	assert(again_len == len && memcmp(again, bytes, len) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct text_in in = { (const char *)data, size, 0 };
	char *buf = malloc(size + 1);
	struct text_out out = { buf, size, 0, false };
	struct text_pair p;

	while (text_next(&in, &p) > 0) {
		assert(strlen(p.key) <= TEXT_KEY_MAX && p.key[0] != '\0');
		assert(p.value[p.len] == '\0' && strlen(p.value) == p.len);
		assert(p.value + p.len < (const char *)data + size);
		value_decode(&p);
		/* Without the stray NULs it is never longer than what came. */
		text_put(&out, p.key, p.value);
		assert(!out.full);
	}
	free(buf);
	return 0;
}
