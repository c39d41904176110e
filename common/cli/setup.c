/* From a command line to something that can be planned. */
#include "common/cli/setup.h"

#include "common/base/log.h"
#include "common/cli/attended.h"

#include "common/base/banned.h"

enum sbx_code sbx_setup_context(struct sbx_cli *cli, struct sbx_context *out, struct sbx_err *err)
{
    const char *name = cli->args.values[SBX_OPT_PLATFORM];
    int platform;
    if (name != NULL && sbx_name_value(sbx_platform_names, sbx_str(name), &platform)) {
        struct sbx_facts here = {0};
        sbx_os_facts(&cli->arena, &here);
        if ((int)here.platform != platform)
            return sbx_context_assume(&cli->arena, (enum sbx_platform)platform, out, err);
    }
    return sbx_os_context(&cli->arena, out, err);
}

enum sbx_code sbx_setup_make(struct sbx_cli *cli, struct sbx_setup *out, struct sbx_err *err)
{
    struct sbx_setup_input input = {
        .arena = &cli->arena,
        .findings = &cli->findings,
        .manifest_named = cli->args.values[SBX_OPT_MANIFEST],
        .ignores_manifest = cli->args.given[SBX_OPT_NO_MANIFEST],
        .flags = &cli->args.flags,
    };
    struct sbx_context context;
    enum sbx_code code = sbx_setup_context(cli, &context, err);
    if (code == SBX_OK) code = sbx_attended_manifest(cli, &input.manifest_text, err);
    return code != SBX_OK ? code : sbx_setup_read(&input, &context, out, err);
}

static void log_decision(const struct sbx_prepared *prepared)
{
    const struct sbx_selection *selection = &prepared->selection;
    for (size_t i = 0; i < selection->tried_count; i++)
        sbx_log(SBX_LOG_DEBUG, "backend %s: %s%s%s",
                sbx_name_text(sbx_backend_names, (int)selection->tried[i].backend),
                sbx_name_text(sbx_verdict_names, (int)selection->tried[i].verdict),
                selection->tried[i].reason == NULL ? "" : ": ",
                selection->tried[i].reason == NULL ? "" : selection->tried[i].reason);
    sbx_log(SBX_LOG_INFO, "backend %s by row: %s",
            sbx_name_text(sbx_backend_names, (int)selection->backend), selection->row);
    char digest[SBX_SHA256_HEX];
    if (sbx_log_takes(SBX_LOG_INFO) && sbx_plan_digest(&prepared->plan, digest))
        sbx_log(SBX_LOG_INFO, "plan %s", digest);
}

enum sbx_code sbx_setup_decide(struct sbx_cli *cli, const char *const *command,
                               const struct sbx_setup *setup, struct sbx_prepared *out,
                               struct sbx_err *err)
{
    bool is_shell = cli->args.command == SBX_CMD_SHELL;
    struct sbx_prepare_input input = {
        .manifest = &setup->manifest,
        .context = &setup->context,
        .ceiling = &setup->ceiling,
        .request = sbx_os_env(&cli->arena, "SBX_SANDBOX"),
        .opt_in = sbx_os_env(&cli->arena, "SBX_ALLOW_NO_SANDBOX"),
        .command = command,
        .wants_terminal =
            cli->args.given[SBX_OPT_TTY] || (is_shell && sbx_os_is_terminal(SBX_STDIN)),
        .will_run = cli->args.command == SBX_CMD_RUN && !cli->args.given[SBX_OPT_DRY_RUN] &&
                    !cli->args.given[SBX_OPT_SERVICE],
        .is_session = is_shell,
        .probes = &cli->probes,
    };
    /* What the caller's machine is told to use says nothing about another one. */
    if (setup->context.is_assumed) input.request = input.opt_in = NULL;
    sbx_log(SBX_LOG_INFO, "cwd %s, home %s", setup->context.cwd.text, setup->context.home.text);
    sbx_log(SBX_LOG_INFO, "manifest %s",
            setup->found == SBX_FOUND_NOTHING ? "none" : setup->manifest_path.text);
    enum sbx_code code = sbx_prepare(&cli->arena, &input, &cli->findings, out, err);
    if (code == SBX_OK) log_decision(out);
    return code;
}

enum sbx_code sbx_setup_prepare(struct sbx_cli *cli, const char *const *command,
                                struct sbx_setup *setup, struct sbx_prepared *out,
                                struct sbx_err *err)
{
    enum sbx_code code = sbx_setup_make(cli, setup, err);
    return code != SBX_OK ? code : sbx_setup_decide(cli, command, setup, out, err);
}
