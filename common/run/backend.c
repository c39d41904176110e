/* The backends of this build, and the one that refuses. */
#include "common/run/backend.h"

#include "common/base/banned.h"

static void always_passes(struct sbx_arena *arena, struct sbx_probe *out)
{
    (void)arena;
    *out = (struct sbx_probe){.state = SBX_PROBE_PASSED};
}

/* A backend like any other, so that selection always resolves and the refusal cannot be forgotten. */
static enum sbx_code fail_closed_run(struct sbx_arena *arena, const struct sbx_plan *plan,
                                     const struct sbx_selection *selection,
                                     struct sbx_run_record *out, struct sbx_err *err)
{
    (void)arena;
    (void)plan;
    (void)out;
    return sbx_err_set(err, SBX_E_UNAVAILABLE,
                       "sandbox UNAVAILABLE and unsandboxed execution is not permitted: %s",
                       selection->why == NULL ? "nothing fits" : selection->why);
}

const struct sbx_backend sbx_backend_fail_closed = {
    .id = SBX_BACKEND_FAIL_CLOSED, .probe = always_passes, .run = fail_closed_run};

const struct sbx_backend *sbx_backend_find(enum sbx_backend_id id)
{
    if (id == SBX_BACKEND_NONE) return &sbx_backend_none;
    if (id == SBX_BACKEND_FAIL_CLOSED) return &sbx_backend_fail_closed;
    const struct sbx_backend *const *list = sbx_platform_backends();
    for (size_t i = 0; list[i] != NULL; i++)
        if (list[i]->id == id) return list[i];
    return NULL;
}
