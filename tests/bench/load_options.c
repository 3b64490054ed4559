/* The load generator's command line. */
#include "load.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

struct options opt = {
	.host = "127.0.0.1", .port = "3260", .initiator = "iqn.2026-11.com.example:load",
	.label = "", .sessions = 1, .depth = 32, .threads = 1, .size = 4096,
	.read_percent = 100, .mrdsl = 262144, .first_burst = 262144, .max_burst = 1048576,
	.receive = 512 * 1024, .verify_blocks = 512, .seconds = 3, .warm_up = 0.5,
	.immediate_data = true, .initial_r2t = true, .logout = true, .nluns = 1,
};

static const char usage_text[] =
"usage: load -t IQN [options]\n"
"  -p HOST:PORT    portal (127.0.0.1:3260)      -t IQN      target name\n"
"  -n N            sessions (1)                 -q N        commands of each (32); 0: idle\n"
"  -b BYTES        size of one I/O (4096; k, m) -m read|write|mixed[:READPERCENT]\n"
"  -l LUNS         such as 1,3,8-15 (0), random for each I/O\n"
"  -d SEC -w SEC   measured time (3), warm-up (0.5)\n"
"  -T N            threads (1)\n"
"  --spin US       poll this long after the last arrival before sleeping\n"
"  --header-digest --data-digest                CRC32C\n"
"  --no-immediate  ImmediateData=No             --unsolicited  InitialR2T=No\n"
"  --mrdsl N --first-burst N --max-burst N      --receive N  bytes of one recv (512k)\n"
"  --span BYTES    stay in the first BYTES      --base LBA   begin there\n"
"  --sequential    instead of random blocks     --lun-per-session  session i uses LUN i mod n\n"
"  --verify        random writes and compared reads, then all is read back;\n"
"                  --verify-blocks N  for each session (512)\n"
"  --residuals     an eighth of the reads asks for too much, another for too little\n"
"  --target-pid P  report the CPU time and memory of that process\n"
"  --initiator IQN --initiator-per-session      --label TEXT --no-logout\n"
"Prints one line of JSON. Exits 1 when an answer was wrong, 2 when it cannot start.\n";

static void
usage(void)
{
	fputs(usage_text, stderr);
	exit(2);
}

static uint64_t
number(const char *text, uint64_t max)
{
	char *end;
	uint64_t v = strtoull(text, &end, 10);

	switch (*end) {
	case 'g':
	case 'G':
		v <<= 10;
		/* fall through */
	case 'm':
	case 'M':
		v <<= 10;
		/* fall through */
	case 'k':
	case 'K':
		v <<= 10;
		end++;
	}
	if (end == text || *end || v > max)
		die("not a number up to %llu: %s", (unsigned long long)max, text);
	return v;
}

static void
portal_read(char *text)
{
	char *colon = strrchr(text, ':');

	if (colon && (!strchr(text, ']') || colon > strchr(text, ']'))) {
		*colon = 0;
		opt.port = colon + 1;
	}
	if (*text == '[' && text[strlen(text) - 1] == ']') {
		text[strlen(text) - 1] = 0;
		text++;
	}
	opt.host = text;
}

static void
luns_read(char *text)
{
	unsigned first, last;

	opt.nluns = 0;
	for (char *s = strtok(text, ","); s; s = strtok(NULL, ",")) {
		if (sscanf(s, "%u-%u", &first, &last) != 2)
			last = first = (unsigned)number(s, 16383);
		for (; first <= last; first++) {
			if (first > 16383 || opt.nluns == LUNS_MAX)
				die("too many LUNs, or a number above 16383: %s", s);
			opt.luns[opt.nluns++] = (uint16_t)first;
		}
	}
}

static uint32_t
mode_read(const char *text)
{
	if (!strcmp(text, "read"))
		return 100;
	if (!strcmp(text, "write"))
		return 0;
	if (!strcmp(text, "mixed"))
		return 50;
	if (strncmp(text, "mixed:", 6))
		usage();
	return (uint32_t)number(text + 6, 100);
}

/* Long options without a letter: what they set. */
enum { FLAG_SET = 1, FLAG_CLEAR, NUMBER32, NUMBER64, MICROSECONDS, TEXT, PID };

static const struct {
	const char *name;
	int kind;
	void *to;
} longs[] = {
	{ "header-digest", FLAG_SET, &opt.header_digest },
	{ "data-digest", FLAG_SET, &opt.data_digest },
	{ "no-immediate", FLAG_CLEAR, &opt.immediate_data },
	{ "unsolicited", FLAG_CLEAR, &opt.initial_r2t },
	{ "sequential", FLAG_SET, &opt.sequential },
	{ "verify", FLAG_SET, &opt.verify },
	{ "residuals", FLAG_SET, &opt.residuals },
	{ "lun-per-session", FLAG_SET, &opt.lun_per_session },
	{ "initiator-per-session", FLAG_SET, &opt.initiator_per_session },
	{ "no-logout", FLAG_CLEAR, &opt.logout },
	{ "mrdsl", NUMBER32, &opt.mrdsl },
	{ "first-burst", NUMBER32, &opt.first_burst },
	{ "max-burst", NUMBER32, &opt.max_burst },
	{ "receive", NUMBER32, &opt.receive },
	{ "verify-blocks", NUMBER32, &opt.verify_blocks },
	{ "span", NUMBER64, &opt.span },
	{ "base", NUMBER64, &opt.base },
	{ "spin", MICROSECONDS, &opt.spin_ns },
	{ "initiator", TEXT, &opt.initiator },
	{ "label", TEXT, &opt.label },
	{ "target-pid", PID, &opt.target_pid },
};

static void
long_read(unsigned i)
{
	switch (longs[i].kind) {
	case FLAG_SET:
	case FLAG_CLEAR:
		*(bool *)longs[i].to = longs[i].kind == FLAG_SET;
		break;
	case NUMBER32:
		*(uint32_t *)longs[i].to = (uint32_t)number(optarg, 1u << 30);
		break;
	case NUMBER64:
		*(uint64_t *)longs[i].to = number(optarg, 1ull << 60);
		break;
	case MICROSECONDS:
		*(uint64_t *)longs[i].to = number(optarg, 1000000) * 1000;
		break;
	case TEXT:
		*(const char **)longs[i].to = optarg;
		break;
	case PID:
		*(pid_t *)longs[i].to = (pid_t)number(optarg, 1u << 30);
		break;
	}
}

static void
letter_read(int letter)
{
	switch (letter) {
	case 'p':
		portal_read(optarg);
		break;
	case 't':
		opt.target = optarg;
		break;
	case 'n':
		opt.sessions = (uint32_t)number(optarg, 65535);
		break;
	case 'q':
		opt.depth = (uint32_t)number(optarg, DEPTH_MAX);
		break;
	case 'b':
		opt.size = (uint32_t)number(optarg, 4 << 20);
		break;
	case 'm':
		opt.read_percent = mode_read(optarg);
		break;
	case 'l':
		luns_read(optarg);
		break;
	case 'd':
		opt.seconds = atof(optarg);
		break;
	case 'w':
		opt.warm_up = atof(optarg);
		break;
	case 'T':
		opt.threads = (uint32_t)number(optarg, 64);
		break;
	default:
		usage();
	}
}

void
options_read(int argc, char **argv)
{
	struct option table[ARRAY_LEN(longs) + 1] = { 0 };
	bool mode_given = false;
	int c;

	for (unsigned i = 0; i < ARRAY_LEN(longs); i++)
		table[i] = (struct option){ longs[i].name,
			longs[i].kind != FLAG_SET && longs[i].kind != FLAG_CLEAR, NULL,
			1000 + (int)i };
	while ((c = getopt_long(argc, argv, "p:t:n:q:b:m:l:d:w:T:h", table, NULL)) != -1) {
		mode_given |= c == 'm';
		if (c >= 1000)
			long_read((unsigned)c - 1000);
		else
			letter_read(c);
	}
	if (!opt.target || !opt.sessions || !opt.threads || !opt.nluns || !opt.size ||
	    opt.receive < 4096 || optind != argc)
		usage();
	opt.threads = MIN(opt.threads, opt.sessions);
	opt.first_burst = MIN(opt.first_burst, opt.max_burst);
	if (opt.verify && !mode_given)
		opt.read_percent = 50;
	opt.verify_blocks = MAX(opt.verify_blocks, opt.depth);
}
