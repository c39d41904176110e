/* The protocol: lines in, a table of methods, answers out. */
#include "common/mcp/server_internal.h"

#include <stdlib.h>

#include "common/policy/json_read.h"

#include "common/base/banned.h"

enum { LINE_ARENA = 64 << 20 };

static const struct sbx_mcp_revision revisions[] = {
    {"2024-11-05", false, false, false},
    {"2025-03-26", true, true, false},
    {"2025-06-18", true, false, true},
};

/* ---- out ---- */

static void write_line(struct sbx_mcp_server *server, struct sbx_str text)
{
    struct sbx_err unused = {0};
    if (server->is_broken) return;
    AUTO_BUF line;
    sbx_buf_init(&line, SBX_MCP_ANSWER_MAX * SBX_MCP_BATCHES);
    sbx_buf_add_str(&line, text);
    sbx_buf_add_char(&line, '\n');
    server->is_broken =
        line.failed || sbx_mcp_port_write(server->port, sbx_buf_str(&line), &unused) != SBX_OK;
}

/* One answer of a batch is there, or will not come (empty text). */
static void batch_take(struct sbx_mcp_server *server, struct sbx_mcp_batch *batch,
                       struct sbx_str text)
{
    if (text.len > 0) {
        sbx_buf_add_char(&batch->text, batch->text.len == 0 ? '[' : ',');
        sbx_buf_add_str(&batch->text, text);
    }
    if (--batch->pending > 0) return;
    if (batch->text.len > 0) {
        sbx_buf_add_char(&batch->text, ']');
        write_line(server, sbx_buf_str(&batch->text));
    }
    sbx_buf_release(&batch->text);
    *batch = (struct sbx_mcp_batch){0};
}

void sbx_mcp_send(struct sbx_mcp_server *server, struct sbx_mcp_batch *batch,
                  const struct sbx_mcp_id *id, const struct sbx_buf *answer)
{
    struct sbx_str text = {0};
    if (answer != NULL) text = sbx_buf_str(answer);
    AUTO_BUF excuse;
    sbx_buf_init(&excuse, 4096);
    if (answer != NULL && answer->failed) {
        sbx_mcp_fault_write(&excuse, id, SBX_MCP_INTERNAL, "the answer does not fit into memory",
                            (struct sbx_str){0});
        text = sbx_buf_str(&excuse);
    }
    if (batch != NULL)
        batch_take(server, batch, text);
    else if (text.len > 0)
        write_line(server, text);
}

static void send_fault(struct sbx_mcp_server *server, struct sbx_mcp_batch *batch,
                       const struct sbx_mcp_id *id, enum sbx_mcp_fault fault, const char *text)
{
    AUTO_BUF answer;
    sbx_buf_init(&answer, 64u << 10);
    sbx_mcp_fault_write(&answer, id, fault, text, (struct sbx_str){0});
    sbx_mcp_send(server, batch, id, &answer);
}

void sbx_mcp_fail(const struct sbx_mcp_call *call, enum sbx_mcp_fault fault, const char *text)
{
    send_fault(call->server, call->batch, call->id, fault, text);
}

/* ---- methods ---- */

static const struct sbx_mcp_revision *choose_revision(const struct sbx_value *wanted)
{
    for (size_t i = 0; i < SBX_COUNT(revisions); i++)
        if (wanted->type == SBX_VALUE_STRING && sbx_str_is(wanted->string, revisions[i].name))
            return &revisions[i];
    return &revisions[SBX_COUNT(revisions) - 1]; /* the host decides whether it can go on */
}

static void initialize(const struct sbx_mcp_call *call)
{
    struct sbx_mcp_server *server = call->server;
    const struct sbx_value *wanted = sbx_value_get(call->params, "protocolVersion");
    if (server->revision != NULL) {
        sbx_mcp_fail(call, SBX_MCP_INVALID, "already initialised");
        return;
    }
    if (wanted == NULL || wanted->type != SBX_VALUE_STRING) {
        sbx_mcp_fail(call, SBX_MCP_PARAMS, "\"protocolVersion\" must be a text");
        return;
    }
    server->revision = choose_revision(wanted);
    AUTO_BUF answer;
    struct sbx_jsonw json;
    sbx_buf_init(&answer, SBX_MCP_ANSWER_MAX);
    sbx_mcp_answer_open(&json, &answer, call->id);
    sbx_jsonw_object(&json);
    sbx_jsonw_pair_text(&json, "protocolVersion", server->revision->name);
    sbx_jsonw_key(&json, "capabilities");
    sbx_jsonw_object(&json);
    sbx_jsonw_key(&json, "tools");
    sbx_jsonw_object(&json);
    sbx_jsonw_end(&json);
    sbx_jsonw_key(&json, "resources");
    sbx_jsonw_object(&json);
    sbx_jsonw_end(&json);
    sbx_jsonw_end(&json);
    sbx_jsonw_key(&json, "serverInfo");
    sbx_jsonw_object(&json);
    sbx_jsonw_pair_text(&json, "name", "sbx");
    if (server->revision->has_structure) sbx_jsonw_pair_text(&json, "title", "sbx sandbox");
    sbx_jsonw_pair_text(&json, "version", server->config->version);
    sbx_jsonw_end(&json);
    sbx_jsonw_pair_text(&json, "instructions",
                        "Commands run in a sandbox whose access only the user can widen. A result "
                        "names what was denied and the line of the manifest that would allow it: "
                        "ask the user rather than try ways around it.");
    sbx_jsonw_end(&json);
    sbx_jsonw_end(&json);
    sbx_mcp_send(server, call->batch, call->id, &answer);
}

static void ping(const struct sbx_mcp_call *call)
{
    AUTO_BUF answer;
    struct sbx_jsonw json;
    sbx_buf_init(&answer, 4096);
    sbx_mcp_answer_open(&json, &answer, call->id);
    sbx_jsonw_object(&json);
    sbx_jsonw_end(&json);
    sbx_jsonw_end(&json);
    sbx_mcp_send(call->server, call->batch, call->id, &answer);
}

static const struct {
    const char *name;
    bool is_early; /* allowed before initialize */
    void (*handle)(const struct sbx_mcp_call *call);
} methods[] = {
    {"initialize", true, initialize},
    {"ping", true, ping},
    {"tools/list", false, sbx_mcp_tools_list},
    {"tools/call", false, sbx_mcp_tools_call},
    {"resources/list", false, sbx_mcp_resources_list},
    {"resources/templates/list", false, sbx_mcp_resources_templates},
    {"resources/read", false, sbx_mcp_resources_read},
};

static bool is_pending(const struct sbx_mcp_server *server, const struct sbx_mcp_id *id)
{
    for (size_t i = 0; i < SBX_MCP_CHILDREN; i++)
        if (server->jobs[i].is_used && sbx_mcp_id_equal(&server->jobs[i].id, id)) return true;
    return false;
}

static void request(const struct sbx_mcp_call *call, struct sbx_str method)
{
    if (is_pending(call->server, call->id)) {
        sbx_mcp_fail(call, SBX_MCP_INVALID,
                     "this id belongs to a request that is not answered yet");
        return;
    }
    for (size_t i = 0; i < SBX_COUNT(methods); i++) {
        if (!sbx_str_is(method, methods[i].name)) continue;
        if (call->server->revision == NULL && !methods[i].is_early)
            sbx_mcp_fail(call, SBX_MCP_INVALID, "initialize comes first");
        else
            methods[i].handle(call);
        return;
    }
    sbx_mcp_fail(call, SBX_MCP_METHOD, "sbx has no such method");
}

static void notification(struct sbx_mcp_server *server, const struct sbx_mcp_message *message)
{
    struct sbx_mcp_id id;
    if (!sbx_str_is(message->method, "notifications/cancelled")) return;
    if (sbx_mcp_id_read(sbx_value_get(message->params, "requestId"), &id))
        sbx_mcp_job_cancel(server, &id);
}

/* True when the message has, or will have, an answer. */
static bool is_answered(const struct sbx_value *value)
{
    struct sbx_mcp_message message;
    const char *fault = sbx_mcp_message_read(value, &message);
    return fault != NULL || (message.method.len > 0 && message.id.kind != SBX_MCP_ID_NONE);
}

static void take_message(struct sbx_mcp_server *server, struct sbx_arena *arena,
                         const struct sbx_value *value, struct sbx_mcp_batch *batch)
{
    struct sbx_mcp_message message;
    const char *fault = sbx_mcp_message_read(value, &message);
    struct sbx_mcp_call call = {server, arena, &message.id, batch, message.params};
    if (fault != NULL)
        sbx_mcp_fail(&call, SBX_MCP_INVALID, fault);
    else if (message.method.len > 0 && message.id.kind != SBX_MCP_ID_NONE)
        request(&call, message.method);
    else
        notification(server, &message);
}

/* ---- in ---- */

static void take_batch(struct sbx_mcp_server *server, struct sbx_arena *arena,
                       const struct sbx_value *list)
{
    const struct sbx_mcp_id none = {.kind = SBX_MCP_ID_NONE};
    bool may = server->revision != NULL && server->revision->has_batches && list->array.count > 0;
    struct sbx_mcp_batch *batch = NULL;
    for (size_t i = 0; i < SBX_MCP_BATCHES && batch == NULL; i++)
        if (!server->batches[i].is_used) batch = &server->batches[i];
    if (!may || batch == NULL) {
        send_fault(server, NULL, &none, SBX_MCP_INVALID,
                   may ? "too many batches are not answered yet"
                       : "one object per line; this revision has no batches");
        return;
    }
    *batch = (struct sbx_mcp_batch){.is_used = true, .pending = 1};
    sbx_buf_init(&batch->text, SBX_MCP_ANSWER_MAX);
    for (size_t i = 0; i < list->array.count; i++)
        batch->pending += is_answered(&list->array.items[i]);
    for (size_t i = 0; i < list->array.count; i++)
        take_message(server, arena, &list->array.items[i],
                     is_answered(&list->array.items[i]) ? batch : NULL);
    batch_take(server, batch, (struct sbx_str){0});
}

static void take_line(struct sbx_mcp_server *server, struct sbx_str line)
{
    const struct sbx_mcp_id none = {.kind = SBX_MCP_ID_NONE};
    AUTO_ARENA arena;
    sbx_arena_init(&arena, LINE_ARENA);
    struct sbx_value value;
    struct sbx_err err = {0};
    if (sbx_json_read(&arena, "line", line, &value, &err) != SBX_OK)
        send_fault(server, NULL, &none, SBX_MCP_PARSE, err.text);
    else if (value.type == SBX_VALUE_ARRAY)
        take_batch(server, &arena, &value);
    else
        take_message(server, &arena, &value, NULL);
}

static void take_input(struct sbx_mcp_server *server, struct sbx_str bytes)
{
    const struct sbx_mcp_id none = {.kind = SBX_MCP_ID_NONE};
    struct sbx_str line;
    enum sbx_mcp_line kind;
    while ((kind = sbx_mcp_lines_next(&server->lines, &bytes, &line)) != SBX_MCP_LINE_NONE) {
        if (kind == SBX_MCP_LINE_TOO_LONG)
            send_fault(server, NULL, &none, SBX_MCP_PARSE, "a line has at most 1 MiB");
        else
            take_line(server, line);
    }
}

static enum sbx_code loop(struct sbx_mcp_server *server, struct sbx_err *err)
{
    while (!server->is_broken) {
        struct sbx_mcp_event event;
        uint32_t wait_ms = sbx_mcp_jobs_attend(server);
        enum sbx_code code = sbx_mcp_port_next(server->port, wait_ms, &event, err);
        if (code != SBX_OK) return code;
        switch (event.kind) {
        case SBX_MCP_INPUT:
            if (event.bytes.len == 0) return SBX_OK;
            take_input(server, event.bytes);
            break;
        case SBX_MCP_OUTPUT:
            sbx_mcp_job_output(server, &event);
            break;
        case SBX_MCP_ENDED:
            sbx_mcp_job_ended(server, event.child);
            break;
        case SBX_MCP_IDLE:
            break;
        }
    }
    return SBX_OK;
}

enum sbx_code sbx_mcp_serve(const struct sbx_mcp_config *config, struct sbx_err *err)
{
    struct sbx_mcp_server *server = calloc(1, sizeof *server);
    if (server == NULL) return sbx_err_nomem(err);
    server->config = config;
    sbx_mcp_lines_init(&server->lines);
    enum sbx_code code = sbx_mcp_port_open(&server->port, err);
    if (code == SBX_OK) code = loop(server, err);
    sbx_mcp_port_close(server->port);
    sbx_mcp_jobs_release(server);
    for (size_t i = 0; i < SBX_MCP_BATCHES; i++) sbx_buf_release(&server->batches[i].text);
    for (size_t i = 0; i < SBX_MCP_OUTCOMES; i++) sbx_buf_release(&server->outcomes[i].text);
    sbx_mcp_lines_release(&server->lines);
    free(server);
    return code;
}
