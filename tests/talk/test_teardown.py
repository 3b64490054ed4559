#!/usr/bin/python3
"""Connections that end at every bad moment, and sessions that take each other's place."""
import os
import random
import signal
import threading
import time

import config
import initiator as I
import pdu as P
import scsi as S
import tap
from daemon import SLOW

T = config.TARGET
NO = {'InitialR2T': 'Yes', 'ImmediateData': 'No'}
YES = {'InitialR2T': 'No', 'ImmediateData': 'Yes', 'FirstBurstLength': '8192'}


@tap.test('a command cut inside its immediate data', 'T06')
def cut(d):
    raw = P.pdu(P.SCSI_CMD, bytes(8192), flags=0xa1, itt=9, edtl=8192, cdb=S.write16(0, 16), cmd_sn=1)
    for n in range(200 // SLOW):
        s = I.Session(d.addr, target=T)
        s.login(YES)
        s.send(raw[:48 + (0, 1, 511, 512, 4096, 8191)[n % 6]])
        s.reset() if n % 4 else s.close()
    S.settle(d.login(target=T)).logout()


@tap.test('a Data-Out cut in the middle', 'T06', 'T28')
def cut_data(d):
    for n in range(60 // SLOW):
        s = d.login(NO, target=T)
        t = s.start(S.write16(0, 64), write=bytes(32768), auto=False)
        r2t = s.wait_r2t(t)
        raw = P.pdu(P.DATA_OUT, t.write, itt=t.itt, ttt=r2t.ttt)
        s.send(raw[:48 + (0, 100, 4096, 20000, 32767)[n % 5]])
        s.reset() if n % 2 else s.close()


@tap.test('reinstatement while writes wait for data: the old tasks never answer', 'T07', 'RFC 7143 6.3.5')
def reinstate(d):
    isid = I.new_isid()
    s = d.login(NO, target=T, isid=isid)
    before = S.pattern(0, 64, 1)
    S.write(s, 0, before)
    for n in range(100 // SLOW):
        tasks = [s.start(S.write16(i * 8, 8), write=S.pattern(i * 8, 8, 2), auto=False) for i in range(8)]
        for t in tasks:
            s.wait_r2t(t)
        old, s = s, I.Session(d.addr, target=T, isid=isid)
        s.login(NO)
        # The new one is answered when the old one can touch nothing any more.
        try:
            for t in tasks:
                old.data_out(t, t.r2ts[0].ttt, 0, t.write)
        except I.Eof:
            pass
        seen = old.wait_close(5)
        assert not [p for p in seen if p.op == P.SCSI_RSP], 'an old task answered: %r' % seen[-3:]
        old.close()
        assert not s.readable(), 'something unasked on the new connection'
        S.settle(s)
        assert len(d.rows('sessions')) == 1
    assert S.read(s, 0, 64) == before, 'a write of a replaced session reached the disk'
    s.logout()


@tap.test('two clients with one ISID take turns; the log says so in few lines', 'T17')
def ping_pong(d):
    isid, mark = I.new_isid(), d.mark()
    began = time.monotonic()
    s = d.login(target=T, isid=isid)
    for n in range(60):
        s, old = d.login(target=T, isid=isid), s
        old.wait_close(5)
        old.close()
    S.alive(s)
    s.logout()
    lines = d.stderr(mark).count('\n')
    assert lines < 150 + 60 * (time.monotonic() - began), '%d lines for 60 reinstatements' % lines


@tap.test('one initiator port at two targets is two sessions', 'T17', 'RFC 7143 4.4.3', conf=lambda: config.base(
    targets=[config.target(), config.target(config.IQN + 'second')]))
def two_targets(d):
    isid = I.new_isid()
    a = d.login(target=T, isid=isid)
    b = d.login(target=config.IQN + 'second', isid=isid)
    S.alive(a)
    S.alive(b)
    assert len(d.rows('sessions')) == 2
    a.logout()
    b.logout()


@tap.test('sessions come and go on four threads while they are listed', 'T11', 'T28')
def come_and_go(d):
    stop, failures, counts = time.monotonic() + 3, [], []

    def client(seed):
        rnd, n = random.Random(seed), 0
        try:
            while time.monotonic() < stop:
                s = d.login(target=T, name=config.IQN + 'c%d' % seed, settle=False)
                tasks = [s.start(S.read16(rnd.randrange(1000), 8), read=4096) for _ in range(rnd.randrange(8))]
                end = rnd.randrange(4)
                if end == 0:
                    s.wait(*tasks)
                    s.logout()
                elif end == 1:
                    s.close()
                elif end == 2:
                    s.reset()
                else:
                    s.logout()
                n += 1
        except Exception as e:
            failures.append('client %d: %r' % (seed, e))
        counts.append(n)

    threads = [threading.Thread(target=client, args=(n,)) for n in range(4)]
    for t in threads:
        t.start()
    while time.monotonic() < stop:
        for row in d.rows('sessions'):
            assert row['target'] == T
        d.rows('adapters')
    for t in threads:
        t.join()
    assert not failures, failures
    assert sum(counts) > 20, counts


@tap.variants([('reset', 'reset'), ('close', 'close'), ('abort', 'abort'), ('logout', 'logout'), ('relogin', 'relogin')],
              '32 commands in flight, then %s: nothing is left', 'T28', 'T13', 'O23')
def in_flight(d, how):
    for n in range(25 // SLOW + 1):
        isid = I.new_isid()
        s = d.login(NO, target=T, lun=n % 2, isid=isid)
        if n % 3 == 0:
            tasks = [s.start(S.read16(i * 64, 64), read=32768, lun=n % 2) for i in range(32)]
        else:
            tasks = [s.start(S.write16(i * 8, 8), write=bytes(4096), auto=n % 3 == 1, lun=n % 2) for i in range(32)]
        if how == 'reset':
            s.reset()
        elif how == 'close':
            s.close()
        elif how == 'abort':
            assert s.tmf(S.ABORT_TASK_SET, lun=n % 2) == 0
            s.tasks.clear()
            S.alive(s, n % 2)
            s.logout()
        elif how == 'logout':
            s.logout()
        else:
            again = d.login(target=T, isid=isid)
            s.wait_close(5)
            again.logout()
        if n % 8 == 0:
            d.check_idle()
    del tasks


@tap.test('clients killed in the middle leave no session', 'T20')
def killed(d):
    for n in range(50 // SLOW):
        pid = os.fork()
        if pid == 0:
            try:
                s = d.login(NO, target=T)
                s.start(S.write16(0, 8), write=bytes(4096), auto=False)
                s.start(S.read16(0, 2048), read=1 << 20)
                os.kill(os.getpid(), signal.SIGKILL)
            finally:
                os._exit(1)
        _, status = os.waitpid(pid, 0)
        assert os.WIFSIGNALED(status), 'the client failed: %r' % status
    d.check_idle()
    assert d.rows('sessions') == []


@tap.test('input without end and without sense', 'L21', 'T28')
def noise(d):
    rnd = random.Random(7)
    for n in range(100 // SLOW):
        s = d.login(target=T) if n % 2 else I.Conn(d.addr)
        try:
            s.send(rnd.randbytes(rnd.randrange(1, 5000)))
            if n % 3 == 0:
                s.sock.shutdown(1)
                while s.sock.recv(65536):
                    pass
        except (I.Eof, OSError):
            pass
        s.close()
    d.login(target=T).logout()


@tap.test('a client that shuts its sending side gets the answers it is owed or the end', 'T28')
def half_closed(d):
    s = d.login(target=T)
    t = s.start(S.read16(0, 64), read=32768)
    s.sock.shutdown(1)
    try:
        s.wait(t, timeout=5)
        S.good(t)
    except I.Eof:
        pass
    s.close()


if __name__ == '__main__':
    tap.main(config.base())
