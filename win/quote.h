/* Arguments as one command line. Windows gives a process one text; each program takes it apart itself, by
 * one of two rules.
 *
 * Nearly all use the C runtime's (also CommandLineToArgvW): arguments are apart by spaces and tabs outside
 * quotes; 2n backslashes before a quote are n and the quote begins or ends a quoted part, 2n+1 are n and a
 * plain quote; a backslash anywhere else is itself; "" inside a quoted part is a plain quote (2008 and
 * later). The first is read otherwise: up to the next quote, or to the next space, with no escapes.
 *
 * cmd.exe takes what follows /c, /k or /r as one text, a command in its own language, where quotes do not
 * escape and %, ^, &, |, <, > act. With /s it removes the first and the last quote and leaves the rest
 * alone. */
#ifndef SBX_WIN_QUOTE_H
#define SBX_WIN_QUOTE_H

#include <stddef.h>
#include <wchar.h>

#include "common/base/arena.h"
#include "common/base/err.h"

/* Windows' own maximum, with the NUL; and cmd.exe's for a command, with the quotes around it. */
enum { SBX_COMMAND_LINE_MAX = 32767, SBX_CMD_COMMAND_MAX = 8191 };

/* The command line for `argv` (UTF-8, ends with NULL), in `arena`, writable as CreateProcessW wants
 * it. SBX_E_LIMIT when it is too long; SBX_E_INVALID for a quote in argv[0], which no quoting can
 * carry. */
enum sbx_code sbx_quote_argv(struct sbx_arena *arena, const char *const *argv, wchar_t **out,
                             struct sbx_err *err) SBX_MUST_USE;

/* The same for cmd.exe. Its options come first (/a /d /q /s /u /e:on /f:on /v:on /t:xx); then, after /c, /k
 * or /r, everything is one command: the arguments joined by spaces, as they are, given as /s /c "command"
 * to "cmd.exe", whatever argv[0] is: cmd would look for its options there too. So `cmd /c echo a b` runs echo, and whoever wants a space inside a word writes cmd's quotes into the
 * argument. Without /c it is a plain line of options.
 * SBX_E_INVALID for a line break in the command (cmd would silently drop the rest) and for anything else
 * before it; SBX_E_LIMIT when it is too long. */
enum sbx_code sbx_quote_cmd(struct sbx_arena *arena, const char *const *argv, wchar_t **out,
                            struct sbx_err *err) SBX_MUST_USE;

#endif
