/* JSON writer over a bounded buffer; misuse fails the buffer, never writes wrong JSON. */
#include "common/base/jsonw.h"

#include <inttypes.h>

#include "common/base/utf8.h"

#include "common/base/banned.h"

void sbx_jsonw_init(struct sbx_jsonw *json, struct sbx_buf *buf, bool pretty)
{
    *json = (struct sbx_jsonw){.buf = buf, .pretty = pretty};
}

static char innermost(const struct sbx_jsonw *json)
{
    return json->depth == 0 ? '\0' : json->kind[json->depth - 1];
}

static void new_line(struct sbx_jsonw *json)
{
    if (json->pretty) {
        sbx_buf_add_char(json->buf, '\n');
        sbx_buf_add_repeat(json->buf, ' ', (size_t)json->depth * 2);
    }
}

/* The comma and white space before a key, or before a value in an array. */
static void begin_item(struct sbx_jsonw *json)
{
    bool *has_items = &json->has_items[json->depth - 1];
    if (*has_items) {
        sbx_buf_add_char(json->buf, ',');
    }
    *has_items = true;
    new_line(json);
}

/* Before any value; false when no value may stand here. */
static bool begin_value(struct sbx_jsonw *json)
{
    char kind = innermost(json);
    if (json->done || (kind == '{' && !json->after_key)) {
        json->buf->failed = true;
    } else if (kind == '[') {
        begin_item(json);
    }
    json->after_key = false;
    json->done = json->depth == 0;
    return !json->buf->failed;
}

static void open_level(struct sbx_jsonw *json, char kind)
{
    if (json->depth == SBX_JSONW_DEPTH) {
        json->buf->failed = true;
    }
    if (!begin_value(json)) {
        return;
    }
    json->done = false;
    json->kind[json->depth] = kind;
    json->has_items[json->depth] = false;
    json->depth++;
    sbx_buf_add_char(json->buf, kind);
}

void sbx_jsonw_object(struct sbx_jsonw *json)
{
    open_level(json, '{');
}

void sbx_jsonw_array(struct sbx_jsonw *json)
{
    open_level(json, '[');
}

void sbx_jsonw_end(struct sbx_jsonw *json)
{
    char kind = innermost(json);
    if (kind == '\0' || json->after_key) {
        json->buf->failed = true;
        return;
    }
    json->depth--;
    if (json->has_items[json->depth]) {
        new_line(json);
    }
    sbx_buf_add_char(json->buf, kind == '{' ? '}' : ']');
    json->done = json->depth == 0;
}

/* Escapes one character. What could harm a terminal is escaped too: the reader gets the same text,
 * the person who looks at the JSON gets no control sequence. */
static void add_escaped(struct sbx_buf *buf, uint32_t character)
{
    static const char named[] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f',
                                 ['\r'] = 'r', ['"'] = '"',  ['\\'] = '\\'};

    if (character < sizeof named && named[character] != '\0') {
        sbx_buf_printf(buf, "\\%c", named[character]);
    } else if (character < 0x10000) {
        sbx_buf_printf(buf, "\\u%04x", (unsigned)character);
    } else {
        unsigned pair = (unsigned)character - 0x10000u;
        sbx_buf_printf(buf, "\\u%04x\\u%04x", 0xd800u + (pair >> 10), 0xdc00u + (pair & 0x3ffu));
    }
}

static void add_string(struct sbx_buf *buf, struct sbx_str text)
{
    sbx_buf_add_char(buf, '"');
    size_t plain = 0; /* start of the run that needs no escape */
    size_t at = 0;
    while (at < text.len && !buf->failed) {
        uint32_t character = 0;
        size_t len = sbx_utf8_decode(text.ptr + at, text.len - at, &character);
        if (len > 0 && character != '"' && character != '\\' && !sbx_utf8_is_unsafe(character)) {
            at += len;
            continue;
        }
        sbx_buf_add(buf, text.ptr + plain, at - plain);
        if (len == 0) {
            sbx_buf_add_text(buf, "\xef\xbf\xbd");
            at += 1;
        } else {
            add_escaped(buf, character);
            at += len;
        }
        plain = at;
    }
    if (plain < text.len) {
        sbx_buf_add(buf, text.ptr + plain, text.len - plain);
    }
    sbx_buf_add_char(buf, '"');
}

void sbx_jsonw_key(struct sbx_jsonw *json, const char *key)
{
    sbx_jsonw_key_str(json, sbx_str(key));
}

void sbx_jsonw_key_str(struct sbx_jsonw *json, struct sbx_str key)
{
    if (innermost(json) != '{' || json->after_key) {
        json->buf->failed = true;
        return;
    }
    begin_item(json);
    add_string(json->buf, key);
    sbx_buf_add_text(json->buf, json->pretty ? ": " : ":");
    json->after_key = true;
}

void sbx_jsonw_text(struct sbx_jsonw *json, const char *text)
{
    if (text == NULL) {
        sbx_jsonw_null(json);
    } else {
        sbx_jsonw_str(json, sbx_str(text));
    }
}

void sbx_jsonw_str(struct sbx_jsonw *json, struct sbx_str text)
{
    if (begin_value(json)) {
        add_string(json->buf, text);
    }
}

void sbx_jsonw_u64(struct sbx_jsonw *json, uint64_t number)
{
    if (begin_value(json)) {
        sbx_buf_printf(json->buf, "%" PRIu64, number);
    }
}

void sbx_jsonw_i64(struct sbx_jsonw *json, int64_t number)
{
    if (begin_value(json)) {
        sbx_buf_printf(json->buf, "%" PRId64, number);
    }
}

void sbx_jsonw_bool(struct sbx_jsonw *json, bool value)
{
    if (begin_value(json)) {
        sbx_buf_add_text(json->buf, value ? "true" : "false");
    }
}

void sbx_jsonw_null(struct sbx_jsonw *json)
{
    if (begin_value(json)) {
        sbx_buf_add_text(json->buf, "null");
    }
}

void sbx_jsonw_pair_text(struct sbx_jsonw *json, const char *key, const char *text)
{
    sbx_jsonw_key(json, key);
    sbx_jsonw_text(json, text);
}

void sbx_jsonw_pair_str(struct sbx_jsonw *json, const char *key, struct sbx_str text)
{
    sbx_jsonw_key(json, key);
    sbx_jsonw_str(json, text);
}

void sbx_jsonw_pair_u64(struct sbx_jsonw *json, const char *key, uint64_t number)
{
    sbx_jsonw_key(json, key);
    sbx_jsonw_u64(json, number);
}

void sbx_jsonw_pair_bool(struct sbx_jsonw *json, const char *key, bool value)
{
    sbx_jsonw_key(json, key);
    sbx_jsonw_bool(json, value);
}
