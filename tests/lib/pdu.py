"""iSCSI PDUs to the byte (RFC 7143 11): build any, also a wrong one, and take any apart."""
import struct

NOP_OUT, SCSI_CMD, TMF_REQ, LOGIN_REQ, TEXT_REQ, DATA_OUT, LOGOUT_REQ, SNACK = (
    0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x10)
NOP_IN, SCSI_RSP, TMF_RSP, LOGIN_RSP, TEXT_RSP, DATA_IN, LOGOUT_RSP, R2T, ASYNC, REJECT = (
    0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x31, 0x32, 0x3f)
IMMEDIATE = 0x40
NO_TAG = 0xffffffff
NAMES = {
    0x00: 'NOP-Out', 0x01: 'SCSI Command', 0x02: 'TMF Request', 0x03: 'Login Request',
    0x04: 'Text Request', 0x05: 'Data-Out', 0x06: 'Logout Request', 0x10: 'SNACK',
    0x20: 'NOP-In', 0x21: 'SCSI Response', 0x22: 'TMF Response', 0x23: 'Login Response',
    0x24: 'Text Response', 0x25: 'Data-In', 0x26: 'Logout Response', 0x31: 'R2T',
    0x32: 'Async Message', 0x3f: 'Reject',
}

# Byte offsets of 32-bit fields; several PDU types share a place under different names.
FIELD = {
    'itt': 16, 'ttt': 20, 'edtl': 20, 'rtt': 20, 'snack_tag': 20,
    'cmd_sn': 24, 'stat_sn': 24, 'exp_stat_sn': 28, 'exp_cmd_sn': 28, 'max_cmd_sn': 32,
    'ref_cmd_sn': 32, 'data_sn': 36, 'r2t_sn': 36, 'exp_data_sn': 36, 'offset': 40,
    'beg_run': 40, 'run_length': 44, 'length': 44, 'residual': 44,
}


def _crc_table():
    table = []
    for n in range(256):
        for _ in range(8):
            n = (n >> 1) ^ (0x82f63b78 if n & 1 else 0)
        table.append(n)
    return table


_TABLE = _crc_table()


def crc32c(data):
    """CRC32C as RFC 7143 13.1 has it; on the wire it stands little-endian."""
    crc, table = 0xffffffff, _TABLE
    for byte in data:
        crc = table[(crc ^ byte) & 0xff] ^ (crc >> 8)
    return crc ^ 0xffffffff


def crc_bytes(data):
    return struct.pack('<I', crc32c(data))


def pad(data):
    return bytes(data) + bytes(-len(data) % 4)


def lun_bytes(lun):
    """A number in the form a target reports it; 8 bytes are taken as they are."""
    if isinstance(lun, (bytes, bytearray)):
        return bytes(lun)
    return struct.pack('>H6x', lun if lun < 256 else 0x4000 | lun)


def bhs(op, flags=0x80, lun=0, dsl=0, ahsl=0, cdb=None, raw=None, **fields):
    """48 bytes. fields: names of FIELD; raw: {offset: byte or bytes}, put in last."""
    h = bytearray(48)
    h[0], h[1], h[4] = op, flags, ahsl
    h[5:8] = dsl.to_bytes(3, 'big')
    h[8:16] = lun_bytes(lun)
    for name, value in fields.items():
        struct.pack_into('>I', h, FIELD[name], value & 0xffffffff)
    if cdb is not None:
        h[32:48] = bytes(cdb[:16]).ljust(16, b'\0')
    for at, value in (raw or {}).items():
        value = bytes([value]) if isinstance(value, int) else value
        h[at:at + len(value)] = value
    return bytes(h)


def join(header, data=b'', ahs=b'', hd=False, dd=False):
    """Header, AHS and data with padding and digests as they go out."""
    out = header + ahs
    if hd:
        out += crc_bytes(out)
    if data:
        body = pad(data)
        out += body + (crc_bytes(body) if dd else b'')
    return out


def pdu(op, data=b'', ahs=b'', hd=False, dd=False, **kw):
    """A whole PDU. dsl and ahsl default to the truth."""
    kw.setdefault('dsl', len(data))
    kw.setdefault('ahsl', len(ahs) // 4)
    return join(bhs(op, **kw), data, ahs, hd, dd)


class Pdu:
    """A received PDU: p.op, p.flags, p.itt and the other names of FIELD, p.data."""

    def __init__(self, header, data=b'', ahs=b''):
        self.bhs, self.data, self.ahs = header, data, ahs
        self.op, self.flags = header[0] & 0x3f, header[1]

    def __getattr__(self, name):
        at = FIELD.get(name)
        if at is None:
            raise AttributeError(name)
        return struct.unpack_from('>I', self.bhs, at)[0]

    @property
    def lun(self):
        return self.bhs[8:16]

    @property
    def final(self):
        return bool(self.flags & 0x80)

    @property
    def response(self):
        return self.bhs[2]

    @property
    def status(self):
        return self.bhs[3]

    @property
    def login_status(self):
        return self.bhs[36] << 8 | self.bhs[37]

    @property
    def tsih(self):
        return self.bhs[14] << 8 | self.bhs[15]

    @property
    def keys(self):
        return parse_keys(self.data)

    def __repr__(self):
        return '<%s flags=%02x itt=%08x ttt=%08x sn=%08x exp=%08x max=%08x dsl=%d %s>' % (
            NAMES.get(self.op, hex(self.op)), self.flags, self.itt, self.ttt, self.stat_sn,
            self.exp_cmd_sn, self.max_cmd_sn, len(self.data), self.bhs[36:48].hex())


def text(pairs):
    """Key=value pairs (a dict, or a list that may repeat keys) as text-segment bytes."""
    items = pairs.items() if isinstance(pairs, dict) else pairs
    out = b''
    for key, value in items:
        key = key if isinstance(key, bytes) else key.encode()
        value = value if isinstance(value, bytes) else str(value).encode()
        out += key + b'=' + value + b'\0'
    return out


def parse_pairs(data):
    """A text segment as a list of pairs, in order."""
    pairs = []
    for item in data.split(b'\0'):
        if item:
            key, eq, value = item.partition(b'=')
            assert eq, 'text without "=": %r' % item
            pairs.append((key.decode('latin-1'), value.decode('latin-1')))
    return pairs


def parse_keys(data):
    pairs = parse_pairs(data)
    keys = dict(pairs)
    assert len(keys) == len(pairs), 'a key stands twice in one answer: %r' % pairs
    return keys
