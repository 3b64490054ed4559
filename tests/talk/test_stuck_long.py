#!/usr/bin/python3
"""A disk that stalls: no protocol step waits for it without bound, and no late write does harm."""
import time

import config
import initiator as I
import pdu as P
import scsi as S
import tap
from daemon import SLOW, eventually
from slowdisk import SlowDisk

T = config.TARGET
NO = {'InitialR2T': 'Yes', 'ImmediateData': 'No'}
disks = []
# What an answer to task management or a new login may take: TMF_WAIT_NS and some air.
BOUND = 5 + 3 * SLOW
TINY = 2


def conf():
    """LUN 0 stalls, LUN 1 is RAM; LUN 2 stalls behind an adapter of four slots."""
    while len(disks) < 2:
        disks.append(SlowDisk())
    out = config.base(targets=[config.target(luns=('slow', 'ram', 'tiny'))])
    out['adapters'] = [
        {'name': 'hba', 'can_queue': 256, 'disks': [
            {'name': 'slow', 'driver': 'file', 'path': disks[0].path},
            {'name': 'ram', 'driver': 'ram', 'size': '64M'}]},
        {'name': 'small', 'can_queue': 4, 'target_depth': 4, 'lun_depth': 4, 'disks': [
            {'name': 'tiny', 'driver': 'file', 'path': disks[1].path}]},
    ]
    return out


def stuck(n=0):
    """Marks a test: gets (daemon, disk), and the disk is healthy again afterwards."""
    def mark(fn):
        def run(d):
            try:
                fn(d, disks[n])
            finally:
                disks[n].reset()
        return run
    return mark


def in_flight(d, disk):
    """Commands that the adapter of this disk holds."""
    name = 'hba' if disk is disks[0] else 'small'
    row, = [r for r in d.rows('adapters') if r['adapter'] == name and r['kind'] == 'host']
    return row['in_flight']


def writes(d, s, disk, n, lun=0, first=0, seed=1, slots=None):
    """
    n writes of 4 KiB, all with the driver (or as many as there are slots). The
    kernel sends the writes of one file one after the other: one is at the disk.
    """
    want = in_flight(d, disk) + (slots or n)
    tasks = [s.start(S.write16(first + 8 * i, 8), write=S.pattern(first + 8 * i, 8, seed), lun=lun)
             for i in range(n)]
    deadline = time.monotonic() + 5 * SLOW
    while not disk.parked or in_flight(d, disk) < want:
        assert time.monotonic() < deadline, '%d parked, %d of %d in flight' % (
            len(disk.parked), in_flight(d, disk), want)
        if s.readable(0.01):
            s.next_pdu()
    assert in_flight(d, disk) == want
    return tasks


@tap.test('the disk that stalls is a disk when it does not', 'T08')
@stuck()
def healthy(d, disk):
    s = d.login(target=T)
    data = S.pattern(0, 128, 3)
    S.write(s, 0, data)
    assert S.read(s, 0, 128) == data and bytes(disk.data[:65536]) == data
    s.logout()


@tap.test('a client gone with a write at a dead disk can log in again', 'T08', 'L19', 'T07')
@stuck()
def relogin(d, disk):
    disk.hold('write')
    isid = I.new_isid()
    s = d.login(target=T, isid=isid)
    writes(d, s, disk, 4)
    s.reset()
    began = time.monotonic()
    other = d.login(target=T, name=config.IQN + 'other', lun=1)
    assert time.monotonic() - began < 1 * SLOW, 'another initiator waits for the dead disk'
    again = I.Session(d.addr, target=T, isid=isid, timeout=BOUND + 5)
    again.login()
    assert time.monotonic() - began < BOUND, 'the login took %.1f s' % (time.monotonic() - began)
    S.settle(again)
    S.settle(again, 1)
    assert S.read(again, 0, 8, lun=1) is not None
    disk.release()
    S.alive(again)
    again.logout()
    other.logout()


@tap.test('reinstatement while a write is at a dead disk is bounded, and the write is fenced', 'T07', 'L19', 'T12')
@stuck()
def reinstate(d, disk):
    disk.hold('write', count=1)
    isid = I.new_isid()
    s = d.login(target=T, isid=isid)
    writes(d, s, disk, 1)
    began = time.monotonic()
    again = I.Session(d.addr, target=T, isid=isid, timeout=BOUND + 5)
    again.login()
    assert time.monotonic() - began < BOUND
    S.settle(again)
    newer = again.start(S.write16(0, 8), write=S.pattern(0, 8, 2))
    again.expect_silence(0.3) if disk.parked else None
    disk.release()
    S.good(again.wait(newer))
    assert S.read(again, 0, 8) == S.pattern(0, 8, 2), 'the old write landed on the new one'
    s.wait_close(5)
    again.logout()


def aborted(s, disk, itt=None):
    """A write that is answered as aborted while the disk still has it."""
    disk.hold('write', count=1)
    t = s.start(S.write16(0, 8), write=S.pattern(0, 8, 1), itt=itt)
    disk.wait_parked(1)
    began = time.monotonic()
    assert s.tmf(S.ABORT_TASK, rtt=t.itt, ref_cmd_sn=s.cmd_sn - 1, timeout=BOUND + 5) == 0
    assert time.monotonic() - began < BOUND
    assert not t.done
    del s.tasks[t.itt]


@tap.test('the tag of an aborted write that the disk still has is free again', 'D18', 'RFC 7143 11.2.1.8')
@stuck()
def late_tag(d, disk):
    s = d.login(target=T)
    aborted(s, disk, itt=7)
    t = s.start(S.read16(512, 8), read=4096, itt=7)
    while not t.done:
        p = s.next_pdu()
        assert p.op != P.REJECT, 'rejected: %r' % p
    S.good(t)
    disk.release()
    s.expect_silence(0.2)
    assert s.exp_cmd_sn == s.cmd_sn
    s.logout()


@tap.test('a write that was aborted and comes late does not land on newer data', 'T12', 'SAM-5 7.2')
@stuck()
def late_write(d, disk):
    s = d.login(target=T)
    aborted(s, disk)
    # Other blocks are free; these are not until the disk has let go.
    S.good(s.cmd(S.read16(512, 8), read=4096))
    again = s.start(S.write16(0, 8), write=S.pattern(0, 8, 1))
    newer = s.start(S.write16(0, 8), write=S.pattern(0, 8, 2))
    time.sleep(0.5)
    disk.release()
    S.good(s.wait(again))
    S.good(s.wait(newer))
    got = S.read(s, 0, 8)
    # The two writes were outstanding together, so either may be last; the aborted one may not.
    order = [entry for entry in disk.log if entry[:2] == ('write', 0)]
    assert len(order) >= 3, order
    if got != S.pattern(0, 8, 2):
        assert got == S.pattern(0, 8, 1) and len(order) == 3
    S.write(s, 0, S.pattern(0, 8, 5))
    assert S.read(s, 0, 8) == S.pattern(0, 8, 5)
    s.expect_silence(0.2)
    s.logout()


@tap.test('a read of blocks with a late write waits for it', 'T12')
@stuck()
def late_read(d, disk):
    s = d.login(target=T)
    S.write(s, 0, S.pattern(0, 8, 3))
    aborted(s, disk)
    r = s.start(S.read16(4, 8), read=4096)
    s.expect_silence(0.3)
    disk.release()
    first = bytes(S.good(s.wait(r)).data)
    assert S.read(s, 4, 8) == first, 'a second read sees what the first did not'
    s.logout()


@tap.test('LUN RESET answers when the disk has given back all, not before', 'T26', 'SAM-5 7.7')
@stuck()
def reset_waits(d, disk):
    a, b = d.login(target=T), d.login(target=T, name=config.IQN + 'b')
    disk.hold('write')
    ta = writes(d, a, disk, 8)
    tb = writes(d, b, disk, 8, first=512)
    itt = a.tmf_start(S.LUN_RESET)
    a.expect_silence(0.5)
    disk.release()
    assert a.expect(P.TMF_RSP, itt, timeout=3 * SLOW).response == 0
    assert not any(t.done for t in ta + tb), 'a reset task answered'
    b.expect_silence(0.1)
    b.tasks.clear()
    a.tasks.clear()
    S.check(b.cmd(S.TUR), (6, 0x29, 3), (6, 0x29, 2), (6, 0x29, 0))
    S.alive(b)
    S.settle(a).logout()
    b.logout()


@tap.test('LUN RESET with a dead disk is answered in bounded time', 'T02', 'L19', 'T26')
@stuck()
def reset_bounded(d, disk):
    s = d.login(target=T)
    disk.hold('write')
    tasks = writes(d, s, disk, 8)
    began = time.monotonic()
    abort = s.tmf_start(S.ABORT_TASK, rtt=tasks[0].itt, ref_cmd_sn=tasks[0].itt)
    reset = s.tmf_start(S.LUN_RESET)
    for itt in abort, reset:
        assert s.expect(P.TMF_RSP, itt, timeout=BOUND + 5).response in (0, 1, 255)
    assert time.monotonic() - began < BOUND
    s.tasks.clear()
    S.settle(s)
    disk.release()
    S.alive(s)
    s.logout()


@tap.test('a TMF that waits, then its connection is gone', 'T09')
@stuck()
def tmf_gone(d, disk):
    for fn in (S.ABORT_TASK_SET, S.LUN_RESET):
        s = d.login(target=T)
        disk.hold('write')
        writes(d, s, disk, 4)
        s.tmf_start(fn)
        time.sleep(0.05)
        s.reset()
        time.sleep(0.05)
        disk.release()
        eventually('the session stays', lambda: d.rows('sessions'), BOUND)
        # The session goes first; the disk may still be giving its commands back.
        d.check_idle(BOUND)


@tap.test('32 commands at a dead disk, then RST: slots come back when the disk does', 'T28')
@stuck()
def slots(d, disk):
    for _ in range(3):
        s = d.login(target=T)
        disk.hold('write')
        disk.hold('read')
        writes(d, s, disk, 16)
        for i in range(16):
            s.start(S.read16(i * 8, 8), read=4096)
        eventually('not with the disk', lambda: in_flight(d, disk) < 32, 5)
        s.reset()
        time.sleep(0.1)
        assert in_flight(d, disk) == 32, 'slots were given back while the disk has the commands'
        disk.release()
        d.check_idle(BOUND + 5)


@tap.test('megabytes of reads at a dead disk do not make the connection deaf', 'T27', 'O05', 'T18')
@stuck()
def deaf(d, disk):
    s = d.login({'MaxRecvDataSegmentLength': '262144'}, target=T)
    disk.hold('read')
    for n in range(24):
        s.start(S.read16(0, 2048), read=1 << 20)
    disk.wait_parked(1)
    s.expect(P.NOP_IN, s.ping(b'hello'), timeout=2 * SLOW)
    itt = s.tmf_start(S.ABORT_TASK_SET)
    s.expect(P.NOP_IN, s.ping(b'still?'), timeout=2 * SLOW)
    disk.release()
    assert s.expect(P.TMF_RSP, itt, timeout=BOUND).response == 0
    s.tasks.clear()
    S.alive(s)
    disk.hold('read')
    for n in range(24):
        s.start(S.read16(0, 2048), read=1 << 20)
    disk.wait_parked(1)
    s.reset()
    eventually('its end is not noticed', lambda: d.rows('sessions'), 3 * SLOW)
    disk.release()


@tap.test('management needs no slot: all limits are used up', 'T27', 'O30')
@stuck(1)
def no_slot(d, disk):
    s = d.login(target=T, lun=TINY)
    disk.hold('write')
    tasks = writes(d, s, disk, 12, lun=TINY, slots=4)
    time.sleep(0.2)
    assert in_flight(d, disk) == 4
    began = time.monotonic()
    s.expect(P.NOP_IN, s.ping(b'hello'))
    assert S.good(s.cmd(S.inquiry(), read=255, lun=TINY)).data
    assert S.good(s.cmd(S.report_luns(), read=1024, lun=TINY)).data
    S.good(s.cmd(S.TUR, lun=TINY))
    # One that waits for a slot is aborted at once.
    assert s.tmf(S.ABORT_TASK, lun=TINY, rtt=tasks[-1].itt, ref_cmd_sn=s.cmd_sn - 4) == 0
    del s.tasks[tasks.pop().itt]
    assert time.monotonic() - began < 1 * SLOW, 'took %.1f s' % (time.monotonic() - began)
    other = d.login(target=T, name=config.IQN + 'other', lun=1)
    S.write(other, 0, S.pattern(0, 8), lun=1)
    disk.release()
    for t in s.wait(*tasks):
        S.good(t)
    s.logout()
    other.logout()


@tap.test('commands that waited for a slot run in the end, each once', 'T27', 'T13')
@stuck(1)
def waiters(d, disk):
    s = d.login(target=T, lun=TINY)
    del disk.log[:]
    disk.hold('write')
    tasks = writes(d, s, disk, 40, lun=TINY, seed=6, slots=4)
    disk.release()
    for t in s.wait(*tasks):
        S.good(t)
    done = sorted(e[1] for e in disk.log if e[0] == 'write')
    assert done == [4096 * i for i in range(40)], done
    assert S.read(s, 0, 320, lun=TINY) == S.pattern(0, 320, 6)
    s.logout()


def apart():
    """The same with disks of its own: another daemon has the others open."""
    global disks
    kept, disks[:] = list(disks), []
    out = conf()
    apart.disk = disks[0]
    disks[:] = kept
    return out


@tap.test('SIGTERM with a dead disk ends in bounded time', 'L19', 'R12', conf=apart)
def term(d):
    disk = apart.disk
    disk.hold('write')
    s = d.login(target=T)
    for i in range(4):
        s.start(S.write16(8 * i, 8), write=bytes(4096))
    disk.wait_parked(1)
    disk.interruptible = True       # the process' end reaches the disk
    began = time.monotonic()
    d.terminate()
    d.proc.wait(25 * SLOW)
    assert time.monotonic() - began < 20 * SLOW
    d.check_log()
    disk.close()
    s.close()


if __name__ == '__main__':
    tap.main(conf)
