/* The initiator's end of the fabric in memory. */
#include <stdlib.h>
#include <string.h>

#include "util.h"

#include "fake_transport.h"
#include "mem_conn.h"

enum { SETTLE_MAX = 1000000 };

struct list mem_listeners = LIST_INIT(mem_listeners);

static unsigned
moves(void)
{
	unsigned n;

	pthread_mutex_lock(&mem_lock);
	n = mem_moves;
	pthread_mutex_unlock(&mem_lock);
	return n;
}

void
mem_settle(void)
{
	unsigned before, turns = 0;

	do {
		mem_rule(turns++ < SETTLE_MAX);
		before = moves();
		fake_settle();
	} while (moves() != before);
}

/* -- connecting -- */

static struct fabric_listener *
listener_of(const struct conf_portal *portal)
{
	struct fabric_listener *l;

	list_for_each(l, &mem_listeners, link)
		if (l->portal == portal)
			return l;
	return NULL;
}

/* On a reactor. When the portal has been closed meanwhile the fabric itself refuses. */
static void
request_arrive(struct msg *m)
{
	struct mem_request *r = container_of(m, struct mem_request, msg);
	struct fabric_listener *l;
	void (*arrive)(struct fabric_request *) = NULL;

	pthread_mutex_lock(&mem_lock);
	l = listener_of(r->req.portal);
	if (l)
		arrive = l->arrive;
	mem_moves++;
	pthread_mutex_unlock(&mem_lock);
	if (arrive)
		arrive(&r->req);
	else
		mem_fabric.reject(&r->req, NULL, 0);
}

struct mem_end *
mem_connect(const struct conf_portal *portal, const void *data, size_t len)
{
	struct mem_end *end = calloc(1, sizeof(*end));
	struct mem_request *r = calloc(1, sizeof(*r));

	mem_rule(end && r);
	end->room = UINT32_MAX;
	end->arm = mem.arm;
	mem.arm.on = false;
	list_init(&end->sent);
	list_init(&end->got);
	list_init(&end->regions);
	/* Exactly as many bytes as came, so that a sanitizer sees who reads more. */
	r->data = malloc(len ? len : 1);
	mem_rule(r->data);
	if (len)
		memcpy(r->data, data, len);
	r->req = (struct fabric_request){
		.fabric = &mem_fabric, .portal = portal, .peer = mem.peer,
		.data = r->data, .len = (uint32_t)len, .limits = mem.limits,
	};
	memcpy(r->req.gid, mem.gid, sizeof(mem.gid));
	if (portal->naddrs)
		r->req.local = portal->addrs[0];
	r->end = end;
	end->request = r;
	r->msg.fn = request_arrive;
	pthread_mutex_lock(&mem_lock);
	mem.requests++;
	pthread_mutex_unlock(&mem_lock);
	reactor_post(reactor_get(mem.reactor), &r->msg);
	return end;
}

static void
end_leave(struct mem_end *end)
{
	if (end->state != MEM_UP && end->state != MEM_ASKING)
		return;
	end->state = MEM_LEFT;
	if (end->conn && end->conn->accepted)
		conn_break(end->conn, "the peer left", false);
}

void
mem_leave(struct mem_end *end)
{
	pthread_mutex_lock(&mem_lock);
	end_leave(end);
	pthread_mutex_unlock(&mem_lock);
}

static void
ius_free(struct list *ius)
{
	struct mem_iu *iu, *tmp;

	list_for_each_safe(iu, tmp, ius, link) {
		list_del(&iu->link);
		free(iu);
	}
}

void
mem_free(struct mem_end *end)
{
	struct mem_region *r, *tmp;

	if (!end)
		return;
	mem_hold(end, 0);
	mem_leave(end);
	mem_settle();
	pthread_mutex_lock(&mem_lock);
	if (end->conn)
		end->conn->end = NULL;
	if (end->request)
		end->request->end = NULL;
	pthread_mutex_unlock(&mem_lock);
	ius_free(&end->sent);
	ius_free(&end->got);
	list_for_each_safe(r, tmp, &end->regions, link) {
		free(r->mem);
		free(r);
	}
	free(end->answer);
	free(end);
}

enum mem_state
mem_state(struct mem_end *end)
{
	enum mem_state state;

	pthread_mutex_lock(&mem_lock);
	state = end->state;
	pthread_mutex_unlock(&mem_lock);
	return state;
}

size_t
mem_answer(struct mem_end *end, void *buf, size_t size)
{
	size_t len;

	pthread_mutex_lock(&mem_lock);
	len = end->answer_len;
	mem_rule(len <= size);
	if (len)
		memcpy(buf, end->answer, len);
	pthread_mutex_unlock(&mem_lock);
	return len;
}

/* -- what happens to it -- */

void
mem_hold(struct mem_end *end, uint32_t mask)
{
	pthread_mutex_lock(&mem_lock);
	if (end->conn) {
		end->conn->hold = mask;
		conn_wake(end->conn);
	}
	pthread_mutex_unlock(&mem_lock);
}

void
mem_arm(struct mem_end *end, unsigned at, enum mem_fault fault)
{
	pthread_mutex_lock(&mem_lock);
	end->arm = (struct mem_arm){ true, at, fault };
	end->hit = MEM_NOWHERE;
	end->points = 0;
	pthread_mutex_unlock(&mem_lock);
}

enum mem_where
mem_hit(struct mem_end *end)
{
	enum mem_where hit;

	pthread_mutex_lock(&mem_lock);
	hit = end->hit;
	pthread_mutex_unlock(&mem_lock);
	return hit;
}

unsigned
mem_points(struct mem_end *end)
{
	unsigned n;

	pthread_mutex_lock(&mem_lock);
	n = end->points;
	pthread_mutex_unlock(&mem_lock);
	return n;
}

struct mem_count
mem_count(struct mem_end *end)
{
	struct mem_count count;

	pthread_mutex_lock(&mem_lock);
	count = end->count;
	pthread_mutex_unlock(&mem_lock);
	return count;
}

/* -- information units -- */

void
mem_send(struct mem_end *end, const void *iu, size_t len)
{
	struct mem_iu *m = iu_new(iu, len);

	pthread_mutex_lock(&mem_lock);
	list_add_tail(&end->sent, &m->link);
	mem_moves++;
	if (end->conn)
		conn_wake(end->conn);
	pthread_mutex_unlock(&mem_lock);
}

int
mem_recv(struct mem_end *end, void *buf, size_t size, bool *solicited)
{
	struct mem_iu *iu = NULL;
	int len = -1;

	pthread_mutex_lock(&mem_lock);
	if (!list_empty(&end->got)) {
		iu = list_first(&end->got, struct mem_iu, link);
		list_del(&iu->link);
		end->ngot--;
		if (end->conn)
			conn_wake(end->conn);
	}
	pthread_mutex_unlock(&mem_lock);
	if (iu) {
		mem_rule(iu->len <= size);
		memcpy(buf, iu->data, iu->len);
		len = (int)iu->len;
		if (solicited)
			*solicited = iu->solicited;
	}
	free(iu);
	return len;
}

void
mem_room(struct mem_end *end, unsigned n)
{
	pthread_mutex_lock(&mem_lock);
	end->room = n;
	if (end->conn)
		conn_wake(end->conn);
	pthread_mutex_unlock(&mem_lock);
}

unsigned
mem_waiting(struct mem_end *end)
{
	struct mem_iu *iu;
	unsigned n = 0;

	pthread_mutex_lock(&mem_lock);
	list_for_each(iu, &end->sent, link)
		n++;
	pthread_mutex_unlock(&mem_lock);
	return n;
}

/* -- memory -- */

uint8_t *
mem_expose(struct mem_end *end, uint64_t va, uint32_t rkey, size_t len)
{
	struct mem_region *r = calloc(1, sizeof(*r));

	mem_rule(r);
	r->va = va;
	r->rkey = rkey;
	r->len = len;
	r->mem = calloc(1, len ? len : 1);
	mem_rule(r->mem);
	pthread_mutex_lock(&mem_lock);
	list_add_tail(&end->regions, &r->link);
	pthread_mutex_unlock(&mem_lock);
	return r->mem;
}

void
mem_hide(struct mem_end *end, uint32_t rkey)
{
	struct mem_region *r, *tmp;

	pthread_mutex_lock(&mem_lock);
	list_for_each_safe(r, tmp, &end->regions, link) {
		if (r->rkey != rkey)
			continue;
		list_del(&r->link);
		free(r->mem);
		free(r);
	}
	pthread_mutex_unlock(&mem_lock);
}
