/* YAML text to a tree of nodes that know where they stand; what could grow without bound is refused. */
#include "conf_load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

/* One document on its way into a tree. */
struct reader {
	struct conf_load *load;
	const struct conf_file *file;
	const char *text;
	size_t len;
	struct conf_node *open[CONF_DEPTH_MAX];	/* lists and maps that have not ended, outermost first */
	unsigned depth;
	const char *key;		/* read, waits for its value in the innermost map */
	struct conf_pos key_pos;
	bool in_key;			/* inside a list or map that stands where a key should */
	unsigned key_depth;
	struct conf_node *root;
	unsigned documents;
	bool ended;
	bool stop;			/* an error that makes the rest meaningless */
};

static struct conf_pos
mark_pos(const struct reader *r, yaml_mark_t mark)
{
	return (struct conf_pos){ r->file->name, (int)mark.line + 1, (int)mark.column + 1 };
}

/* -- the parser's own errors -- */

/* The parser gives no mark for bytes that are no text, only the offset. */
static struct conf_pos
offset_pos(const struct reader *r, size_t offset)
{
	struct conf_pos pos = { r->file->name, 1, 1 };
	size_t i;

	for (i = 0; i < offset && i < r->len; i++) {
		if (r->text[i] == '\n') {
			pos.line++;
			pos.column = 1;
		} else if ((r->text[i] & 0xc0) != 0x80) {
			pos.column++;
		}
	}
	return pos;
}

/* A mark counts letters, of one to four bytes, without the byte order mark. 0: at the end. */
static char
letter_at(const struct reader *r, yaml_mark_t mark)
{
	size_t i = r->len >= 3 && memcmp(r->text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0, n = 0;

	for (; i < r->len; i++) {
		if ((r->text[i] & 0xc0) != 0x80 && n++ == mark.index)
			return r->text[i];
	}
	return '\0';
}

static const char *
parser_hint(const struct reader *r, const yaml_parser_t *p)
{
	char from = p->context ? letter_at(r, p->context_mark) : '\0';

	if (letter_at(r, p->problem_mark) == '\t')
		return " (a tab; indent with spaces)";
	if (from == '*' || from == '&')
		return " (a text that begins with * or & needs quotes)";
	return "";
}

static void
parser_error(struct reader *r, const yaml_parser_t *p)
{
	struct conf_pos pos;

	switch (p->error) {
	case YAML_MEMORY_ERROR:
		conf_no_memory(r->load);
		break;
	case YAML_READER_ERROR:
		pos = offset_pos(r, p->problem_offset);
		if (p->problem_value != -1)
			conf_error(r->load, pos, "%s (0x%02x)", p->problem, (unsigned)p->problem_value);
		else
			conf_error(r->load, pos, "%s", p->problem);
		break;
	default:
		pos = mark_pos(r, p->problem_mark);
		if (p->context)
			conf_error(r->load, pos, "%s, %s that began at line %zu%s", p->problem,
			    p->context, p->context_mark.line + 1, parser_hint(r, p));
		else
			conf_error(r->load, pos, "%s%s", p->problem, parser_hint(r, p));
	}
}

/* -- nodes -- */

void
conf_node_add(struct conf_node *parent, struct conf_node *child)
{
	if (parent->last)
		parent->last->next = child;
	else
		parent->first = child;
	parent->last = child;
	child->next = NULL;
	parent->n++;
}

/* Looking a key up is linear: a map is not to have more than a person could write. */
static void
node_attach(struct reader *r, struct conf_node *parent, struct conf_node *n)
{
	if (parent->kind != NODE_MAP || parent->n < CONF_KEYS_MAX) {
		conf_node_add(parent, n);
	} else if (!parent->full) {
		conf_error(r->load, n->key_pos, "more than %d keys in a map", CONF_KEYS_MAX);
		parent->full = true;
	}
}

/* A new node in its place: root, item, or value of the key that waits. */
static struct conf_node *
node_new(struct reader *r, enum conf_kind kind, yaml_mark_t mark)
{
	struct conf_node *n, *parent = r->depth ? r->open[r->depth - 1] : NULL;

	if (r->load->nnodes++ >= CONF_NODES_MAX) {
		conf_error(r->load, mark_pos(r, mark), "more than %d values", CONF_NODES_MAX);
		r->stop = true;
		return NULL;
	}
	n = arena_get(r->load->scratch, sizeof(*n));
	if (!n) {
		conf_no_memory(r->load);
		r->stop = true;
		return NULL;
	}
	n->kind = kind;
	n->pos = mark_pos(r, mark);
	if (!parent) {
		r->root = n;
	} else if (!r->in_key) {	/* else it belongs to what was refused as a key */
		n->key = r->key;
		n->key_pos = r->key_pos;
		node_attach(r, parent, n);
	}
	r->key = NULL;
	return n;
}

static bool
wants_key(const struct reader *r)
{
	return r->depth && r->open[r->depth - 1]->kind == NODE_MAP && !r->key && !r->in_key;
}

/* NULL: an error was said about it, its value belongs to no key. */
static void
key_set(struct reader *r, const char *key, yaml_mark_t mark)
{
	r->key = key ? key : "";
	r->key_pos = mark_pos(r, mark);
}

static const char *
scalar_text(struct reader *r, const yaml_event_t *e)
{
	const char *v = (const char *)e->data.scalar.value;
	const char *text;

	if (memchr(v, 0, e->data.scalar.length)) {
		conf_error(r->load, mark_pos(r, e->start_mark), "a NUL byte in a text");
		return NULL;
	}
	text = arena_text(r->load->scratch, v, e->data.scalar.length);
	if (!text)
		conf_no_memory(r->load);
	return text;
}

static void
on_scalar(struct reader *r, const yaml_event_t *e)
{
	const char *text = scalar_text(r, e);
	struct conf_node *n;

	if (wants_key(r)) {
		key_set(r, text, e->start_mark);
		if (text && !*text)
			conf_error(r->load, r->key_pos, "a key must be a word, found nothing");
		return;
	}
	n = node_new(r, text ? NODE_SCALAR : NODE_BAD, e->start_mark);
	if (!n)
		return;
	n->text = text;
	n->quoted = e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
}

static void
on_open(struct reader *r, enum conf_kind kind, yaml_mark_t mark)
{
	struct conf_node *n;
	bool bad_key = wants_key(r);

	if (r->depth == CONF_DEPTH_MAX) {
		conf_error(r->load, mark_pos(r, mark), "more than %d lists and maps inside each other",
		    CONF_DEPTH_MAX);
		r->stop = true;
		return;
	}
	if (bad_key) {
		conf_error(r->load, mark_pos(r, mark), "a key must be a word, found a %s",
		    kind == NODE_LIST ? "list" : "map");
		r->in_key = true;
		r->key_depth = r->depth;
	}
	n = node_new(r, kind, mark);
	if (n)
		r->open[r->depth++] = n;
}

static int
key_order(const void *pa, const void *pb)
{
	const struct conf_node *a = *(struct conf_node *const *)pa;
	const struct conf_node *b = *(struct conf_node *const *)pb;
	int c = strcmp(a->key, b->key);

	if (c)
		return c;
	if (a->key_pos.line != b->key_pos.line)
		return a->key_pos.line - b->key_pos.line;
	return a->key_pos.column - b->key_pos.column;
}

/* Sorted, equal keys are neighbours. Only the first counts: a row fills its place once. */
static void
keys_check(struct reader *r, const struct conf_node *map)
{
	struct conf_node **v, *n;
	char other[512], key[256];
	size_t i = 0;

	if (map->n < 2)
		return;
	v = calloc(map->n, sizeof(*v));
	if (!v) {
		conf_no_memory(r->load);
		return;
	}
	for (n = map->first; n; n = n->next)
		v[i++] = n;
	qsort(v, map->n, sizeof(*v), key_order);
	for (i = 1; i < map->n; i++) {
		if (!*v[i]->key || strcmp(v[i]->key, v[i - 1]->key) != 0)
			continue;
		conf_error(r->load, v[i]->key_pos, "key %s is here twice, also at %s",
		    conf_quote(v[i]->key, key, sizeof(key)),
		    conf_pos_text(v[i - 1]->key_pos, other, sizeof(other)));
		v[i]->kind = NODE_BAD;
	}
	free(v);
}

static void
on_close(struct reader *r)
{
	struct conf_node *n = r->open[--r->depth];

	if (n->kind == NODE_MAP)
		keys_check(r, n);
	if (r->in_key && r->depth == r->key_depth) {
		/* Its value follows, under a key that nobody looks for. */
		r->in_key = false;
		r->key = "";
		r->key_pos = n->pos;
	}
}

static void
on_alias(struct reader *r, yaml_mark_t mark)
{
	conf_error(r->load, mark_pos(r, mark),
	    "aliases are not supported (a text that begins with * needs quotes)");
	if (wants_key(r))
		key_set(r, NULL, mark);
	else
		node_new(r, NODE_BAD, mark);
}

/* Anchors and tags change what a value means behind the reader's back; plain values need neither. */
static void
properties_check(struct reader *r, const yaml_event_t *e, const yaml_char_t *anchor,
    const yaml_char_t *tag)
{
	if (anchor)
		conf_error(r->load, mark_pos(r, e->start_mark),
		    "anchors are not supported (a text that begins with & needs quotes)");
	if (tag)
		conf_error(r->load, mark_pos(r, e->start_mark),
		    "tags are not supported (a text that begins with ! needs quotes)");
}

static void
on_event(struct reader *r, const yaml_event_t *e)
{
	switch (e->type) {
	case YAML_DOCUMENT_START_EVENT:
		if (r->documents++) {
			conf_error(r->load, mark_pos(r, e->start_mark),
			    "a second document; a file holds one");
			r->stop = true;
		}
		break;
	case YAML_SCALAR_EVENT:
		properties_check(r, e, e->data.scalar.anchor, e->data.scalar.tag);
		on_scalar(r, e);
		break;
	case YAML_SEQUENCE_START_EVENT:
		properties_check(r, e, e->data.sequence_start.anchor, e->data.sequence_start.tag);
		on_open(r, NODE_LIST, e->start_mark);
		break;
	case YAML_MAPPING_START_EVENT:
		properties_check(r, e, e->data.mapping_start.anchor, e->data.mapping_start.tag);
		on_open(r, NODE_MAP, e->start_mark);
		break;
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		on_close(r);
		break;
	case YAML_ALIAS_EVENT:
		on_alias(r, e->start_mark);
		break;
	case YAML_STREAM_END_EVENT:
		r->ended = true;
		break;
	case YAML_NO_EVENT:
	case YAML_STREAM_START_EVENT:
	case YAML_DOCUMENT_END_EVENT:
		break;
	}
}

int
conf_yaml(struct conf_load *l, const struct conf_file *file, const char *text, size_t len,
    struct conf_node **root)
{
	struct reader r = { .load = l, .file = file, .text = text, .len = len };
	yaml_parser_t parser;
	yaml_event_t event;

	*root = NULL;
	if (!yaml_parser_initialize(&parser)) {
		conf_no_memory(l);
		return -EINVAL;
	}
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
	while (!r.stop && !r.ended) {
		if (!yaml_parser_parse(&parser, &event)) {
			parser_error(&r, &parser);
			r.stop = true;
			break;
		}
		on_event(&r, &event);
		yaml_event_delete(&event);
	}
	yaml_parser_delete(&parser);
	if (r.stop)
		return -EINVAL;
	*root = r.root;
	return 0;
}
