/* `targets:`: what initiators see. */
#include "conf_load.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "transport.h"
#include "util.h"

static int name_parse(struct conf_load *, const struct conf_node *, void *);

#define AT(f) .offset = offsetof(struct conf_target, f)
const struct conf_key conf_target_keys[] = {
	{ "name", CONF_CUSTOM, CONF_REQUIRED, AT(name), .parse = name_parse,
	    .help = "iSCSI name: iqn.YYYY-MM.domain:anything, eui. or naa." },
	{ "alias", CONF_TEXT, AT(alias), .min = 1, .max = 255, .help = "a name for people" },
	{ "luns", CONF_CUSTOM, .parse = conf_luns, .help = "which disk is which LUN" },
	{ "initiators", CONF_CUSTOM, .parse = conf_rules,
	    .help = "who may log in; absent: everyone who authenticates" },
	{ .name = NULL }
};
#undef AT

/* Names of others, until all are known. */
struct target_text {
	struct conf_texts portals;
	char *auth;
};
#define AT(f) .offset = offsetof(struct target_text, f)
static const struct conf_key text_keys[] = {
	{ "portals", CONF_TEXTS, CONF_REQUIRED, AT(portals), .help = "names of portals" },
	{ "auth", CONF_TEXT, AT(auth), .help = "name of an auth, or none" },
	{ .name = NULL }
};
#undef AT

static int
name_parse(struct conf_load *l, const struct conf_node *n, void *out)
{
	static const struct conf_key key = { .name = "name" };
	char *name, text[256];

	if (conf_text(l, &key, n, &name))
		return -EINVAL;
	if (conf_iscsi_name(name)) {
		conf_error(l, n->pos, "name: %s is no iSCSI name (RFC 7143 4.2.7) such as "
		    "iqn.2026-11.com.example:store", conf_quote(n->text, text, sizeof(text)));
		return -EINVAL;
	}
	*(char **)out = name;
	return 0;
}

/* Each transport has a map of its own in a target, named as it is named. */
static void
transport_rows(struct conf_key *rows)
{
	const struct transport *t;
	size_t n = 0;

	for_each_registered(transports, t) {
		if (!t->target_keys || n == TRANSPORTS_MAX)
			continue;
		rows[n++] = (struct conf_key){ .name = t->name, .type = CONF_MAP,
		    .offset = offsetof(struct conf_target, opts) +
		    transport_index(t) * sizeof(void *),
		    .map = t->target_keys, .map_size = t->target_conf_size };
	}
}

static void
portals_refer(struct conf_load *l, struct conf_target *t, const struct conf_texts *names)
{
	char text[256];
	int i, j;

	if (names->n > CONF_PORTALS_MAX) {
		conf_error(l, names->pos[CONF_PORTALS_MAX], "portals: more than %d",
		    CONF_PORTALS_MAX);
		return;
	}
	t->portals = conf_opts(l, names->n * sizeof(*t->portals));
	if (!t->portals)
		return;
	for (i = 0; i < names->n; i++) {
		for (j = 0; j < i && strcmp(names->v[j], names->v[i]) != 0; j++)
			continue;
		if (j < i)
			conf_error(l, names->pos[i], "portals: %s is here twice",
			    conf_quote(names->v[i], text, sizeof(text)));
		else
			conf_ref_add(l, NAME_PORTAL, names->v[i], names->pos[i],
			    &t->portals[t->nportals++]);
	}
}

/* A LUN that could not be read is no reason to blame who mentions it. */
static bool
luns_known(const struct conf_node *map, const struct conf_target *t)
{
	const struct conf_node *n = conf_node_get(map, "luns");

	return !n || (n->kind == NODE_LIST && n->n == (size_t)t->nluns);
}

static void
target_fill(struct conf_load *l, const struct conf_node *map, struct conf_target *t)
{
	struct conf_key maps[TRANSPORTS_MAX + 2] = { { .name = NULL } };
	struct target_text text = { .auth = NULL };
	struct conf_rows rows[] = { { conf_target_keys, t }, { text_keys, &text }, { maps, t } };

	transport_rows(maps);
	conf_map(l, map, "a target", rows, ARRAY_LEN(rows));
	if (t->name)
		conf_name_add(l, NAME_TARGET, NULL, t->name, conf_node_get(map, "name")->pos, t);
	portals_refer(l, t, &text.portals);
	if (text.auth && strcmp(text.auth, "none") != 0)
		conf_ref_add(l, NAME_AUTH, text.auth, conf_node_get(map, "auth")->pos, &t->auth);
	if (luns_known(map, t))
		conf_rules_check(l, t);
}

int
conf_targets(struct conf_load *l, const struct conf_node *list, void *out)
{
	const struct conf_node *n;
	struct conf_target *t;

	if (!conf_want(l, list, NODE_LIST, "targets"))
		return -EINVAL;
	for (n = list->first; n; n = n->next) {
		if (!conf_want(l, n, NODE_MAP, "a target"))
			continue;
		t = conf_opts(l, sizeof(*t));
		if (!t)
			return -ENOMEM;
		t->pos = n->pos;
		list_add_tail(&l->conf->targets, &t->link);
		target_fill(l, n, t);
	}
	return 0;
}
