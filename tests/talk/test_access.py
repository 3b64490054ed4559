#!/usr/bin/python3
"""Who may log in, and that each refusal has its own status and a line in the log."""
import config
import initiator as I
import scsi as S
import tap

SPELLINGS = ['[::1]', '::1', '0:0:0:0:0:0:0:1', '::1/128', '::ffff:127.0.0.1', '127.0.0.0/8']
RULE = [config.IQN + 'rule-%d' % n for n in range(len(SPELLINGS))]
HERS, ADDR, BOTH = config.IQN + 'hers', config.IQN + 'addr', config.IQN + 'both'
SECRET = config.IQN + 'secret'


def conf():
    rules = [config.target(n, initiators=[{'address': a}]) for n, a in zip(RULE, SPELLINGS)]
    return config.base(
        portals=[{'name': 'lan', 'transport': 'iscsi', 'listen': ['127.0.0.1:@PORT@', '[::1]:@PORT@']}],
        auth=[{'name': 'lab', 'user': 'host1', 'secret': 'twelve-or-more'}],
        targets=rules + [
            config.target(),
            config.target(HERS, initiators=[{'match': config.IQN + 'her*', 'luns': [1], 'read_only': True}]),
            config.target(ADDR, initiators=[{'address': '127.0.0.2'}, {'address': '127.0.0.3'}]),
            config.target(BOTH, initiators=[{'match': 'iqn.*:b?th', 'address': '127.0.0.2'}]),
            config.target(SECRET, auth='lab'),
        ])


@tap.variants([('%s' % a, n, '.' not in a) for n, a in zip(RULE, SPELLINGS)],
              'the rule "address: %s" lets its address in and no other', 'L15')
def spelling(d, name, six):
    inside, outside = (('::1', d.port), d.addr) if six else (d.addr, ('::1', d.port))
    d.login(target=name, addr=inside).logout()
    with tap.raises(I.Refused, 0x0202):
        I.Session(outside, target=name).login()


@tap.test('rules by address: any of them', 'L15')
def by_address(d):
    for source in ('127.0.0.2', '127.0.0.3'):
        d.login(target=ADDR, source=source).logout()
    with tap.raises(I.Refused, 0x0202):
        I.Session(d.addr, target=ADDR).login()


@tap.test('a rule by name and address wants both', 'L15')
def by_both(d):
    d.login(target=BOTH, name=config.IQN + 'both', source='127.0.0.2').logout()
    for name, source in (('both', None), ('bth', '127.0.0.2'), ('bothh', '127.0.0.2')):
        with tap.raises(I.Refused, 0x0202):
            I.Session(d.addr, target=BOTH, name=config.IQN + name, source=source).login()


@tap.test('a rule decides which LUNs there are and whether they can be written', 'L15', 'K21')
def rule_luns(d):
    s = d.login(target=HERS, name=config.IQN + 'her', lun=1)
    S.check(s.cmd(S.TUR, lun=0), S.NO_LUN)
    S.check(s.cmd(S.TUR, lun=2), S.NO_LUN)
    t = S.good(s.cmd(S.report_luns(), read=1024))
    assert t.data[:4] == (8).to_bytes(4, 'big') and t.data[8:16] == bytes([0, 1, 0, 0, 0, 0, 0, 0]), t.data.hex()
    before = S.read(s, 0, 1, lun=1)
    t = s.cmd(S.write16(0, 1), write=S.pattern(0, 1, 9), lun=1)
    S.check(t, (7, 0x27, 0))
    assert S.read(s, 0, 1, lun=1) == before
    assert S.good(s.cmd(S.mode6(), read=255, lun=1)).data[2] & 0x80, 'MODE SENSE hides that it is read-only'
    s.logout()


REFUSALS = [
    ('an unknown target', 0x0203, {'target': config.IQN + 'nowhere'}),
    ('a forbidden initiator', 0x0202, {'target': HERS}),
    ('a forbidden address', 0x0202, {'target': ADDR}),
    ('a missing password', 0x0201, {'target': SECRET}),
]


@tap.variants(REFUSALS, '%s has its own status and a line in the log', 'L17', 'RFC 7143 11.13.5', fresh=True)
def refusal(d, status, kw):
    mark = d.mark()
    with tap.raises(I.Refused, status):
        I.Session(d.addr, name=config.IQN + 'stranger', **kw).login()
    log = d.stderr(mark)
    assert 'stranger' in log or '127.0.0.1' in log, 'no line in the log'


@tap.test('a wrong password has its own status and a line in the log', 'L17', 'RFC 7143 11.13.5', fresh=True)
def wrong_password(d):
    mark = d.mark()
    with tap.raises(I.Refused, 0x0201):
        I.Session(d.addr, target=SECRET).login(chap=I.Chap('host1', 'wrong'))
    assert 'host1' in d.stderr(mark) or '127.0.0.1' in d.stderr(mark)
    assert 'twelve-or-more' not in d.stderr(), 'the secret stands in the log'


if __name__ == '__main__':
    tap.main(conf)
