/* The memory of the shipped program, in place of the C library's.
 *
 * A run of sbx lives for milliseconds and allocates some two hundred pieces. musl maps and unmaps pages for nearly every
 * size that comes for the first time or goes for good: fifty calls and forty page faults, more than the kernel needs to
 * mount the whole box. Here pieces come from one block that is there from the start, and pieces that are given back are
 * kept by size for the next who asks. Only what is large is mapped by itself.
 *
 * Every piece has a mark in front of it. One that is given back twice, or was written over from below, ends the program
 * instead of going on with memory that lies. */
#ifndef SBX_POSIX_HEAP_H
#define SBX_POSIX_HEAP_H

#include <stddef.h>

/* At least `bytes`, aligned for everything; NULL with errno ENOMEM. Not zeroed. */
void *sbx_heap_take(size_t bytes);

/* Zeroed. */
void *sbx_heap_take_zeroed(size_t bytes);

/* As realloc(3): the piece grows where it is or moves; on failure it stays as it was. */
void *sbx_heap_resize(void *piece, size_t bytes);

/* `alignment` is a power of two, at most a page. */
void *sbx_heap_take_aligned(size_t alignment, size_t bytes);

/* NULL is allowed. Keeps errno. */
void sbx_heap_give(void *piece);

#endif
