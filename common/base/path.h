/* Absolute, clean paths under POSIX or Windows rules. Both rule sets are compiled on every platform:
 * a Linux machine prints the Windows plan too. Purely textual: nothing here touches a disk, so links,
 * mounts, volumes of other case sensitivity, Unicode normalisation (macOS) and short names without
 * a tilde (Windows) are the business of whoever opens the path. */
#ifndef SBX_BASE_PATH_H
#define SBX_BASE_PATH_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/arena.h"
#include "common/base/attr.h"
#include "common/base/err.h"
#include "common/base/str.h"

enum sbx_path_rules {
    SBX_PATH_POSIX,   /* "/a/b"; names compare by bytes */
    SBX_PATH_MACOS,   /* as POSIX; names compare without case (the usual volume), not normalised */
    SBX_PATH_WINDOWS, /* "C:\a\b"; drive letter upper-cased; names compare without case */
};

/* Made only by sbx_path_make and the functions below: absolute; no empty, "." or ".." component;
 * no trailing separator except in a root; strict UTF-8 without control characters; "/" under
 * POSIX rules, "\" under Windows rules (where "/" is accepted on input). */
struct sbx_path {
    const char *text; /* NUL-terminated, in the arena */
    size_t len;
    enum sbx_path_rules rules;
};

/* Why a text is not such a path. */
enum sbx_path_problem {
    SBX_PATH_OK = 0,
    SBX_PATH_NO_MEMORY,
    SBX_PATH_EMPTY,
    SBX_PATH_NOT_ABSOLUTE, /* also "\a" and "C:a" on Windows */
    SBX_PATH_HAS_CONTROL,  /* NUL, newline, any C0 or DEL */
    SBX_PATH_NOT_UTF8,
    SBX_PATH_DOTDOT,
    SBX_PATH_TOO_LONG,      /* 4095 bytes (POSIX), 1023 (macOS), 32766 UTF-16 units (Windows);
                                255 of the same units a name */
    SBX_PATH_DEVICE,        /* Windows: \\.\ \\?\ \??\ prefixes, CON, NUL, COM1, CONIN$ …;
                                macOS: /.vol, /.nofollow, /.resolve */
    SBX_PATH_UNC,           /* Windows: \\server\share */
    SBX_PATH_STREAM,        /* Windows: a colon after the drive; macOS: ..namedfork */
    SBX_PATH_SHORT_NAME,    /* Windows: NAME~1, which may be another spelling of a long name */
    SBX_PATH_RESERVED_CHAR, /* Windows: < > " | ? * */
    SBX_PATH_TRAILING,      /* Windows: a name ending in a dot or a space */
    SBX_PATH_NOT_RELATIVE,  /* only sbx_path_join: `rest` starts with a root or a separator */
    SBX_PATH_PROBLEM_COUNT
};

/* Cleans `text` into *out (storage in `arena`). "." components, doubled and trailing separators
 * are dropped; ".." is refused, never resolved. *out is untouched unless SBX_PATH_OK. */
enum sbx_path_problem sbx_path_make(struct sbx_arena *arena, enum sbx_path_rules rules,
                                    struct sbx_str text, struct sbx_path *out) SBX_MUST_USE;

/* The same, but `*`, `?` and `**` components are allowed (glob keys of the split policy). */
enum sbx_path_problem sbx_path_make_glob(struct sbx_arena *arena, enum sbx_path_rules rules,
                                         struct sbx_str text, struct sbx_path *out) SBX_MUST_USE;

/* One sentence part for a person: "is not an absolute path", "has a control character" … */
const char *sbx_path_problem_text(enum sbx_path_problem problem);

/* `base` joined with `rest` (relative components, either separator on Windows); the same problems as
 * sbx_path_make. An empty or absolute `rest` and one with ".." are refused; "." is `base`. */
enum sbx_path_problem sbx_path_join(struct sbx_arena *arena, struct sbx_path base,
                                    struct sbx_str rest, struct sbx_path *out) SBX_MUST_USE;

bool sbx_path_is_root(struct sbx_path path);            /* "/", "C:\" */
bool sbx_path_eq(struct sbx_path a, struct sbx_path b); /* by the rules' case sensitivity */

/* True when `inner` is `outer` or lies below it, by whole components. A NULL-text path contains
 * nothing. */
bool sbx_path_contains(struct sbx_path outer, struct sbx_path inner);

/* Total order in which every parent comes before its children and siblings by folded, then by raw
 * bytes: the order in which rules are applied and printed. Rules must be equal. */
int sbx_path_compare(struct sbx_path a, struct sbx_path b);

/* Components below the root: 0 for "/". */
size_t sbx_path_depth(struct sbx_path path);

/* The i-th component below the root, empty view past the end. */
struct sbx_str sbx_path_component(struct sbx_path path, size_t index);

/* Last component; empty for a root. */
struct sbx_str sbx_path_name(struct sbx_path path);

/* The parent directory (a root is its own parent); NULL-text path when memory is gone. */
struct sbx_path sbx_path_parent(struct sbx_arena *arena, struct sbx_path path);

/* Does the text have a glob character (`*` or `?`)? */
bool sbx_path_is_glob(struct sbx_str text);

/* Whole-path match, by the rules' case sensitivity. `?` is one character, `*` any number within a
 * component (a leading dot is not special), a `**` component any number of components including
 * none; all else is literal. Never more than O(pattern * path) steps. */
bool sbx_path_glob_match(struct sbx_path pattern, struct sbx_path path);

/* Does it match the path or a directory above it? */
bool sbx_path_glob_covers(struct sbx_path pattern, struct sbx_path path);

/* Does the path end in what a pattern without a root says: a match of that below `**`? */
bool sbx_path_ends_in(struct sbx_path path, struct sbx_str pattern);

#endif
