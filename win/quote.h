/* Arguments as one command line, the way the C runtime and CommandLineToArgvW take it apart again. */
#ifndef SBX_WIN_QUOTE_H
#define SBX_WIN_QUOTE_H

#include <stddef.h>
#include <wchar.h>

#include "common/base/arena.h"
#include "common/base/err.h"

/* Windows' own maximum, with the NUL. */
enum { SBX_COMMAND_LINE_MAX = 32767 };

/* The command line for `argv` (UTF-8, ends with NULL), in `arena`, writable as CreateProcessW wants
 * it. SBX_E_LIMIT when it is too long; SBX_E_INVALID for a quote in argv[0], which no quoting can
 * carry. */
enum sbx_code sbx_quote_argv(struct sbx_arena *arena, const char *const *argv, wchar_t **out,
                             struct sbx_err *err) SBX_MUST_USE;

#endif
