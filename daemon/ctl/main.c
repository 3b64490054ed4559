/* sluicectl: asks a running sluiced, for people and for scripts. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "client.h"
#include "table.h"

enum { EXIT_DONE = 0, EXIT_REFUSED = 1, EXIT_USAGE = 2 };
enum { NO_METHOD = -32601, INVALID_PARAMS = -32602 };	/* JSON-RPC 2.0, 5.1 */

#define DEFAULT_SOCKET "/run/sluice/control.sock"

static const char usage[] =
    "usage: sluicectl [-s SOCKET] [--json] VERB [ARG...]\n"
    "       sluicectl check FILE\n"
    "  -s SOCKET  of the daemon; default " DEFAULT_SOCKET "\n"
    "  --json     the answer as it came\n";

struct options {
	const char *socket, *verb;
	bool json, help;
	char **args;
	int nargs;
};

static int
options_read(int argc, char **argv, struct options *o)
{
	static const struct option names[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "socket", required_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	/* Options also behind the verb: `sluicectl sessions --json`. */
	while ((c = getopt_long(argc, argv, "s:jh", names, NULL)) != -1) {
		if (c == 's')
			o->socket = optarg;
		else if (c == 'j')
			o->json = true;
		else if (c == 'h')
			o->help = true;
		else
			return -1;
	}
	if (optind < argc)
		o->verb = argv[optind++];
	o->args = argv + optind;
	o->nargs = argc - optind;
	return o->verb || o->help ? 0 : -1;
}

/* The terminal's columns; 0 when the reader is none. */
static int
terminal_width(void)
{
	struct winsize ws;

	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws))
		return 0;
	return ws.ws_col;
}

/* -- check: the daemon itself reads the file; no socket is needed -- */

static int
check_file(const struct options *o)
{
	static const char name[] = "/sluiced";
	char path[PATH_MAX + sizeof(name)];
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
	char *slash;

	if (o->nargs != 1) {
		fputs(usage, stderr);
		return EXIT_USAGE;
	}
	path[n > 0 ? n : 0] = 0;
	slash = strrchr(path, '/');
	/* Beside us, as it is built; else where it is installed. */
	if (slash) {
		memcpy(slash, name, sizeof(name));
		if (access(path, X_OK) == 0)
			execl(path, "sluiced", "-t", "-c", o->args[0], (char *)NULL);
	}
	execlp("sluiced", "sluiced", "-t", "-c", o->args[0], (char *)NULL);
	execl("/usr/sbin/sluiced", "sluiced", "-t", "-c", o->args[0], (char *)NULL);
	fprintf(stderr, "sluicectl: cannot run sluiced: %s\n", strerror(errno));
	return EXIT_USAGE;
}

/* -- verbs -- */

static int
fail_daemon(const struct options *o, int err)
{
	fprintf(stderr, "sluicectl: no daemon at %s: %s\n", o->socket, strerror(-err));
	return EXIT_USAGE;
}

/* What the daemon says about a verb; NULL: it does not list it. */
static json_t *
verb_find(const json_t *verbs, const char *name)
{
	json_t *list = json_object_get(json_object_get(verbs, "result"), "verbs"), *verb;
	size_t i;

	json_array_foreach(list, i, verb) {
		const char *have = json_string_value(json_object_get(verb, "name"));

		if (have && !strcmp(have, name))
			return verb;
	}
	return NULL;
}

static const char *
verb_text(const json_t *verb, const char *key)
{
	const char *text = json_string_value(json_object_get(verb, key));

	return text ? text : "";
}

/* Arguments under the parameters' names, in their order. NULL: they do not fit; said why. */
static json_t *
params_make(const json_t *verb, char **args, int nargs)
{
	json_t *params = json_object();
	const char *names = verb_text(verb, "params");

	for (int i = 0; i < nargs; i++) {
		size_t n;

		names += strspn(names, " ");
		n = strcspn(names, " ");
		if (!n) {
			fprintf(stderr, "sluicectl: %s takes %s%s\n", verb_text(verb, "name"),
			    *verb_text(verb, "params") ? "at most: " : "no arguments",
			    verb_text(verb, "params"));
			json_decref(params);
			return NULL;
		}
		if (json_object_setn_new(params, names, n, json_string(args[i]))) {
			fprintf(stderr, "sluicectl: argument %d is not UTF-8\n", i + 1);
			json_decref(params);
			return NULL;
		}
		names += n;
	}
	return params;
}

static void
result_print(const struct options *o, const json_t *verb, json_t *result)
{
	json_t *rows = json_object_get(result, o->verb);

	if (o->json) {
		json_dumpf(result, stdout, JSON_INDENT(2) | JSON_ENCODE_ANY);
		putchar('\n');
	} else if (json_is_array(rows)) {
		table_print(stdout, rows, verb_text(verb, "columns"), terminal_width());
	} else if (json_is_object(result)) {
		object_print(stdout, result, terminal_width());
	} else {
		json_dumpf(result, stdout, JSON_ENCODE_ANY);
		putchar('\n');
	}
}

static int
answer_show(const struct options *o, const json_t *verb, const json_t *answer)
{
	json_t *error = json_object_get(answer, "error");
	json_int_t code = json_integer_value(json_object_get(error, "code"));

	if (!error) {
		result_print(o, verb, json_object_get(answer, "result"));
		return fflush(stdout) ? EXIT_REFUSED : EXIT_DONE;
	}
	fprintf(stderr, "sluicectl: %s: %s\n", o->verb, verb_text(error, "message"));
	return code == NO_METHOD || code == INVALID_PARAMS ? EXIT_USAGE : EXIT_REFUSED;
}

static int
ask(struct client *c, const struct options *o)
{
	json_t *verbs = NULL, *answer = NULL, *params = NULL, *verb;
	int rc = EXIT_USAGE, err = client_ask(c, "verbs", NULL, &verbs);

	if (err) {
		rc = fail_daemon(o, err);
		goto out;
	}
	if (json_object_get(verbs, "error")) {
		rc = answer_show(o, NULL, verbs);
		goto out;
	}
	verb = verb_find(verbs, o->verb);
	/* Of a verb that is not listed the daemon says why. */
	if (verb) {
		params = params_make(verb, o->args, o->nargs);
		if (!params)
			goto out;
	}
	err = client_ask(c, o->verb, params, &answer);
	rc = err ? fail_daemon(o, err) : answer_show(o, verb, answer);
out:
	json_decref(params);
	json_decref(answer);
	json_decref(verbs);
	return rc;
}

int
main(int argc, char **argv)
{
	struct options o = { .socket = DEFAULT_SOCKET };
	struct client c;
	int err;

	if (options_read(argc, argv, &o)) {
		fputs(usage, stderr);
		return EXIT_USAGE;
	}
	if (o.help) {
		fputs(usage, stdout);
		return EXIT_DONE;
	}
	if (!strcmp(o.verb, "check"))
		return check_file(&o);
	err = client_open(&c, o.socket);
	if (err)
		return fail_daemon(&o, err);
	err = ask(&c, &o);
	client_close(&c);
	return err;
}
