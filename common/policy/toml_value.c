/* TOML reader: values by their first byte, words, and inline tables. Recursion is bounded by the
 * maximum depth. */
#include <math.h>
#include <string.h>

#include "common/policy/toml_internal.h"

#include "common/base/banned.h"

/* True, and behind the word, when the word stands here as a whole. */
static bool take_word(struct sbx_toml_reader *reader, const char *word, size_t len)
{
    if ((size_t)(reader->end - reader->at) < len || memcmp(reader->at, word, len) != 0 ||
        sbx_toml_skip(reader, reader->at, SBX_TOML_NUMBER) != reader->at + len) {
        return false;
    }
    reader->at += len;
    return true;
}

/* At something that starts no value: says what it most likely was meant to be. */
static enum sbx_code missing_value(struct sbx_toml_reader *reader)
{
    const char *end = sbx_toml_skip(reader, reader->at, SBX_TOML_NUMBER);
    struct sbx_str word = {reader->at, (size_t)(end - reader->at)};
    if (word.len == 0 || *word.ptr == ':') {
        return sbx_toml_expected(reader, "a value (strings need quotes)");
    }
    struct sbx_toml_shown shown = sbx_toml_show(word);
    if (*word.ptr == '.') {
        return sbx_toml_fail(reader, reader->at, "a number needs a digit before the point");
    }
    if (sbx_str_is_nocase(word, "true") || sbx_str_is_nocase(word, "false")) {
        return sbx_toml_fail(reader, reader->at,
                             "%s is not a value; booleans are true and false, "
                             "in lower case",
                             shown.text);
    }
    if (sbx_str_is_nocase(word, "inf") || sbx_str_is_nocase(word, "nan")) {
        return sbx_toml_fail(reader, reader->at, "%s is not a value; write it in lower case",
                             shown.text);
    }
    if (sbx_str_is_nocase(word, "null") || sbx_str_is_nocase(word, "none") ||
        sbx_str_is_nocase(word, "nil")) {
        return sbx_toml_fail(reader, reader->at, "%s is not a value; leave the key out instead",
                             shown.text);
    }
    return sbx_toml_fail(reader, reader->at, "%s is not a value; strings need quotes", shown.text);
}

static enum sbx_code read_word(struct sbx_toml_reader *reader, struct sbx_value *out)
{
    if (take_word(reader, "true", 4)) {
        out->type = SBX_VALUE_BOOL;
        out->boolean = true;
    } else if (take_word(reader, "false", 5)) {
        out->type = SBX_VALUE_BOOL;
        out->boolean = false;
    } else if (take_word(reader, "inf", 3)) {
        out->type = SBX_VALUE_FLOAT;
        out->number = (double)INFINITY;
    } else if (take_word(reader, "nan", 3)) {
        out->type = SBX_VALUE_FLOAT;
        out->number = (double)NAN;
    } else {
        return missing_value(reader);
    }
    return SBX_OK;
}

/* TOML 1.1 allows both; saying so is clearer than "expected a key". */
static enum sbx_code check_inline_blank(struct sbx_toml_reader *reader, bool after_comma)
{
    sbx_toml_skip_space(reader);
    char c = sbx_toml_peek(reader);
    if (c == '\n' || c == '\r' || c == '#') {
        return sbx_toml_fail(reader, reader->at,
                             "an inline table has to be on one line; use a "
                             "[table] header for several");
    }
    if (c == '}' && after_comma) {
        return sbx_toml_fail(reader, reader->at,
                             "a comma before the \"}\" of an inline table is not allowed");
    }
    return SBX_OK;
}

/* At "{". */
static enum sbx_code read_inline_table(struct sbx_toml_reader *reader, unsigned depth,
                                       struct sbx_value *out)
{
    if (depth >= reader->max_depth) {
        return sbx_toml_too_deep(reader, reader->at);
    }
    struct sbx_toml_table table = {.defined = out->place, .depth = (uint16_t)(depth + 1)};
    reader->at++;
    enum sbx_code code = check_inline_blank(reader, false);
    bool more = sbx_toml_peek(reader) != '}';
    while (code == SBX_OK && more) {
        code = sbx_toml_read_pair(reader, &table);
        if (code == SBX_OK) {
            code = check_inline_blank(reader, false);
        }
        if (code != SBX_OK) {
            return code;
        }
        more = sbx_toml_peek(reader) == ',';
        if (more) {
            reader->at++;
            code = check_inline_blank(reader, true);
        } else if (sbx_toml_peek(reader) != '}') {
            return sbx_toml_expected(reader, "\",\" or \"}\" in the inline table");
        }
    }
    if (code != SBX_OK) {
        return code;
    }
    reader->at++;
    return sbx_toml_close_table(reader, &table, out);
}

enum sbx_code sbx_toml_read_value(struct sbx_toml_reader *reader, unsigned depth,
                                  struct sbx_value *out)
{
    out->place = sbx_toml_place(reader, reader->at);
    char c = sbx_toml_peek(reader);
    if (c == '"' || c == '\'') {
        out->type = SBX_VALUE_STRING;
        return sbx_toml_read_string(reader, true, &out->string);
    }
    if (c == '[') {
        return sbx_toml_read_array(reader, depth, out);
    }
    if (c == '{') {
        return read_inline_table(reader, depth, out);
    }
    if (sbx_toml_is_digit(c) || c == '+' || c == '-') {
        return sbx_toml_is_datetime(reader) ? sbx_toml_read_datetime(reader, out)
                                            : sbx_toml_read_number(reader, out);
    }
    return read_word(reader, out);
}
