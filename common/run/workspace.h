/* Access entries of sbx that stay on the disk so that a run needs to write none: one implementation per build. Only
 * Windows has any; elsewhere every function is SBX_E_UNSUPPORTED. */
#ifndef SBX_RUN_WORKSPACE_H
#define SBX_RUN_WORKSPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/policy/policy.h"
#include "common/run/progress.h"

/* A place that has them. */
struct sbx_workspace {
    const char *path;
    bool is_write;
    const char *capability; /* what a box must carry for them to mean anything */
    const char *state;      /* "complete"; "adding", "removing": interrupted, or under way */
    uint64_t objects;       /* files and directories below, when they were written */
    uint64_t narrowed;      /* closed or read-only ones among them */
    uint64_t since;         /* seconds since 1970 */
};

struct sbx_workspaces {
    const struct sbx_workspace *items;
    size_t count;
    const char *const *remarks; /* what a person should know */
    size_t remark_count;
};

/* All of this user, by path. Changes nothing but to put damaged records aside. */
enum sbx_code sbx_workspace_list(struct sbx_arena *arena, const struct sbx_context *context,
                                 struct sbx_workspaces *out, struct sbx_err *err) SBX_MUST_USE;

/* Writes the entries that a box of this policy needs, also below places that have them already: what was moved
 * there gets its own. *out gets the places of the policy. Cancelled by the caller's progress or by Ctrl-C:
 * SBX_E_UNAVAILABLE, and what was written is taken away again. */
enum sbx_code sbx_workspace_add(struct sbx_arena *arena, const struct sbx_policy *policy,
                                const struct sbx_progress *progress, struct sbx_workspaces *out,
                                struct sbx_err *err) SBX_MUST_USE;

/* Takes the entries of one place away, or of all (path with a NULL text). *out gets what was removed, with the
 * number of objects looked at. SBX_E_NOT_FOUND when the place has none. */
enum sbx_code sbx_workspace_remove(struct sbx_arena *arena, const struct sbx_context *context,
                                   struct sbx_path path, const struct sbx_progress *progress,
                                   struct sbx_workspaces *out, struct sbx_err *err) SBX_MUST_USE;

/* Takes away everything that sbx keeps for this user: profiles and leases of dead runs, the entries of all places, what it
 * learnt and was told to trust, and its directory. *out gets the places. Refused (SBX_E_UNAVAILABLE) while a box of the user runs or
 * something could not be undone: the records of it stay. Files that are not sbx's stay too, with a remark. */
enum sbx_code sbx_workspace_purge(struct sbx_arena *arena, const struct sbx_context *context,
                                  const struct sbx_progress *progress, struct sbx_workspaces *out,
                                  struct sbx_err *err) SBX_MUST_USE;

#endif
