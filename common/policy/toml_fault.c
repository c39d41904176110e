/* TOML reader: faults. Place, message, and the offending line with a caret below the place. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/utf8.h"
#include "common/policy/toml_internal.h"

#include "common/base/banned.h"

/* The shown line: at most 80 columns, at most 40 of them before the place. With 4 bytes a character
 * and the line of the caret that is 368 bytes, which fit into err->hint. */
#define SHOWN_COLUMNS 80
#define SHOWN_COLUMNS_BEFORE 40
#define CUT_MARK "\xe2\x80\xa6" /* … */

#define SHOWN_NAME_BYTES ((size_t)256)
#define SHOWN_TEXT_CHARACTERS 24

/* Columns that one character takes once it is made visible; *len is its length in bytes. */
static size_t visible_columns(const char *at, size_t left, size_t *len)
{
    AUTO_BUF shown;
    sbx_buf_init(&shown, 64);
    size_t bytes = sbx_utf8_decode(at, left, NULL);
    *len = bytes == 0 ? 1 : bytes;
    sbx_buf_add_visible(&shown, (struct sbx_str){at, *len}, false);
    return sbx_utf8_count(shown.data, shown.len);
}

/* Start of the character that ends before `at`; one byte when the bytes are not UTF-8. */
static const char *previous_character(const char *start, const char *at)
{
    const char *previous = at - 1;
    while (previous > start && at - previous < 4 && ((unsigned char)*previous & 0xc0) == 0x80) {
        previous--;
    }
    return sbx_utf8_decode(previous, (size_t)(at - previous), NULL) == (size_t)(at - previous)
               ? previous
               : at - 1;
}

static const char *line_start(const struct sbx_toml_reader *reader, const char *at)
{
    while (at > reader->text && at[-1] != '\n') {
        at--;
    }
    return at;
}

static const char *line_end(const struct sbx_toml_reader *reader, const char *at)
{
    const char *end = memchr(at, '\n', (size_t)(reader->end - at));
    end = end == NULL ? reader->end : end;
    return end > at && end < reader->end && end[-1] == '\r' ? end - 1 : end;
}

static void add_line_and_caret(struct sbx_buf *buf, const struct sbx_toml_reader *reader,
                               const char *at)
{
    const char *start = line_start(reader, at);
    const char *end = line_end(reader, at);
    size_t len;

    const char *from = at;
    size_t before = 0;
    while (from > start) {
        const char *previous = previous_character(start, from);
        size_t columns = visible_columns(previous, (size_t)(from - previous), &len);
        if (before + columns > SHOWN_COLUMNS_BEFORE) {
            break;
        }
        before += columns;
        from = previous;
    }
    const char *to = at;
    size_t total = before;
    while (to < end) {
        size_t columns = visible_columns(to, (size_t)(end - to), &len);
        if (total + columns > SHOWN_COLUMNS) {
            break;
        }
        total += columns;
        to += len;
    }
    if (from > start) {
        sbx_buf_add_text(buf, CUT_MARK);
        before++;
    }
    sbx_buf_add_visible(buf, (struct sbx_str){from, (size_t)(to - from)}, false);
    sbx_buf_add_text(buf, to < end ? CUT_MARK "\n" : "\n");
    sbx_buf_add_repeat(buf, ' ', before);
    sbx_buf_add_char(buf, '^');
}

/* Counted anew from the start of the text: it happens once, and it is right whoever asks. */
static struct sbx_place place_of(const struct sbx_toml_reader *reader, const char *at)
{
    struct sbx_place place = {.line = 1};
    for (const char *p = reader->text; p < at; p++) {
        place.line += *p == '\n' ? 1 : 0;
    }
    const char *start = line_start(reader, at);
    if (start == reader->text && at - start >= 3 && memcmp(start, "\xef\xbb\xbf", 3) == 0) {
        start += 3; /* a byte-order mark is no character of the line */
    }
    place.column = (uint32_t)sbx_utf8_count(start, (size_t)(at - start)) + 1;
    return place;
}

static void add_name(struct sbx_buf *buf, const char *name)
{
    struct sbx_str shown = sbx_str(name);
    if (shown.len > SHOWN_NAME_BYTES) {
        sbx_buf_add_text(buf, CUT_MARK);
        shown.ptr += shown.len - SHOWN_NAME_BYTES;
        shown.len = SHOWN_NAME_BYTES;
    }
    sbx_buf_add_visible(buf, shown, false);
}

/* `message` is printed after the name and the place. */
static enum sbx_code set_fault(struct sbx_toml_reader *reader, enum sbx_code code, const char *at,
                               const char *message)
{
    struct sbx_place place = place_of(reader, at);
    if (reader->fault != NULL) {
        *reader->fault = (struct sbx_toml_fault){place, (size_t)(at - reader->text)};
    }
    if (reader->err == NULL) {
        return code;
    }
    AUTO_BUF name;
    sbx_buf_init(&name, sizeof reader->err->text);
    add_name(&name, reader->name);
    AUTO_BUF line;
    sbx_buf_init(&line, sizeof reader->err->hint);
    add_line_and_caret(&line, reader, at);
    (void)sbx_err_set(reader->err, code, "%s:%u:%u: %s", sbx_buf_text(&name), (unsigned)place.line,
                      (unsigned)place.column, message);
    (void)sbx_err_hint(reader->err, "%s", sbx_buf_text(&line));
    return code;
}

enum sbx_code sbx_toml_fail(struct sbx_toml_reader *reader, const char *at, const char *format, ...)
{
    char message[sizeof reader->err->text];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return set_fault(reader, SBX_E_SYNTAX, at, message);
}

enum sbx_code sbx_toml_expected(struct sbx_toml_reader *reader, const char *what)
{
    const char *at = reader->at;
    if (at == reader->end) {
        return sbx_toml_fail(reader, at, "expected %s, found the end of the file", what);
    }
    unsigned char c = (unsigned char)*at;
    if (c == '\n' || (c == '\r' && reader->end - at > 1 && at[1] == '\n')) {
        return sbx_toml_fail(reader, at, "expected %s, found the end of the line", what);
    }
    if (c == '\r') {
        return sbx_toml_fail(reader, at, "a carriage return must be followed by a line feed");
    }
    if ((c < 0x20 && c != '\t') || c == 0x7f) {
        return sbx_toml_fail(reader, at, "the control character U+%04X is not allowed", c);
    }
    size_t len = sbx_utf8_decode(at, (size_t)(reader->end - at), NULL);
    struct sbx_toml_shown found = sbx_toml_show((struct sbx_str){at, len});
    return sbx_toml_fail(reader, at, "expected %s, found %s", what, found.text);
}

enum sbx_code sbx_toml_too_deep(struct sbx_toml_reader *reader, const char *at)
{
    char message[80];
    (void)snprintf(message, sizeof message, "nested deeper than %u levels, which is the maximum",
                   reader->max_depth);
    return set_fault(reader, SBX_E_LIMIT, at, message);
}

enum sbx_code sbx_toml_too_large(struct sbx_toml_reader *reader, size_t max_bytes)
{
    if (reader->fault != NULL) {
        *reader->fault = (struct sbx_toml_fault){{1, 1}, 0};
    }
    AUTO_BUF name;
    sbx_buf_init(&name, SHOWN_NAME_BYTES * 4);
    add_name(&name, reader->name);
    return sbx_err_set(reader->err, SBX_E_LIMIT,
                       "%s:1:1: the file has %zu bytes, more than the maximum of %zu",
                       sbx_buf_text(&name), (size_t)(reader->end - reader->text), max_bytes);
}

enum sbx_code sbx_toml_no_memory(struct sbx_toml_reader *reader)
{
    char message[96];
    (void)snprintf(message, sizeof message, "reading the file needs more than %zu bytes of memory",
                   reader->arena->max_bytes);
    return set_fault(reader, SBX_E_NOMEM, reader->at, message);
}

struct sbx_toml_shown sbx_toml_show(struct sbx_str text)
{
    size_t len = 0;
    for (size_t i = 0; i < SHOWN_TEXT_CHARACTERS && len < text.len; i++) {
        size_t step = sbx_utf8_decode(text.ptr + len, text.len - len, NULL);
        len += step == 0 ? 1 : step;
    }
    AUTO_BUF buf;
    sbx_buf_init(&buf, sizeof((struct sbx_toml_shown *)NULL)->text - sizeof CUT_MARK);
    sbx_buf_add_visible(&buf, (struct sbx_str){text.ptr, len}, true);
    struct sbx_toml_shown shown;
    (void)snprintf(shown.text, sizeof shown.text, "%s%s", sbx_buf_text(&buf),
                   len < text.len || buf.failed ? CUT_MARK : "");
    return shown;
}
