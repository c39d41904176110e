/* String views, numbers, edit distance and bounded formatting, all without the locale. */
#include "common/base/str.h"

#include <stdio.h>
#include <string.h>

#include "common/base/utf8.h"

#include "common/base/banned.h"

#define DISTANCE_MAX_BYTES 64

struct sbx_str sbx_str(const char *text)
{
    return (struct sbx_str){text, text == NULL ? 0 : strlen(text)};
}

/* memcmp may not be given NULL, not even with length 0. */
static bool same_bytes(const char *a, const char *b, size_t len)
{
    return len == 0 || memcmp(a, b, len) == 0;
}

bool sbx_str_eq(struct sbx_str a, struct sbx_str b)
{
    return a.len == b.len && same_bytes(a.ptr, b.ptr, a.len);
}

bool sbx_str_is(struct sbx_str a, const char *text)
{
    return sbx_str_eq(a, sbx_str(text));
}

bool sbx_str_is_nocase(struct sbx_str a, const char *text)
{
    struct sbx_str b = sbx_str(text);
    if (a.len != b.len) {
        return false;
    }
    for (size_t i = 0; i < a.len; i++) {
        if (sbx_to_lower(a.ptr[i]) != sbx_to_lower(b.ptr[i])) {
            return false;
        }
    }
    return true;
}

bool sbx_str_starts(struct sbx_str a, const char *prefix)
{
    struct sbx_str b = sbx_str(prefix);
    return a.len >= b.len && same_bytes(a.ptr, b.ptr, b.len);
}

bool sbx_str_ends(struct sbx_str a, const char *suffix)
{
    struct sbx_str b = sbx_str(suffix);
    return a.len >= b.len && (b.len == 0 || same_bytes(a.ptr + (a.len - b.len), b.ptr, b.len));
}

int sbx_str_compare(struct sbx_str a, struct sbx_str b)
{
    size_t shorter = a.len < b.len ? a.len : b.len;
    int order = shorter == 0 ? 0 : memcmp(a.ptr, b.ptr, shorter);
    if (order == 0) {
        order = (a.len > b.len) - (a.len < b.len);
    }
    return order;
}

bool sbx_str_contains(struct sbx_str a, const char *needle)
{
    struct sbx_str b = sbx_str(needle);
    if (b.len == 0) {
        return true;
    }
    for (size_t at = 0; at + b.len <= a.len; at++) {
        const char *hit = memchr(a.ptr + at, b.ptr[0], a.len - b.len - at + 1);
        if (hit == NULL) {
            return false;
        }
        if (memcmp(hit, b.ptr, b.len) == 0) {
            return true;
        }
        at = (size_t)(hit - a.ptr);
    }
    return false;
}

bool sbx_text_eq(const char *a, const char *b)
{
    if (a == NULL || b == NULL) {
        return a == b;
    }
    return strcmp(a, b) == 0;
}

void sbx_text_vformat(char *out, size_t size, const char *format, va_list args)
{
    static const char ellipsis[] = "\xe2\x80\xa6";

    int wanted = vsnprintf(out, size, format, args);
    if (wanted < 0) {
        (void)snprintf(out, size, "(this text cannot be shown)");
        return;
    }
    if ((size_t)wanted < size) {
        return;
    }
    size_t mark = size > sizeof ellipsis ? sizeof ellipsis - 1 : 0;
    size_t keep = sbx_utf8_cut(out, size - 1 - mark);
    memcpy(out + keep, ellipsis, mark);
    out[keep + mark] = '\0';
}

void sbx_text_format(char *out, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    sbx_text_vformat(out, size, format, args);
    va_end(args);
}

bool sbx_str_to_u64(struct sbx_str text, uint64_t *out)
{
    uint64_t number = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (!sbx_is_digit(text.ptr[i])) {
            return false;
        }
        uint64_t digit = (uint64_t)(text.ptr[i] - '0');
        if (number > (UINT64_MAX - digit) / 10) {
            return false;
        }
        number = number * 10 + digit;
    }
    if (text.len == 0) {
        return false;
    }
    *out = number;
    return true;
}

bool sbx_str_split(struct sbx_str text, char separator, struct sbx_str *head, struct sbx_str *tail)
{
    const char *hit = text.len == 0 ? NULL : memchr(text.ptr, separator, text.len);
    if (hit == NULL) {
        *head = text;
        *tail = (struct sbx_str){NULL, 0};
        return false;
    }
    size_t before = (size_t)(hit - text.ptr);
    *head = (struct sbx_str){text.ptr, before};
    *tail = (struct sbx_str){hit + 1, text.len - before - 1};
    return true;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t sbx_str_distance(struct sbx_str a, struct sbx_str b)
{
    if (a.len > DISTANCE_MAX_BYTES || b.len > DISTANCE_MAX_BYTES) {
        return SIZE_MAX;
    }
    /* Row i of the usual matrix needs rows i-1 and, for transpositions, i-2. */
    size_t rows[3][DISTANCE_MAX_BYTES + 1];
    for (size_t j = 0; j <= b.len; j++) {
        rows[0][j] = j;
    }
    for (size_t i = 1; i <= a.len; i++) {
        size_t *now = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3];
        const size_t *above2 = rows[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            size_t change = a.ptr[i - 1] == b.ptr[j - 1] ? 0 : 1;
            now[j] = least(least(above[j], now[j - 1]) + 1, above[j - 1] + change);
            if (i > 1 && j > 1 && a.ptr[i - 1] == b.ptr[j - 2] && a.ptr[i - 2] == b.ptr[j - 1]) {
                now[j] = least(now[j], above2[j - 2] + 1);
            }
        }
    }
    return rows[a.len % 3][b.len];
}

bool sbx_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool sbx_is_alpha(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool sbx_is_alnum(char c)
{
    return sbx_is_digit(c) || sbx_is_alpha(c);
}

char sbx_to_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}
