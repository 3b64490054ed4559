/* struct scsi_cmd: what travels between a transport and the device server. */
#ifndef SCSI_CMD_H
#define SCSI_CMD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "bridge.h"
#include "buf.h"
#include "list.h"
#include "scsi.h"

struct nexus;
struct scsi_cmd;
struct scsi_tmf;
struct lu;
struct cmd_row;

enum cmd_dir { CMD_NONE = 0, CMD_IN = 1, CMD_OUT = 2, CMD_BIDI = 3 };	/* as the initiator sees it */

enum cmd_resid { RESID_NONE, RESID_UNDER, RESID_OVER };

/* Whose memory the command's iov points to. */
enum cmd_mem {
	MEM_NONE,
	MEM_POOL,	/* buf_get of the nexus' reactor; buf_put when the command is released */
	MEM_LENT,	/* the disk's own, for reads; may be written by others meanwhile; nobody puts it */
	MEM_BORROWED,	/* the transport's receive buffer, for writes: valid only until scsi_data_ready
			   returns; who keeps the command longer calls cmd_own_data first */
};

/*
 * What a transport gives the device server. All on the nexus' reactor.
 * None of them may be called after `done`.
 */
struct transport_ops {
	const char *name;
	/*
	 * The command passed its checks and takes cmd->len bytes (1 to
	 * BUF_XFER_MAX) from the initiator. The transport gathers them into
	 * cmd->iov/niov/mem and calls scsi_data_ready, perhaps before want_data
	 * returns. When memory is short it waits (buf_wait); no error comes back.
	 */
	void (*want_data)(struct scsi_cmd *);
	/*
	 * Finished. For CMD_IN, cmd->iov holds cmd->data_in bytes to send. With
	 * CMD_SILENT set nothing is sent. `done` may come inside scsi_submit or
	 * scsi_data_ready, and, for an abort, while the transport still gathers
	 * data: then it stops gathering. When the transport has no more use of
	 * the memory it calls scsi_release, then may free the command.
	 */
	void (*done)(struct scsi_cmd *);
	void (*tmf_done)(struct scsi_tmf *);
	/* End this nexus: drop its connections (an administrator's kick, a removed target). */
	void (*drop)(struct nexus *);
};

enum {					/* cmd->flags */
	CMD_SILENT = 1 << 0,		/* aborted without an answer (TAS = 0) */
	CMD_ABORTED = 1 << 1,		/* a TMF or the nexus' end hit it; finishes into nothing */
	CMD_IN_DISK = 1 << 2,		/* given to the bridge, not back yet */
	CMD_WANT_DATA = 1 << 3,		/* between want_data and scsi_data_ready */
	CMD_PARKED = 1 << 4,		/* waits for an orphan write or a lock: hba/scsi/fence.c */
	CMD_WANT_LOCK = 1 << 5,		/* waits for its blocks to be its own: hba/scsi/range_lock.c */
	CMD_HAS_LOCK = 1 << 6,		/* they are */
	CMD_LENT = 1 << 7,		/* answered with memory of the disk, and not yet released */
	CMD_CHANGING = 1 << 8,		/* a change of reservations waits for the disk: hba/scsi/reserve.c */
	CMD_YIELDED = 1 << 9,		/* a long one: goes on in the next turn of the loop: hba/scsi/yield.c */
};

/*
 * Embedded in the transport's own command, which comes from its reactor's pool
 * (one element a command). Owned by the transport before scsi_submit and after
 * `done`; by the device server in between. Lives on the nexus' reactor; only
 * `req` is seen by others while the bridge has it.
 */
struct scsi_cmd {
	/* -- set by the transport before scsi_submit; everything else zero or stale -- */
	struct nexus *nexus;
	uint64_t tag;			/* unique among the nexus' live commands */
	uint8_t lun[8];
	uint8_t cdb[SCSI_CDB_MAX];	/* zeroed behind cdb_len */
	uint8_t cdb_len;		/* bytes the transport carried: 16, or up to 32 */
	uint8_t attr;			/* enum scsi_attr */
	uint8_t prio;			/* SAM-5 command priority, 0 none */
	uint8_t dir;			/* enum cmd_dir */
	uint32_t edtl_out;		/* expected data transfer lengths: bytes to and */
	uint32_t edtl_in;		/* from the target, as the transport said */

	/* -- the answer, set by the device server before `done` -- */
	uint8_t status;			/* enum scsi_status */
	uint8_t resid_kind;		/* enum cmd_resid, and resid bytes: computed once, in */
	uint8_t sense_len;		/* scsi_complete, for every transport */
	uint16_t flags;
	uint32_t resid;
	uint32_t data_in;		/* bytes of iov that go to the initiator */

	/* -- data -- */
	uint8_t mem;			/* enum cmd_mem */
	int8_t niov;
	uint32_t len;			/* bytes this command moves: what the CDB asks, cut to the EDTL */
	struct iovec iov[BUF_IOV_MAX];

	/* -- the device server's own -- */
	struct lu *lu;
	struct nexus_lun *nlun;
	struct nexus_lun *home;		/* a copy: where it was sent, while lu and nlun are the unit it works on */
	const struct cmd_row *row;
	struct list task;		/* in nexus->tasks */
	struct list fence;		/* parked, an orphan, in the unit's locks, or yielded: hba/scsi/fence.c */
	uint64_t at, span;		/* bytes it works on in the disk; req.io may be widened by the bridge (merging) */
	uint64_t turn;			/* its place among those that are parked or lock; and with a */
	uint64_t todo;			/* lock, bit per reactor: may have commands before it. lu->lock */
	struct change *change;		/* with CMD_CHANGING; NULL: it has not begun */
	uint64_t abort_id;		/* with CMD_ABORTED: the first task management function that hit it */
	uint64_t asked;			/* bytes the CDB asks for, whatever the EDTL */
	struct iovec tmp[2];		/* pool memory of the command family; put before `done` */
	int8_t ntmp;
	uint64_t lba;			/* scratch of the command family */
	uint32_t blocks;
	uint32_t step;
	uint64_t scratch[4];
	struct buf_wait buf_wait;
	struct bridge_req req;

	uint8_t sense[SCSI_SENSE_MAX];
};

/*
 * A new command. Answers through ops->done, perhaps before returning. The
 * transport has set the first group and calls cmd_init before.
 */
void scsi_submit(struct scsi_cmd *);
/* All cmd->len bytes that want_data asked for are in cmd->iov. */
void scsi_data_ready(struct scsi_cmd *);
/*
 * The data of this write cannot come or came wrong (too much, wrong offset, a
 * bad digest, a time-out): finish it with ABORTED COMMAND and this additional
 * sense (RFC 7143 11.4.7.2: 0C/0C, 0C/0D, 47/05 ...). Instead of scsi_data_ready.
 */
void scsi_data_failed(struct scsi_cmd *, uint8_t asc, uint8_t ascq);
/* After `done`, once the iov is no longer needed: memory and references go back. */
void scsi_release(struct scsi_cmd *);

/* Zeroes what scsi_submit expects zeroed. */
static inline void
cmd_init(struct scsi_cmd *cmd)
{
	cmd->status = 0;
	cmd->resid_kind = RESID_NONE;
	cmd->flags = 0;
	cmd->sense_len = 0;
	cmd->resid = cmd->data_in = cmd->len = 0;
	cmd->mem = MEM_NONE;
	cmd->niov = 0;
	cmd->lu = 0;
	cmd->nlun = 0;
	cmd->home = 0;
	cmd->row = 0;
	list_init(&cmd->task);
	list_init(&cmd->fence);
	list_init(&cmd->buf_wait.link);
}

/*
 * Borrowed data becomes the command's own: copied to pool memory. 0, or
 * -ENOMEM (the command is unchanged).
 */
int cmd_own_data(struct scsi_cmd *);

#endif
