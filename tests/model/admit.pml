/*
 * How requests get a slot and give it back (hba/bridge): try and undo, gates,
 * inbox and combining, settling, kick. Each flow passes an initiator node, a LUN
 * node and the adapter; single credits, no caches (cache.pml has those). A bus
 * target is a second node of the LUN's kind and adds nothing. What is one step
 * here is one access to a shared word, or is under the lock and seen by nobody.
 *
 * TOPO 1: all processes share one flow; 2: two initiators at one LUN;
 *      3: one initiator at two LUNs; 4: flows (i0,l0) (i0,l1) (i1,l0).
 * NP processes, KC commands each; ILIM, LLIM, HLIM limits. CANCEL: process 0
 * may take back what waits.
 *
 * BUG as in hba/bridge/bug.h: 1 a parked flow is not looked at again; 4 the
 * combiner does not look after unlocking; 6 check, then subtract; 7 a release
 * ignores a gate that rose; 8 the cancel of a waiter returns a credit; 10 an
 * undo is not a release. Only here: 21 a node is looked at before its gate is up;
 * 23 the adapter is not asked again once its gate is up.
 */
#ifndef BUG
#define BUG 0
#endif
#ifndef NP
#define NP 2
#endif
#ifndef KC
#define KC 2
#endif
#ifndef TOPO
#define TOPO 1
#endif
#ifndef ILIM
#define ILIM 1
#endif
#ifndef LLIM
#define LLIM 1
#endif
#ifndef HLIM
#define HLIM 1
#endif
#ifndef CANCEL
#define CANCEL 0
#endif

/* Nodes. A flow's `at` is the node in whose ring it is. */
#define I0 0
#define I1 1
#define L0 2
#define L1 3
#define H 4
#define NODES 5
#define NOWHERE 9

#if TOPO == 1
#define FLOW(p) 0
#define FLOWS 1
#else
#define FLOW(p) (p)
#define FLOWS NP
#endif
#if TOPO == 2
#define I(f) (f)
#define L(f) L0
#elif TOPO == 3
#define I(f) I0
#define L(f) (L0 + (f))
#else
#define I(f) ((f) / 2)
#define L(f) (L0 + (f) % 2)
#endif

#if FLOWS == 1
#define SUM(x, n) (x(0, n))
#define ANY(x, n) (x(0, n))
#elif FLOWS == 2
#define SUM(x, n) (x(0, n) + x(1, n))
#define ANY(x, n) (x(0, n) || x(1, n))
#else
#define SUM(x, n) (x(0, n) + x(1, n) + x(2, n))
#define ANY(x, n) (x(0, n) || x(1, n) || x(2, n))
#endif
#define IS_AT(f, n) (at[f] == (n))
#define IS_OUTER(f, n) (at[f] == H && (I(f) == (n) || L(f) == (n)))
#define RING(n) ANY(IS_AT, n)
#define OUTER(n) SUM(IS_OUTER, n)
#define GATED(f) (gate[I(f)] || gate[L(f)] || gate[H])

/* Where a process is with its command. */
#define IDLE 0
#define REFUSED 1
#define UNDONE 2
#define WAITS 3
#define RUNS 4

/* Shared by all. */
short free[NODES];
bit gate[NODES];
bit lk;
bit recheck;			/* somebody must look at all who wait */
byte inbox;			/* bit p: process p's request to be admitted */
byte undone;			/* bit p: it comes from a try that was undone */
byte rels[NP];			/* releases in the inbox, by who began them */
bit granted[NP];
/* Under the lock. */
byte fq[FLOWS];			/* requests that wait, a bit for each process */
byte at[FLOWS];
bit dirty[NODES];		/* look at its ring again */
/* Counted by the disk. */
byte used[NODES];
byte done;

inline take(n, ok) {
#if BUG == 6
	if :: free[n] > 0 -> free[n]--; ok = 1 :: else -> ok = 0 fi
#else
	atomic { if :: free[n] > 0 -> free[n]--; ok = 1 :: else -> ok = 0 fi }
#endif
}

/*
 * The gate rises, then the node is looked at. The adapter's waits until its
 * credits have run out. A gate falls when all is settled.
 */
inline park(f, n) {
#if BUG == 21
	if :: n != H && free[n] > OUTER(n) -> dirty[n] = 1 :: else fi;
#endif
	d_step { at[f] = n; if :: n == H -> dirty[H] = 1 :: else -> gate[n] = 1 fi };
#if BUG != 1 && BUG != 21
	if :: n != H && free[n] > OUTER(n) -> dirty[n] = 1 :: else fi
#endif
}

inline touch(n) { dirty[n] = RING(n) || gate[n] }

inline unpark(f) {
	d_step {
		n = at[f];
		at[f] = NOWHERE;
		if :: n == H -> touch(I(f)); touch(L(f)) :: else fi;
		n = 0
	}
}

/* passed: the node that has just let it pass, or NOWHERE. */
inline place(f, passed) {
	if
	:: free[I(f)] <= OUTER(I(f)) || (passed == NOWHERE && RING(I(f))) -> park(f, I(f))
	:: else ->
		if
		:: passed < L0 || passed == NOWHERE ->
			if
			:: free[L(f)] <= OUTER(L(f)) || RING(L(f)) -> park(f, L(f))
			:: else -> park(f, H)
			fi
		:: else -> park(f, H)
		fi
	fi
}

/* Any order: fairness is not modelled. */
inline pick(f, n) {
	if
	:: IS_AT(0, n) -> f = 0
#if FLOWS > 1
	:: IS_AT(1, n) -> f = 1
#endif
#if FLOWS > 2
	:: IS_AT(2, n) -> f = 2
#endif
	fi
}

inline pull_dirty() {
	do
	:: dirty[I0] || dirty[I1] || dirty[L0] || dirty[L1] ->
		d_step {
			if
			:: dirty[I0] -> x = I0
			:: dirty[I1] -> x = I1
			:: dirty[L0] -> x = L0
			:: else -> x = L1
			fi;
			dirty[x] = 0
		};
		do
		:: RING(x) && free[x] > OUTER(x) -> pick(f, x); unpark(f); place(f, x)
		:: else -> break
		od
	:: else -> break
	od
}

/* A credit given back under the lock. */
inline give_locked(n) { d_step { free[n]++; touch(n) } }

/* hand: slots that came back and are on their way to the next. */
inline host_credit() {
	if
	:: hand > 0 -> got = 1
	:: else ->
		take(H, got);
		if
		:: got -> hand++
		:: !got && gate[H]
		:: else ->
			gate[H] = 1;
#if BUG != 1 && BUG != 23
			take(H, got);
			if :: got -> hand++ :: else fi
#else
			skip
#endif
		fi
	fi
}

/* The first request of f gets its slot. */
inline grant(f) {
	d_step {
		if :: fq[f] & 1 -> c = 0 :: else if :: fq[f] & 2 -> c = 1 :: else -> c = 2 fi fi;
		fq[f] = fq[f] & (7 - (1 << c));
		hand--;
		granted[c] = 1;
		c = 0
	}
}

/* The flow whose turn it is gets a slot, or goes back to where it is stopped. */
inline grant_one() {
	pick(f, H);
	take(I(f), got);
	if
	:: got ->
		take(L(f), got);
		if
		:: got -> grant(f)
		:: else -> give_locked(I(f))
		fi
	:: else
	fi;
	unpark(f);
	if :: fq[f] -> place(f, NOWHERE) :: else fi
}

inline clean_up() {
	d_step { free[H] = free[H] + hand; hand = 0; got = 0; f = 0 };
	d_step {
		gate[I0] = gate[I0] && RING(I0); gate[I1] = gate[I1] && RING(I1);
		gate[L0] = gate[L0] && RING(L0); gate[L1] = gate[L1] && RING(L1);
		gate[H] = gate[H] && RING(H)
	}
}

inline settle() {
	do
	:: pull_dirty();
		if :: !dirty[H] -> break :: else -> dirty[H] = 0 fi;
		if
		:: RING(H) ->
			host_credit();
			if :: got -> grant_one(); dirty[H] = 1 :: else fi
		:: else
		fi
	od;
	skip;			/* Spin: no jump from a loop into a d_step */
	clean_up()
}

inline take_back(x) {
	d_step {
		rels[x]--; hand++;
		free[I(FLOW(x))]++; touch(I(FLOW(x)));
		free[L(FLOW(x))]++; touch(L(FLOW(x)));
		touch(H)
	}
}

inline add(x) {
	fq[FLOW(x)] = fq[FLOW(x)] | (1 << x);
	if :: at[FLOW(x)] == NOWHERE -> f = FLOW(x); place(f, NOWHERE) :: else fi;
#if BUG != 10
	if
	:: (ubox >> x) & 1 -> d_step { touch(I(FLOW(x))); touch(L(FLOW(x))); touch(H) }
	:: else
	fi
#endif
}

inline run_inbox() {
	d_step { box = inbox; ubox = undone; inbox = 0; undone = 0 };
	q = 0;
	do
	:: q < NP ->
		do :: rels[q] -> take_back(q) :: else -> break od;
		if :: (box >> q) & 1 -> add(q) :: else fi;
		q++
	:: else -> break
	od;
	skip;
	d_step {
		q = 0; box = 0; ubox = 0;
		if
		:: recheck -> recheck = 0; touch(I0); touch(I1); touch(L0); touch(L1); touch(H)
		:: else
		fi
	}
}

/* What waits is taken out; its place in line may be the one others stand behind. */
inline cancel() {
	cancelling = 0;
	if
	:: fq[FLOW(p)] & (1 << p) ->
		fq[FLOW(p)] = fq[FLOW(p)] & (7 - (1 << p));
		gone = 1;
		if :: fq[FLOW(p)] == 0 -> f = FLOW(p); unpark(f) :: else fi;
#if BUG == 8
		d_step { free[I(FLOW(p))]++; free[L(FLOW(p))]++ }
#else
		skip
#endif
	:: else
	fi
}

#if NP == 2
#define INBOX (inbox || recheck || rels[0] || rels[1])
#else
#define INBOX (inbox || recheck || rels[0] || rels[1] || rels[2])
#endif

/* Only who cancels waits for the lock. */
inline combine() {
	do
	:: cancelling || INBOX ->
		atomic {
			if
			:: lk == 0 -> lk = 1; got = 1
			:: lk && cancelling -> lk == 0; lk = 1; got = 1
			:: else -> got = 0
			fi
		};
		if :: !got -> break :: else fi;
		run_inbox();
		do
		:: settle();
			if
			:: cancelling -> cancel()
			:: else -> break
			fi
		od;
		lk = 0;
#if BUG == 4
		break
#endif
	:: else -> break
	od;
	skip;
	d_step { got = 0; x = 0 }
}

/* The fast path; undo: credits were held for a moment. */
inline admit() {
	if
	:: GATED(FLOW(p)) -> phase = REFUSED
	:: else ->
		take(I(FLOW(p)), got);
		if
		:: !got -> phase = REFUSED
		:: else ->
			take(L(FLOW(p)), got);
			if
			:: !got -> free[I(FLOW(p))]++; phase = UNDONE
			:: else ->
				take(H, got);
				if
				:: got -> phase = RUNS
				:: else -> free[L(FLOW(p))]++; free[I(FLOW(p))]++; phase = UNDONE
				fi
			fi
		fi
	fi;
	d_step {
		got = 0;
		if
		:: phase != RUNS ->
			inbox = inbox | (1 << p);
			if :: phase == UNDONE -> undone = undone | (1 << p) :: else fi;
			phase = WAITS;
			work = 1
		:: else
		fi
	}
}

inline release() {
	if
	:: !GATED(FLOW(p)) ->
		free[I(FLOW(p))]++;
		free[L(FLOW(p))]++;
		free[H]++;
#if BUG != 7
		if :: GATED(FLOW(p)) -> recheck = 1; work = 1 :: else fi
#endif
	:: else -> rels[p]++; work = 1
	fi
}

inline use(n) { used[n]++; assert(used[n] <= (n == H -> HLIM : (n >= L0 -> LLIM : ILIM))) }

proctype reactor(byte p) {
	byte phase, k, f, c, q, x, n, box, ubox, hand;
	bit got, work, cancelling, gone;

	do
	:: work -> combine(); work = 0
	:: !work && phase == IDLE && k < KC -> admit()
	:: !work && phase == WAITS && granted[p] -> granted[p] = 0; phase = RUNS
#if CANCEL
	:: !work && phase == WAITS && p == 0 && !gone -> cancelling = 1; work = 1
	:: !work && phase == WAITS && gone -> d_step { gone = 0; phase = IDLE; k++ }
#endif
	:: !work && phase == RUNS ->
		d_step { use(I(FLOW(p))); use(L(FLOW(p))); use(H) };
		d_step { used[I(FLOW(p))]--; used[L(FLOW(p))]--; used[H]--; phase = IDLE; k++ };
		release()
	:: !work && phase == IDLE && k == KC -> break
	od;
	done++
}

init {
	byte i;

	atomic {
		free[I0] = ILIM; free[I1] = ILIM; free[L0] = LLIM; free[L1] = LLIM; free[H] = HLIM;
		do :: i < FLOWS -> at[i] = NOWHERE; i++ :: else -> break od;
		i = 0;
		do :: i < NP -> run reactor(i); i++ :: else -> break od
	};
	done == NP;
	assert(free[I0] == ILIM && free[I1] == ILIM && free[L0] == LLIM && free[L1] == LLIM && free[H] == HLIM);
	assert(!gate[I0] && !gate[I1] && !gate[L0] && !gate[L1] && !gate[H] && !INBOX && !lk)
}
