/* TOML 1.0 reader: complete and strict; everything TOML 1.1 adds is an error. */
#ifndef SBX_POLICY_TOML_H
#define SBX_POLICY_TOML_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/policy/value.h"

/* Limits that keep hostile input cheap. */
#define SBX_TOML_MAX_BYTES (16u << 20) /* default; see options */
#define SBX_TOML_MAX_DEPTH 64          /* nested arrays, inline tables and dotted or header keys */

struct sbx_toml_options {
    size_t max_bytes; /* 0 = SBX_TOML_MAX_BYTES */
    unsigned max_depth; /* 0 = SBX_TOML_MAX_DEPTH */
};

/* Where and why the text is not TOML. */
struct sbx_toml_fault {
    struct sbx_place place;
    size_t offset; /* in bytes */
};

/* Reads a whole document. *out (a table) and all it points to live in `arena`; strings without
 * escapes may point into `text`, which must live as long. A byte-order mark at the start is
 * accepted. On failure *out is untouched, *fault (may be NULL) says where, and err->text is
 * "NAME:LINE:COLUMN: what is wrong" and err->hint shows the offending line, made safe and cut to 80
 * characters around the place, a newline, and a caret below the place.
 * Codes: SBX_E_SYNTAX, SBX_E_LIMIT (too large, too deep), SBX_E_NOMEM. */
enum sbx_code sbx_toml_read(struct sbx_arena *arena, const char *name, struct sbx_str text,
                            const struct sbx_toml_options *options, struct sbx_value *out,
                            struct sbx_toml_fault *fault, struct sbx_err *err) SBX_MUST_USE;

#endif
