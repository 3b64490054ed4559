#!/usr/bin/python3
"""sluicectl and the control socket: tables, JSON, refusals, bad input."""
import json
import os
import socket
import stat

import config
import daemon
import tap

T = config.TARGET
VERBS = ['status', 'version', 'stats', 'sessions', 'targets', 'luns', 'adapters', 'disks']
TABLES = {'sessions': 'INITIATOR', 'targets': T, 'luns': 'ram', 'adapters': 'hba', 'disks': 'ram'}


@tap.variants([(v, v) for v in VERBS], 'sluicectl --json %s is one JSON value', 'O27')
def as_json(d, verb):
    s = d.login(target=T)
    done = d.sluicectl('--json', verb)
    assert done.returncode == 0, done
    value = json.loads(done.stdout)
    assert value, done.stdout
    if verb in TABLES:
        assert isinstance(value[verb], list) and value[verb], value
    s.logout()


@tap.variants([(v, v, w) for v, w in sorted(TABLES.items())], 'sluicectl %s is a table', 'O27')
def as_table(d, verb, word):
    s = d.login(target=T)
    done = d.sluicectl(verb)
    assert done.returncode == 0, done
    lines = done.stdout.splitlines()
    assert len(lines) >= 2 and lines[0] == lines[0].upper(), done.stdout
    assert word in done.stdout, done.stdout
    s.logout()


@tap.test('sluicectl status and version are read by people', 'O27')
def as_lines(d):
    for verb, word in ('status', 'uptime'), ('version', '0.'):
        done = d.sluicectl(verb)
        assert done.returncode == 0 and word in done.stdout, done


@tap.test('a session\'s row says who, where and for how long', 'L24')
def session_row(d):
    s = d.login(target=T, name=config.IQN + 'me', keys={'DataDigest': 'CRC32C'})
    row, = d.rows('sessions')
    assert row['initiator'] == config.IQN + 'me' and row['target'] == T, row
    assert row['peer'].startswith('127.0.0.1:'), row
    assert 'age' in row and 'reactor' in row and 'id' in row, row
    s.logout()


@tap.test('a verb that is not there is refused: exit 1', 'O27')
def unknown(d):
    done = d.sluicectl('frobnicate')
    assert done.returncode in (1, 2) and done.stderr and not done.stdout, done


@tap.variants([(v, v) for v in ('reload', 'top', 'kick', 'drain', 'resize', 'set', 'reservations')],
              'sluicectl %s works or says that it is not supported yet', 'O27')
def later(d, verb):
    done = d.sluicectl(verb)
    assert done.returncode in (0, 1, 2), done
    assert done.returncode == 0 or done.stderr.strip(), done


@tap.test('without a daemon: exit 2', 'O27')
def nobody(d):
    import subprocess
    for path in os.path.join(d.tmp, 'nothing.sock'), '/dev/null':
        done = subprocess.run([daemon.SLUICECTL, '-s', path, 'status'], capture_output=True, text=True, timeout=20)
        assert done.returncode == 2 and done.stderr, done
    done = subprocess.run([daemon.SLUICECTL], capture_output=True, text=True, timeout=20)
    assert done.returncode == 2, done


@tap.test('sluicectl check says what sluiced -t says', 'O27')
def check(d):
    done = d.sluicectl('check', d.path)
    assert done.returncode == 0, done
    bad = os.path.join(d.tmp, 'bad.yaml')
    with open(bad, 'w') as f:
        f.write('colour: blue\n')
    done = d.sluicectl('check', bad)
    assert done.returncode == 1 and 'bad.yaml:1:' in done.stdout + done.stderr, done


@tap.test('the socket is for its owner only', 'O11')
def mode(d):
    st = os.stat(os.path.join(d.tmp, 'control.sock'))
    assert stat.S_ISSOCK(st.st_mode) and stat.S_IMODE(st.st_mode) == 0o600, oct(st.st_mode)


def talk(d, data, shut=True):
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(10)
        s.connect(os.path.join(d.tmp, 'control.sock'))
        try:
            s.sendall(data)
            if shut:
                s.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        out = b''
        while True:
            try:
                more = s.recv(65536)
            except ConnectionResetError:
                break
            if not more:
                break
            out += more
    return out


BAD = [
    ('no JSON', b'hello\n', -32700), ('half an object', b'{"jsonrpc": "2.0"\n', -32700), ('an array', b'[]\n', -32600),
    ('a number', b'42\n', -32600), ('no method', b'{"jsonrpc":"2.0","id":1}\n', -32600),
    ('a method that is no text', b'{"jsonrpc":"2.0","id":1,"method":7}\n', -32600),
    ('an unknown method', b'{"jsonrpc":"2.0","id":1,"method":"x"}\n', -32601),
    ('wrong parameters', b'{"jsonrpc":"2.0","id":1,"method":"status","params":7}\n', -32602),
    ('bytes that are no UTF-8', b'{"jsonrpc":"2.0","id":1,"method":"\xff\xfe"}\n', -32700),
    ('a NUL', b'{"jsonrpc":"2.0","id":1,"method":"status\\u0000x"}\n', None),
    ('deep nesting', b'[' * 30000 + b'\n', -32700),
]


@tap.variants(BAD, 'control socket: %s', 'L23')
def bad_request(d, data, code):
    answer = json.loads(talk(d, data))
    assert 'error' in answer, answer
    allowed = (code,) if code != -32602 else (-32602, -32600)
    assert code is None or answer['error']['code'] in allowed, answer


@tap.test('control socket: many requests in one go, and one in pieces', 'L23')
def stream(d):
    one = b'{"jsonrpc":"2.0","id":%d,"method":"version"}\n'
    out = talk(d, b''.join(one % n for n in range(50)))
    assert [json.loads(line)['id'] for line in out.splitlines()] == list(range(50))
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(10)
        s.connect(os.path.join(d.tmp, 'control.sock'))
        for byte in one % 7:
            s.send(bytes([byte]))
        assert json.loads(s.recv(65536))['id'] == 7


@tap.test('control socket: a line without end is cut off', 'L23')
def endless(d):
    out = talk(d, b'x' * (1 << 20), shut=False)
    assert not out or 'error' in json.loads(out.splitlines()[0])


@tap.test('control socket: clients that connect and say nothing do not lock others out', 'O09')
def silent(d):
    idle = []
    for _ in range(64):
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(0.5)
        try:
            s.connect(os.path.join(d.tmp, 'control.sock'))
        except OSError:
            pass
        idle.append(s)
    for s in idle:
        s.close()

    def refused():
        try:
            d.ctl('version')
        except (OSError, AssertionError) as e:
            return str(e)

    daemon.eventually('no answer', refused, 2)


if __name__ == '__main__':
    tap.main(config.base())
