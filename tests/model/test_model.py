#!/usr/bin/python3
"""Runs the Spin models: each holds as it is, and each known mistake in it is found."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LONG = os.environ.get('SLUICE_LONG') == '1'
HOLDS, STALLS, BREAKS, LEAKS = 'holds', 'stalls', 'breaks a limit', 'is not at rest at the end'

# What is shown, model, its knobs, the verdict.
MODELS = [
    ('admission: two processes in one flow', 'admit', 'TOPO=1', HOLDS),
    ('admission: two initiators at one LUN', 'admit', 'TOPO=2 CANCEL=1', HOLDS),
    ('admission: one initiator at two LUNs', 'admit', 'TOPO=3 CANCEL=1', HOLDS),
    ('admission: room at the LUN, none at the adapter', 'admit', 'TOPO=1 CANCEL=1 ILIM=2 LLIM=2', HOLDS),
    ('admission: room at the adapter, none at the LUN', 'admit', 'TOPO=2 HLIM=2', HOLDS),
    ('caches: a reactor that sleeps', 'cache', '', HOLDS),
    ('caches: a reactor that never sleeps', 'cache', 'AWAKE=1', HOLDS),
    ('caches: two commands at once', 'cache', 'LIMIT=3 D=2', HOLDS),
    ('caches: not to flush one\'s own before parking costs nothing', 'cache', 'BUG=2 LIMIT=3 D=2', HOLDS),
    ('change of mode: one command at once', 'switch', '', HOLDS),
    ('change of mode: two at once', 'switch', 'LIMIT=2', HOLDS),
    ('history 1: check, then count', 'history', 'VAR=1', BREAKS),
    ('history 2: count early, undo, park', 'history', 'VAR=2', STALLS),
    ('history 3: and look again', 'history', 'VAR=3', HOLDS),
    ('history 4: and one that finds no work', 'history', 'VAR=4', STALLS),
    ('history 5: and tells', 'history', 'VAR=5', STALLS),
    ('history 6: every undo tells', 'history', 'VAR=6', HOLDS),
]
MISTAKES = [
    ('1 a parked flow is not looked at again', 'admit', 'BUG=1 TOPO=1', STALLS),
    ('1 the same with caches', 'cache', 'BUG=1', STALLS),
    ('3 idle does not flush', 'cache', 'BUG=3', STALLS),
    ('4 the combiner does not look after unlocking', 'admit', 'BUG=4 TOPO=1', LEAKS),
    ('5 poll does not flush what is gated', 'cache', 'BUG=5 AWAKE=1', STALLS),
    ('6 check, then subtract', 'admit', 'BUG=6 TOPO=1', BREAKS),
    ('7 a release ignores a gate that rose', 'admit', 'BUG=7 TOPO=1', STALLS),
    ('8 the cancel of a waiter returns a credit', 'admit', 'BUG=8 TOPO=1 CANCEL=1', LEAKS),
    ('10 an undo is not a release', 'admit', 'BUG=10 TOPO=1', STALLS),
    ('21 a node is looked at before its gate is up', 'admit', 'BUG=21 TOPO=1', STALLS),
    ('23 the adapter is not asked again once its gate is up', 'admit', 'BUG=23 TOPO=1 ILIM=2 LLIM=2', STALLS),
    ('30 a reactor looks for messages, then says that it sleeps', 'cache', 'BUG=30', STALLS),
    ('31 a flush ignores a gate that rose', 'cache', 'BUG=31', STALLS),
    ('40 all credits are seen at home, but not taken', 'switch', 'BUG=40', LEAKS),
    ('41 nobody looks at who waited while the mode changed', 'switch', 'BUG=41', STALLS),
    ('42 nor when the credits appear, later than the flows', 'switch', 'BUG=42', STALLS),
]
LONG_MODELS = [
    ('admission: three processes, two initiators, two LUNs', 'admit', 'NP=3 KC=1 TOPO=4', HOLDS),
    ('admission: three processes in one flow', 'admit', 'NP=3 KC=1 TOPO=1', HOLDS),
    ('admission: two processes, three commands each', 'admit', 'KC=3 TOPO=1', HOLDS),
    ('change of mode: three commands each', 'switch', 'K=3', HOLDS),
    ('caches: three commands each, two at once', 'cache', 'K=3 D=2 LIMIT=3', HOLDS),
]


def check(folder, model, knobs):
    """The verdict on a model, and what Spin said."""
    def run(*args):
        done = subprocess.run(args, cwd=folder, capture_output=True, text=True, errors='replace')
        if done.returncode:
            raise RuntimeError('%s: %s' % (args[0], (done.stdout + done.stderr).strip()[-1000:]))
        return done.stdout

    defines = ['-D' + knob for knob in knobs.split()]
    run('spin', '-a', *defines, os.path.join(HERE, model + '.pml'))
    run('cc', '-O1', '-w', '-DSAFETY', '-DCOLLAPSE', '-DMEMLIM=3000', '-o', 'pan', 'pan.c')
    said = run('./pan', '-m200000')
    if 'max search depth too small' in said or 'Search not completed' in said and 'errors: 0' in said:
        raise RuntimeError('the search did not end: %s' % said[-1000:])
    if 'invalid end state' in said.split('(Spin', 1)[0]:
        return STALLS, said
    broken = re.search(r'assertion violated (.*)', said)
    if broken:
        return BREAKS if 'used' in broken.group(1) else LEAKS, said
    if not re.search(r'errors: 0\b', said):
        raise RuntimeError(said[-1000:])
    return HOLDS, said


def missing():
    for program in 'spin', 'cc':
        if not shutil.which(program):
            return '%s is not installed' % program
    return None


def main():
    why = missing()
    if why:
        print('1..0 # SKIP %s' % why)
        return 0
    rows = LONG_MODELS if LONG else MODELS + MISTAKES
    print('1..%d' % len(rows))
    failed = 0
    for n, (title, model, knobs, wanted) in enumerate(rows, 1):
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            try:
                verdict, said = check(folder, model, knobs)
            except RuntimeError as e:
                verdict, said = 'cannot be checked', str(e)
        states = re.search(r'(\d+) states, stored', said)
        ok = verdict == wanted
        if not ok:
            failed += 1
            print('\n'.join('# ' + line for line in said.splitlines()[-30:]))
        print('# %s states, %.1f s' % (states.group(1) if states else '?', time.monotonic() - began))
        print('%s %d - %s: %s %s: %s' % ('ok' if ok else 'not ok', n, title, model, knobs, verdict), flush=True)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
