/* Logical unit numbers (SAM-5 4.7): eight bytes on the wire, a number inside. */
#include "scsi.h"

#include <string.h>

#include "wire.h"

enum { METHOD_PERIPHERAL = 0, METHOD_FLAT = 1 };

int
scsi_lun_number(const uint8_t lun[8])
{
	uint64_t v = rd64(lun);
	unsigned top = (unsigned)(v >> 48);

	if (v << 16 != 0)
		return -1;
	if (top >> 8 == METHOD_PERIPHERAL)	/* and bus 0 */
		return (int)top;
	if (top >> 14 == METHOD_FLAT)
		return (int)(top & 0x3fff);
	return -1;
}

void
scsi_lun_wire(uint8_t lun[8], unsigned number)
{
	memset(lun, 0, 8);
	wr16(lun, (uint16_t)(number < 256 ? number : METHOD_FLAT << 14 | number));
}
