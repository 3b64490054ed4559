/* The daemon without the bridge: requests go straight to the disk, to see what admission costs. For the bench only. */
#include <errno.h>

#include "hba/bridge/flow.h"
#include "include/bridge.h"

/*
 * Linked with --wrap for each of these names, so that calls from other folders
 * come here and the product's own code stays as it is. No limit holds, and
 * nothing can be cancelled.
 */
enum bridge_verdict __wrap_bridge_submit(struct bridge_req *);
enum bridge_verdict __wrap_bridge_try(struct bridge_req *);
enum bridge_verdict __wrap_bridge_urgent(struct bridge_req *);
enum bridge_cancel __wrap_bridge_cancel(struct bridge_req *);
void __wrap_disk_io_done(struct disk_io *);

/* A disk's submit is on this thread's stack: done is not called inside it. */
static __thread unsigned inside;

enum bridge_verdict
__wrap_bridge_submit(struct bridge_req *req)
{
	struct disk *disk = req->flow->disk;
	enum disk_result result;

	req->io.disk = disk;
	if (!disk->online) {
		req->io.result = -ENODEV;
		return BRIDGE_DONE;
	}
	inside++;
	result = disk->driver->submit(&req->io);
	inside--;
	return result == DISK_DONE ? BRIDGE_DONE : BRIDGE_PENDING;
}

enum bridge_verdict
__wrap_bridge_try(struct bridge_req *req)
{
	return __wrap_bridge_submit(req);
}

enum bridge_verdict
__wrap_bridge_urgent(struct bridge_req *req)
{
	return __wrap_bridge_submit(req);
}

enum bridge_cancel
__wrap_bridge_cancel(struct bridge_req *req)
{
	return BRIDGE_RUNNING;
}

static void
came_home(struct msg *m)
{
	struct bridge_req *req = container_of(m, struct bridge_req, home);

	req->done(req);
}

void
__wrap_disk_io_done(struct disk_io *io)
{
	struct bridge_req *req = container_of(io, struct bridge_req, io);

	if (!inside) {
		req->done(req);
		return;
	}
	req->home.fn = came_home;
	reactor_post(req->flow->home, &req->home);
}
