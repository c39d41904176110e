/* The value tree printed as TOML and JSON, and compared. */
#include "common/policy/value_print.h"

#include <inttypes.h>

#include "common/base/banned.h"

void sbx_toml_print_string(struct sbx_str text, struct sbx_buf *out)
{
    sbx_buf_add_char(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c == '"' || c == '\\') {
            sbx_buf_add_char(out, '\\');
            sbx_buf_add_char(out, (char)c);
        } else if (c < 0x20 || c == 0x7f) {
            sbx_buf_printf(out, "\\u%04X", c);
        } else {
            sbx_buf_add_char(out, (char)c);
        }
    }
    sbx_buf_add_char(out, '"');
}

static bool is_bare_key(struct sbx_str key)
{
    for (size_t i = 0; i < key.len; i++)
        if (!sbx_is_alnum(key.ptr[i]) && key.ptr[i] != '_' && key.ptr[i] != '-') return false;
    return key.len > 0;
}

/* "1" would be an integer. */
static void print_float(double number, struct sbx_buf *out)
{
    size_t start = out->len;
    sbx_buf_printf(out, "%.17g", number);
    struct sbx_str text = {sbx_buf_text(out) + start, out->len - start};
    bool is_float = sbx_str_contains(text, ".") || sbx_str_contains(text, "e") ||
                    sbx_str_contains(text, "n"); /* inf, nan */
    if (!is_float) sbx_buf_add_text(out, ".0");
}

static void print_array(const struct sbx_value *value, struct sbx_buf *out)
{
    sbx_buf_add_char(out, '[');
    for (size_t i = 0; i < value->array.count; i++) {
        if (i > 0) sbx_buf_add_text(out, ", ");
        sbx_value_print_toml(&value->array.items[i], out);
    }
    sbx_buf_add_char(out, ']');
}

static void print_table(const struct sbx_value *value, struct sbx_buf *out)
{
    sbx_buf_add_text(out, "{ ");
    for (size_t i = 0; i < value->table.count; i++) {
        const struct sbx_member *member = &value->table.members[i];
        if (i > 0) sbx_buf_add_text(out, ", ");
        if (is_bare_key(member->key))
            sbx_buf_add_str(out, member->key);
        else
            sbx_toml_print_string(member->key, out);
        sbx_buf_add_text(out, " = ");
        sbx_value_print_toml(&member->value, out);
    }
    sbx_buf_add_text(out, " }");
}

void sbx_value_print_toml(const struct sbx_value *value, struct sbx_buf *out)
{
    switch (value->type) {
    case SBX_VALUE_STRING:
        sbx_toml_print_string(value->string, out);
        break;
    case SBX_VALUE_INTEGER:
        sbx_buf_printf(out, "%" PRId64, value->integer);
        break;
    case SBX_VALUE_FLOAT:
        print_float(value->number, out);
        break;
    case SBX_VALUE_BOOL:
        sbx_buf_add_text(out, value->boolean ? "true" : "false");
        break;
    case SBX_VALUE_ARRAY:
        print_array(value, out);
        break;
    case SBX_VALUE_TABLE:
        print_table(value, out);
        break;
    case SBX_VALUE_DATETIME:
    case SBX_VALUE_NULL:
        out->failed = true;
        break;
    }
}

void sbx_value_print_json(const struct sbx_value *value, struct sbx_jsonw *json)
{
    switch (value->type) {
    case SBX_VALUE_STRING:
        sbx_jsonw_str(json, value->string);
        break;
    case SBX_VALUE_INTEGER:
        sbx_jsonw_i64(json, value->integer);
        break;
    case SBX_VALUE_BOOL:
        sbx_jsonw_bool(json, value->boolean);
        break;
    case SBX_VALUE_NULL:
        sbx_jsonw_null(json);
        break;
    case SBX_VALUE_ARRAY:
        sbx_jsonw_array(json);
        for (size_t i = 0; i < value->array.count; i++)
            sbx_value_print_json(&value->array.items[i], json);
        sbx_jsonw_end(json);
        break;
    case SBX_VALUE_TABLE:
        sbx_jsonw_object(json);
        for (size_t i = 0; i < value->table.count; i++) {
            sbx_jsonw_key_str(json, value->table.members[i].key);
            sbx_value_print_json(&value->table.members[i].value, json);
        }
        sbx_jsonw_end(json);
        break;
    case SBX_VALUE_FLOAT:
    case SBX_VALUE_DATETIME:
        json->buf->failed = true;
        break;
    }
}

static bool has_all_members(const struct sbx_value *b, const struct sbx_value *a)
{
    for (size_t i = 0; i < a->table.count; i++) {
        const struct sbx_member *left = &a->table.members[i];
        bool found = false;
        for (size_t j = 0; j < b->table.count && !found; j++) {
            const struct sbx_member *right = &b->table.members[j];
            found =
                sbx_str_eq(left->key, right->key) && sbx_value_equal(&left->value, &right->value);
        }
        if (!found) return false;
    }
    return true;
}

static bool tables_equal(const struct sbx_value *a, const struct sbx_value *b)
{
    return a->table.count == b->table.count && has_all_members(a, b) && has_all_members(b, a);
}

static bool arrays_equal(const struct sbx_value *a, const struct sbx_value *b)
{
    if (a->array.count != b->array.count) return false;
    for (size_t i = 0; i < a->array.count; i++)
        if (!sbx_value_equal(&a->array.items[i], &b->array.items[i])) return false;
    return true;
}

bool sbx_value_equal(const struct sbx_value *a, const struct sbx_value *b)
{
    if (a->type != b->type) return false;
    switch (a->type) {
    case SBX_VALUE_STRING:
        return sbx_str_eq(a->string, b->string);
    case SBX_VALUE_INTEGER:
        return a->integer == b->integer;
    case SBX_VALUE_BOOL:
        return a->boolean == b->boolean;
    case SBX_VALUE_ARRAY:
        return arrays_equal(a, b);
    case SBX_VALUE_TABLE:
        return tables_equal(a, b);
    case SBX_VALUE_NULL:
        return true;
    case SBX_VALUE_FLOAT:
        return !(a->number < b->number) && !(a->number > b->number);
    case SBX_VALUE_DATETIME:
        break;
    }
    return false;
}
