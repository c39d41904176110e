/* The frame of JSON-RPC 2.0 around every message. */
#include <string.h>

#include "common/base/utf8.h"
#include "common/wire/wire.h"

#include "common/base/banned.h"

enum part { JSONRPC, ID, METHOD, PARAMS, RESULT, FAILURE, PART_COUNT };

static const char *const part_names[PART_COUNT] = {"jsonrpc", "id",     "method",
                                                   "params",  "result", "error"};

struct parts {
    struct sbx_json_value value[PART_COUNT];
    bool is_given[PART_COUNT];
};

static enum sbx_wire_code invalid(struct sbx_err *err, const char *what)
{
    (void)sbx_err_set(err, SBX_E_INVALID, "%s", what);
    return SBX_WIRE_INVALID_REQUEST;
}

/* False for a member that JSON-RPC does not have. */
static bool take_parts(struct sbx_str line, struct parts *parts)
{
    bool is_known = true;
    struct sbx_json_walk walk;
    struct sbx_json_value key, value;
    for (sbx_json_enter(line, &walk); sbx_json_next_member(&walk, &key, &value);) {
        size_t i = 0;
        while (i < PART_COUNT && !sbx_json_is(key.raw, part_names[i])) i++;
        if (i == PART_COUNT) {
            is_known = false;
            continue;
        }
        parts->value[i] = value;
        parts->is_given[i] = true;
    }
    return is_known;
}

static bool is_object(const struct parts *parts, enum part part)
{
    return parts->is_given[part] && parts->value[part].type == SBX_JSON_OBJECT;
}

/* A request or a notice. */
static enum sbx_wire_code take_call(const struct parts *parts, struct sbx_wire_message *message,
                                    struct sbx_err *err)
{
    const struct sbx_json_value *method = &parts->value[METHOD];
    if (method->type != SBX_JSON_STRING) return invalid(err, "\"method\" must be a string");
    if (parts->is_given[RESULT] || parts->is_given[FAILURE])
        return invalid(err, "a message has a method, a result or an error, not two of them");
    if (parts->is_given[PARAMS] && !is_object(parts, PARAMS))
        return invalid(err, "\"params\" must be an object");
    if (parts->is_given[PARAMS]) message->params = parts->value[PARAMS].raw;
    /* A copy: whoever puts a line aside reads it again. No method has a name that is nearly as long. */
    char copy[512];
    struct sbx_str name = {method->raw.ptr + 1, method->raw.len - 2};
    if (method->raw.len < sizeof copy) {
        memcpy(copy, method->raw.ptr, method->raw.len);
        name = sbx_json_take_text((struct sbx_str){copy, method->raw.len});
    }
    message->method = sbx_wire_method_of(name);
    message->sort = parts->is_given[ID] ? SBX_WIRE_REQUEST : SBX_WIRE_NOTICE;
    bool is_question = message->method != SBX_WIRE_METHOD_COUNT &&
                       sbx_wire_rows[message->method].way == SBX_WIRE_ASKS;
    if (message->sort == SBX_WIRE_NOTICE) {
        if (is_question) message->method = SBX_WIRE_METHOD_COUNT;
        return SBX_WIRE_OK;
    }
    if (is_question) return SBX_WIRE_OK;
    AUTO_BUF shown;
    sbx_buf_init(&shown, 512);
    name.len = sbx_utf8_cut(name.ptr, name.len > 64 ? 64 : name.len);
    sbx_buf_add_visible(&shown, name, false);
    (void)sbx_err_set(err, SBX_E_INVALID, "there is no method \"%s\"", sbx_buf_text(&shown));
    message->method = SBX_WIRE_METHOD_COUNT;
    return SBX_WIRE_NO_METHOD;
}

static enum sbx_wire_code take_answer(const struct parts *parts, struct sbx_wire_message *message,
                                      struct sbx_err *err)
{
    if (parts->is_given[RESULT] == parts->is_given[FAILURE] || parts->is_given[PARAMS])
        return invalid(err, "a message has a method, a result or an error");
    if (!parts->is_given[ID]) return invalid(err, "an answer has an id");
    enum part part = parts->is_given[RESULT] ? RESULT : FAILURE;
    if (!is_object(parts, part)) return invalid(err, "a result or an error is an object");
    message->sort = part == RESULT ? SBX_WIRE_RESULT : SBX_WIRE_ERROR;
    *(part == RESULT ? &message->result : &message->error) = parts->value[part].raw;
    return SBX_WIRE_OK;
}

enum sbx_wire_code sbx_wire_read(struct sbx_json_reader *reader, struct sbx_str line,
                                 struct sbx_wire_message *message, struct sbx_err *err)
{
    *message = (struct sbx_wire_message){.method = SBX_WIRE_METHOD_COUNT};
    if (sbx_json_check(reader, line, err) != SBX_OK) return SBX_WIRE_PARSE;
    struct parts parts = {0};
    bool is_known = take_parts(line, &parts);
    const struct sbx_json_value *id = &parts.value[ID];
    bool is_null = parts.is_given[ID] && id->type == SBX_JSON_NULL;
    if (parts.is_given[ID] && !is_null && !sbx_wire_take_id(id, &message->id))
        return invalid(err,
                       "\"id\" must be an integer, or a string of at most 64 bytes without NUL");
    if (!is_known) return invalid(err, "a message has no members but those of JSON-RPC 2.0");
    if (!parts.is_given[JSONRPC] || parts.value[JSONRPC].type != SBX_JSON_STRING ||
        !sbx_json_is(parts.value[JSONRPC].raw, "2.0"))
        return invalid(err, "\"jsonrpc\" must be \"2.0\"");
    if (!parts.is_given[METHOD]) return take_answer(&parts, message, err);
    if (is_null) return invalid(err, "\"id\" must not be null");
    return take_call(&parts, message, err);
}

bool sbx_wire_id_eq(const struct sbx_wire_id *a, const struct sbx_wire_id *b)
{
    if (!a->is_given || !b->is_given || a->is_text != b->is_text) return false;
    return a->is_text ? strcmp(a->text, b->text) == 0 : a->number == b->number;
}
