/* Finding mounts by number and by place. */
#include "posix/linux_mountindex.h"

#include <string.h>

#include "common/base/banned.h"

/* ---- by text ------------------------------------------------------------------------------------- */

struct sbx_place {
    const char *text;
    uint32_t hash;
    uint32_t next; /* in the chain, one more than its index: those added earlier */
};

enum { LEAST_SLOTS = 16 };

/* FNV-1a: of a path and of all that contain it in one pass. */
static const uint32_t hash_start = 2166136261u;

static uint32_t hash_more(uint32_t hash, char c)
{
    return (hash ^ (unsigned char)c) * 16777619u;
}

static size_t slots_for(size_t count)
{
    size_t slots = LEAST_SLOTS;
    while (slots < count * 2) {
        slots *= 2;
    }
    return slots;
}

bool sbx_places_init(struct sbx_places *places, struct sbx_arena *arena, size_t capacity)
{
    size_t slots = slots_for(capacity);
    *places = (struct sbx_places){
        .items = SBX_NEW_ARRAY(arena, struct sbx_place, capacity),
        .heads = SBX_NEW_ARRAY(arena, uint32_t, slots),
        .capacity = capacity,
        .mask = slots - 1,
    };
    return capacity < UINT32_MAX / 2 && places->items != NULL && places->heads != NULL;
}

void sbx_places_add(struct sbx_places *places, const char *text)
{
    uint32_t hash = hash_start;
    for (const char *at = text; *at != '\0'; at++) {
        hash = hash_more(hash, *at);
    }
    if (places->count < places->capacity) {
        uint32_t *head = &places->heads[hash & places->mask];
        places->items[places->count++] = (struct sbx_place){text, hash, *head};
        *head = (uint32_t)places->count;
    }
}

static long find_hashed(const struct sbx_places *places, struct sbx_str text, uint32_t hash,
                        long before)
{
    uint32_t at = before >= 0 ? places->items[before].next : places->heads[hash & places->mask];
    for (; at != 0; at = places->items[at - 1].next) {
        const struct sbx_place *item = &places->items[at - 1];
        if (item->hash == hash && strncmp(item->text, text.ptr, text.len) == 0 &&
            item->text[text.len] == '\0') {
            return (long)at - 1;
        }
    }
    return SBX_PLACES_NONE;
}

long sbx_places_find(const struct sbx_places *places, struct sbx_str text, long before)
{
    uint32_t hash = hash_start;
    for (size_t i = 0; i < text.len; i++) {
        hash = hash_more(hash, text.ptr[i]);
    }
    return find_hashed(places, text, hash, before);
}

/* Calls of it go from the root to the path itself. False ends the walk: *at is the length of a prefix of `path`
 * that ends before a '/' or is all of it, *hash is that of the prefix. */
static bool next_prefix(struct sbx_str path, size_t *at, uint32_t *hash)
{
    size_t i = *at;
    if (i >= path.len) {
        return false;
    }
    do {
        *hash = hash_more(*hash, path.ptr[i]);
        i++;
    } while (i < path.len && path.ptr[i] != '/');
    *at = i;
    return true;
}

long sbx_places_above(const struct sbx_places *places, struct sbx_str path)
{
    long nearest = sbx_places_find(places, sbx_str("/"), SBX_PLACES_NONE);
    uint32_t hash = hash_start;
    size_t len = 0;
    while (next_prefix(path, &len, &hash)) {
        long found = find_hashed(places, (struct sbx_str){path.ptr, len}, hash, SBX_PLACES_NONE);
        nearest = found == SBX_PLACES_NONE ? nearest : found;
    }
    return nearest;
}

/* ---- mounts -------------------------------------------------------------------------------------- */

static size_t id_slot(const struct sbx_mountindex *index, uint64_t id)
{
    size_t slot = (size_t)(id * 2654435761u) & index->id_mask;
    while (index->ids[slot] != 0 && index->list->items[index->ids[slot] - 1].id != id) {
        slot = (slot + 1) & index->id_mask;
    }
    return slot;
}

bool sbx_mountindex_make(struct sbx_arena *arena, struct sbx_mountinfo_list *list,
                         struct sbx_mountindex *out)
{
    size_t slots = slots_for(list->count);
    struct sbx_mountindex index = {
        .list = list, .ids = SBX_NEW_ARRAY(arena, uint32_t, slots), .id_mask = slots - 1};
    if (!sbx_places_init(&index.places, arena, list->count) || index.ids == NULL) {
        return false;
    }
    for (size_t i = 0; i < list->count; i++) {
        sbx_places_add(&index.places, list->items[i].place);
        size_t slot = id_slot(&index, list->items[i].id);
        if (index.ids[slot] != 0) {
            return false;
        }
        index.ids[slot] = (uint32_t)i + 1;
    }
    *out = index;
    return true;
}

struct sbx_mountinfo *sbx_mountindex_id(const struct sbx_mountindex *index, uint64_t id)
{
    uint32_t found = index->ids[id_slot(index, id)];
    return found == 0 ? NULL : &index->list->items[found - 1];
}

struct sbx_mountinfo *sbx_mountindex_at(const struct sbx_mountindex *index, const char *place)
{
    long found = sbx_places_find(&index->places, sbx_str(place), SBX_PLACES_NONE);
    return found == SBX_PLACES_NONE ? NULL : &index->list->items[found];
}

/* Whether one at that place, on that parent, is neither of the two. */
static bool has_other(const struct sbx_mountindex *index, struct sbx_str place, uint32_t hash,
                      uint64_t parent, const struct sbx_mountinfo *line,
                      const struct sbx_mountinfo *below)
{
    long at = SBX_PLACES_NONE;
    while ((at = find_hashed(&index->places, place, hash, at)) != SBX_PLACES_NONE) {
        const struct sbx_mountinfo *other = &index->list->items[at];
        bool is_one_of_them = other == line || other == below;
        if (!is_one_of_them && other->parent == parent) {
            return true;
        }
    }
    return false;
}

/* Something lies over it, or over a directory on the way from its parent. The root of a parent is on no way. */
static bool is_covered(const struct sbx_mountindex *index, const struct sbx_mountinfo *line,
                       const struct sbx_mountinfo *below)
{
    struct sbx_str place = sbx_str(line->place);
    uint32_t hash = hash_start;
    size_t len = 0;
    while (next_prefix(place, &len, &hash)) {
        struct sbx_str prefix = {place.ptr, len};
        bool is_root = len == 1;
        if (!is_root && has_other(index, prefix, hash, line->parent, line, below)) {
            return true;
        }
    }
    return has_other(index, place, hash, line->id, line, below);
}

bool sbx_mountindex_is_hidden(const struct sbx_mountindex *index, const struct sbx_mountinfo *line)
{
    enum { DEEPEST = 64 };
    const struct sbx_mountinfo *below = NULL;
    for (int depth = 0; depth < DEEPEST; depth++) {
        if (is_covered(index, line, below)) {
            return true;
        }
        const struct sbx_mountinfo *parent = sbx_mountindex_id(index, line->parent);
        if (parent == NULL || parent == line) {
            return false;
        }
        /* What lies over the root of the parent is the way that was come, when it is stacked on it. */
        below = line;
        line = parent;
    }
    return false;
}
