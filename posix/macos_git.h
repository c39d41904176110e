/* Where git is led to from writable places: found when a box is built, since a profile has no way to say it. */
#ifndef SBX_POSIX_MACOS_GIT_H
#define SBX_POSIX_MACOS_GIT_H

#include "posix/macos_rules.h"

/* More files and directories below a writable place are an error, never a shorter list. */
#define SBX_MACOS_ENTRIES_MAX ((uint64_t)10000000)

/* Looks below every writable rule for files and links named ".git" that are protected, and adds where they lead, what a
 * "commondir" there leads to, and the name by which it is reached when links are on the way: whoever replaces the link
 * would choose another place. No link is followed while walking. A directory that cannot be listed but could be written
 * to is SBX_E_DENIED; too much is SBX_E_LIMIT. For sbx_macos_host.find_git. */
enum sbx_code sbx_macos_git_find(const struct sbx_macos_host *host, struct sbx_arena *arena,
                                 const struct sbx_policy *policy, struct sbx_macos_rules *rules,
                                 struct sbx_err *err) SBX_MUST_USE;

/* The same with another limit. */
enum sbx_code sbx_macos_git_find_within(const struct sbx_macos_host *host, struct sbx_arena *arena,
                                        const struct sbx_policy *policy, uint64_t entries_max,
                                        struct sbx_macos_rules *rules,
                                        struct sbx_err *err) SBX_MUST_USE;

#endif
