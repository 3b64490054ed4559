#!/usr/bin/python3
"""COMPARE AND WRITE: alone with its blocks, whoever else is there and by whatever way."""
import struct
import threading

import config
import scsi as S
import tap
from daemon import SLOW

T, OTHER = config.TARGET, config.IQN + 'other'
MISCOMPARE = (14, 0x1d, 0)
INVALID_IU = (5, 0x0e, 3)
PROTECTED = (7, 0x27, 0)


def caw(lba, n, flags=0):
    return struct.pack('>BBQ3xBxx', 0x89, flags, lba, n)


def compare_write(s, lba, old, new, lun=0, bs=512, flags=0, **kw):
    assert len(old) == len(new)
    return s.cmd(caw(lba, len(old) // bs, flags), write=old + new, lun=lun, **kw)


def two_ways():
    """Two targets that export the same disks, under other numbers."""
    out = config.base(targets=[config.target(luns=('ram', 'file', 'ram4k')),
                               config.target(OTHER, luns={7: 'ram', 300: 'file'})], reactors=4)
    return out


@tap.variants([('%d' % n, n) for n in (0, 17, 511, 512, 1023)],
              'the first byte that differs, %s, is in the sense data', 'K20', 'SBC-3 5.3')
def offset(d, where):
    s = d.login(target=T)
    old = S.pattern(16, 2, 3)
    S.write(s, 16, old)
    for lun in 0, 1:
        S.settle(s, lun)
        S.write(s, 16, old, lun=lun)
        wrong = bytearray(old)
        wrong[where] ^= 0x40
        wrong[-1] ^= 1
        t = S.check(compare_write(s, 16, bytes(wrong), S.pattern(16, 2, 4), lun=lun), MISCOMPARE)
        assert t.sense[0] == 0xf0 and int.from_bytes(t.sense[3:7], 'big') == where, t.sense.hex()
        assert S.read(s, 16, 2, lun=lun) == old, 'a miscompare wrote'
        S.good(compare_write(s, 16, old, S.pattern(16, 2, 4), lun=lun))
        assert S.read(s, 15, 4, lun=lun)[512:1536] == S.pattern(16, 2, 4)
    s.logout()


@tap.test('data of another length than twice the blocks is refused and writes nothing', 'K20', 'SBC-3 5.3')
def lengths(d):
    s = d.login(target=T)
    before = S.pattern(0, 64, 5)
    S.write(s, 0, before)
    for n, edtl in (1, 512), (1, 1023), (1, 1025), (1, 1536), (1, 2048), (2, 1024), (4, 2048), (255, 1024), (3, 2048):
        t = S.check(s.cmd(caw(8, n), write=before[8 * 512:8 * 512 + min(edtl, 8192)].ljust(edtl, b'x')), INVALID_IU)
        asked = 2 * n * 512
        assert (t.over, t.under, t.residual) == (edtl < asked, edtl > asked, abs(edtl - asked) if edtl < asked else edtl), \
            repr(t)
    S.check(s.cmd(caw(8, 1)), INVALID_IU)
    S.check(s.cmd(caw(8, 1), read=1024), INVALID_IU)
    assert S.read(s, 0, 64) == before
    s.logout()


@tap.test('no block at all is GOOD, 255 are, and 256 do not fit the field', 'K20', 'SBC-3 5.3')
def numbers(d):
    s = d.login(target=T)
    t = S.good(s.cmd(caw(8, 0)))
    assert not t.over and not t.under
    for lun, bs in (0, 512), (1, 512), (3, 4096):
        S.settle(s, lun)
        old, new = S.pattern(8, 255, 6, bs=bs), S.pattern(8, 255, 7, bs=bs)
        S.write(s, 8, old, lun=lun, bs=bs)
        S.good(compare_write(s, 8, old, new, lun=lun, bs=bs))
        assert S.read(s, 8, 255, lun=lun, bs=bs) == new
        t = S.check(compare_write(s, 8, new[:-1] + b'?', old, lun=lun, bs=bs), MISCOMPARE)
        assert int.from_bytes(t.sense[3:7], 'big') == 255 * bs - 1
        assert S.read(s, 8, 255, lun=lun, bs=bs) == new
    t = S.check(s.cmd(struct.pack('>BBQxxHxx', 0x89, 0, 8, 256), write=bytes(1024)), S.INVALID_FIELD)
    assert S.read(s, 8, 1) == S.pattern(8, 1, 7)
    s.logout()


@tap.test('it is in REPORT SUPPORTED OPERATION CODES and Block Limits', 'K20', 'SPC-4 6.35')
def announced(d):
    s = d.login(target=T)
    assert S.good(s.cmd(S.inquiry(64, 0xb0), read=64)).data[5] == 255
    t = S.good(s.cmd(S.opcodes(64, options=1, opcode=0x89), read=64))
    assert t.data[1] & 7 == 3 and t.data[2:4] == b'\0\x10', t.data.hex()
    assert t.data[4:20] == b'\x89\x18' + b'\xff' * 8 + b'\0\0\0\xff\0\0', t.data.hex()
    s.logout()


@tap.test('bits, ranges and units that do not have it so', 'SBC-3 5.3')
def refused(d):
    s = d.login(target=T)
    last = int.from_bytes(S.good(s.cmd(S.capacity16(), read=32)).data[:8], 'big')
    S.check(s.cmd(caw(last, 2), write=bytes(2048)), S.LBA_RANGE)
    S.check(s.cmd(caw(2 ** 64 - 1, 2), write=bytes(2048)), S.LBA_RANGE)
    S.check(s.cmd(caw(8, 1, 0x20), write=bytes(1024)), S.INVALID_FIELD)
    S.check(s.cmd(caw(8, 1, 0x01), write=bytes(1024)), S.INVALID_FIELD)
    old = S.read(s, last, 1)
    for flags in 0, 0x10, 0x08, 0x18:
        S.good(compare_write(s, last, old, old, flags=flags))
    s.logout()


def read_only():
    out = config.base()
    out['targets'][0]['luns'][0]['read_only'] = True
    return out


@tap.test('a read-only unit refuses it before data is asked for', 'SBC-3 5.3', conf=read_only)
def protected(d):
    s = d.login({'InitialR2T': 'Yes', 'ImmediateData': 'No'}, target=T)
    t = S.check(compare_write(s, 0, bytes(512), bytes(512)), PROTECTED)
    assert t.r2t_sn == 0, 'data was asked for'
    s.logout()


# -- a counter in a block --

def block(n):
    return struct.pack('>Q', n) * 64


class Counter:
    """Sessions that add one with COMPARE AND WRITE, each `goods` times; and others beside them."""

    def __init__(self, d, luns, goods):
        self.d, self.luns, self.goods = d, luns, goods
        self.failures, self.maybe, self.added = [], 0, 0
        self.lock = threading.Lock()
        self.over = threading.Event()

    def session(self, n):
        target = (T, OTHER)[n % 2]
        return self.d.login(target=target, lun=self.luns[n % 2]), self.luns[n % 2]

    def add(self, n):
        s, lun = self.session(n)
        goods = 0
        while goods < self.goods:
            old = S.read(s, 10, 1, lun=lun)
            now = struct.unpack('>Q', old[:8])[0]
            t = compare_write(s, 10, old, block(now + 1), lun=lun)
            if t.status == S.GOOD:
                goods += 1
            else:
                S.check(t, MISCOMPARE)
        with self.lock:
            self.added += goods
        s.logout()

    def abort(self, n):
        """Adds and aborts: what was aborted has happened or never will."""
        s, lun = self.session(n)
        while not self.over.is_set():
            old = S.read(s, 10, 1, lun=lun)
            now = struct.unpack('>Q', old[:8])[0]
            t = s.start(caw(10, 1), write=old + block(now + 1), lun=lun)
            response = s.tmf(S.ABORT_TASK, rtt=t.itt, ref_cmd_sn=s.cmd_sn - 1, lun=lun)
            assert response in (0, 1), response
            with self.lock:
                if not t.done:
                    self.maybe += 1
                elif t.status == S.GOOD:
                    self.added += 1
            s.tasks.pop(t.itt, None)
        s.logout()

    def neighbours(self, n):
        """Plain reads across the block, and writes of those on both sides."""
        s, lun = self.session(n)
        seed = 0
        while not self.over.is_set():
            seed += 1
            S.write(s, 8, S.pattern(8, 2, seed), lun=lun)
            S.write(s, 11, S.pattern(11, 2, seed), lun=lun)
            now = S.read(s, 8, 5, lun=lun)
            assert now[:1024] == S.pattern(8, 2, seed) and now[1536:] == S.pattern(11, 2, seed), 'neighbours changed'
        s.logout()

    def guarded(self, fn, n):
        try:
            fn(n)
        except Exception as e:
            self.failures.append('%s %d: %r' % (fn.__name__, n, e))

    def run(self):
        s, lun = self.session(0)
        S.write(s, 10, block(0), lun=lun)
        adders = [threading.Thread(target=self.guarded, args=(self.add, n)) for n in range(8)]
        others = [threading.Thread(target=self.guarded, args=(fn, n)) for n, fn in enumerate((self.abort, self.neighbours))]
        for t in adders + others:
            t.start()
        for t in adders:
            t.join()
        self.over.set()
        for t in others:
            t.join()
        assert not self.failures, self.failures
        end = S.read(s, 10, 1, lun=lun)
        now = struct.unpack('>Q', end[:8])[0]
        assert end == block(now), 'a torn block: %s' % end.hex()
        assert self.added >= 8 * self.goods
        assert self.added <= now <= self.added + self.maybe, '%d of %d, %d perhaps' % (now, self.added, self.maybe)
        s.logout()


@tap.variants([('RAM', (0, 7)), ('a file', (1, 300))],
              'eight sessions by two targets count in a block of %s; nothing is lost', 'K19', 'SBC-3 5.3',
              conf=two_ways, seconds=120)
def counter(d, luns):
    Counter(d, luns, 60 // SLOW).run()
    assert d.stat('scsi_range_locks') > 0


@tap.test('units apart do not wait for each other', 'K19', 'SBC-3 5.3', conf=two_ways)
def apart(d):
    a, b = d.login(target=T), d.login(target=OTHER, lun=300)
    for n in range(50):
        ta = a.start(caw(10, 1), write=block(n) + block(n + 1) if n else bytes(512) + block(1))
        tb = b.start(caw(10, 1), write=block(n) + block(n + 1) if n else bytes(512) + block(1), lun=300)
        S.good(a.wait(ta))
        S.good(b.wait(tb))
    assert S.read(a, 10, 1) == block(50)
    assert S.read(b, 10, 1, lun=300) == block(50)
    a.logout()
    b.logout()


if __name__ == '__main__':
    tap.main(config.base())
