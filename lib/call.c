/* Requests that are answered once. */
#include <inttypes.h>

#include "common/wire/json_string.h"
#include "lib/client.h"

#include "common/base/banned.h"

/* True when the line is the answer; others are put aside. */
static bool is_answer(struct sbx_client *client, struct sbx_str line, uint64_t id,
                      struct sbx_wire_message *message)
{
    if (!sbx_client_read(client, line, message)) return false;
    if (message->sort != SBX_WIRE_NOTICE && !message->id.is_text &&
        message->id.number == (int64_t)id)
        return true;
    sbx_client_postpone(client, line);
    return false;
}

static int take_result(struct sbx_client *client, const struct sbx_wire_message *message,
                       struct sbx_client_error *error)
{
    if (message->sort == SBX_WIRE_ERROR) return sbx_client_fail_answer(error, message, NULL);
    sbx_buf_reset(&client->answer);
    sbx_buf_add_str(&client->answer, message->result);
    return client->answer.failed ? sbx_client_fail(error, "memory", "no memory for an answer") : 0;
}

int sbx_client_await(struct sbx_client *client, int timeout_ms, struct sbx_client_error *error)
{
    uint64_t id = client->last_id;
    uint64_t end_ms = timeout_ms < 0 ? UINT64_MAX : sbx_link_now_ms() + (uint64_t)timeout_ms;
    for (;;) {
        struct sbx_str line;
        struct sbx_wire_message message;
        while (sbx_client_take_line(client, &line))
            if (is_answer(client, line, id, &message)) return take_result(client, &message, error);
        sbx_client_flush(client);
        if (sbx_client_fill(client)) continue;
        if (client->is_over) return sbx_client_ended(client, error);
        if (!sbx_client_rest(client, end_ms))
            return sbx_client_fail(error, "lost", "the worker does not answer");
    }
}

int sbx_client_ask(struct sbx_client *client, enum sbx_wire_method method, const void *params,
                   struct sbx_client_error *error)
{
    if (sbx_client_request(client, method, params, NULL, error) != 0) return -1;
    return sbx_client_await(client, -1, error);
}

static int hand_out(const struct sbx_client *client, const char **json)
{
    if (json != NULL) *json = sbx_buf_text(&client->answer);
    return 0;
}

int sbx_client_call(struct sbx_client *client, const char *method, const char *params,
                    const char **json, struct sbx_client_error *error)
{
    struct sbx_buf *out = &client->out;
    size_t begin = out->len;
    sbx_buf_printf(out, "{\"jsonrpc\":\"2.0\",\"id\":%" PRIu64 ",\"method\":", ++client->last_id);
    sbx_json_add_string(out, sbx_str(method));
    sbx_buf_add_text(out, ",\"params\":");
    if (sbx_client_add_object(client, out, "params", params != NULL ? params : "{}", error) != 0) {
        out->len = begin;
        return -1;
    }
    sbx_buf_add_text(out, "}\n");
    if (sbx_client_send(client, begin, NULL, error) != 0) return -1;
    return sbx_client_await(client, -1, error) != 0 ? -1 : hand_out(client, json);
}

int sbx_client_explain(struct sbx_client *client, const struct sbx_client_run_options *options,
                       const char **json, struct sbx_client_error *error)
{
    AUTO_OPTIONS storage;
    struct sbx_wire_run_start params;
    sbx_client_storage_init(client, &storage);
    if (sbx_client_fill_options(client, options, &params, &storage, error) != 0 ||
        sbx_client_ask(client, SBX_WIRE_PLAN_EXPLAIN, &params, error) != 0)
        return -1;
    return hand_out(client, json);
}

int sbx_client_verify(struct sbx_client *client, const char *manifest, const char *manifest_file,
                      const char **json, struct sbx_client_error *error)
{
    AUTO_BUF object;
    sbx_client_init_buf(client, &object, SBX_FRAME_LINE_MAX);
    if (manifest != NULL &&
        sbx_client_add_object(client, &object, "manifest", manifest, error) != 0)
        return -1;
    struct sbx_wire_verify params = {.manifest_file = sbx_str(manifest_file)};
    if (manifest != NULL) params.manifest = sbx_buf_str(&object);
    if (sbx_client_ask(client, SBX_WIRE_MANIFEST_VERIFY, &params, error) != 0) return -1;
    return hand_out(client, json);
}

int sbx_client_doctor(struct sbx_client *client, const char **json, struct sbx_client_error *error)
{
    if (sbx_client_ask(client, SBX_WIRE_DOCTOR, NULL, error) != 0) return -1;
    return hand_out(client, json);
}
