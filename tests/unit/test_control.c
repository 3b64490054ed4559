/* The control socket: requests good and bad, and clients that misbehave. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control.h"
#include "util.h"

#include "daemon/control_rpc.h"
#include "daemon/control_socket.h"

/* -- verbs of our own -- */

static int shouted;

static json_t *
shout_run(json_t *params, char *err, size_t size)
{
	const char *what = json_string_value(json_object_get(params, "what"));

	shouted++;
	if (what && !strcmp(what, "long")) {
		static char text[200001];

		memset(text, 'x', sizeof(text) - 1);
		return json_pack("{s:s}", "shout", text);
	}
	if (what)
		return json_pack("{s:s}", "shout", what);
	/* Latin-1, as from a peer: not UTF-8. */
	snprintf(err, size, "say what to shout, M\xfcller");
	return NULL;
}

static const struct control_verb shout_verb = {
	.name = "test_shout", .help = "test", .params = "what how", .columns = "", .run = shout_run,
};
REGISTER(control_verbs, struct control_verb, &shout_verb);

/* -- requests -- */

/* The answer's error code; 0: a result; 1: no answer. */
static int
code_of(const char *line, size_t len)
{
	json_t *answer = rpc_answer(line, len);
	json_t *error = json_object_get(answer, "error");
	int code = !answer ? 1 : error ? (int)json_integer_value(json_object_get(error, "code")) : 0;

	if (answer) {
		assert_string_equal(json_string_value(json_object_get(answer, "jsonrpc")), "2.0");
		assert_non_null(json_object_get(answer, "id"));
		assert_true(!error == !!json_object_get(answer, "result"));
		if (error)
			assert_true(json_string_length(json_object_get(error, "message")) > 0);
	}
	json_decref(answer);
	return code;
}

#define V "\"jsonrpc\":\"2.0\""

static void
each_fault_has_its_code(void **state)
{
	static const struct { const char *line; int code; } rows[] = {
		{ "", RPC_PARSE_ERROR },
		{ "{", RPC_PARSE_ERROR },
		{ "hello", RPC_PARSE_ERROR },
		{ "{\"a\":1,\"a\":2}", RPC_PARSE_ERROR },
		{ "{" V ",\"id\":1,\"method\":\"\xff\"}", RPC_PARSE_ERROR },
		{ "{" V ",\"id\":1,\"method\":\"version\"} x", RPC_PARSE_ERROR },
		{ "1", RPC_INVALID_REQUEST },
		{ "null", RPC_INVALID_REQUEST },
		{ "[]", RPC_INVALID_REQUEST },
		{ "[{" V ",\"id\":1,\"method\":\"version\"}]", RPC_INVALID_REQUEST },
		{ "{}", RPC_INVALID_REQUEST },
		{ "{\"id\":1,\"method\":\"version\"}", RPC_INVALID_REQUEST },
		{ "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"version\"}", RPC_INVALID_REQUEST },
		{ "{\"jsonrpc\":2.0,\"id\":1,\"method\":\"version\"}", RPC_INVALID_REQUEST },
		{ "{" V ",\"id\":1}", RPC_INVALID_REQUEST },
		{ "{" V ",\"id\":1,\"method\":7}", RPC_INVALID_REQUEST },
		{ "{" V ",\"id\":[1],\"method\":\"version\"}", RPC_INVALID_REQUEST },
		{ "{" V ",\"id\":{},\"method\":\"version\"}", RPC_INVALID_REQUEST },
		{ "{" V ",\"id\":1,\"method\":\"no_such\"}", RPC_NO_METHOD },
		{ "{" V ",\"id\":1,\"method\":\"\"}", RPC_NO_METHOD },
		{ "{" V ",\"id\":1,\"method\":\"version\",\"params\":[]}", RPC_INVALID_PARAMS },
		{ "{" V ",\"id\":1,\"method\":\"version\",\"params\":\"x\"}", RPC_INVALID_PARAMS },
		{ "{" V ",\"id\":1,\"method\":\"version\",\"params\":{\"x\":1}}", RPC_INVALID_PARAMS },
		{ "{" V ",\"id\":1,\"method\":\"test_shout\",\"params\":{\"wha\":1}}", RPC_INVALID_PARAMS },
		{ "{" V ",\"id\":1,\"method\":\"test_shout\",\"params\":{\"\":1}}", RPC_INVALID_PARAMS },
		{ "{" V ",\"id\":1,\"method\":\"test_shout\"}", RPC_REFUSED },
		{ "{" V ",\"id\":1,\"method\":\"kick\"}", RPC_REFUSED },
		{ "{" V ",\"id\":1,\"method\":\"test_shout\",\"params\":{\"what\":\"x\"}}", RPC_OK },
		{ "{" V ",\"id\":1,\"method\":\"version\"}", RPC_OK },
		{ "{" V ",\"id\":\"a\",\"method\":\"version\",\"params\":{}}", RPC_OK },
		{ "{" V ",\"id\":null,\"method\":\"version\"}", RPC_OK },
		{ "{" V ",\"id\":1,\"method\":\"version\"}\r", RPC_OK },
		/* Notifications: run, never answered. */
		{ "{" V ",\"method\":\"version\"}", 1 },
		{ "{" V ",\"method\":\"no_such\"}", 1 },
		{ "{" V ",\"method\":\"version\",\"params\":[]}", 1 },
	};

	for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
		int code = code_of(rows[i].line, strlen(rows[i].line));

		if (code != rows[i].code)
			fail_msg("%s: %d instead of %d", rows[i].line, code, rows[i].code);
	}
	assert_int_equal(code_of("{" V ",\"id\":1,\0}", 24), RPC_PARSE_ERROR);
}

static void
deep_nesting_is_refused(void **state)
{
	char *deep = malloc(60000);

	assert_non_null(deep);
	memset(deep, '[', 60000);
	assert_int_equal(code_of(deep, 60000), RPC_PARSE_ERROR);
	free(deep);
}

static void
an_answer_has_the_requests_id(void **state)
{
	static const char line[] = "{" V ",\"id\":\"x7\",\"method\":\"test_shout\",\"params\":{\"what\":\"ho\"}}";
	json_t *answer = rpc_answer(line, strlen(line));

	assert_string_equal(json_string_value(json_object_get(answer, "id")), "x7");
	assert_string_equal(json_string_value(json_object_get(json_object_get(answer, "result"),
	    "shout")), "ho");
	json_decref(answer);
}

static void
planned_verbs_say_so(void **state)
{
	static const char line[] = "{" V ",\"id\":1,\"method\":\"resize\"}";
	json_t *answer = rpc_answer(line, strlen(line));

	assert_string_equal(json_string_value(json_object_get(json_object_get(answer, "error"),
	    "message")), "resize is not supported yet");
	json_decref(answer);
}

static void
verbs_are_listed_with_their_parameters(void **state)
{
	static const char line[] = "{" V ",\"id\":1,\"method\":\"verbs\"}";
	json_t *answer = rpc_answer(line, strlen(line)), *verb;
	bool shout = false;
	size_t i;

	json_array_foreach(json_object_get(json_object_get(answer, "result"), "verbs"), i, verb) {
		const char *name = json_string_value(json_object_get(verb, "name"));

		if (strcmp(name, "test_shout"))
			continue;
		shout = true;
		assert_string_equal(json_string_value(json_object_get(verb, "params")), "what how");
	}
	assert_true(shout);
	json_decref(answer);
}

/* -- the socket -- */

static char dir[64], path[96];
static struct event_base *base;

static int
socket_start(void **state)
{
	strcpy(dir, "/tmp/sluice-control-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/run/control.sock", dir);
	base = event_base_new();
	return control_lock(path) || control_open(path, base);
}

static int
socket_stop(void **state)
{
	char command[96];

	control_close();
	event_base_free(base);
	/* It is gone with the daemon; its lock stays. */
	assert_int_not_equal(access(path, F_OK), 0);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static int
client_connect(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	strcpy(addr.sun_path, path);
	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	return fd;
}

static void
say(int fd, const char *text)
{
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static void
turn(void)
{
	for (int i = 0; i < 5; i++)
		event_base_loop(base, EVLOOP_NONBLOCK);
}

/* All that comes in some turns; *closed: the daemon hung up. */
static char *
hear(int fd, bool *closed)
{
	static char text[1 << 20];
	size_t at = 0;

	*closed = false;
	for (int i = 0; i < 100 && !*closed; i++) {
		ssize_t n;

		turn();
		n = read(fd, text + at, sizeof(text) - 1 - at);
		if (n > 0)
			at += (size_t)n;
		*closed = n == 0 || (n < 0 && errno == ECONNRESET);
	}
	text[at] = 0;
	return text;
}

static int
lines_in(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

#define VERSION "{" V ",\"id\":1,\"method\":\"version\"}\n"

static void
requests_may_come_in_pieces_or_together(void **state)
{
	bool closed;
	int fd = client_connect();

	say(fd, "{" V ",\"id\":1,");
	assert_string_equal(hear(fd, &closed), "");
	assert_false(closed);
	say(fd, "\"method\":\"version\"}\n" VERSION "nonsense\n");
	assert_int_equal(lines_in(hear(fd, &closed)), 3);
	assert_false(closed);
	close(fd);
	turn();
}

static void
the_end_of_requests_is_not_the_end_of_answers(void **state)
{
	bool closed;
	int fd = client_connect();
	const char *text;

	say(fd, "{" V ",\"id\":1,\"method\":\"test_shout\",\"params\":{\"what\":\"long\"}}\n" VERSION);
	shutdown(fd, SHUT_WR);
	text = hear(fd, &closed);
	assert_true(closed);
	assert_int_equal(lines_in(text), 2);
	assert_true(strlen(text) > 200000);
	close(fd);
}

static void
a_line_without_an_end_is_dropped(void **state)
{
	char junk[4096];
	bool closed;
	int fd = client_connect();
	const char *text;

	memset(junk, 'x', sizeof(junk));
	for (int i = 0; i < 20; i++) {
		(void)!write(fd, junk, sizeof(junk));
		turn();
	}
	text = hear(fd, &closed);
	assert_true(closed);
	assert_non_null(strstr(text, "-32600"));
	close(fd);
}

static void
who_does_not_read_is_dropped(void **state)
{
	static const char line[] =
	    "{" V ",\"id\":1,\"method\":\"test_shout\",\"params\":{\"what\":\"long\"}}\n";
	bool dropped = false;
	int fd = client_connect();

	shouted = 0;
	for (int i = 0; i < 1000 && !dropped; i++) {
		dropped = send(fd, line, strlen(line), MSG_NOSIGNAL) < 0 && errno == EPIPE;
		turn();
	}
	assert_true(dropped);
	/* It ended after about the limit, not after all that was asked. */
	assert_in_range(shouted, 2, 20);
	close(fd);
}

static void
the_longest_silent_client_makes_room(void **state)
{
	bool closed;
	int fd[17];

	for (int i = 0; i < 16; i++) {
		fd[i] = client_connect();
		turn();
	}
	/* The first speaks, so that the second is now silent for longest. */
	say(fd[0], VERSION);
	assert_int_equal(lines_in(hear(fd[0], &closed)), 1);
	fd[16] = client_connect();
	say(fd[16], VERSION);
	assert_int_equal(lines_in(hear(fd[16], &closed)), 1);
	assert_false(closed);
	for (int i = 0; i < 17; i++) {
		assert_string_equal(hear(fd[i], &closed), "");
		assert_int_equal(closed, i == 1);
	}
	for (int i = 0; i < 17; i++)
		close(fd[i]);
	turn();
}

static void
only_the_owner_may_use_it(void **state)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
}

static void
a_second_daemon_does_not_get_the_lock(void **state)
{
	bool closed;
	int fd, status;
	pid_t pid = fork();

	if (!pid) {
		(void)!freopen("/dev/null", "w", stderr);
		/* The lock is the open file's: here it must be a new one. */
		_exit(control_lock(path) == -EWOULDBLOCK ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	/* And the first is unharmed. */
	fd = client_connect();
	say(fd, VERSION);
	assert_int_equal(lines_in(hear(fd, &closed)), 1);
	close(fd);
	turn();
}

#define SOCKET(test) cmocka_unit_test_setup_teardown(test, socket_start, socket_stop)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_fault_has_its_code),
		cmocka_unit_test(deep_nesting_is_refused),
		cmocka_unit_test(an_answer_has_the_requests_id),
		cmocka_unit_test(planned_verbs_say_so),
		cmocka_unit_test(verbs_are_listed_with_their_parameters),
		SOCKET(requests_may_come_in_pieces_or_together),
		SOCKET(the_end_of_requests_is_not_the_end_of_answers),
		SOCKET(a_line_without_an_end_is_dropped),
		SOCKET(who_does_not_read_is_dropped),
		SOCKET(the_longest_silent_client_makes_room),
		SOCKET(only_the_owner_may_use_it),
		SOCKET(a_second_daemon_does_not_get_the_lock),
	};

	/* As reactors_start does. */
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
