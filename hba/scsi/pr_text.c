/* Persistent reservations as the text that is kept on disk (APTPL): written whole, read with distrust. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "pr.h"
#include "util.h"

enum { VERSION = 1 };

static json_t *
key_json(uint64_t key)
{
	return json_sprintf("%016" PRIx64, key);
}

static json_t *
reg_json(const struct pr_reg *r)
{
	const uint8_t *i = r->nexus.isid;

	return json_pack("{ss ss si so so}", "initiator", r->nexus.initiator, "target",
	    r->nexus.target, "protocol", (int)r->nexus.protocol, "isid",
	    json_sprintf("%02x%02x%02x%02x%02x%02x", i[0], i[1], i[2], i[3], i[4], i[5]),
	    "key", key_json(r->key));
}

char *
pr_text(const struct pr *pr)
{
	json_t *regs = json_array(), *doc;
	char *text;

	for (unsigned i = 0; i < pr->n; i++)
		if (json_array_append_new(regs, reg_json(&pr->reg[i]))) {
			json_decref(regs);
			return NULL;
		}
	doc = json_pack("{si sI si si so}", "version", VERSION, "generation",
	    (json_int_t)pr->generation, "type", (int)pr->type, "holder", pr->holder,
	    "registrations", regs);
	if (!doc)
		return NULL;
	text = json_dumps(doc, JSON_INDENT(1));
	json_decref(doc);
	return text;
}

/* Exactly 2 * n lower-case hexadecimal digits. */
static bool
hex_parse(const char *text, uint8_t *to, unsigned n)
{
	if (!text || strlen(text) != 2 * n || strspn(text, "0123456789abcdef") != 2 * n)
		return false;
	for (unsigned i = 0; i < n; i++) {
		unsigned byte;

		sscanf(text + 2 * i, "%2x", &byte);
		to[i] = (uint8_t)byte;
	}
	return true;
}

static bool
name_parse(json_t *item, const char *key, char *to)
{
	const char *name = json_string_value(json_object_get(item, key));

	if (!name || !*name || strlen(name) >= PR_NAME_MAX)
		return false;
	strcpy(to, name);
	return true;
}

static bool
reg_parse(json_t *item, struct pr_reg *r)
{
	json_int_t protocol = json_integer_value(json_object_get(item, "protocol"));
	uint8_t key[8];

	memset(r, 0, sizeof(*r));
	if (!name_parse(item, "initiator", r->nexus.initiator) ||
	    !name_parse(item, "target", r->nexus.target) || protocol < 0 || protocol > 15)
		return false;
	if (!hex_parse(json_string_value(json_object_get(item, "isid")), r->nexus.isid,
	    sizeof(r->nexus.isid)) ||
	    !hex_parse(json_string_value(json_object_get(item, "key")), key, sizeof(key)))
		return false;
	r->nexus.protocol = (uint8_t)protocol;
	for (unsigned i = 0; i < sizeof(key); i++)
		r->key = r->key << 8 | key[i];
	return r->key != 0;
}

static bool
regs_parse(struct pr *pr, json_t *regs)
{
	for (unsigned i = 0; i < json_array_size(regs); i++) {
		if (!reg_parse(json_array_get(regs, i), &pr->reg[i]) ||
		    pr_find(pr, &pr->reg[i].nexus) >= 0)
			return false;
		pr->n++;
	}
	return true;
}

/* Type and holder fit each other and the registrations. */
static bool
holder_parse(struct pr *pr, json_int_t type, json_int_t holder)
{
	bool one = type != PR_NONE && !pr_type_is_ar((unsigned)type);

	if (type != PR_NONE && (type < 0 || !pr_type_known((unsigned)type) || pr->n == 0))
		return false;
	if (one ? holder < 0 || holder >= pr->n : holder != -1)
		return false;
	pr->type = (uint8_t)type;
	pr->holder = (int)holder;
	return true;
}

static int
doc_parse(struct pr *pr, json_t *doc)
{
	json_t *regs = json_object_get(doc, "registrations");
	json_int_t generation = json_integer_value(json_object_get(doc, "generation"));
	json_t *holder = json_object_get(doc, "holder");

	if (json_integer_value(json_object_get(doc, "version")) != VERSION ||
	    !json_is_array(regs) || json_array_size(regs) > PR_REGS_MAX ||
	    generation < 0 || generation > UINT32_MAX || !json_is_integer(holder))
		return -EINVAL;
	pr->room = (unsigned)json_array_size(regs);
	pr->reg = calloc(MAX(pr->room, 1u), sizeof(pr->reg[0]));
	if (!pr->reg)
		return -ENOMEM;
	pr->generation = (uint32_t)generation;
	pr->aptpl = true;
	if (!regs_parse(pr, regs) || !holder_parse(pr,
	    json_integer_value(json_object_get(doc, "type")), json_integer_value(holder)))
		return -EINVAL;
	return 0;
}

int
pr_from_text(struct pr *pr, const char *text, size_t len)
{
	json_t *doc = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	int r;

	memset(pr, 0, sizeof(*pr));
	pr->holder = -1;
	if (!doc)
		return -EINVAL;
	r = doc_parse(pr, doc);
	json_decref(doc);
	if (r < 0)
		pr_fini(pr);
	return r;
}
