#!/usr/bin/python3
"""CRC32C digests and padding on every kind of PDU."""
import threading
import time

import config
import initiator as I
import pdu as P
import scsi as S
import tap

T = config.TARGET
BOTH = {'HeaderDigest': 'CRC32C', 'DataDigest': 'CRC32C'}
MIXES = [('a header digest', {'HeaderDigest': 'CRC32C'}), ('a data digest', {'DataDigest': 'CRC32C'}),
         ('both digests', BOTH), ('no digest', {})]


@tap.variants(MIXES, '%s: every kind of answer is right', 'D02', 'D03', 'RFC 7143 13.1, 11.2.3')
def all_kinds(d, keys):
    s = d.login(keys, target=T)
    assert (s.hd, s.dd) == ('HeaderDigest' in keys, 'DataDigest' in keys)
    full = S.good(s.cmd(S.inquiry(), read=255)).data
    for n in list(range(1, 10)) + [35, 36, 37, 38, 39, 40, 255]:
        t = S.good(s.cmd(S.inquiry(n), read=n))
        assert t.data == full[:n] and t.residual == max(0, n - len(full)), '%d: %r' % (n, t)
        t = S.good(s.cmd(S.mode6(alloc=n), read=n))
        assert len(t.data) + t.residual == n
    S.check(s.cmd(b'\xc0' + bytes(9)), S.INVALID_OPCODE)
    for n in (0, 1, 2, 3, 4, 5, 511, 4096):
        itt = s.ping(bytes(range(256)) * 16 if n == 4096 else b'x' * n)
        assert len(s.expect(P.NOP_IN, itt).data) == n
    for n in range(4):
        text, _ = s.text({'X-com.example.' + 'k' * n: 'v'})
        assert text
    s.send_pdu(P.SNACK, itt=P.NO_TAG, ttt=P.NO_TAG, exp_stat_sn=s.exp_stat_sn)
    assert len(s.expect(P.REJECT).data) == 48
    data = S.pattern(0, 300, 4)
    S.write(s, 0, data)
    S.write(s, 0, data, imm=0)
    assert S.read(s, 0, 300) == data
    assert s.tmf(S.LUN_RESET) == 0
    s.logout()


@tap.test('answers during login are padded with zeros', 'D03', 'RFC 7143 11.2.3')
def login_padding(d):
    for n in range(8):      # the connection checks the padding of all it receives
        s = I.Session(d.addr, target=T)
        s.login({'X-com.example.' + 'k' * n: 'v'})
        S.settle(s).logout()


@tap.test('a wrong header digest ends the connection, and only that', 'D02', 'RFC 7143 7.8')
def header_error(d):
    a, b = d.login(BOTH, target=T), d.login(BOTH, target=T)
    raw = bytearray(P.pdu(P.SCSI_CMD, flags=0x81, itt=0x99, cdb=S.TUR, cmd_sn=a.cmd_sn,
                          exp_stat_sn=a.exp_stat_sn, hd=True))
    raw[-1] ^= 1
    a.send(raw)
    for p in a.wait_close():
        assert p.op in (P.ASYNC, P.REJECT), 'a PDU with a wrong digest was executed: %r' % p
    S.alive(b)
    b.logout()


@tap.variants([('immediate data', True), ('a Data-Out', False)],
              'a wrong data digest of %s fails the command and nothing is written', 'D02',
              'RFC 7143 7.8, 11.4.7.2')
def data_error(d, immediate):
    s = d.login(BOTH, target=T)
    before = S.pattern(16, 8, 1)
    S.write(s, 16, before)
    t = s.start(S.write16(16, 8), write=S.pattern(16, 8, 2), imm=0, auto=False) if not immediate else None
    try:
        if immediate:
            t = I.Task(s.take_itt(), 0, 4096, S.pattern(16, 8, 2), False)
            s.tasks[t.itt] = t
            raw = bytearray(P.pdu(P.SCSI_CMD, t.write, flags=0xa1, itt=t.itt, edtl=4096, cdb=S.write16(16, 8),
                                  cmd_sn=s.take_cmd_sn(), exp_stat_sn=s.exp_stat_sn, hd=True, dd=True))
        else:
            r2t = s.wait_r2t(t)
            raw = bytearray(P.pdu(P.DATA_OUT, t.write, itt=t.itt, ttt=r2t.ttt, data_sn=0, offset=0,
                                  exp_stat_sn=s.exp_stat_sn, hd=True, dd=True))
        raw[-1] ^= 0x80
        s.send(raw)
        rejected = s.expect(P.REJECT)
        assert rejected.response == 0x02, repr(rejected)
        assert rejected.data[:48] == bytes(raw[:48]), 'the Reject shows another header'
        S.check(s.wait(t), S.CRC_ERROR)
        S.alive(s)
        s.logout()
    except I.Eof:
        pass
    s = d.login(target=T)
    assert S.read(s, 16, 8) == before, 'data with a wrong digest reached the disk'
    s.logout()


@tap.test('a write held for its turn keeps its wrong digest', 'D02', 'D14', 'RFC 7143 7.8')
def held_error(d):
    s = d.login(BOTH, target=T)
    before = S.pattern(16, 8, 1)
    S.write(s, 16, before)
    raw = bytearray(P.pdu(P.SCSI_CMD, S.pattern(16, 8, 2), flags=0xa1, itt=0x99, edtl=4096, cdb=S.write16(16, 8),
                          cmd_sn=s.cmd_sn + 1, exp_stat_sn=s.exp_stat_sn, hd=True, dd=True))
    raw[-1] ^= 0x80
    try:
        s.strict = False
        s.send(raw)
        first = s.start(S.TUR, cmd_sn=s.cmd_sn)
        S.good(s.wait(first))
        while s.readable(0.2):
            p = s.next_pdu()
            assert p.op == P.REJECT or p.status == S.CHECK, 'damaged data is taken: %r' % p
    except I.Eof:
        pass
    s.close()
    s = d.login(target=T)
    assert S.read(s, 16, 8) == before, 'data with a wrong digest reached the disk'
    s.logout()


@tap.test('a wrong data digest of a ping is rejected or ends the connection', 'D02', 'RFC 7143 7.8')
def ping_error(d):
    s = d.login(BOTH, target=T)
    raw = bytearray(P.pdu(P.NOP_OUT | 0x40, b'hello', itt=0x99, ttt=P.NO_TAG, cmd_sn=s.cmd_sn,
                          exp_stat_sn=s.exp_stat_sn, hd=True, dd=True))
    raw[-3] ^= 4
    try:
        s.send(raw)
        p = s.next_pdu()
        assert p.op == P.REJECT and p.response == 0x02, 'answered: %r' % p
        S.alive(s)
        s.logout()
    except I.Eof:
        pass


@tap.variants([('RAM', 0), ('file', 1)], 'the digest fits the data while another initiator overwrites it (%s disk)',
              'D05', 'RFC 7143 13.1')
def changing(d, lun):
    stop = threading.Event()
    writer = d.login(target=T, lun=lun)
    reader = d.login(dict(DataDigest='CRC32C', MaxRecvDataSegmentLength='65536'), target=T, lun=lun)
    failure = []

    def overwrite():
        n = 0
        try:
            while not stop.is_set():
                n += 1
                S.write(writer, 0, bytes([n & 255]) * 65536, lun=lun)
        except BaseException as e:
            failure.append(e)

    thread = threading.Thread(target=overwrite)
    thread.start()
    try:
        until, rounds = time.monotonic() + 1.5, 0
        while time.monotonic() < until:
            S.read(reader, 0, 128, lun=lun)       # checks the digest
            rounds += 1
    finally:
        stop.set()
        thread.join()
    assert not failure, failure
    assert rounds > 5, 'only %d reads' % rounds
    writer.logout()
    reader.logout()


if __name__ == '__main__':
    tap.main(config.base())
