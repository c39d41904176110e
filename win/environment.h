/* The environment block of a child. */
#ifndef SBX_WIN_ENVIRONMENT_H
#define SBX_WIN_ENVIRONMENT_H

#include <wchar.h>

#include "common/base/arena.h"
#include "common/base/err.h"

/* "NAME=VALUE" texts as Windows wants them: UTF-16, sorted by name without case, with two NULs at
 * the end; in `arena`. Variables without which Windows programs do not start are added when they
 * are not declared (the table in environment.c), nothing else. SBX_E_LIMIT for a variable longer than Windows
 * takes; errors name the variable, never its value. */
enum sbx_code sbx_environment_block(struct sbx_arena *arena, const char *const *env, wchar_t **out,
                                    struct sbx_err *err) SBX_MUST_USE;

/* The same for a box whose own directory is `folder` (NULL: it has none): with what an AppContainer needs besides,
 * and without the directories of Store aliases in a declared PATH, which no box can start. */
enum sbx_code sbx_environment_block_boxed(struct sbx_arena *arena, const char *const *env,
                                          const char *folder, wchar_t **out,
                                          struct sbx_err *err) SBX_MUST_USE;

/* Overwrites a block that is no longer needed: its values may be secrets. NULL is allowed. */
void sbx_environment_wipe(wchar_t *block);

#endif
