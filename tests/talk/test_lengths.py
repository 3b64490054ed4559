#!/usr/bin/python3
"""Four lengths: what the CDB asks, what the initiator expects, what is allowed, what there is."""
import config
import pdu as P
import scsi as S
import tap

T = config.TARGET


@tap.variants([(n, n) for n in (0, 1, 100, 511, 512, 513, 1024, 4607)],
              'a READ of 9 blocks into %d bytes', 'K01', 'RFC 7143 11.4.5')
def read_over(d, n):
    s = d.login(target=T)
    want = S.pattern(0, 9, 1)
    S.write(s, 0, want)
    t = s.cmd(S.read10(0, 9), read=n, edtl=n, flags=0xc1)
    if t.status == S.GOOD:
        assert t.data == want[:n], 'other data than asked'
    else:
        S.check(t, S.INVALID_FIELD)
        assert not t.data
    assert t.over and t.residual == 9 * 512 - n, repr(t)
    S.alive(s)
    s.logout()


@tap.variants([(n, n) for n in (513, 1024, 65536, 0xffffffff)], 'a READ of one block where %d bytes are expected',
              'K01', 'K11', 'RFC 7143 11.4.5')
def read_under(d, n):
    s = d.login(target=T)
    want = S.pattern(0, 1, 2)
    S.write(s, 0, want)
    t = S.good(s.cmd(S.read10(0, 1), read=512, edtl=n))
    assert t.data == want and t.under and t.residual == n - 512, repr(t)
    s.logout()


WRITES = [     # blocks in the CDB, EDTL
    (1, 0), (1, 256), (1, 511), (1, 513), (1, 1024), (2, 512), (2, 1000), (8, 4608),
]


@tap.variants([('%d blocks with %d bytes (%s)' % (b, n, w), b, n, verify)
               for b, n in WRITES for w, verify in (('WRITE', False), ('WRITE AND VERIFY', True))],
              'a write of %s never writes part of a block', 'K02', 'RFC 7143 11.4.5')
def write_residual(d, blocks, edtl, verify):
    s = d.login(target=T)
    before = S.pattern(0, 24, 1)
    S.write(s, 0, before)
    new = S.pattern(8, 16, 2)
    cdb = (S.write_verify10 if verify else S.write10)(8, blocks)
    t = s.cmd(cdb, write=new[:edtl] if edtl else b'', edtl=edtl, flags=0xa1)
    asked = blocks * 512
    now = S.read(s, 0, 24)
    if verify and t.skq == S.INVALID_OPCODE:
        assert now == before
        s.logout()
        return
    if edtl < asked:
        assert t.over and t.residual == asked - edtl, repr(t)
        whole = edtl // 512 * 512
    else:
        assert t.under == (edtl > asked) and t.residual == edtl - asked, repr(t)
        whole = asked
    if t.status == S.GOOD:
        assert now == before[:4096] + new[:whole] + before[4096 + whole:]
    else:
        # INVALID FIELD IN CDB, or IN COMMAND INFORMATION UNIT: the lengths do not fit.
        S.check(t, S.INVALID_FIELD, (5, 0x0e, 3))
        assert now == before, 'written in spite of the error'
    S.alive(s)
    s.logout()


@tap.test('a write flagged as no transfer, with a length', 'K02', 'RFC 7143 11.3.1')
def no_direction(d):
    s = d.login(target=T)
    before = S.read(s, 0, 8)
    t = s.cmd(S.write10(0, 1), edtl=512, flags=0x81)
    if t.status == S.GOOD:
        assert t.over or t.under or t.residual == 0
    S.alive(s)
    assert S.read(s, 0, 8) == before
    s.logout()


@tap.test('a write flagged as a read, and a read as a write', 'K02', 'RFC 7143 11.3.1')
def wrong_direction(d):
    s = d.login({'ImmediateData': 'No', 'InitialR2T': 'Yes'}, target=T)
    before = S.pattern(0, 8, 4)
    S.write(s, 0, before)
    t = s.cmd(S.write10(0, 1), edtl=512, flags=0xc1)
    assert t.status == S.CHECK and not t.data, repr(t)
    t = s.cmd(S.read10(0, 1), write=bytes(512), imm=0)
    assert t.status == S.CHECK or t.over, repr(t)
    S.alive(s)
    assert S.read(s, 0, 8) == before
    s.logout()


@tap.test('both directions at once are refused', 'K02', 'RFC 7143 11.3.1')
def both(d):
    s = d.login(target=T)
    t = s.cmd(S.write10(0, 1), write=bytes(512), flags=0xe1)
    assert t.status == S.CHECK, repr(t)
    S.alive(s)
    s.logout()


PAGES = [
    ('standard INQUIRY', lambda n: S.inquiry(n)),
    ('VPD 00', lambda n: S.inquiry(n, 0x00)), ('VPD 80', lambda n: S.inquiry(n, 0x80)),
    ('VPD 83', lambda n: S.inquiry(n, 0x83)), ('VPD B0', lambda n: S.inquiry(n, 0xb0)),
    ('VPD B1', lambda n: S.inquiry(n, 0xb1)),
    ('MODE SENSE 6', lambda n: S.mode6(alloc=min(n, 255))), ('MODE SENSE 10', lambda n: S.mode10(alloc=min(n, 65535))),
    ('REPORT LUNS', S.report_luns), ('READ CAPACITY 16', S.capacity16), ('supported opcodes', S.opcodes),
]


@tap.variants(PAGES, '%s at short allocation lengths', 'K03', 'SPC-4 4.2.5.6')
def allocation(d, cdb):
    s = d.login(target=T)
    full = bytes(S.good(s.cmd(cdb(8192), read=8192)).data)
    assert 4 < len(full) < 8192
    for n in (0, 1, 2, 3, 4, 5, 7, 8, 15, 36, len(full) - 1, len(full), len(full) + 1, 255, 256, 65535):
        t = s.cmd(cdb(n), read=n)
        if cdb is S.report_luns and n < 16 and t.status == S.CHECK:
            S.check(t, S.INVALID_FIELD)     # SPC-4 6.33: allowed below 16
            continue
        limit = 255 if cdb(n)[0] == 0x1a else n
        assert t.status == S.GOOD and t.data == full[:min(n, limit)], 'allocation %d: %r' % (n, t)
        assert t.under == (len(t.data) < n) and t.residual == n - len(t.data), 'allocation %d: %r' % (n, t)
    # The expected length smaller and larger than the allocation length.
    for edtl in (0, 1, 4, len(full) - 1, len(full) + 100):
        t = S.good(s.cmd(cdb(8192), read=edtl, edtl=edtl, flags=0xc1))
        assert t.data == full[:edtl], repr(t)
        if edtl > len(full):
            assert t.under and t.residual == edtl - len(full), repr(t)
        elif t.over:
            assert t.residual in (len(full) - edtl, 8192 - edtl), repr(t)
    s.logout()


@tap.test('REPORT LUNS and READ CAPACITY with the largest allocation length', 'K03', 'K11')
def allocation_largest(d):
    s = d.login(target=T)
    for cdb in S.report_luns(0xffffffff), S.capacity16(0xffffffff), S.opcodes(0xffffffff):
        before = d.rss()
        t = S.good(s.cmd(cdb, read=1 << 20, edtl=0xffffffff))
        assert t.under and t.residual == 0xffffffff - len(t.data), repr(t)
        assert d.rss() - before < 8 << 20, 'memory by allocation length'
    s.logout()


@tap.test('an expected length of 4 GiB for 36 bytes', 'K11')
def inquiry_huge(d):
    s = d.login(target=T)
    t = S.good(s.cmd(S.inquiry(36), read=36, edtl=0xffffffff))
    assert len(t.data) == 36 and t.under and t.residual == 0xffffffff - 36, repr(t)
    s.logout()


@tap.test('READ(6) of 0 blocks is 256 blocks', 'K11', 'SBC-3 5.10')
def read6_zero(d):
    s = d.login(target=T)
    want = S.pattern(3, 256, 5)
    S.write(s, 3, want)
    t = S.good(s.cmd(S.read6(3, 0), read=256 * 512))
    assert t.data == want and not t.under and not t.over
    s.logout()


@tap.test('READ and WRITE of 0 blocks do nothing, in range', 'K11', 'SBC-3 5.11')
def zero(d):
    s = d.login(target=T)
    last = int.from_bytes(S.good(s.cmd(S.capacity16(), read=32)).data[:8], 'big')
    for cdb in S.read10(0, 0), S.read12(5, 0), S.read16(last, 0), S.write10(0, 0), S.write16(last, 0):
        t = S.good(s.cmd(cdb))
        assert not t.data and not t.over and not t.under, repr(t)
        t = S.good(s.cmd(cdb, edtl=512, flags=0xc1 if cdb[0] & 0x0f == 8 else 0xa1, imm=0))
        assert t.under and t.residual == 512, repr(t)
    for cdb in S.read16(last + 2, 0), S.write16(last + 2, 0):
        S.check(s.cmd(cdb), S.LBA_RANGE)
    s.logout()


RANGES = [
    ('just past the end', lambda last: (last, 2)), ('the block after the last', lambda last: (last + 1, 1)),
    ('the end of 64 bits', lambda last: ((1 << 64) - 1, 1)), ('a wrap past 64 bits', lambda last: ((1 << 64) - 1, 2)),
    ('the sign bit', lambda last: (1 << 63, 1)), ('32 bits and a bit', lambda last: (1 << 32, 1)),
]


@tap.variants(RANGES, 'READ and WRITE at %s are out of range', 'K11', 'SBC-3 5.11')
def out_of_range(d, where):
    s = d.login(target=T)
    last = int.from_bytes(S.good(s.cmd(S.capacity16(), read=32)).data[:8], 'big')
    lba, n = where(last)
    S.check(s.cmd(S.read16(lba, n), read=n * 512), S.LBA_RANGE)
    S.check(s.cmd(S.write16(lba, n), write=bytes(n * 512)), S.LBA_RANGE)
    S.good(s.cmd(S.read16(last, 1), read=512))
    s.logout()


@tap.test('a READ of 2^32-1 blocks is refused, and takes no memory', 'K11', 'SBC-3 6.6.4')
def too_long(d):
    s = d.login(target=T, lun=2)
    before = d.rss()
    for n in 0xffffffff, 0x80000000, 0x00800001:
        for _ in range(20):
            for cdb, flags in (S.read16(0, n), 0xc1), (S.write16(0, n), 0xa1):
                t = s.cmd(cdb, edtl=0xffffffff, flags=flags, imm=0, lun=2)
                # The disk has 2^31 blocks: one number is also past its end.
                S.check(t, S.INVALID_FIELD, *([S.LBA_RANGE] if n > 1 << 31 else []))
    assert d.rss() - before < 8 << 20
    s.logout()


@tap.test('the longest transfer that the block limits name works, one block more does not', 'K11', 'SBC-3 6.6.4')
def longest(d):
    s = d.login({'MaxRecvDataSegmentLength': '262144'}, target=T)
    limits = S.good(s.cmd(S.inquiry(255, 0xb0), read=255)).data
    most = int.from_bytes(limits[8:12], 'big')
    assert 1024 <= most <= 65536, 'MAXIMUM TRANSFER LENGTH %d' % most
    data = S.pattern(0, most, 8)
    S.write(s, 0, data)
    assert S.read(s, 0, most) == data
    S.check(s.cmd(S.read16(0, most + 1), read=(most + 1) * 512), S.INVALID_FIELD)
    S.check(s.cmd(S.write16(0, most + 1), edtl=(most + 1) * 512, flags=0xa1), S.INVALID_FIELD)
    t = s.cmd(S.read16(0, 1), read=512)
    assert t.data == data[:512]
    s.logout()


@tap.test('a write split over every PDU size', 'D08', 'K01')
def splits(d):
    s = d.login({'InitialR2T': 'Yes', 'ImmediateData': 'No'}, target=T)
    for step in (1, 13, 511, 513, 4096):
        blocks = 1 if step == 1 else 8
        data = S.pattern(0, blocks, step)
        t = s.start(S.write16(0, blocks), write=data, auto=False)
        r2t = s.wait_r2t(t)
        s.data_out(t, r2t.ttt, 0, data, step=step)
        S.good(s.wait(t))
        assert S.read(s, 0, blocks) == data
    assert not [p for p in s.inbox if p.op == P.REJECT]
    s.logout()


if __name__ == '__main__':
    tap.main(config.base())
