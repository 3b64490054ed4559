/* The configuration: what was read, checked and ready to use, and the rows that describe keys. */
#ifndef CONF_H
#define CONF_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "list.h"

struct disk_driver;
struct transport;

/* Where something stands, for messages: FILE:LINE:COLUMN, counted from 1. */
struct conf_pos {
	const char *file;
	int line, column;
};

/* -- rows: what keys a map takes -- */

enum conf_type {
	CONF_BOOL,		/* bool: yes no true false on off */
	CONF_UINT,		/* uint32_t, min to max */
	CONF_UINT_AUTO,		/* uint32_t, or the word auto: 0 */
	CONF_SIZE,		/* uint64_t bytes: K M G T, powers of 1024 */
	CONF_TIME,		/* uint64_t ns: us ms s m; a bare 0 */
	CONF_TEXT,		/* char *, owned by the conf */
	CONF_WORD,		/* int: index into words */
	CONF_WORDS,		/* struct conf_words: a list of words, or one, in order of preference */
	CONF_TEXTS,		/* struct conf_texts: a list of texts, or one text */
	CONF_UINTS,		/* struct conf_uints: a list of numbers, or one */
	CONF_CUSTOM,		/* parse() below reads the node */
	CONF_GUID,		/* uint8_t[8]: 16 hexadecimal digits, not all zero */
	CONF_MAP,		/* void *: a map of its own, the struct that its rows fill; defaults when absent */
};

struct conf_words { int n; int v[16]; };
struct conf_texts { int n; char **v; struct conf_pos *pos; };
struct conf_uints { int n; uint32_t *v; struct conf_pos *pos; };

enum {				/* conf_key.flags */
	CONF_REQUIRED = 1 << 0,
	CONF_LATER = 1 << 1,	/* known, refused as "not supported yet" */
	CONF_MORE_LATER = 1 << 2,	/* CONF_UINT(_AUTO): numbers above `later` are "not supported yet" */
	CONF_HOT = 1 << 3,	/* a reload may change it: BOOL, UINT(_AUTO), SIZE, TIME, WORD */
};

struct conf_node;		/* a YAML node with its position; daemon/conf_load.h's own */
struct conf_load;		/* the load in progress: errors go here */

struct conf_key {
	const char *name;
	uint8_t type;
	uint8_t flags;
	uint16_t offset;	/* into the struct being filled */
	uint64_t min, max;	/* CONF_UINT(S), CONF_SIZE, CONF_TIME (0, 0: any); CONF_TEXT: bytes (0, 0: 1 to 4095) */
	const char *fallback;	/* as if written in the file; NULL: zeros */
	const char *const *words;	/* CONF_WORD(S), ended by NULL */
	uint32_t later;		/* CONF_WORD(S): bit i set: word i is "not supported yet" */
	const char *help;	/* one line for the manual */
	int (*parse)(struct conf_load *, const struct conf_node *, void *out);	/* CONF_CUSTOM */
	const struct conf_key *map;	/* CONF_MAP: its rows, and the size of what they fill */
	uint32_t map_size;
};

/* Says what is wrong at pos; the load goes on and fails at its end. For parse functions and checks. */
__attribute__((format(printf, 3, 4)))
void conf_error(struct conf_load *, struct conf_pos, const char *fmt, ...);

/* -- what was read -- */

enum queue_mode { QUEUE_SHARED, QUEUE_SHARED_SINGLE, QUEUE_SINGLE, QUEUE_DIVIDED, QUEUE_DIVIDED_BORROW };
enum cost { COST_COMMAND, COST_LENGTH };
enum scheduler { SCHEDULER_NONE, SCHEDULER_DEADLINE };	/* SCHED_DEADLINE is sched.h's */

struct conf_disk {
	struct list link;
	struct conf_pos pos;
	struct conf_adapter *adapter;
	char *name;
	const struct disk_driver *driver;
	uint32_t depth;			/* 0: the adapter's lun_depth */
	uint32_t export_depth;		/* the largest of the LUNs that export it; 0: none says one */
	uint64_t latency_target_ns;	/* 0: the adapter's */
	uint16_t channel, id, lun;	/* address: "channel:target:lun"; absent: 0:n:0, n counted */
	uint32_t block_size;		/* 512 or 4096 */
	bool read_only;
	char *serial;			/* NULL: derived from the name */
	uint64_t max_write_same;	/* bytes of one WRITE SAME; 0: no limit, and 0 blocks are all the rest */
	bool sanitize;			/* SANITIZE is there */
	bool cdb32;			/* the commands with CDBs of 32 bytes are there */
	void *opts;			/* the driver's conf_size bytes */
};

struct conf_adapter {
	struct list link;
	struct conf_pos pos;
	char *name;
	uint32_t can_queue;		/* commands, all queues together */
	uint32_t hw_queues;		/* 0: one per reactor */
	int queue_mode, scheduler, cost;
	bool coalesce;
	uint64_t max_xfer;		/* bytes of a command that carries several requests */
	uint64_t latency_target_ns;	/* 0: depths do not follow latency */
	uint32_t target_depth, lun_depth;
	uint32_t max_waiters;		/* per initiator */
	struct list disks;
};

/* The limit of a disk: the largest depth that its LUNs say, else its own, else the adapter's. */
static inline uint32_t
conf_disk_depth(const struct conf_disk *d)
{
	return d->export_depth ? d->export_depth : d->depth ? d->depth : d->adapter->lun_depth;
}

struct conf_portal {
	struct list link;
	struct conf_pos pos;
	char *name;
	const struct transport *transport;
	struct conf_texts listen;	/* as written */
	int naddrs;
	struct sockaddr_storage *addrs;	/* the same, parsed; "*:port" is two: 0.0.0.0 and [::] (V6ONLY) */
	uint32_t group;			/* portal group tag, 1 to 65535 */
	void *opts;
};

enum chap_alg { CHAP_SHA3_256, CHAP_SHA256, CHAP_SHA1, CHAP_MD5 };

struct conf_auth {
	struct list link;
	struct conf_pos pos;
	char *name, *user, *secret;
	char *mutual_user, *mutual_secret;	/* NULL: one-way */
	struct conf_words algorithms;		/* enum chap_alg, in order of preference */
};

struct conf_lun {
	struct conf_pos pos;
	uint32_t lun;			/* 0 to 16383 */
	struct conf_disk *disk;
	uint32_t depth;			/* 0: the disk's */
	bool read_only;
	bool copy;			/* third-party copy commands are there */
};

struct conf_rule {			/* one of `initiators:` */
	struct conf_pos pos;
	char *match;			/* name glob: * and ?; NULL: any */
	bool has_address;
	struct sockaddr_storage address;	/* v4 or v6 */
	uint8_t prefix;			/* bits */
	uint8_t srp_len;		/* bytes of srp: 8 a port GUID, 16 a GID or an initiator port identifier; 0: any */
	uint8_t srp[16];
	struct conf_uints luns;		/* n 0: all */
	bool read_only;
	uint32_t depth;			/* 0: no limit of its own */
	uint32_t share;			/* weight, 1 to 255 */
	uint32_t iops;			/* commands a second; 0: no limit */
	uint64_t bandwidth;		/* bytes a second; 0: no limit */
	uint64_t burst_ns;		/* what may be saved up of both: so long at their rates */
};

struct conf_target {
	struct list link;
	struct conf_pos pos;
	char *name;			/* normalised */
	char *alias;			/* or NULL */
	int nportals;
	struct conf_portal **portals;
	struct conf_auth *auth;		/* NULL: none */
	void *opts[4];			/* by transport_index: what its target_keys fill (defaults when absent) */
	int nluns;
	struct conf_lun *luns;		/* sorted by number */
	int nrules;
	struct conf_rule *rules;	/* nrules 0: everyone who authenticates */
};

struct conf {
	struct conf_pos pos;		/* of the first file */
	uint32_t reactors;		/* 0: auto */
	uint64_t poll_ns;
	uint64_t memory;
	char *control;			/* path of the socket */
	char *state_dir;		/* /var/lib/sluice */
	struct list adapters, portals, auths, targets;
	void *arena;			/* everything above is freed with it */
};

/*
 * Reads path and what it includes (and, when path is NULL, the default file and
 * /etc/sluice/conf.d/ *.yaml). All errors are printed to err as
 * FILE:LINE:COLUMN: message, one a line. Returns 0 and the conf, or -EINVAL, -ENOMEM.
 * Pure but for reading the files: nothing else is touched.
 */
int conf_load(const char *path, struct conf **, void *err /* FILE * */);
/* The same from memory, for tests and fuzzing; name stands for the file. include: is refused. */
int conf_load_text(const char *name, const char *text, size_t len, struct conf **, void *err);
void conf_free(struct conf *);

/*
 * Compares the running configuration with one that was loaded. What is changed
 * and is not CONF_HOT is said to err as FILE:LINE:COLUMN: message, one a line.
 * Returns how many lines.
 */
unsigned conf_diff(const struct conf *running, const struct conf *loaded, void *err /* FILE * */);
/*
 * After conf_diff has found nothing: the running configuration takes the values
 * of all CONF_HOT keys. They are stored one by one, relaxed: who reads one on
 * another thread loads it so. Returns how many have changed.
 */
unsigned conf_take(struct conf *running, const struct conf *loaded);

/* iSCSI names (RFC 7143 4.2.7): checks and lowers in place. 0 or -EINVAL. */
int conf_iscsi_name(char *name);
/* "host:port", "[v6]:port", "*:port" (the v6 wildcard); numeric only, port not 0; v4-mapped becomes v4. 0 or -EINVAL. */
int conf_sockaddr(const char *text, struct sockaddr_storage *);
/* Prints the numeric address with port, v6 in brackets, v4-mapped as v4. Returns buf. */
const char *sockaddr_text(const struct sockaddr *, char *buf, size_t size);

#endif
