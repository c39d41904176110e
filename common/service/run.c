/* A run, from its request to its last notification; how it is carried out is run_cold.c and run_warm.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/run/report.h"
#include "common/service/internal.h"

#include "common/base/banned.h"

/* ---- the object ---- */

static char *copy_text(struct sbx_str text)
{
    char *copy = (char *)malloc(text.len + 1);
    if (copy == NULL) return NULL;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    return copy;
}

/* The oldest result is the last of the list. */
static void keep_results(struct sbx_conn *client)
{
    struct sbx_run_job *oldest = NULL;
    if (client->kept < SBX_RESULTS_MAX) return;
    for (struct sbx_run_job *run = client->runs; run != NULL; run = run->next)
        if (run->state == SBX_RUN_ENDED) oldest = run;
    if (oldest != NULL) sbx_run_forget(oldest);
}

struct sbx_run_job *sbx_run_new(struct sbx_conn *client, const struct sbx_wire_run_start *asked)
{
    struct sbx_service *service = client->service;
    struct sbx_run_job *run = (struct sbx_run_job *)calloc(1, sizeof *run);
    if (run == NULL) return NULL;
    run->argv0 = copy_text(sbx_str(asked->argv.first));
    run->label = asked->label.ptr == NULL ? NULL : copy_text(asked->label);
    if (run->argv0 == NULL || (asked->label.ptr != NULL && run->label == NULL)) {
        free(run->argv0);
        free(run->label);
        free(run);
        return NULL;
    }
    keep_results(client);
    run->client = client;
    run->service = service;
    run->begin_ns = uv_hrtime();
    run->has_evidence = asked->evidence;
    run->has_fds = asked->fds;
    run->terminal = (struct sbx_port_terminal){-1, -1, -1, -1};
    (void)snprintf(run->name, sizeof run->name, "r%llu", (unsigned long long)++service->last_run);
    if (asked->session.ptr != NULL)
        (void)snprintf(run->session, sizeof run->session, "%s", asked->session.ptr);
    sbx_buf_init(&run->said, SBX_EVENTS_MAX);
    sbx_buf_init(&run->result, SBX_EVENTS_MAX);
    sbx_buf_init(&run->tail, 4 * SBX_STDERR_TAIL_MAX);
    sbx_buf_init(&run->manifest_text, SBX_FRAME_LINE_MAX);
    sbx_arena_init(&run->arena, 64u << 20);
    run->open_handles = 1; /* the client's list */
    run->next = client->runs;
    client->runs = run;
    client->running++;
    service->run_count++;
    run->is_counted = true;
    return run;
}

static void uncount(struct sbx_run_job *run)
{
    if (!run->is_counted) return;
    run->is_counted = false;
    run->service->run_count--;
    if (run->client != NULL) run->client->running--;
    sbx_plans_stir(run->service->plans);
    if (run->service->is_draining) sbx_service_changed(run->service);
}

void sbx_run_release(struct sbx_run_job *run)
{
    if (--run->open_handles > 0) return;
    uncount(run);
    sbx_port_box_drop(run->box);
    if (run->plan != NULL) sbx_plan_entry_drop(run->plan);
    sbx_port_terminal_close(&run->terminal);
    sbx_buf_release(&run->said);
    sbx_buf_release(&run->result);
    sbx_buf_release(&run->tail);
    sbx_buf_release(&run->manifest_text);
    sbx_arena_release(&run->arena);
    free(run->argv0);
    free(run->label);
    free(run);
}

void sbx_run_forget(struct sbx_run_job *run)
{
    if (run->client == NULL) return; /* it has gone meanwhile */
    for (struct sbx_run_job **link = &run->client->runs; *link != NULL; link = &(*link)->next) {
        if (*link != run) continue;
        *link = run->next;
        if (run->state == SBX_RUN_ENDED) run->client->kept--;
        if (run->is_counted) run->client->running--;
        run->client = NULL;
        sbx_run_release(run);
        return;
    }
}

struct sbx_run_job *sbx_run_find(struct sbx_conn *client, struct sbx_str name)
{
    struct sbx_run_job *run = client->runs;
    while (run != NULL && !sbx_str_is(name, run->name)) run = run->next;
    return run;
}

/* ---- the beginning ---- */

static bool may_start(struct sbx_conn *client, const struct sbx_wire_id *id,
                      const struct sbx_wire_run_start *asked)
{
    const struct sbx_service *service = client->service;
    struct sbx_err err = {0};
    enum sbx_wire_code code = SBX_WIRE_OK;
    if (client->running >= service->limits.runs_per_client) {
        (void)sbx_err_set(&err, SBX_E_LIMIT, "this client has %zu runs already", client->running);
        code = SBX_WIRE_LIMIT_REACHED;
    } else if (service->run_count >= service->limits.runs) {
        (void)sbx_err_set(&err, SBX_E_LIMIT, "the service has %zu runs already",
                          service->run_count);
        code = SBX_WIRE_OVERLOADED;
    } else if (asked->argv.count == 0 || asked->argv.first[0] == '\0') {
        (void)sbx_err_set(&err, SBX_E_INVALID, "\"argv\" has no command");
        code = SBX_WIRE_INVALID_PARAMS;
    } else if (asked->manifest.ptr != NULL && asked->manifest_file.ptr != NULL) {
        (void)sbx_err_set(&err, SBX_E_INVALID,
                          "\"manifest\" and \"manifestFile\" exclude each other");
        code = SBX_WIRE_INVALID_PARAMS;
    } else if (asked->session.ptr != NULL && sbx_session_find(client, asked->session) == NULL) {
        (void)sbx_err_set(&err, SBX_E_NOT_FOUND, "there is no such session");
        code = SBX_WIRE_NO_SUCH_SESSION;
    } else if (asked->fds && (client->fd_count != 3 || asked->tty.rows != 0 ||
                              asked->stdin_kind != SBX_WIRE_STDIN_NULL)) {
        (void)sbx_err_set(&err, SBX_E_INVALID,
                          client->fd_count != 3 ? "three descriptors have to come with \"fds\""
                                                : "\"fds\" excludes \"tty\" and \"stdin\"");
        code = client->reader == NULL ? SBX_WIRE_UNSUPPORTED : SBX_WIRE_INVALID_PARAMS;
    }
    if (code != SBX_WIRE_OK) sbx_conn_fail(client, id, code, &err);
    return code == SBX_WIRE_OK;
}

void sbx_run_start(struct sbx_conn *client, const struct sbx_wire_id *id)
{
    const struct sbx_wire_run_start *asked = &client->service->body.run_start;
    if (!may_start(client, id, asked)) return;
    struct sbx_pending *pending = sbx_pending_add(client, id, SBX_WIRE_RUN_START);
    if (pending == NULL) return;
    struct sbx_run_job *run = sbx_run_new(client, asked);
    if (run == NULL) {
        sbx_pending_drop(client, pending);
        sbx_conn_fail(client, id, SBX_WIRE_OVERLOADED, NULL);
        return;
    }
    run->start = pending;
    pending->run = run;
    uv_file fds[3] = {-1, -1, -1};
    for (size_t i = 0; asked->fds && i < 3; i++) {
        fds[i] = client->fds[i];
        client->fds[i] = -1;
    }
    if (asked->fds) client->fd_count = 0;
    const struct sbx_service_session *session =
        asked->session.ptr == NULL ? NULL : sbx_session_find(client, asked->session);
    bool is_apart = session == NULL || !session->is_shared;
    run->open_handles++; /* not freed below */
    if (!is_apart || asked->tty.rows != 0 || !sbx_run_warm(run, asked, fds))
        sbx_run_cold(run, asked, fds, session);
    for (size_t i = 0; i < 3; i++) sbx_fd_drop(&fds[i]);
    sbx_run_release(run);
}

static void look_at_output(struct sbx_run_job *run)
{
    for (size_t i = 0; i < run->out_count; i++) sbx_output_look(&run->out[i]);
}

void sbx_run_started(struct sbx_run_job *run, struct sbx_str evidence)
{
    struct sbx_conn *client = run->client;
    if (run->state != SBX_RUN_STARTING) return;
    run->state = SBX_RUN_RUNNING;
    if (client == NULL) return;
    if (run->start != NULL) {
        struct sbx_wire_run_start_result result = {.run = sbx_str(run->name),
                                                   .backend = sbx_str(run->backend),
                                                   .digest = sbx_str(run->digest),
                                                   .warm = run->box != NULL};
        sbx_wire_add_result(&client->queue, &run->start->id, SBX_WIRE_RUN_START, &result);
        sbx_pending_drop(client, run->start);
        run->start = NULL;
    }
    struct sbx_wire_started told = {.run = sbx_str(run->name)};
    if (run->has_evidence && evidence.len > 0) told.evidence = evidence;
    sbx_wire_add_notice(&client->queue, SBX_WIRE_STARTED, &told);
    /* A client that has nothing to say meanwhile is woken once, if the command is a short one. */
    if (run->box != NULL && !run->in.is_open)
        sbx_conn_flush_soon(client);
    else
        sbx_conn_flush(client);
    look_at_output(run);
}

/* ---- the end ---- */

static void close_all(struct sbx_run_job *run)
{
    for (size_t i = 0; i < run->out_count; i++) sbx_output_close(&run->out[i]);
    sbx_input_close(run);
}

void sbx_run_refused(struct sbx_run_job *run, enum sbx_wire_code code, const struct sbx_err *err)
{
    struct sbx_conn *client = run->client;
    close_all(run);
    if (client == NULL || run->start == NULL) {
        uncount(run);
        return;
    }
    struct sbx_str result = sbx_buf_str(&run->result);
    struct sbx_wire_id id = run->start->id;
    sbx_pending_drop(client, run->start);
    run->start = NULL;
    if (result.len == 0 || code == SBX_WIRE_CANCELLED) {
        sbx_wire_add_failure(&client->queue, &id, code, err);
    } else {
        struct sbx_str findings = sbx_member(result, "findings");
        struct sbx_wire_error error = {.code = code,
                                       .message = sbx_str(err->text),
                                       .data.hint = sbx_str(err->hint),
                                       .data.outcome = result};
        if (err->hint[0] == '\0') error.data.hint = (struct sbx_str){0};
        if (code == SBX_WIRE_POLICY_INVALID && findings.len > 0) error.data.findings = findings;
        sbx_wire_add_error(&client->queue, &id, &error);
    }
    run->open_handles++; /* not freed below */
    sbx_conn_flush(client);
    uncount(run);
    sbx_run_forget(run);
    sbx_run_release(run);
}

static void tell_denials(struct sbx_run_job *run)
{
    struct sbx_str denials = sbx_member(sbx_buf_str(&run->result), "denials");
    struct sbx_json_walk walk;
    struct sbx_json_value item;
    if (denials.len == 0) return;
    sbx_json_enter(denials, &walk);
    while (sbx_json_next_item(&walk, &item)) {
        struct sbx_wire_denied told = {sbx_str(run->name), item.raw};
        sbx_wire_add_notice(&run->client->queue, SBX_WIRE_DENIED, &told);
    }
}

static void answer_waiters(struct sbx_run_job *run)
{
    struct sbx_conn *client = run->client;
    struct sbx_wire_object result = {sbx_buf_str(&run->result)};
    for (struct sbx_pending *pending = client->pending; pending != NULL;) {
        struct sbx_pending *next = pending->next;
        if (pending->method == SBX_WIRE_RUN_WAIT && pending->run == run) {
            sbx_wire_add_result(&client->queue, &pending->id, SBX_WIRE_RUN_WAIT, &result);
            sbx_pending_drop(client, pending);
        }
        pending = next;
    }
}

void sbx_run_lost(struct sbx_run_job *run)
{
    struct sbx_err err = {0};
    struct sbx_arena arena;
    struct sbx_findings none;
    sbx_arena_init(&arena, 64u << 10);
    sbx_findings_init(&none, &arena);
    (void)sbx_err_set(&err, SBX_E_INTERNAL,
                      run->is_cancelled ? "the run was ended" : "what ran the command has died");
    struct sbx_run_report report = {
        .command = "run", .findings = &none, .err = &err, .status = 125};
    sbx_buf_reset(&run->result);
    sbx_run_report_json(&report, &run->result);
    if (run->result.len > 0) run->result.data[--run->result.len] = '\0'; /* the end of the line */
    sbx_arena_release(&arena);
}

static void finish(struct sbx_run_job *run)
{
    struct sbx_conn *client = run->client;
    if (run->result.len == 0 || run->result.len + 256 > client->line_max) sbx_run_lost(run);
    run->state = SBX_RUN_ENDED;
    sbx_input_close(run);
    tell_denials(run);
    struct sbx_wire_exited told = {sbx_str(run->name), sbx_buf_str(&run->result)};
    sbx_wire_add_notice(&client->queue, SBX_WIRE_EXITED, &told);
    answer_waiters(run);
    client->kept++;
    sbx_conn_flush(client);
    uncount(run); /* the last one may end the service */
}

/* A run that was ended is not kept open by output that nobody takes. */
static void drop_unwanted(struct sbx_run_job *run)
{
    for (size_t i = 0; i < run->out_count && run->is_cancelled; i++) {
        struct sbx_output_stream *stream = &run->out[i];
        if (!stream->is_open || stream->is_reading) continue;
        struct sbx_wire_closed told = {.run = sbx_str(run->name), .stream = stream->which};
        sbx_output_close(stream);
        sbx_wire_add_notice(&run->client->queue, SBX_WIRE_CLOSED, &told);
    }
}

void sbx_run_check(struct sbx_run_job *run)
{
    if (run->client == NULL || run->state == SBX_RUN_ENDED) return;
    if (run->has_child || run->has_events || (run->box != NULL && !run->is_over)) return;
    if (run->state == SBX_RUN_STARTING) return; /* who starts it says why not */
    drop_unwanted(run);
    for (size_t i = 0; i < run->out_count; i++)
        if (run->out[i].is_open) return;
    run->open_handles++; /* not freed below */
    if (run->box != NULL) sbx_run_report_warm(run);
    finish(run);
    /* Not now: taking the box apart would compete with whoever waits for the answer. */
    sbx_plans_retire(run->service->plans, run->box);
    run->box = NULL;
    sbx_run_release(run);
}

static void on_closed(uv_handle_t *handle)
{
    sbx_run_release((struct sbx_run_job *)handle->data);
}

static void on_kill(uv_timer_t *timer)
{
    struct sbx_run_job *run = (struct sbx_run_job *)timer->data;
    run->has_kill = false;
    if (run->has_child) (void)uv_process_kill(&run->child, SIGKILL);
    uv_close((uv_handle_t *)timer, on_closed);
}

static void end_child(struct sbx_run_job *run)
{
    struct sbx_err ignored = {0};
    if (sbx_port_signal(&run->child, SIGKILL, &ignored) != SBX_OK)
        (void)uv_process_kill(&run->child, SIGKILL);
    if (run->has_kill) return;
    (void)uv_timer_init(run->service->loop, &run->kill);
    run->kill.data = run;
    run->has_kill = true;
    run->open_handles++;
    (void)uv_timer_start(&run->kill, on_kill, SBX_KILL_MS, 0);
}

void sbx_run_end(struct sbx_run_job *run)
{
    if (run->state == SBX_RUN_ENDED) return;
    run->is_cancelled = true;
    if (run->has_child)
        end_child(run);
    else if (run->box != NULL && !run->is_over)
        sbx_port_box_cancel(run->box);
    else
        sbx_run_check(run);
}

void sbx_run_orphan(struct sbx_run_job *run)
{
    run->is_cancelled = true;
    run->start = NULL; /* the client's own list frees it */
    close_all(run);
    sbx_port_box_drop(run->box);
    run->box = NULL;
    if (run->has_child) end_child(run);
    sbx_run_forget(run);
}
