/* JSON into the value tree, through jansson. Size and depth are checked before jansson sees a byte.
 */
#include "common/policy/json_read.h"

#include <jansson.h>
#include <string.h>

#include "common/base/buf.h"

#include "common/base/banned.h"

#define SHOWN_NAME_BYTES 256

static void release_json(json_t **json)
{
    json_decref(*json);
}

/* What jansson says may quote the file, and the name is somebody's choice: both are made safe. */
static enum sbx_code fail(struct sbx_err *err, enum sbx_code code, const char *name,
                          struct sbx_place place, const char *message)
{
    AUTO_BUF shown_name;
    AUTO_BUF shown_message;
    sbx_buf_init(&shown_name, SHOWN_NAME_BYTES);
    sbx_buf_init(&shown_message, JSON_ERROR_TEXT_LENGTH * 4);
    sbx_buf_add_visible(&shown_name, sbx_str(name), false);
    sbx_buf_add_visible(&shown_message, sbx_str(message), false);
    return sbx_err_set(err, code, "%s:%u:%u: %s", sbx_buf_text(&shown_name), (unsigned)place.line,
                       (unsigned)place.column, sbx_buf_text(&shown_message));
}

/* What is known before jansson runs. */
struct survey {
    struct sbx_place place; /* of the bracket that nests too deep, when there is one */
    bool too_deep;
    size_t heap_bytes; /* what jansson will take at most, as measured with 2.14 on 64 bits */
};

enum {
    OBJECT_BYTES = 256,
    ARRAY_BYTES = 160,
    MEMBER_BYTES = 112,
    ITEM_BYTES = 64,
    TEXT_FACTOR = 2
};

/* Brackets and commas in strings do not count. In a text that is no JSON the result may be too
 * high; such a text is refused either way. */
static struct survey look_over(struct sbx_str text)
{
    struct survey survey = {.place.line = 1, .heap_bytes = text.len * TEXT_FACTOR};
    struct sbx_place *place = &survey.place;
    unsigned depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < text.len && !survey.too_deep; i++) {
        const char c = text.ptr[i];
        place->column += ((unsigned char)c & 0xc0) != 0x80 ? 1 : 0;
        if (c == '\n') {
            place->line++;
            place->column = 0;
        } else if (c == '"') {
            in_string = !in_string;
        } else if (in_string) {
            if (c == '\\' && i + 1 < text.len && text.ptr[i + 1] != '\n') {
                i++;
                place->column++;
            }
        } else if (c == '[' || c == '{') {
            survey.heap_bytes += c == '[' ? ARRAY_BYTES : OBJECT_BYTES;
            depth++;
            survey.too_deep = depth > SBX_JSON_MAX_DEPTH;
        } else if (c == ']' || c == '}') {
            depth -= depth > 0 ? 1 : 0;
        } else if (c == ',' || c == ':') {
            survey.heap_bytes += c == ',' ? ITEM_BYTES : MEMBER_BYTES;
        }
    }
    return survey;
}

static enum sbx_code convert(struct sbx_arena *arena, const json_t *json, struct sbx_value *out,
                             struct sbx_err *err);

static enum sbx_code convert_string(struct sbx_arena *arena, const char *text, size_t len,
                                    struct sbx_str *out, struct sbx_err *err)
{
    const char *copy = sbx_arena_copy(arena, text, len);
    if (copy == NULL) {
        return sbx_err_nomem(err);
    }
    *out = (struct sbx_str){copy, len};
    return SBX_OK;
}

static enum sbx_code convert_array(struct sbx_arena *arena, const json_t *json,
                                   struct sbx_value *out, struct sbx_err *err)
{
    const size_t count = json_array_size(json);
    out->array.items = NULL;
    out->array.count = count;
    if (count == 0) {
        return SBX_OK;
    }
    struct sbx_value *items = SBX_NEW_ARRAY(arena, struct sbx_value, count);
    if (items == NULL) {
        return sbx_err_nomem(err);
    }
    out->array.items = items;
    enum sbx_code code = SBX_OK;
    for (size_t i = 0; i < count && code == SBX_OK; i++) {
        code = convert(arena, json_array_get(json, i), &items[i], err);
    }
    return code;
}

/* jansson's iterators take an object that is not const, though they do not change it. */
static enum sbx_code convert_object(struct sbx_arena *arena, json_t *json, struct sbx_value *out,
                                    struct sbx_err *err)
{
    const size_t count = json_object_size(json);
    out->table.members = NULL;
    out->table.count = count;
    if (count == 0) {
        return SBX_OK;
    }
    struct sbx_member *member = SBX_NEW_ARRAY(arena, struct sbx_member, count);
    if (member == NULL) {
        return sbx_err_nomem(err);
    }
    out->table.members = member;
    enum sbx_code code = SBX_OK;
    for (void *at = json_object_iter(json); at != NULL && code == SBX_OK;
         at = json_object_iter_next(json, at)) {
        const char *key = json_object_iter_key(at);
        code = convert_string(arena, key, strlen(key), &member->key, err);
        if (code == SBX_OK) {
            code = convert(arena, json_object_iter_value(at), &member->value, err);
        }
        member++;
    }
    return code;
}

/* As deep as look_over has allowed. */
static enum sbx_code convert(struct sbx_arena *arena, const json_t *json, struct sbx_value *out,
                             struct sbx_err *err)
{
    switch (json_typeof(json)) {
    case JSON_OBJECT:
        out->type = SBX_VALUE_TABLE;
        return convert_object(arena, (json_t *)(uintptr_t)json, out, err);
    case JSON_ARRAY:
        out->type = SBX_VALUE_ARRAY;
        return convert_array(arena, json, out, err);
    case JSON_STRING:
        out->type = SBX_VALUE_STRING;
        return convert_string(arena, json_string_value(json), json_string_length(json),
                              &out->string, err);
    case JSON_INTEGER:
        out->type = SBX_VALUE_INTEGER;
        out->integer = json_integer_value(json);
        return SBX_OK;
    case JSON_REAL:
        out->type = SBX_VALUE_FLOAT;
        out->number = json_real_value(json);
        return SBX_OK;
    case JSON_TRUE:
    case JSON_FALSE:
        out->type = SBX_VALUE_BOOL;
        out->boolean = json_is_true(json);
        return SBX_OK;
    case JSON_NULL:
        out->type = SBX_VALUE_NULL;
        return SBX_OK;
    }
    return sbx_err_set(err, SBX_E_INTERNAL, "jansson gave a value of an unknown type");
}

static enum sbx_code check_limits(const struct sbx_arena *arena, const char *name,
                                  struct sbx_str text, struct sbx_err *err)
{
    const struct sbx_place start = {1, 1};
    char message[96];
    if (text.len > SBX_JSON_MAX_BYTES) {
        (void)snprintf(message, sizeof message,
                       "the file has %zu bytes, more than the maximum of %u", text.len,
                       (unsigned)SBX_JSON_MAX_BYTES);
        return fail(err, SBX_E_LIMIT, name, start, message);
    }
    const struct survey survey = look_over(text);
    if (survey.too_deep) {
        (void)snprintf(message, sizeof message,
                       "nested deeper than %d levels, which is the maximum", SBX_JSON_MAX_DEPTH);
        return fail(err, SBX_E_LIMIT, name, survey.place, message);
    }
    if (survey.heap_bytes > arena->max_bytes - arena->used_bytes) {
        (void)snprintf(message, sizeof message,
                       "reading the file needs more than %zu bytes of memory", arena->max_bytes);
        return fail(err, SBX_E_NOMEM, name, start, message);
    }
    return SBX_OK;
}

static enum sbx_code parse(const char *name, struct sbx_str text, json_t **out, struct sbx_err *err)
{
    /* A byte-order mark is no JSON, but editors on Windows write it. */
    if (text.len >= 3 && memcmp(text.ptr, "\xef\xbb\xbf", 3) == 0) {
        text.ptr += 3;
        text.len -= 3;
    }
    json_error_t error;
    *out = json_loadb(text.len == 0 ? "" : text.ptr, text.len,
                      JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY, &error);
    if (*out != NULL) {
        return SBX_OK;
    }
    const enum json_error_code cause = json_error_code(&error);
    const struct sbx_place place = {error.line > 0 ? (uint32_t)error.line : 1,
                                    error.column > 0 ? (uint32_t)error.column : 1};
    return fail(err, cause == json_error_out_of_memory ? SBX_E_NOMEM : SBX_E_SYNTAX, name, place,
                error.text);
}

enum sbx_code sbx_json_read(struct sbx_arena *arena, const char *name, struct sbx_str text,
                            struct sbx_value *out, struct sbx_err *err)
{
    enum sbx_code code = check_limits(arena, name, text, err);
    if (code != SBX_OK) {
        return code;
    }
    SBX_CLEANUP(release_json) json_t *json = NULL;
    code = parse(name, text, &json, err);
    if (code != SBX_OK) {
        return code;
    }
    struct sbx_value value;
    memset(&value, 0, sizeof value);
    code = convert(arena, json, &value, err);
    if (code == SBX_OK) {
        *out = value;
    }
    return code;
}
