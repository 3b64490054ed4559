/* Verbs of the control socket (JSON-RPC 2.0). */
#ifndef CONTROL_H
#define CONTROL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "registry.h"

/*
 * A verb, registered with REGISTER(control_verbs, struct control_verb, &x).
 * run is called on the main thread; params is the request's "params" (an object
 * or NULL). It returns the result (the caller owns it) or NULL with a sentence
 * in err that says what is wrong and what to do. To see a reactor's objects it
 * uses reactor_call. columns tells sluicectl's table: "key:HEADING:align ..."
 * over an array of objects under the result's key of the same name as the verb.
 */
struct control_verb {
	const char *name;
	const char *help;		/* one line */
	const char *params;		/* names of parameters in command-line order, space-separated; "" none */
	const char *columns;		/* "" : the result is one object, shown as key: value lines */
	json_t *(*run)(json_t *params, char *err, size_t err_size);
};
REGISTRY(control_verbs, struct control_verb);

/*
 * What another part adds to the answer of a verb, registered with
 * REGISTER(control_extras, struct control_extra, &x): add is called on the main
 * thread with the result of each successful run; columns follow the verb's.
 */
struct control_extra {
	const char *verb;
	const char *columns;
	void (*add)(json_t *result);
	bool last;			/* after the others: adds to their rows, too */
};
REGISTRY(control_extras, struct control_extra);

#endif
