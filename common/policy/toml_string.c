/* TOML reader: the four kinds of strings. A first pass finds the end and checks every byte; only a
 * string with escapes or CR LF needs the second, which decodes it into the arena. */
#include <string.h>

#include "common/base/utf8.h"
#include "common/policy/toml_internal.h"

#include "common/base/banned.h"

struct body {
    const char *start, *end; /* without the delimiters */
    bool needs_decoding;
};

static enum sbx_code not_closed(struct sbx_toml_reader *reader, char quote)
{
    return sbx_toml_fail(reader, reader->at,
                         "the string is not closed; expected %c on the same line", quote);
}

static enum sbx_code lines_not_closed(struct sbx_toml_reader *reader, char quote, uint32_t line)
{
    return sbx_toml_fail(reader, reader->at,
                         "the string from line %u is not closed; expected %c%c%c before the end of "
                         "the file",
                         (unsigned)line, quote, quote, quote);
}

static enum sbx_code bad_control(struct sbx_toml_reader *reader, char quote)
{
    unsigned c = (unsigned char)*reader->at;
    return sbx_toml_fail(reader, reader->at,
                         "the control character U+%04X is not allowed in a "
                         "string; write \\u%04X%s",
                         c, c, quote == '"' ? "" : " in a string with double quotes");
}

/* ---- escapes -------------------------------------------------------------------------------- */

static int hex_digit(char c)
{
    if (sbx_is_digit(c)) {
        return c - '0';
    }
    char lower = sbx_to_lower(c);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* \uXXXX or \UXXXXXXXX at `at`: writes the character and returns its length, 0 after a fault. */
static size_t decode_unicode(struct sbx_toml_reader *reader, const char *at, const char *end,
                             char *out)
{
    size_t digits = at[1] == 'u' ? 4 : 8;
    uint32_t character = 0;
    for (size_t i = 0; i < digits; i++) {
        int digit = (size_t)(end - at) > i + 2 ? hex_digit(at[i + 2]) : -1;
        if (digit < 0) {
            (void)sbx_toml_fail(reader, at,
                                "\\%c needs %zu hexadecimal digits; a text with "
                                "backslashes is easier in single quotes",
                                at[1], digits);
            return 0;
        }
        character = character << 4 | (uint32_t)digit;
    }
    size_t len = sbx_utf8_encode(character, out);
    if (len == 0) {
        (void)sbx_toml_fail(reader, at, "U+%04X is not a character", (unsigned)character);
    }
    return len;
}

/* The byte an escape of one letter stands for, or 0. */
static char simple_escape(char letter)
{
    switch (letter) {
    case 'b':
        return '\b';
    case 't':
        return '\t';
    case 'n':
        return '\n';
    case 'f':
        return '\f';
    case 'r':
        return '\r';
    case '"':
    case '\\':
        return letter;
    default:
        return '\0';
    }
}

/* A backslash, spaces and a newline at `at`: what stands behind all white space that follows; NULL
 * when there is no newline. */
static const char *skip_line_continuation(const char *at, const char *end)
{
    bool newline = false;
    for (at++; at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'); at++) {
        newline = newline || *at == '\n';
    }
    return newline ? at : NULL;
}

static enum sbx_code bad_escape(struct sbx_toml_reader *reader, const char *at, const char *end)
{
    size_t len = sbx_utf8_decode(at + 1, (size_t)(end - at - 1), NULL);
    struct sbx_toml_shown shown = sbx_toml_show((struct sbx_str){at + 1, len});
    return sbx_toml_fail(reader, at,
                         "a backslash before %s is no escape; write \\\\ for a "
                         "backslash, or use single quotes",
                         shown.text);
}

/* Decodes body into a copy that is never longer than the original. */
static enum sbx_code decode(struct sbx_toml_reader *reader, struct body body, bool lines,
                            struct sbx_str *out)
{
    char *copy = sbx_arena_alloc(reader->arena, (size_t)(body.end - body.start), 1);
    if (copy == NULL) {
        return sbx_toml_no_memory(reader);
    }
    size_t len = 0;
    for (const char *at = body.start; at < body.end;) {
        if (*at == '\r') {
            at++; /* CR LF reads as LF: the same text on every system gives the same value */
            continue;
        }
        if (*at != '\\') {
            copy[len++] = *at++;
            continue;
        }
        char letter = at + 1 < body.end ? at[1] : '\0';
        char simple = simple_escape(letter);
        const char *continued = lines ? skip_line_continuation(at, body.end) : NULL;
        if (simple != '\0') {
            copy[len++] = simple;
            at += 2;
        } else if (letter == 'u' || letter == 'U') {
            size_t added = decode_unicode(reader, at, body.end, copy + len);
            if (added == 0) {
                return SBX_E_SYNTAX;
            }
            len += added;
            at += letter == 'u' ? 6 : 10;
        } else if (continued != NULL) {
            at = continued;
        } else {
            return bad_escape(reader, at, body.end);
        }
    }
    *out = (struct sbx_str){copy, len};
    return SBX_OK;
}

/* ---- finding the end ------------------------------------------------------------------------ */

/* Behind the opening quote; leaves the reader behind the closing one. */
static enum sbx_code scan_line(struct sbx_toml_reader *reader, char quote, struct body *out)
{
    const unsigned class = quote == '"' ? SBX_TOML_BASIC : SBX_TOML_LITERAL;
    out->start = reader->at;
    out->needs_decoding = false;
    for (;;) {
        reader->at = sbx_toml_skip(reader, reader->at, class);
        char c = sbx_toml_peek(reader);
        if (c == quote) {
            break;
        }
        if (reader->at == reader->end || c == '\n' || c == '\r') {
            return not_closed(reader, quote);
        }
        if (c != '\\') {
            return bad_control(reader, quote);
        }
        out->needs_decoding = true;
        reader->at++;
        if (sbx_toml_peek(reader) == '"' || sbx_toml_peek(reader) == '\\') {
            reader->at++;
        }
    }
    out->end = reader->at;
    reader->at++;
    return SBX_OK;
}

/* At a quote inside a multi-line string: true when it ends there, which is with the last three of
 * up to five quotes. */
static bool scan_quotes(struct sbx_toml_reader *reader, char quote, struct body *out)
{
    size_t count = 0;
    while (count < 5 && reader->at < reader->end && *reader->at == quote) {
        reader->at++;
        count++;
    }
    out->end = reader->at - 3;
    return count >= 3;
}

/* Behind the three opening quotes; leaves the reader behind the closing ones. */
static enum sbx_code scan_lines(struct sbx_toml_reader *reader, char quote, struct body *out)
{
    const unsigned class = quote == '"' ? SBX_TOML_BASIC : SBX_TOML_LITERAL;
    const uint32_t line = reader->line;
    enum sbx_code code = SBX_OK;
    char c = sbx_toml_peek(reader);
    if (c == '\n' || c == '\r') {
        code = sbx_toml_newline(reader);
    }
    out->start = reader->at;
    out->needs_decoding = false;
    while (code == SBX_OK) {
        reader->at = sbx_toml_skip(reader, reader->at, class);
        c = sbx_toml_peek(reader);
        if (reader->at == reader->end) {
            code = lines_not_closed(reader, quote, line);
        } else if (c == quote) {
            if (scan_quotes(reader, quote, out)) {
                break;
            }
        } else if (c == '\n' || c == '\r') {
            out->needs_decoding = out->needs_decoding || c == '\r';
            code = sbx_toml_newline(reader);
        } else if (c == '\\') {
            out->needs_decoding = true;
            reader->at++;
            if (sbx_toml_peek(reader) == '"' || sbx_toml_peek(reader) == '\\') {
                reader->at++;
            }
        } else {
            code = bad_control(reader, quote);
        }
    }
    return code;
}

/* A literal string needs decoding only for its line ends. */
static enum sbx_code drop_carriage_returns(struct sbx_toml_reader *reader, struct body body,
                                           struct sbx_str *out)
{
    char *copy = sbx_arena_alloc(reader->arena, (size_t)(body.end - body.start), 1);
    if (copy == NULL) {
        return sbx_toml_no_memory(reader);
    }
    size_t len = 0;
    for (const char *at = body.start; at < body.end; at++) {
        if (*at != '\r') {
            copy[len++] = *at;
        }
    }
    *out = (struct sbx_str){copy, len};
    return SBX_OK;
}

enum sbx_code sbx_toml_read_string(struct sbx_toml_reader *reader, bool allow_lines,
                                   struct sbx_str *out)
{
    const char quote = *reader->at;
    const bool lines =
        reader->end - reader->at >= 3 && reader->at[1] == quote && reader->at[2] == quote;
    if (lines && !allow_lines) {
        return sbx_toml_fail(reader, reader->at, "a multi-line string cannot be a key");
    }
    struct body body = {NULL, NULL, false};
    reader->at += lines ? 3 : 1;
    enum sbx_code code = lines ? scan_lines(reader, quote, &body) : scan_line(reader, quote, &body);
    if (code != SBX_OK) {
        return code;
    }
    if (!body.needs_decoding) {
        *out = (struct sbx_str){body.start, (size_t)(body.end - body.start)};
        return SBX_OK;
    }
    return quote == '"' ? decode(reader, body, lines, out)
                        : drop_carriage_returns(reader, body, out);
}
