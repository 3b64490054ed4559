#!/usr/bin/python3
"""CHAP: the right secret always works, everything else never does."""
import base64

import chap as C
import config
import initiator as I
import scsi as S
import tap
from daemon import SLOW

USERS = ['0xadmin', '0bob', '0x', 'admin', 'ob', '=a=b']
SECRET, BACK = 'hunter-hunter', 'return-return'
ONE, MUTUAL, ONLY7 = config.IQN + 'one', config.IQN + 'mutual', config.IQN + 'only7'


def conf():
    auth = [{'name': 'one', 'user': 'host1', 'secret': SECRET},
            {'name': 'mutual', 'user': 'host1', 'secret': SECRET,
             'mutual_user': 'target1', 'mutual_secret': BACK},
            {'name': 'only7', 'user': 'host1', 'secret': SECRET, 'algorithms': ['sha256']}]
    targets = [config.target(ONE, auth='one'), config.target(MUTUAL, auth='mutual'),
               config.target(ONLY7, auth='only7')]
    for n, user in enumerate(USERS):
        auth.append({'name': 'u%d' % n, 'user': user, 'secret': SECRET + str(n)})
        targets.append(config.target(config.IQN + 'u%d' % n, auth='u%d' % n))
    return config.base(auth=auth, targets=targets)


def challenge(d, target, algs='5'):
    """A connection that has been asked: (session, the target's keys)."""
    s = I.Session(d.addr, target=target)
    s.login_step(0, 1, dict(s.identity(), AuthMethod='CHAP'), transit=False)
    return s, s.login_step(0, 1, {'CHAP_A': algs}, transit=False).keys


def reply(keys):
    return C.digest(int(keys['CHAP_A']), int(keys['CHAP_I']), SECRET, C.decode(keys['CHAP_C']))


@tap.variants([('MD5', '5'), ('SHA-1', '6'), ('SHA-256', '7'), ('SHA3-256', '8')],
              '%s proves the initiator, and the target', 'C05', 'C08', 'RFC 7143 12.1.3', 'RFC 3720 11.1.4')
def algorithm(d, alg):
    d.login(target=ONE, chap=I.Chap('host1', SECRET, alg)).logout()
    d.login(target=MUTUAL, chap=I.Chap('host1', SECRET, alg, 'target1', BACK)).logout()


LISTS = [     # offer, the target's choice (None: refused), target
    ('7,6,5', '7', ONE), ('5', '5', ONE), ('5,7', '5', ONE), ('8', '8', ONE), ('6,8,7', '6', ONE),
    ('99,1,7', '7', ONE), ('5,7', '7', ONLY7), ('8,7,5', '7', ONLY7),
    ('5', None, ONLY7), ('1,2,3', None, ONE), ('55', None, ONE), ('57', None, ONE), ('5x', None, ONE),
    ('', None, ONE), ('MD5', None, ONE),
]


@tap.variants([('CHAP_A=%s at %s is %s' % (o, t[len(config.IQN):], a or 'refused'), o, a, t) for o, a, t in LISTS],
              '%s', 'C05', 'RFC 7143 12.1.3')
def algorithm_list(d, offer, answer, target):
    if answer is None:
        with tap.raises(I.Refused, (0x0200, 0x0201)):
            challenge(d, target, offer)
        return
    s, keys = challenge(d, target, offer)
    assert keys['CHAP_A'] == answer, keys
    p = s.login_step(0, 1, {'CHAP_N': 'host1', 'CHAP_R': C.encode(reply(keys))})
    assert p.flags & 0x80
    s.close()


@tap.variants([('a leading comma', ',5'), ('a trailing comma', '5,'), ('a leading zero', '05'),
               ('1000 entries', '99,' * 999 + '5')],
              'a CHAP_A list with %s is read right or refused', 'C05')
def algorithm_trap(d, offer):
    try:
        s, keys = challenge(d, ONE, offer)
    except I.Refused as e:
        assert e.status in (0x0200, 0x0201), str(e)
        return
    assert keys['CHAP_A'] == '5', keys
    s.close()


RESPONSES = [('no digits', '0x')] + [
    ('%d hex digits' % n, '0x' + '5a' * (n // 2) + 'a' * (n % 2)) for n in (2, 31, 33, 34, 64, 1024, 2048, 7000)] + [
    ('no prefix', '5a' * 16), ('decimal', '12345'), ('letters that are no digits', '0x' + 'zz' * 16),
    ('a sign', '0x-' + '5a' * 16), ('nothing', '')] + [
    ('base64 of %d bytes' % n, '0b' + base64.b64encode(b'Z' * n).decode()) for n in (0, 15, 17, 64)] + [
    ('bad base64 padding', '0b' + base64.b64encode(b'Z' * 16).decode().rstrip('=')[:-1]),
    ('base64 that is none', '0b!!!!' + 'Wlpa' * 5)]


@tap.variants(RESPONSES, 'a CHAP_R with %s is refused', 'C03', 'RFC 7143 12.1.3')
def bad_response(d, value):
    s, keys = challenge(d, ONE)
    with tap.raises(I.Refused, (0x0200, 0x0201)):
        s.login_step(0, 1, {'CHAP_N': 'host1', 'CHAP_R': value})
    s.wait_close()


@tap.test('a wrong CHAP_R of the right length is refused as such', 'C03', 'L17', 'RFC 7143 11.13.5')
def wrong_response(d):
    for flip in (0, 7, 15):
        s, keys = challenge(d, ONE)
        wrong = bytearray(reply(keys))
        wrong[flip] ^= 1
        with tap.raises(I.Refused, 0x0201):
            s.login_step(0, 1, {'CHAP_N': 'host1', 'CHAP_R': C.encode(wrong)})


@tap.variants([('capitals', lambda b: '0X' + b.hex().upper()), ('base64', lambda b: '0b' + base64.b64encode(b).decode()),
               ('base64 with a capital', lambda b: '0B' + base64.b64encode(b).decode())],
              'the right CHAP_R in %s is taken', 'C03', 'RFC 7143 6.1')
def good_response(d, form):
    s, keys = challenge(d, ONE)
    p = s.login_step(0, 1, {'CHAP_N': 'host1', 'CHAP_R': form(reply(keys))})
    assert p.flags & 0x83 == 0x81
    s.enter(s.login_step(1, 3, {}), {}, {})
    S.settle(s).logout()


@tap.test('the keys of a response without a challenge are refused', 'C03')
def no_challenge(d):
    s = I.Session(d.addr, target=ONE)
    s.login_step(0, 1, dict(s.identity(), AuthMethod='CHAP'), transit=False)
    with tap.raises(I.Refused, (0x0200, 0x0201, 0x0207)):
        s.login_step(0, 1, {'CHAP_N': 'host1', 'CHAP_R': '0x' + '00' * 16})


@tap.test('an initiator that skips CHAP_N or CHAP_R is refused', 'C03')
def half_response(d):
    for keys in ('CHAP_N',), ('CHAP_R',), ():
        s, asked = challenge(d, ONE)
        whole = {'CHAP_N': 'host1', 'CHAP_R': C.encode(reply(asked))}
        try:
            p = s.login_step(0, 1, {k: whole[k] for k in keys})
            assert not p.flags & 0x80, 'let in with %r' % (keys,)
            with tap.raises(I.Refused):
                s.login_step(1, 3, {})
        except I.Refused as e:
            assert e.status in (0x0200, 0x0201, 0x0207), str(e)
        s.close()


@tap.variants([('as it came', lambda b: '0x' + b.hex()), ('in capitals', lambda b: '0X' + b.hex().upper()),
               ('in base64', lambda b: '0b' + base64.b64encode(b).decode())],
              'the target\'s challenge sent back to it %s is refused', 'C02', 'RFC 7143 12.1.3')
def reflection(d, form):
    a, keys = challenge(d, MUTUAL)
    b, other = challenge(d, MUTUAL)
    with tap.raises(I.Refused, 0x0201):
        b.login_step(0, 1, {'CHAP_N': 'host1', 'CHAP_R': C.encode(reply(other)),
                            'CHAP_I': keys['CHAP_I'], 'CHAP_C': form(C.decode(keys['CHAP_C']))})
    a.close()


@tap.test('a challenge sent back on its own connection is refused', 'C02', 'RFC 7143 12.1.3')
def reflection_same(d):
    s, keys = challenge(d, MUTUAL)
    with tap.raises(I.Refused, 0x0201):
        s.login_step(0, 1, {'CHAP_N': 'host1', 'CHAP_R': C.encode(reply(keys)),
                            'CHAP_I': keys['CHAP_I'], 'CHAP_C': keys['CHAP_C']})


@tap.test('the target proves nothing to one who has not', 'C02', 'RFC 7143 12.1.3')
def order(d):
    s, keys = challenge(d, MUTUAL)
    s.login_pdu(0, 1, {'CHAP_N': 'host1', 'CHAP_R': '0x' + '5a' * 16, 'CHAP_I': 1, 'CHAP_C': '0x' + '11' * 16})
    p = s.login_recv()
    assert p.login_status == 0x0201 and b'CHAP_R' not in p.data, repr(p)


@tap.test('a mutual challenge to a target without a secret of its own is not ignored', 'C02')
def mutual_unset(d):
    s, keys = challenge(d, ONE)
    try:
        p = s.login_step(0, 1, {'CHAP_N': 'host1', 'CHAP_R': C.encode(reply(keys)),
                                'CHAP_I': 1, 'CHAP_C': '0x' + '11' * 16})
        assert 'CHAP_R' not in p.keys, 'a proof out of nothing'
    except I.Refused as e:
        assert e.status in (0x0200, 0x0201), str(e)
    s.close()


@tap.variants([(u, n) for n, u in enumerate(USERS)], 'the user "%s" is its own self only', 'C06', 'RFC 7143 12.1.3')
def user(d, n):
    target, secret = config.IQN + 'u%d' % n, SECRET + str(n)
    d.login(target=target, chap=I.Chap(USERS[n], secret)).logout()
    for other in USERS + [USERS[n] + 'x', USERS[n][:-1], USERS[n].upper(), '']:
        if other != USERS[n]:
            with tap.raises(I.Refused, (0x0200, 0x0201)):
                I.Session(d.addr, target=target).login(chap=I.Chap(other, secret))


@tap.test('256 mutual logins with all kinds of bytes in the digests', 'C08')
def often(d):
    for n in range(256 // SLOW):
        s = I.Session(d.addr, target=MUTUAL)
        s.login(chap=I.Chap('host1', SECRET, '5678'[n % 4], 'target1', BACK))
        s.close()


@tap.test('a target with a secret lets nobody in without', 'C09', 'RFC 7143 6.3')
def none(d):
    for first in ({'AuthMethod': 'None'}, {'AuthMethod': 'None,KRB5'}, {}):
        s = I.Session(d.addr, target=ONE)
        try:
            p = s.login_step(0, 1, dict(s.identity(), **first))
            assert not p.flags & 0x80, 'let through to the operational stage'
            with tap.raises(I.Refused):
                s.login_step(1, 3, {})
        except I.Refused as e:
            assert e.status in (0x0201, 0x0200), str(e)
        s.close()


@tap.test('the security stage cannot be left out', 'C09', 'RFC 7143 6.3')
def skipped(d):
    for nsg in (3, 1):
        s = I.Session(d.addr, target=ONE)
        with tap.raises(I.Refused, (0x0201, 0x0202)):
            s.login_step(1, nsg, s.identity(), transit=nsg == 3)


@tap.test('AuthMethod=None,CHAP is CHAP', 'C09', 'RFC 7143 12')
def none_first(d):
    s = I.Session(d.addr, target=ONE)
    p = s.login_step(0, 1, dict(s.identity(), AuthMethod='None,CHAP'), transit=False)
    assert p.keys['AuthMethod'] == 'CHAP', p.keys
    s.close()


@tap.test('the stage cannot be changed before the proof', 'C09', 'RFC 7143 6.3')
def early_transit(d):
    s, keys = challenge(d, ONE)
    s.login_pdu(1, 3, {})
    try:
        assert s.login_recv().login_status in (0x0200, 0x0201, 0x020b)
    except I.Eof:
        pass


@tap.test('the secrets never stand in the log', 'C02', 'O11')
def quiet(d):
    d.login(target=MUTUAL, chap=I.Chap('host1', SECRET, '5', 'target1', BACK)).logout()
    assert SECRET not in d.stderr() and BACK not in d.stderr()


if __name__ == '__main__':
    tap.main(conf)
