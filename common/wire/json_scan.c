/* Strict reader of one JSON object: the check. What it lets pass is walked by json_walk.c without looking again. */
#include "common/wire/json_scan.h"

#include <string.h>

#include "common/base/utf8.h"
#include "common/wire/json_string.h"

#include "common/base/banned.h"

enum { FEW_NAMES = 8 };

static enum sbx_code wrong(const struct sbx_json_reader *r, struct sbx_err *err, const char *what)
{
    return sbx_err_set(err, SBX_E_SYNTAX, "not JSON as sbx reads it, at byte %zu: %s",
                       (size_t)(r->at - r->begin), what);
}

static enum sbx_code too_much(const struct sbx_json_reader *r, struct sbx_err *err,
                              const char *what)
{
    return sbx_err_set(err, SBX_E_LIMIT, "not JSON as sbx reads it, at byte %zu: %s",
                       (size_t)(r->at - r->begin), what);
}

static void skip_space(struct sbx_json_reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\r' || *r->at == '\n'))
        r->at++;
}

/* The next byte that is not white space, or NUL at the end (which no token starts with). */
static char peek(struct sbx_json_reader *r)
{
    skip_space(r);
    return r->at < r->end ? *r->at : '\0';
}

static enum sbx_code check_string(struct sbx_json_reader *r, struct sbx_err *err)
{
    const char *fault = sbx_json_string_end(r->at + 1, r->end, &r->at);
    return fault == NULL ? SBX_OK : wrong(r, err, fault);
}

static enum sbx_code check_number(struct sbx_json_reader *r, struct sbx_err *err)
{
    const char *at = r->at + (*r->at == '-' ? 1 : 0);
    const char *digits = at;
    int64_t number = 0;
    while (at < r->end && sbx_is_digit(*at) && number <= SBX_JSON_NUMBER_MAX) {
        number = number * 10 + (*at - '0');
        at++;
    }
    if (at == digits) return wrong(r, err, "a value is missing or misspelt");
    if (*digits == '0' && at - digits > 1) return wrong(r, err, "a number starts with 0");
    if (number > SBX_JSON_NUMBER_MAX) return wrong(r, err, "a number is outside ±2^53");
    if (at < r->end && (*at == '.' || *at == 'e' || *at == 'E'))
        return wrong(r, err, "a number is not an integer");
    r->at = at;
    return SBX_OK;
}

static enum sbx_code check_word(struct sbx_json_reader *r, const char *word, struct sbx_err *err)
{
    size_t len = strlen(word);
    if ((size_t)(r->end - r->at) < len || memcmp(r->at, word, len) != 0)
        return wrong(r, err, "a value is missing or misspelt");
    r->at += len;
    return SBX_OK;
}

/* ---- names of an object: none twice ---- */

static int compare_names(const struct sbx_json_reader *r, uint32_t a, uint32_t b)
{
    return sbx_json_compare(r->begin + a, r->begin + b, r->end);
}

/* A heap: no allocation, no input that makes it slow, and the order of equal names does not matter. */
static void sift(const struct sbx_json_reader *r, uint32_t *names, size_t root, size_t count)
{
    for (size_t child = 2 * root + 1; child < count; child = 2 * root + 1) {
        if (child + 1 < count && compare_names(r, names[child], names[child + 1]) < 0) child++;
        if (compare_names(r, names[root], names[child]) >= 0) return;
        uint32_t moved = names[root];
        names[root] = names[child];
        names[child] = moved;
        root = child;
    }
}

static void sort_names(const struct sbx_json_reader *r, uint32_t *names, size_t count)
{
    for (size_t i = count / 2; i > 0; i--) sift(r, names, i - 1, count);
    for (size_t left = count - 1; left > 0; left--) {
        uint32_t largest = names[0];
        names[0] = names[left];
        names[left] = largest;
        sift(r, names, 0, left);
    }
}

static bool has_twin(const struct sbx_json_reader *r, uint32_t *names, size_t count)
{
    if (count <= FEW_NAMES) {
        for (size_t i = 1; i < count; i++)
            for (size_t k = 0; k < i; k++)
                if (compare_names(r, names[i], names[k]) == 0) return true;
        return false;
    }
    sort_names(r, names, count);
    for (size_t i = 1; i < count; i++)
        if (compare_names(r, names[i - 1], names[i]) == 0) return true;
    return false;
}

/* ---- values ---- */

static enum sbx_code check_value(struct sbx_json_reader *r, struct sbx_err *err);

static enum sbx_code check_name(struct sbx_json_reader *r, struct sbx_err *err)
{
    if (peek(r) != '"') return wrong(r, err, "a member has no name in quotes");
    if (r->count == SBX_JSON_MEMBERS) return too_much(r, err, "more than 16384 members");
    r->names[r->count++] = (uint32_t)(r->at + 1 - r->begin);
    if (check_string(r, err) != SBX_OK) return err->code;
    if (peek(r) != ':') return wrong(r, err, "a colon is missing after a name");
    r->at++;
    return SBX_OK;
}

static enum sbx_code check_object(struct sbx_json_reader *r, struct sbx_err *err)
{
    size_t outer = r->count;
    r->at++;
    bool is_empty = peek(r) == '}';
    while (!is_empty) {
        if (check_name(r, err) != SBX_OK || check_value(r, err) != SBX_OK) return err->code;
        char next = peek(r);
        if (next == '}') break;
        if (next != ',') return wrong(r, err, "an object does not end");
        r->at++;
    }
    r->at++;
    if (has_twin(r, r->names + outer, r->count - outer))
        return wrong(r, err, "an object has a member twice");
    r->count = outer;
    return SBX_OK;
}

static enum sbx_code check_array(struct sbx_json_reader *r, struct sbx_err *err)
{
    r->at++;
    bool is_empty = peek(r) == ']';
    while (!is_empty) {
        if (check_value(r, err) != SBX_OK) return err->code;
        char next = peek(r);
        if (next == ']') break;
        if (next != ',') return wrong(r, err, "an array does not end");
        r->at++;
    }
    r->at++;
    return SBX_OK;
}

static enum sbx_code check_container(struct sbx_json_reader *r, struct sbx_err *err)
{
    if (r->level == SBX_JSON_LEVELS) return too_much(r, err, "more than 32 levels");
    r->level++;
    enum sbx_code code = *r->at == '{' ? check_object(r, err) : check_array(r, err);
    r->level--;
    return code;
}

static enum sbx_code check_value(struct sbx_json_reader *r, struct sbx_err *err)
{
    switch (peek(r)) {
    case '{':
    case '[':
        return check_container(r, err);
    case '"':
        return check_string(r, err);
    case 't':
        return check_word(r, "true", err);
    case 'f':
        return check_word(r, "false", err);
    case 'n':
        return check_word(r, "null", err);
    default:
        return r->at == r->end ? wrong(r, err, "it ends too early") : check_number(r, err);
    }
}

enum sbx_code sbx_json_check(struct sbx_json_reader *reader, struct sbx_str text,
                             struct sbx_err *err)
{
    struct sbx_err spare;
    if (err == NULL) err = &spare;
    reader->begin = reader->at = text.ptr;
    reader->end = text.ptr + text.len;
    reader->level = 0;
    reader->count = 0;
    if (text.len > SBX_JSON_TEXT_MAX) return too_much(reader, err, "more than 1 GiB");
    if (text.len == 0 || peek(reader) != '{') return wrong(reader, err, "an object must come here");
    if (check_value(reader, err) != SBX_OK) return err->code;
    (void)peek(reader);
    return reader->at == reader->end ? SBX_OK : wrong(reader, err, "something follows the object");
}
