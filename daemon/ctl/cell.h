/* One value as text on a terminal. */
#ifndef CELL_H
#define CELL_H

#include <jansson.h>
#include <stdio.h>

enum { CELL = 1024 };

/*
 * The value in buf: texts as they are but for control characters, which a peer
 * may have chosen; lists joined by commas; what is absent as a dash.
 */
const char *cell_text(char buf[CELL], const json_t *value);
/* Columns it takes, one for each UTF-8 character. */
int cell_width(const char *text);
/* At most width columns of it; what is cut ends in ~. */
void cell_print(FILE *, const char *text, int width);

#endif
