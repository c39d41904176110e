/* Manifests and the administrator's policy from disk into structs; every problem is a finding. */
#ifndef SBX_RUN_LOAD_H
#define SBX_RUN_LOAD_H

#include "common/base/sha256.h"
#include "common/os.h"
#include "common/policy/ceiling.h"
#include "common/policy/manifest.h"

#define SBX_MANIFEST_MAX_BYTES (1u << 20)

struct sbx_loaded {
    struct sbx_document document;
    struct sbx_file_info info;
    char digest[SBX_SHA256_HEX]; /* of the file's bytes */
};

/* `shown` is the name in messages. A name that ends in ".json" is JSON, anything else TOML. False after at
 * least one finding of level error about the file itself (unreadable, too large, not TOML). */
bool sbx_load_document(struct sbx_arena *arena, const char *path, const char *shown,
                       struct sbx_findings *findings, struct sbx_loaded *out) SBX_MUST_USE;

/* The same of bytes that are there already; `info` stays as it is. */
bool sbx_load_text(struct sbx_arena *arena, struct sbx_str text, const char *shown,
                   struct sbx_findings *findings, struct sbx_loaded *out) SBX_MUST_USE;

/* The machine's policy.toml; absent is fine. False after a finding: then nothing may run. */
bool sbx_load_ceiling(struct sbx_arena *arena, struct sbx_findings *findings,
                      struct sbx_ceiling *out) SBX_MUST_USE;

#endif
