#!/usr/bin/python3
"""The process: start, refusal to start, stop, two at once, kill and start again."""
import os
import re
import signal
import socket
import subprocess
import time

import config
import daemon as D
import initiator as I
import scsi as S
import tap

T = config.TARGET
TOP = D.TOP


def sluiced(*args, timeout=20, **kw):
    return subprocess.run([D.SLUICED, *args], capture_output=True, text=True, timeout=timeout * D.SLOW,
                          stdin=subprocess.DEVNULL, **kw)


def check(d, text):
    """-t on this text: (exit code, lines said)."""
    path = os.path.join(d.tmp, 'checked.yaml')
    with open(path, 'w') as f:
        f.write(text)
    done = sluiced('-t', '-c', path)
    return done.returncode, [line for line in (done.stdout + done.stderr).splitlines() if line], path


@tap.test('-t: the shipped configurations are right', 'O27')
def shipped(d):
    for name in 'sluice.yaml', 'demo.yaml':
        done = sluiced('-t', '-c', os.path.join(TOP, 'etc', name), cwd=TOP)
        assert done.returncode == 0, '%s: %s' % (name, done.stdout + done.stderr)
        assert 'ok' in done.stdout + done.stderr


@tap.test('-t: a good configuration is ok and nothing is started', 'O27')
def good(d):
    text = open(d.path).read().replace('/file.img', '/other.img')
    rc, lines, path = check(d, text)
    assert rc == 0 and lines == ['%s: ok' % path], lines
    assert not os.path.exists(os.path.join(d.tmp, 'other.img')), '-t made a file'


BAD = """\
memory: 1G
colour: blue
adapters:
  - name: a
    can_queue: many
    disks:
      - { name: x, driver: ram, size: 1Q }
      - { name: x, driver: floppy }
portals:
  - { name: lan, transport: iscsi, listen: ["127.0.0.1:99999"] }
targets:
  - name: iqn.2026-11.com.example:T T
    portals: [wan]
    luns:
      - { lun: 0, disk: y }
      - { lun: 70000, disk: x }
"""


@tap.test('-t: every error is told with its place, exit 1', 'O13', 'O18')
def bad(d):
    rc, lines, path = check(d, BAD)
    assert rc == 1, rc
    places = [re.match(re.escape(path) + r':(\d+):(\d+): \S', line) for line in lines]
    said = [int(m.group(1)) for m in places if m]
    assert set(said) >= {2, 5, 7, 8, 10, 12, 13, 15, 16}, 'places %r of:\n%s' % (said, '\n'.join(lines))
    assert said == sorted(said), 'not in file order: %r' % said
    assert sluiced('-c', path).returncode == 1, 'it starts on it'


NOT_YAML = [('nothing', ''), ('a tab', 'memory:\t1G\n\tx: y\n'), ('an open bracket', 'targets: [\n'),
            ('a list', '- a\n- b\n'), ('bytes', '\x00\x01\x02'), ('a scalar', 'hello\n')]


@tap.variants(NOT_YAML, '-t: %s in place of a configuration', 'O13')
def not_yaml(d, text):
    rc, lines, path = check(d, text)
    assert rc in (0, 1) and (rc == 0 or lines[0].startswith(path + ':')), (rc, lines)
    assert rc == 1 or not text, 'taken: %r' % lines


@tap.test('a configuration that is not there: exit 1', 'O13')
def absent(d):
    for args in ('-t', '-c', '/nonexistent.yaml'), ('-c', '/nonexistent.yaml'):
        done = sluiced(*args)
        assert done.returncode == 1 and '/nonexistent.yaml' in done.stderr + done.stdout, done


@tap.test('equal secrets in both directions are refused', 'C02', 'RFC 7143 9.2.1')
def equal_secrets(d):
    conf = config.base(auth=[{'name': 'x', 'user': 'a', 'secret': 'the-same-secret', 'mutual_user': 'b',
                              'mutual_secret': 'the-same-secret'}])
    rc, lines, path = check(d, config.dump(conf).replace('@PORT@', '3299').replace('@TMP@', d.tmp))
    assert rc == 1 and any('secret' in line for line in lines), lines
    assert 'the-same-secret' not in '\n'.join(lines), 'a secret is printed'


ADDRESSES = ['::1/129', '[::1', '10.0.0.0/33', 'fe80::/x', '10.0.0', 'localhost', '']


@tap.variants([(a, a) for a in ADDRESSES], 'the rule "address: %s" is a configuration error', 'L15')
def bad_address(d, address):
    conf = config.base(targets=[config.target(initiators=[{'address': '@A@'}])])
    text = config.dump(conf).replace('@PORT@', '3299').replace('@TMP@', d.tmp).replace('"@A@"', '"%s"' % address)
    assert '"%s"' % address in text
    rc, lines, path = check(d, text)
    assert rc == 1 and any(line.startswith(path + ':') for line in lines), lines


@tap.test('usage errors', 'O27')
def usage(d):
    for args in ('-x',), ('-c',), ('extra',):
        done = sluiced(*args)
        assert done.returncode not in (0, -6, -11) and done.stderr, done
    done = sluiced('-V')
    assert done.returncode == 0 and re.search(r'\d+\.\d+', done.stdout), done


@tap.test('a port in use: exit 2 with the address', 'O15')
def port_in_use(d):
    with socket.socket() as taken:
        taken.bind(('127.0.0.1', 0))
        taken.listen()
        port = taken.getsockname()[1]
        text = open(d.path).read().replace(str(d.port), str(port))
        text = text.replace('/control.sock', '/c2.sock').replace('/file.img', '/f2.img').replace('/state', '/s2')
        path = os.path.join(d.tmp, 'busy.yaml')
        open(path, 'w').write(text)
        done = sluiced('-c', path)
    assert done.returncode == 2, done
    assert '127.0.0.1:%d' % port in done.stderr, done.stderr
    assert 'ready' not in done.stdout


@tap.variants([('the same', False), ('another', True)], 'a second daemon on %s configuration leaves the first alone',
              'O17')
def second(d, other):
    s = d.login(target=T)
    text = open(d.path).read()
    if other:
        text = text.replace(str(d.port), str(D.free_port())).replace('/file.img', '/f2.img')
    path = os.path.join(d.tmp, 'second.yaml')
    open(path, 'w').write(text)
    done = sluiced('-c', path)
    assert done.returncode == 2, done
    assert 'control.sock' in done.stderr, done.stderr
    S.alive(s)
    assert d.rows('sessions'), 'the control socket is gone'
    s.logout()


@tap.test('two daemons on different sockets do not disturb each other', 'O17')
def two(d):
    other = D.Daemon(config.base())
    a, b = d.login(target=T), other.login(target=T)
    S.write(a, 0, S.pattern(0, 8, 1))
    S.write(b, 0, S.pattern(0, 8, 2))
    assert S.read(a, 0, 8) == S.pattern(0, 8, 1)
    other.stop()
    S.alive(a)
    a.logout()
    other.remove()


@tap.test('one file cannot be exported twice', 'O18', 'K39')
def same_file(d):
    conf = config.base()
    conf['adapters'][0]['disks'][1]['path'] = os.path.join(d.tmp, 'file.img')
    other = D.Daemon(conf)
    s = other.login(target=T)
    t = s.cmd(S.read16(0, 1), read=512, lun=1)
    if t.skq and t.skq[0] == 6:
        t = s.cmd(S.read16(0, 1), read=512, lun=1)
    assert t.status == S.CHECK and t.skq[0] in (2, 5), 'exported twice: %r' % t
    assert 'file.img' in other.stderr()
    s.logout()
    other.stop()
    other.remove()


WRONG_FILES = [('a directory', lambda p: os.mkdir(p)), ('a FIFO', lambda p: os.mkfifo(p)),
               ('/dev/null', lambda p: os.symlink('/dev/null', p)), ('an empty file', lambda p: open(p, 'w').close()),
               ('a file that is not whole blocks', lambda p: open(p, 'w').write('x' * 1000)),
               ('a missing file', lambda p: None)]


@tap.variants(WRONG_FILES, '%s as a disk: a clear line, the others come up', 'O18', 'O13')
def wrong_file(d, make):
    conf = config.base()
    conf['adapters'][0]['disks'][1] = {'name': 'file', 'driver': 'file', 'path': '@TMP@/wrong'}
    other = D.Daemon(conf, wait=False)
    make(os.path.join(other.tmp, 'wrong'))
    try:
        other.start()
    except AssertionError:
        assert other.proc.returncode in (1, 2), other.proc.returncode
        assert 'wrong' in other.stderr(), other.stderr()
        other.remove()
        return
    assert 'error: disk file: ' in other.stderr(), 'no line about it:\n' + other.stderr()
    s = other.login(target=T)
    S.write(s, 0, S.pattern(0, 8, 1))
    t = s.cmd(S.TUR, lun=1)
    if t.status == S.CHECK and t.skq[0] == 6:
        t = s.cmd(S.TUR, lun=1)
    assert t.status == S.CHECK and t.skq[0] in (2, 5), 'a disk that is none: %r' % t
    S.good(s.cmd(S.inquiry(), read=255, lun=1))
    s.logout()
    other.stop()
    other.remove()


@tap.variants([('SIGTERM', signal.SIGTERM), ('SIGINT', signal.SIGINT)], '%s stops it with exit 0', 'R12', fresh=True)
def stops(d, sig):
    s = d.login(target=T)
    s.close()
    began = time.monotonic()
    d.terminate(sig)
    assert d.proc.wait(5 * D.SLOW) == 0, d.tail()
    assert time.monotonic() - began < 2 * D.SLOW
    assert not os.path.exists(os.path.join(d.tmp, 'control.sock')), 'the control socket stays'


@tap.test('SIGHUP does no harm', 'O14')
def hup(d):
    s = d.login(target=T)
    for _ in range(3):
        d.send_signal(signal.SIGHUP)
        S.alive(s)
    s.logout()


@tap.test('killed and started again at once: same port, same disks, no data lost', 'T23', fresh=True)
def restart(d):
    port = d.port
    s = d.login(target=T)
    S.settle(s, 1)
    serial = S.good(s.cmd(S.inquiry(255, 0x80), read=255, lun=1)).data
    names = S.good(s.cmd(S.inquiry(255, 0x83), read=255, lun=1)).data
    tag = s.first_answer.keys['TargetPortalGroupTag']
    data = {}
    for n in range(32):
        data[n] = S.pattern(n * 64, 64, n)
        S.write(s, n * 64, data[n], lun=1)
    busy = [s.start(S.write16(8192 + 8 * n, 8), write=bytes(4096), lun=1) for n in range(16)]
    assert busy
    d.kill()
    d.start()
    assert d.port == port, 'another port'
    s = d.login(target=T, isid=s.isid)
    assert s.first_answer.keys['TargetPortalGroupTag'] == tag
    S.settle(s, 1)
    assert S.good(s.cmd(S.inquiry(255, 0x80), read=255, lun=1)).data == serial
    assert S.good(s.cmd(S.inquiry(255, 0x83), read=255, lun=1)).data == names
    for n, want in data.items():
        assert S.read(s, n * 64, 64, lun=1) == want, 'block %d lost' % (n * 64)
    s.logout()


@tap.test('killed ten times under load: it always starts again', 'T23', fresh=True)
def restart_often(d):
    for n in range(10):
        sessions = [d.login(target=T, isid=I.new_isid()) for _ in range(4)]
        for s in sessions:
            for i in range(8):
                s.start(S.read16(0, 64), read=32768)
        d.kill()
        d.start()
        for s in sessions:
            s.close()
    d.login(target=T).logout()


if __name__ == '__main__':
    tap.main(config.base())
