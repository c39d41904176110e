/* Growing byte buffer with a hard maximum and a sticky failure. */
#include "common/base/buf.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/utf8.h"

#include "common/base/banned.h"

#define FIRST_CAPACITY 64
#define LARGE_CAPACITY ((size_t)16 << 10) /* up to here few steps count more than unused memory */

void sbx_buf_init(struct sbx_buf *buf, size_t max_bytes)
{
    /* Half of the address space is more than malloc gives, and keeps the sums below exact. */
    *buf = (struct sbx_buf){.max = max_bytes < SIZE_MAX / 4 ? max_bytes : SIZE_MAX / 4};
}

static void *resize(const struct sbx_buf *buf, size_t bytes)
{
    return buf->resize == NULL ? realloc(buf->data, bytes)
                               : buf->resize(buf->resize_state, buf->data, bytes);
}

void sbx_buf_release(struct sbx_buf *buf)
{
    if (buf == NULL) {
        return;
    }
    if (buf->resize == NULL) {
        free(buf->data);
    } else if (buf->data != NULL) {
        (void)resize(buf, 0);
    }
    *buf =
        (struct sbx_buf){.max = buf->max, .resize = buf->resize, .resize_state = buf->resize_state};
}

/* Room for `more` bytes and the NUL; the place to write them, or NULL after setting `failed`. */
static char *reserve(struct sbx_buf *buf, size_t more)
{
    if (buf->failed) {
        return NULL;
    }
    if (more > buf->max - buf->len) {
        buf->failed = true;
        return NULL;
    }
    size_t need = buf->len + more + 1;
    if (need > buf->cap) {
        size_t cap =
            buf->cap == 0 ? FIRST_CAPACITY : buf->cap * (buf->cap < LARGE_CAPACITY ? 4 : 2);
        cap = cap > buf->max + 1 ? buf->max + 1 : cap;
        cap = cap < need ? need : cap;
        char *data = resize(buf, cap);
        if (data == NULL) {
            buf->failed = true;
            return NULL;
        }
        buf->data = data;
        buf->cap = cap;
    }
    return buf->data + buf->len;
}

void sbx_buf_reserve(struct sbx_buf *buf, size_t bytes)
{
    bytes = bytes > buf->max ? buf->max : bytes;
    char *data = bytes < buf->cap || buf->failed ? NULL : resize(buf, bytes + 1);
    if (data != NULL) {
        data[buf->len] = '\0';
        buf->data = data;
        buf->cap = bytes + 1;
    }
}

static void advance(struct sbx_buf *buf, size_t len)
{
    buf->len += len;
    buf->data[buf->len] = '\0';
}

void sbx_buf_add(struct sbx_buf *buf, const void *bytes, size_t len)
{
    char *to = reserve(buf, len);
    if (to != NULL) {
        if (len > 0) {
            memcpy(to, bytes, len);
        }
        advance(buf, len);
    }
}

void sbx_buf_add_text(struct sbx_buf *buf, const char *text)
{
    sbx_buf_add_str(buf, sbx_str(text));
}

void sbx_buf_add_str(struct sbx_buf *buf, struct sbx_str text)
{
    sbx_buf_add(buf, text.ptr, text.len);
}

void sbx_buf_add_char(struct sbx_buf *buf, char c)
{
    char *to = reserve(buf, 1);
    if (to != NULL) {
        *to = c;
        advance(buf, 1);
    }
}

void sbx_buf_add_repeat(struct sbx_buf *buf, char c, size_t count)
{
    char *to = reserve(buf, count);
    if (to != NULL) {
        memset(to, c, count);
        advance(buf, count);
    }
}

void sbx_buf_printf(struct sbx_buf *buf, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    sbx_buf_vprintf(buf, format, args);
    va_end(args);
}

void sbx_buf_vprintf(struct sbx_buf *buf, const char *format, va_list args)
{
    if (buf->failed) {
        return;
    }
    va_list again;
    va_copy(again, args);
    size_t room = buf->cap - buf->len;
    int wanted = vsnprintf(room == 0 ? NULL : buf->data + buf->len, room, format, args);
    if (wanted < 0) {
        buf->failed = true;
    } else if ((size_t)wanted < room) { /* cap is never above max + 1 */
        buf->len += (size_t)wanted;
    } else {
        char *to = reserve(buf, (size_t)wanted);
        if (to != NULL) {
            (void)vsnprintf(to, (size_t)wanted + 1, format, again);
            buf->len += (size_t)wanted;
        }
    }
    /* A try that did not fit has left its start behind the content. */
    if (buf->failed && buf->data != NULL) {
        buf->data[buf->len] = '\0';
    }
    va_end(again);
}

void sbx_buf_reset(struct sbx_buf *buf)
{
    buf->len = 0;
    buf->failed = false;
    if (buf->data != NULL) {
        buf->data[0] = '\0';
    }
}

const char *sbx_buf_text(const struct sbx_buf *buf)
{
    return buf->data == NULL ? "" : buf->data;
}

struct sbx_str sbx_buf_str(const struct sbx_buf *buf)
{
    return (struct sbx_str){sbx_buf_text(buf), buf->len};
}

enum sbx_code sbx_buf_check(const struct sbx_buf *buf, struct sbx_err *err)
{
    if (!buf->failed) {
        return SBX_OK;
    }
    return sbx_err_set(err, SBX_E_NOMEM, "a text does not fit into %zu bytes of memory", buf->max);
}

/* Escapes the one character (or one invalid byte) at `bytes`. */
static void add_escaped(struct sbx_buf *buf, const char *bytes, size_t len, uint32_t character)
{
    static const char named[] = {
        ['\t'] = 't', ['\n'] = 'n', ['\r'] = 'r', ['"'] = '"', ['\\'] = '\\'};

    if (len == 0) {
        sbx_buf_printf(buf, "\\x%02x", (unsigned)(unsigned char)bytes[0]);
    } else if (character < sizeof named && named[character] != '\0') {
        sbx_buf_printf(buf, "\\%c", named[character]);
    } else if (character < 0x80) {
        sbx_buf_printf(buf, "\\x%02x", (unsigned)character);
    } else {
        sbx_buf_printf(buf, "\\u{%x}", (unsigned)character);
    }
}

void sbx_buf_add_visible(struct sbx_buf *buf, struct sbx_str text, bool quoted)
{
    if (quoted) {
        sbx_buf_add_char(buf, '"');
    }
    size_t plain = 0; /* start of the run that needs no escape */
    size_t at = 0;
    while (at < text.len && !buf->failed) {
        uint32_t character = 0;
        size_t len = sbx_utf8_decode(text.ptr + at, text.len - at, &character);
        bool special = quoted && (character == '"' || character == '\\');
        if (len > 0 && !special && !sbx_utf8_is_unsafe(character)) {
            at += len;
            continue;
        }
        sbx_buf_add(buf, text.ptr + plain, at - plain);
        add_escaped(buf, text.ptr + at, len, character);
        at += len == 0 ? 1 : len;
        plain = at;
    }
    if (plain < text.len) {
        sbx_buf_add(buf, text.ptr + plain, text.len - plain);
    }
    if (quoted) {
        sbx_buf_add_char(buf, '"');
    }
}
