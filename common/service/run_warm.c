/* A warm run: the command is sent into a box that stands ready. */
#include <stdio.h>
#include <string.h>

#include "common/run/environment.h"
#include "common/run/report.h"
#include "common/service/internal.h"

#include "common/base/banned.h"

/* ---- the end ---- */

static enum sbx_outside may_outside(void *state, struct sbx_path path, bool is_write)
{
    (void)state;
    bool may = false;
    if (!sbx_os_may(path.text, is_write, &may)) return SBX_OUTSIDE_UNKNOWN;
    return may ? SBX_OUTSIDE_YES : SBX_OUTSIDE_NO;
}

void sbx_run_report_warm(struct sbx_run_job *run)
{
    static struct sbx_denials denials;
    struct sbx_err ignored = {0};
    const struct sbx_plan_entry *plan = run->plan;
    struct sbx_run_report report = {
        .command = "run",
        .findings = &plan->findings,
        .setup = plan->setup,
        .prepared = &run->prepared,
        .record = &run->record,
        .has_evidence = run->has_evidence,
        .digest = run->digest[0] == '\0' ? NULL : run->digest,
    };
    run->record.stderr_tail = sbx_buf_str(&run->tail);
    if (run->code == SBX_OK) {
        struct sbx_denial_input input = {.plan = &run->prepared.plan,
                                         .record = &run->record,
                                         .manifest = &plan->setup->manifest,
                                         .ceiling = &plan->setup->ceiling,
                                         .may = may_outside};
        denials = (struct sbx_denials){0};
        sbx_denials_find(&run->arena, &input, &denials);
        report.outcome = &run->record.outcome;
        report.denials = &denials;
        report.status = sbx_outcome_status(&run->record.outcome);
    } else {
        report.err = &run->err;
        report.status = run->code == SBX_E_NOT_FOUND ? 127 : run->code == SBX_E_DENIED ? 126 : 125;
    }
    sbx_run_report_json(&report, &run->result);
    if (run->result.len > 0) run->result.data[--run->result.len] = '\0'; /* the end of the line */
    if (run->result.failed ||
        sbx_json_check(&run->service->json, sbx_buf_str(&run->result), &ignored) != SBX_OK)
        sbx_run_lost(run);
}

static void on_end(void *owner)
{
    struct sbx_run_job *run = (struct sbx_run_job *)owner;
    run->code = sbx_port_box_wait(run->box, &run->record, &run->err);
    run->is_over = true;
    sbx_run_check(run);
}

/* ---- the beginning ---- */

enum { RESULT_BYTES = 4 << 10 };

/* Its result stays as long as the run, and the run's memory is there already. */
static void *resize_result(void *state, void *old, size_t bytes)
{
    struct sbx_run_job *run = (struct sbx_run_job *)state;
    char *larger = bytes == 0 ? NULL : SBX_NEW_ARRAY(&run->arena, char, bytes);
    if (larger != NULL && old != NULL) memcpy(larger, old, run->result.cap);
    return larger;
}

static void prepare_result(struct sbx_run_job *run)
{
    run->result.resize = resize_result;
    run->result.resize_state = run;
    sbx_buf_reserve(&run->result, RESULT_BYTES);
}

static bool copy_command(struct sbx_arena *arena, const struct sbx_wire_run_start *asked,
                         const char *const **out)
{
    struct sbx_wire_texts argv = asked->argv;
    struct sbx_str word;
    const char **words = SBX_NEW_ARRAY(arena, const char *, argv.count + 1);
    for (size_t i = 0; words != NULL && sbx_wire_next_text(&argv, &word); i++) {
        words[i] = sbx_arena_copy(arena, word.ptr, word.len);
        if (words[i] == NULL) return false;
    }
    *out = words;
    return words != NULL;
}

/* The plan of this very run: the one that is kept, with a command. */
static bool make_plan(struct sbx_run_job *run, const char *const *command)
{
    run->prepared = *run->plan->prepared;
    run->prepared.plan.command = command;
    return sbx_plan_digest_end(&run->plan->begun, command, run->digest);
}

/* Both ends of each stream as descriptors: nothing has to be undone but them when no box takes the command. */
struct ends {
    uv_file ours[3], theirs[3];
};

static void drop_ends(uv_file fds[3])
{
    for (size_t i = 0; i < 3; i++) sbx_fd_drop(&fds[i]);
}

static bool make_ends(const struct sbx_wire_run_start *asked, struct ends *ends)
{
    uv_file pair[2];
    if (asked->stdin_kind == SBX_WIRE_STDIN_NULL) {
        uv_fs_t request;
        ends->theirs[0] = uv_fs_open(NULL, &request, "/dev/null", UV_FS_O_RDONLY, 0, NULL);
        uv_fs_req_cleanup(&request);
        if (ends->theirs[0] < 0) return false;
    } else {
        if (uv_pipe(pair, 0, UV_NONBLOCK_PIPE) != 0) return false;
        ends->theirs[0] = pair[0];
        ends->ours[0] = pair[1];
    }
    for (size_t i = 1; i < 3; i++) {
        if (uv_pipe(pair, UV_NONBLOCK_PIPE, 0) != 0) return false;
        ends->ours[i] = pair[0];
        ends->theirs[i] = pair[1];
    }
    return true;
}

/* The box has its ends. One that cannot be read is, for the command, one that nobody reads. */
static void adopt(struct sbx_run_job *run, const struct sbx_wire_run_start *asked,
                  const struct ends *ends)
{
    int64_t credit = asked->credit < 0 ? SBX_WIRE_WINDOW : asked->credit;
    if (ends->ours[0] >= 0) (void)sbx_input_adopt(run, ends->ours[0]);
    (void)sbx_output_adopt(run, SBX_WIRE_STDOUT, credit, ends->ours[1]);
    (void)sbx_output_adopt(run, SBX_WIRE_STDERR, credit, ends->ours[2]);
}

static bool start(struct sbx_run_job *run, const struct sbx_wire_run_start *asked,
                  const char *const *argv, const uv_file fds[3])
{
    struct sbx_err err = {0};
    AUTO_WORDS variables;
    sbx_words_init(&variables);
    struct sbx_port_command command = {
        .argv = argv,
        .directory = run->plan->prepared->policy.cwd.text,
    };
    for (size_t i = 0; i < 3; i++) command.fds[i] = fds[i];
    if (!sbx_words_variables(&variables, asked)) return false;
    struct sbx_os_whom whom = {run->plan->setup->context.cwd.text, variables.items};
    sbx_os_caller(&whom);
    command.search_path = sbx_os_env(&run->arena, "PATH");
    bool ok = sbx_environment_make(&run->arena, &run->plan->prepared->policy, &command.env, &err) ==
              SBX_OK;
    sbx_os_caller(NULL);
    return ok && sbx_port_warm_start(sbx_plans_warm(run->service->plans),
                                     &run->plan->base->prepared->plan, &command, on_end, run,
                                     &run->box, &err) == SBX_OK;
}

static void tell_started(struct sbx_run_job *run)
{
    struct sbx_jsonw json;
    AUTO_BUF text;
    const struct sbx_evidence *evidence = NULL;
    size_t count = 0;
    sbx_buf_init(&text, 1u << 20);
    if (run->has_evidence) {
        sbx_port_box_evidence(run->box, &evidence, &count);
        sbx_jsonw_init(&json, &text, false);
        sbx_jsonw_object(&json);
        sbx_evidence_json(evidence, count, &json);
        sbx_jsonw_end(&json);
    }
    sbx_run_started(run, text.failed ? (struct sbx_str){"", 0}
                                     : sbx_member(sbx_buf_str(&text), "evidence"));
}

bool sbx_run_warm(struct sbx_run_job *run, const struct sbx_wire_run_start *asked,
                  const uv_file given[3])
{
    struct ends ends = {{-1, -1, -1}, {-1, -1, -1}};
    const char *const *argv = NULL;
    if (run->service->plans == NULL) return false;
    run->plan = sbx_plans_find(run->service->plans, asked);
    if (run->plan == NULL) return false;
    /* The command starts first: what is only told of it is worked out beside it. */
    bool ok = copy_command(&run->arena, asked, &argv) && (asked->fds || make_ends(asked, &ends)) &&
              start(run, asked, argv, asked->fds ? given : ends.theirs);
    drop_ends(ends.theirs);
    if (!ok) {
        drop_ends(ends.ours);
        sbx_plan_entry_drop(run->plan);
        run->plan = NULL;
        sbx_plans_missed(run->service->plans);
        return false;
    }
    if (!asked->fds) adopt(run, asked, &ends);
    prepare_result(run);
    if (!make_plan(run, argv)) run->digest[0] = '\0';
    (void)snprintf(run->backend, sizeof run->backend, "%s",
                   sbx_name_text(sbx_backend_names, (int)run->prepared.selection.backend));
    tell_started(run);
    return true;
}
