/* Control verbs: targets, and the units they export. */
#include <jansson.h>

#include "conf.h"
#include "control.h"
#include "disk.h"

#include "access.h"
#include "fence.h"
#include "lu.h"

static unsigned
target_sessions(struct target *target)
{
	const struct list *l;
	unsigned n = 0;

	pthread_mutex_lock(&target->lock);
	for (l = target->nexuses.next; l != &target->nexuses; l = l->next)
		n++;
	pthread_mutex_unlock(&target->lock);
	return n;
}

static json_t *
target_json(struct target *target)
{
	const struct conf_target *ct = target->conf;
	char portals[256] = "";
	size_t at = 0;

	for (int i = 0; i < ct->nportals; i++)
		text_add(portals, sizeof(portals), &at, "%s%s", i ? " " : "", ct->portals[i]->name);
	return json_pack("{ss ss* sI sI ss sb sI}", "name", ct->name, "alias", ct->alias, "luns",
	    (json_int_t)target->nluns, "sessions", (json_int_t)target_sessions(target), "portals",
	    portals, "auth", ct->auth != NULL, "rules", (json_int_t)ct->nrules);
}

static json_t *
targets_run(json_t *params, char *err, size_t err_size)
{
	json_t *rows = json_array();

	for (struct target *t = target_next(NULL); t; t = target_next(t))
		json_array_append_new(rows, target_json(t));
	return json_pack("{so}", "targets", rows);
}

static json_t *
lun_json(const struct target *target, const struct target_lun *tl)
{
	struct lu *lu = tl->lu;
	char naa[4 + 2 * LU_NAA_LEN + 1];
	size_t at = 0;

	text_add(naa, sizeof(naa), &at, "naa.");
	for (unsigned i = 0; i < LU_NAA_LEN; i++)
		text_add(naa, sizeof(naa), &at, "%02x", lu->naa[i]);
	return json_pack("{ss sI ss ss sI sI sb ss ss sI}", "target", target->conf->name, "lun",
	    (json_int_t)tl->number, "disk", lu->disk->name, "state",
	    lu->disk->online ? "online" : "offline", "blocks", (json_int_t)lu->blocks,
	    "block_size", (json_int_t)lu->block_size, "read_only", tl->read_only, "serial",
	    lu->serial, "naa", naa, "orphans", (json_int_t)fence_orphans(lu));
}

static json_t *
luns_run(json_t *params, char *err, size_t err_size)
{
	json_t *rows = json_array();

	for (struct target *t = target_next(NULL); t; t = target_next(t))
		for (uint32_t i = 0; i < t->nluns; i++)
			json_array_append_new(rows, lun_json(t, &t->luns[i]));
	return json_pack("{so}", "luns", rows);
}

static const struct control_verb targets_verb = {
	.name = "targets",
	.help = "exported targets, and how many sessions each has",
	.params = "",
	.columns = "name:TARGET:left luns:LUNS:right sessions:SESSIONS:right portals:PORTALS:left "
	    "auth:AUTH:left rules:RULES:right",
	.run = targets_run,
};
REGISTER(control_verbs, struct control_verb, &targets_verb);

static const struct control_verb luns_verb = {
	.name = "luns",
	.help = "exported units: disk, size, identity; orphans are aborted writes a disk still has",
	.params = "",
	.columns = "target:TARGET:left lun:LUN:right disk:DISK:left state:STATE:left "
	    "blocks:BLOCKS:right "
	    "block_size:SIZE:right read_only:RO:left naa:IDENTITY:left orphans:ORPHANS:right",
	.run = luns_run,
};
REGISTER(control_verbs, struct control_verb, &luns_verb);
