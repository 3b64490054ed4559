/* JSON-RPC 2.0 without its socket: a line in, an answer out. */
#ifndef CONTROL_RPC_H
#define CONTROL_RPC_H

#include <jansson.h>
#include <stddef.h>

enum rpc_code {				/* JSON-RPC 2.0, 5.1 */
	RPC_OK = 0,
	RPC_PARSE_ERROR = -32700,
	RPC_INVALID_REQUEST = -32600,
	RPC_NO_METHOD = -32601,
	RPC_INVALID_PARAMS = -32602,
	RPC_REFUSED = -32000,		/* the verb's own sentence */
};

struct rpc_request {
	json_t *root;			/* owns what the others point to; json_decref */
	const char *method;
	json_t *params;			/* an object, or NULL */
	json_t *id;			/* NULL: a notification, nobody waits for an answer */
};

/*
 * Reads one request. Pure. Fills req in any case (root may be NULL, id is set
 * if one could be read); what is wrong goes to why as a sentence.
 */
enum rpc_code rpc_parse(const char *line, size_t len, struct rpc_request *req, char *why,
    size_t why_size);

/* An answer with this error; id may be NULL. NULL: no memory. */
json_t *rpc_error(json_t *id, enum rpc_code, const char *why);

/*
 * Reads a request, runs its verb on this thread, makes the answer; NULL when
 * there is none to send.
 */
json_t *rpc_answer(const char *line, size_t len);

#endif
