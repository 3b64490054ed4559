/* iSCSI names (RFC 7143 4.2.7): what is one, and in which spelling it is compared. */
#include "conf.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

enum { NAME_MAX_BYTES = 223 };		/* RFC 7143 4.2.7.1 */

/*
 * RFC 3722 6.2 leaves of ASCII the letters, digits and - . : only. Letters
 * beyond ASCII would need its stringprep tables; nobody uses them.
 */
static int
lower(char *name)
{
	char *p;

	for (p = name; *p; p++) {
		if (*p >= 'A' && *p <= 'Z')
			*p += 'a' - 'A';
		else if (!(*p >= 'a' && *p <= 'z') && !(*p >= '0' && *p <= '9') &&
		    *p != '-' && *p != '.' && *p != ':')
			return -EINVAL;
	}
	return p - name > NAME_MAX_BYTES ? -EINVAL : 0;
}

/* 4.2.7.4: iqn.YYYY-MM.naming.authority[:anything] */
static bool
iqn_ok(const char *p)
{
	static const char form[] = "dddd-dd.";
	int i;

	for (i = 0; form[i]; i++) {
		if (form[i] == 'd' ? !isdigit((unsigned char)p[i]) : p[i] != form[i])
			return false;
	}
	return isalnum((unsigned char)p[i]) && !strstr(p, "..");
}

/* 4.2.7.5 and 4.2.7.6: sixteen hexadecimal digits, or thirty-two. */
static bool
hex_ok(const char *p, size_t len, size_t other)
{
	size_t n = strspn(p, "0123456789abcdef");

	return !p[n] && (n == len || n == other);
}

int
conf_iscsi_name(char *name)
{
	bool ok;

	if (lower(name))
		return -EINVAL;
	if (strncmp(name, "iqn.", 4) == 0)
		ok = iqn_ok(name + 4);
	else if (strncmp(name, "eui.", 4) == 0)
		ok = hex_ok(name + 4, 16, 16);
	else
		ok = strncmp(name, "naa.", 4) == 0 && hex_ok(name + 4, 16, 32);
	return ok ? 0 : -EINVAL;
}
