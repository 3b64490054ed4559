/*
 * Credits in the caches of reactors (hba/bridge), and reactors that sleep: what
 * a cache holds must reach whoever waits, although its owner only polls or is
 * about to block. One node, two reactors, one initiator on each. Commands run on
 * the queue of the reactor that admitted them; their end is posted home.
 *
 * Reactor 0's first command ends only after all of reactor 1's: whatever
 * reactor 0 has cached must come back while it holds one command. K commands
 * each, D of them at once; LIMIT, more than D; BCAP the cache's size (it holds up to
 * twice that); BATCH how many credits are taken at a time. AWAKE: reactor 0 has
 * always something else to do and never sleeps.
 *
 * An awake reactor is one that sooner or later takes each step that it can.
 *
 * BUG as in hba/bridge/bug.h: 1 a parked flow is not looked at again; 2 the own
 * cache is not flushed before parking (the model shows that nothing is lost);
 * 3 idle does not flush; 4 the combiner does not look after unlocking; 5 poll
 * does not flush what is gated. Only here: 30 a reactor looks for messages, then
 * says that it sleeps; 31 a flush ignores a gate that rose.
 */
#ifndef BUG
#define BUG 0
#endif
#ifndef K
#define K 2
#endif
#ifndef D
#define D 1
#endif
#ifndef LIMIT
#define LIMIT 2
#endif
#ifndef BCAP
#define BCAP 1
#endif
#ifndef BATCH
#define BATCH 2
#endif
#ifndef AWAKE
#define AWAKE 0
#endif

byte free = LIMIT;
bit gate, lk;
bit recheck;			/* somebody must look at all who wait */
byte inbox[2];			/* requests to be admitted, by their home */
byte rels;			/* releases in the inbox */
byte posted[2];			/* messages: finished commands of this home */
bit armed[2], wake[2];
/* Under the lock. */
byte waiting[2];
/* The disk: commands of home h on queue r at [2 * r + h]. */
byte running[4];
byte used, ended[2];

#define RING (waiting[0] || waiting[1])
#define IN_FLIGHT(h) (running[h] + running[2 + h])
#define MAY_END(h) (h == 1 || ended[0] > 0 || ended[1] == K)
#define CAN_END(h) (running[2 * r + h] > 0 && MAY_END(h))
#define OVER (ended[0] == K && ended[1] == K)
#define CAN_BEGIN (begun < K && begun - finished < D)

inline start(h) {
	d_step { running[2 * r + h]++; used++; assert(used <= LIMIT) }
}

/* As many as a batch, at least one; `n` is what was had. */
inline take_central(max) {
	d_step { n = (free < max -> free : max); free = free - n }
}

inline flush() {
	if
	:: cred > 0 ->
		d_step { free = free + cred; cred = 0 };
#if BUG != 31
		if :: gate -> kick = 1 :: else fi
#else
		skip
#endif
	:: else
	fi
}

/*
 * The gate rises when the credits have run out, then they are asked for again;
 * it falls when all is settled.
 */
inline settle() {
	do
	:: !RING -> break
	:: else ->
		if :: hand == 0 -> take_central(1); hand = n :: else fi;
		if
		:: hand > 0
		:: hand == 0 && gate -> break
		:: else ->
			gate = 1;
#if BUG != 1
			take_central(1);
			hand = n;
#endif
			if :: hand == 0 -> break :: else fi
		fi;
		if
		:: waiting[0] -> d_step { waiting[0]--; hand--; start(0) }
		:: waiting[1] -> d_step { waiting[1]--; hand--; start(1) }
		fi
	od;
	skip;			/* Spin: no jump from a loop into a d_step */
	d_step { free = free + hand; hand = 0; n = 0 };
	gate = gate && RING
}

inline run_inbox() {
	d_step {
		hand = rels; rels = 0;
		waiting[0] = waiting[0] + inbox[0]; inbox[0] = 0;
		waiting[1] = waiting[1] + inbox[1]; inbox[1] = 0
	};
	recheck = 0;
	settle()
}

inline combine() {
	do
	:: inbox[0] || inbox[1] || rels || recheck ->
		atomic { if :: lk == 0 -> lk = 1; got = 1 :: else -> got = 0 fi };
		if :: !got -> break :: else fi;
		run_inbox();
		lk = 0;
#if BUG == 4
		break
#endif
	:: else -> break
	od;
	got = 0
}

inline look() {
	if :: gate -> recheck = 1; combine() :: else fi
}

inline admit() {
	begun++;
	if
	:: gate -> n = 0
	:: else ->
		if
		:: cred > 0 -> d_step { cred--; n = 1 }
		:: else -> take_central(BATCH); if :: n > 1 -> cred = n - 1; n = 1 :: else fi
		fi
	fi;
	if
	:: n == 1 -> n = 0; start(r)
	:: else ->
#if BUG != 2
		flush();
#endif
		inbox[r]++;
		combine()
	fi
}

inline release() {
	if
	:: !gate ->
		cred++;
		if
		:: cred > 2 * BCAP -> d_step { cred = cred - BCAP; free = free + BCAP }
		:: else
		fi;
		if :: gate -> kick = 1 :: else fi
	:: else -> rels++; combine()
	fi
}

/* The disk is finished with a command of h on this reactor's queue. */
inline finish(h) {
	d_step { running[2 * r + h]--; used-- };
	release();
	if
	:: h == r -> finished++; ended[r]++
	:: else ->
		posted[h]++;
		if :: armed[h] -> wake[h] = 1 :: else fi
	fi
}

inline sleep() {
#if BUG != 3
	flush();
#endif
	if :: kick -> kick = 0; look() :: else fi;
#if BUG == 30
	if
	:: posted[r] == 0 ->
		armed[r] = 1;
		wake[r] || CAN_BEGIN || CAN_END(0) || CAN_END(1) || OVER
	:: else
	fi;
#else
	armed[r] = 1;
	if
	:: posted[r] == 0 ->
		wake[r] || CAN_BEGIN || CAN_END(0) || CAN_END(1) || OVER
	:: else
	fi;
#endif
	armed[r] = 0;
	wake[r] = 0
}

proctype reactor(byte r) {
	byte begun, finished, cred, n, hand;
	bit got, kick;

	do
	:: CAN_BEGIN -> admit()
	:: CAN_END(0) -> finish(0)
	:: CAN_END(1) -> finish(1)
	:: posted[r] > 0 -> d_step { finished = finished + posted[r]; ended[r] = ended[r] + posted[r]; posted[r] = 0 }
	:: kick -> kick = 0; look()
#if BUG != 5
	:: gate && cred > 0 -> flush()
#endif
	:: !kick && !OVER && (!AWAKE || r == 1) -> sleep()
	:: OVER -> break
	od;
	flush()
}

init {
	atomic { run reactor(0); run reactor(1) };
	_nr_pr == 1;
	assert(free == LIMIT && !gate && !inbox[0] && !inbox[1] && !rels && !recheck && !lk && used == 0)
}
