#!/usr/bin/python3
"""A disk that never answers: the reactors turn, other disks serve, and a stop comes to its end all the same."""
import re
import signal
import time

import config
import scsi as S
import tap
from daemon import SLOW, eventually
from slowdisk import SlowDisk

T = config.TARGET
# The transports may take 10 s, the adapters 2 s more.
STOP = 12 + 3 * SLOW


def with_disk(fn):
    """A daemon whose LUN 0 is a SlowDisk of its own; fn(daemon, disk)."""
    made = []

    def conf(**disk):
        made.append(SlowDisk())
        out = config.base(targets=[config.target(luns=('slow', 'file'))])
        out['adapters'] = [{'name': 'hba', 'disks': [
            {'name': 'slow', 'driver': 'file', 'path': made[-1].path, **disk},
            {'name': 'file', 'driver': 'file', 'path': '@TMP@/file.img', 'size': '64M', 'create': True}]}]
        return out

    def run(d, *args):
        disk = made[-1]
        try:
            fn(d, disk, *args)
        finally:
            disk.close()
    return conf, run


def stop(d, disk, kept):
    """SIGTERM: exit 0 in bounded time, and one line names the disk with the number of requests it keeps."""
    disk.interruptible = True       # the end of the process reaches the disk
    began = time.monotonic()
    d.terminate(signal.SIGTERM)
    rc = d.proc.wait(STOP + 10)
    took = time.monotonic() - began
    assert rc == 0, 'exit %s:\n%s' % (rc, d.tail())
    assert took < STOP, 'the stop took %.1f s' % took
    d.check_log()
    said = re.findall(r'warning: disk (\S+): never gave back (\d+) requests', d.stderr())
    assert said == ([('slow', str(kept))] if kept else []), '%r, not %d:\n%s' % (said, kept, d.tail())
    return took


def in_flight(d):
    row, = [r for r in d.rows('adapters') if r['kind'] == 'lun' and r['name'] == 'slow']
    return row['in_flight']


def busy(d, disk, n):
    """Until n requests are with the driver and one at least with the disk."""
    eventually('not with the disk', lambda: in_flight(d) < n, 5 * SLOW)
    disk.wait_parked(1)


def flushes(s, d, disk):
    """IMMED: answered, and the disk is still at it; no command of the initiator holds it."""
    disk.hold('sync')
    S.good(s.cmd(bytes([0x35, 2]) + bytes(8)))
    busy(d, disk, 1)
    return 1


def commands(s, d, disk):
    """Reads and writes."""
    disk.hold('read')
    disk.hold('write')
    for i in range(3):
        s.start(S.write16(512 + 8 * i, 8), write=bytes(4096))
        s.start(S.read16(8 * i, 8), read=4096)
    busy(d, disk, 6)
    return 6


def end_logout(s):
    s.logout()


def end_reset(s):
    s.reset()
    time.sleep(0.2)


def end_none(s):
    pass


CASES = [('a flush that was answered, nobody logged in', flushes, end_logout),
         ('a flush that was answered, its session there', flushes, end_none),
         ('reads and writes of a client that is gone', commands, end_reset)]


def stuck(fill, end):
    def case(d, disk):
        s = d.login(target=T)
        kept = fill(s, d, disk)
        end(s)
        stop(d, disk, kept)
        s.close()
    return with_disk(case)


for name, fill, end in CASES:
    conf_of, run = stuck(fill, end)
    tap.test('SIGTERM with %s at a dead disk: exit 0, and the disk is named' % name, 'L19', 'R12',
             conf=conf_of)(run)


def late(d, disk):
    s = d.login(target=T)
    flushes(s, d, disk)
    s.logout()
    d.terminate(signal.SIGTERM)
    time.sleep(0.5)
    assert d.alive(), 'it did not wait for the disk'
    disk.release()
    assert d.proc.wait(5 * SLOW) == 0
    d.check_log()
    assert 'never gave back' not in d.stderr()


conf_of, run = with_disk(late)
tap.test('SIGTERM with a disk that answers late: it is waited for', 'R12', conf=conf_of)(run)


def goes_on(d, disk, cached):
    """Requests at the dead disk, of any kind; the other disk, new sessions and the control socket do not wait."""
    s = d.login(target=T)
    for kind in 'read', 'write', 'sync':
        disk.hold(kind)
    for i in range(16):
        s.start(S.read16(8 * i, 8), read=4096)
        s.start(S.write16(512 + 8 * i, 8), write=bytes(4096))
    # Without a write cache there is nothing to flush.
    s.start(S.sync10())
    busy(d, disk, 32 + cached)
    began = time.monotonic()
    for n in range(4):
        other = d.login(target=T, name=config.IQN + 'other', lun=1)
        S.write(other, 8 * n, S.pattern(8 * n, 8, n), lun=1)
        S.good(other.cmd(S.sync10(), lun=1))
        assert S.read(other, 8 * n, 8, lun=1) == S.pattern(8 * n, 8, n)
        other.logout()
        S.good(s.cmd(S.TUR, lun=0))
    assert time.monotonic() - began < 2 * SLOW, 'took %.1f s' % (time.monotonic() - began)
    assert 'does not turn' not in d.stderr()
    disk.release()
    s.wait(*s.tasks.values())
    s.logout()


for name, more in ('', {}), (' with O_DIRECT', {'direct': True}), (' written through', {'write_cache': False}):
    conf_of, run = with_disk(goes_on)
    cached = more.get('write_cache', True)
    tap.test('a dead disk%s keeps nobody else waiting' % name, 'T08', 'O30',
             conf=lambda conf_of=conf_of, more=more: conf_of(**more))(
                 lambda d, run=run, cached=cached: run(d, cached))


if __name__ == '__main__':
    tap.main()
