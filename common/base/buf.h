/* Growing byte buffer with a hard maximum. Appending never fails loudly: the first append that does
 * not fit sets `failed`, later ones do nothing, and the caller checks once, at the end. */
#ifndef SBX_BASE_BUF_H
#define SBX_BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/base/attr.h"
#include "common/base/err.h"
#include "common/base/str.h"

struct sbx_buf {
    char *data; /* always NUL-terminated once something was appended; NULL before */
    size_t len; /* without that NUL */
    size_t cap;
    size_t max;  /* of len */
    bool failed; /* memory or the maximum ran out; the content is a correct prefix */
    /* As realloc, 0 bytes free; NULL: the C library's. To be set after sbx_buf_init. */
    void *(*resize)(void *state, void *old, size_t bytes);
    void *resize_state;
};

void sbx_buf_init(struct sbx_buf *buf, size_t max_bytes);
/* Room for `bytes` in all, so that adding up to there moves nothing. A hint: when memory is short, adding tells. */
void sbx_buf_reserve(struct sbx_buf *buf, size_t bytes);

void sbx_buf_release(struct sbx_buf *buf); /* NULL is allowed */
#define AUTO_BUF SBX_CLEANUP(sbx_buf_release) struct sbx_buf

void sbx_buf_add(struct sbx_buf *buf, const void *bytes, size_t len);
void sbx_buf_add_text(struct sbx_buf *buf, const char *text);
void sbx_buf_add_str(struct sbx_buf *buf, struct sbx_str text);
void sbx_buf_add_char(struct sbx_buf *buf, char c);
void sbx_buf_add_repeat(struct sbx_buf *buf, char c, size_t count);
void sbx_buf_printf(struct sbx_buf *buf, const char *format, ...) SBX_PRINTF(2, 3);
void sbx_buf_vprintf(struct sbx_buf *buf, const char *format, va_list args) SBX_PRINTF(2, 0);

/* Empties it, keeps the storage, clears `failed`. */
void sbx_buf_reset(struct sbx_buf *buf);

/* The content as a C string ("" when empty); valid until the next append. */
const char *sbx_buf_text(const struct sbx_buf *buf);
struct sbx_str sbx_buf_str(const struct sbx_buf *buf);

/* SBX_OK, or SBX_E_NOMEM when an append did not fit. */
enum sbx_code sbx_buf_check(const struct sbx_buf *buf, struct sbx_err *err) SBX_MUST_USE;

/* Appends text as a person may safely see it: control characters, bidi controls, zero-width
 * characters and invalid UTF-8 become \n, \x1b, \u{202e} …; double quotes and backslashes are
 * escaped too when `quoted`, and the quotes are added. */
void sbx_buf_add_visible(struct sbx_buf *buf, struct sbx_str text, bool quoted);

#endif
