"""A file on a FUSE mount of our own whose reads and writes can be held, failed and counted: a disk that misbehaves."""
import ctypes
import errno
import os
import struct
import tempfile
import threading
import time

import tap

_libc = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 0x4000, 1 << 18
LOOKUP, FORGET, GETATTR, SETATTR, OPEN, READ, WRITE, STATFS, RELEASE, FSYNC, FLUSH, INIT = (
    1, 2, 3, 4, 14, 15, 16, 17, 18, 20, 25, 26)
OPENDIR, READDIR, RELEASEDIR, INTERRUPT, BATCH_FORGET, FALLOCATE = 27, 28, 29, 36, 42, 43
FOPEN_DIRECT_IO, FOPEN_PARALLEL_DIRECT_WRITES = 1, 1 << 6
ROOT, FILE = 1, 2


def _private_mounts():
    """Our mounts are seen by this process and its children, and go when they do."""
    if getattr(_private_mounts, 'done', False):
        return
    if _libc.unshare(CLONE_NEWNS) or _libc.mount(b'none', b'/', None, MS_REC | MS_PRIVATE, None):
        raise tap.Skip('no mount namespace of our own: %s' % os.strerror(ctypes.get_errno()))
    _private_mounts.done = True


class SlowDisk:
    """
    path: a file of `size` bytes. hold(kind) parks requests of a kind ('read',
    'write', 'sync') until release(); fail(kind, errno, first, last) answers an
    error for a byte range; log lists what was done, in order. A parked request
    can be interrupted (its process ends) only when `interruptible` is set.
    """

    def __init__(self, size=16 << 20):
        if os.geteuid():
            raise tap.Skip('a disk that stalls needs root (FUSE mount)')
        if not os.path.exists('/dev/fuse'):
            raise tap.Skip('a disk that stalls needs /dev/fuse')
        _private_mounts()
        self.data = bytearray(size)
        self.held, self.errors, self.parked, self.log = {}, [], [], []
        self.lock = threading.Lock()
        self.interruptible = False
        self.dir = tempfile.mkdtemp(prefix='fuse', dir=os.environ.get('TMPDIR'))
        self.path = os.path.join(self.dir, 'disk')
        self.fd = os.open('/dev/fuse', os.O_RDWR | os.O_CLOEXEC)
        options = 'fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other' % self.fd
        if _libc.mount(b'sluice-test', self.dir.encode(), b'fuse.sluice', 0, options.encode()):
            os.close(self.fd)
            raise tap.Skip('FUSE mount: %s' % os.strerror(ctypes.get_errno()))
        threading.Thread(target=self._serve, daemon=True).start()
        os.stat(self.path)

    # -- what tests do --

    def hold(self, kind, count=None, first=0, last=1 << 62):
        """Requests of this kind that touch the bytes stay unanswered; count: so many, then no more."""
        with self.lock:
            self.held[kind] = [count, first, last]

    def release(self):
        """All that is parked is done now, in order of arrival; nothing is held any more."""
        with self.lock:
            self.held.clear()
            parked, self.parked = self.parked, []
        for request in parked:
            self._do(*request)

    def fail(self, kind, code, first=0, last=1 << 62):
        with self.lock:
            self.errors.append((kind, code, first, last))

    def heal(self):
        with self.lock:
            self.errors.clear()

    def wait_parked(self, n, seconds=10):
        deadline = time.monotonic() + seconds
        while len(self.parked) < n:
            assert time.monotonic() < deadline, '%d requests at the disk, %d awaited' % (len(self.parked), n)
            time.sleep(0.005)

    def reset(self):
        self.heal()
        self.release()

    def close(self):
        self.reset()
        _libc.umount2(self.dir.encode(), 2)

    # -- the file system --

    def _attr(self, node):
        size, mode = (0, 0o40755) if node == ROOT else (len(self.data), 0o100600)
        return struct.pack('<QQQQQQIIIIIIIIII', node, size, size // 512, 0, 0, 0, 0, 0, 0,
                           mode, 1, 0, 0, 0, 4096, 0)

    def _answer(self, unique, payload=b'', error=0):
        try:
            os.write(self.fd, struct.pack('<IiQ', 16 + len(payload), -error, unique) + payload)
        except OSError as e:
            if e.errno != errno.ENOENT:     # interrupted meanwhile
                raise

    def _serve(self):
        while True:
            try:
                request = os.read(self.fd, (1 << 20) + 4096)
            except OSError as e:
                if e.errno in (errno.EINTR, errno.ENOENT, errno.EAGAIN):
                    continue
                return      # ENODEV: unmounted
            length, op, unique, node = struct.unpack_from('<IIQQ', request)
            body = request[40:length]
            if op in (READ, WRITE, FSYNC, FLUSH):
                self._io(op, unique, body)
            else:
                self._meta(op, unique, node, body)

    def _meta(self, op, unique, node, body):
        valid = struct.pack('<QII', 1, 0, 0)
        if op == INIT:
            major, minor, readahead, flags = struct.unpack_from('<IIII', body)
            keep = flags & (1 << 5)     # big writes
            self._answer(unique, struct.pack('<IIIIHHIIHH', 7, min(minor, 31), readahead, keep,
                                             64, 48, 1 << 20, 1, 256, 0) + bytes(28))
        elif op == LOOKUP:
            if body.rstrip(b'\0') == b'disk':
                self._answer(unique, struct.pack('<QQQQII', FILE, 0, 1, 1, 0, 0) + self._attr(FILE))
            else:
                self._answer(unique, error=errno.ENOENT)
        elif op in (GETATTR, SETATTR):
            self._answer(unique, valid + self._attr(node))
        elif op in (OPEN, OPENDIR):
            self._answer(unique, struct.pack('<QII', 0, FOPEN_DIRECT_IO | FOPEN_PARALLEL_DIRECT_WRITES if op == OPEN else 0, 0))
        elif op == STATFS:
            self._answer(unique, struct.pack('<QQQQQIIII', 1 << 20, 1 << 20, 1 << 20, 9, 9, 4096, 255, 4096, 0)
                         + bytes(24))
        elif op == INTERRUPT:
            self._interrupt(*struct.unpack_from('<Q', body))
        elif op in (RELEASE, RELEASEDIR, READDIR):
            self._answer(unique)
        elif op not in (FORGET, BATCH_FORGET):
            self._answer(unique, error=errno.ENOSYS)

    def _interrupt(self, unique):
        with self.lock:
            hit = [r for r in self.parked if r[1] == unique and self.interruptible]
            for r in hit:
                self.parked.remove(r)
        for r in hit:
            self._answer(unique, error=errno.EINTR)

    def _io(self, op, unique, body):
        kind = {READ: 'read', WRITE: 'write'}.get(op, 'sync')
        offset, size = struct.unpack_from('<QI', body, 8) if op in (READ, WRITE) else (0, 0)
        data = body[40:40 + size] if op == WRITE else b''
        if op == FLUSH:     # a close
            self._answer(unique)
            return
        with self.lock:
            held = self.held.get(kind)
            if held and held[0] != 0 and offset <= held[2] and offset + max(size, 1) > held[1]:
                if held[0] is not None:
                    held[0] -= 1
                self.parked.append((kind, unique, offset, size, data))
                return
        self._do(kind, unique, offset, size, data)

    def _do(self, kind, unique, offset, size, data):
        with self.lock:
            for what, code, first, last in self.errors:
                if what == kind and offset <= last and offset + max(size, 1) > first:
                    self._answer(unique, error=code)
                    return
            self.log.append((kind, offset, size))
            if kind == 'read':
                self._answer(unique, bytes(self.data[offset:offset + size]))
            elif kind == 'write':
                self.data[offset:offset + size] = data
                self._answer(unique, struct.pack('<II', size, 0))
            else:
                self._answer(unique)
