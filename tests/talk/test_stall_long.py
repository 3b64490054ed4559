#!/usr/bin/python3
"""The timers that end what does not move: half logins, missing data, output nobody takes."""
import time

import config
import initiator as I
import pdu as P
import scsi as S
import tap
from daemon import SLOW, eventually

T = config.TARGET


@tap.test('who reads nothing is dropped with megabytes queued', 'T18', 'O05', together=True)
def stuffed(d):
    s = d.login({'MaxRecvDataSegmentLength': '262144'}, target=T, rcvbuf=4096, name=config.IQN + 'stuffed')
    for n in range(16):
        s.start(S.read16(0, 2048), read=1 << 20)
    eventually('the session stays', lambda: [r for r in d.rows('sessions') if r['initiator'] == s.name], 45)
    s.close()


@tap.test('a write whose data never comes ends', 'D11', 'T18', together=True)
def missing_data(d):
    s = d.login({'InitialR2T': 'No', 'ImmediateData': 'Yes'}, target=T)
    t = s.start(S.write16(0, 16), write=bytes(8192), imm=512, final=False, auto=False)
    r = s.start(S.write16(64, 16), write=bytes(8192), imm=0, auto=False)
    s.wait_r2t(r)
    try:
        s.wait(t, r, timeout=50)
        for task in t, r:
            assert task.status == S.CHECK and task.skq[0] == 11, repr(task)
        S.alive(s)
        s.logout()
    except I.Eof:
        pass


@tap.test('200 half logins hinder nobody and are closed in time', 'L18', 'O09', together=True)
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
    tap.main(config.base())
