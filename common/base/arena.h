/* Bounded arena: everything from manifest to plan lives in one, and is freed at once. */
#ifndef SBX_BASE_ARENA_H
#define SBX_BASE_ARENA_H

#include <stddef.h>

#include "common/base/attr.h"
#include "common/base/str.h"

struct sbx_arena_block;

struct sbx_arena {
    struct sbx_arena_block *head; /* newest block */
    size_t used_bytes;            /* asked of malloc so far */
    size_t max_bytes;             /* hard maximum of used_bytes */
};

/* `max_bytes` bounds what the arena ever asks of malloc. Allocates nothing yet. */
void sbx_arena_init(struct sbx_arena *arena, size_t max_bytes);

/* Frees everything; the arena is as after init. NULL is allowed. */
void sbx_arena_release(struct sbx_arena *arena);
#define AUTO_ARENA SBX_CLEANUP(sbx_arena_release) struct sbx_arena

/* Zeroed memory aligned for any type, or NULL when memory or the maximum is exhausted, or when
 * count * size overflows. A size of 0 gives a valid unique pointer. */
void *sbx_arena_alloc(struct sbx_arena *arena, size_t count, size_t size) SBX_MUST_USE;
#define SBX_NEW(arena, type) ((type *)sbx_arena_alloc((arena), 1, sizeof(type)))
#define SBX_NEW_ARRAY(arena, type, count) ((type *)sbx_arena_alloc((arena), (count), sizeof(type)))

/* A copy with a NUL after it (the NUL is not counted), or NULL. */
char *sbx_arena_copy(struct sbx_arena *arena, const char *text, size_t len) SBX_MUST_USE;

/* As snprintf into the arena; NULL when it does not fit. */
char *sbx_arena_printf(struct sbx_arena *arena, const char *format, ...)
    SBX_PRINTF(2, 3) SBX_MUST_USE;

/* Growing an array whose elements live in an arena: makes room for one more element, counts it and
 * returns its address (zeroed), or NULL with nothing changed. `array_pointer` is the address of the
 * caller's `T *` (NULL with a capacity of 0 at first), `size` is sizeof(T). Capacity doubles; the
 * array may move, and its old storage then stays in the arena. */
void *sbx_arena_push(struct sbx_arena *arena, void *array_pointer, size_t *count, size_t *capacity,
                     size_t size) SBX_MUST_USE;

#endif
