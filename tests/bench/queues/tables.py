"""The tables of queue admission: what is measured, how it is printed, what is demanded."""
import statistics

POLICIES = {
    'a': dict(policy='a'), 'b': dict(policy='b'), 'c': dict(policy='c'), 'd': dict(policy='d'),
    'e1': dict(policy='e2', caches=0), 'e2': dict(policy='e2'),
}
NAMES = {'a': 'a: one lock', 'b': 'b: atomics', 'c': 'c: divided', 'd': 'd: owner thread',
         'e1': 'e1: bridge, no caches', 'e2': 'e2: bridge'}
LEGEND = '''a one lock, b atomics (increment, check, undo) and a map of tags, c limits divided among reactors (the floor),
d an owner thread, e1 the bridge without its caches, e2 the bridge as it is.'''
MODES = ('divided', 'divided_borrow', 'single', 'shared_single', 'shared')


def only(*names):
    return {n: POLICIES[n] for n in names}


class Results:
    """What a table's cells came to: a list of runs each, in order of the rounds."""

    def __init__(self):
        self.runs, self.errors = {}, {}

    def add(self, row, column, run):
        self.runs.setdefault((row, column), []).append(run)

    def values(self, row, column, key):
        return [pick(run, key) for run in self.runs.get((row, column), [])]

    def median(self, row, column, key):
        got = self.values(row, column, key)
        return statistics.median(got) if got else None

    def pairs(self, one, other, key):
        """Neighbours in time: what disturbs both cancels out."""
        return list(zip(self.values(*one, key), self.values(*other, key)))

    def ratio(self, one, other, key='iops'):
        got = [a / b for a, b in self.pairs(one, other, key) if b]
        return statistics.median(got) if got else None

    def more(self, one, other, key='cpu_ns'):
        got = [a - b for a, b in self.pairs(one, other, key)]
        return statistics.median(got) if got else None


def pick(run, key):
    for part in key.split('.'):
        run = run[part]
    return run


class Demand:
    """A figure that must lie between two; either may be None."""

    def __init__(self, what, value, low=None, high=None, form='%.3f'):
        self.what, self.value, self.low, self.high, self.form = what, value, low, high, form

    def mark(self):
        if self.value is None:
            return '-'
        bad = (self.low is not None and self.value < self.low) or \
            (self.high is not None and self.value > self.high)
        return 'FAIL' if bad else 'ok'

    def wanted(self):
        if self.low is None:
            return 'at most ' + self.form % self.high
        if self.high is None:
            return 'at least ' + self.form % self.low
        return '%s to %s' % (self.form % self.low, self.form % self.high)

    def measured(self):
        return '-' if self.value is None else self.form % self.value


class Table:
    """Rows times columns of cells. show: (heading, how to print) of each figure of a cell."""

    def __init__(self, key, title, rows, columns, show, demands, about='', matrix=False):
        self.key, self.title, self.about = key, title, about
        self.rows, self.columns = rows, columns
        self.show, self.demands, self.matrix = show, demands, matrix


# -- how a cell is printed --

def pairs_of(r, row, col):
    return '%.0f / %.1f' % (r.median(row, col, 'cpu_ns'), r.median(row, col, 'iops') / 1e6)


def mops_of(r, row, col):
    return '%.3f' % (r.median(row, col, 'iops') / 1e6)


def iops_of(r, row, col):
    return '%.0fK' % (r.median(row, col, 'iops') / 1e3)


def number_of(key, form, unit=1):
    return lambda r, row, col: form % (r.median(row, col, key) / unit)


IOPS = ('IOPS', iops_of)
CPU = ('CPU ns/op', number_of('cpu_ns', '%.0f'))
JAIN = ('Jain', number_of('jain', '%.4f'))
MAX_MIN = ('max/min', number_of('max_min', '%.2f'))
LONGEST = ('longest wait, ms', number_of('small.max', '%.0f', 1e6))
SMALL_P50 = ('small p50, ms', number_of('small.p50', '%.2f', 1e6))
SMALL_P99 = ('small p99, ms', number_of('small.p99', '%.2f', 1e6))
SMALL_MAX = ('small max, ms', number_of('small.max', '%.2f', 1e6))


def slow_part(r, row, col):
    got = [100 * run['small']['slow'] / run['small']['asked'] for run in r.runs[row, col]]
    return statistics.median(got)


# -- far from limits --

def far(threads, luns, **more):
    return dict(dict(threads=threads, initiators=threads, luns=luns, targets=min(2, luns), can_queue=1024,
                     lun_depth=1024, target_depth=1024, window_min=32, window_max=32, poll_ns=20000,
                     warm_ms=15, run_ms=50), **more)


def far_demands(r):
    for luns in (1, 8, 64):
        row = 'T=2 L=%d' % luns
        yield Demand('%s: CPU of e2 over the floor, ns' % row, r.more((row, 'e2'), (row, 'c')), high=25, form='%.1f')
    for luns in (1, 8, 64):
        yield Demand('L=%d: e2 with two processors, of one' % luns,
                     r.ratio(('T=2 L=%d' % luns, 'e2'), ('T=1 L=%d' % luns, 'e2')), low=1.7, form='%.2f')


FAR = Table(
    'far', '3.1 Far from limits, nothing else to do: CPU ns a pair / million pairs a second',
    {'T=%d L=%d' % (t, n): far(t, n) for t in (1, 2, 4, 8) for n in (1, 8, 64)},
    POLICIES, [('', pairs_of)], far_demands, LEGEND, matrix=True)


# -- with work between commands --

def work_demands(r):
    two, one = 'T=2 L=8, 1 us', 'T=1 L=1, 1 us'
    yield Demand('%s: e2 of no sharing (c)' % two, r.ratio((two, 'e2'), (two, 'c')), low=.97)
    yield Demand('%s: e2 of one lock (a)' % two, r.ratio((two, 'e2'), (two, 'a')), low=1.10)
    yield Demand('%s: e2 of atomics (b)' % two, r.ratio((two, 'e2'), (two, 'b')), low=1)
    yield Demand('%s: atomics (b) of one lock (a)' % two, r.ratio((two, 'b'), (two, 'a')), low=1)
    yield Demand('%s: atomics (b) of one lock (a)' % one, r.ratio((one, 'b'), (one, 'a')), low=.97, high=1.03)


WORK = Table(
    'work', '3.2 With other work for each command: million commands a second',
    {'T=1 L=1, 1 us': far(1, 1, work_ns=1000, run_ms=120), 'T=2 L=8, 1 us': far(2, 8, work_ns=1000, run_ms=120),
     'T=2 L=8, 5 us': far(2, 8, work_ns=5000, run_ms=120)},
    POLICIES, [('', mops_of)], work_demands, matrix=True)


# -- at the limit --

def full(threads, service_us, **more):
    return dict(dict(threads=threads, initiators=64, luns=8, targets=2, can_queue=1024, lun_depth=4096,
                     target_depth=4096, window_min=32, window_max=2048, service_ns=service_us * 1000, count=1,
                     spread=0, warm_ms=200, run_ms=300), **more)


def host_demands(r):
    one, four = 'S=1 ms T=2', 'S=4 ms T=4'
    for row in (one, four):
        yield Demand('%s: e2 of atomics (b)' % row, r.ratio((row, 'e2'), (row, 'b')), low=.96)
        yield Demand('%s: Jain of e2' % row, r.median(row, 'e2', 'jain'), low=.99, form='%.4f')
        yield Demand('%s: max/min of e2' % row, r.median(row, 'e2', 'max_min'), high=1.1, form='%.2f')
    yield Demand('%s: CPU of e2 over divided, ns' % one, r.more((one, 'e2'), (one, 'c')), high=400, form='%.0f')


HOST = Table(
    'host', '3.3 Host-bound: 64 initiators, windows 32 to 2048',
    {'S=1 ms T=2': full(2, 1000), 'S=4 ms T=4': full(4, 4000, warm_ms=400, run_ms=400)},
    POLICIES, [IOPS, CPU, JAIN, MAX_MIN, LONGEST], host_demands,
    'Each initiator keeps to one of 8 LUNs. A fair queue lets the deepest initiator wait behind its own commands: that is the longest wait of e.')


def lun_demands(r):
    row = '8 LUNs of 64'
    yield Demand('Jain of e2', r.median(row, 'e2', 'jain'), low=.98, form='%.4f')
    yield Demand('max/min of e2', r.median(row, 'e2', 'max_min'), high=1.3, form='%.2f')


LUN = Table(
    'lun', '3.3 LUN-bound: the same at S=4 ms, T=4, and LUNs of depth 64',
    {'8 LUNs of 64': full(4, 4000, spread=1, lun_depth=64, warm_ms=400, run_ms=400)},
    POLICIES, [IOPS, CPU, JAIN, MAX_MIN, LONGEST], lun_demands, 'Each initiator goes round all LUNs.')


def starve_demands(r):
    row = '8 of 1024, 56 of 1'
    for key, high, name in (('small.p99', 1.5, 'p99'), ('small.max', 3, 'longest')):
        got = r.median(row, 'e2', key)
        yield Demand('%s wait of a small one with e2, service times' % name, got and got / 4e6, high=high, form='%.2f')


STARVE = Table(
    'starve', '3.3 Starvation: 8 initiators with 1024 commands, 56 with one; S=4 ms, T=4',
    {'8 of 1024, 56 of 1': full(4, 4000, hogs=8, window_min=1, window_max=1024, warm_ms=100, run_ms=400)},
    POLICIES, [IOPS, CPU, SMALL_P50, SMALL_P99, SMALL_MAX], starve_demands)


def apart_demands(r):
    row = '8 on LUN 0'
    if (row, 'e2') not in r.runs:
        return
    yield Demand('commands to other LUNs on the slow path, %', slow_part(r, row, 'e2'), high=1, form='%.2f')
    yield Demand('their p99 wait, us', r.median(row, 'e2', 'small.slow_p99') / 1e3, high=100, form='%.0f')


APART = Table(
    'apart', '3.3 Isolation: 8 initiators saturate LUN 0, 56 use the others; S=1 ms, T=2',
    {'8 on LUN 0': full(2, 1000, hogs=8, window_min=4, window_max=256, lun_depth=64, apart=1, warm_ms=50)},
    only('a', 'b', 'c', 'd', 'e2'),
    [IOPS, CPU, ('others on the slow path, %', lambda *at: '%.2f' % slow_part(*at)),
     ('p99 of those, us', number_of('small.slow_p99', '%.0f', 1e3)),
     ('longest, us', number_of('small.max', '%.0f', 1e3))], apart_demands,
    'On the slow path: not started inside the call that asked.')


def weight_demands(r):
    for row in WEIGHT.rows:
        yield Demand('%s: weight 4 got of weight 1' % row, r.median(row, 'e2', 'heavy_light'), low=3.8, high=4.2,
                     form='%.2f')


WEIGHT = Table(
    'weight', '3.3 Weights: 16 of 64 initiators have weight 4; S=1 ms, T=2, windows of 512',
    {'host-bound': full(2, 1000, heavy=16, window_min=512, window_max=512),
     'LUN-bound': full(2, 1000, heavy=16, window_min=512, window_max=512, lun_depth=64)},
    only('e2'), [IOPS, CPU, ('4:1 became', number_of('heavy_light', '%.3f'))], weight_demands)


def short_demands(r):
    row = 'S=100 us T=2'
    yield Demand('e2 of atomics (b)', r.ratio((row, 'e2'), (row, 'b')), low=.95)


SHORT = Table(
    'short', '3.3 Who submits the waiter: S=100 us, 128 slots, T=2',
    {'S=100 us T=2': full(2, 100, can_queue=128)}, only('a', 'b', 'c', 'e2'), [IOPS, CPU, JAIN], short_demands,
    'Here a hand-over that goes home first loses a fifth.')


# -- skew and modes --

def skew_demands(r):
    for row in SKEW.rows:
        yield Demand('load on %s: e2 of atomics (b)' % row, r.ratio((row, 'e2'), (row, 'b')), low=.97)
        yield Demand('load on %s: divided_borrow of shared' % row, r.ratio((row, 'borrow'), (row, 'e2')), low=.97)


SKEW = Table(
    'skew', '3.4 Skew: load on some of 8 reactors, 64 windows of 64; S=4 ms',
    {'%d of 8' % k: full(8, 4000, loaded=k, window_min=64, window_max=64, warm_ms=60, run_ms=240)
     for k in (8, 4, 2, 1)},
    dict(only('a', 'b', 'c', 'e2'), borrow=dict(policy='e2', mode='divided_borrow')),
    [('', iops_of)], skew_demands, matrix=True)


def seed_demands(r):
    row = 'IOPS'
    shared = (row, 'shared')
    yield Demand('divided of shared', r.ratio((row, 'divided'), shared), low=.50, high=.63)
    yield Demand('shared of atomics (b)', r.ratio(shared, (row, 'b')), low=.97)
    yield Demand('shared of single', r.ratio(shared, (row, 'single')), low=.98)
    yield Demand('single of shared', r.ratio((row, 'single'), shared), high=1.02)
    yield Demand('shared_single of single', r.ratio((row, 'shared_single'), (row, 'single')), low=.97, high=1.03)
    yield Demand('divided_borrow of shared', r.ratio((row, 'divided_borrow'), shared), low=.97)


SEED_WORK = dict(threads=28, loaded=15, initiators=15, luns=15, targets=15, can_queue=1013, lun_depth=64,
                 target_depth=64, window_min=256, window_max=256, service_ns=4000000, spread=0, count=1)

SEED = Table(
    'seed', '4 The seed: 28 reactors, 15 jobs on 15 of them over 15 LUNs, 256 commands each; 1013 slots, S=4 ms',
    {'IOPS': dict(SEED_WORK, warm_ms=100, run_ms=300)},
    dict(only('a', 'b', 'd'), c=dict(policy='c', lun_depth=1792, target_depth=1792),
         **{m: dict(policy='e2', mode=m) for m in MODES}),
    [IOPS, CPU, ('most in the device', number_of('most', '%.0f')), JAIN], seed_demands,
    'smartpqi had 380-400K divided, 640K shared, 980K single, 940K shared_single: the modes below are the '
    "bridge's own.\nSlots decide, so that two processors are enough.")

def merge_demands(r):
    for mode in MODES:
        yield Demand('%s: with coalesce of without' % mode, r.ratio(('on', mode), ('off', mode)), low=1.4, form='%.2f')


MERGE = Table(
    'merge', '4 Coalescing: sequential 4 KiB WRITEs of 15 initiators to a sim disk each, 250 us a command; T=4',
    {name: dict(SEED_WORK, threads=4, loaded=4, sequential=4096, device='sim', command_ns=250000, service_ns=500000,
                count=0, coalesce=on, warm_ms=100, run_ms=300) for name, on in (('off', 0), ('on', 1))},
    {m: dict(policy='e2', mode=m) for m in MODES}, [('', iops_of)], merge_demands, matrix=True)

TABLES = (FAR, WORK, HOST, LUN, STARVE, APART, WEIGHT, SHORT, SKEW, SEED, MERGE)
