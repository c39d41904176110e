/* The C library's functions, by sbx's own memory. Linked into the shipped program only; see heap.h. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "posix/heap.h"

#include "common/base/banned.h"

void *malloc(size_t bytes)
{
    return sbx_heap_take(bytes);
}

void *calloc(size_t count, size_t size)
{
    if (size != 0 && count > SIZE_MAX / size) {
        errno = ENOMEM;
        return NULL;
    }
    return sbx_heap_take_zeroed(count * size);
}

void *realloc(void *piece, size_t bytes)
{
    return sbx_heap_resize(piece, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return sbx_heap_take_aligned(alignment, bytes);
}

void free(void *piece)
{
    sbx_heap_give(piece);
}
