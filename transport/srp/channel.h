/* Inside the SRP target: channels, sessions, tasks, and who owns what. */
#ifndef SRP_CHANNEL_H
#define SRP_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "buf.h"
#include "conf.h"
#include "list.h"
#include "reactor.h"
#include "scsi_cmd.h"
#include "scsi_tmf.h"
#include "target.h"
#include "transport.h"

#include "credit.h"
#include "fabric.h"
#include "iu.h"
#include "login.h"
#include "transfer.h"

struct srp_channel;
struct srp_session;
struct srp_task;

#define MS 1000000ull
#define SEC (1000 * MS)

enum {
	IU_MAX = 16 * 1024,		/* longest IU an initiator may ask for */
	RX_EXTRA = 4,			/* receives beyond the credits: responses to requests of the target,
					   a logout, and one to see that there are too many */
	SEND_WR = 512,			/* work requests of a channel, and what is posted at a time */
	BATCH_WR = 64,
	BATCH_SGE = 512,
	TASK_SLOTS_MIN = 16, TASK_SLOTS_MAX = 1024,
};

#define TICK_NS (250 * MS)
#define ESTABLISH_NS (30 * SEC)		/* for the peer to take our answer */
#define ASK_NS (10 * SEC)		/* for the answer to a request of the target */
#define GRACE_NS (1 * SEC)		/* for the peer to leave after SRP_T_LOGOUT */
#define IDLE_NS (30 * SEC)		/* of silence, then we look whether the peer is there */

/* An element of conf_target.opts. */
struct srp_target_conf {
	uint8_t id_ext[8], ioc_guid[8];	/* zero: derived from the target's name */
	uint32_t queue_depth;		/* credits of a channel */
	uint32_t max_channels;		/* of one I_T nexus */
};

/*
 * What the channels of one reactor share. Static, by reactor id; touched on
 * that reactor's thread only, but for `kick`.
 */
struct srp_reactor {
	OWN_LINE struct reactor *reactor;	/* NULL: no channel has been here */
	struct obj_pool tasks;
	struct list channels;		/* also those that have ended but for a disk */
	uint32_t nchannels;
	struct timer tick;
	bool stopping;			/* logins are rejected */
	bool tight;			/* memory is nearly used up: credits are held back */
	struct msg kick;		/* somewhere here is a channel marked `kicked` */
	bool kick_posted;		/* under the registry's lock */
};
struct srp_reactor *srp_reactor_at(unsigned id);
/* Sets it up at first use; own thread. */
struct srp_reactor *srp_reactor(struct reactor *);

extern const struct transport srp_transport;
extern const struct transport_ops srp_ops;

/* -- tasks: a command or a task management function -- */

enum task_state {
	TASK_SERVED,			/* the device server has it */
	TASK_WAITING,			/* for memory, to gather its data */
	TASK_FETCHING,			/* its descriptor table, by RDMA READ */
	TASK_GATHERING,			/* its data, by RDMA READ */
	TASK_ANSWERING,			/* its data and response are in line, or on their way */
	TASK_ENDED,			/* without a response; what was posted for it must come back first */
};

/* A receive buffer: an IU on its way in, or being served. Belongs to its channel. */
struct srp_rx {
	struct fabric_cqe cqe;
	struct fabric_recv recv;
	struct srp_channel *ch;
	struct list link;		/* in ch->starved: came, and there was no memory for a task */
	uint32_t len;			/* bytes that came */
};

/*
 * From the reactor's pool. In ch->tasks from its IU until its response is in
 * line (then its tag is free), and in ch->tx, ch->sent or nowhere.
 */
struct srp_task {
	union {
		struct scsi_cmd scsi;
		struct scsi_tmf tmf;
	};
	struct srp_channel *ch;
	struct srp_task *hash_next;
	uint64_t tag;
	struct srp_rx *rx;		/* its IU, as long as that is needed; NULL: given back */
	struct list link;		/* in ch->tx: has something to post; ch->sent: waits for its end */
	enum task_state state;
	bool is_tmf;
	bool busy;			/* no memory: answer BUSY */
	uint8_t sol_not;
	uint8_t rsp_code;		/* of a function */
	uint32_t out;			/* completions that will come to `rdma` */
	struct iu_data data_out, data_in;
	struct transfer xfer;
	struct iovec table[BUF_IOV_MAX];	/* the fetched one: pool memory, ntable pieces */
	int8_t ntable;
	struct buf_wait memory;
	struct fabric_cqe rdma;		/* RDMA READs of it have ended, or its response was sent */
};

/* -- channels -- */

enum channel_state {
	CHANNEL_LOGIN,			/* not accepted yet; perhaps waits for others to end */
	CHANNEL_OPEN,
	CHANNEL_LEAVING,		/* SRP_T_LOGOUT is sent: the peer is given time to go */
	CHANNEL_CLOSING,		/* disconnected, the nexus is logged out; what is out comes back */
	CHANNEL_GONE,			/* no longer in the registry; a disk may still have commands */
};

/* Requests of the target, one at a time. */
struct ask {
	enum srp_opcode opcode;		/* of what was sent; 0: none is out */
	uint64_t tag;
	uint64_t since_ns;
	bool wanted;			/* a credit request is to be sent */
	bool deaf;			/* one was never answered: no more are sent */
};

/* Built in a round, posted at its end, or later when the device had no room. */
struct batch {
	uint32_t first, n;		/* wr[first] to wr[n - 1] are not posted yet */
	uint32_t nsge;
	struct fabric_wr wr[BATCH_WR];
	struct fabric_sge sge[BATCH_SGE];
};

/*
 * One RDMA channel and its part of the I_T nexus. Lives on one reactor; made
 * when a request to connect was understood, freed when its connection, its
 * nexus and its last task are gone.
 */
struct srp_channel {
	struct srp_reactor *home;
	enum channel_state state;
	const struct fabric *fabric;
	struct fabric_request *request;	/* until it is answered */
	struct fabric_conn *conn;
	struct fabric_limits limits;
	struct nexus *nexus;		/* NULL: not yet, or logged out */
	struct target *target;
	struct srp_session *session;	/* under the registry's lock; and with it */
	struct list reg;		/* in the session's channels, */
	struct list wait;		/* or in its waiters */
	uint64_t id;			/* the nexus'; 0: none yet */
	int kicked;			/* 1 + reason of the SRP_T_LOGOUT that is wanted; 0: not */
	struct list link;		/* in home->channels */
	struct msg msg;			/* on its way to its reactor; woken from waiting */
	struct work flush;
	struct work close;

	struct login_req req;
	struct login_terms terms;
	struct credit credit;
	struct ask ask;
	uint64_t tag_next;		/* of requests of the target */

	/* receiving */
	struct srp_rx *rx;
	uint32_t nrx;
	struct iovec rx_mem[BUF_IOV_MAX];
	int nrx_mem;
	struct fabric_recv *repost, **repost_last;	/* posted at the end of the round */
	struct list starved;

	/* sending */
	struct iovec tx_mem[BUF_IOV_MAX];	/* SRP_TI_IU_MAX bytes for each work request */
	int ntx_mem;
	uint32_t tx_next;
	uint32_t sq_size, sq_free;
	uint16_t *marks;		/* ring: work each signalled request stands for, itself and those before */
	uint32_t mark_head, mark_tail;
	uint32_t unmarked;		/* posted since the last signalled one */
	struct batch *batch;
	struct timer retry;		/* the device had no room */
	struct fabric_cqe quiet;	/* of what needs no answer of its own */

	/* tasks */
	struct srp_task **tasks;	/* by tag */
	uint32_t task_shift;
	uint32_t ntasks;		/* all, also those that are sent or ended */
	struct list tx;			/* have something to post, in order */
	struct list sent;		/* their response is posted, and its end awaited */

	bool established, told;
	bool drained, nexus_gone;
	uint64_t heard_ns;		/* when something came last */
	uint64_t deadline_ns;		/* 0: none; for what is in `why` */
	uint64_t login_ns;
	uint64_t requests;		/* commands and functions taken */
	char why[120];
	char initiator[33];		/* the initiator port identifier as hexadecimal digits */
	char peer_text[64];
};

/* cm.c */
/* Where a fabric's requests to connect arrive; on any reactor. */
void cm_request(struct fabric_request *);
void cm_enter(struct srp_channel *);	/* on its reactor: log in, or wait for others to end */

/* channel.c; on the channel's reactor */
struct srp_channel *channel_new(struct fabric_request *);
void channel_free(struct srp_channel *);	/* also a half-built one */
int channel_open(struct srp_channel *);	/* its memory, its connection; receives are posted */
/* The end: from anywhere on its thread, also twice; the first reason is logged. */
__attribute__((format(printf, 2, 3)))
void channel_drop(struct srp_channel *, const char *fmt, ...);
/* Asks the peer to leave, and drops the channel when it does not. */
void channel_leave(struct srp_channel *, enum srp_t_logout_reason, const char *why);
void channel_check_gone(struct srp_channel *);
void channel_tick(struct srp_channel *, uint64_t now);
extern const struct fabric_events channel_events;

/* rx.c */
int rx_open(struct srp_channel *);	/* buffers, and all are posted */
void rx_put(struct srp_rx *);		/* posted again at the end of the round */
int rx_repost(struct srp_channel *);
void rx_retry(struct srp_channel *);	/* those that found no memory */
const uint8_t *rx_iu(const struct srp_rx *);

/* tx.c */
int tx_open(struct srp_channel *);
void tx_flush(struct srp_channel *);
void tx_later(struct srp_channel *);	/* tx_flush at the end of the round */
/*
 * The next work request, zeroed but for cqe and flags; signalled when asked
 * for, or when it is the last for which there is room. NULL: no room: once some
 * work has ended tx_flush tries again. *sge: room for max_sge.
 */
struct fabric_wr *tx_wr(struct srp_channel *, enum fabric_op, struct fabric_sge **);
bool tx_last_room(const struct srp_channel *);
void tx_add(struct srp_channel *, struct fabric_wr *, struct fabric_cqe *, bool signalled);
/* Memory for an IU that goes out with the next work request. */
uint8_t *tx_iu(struct srp_channel *);
void tx_ended(struct srp_channel *);	/* signalled work has succeeded: room for more */

/* ask.c */
void ask_check(struct srp_channel *);	/* must credits go out by themselves? */
bool ask_emit(struct srp_channel *);	/* false: no room */
void ask_logout(struct srp_channel *, enum srp_t_logout_reason);
void ask_answered(struct srp_channel *, enum srp_opcode, uint64_t tag);
void ask_tick(struct srp_channel *, uint64_t now);

/* task.c */
struct srp_task *task_find(struct srp_channel *, uint64_t tag);
struct srp_task *task_new(struct srp_channel *, struct srp_rx *, uint64_t tag);	/* NULL: no memory */
void task_answer(struct srp_task *);	/* its response is in line */
void task_end(struct srp_task *);	/* without a response */
void task_put(struct srp_task *);	/* nothing of it is out: it goes back */
bool task_emit(struct srp_task *);	/* posts what it has to post; false: no room for all of it */
void task_drained(struct srp_channel *);	/* nothing of any task is out any more */

/* command.c */
void command_rx(struct srp_channel *, struct srp_rx *, const struct iu_cmd *);
void command_bad(struct srp_channel *, struct srp_rx *, const struct iu_cmd *);
void command_want(struct scsi_cmd *);
void command_done(struct scsi_cmd *);

/* tmf.c */
void tmf_rx(struct srp_channel *, struct srp_rx *, const struct iu_tmf *);
void tmf_done(struct scsi_tmf *);

/* session.c: the channels of all I_T nexuses */
enum session_verdict { SESSION_IN, SESSION_WAIT, SESSION_REFUSED };
/*
 * May this channel log in now? SESSION_WAIT: others were told to end, and
 * cm_enter runs again on the channel's reactor when one of them has.
 */
enum session_verdict session_enter(struct srp_channel *, uint8_t *multichan,
    enum srp_login_rej_reason *);
void session_leave(struct srp_channel *);
/*
 * Marks channels of this target (NULL: of all), or the one whose nexus has this
 * id (0: any), for an end. Any thread. Returns how many.
 */
unsigned session_kick(const struct target *, uint64_t nexus_id, enum srp_t_logout_reason);
unsigned session_channels(const struct srp_channel *);	/* of its I_T nexus */

/* port.c: target port identifiers */
void port_id(const struct conf_target *, uint8_t id[16]);
/* The target of this port on this portal; NULL: none. */
struct target *port_find(const struct conf_portal *, const uint8_t id[16]);
void port_text(char *, size_t, const uint8_t *, size_t n);	/* hexadecimal digits */
extern const struct conf_key srp_target_keys[], srp_portal_keys[];

#endif
