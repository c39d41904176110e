/* sbx service: the service of this machine, installed, started, stopped and looked at. */
#include <inttypes.h>

#include "common/cli/report.h"
#include "common/run/manager.h"

#include "common/base/banned.h"

/* ---- what is told --------------------------------------------------------------------------- */

static void add_line(struct sbx_buf *out, const char *name, const char *value)
{
    if (value == NULL) return;
    sbx_buf_printf(out, "%-9s ", name);
    sbx_buf_add_visible(out, sbx_str(value), false);
    sbx_buf_add_char(out, '\n');
}

static void add_text(const struct sbx_cli *cli, const struct sbx_manager_report *report,
                     struct sbx_buf *out)
{
    add_line(out, "service", sbx_name_text(sbx_manager_state_names, (int)report->state));
    if (report->pid != 0) sbx_buf_printf(out, "%-9s %" PRIu32 "\n", "process", report->pid);
    add_line(out, "clients", report->endpoint);
    add_line(out, "program", report->program);
    add_line(out, "start", report->start);
    if (report->has_events) add_line(out, "events", "in the Application log, source sbx");
    for (size_t i = 0; i < report->remark_count && !cli->out.quiet; i++)
        add_line(out, "note", report->remarks[i]);
}

static void add_json(struct sbx_jsonw *json, const struct sbx_manager_report *report)
{
    sbx_jsonw_pair_text(json, "state", sbx_name_text(sbx_manager_state_names, (int)report->state));
    sbx_jsonw_pair_u64(json, "pid", report->pid);
    sbx_jsonw_pair_text(json, "endpoint", report->endpoint);
    sbx_jsonw_pair_text(json, "program", report->program);
    sbx_jsonw_pair_text(json, "start", report->start);
    sbx_jsonw_pair_bool(json, "events", report->has_events);
    sbx_jsonw_key(json, "remarks");
    sbx_jsonw_array(json);
    for (size_t i = 0; i < report->remark_count; i++) sbx_jsonw_text(json, report->remarks[i]);
    sbx_jsonw_end(json);
}

static int tell(struct sbx_cli *cli, const struct sbx_manager_report *report, int status)
{
    AUTO_BUF text;
    sbx_buf_init(&text, 1u << 20);
    if (cli->out.json) {
        struct sbx_jsonw json;
        sbx_report_open(&json, &text, cli);
        sbx_jsonw_pair_bool(&json, "ok", true);
        add_json(&json, report);
        return sbx_report_close(&json, status);
    }
    add_text(cli, report, &text);
    return sbx_output_write(SBX_STDOUT, &text) ? status : SBX_EXIT_NEGATIVE;
}

/* ---- verbs ---------------------------------------------------------------------------------- */

static int show(struct sbx_cli *cli)
{
    struct sbx_manager_report report = {0};
    struct sbx_err err = {0};
    if (sbx_manager_status(&cli->arena, &report, &err) != SBX_OK)
        return sbx_cli_fail(cli, &err, SBX_EXIT_NEGATIVE);
    return tell(cli, &report,
                report.state == SBX_MANAGER_RUNNING ? SBX_EXIT_OK : SBX_EXIT_NEGATIVE);
}

static int change(struct sbx_cli *cli, enum sbx_manager_verb verb)
{
    struct sbx_manager_report report = {0};
    struct sbx_err err = {0};
    if (sbx_manager_change(&cli->arena, verb, &report, &err) != SBX_OK)
        return sbx_cli_fail(cli, &err, SBX_EXIT_NEGATIVE);
    return tell(cli, &report, SBX_EXIT_OK);
}

static int serve(struct sbx_cli *cli)
{
    struct sbx_err err = {0};
    if (sbx_manager_run(&err) != SBX_OK) return sbx_cli_fail(cli, &err, SBX_EXIT_NEGATIVE);
    return SBX_EXIT_OK;
}

enum { VERB_STATUS = 100, VERB_RUN };
static const struct sbx_name verbs[] = {
    {SBX_MANAGER_INSTALL, "install"},
    {SBX_MANAGER_UNINSTALL, "uninstall"},
    {SBX_MANAGER_START, "start"},
    {SBX_MANAGER_STOP, "stop"},
    {VERB_STATUS, "status"},
    {VERB_RUN, "run"},
    {0, NULL},
};

int sbx_cmd_service(struct sbx_cli *cli)
{
    const char *word = cli->args.rest_count == 0 ? "status" : cli->args.rest[0];
    int verb = 0;
    if (cli->args.rest_count > 1) return sbx_cli_usage(cli, "%s takes nothing else", word);
    if (!sbx_name_value(verbs, sbx_str(word), &verb))
        return sbx_cli_usage(
            cli, "service knows install, uninstall, start, stop, status and run, not \"%s\"", word);
    if (verb == VERB_STATUS) return show(cli);
    return verb == VERB_RUN ? serve(cli) : change(cli, (enum sbx_manager_verb)verb);
}

/* "sbx serve" and "sbx serve --stdio" never come here: the program starts the worker instead. */
int sbx_cmd_serve(struct sbx_cli *cli)
{
    return sbx_cli_usage(cli, "serve takes --stdio and nothing else; on Windows it needs it");
}
