/* The RFC's values for keys never offered, and what a target's `iscsi:` map may say. */
#include "params.h"

#include <stddef.h>
#include <string.h>

#include "keys.h"

/* Values for what nobody offers (RFC 7143 13). */
void
params_default(struct iscsi_params *p)
{
	memset(p, 0, sizeof(*p));
	p->type = ISCSI_NORMAL;
	p->initial_r2t = p->immediate_data = true;
	p->data_pdu_in_order = p->data_sequence_in_order = true;
	p->max_connections = 1;
	p->max_outstanding_r2t = 1;
	p->max_burst = 262144;
	p->first_burst = 65536;
	p->max_xmit_dsl = 8192;
	p->time2wait = 2;
	p->time2retain = 20;
}

const struct iscsi_target_conf discovery_limits = {
	.max_connections = 1,
	.initial_r2t = true,
	.header_digest = { 1, { ISCSI_DIGEST_NONE } },
	.data_digest = { 1, { ISCSI_DIGEST_NONE } },
	.first_burst = 65536,
	.max_burst = 262144,
	.max_outstanding_r2t = 1,
};

static const char *const digest_words[] = { "none", "crc32c", NULL };

#define AT(f) .offset = offsetof(struct iscsi_target_conf, f)

const struct conf_key iscsi_target_keys[] = {
	{ .name = "max_connections", .type = CONF_UINT, .flags = CONF_MORE_LATER, .later = 1,
	    .min = 1, .max = 65535, .fallback = "1", AT(max_connections),
	    .help = "connections of a session" },
	{ .name = "error_recovery_level", .type = CONF_UINT, .flags = CONF_MORE_LATER, .later = 0,
	    .min = 0, .max = 2, .fallback = "0", AT(error_recovery_level),
	    .help = "0: a failed connection ends its session" },
	{ .name = "initial_r2t", .type = CONF_BOOL, .fallback = "no", AT(initial_r2t),
	    .help = "yes: an initiator sends no data before it is asked to" },
	{ .name = "immediate_data", .type = CONF_BOOL, .fallback = "yes", AT(immediate_data),
	    .help = "yes: a write command may carry its first data" },
	{ .name = "header_digest", .type = CONF_WORDS, .words = digest_words,
	    .fallback = "none, crc32c", AT(header_digest),
	    .help = "what may protect headers; the initiator's order decides" },
	{ .name = "data_digest", .type = CONF_WORDS, .words = digest_words,
	    .fallback = "none, crc32c", AT(data_digest),
	    .help = "what may protect data; the initiator's order decides" },
	{ .name = "first_burst", .type = CONF_SIZE, .min = 512, .max = (1 << 24) - 1,
	    .fallback = "256K", AT(first_burst),
	    .help = "most data of a write that is sent without being asked for" },
	{ .name = "max_burst", .type = CONF_SIZE, .min = 512, .max = (1 << 24) - 1,
	    .fallback = "1M", AT(max_burst),
	    .help = "most data asked for at once" },
	{ .name = "max_outstanding_r2t", .type = CONF_UINT, .min = 1, .max = 64,
	    .fallback = "4", AT(max_outstanding_r2t),
	    .help = "requests for data of one write that may be under way" },
	{ .name = "nop_interval", .type = CONF_TIME, .max = 3600000000000, .fallback = "15s",
	    AT(nop_interval_ns), .help = "an idle connection is pinged after this; 0: never" },
	{ .name = "nop_timeout", .type = CONF_TIME, .min = 1000000, .max = 3600000000000,
	    .fallback = "10s", AT(nop_timeout_ns),
	    .help = "and dropped when nothing comes for this long" },
	{ .name = "queue_depth", .type = CONF_UINT, .min = 1, .max = 1024, .fallback = "256",
	    AT(queue_depth), .help = "commands that a session may have outstanding" },
	{ .name = NULL },
};
