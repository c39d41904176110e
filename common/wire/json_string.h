/* Strings of JSON, inside their quotes: where they end, whether they are right, what they mean. */
#ifndef SBX_WIRE_JSON_STRING_H
#define SBX_WIRE_JSON_STRING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/str.h"

/* Checks the string whose first byte after the opening quote is `at`. NULL when it is right, and *next is after its closing
 * quote; else what is wrong, and *next is where. */
const char *sbx_json_string_end(const char *at, const char *end, const char **next);

/* Both point behind the opening quote of a checked string. Orders them by the bytes of what they mean. `end` is of the
 * text both are in. */
int sbx_json_compare(const char *a, const char *b, const char *end);

/* Replaces the escapes of a checked string without its quotes, in place. Returns the new length. */
size_t sbx_json_unescape(char *text, size_t len);

/* How long `text` is as a string with quotes. */
size_t sbx_json_string_len(struct sbx_str text);

/* Adds `text`, which is UTF-8, as a string with quotes. Quotes, backslashes and control characters are escaped. */
void sbx_json_add_string(struct sbx_buf *out, struct sbx_str text);

#endif
