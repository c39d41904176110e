/* Bounded arena: a bump pointer over zeroed blocks that grow with what is already in use. */
#include "common/base/arena.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/banned.h"

/* Enough for most; small enough that clearing it, where the C library has to, costs nothing. */
#define FIRST_BLOCK_BYTES ((size_t)32 << 10)
#define LARGEST_BLOCK_BYTES ((size_t)1 << 20)
#define FIRST_ARRAY_ITEMS 4

/* Blocks come from calloc and no byte is handed out twice, so every allocation is zero already. */
struct sbx_arena_block {
    struct sbx_arena_block *next;
    size_t size; /* of data */
    size_t used;
    _Alignas(max_align_t) char data[];
};

/* ---- one block in reserve ---- */

/* A run makes and releases several small arenas, one after the other, and giving memory back takes longer than
 * clearing it. A sanitizer should see each block come and go. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(__clang__)
static void give_back(struct sbx_arena_block *block)
{
    free(block);
}

static struct sbx_arena_block *get_block(size_t total)
{
    return (struct sbx_arena_block *)calloc(1, total);
}
#else
static _Atomic(struct sbx_arena_block *) reserve;

static void give_back(struct sbx_arena_block *block)
{
    struct sbx_arena_block *none = NULL;
    if (block->size != FIRST_BLOCK_BYTES - offsetof(struct sbx_arena_block, data)) {
        free(block);
        return;
    }
    memset(block->data, 0, block->used);
    if (!atomic_compare_exchange_strong(&reserve, &none, block)) {
        free(block);
    }
}

static struct sbx_arena_block *get_block(size_t total)
{
    struct sbx_arena_block *block =
        total == FIRST_BLOCK_BYTES ? atomic_exchange(&reserve, NULL) : NULL;
    if (block == NULL) {
        return (struct sbx_arena_block *)calloc(1, total);
    }
    *block = (struct sbx_arena_block){.next = NULL};
    return block;
}
#endif

/* ---- arenas ---- */

void sbx_arena_init(struct sbx_arena *arena, size_t max_bytes)
{
    *arena = (struct sbx_arena){.max_bytes = max_bytes};
}

void sbx_arena_release(struct sbx_arena *arena)
{
    if (arena == NULL) {
        return;
    }
    struct sbx_arena_block *block = arena->head;
    while (block != NULL) {
        struct sbx_arena_block *next = block->next;
        give_back(block);
        block = next;
    }
    sbx_arena_init(arena, arena->max_bytes);
}

/* count * size, at least 1, rounded up so that the next allocation is aligned too. */
static bool rounded_size(size_t count, size_t size, size_t *out)
{
    const size_t align = _Alignof(max_align_t);
    if (size != 0 && count > (SIZE_MAX - align) / size) {
        return false;
    }
    size_t bytes = count * size;
    *out = ((bytes == 0 ? 1 : bytes) + align - 1) / align * align;
    return true;
}

static char *bump(struct sbx_arena_block *block, size_t bytes)
{
    if (block == NULL || bytes > block->size - block->used) {
        return NULL;
    }
    char *start = block->data + block->used;
    block->used += bytes;
    return start;
}

/* A block is as large as all blocks so far, within bounds, and never beyond the maximum. */
static struct sbx_arena_block *add_block(struct sbx_arena *arena, size_t bytes)
{
    const size_t header = offsetof(struct sbx_arena_block, data);
    size_t left = arena->max_bytes - arena->used_bytes;
    if (left < header || bytes > left - header) {
        return NULL;
    }
    size_t total = arena->used_bytes;
    total = total < FIRST_BLOCK_BYTES ? FIRST_BLOCK_BYTES : total;
    total = total > LARGEST_BLOCK_BYTES ? LARGEST_BLOCK_BYTES : total;
    total = total > left ? left : total;

    /* Something large gets a block of its own, behind the head: the rest of the head stays in use. */
    bool alone = bytes > (total - header) / 2;
    if (alone) {
        total = header + bytes;
    }
    struct sbx_arena_block *block = get_block(total);
    if (block == NULL) {
        return NULL;
    }
    arena->used_bytes += total;
    block->size = total - header;
    if (alone && arena->head != NULL) {
        block->next = arena->head->next;
        arena->head->next = block;
    } else {
        block->next = arena->head;
        arena->head = block;
    }
    return block;
}

void *sbx_arena_alloc(struct sbx_arena *arena, size_t count, size_t size)
{
    size_t bytes;
    if (!rounded_size(count, size, &bytes)) {
        return NULL;
    }
    char *start = bump(arena->head, bytes);
    if (start == NULL) {
        start = bump(add_block(arena, bytes), bytes);
    }
    return start;
}

char *sbx_arena_copy(struct sbx_arena *arena, const char *text, size_t len)
{
    if (len == SIZE_MAX) {
        return NULL;
    }
    char *copy = sbx_arena_alloc(arena, len + 1, 1);
    if (copy != NULL && len > 0) {
        memcpy(copy, text, len);
    }
    return copy;
}

char *sbx_arena_printf(struct sbx_arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (len < 0) {
        return NULL;
    }
    size_t size = (size_t)len + 1;
    char *text = sbx_arena_alloc(arena, size, 1);
    if (text != NULL) {
        va_start(args, format);
        (void)vsnprintf(text, size, format, args);
        va_end(args);
    }
    return text;
}

/* When the array is the newest allocation, it grows where it is. */
static bool grow_in_place(struct sbx_arena *arena, const char *array, size_t old_bytes,
                          size_t new_bytes)
{
    struct sbx_arena_block *head = arena->head;
    return head != NULL && array + old_bytes == head->data + head->used &&
           bump(head, new_bytes - old_bytes) != NULL;
}

/* Doubles the capacity of *array, or leaves all as it was. */
static bool grow(struct sbx_arena *arena, char **array, size_t *capacity, size_t size)
{
    if (*capacity > SIZE_MAX / 2) {
        return false;
    }
    size_t larger = *capacity == 0 ? FIRST_ARRAY_ITEMS : *capacity * 2;
    size_t old_bytes;
    size_t new_bytes;
    if (!rounded_size(*capacity, size, &old_bytes) || !rounded_size(larger, size, &new_bytes)) {
        return false;
    }
    if (*capacity == 0 || !grow_in_place(arena, *array, old_bytes, new_bytes)) {
        char *moved = sbx_arena_alloc(arena, larger, size);
        if (moved == NULL) {
            return false;
        }
        if (*capacity > 0) {
            memcpy(moved, *array, *capacity * size);
        }
        *array = moved;
    }
    *capacity = larger;
    return true;
}

void *sbx_arena_push(struct sbx_arena *arena, void *array_pointer, size_t *count, size_t *capacity,
                     size_t size)
{
    /* The caller's variable is a `T *`; reading it as another pointer type would break the
     * aliasing rules, copying its bytes does not. */
    char *array;
    memcpy(&array, array_pointer, sizeof array);
    if (*count >= *capacity) {
        if (!grow(arena, &array, capacity, size)) {
            return NULL;
        }
        memcpy(array_pointer, &array, sizeof array);
    }
    char *item = array + *count * size;
    memset(item, 0, size); /* it may have been used before, when the caller took items off again */
    *count += 1;
    return item;
}
