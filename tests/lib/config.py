"""Writes sluiced configurations: nested dicts and lists as YAML, and the one most tests start from."""
import json
import re

IQN = 'iqn.2026-11.com.example:'
TARGET = IQN + 'store'

_PLAIN = re.compile(r'^[A-Za-z0-9_./-][A-Za-z0-9_./:-]*$')


def _scalar(value):
    if value is True or value is False:
        return 'yes' if value else 'no'
    if isinstance(value, int):
        return str(value)
    plain = _PLAIN.match(value) and value != 'null' and not value.endswith(':')
    return value if plain else json.dumps(value)


def dump(value, indent=0):
    """YAML in block style, small enough to be read in a failure report."""
    pad = '  ' * indent
    out = ''
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, (dict, list)) and item:
                out += '%s%s:\n%s' % (pad, key, dump(item, indent + 1))
            elif isinstance(item, list):
                out += '%s%s: []\n' % (pad, key)
            else:
                out += '%s%s: %s\n' % (pad, key, _scalar(item))
        return out
    for item in value:
        if isinstance(item, dict):
            body = dump(item, indent + 1)
            out += pad + '- ' + body[len(pad) + 2:]
        else:
            out += '%s- %s\n' % (pad, _scalar(item))
    return out


def target(name=TARGET, luns=('ram', 'file', 'void', 'ram4k'), portals=('lan',), iscsi=None, **more):
    """An item of `targets:`. luns: disk names for 0, 1, 2 ..., or {number: name}."""
    pairs = luns.items() if isinstance(luns, dict) else enumerate(luns)
    out = {'name': name, 'portals': list(portals)}
    if iscsi:
        out['iscsi'] = dict(iscsi)
    out.update(more)
    out['luns'] = [{'lun': n, 'disk': disk} for n, disk in pairs]
    return out


def disks():
    """64 MiB of RAM and of file, a bottomless nothing, and a disk of 4 KiB blocks."""
    return [
        {'name': 'ram', 'driver': 'ram', 'size': '64M'},
        {'name': 'file', 'driver': 'file', 'path': '@TMP@/file.img', 'size': '64M', 'create': True},
        {'name': 'void', 'driver': 'null', 'size': '1T'},
        {'name': 'ram4k', 'driver': 'ram', 'size': '64M', 'block_size': 4096},
    ]


def base(targets=None, **more):
    """
    The usual configuration. @PORT@, @PORT2@ ... and @TMP@ are filled in when
    the daemon starts: free ports and its private folder.
    """
    out = {
        'reactors': 2,
        'memory': '256M',
        'control': '@TMP@/control.sock',
        'state_dir': '@TMP@/state',
        'adapters': [{'name': 'hba', 'can_queue': 256, 'disks': disks()}],
        'portals': [{'name': 'lan', 'transport': 'iscsi', 'listen': ['127.0.0.1:@PORT@']}],
        'targets': targets or [target()],
    }
    out.update(more)
    return out
