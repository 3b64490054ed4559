#!/usr/bin/python3
"""EXTENDED COPY: blocks go from unit to unit, and only between those that the initiator was given."""
import struct

import config
import scsi as S
import tap

T = config.TARGET
ANY, SOME = config.IQN + 'any', config.IQN + 'some'
UNREACHABLE = (10, 0x0d, 2)


def conf():
    """LUNs 0 to 3 copy; over `some`, initiators named *:few see LUN 0 alone, and LUN 2 does not copy."""
    out = config.base(targets=[config.target(), config.target(SOME, luns=('ram', 'file', 'ram4k'), initiators=[
        {'match': '*:few', 'luns': [0]}, {'match': '*'}])], reactors=2)
    for t in out['targets']:
        for lun in t['luns']:
            lun['copy'] = True
    out['targets'][1]['luns'][2]['copy'] = False
    return out


def naa(s, lun):
    """The NAA designator of VPD 83h."""
    page = S.good(s.cmd(S.inquiry(page=0x83), read=255, lun=lun)).data
    at = 4
    while page[at + 1] & 0x3f != 3:
        at += 4 + page[at + 3]
    return bytes(page[at + 4:at + 4 + page[at + 3]])


def unit(name, bs=0, kind=0):
    return struct.pack('>BBHBBxB', 0xe4, kind, 0, 1, 3, len(name)) + name.ljust(20, b'\0') + struct.pack('>I', bs)


def segment(src, dst, n, src_lba, dst_lba, flags=0):
    return struct.pack('>BBHHHxxHQQ', 2, flags, 24, src, dst, n, src_lba, dst_lba)


def xcopy(s, units, segments, lun=0, list_id=1, usage=0):
    us, segs = b''.join(units), b''.join(segments)
    data = struct.pack('>BBHxxxxIxxxx', list_id, usage << 3, len(us), len(segs)) + us + segs
    return s.cmd(struct.pack('>BB8xIxx', 0x83, 0, len(data)), write=data, lun=lun)


def status(s, list_id, lun=0):
    return s.cmd(struct.pack('>BBB7xIxx', 0x84, 0, list_id, 12), read=12, lun=lun)


@tap.test('blocks are copied between units of any kind', 'SPC-4 6.4')
def between(d):
    s = d.login(target=T)
    for lun in 0, 1, 3:
        S.settle(s, lun)
    name = {lun: naa(s, lun) for lun in (0, 1, 3)}
    S.write(s, 0, S.pattern(0, 4096, 1))
    for src, dst, sbs, dbs in (0, 1, 512, 512), (1, 0, 512, 512), (0, 3, 512, 4096), (3, 0, 4096, 512), (0, 0, 512, 512):
        data = S.read(s, 8, 4096 * sbs // sbs // (sbs // 512), lun=src, bs=sbs)
        n = len(data) // sbs
        S.good(xcopy(s, [unit(name[src], sbs), unit(name[dst], dbs)], [segment(0, 1, n, 8, 64)], lun=src, list_id=src))
        got = S.read(s, 64, len(data) // dbs, lun=dst, bs=dbs)
        assert got == data, 'from %d to %d' % (src, dst)
        t = S.good(status(s, src, lun=src))
        assert struct.unpack('>IBHBI', t.data) == (8, 1, 1, 0, len(data)), t.data.hex()
    s.logout()


@tap.test('DC: the number of blocks counts those of the destination', 'SPC-4 6.4.6.3')
def counted(d):
    s = d.login(target=T)
    for lun in 0, 3:
        S.settle(s, lun)
    S.write(s, 0, S.pattern(0, 64, 5))
    units = [unit(naa(s, 0)), unit(naa(s, 3))]
    S.good(xcopy(s, units, [segment(0, 1, 3, 0, 7, flags=2)]))
    assert S.read(s, 7, 3, lun=3, bs=4096) == S.pattern(0, 24, 5)
    # Seven small blocks are no large one.
    S.check(xcopy(s, units, [segment(0, 1, 7, 0, 0)]), (10, 0x26, 0x0a))
    s.logout()


@tap.test('only units that the initiator sees, over LUNs that copy', 'K21')
def confused_deputy(d):
    s, few, some = d.login(target=T), d.login(target=SOME, name=config.IQN + 'x:few'), d.login(target=SOME)
    S.settle(s, 1)
    S.settle(s, 3)
    name = {lun: naa(s, lun) for lun in (0, 1, 3)}
    S.write(s, 0, S.pattern(0, 8, 3))
    S.write(s, 0, S.pattern(0, 8, 4), lun=1)
    for session, other in (few, name[1]), (some, name[3]), (few, b'\x60' + bytes(7)), (few, name[1] + bytes(8)):
        for pair in [name[0], other], [other, name[0]]:
            S.check(xcopy(session, [unit(n) for n in pair], [segment(0, 1, 1, 0, 100)]), UNREACHABLE)
    # The last one has no LUN that copies; the others have.
    S.settle(some, 2)
    S.check(xcopy(some, [unit(name[0])] * 2, [segment(0, 1, 1, 0, 1)], lun=2), S.INVALID_OPCODE)
    assert 0x8f not in S.good(some.cmd(S.inquiry(page=0), read=255, lun=2)).data[4:]
    S.good(xcopy(some, [unit(name[0]), unit(name[1])], [segment(0, 1, 1, 0, 0)]))
    assert S.read(s, 0, 8, lun=1) == S.pattern(0, 1, 3) + S.pattern(1, 7, 4)
    for session in s, few, some:
        session.logout()


@tap.test('a reserved destination is left alone', 'K21', 'SPC-4 5.13.1')
def reserved(d):
    s, other = d.login(target=T), d.login(target=T)
    for lun in 0, 1:
        S.settle(s, lun)
        S.settle(other, lun)
    S.write(s, 0, S.pattern(0, 8, 3))
    S.write(s, 0, S.pattern(0, 8, 4), lun=1)
    units = [unit(naa(s, 0)), unit(naa(s, 1))]
    S.good(other.cmd(bytes((0x16, 0, 0, 0, 0, 0)), lun=1))
    S.check(xcopy(s, units, [segment(0, 1, 8, 0, 0)]), UNREACHABLE)
    S.check(xcopy(s, units, [segment(1, 0, 8, 0, 0)]), UNREACHABLE)
    S.good(other.cmd(bytes((0x17, 0, 0, 0, 0, 0)), lun=1))
    assert S.read(s, 0, 8, lun=1) == S.pattern(0, 8, 4)
    S.good(xcopy(s, units, [segment(0, 1, 8, 0, 0)]))
    assert S.read(s, 0, 8, lun=1) == S.pattern(0, 8, 3)
    s.logout()
    other.logout()


@tap.test('the pages and parameters say what there is', 'SPC-4 7.8.17', 'SPC-4 6.24.4')
def truth(d):
    s = d.login(target=T)
    page = bytes(S.good(s.cmd(S.inquiry(page=0x8f, alloc=1024), read=1024)).data)
    found, at = {}, 4
    assert struct.unpack('>H', page[2:4])[0] == len(page) - 4
    while at < len(page):
        kind, n = struct.unpack('>HH', page[at:at + 4])
        assert n % 4 == 0
        found[kind] = page[at + 4:at + 4 + n]
        at += 4 + n
    assert at == len(page) and {1, 4, 8, 0xc, 0x8001} <= set(found)
    commands, at = {}, 1
    while at < 1 + found[1][0]:
        n = found[1][at + 1]
        commands[found[1][at]] = list(found[1][at + 2:at + 2 + n])
        at += 2 + n
    assert 0 in commands[0x83] and {0, 3, 4} <= set(commands[0x84]), commands
    for op, sas in commands.items():
        for sa in sas:
            one = S.good(s.cmd(S.opcodes(options=2, opcode=op, sa=sa), read=512)).data
            assert one[1] & 7 == 3, (op, sa)
    limits = S.good(s.cmd(struct.pack('>BB8xIxx', 0x84, 3, 64), read=64)).data
    assert len(limits) == 46 and limits[44:] == b'\x02\xe4'
    assert limits[8:12] == found[4][4:8]
    s.logout()


@tap.test('hundreds of random lists do no harm', 'K21')
def noise(d):
    import random
    rnd = random.Random(7)
    s = d.login(target=T)
    for lun in 0, 1:
        S.settle(s, lun)
    names = [naa(s, 0), naa(s, 1)]
    for _ in range(300):
        us = b''.join(unit(rnd.choice(names)) for _ in range(rnd.randrange(4)))
        segs = b''.join(segment(rnd.randrange(3), rnd.randrange(3), rnd.randrange(9), rnd.randrange(99), rnd.randrange(99))
                        for _ in range(rnd.randrange(4)))
        data = bytearray(struct.pack('>BBHxxxxIxxxx', 1, 0, len(us), len(segs)) + us + segs)
        for _ in range(rnd.randrange(4)):
            data[rnd.randrange(len(data))] = rnd.randrange(256)
        data = bytes(data[:rnd.randrange(len(data) + 1)] if rnd.random() < .3 else data)
        t = s.cmd(struct.pack('>BB8xIxx', 0x83, 0, len(data)), write=data)
        assert t.status == S.GOOD or t.skq[0] in (5, 10), repr(t)
    S.alive(s)
    s.logout()


if __name__ == '__main__':
    tap.main(conf())
