"""A small test harness: functions marked @test run in turn and report TAP; each leaves the daemon as it was."""
import contextlib
import fnmatch
import functools
import os
import signal
import sys
import threading
import traceback

import daemon as D

TESTS = []


class Skip(Exception):
    """This machine lacks something; the reason is the argument."""


class TookTooLong(Exception):
    pass


class Case:
    def __init__(self, fn, name, ids, conf, seconds, fresh, together):
        self.fn, self.name, self.ids = fn, name, ids
        self.conf, self.seconds, self.fresh, self.together = conf, seconds, fresh, together


def test(name, *ids, conf=None, seconds=60, fresh=False, together=False):
    """
    Marks a test: what it shows, then scenario ids and clauses it stands for. It
    gets a Daemon: the file's, or one of its own when it names conf (a dict or a
    function that makes one) or is fresh. Tests that mostly wait run all together
    on the file's daemon, after the others.
    """
    def mark(fn):
        TESTS.append(Case(fn, name, ids, conf, seconds, fresh, together))
        return fn
    return mark


def variants(rows, name, *ids, **kw):
    """One test for each row; name % row[0]; the rest of the row is passed on."""
    def mark(fn):
        for row in rows:
            test(name % row[0], *ids, **kw)(lambda d, row=row: fn(d, *row[1:]))
        return fn
    return mark


@contextlib.contextmanager
def raises(kind, status=None):
    """The block must raise; a Refused must carry this login status (or one of them)."""
    try:
        yield
    except kind as e:
        if status is not None:
            allowed = status if isinstance(status, tuple) else (status,)
            assert e.status in allowed, 'wanted %s: %s' % (' or '.join('0x%04x' % a for a in allowed), e)
        return
    raise AssertionError('no %s' % kind.__name__)


def _alarm(signum, frame):
    raise TookTooLong('the test itself ran out of time')


def _comment(text):
    for line in text.rstrip().splitlines():
        print('# ' + line)


class Runner:
    def __init__(self, conf):
        self.conf, self.shared, self.failed = conf, None, 0

    def _start(self, conf):
        return D.Daemon(conf() if callable(conf) else conf)

    def _end(self, d):
        """Stops the daemon; what it complains about at the end is a failure too."""
        try:
            d.stop()
        finally:
            d.remove()

    def _once(self, case, own):
        """One test; the daemon to report about when it fails."""
        if own:
            d = self._start(case.conf if case.conf is not None else self.conf)
        else:
            if self.shared is None:
                self.shared = self._start(self.conf)
            d = self.shared
        try:
            signal.alarm(case.seconds * D.SLOW)
            try:
                case.fn(d)
                if not d.ended:
                    d.prove()
                    d.check_idle()
            finally:
                signal.alarm(0)
            if own:
                d.stop()
        except Skip:
            raise
        except BaseException:
            print('# --- the daemon said at the end:')
            _comment(d.tail())
            if not own:
                # The next test must not inherit a broken one.
                self.shared = None
            raise
        finally:
            if own or self.shared is None:
                d.remove()

    def run_together(self, cases):
        """All of them at once; then each is asked for its result by run()."""
        if self.shared is None:
            self.shared = self._start(self.conf)
        outcome = {}

        def one(case):
            try:
                case.fn(self.shared)
            except Exception as e:
                outcome[case] = e

        threads = [threading.Thread(target=one, args=(c,), daemon=True) for c in cases]
        for t in threads:
            t.start()
        for t, c in zip(threads, cases):
            t.join(c.seconds * D.SLOW)
            if t.is_alive():
                outcome.setdefault(c, TookTooLong('the test itself ran out of time'))
        for c in cases:
            c.fn = functools.partial(self._retell, outcome.get(c))

    @staticmethod
    def _retell(outcome, d):
        if outcome is not None:
            raise outcome

    def run(self, case, n):
        title = '%s (%s)' % (case.name, ', '.join(case.ids)) if case.ids else case.name
        try:
            self._once(case, case.conf is not None or case.fresh)
            print('ok %d - %s' % (n, title))
        except Skip as e:
            print('ok %d - %s # SKIP %s' % (n, title, e))
        except Exception:
            self.failed += 1
            _comment(traceback.format_exc(limit=-6))
            print('not ok %d - %s' % (n, title))
        sys.stdout.flush()

    def close(self, n):
        """The shared daemon's end counts as a test: exit 0 and no sanitizer report."""
        if self.shared is None:
            return
        try:
            self._end(self.shared)
            print('ok %d - the daemon stops in order' % n)
        except Exception as e:
            self.failed += 1
            _comment(str(e))
            print('not ok %d - the daemon stops in order' % n)


def main(conf=None):
    """Runs the file's tests; arguments: globs of names to run."""
    globs = sys.argv[1:]
    cases = [c for c in TESTS if not globs or any(fnmatch.fnmatch(c.name, '*%s*' % g) for g in globs)]
    if not os.access(D.SLUICED, os.X_OK):
        print('Bail out! %s is not built' % D.SLUICED)
        sys.exit(1)
    signal.signal(signal.SIGALRM, _alarm)
    runner = Runner(conf)
    cases.sort(key=lambda c: c.together)
    for n, case in enumerate(cases, 1):
        if case.together and (n == 1 or not cases[n - 2].together):
            runner.run_together(cases[n - 1:])
        runner.run(case, n)
    stops = runner.shared is not None
    runner.close(len(cases) + 1)
    print('1..%d' % (len(cases) + stops))
    sys.exit(1 if runner.failed else 0)
