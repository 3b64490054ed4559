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

bool
access_find(const struct conf_target *target, const struct nexus_id *id,
    const struct conf_rule **rule)
{
	*rule = NULL;
	if (!target->nrules)
		return true;
	for (int i = 0; i < target->nrules; i++) {
		const struct conf_rule *r = &target->rules[i];

		/* RFC 7143 4.2.7.1: names are compared without regard to case. */
		if (r->match && fnmatch(r->match, id->initiator, FNM_NOESCAPE | FNM_CASEFOLD) != 0)
			continue;
		if (r->has_address && !addr_fits(r, id->peer))
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
