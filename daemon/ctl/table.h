/* Results of verbs for people: tables and `key: value` lines. */
#ifndef TABLE_H
#define TABLE_H

#include <jansson.h>
#include <stdio.h>

/*
 * A row for each object of the array. columns: "key:HEADING:align ..." (align
 * l or r, l when absent); empty: one column for each key of the first object.
 * width: of the terminal, 0: any.
 */
void table_print(FILE *, const json_t *rows, const char *columns, int width);
/* A line for each member; objects in it indented, arrays of objects as tables. */
void object_print(FILE *, const json_t *object, int width);

#endif
