/* The backend `appcontainer`: plan to box. What a box is made of and in which order is in box_steps.c. */
#include "common/os.h"
#include "common/run/backend.h"
#include "win/backend_win.h"
#include "win/box.h"

#include "common/base/banned.h"

static void probe(struct sbx_arena *arena, struct sbx_probe *out)
{
    struct sbx_context context;
    struct sbx_err err;
    if (sbx_os_context(arena, &context, &err) != SBX_OK) {
        const char *reason = sbx_arena_copy(arena, err.text, sizeof err.text - 1);
        *out = (struct sbx_probe){.state = SBX_PROBE_FAILED,
                                  .reason = reason == NULL ? "out of memory" : reason};
        return;
    }
    sbx_recipe_probe(arena, &context, out);
}

static uint32_t processes_of(const struct sbx_policy *policy)
{
    uint64_t processes = policy->limits.processes;
    return processes > UINT32_MAX ? UINT32_MAX : (uint32_t)processes;
}

static enum sbx_code run(struct sbx_arena *arena, const struct sbx_plan *plan,
                         const struct sbx_selection *selection, struct sbx_run_record *out,
                         struct sbx_err *err)
{
    (void)selection;
    const struct sbx_context *context = &plan->policy->context;
    struct sbx_box_plan box = {
        .policy = plan->policy,
        .command = plan->command,
        .limits = {.process_memory_bytes = plan->process_memory_bytes,
                   .memory_bytes = plan->memory_bytes,
                   .cpu_secs = plan->policy->limits.cpu_secs,
                   .processes = processes_of(plan->policy)},
        .timeout_ns = plan->timeout_ns,
        .wants_terminal = plan->wants_terminal,
        .progress = out->progress,
    };
    if (!sbx_recipe_known(arena, context, &box.recipe)) {
        return sbx_err_set(err, SBX_E_UNAVAILABLE,
                           "no way to start a box is known on this machine");
    }
    enum sbx_code code = sbx_box_run(arena, &box, out, err);
    /* Anything but the command's own fault may mean that the machine changed since it was tried. */
    if (code != SBX_OK && code != SBX_E_NOT_FOUND && code != SBX_E_DENIED) {
        sbx_recipe_forget(arena, context);
    }
    return code;
}

const struct sbx_backend sbx_backend_appcontainer = {
    .id = SBX_BACKEND_APPCONTAINER, .probe = probe, .run = run};
