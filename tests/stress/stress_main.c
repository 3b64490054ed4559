/* Stress of the bridge: each scenario on its own, or all; a breach ends the process. */
#include <string.h>

#include "tests/stress/stress.h"

unsigned stress_seed = 1;

static const struct scenario scenarios[] = {
	{ "steps", "two reactors, each stopped at each place: nobody is forgotten", steps_run },
	{ "rounds", "a few requests, then silence: nobody is forgotten", rounds_run },
	{ "borrow", "what one reactor keeps, another gets at once", borrow_run },
	{ "load", "never over a limit, nothing lost", load_run },
	{ "limits", "limits fall and rise under load", limits_run },
	{ "aborts", "aborts in every state, lost sessions, late completions", aborts_run },
	{ "resets", "frozen, drained and thawed under load", resets_run },
	{ "refusals", "disks that fail or have no room", refusals_run },
	{ "modes", "queue modes change under load", modes_run },
	{ "overrun", "an adapter of 1013 never gets 1014, in any mode", overrun_run },
};

static bool
is_wanted(const char *name, char **args, int n)
{
	for (int i = 0; i < n; i++)
		if (strcmp(args[i], name) == 0)
			return true;
	return n == 0;
}

/* usage: bridge_stress [-s SEED] [SCENARIO...]; prints TAP. */
int
main(int argc, char **argv)
{
	unsigned n = 0;

	argv++;
	argc--;
	if (argc >= 2 && strcmp(argv[0], "-s") == 0) {
		stress_seed = (unsigned)strtoul(argv[1], NULL, 0);
		argv += 2;
		argc -= 2;
	}
	for (unsigned i = 0; i < ARRAY_LEN(scenarios); i++) {
		const struct scenario *s = &scenarios[i];
		uint64_t begun = now_ns();

		if (!is_wanted(s->name, argv, argc))
			continue;
		world.scenario = s->name;
		s->run();
		printf("# %.1f s\nok %u - %s: %s\n", (double)(now_ns() - begun) / 1e9, ++n,
		    s->name, s->shows);
		fflush(stdout);
	}
	printf("1..%u\n", n);
	return n ? 0 : 2;
}
