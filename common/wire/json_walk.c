/* Walks JSON text that was checked. Nothing is looked at twice for its correctness: every loop ends because the check saw the end. */
#include <string.h>

#include "common/wire/json_scan.h"
#include "common/wire/json_string.h"

#include "common/base/banned.h"

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* After the closing quote of the string whose opening quote is at `at`. */
static const char *after_string(const char *at, const char *end)
{
    for (at++;;) {
        const char *quote = memchr(at, '"', (size_t)(end - at));
        if (quote == NULL) return end;
        const char *slash = quote;
        while (slash > at && slash[-1] == '\\') slash--;
        if ((quote - slash) % 2 == 0) return quote + 1;
        at = quote + 1;
    }
}

static const char *after_container(const char *at, const char *end)
{
    size_t depth = 0;
    while (at < end) {
        char c = *at;
        if (c == '"') {
            at = after_string(at, end);
            continue;
        }
        at++;
        if (c == '{' || c == '[') depth++;
        if (c == '}' || c == ']') depth--;
        if (depth == 0) break;
    }
    return at;
}

static const char *after_word(const char *at, const char *end)
{
    while (at < end && !is_space(*at) && *at != ',' && *at != '}' && *at != ']') at++;
    return at;
}

static enum sbx_json_type type_of(char first)
{
    switch (first) {
    case '{':
        return SBX_JSON_OBJECT;
    case '[':
        return SBX_JSON_ARRAY;
    case '"':
        return SBX_JSON_STRING;
    case 'n':
        return SBX_JSON_NULL;
    case 't':
    case 'f':
        return SBX_JSON_BOOL;
    default:
        return SBX_JSON_NUMBER;
    }
}

const char *sbx_json_type_text(enum sbx_json_type type)
{
    static const char *const texts[] = {
        [SBX_JSON_NULL] = "null",       [SBX_JSON_BOOL] = "true or false",
        [SBX_JSON_NUMBER] = "a number", [SBX_JSON_STRING] = "a string",
        [SBX_JSON_ARRAY] = "an array",  [SBX_JSON_OBJECT] = "an object",
    };
    return (size_t)type < SBX_COUNT(texts) ? texts[type] : "unknown";
}

/* Past white space and the one separator that may stand here; false at the end. */
static bool reach(struct sbx_json_walk *walk)
{
    while (walk->at < walk->end && (is_space(*walk->at) || *walk->at == ',' || *walk->at == ':'))
        walk->at++;
    return walk->at < walk->end;
}

static struct sbx_json_value take(struct sbx_json_walk *walk)
{
    const char *begin = walk->at;
    struct sbx_json_value value = {.type = type_of(*begin)};
    if (value.type == SBX_JSON_STRING)
        walk->at = after_string(begin, walk->end);
    else if (value.type == SBX_JSON_OBJECT || value.type == SBX_JSON_ARRAY)
        walk->at = after_container(begin, walk->end);
    else
        walk->at = after_word(begin, walk->end);
    value.raw = (struct sbx_str){begin, (size_t)(walk->at - begin)};
    return value;
}

void sbx_json_enter(struct sbx_str raw, struct sbx_json_walk *walk)
{
    const char *begin = raw.ptr;
    const char *end = raw.len == 0 ? begin : begin + raw.len;
    while (begin < end && is_space(*begin)) begin++;
    while (end > begin && is_space(end[-1])) end--;
    *walk = (struct sbx_json_walk){begin, begin};
    if (end - begin > 1) *walk = (struct sbx_json_walk){begin + 1, end - 1};
}

bool sbx_json_next_member(struct sbx_json_walk *walk, struct sbx_json_value *key,
                          struct sbx_json_value *value)
{
    if (!reach(walk)) return false;
    *key = take(walk);
    if (!reach(walk)) return false;
    *value = take(walk);
    return true;
}

bool sbx_json_next_item(struct sbx_json_walk *walk, struct sbx_json_value *value)
{
    if (!reach(walk)) return false;
    *value = take(walk);
    return true;
}

int64_t sbx_json_number(struct sbx_str raw)
{
    bool is_negative = raw.len > 0 && raw.ptr[0] == '-';
    int64_t number = 0;
    for (size_t i = is_negative ? 1 : 0; i < raw.len; i++)
        number = number * 10 + (raw.ptr[i] - '0');
    return is_negative ? -number : number;
}

bool sbx_json_bool(struct sbx_str raw)
{
    return raw.len > 0 && raw.ptr[0] == 't';
}

bool sbx_json_is(struct sbx_str raw, const char *text)
{
    size_t len = strlen(text);
    struct sbx_str inner = {raw.ptr + 1, raw.len - 2};
    if (memchr(inner.ptr, '\\', inner.len) == NULL) return sbx_str_is(inner, text);
    /* An escape is at most six times as long as what it means. */
    char copy[6 * 64];
    if (inner.len > sizeof copy || len > 64) return false;
    memcpy(copy, inner.ptr, inner.len);
    struct sbx_str meant = {copy, sbx_json_unescape(copy, inner.len)};
    return sbx_str_is(meant, text);
}

struct sbx_str sbx_json_take_text(struct sbx_str raw)
{
    char *text = (char *)(uintptr_t)raw.ptr + 1;
    size_t len = sbx_json_unescape(text, raw.len - 2);
    text[len] = '\0';
    return (struct sbx_str){text, len};
}
