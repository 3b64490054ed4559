/* Network addresses as text and as bytes. */
#include "conf_load.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

enum { HOST_MAX = INET6_ADDRSTRLEN + IF_NAMESIZE };

/* 0 to max, digits only; -1: no. */
static int
number(const char *s, int max)
{
	char *end;
	long v;

	if (*s < '0' || *s > '9' || strlen(s) > 5)
		return -1;
	v = strtol(s, &end, 10);
	return *end || v > max ? -1 : (int)v;
}

static void
set_v4(struct sockaddr_storage *ss, const void *addr)
{
	struct sockaddr_in *in = (struct sockaddr_in *)ss;

	memset(ss, 0, sizeof(*ss));
	in->sin_family = AF_INET;
	memcpy(&in->sin_addr, addr, sizeof(in->sin_addr));
}

/* fe80::1%eth0: the zone is an interface's name or number. */
static int
zone(const char *s, uint32_t *id)
{
	int n = number(s, 99999);

	*id = n >= 0 ? (uint32_t)n : if_nametoindex(s);
	return *id ? 0 : -EINVAL;
}

static int
set_v6(struct sockaddr_storage *ss, char *host)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ss;
	char *percent = strchr(host, '%');
	struct in6_addr a;
	uint32_t scope = 0;

	if (percent) {
		*percent = '\0';
		if (zone(percent + 1, &scope))
			return -EINVAL;
	}
	if (inet_pton(AF_INET6, host, &a) != 1)
		return -EINVAL;
	if (IN6_IS_ADDR_V4MAPPED(&a) && !percent) {
		set_v4(ss, &a.s6_addr[12]);
		return 0;
	}
	memset(ss, 0, sizeof(*ss));
	in6->sin6_family = AF_INET6;
	in6->sin6_addr = a;
	in6->sin6_scope_id = scope;
	return 0;
}

/* A bare address, v6 with or without brackets. */
static int
host_parse(const char *text, size_t len, struct sockaddr_storage *ss)
{
	char host[HOST_MAX + 1];
	struct in_addr v4;
	bool bracket = len >= 2 && text[0] == '[' && text[len - 1] == ']';

	if (bracket) {
		text++;
		len -= 2;
	}
	if (len > HOST_MAX)
		return -EINVAL;
	memcpy(host, text, len);
	host[len] = '\0';
	if (bracket || strchr(host, ':'))
		return set_v6(ss, host);
	if (inet_pton(AF_INET, host, &v4) != 1)
		return -EINVAL;
	set_v4(ss, &v4);
	return 0;
}

static void
port_set(struct sockaddr_storage *ss, int port)
{
	if (ss->ss_family == AF_INET)
		((struct sockaddr_in *)ss)->sin_port = htons((uint16_t)port);
	else
		((struct sockaddr_in6 *)ss)->sin6_port = htons((uint16_t)port);
}

int
conf_sockaddr(const char *text, struct sockaddr_storage *ss)
{
	const char *colon = strrchr(text, ':');
	struct sockaddr_storage whole;
	int port;

	if (!colon)
		return -EINVAL;
	/*
	 * Without brackets ::1:3260 is an address of its own: whoever wrote it
	 * may have forgotten the port, so it is not guessed at.
	 */
	if (text[0] != '[' && host_parse(text, strlen(text), &whole) == 0)
		return -EINVAL;
	port = number(colon + 1, 65535);
	if (port < 1)
		return -EINVAL;
	if (colon - text == 1 && text[0] == '*') {
		memset(ss, 0, sizeof(*ss));
		ss->ss_family = AF_INET6;
	} else if (host_parse(text, (size_t)(colon - text), ss)) {
		return -EINVAL;
	}
	port_set(ss, port);
	return 0;
}

/* The address' bytes; how many. */
static const uint8_t *
addr_bytes(const struct sockaddr_storage *ss, unsigned *len)
{
	if (ss->ss_family == AF_INET) {
		*len = 4;
		return (const uint8_t *)&((const struct sockaddr_in *)ss)->sin_addr;
	}
	*len = 16;
	return ((const struct sockaddr_in6 *)ss)->sin6_addr.s6_addr;
}

static bool
bits_behind(const uint8_t *a, unsigned len, unsigned bits)
{
	unsigned i;

	for (i = bits; i < len * 8; i++) {
		if (a[i / 8] & 0x80 >> i % 8)
			return true;
	}
	return false;
}

const char *
conf_prefix(const char *text, struct sockaddr_storage *ss, uint8_t *bits)
{
	const char *slash = strchr(text, '/');
	size_t len = slash ? (size_t)(slash - text) : strlen(text);
	const uint8_t *a;
	unsigned size;
	int n;

	if (host_parse(text, len, ss))
		return "is no address; expected one such as 10.0.0.7, 10.0.0.0/8 or fd00::/8";
	a = addr_bytes(ss, &size);
	n = size * 8;
	if (slash) {
		n = number(slash + 1, 128);
		/* ::ffff:10.0.0.0/104 is 10.0.0.0/8. */
		if (n >= 0 && size == 4 && memchr(text, ':', len))
			n -= 96;
		if (n < 0 || n > (int)size * 8)
			return "has no such prefix length";
	}
	if (bits_behind(a, size, (unsigned)n))
		return "has address bits behind the prefix";
	*bits = (uint8_t)n;
	return NULL;
}

static uint16_t
port_of(const struct sockaddr_storage *ss)
{
	return ss->ss_family == AF_INET ? ((const struct sockaddr_in *)ss)->sin_port :
	    ((const struct sockaddr_in6 *)ss)->sin6_port;
}

bool
sockaddr_overlap(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	static const uint8_t any[16];
	const uint8_t *pa, *pb;
	unsigned len;

	if (a->ss_family != b->ss_family || port_of(a) != port_of(b))
		return false;
	pa = addr_bytes(a, &len);
	pb = addr_bytes(b, &len);
	if (memcmp(pa, any, len) == 0 || memcmp(pb, any, len) == 0)
		return true;
	if (memcmp(pa, pb, len) != 0)
		return false;
	return a->ss_family == AF_INET ||
	    ((const struct sockaddr_in6 *)a)->sin6_scope_id ==
	    ((const struct sockaddr_in6 *)b)->sin6_scope_id;
}

const char *
sockaddr_text(const struct sockaddr *sa, char *buf, size_t size)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)sa;
	const struct sockaddr_in *in = (const struct sockaddr_in *)sa;
	char host[INET6_ADDRSTRLEN], scope[16] = "";

	if (sa->sa_family == AF_INET) {
		inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host));
		snprintf(buf, size, "%s:%u", host, ntohs(in->sin_port));
	} else if (sa->sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
		inet_ntop(AF_INET, &in6->sin6_addr.s6_addr[12], host, sizeof(host));
		snprintf(buf, size, "%s:%u", host, ntohs(in6->sin6_port));
	} else if (sa->sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof(host));
		if (in6->sin6_scope_id)
			snprintf(scope, sizeof(scope), "%%%u", in6->sin6_scope_id);
		snprintf(buf, size, "[%s%s]:%u", host, scope, ntohs(in6->sin6_port));
	} else {
		snprintf(buf, size, "(address family %d)", sa->sa_family);
	}
	return buf;
}
