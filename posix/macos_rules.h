/* The file rules of a policy as Seatbelt sees paths: under their real names, each with what it leaves to others.
 *
 * A path rule of Seatbelt is compared with the name the kernel has for a file: symbolic links resolved, `/tmp`, `/var`
 * and `/etc` below `/private`, files of the data volume without its prefix. A rule under any other name does nothing.
 * Each rule here rules a region: everything below its path but what another rule below decides about. */
#ifndef SBX_POSIX_MACOS_RULES_H
#define SBX_POSIX_MACOS_RULES_H

#include "common/policy/policy.h"

struct sbx_macos_rules;

struct sbx_macos_host {
    /* The real name of something that exists, in `arena`; NULL when it does not. */
    const char *(*real)(void *state, struct sbx_arena *arena, const char *path);
    /* Calls sbx_macos_rules_add_git for each place that git is led to from the writable ones. NULL: there is none. */
    enum sbx_code (*find_git)(const struct sbx_macos_host *host, struct sbx_arena *arena,
                              const struct sbx_policy *policy, struct sbx_macos_rules *rules,
                              struct sbx_err *err);
    void *state;
};

struct sbx_macos_rule {
    struct sbx_path path;  /* real */
    struct sbx_path given; /* as the policy has it */
    enum sbx_access access;
    enum sbx_rule_kind kind;
    enum sbx_layer_of_rule by;
    size_t above;        /* 1 + index of the nearest rule that contains it, 0: none */
    bool is_below_final; /* an administrator's rule above decides: it rules nothing */
};

struct sbx_macos_glob {
    struct sbx_str pattern; /* components from the root */
    enum sbx_access access; /* read or none */
};

struct sbx_macos_rules {
    struct sbx_macos_rule *items; /* parents first; the first is "/" */
    size_t count, capacity;
    struct sbx_macos_glob *globs;
    size_t glob_count, glob_capacity;
    /* Writable places that are to git what ".git" is, because a ".git" file or link, or a "commondir" leads there: what is
     * protected in ".git" is protected in them. The last name may be "*". */
    struct sbx_path *git;
    size_t git_count, git_capacity;
};

/* More is an error: a rule of Seatbelt has a size. */
#define SBX_MACOS_GIT_MAX ((size_t)64)

/* The name the kernel has: without aliases, with symbolic links resolved as far as the path exists. `host` may be NULL. False
 * without memory. */
bool sbx_macos_real(struct sbx_arena *arena, const struct sbx_macos_host *host,
                    struct sbx_path path, struct sbx_path *out) SBX_MUST_USE;

/* A control character in a name of the disk means something else to comparisons, and two stars to patterns: has the path
 * neither? Its text ends with a NUL. */
bool sbx_macos_is_plain(struct sbx_path path);

/* Takes a place, existing or not, that git is led to; one that the box cannot write, or that a rule makes writable as such, is
 * left out. SBX_E_INVALID when its name cannot be a pattern, SBX_E_LIMIT when there are too many. */
enum sbx_code sbx_macos_rules_add_git(struct sbx_arena *arena, const struct sbx_policy *policy,
                                      struct sbx_path path, struct sbx_macos_rules *rules,
                                      struct sbx_err *err) SBX_MUST_USE;

/* `scratch` is a directory of the box's own, writable; empty text: none. A writable rule that leads through a
 * symbolic link is SBX_E_INVALID: whoever may change the link would choose what is writable. */
enum sbx_code sbx_macos_rules_make(struct sbx_arena *arena, const struct sbx_policy *policy,
                                   const struct sbx_macos_host *host, struct sbx_path scratch,
                                   struct sbx_macos_rules *out, struct sbx_err *err) SBX_MUST_USE;

#endif
