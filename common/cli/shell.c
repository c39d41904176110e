/* Which shell `sbx shell` starts. */
#include "common/cli/shell.h"

#include "common/policy/question.h"

#include "common/base/banned.h"

static bool is_readable(struct sbx_arena *arena, const struct sbx_policy *policy,
                        struct sbx_path path)
{
    AUTO_BUF unused;
    sbx_buf_init(&unused, 64u << 10);
    struct sbx_question question = {.kind = SBX_ASK_PATH, .path = path};
    return sbx_question_allowed(arena, policy, &question, &unused);
}

/* Both names count: the link (/bin/sh) and the file it leads to. */
static bool is_usable(struct sbx_arena *arena, const struct sbx_policy *policy, const char *shell)
{
    struct sbx_path path = {0};
    struct sbx_path real = {0};
    struct sbx_err ignored = {0};
    return shell != NULL && shell[0] == '/' &&
           sbx_os_find_program(arena, shell, NULL, &path, &ignored) == SBX_OK &&
           sbx_os_real_path(arena, shell, &real, &ignored) == SBX_OK &&
           is_readable(arena, policy, path) && is_readable(arena, policy, real);
}

enum sbx_code sbx_shell_choose(struct sbx_cli *cli, const struct sbx_setup *setup, const char **out,
                               struct sbx_err *err)
{
    const char *const shells[] = {sbx_os_env(&cli->arena, "SHELL"), "/bin/bash", "/bin/sh"};
    struct sbx_policy policy;
    if (setup->context.platform == SBX_WINDOWS) {
        (void)sbx_err_set(err, SBX_E_UNSUPPORTED, "sbx shell does not work on Windows yet");
        return sbx_err_hint(err, "run one command: sbx run -- cmd /c COMMAND");
    }
    /* What is wrong with the policy is told when it is resolved for the run. */
    struct sbx_findings unused;
    sbx_findings_init(&unused, &cli->arena);
    sbx_policy_resolve(&cli->arena, &setup->manifest, &setup->context, &setup->ceiling, &unused,
                       &policy);
    if (!sbx_findings_ok(&unused)) {
        *out = "/bin/sh";
        return SBX_OK;
    }
    for (size_t i = 0; i < SBX_COUNT(shells); i++) {
        if (is_usable(&cli->arena, &policy, shells[i])) {
            *out = shells[i];
            return SBX_OK;
        }
    }
    (void)sbx_err_set(err, SBX_E_NOT_FOUND,
                      "the box may read no shell: neither $SHELL nor /bin/sh");
    return sbx_err_hint(err, "allow one with -r, or run a program: sbx run --tty -- PROGRAM");
}
