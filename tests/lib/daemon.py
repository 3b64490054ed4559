"""Starts sluiced on a configuration of its own, watches it, and proves that it is as it was before."""
import ctypes
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import config
import scsi
from initiator import Session

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(TOP, os.environ.get('SLUICE_BUILD', 'build'))
SLUICED = os.path.join(BUILD, 'sluiced')
SLUICECTL = os.path.join(BUILD, 'sluicectl')
ALARMS = ('ERROR: AddressSanitizer', 'runtime error:', 'WARNING: ThreadSanitizer',
          'ERROR: LeakSanitizer', 'Assertion', 'AddressSanitizer:DEADLYSIGNAL')
_libc = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1
# Sanitizers make everything slower; waits that are no demand grow with them.
SLOW = 4 if re.search(r'asan|tsan', BUILD) else 1


def alarms(text):
    """The lines of a log that a sanitizer or an assert wrote."""
    return [line for line in text.splitlines() if any(a in line for a in ALARMS)]


def free_port():
    """A port that nobody listens on, outside what the kernel hands to clients if it can be had."""
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def eventually(what, check, seconds):
    """Repeats check() until it returns nothing; then what is left is a failure."""
    deadline = time.monotonic() + seconds
    while True:
        left = check()
        if not left:
            return
        if time.monotonic() > deadline:
            raise AssertionError('%s after %g s: %s' % (what, seconds, left))
        time.sleep(0.02)


class ControlError(Exception):
    """The daemon's refusal of a verb."""


class Daemon:
    """One sluiced. conf: a dict for config.dump, or YAML text."""

    def __init__(self, conf=None, preexec=None, wait=True):
        self.tmp = tempfile.mkdtemp(prefix='d', dir=os.environ.get('TMPDIR'))
        self.conf = conf if conf is not None else config.base()
        self.preexec = preexec
        self.proc = None
        self.ended = False      # a test ended it on purpose
        self.ports = {}
        os.mkdir(os.path.join(self.tmp, 'state'))
        if wait:
            self.start()

    # -- life --

    def _fill(self, text):
        def place(match):
            word = match.group(1)
            if word == 'TMP':
                return self.tmp
            if word not in self.ports:
                self.ports[word] = free_port()
            return str(self.ports[word])
        return re.sub(r'@(TMP|PORT\d*)@', place, text)

    def _before_exec(self):
        # A test that is killed takes its daemon with it.
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if self.preexec:
            self.preexec()

    def write_conf(self):
        text = self.conf if isinstance(self.conf, str) else config.dump(self.conf)
        self.path = os.path.join(self.tmp, 'sluice.yaml')
        with open(self.path, 'w') as f:
            f.write(self._fill(text))
        return self.path

    def start(self, args=(), timeout=10):
        """Until `ready`; a port that somebody else just took is replaced and tried again."""
        for again in range(5):
            self.write_conf()
            self.log_path = os.path.join(self.tmp, 'stderr')
            self.log = open(self.log_path, 'a')
            self.log_from = self.log.tell()
            self.proc = subprocess.Popen(
                [SLUICED, '-c', self.path, *args], stdout=subprocess.PIPE, stderr=self.log,
                stdin=subprocess.DEVNULL, preexec_fn=self._before_exec, cwd=self.tmp)
            os.set_blocking(self.proc.stdout.fileno(), False)
            out, deadline = b'', time.monotonic() + timeout * SLOW
            while b'ready\n' not in out and self.proc.poll() is None:
                assert time.monotonic() < deadline, 'not ready after %d s:\n%s' % (timeout, self.tail())
                out += self.proc.stdout.read() or b''
                time.sleep(0.005)
            if self.proc.poll() is None:
                break
            if self.proc.returncode == 2 and 'in use' in self.tail() and again < 4 and self.ports:
                self.ports.clear()
                continue
            raise AssertionError('sluiced exits %s at start:\n%s' % (self.proc.returncode, self.tail()))
        self.idle_fds = self.fds()
        self.idle_memory = self.ctl('status')['memory']['used']
        return self

    @property
    def pid(self):
        return self.proc.pid

    @property
    def port(self):
        return self.ports['PORT']

    @property
    def addr(self):
        return ('127.0.0.1', self.port)

    def alive(self):
        return self.proc is not None and self.proc.poll() is None

    def send_signal(self, sig):
        os.kill(self.pid, sig)

    def terminate(self, sig=signal.SIGTERM):
        """For tests that watch its end themselves."""
        self.ended = True
        self.send_signal(sig)

    def kill(self):
        """As a crash would: SIGKILL, nothing is said to anybody."""
        self.proc.kill()
        self.proc.wait()

    def stop(self, timeout=15):
        """SIGTERM; it must exit 0 in time with nothing to complain about."""
        if self.alive():
            self.send_signal(signal.SIGTERM)
        try:
            rc = self.proc.wait(timeout * SLOW)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError('still running %d s after SIGTERM:\n%s' % (timeout, self.tail())) from None
        self.check_log()
        assert rc == 0, 'exit %s after SIGTERM:\n%s' % (rc, self.tail())

    def remove(self):
        """Its folder goes; for after stop() or kill()."""
        if self.alive():
            self.kill()
        self.log.close()
        self.proc.stdout.close()
        shutil.rmtree(self.tmp, ignore_errors=True)

    # -- what it says --

    def stderr(self, since=0):
        with open(self.log_path, errors='replace') as f:
            f.seek(since)
            return f.read()

    def mark(self):
        """A place in the log, for stderr(since)."""
        return os.path.getsize(self.log_path)

    def tail(self, lines=25):
        return '\n'.join(self.stderr().splitlines()[-lines:])

    def check_log(self):
        bad = alarms(self.stderr())
        assert not bad, 'the daemon reports:\n%s' % '\n'.join(
            line for line in self.stderr().splitlines()[-60:])

    # -- what it is asked --

    def ctl(self, verb, **params):
        """One verb over the control socket; the result, or ControlError."""
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(10 * SLOW)
            s.connect(os.path.join(self.tmp, 'control.sock'))
            request = {'jsonrpc': '2.0', 'id': 1, 'method': verb}
            if params:
                request['params'] = params
            s.sendall(json.dumps(request).encode() + b'\n')
            buf = b''
            while not buf.endswith(b'\n'):
                more = s.recv(1 << 16)
                assert more, 'the control socket closes without an answer'
                buf += more
        answer = json.loads(buf)
        if 'error' in answer:
            raise ControlError(answer['error'].get('message', answer['error']))
        return answer['result']

    def rows(self, verb):
        """The array under the verb's own name."""
        return self.ctl(verb)[verb]

    def sluicectl(self, *args, timeout=10):
        """The program itself; a CompletedProcess with text."""
        return subprocess.run([SLUICECTL, '-s', os.path.join(self.tmp, 'control.sock'), *args],
                              capture_output=True, text=True, timeout=timeout * SLOW)

    def stat(self, name):
        return self.ctl('stats')[name]

    def fds(self):
        return len(os.listdir('/proc/%d/fd' % self.pid))

    def rss(self):
        """Resident bytes."""
        with open('/proc/%d/statm' % self.pid) as f:
            return int(f.read().split()[1]) * os.sysconf('SC_PAGE_SIZE')

    def cpu(self):
        """Seconds of processor time since its start."""
        with open('/proc/%d/stat' % self.pid) as f:
            fields = f.read().rsplit(')', 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')

    # -- rest --

    def busy(self):
        """What is not at its idle value, as text; nothing: idle."""
        left = []
        sessions = self.rows('sessions')
        if sessions:
            left.append('sessions: %r' % sessions)
        for node in self.rows('adapters'):
            if node.get('in_flight') or node.get('waiting'):
                left.append('slots: %r' % node)
        used = self.ctl('status')['memory']['used']
        if used != self.idle_memory:
            left.append('%d bytes of data memory in use, %d when idle' % (used, self.idle_memory))
        if not left and self.fds() > self.idle_fds:
            left.append('%d descriptors, %d when idle: %s' % (self.fds(), self.idle_fds, self.fd_list()))
        return left

    def fd_list(self):
        folder = '/proc/%d/fd/' % self.pid
        out = []
        for fd in os.listdir(folder):
            try:
                out.append(fd + '=' + os.readlink(folder + fd))
            except OSError:
                pass
        return ' '.join(out)

    def check_idle(self, seconds=8):
        """The silent second half of every scenario: alive, quiet, nothing left behind."""
        assert self.alive(), 'sluiced died (%s):\n%s' % (self.proc.returncode, self.tail(40))
        self.check_log()
        eventually('not idle', self.busy, seconds * SLOW)

    def prove(self):
        """Strangers are still served: discovery works, and the first LUN of the usual target is ready."""
        s = Session(self.addr, name=config.IQN + 'prover')
        s.timeout *= SLOW
        s.login(discovery=True)
        text, _ = s.text({'SendTargets': 'All'})
        s.logout()
        if ('TargetName=%s\0' % config.TARGET).encode() not in text:
            return
        s = self.login(settle=False, name=config.IQN + 'prover')
        luns = scsi.good(s.cmd(scsi.report_luns(16384), read=16384)).data[8:16]
        if luns:
            scsi.settle(s, bytes(luns))
        s.logout()

    def login(self, keys=None, target=config.TARGET, settle=True, lun=0, **kw):
        """A session in full feature phase whose unit attentions are told."""
        login = {k: kw.pop(k) for k in ('chap', 'discovery', 'security') if k in kw}
        s = Session(kw.pop('addr', self.addr), target=target, **kw)
        s.timeout *= SLOW
        s.login(keys, **login)
        return scsi.settle(s, lun) if settle and not login.get('discovery') else s
