/* Lines of bytes into JSON-RPC messages, and answers back. */
#include "common/mcp/message.h"

#include <string.h>

#include "common/base/banned.h"

/* ---- lines ---- */

void sbx_mcp_lines_init(struct sbx_mcp_lines *lines)
{
    lines->is_dropping = false;
    sbx_buf_init(&lines->text, SBX_MCP_LINE_MAX);
}

void sbx_mcp_lines_release(struct sbx_mcp_lines *lines)
{
    sbx_buf_release(&lines->text);
}

static void skip(struct sbx_str *bytes, size_t count)
{
    bytes->ptr += count;
    bytes->len -= count;
}

enum sbx_mcp_line sbx_mcp_lines_next(struct sbx_mcp_lines *lines, struct sbx_str *bytes,
                                     struct sbx_str *line)
{
    while (bytes->len > 0) {
        const char *end = memchr(bytes->ptr, '\n', bytes->len);
        size_t part = end == NULL ? bytes->len : (size_t)(end - bytes->ptr);
        bool fits = !lines->is_dropping && lines->text.len + part <= SBX_MCP_LINE_MAX;
        if (fits) sbx_buf_add(&lines->text, bytes->ptr, part);
        bool is_news = !lines->is_dropping && (!fits || lines->text.failed);
        skip(bytes, part + (end != NULL));
        lines->is_dropping = (lines->is_dropping || is_news) && end == NULL;
        if (is_news) {
            sbx_buf_reset(&lines->text);
            return SBX_MCP_LINE_TOO_LONG;
        }
        if (!fits || end == NULL) continue;
        *line = sbx_buf_str(&lines->text);
        lines->text.len = 0; /* the bytes stay until the next call */
        if (line->len > 0 && line->ptr[line->len - 1] == '\r') line->len--;
        if (line->len > 0) return SBX_MCP_LINE_WHOLE;
    }
    return SBX_MCP_LINE_NONE;
}

/* ---- ids ---- */

bool sbx_mcp_id_read(const struct sbx_value *value, struct sbx_mcp_id *out)
{
    *out = (struct sbx_mcp_id){.kind = SBX_MCP_ID_NONE};
    if (value == NULL) return true;
    if (value->type == SBX_VALUE_INTEGER) {
        out->kind = SBX_MCP_ID_NUMBER;
        out->number = value->integer;
        return true;
    }
    if (value->type != SBX_VALUE_STRING || value->string.len > sizeof out->text) return false;
    out->kind = SBX_MCP_ID_TEXT;
    out->len = value->string.len;
    if (out->len > 0) memcpy(out->text, value->string.ptr, out->len);
    return true;
}

bool sbx_mcp_id_equal(const struct sbx_mcp_id *a, const struct sbx_mcp_id *b)
{
    if (a->kind != b->kind || a->kind == SBX_MCP_ID_NONE) return false;
    if (a->kind == SBX_MCP_ID_NUMBER) return a->number == b->number;
    return a->len == b->len && memcmp(a->text, b->text, a->len) == 0;
}

void sbx_mcp_id_write(const struct sbx_mcp_id *id, struct sbx_jsonw *json)
{
    switch (id->kind) {
    case SBX_MCP_ID_NONE:
        sbx_jsonw_null(json);
        break;
    case SBX_MCP_ID_TEXT:
        sbx_jsonw_str(json, (struct sbx_str){id->text, id->len});
        break;
    case SBX_MCP_ID_NUMBER:
        sbx_jsonw_i64(json, id->number);
        break;
    }
}

/* ---- messages ---- */

const char *sbx_mcp_message_read(const struct sbx_value *value, struct sbx_mcp_message *out)
{
    *out = (struct sbx_mcp_message){0};
    if (value->type != SBX_VALUE_TABLE) return "a message is an object";
    if (!sbx_mcp_id_read(sbx_value_get(value, "id"), &out->id))
        return "an id is an integer or a string of at most 128 bytes";
    const struct sbx_value *version = sbx_value_get(value, "jsonrpc");
    if (version == NULL || version->type != SBX_VALUE_STRING || !sbx_str_is(version->string, "2.0"))
        return "\"jsonrpc\" must be \"2.0\"";
    const struct sbx_value *method = sbx_value_get(value, "method");
    if (method == NULL) {
        bool is_answer =
            sbx_value_get(value, "result") != NULL || sbx_value_get(value, "error") != NULL;
        return is_answer ? NULL : "\"method\" is missing";
    }
    if (method->type != SBX_VALUE_STRING || method->string.len == 0)
        return "\"method\" must be a text";
    out->method = method->string;
    out->params = sbx_value_get(value, "params");
    if (out->params != NULL && out->params->type != SBX_VALUE_TABLE)
        return "\"params\" must be an object";
    return NULL;
}

void sbx_mcp_answer_open(struct sbx_jsonw *json, struct sbx_buf *out, const struct sbx_mcp_id *id)
{
    sbx_jsonw_init(json, out, false);
    sbx_jsonw_object(json);
    sbx_jsonw_pair_text(json, "jsonrpc", "2.0");
    sbx_jsonw_key(json, "id");
    sbx_mcp_id_write(id, json);
    sbx_jsonw_key(json, "result");
}

void sbx_mcp_fault_write(struct sbx_buf *out, const struct sbx_mcp_id *id, enum sbx_mcp_fault fault,
                         const char *text, struct sbx_str uri)
{
    struct sbx_jsonw json;
    sbx_jsonw_init(&json, out, false);
    sbx_jsonw_object(&json);
    sbx_jsonw_pair_text(&json, "jsonrpc", "2.0");
    sbx_jsonw_key(&json, "id");
    sbx_mcp_id_write(id, &json);
    sbx_jsonw_key(&json, "error");
    sbx_jsonw_object(&json);
    sbx_jsonw_key(&json, "code");
    sbx_jsonw_i64(&json, fault);
    sbx_jsonw_pair_text(&json, "message", text);
    if (uri.len > 0) {
        sbx_jsonw_key(&json, "data");
        sbx_jsonw_object(&json);
        sbx_jsonw_pair_str(&json, "uri", uri);
        sbx_jsonw_end(&json);
    }
    sbx_jsonw_end(&json);
    sbx_jsonw_end(&json);
}
