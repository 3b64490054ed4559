/* The login phase as a table: a pair that is not in it is the peer's error. */
#include "login_table.h"

#include "util.h"

#include "login_stage.h"
#include "pdu.h"

static const struct login_edge edges[] = {
	/* from			event			action			stay		   to		      RFC 7143 */
	{ LOGIN_START,		EV_SECURITY_PART,	login_gather,		LOGIN_START,	   LOGIN_START,	      "11.12.2" },
	{ LOGIN_START,		EV_SECURITY,		login_security,		LOGIN_SECURITY,	   LOGIN_SECURITY,    "6.3.1" },
	{ LOGIN_START,		EV_SECURITY_TO_OP,	login_security,		LOGIN_SECURITY,	   LOGIN_OPERATIONAL, "6.3.2" },
	{ LOGIN_START,		EV_SECURITY_TO_FULL,	login_security,		LOGIN_SECURITY,	   LOGIN_FULL,	      "6.3.2" },
	{ LOGIN_START,		EV_OP_PART,		login_gather,		LOGIN_START,	   LOGIN_START,	      "11.12.2" },
	{ LOGIN_START,		EV_OP,			login_operational,	LOGIN_OPERATIONAL, LOGIN_OPERATIONAL, "6.3.1" },
	{ LOGIN_START,		EV_OP_TO_FULL,		login_operational,	LOGIN_OPERATIONAL, LOGIN_FULL,	      "6.3.3" },

	{ LOGIN_SECURITY,	EV_SECURITY_PART,	login_gather,		LOGIN_SECURITY,	   LOGIN_SECURITY,    "11.12.2" },
	{ LOGIN_SECURITY,	EV_SECURITY,		login_security,		LOGIN_SECURITY,	   LOGIN_SECURITY,    "6.3.2" },
	{ LOGIN_SECURITY,	EV_SECURITY_TO_OP,	login_security,		LOGIN_SECURITY,	   LOGIN_OPERATIONAL, "6.3.2" },
	{ LOGIN_SECURITY,	EV_SECURITY_TO_FULL,	login_security,		LOGIN_SECURITY,	   LOGIN_FULL,	      "6.3.2" },

	{ LOGIN_OPERATIONAL,	EV_OP_PART,		login_gather,		LOGIN_OPERATIONAL, LOGIN_OPERATIONAL, "11.12.2" },
	{ LOGIN_OPERATIONAL,	EV_OP,			login_operational,	LOGIN_OPERATIONAL, LOGIN_OPERATIONAL, "6.3.3" },
	{ LOGIN_OPERATIONAL,	EV_OP_TO_FULL,		login_operational,	LOGIN_OPERATIONAL, LOGIN_FULL,	      "6.3.3" },
};

/* Events by CSG and, with T, by NSG; what is left out is EV_BAD. */
static const enum login_event stays[4] = {
	[ISCSI_STAGE_SECURITY] = EV_SECURITY,
	[ISCSI_STAGE_OPERATIONAL] = EV_OP,
};
static const enum login_event parts[4] = {
	[ISCSI_STAGE_SECURITY] = EV_SECURITY_PART,
	[ISCSI_STAGE_OPERATIONAL] = EV_OP_PART,
};
static const enum login_event transits[4][4] = {
	[ISCSI_STAGE_SECURITY] = {
		[ISCSI_STAGE_OPERATIONAL] = EV_SECURITY_TO_OP,
		[ISCSI_STAGE_FULL_FEATURE] = EV_SECURITY_TO_FULL,
	},
	[ISCSI_STAGE_OPERATIONAL] = {
		[ISCSI_STAGE_FULL_FEATURE] = EV_OP_TO_FULL,
	},
};

enum login_event
login_event(uint8_t flags)
{
	unsigned csg = (flags & ISCSI_LOGIN_CSG) >> ISCSI_LOGIN_CSG_SHIFT;
	unsigned nsg = flags & ISCSI_LOGIN_NSG;

	switch (flags & (ISCSI_LOGIN_T | ISCSI_LOGIN_C)) {
	case 0:
		return stays[csg];	/* 11.12.3: NSG is reserved without T */
	case ISCSI_LOGIN_C:
		return parts[csg];
	case ISCSI_LOGIN_T:
		return transits[csg][nsg];
	}
	return EV_BAD;			/* 11.12.2: with C, T must be 0 */
}

const struct login_edge *
login_edge(enum login_state from, enum login_event event)
{
	size_t i;

	for (i = 0; i < ARRAY_LEN(edges); i++)
		if (edges[i].from == from && edges[i].event == event)
			return &edges[i];
	return NULL;
}

const char *
login_state_name(enum login_state state)
{
#define X(name, text) [name] = text,
	static const char *const names[] = { LOGIN_STATES(X) };
#undef X

	return names[state];
}

const char *
login_status_name(unsigned status)
{
	static const struct {
		enum login_status status;
		const char *name;
	} names[] = {
		{ LOGIN_OK, "success" },
		{ LOGIN_MOVED_TEMPORARILY, "target moved temporarily" },
		{ LOGIN_MOVED_PERMANENTLY, "target moved permanently" },
		{ LOGIN_INITIATOR_ERROR, "initiator error" },
		{ LOGIN_AUTH_FAILED, "authentication failure" },
		{ LOGIN_FORBIDDEN, "authorization failure" },
		{ LOGIN_NOT_FOUND, "target not found" },
		{ LOGIN_REMOVED, "target removed" },
		{ LOGIN_VERSION, "unsupported version" },
		{ LOGIN_TOO_MANY_CONNECTIONS, "too many connections" },
		{ LOGIN_MISSING_PARAMETER, "missing parameter" },
		{ LOGIN_CANNOT_INCLUDE, "cannot include in session" },
		{ LOGIN_SESSION_TYPE, "session type not supported" },
		{ LOGIN_NO_SESSION, "session does not exist" },
		{ LOGIN_INVALID_DURING, "invalid during login" },
		{ LOGIN_TARGET_ERROR, "target error" },
		{ LOGIN_UNAVAILABLE, "service unavailable" },
		{ LOGIN_OUT_OF_RESOURCES, "out of resources" },
	};
	size_t i;

	for (i = 0; i < ARRAY_LEN(names); i++)
		if (names[i].status == status)
			return names[i].name;
	return "unknown status";
}
