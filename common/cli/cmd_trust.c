/* sbx trust: accept a discovered manifest, by its content. */
#include "common/cli/report.h"
#include "common/run/trust.h"

#include "common/base/banned.h"

static int list_trusted(struct sbx_cli *cli, const struct sbx_context *context)
{
    struct sbx_trust_store store;
    struct sbx_err err = {0};
    if (sbx_trust_load(&cli->arena, context, &store, &err) != SBX_OK)
        return sbx_cli_fail(cli, &err, SBX_EXIT_NEGATIVE);
    AUTO_BUF text;
    sbx_buf_init(&text, 16u << 20);
    struct sbx_jsonw json;
    if (cli->out.json) {
        sbx_report_open(&json, &text, cli);
        sbx_jsonw_pair_bool(&json, "ok", true);
        sbx_jsonw_key(&json, "trusted");
        sbx_jsonw_array(&json);
    }
    for (size_t i = 0; i < store.count; i++) {
        const struct sbx_trust_entry *entry = &store.entries[i];
        if (cli->out.json) {
            sbx_jsonw_object(&json);
            sbx_jsonw_pair_text(&json, "path", entry->path);
            sbx_jsonw_pair_text(&json, "sha256", entry->digest);
            sbx_jsonw_end(&json);
        } else {
            sbx_buf_printf(&text, "%.12s  ", entry->digest);
            sbx_buf_add_visible(&text, sbx_str(entry->path), false);
            sbx_buf_add_char(&text, '\n');
        }
    }
    if (!cli->out.json)
        return sbx_output_write(SBX_STDOUT, &text) ? SBX_EXIT_OK : SBX_EXIT_NEGATIVE;
    sbx_jsonw_end(&json);
    return sbx_report_close(&json, SBX_EXIT_OK);
}

/* The bytes that are accepted are the bytes that were read and understood. */
static enum sbx_code digest_of(struct sbx_cli *cli, const char *path, struct sbx_loaded *loaded,
                               struct sbx_err *err)
{
    if (!sbx_load_document(&cli->arena, path, path, &cli->findings, loaded) ||
        !sbx_findings_ok(&cli->findings))
        return sbx_err_set(err, SBX_E_INVALID, "\"%s\" is not a valid manifest", path);
    if (!loaded->info.is_callers) {
        (void)sbx_err_set(err, SBX_E_UNTRUSTED, "\"%s\" belongs to another user", path);
        return sbx_err_hint(err, "copy it, or name it with -f");
    }
    return SBX_OK;
}

static int change_trust(struct sbx_cli *cli, const struct sbx_context *context, const char *path)
{
    bool remove = cli->args.given[SBX_OPT_REMOVE];
    struct sbx_loaded loaded = {0};
    struct sbx_path real;
    struct sbx_err err = {0};
    bool changed = false;
    enum sbx_code code = sbx_os_real_path(&cli->arena, path, &real, &err);
    /* A file that is gone can still be forgotten, under the name it was listed with. */
    if (code != SBX_OK && remove)
        real = (struct sbx_path){path, sbx_str(path).len, context->cwd.rules};
    if (code == SBX_OK || remove) code = remove ? SBX_OK : digest_of(cli, path, &loaded, &err);
    if (code == SBX_OK)
        code = sbx_trust_change(&cli->arena, context, real.text, remove ? NULL : loaded.digest,
                                &changed, &err);
    if (code != SBX_OK) return sbx_cli_fail(cli, &err, SBX_EXIT_NEGATIVE);
    AUTO_BUF text;
    sbx_buf_init(&text, 1u << 20);
    if (cli->out.json) {
        struct sbx_jsonw json;
        sbx_report_open(&json, &text, cli);
        sbx_jsonw_pair_bool(&json, "ok", true);
        sbx_jsonw_pair_text(&json, "path", real.text);
        sbx_jsonw_pair_text(&json, "sha256", remove ? NULL : loaded.digest);
        sbx_jsonw_pair_bool(&json, "changed", changed);
        return sbx_report_close(&json, SBX_EXIT_OK);
    }
    sbx_buf_add_text(&text, remove ? (changed ? "no longer trusted: " : "was not trusted: ")
                                   : (changed ? "trusted: " : "already trusted: "));
    sbx_buf_add_visible(&text, sbx_str(real.text), false);
    if (!remove)
        sbx_buf_printf(&text, " (sha256 %.12s; any change needs a new sbx trust)", loaded.digest);
    sbx_buf_add_char(&text, '\n');
    return sbx_output_write(SBX_STDOUT, &text) ? SBX_EXIT_OK : SBX_EXIT_NEGATIVE;
}

int sbx_cmd_trust(struct sbx_cli *cli)
{
    struct sbx_context context;
    struct sbx_err err = {0};
    bool lists = cli->args.given[SBX_OPT_LIST];
    if (lists && (cli->args.given[SBX_OPT_REMOVE] || cli->args.rest_count > 0))
        return sbx_cli_usage(cli, "--list takes nothing else");
    if (cli->args.rest_count > 1) return sbx_cli_usage(cli, "one file at a time");
    if (sbx_os_context(&cli->arena, &context, &err) != SBX_OK)
        return sbx_cli_fail(cli, &err, SBX_EXIT_NEGATIVE);
    if (lists) return list_trusted(cli, &context);
    if (cli->args.rest_count == 1) return change_trust(cli, &context, cli->args.rest[0]);
    struct sbx_path found;
    if (!sbx_discover(&cli->arena, &context, &found))
        return sbx_cli_usage(cli, "no file is given, and no sbx.toml was found from here upwards");
    return change_trust(cli, &context, found.text);
}
