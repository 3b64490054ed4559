/* What is wrong with a configuration: gathered, put in file order, printed. */
#include "conf_load.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "util.h"

/* Errors above the limit are counted only: a file of rubbish must not fill the memory. */
__attribute__((format(printf, 4, 0)))
static void
issue_add(struct conf_load *l, struct conf_pos pos, const char *kind, const char *fmt, va_list ap)
{
	const struct conf_file *f = conf_file_of(l, pos);
	struct conf_issue *v;
	char text[1024];
	int n;

	if (l->nissues == CONF_ISSUES_MAX)
		return;
	v = arena_grow(l->scratch, l->issues, l->nissues, &l->issues_cap, sizeof(*v));
	if (!v) {
		conf_no_memory(l);
		return;
	}
	l->issues = v;
	n = snprintf(text, sizeof(text), "%s", kind);
	vsnprintf(text + n, sizeof(text) - n, fmt, ap);
	v += l->nissues;
	v->pos = pos;
	v->seq = f ? f->seq : 0;
	v->nr = l->nissues;
	v->text = arena_text(l->scratch, text, strlen(text));
	if (v->text)
		l->nissues++;
	else
		conf_no_memory(l);
}

void
conf_error(struct conf_load *l, struct conf_pos pos, const char *fmt, ...)
{
	va_list ap;

	l->nerrors++;
	va_start(ap, fmt);
	issue_add(l, pos, "", fmt, ap);
	va_end(ap);
}

void
conf_warning(struct conf_load *l, struct conf_pos pos, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	issue_add(l, pos, "warning: ", fmt, ap);
	va_end(ap);
}

void
conf_no_memory(struct conf_load *l)
{
	l->no_memory = true;
	l->nerrors++;
}

static int
issue_order(const void *pa, const void *pb)
{
	const struct conf_issue *a = pa, *b = pb;

	if (a->seq != b->seq)
		return a->seq < b->seq ? -1 : 1;
	if (a->pos.line != b->pos.line)
		return a->pos.line < b->pos.line ? -1 : 1;
	if (a->pos.column != b->pos.column)
		return a->pos.column < b->pos.column ? -1 : 1;
	return a->nr < b->nr ? -1 : a->nr > b->nr;
}

void
conf_issues_print(struct conf_load *l, FILE *err)
{
	char pos[512];
	size_t i;

	if (!err)
		return;
	if (l->nissues)
		qsort(l->issues, l->nissues, sizeof(*l->issues), issue_order);
	for (i = 0; i < l->nissues; i++)
		fprintf(err, "%s: %s\n", conf_pos_text(l->issues[i].pos, pos, sizeof(pos)),
		    l->issues[i].text);
	if (l->nissues == CONF_ISSUES_MAX)
		fprintf(err, "%zu errors in all; only the first %d found are shown\n", l->nerrors,
		    CONF_ISSUES_MAX);
	if (l->no_memory)
		fprintf(err, "out of memory while reading the configuration\n");
}

const char *
conf_pos_text(struct conf_pos pos, char *buf, size_t size)
{
	snprintf(buf, size, "%s:%d:%d", pos.file, pos.line, pos.column);
	return buf;
}

const char *
conf_quote(const char *text, char *buf, size_t size)
{
	size_t len = strlen(text), max = 48;
	char safe[4 * 48 + 1];

	log_text(safe, sizeof(safe), text, len > max ? max : len);
	snprintf(buf, size, "\"%s\"%s", safe, len > max ? "..." : "");
	return buf;
}

enum {
	WORD_MAX = 40,			/* longer than any key */
	WRONG_MAX = 4,			/* letters of it */
};

/* Insertions, deletions, replacements and swaps of neighbours that make b of a. */
static unsigned
distance(const char *a, size_t na, const char *b, size_t nb)
{
	unsigned d[3][WORD_MAX + 1], *old = d[0], *prev = d[1], *row = d[2], *t;
	size_t i, j;

	for (j = 0; j <= nb; j++)
		prev[j] = j;
	for (i = 1; i <= na; i++) {
		row[0] = i;
		for (j = 1; j <= nb; j++) {
			row[j] = prev[j - 1] + (a[i - 1] != b[j - 1]);
			row[j] = MIN(row[j], MIN(prev[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = MIN(row[j], old[j - 2] + 1);
		}
		t = old;
		old = prev;
		prev = row;
		row = t;
	}
	return prev[nb];
}

/* One letter may be wrong, and of longer words less than a third; else it is another word. */
static bool
is_near(unsigned wrong, size_t len)
{
	return wrong <= WRONG_MAX && (wrong <= 1 ? len > 2 : wrong * 3 < len);
}

const char *
conf_nearest(const char *text, const char *const *words, size_t n)
{
	const char *best = NULL;
	size_t len = strlen(text), wlen, i;
	unsigned least = WORD_MAX, d;

	if (len > WORD_MAX)
		return NULL;
	for (i = 0; i < n; i++) {
		wlen = strlen(words[i]);
		if (wlen > WORD_MAX || wlen > len + WRONG_MAX || len > wlen + WRONG_MAX)
			continue;
		d = distance(text, len, words[i], wlen);
		if (d < least && is_near(d, MAX(len, wlen))) {
			least = d;
			best = words[i];
		}
	}
	return best;
}
