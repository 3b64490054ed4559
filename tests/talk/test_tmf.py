#!/usr/bin/python3
"""Task management: what an answer promises, and that it always comes."""
import time

import config
import initiator as I
import pdu as P
import scsi as S
import tap
from daemon import SLOW

T = config.TARGET
NO = {'InitialR2T': 'Yes', 'ImmediateData': 'No'}


def waiting(s, n=1, lun=0, first=0, blocks=8, seed=9):
    """n writes that have their R2T and no data."""
    tasks = [s.start(S.write16(first + i * blocks, blocks), write=S.pattern(first + i * blocks, blocks, seed),
                     auto=False, lun=lun) for i in range(n)]
    for t in tasks:
        s.wait_r2t(t)
    return tasks


def forget(s, tasks):
    """They were ended by task management: no answer may come any more."""
    for t in tasks:
        assert not t.done, 'answered: %r' % t
        s.tasks.pop(t.itt, None)


def late(s, tasks):
    """Data for tasks that have ended: swallowed without a word."""
    for t in tasks:
        s.data_out(t, t.r2ts[0].ttt, 0, t.write)


@tap.test('an abort of nothing says so, and a LUN RESET after it is quick', 'T02', 'RFC 7143 11.6.1')
def abort_nothing(d):
    s = d.login(target=T)
    for _ in range(10):
        assert s.tmf(S.ABORT_TASK, rtt=0x777777, ref_cmd_sn=s.cmd_sn - 5) == 1
    began = time.monotonic()
    assert s.tmf(S.LUN_RESET) == 0
    assert time.monotonic() - began < 1 * SLOW
    S.settle(s).logout()


@tap.test('an abort in the middle of the data phase ends the write', 'T03', 'RFC 7143 11.5.1')
def abort_data_phase(d):
    s = d.login(dict(NO, MaxBurstLength='65536'), target=T)
    before = S.pattern(0, 2048, 1)
    S.write(s, 0, before)
    for part in (0, 512, 32768, 65024):
        t = s.start(S.write16(0, 2048), write=S.pattern(0, 2048, 2), auto=False)
        r2t = s.wait_r2t(t)
        if part:
            s.data_out(t, r2t.ttt, 0, t.write[:part], final=False, step=512 * 16)
        assert s.tmf(S.ABORT_TASK, rtt=t.itt, ref_cmd_sn=s.cmd_sn - 1) == 0
        s.data_out(t, r2t.ttt, part, t.write[part:65536], sn=-(-part // 8192))
        s.expect_silence(0.05)
        forget(s, [t])
        assert S.read(s, 0, 2048) == before, 'an aborted write changed the disk'
    s.logout()


@tap.test('an abort in the middle of immediate data ends the write', 'T03', 'T06')
def abort_inside_pdu(d):
    s = d.login({'InitialR2T': 'No', 'ImmediateData': 'Yes'}, target=T)
    for cut in (1, 100, 4095):
        t = I.Task(s.take_itt(), 0, 8192, bytes(8192), False)
        s.tasks[t.itt] = t
        s.send_pdu(P.SCSI_CMD, t.write[:512], flags=0x21, itt=t.itt, edtl=8192, cdb=S.write16(0, 16),
                   cmd_sn=s.take_cmd_sn(), exp_stat_sn=s.exp_stat_sn)
        raw = P.pdu(P.DATA_OUT, bytes(7680), itt=t.itt, ttt=P.NO_TAG, offset=512)
        s.send(raw[:48 + cut])
        time.sleep(0.02)
        # The TMF cannot overtake the rest of the PDU: it stands behind it.
        s.send(raw[48 + cut:])
        response = s.tmf(S.ABORT_TASK, rtt=t.itt, ref_cmd_sn=s.cmd_sn - 1)
        # The data was complete: the write may be done, or aborted in time.
        assert (response, t.done) in ((1, True), (0, False)), (response, t)
        s.tasks.pop(t.itt, None)
        S.alive(s)
    s.logout()


@tap.test('an abort of a finished task comes after its answer', 'T15', 'RFC 7143 11.6.1')
def abort_finished(d):
    s = d.login(target=T)
    for n in range(100):
        t = s.start(S.read16(0, 8), read=4096)
        response = s.tmf(S.ABORT_TASK, rtt=t.itt, ref_cmd_sn=s.cmd_sn - 1)
        assert (response, t.done) in ((1, True), (0, False)), (response, t)
        s.tasks.pop(t.itt, None)
    S.alive(s)
    s.logout()


@tap.test('aborts to a client that does not read: no answer after "does not exist"', 'T15', 'T05', seconds=90)
def abort_unread(d):
    s = d.login({'MaxRecvDataSegmentLength': '65536'}, target=T, rcvbuf=4096)
    other = d.login(target=T, name=config.IQN + 'other')
    reads = [s.start(S.read16(0, 2048), read=1 << 20) for _ in range(16)]
    time.sleep(0.3)
    itts = {s.tmf_start(S.ABORT_TASK, rtt=t.itt, ref_cmd_sn=s.cmd_sn - 16 + n): t for n, t in enumerate(reads)}
    cpu, began = d.cpu(), time.monotonic()
    while time.monotonic() - began < 1.5:
        S.alive(other)
        time.sleep(0.05)
    assert d.cpu() - cpu < 0.7 * SLOW, 'spins while a client does not read'
    while itts:
        p = s.next_pdu(20)
        if p.op == P.TMF_RSP:
            t = itts.pop(p.itt)
            s.inbox.remove(p)
            assert (p.response, t.done) in ((1, True), (0, False)), (p, t)
            if not t.done:
                del s.tasks[t.itt]      # whatever comes for it now fails next_pdu's caller
        assert p.op in (P.TMF_RSP, P.DATA_IN, P.SCSI_RSP), repr(p)
    assert not s.inbox, '%d PDUs for aborted tasks: %r' % (len(s.inbox), s.inbox[:3])
    S.alive(s)
    s.logout()
    other.logout()


SETS = [('ABORT TASK SET', S.ABORT_TASK_SET), ('CLEAR TASK SET', S.CLEAR_TASK_SET), ('LUN RESET', S.LUN_RESET),
        ('TARGET WARM RESET', S.WARM_RESET)]


@tap.variants(SETS, '%s ends all waiting writes', 'T26', 'T03', 'RFC 7143 11.5.1, SAM-5 7')
def task_sets(d, fn):
    s = d.login(NO, target=T)
    before = S.read(s, 0, 256)
    tasks = waiting(s, 32)
    assert s.tmf(fn) == 0
    late(s, tasks)
    s.expect_silence(0.1)
    forget(s, tasks)
    S.settle(s)
    assert S.read(s, 0, 256) == before
    s.logout()


@tap.test('ABORT TASK SET leaves other LUNs and other initiators alone', 'T26', 'SAM-5 7.3')
def abort_set_bounds(d):
    a, b = d.login(NO, target=T), d.login(NO, target=T, name=config.IQN + 'b')
    S.settle(a, 1)
    mine, far, theirs = waiting(a, 4), waiting(a, 4, lun=1), waiting(b, 4)
    assert a.tmf(S.ABORT_TASK_SET, lun=0) == 0
    late(a, mine)
    forget(a, mine)
    for s, tasks in (a, far), (b, theirs):
        for t in tasks:
            s.answer_r2t(t)
        for t in s.wait(*tasks):
            S.good(t)
    S.alive(b)
    a.logout()
    b.logout()


@tap.variants([('LUN RESET', S.LUN_RESET, ((6, 0x29, 3), (6, 0x29, 2), (6, 0x29, 0))),
               ('CLEAR TASK SET', S.CLEAR_TASK_SET, ((6, 0x2f, 0),))],
              '%s ends the other initiator\'s tasks, who is told once', 'T26', 'SAM-5 7.5, 7.7, 5.14')
def two_initiators(d, fn, attention):
    a, b = d.login(NO, target=T), d.login(NO, target=T, name=config.IQN + 'b')
    ta, tb = waiting(a, 32), waiting(b, 32, first=512)
    assert a.tmf(fn) == 0
    late(b, tb)
    late(a, ta)
    b.expect_silence(0.1)
    forget(a, ta)
    forget(b, tb)
    S.check(b.cmd(S.TUR), *attention)
    S.alive(b)
    S.settle(a)
    for s in a, b:
        for _ in range(2):
            S.alive(s)
        s.logout()


@tap.test('a reset of one LUN does not touch another', 'T26')
def reset_other_lun(d):
    s = d.login(NO, target=T)
    S.settle(s, 1)
    tasks = waiting(s, 4, lun=1)
    assert s.tmf(S.LUN_RESET, lun=0) == 0
    for t in tasks:
        s.answer_r2t(t)
    for t in s.wait(*tasks):
        S.good(t)
    S.settle(s, 0)
    S.alive(s, 1)
    s.logout()


@tap.test('task management for a LUN that is not there', 'T02', 'RFC 7143 11.6.1')
def no_lun(d):
    s = d.login(target=T)
    assert s.tmf(S.LUN_RESET, lun=99) == 2
    assert s.tmf(S.ABORT_TASK_SET, lun=99) == 2
    S.alive(s)
    s.logout()


@tap.test('functions that are not there are refused', 'T02', 'RFC 7143 11.6.1')
def unknown(d):
    s = d.login(target=T)
    for fn, allowed in ((S.CLEAR_ACA, (0, 5, 255)), (S.REASSIGN, (4, 5, 255)), (0, (5, 255)), (0x1f, (5, 255)),
                        (0x7f, (5, 255))):
        try:
            response = s.tmf(fn)
        except I.Timeout:
            # A Reject is an answer too.
            assert s.inbox and s.inbox.pop().op == P.REJECT, 'no answer to function %d' % fn
            continue
        assert response in allowed, 'function %d: response %d' % (fn, response)
    S.alive(s)
    s.logout()


@tap.test('TARGET COLD RESET ends all sessions of the target', 'T26', 'RFC 7143 11.5.1')
def cold(d):
    a, b = d.login(target=T), d.login(target=T, name=config.IQN + 'b')
    itt = a.tmf_start(S.COLD_RESET)
    p = a.expect(P.TMF_RSP, itt)
    if p.response == 5:     # an honest no
        for s in a, b:
            S.alive(s)
            s.logout()
        return
    assert p.response == 0, repr(p)
    a.wait_close(5)
    b.wait_close(5)


@tap.test('task management in order of CmdSN waits for what is before it', 'T15', 'RFC 7143 4.2.2.1')
def ordered(d):
    s = d.login(NO, target=T)
    tasks = waiting(s, 4)
    assert s.tmf(S.ABORT_TASK_SET, immediate=False) == 0
    late(s, tasks)
    s.expect_silence(0.05)
    forget(s, tasks)
    S.alive(s)
    s.logout()


@tap.test('a TMF, then the connection is gone', 'T09')
def then_gone(d):
    for fn in (S.ABORT_TASK_SET, S.LUN_RESET, S.WARM_RESET, S.COLD_RESET):
        for reset in (False, True):
            s = d.login(NO, target=T)
            waiting(s, 8)
            s.tmf_start(fn)
            s.reset() if reset else s.close()
    S.settle(d.login(target=T)).logout()


@tap.test('many TMFs at once are all answered', 'T02', 'T27')
def many(d):
    s = d.login(target=T)
    itts = [s.tmf_start((S.ABORT_TASK, S.LUN_RESET, S.ABORT_TASK_SET)[n % 3], rtt=0x777777) for n in range(60)]
    rejected = 0
    for _ in itts:
        p = s.next_pdu()
        while p.op not in (P.TMF_RSP, P.REJECT):
            p = s.next_pdu()
        rejected += p.op == P.REJECT
        assert p.op == P.TMF_RSP or p.response == 0x06, repr(p)
    assert rejected < len(itts)
    S.settle(s).logout()


if __name__ == '__main__':
    tap.main(config.base())
