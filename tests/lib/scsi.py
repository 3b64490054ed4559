"""CDBs and what comes back (SAM-5, SPC-4, SBC-3), and the sequences most tests need."""
import struct

GOOD, CHECK, BUSY, CONFLICT, FULL, ABORTED = 0x00, 0x02, 0x08, 0x18, 0x28, 0x40
ABORT_TASK, ABORT_TASK_SET, CLEAR_ACA, CLEAR_TASK_SET, LUN_RESET, WARM_RESET, COLD_RESET, REASSIGN = range(1, 9)

TUR = bytes(6)

# Sense triples.
INVALID_OPCODE = (5, 0x20, 0)
LBA_RANGE = (5, 0x21, 0)
INVALID_FIELD = (5, 0x24, 0)
NO_LUN = (5, 0x25, 0)
UNEXPECTED_DATA = (11, 0x0c, 0x0c)      # unexpected unsolicited data
NOT_ENOUGH_DATA = (11, 0x0c, 0x0d)      # not enough unsolicited data
CRC_ERROR = (11, 0x47, 0x05)            # protocol service CRC error


def read6(lba, n):
    return struct.pack('>BBHBx', 0x08, lba >> 16, lba & 0xffff, n)


def read10(lba, n, flags=0):
    return struct.pack('>BBIxHx', 0x28, flags, lba, n)


def read12(lba, n):
    return struct.pack('>BxIIxx', 0xa8, lba, n)


def read16(lba, n, flags=0):
    return struct.pack('>BBQIxx', 0x88, flags, lba, n)


def write10(lba, n, flags=0):
    return struct.pack('>BBIxHx', 0x2a, flags, lba, n)


def write16(lba, n, flags=0):
    return struct.pack('>BBQIxx', 0x8a, flags, lba, n)


def write_verify10(lba, n):
    return struct.pack('>BBIxHx', 0x2e, 0, lba, n)


def sync10(lba=0, n=0):
    return struct.pack('>BxIxHx', 0x35, lba, n)


def inquiry(alloc=255, page=None):
    return struct.pack('>BBBHx', 0x12, page is not None, page or 0, alloc)


def report_luns(alloc=1024, select=0):
    return struct.pack('>BxBxxxIxx', 0xa0, select, alloc)


def capacity10():
    return struct.pack('>B9x', 0x25)


def capacity16(alloc=32):
    return struct.pack('>BB8xIxx', 0x9e, 0x10, alloc)


def mode6(page=0x3f, alloc=255, dbd=0, sub=0):
    return struct.pack('>BBBBBx', 0x1a, dbd << 3, page, sub, alloc)


def mode10(page=0x3f, alloc=255, dbd=0, sub=0):
    return struct.pack('>BBBBxxxHx', 0x5a, dbd << 3, page, sub, alloc)


def request_sense(alloc=252, desc=0):
    return struct.pack('>BBxxBx', 0x03, desc, alloc)


def opcodes(alloc=8192, options=0, opcode=0, sa=0, rctd=0):
    return struct.pack('>BBBBHIxx', 0xa3, 0x0c, rctd << 7 | options, opcode, sa, alloc)


def pattern(lba, blocks, seed=0, bs=512):
    """Data in which every block says where it belongs."""
    out = bytearray()
    for n in range(lba, lba + blocks):
        out += struct.pack('>QQ', n, seed) * (bs // 16)
    return bytes(out)


def settle(s, lun=0):
    """TEST UNIT READY until the unit attentions of a new nexus are told; GOOD in the end."""
    for _ in range(8):
        t = s.cmd(TUR, lun=lun)
        if t.status == GOOD:
            return s
        assert t.status == CHECK and t.skq[0] == 6, 'TEST UNIT READY says %r' % t
    raise AssertionError('unit attentions without end')


def alive(s, lun=0):
    """The session stays: TEST UNIT READY on it gets GOOD."""
    t = s.cmd(TUR, lun=lun)
    assert t.status == GOOD, 'TEST UNIT READY says %r' % t


def good(task):
    assert task.status == GOOD and task.response == 0, 'not GOOD: %r' % task
    return task


def check(task, *sense):
    """CHECK CONDITION with one of these sense triples."""
    assert task.status == CHECK and task.skq in sense, 'wanted CHECK %r: %r' % (sense, task)
    return task


def read(s, lba, blocks, lun=0, bs=512):
    t = good(s.cmd(read16(lba, blocks), read=blocks * bs, lun=lun))
    assert len(t.data) == blocks * bs and not t.under and not t.over, repr(t)
    return bytes(t.data)


def write(s, lba, data, lun=0, bs=512, **kw):
    t = good(s.cmd(write16(lba, len(data) // bs), write=data, lun=lun, **kw))
    assert not t.under and not t.over, repr(t)
    return t
