/* Information units and logins made of bytes, as an initiator builds them. */
#ifndef SRP_BUILD_H
#define SRP_BUILD_H

#include <stdlib.h>
#include <string.h>

#include "transport/srp/srp.h"

enum { BUILD_MAX = 65536 };

struct build {				/* an IU that grows at its end */
	uint32_t len;
	uint8_t b[BUILD_MAX];
};

static inline struct srp_cmd *
build_cmd(struct build *u, uint64_t tag, const uint8_t *cdb, uint32_t cdb_len)
{
	struct srp_cmd *h = (void *)u->b;
	uint32_t more = cdb_len > 16 ? (cdb_len - 16 + 3) / 4 * 4 : 0;

	memset(u->b, 0, sizeof(*h) + more);
	h->opcode = SRP_CMD;
	h->tag = put64(tag);
	memcpy(h->cdb, cdb, cdb_len);
	h->add_cdb_len = (uint8_t)more;
	u->len = (uint32_t)sizeof(*h) + more;
	return h;
}

static inline void
build_fmt(struct build *u, bool out, enum srp_data_desc kind)
{
	((struct srp_cmd *)u->b)->buf_fmt |= (uint8_t)(out ? kind << 4 : kind);
}

static inline struct srp_direct_buf
build_desc(uint64_t va, uint32_t key, uint32_t len)
{
	return (struct srp_direct_buf){ put64(va), put32(key), put32(len) };
}

static inline void *
build_add(struct build *u, const void *bytes, uint32_t n)
{
	void *at = u->b + u->len;

	if (n)
		memcpy(at, bytes, n);
	u->len += n;
	return at;
}

static inline void
build_direct(struct build *u, bool out, uint64_t va, uint32_t key, uint32_t len)
{
	struct srp_direct_buf d = build_desc(va, key, len);

	build_fmt(u, out, SRP_DATA_DESC_DIRECT);
	build_add(u, &d, sizeof(d));
}

/* A table of n descriptors, the first `here` of them in the unit; the whole is at table_va. */
static inline struct srp_indirect_buf *
build_indirect(struct build *u, bool out, const struct srp_direct_buf *desc, uint32_t n,
    uint32_t here, uint64_t table_va, uint32_t table_key)
{
	struct srp_cmd *h = (void *)u->b;
	struct srp_indirect_buf head = { build_desc(table_va, table_key, n * 16), put32(0) };
	struct srp_indirect_buf *at;
	uint32_t len = 0;

	for (uint32_t i = 0; i < n; i++)
		len += get32(desc[i].len);
	head.len = put32(len);
	build_fmt(u, out, SRP_DATA_DESC_INDIRECT);
	if (out)
		h->data_out_desc_cnt = (uint8_t)here;
	else
		h->data_in_desc_cnt = (uint8_t)here;
	at = build_add(u, &head, sizeof(head));
	build_add(u, desc, here * 16);
	return at;
}

static inline void
build_imm(struct build *u, uint32_t offset, const void *data, uint32_t len)
{
	struct srp_imm_buf head = { put32(len) };

	build_fmt(u, true, SRP_DATA_DESC_IMM);
	build_add(u, &head, sizeof(head));
	while (u->len < offset)
		u->b[u->len++] = 0;
	build_add(u, data, len);
}

static inline struct srp_tsk_mgmt *
build_tmf(struct build *u, uint64_t tag, uint8_t fn, uint64_t task_tag)
{
	struct srp_tsk_mgmt *h = (void *)u->b;

	memset(h, 0, sizeof(*h));
	h->opcode = SRP_TSK_MGMT;
	h->tag = put64(tag);
	h->tsk_mgmt_func = fn;
	h->task_tag = put64(task_tag);
	u->len = sizeof(*h);
	return h;
}

/* Exactly as many bytes as the unit has, so that a sanitizer sees who reads more. */
static inline uint8_t *
build_exact(const uint8_t *b, uint32_t len)
{
	uint8_t *p = malloc(len ? len : 1);

	if (len)
		memcpy(p, b, len);
	return p;
}

#endif
