/* JSON Schema (2020-12) of every message, made from the table. */
#include "common/wire/schema.h"

#include "common/base/jsonw.h"
#include "common/wire/wire.h"

#include "common/base/banned.h"

static void members_schema(struct sbx_jsonw *json, const struct sbx_wire_members *members,
                           bool is_strict);

static void type_pair(struct sbx_jsonw *json, const char *type)
{
    sbx_jsonw_pair_text(json, "type", type);
}

static void range_pairs(struct sbx_jsonw *json, const struct sbx_wire_member *row)
{
    type_pair(json, "integer");
    sbx_jsonw_key(json, "minimum");
    sbx_jsonw_i64(json, row->min);
    sbx_jsonw_key(json, "maximum");
    sbx_jsonw_i64(json, row->max);
}

static void words_pair(struct sbx_jsonw *json, const struct sbx_name *names)
{
    sbx_jsonw_key(json, "enum");
    sbx_jsonw_array(json);
    for (; names->text != NULL; names++) sbx_jsonw_text(json, names->text);
    sbx_jsonw_end(json);
}

static void string_schema(struct sbx_jsonw *json, const char *key)
{
    sbx_jsonw_key(json, key);
    sbx_jsonw_object(json);
    type_pair(json, "string");
    sbx_jsonw_end(json);
}

static void id_types(struct sbx_jsonw *json, bool may_be_null)
{
    sbx_jsonw_key(json, "type");
    sbx_jsonw_array(json);
    sbx_jsonw_text(json, "integer");
    sbx_jsonw_text(json, "string");
    if (may_be_null) sbx_jsonw_text(json, "null");
    sbx_jsonw_end(json);
}

static void list_schema(struct sbx_jsonw *json, const struct sbx_wire_member *row)
{
    type_pair(json, "array");
    if (row->kind == SBX_WIRE_TEXTS) {
        sbx_jsonw_pair_u64(json, "minItems", (uint64_t)row->min);
        sbx_jsonw_pair_u64(json, "maxItems", (uint64_t)row->max);
        string_schema(json, "items");
        return;
    }
    if (row->kind == SBX_WIRE_INTS) {
        sbx_jsonw_pair_u64(json, "minItems", 1);
        sbx_jsonw_pair_u64(json, "maxItems", SBX_WIRE_VERSIONS);
    }
    sbx_jsonw_key(json, "items");
    sbx_jsonw_object(json);
    if (row->kind == SBX_WIRE_INTS)
        range_pairs(json, row);
    else if (row->members != NULL)
        members_schema(json, row->members, false);
    sbx_jsonw_end(json);
}

/* The keywords of one member. */
static void member_schema(struct sbx_jsonw *json, const struct sbx_wire_member *row, bool is_strict)
{
    switch (row->kind) {
    case SBX_WIRE_INT:
        range_pairs(json, row);
        break;
    case SBX_WIRE_BOOL:
        type_pair(json, "boolean");
        break;
    case SBX_WIRE_CHOICE:
    case SBX_WIRE_ENCODING:
        words_pair(json, row->names);
        break;
    case SBX_WIRE_TEXTS:
    case SBX_WIRE_INTS:
    case SBX_WIRE_RAW_LIST:
        list_schema(json, row);
        break;
    case SBX_WIRE_PAIRS:
        type_pair(json, "object");
        sbx_jsonw_pair_u64(json, "maxProperties", (uint64_t)row->max);
        string_schema(json, "additionalProperties");
        break;
    case SBX_WIRE_ID:
        id_types(json, false);
        break;
    case SBX_WIRE_OBJECT:
        members_schema(json, row->members, is_strict);
        break;
    case SBX_WIRE_RAW:
    case SBX_WIRE_WHOLE:
        type_pair(json, "object");
        break;
    case SBX_WIRE_TEXT:
    case SBX_WIRE_DATA:
    case SBX_WIRE_KIND_COUNT:
    default:
        type_pair(json, "string");
        sbx_jsonw_pair_u64(json, "maxLength", (uint64_t)row->max);
    }
}

static void members_schema(struct sbx_jsonw *json, const struct sbx_wire_members *members,
                           bool is_strict)
{
    const struct sbx_wire_member *row = members->rows;
    type_pair(json, "object");
    if (row->name != NULL && row->kind == SBX_WIRE_WHOLE) {
        sbx_jsonw_pair_text(json, "description", row->help);
        return;
    }
    sbx_jsonw_pair_bool(json, "additionalProperties", !is_strict);
    sbx_jsonw_key(json, "required");
    sbx_jsonw_array(json);
    for (; row->name != NULL; row++)
        if (row->is_required) sbx_jsonw_text(json, row->name);
    sbx_jsonw_end(json);
    sbx_jsonw_key(json, "properties");
    sbx_jsonw_object(json);
    for (row = members->rows; row->name != NULL; row++) {
        sbx_jsonw_key(json, row->name);
        sbx_jsonw_object(json);
        sbx_jsonw_pair_text(json, "description", row->help);
        member_schema(json, row, is_strict);
        sbx_jsonw_end(json);
    }
    sbx_jsonw_end(json);
}

/* An object with the members of JSON-RPC: `id` and `method` or not, and one more that `members` says. */
static void message_schema(struct sbx_jsonw *json, const char *name, const char *method,
                           bool has_id, const char *part, const struct sbx_wire_members *members,
                           bool is_strict)
{
    sbx_jsonw_key(json, name);
    sbx_jsonw_object(json);
    type_pair(json, "object");
    sbx_jsonw_pair_bool(json, "additionalProperties", false);
    sbx_jsonw_key(json, "required");
    sbx_jsonw_array(json);
    sbx_jsonw_text(json, "jsonrpc");
    if (has_id) sbx_jsonw_text(json, "id");
    sbx_jsonw_text(json, method != NULL ? "method" : part);
    sbx_jsonw_end(json);
    sbx_jsonw_key(json, "properties");
    sbx_jsonw_object(json);
    sbx_jsonw_key(json, "jsonrpc");
    sbx_jsonw_object(json);
    sbx_jsonw_pair_text(json, "const", "2.0");
    sbx_jsonw_end(json);
    if (has_id) {
        sbx_jsonw_key(json, "id");
        sbx_jsonw_object(json);
        id_types(json, members == &sbx_wire_error_members);
        sbx_jsonw_end(json);
    }
    if (method != NULL) {
        sbx_jsonw_key(json, "method");
        sbx_jsonw_object(json);
        sbx_jsonw_pair_text(json, "const", method);
        sbx_jsonw_end(json);
    }
    sbx_jsonw_key(json, part);
    sbx_jsonw_object(json);
    members_schema(json, members, is_strict);
    sbx_jsonw_end(json);
    sbx_jsonw_end(json);
    sbx_jsonw_end(json);
}

void sbx_wire_schema_print(struct sbx_buf *out)
{
    struct sbx_jsonw writer;
    struct sbx_jsonw *json = &writer;
    sbx_jsonw_init(json, out, true);
    sbx_jsonw_object(json);
    sbx_jsonw_pair_text(json, "$schema", "https://json-schema.org/draft/2020-12/schema");
    sbx_jsonw_pair_text(json, "title", "sbx protocol 1: each message is one of $defs");
    sbx_jsonw_key(json, "$defs");
    sbx_jsonw_object(json);
    for (size_t i = 0; i < SBX_WIRE_METHOD_COUNT; i++) {
        const struct sbx_wire_row *row = &sbx_wire_rows[i];
        bool asks = row->way == SBX_WIRE_ASKS;
        message_schema(json, row->name, row->name, asks, "params", row->params, asks);
        if (!asks) continue;
        char name[80];
        sbx_text_format(name, sizeof name, "%s result", row->name);
        message_schema(json, name, NULL, true, "result", row->result, false);
    }
    message_schema(json, "error", NULL, true, "error", &sbx_wire_error_members, false);
    sbx_jsonw_end(json);
    sbx_jsonw_end(json);
    sbx_buf_add_char(out, '\n');
}
