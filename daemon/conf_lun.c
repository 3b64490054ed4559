/* `luns:` of a target. */
#include "conf_load.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "util.h"

/* As read: the disk is a name until all disks are known. */
struct lun_read {
	struct conf_lun lun;
	char *disk;
	struct conf_pos disk_pos;
};

static const struct conf_key read_keys[] = {
	{ "disk", CONF_TEXT, CONF_REQUIRED, .offset = offsetof(struct lun_read, disk),
	    .help = "name of a disk" },
	{ .name = NULL }
};

#define AT(f) .offset = offsetof(struct conf_lun, f)
const struct conf_key conf_lun_keys[] = {
	{ "lun", CONF_UINT, CONF_REQUIRED, AT(lun), .min = 0, .max = 16383 },
	{ "depth", CONF_UINT, CONF_HOT, AT(depth), .min = 1, .max = 65535,
	    .help = "commands over this LUN; absent: the disk's" },
	{ "read_only", CONF_BOOL, AT(read_only), .fallback = "no" },
	{ "copy", CONF_BOOL, AT(copy), .fallback = "no",
	    .help = "EXTENDED COPY and tokens, from and to this LUN" },
	{ .name = NULL }
};
#undef AT

static int
lun_order(const void *pa, const void *pb)
{
	const struct conf_lun *a = &((const struct lun_read *)pa)->lun;
	const struct conf_lun *b = &((const struct lun_read *)pb)->lun;

	if (a->lun != b->lun)
		return a->lun < b->lun ? -1 : 1;
	if (a->pos.line != b->pos.line)
		return a->pos.line < b->pos.line ? -1 : 1;
	return a->pos.column < b->pos.column ? -1 : a->pos.column > b->pos.column;
}

/* Only sorted LUNs have their place, and a mention of a disk is kept by its place. */
static int
luns_place(struct conf_load *l, struct conf_target *t, const struct lun_read *v, int n)
{
	char pos[512];
	int i;

	t->luns = conf_opts(l, n * sizeof(*t->luns));
	if (!t->luns)
		return -ENOMEM;
	t->nluns = n;
	for (i = 0; i < n; i++) {
		t->luns[i] = v[i].lun;
		conf_ref_add(l, NAME_DISK, v[i].disk, v[i].disk_pos, &t->luns[i].disk);
		if (i && v[i].lun.lun == v[i - 1].lun.lun)
			conf_error(l, v[i].lun.pos, "LUN %u is here twice, also at %s",
			    v[i].lun.lun, conf_pos_text(v[i - 1].lun.pos, pos, sizeof(pos)));
	}
	return 0;
}

int
conf_luns(struct conf_load *l, const struct conf_node *list, void *out)
{
	struct conf_rows rows[] = { { conf_lun_keys, NULL }, { read_keys, NULL } };
	const struct conf_node *n;
	struct lun_read *v, *at;
	size_t nv = 0;

	if (!conf_want(l, list, NODE_LIST, "luns"))
		return -EINVAL;
	v = arena_get(l->scratch, list->n * sizeof(*v));
	if (!v) {
		conf_no_memory(l);
		return -ENOMEM;
	}
	for (n = list->first; n; n = n->next) {
		at = &v[nv];
		rows[0].base = &at->lun;
		rows[1].base = at;
		at->lun.pos = n->pos;
		if (conf_map(l, n, "a LUN", rows, ARRAY_LEN(rows)))
			continue;
		at->disk_pos = conf_node_get(n, "disk")->pos;
		nv++;
	}
	qsort(v, nv, sizeof(*v), lun_order);
	return luns_place(l, out, v, (int)nv);
}

void
conf_depths_set(struct conf *conf)
{
	struct conf_adapter *a;
	struct conf_target *t;
	struct conf_disk *d;

	list_for_each(a, &conf->adapters, link)
		list_for_each(d, &a->disks, link)
			d->export_depth = 0;
	list_for_each(t, &conf->targets, link) {
		for (int i = 0; i < t->nluns; i++) {
			d = t->luns[i].disk;
			if (d)
				d->export_depth = MAX(d->export_depth, t->luns[i].depth);
		}
	}
}
