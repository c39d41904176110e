/* From a command line to something that can be planned. */
#include "common/cli/setup.h"

#include "common/base/log.h"
#include "common/cli/trust.h"
#include "common/policy/widen.h"
#include "common/policy/word.h"

#include "common/base/banned.h"

#define MANIFEST_NAME "sbx.toml"

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

bool sbx_discover(struct sbx_arena *arena, const struct sbx_context *context, struct sbx_path *out)
{
    struct sbx_path dir = context->cwd;
    while (dir.text != NULL) {
        struct sbx_path file;
        struct sbx_path repository;
        struct sbx_file_info info;
        if (sbx_path_join(arena, dir, sbx_str(MANIFEST_NAME), &file) != SBX_PATH_OK ||
            sbx_path_join(arena, dir, sbx_str(".git"), &repository) != SBX_PATH_OK)
            return false;
        sbx_os_file_info(file.text, &info);
        if (info.node != SBX_NODE_MISSING) {
            *out = file;
            return true;
        }
        sbx_os_file_info(repository.text, &info);
        bool is_top = info.node != SBX_NODE_MISSING || sbx_path_is_root(dir) ||
                      (context->home.len > 0 && sbx_path_eq(dir, context->home));
        if (is_top) return false;
        dir = sbx_path_parent(arena, dir);
    }
    return false;
}

/* A manifest nobody named must at least be the caller's own. */
static bool is_callers(struct sbx_cli *cli, const struct sbx_setup *setup,
                       const struct sbx_file_info *info)
{
    if (setup->found != SBX_FOUND_NEARBY || info->is_callers) return true;
    struct sbx_origin at = {.source = setup->manifest_shown};
    struct sbx_finding *finding =
        sbx_findings_add(&cli->findings, SBX_F_USER_UNTRUSTED, &at, "", (struct sbx_str){0},
                         "the manifest that was found belongs to another user");
    AUTO_BUF word;
    sbx_buf_init(&word, 64u << 10);
    sbx_word_add(&word, setup->context.platform, setup->manifest_shown);
    sbx_finding_hint(&cli->findings, finding,
                     "name it with -f %s to use it, or ignore it with --no-manifest",
                     sbx_buf_text(&word));
    return false;
}

void sbx_setup_project(struct sbx_arena *arena, struct sbx_context *context, const char *path,
                       struct sbx_path *real)
{
    struct sbx_err ignored = {0};
    context->project = context->cwd;
    if (context->is_assumed || sbx_text_eq(path, "-")) return;
    if (sbx_os_real_path(arena, path, real, &ignored) != SBX_OK) return;
    struct sbx_path parent = sbx_path_parent(arena, *real);
    if (parent.text != NULL) context->project = parent;
}

static void default_manifest(struct sbx_manifest *out)
{
    *out = (struct sbx_manifest){.mode = SBX_MODE_WORKSPACE_WRITE, .set = 1u << SBX_KEY_MODE};
    out->at[SBX_KEY_MODE].source = "default";
}

static enum sbx_code read_manifest(struct sbx_cli *cli, struct sbx_setup *setup,
                                   struct sbx_manifest *out, struct sbx_err *err)
{
    struct sbx_loaded loaded;
    const char *path =
        setup->found == SBX_FOUND_NAMED ? setup->manifest_shown : setup->manifest_path.text;
    if (!sbx_load_document(&cli->arena, path, setup->manifest_shown, &cli->findings, &loaded))
        return sbx_err_set(err, SBX_E_INVALID, "the manifest cannot be read");
    for (size_t i = 0; i < SBX_SHA256_HEX; i++) setup->manifest_digest[i] = loaded.digest[i];
    if (!is_callers(cli, setup, &loaded.info))
        return sbx_err_set(err, SBX_E_UNTRUSTED, "the manifest belongs to another user");
    sbx_setup_project(&cli->arena, &setup->context, path, &setup->manifest_path);
    /* Units alone say nothing about this run. */
    if (loaded.document.has_sandbox)
        *out = loaded.document.sandbox;
    else
        default_manifest(out);
    return SBX_OK;
}

static enum sbx_code find_manifest(struct sbx_cli *cli, struct sbx_setup *setup,
                                   struct sbx_err *err)
{
    const char *named = cli->args.values[SBX_OPT_MANIFEST];
    if (named != NULL && cli->args.given[SBX_OPT_NO_MANIFEST]) {
        (void)sbx_err_set(err, SBX_E_USAGE, "-f and --no-manifest exclude each other");
        return sbx_err_hint(err, "keep one of them");
    }
    if (named != NULL) {
        setup->found = SBX_FOUND_NAMED;
        setup->manifest_shown = named;
        setup->manifest_path =
            (struct sbx_path){named, sbx_str(named).len, setup->context.cwd.rules};
        return SBX_OK;
    }
    struct sbx_context here;
    if (cli->args.given[SBX_OPT_NO_MANIFEST]) return SBX_OK;
    if (!setup->context.is_assumed) {
        here = setup->context;
    } else {
        enum sbx_code code = sbx_os_context(&cli->arena, &here, err);
        if (code != SBX_OK) return code;
    }
    if (sbx_discover(&cli->arena, &here, &setup->manifest_path)) {
        setup->found = SBX_FOUND_NEARBY;
        setup->manifest_shown = setup->manifest_path.text;
    }
    return SBX_OK;
}

/* A discovered manifest may tighten the default, or was accepted by content. */
static enum sbx_code check_trust(struct sbx_cli *cli, const struct sbx_manifest *file,
                                 struct sbx_setup *setup, struct sbx_err *err)
{
    if (setup->found != SBX_FOUND_NEARBY || setup->context.is_assumed) return SBX_OK;
    struct sbx_trust_store store;
    enum sbx_code code = sbx_trust_load(&cli->arena, &setup->context, &store, err);
    if (code != SBX_OK) return code;
    setup->is_trusted = sbx_trust_has(&store, setup->manifest_path.text, setup->manifest_digest);
    if (setup->is_trusted) return SBX_OK;
    struct sbx_findings unused;
    struct sbx_policy base;
    struct sbx_policy wanted;
    struct sbx_manifest nothing;
    default_manifest(&nothing);
    sbx_findings_init(&unused, &cli->arena);
    sbx_policy_resolve(&cli->arena, &nothing, &setup->context, &setup->ceiling, &unused, &base);
    sbx_policy_resolve(&cli->arena, file, &setup->context, &setup->ceiling, &unused, &wanted);
    const char **reasons = NULL;
    size_t count = 0;
    if (!sbx_policy_widens(&cli->arena, &base, &wanted, &reasons, &count))
        return sbx_err_nomem(err);
    if (count == 0) return SBX_OK;
    AUTO_BUF text;
    sbx_buf_init(&text, 4096);
    const size_t most = 5;
    for (size_t i = 0; i < count && i < most; i++)
        sbx_buf_printf(&text, "%s%s", i == 0 ? "" : "; ", reasons[i]);
    if (count > most) sbx_buf_printf(&text, "; and %zu more", count - most);
    struct sbx_origin at = {.source = setup->manifest_shown};
    struct sbx_finding *finding =
        sbx_findings_add(&cli->findings, SBX_F_MANIFEST_UNTRUSTED, &at, "", (struct sbx_str){0},
                         "this manifest was found, not named, and allows more than the default: %s",
                         sbx_buf_text(&text));
    AUTO_BUF word;
    sbx_buf_init(&word, 64u << 10);
    sbx_word_add(&word, setup->context.platform, setup->manifest_shown);
    sbx_finding_hint(&cli->findings, finding,
                     "read it, then accept this content with: sbx trust %s", sbx_buf_text(&word));
    return sbx_err_set(err, SBX_E_UNTRUSTED, "the manifest is not trusted");
}

enum sbx_code sbx_setup_make(struct sbx_cli *cli, struct sbx_setup *out, struct sbx_err *err)
{
    *out = (struct sbx_setup){.manifest_shown = "", .manifest_path = {.text = ""}};
    sbx_ceiling_init(&out->ceiling);
    enum sbx_code code = sbx_setup_context(cli, &out->context, err);
    if (code != SBX_OK) return code;
    if (!out->context.is_assumed && !sbx_load_ceiling(&cli->arena, &cli->findings, &out->ceiling))
        return sbx_err_set(err, SBX_E_INVALID, "the administrator's policy cannot be used");
    code = find_manifest(cli, out, err);
    if (code != SBX_OK) return code;
    struct sbx_manifest file;
    default_manifest(&file);
    if (out->found != SBX_FOUND_NOTHING) {
        code = read_manifest(cli, out, &file, err);
        if (code != SBX_OK) return code;
    }
    if (!sbx_findings_ok(&cli->findings))
        return sbx_err_set(err, SBX_E_INVALID, "the manifest has errors");
    code = check_trust(cli, &file, out, err);
    if (code != SBX_OK) return code;
    return sbx_manifest_merge(&cli->arena, &file, &cli->args.flags, &out->manifest, err);
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
        .will_run = cli->args.command == SBX_CMD_RUN && !cli->args.given[SBX_OPT_DRY_RUN],
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
