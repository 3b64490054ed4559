/* A transport without a network, and a small world of disks and targets for it. */
#include "fake_transport.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bridge.h"
#include "stats.h"

#include "hba/scsi/nexus.h"
#include "hba/scsi/ua.h"

struct fake_world fakes;

/* -- the world -- */

static void
world_disk(unsigned i)
{
	struct conf_disk *d = &fakes.disk[i];

	snprintf(fakes.name[i], sizeof(fakes.name[i]), "d%u", i);
	d->name = fakes.name[i];
	d->adapter = &fakes.adapter;
	d->driver = &fake_disk_driver;
	d->id = (uint16_t)i;
	d->block_size = 512;
	d->opts = &fakes.fake[i];
	d->pos.file = "world";
	fakes.fake[i].size = 1 << 20;
	list_add_tail(&fakes.adapter.disks, &d->link);
}

static void
world_target(unsigned i, const char *name)
{
	struct conf_target *t = &fakes.target[i];

	t->name = (char *)(uintptr_t)name;
	t->portals = fakes.portals;
	t->nportals = 1;
	t->luns = fakes.lun[i];
	t->pos.file = "world";
	list_add_tail(&fakes.conf.targets, &t->link);
}

void
fake_world_init(unsigned ndisks)
{
	assert(ndisks && ndisks <= FAKE_DISKS);
	memset(&fakes, 0, sizeof(fakes));
	list_init(&fakes.conf.adapters);
	list_init(&fakes.conf.portals);
	list_init(&fakes.conf.auths);
	list_init(&fakes.conf.targets);
	list_init(&fakes.adapter.disks);
	list_add_tail(&fakes.conf.adapters, &fakes.adapter.link);
	fakes.adapter.name = (char *)(uintptr_t)"rig";
	fakes.adapter.can_queue = 256;
	fakes.adapter.target_depth = 256;
	fakes.adapter.lun_depth = 64;
	fakes.adapter.max_waiters = 64;
	fakes.portal.name = (char *)(uintptr_t)"lan";
	fakes.portal.group = 1;
	fakes.portals[0] = &fakes.portal;
	for (unsigned i = 0; i < ndisks; i++)
		world_disk(i);
	world_target(0, "iqn.2026-11.test:all");
	world_target(1, "iqn.2026-11.test:one");
	for (unsigned i = 0; i < ndisks; i++)
		fakes.lun[0][i] = (struct conf_lun){ .lun = i, .disk = &fakes.disk[i] };
	fakes.target[0].nluns = (int)ndisks;
	fakes.lun[1][0] = (struct conf_lun){ .lun = 5, .disk = &fakes.disk[0] };
	fakes.target[1].nluns = 1;
}

int
fake_world_start(unsigned reactors)
{
	int r;

	stats_init();
	stats_thread_init(REACTORS_MAX);
	r = reactors_start(reactors, 0);
	assert(r == 0);
	r = adapters_open(&fakes.conf);
	if (r == 0) {
		r = targets_open(&fakes.conf);
		if (r < 0)
			adapters_close();
	}
	if (r < 0)
		reactors_stop();
	return r;
}

static void
memory_check(void *arg)
{
	struct buf_stats s;

	buf_stats(reactor_self(), &s);
	assert(s.used == 0);
}

void
fake_world_stop(void)
{
	fake_settle();
	for (unsigned i = 0; i < reactor_count(); i++)
		fake_run(i, memory_check, NULL);
	assert(bridge_check(bridge_host_next(NULL), stderr) == 0);
	targets_close();
	adapters_close();
	reactors_stop();
}

void
fake_run(unsigned reactor, void (*fn)(void *), void *arg)
{
	reactor_call(reactor_get(reactor), fn, arg);
}

static void
nothing(void *arg)
{
}

void
fake_settle(void)
{
	for (int round = 0; round < 6; round++)
		for (unsigned i = 0; i < reactor_count(); i++)
			fake_run(i, nothing, NULL);
}

/* -- what the device server calls -- */

static uint8_t borrowed[BUF_XFER_MAX];

static void
iov_from(const struct scsi_cmd *cmd, const uint8_t *data)
{
	uint32_t at = 0;

	for (int i = 0; i < cmd->niov; i++) {
		memcpy(cmd->iov[i].iov_base, data + at, cmd->iov[i].iov_len);
		at += (uint32_t)cmd->iov[i].iov_len;
	}
	assert(at == cmd->len);
}

static void
data_give(struct fake_cmd *fc)
{
	struct scsi_cmd *cmd = &fc->cmd;

	assert(cmd->len && cmd->len <= cmd->edtl_out);
	if (fc->how == DATA_BORROWED) {
		uint32_t len = cmd->len;

		memcpy(borrowed, fc->out, cmd->len);
		cmd->mem = MEM_BORROWED;
		cmd->niov = 0;
		/* Two pieces, as a receive buffer may have it. */
		if (cmd->len > 100)
			cmd->iov[cmd->niov++] = (struct iovec){ borrowed, 100 };
		cmd->iov[cmd->niov] = (struct iovec){ borrowed + 100 * cmd->niov,
			cmd->len - 100u * (unsigned)cmd->niov };
		cmd->niov++;
		scsi_data_ready(cmd);
		memset(borrowed, 0xdb, len);
		return;
	}
	cmd->niov = (int8_t)buf_get(cmd->nexus->reactor, cmd->iov, cmd->len);
	assert(cmd->niov > 0);
	cmd->mem = MEM_POOL;
	iov_from(cmd, fc->out);
	scsi_data_ready(cmd);
}

static void
fake_want_data(struct scsi_cmd *cmd)
{
	struct fake_cmd *fc = container_of(cmd, struct fake_cmd, cmd);

	fc->wants++;
	if (fc->how != DATA_LATER)
		data_give(fc);
}

static void
fake_done(struct scsi_cmd *cmd)
{
	struct fake_cmd *fc = container_of(cmd, struct fake_cmd, cmd);
	uint32_t left = cmd->data_in, at = 0;

	fc->dones++;
	fc->status = cmd->status;
	fc->flags = cmd->flags;
	fc->resid_kind = cmd->resid_kind;
	fc->resid = cmd->resid;
	fc->data_in = cmd->data_in;
	fc->sense_len = cmd->sense_len;
	memcpy(fc->sense, cmd->sense, cmd->sense_len);
	assert(cmd->data_in <= cmd->edtl_in);
	for (int i = 0; left; i++) {
		uint32_t n = (uint32_t)MIN(left, cmd->iov[i].iov_len);

		assert(i < cmd->niov);
		memcpy(fc->in + at, cmd->iov[i].iov_base, n);
		at += n;
		left -= n;
	}
	if (!fc->keep)
		scsi_release(cmd);
	if (fc->wake)
		reactor_post(reactor_self(), fc->wake);
}

static void
fake_tmf_done(struct scsi_tmf *tmf)
{
	struct fake_tmf *ft = container_of(tmf, struct fake_tmf, tmf);

	ft->response = tmf->response;
	ft->dones++;
	if (ft->wake)
		reactor_post(reactor_self(), ft->wake);
}

static void
fake_drop(struct nexus *nexus)
{
	abort();	/* no test asks for it */
}

static const struct transport_ops fake_ops = {
	.name = "iscsi",
	.want_data = fake_want_data,
	.done = fake_done,
	.tmf_done = fake_tmf_done,
	.drop = fake_drop,
};

/* -- nexuses -- */

struct login_call {
	struct target *target;
	struct nexus_id id;
	struct nexus *nexus;
	int result;
	bool quiet;
};

static void
login_run(void *arg)
{
	struct login_call *c = arg;
	enum cond cond;

	c->result = nexus_login(c->target, &c->id, reactor_self(), &fake_ops, c, &c->nexus);
	for (uint32_t i = 0; c->result == 0 && c->quiet && i < c->nexus->nluns; i++)
		while (c->nexus->luns[i] && ua_take(c->nexus->luns[i], &cond))
			continue;
}

static struct nexus *
login(unsigned target, const char *initiator, unsigned reactor, int *error, bool quiet)
{
	struct login_call c = { .target = target_find(fakes.target[target].name),
		.id.initiator = initiator, .quiet = quiet };

	fake_run(reactor, login_run, &c);
	if (error)
		*error = c.result;
	return c.result == 0 ? c.nexus : NULL;
}

struct nexus *
fake_login(unsigned target, const char *initiator, unsigned reactor, int *error)
{
	return login(target, initiator, reactor, error, false);
}

struct nexus *
fake_login_quiet(unsigned target, const char *initiator, unsigned reactor)
{
	struct nexus *nexus = login(target, initiator, reactor, NULL, true);

	assert(nexus);
	return nexus;
}

struct logout_call {
	struct nexus *nexus;
	unsigned *gone;
};

static void
logout_gone(void *arg)
{
	++*(unsigned *)arg;
}

static void
logout_run(void *arg)
{
	struct logout_call *c = arg;

	nexus_logout(c->nexus, c->gone ? logout_gone : NULL, c->gone);
}

void
fake_logout(struct nexus *nexus, unsigned *gone)
{
	struct logout_call c = { nexus, gone };

	fake_run(reactor_id(nexus->reactor), logout_run, &c);
}

/* -- commands -- */

struct fake_cmd *
fake_cmd_new(struct nexus *nexus, unsigned lun, const uint8_t *cdb, size_t cdb_len)
{
	static uint64_t tags;
	struct fake_cmd *fc = malloc(sizeof(*fc));

	assert(fc);
	/* Stale, as a pool's element is. */
	memset(fc, 0xa5, sizeof(*fc));
	fc->how = DATA_POOL;
	fc->dones = fc->wants = 0;
	fc->in = fc->out = NULL;
	fc->wake = NULL;
	fc->keep = false;
	fc->cmd.nexus = nexus;
	fc->cmd.tag = ++tags;
	scsi_lun_wire(fc->cmd.lun, lun);
	memset(fc->cmd.cdb, 0, sizeof(fc->cmd.cdb));
	memcpy(fc->cmd.cdb, cdb, cdb_len);
	fc->cmd.cdb_len = (uint8_t)MAX(cdb_len, 16);
	fc->cmd.attr = SCSI_SIMPLE;
	fc->cmd.prio = 0;
	fake_cmd_expect(fc, 0, 0, 0);
	cmd_init(&fc->cmd);
	return fc;
}

void
fake_cmd_expect(struct fake_cmd *fc, uint32_t out, uint32_t in, uint8_t pattern)
{
	free(fc->out);
	free(fc->in);
	fc->cmd.edtl_out = out;
	fc->cmd.edtl_in = in;
	fc->cmd.dir = (uint8_t)((in ? CMD_IN : 0) | (out ? CMD_OUT : 0));
	/* No command moves more, whatever is expected. */
	fc->out = malloc(MIN(out, BUF_XFER_MAX) + 1u);
	fc->in = calloc(1, MIN(in, BUF_XFER_MAX) + 1u);
	assert(fc->out && fc->in);
	memset(fc->out, pattern, MIN(out, BUF_XFER_MAX));
}

static void
submit_run(void *arg)
{
	struct fake_cmd *fc = arg;

	scsi_submit(&fc->cmd);
}

void
fake_cmd_submit(struct fake_cmd *fc)
{
	fake_run(reactor_id(fc->cmd.nexus->reactor), submit_run, fc);
}

static void
data_run(void *arg)
{
	struct fake_cmd *fc = arg;

	fc->how = DATA_POOL;
	data_give(fc);
}

void
fake_data_come(struct fake_cmd *fc)
{
	fake_run(reactor_id(fc->cmd.nexus->reactor), data_run, fc);
}

struct fail_call {
	struct fake_cmd *fc;
	uint8_t asc, ascq;
};

static void
fail_run(void *arg)
{
	struct fail_call *c = arg;

	scsi_data_failed(&c->fc->cmd, c->asc, c->ascq);
}

void
fake_data_fail(struct fake_cmd *fc, uint8_t asc, uint8_t ascq)
{
	struct fail_call c = { fc, asc, ascq };

	fake_run(reactor_id(fc->cmd.nexus->reactor), fail_run, &c);
}

static void
release_run(void *arg)
{
	scsi_release(arg);
}

void
fake_release(struct fake_cmd *fc)
{
	assert(fc->keep && fc->dones == 1);
	fake_run(reactor_id(fc->cmd.nexus->reactor), release_run, &fc->cmd);
}

void
fake_cmd_free(struct fake_cmd *fc)
{
	assert(fc->dones == 1);
	free(fc->out);
	free(fc->in);
	free(fc);
}

struct fake_cmd *
fake_in(struct nexus *nexus, unsigned lun, const uint8_t *cdb, size_t cdb_len, uint32_t edtl)
{
	struct fake_cmd *fc = fake_cmd_new(nexus, lun, cdb, cdb_len);

	fake_cmd_expect(fc, 0, edtl, 0);
	fake_cmd_submit(fc);
	return fc;
}

struct fake_cmd *
fake_read(struct nexus *nexus, unsigned lun, uint32_t lba, uint16_t blocks)
{
	uint8_t cdb[10] = { OP_READ_10, 0, (uint8_t)(lba >> 24), (uint8_t)(lba >> 16),
		(uint8_t)(lba >> 8), (uint8_t)lba, 0, (uint8_t)(blocks >> 8), (uint8_t)blocks };

	return fake_in(nexus, lun, cdb, sizeof(cdb), blocks * 512u);
}

struct fake_cmd *
fake_write(struct nexus *nexus, unsigned lun, uint32_t lba, uint16_t blocks, uint8_t pattern,
    enum fake_data how)
{
	uint8_t cdb[10] = { OP_WRITE_10, 0, (uint8_t)(lba >> 24), (uint8_t)(lba >> 16),
		(uint8_t)(lba >> 8), (uint8_t)lba, 0, (uint8_t)(blocks >> 8), (uint8_t)blocks };
	struct fake_cmd *fc = fake_cmd_new(nexus, lun, cdb, sizeof(cdb));

	fake_cmd_expect(fc, blocks * 512u, 0, pattern);
	fc->how = how;
	fake_cmd_submit(fc);
	return fc;
}

static void
tmf_call(void *arg)
{
	scsi_tmf(arg);
}

void
fake_tmf(struct fake_tmf *ft, struct nexus *nexus, enum tmf_fn fn, unsigned lun, uint64_t tag)
{
	memset(ft, 0xa5, sizeof(*ft));
	ft->dones = 0;
	ft->wake = NULL;
	ft->tmf.nexus = nexus;
	ft->tmf.fn = (uint8_t)fn;
	scsi_lun_wire(ft->tmf.lun, lun);
	ft->tmf.tag = tag;
	fake_run(reactor_id(nexus->reactor), tmf_call, &ft->tmf);
}
