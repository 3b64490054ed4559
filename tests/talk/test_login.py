#!/usr/bin/python3
"""The login phase: what may come first, how long it may be, which stages and names it takes."""
import struct
import time

import config
import initiator as I
import pdu as P
import scsi as S
import tap
from daemon import SLOW

T = config.TARGET
BAD_FIRST = [
    ('a SCSI command', P.pdu(P.SCSI_CMD, flags=0xc1, itt=1, edtl=36, cdb=S.inquiry(36), cmd_sn=1)),
    ('a NOP-Out', P.pdu(P.NOP_OUT | 0x40, itt=1, ttt=P.NO_TAG)),
    ('a Text Request', P.pdu(P.TEXT_REQ, P.text({'SendTargets': 'All'}), itt=1, ttt=P.NO_TAG)),
    ('a Data-Out', P.pdu(P.DATA_OUT, bytes(512), itt=1, ttt=P.NO_TAG)),
    ('a Logout Request', P.pdu(P.LOGOUT_REQ | 0x40, itt=1)),
    ('a SNACK', P.pdu(P.SNACK, itt=P.NO_TAG, ttt=P.NO_TAG)),
    ('a TMF Request', P.pdu(P.TMF_REQ | 0x40, flags=0x85, itt=1)),
    ('an unknown opcode', P.pdu(0x1f, itt=1)),
    ('a target opcode', P.pdu(P.R2T, itt=1)),
]


def refused_or_closed(s, allowed, timeout=5):
    """The connection ends; if an answer comes before, it is a login refusal with one of these."""
    for p in s.wait_close(timeout * SLOW):
        assert p.op == P.LOGIN_RSP and p.login_status in allowed, repr(p)


@tap.variants(BAD_FIRST, '%s before login ends the connection', 'L01', 'RFC 7143 6.3')
def bad_first(d, data):
    for wait in (0, 0.3):
        s = I.Conn(d.addr)
        s.send(data)
        if wait:
            refused_or_closed(s, (0x020b, 0x0200))
        s.close()
    d.login(target=T).logout()


@tap.test('a thousand bad first PDUs leak nothing', 'L01')
def bad_first_often(d):
    def rounds(n):
        for i in range(n):
            s = I.Conn(d.addr)
            s.send(BAD_FIRST[i % len(BAD_FIRST)][1])
            s.close() if i % 2 else s.reset()
        d.check_idle()
    rounds(200 // SLOW)
    before = d.rss()
    rounds(1000 // SLOW)
    assert SLOW > 1 or d.rss() - before < 1 << 20, 'grew by %d KiB' % (d.rss() - before >> 10)


@tap.variants([(n, n) for n in (62, 63)], 'an unknown key of %d bytes is not understood', 'L02', 'RFC 7143 6.2')
def key_name_fits(d, n):
    s = I.Session(d.addr, target=T)
    answers = s.login({'A' * n: '1'})
    assert answers['A' * n] == 'NotUnderstood', answers
    S.settle(s).logout()


@tap.variants([(n, n) for n in (64, 65, 255, 1024, 8000)], 'a key name of %d bytes does no harm',
              'L02', 'RFC 7143 6.1')
def key_name_long(d, n):
    s = I.Session(d.addr, target=T)
    with tap.raises(I.Refused, 0x0200):
        s.login({'A' * n: '1'})
    refused_or_closed(s, ())
    d.login(target=T).logout()


@tap.variants([('%d and %d words of AHS' % (dsl, ahs), dsl, ahs)
               for dsl in (8193, 65536, 0xffffff) for ahs in (0, 255)],
              'a login segment of %s is dropped unread', 'L03', 'RFC 7143 13.12')
def login_too_long(d, dsl, ahs):
    s = I.Session(d.addr, target=T)
    s.login_pdu(1, 3, None, raw={4: ahs, 5: dsl.to_bytes(3, 'big')})
    s.send(bytes(4 * ahs))      # the header is whole, of the body not a byte is there
    refused_or_closed(s, (0x0200, 0x020b))
    s = I.Session(d.addr, target=T)
    s.login_pdu(1, 3, None, raw={4: ahs, 5: dsl.to_bytes(3, 'big')})
    try:
        s.send(b'x' * 6000)
    except I.Eof:
        pass
    s.close()
    d.login(target=T).logout()


@tap.test('a login cut off in its longest segment is forgotten', 'L03')
def login_cut(d):
    for n in (0, 1, 4096, 8191):
        s = I.Session(d.addr, target=T)
        s.login_pdu(1, 3, None, raw={5: (8192).to_bytes(3, 'big')})
        s.send(b'x' * n)
        s.close() if n else s.reset()
    d.login(target=T).logout()


@tap.test('a login segment of exactly 8192 bytes is read', 'L03', 'RFC 7143 13.12')
def login_8192(d):
    s = I.Session(d.addr, target=T)
    text = P.text(s.identity())
    text += P.text({'X-com.example.pad': 'p' * (8192 - len(text) - len('X-com.example.pad=') - 1)})
    assert len(text) == 8192
    s.login_pdu(1, 3, None, data=text)
    p = s.login_recv()
    assert p.login_status == 0, repr(p)
    s.enter(p, {}, {})
    S.settle(s).logout()


@tap.variants([('in the middle of a key', 11), ('before the NUL', -1), ('after the NUL', None)],
              'text cut %s goes on in the next PDU', 'L05', 'RFC 7143 6.2, 11.12.2')
def text_cut(d, at):
    s = I.Session(d.addr, target=T)
    text = P.text(s.identity())
    cut = {11: 11, -1: text.index(b'\0'), None: text.index(b'\0') + 1}[at]
    s.login_pdu(1, 3, None, transit=False, cont=True, data=text[:cut])
    p = s.login_recv()
    assert p.login_status == 0 and not p.flags & 0xc0 and not p.data, 'not an empty answer: %r' % p
    s.login_pdu(1, 3, None, data=text[cut:])
    s.enter(s.login_recv(), {}, {})
    S.settle(s).logout()


@tap.test('C together with T is refused', 'L05', 'RFC 7143 11.12.2')
def c_and_t(d):
    s = I.Session(d.addr, target=T)
    s.login_pdu(1, 3, s.identity(), cont=True)
    assert s.login_recv().login_status == 0x0200
    refused_or_closed(s, ())


@tap.test('text without end is refused by rounds', 'L05')
def c_rounds(d):
    s = I.Session(d.addr, target=T)
    try:
        for n in range(1000):
            s.login_pdu(1, 3, None, transit=False, cont=True)
            p = s.login_recv()
            if p.login_status:
                assert p.login_status == 0x0200, repr(p)
                return
    except I.Eof:
        return
    raise AssertionError('still listening after 1000 parts')


@tap.test('text without end is refused by size', 'L05')
def c_size(d):
    s = I.Session(d.addr, target=T)
    sent = 0
    try:
        while sent <= 72 * 1024:
            s.login_pdu(1, 3, None, transit=False, cont=True, data=b'x' * 8000)
            sent += 8000
            p = s.login_recv()
            if p.login_status:
                assert p.login_status == 0x0200, repr(p)
                return
    except I.Eof:
        return
    raise AssertionError('%d bytes of one text taken' % sent)


@tap.test('the same InitiatorName in both stages is accepted', 'L06')
def name_twice(d):
    s = I.Session(d.addr, target=T)
    s.login_step(0, 1, dict(s.identity(), AuthMethod='None'))
    s.enter(s.login_step(1, 3, {'InitiatorName': s.name}), {}, {})
    S.settle(s).logout()


@tap.test('another InitiatorName in the second stage is refused', 'L06')
def name_changes(d):
    s = I.Session(d.addr, target=T)
    s.login_step(0, 1, dict(s.identity(), AuthMethod='None'))
    with tap.raises(I.Refused, 0x0200):
        s.login_step(1, 3, {'InitiatorName': s.name + 'x'})


@tap.test('a key twice in one PDU is refused and named in the log', 'L06', 'RFC 7143 6.3', fresh=True)
def key_twice(d):
    s, mark = I.Session(d.addr, target=T), d.mark()
    with tap.raises(I.Refused, 0x0200):
        s.login_step(1, 3, list(s.identity().items()) + [('ImmediateData', 'Yes'), ('ImmediateData', 'Yes')])
    refused_or_closed(s, ())
    assert 'ImmediateData' in d.stderr(mark), 'the log does not name the key'


@tap.test('a key negotiated again is refused and named in the log', 'L06', 'RFC 7143 6.3', fresh=True)
def key_again(d):
    s, mark = I.Session(d.addr, target=T), d.mark()
    p = s.login_step(1, 3, dict(s.identity(), ImmediateData='Yes'), transit=False)
    assert p.keys['ImmediateData'] in ('Yes', 'No')
    with tap.raises(I.Refused, 0x0200):
        s.login_step(1, 3, {'ImmediateData': 'No'})
    refused_or_closed(s, ())
    assert 'ImmediateData' in d.stderr(mark), 'the log does not name the key'


GOOD_NAMES = [
    ('of 223 bytes', 'iqn.2026-11.com.example:' + 'n' * (223 - 24)),
    ('in capitals', 'IQN.2026-11.COM.EXAMPLE:HOST'),
    ('of the eui. form', 'eui.02004567A425678D'),
    ('of the short naa. form', 'naa.52004567BA64678D'),
    ('of the long naa. form', 'naa.62004567BA64678D0123456789ABCDEF'),
]
BAD_NAMES = [
    ('of 224 bytes', 'iqn.2026-11.com.example:' + 'n' * (224 - 24)),
    ('of 255 bytes', 'iqn.2026-11.com.example:' + 'n' * (255 - 24)),
    ('without a date', 'iqn.'),
    ('that is empty', ''),
    ('without a known form', 'host1'),
    ('with a slash', 'iqn.2026-11.com.example:a/../../etc/passwd'),
    ('with a percent sign', 'iqn.2026-11.com.example:%n%n%s'),
    ('with a newline', 'iqn.2026-11.com.example:a\nroot logged in'),
    ('with a blank', 'iqn.2026-11.com.example:a b'),
    ('with a byte 0xff', b'iqn.2026-11.com.example:\xff'),
    ('of eui. with 15 digits', 'eui.02004567A425678'),
    ('of eui. with a letter g', 'eui.02004567A425678g'),
]


@tap.variants(GOOD_NAMES, 'an initiator name %s is taken', 'L24', 'RFC 7143 4.2.7')
def good_name(d, name):
    s = d.login(target=T, name=name)
    row, = d.rows('sessions')
    assert row['initiator'] == name.lower(), 'not normalised: %r' % row
    s.logout()


@tap.variants(BAD_NAMES, 'an initiator name %s is refused', 'L24', 'RFC 7143 4.2.7')
def bad_name(d, name):
    mark = d.mark()
    s = I.Session(d.addr, target=T, name=name)
    # An empty value is also a missing one.
    with tap.raises(I.Refused, (0x0200, 0x0207) if not name else 0x0200):
        s.login()
    log = d.stderr(mark)
    assert 'root logged in' not in log or '\\x0a' in log, 'raw text in the log: %r' % log
    assert '\xff' not in log and '�' not in log
    d.login(target=T).logout()


@tap.test('names that differ by case are one initiator', 'L24', 'RFC 7143 4.2.7')
def name_case(d):
    isid = I.new_isid()
    a = d.login(target=T, name='iqn.2026-11.com.example:case', isid=isid)
    b = d.login(target=T, name='IQN.2026-11.com.example:CASE', isid=isid)
    a.wait_close()
    S.alive(b)
    assert len(d.rows('sessions')) == 1
    b.logout()


@tap.test('a normal session without TargetName is refused', 'L26', 'RFC 7143 11.13.5')
def no_target(d):
    with tap.raises(I.Refused, 0x0207):
        I.Session(d.addr, target=None).login()


@tap.test('a login without InitiatorName is refused', 'L26', 'RFC 7143 11.13.5')
def no_name(d):
    s = I.Session(d.addr, target=T)
    with tap.raises(I.Refused, 0x0207):
        s.login_step(1, 3, {'TargetName': T, 'SessionType': 'Normal'})


@tap.test('a discovery session may name a target', 'L26')
def discovery_target(d):
    s = I.Session(d.addr)
    s.login({'TargetName': T}, discovery=True)
    assert T.encode() in s.text({'SendTargets': 'All'})[0]
    s.logout()


@tap.test('a SCSI command in a discovery session is rejected', 'L26', 'RFC 7143 4.3')
def discovery_command(d):
    s = I.Session(d.addr)
    s.login(discovery=True)
    s.start(S.TUR)
    try:
        p = s.expect(P.REJECT)
        assert p.response in (0x04, 0x05, 0x0b), repr(p)
    except I.Eof:
        pass
    s.close()


@tap.test('tries on an unknown target are refused and do not flood the log', 'L26', 'O29', fresh=True)
def unknown_target(d):
    mark, began = d.mark(), time.monotonic()
    for _ in range(200):
        s = I.Session(d.addr, target=config.IQN + 'nowhere')
        with tap.raises(I.Refused, 0x0203):
            s.login()
        s.close()
    lines = [line for line in d.stderr(mark).splitlines() if 'nowhere' in line]
    # A few lines a second of one peer, whatever port it comes from.
    allowed = 20 * (1 + time.monotonic() - began)
    assert 1 <= len(lines) <= allowed, '%d lines of log for 200 tries of one host' % len(lines)


@tap.test('an unknown session type is refused', 'L26', 'RFC 7143 11.13.5')
def session_type(d):
    s = I.Session(d.addr, target=T)
    with tap.raises(I.Refused, (0x0209, 0x0200)):
        s.login_step(1, 3, {'InitiatorName': s.name, 'TargetName': T, 'SessionType': 'Other'})


@tap.test('an unknown TSIH is refused', 'L27', 'RFC 7143 6.3.1')
def tsih_unknown(d):
    with tap.raises(I.Refused, 0x020a):
        I.Session(d.addr, target=T, tsih=0x7ff7).login()


@tap.test('the TSIH of another ISID is refused', 'L27', 'RFC 7143 6.3.1')
def tsih_other_isid(d):
    a = d.login(target=T)
    with tap.raises(I.Refused, 0x020a):
        I.Session(d.addr, target=T, tsih=a.tsih).login()
    S.alive(a)
    a.logout()


@tap.test('a second connection is refused where one is the most', 'L27', 'RFC 7143 6.3.1')
def second_connection(d):
    a = d.login(target=T)
    with tap.raises(I.Refused, (0x0206, 0x0208)):
        I.Session(d.addr, target=T, tsih=a.tsih, isid=a.isid, cid=a.cid + 1).login()
    S.alive(a)
    a.logout()


@tap.test('TSIH 0 with a known ISID takes the place of the old session', 'L27', 'T07', 'RFC 7143 6.3.5')
def reinstate(d):
    a = d.login(target=T)
    b = d.login(target=T, isid=a.isid)
    a.wait_close()
    S.alive(b)
    assert len(d.rows('sessions')) == 1
    b.logout()


STAGES = [
    ('NSG 2', 1, 2), ('CSG 3', 3, 3), ('CSG 2', 2, 3), ('NSG equal to CSG', 1, 1), ('NSG below CSG', 1, 0),
]


@tap.variants(STAGES, '%s is refused', 'L27', 'RFC 7143 11.12.3')
def stage(d, csg, nsg):
    s = I.Session(d.addr, target=T)
    flags = 0x80 | csg << 2 | nsg
    s.login_pdu(csg, nsg, s.identity(), raw={1: flags})
    assert s.login_recv().login_status in (0x0200, 0x020b)
    refused_or_closed(s, ())


@tap.test('a version that does not exist is refused', 'L27', 'RFC 7143 11.12.5')
def version(d):
    s = I.Session(d.addr, target=T)
    s.login_pdu(1, 3, s.identity(), raw={2: 1, 3: 1})
    assert s.login_recv().login_status == 0x0205


@tap.variants([('ISID', {8: b'\x80\0\x7f\x7f\0\1'}), ('CID', {20: b'\x12\x34'}), ('TSIH', {14: b'\x12\x34'})],
              'another %s in the middle of a login is refused', 'L27', 'RFC 7143 11.12')
def changes(d, raw):
    s = I.Session(d.addr, target=T)
    s.login_step(0, 1, dict(s.identity(), AuthMethod='None'))
    s.login_pdu(1, 3, {}, raw=raw)
    s.exp_stat_sn = None
    for p in s.wait_close():
        assert p.op == P.LOGIN_RSP and p.login_status in (0x0200, 0x020a), repr(p)


@tap.test('a login that stops half way leaves nothing', 'L20')
def half_way(d):
    for n in range(50):
        s = I.Session(d.addr, target=T)
        s.login_step(0, 1, dict(s.identity(), AuthMethod='None'))
        s.close() if n % 2 else s.reset()
    assert d.rows('sessions') == []


@tap.test('a login PDU in full feature phase is rejected', 'L01', 'RFC 7143 6.3')
def login_again(d):
    s = d.login(target=T)
    s.send(P.pdu(P.LOGIN_REQ | 0x40, P.text(s.identity()), flags=0x87, itt=0x77, cmd_sn=s.cmd_sn,
                 raw={8: s.isid, 14: struct.pack('>H', s.tsih)}))
    try:
        p = s.expect(P.REJECT)
        assert p.response in (0x04, 0x05, 0x0b), repr(p)
    except I.Eof:
        pass
    s.close()


if __name__ == '__main__':
    tap.main(config.base())
