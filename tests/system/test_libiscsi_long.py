#!/usr/bin/python3
"""libiscsi's conformance suite, against the list of what is known to fail and why."""
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import config
import daemon

HERE = os.path.dirname(os.path.abspath(__file__))
KNOWN = os.path.join(HERE, 'libiscsi-known.txt')
LIMIT = 150 * daemon.SLOW
# The family ALL holds every test once; the others name them again.
FAMILY = 'ALL'
READ_ONLY = config.IQN + 'read-only'


def known():
    """{suite.test: reason} of the list: one a line, the reason after white space."""
    out = {}
    with open(KNOWN) as f:
        for n, line in enumerate(f, 1):
            if line.strip() and not line.startswith('#'):
                name, _, reason = line.strip().partition(' ')
                assert reason.strip(), '%s:%d: no reason' % (KNOWN, n)
                out[name] = reason.strip()
    return out


def parse(text):
    """[(suite, test, 'passed' or 'failed', skip reason or None, output)] in order."""
    results, suite, test, lines = [], None, None, []
    for line in text.splitlines():
        m = re.match(r'Suite: (\S+)', line)
        if m:
            suite = m.group(1)
            continue
        m = re.match(r'\s+Test: (\S+) \.\.\.(.*)', line)
        if m:
            test, lines, line = m.group(1), [], m.group(2)
        if test is None:
            if results and re.match(r'    \d+\. ', line):     # what a failed test asserted
                results[-1][4].append(line.strip())
            continue
        m = re.match(r'\s*(passed|FAILED)', line)
        # What stands behind the verdict is the cleaning up after the test.
        lines.append(m.group(0) if m else line)
        if m:
            skips = [x.split(']', 1)[1].strip() for x in lines if '[SKIPPED]' in x]
            results.append((suite, test, m.group(1).lower(), skips[0] if skips else None, lines))
            test = None
    if test is not None:
        results.append((suite, test, 'unfinished', None, lines))
    return results


def families():
    """The suites, by name."""
    done = subprocess.run(['iscsi-test-cu', '-l'], capture_output=True, text=True, timeout=60)
    return re.findall(r'^%s\.(\w+)$' % FAMILY, done.stdout, re.M)


def run(d, suite, deadline):
    """One suite in a process of its own, so that no suite can spoil the next; all at once: None. (exit code, output)"""
    url = 'iscsi://127.0.0.1:%d/%s/0' % (d.port, READ_ONLY if suite == 'ReadOnly' else config.TARGET)
    urls = [url] * (2 if suite == 'MultipathIO' else 1)
    which = ['-t', '%s.%s' % (FAMILY, suite)] if suite else []
    with open(os.path.join(d.tmp, 'out'), 'w+') as out:
        proc = subprocess.Popen(['iscsi-test-cu', '-d', '-v', *which, *urls], stdout=out,
                                stderr=subprocess.STDOUT, cwd=d.tmp, start_new_session=True)
        try:
            proc.wait(max(1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            os.killpg(proc.pid, signal.SIGKILL)
            proc.wait()
        out.seek(0)
        return proc.returncode, out.read()


def run_all(d, report):
    """All suites in turn; what they said, as parse() has it."""
    results, broken, whole = [], [], ''
    deadline = time.monotonic() + LIMIT
    for suite in families():
        rc, text = run(d, suite, deadline)
        found = parse(text)
        results += found
        whole += text
        if rc not in (0, 1) or 'Elapsed time' not in text or not found:
            broken += ['%s: exit %d' % (suite, rc)] + text.splitlines()[-8:]
    report.line(not broken, 'every suite runs to its end, all within %d s' % LIMIT, broken)
    if os.environ.get('SLUICE_KEEP_OUTPUT'):
        with open(os.environ['SLUICE_KEEP_OUTPUT'], 'w') as f:
            f.write(whole)
    return results


def run_whole(d, report):
    """As a user starts it: every family in one process. It skips what needs a second path."""
    rc, text = run(d, None, time.monotonic() + LIMIT)
    bad = sorted({'%s.%s' % r[:2] for r in parse(text) if r[2] != 'passed'} - set(known()))
    if rc not in (0, 1) or 'Elapsed time' not in text:
        bad += ['exit %d' % rc] + text.splitlines()[-8:]
    report.line(not bad, 'all of it in one process ends, and fails nothing that is not listed', bad)


class Report:
    def __init__(self):
        self.n = self.failed = 0

    def line(self, ok, text, notes=()):
        self.n += 1
        self.failed += not ok
        for note in notes:
            print('# ' + note)
        print('%s %d - %s' % ('ok' if ok else 'not ok', self.n, text))


def suites(report, results):
    """One line a suite; a suite is as its worst test, and skipped when all of it was."""
    listed = known()
    by_suite = {}
    for r in results:
        by_suite.setdefault(r[0], []).append(r)
    for suite, tests in by_suite.items():
        bad, expected = [], []
        for _, test, verdict, skip, lines in tests:
            name = '%s.%s' % (suite, test)
            if verdict != 'passed' and name not in listed:
                bad += ['%s %s:' % (name, verdict)] + lines
            elif verdict == 'passed' and name in listed:
                bad.append('%s passes: take it out of libiscsi-known.txt' % name)
            elif name in listed:
                expected.append('%s fails as listed: %s' % (name, listed[name]))
        skips = [r for r in tests if r[3]]
        if not bad and len(skips) == len(tests):
            report.line(True, 'libiscsi %s # SKIP %s' % (suite, skips[0][3]))
        else:
            report.line(not bad, 'libiscsi %s: %d tests%s' % (suite, len(tests), (
                ', %d of them in part or not run: %s' % (len(skips), skips[0][3]) if skips else '')),
                bad + expected)
    ghosts = set(listed) - {'%s.%s' % (r[0], r[1]) for r in results}
    report.line(not ghosts, 'every test in libiscsi-known.txt was run', sorted(ghosts))


def main():
    if not shutil.which('iscsi-test-cu'):
        print('1..0 # SKIP iscsi-test-cu is not installed (libiscsi-bin)')
        return 0
    report = Report()
    conf = config.base(targets=[config.target(luns=('ram', 'file')), config.target(READ_ONLY, luns=('ram',))])
    conf['targets'][1]['luns'][0]['read_only'] = True
    for lun in conf['targets'][0]['luns']:
        lun['copy'] = True
    d = daemon.Daemon(conf)
    try:
        results = run_all(d, report)
        suites(report, results)
        run_whole(d, report)
        for what, check in (('the daemon is idle afterwards', d.check_idle), ('the daemon stops in order', d.stop)):
            try:
                check()
                report.line(True, what)
            except AssertionError as e:
                report.line(False, what, str(e).splitlines())
    finally:
        d.remove()
    print('1..%d' % report.n)
    return 1 if report.failed else 0


if __name__ == '__main__':
    sys.exit(main())
