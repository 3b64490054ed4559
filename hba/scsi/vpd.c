/* Vital product data (SPC-4 7.8, SBC-3 6.6): a row for each page. */
#include "vpd.h"

#include <string.h>

#include "access.h"
#include "atomic.h"
#include "cmd.h"
#include "conf.h"
#include "copy.h"
#include "inquiry.h"
#include "zero.h"

enum { HEADER = 4 };

/* A page writes its body behind the header and returns the body's length. */
struct page {
	uint8_t code;
	bool any_lun;			/* also where no disk is */
	bool (*has)(const struct nexus_lun *);	/* NULL: always */
	unsigned (*body)(const struct scsi_cmd *, uint8_t *p);
};

/* -- 83h: who this is (SPC-4 7.8.6) -- */

enum {
	CODE_BINARY = 1, CODE_ASCII = 2, CODE_UTF8 = 3,
	PIV = 0x80, ASSOC_UNIT = 0x00, ASSOC_PORT = 0x10, ASSOC_DEVICE = 0x20,
	KIND_T10 = 1, KIND_NAA = 3, KIND_RELATIVE_PORT = 4, KIND_PORT_GROUP = 5, KIND_NAME = 8,
};

/* Appends the head of a designator of len bytes; the place for its body. */
static uint8_t *
designator(uint8_t *p, unsigned *at, uint8_t code, uint8_t kind, uint8_t len)
{
	uint8_t *d = p + *at;

	d[0] = code;
	d[1] = kind;
	d[3] = len;
	*at += HEADER + len;
	return d + HEADER;
}

/* SPC-4 7.8.6.11: UTF-8, ended by a NUL, filled with NULs to a multiple of four. */
static void
designator_name(uint8_t *p, unsigned *at, uint8_t assoc, const char *text, size_t len)
{
	memcpy(designator(p, at, PROTOCOL_ISCSI << 4 | CODE_UTF8, PIV | assoc | KIND_NAME,
	    (uint8_t)((len + 4) & ~3u)), text, len);
}

static void
designator_t10(uint8_t *p, unsigned *at, const struct lu *lu)
{
	size_t len = strlen(lu->serial);
	uint8_t *d = designator(p, at, CODE_ASCII, KIND_T10, (uint8_t)(LU_VENDOR_LEN + len));

	memcpy(d, lu_vendor, LU_VENDOR_LEN);
	memcpy(d + LU_VENDOR_LEN, lu->serial, len);
}

/* RFC 7143 4.2.7 and SPC-4 7.6.4: the names of port and device are the target's. */
static void
designators_iscsi(uint8_t *p, unsigned *at, const struct target *target)
{
	char port[256];
	size_t len = 0;

	text_add(port, sizeof(port), &len, "%s,t,0x%04x", target->conf->name, target->group);
	designator_name(p, at, ASSOC_PORT, port, len);
	designator_name(p, at, ASSOC_DEVICE, target->conf->name, strlen(target->conf->name));
}

static unsigned
identification_body(const struct scsi_cmd *cmd, uint8_t *p)
{
	const struct target *target = cmd->nexus->target;
	unsigned at = 0;

	if (cmd->lu) {
		memcpy(designator(p, &at, CODE_BINARY, ASSOC_UNIT | KIND_NAA, LU_NAA_LEN),
		    cmd->lu->naa, LU_NAA_LEN);
		designator_t10(p, &at, cmd->lu);
	}
	wr16(designator(p, &at, CODE_BINARY, ASSOC_PORT | KIND_RELATIVE_PORT, 4) + 2, target->port);
	wr16(designator(p, &at, CODE_BINARY, ASSOC_PORT | KIND_PORT_GROUP, 4) + 2, target->group);
	if (strcmp(cmd->nexus->ops->name, "iscsi") == 0)
		designators_iscsi(p, &at, target);
	return at;
}

/* -- the others -- */

static unsigned
serial_body(const struct scsi_cmd *cmd, uint8_t *p)
{
	size_t len = strlen(cmd->lu->serial);

	memcpy(p, cmd->lu->serial, len);
	return (unsigned)len;
}

/* SPC-4 7.8.7. Every command is treated as SIMPLE. */
static unsigned
extended_body(const struct scsi_cmd *cmd, uint8_t *p)
{
	enum { SIMPSUP = 0x01, V_SUP = 0x01 };

	p[5 - HEADER] = SIMPSUP;
	p[6 - HEADER] = cmd->lu->write_cache ? V_SUP : 0;
	return 60;
}

/* SBC-3 6.6.4. WSNZ: with a limit, WRITE SAME does not take 0 blocks for all the rest. */
static unsigned
limits_body(const struct scsi_cmd *cmd, uint8_t *p)
{
	const struct lu *lu = cmd->lu;

	enum { WSNZ = 0x01, OPTIMAL = 1024 * 1024 };

	p[4 - HEADER] = zero_same_blocks(lu) ? WSNZ : 0;
	p[5 - HEADER] = UINT8_MAX;	/* MAXIMUM COMPARE AND WRITE LENGTH: all that the CDB can say */
	wr16(p + 6 - HEADER, (uint16_t)(1u << lu->phys_exponent));
	wr32(p + 8 - HEADER, lu->max_blocks);
	wr32(p + 12 - HEADER, OPTIMAL >> lu->shift);
	if (lu->thin) {
		wr32(p + 20 - HEADER, ZERO_UNMAP_BLOCKS);
		wr32(p + 24 - HEADER, ZERO_UNMAP_DESCRIPTORS);
		wr32(p + 28 - HEADER, MAX(1, lu->disk->unmap_granularity >> lu->shift));
	}
	/* SBC-4 6.6.4: any alignment, any number of blocks; no boundaries inside. */
	wr32(p + 44 - HEADER, atomic_blocks(lu));
	wr64(p + 36 - HEADER, zero_same_blocks(lu));
	return 60;
}

/* SBC-3 6.6.3: what turns and how fast is not known. After a SANITIZE, all can be read. */
static unsigned
characteristics_body(const struct scsi_cmd *cmd, uint8_t *p)
{
	enum { WABEREQ_READABLE = 0x40 };

	if (cmd->lu->thin && cmd->lu->disk->conf->sanitize)
		p[7 - HEADER] = WABEREQ_READABLE;
	return 60;
}

static bool
is_thin(const struct nexus_lun *nlun)
{
	return nlun->lu->thin;
}

static bool
is_copied(const struct nexus_lun *nlun)
{
	return nlun->copy;
}

/* SBC-3 6.6.6. */
static unsigned
provisioning_body(const struct scsi_cmd *cmd, uint8_t *p)
{
	enum { LBPU = 0x80, LBPWS = 0x40, LBPWS10 = 0x20, LBPRZ = 0x04, THIN = 0x02 };

	p[5 - HEADER] = LBPU | (cmd->lu->thin_zeroes ? LBPWS | LBPWS10 | LBPRZ : 0);
	p[6 - HEADER] = THIN;
	return 4;
}

static unsigned list_body(const struct scsi_cmd *, uint8_t *);

/* In order of their codes (SPC-4 7.8.17 lists them so). */
static const struct page pages[] = {
	{ 0x00, true,	NULL,	list_body },
	{ 0x80, false,	NULL,	serial_body },
	{ 0x83, true,	NULL,	identification_body },
	{ 0x86, false,	NULL,	extended_body },
	{ 0x8f, false,	is_copied,	copy_vpd },
	{ 0xb0, false,	NULL,	limits_body },
	{ 0xb1, false,	NULL,	characteristics_body },
	{ 0xb2, false,	is_thin,	provisioning_body },
};

static bool
page_is_there(const struct page *page, const struct nexus_lun *nlun)
{
	if (!nlun)
		return page->any_lun;
	return !page->has || page->has(nlun);
}

static unsigned
list_body(const struct scsi_cmd *cmd, uint8_t *p)
{
	unsigned n = 0;

	for (unsigned i = 0; i < ARRAY_LEN(pages); i++)
		if (page_is_there(&pages[i], cmd->nlun))
			p[n++] = pages[i].code;
	return n;
}

unsigned
vpd_page(const struct scsi_cmd *cmd, uint8_t code, uint8_t *p)
{
	for (unsigned i = 0; i < ARRAY_LEN(pages); i++) {
		unsigned len;

		if (pages[i].code != code || !page_is_there(&pages[i], cmd->nlun))
			continue;
		len = pages[i].body(cmd, p + HEADER);
		p[0] = inquiry_type(cmd);
		p[1] = code;
		wr16(p + 2, (uint16_t)len);
		return HEADER + len;
	}
	return 0;
}
