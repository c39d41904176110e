/* Strict UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF. */
#ifndef SBX_BASE_UTF8_H
#define SBX_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attr.h"

/* Length in bytes (1–4) of the character at `bytes`, and the character itself in *out (may be
 * NULL); 0 when the bytes are not a whole valid character. `len` is what is left. */
size_t sbx_utf8_decode(const char *bytes, size_t len, uint32_t *out);

/* Writes 1–4 bytes to `out` and returns how many; 0 for a surrogate or a value above U+10FFFF. */
size_t sbx_utf8_encode(uint32_t character, char out[4]);

/* True when all of it is valid; otherwise *bad_offset (may be NULL) is where the first bad sequence
 * starts. ASCII is skipped a word at a time. */
bool sbx_utf8_valid(const char *bytes, size_t len, size_t *bad_offset);

/* The part of the first `len` bytes that does not end inside a character: `len`, or up to 3 less.
 * For cutting text that is too long. */
size_t sbx_utf8_cut(const char *bytes, size_t len);

/* A character that must not reach a terminal as it is: C0, DEL, C1, line/paragraph separators, and
 * all that leaves no ink: bidi controls, zero-width characters, the byte-order mark, fillers,
 * variation selectors, tags. */
bool sbx_utf8_is_unsafe(uint32_t character);

/* Simple case folding for comparing Windows and macOS names: ASCII, Latin-1, Latin Extended-A,
 * Greek, Cyrillic, Armenian, Latin Extended Additional and full-width letters, and the ohm, kelvin
 * and angstrom signs; others unchanged. Folding twice changes nothing more. */
uint32_t sbx_utf8_fold(uint32_t character);

/* Columns a terminal needs for it is not our business: this counts characters. Invalid bytes count
 * one each. */
size_t sbx_utf8_count(const char *bytes, size_t len);

#endif
