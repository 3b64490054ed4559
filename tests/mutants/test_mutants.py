#!/usr/bin/python3
"""Builds the bridge with each mistake of hba/bridge/bug.h in turn: the stress scenarios must find every one."""
import os
import subprocess
import sys
import time

BUILD = os.environ.get('SLUICE_BUILD', 'build')
# Each may be found by any scenario; in front stands what finds it soonest. So many seconds for one scenario.
SCENARIOS = ('steps', 'rounds', 'borrow', 'load', 'aborts', 'overrun')
BOUND = 30
MUTANTS = [
    (1, 'who has parked is not looked at again', 'steps'),
    (3, 'a reactor sleeps on what it keeps', 'borrow'),
    (4, 'nobody looks into the inbox after unlocking', 'steps'),
    (5, 'a busy reactor keeps what others wait for', 'borrow'),
    (6, 'a limit is checked, then taken', 'load'),
    (7, 'a release does not see the gate that rose', 'steps'),
    (8, 'the cancel of a waiter returns a credit', 'aborts'),
    (10, 'an undo is no release', 'steps'),
]
# Not to flush the own cache before parking is no mistake: polling and sleeping do it (tests/model/cache.pml).
HARMLESS = 2


def run(n, scenario):
    """How the mutant fell in one scenario, or None: it survived."""
    program = os.path.join(BUILD, 'mutant', str(n), 'bridge_stress')
    try:
        done = subprocess.run([program, scenario], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors='replace', timeout=BOUND)
    except subprocess.TimeoutExpired:
        return '%s: no end after %d s' % (scenario, BOUND)
    if done.returncode == 0:
        return None
    if done.returncode > 0:
        # It could not run at all: that proves nothing.
        raise RuntimeError('exit %d: %s' % (done.returncode, done.stdout[-500:]))
    why = [line for line in done.stdout.splitlines() if 'seed' in line or 'ssert' in line]
    return why[0].strip('# ') if why else '%s: signal %d' % (scenario, -done.returncode)


def fall(n, first):
    for scenario in (first,) + tuple(s for s in SCENARIOS if s != first):
        how = run(n, scenario)
        if how:
            return how
    return None


def main():
    print('1..%d' % (len(MUTANTS) + 1))
    failed = 0
    for i, (n, what, first) in enumerate(MUTANTS, 1):
        began = time.monotonic()
        how = fall(n, first)
        failed += not how
        print('# %.1f s: %s' % (time.monotonic() - began, how or 'survived'))
        print('%s %d - %d: %s' % ('ok' if how else 'not ok', i, n, what), flush=True)
    fallen = [how for how in (run(HARMLESS, s) for s in ('rounds', 'borrow')) if how]
    failed += bool(fallen)
    for how in fallen:
        print('# ' + how)
    print('%s %d - %d: harmless, and nothing is found' % ('not ok' if fallen else 'ok', len(MUTANTS) + 1, HARMLESS))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
