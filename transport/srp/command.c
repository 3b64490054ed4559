/* Commands: from their unit to the device server, their data both ways, and the answer back. */
#include <string.h>

#include "stats.h"

#include "channel.h"

COUNTER(commands, "srp_commands", "SCSI commands taken");
COUNTER(refusals, "srp_commands_refused", "commands whose information unit was at fault");
COUNTER(no_memory, "srp_commands_busy", "commands answered BUSY for want of memory");
COUNTER(tables, "srp_tables_fetched", "descriptor tables fetched from an initiator's memory");
COUNTER(immediates, "srp_immediate_data", "commands whose data came with them");

enum { ASC_INVALID_IU = 0x0e, ASCQ_INVALID_IU = 0x03, ASC_OVERLAPPED = 0x4e };

/* -- answers that the device server does not give -- */

static void
no_data(struct srp_task *task)
{
	struct scsi_cmd *scsi = &task->scsi;

	scsi->data_in = 0;
	scsi->resid_kind = scsi->edtl_in ? RESID_UNDER : RESID_NONE;
	scsi->resid = scsi->edtl_in;
	task->xfer.left = 0;
	task_line(task, TASK_ANSWERING);
}

/* SPC-4 4.5.3 */
void
srp_sense(uint8_t sense[SENSE_FIXED], uint8_t key, uint8_t asc, uint8_t ascq)
{
	memset(sense, 0, SENSE_FIXED);
	sense[0] = 0x70;
	sense[2] = key;
	sense[7] = SENSE_FIXED - 8;
	sense[12] = asc;
	sense[13] = ascq;
}

/*
 * The unit is at fault, and the device server never sees it or can no longer
 * be asked.
 */
static void
answer_sense(struct srp_task *task, uint8_t key, uint8_t asc, uint8_t ascq)
{
	struct scsi_cmd *scsi = &task->scsi;

	srp_sense(scsi->sense, key, asc, ascq);
	scsi->sense_len = SENSE_FIXED;
	scsi->status = SCSI_CHECK_CONDITION;
	counter_add(&refusals, 1);
	no_data(task);
}

/* Its data cannot be sent now: better than an error, as initiators wait and try again. */
static void
answer_busy(struct srp_task *task)
{
	struct scsi_cmd *scsi = &task->scsi;

	scsi->status = SCSI_BUSY;
	scsi->sense_len = 0;
	counter_add(&no_memory, 1);
	no_data(task);
}

/* -- a command comes -- */

static const uint8_t attrs[] = {
	[SRP_ATTR_SIMPLE] = SCSI_SIMPLE,
	[SRP_ATTR_HEAD_OF_QUEUE] = SCSI_HEAD_OF_QUEUE,
	[SRP_ATTR_ORDERED] = SCSI_ORDERED,
	[SRP_ATTR_ACA] = SCSI_ACA,
};

static void
command_fill(struct srp_task *task, const struct iu_cmd *iu)
{
	struct scsi_cmd *scsi = &task->scsi;

	cmd_init(scsi);
	scsi->nexus = task->ch->nexus;
	scsi->tag = task->tag;
	memcpy(scsi->lun, iu->lun, sizeof(scsi->lun));
	memset(scsi->cdb, 0, sizeof(scsi->cdb));
	memcpy(scsi->cdb, iu->cdb, 16);
	memcpy(scsi->cdb + 16, iu->add_cdb, iu->add_cdb_len);
	scsi->cdb_len = (uint8_t)(16 + iu->add_cdb_len);
	scsi->attr = attrs[iu->attr];
	scsi->prio = 0;
	scsi->dir = iu->out.kind != SRP_NO_DATA_DESC ? CMD_OUT : CMD_NONE;
	scsi->dir |= iu->in.kind != SRP_NO_DATA_DESC ? CMD_IN : CMD_NONE;
	scsi->edtl_out = iu->out.len;
	scsi->edtl_in = iu->in.len;
	task->data_out = iu->out;
	task->data_in = iu->in;
}

void
srp_cmd_rx(struct srp_channel *ch, struct srp_rx *rx, const struct iu_cmd *iu, bool ok)
{
	bool overlaps = task_find(ch, iu->tag);
	struct srp_task *task = task_new(ch, rx, iu->tag);

	if (!task) {
		rx_wait(rx);
		return;
	}
	counter_add(&commands, 1);
	task->sol_not = iu->sol_not;
	if (!ok || overlaps) {
		cmd_init(&task->scsi);
		task->scsi.dir = CMD_NONE;
		task->scsi.edtl_in = 0;
		/* SAM-5 5.10: the older command with this tag goes on. */
		if (ok)
			answer_sense(task, KEY_ABORTED_COMMAND, ASC_OVERLAPPED, 0);
		else
			answer_sense(task, KEY_ILLEGAL_REQUEST, ASC_INVALID_IU, ASCQ_INVALID_IU);
		return;
	}
	command_fill(task, iu);
	task->submitted = true;
	scsi_submit(&task->scsi);
}

/* -- descriptor tables -- */

static uint32_t
table_bytes(const struct iu_data *d)
{
	return d->ndesc * (uint32_t)sizeof(struct srp_direct_buf);
}

static void
table_fetch(struct srp_task *task, const struct iu_data *d)
{
	counter_add(&tables, 1);
	transfer_init(&task->xfer, &d->table, 1, &task->table, table_bytes(d));
	if (d == &task->data_in)
		task_line_behind(task);
	else
		task_line(task, TASK_FETCHING);
}

static bool
table_came(struct srp_task *task, struct iu_data *d)
{
	d->desc = task->table.iov_base;
	d->external = false;
	return iu_table_ok(d->desc, d->ndesc, d->len);
}

/* -- data-out -- */

static void
gather(struct srp_task *task)
{
	const struct iu_data *d = &task->data_out;

	transfer_init(&task->xfer, d->desc, d->ndesc, task->scsi.iov, task->scsi.len);
	task_line(task, TASK_GATHERING);
}

static void memory_again(struct buf_wait *);

/* All that is needed, or nothing: who waits holds nothing that others wait for. */
static int
memory_get(struct srp_task *task)
{
	struct reactor *reactor = task->ch->home->reactor;
	struct scsi_cmd *scsi = &task->scsi;
	int n = buf_get(reactor, scsi->iov, scsi->len);
	int rc;

	if (n < 0)
		return n;
	if (task->data_out.external) {
		rc = mem_get(reactor, &task->table, table_bytes(&task->data_out));
		if (rc < 0) {
			buf_put(reactor, scsi->iov, n);
			return rc;
		}
	}
	scsi->niov = (int8_t)n;
	scsi->mem = MEM_POOL;
	return 0;
}

static void
memory_want(struct srp_task *task)
{
	if (memory_get(task) < 0) {
		task->state = TASK_WAITING;
		task->memory.fn = memory_again;
		buf_wait(task->ch->home->reactor, &task->memory);
		return;
	}
	if (task->data_out.external)
		table_fetch(task, &task->data_out);
	else
		gather(task);
}

static void
memory_again(struct buf_wait *w)
{
	memory_want(container_of(w, struct srp_task, memory));
}

void
srp_cmd_want(struct scsi_cmd *scsi)
{
	struct srp_task *task = container_of(scsi, struct srp_task, scsi);
	const struct iu_data *d = &task->data_out;

	/* Of a channel that ends, nothing is read any more: the nexus' end is near. */
	if (task->ch->state >= CHANNEL_CLOSING) {
		task->state = TASK_WAITING;
		return;
	}
	if (d->kind != SRP_DATA_DESC_IMM) {
		memory_want(task);
		return;
	}
	counter_add(&immediates, 1);
	assert(scsi->len <= d->len);
	scsi->iov[0] = (struct iovec){ (void *)(uintptr_t)d->imm, scsi->len };
	scsi->niov = 1;
	scsi->mem = MEM_BORROWED;
	scsi_data_ready(scsi);
}

void
srp_cmd_arrived(struct srp_task *task)
{
	struct scsi_cmd *scsi = &task->scsi;

	if (task->state == TASK_GATHERING) {
		task->state = TASK_SERVED;
		scsi_data_ready(scsi);
		return;
	}
	if (scsi->flags & CMD_WANT_DATA) {
		if (table_came(task, &task->data_out)) {
			gather(task);
			return;
		}
		counter_add(&refusals, 1);
		scsi_data_failed(scsi, ASC_INVALID_IU, ASCQ_INVALID_IU);
		return;
	}
	if (!table_came(task, &task->data_in)) {
		answer_sense(task, KEY_ILLEGAL_REQUEST, ASC_INVALID_IU, ASCQ_INVALID_IU);
		return;
	}
	transfer_init(&task->xfer, task->data_in.desc, task->data_in.ndesc, scsi->iov,
	    scsi->data_in);
	task_line(task, TASK_ANSWERING);
}

/* -- the answer -- */

static void
answer_data(struct srp_task *task)
{
	struct scsi_cmd *scsi = &task->scsi;
	const struct iu_data *d = &task->data_in;

	if (mem_reach(task->ch, scsi) < 0 || (d->external &&
	    mem_get(task->ch->home->reactor, &task->table, table_bytes(d)) < 0)) {
		answer_busy(task);
		return;
	}
	if (d->external) {
		table_fetch(task, d);
		return;
	}
	transfer_init(&task->xfer, d->desc, d->ndesc, scsi->iov, scsi->data_in);
	task_line(task, TASK_ANSWERING);
}

void
srp_cmd_done(struct scsi_cmd *scsi)
{
	struct srp_task *task = container_of(scsi, struct srp_task, scsi);

	buf_wait_cancel(&task->memory);
	if (scsi->flags & CMD_SILENT || task->ch->state >= CHANNEL_CLOSING) {
		task_end(task);
		return;
	}
	task->xfer.left = 0;
	if (scsi->data_in)
		answer_data(task);
	else
		task_line(task, TASK_ANSWERING);
}
