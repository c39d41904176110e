/* Regular expressions for Seatbelt: names and globs below a directory.
 *
 * A regular expression compares bytes, while the usual volume takes `.GIT` for `.git`, composed for decomposed
 * characters, and (HFS+) ignores some characters altogether. So a pattern that closes something matches generously: each
 * letter in both cases, bytes outside of ASCII anywhere between, and in place of `s` and `k`, which have look-alikes
 * that fold to them. It may close a name that nobody meant, never leave one open. A pattern that opens something is exact. */
#ifndef SBX_POSIX_MACOS_REGEX_H
#define SBX_POSIX_MACOS_REGEX_H

#include <stdbool.h>

#include "common/base/arena.h"
#include "common/base/path.h"
#include "common/base/str.h"

enum sbx_regex_style { SBX_REGEX_CLOSES, SBX_REGEX_OPENS };

/* What such an expression covers. */
enum sbx_regex_reach { SBX_REGEX_ITSELF, SBX_REGEX_AND_BELOW };

/* "^/base/pattern$", in `arena`; NULL without memory. `base` is taken byte for byte, `pattern` is components as in globs
 * (`*`, `?`, and `**` for any number of them). */
const char *sbx_regex_below(struct sbx_arena *arena, struct sbx_path base, struct sbx_str pattern,
                            enum sbx_regex_style style, enum sbx_regex_reach reach);

/* The same for any of `count` patterns at any depth below. As many as fit into `max_bytes`, at least one; `used` gets how
 * many. */
const char *sbx_regex_any(struct sbx_arena *arena, struct sbx_path base,
                          const struct sbx_str *patterns, size_t count, enum sbx_regex_reach reach,
                          size_t max_bytes, size_t *used);

/* What is left of a pattern of components when the directory's own have been taken from it: each remainder, whatever a
 * `**` stood for, matches below the directory what the whole pattern matches there. Views into `pattern`; at most
 * `max`; the number of them. */
size_t sbx_regex_rest(struct sbx_str pattern, struct sbx_path directory, struct sbx_str *out,
                      size_t max);

#endif
