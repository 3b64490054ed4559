#!/usr/bin/python3
"""Simulated adapters over iSCSI: what the device itself counts, contents, and an adapter that is overrun."""
import config
import scsi as S
import tap

T = config.TARGET


def conf(disks, adapter=None, **more):
    c = config.base(targets=[config.target(luns=tuple(d['name'] for d in disks), **more)])
    c['adapters'] = [dict({'name': 'hba', 'can_queue': 20, 'target_depth': 14, 'lun_depth': 9}, **(adapter or {}))]
    c['adapters'][0]['disks'] = [dict({'driver': 'sim', 'size': '1G'}, **d) for d in disks]
    return c


def row(d, kind, name):
    rows = [r for r in d.rows('sim') if r['kind'] == kind and (name is None or r['name'] == name)]
    assert len(rows) == 1, rows
    return rows[0]


def hammer(d, sessions, commands, lun):
    """Every session has its whole window out."""
    jobs = []
    for n, s in enumerate(sessions):
        jobs.append([s.start(S.read16(8 * k, 8), read=4096, lun=lun(n, k)) for k in range(commands)])
    return [s.wait(job) for s, mine in zip(sessions, jobs) for job in mine]


BUSY = [{'name': 'a0', 'service': '500us', 'distribution': 'exponential', 'address': '0:0:0'},
        {'name': 'a1', 'service': '500us', 'address': '0:0:1'},
        {'name': 'b', 'service': '500us', 'distribution': 'uniform', 'address': '0:1:0'}]


@tap.test('no limit is exceeded, counted at the device', conf=conf(BUSY))
def limits(d):
    sessions = [d.login(target=T) for _ in range(6)]
    for s in sessions:
        S.settle(s, 1)
        S.settle(s, 2)
    before = row(d, 'adapter', 'hba')['commands']
    answers = hammer(d, sessions, 100, lambda n, k: (n + k) % 3)
    assert all(a.status == S.GOOD for a in answers)
    adapter = row(d, 'adapter', 'hba')
    assert adapter['commands'] - before == 600 and adapter['in_flight'] == 0, adapter
    assert adapter['max'] <= adapter['limit'] == 20 and adapter['state'] == 'online', adapter
    assert row(d, 'target', '0:0')['max'] <= 14 and row(d, 'target', '0:1')['max'] <= 9
    for name in 'a0', 'a1', 'b':
        assert 0 < row(d, 'disk', name)['max'] <= 9
    for s in sessions:
        s.logout()


def who(name):
    """As the device knows an initiator: FNV-1a of its name."""
    h = 0xcbf29ce484222325
    for byte in name.encode():
        h = (h ^ byte) * 0x100000001b3 % 2**64
    return '%016x' % h


@tap.test('each initiator keeps its own depth, over all its sessions and LUNs', conf=conf(
    BUSY, initiators=[{'match': '*:three', 'depth': 3}, {'match': '*:seven', 'depth': 7, 'share': 3}, {'match': '*'}]))
def initiators(d):
    # A session's window is its depth; two sessions of one initiator could have twice as many out.
    depth = {'three': 3, 'seven': 7, 'free': 20}
    sessions = [(n, d.login(target=T, name=config.IQN + n)) for n in depth for _ in range(2)]
    for _, s in sessions:
        S.settle(s, 1)
        S.settle(s, 2)
    for r in range(20):
        jobs = [(s, s.start(S.read16(8 * k, 8), read=4096, lun=(r + k) % 3)) for n, s in sessions for k in range(depth[n])]
        assert all(s.wait(job).status == S.GOOD for s, job in jobs)
    assert row(d, 'initiator', who(config.IQN + 'three'))['max'] == 3
    assert row(d, 'initiator', who(config.IQN + 'seven'))['max'] == 7
    assert 7 < row(d, 'initiator', who(config.IQN + 'free'))['max'] <= 20
    assert row(d, 'adapter', 'hba')['max'] <= 20
    for _, s in sessions:
        s.logout()


@tap.test('an adapter that is overrun goes offline, and the daemon lives on',
          conf=conf([{'name': 'a', 'service': '20ms', 'device_queue': 19}, {'name': 'b', 'service': '20ms', 'device_queue': 19}],
                    {'lun_depth': 20, 'target_depth': 20}))
def overrun(d):
    s = d.login(target=T)
    S.settle(s, 1)
    mark = d.mark()
    answers = hammer(d, [s], 60, lambda n, k: k % 2)
    assert any(a.status != S.GOOD for a in answers)
    log = d.stderr(mark)
    assert log.count('adapter hba is offline: status code 0x6100c') == 1, log
    assert row(d, 'adapter', 'hba')['state'] == 'offline'
    assert s.cmd(S.read16(0, 8), read=4096).status != S.GOOD
    assert row(d, 'adapter', 'hba')['in_flight'] == 0
    s.logout()


@tap.test('what was written is read: store ram', conf=conf([{'name': 'a', 'service': '100us', 'store': 'ram'}]))
def store(d):
    s = d.login(target=T)
    for n in range(8):
        S.write(s, 128 * n, S.pattern(128 * n, 128, n))
    for n in range(8):
        assert S.good(s.cmd(S.read16(128 * n, 128), read=65536)).data == S.pattern(128 * n, 128, n)
    s.logout()


@tap.test('sluicectl sim is a table', conf=conf([{'name': 'a'}]))
def table(d):
    done = d.sluicectl('sim')
    assert done.returncode == 0, done
    head, *rows = done.stdout.splitlines()
    assert head.split()[:4] == ['ADAPTER', 'KIND', 'NAME', 'STATE'], done.stdout
    assert [r.split()[1] for r in rows][:2] == ['adapter', 'target'], done.stdout


if __name__ == '__main__':
    tap.main(conf([{'name': 'a'}]))
