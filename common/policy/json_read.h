/* JSON into the value tree, through jansson: duplicate keys, trailing data, bad UTF-8, NUL in keys
 * and integers beyond 64 bits are refused. */
#ifndef SBX_POLICY_JSON_READ_H
#define SBX_POLICY_JSON_READ_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/policy/value.h"

#define SBX_JSON_MAX_BYTES (16u << 20)
#define SBX_JSON_MAX_DEPTH 64

/* Everything is copied into `arena`. A byte-order mark at the start is accepted; members keep the
 * order of the file. While reading, jansson's own memory is in use too: what may need more of it
 * than the arena has left is refused before. On failure *out is untouched and err->text (err may be
 * NULL) is "NAME:LINE:COLUMN: what is wrong", safe to show. Values carry no places (jansson keeps
 * none). Codes: SBX_E_SYNTAX, SBX_E_LIMIT (too large, too deep), SBX_E_NOMEM. */
enum sbx_code sbx_json_read(struct sbx_arena *arena, const char *name, struct sbx_str text,
                            struct sbx_value *out, struct sbx_err *err) SBX_MUST_USE;

#endif
