/* The backend without isolation: the environment is still dropped, nothing else is held. */
#include <string.h>

#include "common/os.h"
#include "common/run/backend.h"
#include "common/run/environment.h"

#include "common/base/banned.h"

static void probe(struct sbx_arena *arena, struct sbx_probe *out)
{
    (void)arena;
    *out = (struct sbx_probe){.state = SBX_PROBE_PASSED};
}

static enum sbx_code run(struct sbx_arena *arena, const struct sbx_plan *plan,
                         const struct sbx_selection *selection, struct sbx_run_record *out,
                         struct sbx_err *err)
{
    (void)selection;
    const char *const *env;
    enum sbx_code code = sbx_environment_make(arena, plan->policy, &env, err);
    if (code != SBX_OK) return code;
    struct sbx_plain_run plain = {
        .program = plan->command[0],
        .search_path = sbx_os_env(arena, "PATH"),
        .argv = plan->command,
        .env = env,
        .cwd = plan->policy->cwd.text,
        .timeout_ns = plan->timeout_ns,
        .max_output_bytes = plan->policy->limits.output_bytes,
    };
    /* Nothing is denied here, so nothing is kept that could explain it. */
    struct sbx_run_record record = {0};
    struct sbx_path found;
    code = sbx_os_find_program(arena, plain.program, plain.search_path, &found, err);
    if (code == SBX_OK) sbx_run_starts(NULL, 0);
    if (code == SBX_OK) code = sbx_os_run_plain(&plain, &record.outcome, err);
    if (code == SBX_OK) *out = record;
    return code;
}

const struct sbx_backend sbx_backend_none = {.id = SBX_BACKEND_NONE, .probe = probe, .run = run};
