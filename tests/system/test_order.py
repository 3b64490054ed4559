#!/usr/bin/python3
"""Order, merging, rates and adaptive depth over iSCSI, against simulated disks that count for themselves."""
import random
import time

import config
import scsi as S
import tap

T = config.TARGET
BLOCKS = 8


def conf(disk, adapter=None, **more):
    c = config.base(targets=[config.target(luns=('a',), **more)])
    c['adapters'] = [dict({'name': 'hba', 'can_queue': 8, 'lun_depth': 8}, **(adapter or {}))]
    disk = dict({'name': 'a', 'driver': 'sim', 'size': '64M', 'store': 'ram'}, **disk)
    c['adapters'][0]['disks'] = [{key: value for key, value in disk.items() if value is not None}]
    return c


def lun(d):
    return [r for r in d.rows('adapters') if r['kind'] == 'lun'][0]


def commands(d):
    return [r for r in d.rows('sim') if r['kind'] == 'disk'][0]['commands']


def write_all(s, places, seed):
    jobs = [s.start(S.write16(BLOCKS * n, BLOCKS), write=S.pattern(BLOCKS * n, BLOCKS, seed)) for n in places]
    for job in jobs:
        s.wait(job)
        S.good(job)


def read_all(s, places, seed):
    jobs = [(n, s.start(S.read16(BLOCKS * n, BLOCKS), read=512 * BLOCKS)) for n in places]
    for n, job in jobs:
        assert S.good(s.wait(job)).data == S.pattern(BLOCKS * n, BLOCKS, seed), n


def streams(d, merges):
    s = S.settle(d.login(target=T))
    before, n = commands(d), 96
    write_all(s, range(n), 1)
    read_all(s, range(n), 1)
    used = commands(d) - before
    # Those that find a free slot at once are alone; the others ride.
    assert used < n if merges else used == 2 * n, used
    assert (lun(d)['merged'] > n / 2) == merges, lun(d)
    places = random.Random(7).sample(range(4000), n)
    write_all(s, places, 2)
    read_all(s, sorted(places), 2)
    s.logout()


SLOW = {'service': '6ms', 'command_cost': '4ms'}


@tap.test('a sequential stream takes few commands, and its data stays right', conf=conf(SLOW, {'coalesce': True}))
def merged(d):
    streams(d, True)


@tap.test('the same when it is sorted', conf=conf(SLOW, {'scheduler': 'deadline'}))
def deadline(d):
    streams(d, True)


@tap.test('merged commands of a file', conf=conf({'driver': 'file', 'path': '@TMP@/a.img', 'create': True, 'size': '64M', 'store': None},
                                                 {'coalesce': True, 'can_queue': 1}))
def merged_file(d):
    s = S.settle(d.login(target=T))
    for r in range(20):
        write_all(s, range(96 * r, 96 * r + 96), r)
    for r in range(20):
        read_all(s, range(96 * r, 96 * r + 96), r)
    # How many must wait is the machine's affair; some do.
    assert lun(d)['merged'] > 0, lun(d)
    s.logout()


@tap.test('and not unless it is asked for', conf=conf(SLOW))
def single(d):
    streams(d, False)


@tap.test('a disk with less room than configured: nobody hears of it', conf=conf({'service': '2ms', 'busy_above': 3}))
def full(d):
    s = S.settle(d.login(target=T))
    write_all(s, range(64), 3)
    read_all(s, range(64), 3)
    row = lun(d)
    assert row['limit'] < row['configured'] == 8, row
    assert d.ctl('stats')['bridge_disk_full'] > 0
    s.logout()


@tap.test('a slow disk is used less deeply', conf=conf({'service': '1ms', 'command_cost': '4ms', 'latency_target': '6ms'}))
def slow(d):
    s = S.settle(d.login(target=T))
    for n in range(4):
        write_all(s, range(64), n)
    row = lun(d)
    assert row['limit'] < row['configured'] == 8, row
    s.logout()


@tap.test('rates hold for all sessions of an initiator together',
          conf=conf({}, initiators=[{'match': '*:paced', 'iops': 100, 'burst': '100ms'}, {'match': '*'}]))
def rates(d):
    paced = [S.settle(d.login(target=T, name=config.IQN + 'paced')) for _ in range(2)]
    free = S.settle(d.login(target=T, name=config.IQN + 'free'))
    begin = time.monotonic()
    jobs = [(s, s.start(S.read16(8 * n, 8), read=4096)) for n in range(20) for s in paced]
    for n in range(50):
        S.read(free, 8 * n, 8)
    for s, job in jobs:
        S.good(s.wait(job))
    # 40 at 100 a second: ten or eleven of them had been saved up.
    assert time.monotonic() - begin >= 0.28
    for s in paced + [free]:
        s.logout()


if __name__ == '__main__':
    tap.main(conf({}))
