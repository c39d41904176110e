/* The resolved policy: a manifest with its preset, its places and defaults filled in, and its file rules in
 * normal form. Plans, `why` and trust decisions are made from it. */
#ifndef SBX_POLICY_POLICY_H
#define SBX_POLICY_POLICY_H

#include "common/egress/hosts.h"
#include "common/policy/ceiling.h"
#include "common/policy/context.h"
#include "common/policy/manifest.h"
#include "common/policy/profile.h"
#include "common/policy/protect.h"

/* Who said it; a later one wins over an earlier one for the same path. */
enum sbx_layer_of_rule {
    SBX_BY_PRESET,
    SBX_BY_MANIFEST,
    SBX_BY_FLAG,
    SBX_BY_ADMINISTRATOR,
    SBX_BY_SBX, /* its own files, which no box may change */
};

struct sbx_rule {
    struct sbx_path path;
    bool is_glob;
    enum sbx_access access;
    enum sbx_rule_kind kind;
    bool is_optional;
    enum sbx_node node; /* what is there now; unknown for globs and other machines */
    enum sbx_layer_of_rule by;
    struct sbx_origin at;
    const char *key_path; /* "fs_write_allow[1]" */
    size_t order;         /* in which it was said: of equal rules the first counts */
    size_t
        above; /* in normal form: 1 + index of the nearest literal that contains it, 0 without one */
};

struct sbx_rules {
    struct sbx_rule *items;
    size_t count, capacity;
};

struct sbx_limits {
    uint64_t timeout_ns;     /* 0: the backend's default, */
    uint64_t timeout_max_ns; /* but at most this, the administrator's; 0: no bound */
    uint64_t memory_bytes;   /* 0: none; likewise below */
    uint64_t cpu_secs;
    uint64_t processes;
    uint64_t output_bytes;
};

struct sbx_pair {
    const char *name;
    const char *value;
};

/* A preset's value that the manifest or a flag replaced. */
struct sbx_override {
    const char *key;
    const char *from, *to;
    struct sbx_origin at;
};

struct sbx_policy {
    struct sbx_context context;
    const struct sbx_preset_row *preset;
    struct sbx_origin preset_at;

    struct sbx_rules
        rules; /* literals from the least to the most specific, then globs; no rule that
                               says only what a broader one says already. A glob never opens what a rule
                               of SBX_BY_ADMINISTRATOR closes, however deep it matches. */
    struct sbx_path *protected_roots; /* every writable host path */
    size_t protected_root_count;
    struct sbx_protect_row
        *protect; /* patterns below each of them, sorted. One of several names may start
                                        above: "/r/.git" writable keeps "/r/.git/hooks" locked */
    size_t protect_count;
    enum sbx_git_mode git;

    enum sbx_net_kind network;
    struct sbx_host_pattern *hosts, *local; /* sorted, no duplicates */
    size_t host_count, local_count;

    enum sbx_syscalls syscalls;
    struct sbx_limits limits;
    struct sbx_pair *env; /* sorted by name, no duplicates */
    size_t env_count;
    const char **env_pass; /* sorted, none of them in env */
    size_t env_pass_count;

    struct sbx_path cwd;
    bool has_user, has_group;
    struct sbx_identity user, group;
    const char *image; /* NULL: the default */
    const char **raw_args;
    size_t raw_arg_count;
    uint32_t require;
    bool require_is_explicit;

    struct sbx_override *overrides;
    size_t override_count, override_capacity;
};

/* manifest → policy. Pure but for context->lookup. All that is wrong goes into `findings`; *out is complete
 * only when sbx_findings_ok. `manifest` is file and flags merged. */
void sbx_policy_resolve(struct sbx_arena *arena, const struct sbx_manifest *manifest,
                        const struct sbx_context *context, const struct sbx_ceiling *ceiling,
                        struct sbx_findings *findings, struct sbx_policy *out);

/* What decides about a path. */
struct sbx_decision {
    enum sbx_access access;
    const struct sbx_rule *rule;              /* NULL: nothing covers it, or a protection does */
    const struct sbx_protect_row *protection; /* set when it made the path read-only */
    struct sbx_path protected_root;
    bool maybe_writable; /* a file_only protection: a directory there would be writable */
};
/* Of rules in normal form (sbx_rules_normalise). */
struct sbx_decision sbx_policy_decide(struct sbx_arena *arena, const struct sbx_policy *policy,
                                      struct sbx_path path);

/* ---- pieces, also used alone by tests ---- */

/* Expands ":cwd/x" and cleans: SBX_OK, or a finding at `at` and SBX_E_INVALID. */
enum sbx_code sbx_place_expand(struct sbx_arena *arena, const struct sbx_context *context,
                               const struct sbx_text *text, const char *key_path, bool allow_glob,
                               struct sbx_findings *findings, struct sbx_path *out) SBX_MUST_USE;

/* The one name macOS has for a path at its root ("/tmp/x" is "/private/tmp/x", "/System/Volumes/Data/Users" is "/Users"); other
 * links are the business of whoever opens the path. False without memory. */
bool sbx_place_unalias(struct sbx_arena *arena, struct sbx_path path,
                       struct sbx_path *out) SBX_MUST_USE;

/* File rules of preset, manifest, administrator and sbx itself in normal form (fspolicy.c). */
void sbx_fspolicy_resolve(struct sbx_arena *arena, const struct sbx_manifest *manifest,
                          const struct sbx_ceiling *ceiling, struct sbx_findings *findings,
                          struct sbx_policy *policy);

/* Sorts policy->rules, settles equal paths, drops what says nothing new. Looks at policy->protect: an entry
 * that lifts a protection says something. Doing it twice changes nothing. */
void sbx_rules_normalise(struct sbx_policy *policy, struct sbx_findings *findings);

/* The protection that locks `path` below the writable `root`, or NULL. One that is for files only counts for
 * `path` itself: what has something below it is a directory. */
const struct sbx_protect_row *sbx_protection_between(const struct sbx_policy *policy,
                                                     struct sbx_path root, struct sbx_path path);

/* Views into the text of `path`, so not NUL-terminated: its parent (a root is its own), and of a glob the
 * directory that all its matches lie below. Nothing is allocated, so nothing is missed without memory. */
struct sbx_path sbx_path_up(struct sbx_path path);
struct sbx_path sbx_glob_base(struct sbx_path glob);

/* Refuses raw bwrap arguments that undo a layer (rawargs.c). `policy` has its file rules already. */
void sbx_rawargs_check(struct sbx_arena *arena, const struct sbx_manifest *manifest,
                       const struct sbx_ceiling *ceiling, const struct sbx_policy *policy,
                       struct sbx_findings *findings);

#endif
