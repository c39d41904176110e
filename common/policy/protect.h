/* What a box may not change inside its own writable paths: repository internals and the files that make
 * editors, agents, shells and package managers run something on the host later. One data table. */
#ifndef SBX_POLICY_PROTECT_H
#define SBX_POLICY_PROTECT_H

#include <stdbool.h>

#include "common/base/arena.h"
#include "common/policy/platform.h"

/* A name, or relative path with `*` and `**`, protected below every writable root at any depth. */
struct sbx_protect_row {
    const char *pattern;
    bool file_only;     /* a directory of this name stays writable (git = "commit" and ".git") */
    const char *reason; /* who runs what because of it */
};

/* Ends with pattern NULL. */
extern const struct sbx_protect_row sbx_protect_defaults[];

/* In place of ".git" when git = "commit": what stays locked inside it. */
extern const struct sbx_protect_row sbx_protect_git_commit[];

#endif
