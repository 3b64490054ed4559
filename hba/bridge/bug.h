/* What tests compile in: deliberate mistakes, and places where another thread may come in between. */
#ifndef BUG_H
#define BUG_H

/*
 * -DBQ_BUG=n builds the bridge with one of the mistakes of docs/BRIDGE.md in it,
 * to see that the tests find it. Without it all of this is constant false.
 */
#ifdef BQ_BUG
#define BUG(n) (BQ_BUG == (n))
#else
#define BUG(n) 0
#endif

/* -DBQ_YIELD: bridge_yield, if set, runs at each marked place. Set it while no reactor is busy. */
#ifdef BQ_YIELD
extern void (*bridge_yield)(void);
#define YIELD_POINT()                                                               \
	do {                                                                        \
		if (bridge_yield)                                                   \
			bridge_yield();                                             \
	} while (0)
#else
#define YIELD_POINT() ((void)0)
#endif

#endif
