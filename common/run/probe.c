/* Probes: single flight, success remembered, failure not. */
#include "common/run/probe.h"

#include <string.h>

#include "common/base/banned.h"

#define ANSWER_BYTES (64u << 10)

void sbx_probe_cache_init(struct sbx_probe_cache *cache)
{
    memset(cache, 0, sizeof *cache);
    for (size_t i = 0; i < SBX_BACKEND_COUNT; i++)
        sbx_arena_init(&cache->slots[i].arena, ANSWER_BYTES);
}

void sbx_probe_cache_release(struct sbx_probe_cache *cache)
{
    for (size_t i = 0; i < SBX_BACKEND_COUNT; i++) sbx_arena_release(&cache->slots[i].arena);
}

static const char *copy(struct sbx_arena *arena, const char *text)
{
    return text == NULL ? NULL : sbx_arena_copy(arena, text, strlen(text));
}

static struct sbx_probe copy_probe(struct sbx_arena *arena, const struct sbx_probe *probe)
{
    return (struct sbx_probe){.state = probe->state,
                              .version = copy(arena, probe->version),
                              .reason = copy(arena, probe->reason),
                              .note = copy(arena, probe->note),
                              .remedy = copy(arena, probe->remedy)};
}

void sbx_probe_ask(struct sbx_probe_cache *cache, struct sbx_arena *arena, enum sbx_backend_id id,
                   const struct sbx_backend *backend, struct sbx_probe *out)
{
    if (backend == NULL) {
        *out = (struct sbx_probe){.state = SBX_PROBE_NOT_BUILT,
                                  .reason = "this build of sbx does not contain it"};
        return;
    }
    struct sbx_probe_slot *slot = &cache->slots[id];
    unsigned before = atomic_load(&cache->finished[id]);
    sbx_os_lock(&cache->mutex);
    /* Somebody finished one while this caller waited: that answer is as fresh as its own would be. */
    bool is_shared = atomic_load(&cache->finished[id]) != before;
    if (!slot->has_passed && !is_shared) {
        sbx_arena_release(&slot->arena);
        slot->last =
            (struct sbx_probe){.state = SBX_PROBE_FAILED, .reason = "the probe said nothing"};
        backend->probe(&slot->arena, &slot->last);
        slot->has_passed = slot->last.state == SBX_PROBE_PASSED;
        atomic_fetch_add(&cache->finished[id], 1);
    }
    *out = copy_probe(arena, &slot->last);
    sbx_os_unlock(&cache->mutex);
}
