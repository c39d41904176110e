/* Which shell `sbx shell` starts. */
#ifndef SBX_CLI_SHELL_H
#define SBX_CLI_SHELL_H

#include "common/cli/setup.h"

/* The caller's own ($SHELL, a full path) if the box may read it, else /bin/bash or /bin/sh.
 * SBX_E_NOT_FOUND: the box may read none of them; SBX_E_UNSUPPORTED: not on this system. */
enum sbx_code sbx_shell_choose(struct sbx_cli *cli, const struct sbx_setup *setup, const char **out,
                               struct sbx_err *err) SBX_MUST_USE;

#endif
