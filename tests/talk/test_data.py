#!/usr/bin/python3
"""The data phase of writes: what each R2T asks for, and Data-Out that does not fit it."""
import config
import initiator as I
import pdu as P
import scsi as S
import tap
from guard import NO, WRONG, Guard

T = config.TARGET


SN = [('starts at 1', [1, 2, 3, 4]), ('repeats', [0, 1, 1, 2]), ('skips', [0, 1, 3, 4]),
      ('goes backwards', [0, 2, 1, 3]), ('is 0xffffffff', [0xffffffff, 0, 1, 2]), ('ends wrong', [0, 1, 2, 7])]


@tap.variants(SN, 'a Data-Out whose DataSN %s fails the command', 'D06', 'RFC 7143 11.7.4, 7.9')
def data_sn(d, numbers):
    g = Guard(d, NO)
    t = g.s.start(S.write16(16, 32), write=S.pattern(16, 32, 7), auto=False)
    r2t = g.s.wait_r2t(t)
    assert r2t.length == 16384
    try:
        for n, sn in enumerate(numbers):
            g.s.data_out(t, r2t.ttt, n * 4096, t.write[n * 4096:(n + 1) * 4096], sn=sn, final=n == 3)
    except I.Eof:
        pass
    g.failed(t)
    g.unchanged(16, 48)
    g.end()


@tap.variants([('%d' % n, n) for n in (512, 16384, 65536, 262144, 1048576)],
              'each R2T asks for at most a burst of %s', 'D08', 'RFC 7143 11.8.4')
def r2t_burst(d, burst):
    s = d.login({'MaxBurstLength': str(burst), 'FirstBurstLength': '512'}, target=T)
    blocks = 256 if burst < 16384 else 2048
    data = S.pattern(0, blocks, burst)
    t = s.start(S.write16(0, blocks), write=data, imm=0)
    S.good(s.wait(t))
    r2ts = [p for p in t.pdus if p.op == P.R2T]
    assert sum(p.length for p in r2ts) == len(data) and len(r2ts) >= len(data) // burst
    assert S.read(s, 0, blocks) == data
    s.logout()


@tap.test('no more R2Ts are open than agreed', 'D08', 'RFC 7143 13.17')
def r2t_outstanding(d):
    for n in (1, 2, 4):
        s = d.login({'MaxBurstLength': '8192', 'FirstBurstLength': '512', 'MaxOutstandingR2T': str(n)}, target=T)
        agreed = s.limit('MaxOutstandingR2T')
        t = s.start(S.write16(0, 256), write=S.pattern(0, 256, n), imm=0, auto=False)
        s.wait_r2t(t, agreed)
        s.expect_silence(0.1)
        while not t.done:
            while t.r2ts:
                s.answer_r2t(t)
            s.next_pdu()
        S.good(t)
        assert S.read(s, 0, 256) == t.write
        s.logout()


@tap.test('an R2T never asks beyond the expected data transfer length', 'D08', 'K02', 'RFC 7143 11.8.4')
def r2t_edtl(d):
    g = Guard(d, NO)
    # The command asks for 8 blocks, the initiator has one.
    t = g.s.start(S.write10(16, 8), write=S.pattern(16, 1, 5), edtl=512)
    g.s.wait(t)
    if t.status == S.GOOD:
        assert t.over and t.residual == 7 * 512, repr(t)
        g.unchanged(16, 17)
    else:
        S.check(t, S.INVALID_FIELD)
        g.unchanged()
    g.end()


@tap.test('a write that offers no data is sent no R2T', 'D08', 'K02')
def r2t_none(d):
    g = Guard(d, NO)
    t = g.s.cmd(S.write10(16, 8), edtl=0, flags=0xa1)
    assert t.r2t_sn == 0
    if t.status == S.GOOD:
        assert t.over and t.residual == 4096, repr(t)
    else:
        S.check(t, S.INVALID_FIELD)
    g.unchanged()
    g.end()


@tap.variants([('%d bytes for an R2T of 4096' % n, n) for n in (4097, 4100, 4608, 8192, 65536)],
              '%s fail the command', 'D09', 'RFC 7143 11.7, 11.4.7.2')
def too_much(d, n):
    g = Guard(d, NO)
    t = g.s.start(S.write16(16, 8), write=S.pattern(16, 8, 5), auto=False)
    r2t = g.s.wait_r2t(t)
    try:
        g.s.data_out(t, r2t.ttt, 0, bytes(n), step=65536)
    except I.Eof:
        pass
    g.failed(t)
    g.unchanged(16, 24)
    g.end()


OFFSETS = [('512 too far', 512), ('512 too near', -512), ('beyond the end', 4096), ('nearly 4 GiB', 0xfffffe00),
           ('where the sum wraps', 0xfffff000), ('2 GiB', 0x80000000)]


@tap.variants(OFFSETS, 'a buffer offset %s fails the command', 'D09', 'RFC 7143 11.7.5')
def bad_offset(d, off):
    g = Guard(d, NO)
    t = g.s.start(S.write16(16, 8), write=S.pattern(16, 8, 5), auto=False)
    r2t = g.s.wait_r2t(t)
    try:
        g.s.data_out(t, r2t.ttt, r2t.offset + off & 0xffffffff, t.write)
    except I.Eof:
        pass
    g.failed(t)
    g.unchanged(16, 24)
    g.end()


@tap.test('too little data with the F bit fails the command', 'D09', 'RFC 7143 11.7.1')
def too_little(d):
    g = Guard(d, NO)
    t = g.s.start(S.write16(16, 8), write=S.pattern(16, 8, 5), auto=False)
    r2t = g.s.wait_r2t(t)
    g.s.data_out(t, r2t.ttt, 0, t.write[:1024])
    g.failed(t)
    g.unchanged(16, 24)
    g.end()


@tap.test('data after the F bit changes nothing', 'D09', 'D12')
def after_final(d):
    g = Guard(d, NO)
    t = g.s.start(S.write16(16, 8), write=S.pattern(16, 8, 5), auto=False)
    r2t = g.s.wait_r2t(t)
    g.s.data_out(t, r2t.ttt, 0, t.write)
    try:
        g.s.data_out(t, r2t.ttt, 0, b'\xee' * 4096, sn=1)
        g.s.wait(t)
        assert t.status == S.GOOD or t.skq in WRONG, repr(t)
        S.alive(g.s)
    except I.Eof:
        pass
    now = g.unchanged(16, 24)
    assert b'\xee' not in now, 'late data was written'
    g.end()


@tap.test('data sent with another task\'s tag goes to neither place', 'D09', 'D18')
def other_tag(d):
    g = Guard(d, NO)
    a = g.s.start(S.write16(16, 8), write=S.pattern(16, 8, 5), auto=False)
    b = g.s.start(S.write16(32, 8), write=S.pattern(32, 8, 6), auto=False)
    ra, rb = g.s.wait_r2t(a), g.s.wait_r2t(b)
    assert ra.ttt != rb.ttt, 'one tag for two'
    try:
        # a's initiator tag with b's target tag.
        g.s.data_out(a, rb.ttt, 0, b'\xee' * 4096)
        g.s.next_pdu(0.1)       # an answer, or none yet
    except (I.Eof, I.Timeout):
        pass
    for t, r2t in (a, ra), (b, rb):
        try:
            if not t.done:
                g.s.data_out(t, r2t.ttt, 0, t.write)
                g.s.wait(t)
            assert t.status == S.GOOD or t.skq in WRONG, repr(t)
        except I.Eof:
            break
    now = g.unchanged(16, 40)
    assert b'\xee' not in now, 'data at the wrong place'
    g.end()


@tap.test('a tag that was never given is no target tag', 'D09', 'RFC 7143 11.7.4')
def unknown_tag(d):
    g = Guard(d, NO)
    t = g.s.start(S.write16(16, 8), write=S.pattern(16, 8, 5), auto=False)
    r2t = g.s.wait_r2t(t)
    try:
        g.s.data_out(t, r2t.ttt ^ 0x00010101, 0, b'\xee' * 4096)
        if not t.done:
            g.s.answer_r2t(t)
        g.s.wait(t)
        assert t.status == S.GOOD or t.skq in WRONG, repr(t)
    except I.Eof:
        pass
    assert b'\xee' not in g.unchanged(16, 24)
    g.end()


@tap.test('the LUN of the command rules, not that of its data', 'K08', 'RFC 7143 11.7')
def other_lun(d):
    g = Guard(d, NO)
    t = g.s.start(S.write16(16, 8), write=S.pattern(16, 8, 5), auto=False)
    r2t = g.s.wait_r2t(t)
    other = S.read(d.login(target=T, lun=1), 16, 8, lun=1)
    try:
        g.s.data_out(t, r2t.ttt, 0, b'\xee' * 4096, lun=1)
        p = g.s.next_pdu()
        if p.op == P.REJECT:
            assert p.response == 0x09, repr(p)
            g.s.data_out(t, r2t.ttt, 0, t.write)
            g.s.wait(t)
        assert t.status == S.GOOD or t.skq in WRONG, repr(t)
        S.alive(g.s)
    except I.Eof:
        pass
    s = d.login(target=T, lun=1)
    assert S.read(s, 16, 8, lun=1) == other, 'bytes crossed over to another LUN'
    g.unchanged(16, 24)
    for x in s, g.s:
        x.close()


if __name__ == '__main__':
    tap.main(config.base())
