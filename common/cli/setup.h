/* From a command line to something that can be planned: machine, ceiling, manifest, flags, trust. */
#ifndef SBX_CLI_SETUP_H
#define SBX_CLI_SETUP_H

#include "common/cli/command.h"
#include "common/cli/load.h"

enum sbx_found { SBX_FOUND_NOTHING, SBX_FOUND_NAMED, SBX_FOUND_NEARBY };

struct sbx_setup {
    struct sbx_context context;
    struct sbx_ceiling ceiling;
    enum sbx_found found;
    struct sbx_path manifest_path; /* empty text without a manifest */
    const char *manifest_shown;
    char manifest_digest[SBX_SHA256_HEX];
    bool is_trusted;
    struct sbx_manifest manifest; /* file, then flags */
};

/* Everything but the decision. SBX_E_INVALID: the findings say why. */
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

/* Sets context->project to the directory of the manifest at `path`, and *real to its real name; "-" and
 * plans for another machine keep cwd, and *real as it is. */
void sbx_setup_project(struct sbx_arena *arena, struct sbx_context *context, const char *path,
                       struct sbx_path *real);

/* This machine's context, or with --platform an assumed one. */
enum sbx_code sbx_setup_context(struct sbx_cli *cli, struct sbx_context *out,
                                struct sbx_err *err) SBX_MUST_USE;

/* Nearest sbx.toml from cwd upwards, not above the repository's root or home; false when there is none. */
bool sbx_discover(struct sbx_arena *arena, const struct sbx_context *context, struct sbx_path *out);

#endif
