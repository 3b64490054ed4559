#!/usr/bin/python3
"""SANITIZE: a unit destroys what it holds, in one go with IMMED or without, and only where that is allowed."""
import struct
import time

import config
import scsi as S
import tap

T = config.TARGET
OVERWRITE, ERASE, EXIT = 1, 2, 0x1f
IMMED, AUSE = 0x80, 0x20
IN_PROGRESS = (2, 0x04, 0x1b)
LUNS = (0, 512, 131072), (1, 512, 131072), (3, 4096, 16384)


def conf(allowed=True, size=None):
    out = config.base(reactors=2)
    for disk in out['adapters'][0]['disks']:
        disk['sanitize'] = allowed
        if size and 'size' in disk:
            disk['size'] = size
    return out


def sanitize(s, action, lun=0, flags=0, pattern=b'', count=1):
    data = struct.pack('>BxH', count, len(pattern)) + pattern if pattern else b''
    return s.cmd(struct.pack('>BB5xHx', 0x48, flags | action, len(data)), write=data, lun=lun)


def wait(s, lun=0):
    """TEST UNIT READY until it is through; the progress it told, in order."""
    seen = []
    while True:
        t = s.cmd(S.TUR, lun=lun)
        if t.status == S.GOOD:
            return seen
        S.check(t, IN_PROGRESS)
        seen.append(struct.unpack('>H', t.sense[16:18])[0])


@tap.test('OVERWRITE: every block of the unit is the pattern', 'SBC-3 5.22')
def overwrite(d):
    s = d.login(target=T)
    for lun, bs, blocks in LUNS:
        S.settle(s, lun)
        for pattern in b'\xaa', bytes(range(1, 8)), S.pattern(3, 1, 9, bs):
            for at in 0, blocks - 8:
                S.write(s, at, S.pattern(at, 8, 1, bs), lun=lun, bs=bs)
            S.good(sanitize(s, OVERWRITE, lun, pattern=pattern))
            block = (pattern * bs)[:bs]
            for at in 0, blocks // 2, blocks - 8:
                assert S.read(s, at, 8, lun=lun, bs=bs) == block * 8
    s.logout()


@tap.test('BLOCK ERASE: every block is unmapped and reads as zeros', 'SBC-3 5.22')
def erase(d):
    s = d.login(target=T)
    for lun, bs, blocks in LUNS:
        S.settle(s, lun)
        for at in 0, blocks - 8:
            S.write(s, at, S.pattern(at, 8, 1, bs), lun=lun, bs=bs)
        S.good(sanitize(s, ERASE, lun))
        for at in 0, blocks - 8:
            assert S.read(s, at, 8, lun=lun, bs=bs) == bytes(8 * bs)
        t = S.good(s.cmd(struct.pack('>BBQIxx', 0x9e, 0x12, 0, 40), read=40, lun=lun))
        assert struct.unpack('>QIB', t.data[8:21]) == (0, blocks, 1) and len(t.data) == 24
    s.logout()


@tap.test('IMMED: answered at once; progress is told, the medium is closed, and it ends', 'SBC-3 4.11', conf=conf(size='256M'))
def immediate(d):
    s, other = d.login(target=T), d.login(target=T)
    S.settle(other)
    S.good(sanitize(s, OVERWRITE, flags=IMMED, pattern=b'\x5a', count=8))
    for cdb, kw in (S.read16(0, 1), {'read': 512}), (S.write16(0, 1), {'write': bytes(512)}):
        S.check(other.cmd(cdb, **kw), IN_PROGRESS)
    S.good(other.cmd(S.inquiry(), read=255))
    sense = S.good(other.cmd(S.request_sense(), read=252)).data
    assert (sense[2] & 15, sense[12], sense[13]) == IN_PROGRESS and sense[15] == 0x80
    # It goes on without the one who asked, and whatever is reset.
    s.logout()
    assert other.tmf(S.LUN_RESET) == 0
    t = other.cmd(S.TUR)
    S.check(t, (6, 0x29, 3))
    seen = wait(other)
    assert len(seen) > 2 and seen == sorted(seen), seen
    assert S.read(other, 0, 64) == b'\x5a' * 32768 and S.read(other, 2 ** 19 - 64, 64) == b'\x5a' * 32768
    assert S.good(other.cmd(S.request_sense(), read=252)).data[2] == 0
    other.logout()


@tap.test('the daemon stops in the midst of it', 'SBC-3 4.11', conf=conf(size='1G'))
def stops(d):
    s = d.login(target=T)
    S.good(sanitize(s, OVERWRITE, flags=IMMED, pattern=b'\x5a', count=31))
    S.check(s.cmd(S.TUR), IN_PROGRESS)
    s.logout()
    began = time.monotonic()
    d.stop()
    assert time.monotonic() - began < 10
    d.start()


@tap.test('wrong lists, EXIT FAILURE MODE without a failure, and actions that are not there', 'SBC-3 5.22')
def wrong(d):
    s = d.login(target=T)
    S.good(sanitize(s, EXIT))
    for action in 0, 3, 4, 0x1e:
        S.check(sanitize(s, action), S.INVALID_FIELD)
    for length in 0, 1, 4, 517, 0xffff:
        S.check(s.cmd(struct.pack('>BB5xHx', 0x48, OVERWRITE, length), write=bytes(min(length, 600))), S.INVALID_FIELD)
    S.check(sanitize(s, OVERWRITE, pattern=b'\x01', count=0), (5, 0x26, 0))
    S.check(sanitize(s, OVERWRITE, pattern=b'\x01', flags=0x40), S.INVALID_FIELD)
    S.check(s.cmd(struct.pack('>BB5xHx', 0x48, OVERWRITE, 6), write=b'\1\0\0\3ab'), (5, 0x26, 0))
    S.alive(s)
    s.logout()


@tap.test('without `sanitize: yes` there is no such command', 'SBC-3 5.22', conf=conf(False))
def forbidden(d):
    s = d.login(target=T)
    S.write(s, 0, S.pattern(0, 8, 1))
    for action in OVERWRITE, ERASE, EXIT:
        S.check(sanitize(s, action, pattern=b'\x01' if action == OVERWRITE else b''), S.INVALID_OPCODE)
    assert S.read(s, 0, 8) == S.pattern(0, 8, 1)
    assert S.good(s.cmd(S.opcodes(options=3, opcode=0x48, sa=1), read=64)).data[1] & 7 == 1
    s.logout()


if __name__ == '__main__':
    tap.main(conf())
