/* For tests of the readers: value trees as TOML, and their equality. */
#include "tests/unit/toml_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/banned.h"

static bool is_bare(struct sbx_str key)
{
    for (size_t i = 0; i < key.len; i++) {
        if (!sbx_is_alnum(key.ptr[i]) && key.ptr[i] != '_' && key.ptr[i] != '-') {
            return false;
        }
    }
    return key.len > 0;
}

static void add_string(struct sbx_buf *buf, struct sbx_str text)
{
    sbx_buf_add_char(buf, '"');
    for (size_t i = 0; i < text.len; i++) {
        const unsigned char c = (unsigned char)text.ptr[i];
        if (c < 0x20 || c == 0x7f) {
            sbx_buf_printf(buf, "\\u%04x", (unsigned)c);
        } else {
            sbx_buf_add_text(buf, c == '"' || c == '\\' ? "\\" : "");
            sbx_buf_add_char(buf, (char)c);
        }
    }
    sbx_buf_add_char(buf, '"');
}

static void add_float(struct sbx_buf *buf, double number)
{
    char text[40];
    (void)snprintf(text, sizeof text, "%.17g", number);
    if (number != number) {
        sbx_buf_add_text(buf, "nan");
    } else {
        sbx_buf_add_text(buf, text);
        sbx_buf_add_text(buf, strpbrk(text, ".en") == NULL ? ".0" : "");
    }
}

static void add_datetime(struct sbx_buf *buf, const struct sbx_datetime *value)
{
    if (value->kind != SBX_DATETIME_TIME) {
        sbx_buf_printf(buf, "%04u-%02u-%02u", value->year, value->month, value->day);
    }
    if (value->kind == SBX_DATETIME_OFFSET || value->kind == SBX_DATETIME_LOCAL) {
        sbx_buf_add_char(buf, 'T');
    }
    if (value->kind != SBX_DATETIME_DATE) {
        sbx_buf_printf(buf, "%02u:%02u:%02u", value->hour, value->minute, value->second);
        if (value->nanosecond != 0) {
            sbx_buf_printf(buf, ".%09" PRIu32, value->nanosecond);
        }
    }
    if (value->kind == SBX_DATETIME_OFFSET) {
        const int minutes = value->offset_minutes;
        const int size = minutes < 0 ? -minutes : minutes;
        if (value->is_zulu) {
            sbx_buf_add_char(buf, 'Z');
        } else {
            sbx_buf_printf(buf, "%c%02d:%02d", minutes < 0 ? '-' : '+', size / 60, size % 60);
        }
    }
}

static void add_table(struct sbx_buf *buf, const struct sbx_value *value)
{
    sbx_buf_add_char(buf, '{');
    for (size_t i = 0; i < value->table.count; i++) {
        const struct sbx_member *member = &value->table.members[i];
        sbx_buf_add_text(buf, i == 0 ? "" : ", ");
        if (is_bare(member->key)) {
            sbx_buf_add_str(buf, member->key);
        } else {
            add_string(buf, member->key);
        }
        sbx_buf_add_text(buf, " = ");
        toml_text(buf, &member->value);
    }
    sbx_buf_add_char(buf, '}');
}

void toml_text(struct sbx_buf *buf, const struct sbx_value *value)
{
    switch (value->type) {
    case SBX_VALUE_STRING:
        add_string(buf, value->string);
        break;
    case SBX_VALUE_INTEGER:
        sbx_buf_printf(buf, "%" PRId64, value->integer);
        break;
    case SBX_VALUE_FLOAT:
        add_float(buf, value->number);
        break;
    case SBX_VALUE_BOOL:
        sbx_buf_add_text(buf, value->boolean ? "true" : "false");
        break;
    case SBX_VALUE_DATETIME:
        add_datetime(buf, &value->datetime);
        break;
    case SBX_VALUE_ARRAY:
        sbx_buf_add_char(buf, '[');
        for (size_t i = 0; i < value->array.count; i++) {
            sbx_buf_add_text(buf, i == 0 ? "" : ", ");
            toml_text(buf, &value->array.items[i]);
        }
        sbx_buf_add_char(buf, ']');
        break;
    case SBX_VALUE_TABLE:
        add_table(buf, value);
        break;
    case SBX_VALUE_NULL:
        sbx_buf_add_text(buf, "null");
        break;
    }
}

static uint64_t bits_of(double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

static bool same_float(double a, double b)
{
    return bits_of(a) == bits_of(b) || (a != a && b != b);
}

static bool same_datetime(const struct sbx_datetime *a, const struct sbx_datetime *b)
{
    return a->kind == b->kind && a->year == b->year && a->month == b->month && a->day == b->day &&
           a->hour == b->hour && a->minute == b->minute && a->second == b->second &&
           a->nanosecond == b->nanosecond && a->offset_minutes == b->offset_minutes &&
           a->is_zulu == b->is_zulu;
}

static bool same_array(const struct sbx_value *a, const struct sbx_value *b)
{
    bool same = a->array.count == b->array.count;
    for (size_t i = 0; same && i < a->array.count; i++) {
        same = toml_same(&a->array.items[i], &b->array.items[i]);
    }
    return same;
}

static bool same_table(const struct sbx_value *a, const struct sbx_value *b)
{
    bool same = a->table.count == b->table.count;
    for (size_t i = 0; same && i < a->table.count; i++) {
        same = sbx_str_eq(a->table.members[i].key, b->table.members[i].key) &&
               toml_same(&a->table.members[i].value, &b->table.members[i].value);
    }
    return same;
}

bool toml_same(const struct sbx_value *a, const struct sbx_value *b)
{
    if (a->type != b->type) {
        return false;
    }
    switch (a->type) {
    case SBX_VALUE_STRING:
        return sbx_str_eq(a->string, b->string);
    case SBX_VALUE_INTEGER:
        return a->integer == b->integer;
    case SBX_VALUE_FLOAT:
        return same_float(a->number, b->number);
    case SBX_VALUE_BOOL:
        return a->boolean == b->boolean;
    case SBX_VALUE_DATETIME:
        return same_datetime(&a->datetime, &b->datetime);
    case SBX_VALUE_ARRAY:
        return same_array(a, b);
    case SBX_VALUE_TABLE:
        return same_table(a, b);
    case SBX_VALUE_NULL:
        return true;
    }
    return false;
}
