/* Finding mounts by number and by place, so that a box costs little more on a host with many of them. */
#ifndef SBX_POSIX_LINUX_MOUNTINDEX_H
#define SBX_POSIX_LINUX_MOUNTINDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/str.h"
#include "posix/linux_mountinfo.h"

/* Texts with a number each, in the order they were added; the texts are the caller's. */
struct sbx_places {
    struct sbx_place *items;
    uint32_t *heads; /* of the chains, one more than the item's index; 0: none */
    size_t count, capacity, mask;
};

/* Room for `capacity` texts; false without memory. */
bool sbx_places_init(struct sbx_places *places, struct sbx_arena *arena,
                     size_t capacity) SBX_MUST_USE;
void sbx_places_add(struct sbx_places *places, const char *text);

enum { SBX_PLACES_NONE = -1 };

/* The number of the last one added with that text; with `before`, the last one before that. */
long sbx_places_find(const struct sbx_places *places, struct sbx_str text, long before);

/* The last one added that is `path` or contains it as a directory does, the nearest first. */
long sbx_places_above(const struct sbx_places *places, struct sbx_str path);

struct sbx_mountindex {
    struct sbx_mountinfo_list *list;
    struct sbx_places places;
    uint32_t *ids; /* open addressing: one more than the index of the line; 0: none */
    size_t id_mask;
};

/* Of a list that does not change any more. False without memory, or when a number is there twice. */
bool sbx_mountindex_make(struct sbx_arena *arena, struct sbx_mountinfo_list *list,
                         struct sbx_mountindex *out) SBX_MUST_USE;

/* NULL when there is none. */
struct sbx_mountinfo *sbx_mountindex_id(const struct sbx_mountindex *index, uint64_t id);

/* The last of that name; NULL when there is none. */
struct sbx_mountinfo *sbx_mountindex_at(const struct sbx_mountindex *index, const char *place);

/* No path leads to it: something is mounted over it, or over a directory on the way from its parent, or its
 * parent is hidden. */
bool sbx_mountindex_is_hidden(const struct sbx_mountindex *index, const struct sbx_mountinfo *line);

#endif
