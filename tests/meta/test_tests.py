#!/usr/bin/python3
"""Rules of the tests: each names what it stands for, the runner counts right, every config key is shipped."""
import ast
import os
import re
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(TOP, os.environ.get('SLUICE_BUILD', 'build'))
RUN = os.path.join(TOP, 'tests', 'run')
ID = re.compile(r'^[LCDTKRO]\d\d$|^(RFC \d+|SAM-\d|SPC-\d|SBC-\d)\b')
results = []


def test(fn):
    """Marks a check; it yields what is wrong, or '# SKIP reason'."""
    results.append((fn.__name__, fn))
    return fn


def talk_files():
    folder = os.path.join(TOP, 'tests', 'talk')
    return [os.path.join(folder, n) for n in sorted(os.listdir(folder)) if re.match(r'test_.*\.py$', n)]


def markers(path):
    """(line, positional arguments that are no title) of each @tap.test and @tap.variants."""
    with open(path) as f:
        tree = ast.parse(f.read())
    for fn in ast.walk(tree):
        if isinstance(fn, ast.FunctionDef):
            for mark in fn.decorator_list:
                if isinstance(mark, ast.Call) and isinstance(mark.func, ast.Attribute) and \
                        mark.func.attr in ('test', 'variants'):
                    args = mark.args[1 if mark.func.attr == 'test' else 2:]
                    yield mark.lineno, [a.value for a in args if isinstance(a, ast.Constant)]


@test
def each_talk_test_names_a_scenario_or_a_clause():
    for path in talk_files():
        found = list(markers(path))
        if not found:
            yield '%s: no tests' % path
        for line, ids in found:
            if not ids:
                yield '%s:%d: neither scenario nor clause' % (path, line)
            for i in ids:
                if not ID.match(i):
                    yield '%s:%d: %r is neither a scenario nor a clause' % (path, line, i)


@test
def scenarios_have_tests():
    """What docs/TESTING.md says is covered is named by a test."""
    with open(os.path.join(TOP, 'docs', 'TESTING.md')) as f:
        text = f.read()
    m = re.search(r'<!-- scenarios -->(.*?)<!-- /scenarios -->', text, re.S)
    if not m:
        yield 'docs/TESTING.md has no list of scenarios'
        return
    named = set()
    for folder in 'talk', 'system':
        where = os.path.join(TOP, 'tests', folder)
        for name in os.listdir(where):
            if name.endswith('.py'):
                for _, ids in markers(os.path.join(where, name)):
                    named |= set(ids)
    for i in sorted(set(re.findall(r'\b[LCDTKRO]\d\d\b', m.group(1))) - named):
        yield '%s is listed and no test names it' % i


def sluiced(*args):
    return subprocess.run([os.path.join(BUILD, 'sluiced'), *args], capture_output=True, text=True,
                          timeout=60, cwd=TOP)


@test
def shipped_configuration_is_known():
    if not os.access(os.path.join(BUILD, 'sluiced'), os.X_OK):
        yield '# SKIP sluiced is not built'
        return
    for name in 'etc/sluice.yaml', 'etc/demo.yaml':
        done = sluiced('-t', '-c', name)
        if done.returncode:
            yield '%s: %s' % (name, (done.stdout + done.stderr).strip())


@test
def every_key_is_in_the_shipped_configuration():
    """Names in conf_key rows stand, as keys or as commented keys, in etc/sluice.yaml, but for those not supported yet."""
    with open(os.path.join(TOP, 'etc', 'sluice.yaml')) as f:
        shipped = set(re.findall(r'\b([a-z_0-9]+)\s*:', f.read()))
    for folder, _, names in os.walk(TOP):
        if '/.git' in folder or '/build' in folder or '/tests' in folder:
            continue
        for name in names:
            if name.endswith('.c'):
                path = os.path.join(folder, name)
                with open(path, errors='replace') as f:
                    text = f.read()
                for table in re.findall(r'struct conf_key \w+\[\] = \{(.*?)^\};', text, re.M | re.S):
                    for row in re.findall(r'\{[^{}]*\}', table):
                        key = re.search(r'"([a-z_0-9]+)"', row)
                        key = key and key.group(1)
                        if key and key not in shipped and 'CONF_LATER' not in row:
                            yield '%s: key %s is not in etc/sluice.yaml' % (os.path.relpath(path, TOP), key)


# A fake unit-test folder for the runner: what each program prints and exits with, and the last line wanted.
CASES = [
    ('passes', 'echo "1..2"; echo "ok 1 - a"; echo "ok 2 - b"', 0, '2 passed, 0 failed, 0 skipped'),
    ('fails', 'echo "1..2"; echo "ok 1 - a"; echo "not ok 2 - b"; exit 1', 1, '1 passed, 1 failed, 0 skipped'),
    ('skips', 'echo "1..1"; echo "ok 1 - a # SKIP no disk"', 0, '0 passed, 0 failed, 1 skipped'),
    ('skips without a reason', 'echo "1..1"; echo "ok 1 - a # SKIP"', 1, '0 passed, 1 failed, 0 skipped'),
    ('skips as cmocka', 'echo "1..1"; echo "# no root"; echo "not ok 1 # SKIP a"', 0, '0 passed, 0 failed, 1 skipped'),
    ('skips all', 'echo "1..0 # SKIP no kernel"', 0, '0 passed, 0 failed, 1 skipped'),
    ('exits without a word', 'echo "1..1"; echo "ok 1 - a"; exit 3', 1, '1 passed, 1 failed, 0 skipped'),
    ('dies', 'echo "1..1"; echo "ok 1 - a"; kill -SEGV $$', 1, '1 passed, 1 failed, 0 skipped'),
    ('ends early', 'echo "1..3"; echo "ok 1 - a"', 1, '1 passed, 1 failed, 0 skipped'),
    ('has no plan', 'echo "ok 1 - a"', 1, '1 passed, 1 failed, 0 skipped'),
    ('says nothing', 'true', 1, '0 passed, 1 failed, 0 skipped'),
    ('bails out', 'echo "Bail out! no"; exit 1', 1, '0 passed, 1 failed, 0 skipped'),
    ('has an address error', 'echo "1..1"; echo "ok 1 - a"; echo "==1==ERROR: AddressSanitizer: x"', 1,
     '1 passed, 1 failed, 0 skipped'),
    ('has undefined behaviour', 'echo "1..1"; echo "x.c:1: runtime error: y" >&2; echo "ok 1 - a"', 1,
     '1 passed, 1 failed, 0 skipped'),
    ('has a data race', 'echo "1..1"; echo "WARNING: ThreadSanitizer: y" >&2; echo "ok 1 - a"', 1,
     '1 passed, 1 failed, 0 skipped'),
]


@test
def the_runner_counts_right():
    for what, script, rc, last in CASES:
        with tempfile.TemporaryDirectory() as build:
            folder = os.path.join(build, 'tests', 'unit')
            os.makedirs(folder)
            path = os.path.join(folder, 'test_x')
            with open(path, 'w') as f:
                f.write('#!/bin/sh\n' + script + '\n')
            os.chmod(path, 0o755)
            done = subprocess.run([RUN, '--build', build, 'unit'], capture_output=True, text=True, cwd='/',
                                  env=dict(os.environ, TMPDIR=build))
            lines = done.stdout.splitlines()
            if done.returncode != rc or lines[-1:] != [last]:
                yield 'a program that %s: exit %d, %r' % (what, done.returncode, lines[-1:])
            leftover = [n for n in os.listdir(build) if n.startswith('sluice-')]
            if bool(leftover) != bool(rc):
                yield 'a program that %s: folder %s' % (what, 'left' if leftover else 'gone')


@test
def the_runner_fails_when_nothing_ran():
    with tempfile.TemporaryDirectory() as build:
        done = subprocess.run([RUN, '--build', build, 'unit'], capture_output=True, text=True)
        if done.returncode != 1 or done.stdout.splitlines()[-1:] != ['0 passed, 0 failed, 0 skipped']:
            yield repr(done)


def main():
    failed = 0
    for n, (name, check) in enumerate(results, 1):
        found = list(check())
        title = name.replace('_', ' ')
        if found and found[0].startswith('# SKIP'):
            print('ok %d - %s %s' % (n, title, found[0]))
            continue
        for line in found[:40]:
            print('# ' + line)
        print('%s %d - %s' % ('not ok' if found else 'ok', n, title))
        failed += bool(found)
    print('1..%d' % len(results))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
