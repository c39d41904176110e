/* Questions that take time and change nothing: answered by the command line itself, in a child, so that the loop goes on. */
#include <stdlib.h>

#include "common/service/internal.h"

#include "common/base/banned.h"

enum { MANIFEST_FD = 4, CHILD_FDS, STAGES = 2 };

/* One child after the other: what it prints on standard output is kept. */
struct sbx_ask {
    struct sbx_conn *client;     /* NULL: nobody wants to know any more */
    struct sbx_pending *pending; /* the client's */
    struct sbx_service *service;
    enum sbx_wire_method method;
    struct sbx_words words[STAGES], variables;
    char *cwd;
    size_t stage, stages;
    struct sbx_buf manifest;
    struct sbx_buf printed[STAGES];
    uv_process_t child;
    uv_pipe_t out, in;
    uv_write_t write;
    bool has_child, has_out;
    size_t open_handles;
    int64_t status; /* of the first one */
};

static void free_ask(struct sbx_ask *ask)
{
    for (size_t i = 0; i < STAGES; i++) {
        sbx_words_release(&ask->words[i]);
        sbx_buf_release(&ask->printed[i]);
    }
    sbx_words_release(&ask->variables);
    sbx_buf_release(&ask->manifest);
    free(ask->cwd);
    free(ask);
}

static void go_on(struct sbx_ask *ask);

/* The next child has the same handles, so all of them are waited for. */
static void on_closed(uv_handle_t *handle)
{
    struct sbx_ask *ask = (struct sbx_ask *)handle->data;
    if (--ask->open_handles == 0) go_on(ask);
}

void sbx_ask_end(struct sbx_ask *ask)
{
    ask->client = NULL;
    if (ask->has_child) (void)uv_process_kill(&ask->child, SIGKILL);
}

/* ---- the answer ---- */

/* Printed for people over several lines; between values a line's end means nothing, and inside there is none. */
static bool flatten(struct sbx_ask *ask, struct sbx_buf *text)
{
    struct sbx_err ignored = {0};
    size_t len = 0;
    for (size_t i = 0; i < text->len; i++)
        if (text->data[i] != '\n') text->data[len++] = text->data[i];
    text->len = len;
    return len > 0 && !text->failed &&
           sbx_json_check(&ask->service->json, sbx_buf_str(text), &ignored) == SBX_OK;
}

static void answer_verify(struct sbx_ask *ask, struct sbx_str report)
{
    struct sbx_json_walk walk;
    struct sbx_json_value file;
    struct sbx_wire_verify_result result = {.findings = {"[]", 2}};
    struct sbx_str files = sbx_member(report, "files");
    if (files.len > 0) {
        sbx_json_enter(files, &walk);
        if (sbx_json_next_item(&walk, &file)) result.findings = sbx_member(file.raw, "findings");
    }
    result.ok = sbx_json_bool(sbx_member(report, "ok"));
    sbx_wire_add_result(&ask->client->queue, &ask->pending->id, ask->method, &result);
}

static void answer(struct sbx_ask *ask)
{
    struct sbx_conn *client = ask->client;
    struct sbx_err err = {0};
    struct sbx_str report = sbx_buf_str(&ask->printed[0]);
    const struct sbx_wire_id *id = &ask->pending->id;
    size_t len = report.len + ask->printed[1].len * 2 + 256;
    if (!flatten(ask, &ask->printed[0])) {
        (void)sbx_err_set(&err, SBX_E_INTERNAL, "sbx did not answer");
        sbx_wire_add_failure(&client->queue, id, SBX_WIRE_INTERNAL, &err);
    } else if (len > client->line_max) {
        (void)sbx_err_set(&err, SBX_E_LIMIT, "the answer is longer than a line of this client");
        sbx_wire_add_failure(&client->queue, id, SBX_WIRE_LIMIT_REACHED, &err);
    } else if (ask->method == SBX_WIRE_PLAN_EXPLAIN && ask->status != 0) {
        report = sbx_buf_str(&ask->printed[0]);
        struct sbx_wire_error error = {.code = SBX_WIRE_POLICY_INVALID,
                                       .message = sbx_str("there is no such plan"),
                                       .data.outcome = report,
                                       .data.findings = sbx_member(report, "findings")};
        if (error.data.findings.len == 0) error.data.findings = (struct sbx_str){0};
        sbx_wire_add_error(&client->queue, id, &error);
    } else if (ask->method == SBX_WIRE_PLAN_EXPLAIN) {
        struct sbx_wire_explain_result result = {sbx_buf_str(&ask->printed[1]),
                                                 sbx_buf_str(&ask->printed[0])};
        sbx_wire_add_result(&client->queue, id, ask->method, &result);
    } else if (ask->method == SBX_WIRE_MANIFEST_VERIFY) {
        answer_verify(ask, sbx_buf_str(&ask->printed[0]));
    } else {
        struct sbx_wire_object result = {sbx_buf_str(&ask->printed[0])};
        sbx_wire_add_result(&client->queue, id, ask->method, &result);
    }
    ask->client = NULL;
    sbx_pending_drop(client, ask->pending);
    sbx_conn_flush(client);
}

/* ---- a child ---- */

static bool start(struct sbx_ask *ask);

static void go_on(struct sbx_ask *ask)
{
    bool is_last = ++ask->stage >= ask->stages || ask->status != 0 || ask->client == NULL;
    if (!is_last && start(ask)) return;
    if (ask->open_handles > 0)
        return; /* of one that could not be started: again when they are closed */
    if (ask->client != NULL) answer(ask);
    free_ask(ask);
}

static void on_end(uv_process_t *child, int64_t status, int signal)
{
    struct sbx_ask *ask = (struct sbx_ask *)child->data;
    ask->has_child = false;
    if (ask->stage == 0) ask->status = signal != 0 ? -1 : status;
    uv_close((uv_handle_t *)child, on_closed);
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
    struct sbx_service *service = ((struct sbx_ask *)handle->data)->service;
    (void)suggested;
    *out = uv_buf_init(service->chunk, sizeof service->chunk);
}

static void on_read(uv_stream_t *stream, ssize_t length, const uv_buf_t *buf)
{
    struct sbx_ask *ask = (struct sbx_ask *)stream->data;
    if (length == 0) return;
    if (length > 0) {
        sbx_buf_add(&ask->printed[ask->stage], buf->base, (size_t)length);
        return;
    }
    ask->has_out = false;
    uv_close((uv_handle_t *)stream, on_closed);
}

static void on_manifest(uv_write_t *write, int status)
{
    struct sbx_ask *ask = (struct sbx_ask *)write->data;
    (void)status;
    uv_close((uv_handle_t *)&ask->in, on_closed);
}

static bool send_manifest(struct sbx_ask *ask, uv_file *theirs)
{
    uv_file ends[2];
    if (ask->manifest.len == 0) return true;
    if (uv_pipe(ends, 0, UV_NONBLOCK_PIPE) != 0) return false;
    *theirs = ends[0];
    (void)uv_pipe_init(ask->service->loop, &ask->in, 0);
    ask->in.data = ask->write.data = ask;
    ask->open_handles++;
    uv_buf_t part = uv_buf_init(ask->manifest.data, (unsigned)ask->manifest.len);
    bool is_open = uv_pipe_open(&ask->in, ends[1]) == 0;
    if (!is_open) sbx_fd_drop(&ends[1]);
    if (is_open && uv_write(&ask->write, (uv_stream_t *)&ask->in, &part, 1, on_manifest) == 0)
        return true;
    uv_close((uv_handle_t *)&ask->in, on_closed);
    return false;
}

static bool open_output(struct sbx_ask *ask, uv_file *theirs)
{
    uv_file ends[2];
    if (uv_pipe(ends, UV_NONBLOCK_PIPE, 0) != 0) return false;
    *theirs = ends[1];
    (void)uv_pipe_init(ask->service->loop, &ask->out, 0);
    ask->out.data = ask;
    ask->open_handles++;
    if (uv_pipe_open(&ask->out, ends[0]) == 0 &&
        uv_read_start((uv_stream_t *)&ask->out, on_room, on_read) == 0) {
        ask->has_out = true;
        return true;
    }
    uv_close((uv_handle_t *)&ask->out, on_closed);
    return false;
}

static bool spawn(struct sbx_ask *ask, uv_file out, uv_file manifest)
{
    uv_stdio_container_t stdio[CHILD_FDS] = {{.flags = UV_IGNORE}};
    for (size_t i = 0; i < CHILD_FDS; i++) stdio[i].flags = UV_IGNORE;
    stdio[1] = (uv_stdio_container_t){.flags = UV_INHERIT_FD, .data.fd = out};
    if (manifest >= 0)
        stdio[MANIFEST_FD] = (uv_stdio_container_t){.flags = UV_INHERIT_FD, .data.fd = manifest};
    uv_process_options_t options = {
        .exit_cb = on_end,
        .file = ask->service->program.text,
        .args = (char **)(void *)ask->words[ask->stage].items,
        .env = (char **)(void *)ask->variables.items,
        .cwd = ask->cwd,
        .flags = UV_PROCESS_WINDOWS_HIDE,
        .stdio_count = CHILD_FDS,
        .stdio = stdio,
    };
    ask->child.data = ask;
    ask->has_child = uv_spawn(ask->service->loop, &ask->child, &options) == 0;
    ask->child.data = ask;
    ask->open_handles++;
    if (!ask->has_child) uv_close((uv_handle_t *)&ask->child, on_closed);
    return ask->has_child;
}

static bool start(struct sbx_ask *ask)
{
    uv_file out = -1;
    uv_file manifest = -1;
    bool ok = open_output(ask, &out) && send_manifest(ask, &manifest) && spawn(ask, out, manifest);
    sbx_fd_drop(&out);
    sbx_fd_drop(&manifest);
    if (!ok && ask->has_out) {
        ask->has_out = false;
        uv_close((uv_handle_t *)&ask->out, on_closed);
    }
    return ok;
}

/* ---- the question ---- */

static bool make_words(struct sbx_ask *ask, const union sbx_wire_body *body)
{
    static const char *const verbs[SBX_WIRE_METHOD_COUNT] = {
        [SBX_WIRE_PLAN_EXPLAIN] = "explain",
        [SBX_WIRE_MANIFEST_VERIFY] = "verify",
        [SBX_WIRE_DOCTOR] = "doctor",
    };
    bool is_explain = ask->method == SBX_WIRE_PLAN_EXPLAIN;
    bool is_verify = ask->method == SBX_WIRE_MANIFEST_VERIFY;
    struct sbx_wire_run_start plain = {0};
    const struct sbx_wire_run_start *asked = is_explain ? &body->run_start : &plain;
    struct sbx_wire_run_start options = *asked;
    options.evidence = false; /* nothing is built */
    struct sbx_str manifest = is_explain  ? asked->manifest
                              : is_verify ? body->verify.manifest
                                          : (struct sbx_str){0};
    if (manifest.ptr != NULL) sbx_buf_add_str(&ask->manifest, manifest);
    ask->stages = is_explain ? 2 : 1;
    bool ok = !ask->manifest.failed && sbx_words_variables(&ask->variables, asked);
    for (size_t i = 0; ok && i < ask->stages; i++) {
        struct sbx_words *words = &ask->words[i];
        ok = sbx_words_attended(words, ask->service, -1, manifest.ptr != NULL ? MANIFEST_FD : -1,
                                -1, verbs[ask->method]) &&
             (i > 0 || sbx_words_add(words, "--json")) && sbx_words_add(words, "--color=never");
        if (ok && is_explain) ok = sbx_words_options(words, &options);
        if (ok && is_explain && asked->argv.count > 0) ok = sbx_words_command(words, asked);
        if (ok && is_verify && manifest.ptr == NULL && body->verify.manifest_file.ptr != NULL)
            ok = sbx_words_add(words, "--") && sbx_words_add(words, body->verify.manifest_file.ptr);
    }
    if (ok && asked->cwd.ptr != NULL) {
        ask->cwd = (char *)malloc(asked->cwd.len + 1);
        ok = ask->cwd != NULL;
        for (size_t i = 0; ok && i <= asked->cwd.len; i++) ask->cwd[i] = asked->cwd.ptr[i];
    }
    return ok;
}

void sbx_ask_start(struct sbx_conn *client, const struct sbx_wire_id *id,
                   enum sbx_wire_method method)
{
    struct sbx_pending *pending = sbx_pending_add(client, id, method);
    if (pending == NULL) return;
    struct sbx_ask *ask = (struct sbx_ask *)calloc(1, sizeof *ask);
    if (ask == NULL) {
        sbx_pending_drop(client, pending);
        sbx_conn_fail(client, id, SBX_WIRE_OVERLOADED, NULL);
        return;
    }
    ask->client = client;
    ask->pending = pending;
    ask->service = client->service;
    ask->method = method;
    sbx_buf_init(&ask->manifest, SBX_FRAME_LINE_MAX);
    sbx_words_init(&ask->variables);
    for (size_t i = 0; i < STAGES; i++) {
        sbx_words_init(&ask->words[i]);
        sbx_buf_init(&ask->printed[i], (size_t)4 * SBX_FRAME_LINE_MAX);
    }
    pending->ask = ask;
    if (make_words(ask, &client->service->body) && start(ask)) return;
    struct sbx_err err = {0};
    (void)sbx_err_set(&err, SBX_E_IO, "cannot start sbx");
    ask->client = NULL;
    sbx_pending_drop(client, pending);
    if (ask->open_handles == 0) free_ask(ask);
    sbx_conn_fail(client, id, SBX_WIRE_OVERLOADED, &err);
}
