/* Text into a buffer that may be too small. */
#include <stdarg.h>
#include <stdio.h>

#include "util.h"

void
text_add(char *buf, size_t size, size_t *at, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (!size || *at >= size - 1)
		return;
	va_start(ap, fmt);
	n = vsnprintf(buf + *at, size - *at, fmt, ap);
	va_end(ap);
	if (n > 0)
		*at += MIN((size_t)n, size - 1 - *at);
}
