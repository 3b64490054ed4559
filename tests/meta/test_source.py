#!/usr/bin/python3
"""Rules of the source that a compiler does not know: who includes whom, sizes, first comments, no leftovers."""
import os
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDERS = ('include', 'daemon', 'transport', 'hba')
# The folders of README, and what a version control system or a build leaves.
TOP_LEVEL = {
    'Makefile', 'README.md', 'LICENSE', 'CHANGES.md', 'CONTRIBUTING.md', '.ci', '.clang-format', '.gitignore', '.gitattributes',
    'include', 'daemon', 'transport', 'hba', 'etc', 'tests', 'docs', 'debian', '.git', 'build',
}
LINES_MAX, LINES_WANTED = 600, 400
LEFTOVER = re.compile(r'\b(TODO|FIXME|XXX|HACK)\b|^\s*#\s*if\s+0\b')
SYSTEM_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')
WORDS = re.compile(r'\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b')


def files(folders, *endings):
    """Paths relative to the top, sorted."""
    out = []
    for folder in folders:
        for where, _, names in os.walk(os.path.join(TOP, folder)):
            if '__pycache__' in where:
                continue
            out += [os.path.relpath(os.path.join(where, n), TOP) for n in names if n.endswith(endings)]
    return sorted(out)


def lines(path):
    with open(os.path.join(TOP, path), errors='replace') as f:
        return f.read().splitlines()


def sources():
    return files(FOLDERS, '.c', '.h')


def dependency_rule():
    """A file includes include/*.h and headers of its own folder, nothing else."""
    shared = set(os.listdir(os.path.join(TOP, 'include')))
    for path in sources():
        folder = os.path.dirname(path)
        own = set(os.listdir(os.path.join(TOP, folder)))
        for n, line in enumerate(lines(path), 1):
            m = SYSTEM_INCLUDE.match(line)
            if not m:
                continue
            name = m.group(1)
            if '/' in name:
                yield '%s:%d: includes "%s": a path' % (path, n, name)
            elif name not in shared and name not in own:
                yield '%s:%d: includes "%s", which is neither in include/ nor in %s/' % (path, n, name, folder)


def no_name_twice():
    """A header of a folder never has the name of one in include/: one of the two could not be meant."""
    shared = set(os.listdir(os.path.join(TOP, 'include')))
    for path in files(('daemon', 'transport', 'hba'), '.h'):
        if os.path.basename(path) in shared:
            yield '%s: the name stands in include/ too' % path


def no_name_of_a_driver_in_the_daemon():
    """daemon/ walks registries: it knows no transport and no driver by name."""
    for path in files(('daemon',), '.c', '.h'):
        for n, line in enumerate(lines(path), 1):
            if re.match(r'\s*#\s*include\s*[<"](iscsi|srp|scsi|ram|null|file|sg|rbd)\b', line):
                yield '%s:%d: %s' % (path, n, line.strip())


def no_opcode_in_transports():
    """transport/ knows no SCSI opcode; hba/ knows no PDU."""
    for path in files(('transport',), '.c', '.h'):
        for n, line in enumerate(lines(path), 1):
            if re.search(r'\bcdb\s*\[\s*0\s*\]|\bSCSI_OP_|\bOP_(READ|WRITE)', line):
                yield '%s:%d: looks into a CDB: %s' % (path, n, line.strip())


def file_sizes():
    """No file over 600 lines."""
    for path in sources() + files(('tests',), '.c', '.h', '.py', '.sh'):
        n = len(lines(path))
        if n > LINES_MAX:
            yield '%s: %d lines' % (path, n)


def first_comments():
    """Each file begins with a comment that says what it is."""
    for path in sources() + files(('tests',), '.c', '.h'):
        first = (lines(path) or [''])[0]
        if not re.match(r'/\*+ \S', first) and not first.strip() == '/*':
            yield '%s:1: no comment first: %r' % (path, first[:60])
    for path in files(('tests',), '.py'):
        text = [line for line in lines(path)[:3] if not line.startswith('#!')]
        if not (text and text[0].startswith('"""')):
            yield '%s: no docstring first' % path


def leftovers():
    """No TODO and the like, no code switched off."""
    for path in sources() + files(('tests',), '.c', '.h', '.py', '.sh') + files(('etc', '.ci'), '') + ['Makefile']:
        if path.endswith('meta/test_source.py'):
            continue
        for n, line in enumerate(lines(path), 1):
            if LEFTOVER.search(line):
                yield '%s:%d: %s' % (path, n, line.strip())


def long_lines():
    """No line past 140 columns (tabs of 8) in C; 80 to 100 is the aim."""
    for path in sources():
        for n, line in enumerate(lines(path), 1):
            if len(line.expandtabs(8)) > 140 and 'http' not in line:
                yield '%s:%d: %d columns' % (path, n, len(line.expandtabs(8)))


def spaces():
    """No blank at the end of a line, no spaces where a tab belongs, a newline at the end."""
    for path in sources():
        for n, line in enumerate(lines(path), 1):
            if line != line.rstrip():
                yield '%s:%d: blank at the end' % (path, n)
            if re.match(r' {8}', line):
                yield '%s:%d: eight spaces for a tab' % (path, n)
        with open(os.path.join(TOP, path), 'rb') as f:
            if not f.read().endswith(b'\n'):
                yield '%s: no newline at the end' % path


def wire_sizes():
    """Every struct with wire types is followed by its WIRE_SIZE."""
    for path in sources():
        text = '\n'.join(lines(path))
        for m in re.finditer(r'^struct (\w+) \{(.*?)^\}', text, re.M | re.S):
            if re.search(r'^\s*be(16|24|32|64)\s', m.group(2), re.M):
                if not re.search(r'WIRE_SIZE\(struct %s,' % m.group(1), text):
                    yield '%s: struct %s has wire fields and no WIRE_SIZE' % (path, m.group(1))


def wire_numbers():
    """Byte order is converted by wire.h alone; socket addresses are the system's."""
    for path in files(('transport', 'hba'), '.c', '.h'):
        for n, line in enumerate(lines(path), 1):
            if re.search(r'\b(htonl|ntohl|htobe\d+|be\d+toh|__builtin_bswap\d+)\s*\(', line) and \
                    not re.search(r'INADDR_|s_addr|sin6?_', line):
                yield '%s:%d: %s' % (path, n, line.strip())


def exits():
    """Only the program's own main file ends the process on purpose."""
    for path in files(('transport', 'hba'), '.c', '.h'):
        for n, line in enumerate(lines(path), 1):
            if re.search(r'(?<![\w_])(exit|_exit|abort|fprintf|printf)\s*\(', line) and 'FILE *' not in line:
                if re.search(r'\b(exit|_exit)\s*\(|\bprintf\s*\(', line):
                    yield '%s:%d: %s' % (path, n, line.strip())


def unsafe_calls():
    """Functions that know no bounds are not used."""
    bad = re.compile(r'(?<![\w_])(strcat|vsprintf|gets|strtok|atoi|atol|alloca|system|popen|inet_ntoa)\s*\(')
    for path in sources():
        for n, line in enumerate(lines(path), 1):
            if bad.search(line) and not line.lstrip().startswith(('*', '/*')):
                yield '%s:%d: %s' % (path, n, line.strip())


def unit_tests_name_their_file():
    """tests/unit/test_x.c tests x.c, cmd_x.c or x_*.c of the tree (or part of it: test_x_part.c)."""
    stems = {os.path.splitext(os.path.basename(p))[0] for p in sources()}
    for path in files(('tests/unit',), '.c'):
        name = os.path.basename(path)
        if not name.startswith('test_'):
            continue
        stem = name[5:-2]
        parts = stem.split('_')
        names = ['_'.join(parts[:n]) for n in range(1, len(parts) + 1)]
        if not any(s == n or s == 'cmd_' + n or s.startswith(n + '_') for n in names for s in stems):
            yield '%s: there is no %s.c' % (path, stem)


def top_level():
    """Nothing lies at the top that does not belong there."""
    for name in sorted(os.listdir(TOP)):
        if name not in TOP_LEVEL:
            yield '%s: does not belong there' % name


def tests_are_executable():
    """What the runner looks for can be run."""
    for path in files(('tests/talk', 'tests/system', 'tests/meta', 'tests/guest'), '.py', '.sh'):
        name = os.path.basename(path)
        if name.startswith('test_') and not os.access(os.path.join(TOP, path), os.X_OK):
            yield '%s: not executable: the runner passes it over' % path


def life_names():
    """Every name in docs/LIFE.md is one in the code."""
    path = 'docs/LIFE.md'
    if not os.path.exists(os.path.join(TOP, path)):
        yield '# SKIP docs/LIFE.md is not there'
        return
    code = '\n'.join('\n'.join(lines(p)) for p in sources())
    known = set(re.findall(r'\b\w+\b', code))
    for n, line in enumerate(lines(path), 1):
        names = set()
        for quoted in re.findall(r'`([^`]+)`', line):
            names |= set(WORDS.findall(quoted))
        # In a drawing, the first word of a line is a function.
        m = re.match(r'\s*([a-z][a-z0-9]*_[a-z0-9_]+)\b', line)
        if m:
            names.add(m.group(1))
        for name in sorted(names - known):
            yield '%s:%d: %s is not in the code' % (path, n, name)


def map_is_true():
    """docs/MAP.md is what `make map` would write."""
    want = subprocess.run([os.path.join(TOP, 'tests/meta/map')], capture_output=True, text=True, check=True).stdout.splitlines()
    have = lines('docs/MAP.md')
    for line in [w for w in want if w not in have] + [h for h in have if h not in want]:
        yield 'docs/MAP.md: %s' % line
    if want != have:
        yield 'docs/MAP.md: run `make map`'


CHECKS = [
    dependency_rule, no_name_twice, no_name_of_a_driver_in_the_daemon, no_opcode_in_transports, file_sizes,
    first_comments, leftovers, long_lines, spaces, wire_sizes, wire_numbers, exits, unsafe_calls,
    unit_tests_name_their_file, top_level, tests_are_executable, life_names, map_is_true,
]


def main():
    failed = 0
    for n, check in enumerate(CHECKS, 1):
        found = list(check())
        title = '%s: %s' % (check.__name__, check.__doc__.splitlines()[0])
        if found and found[0].startswith('# SKIP'):
            print('ok %d - %s %s' % (n, check.__name__, found[0]))
            continue
        for line in found[:40]:
            print('# ' + line)
        if len(found) > 40:
            print('# ... and %d more' % (len(found) - 40))
        print('%s %d - %s' % ('not ok' if found else 'ok', n, title))
        failed += bool(found)
    print('1..%d' % len(CHECKS))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
