/* Probes: a passed one is remembered for the life of the process, a failed one is not, and callers who
 * wait while one runs share its answer. */
#ifndef SBX_RUN_PROBE_H
#define SBX_RUN_PROBE_H

#include <stdatomic.h>

#include "common/os.h"
#include "common/run/backend.h"

struct sbx_probe_slot {
    bool has_passed;
    struct sbx_probe last;
    struct sbx_arena arena; /* texts of `last`, emptied for the next answer */
};

struct sbx_probe_cache {
    struct sbx_os_mutex mutex;
    atomic_uint finished[SBX_BACKEND_COUNT];
    struct sbx_probe_slot slots[SBX_BACKEND_COUNT];
};

void sbx_probe_cache_init(struct sbx_probe_cache *cache);
void sbx_probe_cache_release(struct sbx_probe_cache *cache);

/* *out's texts are in `arena`. A NULL backend is one this build does not have. */
void sbx_probe_ask(struct sbx_probe_cache *cache, struct sbx_arena *arena, enum sbx_backend_id id,
                   const struct sbx_backend *backend, struct sbx_probe *out);

#endif
