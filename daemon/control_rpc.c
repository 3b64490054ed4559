/* JSON-RPC 2.0 without its socket: a line in, an answer out. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "control.h"
#include "log.h"
#include "util.h"

#include "control_rpc.h"

enum { WHY = 256 };

/* Verbs that are planned: their names are known, and the answer says so. */
static const char *const later[] = {
	"adapters", "disks", "targets", "luns", "sessions", "reservations", "top",
	"kick", "drain", "resize",
};

/* -- reading -- */

static bool
id_ok(const json_t *id)
{
	return json_is_string(id) || json_is_number(id) || json_is_null(id);
}

static enum rpc_code
invalid(char *why, size_t size, const char *what)
{
	snprintf(why, size, "%s", what);
	return RPC_INVALID_REQUEST;
}

enum rpc_code
rpc_parse(const char *line, size_t len, struct rpc_request *req, char *why, size_t size)
{
	json_error_t err;
	json_t *id;
	const char *version;

	*req = (struct rpc_request){ 0 };
	/* Any value, so that `1` is a wrong request and not wrong JSON. */
	req->root = json_loadb(line, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &err);
	if (!req->root) {
		snprintf(why, size, "not JSON: %s", err.text);
		return RPC_PARSE_ERROR;
	}
	if (json_is_array(req->root))
		return invalid(why, size, "batches are not supported: one object a line");
	if (!json_is_object(req->root))
		return invalid(why, size, "a request is an object");
	id = json_object_get(req->root, "id");
	if (id && !id_ok(id))
		return invalid(why, size, "\"id\" is a string, a number or null");
	req->id = id;
	version = json_string_value(json_object_get(req->root, "jsonrpc"));
	if (!version || strcmp(version, "2.0"))
		return invalid(why, size, "\"jsonrpc\" is \"2.0\"");
	req->method = json_string_value(json_object_get(req->root, "method"));
	if (!req->method)
		return invalid(why, size, "\"method\" is a string");
	req->params = json_object_get(req->root, "params");
	if (!req->params || json_is_object(req->params))
		return RPC_OK;
	snprintf(why, size, "\"params\" is an object, with parameters by name");
	return RPC_INVALID_PARAMS;
}

/* -- answering -- */

static json_t *
envelope(json_t *id)
{
	return json_pack("{s:s, s:O?}", "jsonrpc", "2.0", "id", id);
}

json_t *
rpc_error(json_t *id, enum rpc_code code, const char *why)
{
	json_t *answer = envelope(id), *text = json_string(why), *error;
	char plain[4 * WHY];

	/* A sentence that was cut within a character is not UTF-8. */
	if (!text)
		text = json_string(log_text(plain, sizeof(plain), why, (unsigned)strlen(why)));
	error = json_pack("{s:i, s:o}", "code", (int)code, "message", text);
	if (!answer || !error || json_object_set(answer, "error", error)) {
		json_decref(answer);
		answer = NULL;
	}
	json_decref(error);
	return answer;
}

static const struct control_verb *
verb_find(const char *name)
{
	const struct control_verb *v;

	for_each_registered(control_verbs, v)
		if (!strcmp(v->name, name))
			return v;
	return NULL;
}

/* Is name one of the words in list? */
static bool
word_in(const char *list, const char *name)
{
	size_t len = strlen(name);

	while (len && *list) {
		size_t n = strcspn(list, " ");

		if (n == len && !memcmp(list, name, n))
			return true;
		list += n + strspn(list + n, " ");
	}
	return false;
}

static enum rpc_code
params_check(const struct control_verb *v, json_t *params, char *why, size_t size)
{
	const char *key;
	json_t *value;

	json_object_foreach(params, key, value) {
		if (word_in(v->params, key))
			continue;
		snprintf(why, size, "%s takes %s%s", v->name,
		    v->params[0] ? "only these parameters: " : "no parameters", v->params);
		return RPC_INVALID_PARAMS;
	}
	return RPC_OK;
}

static enum rpc_code
verb_missing(const char *name, char *why, size_t size)
{
	for (unsigned i = 0; i < ARRAY_LEN(later); i++) {
		if (strcmp(later[i], name))
			continue;
		snprintf(why, size, "%s is not supported yet", name);
		return RPC_REFUSED;
	}
	snprintf(why, size, "there is no such verb; `verbs` lists them");
	return RPC_NO_METHOD;
}

static void
extras_add(const struct control_verb *v, json_t *result, bool last)
{
	const struct control_extra *extra;

	for_each_registered(control_extras, extra)
		if (extra->last == last && !strcmp(extra->verb, v->name))
			extra->add(result);
}

static enum rpc_code
verb_run(const struct rpc_request *req, json_t **result, char *why, size_t size)
{
	const struct control_verb *v = verb_find(req->method);
	enum rpc_code code;

	if (!v)
		return verb_missing(req->method, why, size);
	code = params_check(v, req->params, why, size);
	if (code)
		return code;
	snprintf(why, size, "out of memory");
	*result = v->run(req->params, why, size);
	if (!*result)
		return RPC_REFUSED;
	extras_add(v, *result, false);
	extras_add(v, *result, true);
	return RPC_OK;
}

json_t *
rpc_answer(const char *line, size_t len)
{
	char why[WHY] = "";
	struct rpc_request req;
	json_t *result = NULL, *answer = NULL;
	enum rpc_code code = rpc_parse(line, len, &req, why, sizeof(why));
	bool silent = !req.id && req.method;

	if (!code)
		code = verb_run(&req, &result, why, sizeof(why));
	/* 4.1: a notification gets no answer, not even an error. */
	if (!silent && code) {
		answer = rpc_error(req.id, code, why);
	} else if (!silent) {
		answer = envelope(req.id);
		if (answer && json_object_set(answer, "result", result)) {
			json_decref(answer);
			answer = NULL;
		}
	}
	json_decref(result);
	json_decref(req.root);
	return answer;
}
