#!/usr/bin/python3
"""Many sessions, little memory, few descriptors, clients that die."""
import os
import resource
import signal
import threading
import time

import config
import daemon as D
import initiator as I
import scsi as S
import tap

T = config.TARGET


@tap.test('300 sessions of one host with ISIDs of their own all live', 'T17')
def many(d):
    sessions = [d.login(target=T, settle=False) for _ in range(300)]
    for s in sessions:
        S.settle(s)
    for s in sessions[::7]:
        S.write(s, 0, S.pattern(0, 8, 1))
    for s in sessions:
        S.alive(s)
    rows = d.rows('sessions')
    assert len(rows) == 300, len(rows)
    for n, s in enumerate(sessions):
        s.close() if n % 3 else s.logout()


@tap.test('100 idle sessions take less than 64 MiB', 'O05', fresh=True)
def idle_memory(d):
    before = d.rss()
    sessions = [d.login(target=T) for _ in range(100)]
    rss = d.rss()
    if D.SLOW == 1:
        assert before < 32 << 20, 'idle: %d KiB' % (before >> 10)
        assert rss < 64 << 20, '100 sessions: %d KiB' % (rss >> 10)
    print('# idle %d KiB, with 100 sessions %d KiB' % (before >> 10, rss >> 10))
    for s in sessions:
        s.close()


def few_descriptors():
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))


@tap.test('out of descriptors: no spinning, the control socket works, it goes on after', 'O06')
def descriptors(unused):
    d = D.Daemon(config.base(), preexec=few_descriptors)
    try:
        first = d.login(target=T)
        rest = []
        for _ in range(200):
            try:
                c = I.Conn(d.addr, timeout=1)
                rest.append(c)
            except OSError:
                break
        assert len(rest) > 100
        time.sleep(0.2)
        cpu = d.cpu()
        time.sleep(1)
        assert d.cpu() - cpu < 0.3 * D.SLOW, 'spins: %.2f s of processor in 1 s' % (d.cpu() - cpu)
        S.alive(first)
        assert len(d.rows('sessions')) >= 1
        for c in rest:
            c.close()
        time.sleep(0.3)
        d.login(target=T).logout()
        first.logout()
        d.check_idle()
        d.stop()
    finally:
        d.remove()


@tap.test('a small memory budget under large transfers: slower, not wrong', 'D10', 'O05', conf=lambda: config.base(
    memory='64M', reactors=1))
def little_memory(d):
    keys = {'MaxRecvDataSegmentLength': '262144', 'InitialR2T': 'Yes', 'ImmediateData': 'No', 'MaxBurstLength': '1048576'}
    sessions = [d.login(keys, target=T, lun=1) for _ in range(8)]
    data, failures = S.pattern(0, 2048, 3), []

    def client(s):
        try:
            # 16 MiB are offered at once, and by each of eight.
            for t in s.wait(*[s.start(S.write16(2048 * n, 2048), write=data, lun=1) for n in range(16)]):
                S.good(t)
            for t in [s.start(S.read16(2048 * n, 2048), read=1 << 20, lun=1) for n in range(16)]:
                assert S.good(s.wait(t)).data == data
        except Exception as e:
            failures.append(repr(e))

    threads = [threading.Thread(target=client, args=(s,)) for s in sessions]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures, failures
    if D.SLOW == 1:
        assert d.rss() < 160 << 20, '%d MiB' % (d.rss() >> 20)
    for s in sessions:
        s.logout()


@tap.test('slow readers do not pin memory', 'O05', conf=lambda: config.base(memory='64M'))
def slow_readers(d):
    healthy = d.login(target=T, lun=1)
    slow = [d.login({'MaxRecvDataSegmentLength': '65536'}, target=T, lun=1, rcvbuf=2048) for _ in range(20)]
    for s in slow:
        for n in range(64):
            s.start(S.read16(2048 * (n % 32), 2048), read=1 << 20, lun=1)
    time.sleep(0.5)
    if D.SLOW == 1:
        assert d.rss() < 200 << 20, '%d MiB' % (d.rss() >> 20)
    began = time.monotonic()
    S.read(healthy, 0, 64, lun=1)
    assert time.monotonic() - began < 2 * D.SLOW, 'others wait for slow readers'
    for s in slow:
        s.reset()
    healthy.logout()


def writer(d, seed):
    """A client that writes for ever; for a child process."""
    s = d.login({'InitialR2T': 'No', 'ImmediateData': 'Yes'}, target=T, lun=1, name=config.IQN + 'w%d' % seed)
    n = 0
    while True:
        tasks = [s.start(S.write16(64 * (i + 16 * seed), 64), write=S.pattern(0, 64, n), lun=1) for i in range(16)]
        s.wait(*tasks)
        n += 1


@tap.test('clients killed in the middle of writing leave nothing', 'T20', 'T28')
def killed_writers(d):
    for _ in range(4):
        pids = []
        for seed in range(4):
            pid = os.fork()
            if pid == 0:
                try:
                    writer(d, seed)
                finally:
                    os._exit(1)
            pids.append(pid)
        time.sleep(0.4)
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        for pid in pids:
            _, status = os.waitpid(pid, 0)
            assert os.WIFSIGNALED(status), 'a client ended by itself'
        d.check_idle()
    d.login(target=T, lun=1).logout()


@tap.test('a stopped client is no trouble to others', 'T18', 'O05')
def stopped(d):
    pid = os.fork()
    if pid == 0:
        try:
            writer(d, 0)
        finally:
            os._exit(1)
    time.sleep(0.3)
    os.kill(pid, signal.SIGSTOP)
    s = d.login(target=T, lun=1)
    began = time.monotonic()
    for n in range(200):
        S.read(s, n, 8, lun=1)
    assert time.monotonic() - began < 3 * D.SLOW
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    s.logout()


@tap.test('a logout with 256 LUNs in use is quick', 'O08', conf=lambda: lun_conf(256))
def logout_quick(d):
    s = d.login(target=T)
    for n in range(256):
        S.settle(s, n)
    began = time.monotonic()
    s.logout()
    assert time.monotonic() - began < 0.1 * D.SLOW, '%.3f s' % (time.monotonic() - began)


def lun_conf(n):
    names = ['d%d' % i for i in range(n)]
    out = config.base(targets=[config.target(luns=names)])
    out['adapters'] = [{'name': 'hba', 'disks': [{'name': x, 'driver': 'ram', 'size': '1M'} for x in names]}]
    return out


if __name__ == '__main__':
    tap.main(config.base())
