/* INQUIRY (SPC-4 6.6). */
#include "inquiry.h"

#include <string.h>

#include "cmd.h"
#include "vpd.h"

enum {
	EVPD = 0x01,			/* byte 1 */
	TYPE_DISK = 0x00, TYPE_WELL_KNOWN = 0x1e, TYPE_NONE = 0x7f,	/* with qualifier 3 */
	VERSION_SPC4 = 0x06,
	HISUP = 0x10, FORMAT_2 = 0x02,	/* byte 3 */
	MULTIP = 0x10,			/* byte 6 */
	CMDQUE = 0x02,			/* byte 7 */
	STANDARD_LEN = 96, VERSIONS_AT = 58,
};

/* SPC-4 6.6.2, version descriptors: SAM-5, SPC-4, SBC-3, iSCSI, SRP. */
static const uint16_t versions[] = { 0x00a0, 0x0460, 0x04c0, 0x0960, 0x0940 };

uint8_t
inquiry_type(const struct scsi_cmd *cmd)
{
	if (cmd->lu)
		return TYPE_DISK;
	return cmd->lun[0] == 0xc1 && scsi_lun_number(cmd->lun) < 0 && cmd->lun[1] == 0x01 ?
	    TYPE_WELL_KNOWN : TYPE_NONE;
}

static void
inquiry_standard(const struct scsi_cmd *cmd, uint8_t *p)
{
	const struct lu *lu = cmd->lu;

	p[0] = inquiry_type(cmd);
	p[2] = VERSION_SPC4;
	p[3] = HISUP | FORMAT_2;
	p[4] = STANDARD_LEN - 5;
	p[6] = MULTIP;
	p[7] = CMDQUE;
	memset(p + 8, ' ', 28);
	memcpy(p + 8, lu_vendor, LU_VENDOR_LEN);
	if (lu) {
		memcpy(p + 16, lu->product, LU_PRODUCT_LEN);
		memcpy(p + 32, lu->revision, LU_REVISION_LEN);
	} else {
		memcpy(p + 16, "TARGET", 6);
	}
	for (unsigned i = 0; i < ARRAY_LEN(versions); i++)
		wr16(p + VERSIONS_AT + 2 * i, versions[i]);
}

static bool
inquiry_check(struct scsi_cmd *cmd)
{
	/* SPC-4 6.6.1: a page code without EVPD. */
	if (!(cmd->cdb[1] & EVPD) && cmd->cdb[2]) {
		cmd_fail_field(cmd, 2, -1);
		return false;
	}
	return true;
}

static void
inquiry_exec(struct scsi_cmd *cmd)
{
	uint8_t *p = param_room(cmd, VPD_MAX);
	unsigned len = STANDARD_LEN;

	if (!p)
		return;
	if (cmd->cdb[1] & EVPD)
		len = vpd_page(cmd, cmd->cdb[2], p);
	else
		inquiry_standard(cmd, p);
	if (!len)
		cmd_fail_field(cmd, 2, -1);
	else
		param_done(cmd, len, rd16(cmd->cdb + 3));
}

static const struct cmd_row inquiry[] = {
	{ "INQUIRY", OP_INQUIRY, 6, 0, ROW_UA_OK | ROW_ANY_LUN | ROW_IN,
	    { OP_INQUIRY, EVPD, 0xff, 0xff, 0xff }, inquiry_check, inquiry_exec },
};
CMD_FAMILY(inquiry);
