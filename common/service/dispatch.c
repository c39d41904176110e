/* The table of methods: what a client may ask, and when. */
#include <stdlib.h>

#include "common/service/internal.h"

#include "common/base/banned.h"

/* ---- requests that are not answered yet ---- */

struct sbx_pending *sbx_pending_add(struct sbx_conn *client, const struct sbx_wire_id *id,
                                    enum sbx_wire_method method)
{
    struct sbx_pending *pending = NULL;
    if (client->pending_count < client->service->limits.pending)
        pending = (struct sbx_pending *)calloc(1, sizeof *pending);
    if (pending == NULL) {
        struct sbx_err err = {0};
        (void)sbx_err_set(&err, SBX_E_LIMIT, "too many requests are unanswered");
        (void)sbx_err_hint(&err, "wait for an answer before the next request");
        sbx_conn_fail(client, id, SBX_WIRE_OVERLOADED, &err);
        return NULL;
    }
    pending->id = *id;
    pending->method = method;
    pending->next = client->pending;
    client->pending = pending;
    client->pending_count++;
    return pending;
}

void sbx_pending_drop(struct sbx_conn *client, struct sbx_pending *pending)
{
    for (struct sbx_pending **link = &client->pending; *link != NULL; link = &(*link)->next) {
        if (*link != pending) continue;
        *link = pending->next;
        client->pending_count--;
        free(pending);
        return;
    }
}

static struct sbx_pending *find_pending(struct sbx_conn *client, const struct sbx_wire_id *id)
{
    struct sbx_pending *pending = client->pending;
    while (pending != NULL && !sbx_wire_id_eq(&pending->id, id)) pending = pending->next;
    return pending;
}

/* What C does not name. uv.h brings the system's own, where it has them. */
#ifdef SIGUSR1
enum { SIGUSR1_NUMBER = SIGUSR1, SIGUSR2_NUMBER = SIGUSR2 };
#else
enum { SIGUSR1_NUMBER = 10, SIGUSR2_NUMBER = 12 };
#endif

/* ---- handlers: the request is in service->body ---- */

static void answer(struct sbx_conn *client, const struct sbx_wire_id *id,
                   enum sbx_wire_method method, const void *result)
{
    sbx_wire_add_result(&client->queue, id, method, result);
    sbx_conn_flush(client);
}

static bool offers(const struct sbx_wire_ints *versions)
{
    for (size_t i = 0; i < versions->count; i++)
        if (versions->items[i] == SBX_WIRE_PROTOCOL) return true;
    return false;
}

static struct sbx_str platform(void)
{
    struct sbx_arena arena;
    struct sbx_facts facts = {0};
    sbx_arena_init(&arena, 64u << 10);
    sbx_os_facts(&arena, &facts);
    sbx_arena_release(&arena);
    return sbx_str(sbx_name_text(sbx_platform_names, (int)facts.platform));
}

static void hello(struct sbx_conn *client, const struct sbx_wire_id *id)
{
    const struct sbx_wire_hello *asked = &client->service->body.hello;
    const struct sbx_service_limits *limits = &client->service->limits;
    struct sbx_err err = {0};
    if (client->is_greeted) {
        (void)sbx_err_set(&err, SBX_E_INVALID, "hello was said already");
        sbx_conn_fail(client, id, SBX_WIRE_INVALID_REQUEST, &err);
        return;
    }
    if (!offers(&asked->protocol)) {
        (void)sbx_err_set(&err, SBX_E_UNSUPPORTED, "this service speaks protocol %d",
                          SBX_WIRE_PROTOCOL);
        sbx_conn_fail(client, id, SBX_WIRE_VERSION, &err);
        return;
    }
    client->is_greeted = true;
    if (asked->max_line != 0 && asked->max_line < (int64_t)client->line_max)
        client->line_max = (size_t)asked->max_line;
    struct sbx_wire_hello_result result = {
        .protocol = SBX_WIRE_PROTOCOL,
        .server = {sbx_str("sbx"), sbx_str(SBX_VERSION)},
        .platform = platform(),
        .connection = sbx_str(client->name),
        .limits = {.line = (int64_t)client->line_max,
                   .runs = (int64_t)limits->runs,
                   .runs_per_client = (int64_t)limits->runs_per_client,
                   .pending = (int64_t)limits->pending,
                   .window = SBX_WIRE_WINDOW,
                   .stdin_window = SBX_STDIN_WINDOW},
    };
    answer(client, id, SBX_WIRE_HELLO, &result);
}

static void ping(struct sbx_conn *client, const struct sbx_wire_id *id)
{
    answer(client, id, SBX_WIRE_PING, NULL);
}

/* NULL after an answer. */
static struct sbx_run_job *find_run(struct sbx_conn *client, const struct sbx_wire_id *id,
                                    struct sbx_str name, bool must_run)
{
    struct sbx_err err = {0};
    struct sbx_run_job *run = sbx_run_find(client, name);
    if (run != NULL && (!must_run || run->state != SBX_RUN_ENDED)) return run;
    (void)sbx_err_set(&err, SBX_E_NOT_FOUND,
                      run == NULL ? "there is no such run" : "the run has ended");
    sbx_conn_fail(client, id, SBX_WIRE_NO_SUCH_RUN, &err);
    return NULL;
}

static void run_stdin(struct sbx_conn *client, const struct sbx_wire_id *id)
{
    const struct sbx_wire_run_stdin *asked = &client->service->body.run_stdin;
    struct sbx_run_job *run = find_run(client, id, asked->run, true);
    struct sbx_err err = {0};
    if (run == NULL) return;
    enum sbx_wire_code code = sbx_input_put(run, asked->data.bytes, asked->eof, &err);
    if (code != SBX_WIRE_OK) {
        sbx_conn_fail(client, id, code, &err);
        return;
    }
    answer(client, id, SBX_WIRE_RUN_STDIN,
           &(struct sbx_wire_run_stdin_result){(int64_t)run->in.queued});
}

static void run_signal(struct sbx_conn *client, const struct sbx_wire_id *id)
{
    static const int numbers[] = {[SBX_WIRE_SIGHUP] = 1,
                                  [SBX_WIRE_SIGINT] = 2,
                                  [SBX_WIRE_SIGQUIT] = 3,
                                  [SBX_WIRE_SIGKILL] = 9,
                                  [SBX_WIRE_SIGTERM] = 15,
                                  [SBX_WIRE_SIGUSR1] = SIGUSR1_NUMBER,
                                  [SBX_WIRE_SIGUSR2] = SIGUSR2_NUMBER};
    const struct sbx_wire_run_signal *asked = &client->service->body.run_signal;
    struct sbx_run_job *run = find_run(client, id, asked->run, true);
    struct sbx_err err = {0};
    if (run == NULL) return;
    if (asked->signal == SBX_WIRE_SIGKILL) {
        sbx_run_end(run);
    } else if (run->box != NULL) {
        sbx_port_box_signal(run->box, numbers[asked->signal]);
    } else if (run->has_child &&
               sbx_port_signal(&run->child, numbers[asked->signal], &err) != SBX_OK) {
        sbx_conn_fail(client, id, SBX_WIRE_UNSUPPORTED, &err);
        return;
    }
    answer(client, id, SBX_WIRE_RUN_SIGNAL, NULL);
}

static void run_resize(struct sbx_conn *client, const struct sbx_wire_id *id)
{
    const struct sbx_wire_run_resize *asked = &client->service->body.run_resize;
    struct sbx_run_job *run = find_run(client, id, asked->run, true);
    struct sbx_err err = {0};
    if (run == NULL) return;
    enum sbx_code code =
        run->has_child && run->out_count == 1
            ? sbx_port_terminal_resize(&run->terminal, &run->child, (unsigned)asked->size.rows,
                                       (unsigned)asked->size.cols, &err)
            : sbx_err_set(&err, SBX_E_UNSUPPORTED, "the run has no terminal");
    if (code != SBX_OK)
        sbx_conn_fail(client, id, SBX_WIRE_UNSUPPORTED, &err);
    else
        answer(client, id, SBX_WIRE_RUN_RESIZE, NULL);
}

static void run_cancel(struct sbx_conn *client, const struct sbx_wire_id *id)
{
    struct sbx_run_job *run = find_run(client, id, client->service->body.run.run, false);
    if (run == NULL) return;
    sbx_run_end(run);
    answer(client, id, SBX_WIRE_RUN_CANCEL, NULL);
}

static void run_wait(struct sbx_conn *client, const struct sbx_wire_id *id)
{
    struct sbx_run_job *run = find_run(client, id, client->service->body.run.run, false);
    if (run == NULL) return;
    if (run->state == SBX_RUN_ENDED) {
        answer(client, id, SBX_WIRE_RUN_WAIT, &(struct sbx_wire_object){sbx_buf_str(&run->result)});
        return;
    }
    struct sbx_pending *pending = sbx_pending_add(client, id, SBX_WIRE_RUN_WAIT);
    if (pending != NULL) pending->run = run;
}

static void run_list(struct sbx_conn *client, const struct sbx_wire_id *id)
{
    static const char *const states[] = {"starting", "running", "ended"};
    AUTO_BUF items;
    sbx_buf_init(&items, SBX_FRAME_LINE_MAX);
    sbx_buf_add_char(&items, '[');
    for (const struct sbx_run_job *run = client->runs; run != NULL; run = run->next) {
        struct sbx_wire_run_item item = {
            .run = sbx_str(run->name),
            .state = sbx_str(states[run->state]),
            .argv0 = sbx_str(run->argv0),
            .backend = sbx_str(run->backend),
            .ms = (int64_t)((uv_hrtime() - run->begin_ns) / 1000000),
        };
        if (run->label != NULL) item.label = sbx_str(run->label);
        if (run->session[0] != '\0') item.session = sbx_str(run->session);
        if (items.len > 1) sbx_buf_add_char(&items, ',');
        sbx_wire_add_item(&items, &sbx_wire_run_item_members, &item);
    }
    sbx_buf_add_char(&items, ']');
    answer(client, id, SBX_WIRE_RUN_LIST, &(struct sbx_wire_list){sbx_buf_str(&items)});
}

static void ask_explain(struct sbx_conn *client, const struct sbx_wire_id *id)
{
    sbx_ask_start(client, id, SBX_WIRE_PLAN_EXPLAIN);
}

static void ask_verify(struct sbx_conn *client, const struct sbx_wire_id *id)
{
    sbx_ask_start(client, id, SBX_WIRE_MANIFEST_VERIFY);
}

static void ask_doctor(struct sbx_conn *client, const struct sbx_wire_id *id)
{
    sbx_ask_start(client, id, SBX_WIRE_DOCTOR);
}

static void shut_down(struct sbx_conn *client, const struct sbx_wire_id *id)
{
    answer(client, id, SBX_WIRE_SHUTDOWN, NULL);
    sbx_conn_close(client, true);
}

static void run_credit(struct sbx_conn *client, const struct sbx_wire_id *id)
{
    const struct sbx_wire_credit *told = &client->service->body.credit;
    struct sbx_run_job *run = sbx_run_find(client, told->run);
    (void)id;
    for (size_t i = 0; run != NULL && i < run->out_count; i++) {
        struct sbx_output_stream *stream = &run->out[i];
        if (stream->which != told->stream && run->out_count != 1) continue;
        /* More than this at once is as good as no limit. */
        if (told->bytes < SBX_JSON_NUMBER_MAX - stream->credit) stream->credit += told->bytes;
        sbx_output_look(stream);
    }
}

static void cancel(struct sbx_conn *client, const struct sbx_wire_id *id)
{
    struct sbx_pending *pending = find_pending(client, &client->service->body.cancel.id);
    struct sbx_err err = {0};
    (void)id;
    if (pending == NULL) return;
    if (pending->method == SBX_WIRE_RUN_START) {
        sbx_run_end(pending->run); /* answers when it has ended */
        return;
    }
    struct sbx_wire_id asked = pending->id;
    if (pending->ask != NULL) sbx_ask_end(pending->ask);
    sbx_pending_drop(client, pending);
    (void)sbx_err_set(&err, SBX_E_UNAVAILABLE, "the client cancelled it");
    sbx_conn_fail(client, &asked, SBX_WIRE_CANCELLED, &err);
}

enum when { ALWAYS, AFTER_HELLO, NOT_DRAINING };

struct dispatch_row {
    enum when when;
    void (*handle)(struct sbx_conn *client, const struct sbx_wire_id *id);
};

static const struct dispatch_row rows[SBX_WIRE_METHOD_COUNT] = {
    [SBX_WIRE_HELLO] = {ALWAYS, hello},
    [SBX_WIRE_PING] = {AFTER_HELLO, ping},
    [SBX_WIRE_RUN_START] = {NOT_DRAINING, sbx_run_start},
    [SBX_WIRE_RUN_STDIN] = {AFTER_HELLO, run_stdin},
    [SBX_WIRE_RUN_SIGNAL] = {AFTER_HELLO, run_signal},
    [SBX_WIRE_RUN_RESIZE] = {AFTER_HELLO, run_resize},
    [SBX_WIRE_RUN_CANCEL] = {AFTER_HELLO, run_cancel},
    [SBX_WIRE_RUN_WAIT] = {AFTER_HELLO, run_wait},
    [SBX_WIRE_RUN_LIST] = {AFTER_HELLO, run_list},
    [SBX_WIRE_SESSION_OPEN] = {NOT_DRAINING, sbx_session_open},
    [SBX_WIRE_SESSION_CLOSE] = {AFTER_HELLO, sbx_session_close},
    [SBX_WIRE_SESSION_LIST] = {AFTER_HELLO, sbx_session_list},
    [SBX_WIRE_PLAN_EXPLAIN] = {NOT_DRAINING, ask_explain},
    [SBX_WIRE_MANIFEST_VERIFY] = {NOT_DRAINING, ask_verify},
    [SBX_WIRE_DOCTOR] = {NOT_DRAINING, ask_doctor},
    [SBX_WIRE_SHUTDOWN] = {AFTER_HELLO, shut_down},
    [SBX_WIRE_RUN_CREDIT] = {AFTER_HELLO, run_credit},
    [SBX_WIRE_CANCEL] = {AFTER_HELLO, cancel},
};

/* ---- one line ---- */

static enum sbx_wire_code may(const struct sbx_conn *client, const struct sbx_wire_message *message,
                              struct sbx_err *err)
{
    const struct dispatch_row *row = &rows[message->method];
    if (row->handle == NULL) {
        (void)sbx_err_set(err, SBX_E_INVALID, "only the service says \"%s\"",
                          sbx_wire_rows[message->method].name);
        return SBX_WIRE_NO_METHOD;
    }
    if (row->when != ALWAYS && !client->is_greeted) {
        (void)sbx_err_set(err, SBX_E_INVALID, "the first request is hello");
        return SBX_WIRE_NOT_INITIALISED;
    }
    if (row->when == NOT_DRAINING && client->service->is_draining) {
        (void)sbx_err_set(err, SBX_E_UNAVAILABLE, "the service is about to end");
        return SBX_WIRE_SHUTTING_DOWN;
    }
    return SBX_WIRE_OK;
}

void sbx_dispatch(struct sbx_conn *client, struct sbx_str line)
{
    struct sbx_service *service = client->service;
    struct sbx_wire_message message = {0};
    struct sbx_err err = {0};
    enum sbx_wire_code code = sbx_wire_read(&service->json, line, &message, &err);
    if (code == SBX_WIRE_PARSE) {
        sbx_conn_fail(client, NULL, code, &err);
        sbx_conn_close(client, true);
        return;
    }
    bool is_request = message.sort == SBX_WIRE_REQUEST || message.id.is_given;
    bool is_notice = message.sort == SBX_WIRE_NOTICE;
    if (is_notice && message.method == SBX_WIRE_METHOD_COUNT) return;
    if (code == SBX_WIRE_OK && message.sort != SBX_WIRE_REQUEST && !is_notice) {
        (void)sbx_err_set(&err, SBX_E_INVALID, "the service asks nothing, so it takes no answers");
        code = SBX_WIRE_INVALID_REQUEST;
    }
    if (code == SBX_WIRE_OK) code = may(client, &message, &err);
    if (code == SBX_WIRE_OK && is_request && find_pending(client, &message.id) != NULL) {
        (void)sbx_err_set(&err, SBX_E_INVALID, "this id is of a request that is not answered yet");
        code = SBX_WIRE_INVALID_REQUEST;
    }
    if (code == SBX_WIRE_OK) code = sbx_wire_take_params(&message, &service->body, &err);
    if (code == SBX_WIRE_OK)
        rows[message.method].handle(client, &message.id);
    else if (!is_notice)
        sbx_conn_fail(client, &message.id, code, &err);
}
