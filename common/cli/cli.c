/* The command line: finds the subcommand, parses its options, hands over. */
#include "common/cli/cli.h"

#include <stdarg.h>

#include "common/base/log.h"
#include "common/cli/attended.h"
#include "common/cli/report.h"
#include "common/run/selftest.h"

#include "common/base/banned.h"

#define ARENA_BYTES ((size_t)128 << 20)

static const char *command_name_at(const void *unused, size_t index)
{
    (void)unused;
    return index < SBX_CMD_COUNT ? sbx_command_rows[index].name : NULL;
}

bool sbx_command_runs(enum sbx_command_id id)
{
    return id == SBX_CMD_RUN || id == SBX_CMD_SHELL;
}

int sbx_usage_status(enum sbx_command_id id)
{
    return sbx_command_runs(id) ? SBX_EXIT_REFUSED : SBX_EXIT_USAGE;
}

void sbx_cli_print_failure(const struct sbx_cli *cli, const struct sbx_err *err,
                           struct sbx_buf *out)
{
    sbx_findings_print(&cli->findings, &cli->out, cli->out.colour_stderr, out);
    /* Findings already say what is wrong with a manifest; the rest is told here. */
    if (cli->findings.errors == 0 || err->code == SBX_E_USAGE)
        sbx_err_print(err, cli->out.colour_stderr, out);
}

int sbx_cli_fail(struct sbx_cli *cli, const struct sbx_err *err, int status)
{
    if (sbx_command_runs(cli->args.command)) return sbx_run_refuse(cli, err, status);
    AUTO_BUF text;
    sbx_buf_init(&text, 16u << 20);
    if (!cli->out.json) {
        sbx_cli_print_failure(cli, err, &text);
        (void)sbx_output_write(SBX_STDERR, &text);
        return status;
    }
    struct sbx_jsonw json;
    sbx_report_open(&json, &text, cli);
    sbx_jsonw_pair_bool(&json, "ok", false);
    sbx_jsonw_pair_u64(&json, "status", (uint64_t)status);
    sbx_jsonw_key(&json, "error");
    sbx_err_json(err, &json);
    sbx_jsonw_key(&json, "findings");
    sbx_findings_json(&cli->findings, &json);
    (void)sbx_report_close(&json, status);
    return status;
}

int sbx_cli_usage(struct sbx_cli *cli, const char *format, ...)
{
    AUTO_BUF text;
    sbx_buf_init(&text, 4096);
    va_list args;
    va_start(args, format);
    sbx_buf_vprintf(&text, format, args);
    va_end(args);
    struct sbx_err err = {0};
    (void)sbx_err_set(&err, SBX_E_USAGE, "%s", sbx_buf_text(&text));
    (void)sbx_err_hint(&err, "see: sbx help %s", sbx_command_rows[cli->args.command].name);
    return sbx_cli_fail(cli, &err, sbx_usage_status(cli->args.command));
}

/* Known before parsing, so that a wrong command line is told in the form that was asked for. */
static bool asks_for_json(int argc, const char *const *argv)
{
    for (int i = 0; i < argc && !sbx_text_eq(argv[i], "--"); i++)
        if (sbx_text_eq(argv[i], "--json")) return true;
    return false;
}

/* Before any option is parsed, so that the answer still has the form that was asked for. */
static int unknown_command(struct sbx_cli *cli, int argc, const char *const *argv)
{
    const char *name = argv[1];
    struct sbx_err err = {0};
    const char *nearest = sbx_name_nearest(sbx_str(name), command_name_at, NULL);
    (void)sbx_err_set(&err, SBX_E_USAGE, "unknown command \"%s\"", name);
    if (nearest != NULL)
        (void)sbx_err_hint(&err, "did you mean \"sbx %s\"?", nearest);
    else
        (void)sbx_err_hint(&err, "sbx help lists the commands; to run a program: sbx run -- %s",
                           name);
    cli->args.command = SBX_CMD_HELP;
    cli->out.json = asks_for_json(argc - 1, argv + 1);
    return sbx_cli_fail(cli, &err, SBX_EXIT_USAGE);
}

/* --help and --version alone are commands of their own. */
static const char *command_word(const char *word)
{
    if (sbx_text_eq(word, "--help") || sbx_text_eq(word, "-h")) return "help";
    if (sbx_text_eq(word, "--version") || sbx_text_eq(word, "-V")) return "version";
    return word;
}

static int dispatch(struct sbx_cli *cli, int argc, const char *const *argv)
{
    if (argc < 2) {
        AUTO_BUF text;
        sbx_buf_init(&text, 1u << 20);
        sbx_help_overview(&text);
        (void)sbx_output_write(SBX_STDERR, &text);
        return SBX_EXIT_USAGE;
    }
    if (sbx_text_eq(argv[1], "attended") && !sbx_attended_begin(cli, &argc, &argv))
        return SBX_EXIT_REFUSED;
    const char *word = command_word(argv[1]);
    const struct sbx_command_row *row = NULL;
    for (size_t i = 0; i < SBX_CMD_COUNT; i++)
        if (sbx_text_eq(word, sbx_command_rows[i].name)) row = &sbx_command_rows[i];
    if (row == NULL) return unknown_command(cli, argc, argv);
    /* An attempt of the self-test, which starts itself with it: its words are not options. */
    if (row->id == SBX_CMD_SELFTEST && argc > 2 && sbx_text_eq(argv[2], "--probe"))
        return sbx_attempt_main(argv + 3, (size_t)argc - 3);
    struct sbx_err err = {0};
    enum sbx_code code =
        sbx_cli_parse(&cli->arena, row->id, argc - 2, argv + 2, &cli->findings, &cli->args, &err);
    cli->out.json =
        cli->args.given[SBX_OPT_JSON] || (code != SBX_OK && asks_for_json(argc - 2, argv + 2));
    cli->out.quiet = cli->args.given[SBX_OPT_QUIET];
    cli->out.verbose = cli->args.given[SBX_OPT_VERBOSE];
    if (cli->args.values[SBX_OPT_COLOR] != NULL)
        sbx_output_init(&cli->out, &cli->arena, cli->args.values[SBX_OPT_COLOR]);
    if (code != SBX_OK) return sbx_cli_fail(cli, &err, sbx_usage_status(row->id));
    if (cli->args.given[SBX_OPT_HELP]) return sbx_help_show(cli, row->id);
    return row->handle(cli);
}

/* SBX_LOG=error|warn|info|debug: how sbx came to its decisions, on standard error. */
static void log_line(void *unused, enum sbx_log_level level, const char *line)
{
    static const char *const names[] = {"error", "warn", "info", "debug", "off"};
    (void)unused;
    AUTO_BUF text;
    sbx_buf_init(&text, 64u << 10);
    sbx_buf_printf(&text, "sbx: log %s: %s\n", names[level], line);
    (void)sbx_output_write(SBX_STDERR, &text);
}

static void start_log(struct sbx_cli *cli)
{
    const char *asked = sbx_os_env(&cli->arena, "SBX_LOG");
    enum sbx_log_level level;
    if (asked == NULL || asked[0] == '\0') return;
    if (sbx_log_level_from(sbx_str(asked), &level)) {
        sbx_log_to(log_line, NULL, level);
        return;
    }
    sbx_log_to(log_line, NULL, SBX_LOG_WARN);
    sbx_log(SBX_LOG_WARN, "SBX_LOG is one of error, warn, info, debug and off, not \"%s\"", asked);
}

int sbx_cli_main(int argc, const char *const *argv)
{
    static struct sbx_cli cli;
    sbx_arena_init(&cli.arena, ARENA_BYTES);
    sbx_findings_init(&cli.findings, &cli.arena);
    sbx_probe_cache_init(&cli.probes);
    sbx_output_init(&cli.out, &cli.arena, NULL);
    start_log(&cli);
    int status = dispatch(&cli, argc, argv);
    sbx_probe_cache_release(&cli.probes);
    sbx_arena_release(&cli.arena);
    return status;
}
