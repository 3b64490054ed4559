"""Bars as SVG, with nothing but the standard library."""
import math
from xml.sax.saxutils import escape

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 860, 432, 76, 20, 76, 56
# Told apart also by those who do not see all colours (Okabe and Ito).
COLOURS = ('#999999', '#e69f00', '#56b4e9', '#cc79a7', '#0072b2', '#009e73', '#d55e00')
FONT = 'font-family="sans-serif"'


def ticks_linear(top):
    step = 10 ** math.floor(math.log10(top))
    for part in (0.1, 0.2, 0.25, 0.5, 1):
        if top / (step * part) <= 6:
            step *= part
            break
    n = math.ceil(top / step - 1e-9)
    return [i * step for i in range(n + 1)]


def ticks_log(low, top):
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(top) - 1e-9)
    return [10.0 ** i for i in range(first, max(last, first + 1) + 1)]


def number(v):
    if v >= 1e6:
        return '%gM' % float('%.3g' % (v / 1e6))
    if v >= 1e3:
        return '%gK' % float('%.3g' % (v / 1e3))
    return '%g' % float('%.3g' % v)


class Axis:
    def __init__(self, values, log):
        self.log = log
        self.ticks = ticks_log(min(values), max(values)) if log else ticks_linear(max(values))

    def part(self, v):
        low, high = self.ticks[0], self.ticks[-1]
        if self.log:
            return max(0, math.log(v / low) / math.log(high / low)) if v > 0 else 0
        return (v - low) / (high - low)

    def y(self, v):
        return HEIGHT - BOTTOM - self.part(v) * (HEIGHT - TOP - BOTTOM)


def text(x, y, s, size=12, anchor='middle', extra=''):
    return '<text x="%.1f" y="%.1f" font-size="%d" text-anchor="%s" %s %s>%s</text>' % (
        x, y, size, anchor, FONT, extra, escape(s))


def legend(series):
    out, x = [], LEFT
    for i, name in enumerate(series):
        out.append('<rect x="%.1f" y="36" width="12" height="12" fill="%s"/>' % (x, COLOURS[i % len(COLOURS)]))
        out.append(text(x + 17, 47, name, anchor='start'))
        x += 36 + 6.6 * len(name)
    return out


def bars(path, title, unit, groups, series, value, log=False):
    """series: {key: name}; value(group, key): a number, or None where there is none."""
    got = {(g, s): value(g, s) for g in groups for s in series}
    known = [v for v in got.values() if v]
    if not known:
        return False
    axis = Axis(known, log)
    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d">' % (
        WIDTH, HEIGHT, WIDTH, HEIGHT), '<rect width="100%" height="100%" fill="white"/>',
        text(LEFT, 24, title, 15, 'start', 'font-weight="bold"')]
    if len(series) > 1:
        out += legend(series.values())
    for tick in axis.ticks:
        y = axis.y(tick)
        out.append('<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="#dddddd"/>' % (LEFT, y, WIDTH - RIGHT, y))
        out.append(text(LEFT - 8, y + 4, number(tick), anchor='end'))
    middle = (TOP + HEIGHT - BOTTOM) / 2
    out.append(text(18, middle, unit + (' (logarithmic)' if log else ''),
                    extra='transform="rotate(-90 18 %.1f)"' % middle))
    wide = (WIDTH - LEFT - RIGHT) / len(groups)
    bar = wide * 0.84 / len(series)
    for i, g in enumerate(groups):
        x = LEFT + i * wide
        out.append(text(x + wide / 2, HEIGHT - BOTTOM + 22, g, 13))
        for k, s in enumerate(series):
            v = got[g, s]
            if v is None:
                continue
            at, y = x + wide * 0.08 + k * bar, axis.y(v)
            out.append('<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>' % (
                at, y, bar * 0.92, max(0, HEIGHT - BOTTOM - y), COLOURS[(k if len(series) > 1 else 4) % len(COLOURS)]))
            out.append(text(at + bar * 0.46, y - 4, number(v), 10 if bar > 26 else 8))
    out.append('<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="black"/>' % (
        LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM))
    out.append('</svg>')
    with open(path, 'w') as f:
        f.write('\n'.join(out) + '\n')
    return True
