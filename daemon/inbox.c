/* The one door other threads may knock on: an intrusive queue of messages and an eventfd. */
#include <unistd.h>

#include "loop.h"

/*
 * Senders push on a stack with one compare-and-swap, the owner takes the whole
 * stack and turns it round: per sender, first in is first out.
 *
 * Who wakes whom is a Dekker pair, and all four accesses are seq_cst:
 *
 *	sender: push on inbox, then read armed
 *	owner:	set armed, then read inbox, then sleep
 *
 * Either the sender sees armed and writes the eventfd, or the owner sees the
 * message and does not sleep. With weaker orders both may miss (store
 * buffering), and the message waits for the next event.
 */
void
reactor_post(struct reactor *r, struct msg *m)
{
	struct msg *head = atomic_load_explicit(&r->inbox, memory_order_relaxed);
	uint64_t one = 1;

	do
		m->next = head;
	while (!atomic_compare_exchange_weak_explicit(&r->inbox, &head, m, memory_order_seq_cst,
	    memory_order_relaxed));
	/* Whoever takes the flag down pays for the system call; nobody else does. */
	if (atomic_load_explicit(&r->armed, memory_order_seq_cst) &&
	    atomic_exchange_explicit(&r->armed, false, memory_order_seq_cst))
		(void)!write(r->wake_fd, &one, sizeof(one));
}

bool
inbox_arm(struct reactor *r)
{
	atomic_store_explicit(&r->armed, true, memory_order_seq_cst);
	if (!atomic_load_explicit(&r->inbox, memory_order_seq_cst))
		return true;
	atomic_store_explicit(&r->armed, false, memory_order_relaxed);
	return false;
}

bool
inbox_drain(struct reactor *r)
{
	struct msg *m, *next, *fifo = NULL;

	if (!atomic_load_explicit(&r->inbox, memory_order_relaxed))
		return false;
	/* Acquire pairs with the push: what a sender wrote before it is seen here. */
	m = atomic_exchange_explicit(&r->inbox, NULL, memory_order_acquire);
	for (; m; m = next) {
		next = m->next;
		m->next = fifo;
		fifo = m;
	}
	for (m = fifo; m; m = next) {
		/* fn may free the message or post it again. */
		next = m->next;
		m->fn(m);
	}
	return true;
}
