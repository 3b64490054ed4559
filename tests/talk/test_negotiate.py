#!/usr/bin/python3
"""Operational keys: what is answered, what holds when nothing was said, and that it is then kept to."""
import config
import initiator as I
import pdu as P
import scsi as S
import tap

T = config.TARGET
WIDE = config.IQN + 'wide'


def conf():
    return config.base(targets=[
        config.target(),
        config.target(WIDE, iscsi={'max_burst': '1M', 'first_burst': '512K', 'initial_r2t': False,
                                   'immediate_data': False, 'max_outstanding_r2t': 8}),
    ])


@tap.test('keys never offered have the standard\'s values, not the configuration\'s', 'L08', 'RFC 7143 13')
def defaults(d):
    s = d.login(target=WIDE)
    data = S.pattern(0, 1024, 1)
    t = s.start(S.write16(0, 1024), write=data)
    S.good(s.wait(t))
    r2ts = [p for p in t.pdus if p.op == P.R2T]
    asked = sum(p.length for p in r2ts)
    sent = min(65536, s.limit('MaxRecvDataSegmentLength'))
    assert asked == len(data) - sent, 'ImmediateData=Yes is the default: %r' % r2ts
    assert all(p.length <= 262144 for p in r2ts)
    assert S.read(s, 0, 1024) == data
    s.logout()


@tap.test('no operational key is answered that was not offered', 'L08', 'RFC 7143 6.2')
def unoffered(d):
    s = I.Session(d.addr, target=WIDE)
    answers = s.login()
    extra = set(answers) - {'TargetPortalGroupTag', 'TargetAlias', 'MaxRecvDataSegmentLength'}
    assert not extra, 'unasked: %s' % extra
    S.settle(s).logout()


@tap.test('unsolicited data without InitialR2T=No is not expected', 'L08', 'D11')
def default_initial_r2t(d):
    s = d.login(target=WIDE)
    t = s.start(S.write16(0, 256), write=S.pattern(0, 256), imm=0, auto=False)
    r2t = s.wait_r2t(t)
    assert r2t.offset == 0 and r2t.length == 131072, 'the target counts on unsolicited data: %r' % r2t
    s.answer_r2t(t)
    S.good(s.wait(t))
    s.logout()


RESULTS = [     # title, target, key, offer, answer
    ('InitialR2T is an OR: the target wants No', T, 'InitialR2T', 'No', 'No'),
    ('InitialR2T is an OR: the initiator wants Yes', T, 'InitialR2T', 'Yes', 'Yes'),
    ('ImmediateData is an AND: both want it', T, 'ImmediateData', 'Yes', 'Yes'),
    ('ImmediateData is an AND: the initiator does not', T, 'ImmediateData', 'No', 'No'),
    ('ImmediateData is an AND: the target does not', WIDE, 'ImmediateData', 'Yes', 'No'),
    ('MaxBurstLength: the initiator is smaller', T, 'MaxBurstLength', '16384', '16384'),
    ('MaxBurstLength: the target is smaller', T, 'MaxBurstLength', '16777215', '1048576'),
    ('MaxOutstandingR2T: the initiator is smaller', WIDE, 'MaxOutstandingR2T', '2', '2'),
    ('MaxOutstandingR2T: the target is smaller', WIDE, 'MaxOutstandingR2T', '65535', '8'),
    ('MaxConnections is 1', T, 'MaxConnections', '8', '1'),
    ('ErrorRecoveryLevel is 0', T, 'ErrorRecoveryLevel', '2', '0'),
    ('DataPDUInOrder stays Yes', T, 'DataPDUInOrder', 'No', 'Yes'),
    ('DataSequenceInOrder stays Yes', T, 'DataSequenceInOrder', 'No', 'Yes'),
    ('HeaderDigest: the first of the list', T, 'HeaderDigest', 'CRC32C,None', 'CRC32C'),
    ('HeaderDigest: None first', T, 'HeaderDigest', 'None,CRC32C', 'None'),
    ('DataDigest: unknown ones are passed over', T, 'DataDigest', 'X-foo,CRC32C', 'CRC32C'),
    ('markers are gone', T, 'IFMarker', 'Yes', 'No'),
    ('an unknown key is not understood', T, 'X-com.example.Colour', 'blue', 'NotUnderstood'),
    ('DefaultTime2Wait is the larger', T, 'DefaultTime2Wait', '17', '17'),
    ('DefaultTime2Retain is the smaller', T, 'DefaultTime2Retain', '0', '0'),
]


@tap.variants(RESULTS, '%s', 'L08', 'RFC 7143 13')
def result(d, target, key, offer, answer):
    s = I.Session(d.addr, target=target)
    answers = s.login({key: offer})
    assert answers.get(key) == answer, answers
    S.settle(s).logout()


WRONG = [
    ('MaxRecvDataSegmentLength', '511'), ('MaxRecvDataSegmentLength', '16777216'),
    ('MaxRecvDataSegmentLength', '0'), ('MaxBurstLength', '511'), ('MaxBurstLength', '16777216'),
    ('FirstBurstLength', '511'), ('MaxOutstandingR2T', '0'), ('MaxOutstandingR2T', '65536'),
    ('InitialR2T', 'Maybe'), ('ImmediateData', 'yes'), ('MaxConnections', '0'),
    ('ErrorRecoveryLevel', '3'), ('MaxBurstLength', '-1'), ('MaxBurstLength', '99999999999999999999'),
    ('HeaderDigest', 'X-foo'), ('DataDigest', ''),
]


@tap.variants([('%s=%s' % kv,) + kv for kv in WRONG], '%s is out of range', 'L12', 'RFC 7143 6.2, 13')
def wrong(d, key, value):
    s = I.Session(d.addr, target=T)
    try:
        answers = s.login({key: value})
    except I.Refused as e:
        assert e.status == 0x0200, str(e)
        return
    # A negotiated key may be answered Reject; a declared one has no answer that could say so.
    assert key != 'MaxRecvDataSegmentLength' and answers.get(key) == 'Reject', answers
    S.settle(s).logout()


@tap.test('a first burst longer than the burst is refused', 'D08', 'RFC 7143 13.14')
def first_over_max(d):
    s = I.Session(d.addr, target=T)
    try:
        answers = s.login({'MaxBurstLength': '16384', 'FirstBurstLength': '65536'})
    except I.Refused as e:
        assert e.status == 0x0200, str(e)
        return
    burst = int(answers['MaxBurstLength'])
    first = answers['FirstBurstLength']
    assert first == 'Reject' or int(first) <= burst, answers
    S.settle(s).logout()


@tap.test('a burst below the first burst\'s default pulls it down', 'D08', 'RFC 7143 13.14')
def first_default(d):
    s = d.login({'MaxBurstLength': '8192'}, target=T)
    t = s.start(S.write16(0, 64), write=S.pattern(0, 64, 2), imm=0)
    S.good(s.wait(t))
    s.logout()


@tap.test('the target says how much it can receive', 'L12', 'RFC 7143 13.12')
def declares(d):
    for keys in ({}, {'MaxRecvDataSegmentLength': '262144'}):
        s = I.Session(d.addr, target=T)
        answers = s.login(keys)
        assert int(answers['MaxRecvDataSegmentLength']) >= 65536, answers
        S.settle(s).logout()


@tap.variants([(n, n) for n in (512, 513, 4096, 8192, 65536, 262144, 16777215)],
              'no data segment is longer than the %d the initiator takes', 'L12', 'RFC 7143 13.12')
def obeys(d, n):
    s = d.login({'MaxRecvDataSegmentLength': str(n)}, target=T)
    data = S.pattern(7, 300, n)
    S.write(s, 7, data)
    t = S.good(s.cmd(S.read16(7, 300), read=len(data)))
    assert t.data == data
    assert max(len(p.data) for p in t.pdus) <= n
    s.logout()


@tap.test('an answer carries the portal group tag once, when it first names the target', 'L11', 'RFC 7143 13.9')
def tpgt(d):
    for security in (False, True):
        s = I.Session(d.addr, target=T)
        answers = s.login(security=security)
        tag = s.first_answer.keys.get('TargetPortalGroupTag')
        assert tag and 1 <= int(tag) <= 65535, s.first_answer.keys
        if security:
            assert 'TargetPortalGroupTag' not in answers, 'twice'
        S.settle(s).logout()


@tap.test('a discovery session has no portal group tag', 'L11', 'RFC 7143 13.9')
def tpgt_discovery(d):
    for security in (False, True):
        s = I.Session(d.addr)
        answers = s.login(discovery=True, security=security)
        assert 'TargetPortalGroupTag' not in dict(answers, **s.first_answer.keys)
        s.logout()


@tap.test('digests agreed on in a discovery session are used, or not agreed on', 'L09', 'RFC 7143 13.1')
def discovery_digest(d):
    s = I.Session(d.addr)
    answers = s.login({'HeaderDigest': 'CRC32C,None', 'DataDigest': 'CRC32C,None'}, discovery=True)
    assert answers['HeaderDigest'] in ('None', 'CRC32C') and answers['DataDigest'] in ('None', 'CRC32C')
    text, _ = s.text({'SendTargets': 'All'})
    assert T.encode() in text
    s.logout()


@tap.test('a login through all stages in small steps', 'L05', 'RFC 7143 6.2')
def small_steps(d):
    s = I.Session(d.addr, target=T)
    s.login_step(0, 0, s.identity(), transit=False)
    s.login_step(0, 0, {'AuthMethod': 'None'}, transit=False)
    s.login_step(0, 1, {})
    answers, offered = {}, {'HeaderDigest': 'None', 'DataDigest': 'CRC32C', 'InitialR2T': 'No',
                            'MaxBurstLength': '65536', 'FirstBurstLength': '32768'}
    for key, value in offered.items():
        p = s.login_step(1, 1, {key: value}, transit=False)
        assert not p.flags & 0x80
        answers.update(p.keys)
    p = s.login_step(1, 3, {})
    answers.update(p.keys)
    s.enter(p, offered, answers)
    assert s.dd and s.got['InitialR2T'] == 'No' and s.limit('MaxBurstLength') == 65536, s.got
    data = S.pattern(0, 256, 3)
    S.write(S.settle(s), 0, data)
    assert S.read(s, 0, 256) == data
    s.logout()


@tap.test('security straight to full feature phase', 'L11', 'RFC 7143 6.3')
def security_to_full(d):
    s = I.Session(d.addr, target=T)
    p = s.login_step(0, 3, dict(s.identity(), AuthMethod='None'))
    s.enter(p, {}, {})
    S.settle(s).logout()


if __name__ == '__main__':
    tap.main(conf)
