/* An iSCSI load generator: each worker has a thread and sessions of one connection. */
#ifndef LOAD_H
#define LOAD_H

#include <netdb.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "transport/iscsi/pdu_next.h"

enum {
	LUNS_MAX = 4096,
	DEPTH_MAX = 32768,
	HEADERS_SIZE = 64 * 1024,	/* headers and digests of one send */
	IOV_COUNT = 1000,		/* under IOV_MAX */
	MISC_SIZE = 16 * 1024,		/* data segments of no slot: sense, rejects, pings */
};

struct options {
	const char *host, *port, *target, *initiator, *label;
	uint32_t sessions, depth, threads;
	uint32_t size;			/* bytes of one I/O */
	uint32_t read_percent;
	uint32_t mrdsl, first_burst, max_burst;
	uint32_t receive;		/* bytes asked of one recv */
	uint32_t verify_blocks;		/* of `size`, for each session */
	double seconds, warm_up;
	uint64_t spin_ns;		/* poll this long after the last arrival before sleeping */
	uint64_t span, base;		/* bytes; blocks */
	bool header_digest, data_digest, immediate_data, initial_r2t;
	bool sequential, verify, residuals, lun_per_session, initiator_per_session, logout;
	pid_t target_pid;
	unsigned nluns;
	uint16_t luns[LUNS_MAX];
};
extern struct options opt;

struct lun {
	uint64_t blocks;
	uint32_t block_size;
	uint16_t number;
	uint8_t addr[8];
};
extern struct lun *luns;		/* opt.nluns of them */

enum phase { WARM_UP, MEASURE, DRAIN };
extern _Atomic int phase;

/* X(name, counts as an error): what is counted, and the keys of the report. */
#define TALLIES(X)                                                                  \
	X(check, 1) X(residual, 1) X(unknown_tag, 1) X(stat_sn, 1) X(data_sn, 1)    \
	X(digest, 1) X(miscompare, 1) X(reject, 1) X(lost, 1) X(broken, 1)          \
	X(unit_attention, 0) X(task_set_full, 0) X(busy, 0) X(nop, 0) X(async, 0)   \
	X(window, 0) X(sends, 0) X(receives, 0)

enum { BUCKETS = 59 * 64 };		/* 64 for each power of two */

struct tally {
#define X(name, error) uint64_t name;
	TALLIES(X)
#undef X
	uint64_t ops, reads, max_ns;
	uint64_t latency[BUCKETS];
};

/* One command at a time, over and over. */
struct slot {
	uint64_t begun;			/* ns */
	uint64_t lba;
	uint32_t itt, edtl;
	uint32_t moves;			/* bytes that should be moved */
	uint32_t got, solicited;	/* in; out: sent or asked for */
	uint32_t data_sn, r2t_sn;	/* the next one expected */
	uint32_t block, version;	/* verify: which of the session's, and its content */
	uint32_t want_resid;
	uint16_t lun;			/* index into luns */
	uint16_t generation;
	uint8_t want_flags;
	bool write, live;
	uint8_t *buf;			/* verify only */
};

struct burst {				/* an R2T that is being served */
	uint16_t slot;
	uint32_t ttt, offset, left, data_sn;
};

struct ring {				/* of 16-bit slot numbers */
	uint16_t *v;
	uint32_t head, tail, mask;
};

struct worker;

struct conn {
	int fd, id;
	struct worker *worker;
	bool dead, logged_out, wants_out;
	bool header_digest, data_digest, immediate_data, initial_r2t;
	uint32_t max_xmit_dsl, first_burst, max_burst;
	uint32_t cmd_sn, exp_stat_sn, max_cmd_sn;
	uint32_t running;		/* commands without status */
	struct slot *slots;
	struct ring ready;		/* slots that may issue their command */
	struct ring again;		/* those refused as busy */
	struct burst *bursts;
	uint32_t burst_head, burst_tail, burst_mask;
	/* to send */
	uint8_t *headers;
	uint32_t headers_len;
	struct iovec iov[IOV_COUNT];
	int iov_at, iov_len;
	/* being received */
	enum { RX_HEADER, RX_DATA, RX_TAIL } rx;
	union {
		uint8_t bytes[ISCSI_BHS + ISCSI_DIGEST];
		struct iscsi_bhs bhs;
		struct iscsi_data_in data_in;
		struct iscsi_scsi_rsp rsp;
		struct iscsi_r2t r2t;
		struct iscsi_nop_in nop;
		struct iscsi_reject reject;
	} head;
	uint32_t head_len, data_len, data_left, tail_len, tail_need, crc, misc_len;
	uint8_t tail[3 + ISCSI_DIGEST];
	uint8_t misc[MISC_SIZE];
	struct slot *into;		/* where the data segment belongs */
	uint64_t ops, random;
	uint32_t sweep;			/* verify: blocks read back so far */
	uint32_t *versions;		/* verify: what each block holds, 0 unknown */
	bool *in_use;			/* verify: a command is on that block */
};

struct worker {
	pthread_t thread;
	int epoll;
	struct conn **conns;
	uint32_t nconns;
	enum phase phase;		/* as far as this worker has noticed */
	uint8_t *receive;
	uint64_t now;			/* ns, of the last arrival */
	uint64_t begun, ended, cpu_begun, cpu_ended;
	struct tally tally;
};

__attribute__((noreturn, format(printf, 1, 2))) void die(const char *fmt, ...);
void *must(void *memory);		/* or die */

/* load_options.c */
void options_read(int argc, char **argv);

/* load_login.c: blocking, before the run */
void conn_login(struct conn *);
void lun_probe(struct conn *, struct lun *);

/* load_work.c: what a slot does next, and whether what came back is right */
void work_init(struct conn *);
void work_fini(struct conn *);
bool slot_plan(struct conn *, struct slot *);	/* false: nothing left to do */
const uint8_t *slot_data(const struct slot *, uint32_t offset);
void slot_check(struct conn *, struct slot *, uint8_t status, uint8_t flags, uint32_t resid);

/* load_send.c */
void ring_put(struct ring *, uint16_t);
void conn_issue(struct conn *);		/* as many commands and Data-Outs as fit, and sends them */
void conn_nop(struct conn *, const struct iscsi_nop_in *);
void conn_logout(struct conn *);
void conn_break(struct conn *, const char *why);

/* load_recv.c */
bool conn_receive(struct conn *);	/* false: nothing came */

/* load_run.c */
void *worker_run(void *worker);

/* load_report.c */
struct usage {				/* of the target's process */
	uint64_t cpu_ns;
	long rss_kb, rss_max_kb;
};
struct usage usage_read(pid_t);
uint64_t thread_cpu_ns(void);
void latency_add(struct tally *, uint64_t ns);
/* Prints the JSON line. Returns the number of errors. */
uint64_t report_print(struct worker *, struct conn **, double login_ms, double seconds,
    const struct usage *begun, const struct usage *ended);

#endif
