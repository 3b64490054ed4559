#!/usr/bin/python3
"""The bench of queue admission runs: each table, each policy, some milliseconds; how fast is not looked at."""
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get('SLUICE_BUILD', os.path.join(TOP, 'build')))
RUN = os.path.join(TOP, 'tests/bench/queues/run')
CELL = os.path.join(BUILD, 'tests/bench/queues/cell')
COUNTED = ('host', 'lun', 'starve', 'apart', 'weight', 'short', 'skew', 'seed')


def kept():
    with open('build/bench/queues.json') as f:
        return json.load(f)


def cell(*args):
    return subprocess.run([CELL, *args], capture_output=True, text=True, timeout=100)


def tables_run():
    """Every table is printed and no cell failed."""
    # The files go where this test runs, not over those of a real run.
    os.makedirs('build/tests/bench/queues')
    os.symlink(CELL, 'build/tests/bench/queues/cell')
    done = subprocess.run([RUN, '--build', 'build', '--smoke'], capture_output=True, text=True, timeout=220)
    assert done.returncode == 0 and re.search(r'\b0 errors', done.stdout), done.stdout + done.stderr
    listed = subprocess.run([RUN, '--list'], capture_output=True, text=True).stdout.splitlines()
    assert len(listed) >= 10, listed
    for line in listed:
        assert line.split(None, 1)[1] in done.stdout, '%s is not printed' % line


def every_run_is_kept():
    """queues.json holds figures of every cell that ran."""
    cells = [c for table in kept().values() for c in table]
    assert len(cells) > 60, len(cells)
    for c in cells:
        for run in c['runs']:
            assert run['ops'] > 0 and run['cpu_ns'] > 0 and 0 < run['jain'] <= 1.00001, c


def the_device_counted():
    """Where limits matter somebody was in the device, and never too many."""
    tables = kept()
    for key in COUNTED:
        for c in tables[key]:
            for run in c['runs']:
                assert 0 < run['most'] <= c['options']['can_queue'], c


def plots_are_svg():
    """Four plots, well formed, with bars."""
    for name in 'cpu', 'modes', 'jain', 'wait':
        root = ET.parse('build/bench/queues-%s.svg' % name).getroot()
        bars = root.findall('{http://www.w3.org/2000/svg}rect')
        assert len(bars) > 4, name


def too_much_is_noticed():
    """A device with fewer slots than the policy believes ends the run."""
    for policy in 'a', 'b', 'c', 'd', 'e2':
        done = cell('policy=' + policy, 'initiators=4', 'window_max=64', 'count=1', 'service_ns=1000000',
                    'can_queue=200', 'device_slots=50')
        assert done.returncode == 2 and 'in flight at one adapter, the limit is 50' in done.stderr, done


def nonsense_is_refused():
    """Unknown options, policies and values are errors."""
    for arg in 'policy=z', 'threads=x', 'threads', 'speed=1', 'luns=0', 'mode=fast', 'device=none':
        done = cell(arg)
        assert done.returncode == 2 and done.stderr.startswith('cell: '), (arg, done)


def main():
    tests = [tables_run, every_run_is_kept, the_device_counted, plots_are_svg, too_much_is_noticed, nonsense_is_refused]
    failed = 0
    if not os.access(CELL, os.X_OK):
        print('1..0 # SKIP %s is not built' % CELL)
        return 0
    for n, test in enumerate(tests, 1):
        try:
            test()
            print('ok %d - %s' % (n, test.__doc__))
        except (AssertionError, OSError, ValueError, KeyError, subprocess.TimeoutExpired) as e:
            failed = 1
            print('\n'.join('# ' + line for line in str(e).splitlines()))
            print('not ok %d - %s' % (n, test.__doc__))
    print('1..%d' % len(tests))
    return failed


if __name__ == '__main__':
    sys.exit(main())
