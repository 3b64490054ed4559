#!/usr/bin/python3
"""Errors of the disk as sense data: which errno becomes what, and what works without the disk."""
import errno

import config
import scsi as S
import tap
from slowdisk import SlowDisk

T = config.TARGET
disks = []


def conf():
    while not disks:
        disks.append(SlowDisk())
    out = config.base(targets=[config.target(luns=('bad', 'ram'))])
    out['adapters'] = [{'name': 'hba', 'disks': [
        {'name': 'bad', 'driver': 'file', 'path': disks[0].path, 'write_cache': True},
        {'name': 'ram', 'driver': 'ram', 'size': '64M'}]}]
    return out


READS = [
    (errno.EIO, [(3, 0x11, 0)]),
    (errno.ENODEV, [(2, 0x04, None), (5, 0x25, 0)]),
    (errno.ENXIO, [(2, 0x04, None), (5, 0x25, 0)]),
    (errno.ETIMEDOUT, [(11, None, None)]),
    (errno.ENOMEM, None),
]
WRITES = [
    (errno.EIO, [(3, 0x0c, 0)]),
    (errno.ENOSPC, [(7, 0x27, 7)]),
    (errno.EROFS, [(7, 0x27, 0)]),
    (errno.ENODEV, [(2, 0x04, None), (5, 0x25, 0)]),
    (errno.EOPNOTSUPP, [(5, 0x20, 0)]),
]


def matches(t, wanted):
    if wanted is None:
        return t.status in (S.BUSY, S.FULL) or (t.status == S.CHECK and t.skq[0] == 11)
    return t.status == S.CHECK and any(
        all(w is None or w == got for w, got in zip(want, t.skq)) for want in wanted)


def one(d, kind, code, wanted, cdb, **kw):
    disk = disks[0]
    s = d.login(target=T)
    disk.fail(kind, code, 512 * 100, 512 * 107)
    try:
        t = s.cmd(cdb, **kw)
        assert matches(t, wanted), '%s gives %r' % (errno.errorcode[code], t)
        if t.sense and t.sense[0] == 0xf0:
            lba = int.from_bytes(t.sense[3:7], 'big')
            assert 96 <= lba <= 112, 'INFORMATION points at block %d' % lba
        S.read(s, 0, 8)
        S.read(s, 200, 8)
        S.alive(s)
    finally:
        disk.heal()
    if 'write' in kw:
        S.good(s.cmd(cdb, **kw))
    assert S.read(s, 96, 16) is not None
    s.logout()


@tap.variants([(errno.errorcode[c], c, w) for c, w in READS], 'a READ that meets %s', 'K42')
def reading(d, code, wanted):
    one(d, 'read', code, wanted, S.read16(96, 16), read=8192)


@tap.variants([(errno.errorcode[c], c, w) for c, w in WRITES], 'a WRITE that meets %s', 'K42', 'K41')
def writing(d, code, wanted):
    one(d, 'write', code, wanted, S.write16(96, 16), write=S.pattern(96, 16, 1))


@tap.test('INQUIRY, MODE SENSE, REPORT LUNS and READ CAPACITY need no disk', 'K42', 'O30')
def without_disk(d):
    disk = disks[0]
    s = d.login(target=T)
    disk.fail('read', errno.EIO)
    disk.fail('write', errno.EIO)
    disk.hold('read')
    disk.hold('write')
    try:
        for cdb in (S.inquiry(), S.inquiry(page=0x83), S.inquiry(page=0xb0), S.mode6(), S.mode10(), S.report_luns(),
                    S.capacity10(), S.capacity16(), S.opcodes(), S.request_sense()):
            assert S.good(s.cmd(cdb, read=8192, timeout=2)).data
        S.alive(s)
    finally:
        disk.reset()
    s.logout()


@tap.test('a failed flush stays failed', 'K38', fresh=True, conf=None)
def flush(d):
    s = d.login(target=T)
    disk = disks[0]
    S.write(s, 0, S.pattern(0, 8, 1))
    S.good(s.cmd(S.sync10()))
    disk.fail('sync', errno.EIO)
    try:
        S.check(s.cmd(S.sync10()), (3, 0x0c, 0))
    finally:
        disk.heal()
    S.write(s, 0, S.pattern(0, 8, 2))
    t = s.cmd(S.sync10())
    assert t.status == S.CHECK and t.skq[0] in (3, 4), 'a lost write is called safe: %r' % t
    s.logout()


if __name__ == '__main__':
    # The flush error stays until the daemon ends: that test comes first, with a daemon of its own.
    tap.TESTS.sort(key=lambda c: not c.fresh)
    tap.main(conf)
