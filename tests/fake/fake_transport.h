/* A transport without a network, and a small world of disks and targets for it. */
#ifndef FAKE_TRANSPORT_H
#define FAKE_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf.h"
#include "fake_disk.h"
#include "scsi_cmd.h"
#include "scsi_tmf.h"
#include "target.h"

/* -- the world: an adapter, disks d0, d1, ..., and targets that export them -- */

enum { FAKE_DISKS = 4, FAKE_TARGETS = 2, FAKE_LUNS = 4 };

/*
 * fake_world_init fills it: each disk of 1 MiB with 512-byte blocks; target 0
 * exports disk n as LUN n, target 1 exports disk 0 as LUN 5. What a test wants
 * otherwise it sets before fake_world_start.
 */
struct fake_world {
	struct conf conf;
	struct conf_adapter adapter;
	struct conf_portal portal, *portals[1];
	struct conf_disk disk[FAKE_DISKS];
	struct fake_disk fake[FAKE_DISKS];
	struct conf_target target[FAKE_TARGETS];
	struct conf_lun lun[FAKE_TARGETS][FAKE_LUNS];
	char name[FAKE_DISKS][4];
};
extern struct fake_world fakes;

void fake_world_init(unsigned ndisks);
/* reactors_start, adapters_open, targets_open. What the last two return, or 0. */
int fake_world_start(unsigned reactors);
/* Asserts that nothing is left over anywhere. */
void fake_world_stop(void);

/* Runs fn on a reactor and waits. fake_settle: until what was posted to all of them is handled. */
void fake_run(unsigned reactor, void (*fn)(void *), void *arg);
void fake_settle(void);

/* -- nexuses -- */

/* Logs in to target n on a reactor. The attention of a login stays. NULL: refused, see *error. */
struct nexus *fake_login(unsigned target, const char *initiator, unsigned reactor, int *error);
/* The same, and all attentions are cleared. */
struct nexus *fake_login_quiet(unsigned target, const char *initiator, unsigned reactor);
/* *gone counts; NULL: nobody asks. */
void fake_logout(struct nexus *, unsigned *gone);

/* -- commands: each call waits until the reactor has done its part -- */

enum fake_data {
	DATA_BORROWED,			/* at once, in a buffer that is overwritten afterwards */
	DATA_POOL,			/* at once, in pool memory */
	DATA_LATER,			/* when fake_data_come or fake_data_fail says */
};

struct fake_cmd {
	struct scsi_cmd cmd;
	enum fake_data how;
	uint8_t *out;			/* edtl_out bytes that the initiator has */
	/* -- the answer, as it was at done -- */
	unsigned dones, wants;
	uint8_t status, flags, resid_kind, sense_len;
	uint32_t resid, data_in;
	uint8_t sense[SCSI_SENSE_MAX];
	uint8_t *in;			/* edtl_in bytes: what came */
	struct msg *wake;		/* posted to the nexus' reactor when it is done; may be NULL */
	bool keep;			/* released by fake_release only, as by a slow reader */
};

struct fake_cmd *fake_cmd_new(struct nexus *, unsigned lun, const uint8_t *cdb, size_t cdb_len);
/* EDTLs and direction; `out` bytes are filled with pattern. */
void fake_cmd_expect(struct fake_cmd *, uint32_t out, uint32_t in, uint8_t pattern);
void fake_cmd_submit(struct fake_cmd *);
void fake_data_come(struct fake_cmd *);
void fake_data_fail(struct fake_cmd *, uint8_t asc, uint8_t ascq);
void fake_release(struct fake_cmd *);
void fake_cmd_free(struct fake_cmd *);	/* after done */

/* new, expect, submit in one. */
struct fake_cmd *fake_read(struct nexus *, unsigned lun, uint32_t lba, uint16_t blocks);
struct fake_cmd *fake_write(struct nexus *, unsigned lun, uint32_t lba, uint16_t blocks,
    uint8_t pattern, enum fake_data how);
struct fake_cmd *fake_in(struct nexus *, unsigned lun, const uint8_t *cdb, size_t cdb_len,
    uint32_t edtl);

struct fake_tmf {
	struct scsi_tmf tmf;
	unsigned dones;
	uint8_t response;
	struct msg *wake;		/* as of a command */
};
/* Begins a function; tag only for those that name a task. */
void fake_tmf(struct fake_tmf *, struct nexus *, enum tmf_fn, unsigned lun, uint64_t tag);

#endif
