/* Parts of JSON and text reports that several commands share. */
#include "common/cli/report.h"

#include "common/base/banned.h"

void sbx_report_open(struct sbx_jsonw *json, struct sbx_buf *buf, const struct sbx_cli *cli)
{
    /* A run's object shares its stream with the command's output: one line, the last, is found again. */
    sbx_jsonw_init(json, buf, !sbx_command_runs(cli->args.command));
    sbx_jsonw_object(json);
    sbx_jsonw_pair_u64(json, "schema_version", 1);
    sbx_jsonw_pair_text(json, "command", sbx_command_rows[cli->args.command].name);
}

int sbx_report_close(struct sbx_jsonw *json, int status)
{
    sbx_jsonw_end(json);
    sbx_buf_add_char(json->buf, '\n');
    return sbx_output_write(SBX_STDOUT, json->buf) ? status : SBX_EXIT_NEGATIVE;
}

void sbx_report_head(const struct sbx_setup *setup, const struct sbx_prepared *prepared,
                     struct sbx_buf *out)
{
    const struct sbx_selection *selection = &prepared->selection;
    enum sbx_backend_id described = prepared->plan.backend;
    sbx_buf_printf(out, "%-10s%s", "platform",
                   sbx_name_text(sbx_platform_names, (int)setup->context.platform));
    if (prepared->facts.kernel != NULL) sbx_buf_printf(out, " (%s)", prepared->facts.kernel);
    sbx_buf_printf(out, "\n%-10s%s", "backend", sbx_name_text(sbx_backend_names, (int)described));
    if (selection->backend == SBX_BACKEND_FAIL_CLOSED)
        sbx_buf_printf(out, ", but sbx would REFUSE: %s", selection->why);
    else if (prepared->facts.probe[described].version != NULL)
        sbx_buf_printf(out, " (%s)", prepared->facts.probe[described].version);
    sbx_buf_printf(out, "\n%-10s%s\n", "chosen by", selection->row);
    const char *label = "tried";
    for (size_t i = 0; i < selection->tried_count; i++) {
        const struct sbx_tried *tried = &selection->tried[i];
        if (tried->verdict == SBX_VERDICT_CHOSEN) continue;
        sbx_buf_printf(out, "%-10s%-14s%s\n", label,
                       sbx_name_text(sbx_backend_names, (int)tried->backend),
                       tried->reason == NULL ? sbx_name_text(sbx_verdict_names, (int)tried->verdict)
                                             : tried->reason);
        label = "";
    }
    sbx_buf_printf(out, "%-10s", "manifest");
    if (setup->found == SBX_FOUND_NOTHING)
        sbx_buf_add_text(out, "none, the default mode applies\n");
    else {
        sbx_buf_add_visible(out, sbx_str(setup->manifest_path.text), false);
        sbx_buf_printf(out, " (%s)\n", sbx_report_found(setup));
    }
}

int sbx_report_plan(struct sbx_cli *cli, const struct sbx_setup *setup,
                    const struct sbx_prepared *prepared)
{
    AUTO_BUF text;
    sbx_buf_init(&text, 64u << 20);
    if (cli->out.json) {
        struct sbx_jsonw json;
        sbx_report_open(&json, &text, cli);
        sbx_jsonw_pair_bool(&json, "ok", true);
        sbx_jsonw_key(&json, "manifest");
        sbx_report_manifest(setup, &json);
        sbx_jsonw_key(&json, "selection");
        sbx_report_selection(&prepared->selection, &json);
        sbx_jsonw_key(&json, "plan");
        sbx_plan_print_json(&prepared->plan, &json);
        sbx_jsonw_key(&json, "findings");
        sbx_findings_json(&cli->findings, &json);
        return sbx_report_close(&json, SBX_EXIT_OK);
    }
    sbx_report_head(setup, prepared, &text);
    sbx_plan_print_text(&prepared->plan, &text);
    AUTO_BUF warnings;
    sbx_buf_init(&warnings, 16u << 20);
    sbx_findings_print(&cli->findings, &cli->out, cli->out.colour_stderr, &warnings);
    (void)sbx_output_write(SBX_STDERR, &warnings);
    return sbx_output_write(SBX_STDOUT, &text) ? SBX_EXIT_OK : SBX_EXIT_NEGATIVE;
}
