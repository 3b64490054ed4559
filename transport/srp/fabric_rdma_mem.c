/* Pool memory as an RDMA device knows it: each arena is registered while it is mapped. */
#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "log.h"

#include "fabric_rdma.h"

static struct hca_arena **
bucket_of(const struct hca_mem *mem, uintptr_t base)
{
	return (struct hca_arena **)&mem->bucket[base / BUF_ARENA % HCA_ARENA_BUCKETS];
}

static void
refused(const struct hca_mem *mem, int err)
{
	const char *device = ibv_get_device_name(mem->pd->context->device);
	struct rlimit limit;

	getrlimit(RLIMIT_MEMLOCK, &limit);
	log_peer(LOG_LEVEL_ERR, device, "%s: cannot register %d KiB of data memory: %s%s", device,
	    BUF_ARENA / 1024, strerror(err), err == ENOMEM && limit.rlim_cur != RLIM_INFINITY ?
	    "; locked memory is limited (LimitMEMLOCK of the service, ulimit -l)" : "");
}

static void
arena_mapped(struct buf_watch *w, void *addr, size_t len)
{
	struct hca_mem *mem = container_of(w, struct hca_mem, watch);
	struct hca_arena *a = malloc(sizeof(*a)), **at = bucket_of(mem, (uintptr_t)addr);

	if (!a)
		return;
	a->base = (uintptr_t)addr;
	a->mr = ibv_reg_mr(mem->pd, addr, len, mem->access);
	if (!a->mr)
		refused(mem, errno);
	a->next = *at;
	*at = a;
}

static void
arena_unmapping(struct buf_watch *w, void *addr, size_t len)
{
	struct hca_mem *mem = container_of(w, struct hca_mem, watch);
	struct hca_arena *a, **at = bucket_of(mem, (uintptr_t)addr);

	while (*at && (*at)->base != (uintptr_t)addr)
		at = &(*at)->next;
	a = *at;
	if (!a)
		return;
	*at = a->next;
	if (a->mr)
		ibv_dereg_mr(a->mr);
	free(a);
}

void
hca_mem_init(struct hca_mem *mem, struct reactor *reactor, struct ibv_pd *pd, int access)
{
	mem->pd = pd;
	mem->access = access;
	mem->watch.mapped = arena_mapped;
	mem->watch.unmapping = arena_unmapping;
	buf_watch_add(reactor, &mem->watch);
}

void
hca_mem_fini(struct hca_mem *mem)
{
	if (!mem->pd)
		return;
	buf_watch_del(&mem->watch);
	for (unsigned i = 0; i < HCA_ARENA_BUCKETS; i++)
		while (mem->bucket[i])
			arena_unmapping(&mem->watch, (void *)mem->bucket[i]->base, BUF_ARENA);
	mem->pd = NULL;
}

bool
hca_mem_key(const struct hca_mem *mem, const void *addr, size_t len, uint32_t *lkey)
{
	uintptr_t base = (uintptr_t)addr & ~(uintptr_t)(BUF_ARENA - 1);
	const struct hca_arena *a = *bucket_of(mem, base);

	while (a && a->base != base)
		a = a->next;
	if (!a || !a->mr || len > BUF_ARENA - ((uintptr_t)addr - base))
		return false;
	*lkey = a->mr->lkey;
	return true;
}

/* -- the limit of locked memory -- */

static bool
may_lock_all(void)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[_LINUX_CAPABILITY_U32S_3];

	return !syscall(SYS_capget, &h, d) && d[CAP_TO_INDEX(CAP_IPC_LOCK)].effective &
	    CAP_TO_MASK(CAP_IPC_LOCK);
}

void
hca_mem_limit(struct reactor *reactor, const char *portal)
{
	struct buf_stats stats;
	struct rlimit limit;
	uint64_t all;

	if (may_lock_all() || getrlimit(RLIMIT_MEMLOCK, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_MEMLOCK, &limit);
	buf_stats(reactor, &stats);
	all = stats.budget * reactor_count();
	if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < all)
		log_warn("portal %s: `memory:` is %llu MiB, of which only %llu may be locked for RDMA: "
		    "raise LimitMEMLOCK of the service (ulimit -l)", portal,
		    (unsigned long long)(all >> 20), (unsigned long long)(limit.rlim_cur >> 20));
}
