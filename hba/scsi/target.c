/* Targets: the units a configuration exports under each name. */
#include "target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conf.h"
#include "log.h"

#include "access.h"
#include "core.h"
#include "lu.h"
#include "store.h"
#include "sanitize.h"
#include "usage.h"

static struct list targets = LIST_INIT(targets);

struct target *
target_next(struct target *target)
{
	struct list *l = target ? target->link.next : targets.next;

	return l == &targets ? NULL : list_entry(l, struct target, link);
}

struct target *
target_find(const char *name)
{
	struct target *target;

	list_for_each(target, &targets, link)
		if (strcmp(target->conf->name, name) == 0)
			return target;
	return NULL;
}

const struct conf_target *
target_conf(const struct target *target)
{
	return target->conf;
}

int
target_may(const struct target *target, const struct nexus_id *id)
{
	const struct conf_rule *rule;

	return access_find(target->conf, id, &rule) ? 0 : -EACCES;
}

static void
target_free(struct target *target)
{
	if (!target)
		return;
	list_del(&target->link);
	pthread_mutex_destroy(&target->lock);
	free(target->luns);
	free(target);
}

static struct target *
target_new(const struct conf_target *conf)
{
	struct target *target = calloc(1, sizeof(*target));

	if (!target)
		return NULL;
	target->conf = conf;
	target->group = conf->nportals ? (uint16_t)conf->portals[0]->group : 1;
	list_init(&target->link);
	list_init(&target->nexuses);
	pthread_mutex_init(&target->lock, NULL);
	target->luns = calloc((size_t)conf->nluns + 1, sizeof(target->luns[0]));
	if (!target->luns) {
		target_free(target);
		return NULL;
	}
	return target;
}

static int
target_open(const struct conf_target *ct)
{
	struct target *target = target_new(ct);
	int r = -ENOMEM;

	if (!target)
		goto fail;
	for (int i = 0; i < ct->nluns; i++) {
		const struct conf_lun *cl = &ct->luns[i];
		struct target_lun *tl = &target->luns[i];

		r = lu_get(cl->disk, &tl->lu);
		if (r < 0)
			goto fail;
		tl->number = (uint16_t)cl->lun;
		tl->read_only = cl->read_only || tl->lu->read_only;
		tl->copy = cl->copy;
		target->nluns++;
	}
	target->port = list_empty(&targets) ? 1 :
	    list_entry(targets.prev, struct target, link)->port + 1;
	list_add_tail(&targets, &target->link);
	return 0;
fail:
	if (r == -ENOMEM)
		log_err("target %s: out of memory", ct->name);
	target_free(target);
	return r;
}

int
targets_open(const struct conf *conf)
{
	const struct conf_target *ct;
	int r;

	usage_init();
	cores_init();
	store_open(conf->state_dir ? conf->state_dir : ".");
	list_for_each(ct, &conf->targets, link) {
		r = target_open(ct);
		if (r < 0) {
			targets_close();
			return r;
		}
	}
	return 0;
}

void
targets_stop(void)
{
	struct lu *lu = NULL;

	while ((lu = lu_next(lu)))
		sanitize_stop(lu);
}

void
targets_close(void)
{
	struct target *target, *tmp;
	bool used = false;

	list_for_each_safe(target, tmp, &targets, link) {
		if (list_empty(&target->nexuses)) {
			target_free(target);
			continue;
		}
		/* A disk never gave a command back: what it may still touch stays. */
		log_warn("target %s still has commands in its disks", target->conf->name);
		list_del(&target->link);
		used = true;
	}
	if (!used)
		lus_free();
	store_close();
}
