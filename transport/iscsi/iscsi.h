/* Inside the iSCSI target: connections, sessions, commands, and who owns what. */
#ifndef ISCSI_ISCSI_H
#define ISCSI_ISCSI_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "buf.h"
#include "conf.h"
#include "list.h"
#include "reactor.h"
#include "scsi_cmd.h"
#include "scsi_tmf.h"
#include "target.h"
#include "transport.h"

#include "gather.h"
#include "login.h"
#include "params.h"
#include "pdu_next.h"
#include "window.h"

struct iscsi_cmd;
struct iscsi_conn;
struct iscsi_sess;

#define MS 1000000ull
#define SEC (1000 * MS)

enum {
	RX_BUF = 512 * 1024,		/* one receive, for many commands */
	RX_AHEAD = 16 * 1024,		/* how much is read behind a payload that has a place of its own */
	TX_CAP = 16 * 1024 * 1024,	/* output promised and queued, above which no read is begun: at most, */
	TX_CAP_BLOCKED = 4 * 1024 * 1024,	/* when the peer does not take it, */
	TX_CAP_MIN = 128 * 1024,	/* and however many connections share the memory */
	IMMEDIATE_MAX = 32,		/* immediate commands at a time (Reject 0x06) */
	HELD_MAX = 1024 * 1024,		/* bytes of requests that came before their turn */
	HALF_OPEN_MAX = 1024,		/* connections that have not logged in: all, */
	HALF_OPEN_PER_ADDRESS = 64,	/* and from one address */
};

#define TICK_NS (250 * MS)
#define LOGIN_NS (15 * SEC)		/* for the whole login phase */
#define STALL_NS (30 * SEC)		/* without a byte of queued output taken */
#define GATHER_NS (20 * SEC)		/* without a byte of a write's data coming */
#define LINGER_NS (1 * SEC)		/* for the peer to close after the last answer */
#define GRACE_NS (2 * SEC)		/* for the peer to log out when asked to */

/*
 * What the connections of one reactor share. Static, by reactor id; touched on
 * that reactor's thread only, but for `evict`.
 */
struct iscsi_reactor {
	OWN_LINE struct reactor *reactor;	/* NULL: no connection has been here */
	uint8_t *rx;			/* RX_BUF bytes */
	struct obj_pool cmds, outs, tmfs;
	struct list conns, sessions;
	uint32_t nconns, nsessions;
	uint32_t tx_cap;		/* each connection's part of half of the memory */
	struct timer tick;
	bool stopping;			/* new connections are closed */
	bool tight;			/* memory is nearly used up: windows stay closed */
	struct msg evict;		/* somewhere here is a connection or session marked `evicted` */
	bool evict_posted;		/* under half_open's lock, or the registry's */
	struct msg kick;
	bool kick_posted;		/* under the registry's lock */
};
/* Perhaps not set up; any thread, for its messages. */
struct iscsi_reactor *iscsi_reactor_at(unsigned id);
void iscsi_count(struct iscsi_reactor *, int by);	/* connections came or went */
/* Sets it up at first use; own thread; NULL: no memory. */
struct iscsi_reactor *iscsi_reactor(struct reactor *);

extern const struct transport iscsi_transport;
extern const struct transport_ops iscsi_ops;

/* -- output -- */

/*
 * A PDU on its way out: header and digest, a slice of an iovec, padding and
 * digest. From the reactor's pool, or embedded in the command whose last PDU it
 * is. Freed, or the command finished, when its last byte is with the kernel.
 */
struct pdu_out {
	struct pdu_out *next;
	struct iscsi_cmd *cmd;		/* the command that ends with this PDU */
	const struct iovec *iov;	/* data: data_len bytes from `skip` on */
	uint32_t skip;
	uint32_t data_len;
	uint32_t wire_len;		/* all of it */
	uint8_t head_len, tail_len;
	void *heap;			/* freed with it */
	struct iovec own;		/* for data that is one piece */
	union {
		uint8_t head[ISCSI_BHS + ISCSI_DIGEST];
		struct iscsi_bhs bhs;
		struct iscsi_scsi_rsp scsi_rsp;
		struct iscsi_data_in data_in;
		struct iscsi_r2t r2t;
		struct iscsi_tmf_rsp tmf_rsp;
		struct iscsi_login_rsp login_rsp;
		struct iscsi_text_rsp text_rsp;
		struct iscsi_logout_rsp logout_rsp;
		struct iscsi_reject reject;
		struct iscsi_nop_in nop_in;
		struct iscsi_async async;
	};
	uint8_t tail[4 + ISCSI_DIGEST];
};

enum stat_sn {
	STAT_SN_NEXT,			/* a response: takes a StatSN */
	STAT_SN_SHOWN,			/* carries the next one without taking it (R2T, NOP-In ping) */
	STAT_SN_NONE,			/* Data-In without status: the field is reserved */
};

/* conn_tx.c; all on the connection's reactor */
/* The header is zero but for opcode and F. NULL: no memory. */
struct pdu_out *out_get(struct iscsi_conn *, enum iscsi_opcode);
void out_init(struct pdu_out *, enum iscsi_opcode);	/* the same for an embedded one */
/* Data that is one piece; heap (may be NULL) is freed when it was sent. */
void out_data(struct pdu_out *, const void *data, uint32_t len, void *heap);
/* Stamps sequence numbers and digests and puts it in line. It will leave at the end of the round. */
void conn_queue(struct iscsi_conn *, struct pdu_out *, enum stat_sn);
void conn_flush(struct iscsi_conn *);
/* Drops what is queued; commands whose answer it was are finished. */
void conn_unqueue(struct iscsi_conn *);
uint32_t conn_tx_cap(const struct iscsi_conn *);	/* bytes of output it may make us hold */
bool conn_tx_full(const struct iscsi_conn *);	/* no more reads are begun: they are held */

/* -- input -- */

enum rx_state {
	RX_HEADER,			/* at the start of a PDU */
	RX_PAYLOAD,			/* in the data segment of `bhs` */
	RX_TAIL,			/* in its padding and digest */
};

struct rx {
	enum rx_state state;
	struct iscsi_bhs bhs;		/* the PDU whose payload is coming */
	struct iscsi_cmd *cmd;		/* whose data it is; NULL: none, or it has ended meanwhile */
	uint8_t *heap;			/* or: a request that must be whole; ahs, then data */
	uint32_t ahs_len;
	uint32_t at;			/* where the next byte goes: offset in the command's data, or in heap */
	uint32_t left;			/* bytes of the data segment still to come */
	uint32_t crc;
	bool keep;			/* false: the payload is thrown away */
	uint8_t tail[4 + ISCSI_DIGEST];
	uint8_t tail_have, tail_need;
	const uint8_t *whole;		/* while a command starts: its immediate data, all here; borrowed */
	uint32_t whole_len;
	uint8_t *stash;			/* what was received and not parsed: stash_len bytes */
	uint32_t stash_len;
	uint8_t small[ISCSI_BHS + 8];	/* stash points here for a cut header */
	bool stopped;			/* nothing is read: rx_must_stop */
};

enum conn_state {
	CONN_LOGIN,			/* login requests only */
	CONN_ENTERING,			/* login agreed; waits for the old session's end; reads nothing */
	CONN_FULL,			/* full feature phase */
	CONN_LAST,			/* the last answer is queued; what comes is thrown away */
	CONN_LINGER,			/* it was sent; waits for the peer to close */
	CONN_DEAD,			/* closed at the end of the round */
};

/*
 * One TCP connection. Lives on one reactor (moves at most while ENTERING);
 * freed by conn_close, which runs from the end of the round and nowhere else.
 */
struct iscsi_conn {
	struct iscsi_reactor *home;
	enum conn_state state;
	bool in_turn;			/* conn_readable is on the stack and will flush */
	bool header_digest, data_digest;
	bool blocked;			/* the socket takes no more */
	struct iscsi_sess *sess;
	struct rx rx;

	struct pdu_out *out, **out_last;
	uint32_t out_sent;		/* bytes of the first one that have left */
	uint32_t tx_queued;		/* bytes in line, with what their PDUs take of memory, */
	uint32_t tx_promised;		/* and bytes that running reads will add */
	uint32_t stat_sn;
	uint32_t cmd_sn;		/* of the login requests */

	struct watch watch;
	int fd;
	struct work flush, parse, close;
	struct list link;		/* in home->conns */
	struct msg msg;			/* on its way to another reactor */
	struct reactor *to;
	void (*arrived)(struct iscsi_conn *);

	uint64_t heard_ns;		/* when something came last */
	uint64_t pinged_ns;		/* 0: no ping is out */
	int unacked;			/* bytes the peer's TCP had not taken at the last tick */
	uint64_t moved_ns;		/* when output was last taken, or began to wait */
	uint64_t deadline_ns;		/* 0: none; for what is in `why` */
	uint64_t born_ns;
	char why[160];			/* why it ends, for the log */

	/* login */
	struct login *login;
	struct login_peer peer;
	struct sockaddr_storage peer_addr, local_addr;
	char peer_text[64];
	char host[64];			/* the same without the port: whom log lines are counted by */
	bool told;			/* its end has been logged */
	uint16_t cid;
	uint16_t waited_tsih;		/* of the session whose end it waited for, and continues */
	struct entering *entering;
	struct list half_open;		/* in the list of half-open ones, under its lock */
	bool evicted;			/* under the same */
};

/* conn.c */
/* Takes an accepted socket to the reactor `to`; closes it when there is no memory. Any reactor's thread. */
void conn_adopt(int fd, const struct conf_portal *, struct reactor *to);
/* The end, when the round ends; the first reason is logged. From anywhere on its thread, also twice. */
__attribute__((format(printf, 2, 3)))
void conn_drop(struct iscsi_conn *, const char *fmt, ...);
/* No more answers: flush what is queued, then close. */
void conn_last(struct iscsi_conn *, const char *why);
void conn_want(struct iscsi_conn *);	/* sets what the watch waits for */
/* Goes to the reactor of the session it wants to replace; then fn runs there. Nothing may be queued. */
void conn_move(struct iscsi_conn *, struct reactor *, void (*fn)(struct iscsi_conn *));
/* Asks for a logout (RFC 7143 11.9, event 1) and drops the connection when it does not come. */
void conn_ask_logout(struct iscsi_conn *);
void conn_tick(struct iscsi_conn *, uint64_t now);

/* conn_rx.c */
void conn_readable(struct iscsi_conn *);
void conn_parse_later(struct iscsi_conn *);	/* what is in the stash, and what is held */
bool rx_must_stop(const struct iscsi_conn *);	/* too much is queued or held to take anything more */
void rx_forget(struct iscsi_conn *, struct iscsi_cmd *);	/* the command ends: its payload goes nowhere */
void rx_fini(struct iscsi_conn *);

/* The request of an opcode, whole; data: its data segment. request.c */
void request_rx(struct iscsi_conn *, const struct pdu *, const uint8_t *data);

/* -- login phase: enter.c -- */
void enter_rx(struct iscsi_conn *, const struct pdu *, const uint8_t *data);
void enter_done(struct iscsi_conn *, enum login_status);	/* the session is there, or why not */
void enter_fini(struct iscsi_conn *);
struct list *enter_link(struct iscsi_conn *);	/* in the waiters of the session it replaces */
void enter_later(struct list *enter_link);	/* sess_enter at the end of the round */

/* -- half-open connections: half_open.c -- */
void half_open_add(struct iscsi_conn *);	/* may mark the oldest for eviction */
void half_open_del(struct iscsi_conn *);

/* -- sessions -- */

/*
 * Lives on the reactor of its connection until its nexus is gone. In the
 * process-wide registry (session.c) from login to then.
 */
struct iscsi_sess {
	struct iscsi_reactor *home;
	struct nexus *nexus;		/* NULL: discovery, or ended */
	struct iscsi_conn *conn;	/* NULL: ended */
	struct window window;
	struct gather_limits limits;
	uint32_t max_xmit_dsl;
	uint32_t next_ttt;
	uint32_t immediates;		/* immediate commands and TMFs not answered */
	struct iscsi_cmd **tasks;	/* commands not answered, hashed by ITT */
	uint32_t task_shift;
	uint64_t solicited;		/* bytes asked for by R2T that have not come */
	struct list gathering;		/* writes that wait for data, iscsi_cmd.waiting */
	struct list tmfs;
	struct list held;		/* requests before their turn, by CmdSN */
	uint32_t held_bytes;
	struct exchange *exchange;
	uint64_t nop_interval_ns, nop_timeout_ns;
	uint32_t ping;			/* TTT of the newest ping */
	uint32_t depth;			/* of the window when memory is not tight */

	struct iscsi_params params;
	struct target *target;
	struct list link;		/* in home->sessions */
	struct list reg;		/* in the registry */
	uint64_t id;			/* the nexus'; 0: none yet; under the registry's lock */
	struct list waiters;		/* connections that log in in its place, by enter_link */
	uint16_t tsih;
	bool ended;			/* nexus_logout was called */
	bool kicked;			/* under the registry's lock */
	uint64_t login_ns;
};

/* session.c; on the connection's reactor */
void sess_enter(struct iscsi_conn *);	/* calls enter_done, perhaps later */
void sess_end(struct iscsi_sess *);	/* its connection closes: ends the nexus; frees it when that is gone */
/*
 * Marks sessions of this target (NULL: of all), or the one whose nexus has this
 * id (0: any), for an end. Any thread. Returns how many.
 */
unsigned sess_kick(const struct target *, uint64_t nexus_id);
void sess_tick(struct iscsi_sess *, uint64_t now);

/* -- requests that came before their turn: held.c -- */
int held_add(struct iscsi_sess *, const struct pdu *, const uint8_t *data);
/* Data-Out of a held command: is it one; keep it with it. */
bool held_has(struct iscsi_sess *, uint32_t itt);
int held_data_out(struct iscsi_sess *, const struct pdu *, const uint8_t *data);
bool held_ready(struct iscsi_conn *);	/* the turn of the first one has come */
void held_run(struct iscsi_conn *);	/* those whose turn has come */
/*
 * A TMF reaches commands before its CmdSN that have not had their turn: they
 * never will. lun NULL: any; itt ISCSI_NO_TAG: any. Returns how many.
 */
unsigned held_abort(struct iscsi_sess *, const uint8_t *lun, uint32_t itt, uint32_t before_cmd_sn);
/* This CmdSN will not come (RFC 7143 11.6.1): count it as received. */
int held_skip(struct iscsi_sess *, uint32_t cmd_sn);
void held_fini(struct iscsi_sess *);

/* -- commands -- */

/*
 * One SCSI command, from its reactor's pool, from command_rx until its last
 * answer was sent, or, when its connection is gone, until `done`.
 */
struct iscsi_cmd {
	struct scsi_cmd scsi;
	struct iscsi_conn *conn;	/* NULL: gone */
	struct iscsi_reactor *home;
	struct iscsi_cmd *hash_next;
	uint32_t itt;
	uint32_t promised;		/* its part of conn->tx_promised */
	bool immediate;
	bool busy;			/* no memory: answer BUSY */
	uint32_t first_ttt;
	uint32_t data_sn;		/* Data-In PDUs sent */
	struct gather gather;
	struct list waiting;		/* in sess->gathering */
	uint64_t moved_ns;		/* when data came last */
	struct buf_wait memory;
	uint8_t sense_len[2];
	struct iovec sense_iov[2];
	struct pdu_out out;
};

/* command.c */
/*
 * Whether it is taken now: in the window, in turn, and, for a read, when its
 * output may be promised. What is held keeps those behind it in order, while
 * immediate requests pass: a disk that stalls does not make the connection deaf.
 */
enum window_verdict command_turn(const struct iscsi_conn *, const struct iscsi_bhs *);
/* whole: the immediate data, all here and borrowed, or NULL; bad: its digest is wrong. */
void command_rx(struct iscsi_conn *, const struct pdu *, const uint8_t *whole, bool bad);
struct iscsi_cmd *command_find(struct iscsi_sess *, uint32_t itt);
void command_done(struct scsi_cmd *);
void command_sent(struct iscsi_cmd *);	/* its last PDU has left */
void command_orphan_all(struct iscsi_sess *);

/* data_out.c */
void data_want(struct scsi_cmd *);
/* A Data-Out that is whole; bad: its digest is wrong. */
void data_out_take(struct iscsi_conn *, const struct pdu *, const uint8_t *data, bool bad);
/* Data-Out header: sets rx.cmd, rx.at and rx.keep. */
void data_out_rx(struct iscsi_conn *, const struct iscsi_data_out *);
/* Where byte `at` of the command's data goes: *room bytes fit there; NULL: nowhere, throw it away. */
uint8_t *data_place(struct iscsi_cmd *, uint32_t at, uint32_t *room);
int data_iov(struct iscsi_cmd *, uint32_t at, uint32_t len, struct iovec *, int max);
/* Copies payload that goes to rx.cmd at rx.at, as far as there is a place for it. */
void data_store(struct iscsi_conn *, const uint8_t *, uint32_t len);
void data_wait(struct iscsi_cmd *);	/* data is awaited from now on, not for ever */
/* A payload of this command is over. */
void data_arrived(struct iscsi_cmd *, uint32_t len, bool final, bool bad);
void data_overdue(struct iscsi_cmd *);
void data_forget(struct iscsi_cmd *);	/* it does not wait for data any more */

/* data_in.c */
void data_in_send(struct iscsi_cmd *);
/* The next Data-In of a transfer of `len` bytes at `at`: its length, and whether it ends a sequence. */
uint32_t data_in_cut(uint32_t at, uint32_t len, uint32_t dsl, uint32_t max_burst, bool *final);

/* tmf.c */
void tmf_rx(struct iscsi_conn *, const struct iscsi_tmf_req *);
void tmf_done(struct scsi_tmf *);
void tmf_orphan_all(struct iscsi_sess *);
uint32_t tmf_size(void);

/* misc.c */
void misc_nop_out(struct iscsi_conn *, const struct iscsi_nop_out *, const uint8_t *data,
    uint32_t len);
void misc_ping(struct iscsi_conn *);
void misc_text(struct iscsi_conn *, const struct iscsi_text_req *, const uint8_t *data,
    uint32_t len);
void misc_logout(struct iscsi_conn *, const struct iscsi_logout_req *);
void misc_reject(struct iscsi_conn *, const struct iscsi_bhs *, enum iscsi_reject_reason);

#endif
