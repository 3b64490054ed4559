/* A changed configuration for the running daemon: taken as a whole, or not at all. */
#include "reload.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#include "bridge.h"
#include "conf.h"
#include "control.h"
#include "log.h"
#include "target.h"
#include "util.h"

static struct {
	const char *path;
	struct conf *running;
} reload;

void
reload_init(const char *path, struct conf *running)
{
	reload.path = path;
	reload.running = running;
}

/* What was said goes to the log line by line, and the first line into why. */
static void
tell(char *said, char *why, size_t size)
{
	char *line, *save = NULL;
	size_t at = 0;
	unsigned n = 0;

	why[0] = '\0';
	for (line = strtok_r(said, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		log_err("reload: %s", line);
		if (n++ == 0)
			text_add(why, size, &at, "%s", line);
	}
	if (n > 1)
		text_add(why, size, &at, " (and %u more, in the log)", n - 1);
}

/* Reads and compares; what is wrong is in what f was given. 0, or -errno. */
static int
look(struct conf **loaded, FILE *f)
{
	int err = conf_load(reload.path, loaded, f);

	if (err)
		return err;
	if (conf_diff(reload.running, *loaded, f) == 0)
		return 0;
	conf_free(*loaded);
	return -EINVAL;
}

/* 0 and how many values have changed, or -errno and why nothing has. */
static int
reload_run(unsigned *changed, char *why, size_t size)
{
	struct conf *loaded = NULL;
	char *said = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&said, &n);
	int err;

	snprintf(why, size, "out of memory");
	if (!f)
		return -ENOMEM;
	err = look(&loaded, f);
	fclose(f);
	if (err == -EINVAL)
		tell(said, why, size);
	free(said);
	if (err)
		return err;
	err = adapters_reload(reload.running, loaded, why, size);
	if (err) {
		log_err("reload: %s", why);
	} else {
		*changed = conf_take(reload.running, loaded);
		nexus_limits_again();
	}
	conf_free(loaded);
	return err;
}

static int
reload_do(unsigned *changed, char *why, size_t size)
{
	int err;

	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, now_ns() / 1000);
	err = reload_run(changed, why, size);
	if (err)
		log_err("reload: nothing is changed");
	else
		log_info("reload: %u values changed", *changed);
	sd_notify(0, "READY=1");
	return err;
}

void
reload_signalled(void)
{
	unsigned changed;
	char why[512];

	reload_do(&changed, why, sizeof(why));
}

static json_t *
reload_verb_run(json_t *params, char *err, size_t err_size)
{
	unsigned changed;

	return reload_do(&changed, err, err_size) ? NULL :
	    json_pack("{s:i}", "changed", (int)changed);
}

static const struct control_verb reload_verb = {
	.name = "reload",
	.help = "reads the configuration again; what cannot change while running refuses all of it",
	.params = "",
	.columns = "",
	.run = reload_verb_run,
};
REGISTER(control_verbs, struct control_verb, &reload_verb);
