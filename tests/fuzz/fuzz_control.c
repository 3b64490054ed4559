/* Lines of the control socket: whatever they are, the answer is one line of JSON, or none. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "stats.h"

#include "daemon/control_rpc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int ready;
	json_t *answer;
	char *text;

	if (!ready++)
		stats_init();
	answer = rpc_answer((const char *)data, size);
	if (!answer)
		return 0;
	text = json_dumps(answer, JSON_COMPACT);
	assert(text && !strchr(text, '\n'));
	assert(json_object_get(answer, "id"));
	assert(!json_object_get(answer, "error") == !!json_object_get(answer, "result"));
	free(text);
	json_decref(answer);
	return 0;
}
