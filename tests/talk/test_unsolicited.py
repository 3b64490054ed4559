#!/usr/bin/python3
"""Immediate and unsolicited data of writes, as agreed and not as agreed."""
import config
import initiator as I
import pdu as P
import scsi as S
import tap
from guard import NO, YES, Guard

T = config.TARGET
SMALL = config.IQN + 'small'        # FirstBurstLength 8192
NO_IMM = config.IQN + 'noimm'


def conf():
    return config.base(targets=[
        config.target(),
        config.target(SMALL, iscsi={'first_burst': '8K', 'initial_r2t': False}),
        config.target(NO_IMM, iscsi={'immediate_data': False, 'initial_r2t': True}),
    ])


IMM = [('exactly the first burst', 8192, True), ('one byte more than the first burst', 8193, False),
       ('eight first bursts', 65536, False)]


@tap.variants(IMM, 'immediate data of %s', 'D10', 'RFC 7143 13.14')
def immediate_size(d, n, right):
    g = Guard(d, {'InitialR2T': 'Yes', 'FirstBurstLength': '65536'}, target=SMALL)
    assert g.s.limit('FirstBurstLength') == 8192
    assert g.s.limit('MaxRecvDataSegmentLength') >= 65536
    data = S.pattern(256, 128, 5)
    t = g.s.start(S.write16(256, 128), write=data, imm=n)
    if right:
        S.good(g.s.wait(t))
        assert S.read(g.s, 256, 128) == data
    else:
        g.refused(t)
    g.unchanged()
    g.end()


@tap.test('128 writes that wait for data at once all end', 'D10')
def many_waiting(d):
    s = d.login(dict(NO, MaxBurstLength='65536'), target=T)
    n = min(128, (s.max_cmd_sn - s.cmd_sn & 0xffffffff) + 1)
    tasks = [s.start(S.write16(i * 128, 128), write=S.pattern(i * 128, 128, 11), auto=False) for i in range(n)]
    for t in tasks:
        s.wait_r2t(t)
    for t in reversed(tasks):
        s.answer_r2t(t)
    for t in s.wait(*tasks):
        S.good(t)
    for i in range(0, n, 17):
        assert S.read(s, i * 128, 128) == S.pattern(i * 128, 128, 11)
    s.logout()


@tap.test('immediate data where none was agreed fails the command', 'D11', 'RFC 7143 11.4.7.2')
def immediate_unwanted(d):
    g = Guard(d, NO)
    t = g.s.start(S.write16(16, 8), write=S.pattern(16, 8, 5), imm=4096)
    g.refused(t)
    g.unchanged()
    g.end()


@tap.test('immediate data is not agreed where the target does not want it', 'D11')
def immediate_refused(d):
    g = Guard(d, {'ImmediateData': 'Yes', 'InitialR2T': 'No'}, target=NO_IMM)
    assert g.s.got['ImmediateData'] == 'No' and g.s.got['InitialR2T'] == 'Yes', g.s.got
    t = g.s.start(S.write16(16, 8), write=S.pattern(16, 8, 5), imm=4096)
    g.refused(t)
    g.unchanged()
    g.end()


@tap.test('a command without F where no unsolicited data may follow fails', 'D11', 'RFC 7143 11.3.1')
def final_missing(d):
    g = Guard(d, NO)
    t = g.s.start(S.write16(16, 8), write=S.pattern(16, 8, 5), final=False, auto=False)
    try:
        g.s.data_out(t, P.NO_TAG, 0, t.write)
    except I.Eof:
        pass
    g.refused(t)
    g.unchanged(16, 24)
    g.end()


@tap.test('unsolicited Data-Out where R2T was agreed fails the command', 'D11', 'RFC 7143 11.4.7.2')
def unsolicited_unwanted(d):
    g = Guard(d, NO)
    t = g.s.start(S.write16(16, 8), write=S.pattern(16, 8, 5), auto=False)
    try:
        g.s.data_out(t, P.NO_TAG, 0, t.write)
    except I.Eof:
        pass
    g.refused(t)
    g.unchanged(16, 24)
    g.end()


SPLITS = [('all immediate', 8192, []), ('all unsolicited', 0, [8192]), ('in four Data-Outs', 0, [2048] * 4),
          ('half immediate', 4096, [4096]), ('a byte immediate', 1, [8191]), ('in odd parts', 3, [1, 5, 4091, 4092])]


@tap.variants(SPLITS, 'a first burst %s', 'D11', 'RFC 7143 13.10, 13.14')
def first_burst(d, imm, parts):
    s = d.login(YES, target=T)
    for blocks in (16, 64):     # just the first burst; the rest by R2T
        data = S.pattern(16, blocks, imm)
        t = s.start(S.write16(16, blocks), write=data, imm=imm, final=not parts)
        at = imm
        for n, size in enumerate(parts):
            s.data_out(t, P.NO_TAG, at, data[at:at + size], sn=n, final=n == len(parts) - 1)
            at += size
        S.good(s.wait(t))
        assert S.read(s, 16, blocks) == data
    s.logout()


@tap.test('a first burst longer than agreed fails the command', 'D11', 'RFC 7143 11.4.7.2')
def first_burst_long(d):
    for imm in (0, 4096, 8192):
        g = Guard(d, YES)
        t = g.s.start(S.write16(16, 32), write=S.pattern(16, 32, 5), imm=imm, final=False, auto=False)
        try:
            g.s.data_out(t, P.NO_TAG, imm, t.write[imm:12288])
        except I.Eof:
            pass
        g.refused(t)
        g.unchanged(16, 48)
        g.end()


@tap.test('a first burst shorter than agreed is completed by R2T or fails', 'D11', 'RFC 7143 11.4.7.2')
def first_burst_short(d):
    for blocks in (16, 64):
        g = Guard(d, YES)
        data = S.pattern(0, blocks, 5)
        t = g.s.start(S.write16(16, blocks), write=data, imm=0, final=False)
        g.s.data_out(t, P.NO_TAG, 0, data[:512])
        g.s.wait(t)
        if t.status == S.GOOD:
            assert S.read(g.s, 16, blocks) == data
        else:
            S.check(t, S.NOT_ENOUGH_DATA)
            S.alive(g.s)
            g.unchanged(16, 16 + blocks)
        g.end()


@tap.test('the bursts of two tasks may be interleaved', 'D11')
def interleaved(d):
    s = d.login(YES, target=T)
    a = s.start(S.write16(0, 64), write=S.pattern(0, 64, 1), imm=0, final=False)
    b = s.start(S.write16(64, 64), write=S.pattern(64, 64, 2), imm=0, final=False)
    for n in range(8):
        for t in a, b:
            s.data_out(t, P.NO_TAG, n * 1024, t.write[n * 1024:(n + 1) * 1024], sn=n, final=n == 7)
    for t in s.wait(a, b):
        S.good(t)
    assert S.read(s, 0, 128) == a.write + b.write
    s.logout()


@tap.test('Data-Out for a READ does no harm', 'D11')
def for_a_read(d):
    s = d.login(YES, target=T)
    want = S.pattern(0, 64, 3)
    S.write(s, 0, want)
    t = s.start(S.read16(0, 64), read=32768)
    try:
        s.data_out(t, P.NO_TAG, 0, bytes(512))
        S.good(s.wait(t))
        assert t.data == want
        S.alive(s)
        s.logout()
    except I.Eof:
        pass


@tap.test('Data-Out before its command does no harm', 'D11')
def before_command(d):
    g = Guard(d, YES)
    try:
        ghost = I.Task(g.s.take_itt(), 0, 4096, b'', False)
        g.s.data_out(ghost, P.NO_TAG, 0, b'\xee' * 4096)
        S.alive(g.s)
        S.write(g.s, 16, S.pattern(16, 8, 5), imm=4096)
    except I.Eof:
        pass
    assert b'\xee' not in g.unchanged(16, 24)
    g.end()


REFUSED = [('a LUN that is not there', 99, 0, S.NO_LUN), ('a block beyond the end', 0, 1 << 40, S.LBA_RANGE)]


@tap.variants(REFUSED, 'late data for a write to %s is discarded', 'D12', 'D11', 'RFC 7143 11.4.7.2')
def refused_write(d, lun, lba, sense):
    g = Guard(d, YES)
    t = g.s.start(S.write16(lba, 16), write=b'\xee' * 8192, lun=lun, imm=1024, final=False, auto=False)
    for n in range(7):
        g.s.data_out(t, P.NO_TAG, 1024 * (n + 1), t.write[:1024], sn=n, final=n == 6)
    S.check(g.s.wait(t), sense)
    g.s.expect_silence(0.1)
    S.alive(g.s)
    assert b'\xee' not in g.unchanged()
    g.end()


@tap.test('all data of a refused write may come immediately', 'D12')
def refused_immediate(d):
    g = Guard(d, YES)
    for _ in range(20):
        S.check(g.s.cmd(S.write16(0, 16), write=b'\xee' * 8192, lun=77), S.NO_LUN)
    S.alive(g.s)
    g.end()

if __name__ == '__main__':
    tap.main(conf)
