/* Base64 (RFC 4648, section 4): the standard alphabet, with padding, nothing else. */
#ifndef SBX_WIRE_BASE64_H
#define SBX_WIRE_BASE64_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/attr.h"

/* Characters that `len` bytes become. */
#define SBX_BASE64_LEN(len) (((len) + 2) / 3 * 4)

/* Writes SBX_BASE64_LEN(len) characters to `out`, no NUL. The memory may not overlap. */
void sbx_base64_encode(const void *bytes, size_t len, char *out);

/* Strict: a length that is not a multiple of four, a character outside the alphabet, white space, padding elsewhere than at the
 * end, and bits that no encoder leaves set are refused. Writes at most len / 4 * 3 bytes to `out`, which may be `text` itself, and
 * their number to *out_len. On failure false, and what is at `out` means nothing. */
bool sbx_base64_decode(const char *text, size_t len, void *out, size_t *out_len) SBX_MUST_USE;

#endif
