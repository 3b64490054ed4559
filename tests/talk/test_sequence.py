#!/usr/bin/python3
"""Sequence numbers and task tags: the command window, wraps, immediate commands, tags used twice."""
import config
import initiator as I
import pdu as P
import scsi as S
import tap

T = config.TARGET
NO = {'InitialR2T': 'Yes', 'ImmediateData': 'No'}


@tap.test('commands outside the window are ignored, the right one works', 'D14', 'RFC 7143 4.2.2.1')
def outside(d):
    s = d.login(target=T)
    for sn in (s.max_cmd_sn + 1, s.max_cmd_sn + 1000, s.exp_cmd_sn - 1, s.exp_cmd_sn + (1 << 31)):
        t = s.start(S.TUR, cmd_sn=sn & 0xffffffff)
        s.expect_silence(0.1)
        del s.tasks[t.itt]
        S.alive(s)
    s.logout()


@tap.test('a duplicate of an executed command is not executed again', 'D14', 'RFC 7143 4.2.2.1')
def duplicate(d):
    s = d.login(target=T)
    first, second = S.pattern(0, 1, 1), S.pattern(0, 1, 2)
    sn = s.cmd_sn
    S.write(s, 0, first)
    S.write(s, 0, second)
    t = s.start(S.write16(0, 1), write=first, cmd_sn=sn)
    s.expect_silence(0.2)
    del s.tasks[t.itt]
    assert S.read(s, 0, 1) == second, 'the duplicate was executed'
    s.logout()


@tap.test('a thousand commands sent blindly: the session stays', 'D13', 'RFC 7143 4.2.2.1')
def blind(d):
    s = d.login(target=T)
    s.strict = False
    first = s.cmd_sn
    batch = b''.join(P.pdu(P.SCSI_CMD, flags=0x81, itt=0x10000 + n, cdb=S.TUR, cmd_sn=first + n,
                           exp_stat_sn=s.exp_stat_sn) for n in range(1000))
    s.send(batch)
    seen = set()
    try:
        while len(seen) < 1000:
            p = s.recv(0.5)
            assert p.op == P.SCSI_RSP and p.status == S.GOOD, repr(p)
            assert p.itt not in seen, 'answered twice: %r' % p
            seen.add(p.itt)
            s.exp_cmd_sn, s.max_cmd_sn = p.exp_cmd_sn, p.max_cmd_sn
            s.exp_stat_sn = p.stat_sn + 1
    except I.Timeout:
        pass
    assert len(seen) >= 100
    # Those that were ignored left a gap: it is filled with new commands, in order.
    n = 0
    while s.exp_cmd_sn != first + 1000:
        n += 1
        assert n <= 1000
        s.send(P.pdu(P.SCSI_CMD, flags=0x81, itt=0x20000 + n, cdb=S.TUR, cmd_sn=s.exp_cmd_sn,
                     exp_stat_sn=s.exp_stat_sn))
        p = s.recv()
        s.exp_cmd_sn, s.max_cmd_sn, s.exp_stat_sn = p.exp_cmd_sn, p.max_cmd_sn, p.stat_sn + 1
    while s.readable(0.1):
        s.exp_stat_sn = s.recv().stat_sn + 1
    s.cmd_sn, s.strict = s.exp_cmd_sn, True
    S.alive(s)
    s.logout()


@tap.test('a full window of writes waiting for data, and one more', 'D13', 'RFC 7143 4.2.2.1')
def full(d):
    s = d.login(NO, target=T)
    tasks = []
    while (s.max_cmd_sn - s.cmd_sn & 0xffffffff) < 1 << 31 and len(tasks) < 1100:
        t = s.start(S.write16(8 * len(tasks) & 0xffff, 8), write=bytes(4096), auto=False)
        s.wait_r2t(t)
        tasks.append(t)
    assert 16 <= len(tasks) <= 1024, 'the window never closes: %d' % len(tasks)
    over = s.start(S.TUR)       # CmdSN = MaxCmdSN + 1
    s.expect_silence(0.1)
    del s.tasks[over.itt]
    s.cmd_sn = over_sn = s.cmd_sn - 1 & 0xffffffff
    # Management goes on.
    s.expect(P.NOP_IN, s.ping(b'still there?'))
    for t in tasks:
        s.answer_r2t(t)
    for t in s.wait(*tasks):
        S.good(t)
    assert (s.max_cmd_sn - over_sn & 0xffffffff) < 1 << 31, 'the window stays closed'
    S.alive(s)
    s.logout()


@tap.test('a gap in CmdSN holds what comes after until it is filled', 'D14', 'RFC 7143 4.2.2.1')
def gap(d):
    s = d.login(target=T)
    late = s.start(S.TUR, cmd_sn=s.cmd_sn + 1)
    s.expect_silence(0.1)
    first = s.start(S.TUR, cmd_sn=s.cmd_sn)
    s.cmd_sn += 2
    s.wait(first, late)
    assert first.status == late.status == S.GOOD
    s.logout()


@tap.test('a gap filled by a long PDU in pieces lets go what was held', 'D14', 'RFC 7143 4.2.2.1')
def gap_filled_slowly(d):
    s = d.login(target=T)
    n = s.limit('MaxRecvDataSegmentLength') * 3 // 4
    late = s.start(S.TUR, cmd_sn=s.cmd_sn + 1)
    raw = P.pdu(P.NOP_OUT, bytes(n), itt=0x500, ttt=P.NO_TAG, cmd_sn=s.cmd_sn, exp_stat_sn=s.exp_stat_sn)
    s.cmd_sn += 2
    s.send(raw[:1000])
    s.expect_silence(0.1)
    s.send(raw[1000:])
    s.expect(P.NOP_IN, 0x500)
    S.good(s.wait(late, timeout=2))
    s.logout()


@tap.test('a command held behind task management goes on after it', 'D14', 'T15', 'RFC 7143 4.2.2.1')
def gap_filled_by_tmf(d):
    s = d.login(target=T)
    late = s.start(S.TUR, cmd_sn=s.cmd_sn + 1)
    s.expect_silence(0.1)
    assert s.tmf(S.ABORT_TASK_SET, lun=1, immediate=False) == 0
    s.cmd_sn += 1
    S.good(s.wait(late, timeout=2))
    s.logout()


@tap.variants([('%08x' % sn, sn) for sn in (0xfffffff0, 0x7ffffff0, 0xffffffff, 0)],
              'CmdSN and ITT go on past %s', 'D15', 'RFC 7143 4.2.2.1, RFC 1982')
def wrap(d, sn):
    s = I.Session(d.addr, target=T, cmd_sn=sn)
    s.next_itt = 0x7fffffe0
    s.login(NO)
    S.settle(s)
    data = [S.pattern(n * 8, 8, sn) for n in range(64)]
    for n in range(0, 64, 16):
        tasks = [s.start(S.write16(i * 8, 8), write=data[i]) for i in range(n, n + 16)]
        for t in s.wait(*tasks):
            S.good(t)
    assert S.read(s, 0, 512) == b''.join(data)
    s.logout()


@tap.test('an immediate command takes no CmdSN', 'D17', 'RFC 7143 4.2.2.1')
def immediate(d):
    s = d.login(target=T)
    before = s.exp_cmd_sn
    s.expect(P.NOP_IN, s.ping(b'a'))
    assert s.exp_cmd_sn == before
    S.good(s.cmd(S.TUR, immediate=True))
    assert s.exp_cmd_sn == before
    assert s.tmf(S.ABORT_TASK, rtt=0x12345) == 1
    assert s.exp_cmd_sn == before
    S.alive(s)
    assert s.exp_cmd_sn == before + 1 & 0xffffffff
    s.logout()


@tap.variants([('ExpCmdSN-4', lambda s: s.exp_cmd_sn - 4), ('MaxCmdSN+9', lambda s: s.max_cmd_sn + 9)],
              'an immediate command with CmdSN=%s is ignored or answered, never counted', 'D17',
              'RFC 7143 4.2.2.1')
def immediate_outside(d, number):
    s = d.login(target=T)
    before = s.exp_cmd_sn
    sn = number(s) & 0xffffffff
    itt = s.ping(b'x', cmd_sn=sn)
    try:
        s.expect(P.NOP_IN, itt, timeout=0.2)
    except I.Timeout:
        pass
    s.tmf_start(S.ABORT_TASK, rtt=0x12345, cmd_sn=sn)
    try:
        s.expect(P.TMF_RSP, timeout=0.2)
    except I.Timeout:
        pass
    S.alive(s)
    assert s.exp_cmd_sn == before + 1 & 0xffffffff
    s.logout()


@tap.test('immediate commands have a limit of their own', 'D13', 'RFC 7143 11.17.1')
def immediate_many(d):
    s = d.login(NO, target=T)
    tasks = [s.start(S.write16(n * 8, 8), write=bytes(4096), auto=False, immediate=True) for n in range(600)]
    rejected = set()
    while sum(1 for t in tasks if t.r2ts) + len(rejected) < len(tasks):
        p = s.next_pdu()
        if p.op == P.REJECT:
            assert p.response == 0x06, repr(p)
            rejected.add(p.data[16:20])
    assert rejected, '600 immediate commands taken at once'
    for t in tasks:
        if t.itt.to_bytes(4, 'big') in rejected:
            del s.tasks[t.itt]
        else:
            s.answer_r2t(t)
            S.good(s.wait(t))
    S.alive(s)
    s.logout()


@tap.test('two live commands with one tag: the second is rejected', 'D18', 'RFC 7143 11.17.1')
def tag_twice(d):
    s = d.login(NO, target=T)
    data = S.pattern(0, 8, 3)
    t = s.start(S.write16(0, 8), write=data, auto=False, itt=7)
    s.wait_r2t(t)
    s.send_pdu(P.SCSI_CMD, flags=0x81, itt=7, cdb=S.TUR, cmd_sn=s.take_cmd_sn(), exp_stat_sn=s.exp_stat_sn)
    p = s.expect(P.REJECT)
    assert p.response == 0x07 and p.data[16:20] == (7).to_bytes(4, 'big'), repr(p)
    s.cmd_sn = s.exp_cmd_sn
    s.answer_r2t(t)
    S.good(s.wait(t))
    assert S.read(s, 0, 8) == data
    s.logout()


@tap.test('a tag may be used again when its answer came', 'D18', 'RFC 7143 11.2.1.8')
def tag_again(d):
    s = d.login(NO, target=T)
    unseen = {28: s.exp_stat_sn.to_bytes(4, 'big')}     # nothing is acknowledged
    for n in range(50):
        t = s.start(S.write16(n, 1), write=S.pattern(n, 1, n), itt=7, raw=unseen) if n % 2 else \
            s.start(S.read16(n, 1), read=512, itt=7, raw=unseen)
        S.good(s.wait(t))
    s.logout()


@tap.test('a tag may be used again after its abort', 'D18', 'RFC 7143 11.5.1')
def tag_after_abort(d):
    s = d.login(NO, target=T)
    data = S.pattern(0, 8, 1)
    S.write(s, 0, data)
    for _ in range(20):
        t = s.start(S.write16(0, 8), write=S.pattern(0, 8, 2), auto=False, itt=7)
        s.wait_r2t(t)
        assert s.tmf(S.ABORT_TASK, rtt=7) == 0
        del s.tasks[7]
        t = S.good(s.cmd(S.read16(0, 8), read=4096, itt=7))
        assert t.data == data
    s.logout()


@tap.test('the reserved tag is refused in a command', 'D18', 'RFC 7143 11.2.1.8')
def tag_reserved(d):
    s = d.login(target=T)
    s.send_pdu(P.SCSI_CMD, flags=0x81, itt=P.NO_TAG, cdb=S.TUR, cmd_sn=s.take_cmd_sn(), exp_stat_sn=s.exp_stat_sn)
    try:
        p = s.next_pdu()
        assert p.op == P.REJECT and p.response in (0x04, 0x09), repr(p)
        s.cmd_sn = s.exp_cmd_sn
        S.alive(s)
        s.logout()
    except I.Eof:
        pass


if __name__ == '__main__':
    tap.main(config.base())
