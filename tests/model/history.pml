/*
 * How the kernel's counting went wrong, step by step. A LUN's and the host's
 * limit are 1; processes 0 and 1 use LUN 0, process 2 uses LUN 1.
 *
 * VAR 1  check, then count (6eb045e092ef): a limit is exceeded
 * VAR 2  count early, undo, park, wait for somebody's completion: stalls
 * VAR 3  and after parking look again; nothing in flight: go on (a restart): works
 * VAR 4  and one that takes the LUN, finds no work, gives it back and tells
 *        nobody (before a0823421a): stalls
 * VAR 5  and tells: still stalls, its failed try also looked busy to others
 * VAR 6  and every undo tells: works
 *
 * The last rule is the bridge's: an undo is a release.
 */
byte lun[2], host;
byte used_lun[2], used_host, done;
bit parked[3], kick[3];

inline kick_all() {
	atomic {
		q = 0;
		do
		:: q < 3 -> if :: parked[q] -> parked[q] = 0; kick[q] = 1 :: else fi; q++
		:: else -> break
		od;
		q = 0
	}
}

proctype io(byte p) {
	byte l = p / 2, q, before;

again:	skip;
#if VAR == 1
	if :: lun[l] >= 1 -> goto again :: else fi;
	if :: host >= 1 -> goto again :: else fi;
	lun[l]++;
	host++;
#else
	atomic { before = lun[l]; lun[l]++ };
	if :: before >= 1 -> lun[l]--; goto refused :: else fi;
	atomic { before = host; host++ };
	if :: before >= 1 -> host--; lun[l]--; goto refused :: else fi;
#endif
	atomic { used_lun[l]++; used_host++; assert(used_lun[l] <= 1 && used_host <= 1) };
	atomic { used_lun[l]--; used_host-- };
	host--;
	lun[l]--;
	kick_all();
	done++;
	goto end;
#if VAR != 1
refused:
	parked[p] = 1;
#if VAR >= 3
	if
	:: lun[l] == 0 && host == 0 ->
		atomic { if :: parked[p] -> parked[p] = 0; kick[p] = 1 :: else fi }
	:: else
	fi;
#endif
	kick[p] == 1;
	kick[p] = 0;
	goto again;
#endif
end:	skip
}

/* Takes the LUN's budget and finds nothing to do. */
proctype no_work() {
	byte before, q;

	atomic { before = lun[0]; lun[0]++ };
	lun[0]--;
	if
#if VAR >= 6
	:: before >= 1 -> kick_all()
#else
	:: before >= 1
#endif
#if VAR >= 5
	:: else -> kick_all()
#else
	:: else
#endif
	fi
}

init {
	atomic {
		run io(0); run io(1); run io(2);
#if VAR >= 4
		run no_work()
#endif
	};
	done == 3
}
