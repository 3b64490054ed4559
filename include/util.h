/* The few things C lacks. */
#ifndef UTIL_H
#define UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define CACHE_LINE 64
/* Apart enough that the adjacent-line prefetcher does not couple two writers. */
#define OWN_LINE _Alignas(128)

#define container_of(ptr, type, member)                                             \
	((type *)((char *)(ptr) - offsetof(type, member)))

static inline uint64_t
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/*
 * Appends formatted text at *at of a buffer of size bytes and moves *at, never
 * past size - 1; what does not fit is cut. (snprintf's return is no length.)
 */
__attribute__((format(printf, 4, 5)))
void text_add(char *buf, size_t size, size_t *at, const char *fmt, ...);

#endif
