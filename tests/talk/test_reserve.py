#!/usr/bin/python3
"""Persistent reservations as clusters use them: identity, conflicts, attentions, PREEMPT AND ABORT, a restart."""
import os
import struct
import time

import config
import initiator as I
import scsi as S
import tap
from daemon import SLOW, eventually
from slowdisk import SlowDisk

T, OTHER = config.TARGET, config.IQN + 'other'
A, B, C = (config.IQN + n for n in 'abc')
KA, KB, KC = 0xa0a0a0a0a0a0a0a0, 0xb, 0xc
REGISTER, RESERVE, RELEASE, CLEAR, PREEMPT, PREEMPT_ABORT, IGNORE, MOVE, REPLACE = range(9)
WE, EA, WE_RO, EA_RO, WE_AR, EA_AR = 1, 3, 5, 6, 7, 8
APTPL, ALL_TG_PT, SPEC_I_PT = 1, 4, 8
RES_PREEMPTED, RES_RELEASED, REG_PREEMPTED = (6, 0x2a, 3), (6, 0x2a, 4), (6, 0x2a, 5)
LENGTH, PARAM, RELEASE_WRONG = (5, 0x1a, 0), (5, 0x26, 0), (5, 0x26, 4)
FULL_OF_KEYS, INTERNAL = (5, 0x55, 4), (4, 0x44, 0)


def two_targets(**more):
    return config.base(targets=[config.target(luns=('ram', 'file')),
                                config.target(OTHER, luns={7: 'ram', 8: 'file'})], reactors=4, **more)


def out(s, action, key=0, service=0, type=0, flags=0, lun=0, more=b'', length=None, scope=0):
    data = struct.pack('>QQ4xB3x', key, service, flags) + more
    n = len(data) if length is None else length
    return s.cmd(struct.pack('>BBBxxIx', 0x5f, action, scope << 4 | type, n), write=data, lun=lun)


def prin(s, action, alloc=65535, lun=0):
    t = S.good(s.cmd(struct.pack('>BBxxxxxHx', 0x5e, action, alloc), read=alloc, lun=lun))
    return bytes(t.data)


def keys(s, lun=0):
    """Generation and keys."""
    data = prin(s, 0, lun=lun)
    gen, length = struct.unpack_from('>II', data)
    assert len(data) == 8 + length, data.hex()
    return gen, list(struct.unpack('>%dQ' % (length // 8), data[8:]))


def reservation(s, lun=0):
    """(key, type), or None."""
    data = prin(s, 1, lun=lun)
    if len(data) == 8:
        return None
    assert len(data) == 24
    return struct.unpack_from('>Q', data, 8)[0], data[21]


def full(s, lun=0):
    """{initiator port: (key, holds, type, relative port)}"""
    data, at, found = prin(s, 3, lun=lun), 8, {}
    while at < len(data):
        key, = struct.unpack_from('>Q', data, at)
        port, = struct.unpack_from('>H', data, at + 18)
        n, = struct.unpack_from('>I', data, at + 20)
        tid = data[at + 24:at + 24 + n]
        assert tid[0] == 0x45 and struct.unpack_from('>H', tid, 2)[0] == n - 4
        name = tid[4:].rstrip(b'\0').decode()
        found[name, port] = key, bool(data[at + 12] & 1), data[at + 13] & 15
        at += 24 + n
    assert struct.unpack_from('>I', data, 4)[0] == len(data) - 8
    return found


def tid(name, isid):
    text = ('%s,i,0x%s' % (name, isid.hex())).encode() + b'\0'
    text += bytes(-len(text) % 4)
    return b'\x45\0' + struct.pack('>H', len(text)) + text


def login(d, name, isid=None, target=T, lun=0):
    return d.login(target=target, name=name, isid=isid, lun=lun)


def conflict(t):
    assert t.status == S.CONFLICT, repr(t)
    assert not t.data


def reads(s, ok, lun=0):
    t = s.cmd(S.read16(0, 1), read=512, lun=lun)
    S.good(t) if ok else conflict(t)


def writes(s, ok, lun=0):
    t = s.cmd(S.write16(0, 1), write=S.pattern(0, 1, 1), lun=lun)
    S.good(t) if ok else conflict(t)


def wipe(d, lun=0):
    """Nobody is registered any more."""
    s = login(d, config.IQN + 'broom', lun=lun)
    S.good(out(s, IGNORE, service=1, lun=lun))
    S.good(out(s, CLEAR, 1, lun=lun))
    s.logout()


def clean(fn):
    def run(d, *more):
        try:
            fn(d, *more)
        finally:
            if d.alive():
                wipe(d)
    return run


@tap.variants([('%d' % t, t) for t in (WE, EA, WE_RO, EA_RO, WE_AR, EA_AR)],
              'a reservation of type %s stops whom it must, on every reactor', 'K32', 'SPC-4 5.13.1')
@clean
def kinds(d, kind):
    a, b, c = (login(d, n) for n in (A, B, C))
    S.good(out(a, REGISTER, 0, KA))
    S.good(out(b, REGISTER, 0, KB))
    S.good(out(a, RESERVE, KA, type=kind))
    assert reservation(c) == (0 if kind in (WE_AR, EA_AR) else KA, kind)
    only_writes = kind in (WE, WE_RO, WE_AR)
    for s, registered in (a, True), (b, kind not in (WE, EA)), (c, False):
        reads(s, registered or only_writes)
        writes(s, registered)
        for cdb, n in (S.inquiry(), 255), (S.capacity16(), 32), (S.report_luns(), 1024), (S.TUR, 0), \
                (S.request_sense(), 252):
            S.good(s.cmd(cdb, read=n))
        S.good(s.cmd(b'\x1b\0\0\0\1\0'))
        stop = s.cmd(b'\x1b\0\0\0\4\0')
        S.good(stop) if registered else conflict(stop)
    for s in (a, b, c):
        s.logout()


@tap.test('who is registered: READ KEYS, READ FULL STATUS, by initiator port and target port', 'K32', 'SPC-4 6.13')
@clean
def status(d):
    a, a2, b = login(d, A, b'\x80\0\0\0\0\1'), login(d, A, b'\x80\0\0\0\0\2'), login(d, B, b'\x80\0\0\0\0\3', OTHER, 7)
    gen = keys(a)[0]
    S.good(out(a, REGISTER, 0, KA))
    S.good(out(b, REGISTER, 0, KB, lun=7))
    S.good(out(a2, REGISTER, 0, KA))
    S.good(out(b, RESERVE, KB, type=EA_RO, lun=7))
    assert keys(a) == (gen + 3, [KA, KB, KA])
    assert full(a2) == {(A + ',i,0x800000000001', 1): (KA, False, 0), (A + ',i,0x800000000002', 1): (KA, False, 0),
                        (B + ',i,0x800000000003', 2): (KB, True, EA_RO)}
    # K29: the ISID is part of who it is; its own key can be preempted.
    a.logout()
    a3 = login(d, A, b'\x80\0\0\0\0\4')
    reads(a3, False)
    conflict(out(a3, PREEMPT, KA, KA, type=EA_RO))
    S.good(out(a3, REGISTER, 0, KA))
    S.good(out(a3, PREEMPT, KA, KA, type=EA_RO))
    assert sorted(keys(a3)[1]) == [KB, KA] if KB < KA else True
    assert len(full(a3)) == 2, full(a3)
    S.check(a2.cmd(S.TUR), REG_PREEMPTED)
    a = login(d, A, b'\x80\0\0\0\0\1')
    reads(a, False)
    for s in (a, a2, a3, b):
        s.logout()


@tap.test('REPORT CAPABILITIES tells the truth, allocation lengths cut, unknown actions are refused', 'SPC-4 6.13.4')
@clean
def capabilities(d):
    s = login(d, A)
    assert prin(s, 2) == bytes((0, 8, 0x9d, 0xb0, 0xea, 0x01, 0, 0))
    S.good(out(s, REGISTER, 0, KA, flags=APTPL))
    assert prin(s, 2)[3] == 0xb1
    S.good(out(s, REGISTER, KA, KA))
    assert prin(s, 2)[3] == 0xb0
    for action in range(4):
        for n in (0, 1, 7, 8, 9, 15):
            whole = prin(s, action)
            assert prin(s, action, n) == whole[:n]
    for op, actions in (0x5e, range(4, 32)), (0x5f, range(9, 32)):
        for action in actions:
            t = s.cmd(struct.pack('>BBxxxxxHx', op, action, 24), **({'read': 24} if op == 0x5e else {'write': bytes(24)}))
            S.check(t, S.INVALID_FIELD)
            assert t.sense[15:18] == b'\xcc\0\1', t.sense.hex()
    s.logout()


@tap.test('parameter lists of wrong lengths are refused, whatever the action', 'K26', 'SPC-4 6.14.3')
@clean
def lengths(d):
    s = login(d, A)
    S.good(out(s, REGISTER, 0, KA))
    gen = keys(s)[0]
    for action in range(9):
        for n in (0, 1, 23, 0x10000, 0xffffffff):
            S.check(s.cmd(struct.pack('>BBBxxIx', 0x5f, action, WE, n), write=bytes(64)), LENGTH)
        if action not in (MOVE, REPLACE):
            for more in (1, 4, 24, 4096):
                S.check(out(s, action, KA, 0, type=WE, more=bytes(more)), LENGTH)
    # Lists that lie about themselves or the names in them.
    good = tid(B, b'\x80\0\0\0\0\1')
    for flags, lst, sense in (
            (SPEC_I_PT, b'', LENGTH), (SPEC_I_PT, b'\0\0\0\4', LENGTH),
            (SPEC_I_PT, struct.pack('>I', 4096) + good, LENGTH),
            (SPEC_I_PT, struct.pack('>I', 20) + good[:20], PARAM),
            (SPEC_I_PT, struct.pack('>I', len(good)) + b'\x05' + good[1:], PARAM),
            (SPEC_I_PT, struct.pack('>I', len(good)) + b'\x46' + good[1:], PARAM),
            (SPEC_I_PT, struct.pack('>I', len(good)) + good[:2] + b'\xff\xfc' + good[4:], PARAM),
            (SPEC_I_PT, struct.pack('>I', len(good)) + good[:2] + b'\0\x14' + good[4:], PARAM),
            (SPEC_I_PT, struct.pack('>I', len(good)) + good[:-8] + b'zzzzzzzz', PARAM)):
        S.check(out(s, REGISTER, KA, KA, flags=flags, more=lst), sense)
    S.check(out(s, IGNORE, 0, KA, flags=SPEC_I_PT, more=struct.pack('>I', len(good)) + good), PARAM)
    assert keys(s) == (gen, [KA])
    for kind in (0, 2, 4, 9, 15):
        S.check(out(s, RESERVE, KA, type=kind), S.INVALID_FIELD)
    S.check(out(s, RESERVE, KA, type=WE, scope=2), S.INVALID_FIELD)
    S.check(out(s, REPLACE, KA, KA, type=WE), S.INVALID_FIELD)
    s.logout()


@tap.test('attentions: released, preempted, cleared; none to who did it', 'K32', 'SPC-4 5.13.11')
@clean
def attentions(d):
    a, b, c = (login(d, n) for n in (A, B, C))
    for s, k in (a, KA), (b, KB):
        S.good(out(s, REGISTER, 0, k))
    for kind in WE_RO, EA_RO, WE_AR, EA_AR:
        S.good(out(a, RESERVE, KA, type=kind))
        S.check(out(a, RELEASE, KA, type=WE), RELEASE_WRONG)
        S.good(out(a, RELEASE, KA, type=kind))
        S.check(b.cmd(S.TUR), RES_RELEASED)
        for s in (a, b, c):
            S.alive(s)
    # Of one's own, nobody else learns.
    S.good(out(a, RESERVE, KA, type=EA))
    S.good(out(a, RELEASE, KA, type=EA))
    S.alive(b)
    # A holder that leaves.
    S.good(out(a, RESERVE, KA, type=EA_RO))
    S.good(out(a, REGISTER, KA, 0))
    S.check(b.cmd(S.TUR), RES_RELEASED)
    S.good(out(a, REGISTER, 0, KA))
    # Preempted: the type changes for who stays.
    S.good(out(c, REGISTER, 0, KC))
    S.good(out(a, RESERVE, KA, type=EA_RO))
    S.good(out(b, PREEMPT, KB, KA, type=WE_RO))
    S.check(a.cmd(S.TUR), REG_PREEMPTED)
    S.check(c.cmd(S.TUR), RES_RELEASED)
    S.alive(b)
    S.good(out(b, CLEAR, KB))
    S.check(c.cmd(S.TUR), RES_PREEMPTED)
    for s in (a, b, c):
        S.alive(s)
        assert keys(s)[1] == []
        s.logout()


@tap.test('ALL_TG_PT and SPEC_I_PT register others, REGISTER AND MOVE hands on', 'SPC-4 6.14.3, 6.14.4')
@clean
def others(d):
    isid = b'\x80\0\0\0\0\7'
    a, b = login(d, A), login(d, B, isid)
    S.good(out(a, REGISTER, 0, KA, flags=ALL_TG_PT))
    assert len(keys(a)[1]) == 2 and {p for _, p in full(a)} == {1, 2}
    other = login(d, A, a.isid, OTHER, 7)
    S.good(out(other, RESERVE, KA, type=EA, lun=7))
    conflict(out(a, RESERVE, KA, type=EA))
    S.good(out(other, RELEASE, KA, type=EA, lun=7))
    lst = tid(B, isid) + tid(C, isid)
    S.good(out(a, REGISTER, KA, KA, flags=SPEC_I_PT, more=struct.pack('>I', len(lst)) + lst))
    assert (C + ',i,0x800000000007', 1) in full(a)
    S.good(out(a, RESERVE, KA, type=EA))
    move = struct.pack('>QQxBHI', KA, KB, 2, 1, len(tid(B, isid))) + tid(B, isid)
    cdb = struct.pack('>BBBxxIx', 0x5f, MOVE, 0, len(move))
    S.check(a.cmd(cdb, write=move[:18] + b'\0\x63' + move[20:]), PARAM)
    S.good(a.cmd(cdb, write=move))
    assert full(b)[B + ',i,0x800000000007', 1] == (KB, True, EA)
    reads(a, False)
    reads(b, True)
    for s in (a, b, other):
        s.logout()


@tap.test('one initiator cannot fill the list with ISIDs', 'K29')
@clean
def bounded(d):
    for n in range(129):
        s = d.login(target=T, name=A, isid=struct.pack('>BHBH', 0x80, 7, 0, n))
        t = out(s, REGISTER, 0, KA)
        S.good(t) if n < 128 else S.check(t, FULL_OF_KEYS)
        s.logout()
    b = login(d, B)
    S.good(out(b, REGISTER, 0, KB))
    assert len(full(b)) == 129
    b.logout()


@tap.test('RESERVE and RELEASE of SPC-2: for oneself, until a reset or the end of the session', 'K32', 'SPC-2 5.5.1')
@clean
def spc2(d):
    reserve, release = b'\x16\0\0\0\0\0', b'\x17\0\0\0\0\0'
    a, b = login(d, A), login(d, B)
    S.good(a.cmd(reserve))
    S.good(a.cmd(reserve))
    conflict(b.cmd(reserve))
    conflict(b.cmd(S.TUR))
    conflict(out(b, REGISTER, 0, KB))
    reads(b, False)
    S.good(b.cmd(S.inquiry(), read=255))
    S.good(b.cmd(release))
    reads(b, False)
    reads(a, True)
    S.good(a.cmd(release))
    reads(b, True)
    S.good(a.cmd(struct.pack('>B9x', 0x56)))
    assert b.tmf(S.LUN_RESET) == 0
    S.settle(a)
    S.settle(b)
    reads(b, True)
    S.good(a.cmd(reserve))
    a.logout()
    eventually('the reservation outlives the session', lambda: b.cmd(S.TUR).status != S.GOOD, 5)
    # With registrations it does nothing.
    S.good(out(b, REGISTER, 0, KB))
    S.good(b.cmd(reserve))
    a = login(d, A)
    conflict(a.cmd(reserve))
    reads(a, True)
    a.logout()
    b.logout()


@tap.test('kept over kill -9: keys, holder, type, generation, before anybody logs in', 'K28', 'SPC-4 5.13.5',
          fresh=True)
def kept(d):
    a, b = login(d, A, b'\x80\0\0\0\0\1'), login(d, B, b'\x80\0\0\0\0\2')
    S.good(out(a, REGISTER, 0, KA, flags=APTPL))
    S.good(out(b, REGISTER, 0, KB, flags=APTPL))
    S.good(out(a, RESERVE, KA, type=WE_RO))
    before = keys(a), reservation(a), full(a)
    d.kill()
    d.start()
    c = login(d, C)
    assert (keys(c), reservation(c), full(c)) == before
    writes(c, False)
    reads(c, True)
    a = login(d, A, b'\x80\0\0\0\0\1')
    writes(a, True)
    # Without APTPL the next start knows nothing.
    S.good(out(a, REGISTER, KA, KA))
    d.kill()
    d.start()
    c = login(d, C)
    assert keys(c) == (0, []) and reservation(c) is None
    writes(c, True)
    c.logout()


@tap.test('what cannot be written is not GOOD and did not happen; what cannot be read lets nobody in', 'K28',
          fresh=True)
def not_kept(d):
    state = os.path.join(d.tmp, 'state')
    a = login(d, A, b'\x80\0\0\0\0\1')
    S.good(out(a, REGISTER, 0, KA))
    os.rename(state, state + '.away')
    with open(state, 'w'):
        pass
    S.check(out(a, REGISTER, KA, KB, flags=APTPL), INTERNAL)
    assert keys(a) == (1, [KA])
    os.unlink(state)
    os.rename(state + '.away', state)
    S.good(out(a, REGISTER, KA, KB, flags=APTPL))
    S.good(out(a, RESERVE, KB, type=EA))
    assert 'cannot be written' in d.stderr()
    d.mark()
    d.kill()
    name, = [n for n in os.listdir(state) if n.startswith('pr-')]
    with open(os.path.join(state, name), 'r+') as f:
        f.truncate(40)
    d.start()
    assert 'cannot be read' in d.stderr()
    d.mark()
    a = login(d, A, b'\x80\0\0\0\0\1')
    reads(a, False)
    S.good(a.cmd(S.inquiry(), read=255))
    S.good(out(a, REPLACE, 0, KC, type=EA, flags=APTPL))
    reads(a, True)
    b = login(d, B)
    reads(b, False)
    S.good(out(a, CLEAR, KC))
    reads(b, True)
    a.logout()
    b.logout()


slow = []


def slow_conf():
    if not slow:
        slow.append(SlowDisk())
    out = config.base(targets=[config.target(luns=('slow',))])
    out['adapters'] = [{'name': 'hba', 'can_queue': 64, 'disks': [
        {'name': 'slow', 'driver': 'file', 'path': slow[0].path}]}]
    return out


@tap.test('PREEMPT AND ABORT is GOOD only when no task of the victim can write', 'K32', 'SPC-4 5.13.11.2.6',
          conf=slow_conf, seconds=90)
def preempt_abort(d):
    disk = slow[0]
    try:
        a, b = login(d, A), login(d, B)
        S.good(out(a, REGISTER, 0, KA))
        S.good(out(b, REGISTER, 0, KB))
        S.good(out(b, RESERVE, KB, type=WE_RO))
        disk.hold('write')
        w = [b.start(S.write16(8 * i, 8), write=S.pattern(8 * i, 8, 9)) for i in range(4)]
        disk.wait_parked(1)
        p = a.start(struct.pack('>BBBxxIx', 0x5f, PREEMPT_ABORT, WE_RO, 24), write=struct.pack('>QQ8x', KA, KB))
        end = time.monotonic() + 1
        while time.monotonic() < end:
            if a.readable(0.05):
                a.next_pdu()
            assert not p.done, 'answered while the disk has a write of the victim'
        disk.reset()
        a.wait(p, timeout=10 * SLOW)
        S.good(p)
        after = S.read(a, 0, 32)
        S.check(b.cmd(S.TUR), REG_PREEMPTED)
        for t in w:
            assert not t.done, 'answered: %r' % t
            b.tasks.pop(t.itt, None)
        time.sleep(0.3)
        assert S.read(a, 0, 32) == after, 'a write of the victim landed after GOOD'
        writes(b, False)
        a.logout()
        b.logout()
    finally:
        disk.reset()


if __name__ == '__main__':
    tap.main(two_targets())
