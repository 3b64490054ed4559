/* Requests without a bridge: what the tests of order and merging put in line. */
#ifndef ORDER_RIG_H
#define ORDER_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "hba/bridge/order.h"

enum { REQS = 4096, BLOCK = 512 };

static struct bridge_req reqs[REQS];
static struct iovec segments[REQS];
static struct disk disk;
static unsigned seed = 1;

static inline unsigned
rnd(unsigned n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

/* In blocks. */
static inline struct bridge_req *
req_make(int i, enum disk_op op, uint64_t lba, uint64_t blocks)
{
	struct bridge_req *r = &reqs[i];

	memset(r, 0, sizeof(*r));
	r->io.disk = &disk;
	r->io.op = (uint8_t)op;
	r->io.offset = lba * BLOCK;
	r->io.len = blocks * BLOCK;
	segments[i] = (struct iovec){ (void *)((uintptr_t)(i + 1) * 0x10000), r->io.len };
	r->io.iov = &segments[i];
	r->io.niov = 1;
	r->wait_ns = 1;
	return r;
}

static inline int
number(const struct bridge_req *r)
{
	return (int)(r - reqs);
}

#endif
