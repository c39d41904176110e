/* sbx run and sbx shell: a command in a box; its streams and its exit status are the command's own. */
#include <inttypes.h>

#include "common/cli/attended.h"
#include "common/cli/report.h"
#include "common/cli/run_report.h"
#include "common/cli/run_service.h"
#include "common/cli/shell.h"
#include "common/run/warning.h"

#include "common/base/banned.h"

/* The outcome object goes where it was asked for, never into the command's output. */
enum json_target { TARGET_NOWHERE, TARGET_FILE, TARGET_FD, TARGET_STDERR };

static bool parse_fd(const char *text, int *out)
{
    uint64_t fd;
    if (!sbx_str_to_u64(sbx_str(text), &fd) || fd < 2 || fd > 65535) return false;
    *out = (int)fd;
    return true;
}

static enum json_target json_target(const struct sbx_cli *cli, int *fd)
{
    const char *fd_text = cli->args.values[SBX_OPT_JSON_FD];
    if (cli->attended.is_attended && cli->attended.events_fd >= 0) {
        *fd = cli->attended.events_fd;
        return TARGET_FD;
    }
    if (cli->args.values[SBX_OPT_RESULT] != NULL) return TARGET_FILE;
    if (fd_text != NULL && parse_fd(fd_text, fd)) return TARGET_FD;
    return cli->out.json ? TARGET_STDERR : TARGET_NOWHERE;
}

/* Where a program reads, nothing is said to people. */
static bool is_silent(const struct sbx_cli *cli)
{
    int unused;
    return cli->attended.is_attended || json_target(cli, &unused) == TARGET_STDERR;
}

static struct sbx_run_report begin_report(const struct sbx_cli *cli, const struct sbx_setup *setup)
{
    return (struct sbx_run_report){.command = sbx_command_rows[cli->args.command].name,
                                   .findings = &cli->findings,
                                   .setup = setup,
                                   .has_evidence = cli->args.given[SBX_OPT_EVIDENCE]};
}

void sbx_run_send(const struct sbx_cli *cli, const struct sbx_buf *text)
{
    int fd = 0;
    enum json_target target = json_target(cli, &fd);
    if (target == TARGET_NOWHERE) return;
    struct sbx_err err = {0};
    enum sbx_code code = sbx_buf_check(text, &err);
    if (code == SBX_OK && target == TARGET_FILE)
        code = sbx_os_write_atomic(cli->args.values[SBX_OPT_RESULT], sbx_buf_str(text), &err);
    else if (code == SBX_OK && target == TARGET_FD)
        code = sbx_os_write_fd(fd, sbx_buf_text(text), text->len, &err);
    else if (code == SBX_OK)
        code = sbx_os_write(SBX_STDERR, sbx_buf_text(text), text->len, &err);
    if (code == SBX_OK) return;
    AUTO_BUF message;
    sbx_buf_init(&message, 4096);
    (void)sbx_err_context(&err, "the outcome could not be written");
    sbx_err_print(&err, cli->out.colour_stderr, &message);
    (void)sbx_output_write(SBX_STDERR, &message);
}

static void send_json(struct sbx_cli *cli, const struct sbx_run_report *report)
{
    int unused;
    if (json_target(cli, &unused) == TARGET_NOWHERE) return;
    AUTO_BUF text;
    sbx_buf_init(&text, 64u << 20);
    sbx_run_report_json(report, &text);
    sbx_run_send(cli, &text);
}

static void tell_evidence(const struct sbx_cli *cli, const struct sbx_run_report *report)
{
    if (!cli->args.given[SBX_OPT_EVIDENCE] || is_silent(cli)) return;
    AUTO_BUF text;
    sbx_buf_init(&text, 1u << 20);
    sbx_evidence_print(cli, report->prepared, report->record, &text);
    (void)sbx_output_write(SBX_STDERR, &text);
}

static void tell_remarks(const struct sbx_cli *cli, const struct sbx_run_report *report)
{
    if (is_silent(cli)) return;
    AUTO_BUF text;
    sbx_buf_init(&text, 1u << 20);
    sbx_remarks_print(cli, report->record, &text);
    if (text.len > 0) (void)sbx_output_write(SBX_STDERR, &text);
}

void sbx_run_tell_refusal(struct sbx_cli *cli, struct sbx_run_report *report,
                          const struct sbx_err *err, uint32_t status)
{
    report->err = err;
    report->status = status;
    if (!is_silent(cli)) {
        AUTO_BUF text;
        sbx_buf_init(&text, 16u << 20);
        if (err->code == SBX_E_UNAVAILABLE && report->prepared != NULL) {
            sbx_findings_print(&cli->findings, &cli->out, cli->out.colour_stderr, &text);
            sbx_buf_add_text(&text, "sbx: ");
            sbx_tone_add(&text, cli->out.colour_stderr, SBX_TONE_BAD, "error[backend-missing]");
            sbx_buf_add_text(&text, ": ");
            sbx_selection_refusal(&report->prepared->selection, report->setup->context.platform,
                                  &text);
        } else {
            sbx_cli_print_failure(cli, err, &text);
        }
        (void)sbx_output_write(SBX_STDERR, &text);
    }
    if (report->record != NULL) {
        tell_remarks(cli, report);
        tell_evidence(cli, report);
    }
    if (err->code == SBX_E_UNAVAILABLE && report->prepared != NULL)
        sbx_selection_findings(&report->prepared->selection, &cli->findings);
}

static int refuse(struct sbx_cli *cli, struct sbx_run_report *report, const struct sbx_err *err,
                  uint32_t status)
{
    sbx_run_expect_nothing(); /* nothing is left when it is told */
    sbx_run_tell_refusal(cli, report, err, status);
    send_json(cli, report);
    return (int)status;
}

int sbx_run_refuse(struct sbx_cli *cli, const struct sbx_err *err, int status)
{
    struct sbx_run_report report = begin_report(cli, NULL);
    return refuse(cli, &report, err, (uint32_t)status);
}

static void warn_unsandboxed(const struct sbx_cli *cli)
{
    /* One process is one session here; the service keeps one of these per session. */
    static struct sbx_warning warning;
    if (cli->attended.is_attended || !sbx_warning_due(&warning, sbx_os_monotonic_ns())) return;
    AUTO_BUF text;
    sbx_buf_init(&text, 1024);
    sbx_buf_add_text(&text, "sbx: ");
    sbx_tone_add(&text, cli->out.colour_stderr, SBX_TONE_WARN, "warning");
    sbx_buf_add_text(&text, ": running WITHOUT a sandbox: files, network and processes of the host "
                            "are open to the command\n");
    (void)sbx_output_write(SBX_STDERR, &text);
}

static void tell_limit(const struct sbx_cli *cli, const struct sbx_prepared *prepared,
                       const struct sbx_run_record *record)
{
    const struct sbx_outcome *outcome = &record->outcome;
    if (outcome->limit == SBX_LIMIT_NONE || is_silent(cli)) return;
    AUTO_BUF text;
    sbx_buf_init(&text, 1024);
    sbx_buf_add_text(&text, "sbx: ");
    sbx_tone_add(&text, cli->out.colour_stderr, SBX_TONE_BAD, "ended");
    sbx_buf_printf(&text, ": %s", sbx_name_text(sbx_limit_names, (int)outcome->limit));
    if (outcome->limit == SBX_LIMIT_TIMEOUT) {
        sbx_buf_add_text(&text, " after ");
        sbx_duration_print(prepared->plan.timeout_ns, &text);
        if (!cli->out.quiet)
            sbx_buf_add_text(&text,
                             "\n  fix: allow more time with -t TIME, or timeout in the manifest");
    } else if (outcome->limit == SBX_LIMIT_OUTPUT) {
        sbx_buf_add_text(&text, " of more than ");
        sbx_bytes_print(prepared->plan.policy->limits.output_bytes, &text);
        if (!cli->out.quiet) sbx_buf_add_text(&text, "\n  fix: allow more with --max-output SIZE");
    } else if (outcome->limit == SBX_LIMIT_PROTECTED && record->event_count > 0) {
        sbx_buf_add_text(&text, " name was made or changed: ");
        sbx_buf_add_visible(&text, record->events[0].path, true);
        if (!cli->out.quiet)
            sbx_buf_add_text(&text, "\n  fix: look at it before anything uses it; it may have been "
                                    "another program, then run again");
    }
    sbx_buf_add_char(&text, '\n');
    (void)sbx_output_write(SBX_STDERR, &text);
}

static uint32_t failure_status(enum sbx_code code)
{
    if (code == SBX_E_NOT_FOUND) return SBX_EXIT_NOT_FOUND;
    if (code == SBX_E_DENIED) return SBX_EXIT_CANNOT_EXECUTE;
    return SBX_EXIT_REFUSED;
}

static int check_json_target(struct sbx_cli *cli)
{
    const char *fd_text = cli->args.values[SBX_OPT_JSON_FD];
    int fd;
    if (fd_text != NULL && cli->args.values[SBX_OPT_RESULT] != NULL)
        return sbx_cli_usage(cli, "--result and --json-fd exclude each other");
    if (fd_text != NULL && !parse_fd(fd_text, &fd))
        return sbx_cli_usage(cli, "--json-fd needs a descriptor number from 2 up, not \"%s\"",
                             fd_text);
    return SBX_EXIT_OK;
}

/* Nothing of sbx is printed when all is well, unless asked. */
static void tell_findings(const struct sbx_cli *cli)
{
    if (!cli->out.verbose || is_silent(cli)) return;
    AUTO_BUF text;
    sbx_buf_init(&text, 16u << 20);
    sbx_findings_print(&cli->findings, &cli->out, cli->out.colour_stderr, &text);
    (void)sbx_output_write(SBX_STDERR, &text);
}

void sbx_run_tell_start(const struct sbx_cli *cli, const struct sbx_prepared *prepared)
{
    tell_findings(cli);
    if (prepared->selection.warns) warn_unsandboxed(cli);
}

static enum sbx_outside may_outside(void *state, struct sbx_path path, bool is_write)
{
    (void)state;
    bool may = false;
    if (!sbx_os_may(path.text, is_write, &may)) return SBX_OUTSIDE_UNKNOWN;
    return may ? SBX_OUTSIDE_YES : SBX_OUTSIDE_NO;
}

static void find_denials(struct sbx_cli *cli, const struct sbx_run_report *report,
                         struct sbx_denials *out)
{
    struct sbx_denial_input input = {.plan = &report->prepared->plan,
                                     .record = report->record,
                                     .manifest = &report->setup->manifest,
                                     .ceiling = &report->setup->ceiling,
                                     .may = may_outside};
    sbx_denials_find(&cli->arena, &input, out);
}

/* What the box denied is for people when the command failed, and always for programs. */
static void tell_denials(const struct sbx_cli *cli, const struct sbx_run_report *report)
{
    /* A shell's status is its last command's, and what it was denied its user has seen. */
    bool is_failure = report->status != 0 && cli->args.command != SBX_CMD_SHELL;
    bool is_wanted = (is_failure || cli->out.verbose) && !cli->out.quiet;
    if (!is_wanted || is_silent(cli)) return;
    AUTO_BUF text;
    sbx_buf_init(&text, 4u << 20);
    sbx_denials_print(cli, report->setup, report->prepared, report->denials, &text);
    (void)sbx_output_write(SBX_STDERR, &text);
}

void sbx_run_tell(const struct sbx_cli *cli, const struct sbx_run_report *report)
{
    tell_limit(cli, report->prepared, report->record);
    tell_denials(cli, report);
    tell_remarks(cli, report);
    tell_evidence(cli, report);
}

/* What is said after the command has ended. */
static int finish(struct sbx_cli *cli, struct sbx_run_report *report)
{
    static struct sbx_denials denials;
    report->outcome = &report->record->outcome;
    report->status = sbx_outcome_status(report->outcome);
    report->denials = &denials;
    find_denials(cli, report, &denials);
    sbx_run_tell(cli, report);
    send_json(cli, report);
    return (int)report->status;
}

static int run_words(struct sbx_cli *cli, const struct sbx_setup *setup, const char *const *words)
{
    static struct sbx_prepared prepared;
    struct sbx_progress_line progress;
    struct sbx_run_record record = {.progress = &progress.hook};
    struct sbx_err err = {0};
    struct sbx_run_report report = begin_report(cli, setup);
    if (sbx_setup_decide(cli, words, setup, &prepared, &err) != SBX_OK)
        return refuse(cli, &report, &err, SBX_EXIT_REFUSED);
    if (cli->args.given[SBX_OPT_DRY_RUN]) return sbx_report_plan(cli, setup, &prepared);
    report.prepared = &prepared;
    sbx_run_tell_start(cli, &prepared);
    sbx_attended_expect(cli, &prepared);
    sbx_progress_begin(&progress, cli);
    enum sbx_code code = sbx_run(&cli->arena, &prepared, &record, &err);
    sbx_progress_end(&progress);
    report.record = &record; /* a box that was not released has evidence too: it says why */
    if (code != SBX_OK) return refuse(cli, &report, &err, failure_status(code));
    return finish(cli, &report);
}

/* Whether a box is built by this process, and at once: not when the manifest comes through a pipe. From when a box is begun,
 * signals are the command's, and whoever waits for a manifest must end when it is told to. */
static bool is_for_now(const struct sbx_cli *cli)
{
    static const enum sbx_option_id others[] = {SBX_OPT_SERVICE, SBX_OPT_DRY_RUN, SBX_OPT_TTY,
                                                SBX_OPT_PLATFORM};
    const char *manifest = cli->args.values[SBX_OPT_MANIFEST];
    bool is_piped = (manifest != NULL && sbx_text_eq(manifest, "-")) ||
                    (cli->attended.is_attended && cli->attended.manifest_fd >= 0);
    for (size_t i = 0; i < SBX_COUNT(others); i++)
        if (cli->args.given[others[i]]) return false;
    return !is_piped;
}

int sbx_cmd_run(struct sbx_cli *cli)
{
    struct sbx_setup setup = {0};
    struct sbx_err err = {0};
    struct sbx_run_report report = begin_report(cli, &setup);
    int bad_target = check_json_target(cli);
    if (bad_target != SBX_EXIT_OK) return bad_target;
    if (cli->args.rest_count == 0) return sbx_cli_usage(cli, "no command is given");
    if (cli->args.rest[0][0] == '\0') return sbx_cli_usage(cli, "the command is empty");
    if (is_for_now(cli)) sbx_run_expect(sbx_os_env(&cli->arena, "SBX_SANDBOX"));
    if (sbx_setup_make(cli, &setup, &err) != SBX_OK)
        return refuse(cli, &report, &err, SBX_EXIT_REFUSED);
    if (cli->args.given[SBX_OPT_SERVICE] && !cli->args.given[SBX_OPT_DRY_RUN])
        return sbx_run_by_service(cli, &report);
    return run_words(cli, &setup, cli->args.rest);
}

int sbx_cmd_shell(struct sbx_cli *cli)
{
    struct sbx_setup setup = {0};
    struct sbx_err err = {0};
    struct sbx_run_report report = begin_report(cli, &setup);
    const char *words[2] = {NULL, NULL};
    int bad_target = check_json_target(cli);
    if (bad_target != SBX_EXIT_OK) return bad_target;
    if (cli->args.rest_count > 0)
        return sbx_cli_usage(cli, "sbx shell takes no command; to run one: sbx run --tty -- %s",
                             cli->args.rest[0]);
    if (sbx_setup_make(cli, &setup, &err) != SBX_OK ||
        sbx_shell_choose(cli, &setup, &words[0], &err) != SBX_OK)
        return refuse(cli, &report, &err, SBX_EXIT_REFUSED);
    return run_words(cli, &setup, words);
}
