/* The environment of a box: the declared pairs, and the passed variables the caller really has. */
#ifndef SBX_RUN_ENVIRONMENT_H
#define SBX_RUN_ENVIRONMENT_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/policy/policy.h"

/* "NAME=VALUE" sorted by name, ends with NULL, in `arena`. A passed variable that the caller does not
 * have is left out. */
enum sbx_code sbx_environment_make(struct sbx_arena *arena, const struct sbx_policy *policy,
                                   const char *const **out, struct sbx_err *err) SBX_MUST_USE;

/* Adds one variable at the end, unless it is there already: what was declared counts more. */
enum sbx_code sbx_environment_add(struct sbx_arena *arena, const char *name, const char *value,
                                  const char *const **env, struct sbx_err *err) SBX_MUST_USE;

#endif
