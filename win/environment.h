/* The environment block of a child. */
#ifndef SBX_WIN_ENVIRONMENT_H
#define SBX_WIN_ENVIRONMENT_H

#include <wchar.h>

#include "common/base/arena.h"
#include "common/base/err.h"

/* "NAME=VALUE" texts as Windows wants them: UTF-16, sorted by name without case, with two NULs at
 * the end; in `arena`. Variables without which Windows programs do not start are added when they
 * are not declared (the table in environment.c), nothing else. */
enum sbx_code sbx_environment_block(struct sbx_arena *arena, const char *const *env, wchar_t **out,
                                    struct sbx_err *err) SBX_MUST_USE;

#endif
