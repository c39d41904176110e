/* String views and the few string operations we allow ourselves. */
#ifndef SBX_BASE_STR_H
#define SBX_BASE_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attr.h"

/* Bytes somebody else owns; not necessarily NUL-terminated. ptr may be NULL only with len 0. */
struct sbx_str {
    const char *ptr;
    size_t len;
};

/* For "%.*s". Lengths above INT_MAX print as INT_MAX. */
#define SBX_STR_FMT "%.*s"
#define SBX_STR_ARG(s) (int)((s).len > 0x7fffffff ? 0x7fffffff : (s).len), (s).ptr

struct sbx_str sbx_str(const char *text); /* NULL gives the empty view */
bool sbx_str_eq(struct sbx_str a, struct sbx_str b);
bool sbx_str_is(struct sbx_str a, const char *text);
bool sbx_str_is_nocase(struct sbx_str a, const char *text); /* ASCII letters only */
bool sbx_str_starts(struct sbx_str a, const char *prefix);
bool sbx_str_ends(struct sbx_str a, const char *suffix);
int sbx_str_compare(struct sbx_str a, struct sbx_str b); /* by bytes, then by length */
bool sbx_str_contains(struct sbx_str a, const char *needle);

/* C strings equal? NULL equals only NULL. */
bool sbx_text_eq(const char *a, const char *b);

/* As snprintf into `size` bytes (at least 1); a text that does not fit is cut at a character
 * boundary and ends in "…"; one that cannot be made (a wide string without UTF-8) says so. The
 * arguments may not point into `out`. */
void sbx_text_format(char *out, size_t size, const char *format, ...) SBX_PRINTF(3, 4);
void sbx_text_vformat(char *out, size_t size, const char *format, va_list args) SBX_PRINTF(3, 0);

/* Decimal digits only, no sign, no white space, no overflow; false leaves *out alone. */
bool sbx_str_to_u64(struct sbx_str text, uint64_t *out) SBX_MUST_USE;

/* Splits off everything before the first `separator` into *head and the rest into *tail; false (and
 * *head = whole, *tail empty) when there is none. */
bool sbx_str_split(struct sbx_str text, char separator, struct sbx_str *head, struct sbx_str *tail);

/* Optimal-string-alignment distance of two short names; SIZE_MAX when either is over 64 bytes. */
size_t sbx_str_distance(struct sbx_str a, struct sbx_str b);

/* ASCII without the locale. */
bool sbx_is_digit(char c);
bool sbx_is_alpha(char c);
bool sbx_is_alnum(char c);
char sbx_to_lower(char c);

#endif
