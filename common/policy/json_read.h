/* JSON into the value tree, through jansson: duplicate keys, trailing data, bad UTF-8, NUL in keys and
 * integers beyond 64 bits are refused. */
#ifndef SBX_POLICY_JSON_READ_H
#define SBX_POLICY_JSON_READ_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/policy/value.h"

#define SBX_JSON_MAX_BYTES (16u << 20)
#define SBX_JSON_MAX_DEPTH 64

/* Everything is copied into `arena`. On failure *out is untouched and err->text is
 * "NAME:LINE:COLUMN: what is wrong". Values carry no places (jansson keeps none). */
enum sbx_code sbx_json_read(struct sbx_arena *arena, const char *name, struct sbx_str text,
                            struct sbx_value *out, struct sbx_err *err) SBX_MUST_USE;

#endif
