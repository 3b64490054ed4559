#!/usr/bin/python3
"""WRITE SAME: 0 blocks are all the rest, a long one keeps nobody waiting; what GET LBA STATUS says then."""
import struct
import time

import config
import scsi as S
import tap
from daemon import SLOW

T = config.TARGET
UNMAP, NDOB, ANCHOR = 8, 1, 0x10
LUNS = (0, 512, 131072), (1, 512, 131072), (3, 4096, 16384)


def unlimited(**more):
    conf = config.base(**more)
    for disk in conf['adapters'][0]['disks']:
        disk['max_write_same'] = 0
    return conf


def same10(lba, n, flags=0):
    return struct.pack('>BBIxHx', 0x41, flags, lba, n)


def same16(lba, n, flags=0):
    return struct.pack('>BBQIxx', 0x93, flags, lba, n)


@tap.test('WRITE SAME of 0 blocks writes up to the last block', 'SBC-3 5.37')
def rest(d):
    s = d.login(target=T)
    for lun, bs, blocks in LUNS:
        S.settle(s, lun)
        for cdb, flags in (same10, 0), (same16, 0), (same10, UNMAP), (same16, UNMAP), (same16, UNMAP | NDOB):
            first = blocks - 3000
            S.write(s, first - 8, S.pattern(0, 16, 7, bs), lun=lun, bs=bs)
            block = bytes(bs) if flags else S.pattern(5, 1, 9, bs)
            S.good(s.cmd(cdb(first, 0, flags), write=b'' if flags & NDOB else block, lun=lun))
            assert S.read(s, first - 8, 8, lun=lun, bs=bs) == S.pattern(0, 8, 7, bs)
            for at in first, first + 1500, blocks - 8:
                assert S.read(s, at, 8, lun=lun, bs=bs) == block * 8
    s.logout()


@tap.test('WRITE SAME beyond the end, anchored, with other than one block', 'SBC-3 5.37')
def refusals(d):
    s = d.login(target=T)
    one = bytes(512)
    for cdb in same10, same16:
        for lba, n in (131072, 0), (131072, 1), (131071, 2), (0xffffffff, 0), (0xffffffff, 0xffff):
            S.check(s.cmd(cdb(lba, n), write=one), S.LBA_RANGE)
        S.check(s.cmd(cdb(0, 1, UNMAP | ANCHOR), write=one), S.INVALID_FIELD)
        S.check(s.cmd(cdb(0, 1, ANCHOR), write=one), S.INVALID_FIELD)
        S.check(s.cmd(cdb(0, 1), write=one * 2), (5, 0x0e, 3))
    S.check(s.cmd(same16(2 ** 64 - 1, 0), write=one), S.LBA_RANGE)
    S.check(s.cmd(same16(2 ** 64 - 1, 2 ** 32 - 1), write=one), S.LBA_RANGE)
    S.alive(s)
    s.logout()


@tap.test('WRITE SAME keeps to the limit that the unit reports', 'SBC-3 6.6.4', conf=config.base())
def limit(d):
    s = d.login(target=T)
    for lun, bs, _ in LUNS:
        S.settle(s, lun)
        page = S.good(s.cmd(S.inquiry(page=0xb0), read=64, lun=lun)).data
        most = struct.unpack('>Q', page[36:44])[0]
        assert page[4] & 1 and most == 16 * 2 ** 20 // bs, page.hex()
        for cdb in same10, same16:
            S.check(s.cmd(cdb(0, 0), write=bytes(bs), lun=lun), S.INVALID_FIELD)
            S.check(s.cmd(cdb(0, most + 1), write=bytes(bs), lun=lun), S.INVALID_FIELD)
            S.good(s.cmd(cdb(0, most), write=bytes(bs), lun=lun))
    s.logout()


def lba_status(s, lba, lun, room=8 + 16 * 100):
    data = S.good(s.cmd(struct.pack('>BBQIxx', 0x9e, 0x12, lba, room), read=room, lun=lun)).data
    assert struct.unpack('>I', data[:4])[0] == len(data) - 4
    return [struct.unpack('>QIB', data[at:at + 13]) for at in range(8, len(data), 16)]


def truth(s, lun, bs, first, n):
    """What GET LBA STATUS says block by block, checked: in order, without gaps, and no data in a hole."""
    out = []
    for lba, blocks, status in lba_status(s, first, lun):
        assert lba == first + len(out), 'a gap at %d' % lba
        out += [status] * min(blocks, n - len(out))
        if len(out) >= n:
            break
    data = S.read(s, first, n, lun=lun, bs=bs)
    for k, status in enumerate(out):
        assert status == 0 or data[k * bs:k * bs + bs] == bytes(bs), 'data in the hole %d' % (first + k)
    return out


@tap.test('GET LBA STATUS tells what was written and what was unmapped', 'SBC-3 5.6')
def mapped(d):
    s = d.login(target=T)
    for lun, bs, blocks in LUNS:
        S.settle(s, lun)
        page = 4096 // bs
        S.good(s.cmd(same16(0, 0, UNMAP | NDOB), lun=lun))
        assert lba_status(s, 0, lun) == [(0, blocks, 1)]
        assert lba_status(s, 77, lun) == [(77, blocks - 77, 1)]
        S.write(s, 100 * page, S.pattern(0, 30 * page, 1, bs), lun=lun, bs=bs)
        S.write(s, 200 * page + page // 2, S.pattern(0, 1, 1, bs), lun=lun, bs=bs)
        S.good(s.cmd(same16(110 * page, 5 * page, UNMAP | NDOB), lun=lun))
        want = [0] * 256
        want[100:130] = [1] * 30
        want[200] = 1
        want[110:115] = [0] * 5
        got = truth(s, lun, bs, 0, 256 * page)
        assert got == [0 if w else 1 for w in want for _ in range(page)], got
        # The allocation length says how many.
        assert lba_status(s, 90 * page, lun, 24) == [(90 * page, 10 * page, 1)]
        assert len(lba_status(s, 90 * page, lun, 8 + 16 * 3)) == 3
        S.check(s.cmd(struct.pack('>BBQIxx', 0x9e, 0x12, blocks, 24), read=24, lun=lun), S.LBA_RANGE)
    S.settle(s, 2)
    assert lba_status(s, 5, 2) == [(5, 2 ** 31 - 5, 1)]
    s.logout()


def delays(s, lun, n=60):
    out = []
    for k in range(n):
        began = time.monotonic()
        S.read(s, k * 8, 8, lun=lun)
        out.append(time.monotonic() - began)
    return sorted(out)


@tap.variants([('a pattern', S.pattern(1, 1, 3)), ('zeros', bytes(512))],
              'a read does not wait for a WRITE SAME of 1 TiB with %s', 'SBC-3 5.38', conf=unlimited(reactors=1))
def long_one(d, block):
    long, s = d.login(target=T), d.login(target=T)
    S.settle(long, 2)
    S.settle(s, 2)
    t = long.start(same16(0, 0), write=block, lun=2)
    took = delays(s, 2)
    # What the machine itself does to some of them is not the daemon's.
    assert took[len(took) // 2] < 0.010 * SLOW, 'median %.1f ms' % (took[len(took) // 2] * 1000)
    assert long.tmf(S.ABORT_TASK, lun=2, rtt=t.itt, ref_cmd_sn=long.cmd_sn - 1) in (0, 1)
    if not t.done:
        long.tasks.pop(t.itt, None)
    S.alive(long, 2)
    # And one that ends with its session.
    long.start(same16(0, 0), write=block, lun=2)
    long.logout()
    S.alive(s, 2)
    s.logout()


@tap.test('a WRITE SAME of a whole disk goes on while others read and write it', 'SBC-3 5.38', conf=unlimited(reactors=1))
def among_others(d):
    long, s = d.login(target=T), d.login(target=T)
    block = S.pattern(77, 1, 1)
    for lun in 0, 1:
        S.settle(long, lun)
        S.settle(s, lun)
        t = long.start(same16(8, 0), write=block, lun=lun)
        for k in range(20):
            S.write(s, 0, S.pattern(0, 8, k), lun=lun)
            assert S.read(s, 0, 8, lun=lun) == S.pattern(0, 8, k)
        S.good(long.wait(t) or t)
        for at in 8, 65536, 131064:
            assert S.read(s, at, 8, lun=lun) == block * 8
    long.logout()
    s.logout()


if __name__ == '__main__':
    tap.main(unlimited())
