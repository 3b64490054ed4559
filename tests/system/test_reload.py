#!/usr/bin/python3
"""Reload and set: what changes while the daemon runs, what is refused, and that a refusal changes nothing."""
import copy
import signal
import time

import config
import daemon
import scsi as S
import tap

T = config.TARGET


def disk(name, **more):
    return dict({'name': name, 'driver': 'sim', 'service': '1ms', 'size': '1G'}, **more)


def conf():
    c = config.base(targets=[config.target(luns=('a', 'b'))])
    c['adapters'] = [{'name': 'hba', 'can_queue': 64, 'lun_depth': 16, 'target_depth': 32,
                      'disks': [disk('a'), disk('b', depth=8)]}]
    return c


def limit(d, kind, name):
    return next(r['limit'] for r in d.rows('adapters') if r['kind'] == kind and r['name'] == name)


def rewrite(d, change):
    """The file on disk becomes what change makes of the configuration."""
    d.conf = copy.deepcopy(d.conf)
    change(d.conf)
    d.write_conf()


def adapter(**keys):
    return lambda c: c['adapters'][0].update(keys)


def reload(d):
    done = d.sluicectl('reload')
    assert done.returncode == 0, done
    return done.stdout


def refused(d, *words):
    mark = d.mark()
    done = d.sluicectl('reload')
    assert done.returncode == 1, done
    for word in words:
        assert word in done.stderr, done
    assert 'nothing is changed' in d.stderr(mark), d.tail()


@tap.test('a reload changes limits at once; sessions do not notice', conf=conf)
def limits(d):
    s = d.login(target=T)
    jobs = [s.start(S.write16(8 * n, 8), write=bytes(4096)) for n in range(64)]
    rewrite(d, adapter(can_queue=24, target_depth=12, lun_depth=5))
    assert '3' in reload(d)
    assert limit(d, 'host', 'hba') == 24
    assert limit(d, 'target', '0:0') == limit(d, 'target', '0:1') == 12
    assert limit(d, 'lun', 'a') == 5 and limit(d, 'lun', 'b') == 8
    for job in jobs:
        S.good(s.wait(job))
    rewrite(d, adapter(can_queue=64, target_depth=32, lun_depth=16))
    reload(d)
    assert limit(d, 'host', 'hba') == 64 and limit(d, 'lun', 'a') == 16
    S.alive(s)
    s.logout()


@tap.test('a depth of an exported LUN comes before its disk\'s, also at a reload', conf=conf)
def export(d):
    assert limit(d, 'lun', 'b') == 8
    rewrite(d, lambda c: c['targets'][0]['luns'][1].update(depth=11))
    reload(d)
    assert limit(d, 'lun', 'b') == 11
    rewrite(d, lambda c: c['targets'][0]['luns'][1].pop('depth'))
    reload(d)
    assert limit(d, 'lun', 'b') == 8


MODES = ['single', 'divided', 'shared_single', 'divided_borrow', 'shared']


@tap.test('a reload changes the queue mode under load; nothing is lost and no limit exceeded', conf=conf)
def modes(d):
    sessions = [d.login(target=T) for _ in range(2)]
    for mode in MODES:
        jobs = [(s, s.start(S.write16(8 * n, 8), write=bytes(4096))) for n in range(100) for s in sessions]
        rewrite(d, adapter(queue_mode=mode, scheduler='deadline' if mode == 'divided' else 'none'))
        reload(d)
        for s, job in jobs:
            S.good(s.wait(job))
    row = next(r for r in d.rows('sim') if r['kind'] == 'adapter')
    assert row['max'] <= 64 and row['in_flight'] == 0 and row['state'] == 'online', row
    for s in sessions:
        s.logout()


@tap.test('a reload without a change changes nothing', conf=conf)
def same(d):
    d.ctl('set', kind='lun', name='a', what='depth', value=3)
    assert '0' in reload(d)
    assert limit(d, 'lun', 'a') == 3, 'what was set is gone'


@tap.test('what needs a restart is named with its place, and nothing of the file is taken', conf=conf)
def restart(d):
    def change(c):
        c['memory'] = '512M'
        c['adapters'][0]['can_queue'] = 10
    rewrite(d, change)
    refused(d, 'sluice.yaml:1:1: memory is changed: needs a restart')
    assert limit(d, 'host', 'hba') == 64
    rewrite(d, lambda c: c.update(memory='256M'))
    reload(d)
    assert limit(d, 'host', 'hba') == 10


@tap.test('more tags than at the start need a restart', conf=conf)
def tags(d):
    rewrite(d, adapter(can_queue=65, lun_depth=7))
    refused(d, 'can_queue', 'more tags than at the start')
    assert limit(d, 'host', 'hba') == 64 and limit(d, 'lun', 'a') == 16


@tap.test('a file that is wrong is refused: its first error is the answer, all are in the log', conf=conf)
def wrong(d):
    def change(c):
        c['colour'] = 'blue'
        c['adapters'][0]['can_queue'] = 0
    good = d.conf
    rewrite(d, change)
    mark = d.mark()
    refused(d, 'can_queue', '1 more')
    assert 'unknown key "colour"' in d.stderr(mark), d.tail()
    d.conf = good
    d.write_conf()
    reload(d)


@tap.test('a file that is gone changes nothing', conf=conf)
def gone(d):
    import os
    os.unlink(d.path)
    refused(d, 'sluice.yaml')
    d.prove()


@tap.test('SIGHUP does the same, and says so in the log', 'O14', conf=conf)
def hup(d):
    rewrite(d, adapter(lun_depth=9))
    d.send_signal(signal.SIGHUP)
    daemon.eventually('the limit', lambda: limit(d, 'lun', 'a') != 9, 5)
    assert 'reload: 1 values changed' in d.stderr(), d.tail()
    rewrite(d, lambda c: c.update(reactors=1))
    d.send_signal(signal.SIGHUP)
    daemon.eventually('a word', lambda: 'reactors is changed' not in d.stderr(), 5)


@tap.test('limits of an initiator hold at once, for who is logged in too', conf=conf)
def rule(d):
    name = config.IQN + 'me'
    rewrite(d, lambda c: c['targets'][0].update(initiators=[{'match': '*', 'depth': 6}]))
    refused(d, 'initiators is changed')
    d.stop()
    d.start()
    s = d.login(target=T, name=name)
    S.good(s.cmd(S.read16(0, 8), read=4096))
    assert limit(d, 'initiator', name) == 6
    rewrite(d, lambda c: c['targets'][0]['initiators'][0].update(depth=3, share=5))
    reload(d)
    assert limit(d, 'initiator', name) == 3
    S.good(s.cmd(S.read16(0, 8), read=4096))
    rewrite(d, lambda c: c['targets'][0]['initiators'][0].update(iops=1))
    reload(d)
    began = time.monotonic()
    for _ in range(3):
        S.good(s.cmd(S.read16(0, 8), read=4096))
    assert time.monotonic() - began >= 1, 'a rate of one a second was not kept'
    rewrite(d, lambda c: c['targets'][0]['initiators'][0].pop('iops'))
    reload(d)
    s.logout()
    s = d.login(target=T, name=name)
    S.good(s.cmd(S.read16(0, 8), read=4096))
    assert limit(d, 'initiator', name) == 3
    s.logout()
    rewrite(d, lambda c: c['targets'][0]['initiators'][0].pop('depth'))
    reload(d)
    s = d.login(target=T, name=name)
    S.good(s.cmd(S.read16(0, 8), read=4096))
    assert limit(d, 'initiator', name) is None
    s.logout()


# What is set, whose limit it is then, and what it is.
SET = [
    (('adapter', 'hba', 'limit', '20'), ('host', 'hba', 20)),
    (('adapter/hba/limit=21',), ('host', 'hba', 21)),
    (('target', '0:1', 'depth', '7'), ('target', '0:1', 7)),
    (('target', 'hba/0:1', 'limit', '6'), ('target', '0:1', 6)),
    (('lun', 'a', 'depth', '1'), ('lun', 'a', 1)),
    (('lun/b/depth=64',), ('lun', 'b', 64)),
]


@tap.test('sluicectl set changes one limit at once', conf=conf)
def set_one(d):
    for args, (kind, name, value) in SET:
        done = d.sluicectl('set', *args)
        assert done.returncode == 0, done
        assert limit(d, kind, name) == value, args


REFUSED = [
    ('lun', 'a', 'depth', '0'), ('lun', 'a', 'depth', '65'), ('lun/a/depth=-1',), ('lun', 'a', 'depth', '1x'),
    ('lun', 'nobody', 'depth', '1'), ('target', 'x/0:1', 'depth', '1'), ('disk', 'a', 'depth', '1'),
    ('lun', 'a', 'colour', '1'), ('lun', 'a'), ('lun/a/depth',), ('lun=1',), ('/=',), ('lun/depth=1',), ('lun//depth=1',),
    ('lun', 'a' * 300, 'depth', '1'),
]


@tap.test('what cannot be set is refused: exit 1, and why', conf=conf)
def set_refused(d):
    for args in REFUSED:
        done = d.sluicectl('set', *args)
        assert done.returncode == 1 and done.stderr, (args, done)
    assert limit(d, 'lun', 'a') == 16


if __name__ == '__main__':
    tap.main(conf())
