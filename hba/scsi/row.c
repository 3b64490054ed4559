/* Which of the commands a unit has, by what its disk can and the configuration allows. */
#include "row.h"

#include "conf.h"
#include "lu.h"
#include "nexus.h"

bool
row_is_there(const struct cmd_row *row, const struct nexus_lun *nlun)
{
	if (row->flags & ROW_THIN && !nlun->lu->thin)
		return false;
	if (row->flags & ROW_COPY && !nlun->copy)
		return false;
	if (row->flags & ROW_SANITIZE && !nlun->lu->disk->conf->sanitize)
		return false;
	return !(row->flags & ROW_CDB32) || nlun->lu->disk->conf->cdb32;
}
