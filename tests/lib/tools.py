"""Runs the clients that a storage administrator has: libiscsi's and QEMU's programs."""
import os
import shutil
import subprocess

import tap
from daemon import SLOW


def need(*names):
    """Skips the test when a program is not installed."""
    for name in names:
        if not shutil.which(name):
            raise tap.Skip('%s is not installed' % name)


def run(*argv, timeout=60, ok=True, env=None, **kw):
    """A program to its end; its CompletedProcess. ok: it must exit 0."""
    need(argv[0])
    done = subprocess.run(argv, capture_output=True, text=True, errors='replace', stdin=subprocess.DEVNULL,
                          timeout=timeout * SLOW, env=dict(os.environ, **(env or {})), **kw)
    if ok:
        assert done.returncode == 0, '%s exits %d:\n%s%s' % (
            ' '.join(argv), done.returncode, done.stdout[-2000:], done.stderr[-2000:])
    return done


def need_qemu_iscsi():
    """qemu-img with its iSCSI block driver (a package of its own in Debian)."""
    need('qemu-img')
    formats = subprocess.run(['qemu-img', 'info', 'iscsi://127.0.0.1:1/iqn.none:x/0'],
                             capture_output=True, text=True, timeout=60)
    if 'Unknown protocol' in formats.stderr or 'Unknown driver' in formats.stderr:
        raise tap.Skip('qemu has no iSCSI driver (qemu-block-extra)')
