/* Names that must be one of a kind, and mentions of them that may come before the definition. */
#include "conf_load.h"

#include <stdlib.h>
#include <string.h>

enum { HINTS_MAX = 256 };		/* names that a missing one is compared with */

static const char *const kind_text[NAME_KINDS] = {
	[NAME_ADAPTER] = "adapter", [NAME_DISK] = "disk", [NAME_ADDRESS] = "address",
	[NAME_SERIAL] = "serial", [NAME_PORTAL] = "portal", [NAME_AUTH] = "auth",
	[NAME_TARGET] = "target",
};

void
conf_name_add(struct conf_load *l, enum conf_name_kind kind, const void *scope, const char *name,
    struct conf_pos pos, void *object)
{
	struct conf_names *t = &l->names[kind];
	struct conf_name *v = arena_grow(l->scratch, t->v, t->n, &t->cap, sizeof(*v));

	if (!v) {
		conf_no_memory(l);
		return;
	}
	t->v = v;
	v[t->n] = (struct conf_name){ name, scope, pos, t->n, object };
	t->n++;
}

void
conf_name_own(struct conf_load *l, enum conf_name_kind kind, const char *name, struct conf_pos pos,
    void *object)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "0123456789._-";
	char text[256];

	if (name[strspn(name, letters)])
		conf_error(l, pos, "name: %s may hold letters, digits and . _ - only",
		    conf_quote(name, text, sizeof(text)));
	conf_name_add(l, kind, NULL, name, pos, object);
}

void
conf_ref_add(struct conf_load *l, enum conf_name_kind kind, const char *name, struct conf_pos pos,
    void *where)
{
	struct conf_ref *v = arena_grow(l->scratch, l->refs, l->nrefs, &l->refs_cap, sizeof(*v));

	if (!v) {
		conf_no_memory(l);
		return;
	}
	l->refs = v;
	v[l->nrefs++] = (struct conf_ref){ kind, name, pos, where };
}

static int
name_order(const void *pa, const void *pb)
{
	const struct conf_name *a = pa, *b = pb;
	int c = strcmp(a->name, b->name);

	if (c)
		return c;
	if (a->scope != b->scope)
		return (uintptr_t)a->scope < (uintptr_t)b->scope ? -1 : 1;
	return a->nr < b->nr ? -1 : a->nr > b->nr;
}

static void
doubles_check(struct conf_load *l, enum conf_name_kind kind)
{
	const struct conf_names *t = &l->names[kind];
	const struct conf_name *first = t->v;
	char pos[512], text[256];
	size_t i;

	if (t->n)
		qsort(t->v, t->n, sizeof(*t->v), name_order);
	for (i = 1; i < t->n; i++) {
		if (strcmp(first->name, t->v[i].name) != 0 || first->scope != t->v[i].scope)
			first = &t->v[i];
		else
			conf_error(l, t->v[i].pos, "%s %s is used twice, first at %s", kind_text[kind],
			    conf_quote(first->name, text, sizeof(text)),
			    conf_pos_text(first->pos, pos, sizeof(pos)));
	}
}

static int
name_match(const void *key, const void *member)
{
	return strcmp(key, ((const struct conf_name *)member)->name);
}

static void
ref_missing(struct conf_load *l, const struct conf_ref *r)
{
	const struct conf_names *t = &l->names[r->kind];
	const char *words[HINTS_MAX] = { NULL }, *near;
	char text[256], hint[256];
	size_t n;

	for (n = 0; n < t->n && n < HINTS_MAX; n++)
		words[n] = t->v[n].name;
	near = conf_nearest(r->name, words, n);
	conf_error(l, r->pos, "there is no %s %s%s%s%s", kind_text[r->kind],
	    conf_quote(r->name, text, sizeof(text)), near ? " (did you mean " : "",
	    near ? conf_quote(near, hint, sizeof(hint)) : "", near ? "?)" : "");
}

void
conf_names_check(struct conf_load *l)
{
	const struct conf_name *found;
	const struct conf_names *t;
	const struct conf_ref *r;
	size_t i;
	int k;

	for (k = 0; k < NAME_KINDS; k++)
		doubles_check(l, k);
	for (i = 0; i < l->nrefs; i++) {
		r = &l->refs[i];
		t = &l->names[r->kind];
		found = t->n ? bsearch(r->name, t->v, t->n, sizeof(*t->v), name_match) : NULL;
		if (found)
			memcpy(r->where, &found->object, sizeof(found->object));
		else if (!l->partial)
			ref_missing(l, r);
	}
}
