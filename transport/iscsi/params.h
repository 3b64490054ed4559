/* What a login agrees on (RFC 7143 13), and what the configuration lets it agree on. */
#ifndef ISCSI_PARAMS_H
#define ISCSI_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "conf.h"

enum iscsi_digest { ISCSI_DIGEST_NONE, ISCSI_DIGEST_CRC32C };
enum iscsi_session_type { ISCSI_NORMAL, ISCSI_DISCOVERY };

enum {
	ISCSI_NAME_MAX = 223,		/* RFC 7143 4.2.7.1 */
	ISCSI_LOGIN_DSL_MAX = 8192,	/* data segment before full feature phase (13.12) */
	ISCSI_TEXT_MAX = 64 * 1024,	/* one logical text request, over all its PDUs */
	ISCSI_RECV_DSL = 256 * 1024,	/* the MaxRecvDataSegmentLength that this target declares */
};

/* The target's `iscsi:` map: the most that may be negotiated. */
struct iscsi_target_conf {
	uint32_t max_connections;	/* 1; more is not supported yet */
	uint32_t error_recovery_level;	/* 0; more is not supported yet */
	bool initial_r2t;		/* what this side says; RFC 7143 13.10: OR */
	bool immediate_data;		/* AND */
	struct conf_words header_digest, data_digest;	/* enum iscsi_digest, allowed ones */
	uint64_t first_burst, max_burst;	/* bytes, 512 to 2^24 - 1 */
	uint32_t max_outstanding_r2t;	/* 1 to 64 */
	uint64_t nop_interval_ns;	/* ping an idle connection after this; 0 never */
	uint64_t nop_timeout_ns;	/* drop it when nothing came this long after a ping */
	uint32_t queue_depth;		/* commands in the window of a session, 1 to 1024 */
};

/* The outcome. params_default gives the RFC's values for keys never offered. */
struct iscsi_params {
	enum iscsi_session_type type;
	char initiator[ISCSI_NAME_MAX + 1];	/* normalised */
	char initiator_alias[256];
	char target[ISCSI_NAME_MAX + 1];
	char user[256];			/* as authenticated, "" none */
	uint8_t isid[6];
	uint16_t tsih, cid;
	uint16_t tpgt;
	bool header_digest, data_digest;
	bool initial_r2t, immediate_data;
	bool data_pdu_in_order, data_sequence_in_order;
	uint32_t max_connections, error_recovery_level;
	uint32_t max_outstanding_r2t;
	uint32_t max_burst, first_burst;
	uint32_t max_xmit_dsl;		/* the initiator's MaxRecvDataSegmentLength */
	uint32_t time2wait, time2retain;
};

void params_default(struct iscsi_params *);

extern const struct conf_key iscsi_target_keys[];	/* fill struct iscsi_target_conf */

#endif
