/* A policy as a Landlock ruleset: what may be read or written, granted path by path. Landlock cannot take
 * back below a path what it grants there, so a directory that has something closed in it is granted entry by
 * entry. */
#ifndef SBX_POSIX_LINUX_GRANTS_H
#define SBX_POSIX_LINUX_GRANTS_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/policy/plan.h"

#define SBX_GRANTS_MAX ((size_t)16384)

struct sbx_grants {
    int ruleset; /* close-on-exec */
    size_t count;
    bool can_list; /* directories above something closed can be listed */
};

/* `scratch` ("" for none) is a private directory of the run, writable. */
enum sbx_code sbx_grants_make(struct sbx_arena *arena, const struct sbx_policy *policy,
                              unsigned abi, const char *scratch, struct sbx_grants *out,
                              struct sbx_err *err) SBX_MUST_USE;

#endif
