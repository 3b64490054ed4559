#!/usr/bin/python3
"""MODE SELECT: what can be changed, what it does at once on every nexus, and lists that are wrong."""
import struct

import config
import scsi as S
import tap

T = config.TARGET
LENGTH, PARAM = (5, 0x1a, 0), (5, 0x26, 0)
CHANGED, PROTECTED = (6, 0x2a, 1), (7, 0x27, 2)
CONTROL_LEN = 10


def select(s, pages=b'', ten=False, block=b'', head=None, flags=0x10, lun=0):
    if head is None:
        head = struct.pack('>6xH', len(block)) if ten else struct.pack('>3xB', len(block))
    data = head + block + pages
    cdb = struct.pack('>BB5xHx', 0x55, flags, len(data)) if ten else struct.pack('>BB2xBx', 0x15, flags, len(data))
    return s.cmd(cdb, write=data, lun=lun)


def page(s, code=0x0a, pc=0, lun=0):
    """Code, length and body as MODE SENSE gives them."""
    return bytes(S.good(s.cmd(S.mode10(pc << 6 | code, dbd=1), read=255, lun=lun)).data[8:])


def control(s, d_sense=False, swp=False):
    p = bytearray(page(s))
    p[2] = p[2] & ~4 | d_sense << 2
    p[4] = p[4] & ~8 | swp << 3
    return bytes(p)


@tap.test('each page given back as it is, is taken; what changes is told to the others once', 'SPC-4 6.10')
def same(d):
    a, b = d.login(target=T), d.login(target=T)
    for code in 0x01, 0x08, 0x0a, 0x1a, 0x1c:
        for ten in False, True:
            S.good(select(a, page(a, code), ten))
    everything = b''.join(page(a, code) for code in (0x01, 0x08, 0x0a, 0x1a, 0x1c))
    S.good(select(a, everything, True))
    S.alive(b)
    assert page(a, pc=1)[2:] == bytes((4, 0, 8)) + bytes(7)
    S.good(select(a, control(a, d_sense=True)))
    S.alive(a)
    S.check(b.cmd(S.TUR), CHANGED)
    S.alive(b)
    assert page(b)[2] & 4 and not page(b, pc=2)[2] & 4
    S.good(select(b, control(b)))
    S.check(a.cmd(S.TUR), CHANGED)
    for s in (a, b):
        S.alive(s)
        s.logout()


@tap.test('D_SENSE: sense data comes in descriptors, on every nexus, until a reset', 'SPC-4 4.5.2')
def descriptors(d):
    a, b = d.login(target=T), d.login(target=T)
    S.good(select(a, control(a, d_sense=True)))
    b.cmd(S.TUR)
    for s in (a, b):
        t = s.cmd(S.read16(1 << 40, 1), read=512)
        assert t.status == S.CHECK and bytes(t.sense[:4]) == b'\x72\x05\x21\x00', t.sense.hex()
        t = s.cmd(b'\x12\0\1\0\xff\0', read=255)
        assert t.sense[0] == 0x72 and t.sense[8:12] == b'\x02\x06\0\0', t.sense.hex()
    assert a.tmf(S.LUN_RESET) == 0
    S.settle(a)
    S.settle(b)
    S.check(b.cmd(S.read16(1 << 40, 1), read=512), S.LBA_RANGE)
    a.logout()
    b.logout()


@tap.test('SWP: nobody writes, everybody reads, new sessions too', 'SPC-4 7.5.8')
def protect(d):
    a, b = d.login(target=T), d.login(target=T)
    before = S.read(b, 0, 4)
    S.good(select(a, control(a, swp=True), True))
    b.cmd(S.TUR)
    c = d.login(target=T)
    for s in (a, b, c):
        S.check(s.cmd(S.write16(0, 4), write=S.pattern(0, 4, 77)), PROTECTED)
        S.check(s.cmd(struct.pack('>BBQ3xBxx', 0x89, 0, 0, 1), write=bytes(1024)), PROTECTED)
        assert S.read(s, 0, 4) == before
        assert S.good(s.cmd(S.mode6(0x0a), read=255)).data[2] & 0x80
    S.good(select(b, control(b)))
    a.cmd(S.TUR)
    S.write(a, 0, S.pattern(0, 4, 78))
    assert not S.good(a.cmd(S.mode6(0x0a), read=255)).data[2] & 0x80
    for s in (a, b, c):
        s.logout()


@tap.test('wrong lists change nothing and say where', 'SPC-4 6.10', 'K26')
def wrong(d):
    s = d.login(target=T)
    good, other = control(s), control(s, d_sense=True)
    S.good(s.cmd(struct.pack('>BB2xBx', 0x15, 0x10, 0)))
    for bad, where in (
            (other[:2] + bytes((other[2] | 0x20,)) + other[3:], 6),        # TST
            (other[:4] + bytes((other[4] | 0x40,)) + other[5:], 8),
            (other + b'\x0a\x09' + good[2:11], 17),
            (other + b'\x33\x02\0\0', 16),
            (other + b'\x4a\x01\0\x06' + bytes(6), 16)):
        t = S.check(select(s, bad), PARAM)
        assert struct.unpack('>H', t.sense[16:18])[0] == where, (bad.hex(), t.sense.hex())
        assert page(s) == good
    for cut in range(1, len(other)):
        t = select(s, other[:cut])
        assert t.status == S.CHECK and t.skq in (LENGTH, PARAM), repr(t)
    S.check(select(s, other, head=b'\0\0\0\x08'), LENGTH, PARAM)
    S.check(select(s, other, head=b'\0\0\0\x05'), PARAM)
    for n in 1, 2, 3:
        S.check(s.cmd(struct.pack('>BB2xBx', 0x15, 0x10, n), write=bytes(n)), LENGTH)
    S.check(select(s, other, flags=0x11), S.INVALID_FIELD)
    S.check(s.cmd(struct.pack('>BB5xHx', 0x55, 0x10, 65535), write=bytes(64)), LENGTH)
    blocks = struct.pack('>IxBH', 131072, 0, 512)
    S.good(select(s, good, block=blocks))
    S.good(select(s, good, block=bytes(6) + b'\2\0'))
    S.good(select(s, good, True, head=struct.pack('>4xBxH', 1, 16), block=struct.pack('>Q4xI', 131072, 512)))
    S.check(select(s, other, block=struct.pack('>IxBH', 131071, 0, 512)), PARAM)
    S.check(select(s, other, block=struct.pack('>IxBH', 131072, 0, 4096)), PARAM)
    assert page(s) == good
    s.logout()


if __name__ == '__main__':
    tap.main(config.base())
