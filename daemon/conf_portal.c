/* `portals:`: where a transport listens. */
#include "conf_load.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "transport.h"
#include "util.h"

struct portal_text {
	char *transport;
};
static const struct conf_key transport_keys[] = {
	{ "transport", CONF_TEXT, CONF_REQUIRED, .offset = offsetof(struct portal_text, transport) },
	{ .name = NULL }
};

#define AT(f) .offset = offsetof(struct conf_portal, f)
const struct conf_key conf_portal_keys[] = {
	{ "name", CONF_TEXT, CONF_REQUIRED, AT(name), .min = 1, .max = 63 },
	{ "listen", CONF_TEXTS, CONF_REQUIRED, AT(listen), .min = 1, .max = 255,
	    .help = "address:port; *:port is every address" },
	{ "group", CONF_UINT, AT(group), .min = 1, .max = 65535, .fallback = "1",
	    .help = "portal group tag: sessions may have connections over all portals of a group" },
	{ .name = NULL }
};
#undef AT

/* Two sockets of one transport cannot have one address, nor one of them all addresses. */
static void
address_add(struct conf_load *l, struct conf_portal *p, struct conf_pos at,
    const struct sockaddr_storage *ss)
{
	struct conf_listener *v;
	char text[64], pos[512];
	size_t i;

	for (i = 0; i < l->nlisteners; i++) {
		v = &l->listeners[i];
		if (v->transport != p->transport || !sockaddr_overlap(ss, &v->addr))
			continue;
		conf_error(l, at, "listen: %s is taken already at %s",
		    sockaddr_text((const struct sockaddr *)ss, text, sizeof(text)),
		    conf_pos_text(v->pos, pos, sizeof(pos)));
		return;
	}
	if (l->nlisteners == CONF_LISTEN_MAX) {
		conf_error(l, at, "listen: more than %d addresses", CONF_LISTEN_MAX);
		return;
	}
	v = arena_grow(l->scratch, l->listeners, l->nlisteners, &l->listeners_cap, sizeof(*v));
	if (!v) {
		conf_no_memory(l);
		return;
	}
	l->listeners = v;
	v[l->nlisteners++] = (struct conf_listener){ *ss, p->transport, at };
	p->addrs[p->naddrs++] = *ss;
}

static void
listen_parse(struct conf_load *l, struct conf_portal *p)
{
	struct sockaddr_storage ss, v4 = { .ss_family = AF_INET };
	char text[256];
	int i;

	p->addrs = arena_get(l->keep, 2 * p->listen.n * sizeof(*p->addrs));
	if (!p->addrs) {
		conf_no_memory(l);
		return;
	}
	for (i = 0; i < p->listen.n; i++) {
		if (conf_sockaddr(p->listen.v[i], &ss)) {
			conf_error(l, p->listen.pos[i], "listen: expected address:port such as "
			    "0.0.0.0:3260, [::1]:3260 or *:3260, found %s",
			    conf_quote(p->listen.v[i], text, sizeof(text)));
			continue;
		}
		if (p->listen.v[i][0] == '*') {
			((struct sockaddr_in *)&v4)->sin_port = ((struct sockaddr_in6 *)&ss)->sin6_port;
			address_add(l, p, p->listen.pos[i], &v4);
		}
		address_add(l, p, p->listen.pos[i], &ss);
	}
}

static void
transport_unknown(struct conf_load *l, const char *name, struct conf_pos pos)
{
	const struct transport *t;
	char list[256] = "", text[256];
	size_t at = 0;

	for_each_registered(transports, t)
		text_add(list, sizeof(list), &at, "%s%s", at ? ", " : "", t->name);
	conf_error(l, pos, "unknown transport %s (there are %s)",
	    conf_quote(name, text, sizeof(text)), list);
}

static void
portal_fill(struct conf_load *l, const struct conf_node *map, struct conf_portal *p)
{
	struct portal_text t = { NULL };
	struct conf_rows rows[] = { { transport_keys, &t }, { conf_portal_keys, p }, { NULL, NULL } };
	const struct conf_node *n = conf_node_get(map, "transport");

	if (n && n->kind == NODE_SCALAR && !conf_node_is_null(n))
		p->transport = transport_find(n->text);
	if (!p->transport) {
		conf_map_known(l, map, "a portal", rows, 2);
		if (t.transport)
			transport_unknown(l, t.transport, n->pos);
		return;
	}
	p->opts = conf_opts(l, p->transport->portal_conf_size);
	if (!p->opts)
		return;
	rows[2] = (struct conf_rows){ p->transport->portal_keys, p->opts };
	conf_map(l, map, "a portal", rows, ARRAY_LEN(rows));
}

int
conf_portals(struct conf_load *l, const struct conf_node *list, void *out)
{
	const struct conf_node *n;
	struct conf_portal *p;

	if (!conf_want(l, list, NODE_LIST, "portals"))
		return -EINVAL;
	for (n = list->first; n; n = n->next) {
		if (!conf_want(l, n, NODE_MAP, "a portal"))
			continue;
		p = conf_opts(l, sizeof(*p));
		if (!p)
			return -ENOMEM;
		p->pos = n->pos;
		list_add_tail(&l->conf->portals, &p->link);
		portal_fill(l, n, p);
		listen_parse(l, p);
		if (p->name)
			conf_name_own(l, NAME_PORTAL, p->name, conf_node_get(n, "name")->pos, p);
	}
	return 0;
}
