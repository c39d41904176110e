/* Messages to lines, by the table. */
#include <inttypes.h>
#include <string.h>

#include "common/base/utf8.h"
#include "common/wire/base64.h"
#include "common/wire/json_string.h"
#include "common/wire/wire.h"

#include "common/base/banned.h"

static const void *field_of(const void *body, const struct sbx_wire_member *row)
{
    return (const char *)body + row->at;
}

static int choice_of(const void *field)
{
    int chosen;
    memcpy(&chosen, field, sizeof chosen);
    return chosen;
}

static bool is_absent(const void *body, const struct sbx_wire_member *row);

static bool is_empty(const void *body, const struct sbx_wire_members *members)
{
    for (const struct sbx_wire_member *row = members->rows; row->name != NULL; row++)
        if (!is_absent(body, row)) return false;
    return true;
}

static bool is_absent(const void *body, const struct sbx_wire_member *row)
{
    const void *field = field_of(body, row);
    switch (row->kind) {
    case SBX_WIRE_INT:
        return *(const int64_t *)field == row->otherwise;
    case SBX_WIRE_BOOL:
        return !*(const bool *)field;
    case SBX_WIRE_CHOICE:
        return choice_of(field) == 0;
    case SBX_WIRE_TEXTS:
    case SBX_WIRE_PAIRS:
        return ((const struct sbx_wire_texts *)field)->first == NULL;
    case SBX_WIRE_INTS:
        return ((const struct sbx_wire_ints *)field)->count == 0;
    case SBX_WIRE_ID:
        return !((const struct sbx_wire_id *)field)->is_given;
    case SBX_WIRE_OBJECT:
        return is_empty(field, row->members);
    case SBX_WIRE_KIND_COUNT:
    case SBX_WIRE_ENCODING:
        return true; /* written with its data */
    case SBX_WIRE_TEXT:
    case SBX_WIRE_DATA:
    case SBX_WIRE_RAW:
    case SBX_WIRE_RAW_LIST:
    case SBX_WIRE_WHOLE:
    default:
        return ((const struct sbx_str *)field)->ptr == NULL;
    }
}

/* ---- one function a kind ---- */

static void add_members(struct sbx_buf *out, const struct sbx_wire_members *members,
                        const void *body);

typedef void adder(struct sbx_buf *out, const struct sbx_wire_member *row, const void *field);

static void add_int(struct sbx_buf *out, int64_t number)
{
    sbx_buf_printf(out, "%" PRId64, number);
}

static void add_text_member(struct sbx_buf *out, const struct sbx_wire_member *row,
                            const void *field)
{
    (void)row;
    const struct sbx_str *text = field;
    if (text->ptr == NULL) out->failed = true;
    sbx_json_add_string(out, *text);
}

static void add_int_member(struct sbx_buf *out, const struct sbx_wire_member *row,
                           const void *field)
{
    (void)row;
    add_int(out, *(const int64_t *)field);
}

static void add_bool_member(struct sbx_buf *out, const struct sbx_wire_member *row,
                            const void *field)
{
    (void)row;
    sbx_buf_add_text(out, *(const bool *)field ? "true" : "false");
}

static void add_choice_member(struct sbx_buf *out, const struct sbx_wire_member *row,
                              const void *field)
{
    int chosen = choice_of(field);
    for (const struct sbx_name *name = row->names; name->text != NULL; name++) {
        if (name->value != chosen) continue;
        sbx_json_add_string(out, sbx_str(name->text));
        return;
    }
    out->failed = true;
}

/* Texts in turn, with a separator that depends on whether the text is the first, second, … */
static void add_packed(struct sbx_buf *out, const void *field, const char *after_odd)
{
    struct sbx_wire_texts texts = *(const struct sbx_wire_texts *)field;
    struct sbx_str text;
    for (size_t i = 0; sbx_wire_next_text(&texts, &text); i++) {
        if (i > 0) sbx_buf_add_text(out, i % 2 == 1 ? after_odd : ",");
        sbx_json_add_string(out, text);
    }
}

static void add_texts_member(struct sbx_buf *out, const struct sbx_wire_member *row,
                             const void *field)
{
    (void)row;
    sbx_buf_add_char(out, '[');
    add_packed(out, field, ",");
    sbx_buf_add_char(out, ']');
}

static void add_pairs_member(struct sbx_buf *out, const struct sbx_wire_member *row,
                             const void *field)
{
    (void)row;
    if (((const struct sbx_wire_texts *)field)->count % 2 != 0) out->failed = true;
    sbx_buf_add_char(out, '{');
    add_packed(out, field, ":");
    sbx_buf_add_char(out, '}');
}

static void add_ints_member(struct sbx_buf *out, const struct sbx_wire_member *row,
                            const void *field)
{
    (void)row;
    const struct sbx_wire_ints *ints = field;
    sbx_buf_add_char(out, '[');
    for (size_t i = 0; i < ints->count && i < SBX_COUNT(ints->items); i++) {
        if (i > 0) sbx_buf_add_char(out, ',');
        add_int(out, ints->items[i]);
    }
    sbx_buf_add_char(out, ']');
}

/* Text when it can be, and when base64 is not shorter: so a chunk is never longer than its base64. */
static bool is_text(struct sbx_str bytes)
{
    if (bytes.len == 0) return true;
    if (memchr(bytes.ptr, '\0', bytes.len) != NULL) return false;
    if (!sbx_utf8_valid(bytes.ptr, bytes.len, NULL)) return false;
    return sbx_json_string_len(bytes) <= SBX_BASE64_LEN(bytes.len) + 2;
}

static void add_base64(struct sbx_buf *out, struct sbx_str bytes)
{
    enum { PIECE = 3 * 1024 };
    char text[SBX_BASE64_LEN(PIECE)];
    sbx_buf_add_char(out, '"');
    for (size_t at = 0; at < bytes.len; at += PIECE) {
        size_t len = bytes.len - at < PIECE ? bytes.len - at : PIECE;
        sbx_base64_encode(bytes.ptr + at, len, text);
        sbx_buf_add(out, text, SBX_BASE64_LEN(len));
    }
    sbx_buf_add_char(out, '"');
}

/* Writes the member that says how, too: that is known here. */
static void add_data_member(struct sbx_buf *out, const struct sbx_wire_member *row,
                            const void *field)
{
    (void)row;
    struct sbx_str bytes = ((const struct sbx_wire_data *)field)->bytes;
    bool is_plain = is_text(bytes);
    if (is_plain)
        sbx_json_add_string(out, bytes);
    else
        add_base64(out, bytes);
    sbx_buf_add_text(out, is_plain ? ",\"encoding\":\"text\"" : ",\"encoding\":\"base64\"");
}

static void add_id(struct sbx_buf *out, const struct sbx_wire_id *id)
{
    if (id == NULL || !id->is_given)
        sbx_buf_add_text(out, "null");
    else if (id->is_text)
        sbx_json_add_string(out, sbx_str(id->text));
    else
        add_int(out, id->number);
}

static void add_id_member(struct sbx_buf *out, const struct sbx_wire_member *row, const void *field)
{
    (void)row;
    add_id(out, field);
}

static void add_object_member(struct sbx_buf *out, const struct sbx_wire_member *row,
                              const void *field)
{
    add_members(out, row->members, field);
}

static void add_raw_member(struct sbx_buf *out, const struct sbx_wire_member *row,
                           const void *field)
{
    (void)row;
    const struct sbx_str *raw = field;
    if (raw->len == 0) out->failed = true;
    sbx_buf_add_str(out, *raw);
}

/* Is written with the data it belongs to; never called. */
static void add_nothing(struct sbx_buf *out, const struct sbx_wire_member *row, const void *field)
{
    (void)out;
    (void)row;
    (void)field;
}

static adder *const adders[SBX_WIRE_KIND_COUNT] = {
    [SBX_WIRE_ENCODING] = add_nothing,     [SBX_WIRE_TEXT] = add_text_member,
    [SBX_WIRE_INT] = add_int_member,       [SBX_WIRE_BOOL] = add_bool_member,
    [SBX_WIRE_CHOICE] = add_choice_member, [SBX_WIRE_TEXTS] = add_texts_member,
    [SBX_WIRE_PAIRS] = add_pairs_member,   [SBX_WIRE_INTS] = add_ints_member,
    [SBX_WIRE_DATA] = add_data_member,     [SBX_WIRE_ID] = add_id_member,
    [SBX_WIRE_OBJECT] = add_object_member, [SBX_WIRE_RAW] = add_raw_member,
    [SBX_WIRE_RAW_LIST] = add_raw_member,  [SBX_WIRE_WHOLE] = add_raw_member,
};

static void add_members(struct sbx_buf *out, const struct sbx_wire_members *members,
                        const void *body)
{
    const struct sbx_wire_member *row = members->rows;
    if (row->name != NULL && row->kind == SBX_WIRE_WHOLE) {
        add_raw_member(out, row, field_of(body, row));
        return;
    }
    const char *before = "{\"";
    for (; row->name != NULL; row++) {
        bool is_needed = row->is_required && row->kind != SBX_WIRE_ENCODING;
        if (!is_needed && is_absent(body, row)) continue;
        sbx_buf_add_text(out, before);
        sbx_buf_add_text(out, row->name);
        sbx_buf_add_text(out, "\":");
        adders[row->kind](out, row, field_of(body, row));
        before = ",\"";
    }
    sbx_buf_add_text(out, before[0] == '{' ? "{}" : "}");
}

/* ---- lines ---- */

static void begin(struct sbx_buf *out)
{
    sbx_buf_add_text(out, "{\"jsonrpc\":\"2.0\"");
}

static void add_call(struct sbx_buf *out, enum sbx_wire_method method, const void *params)
{
    const struct sbx_wire_row *row = &sbx_wire_rows[method];
    sbx_buf_add_text(out, ",\"method\":\"");
    sbx_buf_add_text(out, row->name);
    sbx_buf_add_text(out, "\",\"params\":");
    add_members(out, row->params, params);
    sbx_buf_add_text(out, "}\n");
}

void sbx_wire_add_request(struct sbx_buf *out, const struct sbx_wire_id *id,
                          enum sbx_wire_method method, const void *params)
{
    begin(out);
    sbx_buf_add_text(out, ",\"id\":");
    add_id(out, id);
    add_call(out, method, params);
}

void sbx_wire_add_notice(struct sbx_buf *out, enum sbx_wire_method method, const void *params)
{
    begin(out);
    add_call(out, method, params);
}

void sbx_wire_add_result(struct sbx_buf *out, const struct sbx_wire_id *id,
                         enum sbx_wire_method method, const void *result)
{
    begin(out);
    sbx_buf_add_text(out, ",\"id\":");
    add_id(out, id);
    sbx_buf_add_text(out, ",\"result\":");
    add_members(out, sbx_wire_rows[method].result, result);
    sbx_buf_add_text(out, "}\n");
}

void sbx_wire_add_error(struct sbx_buf *out, const struct sbx_wire_id *id,
                        const struct sbx_wire_error *error)
{
    const struct sbx_wire_error_row *row = &sbx_wire_error_rows[error->code];
    struct sbx_wire_error written = *error;
    written.number = row->number;
    written.data.name = sbx_str(row->name);
    written.data.retryable = row->is_retryable;
    if (written.message.ptr == NULL) written.message = sbx_str(row->name);
    begin(out);
    sbx_buf_add_text(out, ",\"id\":");
    add_id(out, id);
    sbx_buf_add_text(out, ",\"error\":");
    add_members(out, &sbx_wire_error_members, &written);
    sbx_buf_add_text(out, "}\n");
}

void sbx_wire_add_failure(struct sbx_buf *out, const struct sbx_wire_id *id,
                          enum sbx_wire_code code, const struct sbx_err *err)
{
    struct sbx_wire_error error = {.code = code};
    if (err != NULL && err->text[0] != '\0') error.message = sbx_str(err->text);
    if (err != NULL && err->hint[0] != '\0') error.data.hint = sbx_str(err->hint);
    sbx_wire_add_error(out, id, &error);
}

void sbx_wire_add_item(struct sbx_buf *out, const struct sbx_wire_members *members,
                       const void *item)
{
    add_members(out, members, item);
}

void sbx_wire_push_text(struct sbx_wire_texts *texts, struct sbx_buf *storage, struct sbx_str text)
{
    sbx_buf_add_str(storage, text);
    sbx_buf_add_char(storage, '\0');
    texts->count++;
    texts->len += text.len + 1;
    texts->first = storage->data;
}
