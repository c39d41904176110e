/* The only door between UTF-8 and Windows' UTF-16, strict both ways: an unpaired surrogate or an
 * invalid byte is refused, so that every text that passes comes back as it was. */
#ifndef SBX_WIN_WIDE_H
#define SBX_WIN_WIDE_H

#include <stddef.h>
#include <wchar.h>

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/base/path.h"

/* Windows' own maximum of a path, in units with the NUL. */
#define SBX_WIDE_PATH_MAX 32767
/* "\\?\" */
#define SBX_WIDE_PREFIX_LEN 4

/* NUL-terminated in `arena`. SBX_E_INVALID for a text that is not strict UTF-8. */
enum sbx_code sbx_wide_from(struct sbx_arena *arena, const char *text, wchar_t **out,
                            struct sbx_err *err) SBX_MUST_USE;

/* NUL-terminated in `arena`. SBX_E_INVALID for an unpaired surrogate. */
enum sbx_code sbx_wide_to(struct sbx_arena *arena, const wchar_t *wide, const char **out,
                          struct sbx_err *err) SBX_MUST_USE;

/* A file name for Win32: made absolute by the current directory, with the \\?\ prefix, so that its
 * length does not matter and nothing in it is read a second time. Devices, network paths and
 * streams inside files are SBX_E_INVALID. */
enum sbx_code sbx_wide_path(struct sbx_arena *arena, const char *path, wchar_t **out,
                            struct sbx_err *err) SBX_MUST_USE;

/* What the system calls a path, as ours: the prefix removed, short (8.3) names made long where the
 * disk knows them. */
enum sbx_code sbx_wide_to_path(struct sbx_arena *arena, const wchar_t *wide, struct sbx_path *out,
                               struct sbx_err *err) SBX_MUST_USE;

/* A path of ours with the \\?\ prefix: nothing is asked of the system, nothing in it is read a second
 * time. */
enum sbx_code sbx_wide_prefixed(struct sbx_arena *arena, struct sbx_path path, wchar_t **out,
                                struct sbx_err *err) SBX_MUST_USE;

/* An answer of GetFinalPathNameByHandleW as ours: the prefix removed; its names are long already. */
enum sbx_code sbx_wide_final(struct sbx_arena *arena, const wchar_t *wide, struct sbx_path *out,
                             struct sbx_err *err) SBX_MUST_USE;

#endif
