/* What the sources of linux_names share; no other file includes it. */
#ifndef SBX_POSIX_LINUX_NAMES_INTERNAL_H
#define SBX_POSIX_LINUX_NAMES_INTERNAL_H

#include <limits.h>
#include <sys/stat.h>

#include "common/base/buf.h"
#include "common/base/sha256.h"
#include "posix/linux_names.h"

/* ---- patterns (linux_names_match.c) ---- */

enum {
    SBX_NAMES_PARTS_MAX = 63
}; /* of one pattern: a state has a bit for each, and one for the end */

enum sbx_names_part_kind { SBX_PART_LITERAL, SBX_PART_WILD, SBX_PART_STARS };

struct sbx_names_part {
    struct sbx_path slashed; /* "/name" */
    enum sbx_names_part_kind kind;
};

/* A protection (at any depth, so "**" comes first) or a glob, as an automaton over the names of a path. Bit i
 * of a state: part i comes next. Bit `count`: the path matches. */
struct sbx_names_pattern {
    const struct sbx_protect_row *row;
    const struct sbx_rule *rule;
    struct sbx_names_part *parts;
    size_t count;
    uint64_t stars;        /* which parts are "**" */
    struct sbx_path start; /* of a glob: sbx_names_glob_start */
    size_t start_depth;
};

/* A name that some pattern or literal rule has; all others are passed over. */
struct sbx_names_word {
    struct sbx_str text;
    bool is_last; /* a pattern or a rule can end in it */
    bool is_rule; /* a literal rule ends in it */
    bool is_part; /* a pattern has it */
};

struct sbx_names_matcher {
    struct sbx_names_pattern *patterns;
    size_t count;
    struct sbx_names_word *words; /* hashed, empty slots have no text */
    size_t word_slots;
    struct sbx_names_part *wild; /* parts with "*" or "?", and whether a pattern ends in them */
    bool *wild_is_last;
    size_t wild_count;
    bool takes_all; /* a pattern ends in "**": every name counts */
};

/* The directory that a glob must be looked for in. One that matches its own beginning ("/a/b/" and two stars)
 * begins one above. */
struct sbx_path sbx_names_glob_start(struct sbx_path glob);

/* One state per pattern. */
typedef uint64_t *sbx_names_states;

enum sbx_code sbx_names_compile(struct sbx_arena *arena, const struct sbx_policy *policy,
                                struct sbx_names_matcher *out, struct sbx_err *err) SBX_MUST_USE;

/* Does any pattern or rule care for a name ("/name")? When not, a directory of it only keeps what is in "**",
 * and anything else of it does not matter. */
bool sbx_names_hits(const struct sbx_names_matcher *matcher, struct sbx_path slashed,
                    bool is_directory);
/* Can the name take any pattern further? */
bool sbx_names_is_part(const struct sbx_names_matcher *matcher, struct sbx_path slashed);
bool sbx_names_ends_rule(const struct sbx_names_matcher *matcher, struct sbx_path slashed);

void sbx_names_begin(const struct sbx_names_matcher *matcher, sbx_names_states out);
/* One name further; `hit` false when it is known to be no part of any pattern. */
void sbx_names_advance(const struct sbx_names_matcher *matcher, const uint64_t *from,
                       struct sbx_path slashed, bool hit, sbx_names_states to);
bool sbx_names_accepts(const struct sbx_names_pattern *pattern, uint64_t state);
/* Can it match something further below? */
bool sbx_names_continues(const struct sbx_names_pattern *pattern, uint64_t state);
/* Only what starts with ".git", as if it had just been passed. */
void sbx_names_begin_git(const struct sbx_names_matcher *matcher, sbx_names_states out);

/* Everything that decides which names a listing keeps. */
void sbx_names_digest(const struct sbx_names_matcher *matcher, struct sbx_sha256 *hash);

/* ---- listings (linux_names_list.c) ---- */

enum sbx_names_type { SBX_ENTRY_DIRECTORY = 1, SBX_ENTRY_LINK, SBX_ENTRY_OTHER };
#define SBX_ENTRY_HIT 0x80u /* in the type's byte: sbx_names_hits */

/* What matters of a directory: its subdirectories and the names that patterns care for. Packed: a byte of
 * type, a byte of length, the name. */
struct sbx_names_listing {
    const unsigned char *bytes;
    size_t len;
};

struct sbx_names_entry {
    enum sbx_names_type type;
    bool hit;
    const char *name; /* not terminated */
    size_t len;
};

/* The entry at *at, and past it; false at the end, or where the bytes are not a listing. */
bool sbx_names_take(struct sbx_names_listing listing, size_t *at, struct sbx_names_entry *out);
/* All of it well-formed, and every name a single one? */
bool sbx_names_listing_ok(struct sbx_names_listing listing);

/* What reading needs and one walk has once: 64 KiB on a stack are cleared for every directory. */
enum { SBX_NAMES_BLOCK_BYTES = 64 << 10 };
struct sbx_names_reader {
    struct sbx_arena *arena; /* where listings go */
    const struct sbx_names_matcher *matcher;
    char *block;
    struct sbx_buf work;
    uint64_t entries; /* seen so far */
};

/* Reads what matters of an open directory. SBX_OK also when it vanished meanwhile. */
enum sbx_code sbx_names_read(struct sbx_names_reader *reader, int fd, const char *path,
                             struct sbx_names_listing *out, struct sbx_err *err) SBX_MUST_USE;

/* Opens `rest` ("" for itself) below `root`, following no link; -1 with errno. */
int sbx_names_open_below(int root, const char *rest, int flags) SBX_MUST_USE;
/* Opens what `path` leads to, links followed but for those of /proc; -1 with errno. */
int sbx_names_open_target(int at, const char *path, int flags) SBX_MUST_USE;
/* The name of an open descriptor, which still leads to it; false when there is none. */
bool sbx_names_path_of(int fd, const struct stat *info, char out[PATH_MAX]) SBX_MUST_USE;

/* ---- cache (linux_names_cache.c) ---- */

/* What changes when anything is added to a directory, taken away or renamed. */
struct sbx_names_stamp {
    uint64_t device, inode;
    int64_t modified_s, changed_s;
    uint32_t modified_ns, changed_ns;
};

struct sbx_names_record {
    struct sbx_names_stamp stamp;
    struct sbx_names_listing listing;
    bool is_used; /* seen in this walk */
};

struct sbx_names_device {
    uint64_t device;
    bool has_stamps;
};

struct sbx_names_cache {
    struct sbx_arena *arena;
    int dir; /* -1: there is none */
    char name[SBX_SHA256_HEX];
    struct sbx_names_record *records;
    size_t count, capacity;
    size_t loaded; /* the first of them come from the file */
    uint32_t *slots;
    size_t slot_count;
    int64_t began_s;
    struct sbx_names_device devices[32];
    size_t device_count;
};

/* The directory, when it can be trusted; else -1. */
int sbx_names_cache_open_dir(const struct sbx_policy *policy, const char *cache_dir) SBX_MUST_USE;
/* Loads what is known of the tree at `root` for the digested patterns. Never fails: an unusable file is no file. */
void sbx_names_cache_load(struct sbx_names_cache *cache, struct sbx_arena *arena, int dir,
                          const struct sbx_sha256 *patterns, const char *root);
struct sbx_names_stamp sbx_names_stamp_of(const struct stat *info);
/* The listing of a directory that has not changed since, or NULL. */
struct sbx_names_record *sbx_names_cache_find(struct sbx_names_cache *cache,
                                              const struct sbx_names_stamp *stamp);
/* Remembers a listing read from `fd` after it was stamped, if the stamp can be relied on. */
void sbx_names_cache_add(struct sbx_names_cache *cache, int fd, const struct sbx_names_stamp *stamp,
                         struct sbx_names_listing listing);
/* Writes it back when enough of it is new. */
void sbx_names_cache_save(const struct sbx_names_cache *cache);

/* ---- the walk (linux_names.c, linux_names_walk.c) ---- */

struct sbx_names_start {
    struct sbx_path path;
    bool is_done;
    bool is_git; /* walked as if it were ".git" */
};

/* What the box may do in a directory unless something below says otherwise. */
struct sbx_names_region {
    enum sbx_access access;
    bool is_closed; /* nothing below can differ */
};

struct sbx_names_node;
struct sbx_names_walk {
    const struct sbx_policy *policy;
    const struct sbx_names_limits *limits;
    struct sbx_arena scratch;
    struct sbx_names_matcher matcher;
    struct sbx_names_start *starts;
    size_t start_count, start_capacity;
    size_t sorted_count;                   /* the first of them, which come from rules */
    struct sbx_found_list found;           /* in scratch, unsorted */
    bool has_targets;                      /* where links and ".git" files lead is in it too */
    const struct sbx_protect_row *git_row; /* ".git", or NULL */
    struct sbx_names_reader reader;
    struct sbx_names_cache cache;
    int cache_dir;
    struct sbx_sha256 patterns; /* sbx_names_digest, when there is a cache */

    /* Of the start being walked. */
    struct sbx_names_start start;
    int root;
    struct sbx_names_node *stack;
    sbx_names_states next;
    char path[PATH_MAX];
};

/* An entry that must be held: `parent` is the open directory, `path` the entry's path. */
struct sbx_names_spot {
    int parent;
    const char *name;
    struct sbx_path path;
};

/* As sbx_policy_decide, for names that are no text too, and knowing what stands there. */
struct sbx_decision sbx_names_decide(struct sbx_names_walk *walk, struct sbx_path path,
                                     bool is_directory);
bool sbx_names_is_literal(const struct sbx_decision *decision, struct sbx_path path);
/* What that means for all below, unless something there says otherwise. */
struct sbx_names_region sbx_names_region_of(const struct sbx_decision *decision);
/* Before the states at a start are known: may it? */
bool sbx_names_may_want(const struct sbx_names_walk *walk, struct sbx_names_region region,
                        struct sbx_path path);
bool sbx_names_wants_below(const struct sbx_names_walk *walk, struct sbx_names_region region,
                           const uint64_t *states);
enum sbx_code sbx_names_report(struct sbx_names_walk *walk, const struct sbx_found *found,
                               struct sbx_err *err) SBX_MUST_USE;
enum sbx_code sbx_names_walk_start(struct sbx_names_walk *walk, size_t index,
                                   struct sbx_err *err) SBX_MUST_USE;
enum sbx_code sbx_names_add_start(struct sbx_names_walk *walk, struct sbx_path path, bool is_git,
                                  struct sbx_err *err) SBX_MUST_USE;

/* Completes an entry that is a link or a ".git" file, and reports where it leads (linux_names_target.c). */
enum sbx_code sbx_names_follow(struct sbx_names_walk *walk, const struct sbx_names_spot *spot,
                               const struct stat *info, struct sbx_found *found,
                               struct sbx_err *err) SBX_MUST_USE;

#endif
