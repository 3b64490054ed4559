#!/usr/bin/python3
"""QEMU's block layer as an initiator: whole images there and back, patterns, sizes."""
import filecmp
import os
import random

import config
import tap
import tools

T = config.TARGET


def url(d, lun=0):
    return 'iscsi://127.0.0.1:%d/%s/%d' % (d.port, T, lun)


def image(path, size=64 << 20):
    """Random blocks among holes, a pattern that no two offsets share."""
    rnd = random.Random(5)
    with open(path, 'wb') as f:
        f.truncate(size)
        for _ in range(200):
            f.seek(rnd.randrange(size // 4096 - 16) * 4096)
            f.write(rnd.randbytes(rnd.randrange(1, 16) * 4096))
    return path


@tap.variants([('RAM', 0), ('file', 1), ('4 KiB block', 3)], 'qemu-img copies an image to a %s disk and back', 'O33')
def convert(d, lun):
    tools.need_qemu_iscsi()
    a, b = image(os.path.join(d.tmp, 'a')), os.path.join(d.tmp, 'b')
    tools.run('qemu-img', 'convert', '-n', '-f', 'raw', '-O', 'raw', '-t', 'none', a, url(d, lun))
    tools.run('qemu-img', 'convert', '-f', 'raw', '-O', 'raw', url(d, lun), b)
    assert filecmp.cmp(a, b, shallow=False), 'the copy differs'
    tools.run('qemu-img', 'compare', '-f', 'raw', '-F', 'raw', a, url(d, lun))
    if lun == 1:
        assert filecmp.cmp(a, os.path.join(d.tmp, 'file.img'), shallow=False), 'the file behind differs'


@tap.variants([('RAM', 0), ('file', 1), ('4 KiB block', 3)], 'qemu-io patterns on a %s disk', 'O33')
def patterns(d, lun):
    tools.need_qemu_iscsi()
    tools.need('qemu-io')
    commands, rnd = [], random.Random(lun)
    for n in range(24):
        commands.append((n + 1, n * (2 << 20), rnd.randrange(4096, 1 << 20, 4096)))
    args = []
    for value, at, size in commands:
        args += ['-c', 'write -P %d %d %d' % (value, at, size)]
    args += ['-c', 'flush']
    for value, at, size in commands:
        args += ['-c', 'read -P %d %d %d' % (value, at, size)]
    out = tools.run('qemu-io', '-f', 'raw', *args, url(d, lun)).stdout
    assert 'Pattern verification failed' not in out and 'failed' not in out, out
    out = tools.run('qemu-io', '-f', 'raw', '-r', '-c', 'read -P 3 %d 4096' % commands[2][1], url(d, lun)).stdout
    assert 'Pattern verification failed' not in out, out


@tap.test('qemu-io with many requests at once', 'D13')
def parallel(d):
    tools.need_qemu_iscsi()
    tools.need('qemu-io')
    args = []
    for n in range(64):
        args += ['-c', 'aio_write -P %d %d 64k' % (n + 1, n << 16)]
    args += ['-c', 'aio_flush', '-c', 'flush']
    for n in range(64):
        args += ['-c', 'aio_read -P %d %d 64k' % (n + 1, n << 16)]
    args += ['-c', 'aio_flush']
    out = tools.run('qemu-io', '-f', 'raw', *args, url(d)).stdout
    assert 'failed' not in out, out


@tap.test('qemu-img knows size and block size', 'K09')
def info(d):
    tools.need_qemu_iscsi()
    out = tools.run('qemu-img', 'info', '-f', 'raw', url(d, 2)).stdout
    assert '1 TiB' in out or str(1 << 40) in out, out


@tap.test('qemu-img bench: a thousand requests', 'D13')
def bench(d):
    tools.need_qemu_iscsi()
    tools.run('qemu-img', 'bench', '-f', 'raw', '-t', 'none', '-c', '1000', '-d', '32', '-s', '4096', url(d, 2))
    tools.run('qemu-img', 'bench', '-f', 'raw', '-t', 'none', '-c', '300', '-d', '16', '-s', '65536', '-w', url(d, 2))


if __name__ == '__main__':
    tap.main(config.base())
