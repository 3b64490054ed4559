#!/usr/bin/python3
"""The target's own pings: answered, answered wrong, never answered."""
import time

import config
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
        if p.op == P.NOP_IN and p.itt == P.NO_TAG:
            assert p.ttt != P.NO_TAG, repr(p)
            return p
        s.inbox.append(p)


ANSWERS = [
    ('right', {}), ('with a wrong tag', {'ttt': 0x5a5a5a5a}), ('with another LUN', {'lun': 5}),
    ('with a tag of its own', {'itt': 0x4242}),
]


@tap.test('answers to a ping, right and wrong, keep the session', 'D21', 'RFC 7143 11.18', together=True)
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


@tap.test('a ping takes no StatSN', 'D21', 'RFC 7143 11.19.1', together=True)
def no_stat_sn(d):
    s = d.login(target=T)
    before = s.exp_stat_sn
    for _ in range(2):
        p = wait_ping(s)
        assert p.stat_sn == before, repr(p)
        s.pong(p)
    S.alive(s)
    s.logout()


@tap.test('who never answers is dropped, with all he had', 'D21', 'T18', together=True)
def silent(d):
    s = d.login(NO, target=T, name=config.IQN + 'silent')
    t = s.start(S.write16(0, 8), write=bytes(4096), auto=False)
    s.wait_r2t(t)
    s.answer_pings = False
    began = time.monotonic()
    s.wait_close(8 * SLOW)
    assert time.monotonic() - began > 0.9, 'dropped before a ping could be answered'
    eventually('the session stays', lambda: [r for r in d.rows('sessions') if r['initiator'] == s.name], 2)


@tap.test('a busy session needs no ping', 'D21', together=True)
def busy(d):
    s = d.login(target=T)
    until = time.monotonic() + 3
    while time.monotonic() < until:
        S.alive(s)
        time.sleep(0.1)
    assert not [p for p in s.inbox if p.op == P.NOP_IN], 'pinged while it talked'
    s.logout()


@tap.test('who takes data slowly but steadily is not taken for dead', 'D21', 'RFC 7143 11.19')
def slow_reader(d):
    s = d.login({'MaxRecvDataSegmentLength': '262144'}, target=T, rcvbuf=16384)
    tasks = [s.start(S.read16(0, 2048), read=1 << 20) for _ in range(3)]
    # Longer than interval and timeout, though the ping stands behind all of it.
    until = time.monotonic() + 5
    while time.monotonic() < until:
        more = s.sock.recv(6000)
        assert more, 'closed while its data is being taken'
        s.buf += more
        time.sleep(0.03)
    s.wait(*tasks)
    S.alive(s)
    s.logout()


if __name__ == '__main__':
    tap.main(conf)
