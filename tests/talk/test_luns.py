#!/usr/bin/python3
"""LUNs: which are there, how they are named, what they say about themselves."""
import subprocess

import config
import daemon
import scsi as S
import tap

T = config.TARGET
WELL_KNOWN = bytes([0xc1, 0x01, 0, 0, 0, 0, 0, 0])


def parse_luns(data):
    n = int.from_bytes(data[:4], 'big')
    assert n % 8 == 0 and len(data) == 8 + n, data.hex()
    return [bytes(data[i:i + 8]) for i in range(8, 8 + n, 8)]


def ram(names, size='1M', **more):
    return [{'name': n, 'driver': 'ram', 'size': size, **more} for n in names]


def only(luns, names=None, **kw):
    """A configuration with these LUNs of small RAM disks: {number: name}."""
    disks = ram(names or dict.fromkeys(luns.values()))
    out = config.base(targets=[config.target(luns=luns, **kw)])
    out['adapters'] = [{'name': 'hba', 'disks': disks}]
    return out


@tap.test('without LUN 0, REPORT LUNS and INQUIRY work on it', 'K05', 'SPC-4 6.33',
          conf=lambda: only({100: 'a', 101: 'b'}))
def no_lun_0(d):
    s = d.login(target=T, lun=100)
    want = [S_lun(100), S_lun(101)]
    for lun in 0, 100, WELL_KNOWN:
        assert parse_luns(S.good(s.cmd(S.report_luns(), read=1024, lun=lun)).data) == want
    t = S.good(s.cmd(S.inquiry(), read=255, lun=0))
    assert t.data[0] in (0x7f, 0x20, 0x3f), 'a disk at LUN 0: %02x' % t.data[0]
    assert len(t.data) >= 36 and t.data[8:16].strip() and t.data[16:32].strip(), 'nameless: %r' % t.data[8:36]
    S.check(s.cmd(S.TUR, lun=0), S.NO_LUN)
    S.check(s.cmd(S.read10(0, 1), read=512, lun=0), S.NO_LUN)
    t = S.good(s.cmd(S.request_sense(), read=252, lun=0))
    assert t.data[2] & 15 == 5 and t.data[12] == 0x25, t.data.hex()
    s.logout()


def S_lun(n):
    return bytes([n >> 8 | 0x40 if n > 255 else 0, n & 255]) + bytes(6)


@tap.test('the well-known LUN answers REPORT LUNS', 'K05', 'SPC-4 9')
def well_known(d):
    s = d.login(target=T)
    S.settle(s, WELL_KNOWN)
    assert parse_luns(S.good(s.cmd(S.report_luns(), read=1024, lun=WELL_KNOWN)).data) == [S_lun(n) for n in range(4)]
    t = S.good(s.cmd(S.inquiry(), read=255, lun=WELL_KNOWN))
    assert t.data[0] & 0x1f == 0x1e, 'device type %02x' % t.data[0]
    t = s.cmd(S.read10(0, 1), read=512, lun=WELL_KNOWN)
    assert t.status == S.CHECK and t.skq[0] == 5, repr(t)
    s.logout()


MANY = (0, 1, 254, 255, 256, 257, 1000, 16383)


@tap.test('LUN numbers up to 16383', 'K06', 'SAM-5 4.7', conf=lambda: only({n: 'd%d' % n for n in MANY}))
def numbers(d):
    s = d.login(target=T)
    t = S.good(s.cmd(S.report_luns(8 + 8 * len(MANY)), read=8 + 8 * len(MANY)))
    assert parse_luns(t.data) == [S_lun(n) for n in MANY]
    t = S.good(s.cmd(S.report_luns(16), read=16))
    assert t.data[:4] == (8 * len(MANY)).to_bytes(4, 'big'), 'the length names what was cut: %s' % t.data.hex()
    for n in MANY:
        S.settle(s, n)
        S.write(s, 0, S.pattern(0, 1, n), lun=n)
    for n in MANY:
        assert S.read(s, 0, 1, lun=n) == S.pattern(0, 1, n), 'LUN %d is another' % n
        # Peripheral and flat form mean the same LUN (SAM-5 4.7.7).
        flat = bytes([0x40 | n >> 8, n & 255]) + bytes(6)
        assert S.read(s, 0, 1, lun=flat) == S.pattern(0, 1, n)
    for lun in 2, 253, 258, 16382, bytes([0x80, 0] + [0] * 6), bytes([0, 0, 0, 1, 0, 0, 0, 0]), b'\xff' * 8:
        S.check(s.cmd(S.TUR, lun=lun), S.NO_LUN)
    s.logout()


@tap.test('LUN 16384 is a configuration error with its place', 'K06')
def number_too_large(d):
    d2 = daemon.Daemon(only({0: 'a', 16384: 'b'}), wait=False)
    run = subprocess.run([daemon.SLUICED, '-t', '-c', d2.write_conf()], capture_output=True, text=True, timeout=20)
    assert run.returncode == 1, run
    bad = [line for line in (run.stdout + run.stderr).splitlines() if '16384' in line or '16383' in line]
    assert bad and bad[0].startswith(d2.path + ':'), run
    import shutil
    shutil.rmtree(d2.tmp)


@tap.test('REPORT LUNS of 1024 LUNs', 'K06', conf=lambda: only({n: 'd%d' % n for n in range(1024)}), seconds=90)
def thousand(d):
    s = d.login(target=T, keys={'MaxRecvDataSegmentLength': '65536'})
    t = S.good(s.cmd(S.report_luns(16384), read=16384))
    assert parse_luns(t.data) == [S_lun(n) for n in range(1024)]
    for n in 0, 255, 256, 1023:
        S.settle(s, n)
    s.logout()


@tap.variants([(n, n) for n in (1, 2, 0x11, 0x12)], 'REPORT LUNS with select %#x', 'K05', 'SPC-4 6.33')
def select(d, report):
    s = d.login(target=T)
    t = s.cmd(S.report_luns(select=report), read=1024)
    if t.status == S.GOOD:
        for lun in parse_luns(t.data):
            assert lun == WELL_KNOWN or report == 2 and lun in [S_lun(n) for n in range(4)], lun.hex()
    else:
        S.check(t, S.INVALID_FIELD)
    s.logout()


@tap.test('each LUN has its own data', 'K08')
def apart(d):
    s = d.login(target=T)
    for lun in 0, 1:
        S.settle(s, lun)
        S.write(s, 5, S.pattern(5, 3, lun + 1), lun=lun)
    for lun in 0, 1:
        assert S.read(s, 5, 3, lun=lun) == S.pattern(5, 3, lun + 1)
    s.logout()


@tap.test('all that says how large a block is agrees', 'K09', 'SBC-3 5.15, 5.16')
def block_size(d):
    s = d.login(target=T)
    for lun, bs in (0, 512), (1, 512), (3, 4096):
        S.settle(s, lun)
        c10 = S.good(s.cmd(S.capacity10(), read=8, lun=lun)).data
        c16 = S.good(s.cmd(S.capacity16(), read=32, lun=lun)).data
        last = int.from_bytes(c16[:8], 'big')
        assert (last + 1) * bs == 64 << 20, '%d blocks of %d' % (last + 1, bs)
        assert int.from_bytes(c10[:4], 'big') == last
        assert int.from_bytes(c10[4:8], 'big') == int.from_bytes(c16[8:12], 'big') == bs
        m6 = S.good(s.cmd(S.mode6(), read=255, lun=lun)).data
        if m6[3] == 8:
            assert int.from_bytes(m6[9:12], 'big') == bs, m6.hex()
            assert int.from_bytes(m6[4:8], 'big') in (last + 1, 0xffffffff, 0), m6.hex()
        data = S.pattern(3, 5, lun, bs=bs)
        S.write(s, 3, data, lun=lun, bs=bs)
        assert S.read(s, 3, 5, lun=lun, bs=bs) == data
        assert S.read(s, 4, 1, lun=lun, bs=bs) == data[bs:2 * bs]
        S.check(s.cmd(S.read16(last + 1, 1), read=bs, lun=lun), S.LBA_RANGE)
    t = s.cmd(S.write16(0, 1), write=bytes(512), lun=3)
    assert t.over and t.residual == 4096 - 512, 'part of a 4 KiB block: %r' % t
    assert S.read(s, 3, 1, lun=3, bs=4096) == S.pattern(3, 1, 3, bs=4096)
    s.logout()


@tap.test('a disk larger than READ CAPACITY (10) can say', 'K09', 'SBC-3 5.15')
def large(d):
    conf = S
    s = d.login(target=T, lun=2)
    c16 = conf.good(s.cmd(S.capacity16(), read=32, lun=2)).data
    blocks = int.from_bytes(c16[:8], 'big') + 1
    assert blocks * 512 == 1 << 40
    c10 = S.good(s.cmd(S.capacity10(), read=8, lun=2)).data
    assert int.from_bytes(c10[:4], 'big') == min(blocks - 1, 0xffffffff)
    s.logout()


LONG = 'a-very-long-name-of-a-disk-that-goes-on-and-on-'


def twins(reverse=False):
    names = [LONG + x for x in ('0', '1', '10', 'A')] + ['disk' + str(n) for n in range(200)]
    if reverse:
        names.reverse()
    out = only({n: name for n, name in enumerate(names)}, names=names)
    out['targets'].append(config.target(config.IQN + 'twin', luns=names[:2]))
    return out


def identity(s, lun):
    """(serial, the set of designators of association LUN) of a LUN."""
    t = S.good(s.cmd(S.inquiry(255, 0x80), read=255, lun=lun)).data
    serial = bytes(t[4:4 + t[3]])
    assert serial.strip() and b'\0' not in serial, serial
    page = S.good(s.cmd(S.inquiry(1024, 0x83), read=1024, lun=lun)).data
    assert len(page) == 4 + int.from_bytes(page[2:4], 'big'), page.hex()
    at, mine, kinds = 4, set(), set()
    while at < len(page):
        head, n = page[at:at + 4], page[at + 3]
        body = bytes(page[at + 4:at + 4 + n])
        kind, association = head[1] & 15, head[1] >> 4 & 3
        kinds.add((association, kind))
        if association == 0:
            mine.add((kind, body))
            if kind == 3:
                assert n in (8, 16) and body[0] >> 4 in (2, 3, 5, 6), body.hex()
        if kind == 1:
            assert b'\0' not in body, 'NUL in a T10 name: %r' % body
        at += 4 + n
    assert (0, 3) in kinds, 'no NAA name'
    assert {(1, 4), (1, 5)} <= kinds, 'no relative port or port group: %r' % kinds
    return serial, frozenset(mine)


def identities(s, luns):
    found = {}
    for lun in luns:
        found[lun] = identity(s, lun)
    return found


@tap.test('204 disks, four of them alike for 40 bytes, have 204 identities', 'K47', 'SPC-4 7.8.6', conf=twins)
def unique(d):
    s = d.login(target=T)
    found = identities(s, range(204))
    assert len({serial for serial, _ in found.values()}) == 204, 'a serial number stands twice'
    naa = [body for _, names in found.values() for kind, body in names if kind == 3]
    assert len(set(naa)) == len(naa) == 204, 'an NAA name stands twice'
    other = d.login(target=config.IQN + 'twin')
    for lun in 0, 1:
        assert identity(other, lun) == found[lun], 'another identity at another target'
    s.logout()
    other.logout()


@tap.test('identities stay over a restart and another order', 'K47', 'T23', conf=twins)
def stable(d):
    s = d.login(target=T)
    found = identities(s, (0, 1, 2, 3, 203))
    s.logout()
    d.stop()
    d.conf = twins(reverse=True)
    d.start()
    s = d.login(target=T)
    for lun, want in found.items():
        assert identity(s, 203 - lun) == want, 'LUN %d is another disk after a restart' % lun
    s.logout()


if __name__ == '__main__':
    tap.main(config.base())
