"""What the bridge costs a command: the daemon beside the same daemon without it, in turns."""
import statistics

LIMIT = 100                 # ns of processor time a command
# Reactors, the generator's options, and how it waits (see run): with one processor for each of two
# reactors there is none left to poll on.
CELLS = [(1, '-q 128', ''), (2, '-n 2 -q 64', 'sleep')]
PROGRAMS = {'with': 'sluiced', 'without': 'tests/bench/sluiced-no-bridge'}


def measure(start, load, rounds):
    """start(program, reactors): a running server; load(server, row): its figures. Prints; returns how many demands were missed."""
    missed = 0
    print("\nthe bridge's cost, 4k reads, null, ns of processor time a command (median of %d neighbours in time):" % rounds)
    for reactors, options, how in CELLS:
        row = ('bridge, %d reactors' % reactors, 'null', options, how, None)
        servers = {}
        try:
            for name, program in PROGRAMS.items():
                servers[name] = start(program, reactors)
            got = {name: [] for name in servers}
            for _ in range(rounds):
                for name, server in servers.items():
                    got[name].append(1000 * load(server, row)['t_us'])
        finally:
            for server in servers.values():
                server.stop()
        cost = statistics.median(a - b for a, b in zip(got['with'], got['without']))
        missed += cost > LIMIT
        print('  %d reactor%s  with %5.0f  without %5.0f  cost %4.0f  at most %d  %s' % (
            reactors, 's' if reactors > 1 else ' ', statistics.median(got['with']), statistics.median(got['without']),
            cost, LIMIT, 'FAIL' if cost > LIMIT else 'ok'))
    return missed
