/* `initiators:` of a target: who may log in, and what each may use. */
#include "conf_load.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "util.h"

static int address_parse(struct conf_load *, const struct conf_node *, void *);
static int match_parse(struct conf_load *, const struct conf_node *, void *);
static int srp_parse(struct conf_load *, const struct conf_node *, void *);

#define AT(f) .offset = offsetof(struct conf_rule, f)
const struct conf_key conf_rule_keys[] = {
	{ "match", CONF_CUSTOM, AT(match), .parse = match_parse,
	    .help = "initiator name; * and ? stand for any letters" },
	{ "address", CONF_CUSTOM, .parse = address_parse, .help = "address or address/bits" },
	{ "srp", CONF_CUSTOM, .parse = srp_parse,
	    .help = "RDMA port of the initiator: its GID or GUID, or an SRP port identifier" },
	{ "luns", CONF_UINTS, AT(luns), .min = 0, .max = 16383,
	    .help = "the LUNs it sees; absent: all" },
	{ "read_only", CONF_BOOL, AT(read_only), .fallback = "no" },
	{ "depth", CONF_UINT, CONF_HOT, AT(depth), .min = 1, .max = 65535,
	    .help = "commands of this initiator; absent: no limit of its own" },
	{ "share", CONF_UINT, CONF_HOT, AT(share), .min = 1, .max = 255, .fallback = "1",
	    .help = "weight when initiators compete" },
	{ "iops", CONF_UINT, CONF_HOT, AT(iops), .min = 1, .max = UINT32_MAX,
	    .help = "commands a second of this initiator; absent: no limit" },
	{ "bandwidth", CONF_SIZE, CONF_HOT, AT(bandwidth), .min = 4096, .max = 1ull << 40,
	    .help = "bytes a second of this initiator; absent: no limit" },
	{ "burst", CONF_TIME, CONF_HOT, AT(burst_ns), .min = 1000000, .max = 60000000000u,
	    .fallback = "1s", .help = "an idle initiator saves up what its rates give in this time" },
	{ .name = NULL }
};
#undef AT

/* Initiator names are compared in lower case. */
static int
match_parse(struct conf_load *l, const struct conf_node *n, void *out)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-.:*?";
	static const struct conf_key key = { .name = "match", .min = 1, .max = 223 };
	char *match, *p, text[256];

	if (conf_text(l, &key, n, &match))
		return -EINVAL;
	for (p = match; *p; p++) {
		if (*p >= 'A' && *p <= 'Z')
			*p += 'a' - 'A';
	}
	if (match[strspn(match, letters)]) {
		conf_error(l, n->pos, "match: %s has a letter that no initiator name has",
		    conf_quote(n->text, text, sizeof(text)));
		return -EINVAL;
	}
	*(char **)out = match;
	return 0;
}

/* out is the rule. */
static int
address_parse(struct conf_load *l, const struct conf_node *n, void *out)
{
	static const struct conf_key key = { .name = "address" };
	struct conf_rule *rule = out;
	const char *wrong;
	char *address, text[256];

	if (conf_text(l, &key, n, &address))
		return -EINVAL;
	wrong = conf_prefix(address, &rule->address, &rule->prefix);
	if (wrong) {
		conf_error(l, n->pos, "address: %s %s", conf_quote(address, text, sizeof(text)),
		    wrong);
		return -EINVAL;
	}
	rule->has_address = true;
	return 0;
}

/*
 * A GID is written as an IPv6 address, a GUID as 16 hexadecimal digits, an
 * initiator port identifier as 32; out is the rule.
 */
static int
srp_parse(struct conf_load *l, const struct conf_node *n, void *out)
{
	static const struct conf_key key = { .name = "srp" };
	struct conf_rule *rule = out;
	char *port, text[256];
	size_t len;

	if (conf_text(l, &key, n, &port))
		return -EINVAL;
	len = conf_hex(port, rule->srp, sizeof(rule->srp));
	if (len != 8 && len != 16)
		len = inet_pton(AF_INET6, port, rule->srp) == 1 ? 16 : 0;
	if (!len) {
		conf_error(l, n->pos, "srp: expected a GID such as fe80::2c9:3ff:fe4e:d0b3, or 16 or "
		    "32 hexadecimal digits, found %s", conf_quote(port, text, sizeof(text)));
		return -EINVAL;
	}
	rule->srp_len = (uint8_t)len;
	return 0;
}

int
conf_rules(struct conf_load *l, const struct conf_node *list, void *out)
{
	struct conf_rows rows = { conf_rule_keys, NULL };
	struct conf_target *t = out;
	const struct conf_node *n;
	struct conf_rule *r;

	if (!conf_want(l, list, NODE_LIST, "initiators"))
		return -EINVAL;
	if (!list->n) {
		conf_error(l, list->pos, "initiators: an empty list lets nobody in; "
		    "without the key everyone who authenticates may come");
		return -EINVAL;
	}
	t->nrules = 0;
	t->rules = conf_opts(l, list->n * sizeof(*t->rules));
	if (!t->rules)
		return -ENOMEM;
	for (n = list->first; n; n = n->next) {
		rows.base = r = &t->rules[t->nrules];
		r->pos = n->pos;
		if (conf_map(l, n, "an initiator", &rows, 1))
			continue;
		if (!r->match && !r->has_address && !r->srp_len)
			conf_error(l, n->pos, "an initiator: match, address or srp is missing");
		if (conf_node_get(n, "burst") && !r->iops && !r->bandwidth)
			conf_error(l, conf_node_get(n, "burst")->pos,
			    "burst: without iops or bandwidth there is nothing to save up");
		t->nrules++;
	}
	return 0;
}

static bool
lun_exists(const struct conf_target *t, uint32_t lun)
{
	int low = 0, high = t->nluns, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (t->luns[mid].lun < lun)
			low = mid + 1;
		else
			high = mid;
	}
	return low < t->nluns && t->luns[low].lun == lun;
}

void
conf_rules_check(struct conf_load *l, const struct conf_target *t)
{
	const struct conf_rule *r;
	int i, j;

	for (i = 0; i < t->nrules; i++) {
		r = &t->rules[i];
		for (j = 0; j < r->luns.n; j++) {
			if (!lun_exists(t, r->luns.v[j]))
				conf_error(l, r->luns.pos[j], "luns: the target has no LUN %u",
				    r->luns.v[j]);
		}
	}
}
