/* The files by which git is led to a directory elsewhere: ".git" in a worktree or a submodule, "commondir" in what it
 * names. Whoever may write beside them may have written them. */
#ifndef SBX_POSIX_GIT_FILE_H
#define SBX_POSIX_GIT_FILE_H

#include <limits.h>

#include "common/policy/policy.h"

enum { SBX_GIT_FILE_BYTES = 4096 };
#define SBX_GIT_FILE_PREFIX "gitdir: "

/* The row that protects ".git", or NULL. With git = "commit" it is for files only. */
const struct sbx_protect_row *sbx_git_row(const struct sbx_policy *policy);

/* The path in the file `name` of the open directory `at`, behind `prefix` and without the line's end; a NUL ends it, as it
 * does for git. False when there is none: too long, no file, or a link, which is not followed. */
bool sbx_git_file_read(int at, const char *name, const char *prefix,
                       char out[SBX_GIT_FILE_BYTES]) SBX_MUST_USE;

/* Where a text leads from the directory that `from` is in, without looking at the disk: where something would be that
 * does not exist. False when that cannot be told, or is the root. */
bool sbx_git_file_place(struct sbx_path from, const char *text, char out[PATH_MAX]) SBX_MUST_USE;

#endif
