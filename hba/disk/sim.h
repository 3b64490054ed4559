/* The simulated adapter: what the parts of the driver share. */
#ifndef SIM_H
#define SIM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "disk.h"
#include "reactor.h"
#include "util.h"

enum sim_distribution { SIM_FIXED, SIM_UNIFORM, SIM_EXPONENTIAL };
enum sim_store { SIM_STORE_NONE, SIM_STORE_RAM };

struct sim_conf {
	uint64_t size;
	uint64_t service_ns, command_cost_ns, queue_cost_ns;
	uint64_t bytes_per_second;	/* 0: length costs nothing */
	int distribution, store;
	uint32_t seed;
	uint32_t device_queue;		/* 0: the adapter's can_queue */
	uint32_t busy_above;		/* 0: never */
};

/* -- sim_count.c: what is in flight, counted here whatever the bridge believes -- */

/*
 * Written by every reactor, relaxed: each count is exact for itself, and no
 * other word is read on its strength.
 */
struct sim_count {
	OWN_LINE _Atomic uint64_t word;	/* commands done << 20 | in flight */
	_Atomic uint32_t max;		/* most that were ever in flight */
};

/* One of the disk's initiators, by disk_io.who. Slots are taken for good. */
struct sim_initiator {
	_Atomic uint64_t who;		/* 0: free */
	struct sim_count count;
};
enum { SIM_INITIATORS = 1024 };		/* those beyond are not counted */

/* A bus target; main thread but for the count. */
struct sim_target {
	struct sim_target *next;	/* of its adapter */
	uint16_t channel, id;
	unsigned disks;
	struct sim_count count;
};

/* Commands of one adapter that one reactor has submitted, the next one due first. That reactor's. */
struct sim_due {
	uint64_t at, seq;
	struct disk_io *io;
};
struct sim_queue {
	OWN_LINE struct timer timer;
	struct sim_due *heap;		/* room for device_queue */
	uint32_t n;
	uint64_t seq;			/* those due at the same time end in order of arrival */
	unsigned disks;
	bool running;
};

/*
 * What the sim disks of one adapter share: a device with so many places.
 * Made by the first disk that opens, freed by the last that closes; lists and
 * constants belong to the main thread.
 */
struct sim_adapter {
	struct sim_adapter *next;
	struct bridge_host *host;
	struct sim_target *targets;
	struct sim_disk *disks;
	unsigned users;
	uint32_t device_queue;
	OWN_LINE _Atomic bool offline;	/* for good; relaxed: the one more command it may take ends the same */
	struct sim_count count;
	struct sim_queue queue[REACTORS_MAX];
	struct sim_initiator initiator[SIM_INITIATORS];
};

/* disk->priv */
struct sim_disk {
	struct sim_disk *next;		/* of its adapter */
	struct disk *disk;
	const struct sim_conf *conf;
	struct sim_adapter *adapter;
	struct sim_target *target;
	char *mem;			/* SIM_STORE_RAM: its contents */
	uint64_t salt;			/* of its draws */
	OWN_LINE _Atomic uint64_t free_at;	/* when its one server has done all it was given, ns */
	_Atomic uint64_t draws;
	_Atomic uint64_t bytes, busy;	/* moved by READ and WRITE; answers of EAGAIN */
	struct sim_count count;
};

/* In io->priv while the driver holds a request. */
struct sim_io {
	struct sim_initiator *initiator;	/* NULL: not counted */
	uint64_t wiped;			/* bytes of UNMAP or ZERO that are done */
};
_Static_assert(sizeof(struct sim_io) <= sizeof(((struct disk_io *)0)->priv), "sim_io");

static inline struct sim_io *
sim_io_of(struct disk_io *io)
{
	return (struct sim_io *)io->priv;
}

/* The adapter of that host, made when it is the first; NULL with a log line. Main thread. */
struct sim_adapter *sim_adapter_get(struct sim_disk *);
void sim_adapter_put(struct sim_disk *);	/* also when get has failed */

/*
 * A command comes in: 0, -EAGAIN above busy_above, -ENODEV when the adapter is
 * offline or goes offline by this very command; then it is not in flight.
 */
int sim_enter(struct disk_io *);
/* And ends. Before the bridge hears of it: it may send the next one at once. */
void sim_leave(struct disk_io *);

/* What has been counted, for tests and for the verb. */
enum sim_kind { SIM_ADAPTER, SIM_TARGET, SIM_DISK, SIM_INITIATOR };
struct sim_row {
	enum sim_kind kind;
	const char *adapter;
	char name[64];			/* adapter; "channel:target"; disk; disk_io.who in hex */
	bool offline;
	uint32_t limit;			/* device_queue, busy_above; 0: none */
	uint32_t in_flight, max;
	uint64_t commands, bytes, busy;	/* the last two: disks only */
};
unsigned sim_rows(struct sim_row *, unsigned max);	/* main thread; how many there are */

/* -- sim_time.c: how long things take -- */

/* The n-th draw of a disk, ns: the same for the same salt, whichever reactor asks. */
uint64_t sim_draw(const struct sim_conf *, uint64_t salt, uint64_t n);
/* When a command that comes now is done. Any reactor. */
uint64_t sim_due_at(struct sim_disk *, const struct disk_io *, uint64_t now);

/* -- sim_queue.c: commands until they are due; on their reactor -- */

int sim_queue_open(struct sim_adapter *, struct reactor *);	/* 0 or -ENOMEM */
void sim_queue_close(struct sim_adapter *, struct reactor *);
void sim_queue_add(struct sim_queue *, struct disk_io *, uint64_t at, uint64_t now);

/* -- sim_store.c: what is on the disk -- */

int sim_store_open(struct sim_disk *);		/* 0, or -errno with a log line */
void sim_store_close(struct sim_disk *);
/* Does what the command asks, in steps that are not long. True: finished, result is set. */
bool sim_store_step(struct disk_io *);

#endif
