/* sbx run --service: asks the service, passes the standard streams on, forwards signals, and says what sbx run says. */
#include "common/cli/run_service.h"

#include "common/cli/run_report.h"
#include "common/run/load.h"
#include "include/sbx.h"

#include "common/base/banned.h"

/* What is known of the run while it lasts. */
struct service_run {
    struct sbx_cli *cli;
    struct sbx_run_report *report;
    struct sbx_client *client;
    sbx_client_run_id run;
    unsigned interrupts;
    const char *early[8]; /* signals that came before the service had said which run it is */
    size_t early_count;
    bool is_cancelled;
    bool carries; /* the streams, instead of passing them */
    bool has_started, has_ended, input_ended;
    struct sbx_str input;   /* what the service has no room for yet */
    struct sbx_buf outcome; /* on one line with its end */
    bool is_refused;
    struct sbx_client_error refusal;
};

/* ---- the request ---- */

/* The plan as it would be made here, for what is told about it; the service makes its own. */
static bool prepare(struct service_run *service)
{
    static struct sbx_prepared prepared;
    struct sbx_err unused = {0};
    if (service->report->prepared == NULL &&
        sbx_setup_decide(service->cli, service->cli->args.rest, service->report->setup, &prepared,
                         &unused) == SBX_OK)
        service->report->prepared = &prepared;
    return service->report->prepared != NULL;
}

/* The manifest by its name when nothing was added to it, else with what the options say. What a manifest means depends on the directory
 * it is in, and a merged one is in none: it is taken to be in the current directory. */
static enum sbx_code choose_manifest(const struct sbx_cli *cli, const struct sbx_setup *setup,
                                     struct sbx_buf *text, struct sbx_client_run_options *options,
                                     struct sbx_err *err)
{
    bool is_file = setup->found != SBX_FOUND_NOTHING && setup->manifest_path.len > 0 &&
                   !sbx_text_eq(setup->manifest_shown, "-");
    if (is_file && cli->args.flags.set == 0) {
        options->manifest_file = setup->manifest_path.text;
        return SBX_OK;
    }
    if (is_file && !sbx_path_eq(setup->context.project, setup->context.cwd)) {
        (void)sbx_err_set(err, SBX_E_UNSUPPORTED,
                          "options cannot be added to a manifest of another directory for the "
                          "service");
        return sbx_err_hint(err, "write them into \"%s\", or run it without --service",
                            setup->manifest_shown);
    }
    sbx_manifest_print_json(&setup->manifest, text);
    options->manifest = sbx_buf_text(text);
    return sbx_buf_check(text, err);
}

static int refuse(struct sbx_cli *cli, const struct sbx_client_error *error)
{
    struct sbx_err err = {0};
    bool is_absent = sbx_text_eq(error->name, "no_service");
    (void)sbx_err_set(&err, is_absent ? SBX_E_UNAVAILABLE : SBX_E_IO, "%s", error->text);
    if (error->hint[0] != '\0') (void)sbx_err_hint(&err, "%s", error->hint);
    return sbx_run_refuse(cli, &err, SBX_EXIT_REFUSED);
}

/* ---- the run ---- */

static void keep_outcome(struct service_run *service, const char *json)
{
    service->has_ended = true;
    sbx_buf_add_text(&service->outcome, json);
    sbx_buf_add_char(&service->outcome, '\n');
}

static void cancel(struct service_run *service)
{
    service->is_cancelled = true;
    (void)sbx_client_cancel(service->client, service->run, NULL);
}

/* A run that has just ended cannot be told anything, which is no failure. */
static void send_signal(struct service_run *service, const char *name)
{
    if (sbx_client_signal(service->client, service->run, name, NULL) != 0) cancel(service);
}

static void take_event(struct service_run *service, const struct sbx_client_event *event)
{
    switch (event->kind) {
    case SBX_CLIENT_STARTED:
        service->has_started = true;
        for (size_t i = 0; i < service->early_count; i++) send_signal(service, service->early[i]);
        if (service->is_cancelled) cancel(service); /* it crossed with this answer */
        /* What has nothing around it is said before it does anything visible. */
        if (sbx_str_contains(sbx_str(event->json), "\"backend\":\"none\"") && prepare(service))
            sbx_run_tell_start(service->cli, service->report->prepared);
        break;
    case SBX_CLIENT_REFUSED:
        service->is_refused = true;
        service->refusal = *event->error;
        keep_outcome(service, event->json);
        break;
    case SBX_CLIENT_EXITED:
        keep_outcome(service, event->json);
        break;
    case SBX_CLIENT_OUTPUT:
        (void)!sbx_os_write(event->stream == SBX_CLIENT_STDERR ? SBX_STDERR : SBX_STDOUT,
                            (const char *)event->data, event->len, NULL);
        break;
    case SBX_CLIENT_CLOSED:
    case SBX_CLIENT_ROOM:
    case SBX_CLIENT_DENIED:
        break;
    }
}

/* Two interrupts end it. With passed streams a command can be seen before the answer that names its run. */
static void forward(struct service_run *service, const char *name)
{
    if (sbx_text_eq(name, "INT") && ++service->interrupts > 1)
        cancel(service);
    else if (service->has_started)
        send_signal(service, name);
    else if (service->early_count < SBX_COUNT(service->early))
        service->early[service->early_count++] = name;
}

/* As much of standard input as has come and the service has room for. */
static void carry_input(struct service_run *service)
{
    while (service->carries && service->has_started && !service->input_ended) {
        size_t taken = 0;
        bool is_more = service->input.len > 0 || sbx_os_watch_input(&service->input);
        if (!is_more) return;
        if (service->input.len == 0) {
            service->input_ended = true;
            (void)sbx_client_write_end(service->client, service->run, NULL);
        } else if (sbx_client_write(service->client, service->run, service->input.ptr,
                                    service->input.len, &taken, NULL) != 0) {
            service->input_ended = true;
        }
        service->input.ptr += taken;
        service->input.len -= taken;
        if (service->input.len > 0) return;
    }
}

static int attend(struct service_run *service, struct sbx_client_error *error)
{
    while (!service->has_ended) {
        struct sbx_client_event event;
        int got = sbx_client_next(service->client, 0, &event, error);
        if (got < 0) return -1;
        if (got > 0) {
            take_event(service, &event);
            continue;
        }
        carry_input(service);
        const char *name = sbx_os_watch_wait(sbx_client_fd(service->client),
                                             sbx_client_wants_write(service->client));
        if (name != NULL) forward(service, name);
    }
    return 0;
}

/* ---- the end ---- */

static bool has_words(const struct sbx_cli *cli, const struct sbx_told *told)
{
    return told->record.outcome.limit != SBX_LIMIT_NONE || told->denials.count > 0 ||
           told->denials.left_out > 0 || told->record.warning_count > 0 ||
           told->record.diagnosis != NULL || cli->args.given[SBX_OPT_EVIDENCE];
}

static int finish(struct service_run *service)
{
    static struct sbx_told told;
    struct sbx_cli *cli = service->cli;
    struct sbx_run_report *report = service->report;
    bool is_told = sbx_told_read(&cli->arena, sbx_buf_str(&service->outcome), &told);
    if (service->is_refused && (!is_told || !told.has_error)) return refuse(cli, &service->refusal);
    if (!is_told) {
        struct sbx_client_error error = {.text = "the service told an outcome that cannot be read"};
        return refuse(cli, &error);
    }
    report->status = told.status;
    report->denials = &told.denials;
    report->record = &told.record;
    if (told.has_error)
        sbx_run_tell_refusal(cli, report, &told.err, told.status);
    else if (has_words(cli, &told) && prepare(service))
        sbx_run_tell(cli, report);
    sbx_run_send(cli, &service->outcome);
    return (int)told.status;
}

static int run_with(struct service_run *service, const struct sbx_client_run_options *options)
{
    struct sbx_client_error error = {0};
    struct sbx_err err = {0};
    if (sbx_os_watch_begin(&err) != SBX_OK)
        return sbx_run_refuse(service->cli, &err, SBX_EXIT_REFUSED);
    int failed = sbx_client_start(service->client, options, &service->run, &error);
    if (failed == 0) failed = attend(service, &error);
    sbx_os_watch_end();
    return failed != 0 ? refuse(service->cli, &error) : finish(service);
}

int sbx_run_by_service(struct sbx_cli *cli, struct sbx_run_report *report)
{
    static const int streams[3] = {0, 1, 2};
    AUTO_BUF manifest;
    struct sbx_err err = {0};
    struct sbx_client_error error = {0};
    struct sbx_client_options where = {
        .where = SBX_CLIENT_SERVICE, .name = "sbx", .version = SBX_VERSION_TEXT};
    const char *opt_in = sbx_os_env(&cli->arena, "SBX_ALLOW_NO_SANDBOX");
    struct sbx_client_run_options options = {
        .argv = cli->args.rest,
        .fds = sbx_os_watch_passes() ? streams : NULL,
        .input = sbx_os_watch_passes() ? SBX_CLIENT_INPUT_NONE : SBX_CLIENT_INPUT_PIPE,
        .cwd = report->setup->context.cwd.text,
        .sandbox = sbx_os_env(&cli->arena, "SBX_SANDBOX"),
        .allows_no_sandbox = opt_in != NULL && sbx_text_eq(opt_in, "1"),
        .wants_evidence = cli->args.given[SBX_OPT_EVIDENCE]};
    if (cli->args.given[SBX_OPT_TTY])
        return sbx_cli_usage(cli, "--tty and --service exclude each other");
    sbx_buf_init(&manifest, SBX_MANIFEST_MAX_BYTES);
    if (choose_manifest(cli, report->setup, &manifest, &options, &err) != SBX_OK)
        return sbx_run_refuse(cli, &err, SBX_EXIT_REFUSED);
    struct service_run service = {.cli = cli, .report = report, .carries = options.fds == NULL};
    if (cli->out.verbose && prepare(&service)) sbx_run_tell_start(cli, report->prepared);
    service.client = sbx_client_open(&where, &error);
    if (service.client == NULL) return refuse(cli, &error);
    sbx_buf_init(&service.outcome, 64u << 20);
    int status = run_with(&service, &options);
    sbx_buf_release(&service.outcome);
    sbx_client_close(service.client);
    return status;
}
