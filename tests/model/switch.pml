/*
 * A change of queue mode under load (hba/bridge/mode.c): the adapter's credits
 * are gathered at the old node, which is left with none, and appear at the new
 * one. A reactor may still have the old node's address, looked at before: it
 * merely gets nothing there.
 *
 * Two reactors with K commands each at the adapter alone; LIMIT.
 *
 * BUG, only here: 40 it is seen that all credits are home, but they are not
 * taken; 41 nobody looks at who waited when the mode has changed; 42 nor when
 * the credits appear, which is later than the flows.
 */
#ifndef BUG
#define BUG 0
#endif
#ifndef K
#define K 2
#endif
#ifndef LIMIT
#define LIMIT 1
#endif
#define OLD 0
#define NEW 1

byte free[2];
bit ring[2], stop[2];		/* the two bits of a node's gate */
byte now = OLD;			/* the flow's node at the adapter */
bit lk, recheck;
byte inbox;			/* bit p: process p's request */
byte rels[2];			/* releases in the inbox, by node */
byte waiting;			/* under the lock */
bit granted[2];
byte from[2];			/* the node whose credit a granted request has */
byte used, done;

#define GATED(n) (ring[n] || stop[n])
#define INBOX (inbox || recheck || rels[OLD] || rels[NEW])

inline take(n, ok) { d_step { if :: free[n] > 0 -> free[n]--; ok = 1 :: else -> ok = 0 fi } }

/* Who waits gets what there is, unless the adapter is stopped. */
inline settle() {
	do
	:: waiting && stop[now] -> ring[now] = 1; break
	:: waiting && !stop[now] ->
		take(now, got);
		if
		:: got
		:: !got && ring[now] -> break
		:: else -> ring[now] = 1; take(now, got); if :: got :: else -> break fi
		fi;
		d_step {
			if :: waiting & 1 -> q = 0 :: else -> q = 1 fi;
			waiting = waiting & (3 - (1 << q));
			from[q] = now;
			granted[q] = 1;
			q = 0
		}
	:: else -> break
	od;
	ring[OLD] = ring[OLD] && waiting && now == OLD;
	ring[NEW] = ring[NEW] && waiting && now == NEW
}

inline run_inbox() {
	d_step { waiting = waiting | inbox; inbox = 0; recheck = 0 };
	do
	:: rels[OLD] -> d_step { rels[OLD]--; free[OLD]++ }
	:: rels[NEW] -> d_step { rels[NEW]--; free[NEW]++ }
	:: else -> break
	od;
	settle()
}

inline combine() {
	do
	:: INBOX ->
		atomic { if :: lk == 0 -> lk = 1; got = 1 :: else -> got = 0 fi };
		if :: !got -> break :: else fi;
		run_inbox();
		lk = 0
	:: else -> break
	od;
	got = 0
}

proctype reactor(byte p) {
	byte k, n, q;
	bit got;

	do
	:: k < K ->
		n = now;
		if
		:: GATED(n) -> got = 0
		:: else -> take(n, got)
		fi;
		if
		:: got -> got = 0
		:: else -> inbox = inbox | (1 << p); combine(); d_step { granted[p] -> granted[p] = 0; n = from[p] }
		fi;
		d_step { used++; assert(used <= LIMIT) };
		used--;
		if
		:: !GATED(n) -> free[n]++; if :: GATED(n) -> recheck = 1; combine() :: else fi
		:: else -> rels[n]++; combine()
		fi;
		n = 0;
		k++
	:: else -> break
	od;
	done++
}

/* Any thread; a reactor that is told to look is a step of it here. */
proctype change() {
	byte q;
	bit got, claimed;

	atomic { lk == 0 -> lk = 1 };
	stop[OLD] = 1;
	recheck = 1;
	lk = 0;
	combine();
	do
	:: !claimed ->
		atomic { lk == 0 && free[OLD] == LIMIT -> lk = 1 };
#if BUG == 40
		claimed = free[OLD] == LIMIT;
		if :: claimed -> free[OLD] = 0 :: else fi;
#else
		d_step { if :: free[OLD] == LIMIT -> free[OLD] = 0; claimed = 1 :: else fi };
#endif
		if
		:: claimed ->
			d_step { stop[OLD] = 0; ring[OLD] = 0 };
#if BUG == 42
			now = NEW;
			lk = 0;
			atomic { lk == 0 -> lk = 1 };
			free[NEW] = LIMIT
#else
			free[NEW] = LIMIT;
			now = NEW;
#if BUG != 41
			recheck = 1
#endif
#endif
		:: else
		fi;
		lk = 0;
		combine()
	:: else -> break
	od;
	done++
}

init {
	atomic { free[OLD] = LIMIT; run reactor(0); run reactor(1); run change() };
	done == 3;
	assert(free[OLD] == 0 && free[NEW] == LIMIT && !GATED(OLD) && !GATED(NEW) && !INBOX && !lk && !waiting)
}
