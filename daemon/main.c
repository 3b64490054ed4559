/* sluiced: what the command line asks, and the order in which things start and stop. */
#include <event2/event.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bridge.h"
#include "buf.h"
#include "conf.h"
#include "log.h"
#include "reactor.h"
#include "stats.h"
#include "target.h"
#include "transport.h"

#include "control_socket.h"
#include "reload.h"
#include "service.h"

enum { EXIT_STOPPED = 0, EXIT_CONF = 1, EXIT_START = 2 };

#define STOP_NS 10000000000u
#define SETTLE_NS 2000000000u
#define DEFAULT_CONF "/etc/sluice/sluice.yaml"

static const char usage[] =
    "usage: sluiced [-c FILE] [-t] [-v] [-V]\n"
    "  -c FILE  configuration; default " DEFAULT_CONF " and /etc/sluice/conf.d/*.yaml\n"
    "  -t       check the configuration, print every error, exit\n"
    "  -v       log more\n"
    "  -V       print the version, exit\n";

struct options {
	const char *conf;
	bool test, version, help;
};

static int
options_read(int argc, char **argv, struct options *o)
{
	int c;

	while ((c = getopt(argc, argv, "c:tvVh")) != -1) {
		switch (c) {
		case 'c':
			o->conf = optarg;
			break;
		case 't':
			o->test = true;
			break;
		case 'v':
			log_level = LOG_LEVEL_DEBUG;
			break;
		case 'V':
			o->version = true;
			break;
		case 'h':
			o->help = true;
			break;
		default:
			return -1;
		}
	}
	return optind == argc ? 0 : -1;
}

/*
 * Each step needs those before it, and the way down is the way up. What does
 * not start has logged why.
 */
static int
serve(const struct conf *conf, struct event_base *base)
{
	int rc = EXIT_START;
	unsigned left;

	if (adapters_open(conf))
		return rc;
	if (targets_open(conf))
		goto close_adapters;
	if (transports_start(conf) || control_open(conf->control, base))
		goto stop_transports;
	if (!service_start(base)) {
		service_run();
		service_stop();
		rc = EXIT_STOPPED;
	}
	control_close();
stop_transports:
	left = transports_stop(STOP_NS);
	if (left)
		log_warn("%u connections and commands did not end in time", left);
	targets_stop();
	if (!adapters_settle(left ? 0 : SETTLE_NS) || left)
		/* Their memory and their disks are in use: the kernel takes all of it at once. */
		_exit(rc);
	targets_close();
close_adapters:
	adapters_close();
	return rc;
}

static struct event_base *
main_base(void)
{
	struct event_config *cfg = event_config_new();
	struct event_base *base = NULL;

	if (cfg) {
		event_config_set_flag(cfg, EVENT_BASE_FLAG_NOLOCK);
		base = event_base_new_with_config(cfg);
		event_config_free(cfg);
	}
	if (!base)
		log_err("cannot make an event base");
	return base;
}

static int
run(const char *path, struct conf *conf)
{
	struct event_base *base;
	int rc = EXIT_START, err;

	service_prepare();
	reload_init(path, conf);
	stats_init();
	stats_thread_init(REACTORS_MAX);
	if (control_lock(conf->control))
		return rc;
	base = main_base();
	if (!base)
		return rc;
	buf_budget(conf->memory);
	err = reactors_start(conf->reactors, conf->poll_ns);
	if (err) {
		log_err("cannot start reactors: %s", strerror(-err));
	} else {
		log_info("sluiced %s, %u reactors", SLUICE_VERSION, reactor_count());
		rc = serve(conf, base);
		reactors_stop();
	}
	event_base_free(base);
	return rc;
}

int
main(int argc, char **argv)
{
	struct options o = { 0 };
	struct conf *conf;
	int rc = EXIT_STOPPED;

	if (options_read(argc, argv, &o)) {
		fputs(usage, stderr);
		return EXIT_START;
	}
	if (o.help || o.version) {
		fputs(o.help ? usage : "sluiced " SLUICE_VERSION "\n", stdout);
		return rc;
	}
	if (conf_load(o.conf, &conf, stderr))
		return EXIT_CONF;
	if (o.test)
		printf("%s: ok\n", o.conf ? o.conf : DEFAULT_CONF);
	else
		rc = run(o.conf, conf);
	conf_free(conf);
	return rc;
}
