/* The login phase as a pure conversation: PDUs in, PDUs out, no socket, no clock. */
#ifndef ISCSI_LOGIN_H
#define ISCSI_LOGIN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "params.h"
#include "pdu.h"

struct conf_portal;
struct login;
struct target;

/* Login status, class << 8 | detail (RFC 7143 11.13.5). */
enum login_status {
	LOGIN_OK = 0x0000,
	LOGIN_MOVED_TEMPORARILY = 0x0101,
	LOGIN_MOVED_PERMANENTLY = 0x0102,
	LOGIN_INITIATOR_ERROR = 0x0200,
	LOGIN_AUTH_FAILED = 0x0201,
	LOGIN_FORBIDDEN = 0x0202,
	LOGIN_NOT_FOUND = 0x0203,
	LOGIN_REMOVED = 0x0204,
	LOGIN_VERSION = 0x0205,
	LOGIN_TOO_MANY_CONNECTIONS = 0x0206,
	LOGIN_MISSING_PARAMETER = 0x0207,
	LOGIN_CANNOT_INCLUDE = 0x0208,
	LOGIN_SESSION_TYPE = 0x0209,
	LOGIN_NO_SESSION = 0x020a,
	LOGIN_INVALID_DURING = 0x020b,
	LOGIN_TARGET_ERROR = 0x0300,
	LOGIN_UNAVAILABLE = 0x0301,
	LOGIN_OUT_OF_RESOURCES = 0x0302,
};

/* What a login needs to know of the connection. Lives longer than the login. */
struct login_peer {
	const struct sockaddr *peer, *local;	/* local: the address the peer reached */
	const struct conf_portal *portal;
};

enum login_verdict {
	LOGIN_ANSWER,		/* send the answer, wait for the next request */
	/* All agreed: the caller makes the session, then sends the answer with its TSIH
	   (or calls login_refuse and sends that, without text). */
	LOGIN_ENTER,
	LOGIN_REFUSE,		/* send the answer, then close */
	LOGIN_DROP,		/* close without an answer */
};

/*
 * Created for each connection, freed at full feature phase or with the
 * connection; holds at most ISCSI_TEXT_MAX bytes of a peer's text. NULL: no
 * memory. Any thread, one at a time.
 */
struct login *login_new(const struct login_peer *);
void login_free(struct login *);		/* wipes secrets' traces */

/*
 * One request: header and its data segment of len bytes (already known to be
 * at most ISCSI_LOGIN_DSL_MAX; a longer one is dropped by the connection before the
 * body is read). Fills *answer and at most ISCSI_LOGIN_DSL_MAX bytes of text (*text_len). The
 * caller sets StatSN, ExpCmdSN and MaxCmdSN; login keeps no sequence numbers.
 * `why` (never NULL on REFUSE and DROP) is for the log line, already safe to print.
 */
enum login_verdict login_step(struct login *, const struct iscsi_login_req *, const uint8_t *data,
    uint32_t len, struct iscsi_login_rsp *answer, uint8_t *text, uint32_t *text_len,
    const char **why);

/* After LOGIN_ENTER: what was agreed. tsih is the request's: 0 for a new session. */
const struct iscsi_params *login_params(const struct login *);
struct target *login_target(const struct login *);	/* NULL in a discovery session */

/* Turns an answer into a refusal. */
void login_refuse(struct iscsi_login_rsp *answer, enum login_status);
const char *login_status_name(unsigned status);

/* -- text requests in full feature phase (exchange.c) -- */

struct exchange;	/* the text of one session's pending Text exchange */

/*
 * One Text Request of a session (RFC 7143 11.10): gathers C-bit parts, answers
 * SendTargets and renegotiable keys, cuts long answers into parts of at most
 * params->max_xmit_dsl with a target transfer tag. Fills *answer and text (room
 * for size bytes). 0; -EPROTO: reject the PDU as protocol error; -ENOMEM: reject as
 * out of resources. May change params->max_xmit_dsl (a declaration in full feature phase).
 */
struct exchange *exchange_new(void);
void exchange_free(struct exchange *);
int exchange_step(struct exchange *, struct iscsi_params *, const struct login_peer *,
    const struct iscsi_text_req *, const uint8_t *data, uint32_t len,
    struct iscsi_text_rsp *answer, uint8_t *text, uint32_t size, uint32_t *text_len);

#endif
