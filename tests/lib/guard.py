"""A write test's frame: known blocks before, the same blocks after, and how a command with bad data may end."""
import config
import initiator as I
import pdu as P
import scsi as S

# Neither immediate nor unsolicited data; or both, with a small first burst.
NO = {'InitialR2T': 'Yes', 'ImmediateData': 'No'}
YES = {'InitialR2T': 'No', 'ImmediateData': 'Yes', 'FirstBurstLength': '8192'}
WRONG = (S.UNEXPECTED_DATA, S.NOT_ENOUGH_DATA, S.CRC_ERROR)


class Guard:
    """Blocks 0 to 63 of LUN 0 with a known pattern; the test works in 16 to 47 at most."""

    def __init__(self, d, keys=None, target=config.TARGET, seed=1, **kw):
        self.d = d
        self.s = d.login(keys, target=target, **kw)
        self.before = S.pattern(0, 64, seed)
        S.write(self.s, 0, self.before, imm=None)

    def unchanged(self, first=16, last=16):
        """All blocks but first..last-1 hold what they held (asked by a fresh session)."""
        s = self.d.login(target=config.TARGET)
        now = S.read(s, 0, 64)
        assert now[:first * 512] == self.before[:first * 512], 'blocks before the write changed'
        assert now[last * 512:] == self.before[last * 512:], 'blocks after the write changed'
        s.logout()
        return now

    def failed(self, task, *sense):
        """The command ends in CHECK CONDITION for its data, or the connection does. Never silence."""
        try:
            self.s.wait(task)
        except I.Eof:
            return False
        S.check(task, *(sense or WRONG))
        S.alive(self.s)
        return True

    def end(self):
        try:
            self.s.logout()
        except I.Eof:
            self.s.close()

    def refused(self, t):
        """Reject, CHECK CONDITION for the data, or the end of the connection."""
        try:
            while not t.done:
                p = self.s.next_pdu()
                if p.op == P.REJECT:
                    assert p.response in (0x04, 0x09), repr(p)
                    self.s.cmd_sn = p.exp_cmd_sn
                    self.s.tasks.pop(t.itt, None)
                    break
            else:
                S.check(t, *WRONG)
            S.alive(self.s)
        except I.Eof:
            pass
