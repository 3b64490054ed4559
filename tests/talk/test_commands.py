#!/usr/bin/python3
"""Commands that a prober sends: supported opcodes, mode pages, buffers, and bits that mean nothing."""
import config
import scsi as S
import tap

T = config.TARGET


def all_opcodes(s):
    """REPORT SUPPORTED OPERATION CODES, all: [(opcode, service action or None, CDB length)]."""
    data = S.good(s.cmd(S.opcodes(65535), read=65535)).data
    n = int.from_bytes(data[:4], 'big')
    assert n == len(data) - 4 and n % 8 == 0
    return [(data[i], int.from_bytes(data[i + 2:i + 4], 'big') if data[i + 5] & 1 else None,
             int.from_bytes(data[i + 6:i + 8], 'big')) for i in range(4, 4 + n, 8)]


@tap.test('supported opcodes: all of them, one by one, and with service action', 'K24', 'SPC-4 6.35')
def opcodes(d):
    s = d.login(target=T)
    rows = all_opcodes(s)
    assert len(rows) == len(set(rows)) >= 15, rows
    must = {0x00, 0x03, 0x08, 0x12, 0x1a, 0x25, 0x28, 0x2a, 0x35, 0x88, 0x8a, 0x9e, 0xa0, 0xa3}
    assert must <= {r[0] for r in rows}, 'missing: %r' % (must - {r[0] for r in rows})
    for opcode, sa, length in rows:
        t = S.good(s.cmd(S.opcodes(512, 1 if sa is None else 2, opcode, sa or 0), read=512))
        assert t.data[1] & 7 == 3, '%02x: support %d' % (opcode, t.data[1] & 7)
        assert int.from_bytes(t.data[2:4], 'big') == length
        usage = t.data[4:4 + length]
        assert usage[0] == opcode and len(usage) == length, usage.hex()
    s.logout()


@tap.test('supported opcodes: every question has a bounded answer', 'K24', 'SPC-4 6.35', seconds=90)
def opcodes_sweep(d):
    s = d.login(target=T)
    rows = {(r[0], r[1]) for r in all_opcodes(s)}
    with_sa = {r[0] for r in rows if r[1] is not None}
    known = {r[0] for r in rows}
    for options in range(8):
        for opcode in range(0, 256, 1 if options in (1, 2, 3) else 51):
            for sa in (0, 1, 0x10, 0x1f, 0x20, 0xff, 0xffff) if opcode in with_sa else (0, 0xffff):
                t = s.cmd(S.opcodes(256, options, opcode, sa, rctd=options & 1), read=256)
                if t.status == S.CHECK:
                    S.check(t, S.INVALID_FIELD)
                    assert options > 0
                    continue
                S.good(t)
                if options == 1:
                    assert (t.data[1] & 7 == 3) == (opcode in known), '%02x: %s' % (opcode, t.data[:4].hex())
                if options == 2:
                    assert (t.data[1] & 7 == 3) == ((opcode, sa) in rows), '%02x/%x' % (opcode, sa)
                assert options < 4, 'reserved option %d is answered' % options
    for n in range(65):
        t = S.good(s.cmd(S.opcodes(n), read=n))
        assert len(t.data) == n
    s.logout()


@tap.test('a bit that means nothing is refused and pointed at', 'K24', 'SPC-4 4.5.2')
def reserved_bits(d):
    s = d.login(target=T)
    wrong = [(S.TUR, 1, 0), (S.TUR, 4, 7), (S.inquiry(36), 1, 1), (S.read10(0, 1), 6, 6), (S.read16(0, 1), 1, 0),
             (S.capacity16(), 2, 0), (S.report_luns(), 1, 3), (S.mode6(), 1, 0)]
    for cdb, byte, bit in wrong:
        bad = bytearray(cdb)
        bad[byte] |= 1 << bit
        t = s.cmd(bytes(bad), read=1024)
        if t.status == S.GOOD and cdb[0] in (0x28, 0x88):
            continue        # group number and legacy bits may be taken
        S.check(t, S.INVALID_FIELD)
        assert t.sense[15] & 0xc0 == 0xc0, 'no field pointer for %s: %s' % (bad.hex(), t.sense.hex())
        assert int.from_bytes(t.sense[16:18], 'big') == byte, t.sense.hex()
    S.alive(s)
    s.logout()


@tap.test('an inquiry with a page code but no EVPD is refused', 'K03', 'SPC-4 6.6')
def page_without_evpd(d):
    s = d.login(target=T)
    S.check(s.cmd(bytes([0x12, 0, 0x83, 0, 255, 0]), read=255), S.INVALID_FIELD)
    S.check(s.cmd(S.inquiry(255, 0x7e), read=255), S.INVALID_FIELD)
    s.logout()


@tap.test('every page that VPD 00 lists is there', 'K03', 'K44', 'SPC-4 7.8.15')
def vpd(d):
    s = d.login(target=T)
    page = S.good(s.cmd(S.inquiry(255, 0), read=255)).data
    pages = list(page[4:])
    assert pages == sorted(pages) and {0, 0x80, 0x83, 0xb0, 0xb1} <= set(pages), pages
    for code in range(256):
        t = s.cmd(S.inquiry(1024, code), read=1024)
        if code in pages:
            assert S.good(t).data[1] == code and len(t.data) == 4 + int.from_bytes(t.data[2:4], 'big')
        else:
            S.check(t, S.INVALID_FIELD)
    s.logout()


@tap.test('mode pages: all, one by one, changeable, default', 'K44', 'SPC-4 6.11')
def mode(d):
    s = d.login(target=T)
    for build, head in (S.mode6, 4), (S.mode10, 8):
        t = S.good(s.cmd(build(0x3f, 255), read=255)).data
        n = t[0] + 1 if head == 4 else int.from_bytes(t[:2], 'big') + 2
        assert n == len(t), t.hex()
        at = head + (t[3] if head == 4 else int.from_bytes(t[6:8], 'big'))
        pages = []
        while at < n:
            assert not t[at] & 0x40, 'a subpage where none was asked'
            pages.append(t[at] & 0x3f)
            at += 2 + t[at + 1]
        assert at == n and pages == sorted(pages), (at, n, pages)
        assert {0x08, 0x0a} <= set(pages), pages
        for code in range(0x3f):
            t = s.cmd(build(code, 255), read=255)
            if code in pages:
                S.good(t)
            else:
                S.check(t, S.INVALID_FIELD)
        for control in 1, 2:
            S.good(s.cmd(build(0x3f | control << 6, 255), read=255))
        t = s.cmd(build(0x3f | 3 << 6, 255), read=255)
        assert t.status == S.GOOD or t.skq in ((5, 0x39, 0), S.INVALID_FIELD), repr(t)
        t = S.good(s.cmd(build(0x08, 255, dbd=1), read=255)).data
        assert (t[3] if head == 4 else int.from_bytes(t[6:8], 'big')) == 0
        S.good(s.cmd(build(0x3f, 255, sub=0xff), read=255))
    s.logout()


BUFFERS = [bytes([0x3c, mode, 0, 0, 0, 0, 0, 2, 0, 0]) for mode in range(32)] + \
          [bytes([0x3b, mode, 0, 0xff, 0xff, 0xf0, 0, 0, 0x20, 0]) for mode in range(32)]


@tap.test('READ and WRITE BUFFER in all modes tell nothing and harm nothing', 'K23', 'SPC-4 6.15, 6.49')
def buffers(d):
    s = d.login(target=T)
    for cdb in BUFFERS:
        t = s.cmd(cdb, read=512) if cdb[0] == 0x3c else s.cmd(cdb, write=bytes(32))
        if t.status == S.GOOD:
            assert not any(t.data[8:]), 'memory of somebody: %s' % t.data.hex()
        else:
            S.check(t, S.INVALID_OPCODE, S.INVALID_FIELD)
    S.alive(s)
    s.logout()


@tap.test('every opcode, with zeros and with ones, is answered', 'K24', 'K44', seconds=90)
def every_opcode(d):
    s = d.login({'ImmediateData': 'No', 'InitialR2T': 'Yes'}, target=T)
    for opcode in range(256):
        for fill in 0x00, 0xff:
            for flags in (0xc1, 0xa1, 0x81):
                edtl = 0 if flags == 0x81 else 512
                t = s.start(bytes([opcode]) + bytes([fill]) * 15, flags=flags, edtl=edtl, imm=0)
                t.write = bytes(512) if flags == 0xa1 else b''
                s.wait(t)
                assert t.status in (S.GOOD, S.CHECK) and t.response == 0, 'opcode %02x: %r' % (opcode, t)
                if t.status == S.CHECK:
                    assert t.skq[0] in (5, 6, 14), 'opcode %02x: %r' % (opcode, t)
    S.settle(s)
    s.logout()


@tap.test('what ESXi asks of a new disk is answered', 'K44')
def esxi(d):
    s = d.login(target=T)
    for cdb in [S.inquiry(36)] + [S.inquiry(255, p) for p in (0x00, 0x80, 0x83, 0xb0, 0xb1, 0xb2)] + \
            [S.mode6(p, alloc=16) for p in (0x3f, 0x08, 0x0a, 0x1c)] + [S.capacity16(), S.opcodes()]:
        t = s.cmd(cdb, read=8192)
        assert t.status == S.GOOD or t.skq == S.INVALID_FIELD, '%s: %r' % (cdb.hex(), t)
    assert len(S.read(s, 0, 1)) == 512
    s.logout()


@tap.test('a new session is told once that the power came on', 'K29', 'SAM-5 5.14')
def attention(d):
    s = d.login(target=T, settle=False)
    S.good(s.cmd(S.inquiry(), read=255))
    S.good(s.cmd(S.report_luns(), read=1024))
    t = s.cmd(S.TUR)
    assert t.status == S.CHECK and t.skq[:2] == (6, 0x29), repr(t)
    S.alive(s)
    t = s.cmd(S.TUR, lun=1)
    assert t.status == S.CHECK and t.skq[:2] == (6, 0x29), 'each LUN tells it: %r' % t
    t = s.cmd(S.request_sense(), read=252, lun=1)
    assert t.status == S.GOOD and t.data[2] & 15 == 0, repr(t)
    s.logout()


@tap.test('REQUEST SENSE takes a unit attention', 'K29', 'SPC-4 6.39')
def attention_taken(d):
    for desc in 0, 1:
        s = d.login(target=T, settle=False)
        t = S.good(s.cmd(S.request_sense(desc=desc), read=252))
        key = t.data[1] & 15 if desc else t.data[2] & 15
        asc = t.data[2] if desc else t.data[12]
        assert (key, asc) == (6, 0x29) and t.data[0] & 0x7f == (0x72 if desc else 0x70), t.data.hex()
        S.alive(s)
        s.logout()


@tap.test('a new RAM disk and the hole in a file read as zeros', 'K27', fresh=True)
def zeros(d):
    s = d.login(target=T)
    for lun, bs in (0, 512), (1, 512), (2, 512), (3, 4096):
        S.settle(s, lun)
        for lba in 0, 1000, 8000:
            assert not any(S.read(s, lba, 64, lun=lun, bs=bs)), 'old memory at LUN %d' % lun
    s.logout()


@tap.test('writes with FUA and DPO, and SYNCHRONIZE CACHE in every form', 'K38', 'SBC-3 5.22')
def sync(d):
    s = d.login(target=T)
    last = int.from_bytes(S.good(s.cmd(S.capacity16(), read=32)).data[:8], 'big')
    for lun in 0, 1:
        S.settle(s, lun)
        S.good(s.cmd(S.write16(0, 8, flags=0x18), write=S.pattern(0, 8, 3), lun=lun))
        assert S.good(s.cmd(S.read16(0, 8, flags=0x18), read=4096, lun=lun)).data == S.pattern(0, 8, 3)
        for cdb in S.sync10(), S.sync10(0, 8), S.sync10(last, 1), bytes([0x35, 2] + [0] * 8), bytes([0x91] + [0] * 15):
            S.good(s.cmd(cdb, lun=lun))
        S.check(s.cmd(S.sync10(last + 1, 1), lun=lun), S.LBA_RANGE)
    s.logout()


if __name__ == '__main__':
    tap.main(config.base())
