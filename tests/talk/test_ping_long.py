#!/usr/bin/python3
"""The target's own pings and the timers that end what does not move."""
import time

import config
import initiator as I
import pdu as P
import scsi as S
import tap
from daemon import SLOW, eventually

T = config.TARGET
NO = {'InitialR2T': 'Yes', 'ImmediateData': 'No'}


def conf():
    return config.base(targets=[config.target(iscsi={'nop_interval': '1s', 'nop_timeout': '1s'})])


def wait_ping(s, seconds=4):
    deadline = time.monotonic() + seconds * SLOW
    while True:
        p = s.recv(max(0, deadline - time.monotonic()))
        s._check_sn(p)
        if p.op == P.NOP_IN:
            assert p.itt == P.NO_TAG and p.ttt != P.NO_TAG, repr(p)
            assert p.lun is not None
            return p


ANSWERS = [
    ('right', {}), ('with a wrong tag', {'ttt': 0x5a5a5a5a}), ('with another LUN', {'lun': 5}),
    ('with a tag of its own', {'itt': 0x4242}),
]


@tap.test('answers to a ping, right and wrong, keep the session', 'D21', 'RFC 7143 11.18')
def answered(d):
    sessions = [(what, change, d.login(target=T)) for what, change in ANSWERS]
    for _ in range(2):
        for what, change, s in sessions:
            p = wait_ping(s)
            fields = dict(itt=P.NO_TAG, ttt=p.ttt, lun=bytes(p.lun), cmd_sn=s.cmd_sn, exp_stat_sn=s.exp_stat_sn)
            fields.update(change)
            s.send_pdu(P.NOP_OUT | P.IMMEDIATE, **fields)
    for what, change, s in sessions:
        t = s.cmd(S.TUR)
        assert t.status == S.GOOD, 'answered %s: %r' % (what, t)
        for p in s.inbox:
            assert p.op in (P.REJECT, P.NOP_IN), 'answered %s: %r' % (what, p)
        s.logout()


@tap.test('a ping takes no StatSN', 'D21', 'RFC 7143 11.19.1')
def no_stat_sn(d):
    s = d.login(target=T)
    before = s.exp_stat_sn
    for _ in range(2):
        p = wait_ping(s)
        assert p.stat_sn == before, repr(p)
        s.pong(p)
    S.alive(s)
    s.logout()


@tap.test('who never answers is dropped, with all he had', 'D21', 'T18')
def silent(d):
    s = d.login(NO, target=T)
    t = s.start(S.write16(0, 8), write=bytes(4096), auto=False)
    s.wait_r2t(t)
    s.answer_pings = False
    began = time.monotonic()
    s.wait_close(8 * SLOW)
    assert time.monotonic() - began > 0.9, 'dropped before a ping could be answered'
    eventually('the session stays', lambda: d.rows('sessions'), 2)


@tap.test('a busy session needs no ping', 'D21')
def busy(d):
    s = d.login(target=T)
    until = time.monotonic() + 3
    while time.monotonic() < until:
        S.alive(s)
        time.sleep(0.1)
    assert not [p for p in s.inbox if p.op == P.NOP_IN], 'pinged while it talked'
    s.logout()


@tap.test('who reads nothing is dropped with megabytes queued', 'T18', 'O05')
def stuffed(d):
    s = d.login({'MaxRecvDataSegmentLength': '262144'}, target=T, rcvbuf=4096)
    for n in range(16):
        s.start(S.read16(0, 2048), read=1 << 20)
    eventually('the session stays', lambda: d.rows('sessions'), 40)
    s.close()


@tap.test('a write whose data never comes ends', 'D11', 'T18', seconds=100)
def missing_data(d):
    s = d.login({'InitialR2T': 'No', 'ImmediateData': 'Yes'}, target=T)
    t = s.start(S.write16(0, 16), write=bytes(8192), imm=512, final=False, auto=False)
    r = s.start(S.write16(64, 16), write=bytes(8192), imm=0, auto=False)
    s.wait_r2t(r)
    try:
        s.wait(t, r, timeout=90)
        for task in t, r:
            assert task.status == S.CHECK and task.skq[0] == 11, repr(task)
        S.alive(s)
        s.logout()
    except I.Eof:
        pass


@tap.test('200 half logins hinder nobody and are closed in time', 'L18', 'O09', seconds=60)
def half_logins(d):
    header = P.bhs(P.LOGIN_REQ | 0x40, flags=0x87)
    idle = []
    for _ in range(200):
        c = I.Conn(d.addr)
        c.send(header[:20])
        idle.append(c)
    began = time.monotonic()
    s = d.login(target=T)
    assert time.monotonic() - began < 1 * SLOW, 'a login took %.1f s' % (time.monotonic() - began)
    began = time.monotonic()
    for c in idle:
        c.wait_close(max(1, 25 * SLOW - (time.monotonic() - began)))
        c.close()
        if s.readable():
            s.next_pdu()
    S.alive(s)
    s.logout()


if __name__ == '__main__':
    tap.main(conf)
