"""One TCP connection to a target that speaks PDUs, and checks what every answer must keep to."""
import select
import socket
import struct
import time

import pdu as P


class Eof(Exception):
    """The target closed the connection."""


class Cut(Eof):
    """It did so inside a PDU."""


class Timeout(Exception):
    """Nothing came in time."""


class Conn:
    """Bytes out, PDUs in. Digests are off until hd and dd are set."""

    def __init__(self, addr, timeout=10, rcvbuf=None, source=None):
        self.timeout = timeout
        family = socket.AF_INET6 if ':' in addr[0] else socket.AF_INET
        self.sock = socket.socket(family)
        if rcvbuf:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        if source:
            self.sock.bind((source, 0))
        self.sock.settimeout(timeout)
        self.sock.connect(addr)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.hd = self.dd = False
        self.max_recv = 8192
        self.buf = bytearray()

    def close(self):
        self.sock.close()

    def reset(self):
        """Leave with RST instead of FIN."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        self.sock.close()

    def send(self, data):
        try:
            self.sock.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            raise Eof('the target closed before all was sent') from None

    def send_pdu(self, op, data=b'', ahs=b'', **kw):
        self.send(P.pdu(op, data, ahs, hd=self.hd, dd=self.dd, **kw))

    def _fill(self, n, deadline):
        while len(self.buf) < n:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.sock], [], [], left)[0]:
                raise Timeout('no answer%s' % (
                    ' (%d bytes of one)' % len(self.buf) if self.buf else ''))
            try:
                more = self.sock.recv(1 << 20)
            except ConnectionResetError:
                more = b''
            if not more:
                if self.buf:
                    raise Cut('closed inside a PDU: %s' % bytes(self.buf[:64]).hex())
                raise Eof('closed by the target')
            self.buf += more

    def _take(self, n):
        out = bytes(self.buf[:n])
        del self.buf[:n]
        return out

    def recv(self, timeout=None):
        """The next PDU, its digests and padding checked. Raises Eof or Timeout."""
        deadline = time.monotonic() + (self.timeout if timeout is None else timeout)
        self._fill(48, deadline)
        ahs_len = self.buf[4] * 4
        dsl = int.from_bytes(self.buf[5:8], 'big')
        body = (dsl + 3) & ~3
        hd, dd = 4 * self.hd, 4 * (self.dd and dsl > 0)
        self._fill(48 + ahs_len + hd + body + dd, deadline)
        header, ahs = self._take(48), self._take(ahs_len)
        assert header[0] & 0x20, 'an initiator opcode from the target: %s' % header.hex()
        if hd:
            assert self._take(4) == P.crc_bytes(header + ahs), 'wrong header digest'
        padded = self._take(body)
        if dd:
            assert self._take(4) == P.crc_bytes(padded), 'wrong data digest'
        assert not any(padded[dsl:]), 'pad bytes are not zero: %s' % padded[dsl:].hex()
        assert dsl <= self.max_recv, 'data segment of %d over our limit %d' % (dsl, self.max_recv)
        return P.Pdu(header, padded[:dsl], ahs)

    def readable(self, timeout=0):
        return bool(self.buf) or bool(select.select([self.sock], [], [], timeout)[0])

    def wait_close(self, timeout=10):
        """Reads on until the target closes; returns the PDUs before that."""
        seen, deadline = [], time.monotonic() + timeout
        while True:
            try:
                seen.append(self.recv(max(0, deadline - time.monotonic())))
            except Eof:
                return seen
            except Timeout:
                raise AssertionError('not closed after %g s; %d PDUs came, last: %r' % (
                    timeout, len(seen), seen[-3:])) from None

    def expect_silence(self, seconds):
        try:
            p = self.recv(seconds)
        except Timeout:
            return
        raise AssertionError('an answer where none may come: %r' % p)
