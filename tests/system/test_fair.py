#!/usr/bin/python3
"""Many initiators on one saturated adapter, over iSCSI: equal shares whatever the window, short waits for who asks little."""
import threading
import time

import config
import scsi as S
import tap

T = config.TARGET


def conf(can_queue, service='4ms', **iscsi):
    c = config.base(targets=[config.target(luns=['d'], iscsi=iscsi or None)])
    c['adapters'] = [{'name': 'hba', 'can_queue': can_queue, 'lun_depth': can_queue,
                      'disks': [{'name': 'd', 'driver': 'sim', 'size': '1G', 'service': service}]}]
    return c


class Job(threading.Thread):
    """One session that keeps so many commands out; pause: between a command's end and the next."""

    def __init__(self, d, name, window, pause=0.0):
        super().__init__(daemon=True)
        self.name_, self.window, self.pause = config.IQN + name, window, pause
        self.s = d.login(target=T, name=self.name_)
        self.stop, self.error = False, None

    def one(self, n):
        return self.s.start(S.read16(8 * (n % 1000), 8), read=4096)

    def run(self):
        try:
            jobs = [self.one(n) for n in range(self.window)]
            n = 0
            while jobs:
                S.good(self.s.wait(jobs.pop(0)))
                time.sleep(self.pause)
                n += 1
                if not self.stop:
                    jobs.append(self.one(n))
        except Exception as e:
            self.error = e

    def end(self):
        self.join(60)
        assert self.error is None, self.error
        self.s.logout()


def rows(d):
    return {r['name']: r for r in d.rows('adapters') if r['kind'] == 'initiator'}


def finish(jobs):
    for j in jobs:
        j.stop = True
    for j in jobs:
        j.end()


def jain(v):
    return sum(v) ** 2 / (len(v) * sum(x * x for x in v))


@tap.test('64 sessions with windows 1 to 128: the same number of commands each', conf=conf(8, queue_depth=128))
def shares(d):
    jobs = [Job(d, 'i%d' % n, 1 + 127 * n // 63) for n in range(64)]
    for j in jobs:
        j.start()
    time.sleep(1)
    before = rows(d)
    time.sleep(5)
    after = rows(d)
    done = [after[j.name_]['admitted'] - before[j.name_]['admitted'] for j in jobs]
    waiting = next(r for r in d.rows('adapters') if r['kind'] == 'host')['waiting']
    finish(jobs)
    # Not saturated it would say nothing about shares.
    assert waiting > 64 and sum(done) > 64 * 20, (waiting, done)
    assert jain(done) >= 0.99, (jain(done), done)
    device = next(r for r in d.rows('sim') if r['kind'] == 'adapter')
    assert device['max'] == 8 and device['state'] == 'online', device


@tap.test('a share of 3 is three times a share of 1', conf=lambda: dict(conf(8), targets=[config.target(
    luns=['d'], initiators=[{'match': '*:big*', 'share': 3}, {'match': '*'}])]))
def weights(d):
    jobs = [Job(d, n, 48) for n in ('big1', 'small1', 'big2', 'small2')]
    for j in jobs:
        j.start()
    time.sleep(0.5)
    before = rows(d)
    time.sleep(3)
    after = rows(d)
    big, small = (sum(after[j.name_]['admitted'] - before[j.name_]['admitted'] for j in jobs[k::2]) for k in (0, 1))
    finish(jobs)
    assert 2.7 <= big / small <= 3.3, (big, small)


def quiet_round(d, r):
    """Seven that ask little, beside hogs: p99 of their waits in us, sorted."""
    few = [Job(d, 'few%d.%d' % (r, n), 1, pause=0.01) for n in range(7)]
    for j in few:
        j.start()
    time.sleep(4)
    seen = rows(d)
    finish(few)
    mine = [seen[j.name_] for j in few]
    assert all(r['admitted'] > 15 and r['waits'] > 8 for r in mine), mine
    assert all(r['wait_p50_us'] <= 50000 for r in mine), mine
    return sorted(r['wait_p99_us'] for r in mine)


@tap.test('who asks for one command at a time waits at most one and a half service times', conf=conf(64, '50ms'))
def quiet(d):
    hogs = [Job(d, 'hog%d' % n, 100) for n in range(8)]
    for j in hogs:
        j.start()
    # A machine that holds the daemon up for a moment is no starvation: that would be there each time.
    seen = []
    for r in range(4):
        seen.append(quiet_round(d, r))
        if seen[-1][-1] <= 75000:
            break
    waits = rows(d)
    finish(hogs)
    assert seen[-1][-1] <= 75000, seen
    # It is the hogs who wait.
    assert all(waits[j.name_]['wait_p50_us'] > 75000 for j in hogs), waits


if __name__ == '__main__':
    tap.main(conf(8))
