/* The inside of the configuration: nodes, the load in progress, and the steps that share them. */
#ifndef CONF_LOAD_H
#define CONF_LOAD_H

#include <stdio.h>
#include <sys/types.h>

#include "conf.h"

#include "conf_arena.h"

enum {
	CONF_FILE_MAX = 16 * 1024 * 1024,	/* bytes of one file */
	CONF_NODES_MAX = 1000000,		/* values, over all files */
	CONF_KEYS_MAX = 4096,			/* of one map */
	CONF_DEPTH_MAX = 32,			/* lists and maps inside each other */
	CONF_FILES_MAX = 1000,
	CONF_INCLUDE_MAX = 8,			/* includes inside each other */
	CONF_ISSUES_MAX = 10000,		/* printed; what is above is counted */
	CONF_LISTEN_MAX = 1024,			/* listening addresses, over all portals */
	CONF_PORTALS_MAX = 1024,		/* of one target */
};

/* -- the tree: what the YAML parser saw, lives as long as the load -- */

enum conf_kind {
	NODE_SCALAR,
	NODE_LIST,
	NODE_MAP,
	NODE_BAD,			/* an error was said about it: nobody looks at it again */
};

struct conf_node {
	uint8_t kind;
	bool quoted;			/* a scalar in quotes or a block: text, whatever it looks like */
	bool full;			/* a map to which no more keys are added: said so */
	struct conf_pos pos;
	const char *text;		/* of a scalar */
	size_t n;			/* items of a list, pairs of a map */
	struct conf_node *first, *last, *next;
	const char *key;		/* of a map's member; empty: refused as a key, said so */
	struct conf_pos key_pos;
};

/* -- the load -- */

struct conf_file {
	const char *name;
	unsigned seq;			/* order of reading: errors are sorted by it */
	dev_t dev;
	ino_t ino;
	mode_t mode;
	struct conf_file *by;		/* which includes it; NULL: none */
	struct conf_pos at;		/* where */
	struct conf_file *next;
};

struct conf_issue {
	struct conf_pos pos;
	unsigned seq;			/* the file's, then the issue's own */
	size_t nr;
	const char *text;
};

/* What has a name that must be one of a kind. */
enum conf_name_kind {
	NAME_ADAPTER, NAME_DISK, NAME_ADDRESS, NAME_SERIAL, NAME_PORTAL, NAME_AUTH, NAME_TARGET,
	NAME_KINDS
};

struct conf_name {
	const char *name;
	const void *scope;		/* names of different scopes do not meet; NULL: the whole conf */
	struct conf_pos pos;
	size_t nr;
	void *object;
};

struct conf_names {
	struct conf_name *v;
	size_t n, cap;
};

/* An address that a portal listens on. */
struct conf_listener {
	struct sockaddr_storage addr;
	const struct transport *transport;
	struct conf_pos pos;
};

/* A mention of a name that may be defined further down. */
struct conf_ref {
	enum conf_name_kind kind;
	const char *name;
	struct conf_pos pos;
	void *where;			/* the pointer to set */
};

struct conf_load {
	struct conf *conf;
	struct arena *keep;		/* the conf's */
	struct arena *scratch;		/* the load's own: nodes, messages */
	bool from_memory;		/* files are not read */
	bool no_memory;
	bool partial;			/* a file is missing from the tree: a name may be defined there */
	struct conf_file *files, *files_last;
	unsigned nfiles;
	size_t nnodes;
	struct conf_node *root;		/* the maps of all files as one */
	struct conf_issue *issues;
	size_t nissues, issues_cap;
	size_t nerrors;			/* issues that are no warnings, and those not kept */
	struct conf_names names[NAME_KINDS];
	struct conf_ref *refs;
	size_t nrefs, refs_cap;
	struct conf_listener *listeners;
	size_t nlisteners, listeners_cap;
};

/*
 * conf_begin to conf_end is one load. conf_end prints what was found to err (or
 * nowhere), and either gives the conf out or frees it: 0, -EINVAL, -ENOMEM.
 */
int conf_begin(struct conf_load *);
int conf_end(struct conf_load *, struct conf **, FILE *err);
/* What conf_load(NULL) does, with the names as arguments: a file, and a pattern of more. */
int conf_load_default(const char *path, const char *dropins, struct conf **, FILE *err);

/* -- conf_issue.c -- */

__attribute__((format(printf, 3, 4)))
void conf_warning(struct conf_load *, struct conf_pos, const char *fmt, ...);
void conf_no_memory(struct conf_load *);
void conf_issues_print(struct conf_load *, FILE *);
/* "FILE:LINE:COLUMN" */
const char *conf_pos_text(struct conf_pos, char *buf, size_t size);
/* Text from the file, fit for a message: cut, printable. */
const char *conf_quote(const char *text, char *buf, size_t size);
/* The one of n words that text was probably meant to be; NULL: none is near. */
const char *conf_nearest(const char *text, const char *const *words, size_t n);

/* -- conf_yaml.c -- */

/*
 * Reads one document. 0 and its root (NULL: there is nothing in it), also when
 * something in it was refused; -EINVAL when an error made the rest meaningless.
 */
int conf_yaml(struct conf_load *, const struct conf_file *, const char *text, size_t len,
    struct conf_node **);
void conf_node_add(struct conf_node *parent, struct conf_node *child);

/* -- conf_node.c -- */

struct conf_node *conf_node_get(const struct conf_node *map, const char *key);	/* NULL: none */
/* Is it of this kind? Else says so; what: the key it belongs to. */
bool conf_node_is_null(const struct conf_node *);		/* nothing, ~ or null, not in quotes */
bool conf_want(struct conf_load *, const struct conf_node *, enum conf_kind, const char *what);
/* What the node is, in words. */
const char *conf_found(const struct conf_node *, char *buf, size_t size);

/* -- conf_file.c -- */

/* They say what is wrong, and mark the load as partial when something was not read. */
void conf_read(struct conf_load *, const char *path);
void conf_read_text(struct conf_load *, const char *name, const char *text, size_t len);

enum conf_twice { CONF_TWICE_REFUSED, CONF_TWICE_SKIPPED };
/* A file that another one names (by, at), or nobody (by NULL). */
void conf_file_read(struct conf_load *, const char *path, struct conf_file *by, struct conf_pos at,
    enum conf_twice);
const struct conf_file *conf_file_of(const struct conf_load *, struct conf_pos);
/* A path named in the file at pos, from that file's folder. NULL: no memory. */
char *conf_path(struct conf_load *, struct conf_pos, const char *path);

/* -- conf_tree.c -- */

/* What a file holds, and what it includes, into load->root. The nodes move there. */
void conf_tree_add(struct conf_load *, struct conf_file *, struct conf_node *root);
void conf_read_dropins(struct conf_load *, const char *pattern);

/* -- conf_value.c, conf_list.c, conf_map.c -- */

/* Reads one value as the row says; 0 or -EINVAL with the error said. */
int conf_value(struct conf_load *, const struct conf_key *, const struct conf_node *, void *out);
int conf_text(struct conf_load *, const struct conf_key *, const struct conf_node *, char **);
size_t conf_hex(const char *text, uint8_t *out, size_t max);
int conf_uint(struct conf_load *, const struct conf_key *, const struct conf_node *, uint32_t *);
int conf_word(struct conf_load *, const struct conf_key *, const struct conf_node *, int *);
int conf_texts(struct conf_load *, const struct conf_key *, const struct conf_node *, struct conf_texts *);
int conf_words(struct conf_load *, const struct conf_key *, const struct conf_node *, struct conf_words *);
int conf_uints(struct conf_load *, const struct conf_key *, const struct conf_node *, struct conf_uints *);

/* Rows and the struct that they fill; a map may be spread over several. */
struct conf_rows {
	const struct conf_key *keys;	/* NULL: none */
	void *base;
};
/* what: the key whose map it is. Keys that are absent get their fallback. */
int conf_map(struct conf_load *, const struct conf_node *, const char *what,
    const struct conf_rows *, size_t nrows);
/* The same, for a map that cannot be known whole, its driver being unknown: other keys are left alone. */
int conf_map_known(struct conf_load *, const struct conf_node *, const char *what,
    const struct conf_rows *, size_t nrows);
/* The struct that a driver's or a transport's rows fill, zeroed. NULL: no memory. */
void *conf_opts(struct conf_load *, size_t size);

/* -- conf_name.c -- */

/* Registers the name under which object may be found. The name lives as long as the load. */
void conf_name_add(struct conf_load *, enum conf_name_kind, const void *scope, const char *name,
    struct conf_pos, void *object);
/* The same for names that people type: letters, digits and . _ - only. */
void conf_name_own(struct conf_load *, enum conf_name_kind, const char *name, struct conf_pos,
    void *object);
void conf_ref_add(struct conf_load *, enum conf_name_kind, const char *name, struct conf_pos,
    void *where);
/* Says which names are there twice and which mentions lead nowhere; sets the others. */
void conf_names_check(struct conf_load *);

/* -- addresses -- */

/* "address" or "address/bits". NULL, or what is wrong with it. */
const char *conf_prefix(const char *text, struct sockaddr_storage *, uint8_t *bits);
/* The same address, or one is the wildcard that holds the other. Ports count. */
bool sockaddr_overlap(const struct sockaddr_storage *, const struct sockaddr_storage *);

/* -- the rows of each kind of map, and beside them those of drivers and transports -- */

extern const struct conf_key conf_top_keys[], conf_adapter_keys[], conf_disk_keys[],
    conf_portal_keys[], conf_auth_keys[], conf_target_keys[], conf_lun_keys[], conf_rule_keys[];

/* -- what each list of the top level holds: CONF_CUSTOM rows -- */

int conf_adapters(struct conf_load *, const struct conf_node *, void *);
/* Do the adapters fit the rest, when all is read? */
void conf_adapters_check(struct conf_load *);
int conf_portals(struct conf_load *, const struct conf_node *, void *);
int conf_auths(struct conf_load *, const struct conf_node *, void *);
int conf_targets(struct conf_load *, const struct conf_node *, void *);
/* Of a target, which out points to. */
int conf_luns(struct conf_load *, const struct conf_node *, void *out);
int conf_rules(struct conf_load *, const struct conf_node *, void *out);
/* Tells each disk the depths of its LUNs. */
void conf_depths_set(struct conf *);
/* Do the rules speak of LUNs that are there? */
void conf_rules_check(struct conf_load *, const struct conf_target *);

#endif
