/* Which discovered manifests the user accepted, by content. */
#ifndef SBX_RUN_TRUST_H
#define SBX_RUN_TRUST_H

#include "common/base/sha256.h"
#include "common/os.h"

/* One accepted manifest: this content at this path. */
struct sbx_trust_entry {
    char digest[SBX_SHA256_HEX];
    const char *path;
};

struct sbx_trust_store {
    struct sbx_path file;
    struct sbx_trust_entry *entries;
    size_t count, capacity;
};

/* An absent store is empty. A store that is not the caller's, that others may change, or whose lines are
 * not understood is an error: never read half. */
enum sbx_code sbx_trust_load(struct sbx_arena *arena, const struct sbx_context *context,
                             struct sbx_trust_store *out, struct sbx_err *err) SBX_MUST_USE;

bool sbx_trust_has(const struct sbx_trust_store *store, const char *path, const char *digest);

/* Adds or, with a NULL digest, removes the entry for `path`; whole or not at all. *changed (may be NULL)
 * says whether there was something to do. */
enum sbx_code sbx_trust_change(struct sbx_arena *arena, const struct sbx_context *context,
                               const char *path, const char *digest, bool *changed,
                               struct sbx_err *err) SBX_MUST_USE;

#endif
