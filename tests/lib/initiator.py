"""A raw iSCSI initiator: logs in with any keys, runs commands to the byte, checks every sequence number."""
import itertools
import struct
import time

import pdu as P
from chap import Chap  # noqa: F401 (tests say initiator.Chap)
from conn import Conn, Eof, Timeout  # noqa: F401

NAME = 'iqn.2026-11.com.example:tester'
_isid = itertools.count(1)


class Refused(Exception):
    """The target answered a login with another status than success."""

    def __init__(self, status, pdu=None):
        super().__init__('login refused: 0x%04x' % status)
        self.status, self.pdu = status, pdu


def new_isid():
    """A fresh ISID of the random form (RFC 7143 11.12.5)."""
    return struct.pack('>BHBH', 0x80, next(_isid) & 0xffff, 0, next(_isid) & 0xffff)


class Task:
    """A command under way, and its answer when done."""

    def __init__(self, itt, lun, edtl, write, auto):
        self.itt, self.lun, self.edtl, self.write, self.auto = itt, lun, edtl, write, auto
        self.data = bytearray()     # what came in
        self.r2ts = []              # not yet answered
        self.pdus = []              # every PDU of this task
        self.status = None          # SCSI status when done
        self.response = None        # iSCSI response code
        self.sense = b''
        self.under = self.over = False
        self.residual = 0
        self.data_sn = self.r2t_sn = 0

    @property
    def done(self):
        return self.status is not None

    @property
    def skq(self):
        """Sense as (key, asc, ascq), fixed or descriptor format."""
        s = self.sense
        if len(s) < 4:
            return None
        if s[0] & 0x7f in (0x72, 0x73):
            return s[1] & 15, s[2], s[3]
        return s[2] & 15, s[12], s[13]

    def __repr__(self):
        return '<task itt=%08x status=%s sense=%s data=%d resid=%s%d>' % (
            self.itt, self.status, self.skq, len(self.data),
            'O' if self.over else 'U' if self.under else '', self.residual)


# What RFC 7143 13 says holds for a key that nobody mentions.
DEFAULTS = {
    'InitialR2T': 'Yes', 'ImmediateData': 'Yes', 'MaxBurstLength': '262144',
    'FirstBurstLength': '65536', 'MaxOutstandingR2T': '1', 'HeaderDigest': 'None',
    'DataDigest': 'None', 'MaxRecvDataSegmentLength': '8192', 'ErrorRecoveryLevel': '0',
}


class Session(Conn):
    """One session of one connection. strict: assert what each received PDU must keep to."""

    def __init__(self, addr, name=NAME, target=None, isid=None, tsih=0, cid=0, cmd_sn=1, **kw):
        super().__init__(addr, **kw)
        self.name, self.target = name, target
        self.isid, self.tsih, self.cid = isid or new_isid(), tsih, cid
        self.cmd_sn, self.exp_stat_sn = cmd_sn, None
        self.exp_cmd_sn = self.max_cmd_sn = None
        self.next_itt = 0x10
        self.tasks, self.inbox = {}, []
        self.answer_pings = True
        self.got = dict(DEFAULTS)
        self.strict = True

    # -- login --

    def login_pdu(self, csg, nsg, keys, transit=True, cont=False, raw=None, itt=0, data=None):
        """One Login Request; does not wait. keys: pairs, or None for no text."""
        flags = (0x80 if transit else 0) | (0x40 if cont else 0) | csg << 2 | (nsg if transit else 0)
        base = {8: self.isid, 14: struct.pack('>H', self.tsih), 20: struct.pack('>H', self.cid)}
        base.update(raw or {})
        body = P.text(keys or {}) if data is None else data
        self.send(P.pdu(P.LOGIN_REQ | P.IMMEDIATE, body, flags=flags, itt=itt, cmd_sn=self.cmd_sn,
                        exp_stat_sn=self.exp_stat_sn or 0, raw=base))

    def login_recv(self, timeout=None):
        p = self.recv(timeout)
        assert p.op == P.LOGIN_RSP, 'not a login answer: %r' % p
        if p.login_status == 0:
            if self.exp_stat_sn is not None:
                assert p.stat_sn == self.exp_stat_sn, 'StatSN jumps during login: %r' % p
            self.exp_stat_sn = p.stat_sn + 1 & 0xffffffff
            assert p.bhs[8:14] == self.isid, 'another ISID in the answer'
            self.exp_cmd_sn, self.max_cmd_sn = p.exp_cmd_sn, p.max_cmd_sn
        return p

    def login_step(self, csg, nsg, keys, **kw):
        """Request and answer (all of it when it comes in parts). Raises Refused."""
        self.login_pdu(csg, nsg, keys, **kw)
        p = self.login_recv()
        text = p.data
        while p.login_status == 0 and p.flags & 0x40:
            self.login_pdu(csg, nsg, None, transit=False)
            p = self.login_recv()
            text += p.data
        if p.login_status:
            raise Refused(p.login_status, p)
        p.data = text
        return p

    def identity(self, discovery=False):
        keys = {'InitiatorName': self.name, 'SessionType': 'Discovery' if discovery else 'Normal'}
        if self.target and not discovery:
            keys['TargetName'] = self.target
        return keys

    def login(self, keys=None, chap=None, discovery=False, security=None):
        """
        The whole login. With chap through the security stage, else straight to
        the operational one (security=True: through it with AuthMethod=None).
        """
        first = self.identity(discovery)
        self.first_answer = None
        if chap or security:
            first['AuthMethod'] = 'CHAP' if chap else 'None'
            if chap:
                p = self.login_step(0, 1, first, transit=False)
                self.first_answer = p
                assert p.keys.get('AuthMethod') == 'CHAP', p.keys
                p = self.login_step(0, 1, {'CHAP_A': chap.algs}, transit=False)
                p = self.login_step(0, 1, chap.answer(p.keys))
                chap.verify(p.keys)
            else:
                p = self.first_answer = self.login_step(0, 1, first)
            assert p.flags & 0x83 == 0x81, 'no transit to the operational stage: %r' % p
            first = {}
        first.update(keys or {})
        p = self.login_step(1, 3, first)
        self.first_answer = self.first_answer or p
        rounds = 0
        answers = dict(p.keys)
        while not p.flags & 0x80:
            rounds += 1
            assert rounds < 8, 'the target does not grant the transit'
            p = self.login_step(1, 3, {})
            answers.update(p.keys)
        self.enter(p, keys or {}, answers)
        return answers

    def enter(self, p, offered, answers):
        """Full feature phase: take what was agreed."""
        assert p.flags & 0x83 == 0x83, 'no transit to full feature phase: %r' % p
        assert p.tsih, 'a session without TSIH'
        if self.tsih:
            assert p.tsih == self.tsih
        self.tsih = p.tsih
        for key in DEFAULTS:
            if key in answers and (key in offered or key == 'MaxRecvDataSegmentLength'):
                self.got[key] = answers[key]
        self.max_recv = int(dict(offered).get('MaxRecvDataSegmentLength', 8192))
        self.hd = self.got['HeaderDigest'] == 'CRC32C'
        self.dd = self.got['DataDigest'] == 'CRC32C'

    def limit(self, key):
        return int(self.got[key])

    # -- receiving --

    def _check_sn(self, p):
        """RFC 7143 4.2.2: what the numbers of every answer keep to."""
        has_stat = p.op in (P.SCSI_RSP, P.TMF_RSP, P.TEXT_RSP, P.LOGOUT_RSP, P.REJECT, P.ASYNC)
        has_stat |= p.op == P.NOP_IN and p.itt != P.NO_TAG
        has_stat |= p.op == P.DATA_IN and bool(p.flags & 1)
        if has_stat:
            assert p.stat_sn == self.exp_stat_sn, 'StatSN %08x expected: %r' % (self.exp_stat_sn, p)
            self.exp_stat_sn = p.stat_sn + 1 & 0xffffffff
        elif p.op in (P.R2T, P.NOP_IN):
            assert p.stat_sn == self.exp_stat_sn, 'a PDU that is no status carries no new StatSN: %r' % p
        if self.max_cmd_sn is not None:
            assert (p.max_cmd_sn - self.max_cmd_sn & 0xffffffff) < 1 << 31, 'MaxCmdSN goes back: %r' % p
            assert (p.exp_cmd_sn - self.exp_cmd_sn & 0xffffffff) < 1 << 31, 'ExpCmdSN goes back: %r' % p
        assert (self.cmd_sn - p.exp_cmd_sn & 0xffffffff) < 1 << 31, 'ExpCmdSN beyond what was sent: %r' % p
        self.exp_cmd_sn, self.max_cmd_sn = p.exp_cmd_sn, p.max_cmd_sn

    def next_pdu(self, timeout=None):
        """The next PDU, booked to its task; R2Ts of auto tasks are answered. Pings are answered."""
        p = self.recv(timeout)
        if self.strict:
            self._check_sn(p)
        if p.op == P.NOP_IN and p.ttt != P.NO_TAG and self.answer_pings:
            self.pong(p)
            return p
        task = self.tasks.get(p.itt)
        if task is None or p.op not in (P.DATA_IN, P.SCSI_RSP, P.R2T):
            self.inbox.append(p)
            return p
        task.pdus.append(p)
        if p.op == P.DATA_IN:
            self._data_in(task, p)
        elif p.op == P.R2T:
            self._r2t(task, p)
        else:
            self._response(task, p)
        return p

    def _data_in(self, task, p):
        if self.strict:
            assert p.data_sn == task.data_sn, 'DataSN %d expected: %r' % (task.data_sn, p)
            assert p.offset == len(task.data), 'offset %d expected: %r' % (len(task.data), p)
            assert p.offset + len(p.data) <= task.edtl, 'more than EDTL: %r' % p
        task.data_sn += 1
        task.data += p.data
        if p.flags & 1:
            assert p.final, 'status in a Data-In without F: %r' % p
            self._finish(task, p)
            task.response = 0

    def _r2t(self, task, p):
        if self.strict:
            assert p.r2t_sn == task.r2t_sn, 'R2TSN %d expected: %r' % (task.r2t_sn, p)
            assert p.ttt != P.NO_TAG and p.final, 'a malformed R2T: %r' % p
            assert 0 < p.length <= self.limit('MaxBurstLength'), 'R2T of %d: %r' % (p.length, p)
            assert p.offset + p.length <= task.edtl, 'R2T beyond EDTL: %r' % p
            assert p.lun == P.lun_bytes(task.lun), 'R2T for another LUN: %r' % p
        task.r2t_sn += 1
        task.r2ts.append(p)
        assert not self.strict or len(task.r2ts) <= self.limit('MaxOutstandingR2T'), 'too many R2Ts at once'
        if task.auto:
            self.answer_r2t(task)

    def answer_r2t(self, task, r2t=None):
        """The data that the oldest R2T asks for, in PDUs as large as the target takes."""
        r2t = r2t or task.r2ts[0]
        task.r2ts.remove(r2t)
        self.data_out(task, r2t.ttt, r2t.offset, task.write[r2t.offset:r2t.offset + r2t.length])

    def data_out(self, task, ttt, offset, data, sn=0, final=True, **kw):
        """One burst as Data-Out PDUs."""
        step = kw.pop('step', self.limit('MaxRecvDataSegmentLength'))
        kw.setdefault('lun', task.lun)
        for at in range(0, len(data) or 1, step):
            part = data[at:at + step]
            last = at + step >= len(data)
            self.send_pdu(P.DATA_OUT, part, flags=0x80 if last and final else 0,
                          itt=task.itt, ttt=ttt, exp_stat_sn=self.exp_stat_sn, data_sn=sn,
                          offset=offset + at, **kw)
            sn += 1
        return sn

    def _response(self, task, p):
        task.response = p.response
        self._finish(task, p)
        if p.data:
            n = struct.unpack_from('>H', p.data)[0]
            assert n + 2 <= len(p.data), 'sense length beyond the segment: %r' % p
            task.sense = p.data[2:2 + n]
        if self.strict and p.response == 0 and task.edtl and not task.write and task.data_sn:
            assert p.exp_data_sn == task.data_sn, 'ExpDataSN %d expected: %r' % (task.data_sn, p)

    def _finish(self, task, p):
        task.status = p.status
        task.under, task.over = bool(p.flags & 2), bool(p.flags & 4)
        assert not (task.under and task.over), 'underflow and overflow at once: %r' % p
        task.residual = p.residual if task.under or task.over else 0
        del self.tasks[task.itt]

    # -- commands --

    def take_itt(self):
        self.next_itt = self.next_itt + 1 & 0xffffffff
        return self.next_itt

    def start(self, cdb, lun=0, read=0, write=b'', edtl=None, imm=None, auto=True, itt=None,
              immediate=False, cmd_sn=None, flags=None, attr=1, final=True, ahs=b'', **kw):
        """
        Sends a command. imm: bytes of immediate data (None: as much as was
        agreed); auto: R2Ts are answered from `write`. Returns the Task.
        """
        itt = self.take_itt() if itt is None else itt
        if edtl is None:
            edtl = len(write) if write else read
        task = Task(itt, lun, edtl, write, auto)
        if flags is None:
            flags = (0x80 if final else 0) | (0x40 if read else 0) | (0x20 if write else 0) | attr
        if imm is None:
            allowed = self.got['ImmediateData'] == 'Yes'
            imm = min(len(write), edtl, self.limit('FirstBurstLength'),
                      self.limit('MaxRecvDataSegmentLength')) if allowed else 0
        self.tasks[itt] = task
        op = P.SCSI_CMD | (P.IMMEDIATE if immediate else 0)
        self.send_pdu(op, write[:imm], ahs, flags=flags, lun=lun, itt=itt, edtl=edtl, cdb=cdb,
                      cmd_sn=self.take_cmd_sn(immediate) if cmd_sn is None else cmd_sn,
                      exp_stat_sn=self.exp_stat_sn, **kw)
        return task

    def take_cmd_sn(self, immediate=False):
        sn = self.cmd_sn
        if not immediate:
            self.cmd_sn = sn + 1 & 0xffffffff
        return sn

    def wait(self, *tasks, timeout=None):
        """Until all of them are done; other tasks go on meanwhile."""
        deadline = time.monotonic() + (self.timeout if timeout is None else timeout)
        while not all(t.done for t in tasks):
            self.next_pdu(max(0, deadline - time.monotonic()))
        return tasks[0] if len(tasks) == 1 else tasks

    def wait_r2t(self, task, n=1, timeout=None):
        """Until a task with auto=False has n unanswered R2Ts."""
        deadline = time.monotonic() + (self.timeout if timeout is None else timeout)
        while len(task.r2ts) < n and not task.done:
            self.next_pdu(max(0, deadline - time.monotonic()))
        assert len(task.r2ts) >= n, 'no R2T but %r' % task
        return task.r2ts[0]

    def cmd(self, cdb, **kw):
        """A command from start to end."""
        timeout = kw.pop('timeout', None)
        return self.wait(self.start(cdb, **kw), timeout=timeout)

    def expect(self, op, itt=None, timeout=None):
        """The next PDU of this kind that belongs to no task; what else comes meanwhile is booked."""
        deadline = time.monotonic() + (self.timeout if timeout is None else timeout)
        while True:
            for p in self.inbox:
                if p.op == op and (itt is None or p.itt == itt):
                    self.inbox.remove(p)
                    return p
            self.next_pdu(max(0, deadline - time.monotonic()))

    # -- the rest --

    def tmf_start(self, fn, lun=0, rtt=P.NO_TAG, ref_cmd_sn=0, immediate=True, cmd_sn=None):
        itt = self.take_itt()
        self.send_pdu(P.TMF_REQ | (P.IMMEDIATE if immediate else 0), flags=0x80 | fn, lun=lun,
                      itt=itt, rtt=rtt, ref_cmd_sn=ref_cmd_sn, exp_stat_sn=self.exp_stat_sn,
                      cmd_sn=self.take_cmd_sn(immediate) if cmd_sn is None else cmd_sn)
        return itt

    def tmf(self, fn, timeout=None, **kw):
        """Task management; returns the response code."""
        return self.expect(P.TMF_RSP, self.tmf_start(fn, **kw), timeout).response

    def ping(self, data=b'', immediate=True, cmd_sn=None, itt=None):
        itt = self.take_itt() if itt is None else itt
        self.send_pdu(P.NOP_OUT | (P.IMMEDIATE if immediate else 0), data, itt=itt, ttt=P.NO_TAG,
                      exp_stat_sn=self.exp_stat_sn,
                      cmd_sn=self.take_cmd_sn(immediate) if cmd_sn is None else cmd_sn)
        return itt

    def pong(self, p):
        self.send_pdu(P.NOP_OUT | P.IMMEDIATE, itt=P.NO_TAG, ttt=p.ttt, cmd_sn=self.cmd_sn,
                      exp_stat_sn=self.exp_stat_sn, lun=p.lun)

    def text_start(self, keys, ttt=P.NO_TAG, final=True, cont=False, itt=None, data=None):
        itt = self.take_itt() if itt is None else itt
        self.send_pdu(P.TEXT_REQ, P.text(keys) if data is None else data, itt=itt, ttt=ttt,
                      flags=(0x80 if final else 0) | (0x40 if cont else 0),
                      cmd_sn=self.take_cmd_sn(), exp_stat_sn=self.exp_stat_sn)
        return itt

    def text(self, keys):
        """A Text exchange to its end; returns (text, answers it took)."""
        itt = self.text_start(keys)
        p = self.expect(P.TEXT_RSP, itt)
        text, n = p.data, 1
        while not p.final or p.flags & 0x40:
            assert p.ttt != P.NO_TAG, 'a partial answer without a tag to go on with: %r' % p
            self.text_start({}, ttt=p.ttt, itt=itt)
            p = self.expect(P.TEXT_RSP, itt)
            text, n = text + p.data, n + 1
            assert n < 1000, 'a text answer without end'
        assert p.ttt == P.NO_TAG, 'the last answer carries a tag: %r' % p
        return text, n

    def logout(self, reason=0, cid=None):
        """Logout; returns the response code. After success the target closes."""
        itt = self.take_itt()
        self.send_pdu(P.LOGOUT_REQ | P.IMMEDIATE, flags=0x80 | reason, itt=itt, cmd_sn=self.cmd_sn,
                      exp_stat_sn=self.exp_stat_sn,
                      raw={20: struct.pack('>H', self.cid if cid is None else cid)})
        response = self.expect(P.LOGOUT_RSP, itt).response
        if response == 0:
            self.wait_close()
            self.close()
        return response
