/* TOML 1.0 reader: complete and strict; everything TOML 1.1 adds is an error. */
#ifndef SBX_POLICY_TOML_H
#define SBX_POLICY_TOML_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/policy/value.h"

/* Limits that keep hostile input cheap. */
#define SBX_TOML_MAX_BYTES (16u << 20) /* default; see options */
#define SBX_TOML_MAX_DEPTH 64          /* nested arrays, inline tables and dotted or header keys */

/* What of the arena a document of N bytes takes at most: N * MULTIPLE + EXTRA bytes (the extra is
 * what the arena asks of malloc in advance). Only long dotted keys of one-letter names come near
 * it; an ordinary manifest takes three times its size. While reading at most N * SCRATCH_MULTIPLE +
 * EXTRA more are in use, for which the arena's remaining maximum is a limit too. */
#define SBX_TOML_ARENA_MULTIPLE 32
#define SBX_TOML_SCRATCH_MULTIPLE 42
#define SBX_TOML_ARENA_EXTRA (1u << 20)

struct sbx_toml_options {
    size_t max_bytes;   /* 0 = SBX_TOML_MAX_BYTES; at most 2 GiB */
    unsigned max_depth; /* 0 = SBX_TOML_MAX_DEPTH; at most 256 */
};

/* Where and why the text is not TOML. */
struct sbx_toml_fault {
    struct sbx_place place;
    size_t offset; /* in bytes */
};

/* Reads a whole document, in time linear in its length whatever it holds. *out (a table) and all it
 * points to live in `arena`; keys and strings without escapes point into `text`, which must live as
 * long. A byte-order mark at the start is accepted. CR LF inside a string reads as LF. A float
 * beyond the range of a double is infinity; digits of a second beyond the ninth are dropped; second
 * 60 is refused. On failure *out is untouched, *fault (may be NULL) says where, and err->text (err
 * may be NULL) is "NAME:LINE:COLUMN: what is wrong" and err->hint shows the offending line, made
 * safe and cut to 80 characters around the place, a newline, and a caret below the place; for a
 * text that is too large it is empty. Codes: SBX_E_SYNTAX, SBX_E_LIMIT (too large, too deep),
 * SBX_E_NOMEM. */
enum sbx_code sbx_toml_read(struct sbx_arena *arena, const char *name, struct sbx_str text,
                            const struct sbx_toml_options *options, struct sbx_value *out,
                            struct sbx_toml_fault *fault, struct sbx_err *err) SBX_MUST_USE;

#endif
