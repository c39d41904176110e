/* From a manifest, wherever it is, to something that can be planned: ceiling, manifest, trust, options. The command line
 * and the service come through here. */
#ifndef SBX_RUN_SETUP_H
#define SBX_RUN_SETUP_H

#include "common/base/sha256.h"
#include "common/policy/ceiling.h"
#include "common/policy/context.h"
#include "common/policy/finding.h"
#include "common/policy/manifest.h"

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

#define SBX_SETUP_GIVEN_NAME "manifest.json" /* what a manifest that came as JSON is called */

struct sbx_setup_input {
    struct sbx_arena *arena;
    struct sbx_findings *findings;
    const char *manifest_named;       /* a path, or "-" for standard input; NULL: none is named */
    struct sbx_str manifest_text;     /* JSON, instead of a named one; NULL pointer: none */
    bool ignores_manifest;            /* none is looked for */
    const struct sbx_manifest *flags; /* what the caller says besides */
};

/* Everything but the decision. SBX_E_INVALID: the findings say why. */
enum sbx_code sbx_setup_read(const struct sbx_setup_input *input, const struct sbx_context *context,
                             struct sbx_setup *out, struct sbx_err *err) SBX_MUST_USE;

/* Sets context->project to the directory of the manifest at `path`, and *real to its real name; "-" and
 * plans for another machine keep cwd, and *real as it is. */
void sbx_setup_project(struct sbx_arena *arena, struct sbx_context *context, const char *path,
                       struct sbx_path *real);

/* Nearest sbx.toml from cwd upwards, not above the repository's root or home; false when there is none. */
bool sbx_discover(struct sbx_arena *arena, const struct sbx_context *context, struct sbx_path *out);

#endif
