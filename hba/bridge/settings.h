/* What an adapter's configuration means on this machine. */
#ifndef SETTINGS_H
#define SETTINGS_H

#include <stdint.h>

struct conf_adapter;

/* Hardware queues: as configured, but not more than there are reactors. */
uint32_t settings_queues(const struct conf_adapter *);
/* What cannot be with so many tags, as words; NULL: nothing. */
const char *settings_wrong(const struct conf_adapter *, uint32_t tags);

#endif
