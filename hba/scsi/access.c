/* Who may log in to a target, and which of its units they see: the `initiators:` rules. */
#include "access.h"

#include <fnmatch.h>
#include <netinet/in.h>
#include <string.h>

#include "conf.h"

/* An address as its bytes, with IPv4 inside IPv6 taken for IPv4. Returns their number, 0: none. */
static unsigned
addr_bytes(const struct sockaddr *sa, const uint8_t **bytes)
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)sa;

	if (sa->sa_family == AF_INET) {
		*bytes = (const uint8_t *)&((const struct sockaddr_in *)(const void *)sa)->sin_addr;
		return 4;
	}
	if (sa->sa_family != AF_INET6)
		return 0;
	*bytes = v6->sin6_addr.s6_addr;
	if (!IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
		return 16;
	*bytes += 12;
	return 4;
}

static bool
addr_fits(const struct conf_rule *rule, const struct sockaddr *peer)
{
	const uint8_t *a, *b;
	unsigned len, bits = rule->prefix;

	if (!peer)
		return false;
	len = addr_bytes((const struct sockaddr *)&rule->address, &a);
	if (!len || addr_bytes(peer, &b) != len)
		return false;
	/* A prefix written for the mapped form counts the 96 bits before the address. */
	if (rule->address.ss_family == AF_INET6 && len == 4)
		bits = bits > 96 ? bits - 96 : 0;
	if (bits > len * 8)
		bits = len * 8;
	if (memcmp(a, b, bits / 8) != 0)
		return false;
	return bits % 8 == 0 || (a[bits / 8] ^ b[bits / 8]) >> (8 - bits % 8) == 0;
}

static bool
id_is(const uint8_t *id, const struct conf_rule *rule)
{
	return id && !memcmp(id + 16 - rule->srp_len, rule->srp, rule->srp_len);
}

/*
 * A GUID is the end of a GID, or of a port identifier (SRP r16a, annex B). What the
 * fabric says counts before what the initiator claims.
 */
static bool
srp_fits(const struct conf_rule *rule, const struct nexus_id *id)
{
	if (rule->srp_len == 8)
		return id_is(id->gid ? id->gid : id->port_id, rule);
	return id_is(id->gid, rule) || id_is(id->port_id, rule);
}

bool
access_find(const struct conf_target *target, const struct nexus_id *id,
    const struct conf_rule **rule)
{
	/* SRP has no authentication: where it is asked for, only who is named by port comes in. */
	bool by_port = target->auth && id->port_id;

	*rule = NULL;
	if (!target->nrules)
		return !by_port;
	for (int i = 0; i < target->nrules; i++) {
		const struct conf_rule *r = &target->rules[i];

		/* RFC 7143 4.2.7.1: names are compared without regard to case. */
		if (r->match && fnmatch(r->match, id->initiator, FNM_NOESCAPE | FNM_CASEFOLD) != 0)
			continue;
		if (r->has_address && !addr_fits(r, id->peer))
			continue;
		if (r->srp_len ? !srp_fits(r, id) : by_port)
			continue;
		*rule = r;
		return true;
	}
	return false;
}

bool
access_shows(const struct conf_rule *rule, unsigned lun)
{
	if (!rule || !rule->luns.n)
		return true;
	for (int i = 0; i < rule->luns.n; i++)
		if (rule->luns.v[i] == lun)
			return true;
	return false;
}
