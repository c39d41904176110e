/* What of a policy must be mounted by name: the existing files and directories below its writable roots that
 * are protected, and the existing matches of its globs. A mount needs a path, a policy has patterns; this
 * walks the file system between the two, and remembers what it saw. */
#ifndef SBX_POSIX_LINUX_NAMES_H
#define SBX_POSIX_LINUX_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/policy/plan.h"

/* More than this is an error, never a shorter list: protection that silently ends somewhere is worse than a
 * run that does not start. */
#define SBX_NAMES_MAX ((size_t)4096)
#define SBX_NAMES_ENTRIES_MAX ((uint64_t)10000000)

/* A path that must be mounted although no literal rule names it. */
struct sbx_found {
    const char *path; /* absolute, as in the box; the bytes of the disk, so perhaps not UTF-8 */
    enum sbx_access access; /* READ: bind it read-only; NONE: mask it. Never WRITE */
    bool is_directory;
    bool opens; /* a "read" glob inside what is closed: the mount point must be made first */

    /* Nothing can be mounted over a link itself. Where it leads has an entry of its own when the box could
     * change it (lock) or read it (mask). */
    bool is_symlink;
    const char *link; /* its text, else NULL */
    /* The link, or the ".git" file, leads to a place that no entry can hold: it does not exist yet inside a
     * writable root, or contains this very entry. Refuse, or say so. */
    bool target_open;

    uint64_t device, inode;                   /* of the entry itself, when it was looked at */
    const struct sbx_protect_row *protection; /* what protects it, or NULL */
    const struct sbx_rule *rule;              /* the glob, or NULL */
};

struct sbx_found_list {
    struct sbx_found *items; /* parents first (sbx_path_compare), no path twice */
    size_t count, capacity;
    /* With git = "commit": writable directories that are to git what ".git" is, because a ".git" file or link, or a
     * "commondir" leads there. What is missing in them must not be made either. */
    const char **git_directories;
    size_t git_directory_count;
    uint64_t directories_read;       /* by listing them */
    uint64_t directories_from_cache; /* by their stamps */
    uint64_t entries;                /* names looked at */
    uint64_t unreadable; /* directories we may not list, and may not change either: skipped */
};

struct sbx_names_limits {
    size_t names;
    uint64_t entries;
};

/* Finds them. Applied together with the literal rules, the deepest path first said, the list makes every
 * existing path what sbx_policy_decide says of it, with three differences, all of them stricter or without
 * effect: below a match of a "none" glob a "read" glob opens nothing; what the host has below a tmpfs is not
 * visible and not looked at, nor is /proc, /dev and /sys; and the directory that a ".git" file, or a link named
 * like a protected path, leads to is locked wherever below a writable root it lies (unless a rule names just
 * it): with git = "commit" what git runs inside it, and inside its commondir.
 *
 * No symbolic link is followed while walking, mount points are crossed, and a root may itself be a link.
 * A directory that cannot be listed but could be written to is SBX_E_DENIED. Too much is SBX_E_LIMIT.
 *
 * `cache_dir` (absolute and clean, or NULL: none) is made, mode 0700, when missing. It is used only when it and its files belong to
 * the caller, nobody else can write there and the policy keeps the box from doing so; otherwise, and when a
 * file in it is damaged, all is walked as without one. Results are the same either way.
 *
 * Results are in `arena` and point into `policy`. On failure *out is untouched. */
enum sbx_code sbx_names_find(struct sbx_arena *arena, const struct sbx_policy *policy,
                             const char *cache_dir, struct sbx_found_list *out,
                             struct sbx_err *err) SBX_MUST_USE;

/* The same with other limits. */
enum sbx_code sbx_names_find_within(struct sbx_arena *arena, const struct sbx_policy *policy,
                                    const char *cache_dir, const struct sbx_names_limits *limits,
                                    struct sbx_found_list *out, struct sbx_err *err) SBX_MUST_USE;

#endif
