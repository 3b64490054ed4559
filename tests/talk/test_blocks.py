#!/usr/bin/python3
"""Block commands beside READ and WRITE: ORWRITE, WRITE ATOMIC, PRE-FETCH, defects, diagnostics, FORMAT UNIT."""
import struct
import threading

import config
import scsi as S
import tap

T = config.TARGET
LUNS = (0, 512), (1, 512), (3, 4096)


def orwrite(lba, n, flags=0):
    return struct.pack('>BBQIxx', 0x8b, flags, lba, n)


@tap.variants([('%d blocks' % n, n) for n in (1, 2, 513, 1024)], 'ORWRITE of %s sets bits and clears none', 'SBC-3 5.8')
def ors(d, n):
    s = d.login(target=T)
    for lun, bs in LUNS:
        S.settle(s, lun)
        blocks = min(n, 1024 * 512 // bs)
        old, new = S.pattern(40, blocks, 0x55aa, bs=bs), S.pattern(7, blocks, 0x0ff0, bs=bs)
        S.write(s, 40, old, lun=lun, bs=bs)
        around = S.read(s, 39, 1, lun=lun, bs=bs), S.read(s, 40 + blocks, 1, lun=lun, bs=bs)
        S.good(s.cmd(orwrite(40, blocks, 8 if n == 1 else 0), write=new, lun=lun))
        assert S.read(s, 40, blocks, lun=lun, bs=bs) == bytes(a | b for a, b in zip(old, new))
        assert (S.read(s, 39, 1, lun=lun, bs=bs), S.read(s, 40 + blocks, 1, lun=lun, bs=bs)) == around
    s.logout()


@tap.test('ORWRITE: no block, blocks beyond the end, protection', 'SBC-3 5.8')
def or_limits(d):
    s = d.login(target=T)
    S.good(s.cmd(orwrite(0, 0)))
    S.check(s.cmd(orwrite(131072, 1), write=bytes(512)), S.LBA_RANGE)
    S.check(s.cmd(orwrite(2 ** 64 - 1, 2), write=bytes(1024)), S.LBA_RANGE)
    S.check(s.cmd(orwrite(0, 1, 0x20), write=bytes(512)), S.INVALID_FIELD)
    s.logout()


@tap.test('ORWRITE of many sessions loses no bit', 'K19', 'SBC-3 5.8')
def or_together(d):
    s = d.login(target=T)
    for lun in 0, 1:
        S.settle(s, lun)
        S.write(s, 9, bytes(1024), lun=lun)
        sessions = [d.login(target=T, lun=lun) for _ in range(4)]

        def run(k):
            for bit in range(64):
                data = bytearray(1024)
                data[k * 64 + bit] = 1 << bit % 8
                data[512 + bit] = 1 << k
                S.good(sessions[k].cmd(orwrite(9, 2), write=bytes(data), lun=lun))
        threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        got = S.read(s, 9, 2, lun=lun)
        assert got[:256] == bytes(1 << b % 8 for _ in range(4) for b in range(64)), got[:256].hex()
        assert got[512:576] == b'\x0f' * 64, got[512:576].hex()
        for t in sessions:
            t.logout()
    s.logout()


@tap.test('PRE-FETCH: to the end, in the middle, beyond', 'SBC-3 5.9')
def prefetch(d):
    s = d.login(target=T)
    for op, fmt in (0x34, '>BBIBHx'), (0x90, '>BBQIBx'):
        def cdb(lba, n, imm=0, group=0, op=op):
            return struct.pack('>BBIBHx', op, imm, lba, group, n) if op == 0x34 else \
                struct.pack('>BBQIBx', op, imm, lba, n, group)
        for imm in 0, 2:
            for lba, n in (0, 0), (0, 65535), (131071, 1), (131072, 0), (5, 0):
                S.good(s.cmd(cdb(lba, n, imm)))
            S.good(s.cmd(cdb(0, 1, imm, 31)))
            for lba, n in (131072, 1), (131071, 2), (131073, 0), (0xffffffff, 0), (0xffffffff, 65535):
                S.check(s.cmd(cdb(lba, n, imm)), S.LBA_RANGE)
        S.check(s.cmd(cdb(0, 1, 1)), S.INVALID_FIELD)
    s.logout()


@tap.test('READ DEFECT DATA lists none, in the form that was asked for', 'SBC-3 5.11')
def defects(d):
    s = d.login(target=T)
    for lists in 0, 8, 0x10, 0x18:
        for form in range(8):
            ten = s.cmd(struct.pack('>BxB4xHx', 0x37, lists | form, 64), read=64)
            twelve = s.cmd(struct.pack('>BB4xIxx', 0xb7, lists | form, 64), read=64)
            if form in (0, 3, 4, 5):
                assert S.good(ten).data == bytes((0, lists | form, 0, 0))
                assert S.good(twelve).data == bytes((0, lists | form, 0, 0, 0, 0, 0, 0))
            else:
                S.check(ten, S.INVALID_FIELD)
                S.check(twelve, S.INVALID_FIELD)
    assert S.good(s.cmd(struct.pack('>BxB4xHx', 0x37, 0x10, 2), read=2)).data == b'\0\x10'
    s.logout()


@tap.test('diagnostics: the self-test is GOOD, there is no page but the list', 'SPC-4 6.42')
def diagnostics(d):
    s = d.login(target=T)
    for flags in 0, 4, 0x14, 7:
        S.good(s.cmd(struct.pack('>BB4x', 0x1d, flags)))
    for flags in 0x20, 0x24, 0x40, 0xe0:
        S.check(s.cmd(struct.pack('>BB4x', 0x1d, flags)), S.INVALID_FIELD)
    S.check(s.cmd(struct.pack('>BBxHx', 0x1d, 0x10, 4), write=bytes(4)), S.INVALID_FIELD)
    assert S.good(s.cmd(struct.pack('>BBBHx', 0x1c, 1, 0, 64), read=64)).data == b'\0\0\0\1\0'
    S.check(s.cmd(struct.pack('>BBBHx', 0x1c, 1, 0x40, 64), read=64), S.INVALID_FIELD)
    s.logout()


def atomic(lba, n, flags=0, boundary=0):
    return struct.pack('>BBQHHxx', 0x9c, flags, lba, boundary, n)


@tap.test('WRITE ATOMIC writes as much as the unit promises, and not more', 'SBC-4 5.48')
def atomic_limits(d):
    s = d.login(target=T)
    for lun, bs, most in (0, 512, 8192), (1, 512, 1), (2, 512, 8192), (3, 4096, 1024):
        S.settle(s, lun)
        page = S.good(s.cmd(S.inquiry(page=0xb0), read=64, lun=lun)).data
        assert struct.unpack('>5I', page[44:64]) == (most, 0, 0, 0, 0), page.hex()
        for n in {1, most // 3 or 1, most}:
            data = S.pattern(3, n, n, bs)
            S.good(s.cmd(atomic(3, n, 8), write=data, lun=lun))
            if lun != 2:
                assert S.read(s, 3, n, lun=lun, bs=bs) == data
        S.check(s.cmd(atomic(3, most + 1), write=bytes(bs), lun=lun), S.INVALID_FIELD)
        S.check(s.cmd(atomic(3, 1, boundary=1), write=bytes(bs), lun=lun), S.INVALID_FIELD)
        S.check(s.cmd(atomic(2 ** 64 - 1, 1), write=bytes(bs), lun=lun), S.LBA_RANGE)
        S.good(s.cmd(atomic(3, 0), lun=lun))
    s.logout()


@tap.test('a reader sees all of a WRITE ATOMIC or nothing of it', 'SBC-4 5.48')
def atomic_whole(d):
    s = d.login(target=T)
    n, stop = 2048, []
    old, new = (S.pattern(0, n, k) for k in (1, 2))
    S.write(s, 0, old)
    w = d.login(target=T)

    def run():
        for k in range(40):
            S.good(w.cmd(atomic(0, n), write=(old, new)[k % 2]))
        stop.append(1)
    t = threading.Thread(target=run)
    t.start()
    while not stop:
        assert S.read(s, 0, n) in (old, new)
    t.join()
    w.logout()
    s.logout()


def cdb32(sa, lba, n, flags=0):
    """A 32-byte CDB: its first half, and the AHS with the other (RFC 7143 11.2.2.3)."""
    cdb = struct.pack('>B6xBHBxQ8xI', 0x7f, 0x18, sa, flags, lba, n)
    return {'cdb': cdb[:16], 'ahs': struct.pack('>HBx', 17, 1) + cdb[16:]}


def long_conf():
    conf = config.base()
    for disk in conf['adapters'][0]['disks']:
        disk['cdb32'] = True
    return conf


@tap.test('READ, WRITE, VERIFY, WRITE SAME with CDBs of 32 bytes', 'SBC-3 5.11', 'RFC 7143 11.2.2.3', conf=long_conf)
def long_cdbs(d):
    s = d.login(target=T)
    for lun, bs in LUNS:
        S.settle(s, lun)
        data = S.pattern(11, 64, 5, bs)
        S.good(s.cmd(**cdb32(0x0b, 11, 64), write=data, lun=lun))
        assert S.good(s.cmd(**cdb32(0x09, 11, 64), read=len(data), lun=lun)).data == data
        assert S.read(s, 11, 64, lun=lun, bs=bs) == data
        S.good(s.cmd(**cdb32(0x0a, 11, 64, 2), write=data, lun=lun))
        S.check(s.cmd(**cdb32(0x0a, 11, 64, 2), write=bytes(len(data)), lun=lun), (14, 0x1d, 0))
        S.good(s.cmd(**cdb32(0x0c, 20, 1), write=data[:bs], lun=lun))
        S.good(s.cmd(**cdb32(0x0d, 11, 64), write=data[:bs], lun=lun))
        assert S.read(s, 11, 64, lun=lun, bs=bs) == data[:bs] * 64
    # Without the second half it says nothing.
    S.check(s.cmd(cdb32(0x09, 11, 64)['cdb'], read=512), S.INVALID_FIELD)
    S.check(s.cmd(**cdb32(0x09, 131072, 1), read=512), S.LBA_RANGE)
    S.check(s.cmd(**cdb32(0x99, 0, 1), read=512), S.INVALID_FIELD)
    s.logout()


@tap.test('FORMAT UNIT with nothing to do is GOOD, and what it cannot do is refused', 'SBC-3 5.4')
def format_unit(d):
    s = d.login(target=T)
    S.write(s, 0, S.pattern(0, 8, 1))

    def fmt(flags, data=b''):
        return s.cmd(bytes((4, flags, 0, 0, 0, 0)), write=data)
    S.good(fmt(0))
    for flags, data in (0x10, '00000000'), (0x10, '00020000'), (0x10, '00820000'), (0x10, '00f20000'), \
            (0x18, '00020000'), (0x30, '0002000000000000'), (0x17, '00000000'):
        S.good(fmt(flags, bytes.fromhex(data)))
    for data in '01000000', '00080000', '00400000', '00000008', '00000100':
        S.check(fmt(0x10, bytes.fromhex(data)), (5, 0x26, 0))
    for data in '0000000000000008', '0000010000000000', '0000000100000000':
        S.check(fmt(0x30, bytes.fromhex(data)), (5, 0x26, 0))
    for flags in 0x80, 0x40, 0xd0, 0x08, 0x20, 0x01:
        S.check(fmt(flags), S.INVALID_FIELD)
    for data in '', '00', '000000':
        S.check(fmt(0x10, bytes.fromhex(data)), (5, 0x0e, 3))
    S.check(fmt(0x30, bytes(4)), (5, 0x0e, 3))
    assert S.read(s, 0, 8) == S.pattern(0, 8, 1)
    s.logout()


if __name__ == '__main__':
    tap.main(config.base(reactors=4))
