#!/usr/bin/python3
"""Text requests: discovery, answers in parts, keys of a running session."""
import socket

import config
import initiator as I
import pdu as P
import scsi as S
import tap

T = config.TARGET
MANY = ['%sstore-%03d-%s' % (config.IQN, n, 'x' * 500) for n in range(64)]
MANY = [n[:223] for n in MANY]


def many():
    return config.base(targets=[config.target()] + [config.target(n, luns=()) for n in MANY])


def wild():
    return config.base(
        portals=[
            {'name': 'lan', 'transport': 'iscsi', 'listen': ['0.0.0.0:@PORT@', '[::]:@PORT@'], 'group': 7},
            {'name': 'own', 'transport': 'iscsi', 'listen': ['127.0.0.1:@PORT2@'], 'group': 9},
        ],
        targets=[config.target(), config.target(config.IQN + 'both', portals=('lan', 'own')),
                 config.target(config.IQN + 'own', portals=('own',))])


def discover(d, keys=None, addr=None, ask='All', **kw):
    """The records of a SendTargets answer: {name: [addresses]}, and its number of PDUs."""
    s = I.Session(addr or d.addr, **kw)
    s.login(keys, discovery=True)
    text, n = s.text({'SendTargets': ask})
    s.logout()
    found, name = {}, None
    for key, value in P.parse_pairs(text):
        if key == 'TargetName':
            name = value
            assert name not in found, '%s stands twice' % name
            found[name] = []
        else:
            assert key == 'TargetAddress' and name, 'unexpected %s=%s' % (key, value)
            found[name].append(value)
    return found, n


@tap.variants([(n, n) for n in (512, 513, 1000, 8192, 262144)],
              '64 long names in PDUs of at most %d bytes', 'L04', 'RFC 7143 11.11', conf=many)
def in_parts(d, n):
    found, pdus = discover(d, {'MaxRecvDataSegmentLength': str(n)})
    assert set(found) == set(MANY + [T]), 'incomplete: %d targets' % len(found)
    for addresses in found.values():
        assert addresses == ['127.0.0.1:%d,1' % d.port], addresses
    size = sum(len('TargetName=') + len(name) + 1 + len('TargetAddress=') + len(a[0]) + 1
               for name, a in found.items())
    assert pdus >= -(-size // n), 'too few PDUs'


@tap.test('a long answer given up half way leaves the session usable', 'L04', 'RFC 7143 11.10.4', conf=many)
def given_up(d):
    s = I.Session(d.addr)
    s.login({'MaxRecvDataSegmentLength': '512'}, discovery=True)
    itt = s.text_start({'SendTargets': 'All'})
    p = s.expect(P.TEXT_RSP, itt)
    assert p.ttt != P.NO_TAG and not p.final
    text, _ = s.text({'SendTargets': 'All'})
    assert text.count(b'TargetName=') == 65
    s.logout()


@tap.test('a wrong transfer tag is rejected', 'L04', 'RFC 7143 11.10.4', conf=many)
def wrong_ttt(d):
    s = I.Session(d.addr)
    s.login({'MaxRecvDataSegmentLength': '512'}, discovery=True)
    itt = s.text_start({'SendTargets': 'All'})
    p = s.expect(P.TEXT_RSP, itt)
    s.text_start({}, ttt=p.ttt ^ 0x5a5a, itt=itt)
    try:
        p = s.expect(P.REJECT)
        assert p.response in (0x04, 0x09), repr(p)
    except I.Eof:
        pass
    s.close()


@tap.test('a text request cut over PDUs is put together', 'L05', 'RFC 7143 11.10.2')
def request_cut(d):
    s = I.Session(d.addr)
    s.login(discovery=True)
    itt = s.text_start(None, data=b'SendTar', final=False, cont=True)
    p = s.expect(P.TEXT_RSP, itt)
    assert not p.data and not p.final, 'an answer to half a request: %r' % p
    assert p.ttt != P.NO_TAG, 'no tag to go on with: %r' % p
    s.text_start(None, data=b'gets=All\0', ttt=p.ttt, itt=itt)
    p = s.expect(P.TEXT_RSP, itt)
    assert p.final and T.encode() in p.data, repr(p)
    s.logout()


@tap.test('a text request without end is refused', 'L05')
def request_endless(d):
    s = I.Session(d.addr)
    s.login(discovery=True)
    ttt, itt = P.NO_TAG, s.take_itt()
    try:
        for n in range(20):
            s.text_start(None, data=b'x' * 8000, ttt=ttt, itt=itt, final=False, cont=True)
            p = s.next_pdu()
            if p.op == P.REJECT:
                s.close()
                return
            assert p.op == P.TEXT_RSP, repr(p)
            ttt = p.ttt
    except I.Eof:
        return
    raise AssertionError('160000 bytes of one text taken')


@tap.test('SendTargets names one target, and only where it is', 'L14', 'RFC 7143 appendix C')
def one_target(d):
    found, _ = discover(d, ask=T)
    assert list(found) == [T]
    found, _ = discover(d, ask=config.IQN + 'nowhere')
    assert found == {}, found


@tap.test('SendTargets without a value names this session\'s target', 'L14', 'RFC 7143 appendix C')
def own_target(d):
    s = d.login(target=T)
    text, _ = s.text({'SendTargets': ''})
    assert [v for k, v in P.parse_pairs(text) if k == 'TargetName'] == [T], text
    s.logout()


@tap.test('a wildcard portal is shown by the address that was reached', 'L14', 'RFC 7143 13.8', conf=wild)
def wildcard(d):
    both = config.IQN + 'both'
    found, _ = discover(d)
    assert found[T] == ['127.0.0.1:%d,7' % d.port], found
    assert sorted(found[both]) == sorted(['127.0.0.1:%d,7' % d.port, '127.0.0.1:%d,9' % d.ports['PORT2']]), found
    found, _ = discover(d, addr=('127.0.0.3', d.port))
    assert found[T] == ['127.0.0.3:%d,7' % d.port], found
    if not socket.has_ipv6:
        raise tap.Skip('no IPv6 here')
    found, _ = discover(d, addr=('::1', d.port))
    assert found[T] == ['[::1]:%d,7' % d.port], found


@tap.test('a target that is not on this portal cannot be logged in to through it', 'L14', 'L26', conf=wild)
def other_portal(d):
    with tap.raises(I.Refused, 0x0203):
        I.Session(d.addr, target=config.IQN + 'own').login()
    s = d.login(target=config.IQN + 'own', addr=('127.0.0.1', d.ports['PORT2']))
    assert s.first_answer.keys['TargetPortalGroupTag'] == '9'
    s.logout()


@tap.test('a key that full feature phase does not know is answered', 'L02', 'RFC 7143 6.2')
def unknown_key(d):
    s = d.login(target=T)
    text, _ = s.text({'X-com.example.Colour': 'blue'})
    assert P.parse_keys(text) == {'X-com.example.Colour': 'NotUnderstood'}, text
    s.logout()


@tap.test('an operational key cannot be negotiated again', 'L06', 'RFC 7143 13')
def renegotiate(d):
    s = d.login(target=T)
    itt = s.text_start({'MaxBurstLength': '65536'})
    try:
        while True:
            p = s.next_pdu()
            if p.op == P.REJECT:
                break
            if p.op == P.TEXT_RSP and p.itt == itt:
                assert P.parse_keys(p.data)['MaxBurstLength'] == 'Reject', p.data
                break
    except I.Eof:
        return
    s.cmd_sn = s.exp_cmd_sn
    S.alive(s)
    s.logout()


@tap.test('a smaller receive limit declared in full feature phase is obeyed', 'L12', 'RFC 7143 13.12')
def redeclare(d):
    s = d.login({'MaxRecvDataSegmentLength': '65536'}, target=T)
    s.text({'MaxRecvDataSegmentLength': '4096'})
    s.max_recv = 4096
    assert S.read(s, 0, 200) is not None
    s.logout()


@tap.test('the initiator\'s rights decide what discovery shows', 'L14', conf=lambda: config.base(targets=[
    config.target(), config.target(config.IQN + 'hers', initiators=[{'match': config.IQN + 'her*'}])]))
def filtered(d):
    assert set(discover(d, name=config.IQN + 'his')[0]) == {T}
    assert set(discover(d, name=config.IQN + 'hers-1')[0]) == {T, config.IQN + 'hers'}


if __name__ == '__main__':
    tap.main(config.base())
