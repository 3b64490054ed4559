#!/usr/bin/python3
"""Pings, logout, SNACK, odd headers: the small PDUs of full feature phase."""
import struct
import time

import config
import initiator as I
import pdu as P
import scsi as S
import tap
from daemon import SLOW

T = config.TARGET
NO = {'InitialR2T': 'Yes', 'ImmediateData': 'No'}


@tap.variants([(n, n) for n in (0, 1, 3, 4096, 8192)], 'a ping of %d bytes comes back', 'D21', 'RFC 7143 11.18, 11.19')
def ping(d, n):
    s = d.login(target=T)
    data = bytes(i * 7 & 255 for i in range(n))
    for immediate in (True, False):
        p = s.expect(P.NOP_IN, s.ping(data, immediate=immediate))
        assert p.data == data and p.ttt == P.NO_TAG, repr(p)
    S.alive(s)
    s.logout()


@tap.test('a ping longer than the initiator can take back is cut', 'D21', 'RFC 7143 11.19')
def ping_long(d):
    s = d.login({'MaxRecvDataSegmentLength': '512'}, target=T)
    n = min(65536, s.limit('MaxRecvDataSegmentLength'))
    p = s.expect(P.NOP_IN, s.ping(bytes(range(256)) * (n // 256)))
    assert p.data == (bytes(range(256)) * 2)[:len(p.data)]
    S.alive(s)
    s.logout()


@tap.test('a ping without a tag is not answered', 'D21', 'RFC 7143 11.18.1')
def ping_no_answer(d):
    s = d.login(target=T)
    s.ping(b'hello', itt=P.NO_TAG)
    s.expect_silence(0.2)
    S.alive(s)
    s.logout()


@tap.variants([(n, n) for n in (0, 1, 2, 3)], 'a SNACK of type %d is rejected', 'D20', 'RFC 7143 11.16')
def snack(d, kind):
    s = d.login(NO, target=T)
    t = s.start(S.write16(0, 8), write=bytes(4096), auto=False)
    s.wait_r2t(t)
    for itt, beg in ((P.NO_TAG, 0), (0x777777, 0), (t.itt, 0), (t.itt, 1000)):
        s.send_pdu(P.SNACK, flags=0x80 | kind, itt=itt, ttt=P.NO_TAG, exp_stat_sn=s.exp_stat_sn,
                   beg_run=beg, run_length=1)
        p = s.expect(P.REJECT)
        assert p.response in (0x03, 0x04), repr(p)
        assert p.data[16:20] == struct.pack('>I', itt)
    s.answer_r2t(t)
    S.good(s.wait(t))
    S.alive(s)
    s.logout()


@tap.variants([('%02x' % op, op) for op in (0x07, 0x0f, 0x11, 0x1c, 0x1f)],
              'opcode %s is rejected as unknown', 'L21', 'RFC 7143 11.17.1')
def unknown(d, op):
    s = d.login(target=T)
    s.send_pdu(op | 0x40, itt=0x99, exp_stat_sn=s.exp_stat_sn, cmd_sn=s.cmd_sn)
    try:
        p = s.expect(P.REJECT)
        assert p.response in (0x04, 0x05), repr(p)
        S.alive(s)
        s.logout()
    except I.Eof:
        pass


def ahs(kind, length, pad=0):
    """One AHS whose length field says `length`; pad bytes follow the first four."""
    return struct.pack('>HBB', length, kind, 0) + bytes(pad)


HEADERS = [
    ('of an unknown type', ahs(0x3f, 1)),
    ('of an unknown type, 1020 bytes', ahs(0x3f, 1017, 1016)),
    ('of 64 bytes', ahs(0x15, 61, 60)),
    ('with length 0', ahs(0x3f, 0)),
    ('longer than all AHS', ahs(0x3f, 65535)),
    ('one byte longer than all AHS', ahs(0x01, 6, 4)),
    ('of an extended CDB without bytes', ahs(0x01, 0)),
    ('of an extended CDB of 17 bytes', ahs(0x01, 2)),
    ('of an extended CDB of 260 bytes', ahs(0x01, 245, 244)),
    ('of a bidirectional length', ahs(0x02, 5, 4)),
    ('twice', ahs(0x3f, 1) * 2),
]


@tap.variants(HEADERS, 'an additional header %s is skipped or rejected', 'L21', 'RFC 7143 11.2.2')
def additional(d, extra):
    s = d.login(target=T)
    s.start(S.TUR, ahs=extra)
    try:
        p = s.next_pdu()
        if p.op == P.REJECT:
            assert p.response in (0x04, 0x09), repr(p)
            s.cmd_sn = s.exp_cmd_sn
            s.tasks.clear()
        else:
            assert p.op == P.SCSI_RSP, repr(p)
        S.alive(s)
        s.logout()
    except I.Eof:
        pass


@tap.variants([('%d words' % n, n) for n in (1, 16, 255)], 'a header that promises %s of AHS and stops', 'L21')
def additional_absent(d, n):
    for reset in (False, True):
        s = d.login(target=T)
        s.send(P.bhs(P.SCSI_CMD, flags=0x81, itt=9, cdb=S.TUR, cmd_sn=s.cmd_sn, ahsl=n))
        s.reset() if reset else s.close()
    s = d.login(target=T)
    s.send(P.bhs(P.SCSI_CMD, flags=0x81, itt=9, cdb=S.TUR, cmd_sn=s.cmd_sn, ahsl=n))
    s.expect_silence(0.1)
    s.close()


@tap.test('a data segment longer than the target declared ends the connection', 'D10', 'RFC 7143 13.12')
def too_long(d):
    s = d.login(target=T)
    s.send(P.bhs(P.NOP_OUT | 0x40, itt=9, ttt=P.NO_TAG, dsl=0xffffff, cmd_sn=s.cmd_sn))
    for p in s.wait_close(5):
        assert p.op in (P.REJECT, P.ASYNC), repr(p)


@tap.test('PDUs in pieces of every size', 'L21')
def pieces(d):
    s = d.login(NO, target=T)
    data = S.pattern(0, 8, 6)
    s.strict = False
    for step in (1, 2, 3, 7, 47, 48, 49, 511, 4095):
        t = I.Task(s.take_itt(), 0, 4096, data, False)
        s.tasks[t.itt] = t
        raw = P.pdu(P.SCSI_CMD, flags=0xa1, itt=t.itt, edtl=4096, cdb=S.write16(0, 8), cmd_sn=s.take_cmd_sn())
        raw += P.pdu(P.NOP_OUT | 0x40, b'ping!', itt=0xabc, ttt=P.NO_TAG, cmd_sn=s.cmd_sn)
        for at in range(0, len(raw), step):
            s.send(raw[at:at + step])
            if step > 2 or at % 16 == 0:
                time.sleep(0.0002)
        assert s.expect(P.NOP_IN, 0xabc).data == b'ping!'
        r2t = s.wait_r2t(t)
        raw = P.pdu(P.DATA_OUT, data, itt=t.itt, ttt=r2t.ttt)
        for at in range(0, len(raw), step if step > 2 else 29):
            s.send(raw[at:at + (step if step > 2 else 29)])
            time.sleep(0.0002)
        S.good(s.wait(t))
    assert S.read(s, 0, 8) == data
    s.logout()


LOGOUTS = [('closes the session', 0, 0, 0), ('of its connection closes the connection', 1, 0, 0),
           ('of another connection finds none', 1, 1, 1), ('for recovery is refused', 2, 0, 2)]


@tap.variants(LOGOUTS, 'a logout that %s', 'D23', 'RFC 7143 11.14, 11.15')
def logout(d, reason, cid_off, response):
    s = d.login(target=T, cid=3)
    got = s.logout(reason, cid=s.cid + cid_off)
    assert got == response, 'response %d' % got
    if response:
        S.alive(s)
        s.logout()


@tap.test('commands behind a logout are discarded', 'D23', 'RFC 7143 11.14')
def after_logout(d):
    s = d.login(target=T)
    before = S.pattern(0, 10, 1)
    S.write(s, 0, before)
    itt = s.take_itt()
    raw = P.pdu(P.LOGOUT_REQ | 0x40, flags=0x80, itt=itt, cmd_sn=s.cmd_sn, exp_stat_sn=s.exp_stat_sn)
    for n in range(10):
        raw += P.pdu(P.SCSI_CMD, S.pattern(n, 1, 2), flags=0xa1, itt=0x1000 + n, edtl=512,
                     cdb=S.write16(n, 1), cmd_sn=s.cmd_sn + n, exp_stat_sn=s.exp_stat_sn)
    s.send(raw)
    seen = s.wait_close(5)
    assert [p.op for p in seen] == [P.LOGOUT_RSP] and seen[0].response == 0, seen
    s = d.login(target=T)
    assert S.read(s, 0, 10) == before, 'a command behind the logout was executed'
    s.logout()


@tap.test('commands before a logout complete, writes without their data end', 'D23', 'RFC 7143 11.14')
def before_logout(d):
    s = d.login(NO, target=T)
    waiting = [s.start(S.write16(64 + n, 1), write=S.pattern(64 + n, 1, 2), auto=False) for n in range(8)]
    for t in waiting:
        s.wait_r2t(t)
    reads = [s.start(S.read16(0, 64), read=32768) for _ in range(8)]
    itt = s.take_itt()
    s.send_pdu(P.LOGOUT_REQ, flags=0x80, itt=itt, cmd_sn=s.take_cmd_sn(), exp_stat_sn=s.exp_stat_sn)
    assert s.expect(P.LOGOUT_RSP, itt).response == 0
    for t in reads:
        assert t.done and t.status == S.GOOD and len(t.data) == 32768, repr(t)
    s.wait_close(5)


@tap.test('at its end the daemon asks for a logout, and waits only so long', 'D24', 'T29', 'RFC 7143 11.9', fresh=True)
def shutdown_deaf(d):
    s = d.login(NO, target=T)
    t = s.start(S.write16(0, 8), write=bytes(4096), auto=False)
    s.wait_r2t(t)
    began = time.monotonic()
    d.terminate()
    seen = s.wait_close(15)
    asked = [p for p in seen if p.op == P.ASYNC]
    assert asked and asked[0].bhs[36] in (1, 2, 3), 'no async message: %r' % seen[-3:]
    d.proc.wait(15 * SLOW)
    assert time.monotonic() - began < 15 * SLOW
    assert d.proc.returncode == 0, d.tail()


@tap.test('at its end the daemon goes as soon as all have logged out', 'D24', 'T29', 'RFC 7143 11.9.1', fresh=True)
def shutdown_polite(d):
    s = d.login(target=T)
    began = time.monotonic()
    d.terminate()
    p = s.expect(P.ASYNC)
    assert p.bhs[36] == 1 and p.itt == P.NO_TAG, repr(p)
    assert s.logout() == 0
    d.proc.wait(5 * SLOW)
    assert time.monotonic() - began < 3 * SLOW, 'took %.1f s' % (time.monotonic() - began)
    assert d.proc.returncode == 0, d.tail()


if __name__ == '__main__':
    tap.main(config.base())
