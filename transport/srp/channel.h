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
	QUEUE_DEPTH_MAX = 256,
	RX_EXTRA = 4,			/* receives beyond the credits: responses to our requests,
					   a logout, and one to see that there are too many */
	SEND_WR = 512,			/* work requests of a channel, and those posted at a time */
	BATCH_WR = 64,
	BATCH_SGE = 512,
	TASK_SLOTS_MIN = 16, TASK_SLOTS_MAX = 1024,
};

#define TICK_NS (250 * MS)
#define LOGIN_NS (15 * SEC)		/* for others to end, whose place a login takes */
#define ESTABLISH_NS (30 * SEC)		/* for the peer to take our answer */
#define GRACE_NS (1 * SEC)		/* for the peer to leave after SRP_T_LOGOUT */
#define IDLE_NS (30 * SEC)		/* of silence, then we look whether the peer is there */

/* An element of conf_target.opts. */
struct srp_target_conf {
	uint8_t id_ext[8], ioc_guid[8];	/* zero: derived from the target's name */
	uint32_t queue_depth;		/* credits of a channel */
	uint32_t max_channels;		/* of one I_T nexus */
	bool async_events;		/* tell idle initiators of unit attentions */
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
	uint64_t rx_bytes;		/* in receive buffers of all of them */
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
	TASK_ENDED,			/* without a response; what it posted must come back */
};

/* A receive buffer: an IU on its way in, or being served. Belongs to its channel. */
struct srp_rx {
	struct fabric_cqe cqe;
	struct fabric_recv recv;
	struct srp_channel *ch;
	struct list link;		/* in ch->starved: there was no memory for a task */
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
	struct list link;		/* in ch->tx: has something to post; ch->sent: has posted it */
	struct list order;		/* in ch->order */
	enum task_state state;
	bool is_tmf;
	bool submitted;			/* the device server has seen it: scsi_release is due */
	uint8_t sol_not;
	uint8_t rsp_code;		/* of a function */
	uint32_t out;			/* completions that will come to `rdma` */
	struct iu_data data_out, data_in;
	struct transfer xfer;
	struct iovec table;		/* pool memory of a fetched table; iov_base NULL: none */
	struct buf_wait memory;
	struct fabric_cqe rdma;		/* the last of its RDMA READs, */
	struct fabric_cqe sent;		/* its response */
};

/* -- channels -- */

enum channel_state {
	CHANNEL_LOGIN,			/* not accepted yet; perhaps waits for others to end */
	CHANNEL_OPEN,
	CHANNEL_LEAVING,		/* SRP_T_LOGOUT is sent: the peer is given time to go */
	CHANNEL_CLOSING,		/* disconnected and logged out; what is out comes back */
	CHANNEL_GONE,			/* out of the registry; a disk may still have commands */
};

/* Requests of the target. One is out at a time; one that is never answered is the last. */
struct ask {
	bool probe;			/* nothing was heard for long: is the peer there? */
	bool credits;			/* SRP_CRED_REQ is to be sent */
	bool event;			/* SRP_AER_REQ is to be sent: */
	uint32_t event_lun;
	uint8_t event_sense[3];		/* key, additional sense code and its qualifier */
	bool logout;			/* SRP_T_LOGOUT is to be sent, */
	enum srp_t_logout_reason reason;
	uint8_t opcode;			/* of what is out; 0: none */
	uint64_t tag;			/* its, */
	uint64_t next_tag;		/* and the next one's */
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
	bool kicked;			/* a new login wants to be the only one */
	bool msg_posted;
	struct list link;		/* in home->channels */
	struct msg msg;			/* on its way to its reactor; woken from waiting */
	struct work flush;
	struct work close;
	struct work reap;
	enum srp_login_rej_reason refusal;	/* when it ends before the request is answered */

	struct login_req req;
	struct login_terms terms;
	struct credit credit;
	uint32_t depth;			/* of the request limit when memory is not tight */
	struct aer *aer;		/* NULL: asynchronous events are not told */
	struct ask ask;

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
	uint16_t *marks;		/* ring: how many each signalled request stands for */
	uint32_t mark_head, mark_tail;
	uint32_t unmarked;		/* posted since the last signalled one */
	struct batch *batch;
	struct timer retry;		/* the device had no room */
	struct fabric_cqe quiet;	/* of what needs no answer of its own */
	struct fabric_cqe probe;

	/* tasks */
	struct srp_task **tasks;	/* by tag */
	uint32_t task_shift;
	uint32_t ntasks;		/* all, also those that are sent or ended */
	struct list tx;			/* have something to post, in order */
	struct list order;		/* reads that fetch their table, and functions to be answered after them */
	struct list sent;		/* nobody but the channel knows them; what they posted is out */

	bool established;		/* the peer has seen our answer */
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
void cm_request(struct fabric_request *);	/* requests to connect arrive here; any reactor */
void cm_enter(struct srp_channel *);	/* on its reactor: logs in, or waits for others to end */
void cm_reject(struct fabric_request *, uint64_t tag, enum srp_login_rej_reason);
void cm_freed(void);			/* a channel is no more */

/* channel.c; on the channel's reactor, but for channel_new */
struct srp_channel *channel_new(struct fabric_request *, struct srp_reactor *home);
void channel_start(struct srp_channel *);	/* it came */
/* Its connection and memory; receives are posted. 0 or -errno. */
int channel_open(struct srp_channel *);
/* The end: from anywhere, also twice; the first reason is logged. The rest when the round ends. */
__attribute__((format(printf, 2, 3)))
void channel_drop(struct srp_channel *, const char *fmt, ...);
void channel_refuse(struct srp_channel *, enum srp_login_rej_reason, const char *why);
/* Asks the peer to leave, and drops the channel when it does not. */
void channel_leave(struct srp_channel *, enum srp_t_logout_reason, const char *why);
void channel_check_gone(struct srp_channel *);
void channel_tick(struct srp_channel *, uint64_t now);
const char *channel_state_name(const struct srp_channel *);

/* mem.c */
/* One piece of pool memory for len bytes, at most BUF_SEG_MAX. 0 or -ENOMEM. */
int mem_get(struct reactor *, struct iovec *, uint32_t len);
void mem_put(struct reactor *, struct iovec *);	/* allowed when iov_base is NULL */
/* Answered memory that the device cannot reach becomes pool memory. 0 or -ENOMEM. */
int mem_reach(struct srp_channel *, struct scsi_cmd *);

/* rx.c */
int rx_room(struct srp_channel *);	/* do its buffers leave memory for data? 0 or -ENOMEM */
int rx_open(struct srp_channel *);	/* buffers, and all are posted at the next rx_repost */
void rx_close(struct srp_channel *);
void rx_put(struct srp_rx *);		/* posted again before anything else is sent */
int rx_repost(struct srp_channel *);
void rx_wait(struct srp_rx *);		/* there is no memory for a task: again later */
void rx_retry(struct srp_channel *);
const uint8_t *rx_iu(const struct srp_rx *);

/* tx.c */
void tx_init(struct srp_channel *);
int tx_open(struct srp_channel *);
void tx_close(struct srp_channel *);
void tx_later(struct srp_channel *);	/* what is in line leaves at the end of the round */
/*
 * Room for one more work request, zeroed, and for max_sge elements. NULL: none
 * until some work has ended; then the line goes on.
 */
struct fabric_wr *tx_wr(struct srp_channel *, enum fabric_op);
/*
 * It is filled. cqe NULL: nobody asks when it ends; it is signalled all the
 * same when nothing else might be for long.
 */
void tx_add(struct srp_channel *, struct fabric_wr *, struct fabric_cqe *);
/* Is this the last that there is room for? Then who must know when its work ended asks with it. */
bool tx_is_last(const struct srp_channel *, const struct fabric_wr *);
uint8_t *tx_iu(struct srp_channel *, struct fabric_wr *, uint32_t len);	/* for a SEND, zeroed */
/* First in every completion of work that was signalled: true when it succeeded. */
bool tx_ended(struct srp_channel *, const struct fabric_wc *, const char *what);

/* ask.c */
void ask_check(struct srp_channel *);	/* must credits go out by themselves? */
bool ask_emit(struct srp_channel *);	/* false: no room */
void ask_logout(struct srp_channel *, enum srp_t_logout_reason);
void ask_answered(struct srp_channel *, unsigned opcode, uint64_t tag);

/* aer.c */
int aer_open(struct srp_channel *);
void aer_close(struct srp_channel *);
void aer_tick(struct srp_channel *, uint64_t now);

/* task.c */
int task_open(struct srp_channel *);
struct srp_task *task_find(struct srp_channel *, uint64_t tag);
/* NULL: no memory. */
struct srp_task *task_new(struct srp_channel *, struct srp_rx *, uint64_t tag);
void task_line(struct srp_task *, enum task_state);	/* it has something to post */
/*
 * What the answer of a function says has ended must not go on behind it, and a
 * read that fetches its table has its response yet to come.
 */
void task_line_behind(struct srp_task *);
void task_end(struct srp_task *);	/* without a response */
void task_put(struct srp_task *);	/* nothing of it is out: it goes back */
/* Its response is in line: the buffer of its unit, with the credit; then its tag. */
void task_unit_put(struct srp_task *);
void task_sent(struct srp_task *);
void task_drained(struct srp_channel *);	/* nothing of any task is out any more */

/* emit.c */
bool task_emit(struct srp_task *);	/* posts what it has; false: no room for all of it */

/* command.c */
void srp_cmd_rx(struct srp_channel *, struct srp_rx *, const struct iu_cmd *, bool ok);
void srp_cmd_want(struct scsi_cmd *);
void srp_cmd_done(struct scsi_cmd *);
void srp_cmd_arrived(struct srp_task *);	/* the RDMA READs of its state have ended */
enum { SENSE_FIXED = 18 };
void srp_sense(uint8_t sense[SENSE_FIXED], uint8_t key, uint8_t asc, uint8_t ascq);

/* tmf.c */
void srp_tmf_rx(struct srp_channel *, struct srp_rx *, const struct iu_tmf *);
void srp_tmf_done(struct scsi_tmf *);

/* session.c: the channels of all I_T nexuses */
enum session_verdict { SESSION_IN, SESSION_WAIT, SESSION_REFUSED };
/*
 * May this channel log in now? SESSION_WAIT: others were told to end, and
 * cm_enter runs again on the channel's reactor when one of them has.
 */
enum session_verdict session_enter(struct srp_channel *, uint8_t *multichan,
    enum srp_login_rej_reason *);
void session_leave(struct srp_channel *);
unsigned session_channels(const struct srp_channel *);	/* of its I_T nexus */

/* port.c: target port identifiers */
void port_id(const struct conf_target *, uint8_t id[16]);
/*
 * The target of the login's target port on this portal; NULL: none. Both ports
 * are in the order of r16a afterwards.
 */
struct target *port_find(const struct conf_portal *, struct login_req *);
void port_text(char *, size_t, const uint8_t *, size_t n);	/* hexadecimal digits */
void port_check(struct conf_load *, const struct conf *);	/* two targets with one port */
extern const struct conf_key srp_target_keys[], srp_portal_keys[];

#endif
