/* sbx verify: everything that is wrong with manifests and units, all at once. */
#include "common/cli/attended.h"
#include "common/cli/report.h"

#include "common/base/banned.h"

#define FILE_ARENA_BYTES ((size_t)128 << 20)

/* One manifest or unit: what the reader accepted is resolved as a run would. */
static void verify_one(const struct sbx_manifest *manifest, const struct sbx_context *context,
                       const struct sbx_ceiling *ceiling, struct sbx_findings *findings)
{
    struct sbx_policy policy;
    sbx_policy_resolve(findings->arena, manifest, context, ceiling, findings, &policy);
}

static void verify_document(const struct sbx_loaded *loaded, const struct sbx_context *context,
                            const struct sbx_ceiling *ceiling, struct sbx_findings *findings)
{
    if (loaded->document.has_sandbox)
        verify_one(&loaded->document.sandbox, context, ceiling, findings);
    for (size_t i = 0; i < loaded->document.unit_count; i++) {
        const struct sbx_unit *unit = &loaded->document.units[i];
        findings->unit = unit->name;
        if (unit->asks_for_sandbox) verify_one(&unit->sandbox, context, ceiling, findings);
        findings->unit = NULL;
    }
    sbx_findings_sort(findings);
}

/* A text is verified under that name, else the file of that name. */
static void verify_file(const char *path, struct sbx_str text, struct sbx_context *context,
                        const struct sbx_ceiling *ceiling, struct sbx_findings *findings)
{
    struct sbx_loaded loaded = {0};
    struct sbx_path unused;
    if (text.ptr != NULL ? !sbx_load_text(findings->arena, text, path, findings, &loaded)
                         : !sbx_load_document(findings->arena, path, path, findings, &loaded))
        return;
    if (text.ptr == NULL) sbx_setup_project(findings->arena, context, path, &unused);
    verify_document(&loaded, context, ceiling, findings);
}

static void json_file(struct sbx_jsonw *json, const char *path, const struct sbx_findings *findings)
{
    sbx_jsonw_object(json);
    sbx_jsonw_pair_text(json, "file", path);
    sbx_jsonw_pair_bool(json, "ok", sbx_findings_ok(findings));
    sbx_jsonw_key(json, "findings");
    sbx_findings_json(findings, json);
    sbx_jsonw_end(json);
}

static void text_file(const struct sbx_cli *cli, const char *path,
                      const struct sbx_findings *findings, struct sbx_buf *text)
{
    struct sbx_output all = cli->out;
    all.verbose = !cli->out.quiet; /* who verifies wants the notes too */
    sbx_findings_print(findings, &all, cli->out.colour_stdout, text);
    sbx_buf_add_visible(text, sbx_str(path), false);
    if (sbx_findings_ok(findings) && findings->warnings == 0) {
        sbx_tone_add(text, cli->out.colour_stdout, SBX_TONE_GOOD, ": ok\n");
        return;
    }
    sbx_buf_printf(text, ": %zu error%s, %zu warning%s\n", findings->errors,
                   findings->errors == 1 ? "" : "s", findings->warnings,
                   findings->warnings == 1 ? "" : "s");
}

static bool ceiling_ok(struct sbx_cli *cli, const struct sbx_context *context,
                       struct sbx_ceiling *ceiling)
{
    sbx_ceiling_init(ceiling);
    return context->is_assumed || sbx_load_ceiling(&cli->arena, &cli->findings, ceiling);
}

/* One file's part of the report; false when something is wrong with it. What it took is given back before the
 * next one. */
static bool report_file(const struct sbx_cli *cli, const char *path, struct sbx_str given,
                        const struct sbx_context *context, const struct sbx_ceiling *ceiling,
                        struct sbx_jsonw *json, struct sbx_buf *text)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, FILE_ARENA_BYTES);
    struct sbx_context here = *context;
    struct sbx_findings findings;
    sbx_findings_init(&findings, &arena);
    verify_file(path, given, &here, ceiling, &findings);
    if (cli->out.json)
        json_file(json, path, &findings);
    else
        text_file(cli, path, &findings, text);
    return sbx_findings_ok(&findings);
}

int sbx_cmd_verify(struct sbx_cli *cli)
{
    struct sbx_context context;
    struct sbx_ceiling ceiling;
    struct sbx_err err = {0};
    struct sbx_str given = {0};
    if (sbx_attended_manifest(cli, &given, &err) != SBX_OK)
        return sbx_cli_fail(cli, &err, SBX_EXIT_NEGATIVE);
    if (cli->args.rest_count == 0 && given.ptr == NULL)
        return sbx_cli_usage(cli,
                             "no file is given; for the nearest one write sbx verify sbx.toml");
    if (sbx_setup_context(cli, &context, &err) != SBX_OK)
        return sbx_cli_fail(cli, &err, SBX_EXIT_NEGATIVE);
    if (!ceiling_ok(cli, &context, &ceiling)) {
        (void)sbx_err_set(&err, SBX_E_INVALID, "the administrator's policy cannot be used");
        return sbx_cli_fail(cli, &err, SBX_EXIT_NEGATIVE);
    }
    AUTO_BUF text;
    sbx_buf_init(&text, 256u << 20);
    struct sbx_jsonw json;
    bool all_ok = true;
    if (cli->out.json) {
        sbx_report_open(&json, &text, cli);
        sbx_jsonw_key(&json, "files");
        sbx_jsonw_array(&json);
    }
    if (given.ptr != NULL)
        all_ok = report_file(cli, SBX_SETUP_GIVEN_NAME, given, &context, &ceiling, &json, &text);
    for (size_t i = 0; i < cli->args.rest_count; i++)
        all_ok &= report_file(cli, cli->args.rest[i], (struct sbx_str){0}, &context, &ceiling,
                              &json, &text);
    int status = all_ok ? SBX_EXIT_OK : SBX_EXIT_NEGATIVE;
    if (!cli->out.json) return sbx_output_write(SBX_STDOUT, &text) ? status : SBX_EXIT_NEGATIVE;
    sbx_jsonw_end(&json);
    sbx_jsonw_pair_bool(&json, "ok", all_ok);
    return sbx_report_close(&json, status);
}
