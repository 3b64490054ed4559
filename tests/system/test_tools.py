#!/usr/bin/python3
"""libiscsi's programs find, describe and log in to targets."""
import re

import config
import tap
import tools

T = config.TARGET
SECRET, BACK = 'hunter-hunter', 'return-return'


def conf():
    return config.base(
        portals=[{'name': 'lan', 'transport': 'iscsi', 'listen': ['127.0.0.1:@PORT@', '[::1]:@PORT@']}],
        auth=[{'name': 'one', 'user': 'host1', 'secret': SECRET},
              {'name': 'both', 'user': 'host1', 'secret': SECRET, 'mutual_user': 'target1', 'mutual_secret': BACK}],
        targets=[config.target(), config.target(config.IQN + 'one', auth='one'),
                 config.target(config.IQN + 'both', auth='both')])


def url(d, target=T, lun=0, user='', host='127.0.0.1', args=''):
    return 'iscsi://%s%s:%d/%s/%d%s' % (user, host, d.port, target, lun, args)


@tap.test('iscsi-ls lists targets and LUNs', 'L14')
def ls(d):
    out = tools.run('iscsi-ls', 'iscsi://127.0.0.1:%d' % d.port).stdout
    for name in T, config.IQN + 'one', config.IQN + 'both':
        assert re.search(r'Target:%s Portal:127\.0\.0\.1:%d,1' % (re.escape(name), d.port), out), out


@tap.test('iscsi-ls -s shows each LUN with its size', 'L14', 'K05', conf=config.base)
def ls_luns(d):
    out = tools.run('iscsi-ls', '-s', 'iscsi://127.0.0.1:%d' % d.port).stdout
    sizes = re.findall(r'Lun:(\d+)\s+Type:DIRECT_ACCESS \(Size:(\d+)(.)\)', out)
    assert sizes == [('0', '64', 'M'), ('1', '64', 'M'), ('2', '1', 'T'), ('3', '64', 'M')] or \
        [n for n, _, _ in sizes] == ['0', '1', '2', '3'], out


@tap.test('iscsi-inq shows a disk, and each page it may ask', 'K44')
def inq(d):
    out = tools.run('iscsi-inq', url(d)).stdout
    assert 'DIRECT_ACCESS' in out and re.search(r'Vendor:\s*SLUICE', out), out
    for page in 0x00, 0x80, 0x83, 0xb0, 0xb1, 0xb2:     # those it can take apart
        tools.run('iscsi-inq', '-e', '1', '-c', str(page), url(d))


@tap.test('iscsi-readcapacity16 says the size', 'K09')
def capacity(d):
    for lun, size in (0, 64 << 20), (2, 1 << 40), (3, 64 << 20):
        out = tools.run('iscsi-readcapacity16', '-s', url(d, lun=lun)).stdout
        assert int(out.split()[-1]) == size, out


@tap.test('over IPv6', 'L15')
def six(d):
    out = tools.run('iscsi-ls', 'iscsi://[::1]:%d' % d.port).stdout
    assert 'Portal:[::1]:%d,1' % d.port in out, out
    tools.run('iscsi-inq', url(d, host='[::1]'))


@tap.test('CHAP through a URL', 'C08', 'C05')
def chap(d):
    tools.run('iscsi-inq', url(d, config.IQN + 'one', user='host1%%%s@' % SECRET))
    for user in '', 'host1%%%s@' % 'wrong-wrong!', 'host2%%%s@' % SECRET:
        done = tools.run('iscsi-inq', url(d, config.IQN + 'one', user=user), ok=False)
        assert done.returncode != 0, 'let in as "%s"' % user


@tap.test('mutual CHAP through a URL', 'C08')
def mutual(d):
    args = '?target_user=%s&target_password=%s' % ('target1', BACK)
    tools.run('iscsi-inq', url(d, config.IQN + 'both', user='host1%%%s@' % SECRET, args=args))
    wrong = '?target_user=%s&target_password=%s' % ('target1', 'another-one!')
    done = tools.run('iscsi-inq', url(d, config.IQN + 'both', user='host1%%%s@' % SECRET, args=wrong), ok=False)
    assert done.returncode != 0, 'libiscsi took a wrong proof for the target\'s'


@tap.test('digests through a URL', 'D02')
def digests(d):
    for kind in 'header_digest=crc32c', 'header_digest=none':
        tools.run('iscsi-inq', url(d, args='?' + kind))


@tap.test('a target that is not there', 'L26')
def missing(d):
    done = tools.run('iscsi-inq', url(d, config.IQN + 'nowhere'), ok=False)
    assert done.returncode != 0


if __name__ == '__main__':
    tap.main(conf)
