/* The configuration: whatever a file holds is read or refused, with a place for every error. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* f:LINE:COLUMN: message, printable, in file order. */
static void
line_check(const char *line, size_t len, int last[2])
{
	int at[2], n = 0;

	assert(sscanf(line, "f:%d:%d: %n", &at[0], &at[1], &n) == 2 && n > 0 && (size_t)n < len);
	assert(at[0] >= 1 && at[1] >= 1);
	assert(at[0] > last[0] || (at[0] == last[0] && at[1] >= last[1]));
	memcpy(last, at, sizeof(at));
	for (size_t i = 0; i < len; i++)
		assert(line[i] >= ' ' && line[i] < 0x7f);
}

/* Every name that was mentioned was found. */
static void
conf_check(const struct conf *conf)
{
	const struct conf_target *t;
	const struct conf_portal *p;
	int i;

	list_for_each(p, &conf->portals, link) {
		assert(p->name && p->transport && p->naddrs >= p->listen.n);
	}
	list_for_each(t, &conf->targets, link) {
		assert(t->name && t->nportals > 0);
		for (i = 0; i < t->nportals; i++)
			assert(t->portals[i]->name);
		for (i = 0; i < t->nluns; i++) {
			assert(t->luns[i].disk->driver && t->luns[i].lun < 16384);
			assert(i == 0 || t->luns[i].lun > t->luns[i - 1].lun);
		}
		for (i = 0; i < t->nrules; i++)
			assert(t->rules[i].match || t->rules[i].has_address);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int last[2] = { 0, 0 };
	struct conf *conf;
	char *said, *line, *end;
	size_t len;
	FILE *f = open_memstream(&said, &len);
	int e = conf_load_text("f", (const char *)data, size, &conf, f);

	fclose(f);
	assert((e == 0) == (conf != NULL));
	assert(conf || len > 0);
	for (line = said; *line; line = end + 1) {
		end = strchr(line, '\n');
		assert(end);
		line_check(line, end - line, last);
	}
	if (conf)
		conf_check(conf);
	conf_free(conf);
	free(said);
	return 0;
}
