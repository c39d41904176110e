/* Strings of JSON. Long ones are scanned sixteen bytes at a step: a line may carry 64 KiB of base64. */
#include "common/wire/json_string.h"

#include <string.h>

#include "common/base/utf8.h"
#include "common/wire/bytes16.h"

#include "common/base/banned.h"

/* Not 0 in a byte that is a quote, a backslash, a control character or no ASCII. */
static sbx_bytes16 special(sbx_bytes16 bytes)
{
    return (bytes == '"') | (bytes == '\\') | (bytes < 0x20);
}

static bool is_special(unsigned char byte)
{
    return byte == '"' || byte == '\\' || byte < 0x20 || byte >= 0x80;
}

/* The first special byte from `at`, or `end`. */
static const char *skip_plain(const char *at, const char *end)
{
    for (; end - at >= 64; at += 64) {
        sbx_bytes16 found = special(sbx_bytes16_load(at)) | special(sbx_bytes16_load(at + 16)) |
                            special(sbx_bytes16_load(at + 32)) | special(sbx_bytes16_load(at + 48));
        if (sbx_bytes16_any(found)) break;
    }
    for (; end - at >= 16; at += 16) {
        sbx_bytes16 found = special(sbx_bytes16_load(at));
        if (sbx_bytes16_any(found)) return at + sbx_bytes16_first(found);
    }
    while (at < end && !is_special((unsigned char)*at)) at++;
    return at;
}

/* The four hexadecimal digits at `at`, or UINT32_MAX. */
static uint32_t hex4(const char *at, const char *end)
{
    uint32_t unit = 0;
    if (end - at < 4) return UINT32_MAX;
    for (size_t i = 0; i < 4; i++) {
        char c = sbx_to_lower(at[i]);
        uint32_t digit = sbx_is_digit(c)        ? (uint32_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                                                : 16;
        if (digit > 15) return UINT32_MAX;
        unit = unit << 4 | digit;
    }
    return unit;
}

static bool is_high(uint32_t unit)
{
    return unit >= 0xd800 && unit <= 0xdbff;
}

static bool is_low(uint32_t unit)
{
    return unit >= 0xdc00 && unit <= 0xdfff;
}

/* The character of the escape whose backslash is at `at`; *next is after it. UINT32_MAX, *next untouched, when it is wrong. */
static uint32_t escape(const char *at, const char *end, const char **next)
{
    static const char letters[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    if (end - at < 2) return UINT32_MAX;
    if (at[1] != 'u') {
        const char *letter = at[1] == '\0' ? NULL : strchr(letters, at[1]);
        if (letter == NULL) return UINT32_MAX;
        *next = at + 2;
        return (unsigned char)meanings[letter - letters];
    }
    uint32_t unit = hex4(at + 2, end);
    if (unit == UINT32_MAX || is_low(unit)) return UINT32_MAX;
    if (!is_high(unit)) {
        *next = at + 6;
        return unit;
    }
    if (end - at < 12 || at[6] != '\\' || at[7] != 'u') return UINT32_MAX;
    uint32_t low = hex4(at + 8, end);
    if (low == UINT32_MAX || !is_low(low)) return UINT32_MAX;
    *next = at + 12;
    return 0x10000 + ((unit - 0xd800) << 10 | (low - 0xdc00));
}

const char *sbx_json_string_end(const char *at, const char *end, const char **next)
{
    const char *fault = "a string does not end";
    for (at = skip_plain(at, end); at < end; at = skip_plain(at, end)) {
        unsigned char byte = (unsigned char)*at;
        if (byte == '"') {
            *next = at + 1;
            return NULL;
        }
        if (byte == '\\') {
            const char *after = at;
            (void)escape(at, end, &after);
            if (after == at) fault = "an escape that JSON does not have, or half of a pair";
            if (after == at) break;
            at = after;
            continue;
        }
        size_t len = byte < 0x20 ? 0 : sbx_utf8_decode(at, (size_t)(end - at), NULL);
        if (len == 0) {
            fault = byte < 0x20 ? "a control character in a string" : "bytes that are not UTF-8";
            break;
        }
        at += len;
    }
    *next = at;
    return fault;
}

/* The next character of a checked string, or UINT32_MAX at its closing quote. A checked string needs no end: it has the quote. */
static uint32_t next_character(const char **at)
{
    uint32_t character = UINT32_MAX;
    if (**at == '"') return character;
    if (**at == '\\') return escape(*at, *at + 12, at);
    size_t len = sbx_utf8_decode(*at, 4, &character);
    *at += len;
    return character;
}

int sbx_json_compare(const char *a, const char *b, const char *end)
{
    /* Names that begin alike are what makes comparing dear. */
    for (; end - a >= 16 && end - b >= 16; a += 16, b += 16) {
        sbx_bytes16 left = sbx_bytes16_load(a);
        sbx_bytes16 right = sbx_bytes16_load(b);
        if (sbx_bytes16_any((left != right) | special(left))) break;
    }
    for (;;) {
        uint32_t left = next_character(&a);
        uint32_t right = next_character(&b);
        if (left != right) {
            if (left == UINT32_MAX) return -1;
            if (right == UINT32_MAX) return 1;
            return left < right ? -1 : 1;
        }
        if (left == UINT32_MAX) return 0;
    }
}

size_t sbx_json_unescape(char *text, size_t len)
{
    char *end = text + len;
    char *out = memchr(text, '\\', len);
    if (out == NULL) return len;
    const char *at = out;
    while (at < end) {
        const char *slash = memchr(at, '\\', (size_t)(end - at));
        size_t run = (size_t)((slash == NULL ? end : slash) - at);
        memmove(out, at, run);
        out += run;
        at += run;
        if (slash == NULL) break;
        char bytes[4];
        size_t count = sbx_utf8_encode(escape(slash, end, &at), bytes);
        memcpy(out, bytes, count);
        out += count;
    }
    return (size_t)(out - text);
}

/* Escapes of one letter. */
static const char named[] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f',
                             ['\r'] = 'r', ['"'] = '"',  ['\\'] = '\\'};

static void add_escape(struct sbx_buf *out, unsigned char byte)
{
    static const char digits[] = "0123456789abcdef";
    if (byte < sizeof named && named[byte] != '\0') {
        const char pair[] = {'\\', named[byte]};
        sbx_buf_add(out, pair, sizeof pair);
        return;
    }
    const char unit[] = {'\\', 'u', '0', '0', digits[byte >> 4], digits[byte & 15]};
    sbx_buf_add(out, unit, sizeof unit);
}

size_t sbx_json_string_len(struct sbx_str text)
{
    const char *at = text.ptr;
    const char *end = text.len == 0 ? at : at + text.len;
    size_t len = text.len + 2;
    for (at = skip_plain(at, end); at < end; at = skip_plain(at, end)) {
        unsigned char byte = (unsigned char)*at++;
        if (byte < 0x80) len += byte < sizeof named && named[byte] != '\0' ? 1 : 5;
    }
    return len;
}

void sbx_json_add_string(struct sbx_buf *out, struct sbx_str text)
{
    const char *at = text.ptr;
    const char *end = text.len == 0 ? at : at + text.len;
    const char *plain = at;
    sbx_buf_add_char(out, '"');
    for (at = skip_plain(at, end); at < end; at = skip_plain(at, end)) {
        unsigned char byte = (unsigned char)*at++;
        if (byte >= 0x80) continue;
        sbx_buf_add(out, plain, (size_t)(at - 1 - plain));
        add_escape(out, byte);
        plain = at;
    }
    if (end > plain) sbx_buf_add(out, plain, (size_t)(end - plain));
    sbx_buf_add_char(out, '"');
}
