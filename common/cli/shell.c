/* Which shell `sbx shell` starts. */
#include "common/cli/shell.h"

#include "common/policy/question.h"

#include "common/base/banned.h"

enum { CANDIDATES = 3 };

static bool is_readable(struct sbx_arena *arena, const struct sbx_policy *policy,
                        struct sbx_path path)
{
    AUTO_BUF unused;
    sbx_buf_init(&unused, 64u << 10);
    struct sbx_question question = {.kind = SBX_ASK_PATH, .path = path};
    return sbx_question_allowed(arena, policy, &question, &unused);
}

static bool is_absolute(struct sbx_arena *arena, enum sbx_path_rules rules, const char *path)
{
    struct sbx_path unused;
    return sbx_path_make(arena, rules, sbx_str(path), &unused) == SBX_PATH_OK;
}

/* Both names count: the link (/bin/sh) and the file it leads to. */
static bool is_usable(struct sbx_arena *arena, const struct sbx_policy *policy, const char *shell)
{
    struct sbx_path path = {0};
    struct sbx_path real = {0};
    struct sbx_err ignored = {0};
    return shell != NULL && is_absolute(arena, policy->context.cwd.rules, shell) &&
           sbx_os_find_program(arena, shell, NULL, &path, &ignored) == SBX_OK &&
           sbx_os_real_path(arena, shell, &real, &ignored) == SBX_OK &&
           is_readable(arena, policy, path) && is_readable(arena, policy, real);
}

/* What the caller uses, then what every machine of the platform has. */
static void list_candidates(struct sbx_arena *arena, const struct sbx_context *context,
                            const char *out[CANDIDATES])
{
    bool is_windows = context->platform == SBX_WINDOWS;
    out[0] = is_windows ? sbx_os_env(arena, "COMSPEC") : sbx_os_env(arena, "SHELL");
    out[1] = is_windows
                 ? sbx_arena_printf(arena, "%s\\System32\\cmd.exe", context->system_root.text)
                 : "/bin/bash";
    out[2] = is_windows ? NULL : "/bin/sh";
}

enum sbx_code sbx_shell_choose(struct sbx_cli *cli, const struct sbx_setup *setup, const char **out,
                               struct sbx_err *err)
{
    const char *shells[CANDIDATES];
    struct sbx_policy policy;
    list_candidates(&cli->arena, &setup->context, shells);
    bool is_windows = setup->context.platform == SBX_WINDOWS;
    const char *last = shells[is_windows ? 1 : 2];
    if (last == NULL) return sbx_err_nomem(err);
    /* What is wrong with the policy is told when it is resolved for the run. */
    struct sbx_findings unused;
    sbx_findings_init(&unused, &cli->arena);
    sbx_policy_resolve(&cli->arena, &setup->manifest, &setup->context, &setup->ceiling, &unused,
                       &policy);
    if (!sbx_findings_ok(&unused)) {
        *out = last;
        return SBX_OK;
    }
    for (size_t i = 0; i < SBX_COUNT(shells); i++) {
        if (is_usable(&cli->arena, &policy, shells[i])) {
            *out = shells[i];
            return SBX_OK;
        }
    }
    (void)sbx_err_set(err, SBX_E_NOT_FOUND, "the box may read no shell: neither %s nor %s",
                      is_windows ? "%COMSPEC%" : "$SHELL", last);
    return sbx_err_hint(err, "allow one with -r, or run a program: sbx run --tty -- PROGRAM");
}
