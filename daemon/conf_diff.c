/* What differs between two configurations, and which of it a running daemon can take. */
#include <assert.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include "conf_load.h"
#include "disk.h"
#include "transport.h"
#include "util.h"

/* One walk over both, in pairs: it says what cannot be taken, or takes what can. */
struct diff {
	FILE *err;
	bool take;
	unsigned n;			/* lines said */
	unsigned taken;			/* values that changed */
	char where[512];		/* "adapter a: disk d: " */
	struct conf_pos pos;		/* of the loaded map that is looked at */
};

__attribute__((format(printf, 3, 4)))
static void
say(struct diff *d, struct conf_pos pos, const char *fmt, ...)
{
	char at[512], text[512];
	va_list ap;

	d->n++;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (d->err && !d->take)
		fprintf(d->err, "%s: %s%s: needs a restart\n", conf_pos_text(pos, at, sizeof(at)),
		    d->where, text);
}

/* -- values -- */

static bool
text_same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool
texts_same(const struct conf_texts *a, const struct conf_texts *b)
{
	for (int i = 0; i < a->n && i < b->n; i++)
		if (strcmp(a->v[i], b->v[i]) != 0)
			return false;
	return a->n == b->n;
}

static bool
uints_same(const struct conf_uints *a, const struct conf_uints *b)
{
	return a->n == b->n && (!a->n || memcmp(a->v, b->v, (size_t)a->n * sizeof(a->v[0])) == 0);
}

/* Bytes of a value that is kept in its struct; 0: it is elsewhere. */
static size_t
value_size(const struct conf_key *k)
{
	switch ((enum conf_type)k->type) {
	case CONF_BOOL:
		return sizeof(bool);
	case CONF_UINT:
	case CONF_UINT_AUTO:
		return sizeof(uint32_t);
	case CONF_WORD:
		return sizeof(int);
	case CONF_SIZE:
	case CONF_TIME:
		return sizeof(uint64_t);
	case CONF_GUID:
		return 8;
	case CONF_WORDS:
	case CONF_TEXT:
	case CONF_TEXTS:
	case CONF_UINTS:
	case CONF_CUSTOM:
	case CONF_MAP:
		break;
	}
	return 0;
}

static bool
value_same(const struct conf_key *k, const void *a, const void *b)
{
	const struct conf_words *wa = a, *wb = b;

	switch ((enum conf_type)k->type) {
	case CONF_TEXT:
		return text_same(*(char *const *)a, *(char *const *)b);
	case CONF_WORDS:
		return wa->n == wb->n && memcmp(wa->v, wb->v, (size_t)wa->n * sizeof(wa->v[0])) == 0;
	case CONF_TEXTS:
		return texts_same(a, b);
	case CONF_UINTS:
		return uints_same(a, b);
	case CONF_BOOL:
	case CONF_UINT:
	case CONF_UINT_AUTO:
	case CONF_WORD:
	case CONF_SIZE:
	case CONF_TIME:
	case CONF_GUID:
		return memcmp(a, b, value_size(k)) == 0;
	case CONF_CUSTOM:
	case CONF_MAP:
		break;
	}
	return true;
}

static void
value_take(struct diff *d, const struct conf_key *k, void *to, const void *from)
{
	d->taken++;
	switch (value_size(k)) {
	case sizeof(bool):
		__atomic_store_n((bool *)to, *(const bool *)from, __ATOMIC_RELAXED);
		break;
	case sizeof(uint32_t):
		__atomic_store_n((uint32_t *)to, *(const uint32_t *)from, __ATOMIC_RELAXED);
		break;
	case sizeof(uint64_t):
		__atomic_store_n((uint64_t *)to, *(const uint64_t *)from, __ATOMIC_RELAXED);
		break;
	default:
		assert(!"a hot key of a type that cannot be");
	}
}

/* -- maps: CONF_CUSTOM is the caller's to compare -- */

static void
rows_walk(struct diff *d, const struct conf_key *keys, void *running, const void *loaded)
{
	const struct conf_key *k;

	for (k = keys; k && k->name; k++) {
		char *a = (char *)running + k->offset;
		const char *b = (const char *)loaded + k->offset;

		if (k->flags & CONF_LATER)
			continue;	/* it has no place in the struct yet */
		if (k->type == CONF_MAP)
			rows_walk(d, k->map, *(void **)a, *(void *const *)b);
		else if (!(k->flags & CONF_HOT) && !value_same(k, a, b))
			say(d, d->pos, "%s is changed", k->name);
		else if (d->take && !value_same(k, a, b))
			value_take(d, k, a, b);
	}
}

/* Lists of objects with names; what each holds is walked by `members`. */
struct kind {
	const char *what;
	size_t link, name, pos;
	const struct conf_key *keys;
	void (*members)(struct diff *, void *running, const void *loaded);
};

static const char *
name_of(const struct kind *kind, const void *object)
{
	return *(char *const *)((const char *)object + kind->name);
}

static struct conf_pos
pos_of(const struct kind *kind, const void *object)
{
	return *(const struct conf_pos *)((const char *)object + kind->pos);
}

/* first: where it stands when nobody changed the order. */
static const void *
object_find(const struct kind *kind, const struct list *list, const struct list *first,
    const char *name)
{
	const struct list *l = first;

	if (l != list && strcmp(name_of(kind, (const char *)l - kind->link), name) == 0)
		return (const char *)l - kind->link;
	for (l = list->next; l != list; l = l->next)
		if (strcmp(name_of(kind, (const char *)l - kind->link), name) == 0)
			return (const char *)l - kind->link;
	return NULL;
}

static void
object_walk(struct diff *d, const struct kind *kind, void *running, const void *loaded)
{
	size_t end = strlen(d->where), at = end;

	text_add(d->where, sizeof(d->where), &at, "%s %s: ", kind->what, name_of(kind, running));
	d->pos = pos_of(kind, loaded);
	rows_walk(d, kind->keys, running, loaded);
	if (kind->members)
		kind->members(d, running, loaded);
	d->where[end] = '\0';
}

/* Names decide who is who; the order does not matter. */
static void
list_walk(struct diff *d, const struct kind *kind, struct list *running, const struct list *loaded)
{
	const struct list *l, *like = running->next;
	struct conf_pos around = d->pos;

	for (l = loaded->next; l != loaded; l = l->next) {
		const char *b = (const char *)l - kind->link;
		const char *a = object_find(kind, running, like, name_of(kind, b));

		if (a)
			object_walk(d, kind, (void *)a, b);
		else
			say(d, pos_of(kind, b), "%s %s is new", kind->what, name_of(kind, b));
		if (a)
			like = ((const struct list *)(a + kind->link))->next;
	}
	like = loaded->next;
	for (l = running->next; l != running; l = l->next) {
		const char *a = (const char *)l - kind->link;
		const char *b = object_find(kind, loaded, like, name_of(kind, a));

		if (b)
			like = ((const struct list *)(b + kind->link))->next;
		else
			say(d, around, "%s %s is gone", kind->what, name_of(kind, a));
	}
}

/* -- what the kinds hold -- */

static void
disk_walk(struct diff *d, void *running, const void *loaded)
{
	struct conf_disk *a = running;
	const struct conf_disk *b = loaded;

	if (a->channel != b->channel || a->id != b->id || a->lun != b->lun)
		say(d, d->pos, "address is changed");
	if (a->block_size != b->block_size)
		say(d, d->pos, "block_size is changed");
	if (a->driver != b->driver)
		say(d, d->pos, "driver is changed");
	else
		rows_walk(d, a->driver->keys, a->opts, b->opts);
}

#define KIND(type) .link = offsetof(struct type, link), .name = offsetof(struct type, name), \
	.pos = offsetof(struct type, pos)
static const struct kind disk_kind = { "disk", KIND(conf_disk), conf_disk_keys, disk_walk };

static void
adapter_walk(struct diff *d, void *running, const void *loaded)
{
	list_walk(d, &disk_kind, &((struct conf_adapter *)running)->disks,
	    &((const struct conf_adapter *)loaded)->disks);
}

static void
portal_walk(struct diff *d, void *running, const void *loaded)
{
	struct conf_portal *a = running;
	const struct conf_portal *b = loaded;

	if (a->transport != b->transport)
		say(d, d->pos, "transport is changed");
	else
		rows_walk(d, a->transport->portal_keys, a->opts, b->opts);
}

static bool
portals_same(const struct conf_target *a, const struct conf_target *b)
{
	for (int i = 0; i < a->nportals && i < b->nportals; i++)
		if (strcmp(a->portals[i]->name, b->portals[i]->name) != 0)
			return false;
	return a->nportals == b->nportals;
}

static void
luns_walk(struct diff *d, struct conf_target *a, const struct conf_target *b)
{
	for (int i = 0; i < a->nluns && i < b->nluns; i++) {
		if (a->luns[i].lun != b->luns[i].lun) {
			say(d, b->luns[i].pos, "luns is changed");
			return;
		}
		d->pos = b->luns[i].pos;
		if (strcmp(a->luns[i].disk->name, b->luns[i].disk->name) != 0)
			say(d, d->pos, "LUN %u: disk is changed", a->luns[i].lun);
		rows_walk(d, conf_lun_keys, &a->luns[i], &b->luns[i]);
	}
	if (a->nluns != b->nluns)
		say(d, b->pos, "luns is changed");
}

/* The first that fits is an initiator's rule, so their order counts. */
static void
rules_walk(struct diff *d, struct conf_target *a, const struct conf_target *b)
{
	for (int i = 0; i < a->nrules && i < b->nrules; i++) {
		struct conf_rule *ra = &a->rules[i];
		const struct conf_rule *rb = &b->rules[i];

		d->pos = rb->pos;
		if (!text_same(ra->match, rb->match))
			say(d, d->pos, "match is changed");
		if (ra->has_address != rb->has_address || ra->prefix != rb->prefix ||
		    memcmp(&ra->address, &rb->address, sizeof(ra->address)) != 0)
			say(d, d->pos, "address is changed");
		if (ra->srp_len != rb->srp_len || memcmp(ra->srp, rb->srp, ra->srp_len) != 0)
			say(d, d->pos, "srp is changed");
		rows_walk(d, conf_rule_keys, ra, rb);
	}
	if (a->nrules != b->nrules)
		say(d, b->pos, "initiators is changed");
}

static void
target_walk(struct diff *d, void *running, const void *loaded)
{
	struct conf_target *a = running;
	const struct conf_target *b = loaded;
	const struct transport *t;

	if (!portals_same(a, b))
		say(d, d->pos, "portals is changed");
	if (!text_same(a->auth ? a->auth->name : NULL, b->auth ? b->auth->name : NULL))
		say(d, d->pos, "auth is changed");
	for_each_registered(transports, t)
		if (t->target_keys)
			rows_walk(d, t->target_keys, a->opts[transport_index(t)],
			    b->opts[transport_index(t)]);
	luns_walk(d, a, b);
	rules_walk(d, a, b);
}

static const struct kind adapter_kind =
    { "adapter", KIND(conf_adapter), conf_adapter_keys, adapter_walk };
static const struct kind portal_kind =
    { "portal", KIND(conf_portal), conf_portal_keys, portal_walk };
static const struct kind auth_kind = { "auth", KIND(conf_auth), conf_auth_keys, NULL };
static const struct kind target_kind =
    { "target", KIND(conf_target), conf_target_keys, target_walk };

static const struct {
	const struct kind *kind;
	size_t at;
} lists[] = {
	{ &adapter_kind, offsetof(struct conf, adapters) },
	{ &portal_kind, offsetof(struct conf, portals) },
	{ &auth_kind, offsetof(struct conf, auths) },
	{ &target_kind, offsetof(struct conf, targets) },
};

static unsigned
conf_walk(struct diff *d, struct conf *running, const struct conf *loaded)
{
	d->pos = loaded->pos;
	rows_walk(d, conf_top_keys, running, loaded);
	for (unsigned i = 0; i < ARRAY_LEN(lists); i++) {
		d->pos = loaded->pos;
		list_walk(d, lists[i].kind, (struct list *)((char *)running + lists[i].at),
		    (const struct list *)((const char *)loaded + lists[i].at));
	}
	return d->n;
}

unsigned
conf_diff(const struct conf *running, const struct conf *loaded, void *err)
{
	struct diff d = { .err = err };

	/* Without `take` nothing of it is written. */
	return conf_walk(&d, (struct conf *)running, loaded);
}

unsigned
conf_take(struct conf *running, const struct conf *loaded)
{
	struct diff d = { .take = true };
	unsigned n = conf_walk(&d, running, loaded);

	assert(!n);
	conf_depths_set(running);
	return d.taken;
}
