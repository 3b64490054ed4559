/* Initiators and their flows: made at login, gone at logout. */
#include "flow.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "admit.h"
#include "wait.h"

static struct initiator *
initiator_find(struct bridge_host *h, const char *name)
{
	struct initiator *ini;

	list_for_each(ini, &h->initiators, link)
		if (strcmp(ini->node->name, name) == 0)
			return ini;
	return NULL;
}

static struct initiator *
initiator_get(struct bridge_host *h, const char *name, uint32_t depth)
{
	struct initiator *ini = initiator_find(h, name);

	if (!ini) {
		ini = calloc(1, sizeof(*ini));
		if (!ini)
			return NULL;
		ini->node = bridge_node_new(AT_INITIATOR, name, UINT32_MAX);
		if (!ini->node) {
			free(ini);
			return NULL;
		}
		list_init(&ini->dents);
		list_add_tail(&h->nodes[AT_INITIATOR], &ini->node->link);
		list_add_tail(&h->initiators, &ini->link);
	}
	/* Another login with the same depth keeps what an administrator has set meanwhile. */
	if (depth && depth != ini->depth) {
		ini->depth = depth;
		ini->node->limit = depth;
		wait_touch(h, ini->node);
		admit_kick(h);
	}
	ini->flows++;
	return ini;
}

static void
initiator_put(struct initiator *ini)
{
	if (--ini->flows > 0)
		return;
	assert(list_empty(&ini->dents));
	bridge_node_free(ini->node);
	list_del(&ini->link);
	free(ini);
}

static struct dent *
dent_get(struct initiator *ini, struct bridge_node *n)
{
	struct dent *d;

	list_for_each(d, &ini->dents, of_initiator)
		if (d->node == n) {
			d->users++;
			return d;
		}
	d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	list_init(&d->link);
	list_init(&d->flows);
	d->node = n;
	d->users = 1;
	list_add_tail(&ini->dents, &d->of_initiator);
	return d;
}

static void
dent_put(struct dent *d)
{
	if (!d || --d->users > 0)
		return;
	assert(list_empty(&d->flows) && list_empty(&d->link));
	list_del(&d->of_initiator);
	free(d);
}

/* Takes a half-built flow. Under the lock. */
static void
flow_free(struct bridge_flow *f)
{
	for (int i = 0; i < LEVELS; i++)
		dent_put(f->dent[i]);
	if (f->initiator)
		initiator_put(f->initiator);
	list_del(&f->of_host);
	free(f);
}

struct bridge_flow *
bridge_flow_get(struct disk *disk, const char *initiator, const struct bridge_limits *limits,
    struct reactor *home)
{
	struct bridge_host *h = disk->host;
	struct bridge_flow *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->host = h;
	f->disk = disk;
	f->home = home;
	f->weight = MAX(limits->weight, 1u);
	f->at = NOWHERE;
	list_init(&f->queue);
	list_init(&f->link);
	list_init(&f->of_host);

	host_lock(h);
	f->initiator = initiator_get(h, initiator, limits->depth);
	if (!f->initiator)
		goto no_memory;
	f->node[AT_INITIATOR] = f->initiator->node;
	f->node[AT_LUN] = h->luns[disk->node];
	f->node[AT_TARGET] = f->node[AT_LUN]->outward;
	f->node[AT_HOST] = &h->node;
	for (int i = 0; i < LEVELS; i++) {
		f->dent[i] = dent_get(f->initiator, f->node[i]);
		if (!f->dent[i])
			goto no_memory;
	}
	list_add_tail(&h->flows, &f->of_host);
	host_unlock(h);
	return f;
no_memory:
	flow_free(f);
	host_unlock(h);
	return NULL;
}

void
bridge_flow_put(struct bridge_flow *f)
{
	struct bridge_host *h;

	if (!f)
		return;
	h = f->host;
	host_lock(h);
	assert(list_empty(&f->queue) && f->at == NOWHERE);
	flow_free(f);
	host_unlock(h);
}
