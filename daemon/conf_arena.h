/* Memory that is freed, and wiped, all at once. */
#ifndef CONF_ARENA_H
#define CONF_ARENA_H

#include <stddef.h>

struct arena;

struct arena *arena_new(void);			/* NULL: no memory */
void arena_free(struct arena *);		/* overwrites what it held: there are secrets in it */

/* Zeroed, aligned for any type, never freed by itself. NULL: no memory. */
void *arena_get(struct arena *, size_t size);
char *arena_text(struct arena *, const char *, size_t len);	/* a copy, ended by NUL */

/*
 * Room for one more in an array of n members in which cap fit: moves it when it
 * is full. The old place stays behind until arena_free. NULL: no memory.
 */
void *arena_grow(struct arena *, void *array, size_t n, size_t *cap, size_t member);

#endif
