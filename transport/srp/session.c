/* I_T nexuses: which channels each has, and who must end before another may log in. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "stats.h"

#include "channel.h"

COUNTER(terminated, "srp_channels_terminated",
    "channels ended by a new login of the same initiator port");

/* Made by the first channel that logs in or waits, freed with the last. */
struct srp_session {
	struct list link;
	uint8_t i_port[16], t_port[16];
	struct list channels;		/* srp_channel.reg: until connection and nexus are gone */
	struct list waiters;		/* srp_channel.wait: to be the only one */
};

/*
 * All sessions of the process, touched at login, at the end, and by who lists
 * them. Whoever finds a channel here may use only its reg, wait, home, kicked
 * and msg, and only under the lock, unless it is on its reactor.
 */
static struct {
	pthread_mutex_t lock;
	struct list sessions;
} registry = { PTHREAD_MUTEX_INITIALIZER, LIST_INIT(registry.sessions) };

static struct srp_session *
session_find(const struct login_req *req)
{
	struct srp_session *s;

	list_for_each(s, &registry.sessions, link) {
		if (!memcmp(s->i_port, req->i_port, sizeof(s->i_port)) &&
		    !memcmp(s->t_port, req->t_port, sizeof(s->t_port)))
			return s;
	}
	return NULL;
}

static struct srp_session *
session_new(const struct login_req *req)
{
	struct srp_session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	memcpy(s->i_port, req->i_port, sizeof(s->i_port));
	memcpy(s->t_port, req->t_port, sizeof(s->t_port));
	list_init(&s->channels);
	list_init(&s->waiters);
	list_add_tail(&registry.sessions, &s->link);
	return s;
}

static void
session_put(struct srp_session *s)
{
	if (!list_empty(&s->channels) || !list_empty(&s->waiters))
		return;
	list_del(&s->link);
	free(s);
}

static unsigned
count(const struct list *l)
{
	unsigned n = 0;

	for (const struct list *at = l->next; at != l; at = at->next)
		n++;
	return n;
}

/* -- ended by others -- */

static void
kicked(struct msg *m)
{
	struct srp_reactor *home = container_of(m, struct srp_reactor, kick);
	struct srp_channel *ch;

	pthread_mutex_lock(&registry.lock);
	home->kick_posted = false;
	if (!home->reactor) {
		pthread_mutex_unlock(&registry.lock);
		return;
	}
	list_for_each(ch, &home->channels, link) {
		if (!ch->kicked)
			continue;
		channel_leave(ch, SRP_T_LOGOUT_MULTICHAN, "another login of this initiator port");
		ch->kicked = false;
	}
	pthread_mutex_unlock(&registry.lock);
}

static void
kick(struct srp_channel *ch)
{
	struct srp_reactor *home = ch->home;

	ch->kicked = true;
	if (home->kick_posted)
		return;
	home->kick_posted = true;
	home->kick.fn = kicked;
	reactor_post(home->reactor, &home->kick);
}

/* -- logging in -- */

static const struct srp_target_conf *
target_srp(const struct srp_channel *ch)
{
	return target_conf(ch->target)->opts[transport_index(&srp_transport)];
}

/* MULTI-CHANNEL ACTION: SINGLE ends all other channels, those that wait to be the only one too. */
static enum session_verdict
enter_single(struct srp_session *s, struct srp_channel *ch, uint8_t *multichan)
{
	struct srp_channel *other;
	bool waits = !list_empty(&ch->wait);

	list_for_each(other, &s->channels, reg) {
		if (!other->kicked)
			kick(other);
	}
	list_for_each(other, &s->waiters, wait) {
		if (other != ch && !waits)
			kick(other);
	}
	if (list_empty(&s->channels)) {
		*multichan = waits ? SRP_MULTICHAN_TERMINATED : SRP_MULTICHAN_NO_CHAN;
		return SESSION_IN;
	}
	if (!waits) {
		counter_add(&terminated, count(&s->channels));
		list_add_tail(&s->waiters, &ch->wait);
	}
	return SESSION_WAIT;
}

static enum session_verdict
enter_multi(struct srp_session *s, struct srp_channel *ch, uint8_t *multichan,
    enum srp_login_rej_reason *reason)
{
	uint32_t max = target_srp(ch)->max_channels;
	unsigned n = count(&s->channels);

	if (n >= max) {
		*reason = max == 1 ? SRP_LOGIN_REJ_MULTI_CHANNEL_UNSUPPORTED :
		    SRP_LOGIN_REJ_CHANNEL_LIMIT_REACHED;
		return SESSION_REFUSED;
	}
	*multichan = n ? SRP_MULTICHAN_MAINTAINED : SRP_MULTICHAN_NO_CHAN;
	return SESSION_IN;
}

static enum session_verdict
enter(struct srp_channel *ch, uint8_t *multichan, enum srp_login_rej_reason *reason)
{
	struct srp_session *s = session_find(&ch->req);
	enum session_verdict v;

	if (!s)
		s = session_new(&ch->req);
	*reason = SRP_LOGIN_REJ_INSUFFICIENT_RESOURCES;
	if (!s)
		return SESSION_REFUSED;
	v = ch->terms.multi ? enter_multi(s, ch, multichan, reason) :
	    enter_single(s, ch, multichan);
	if (v == SESSION_IN) {
		list_del(&ch->wait);
		list_add_tail(&s->channels, &ch->reg);
	}
	ch->session = s;
	if (v == SESSION_REFUSED) {
		ch->session = NULL;
		session_put(s);
	}
	return v;
}

enum session_verdict
session_enter(struct srp_channel *ch, uint8_t *multichan, enum srp_login_rej_reason *reason)
{
	enum session_verdict v;

	pthread_mutex_lock(&registry.lock);
	v = enter(ch, multichan, reason);
	pthread_mutex_unlock(&registry.lock);
	return v;
}

/* -- leaving -- */

static void
woken(struct msg *m)
{
	struct srp_channel *ch = container_of(m, struct srp_channel, msg);

	pthread_mutex_lock(&registry.lock);
	ch->msg_posted = false;
	pthread_mutex_unlock(&registry.lock);
	cm_enter(ch);
}

void
session_leave(struct srp_channel *ch)
{
	struct srp_session *s;
	struct srp_channel *other;

	pthread_mutex_lock(&registry.lock);
	s = ch->session;
	ch->session = NULL;
	ch->kicked = false;
	if (s) {
		list_del(&ch->reg);
		list_del(&ch->wait);
		list_for_each(other, &s->waiters, wait) {
			if (other->msg_posted)
				continue;
			other->msg_posted = true;
			other->msg.fn = woken;
			reactor_post(other->home->reactor, &other->msg);
		}
		session_put(s);
	}
	pthread_mutex_unlock(&registry.lock);
}

unsigned
session_channels(const struct srp_channel *ch)
{
	unsigned n;

	pthread_mutex_lock(&registry.lock);
	n = ch->session ? count(&ch->session->channels) : 0;
	pthread_mutex_unlock(&registry.lock);
	return n;
}
