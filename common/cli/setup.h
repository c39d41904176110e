/* From a command line to something that can be planned. */
#ifndef SBX_CLI_SETUP_H
#define SBX_CLI_SETUP_H

#include "common/cli/command.h"
#include "common/run/load.h"
#include "common/run/setup.h"

/* sbx_setup_read of what the command line says. */
enum sbx_code sbx_setup_make(struct sbx_cli *cli, struct sbx_setup *out,
                             struct sbx_err *err) SBX_MUST_USE;

/* sbx_prepare of what sbx_setup_make made. */
enum sbx_code sbx_setup_decide(struct sbx_cli *cli, const char *const *command,
                               const struct sbx_setup *setup, struct sbx_prepared *out,
                               struct sbx_err *err) SBX_MUST_USE;

/* Both. */
enum sbx_code sbx_setup_prepare(struct sbx_cli *cli, const char *const *command,
                                struct sbx_setup *setup, struct sbx_prepared *out,
                                struct sbx_err *err) SBX_MUST_USE;

/* This machine's context, or with --platform an assumed one. */
enum sbx_code sbx_setup_context(struct sbx_cli *cli, struct sbx_context *out,
                                struct sbx_err *err) SBX_MUST_USE;

#endif
