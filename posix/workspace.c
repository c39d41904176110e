/* Access entries that stay on the disk: systems with mounts or Landlock need none. */
#include "common/run/workspace.h"

#include "common/base/banned.h"

static enum sbx_code refuse(struct sbx_err *err)
{
    (void)sbx_err_set(
        err, SBX_E_UNSUPPORTED,
        "grants on disk exist on Windows only: here a box gets its files when it starts");
    return sbx_err_hint(err, "nothing is to be added or removed");
}

enum sbx_code sbx_workspace_list(struct sbx_arena *arena, const struct sbx_context *context,
                                 struct sbx_workspaces *out, struct sbx_err *err)
{
    (void)arena;
    (void)context;
    (void)out;
    return refuse(err);
}

enum sbx_code sbx_workspace_add(struct sbx_arena *arena, const struct sbx_policy *policy,
                                const struct sbx_progress *progress, struct sbx_workspaces *out,
                                struct sbx_err *err)
{
    (void)arena;
    (void)policy;
    (void)progress;
    (void)out;
    return refuse(err);
}

enum sbx_code sbx_workspace_remove(struct sbx_arena *arena, const struct sbx_context *context,
                                   struct sbx_path path, const struct sbx_progress *progress,
                                   struct sbx_workspaces *out, struct sbx_err *err)
{
    (void)arena;
    (void)context;
    (void)path;
    (void)progress;
    (void)out;
    return refuse(err);
}

enum sbx_code sbx_workspace_purge(struct sbx_arena *arena, const struct sbx_context *context,
                                  const struct sbx_progress *progress, struct sbx_workspaces *out,
                                  struct sbx_err *err)
{
    (void)arena;
    (void)context;
    (void)progress;
    (void)out;
    return refuse(err);
}
