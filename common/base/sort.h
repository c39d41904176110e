/* Sorting whole records. The C libraries differ: musl's qsort moves every record through a buffer of its own, over and
 * over, and none of them sees that most lists here are in order already, or are a few such lists one after the other. */
#ifndef SBX_BASE_SORT_H
#define SBX_BASE_SORT_H

#include <stddef.h>

/* As qsort(3), and stable: equal records stay in the order they came in. Never fails: without memory for as much
 * again it is slower, not stable. NULL with a count of 0 is allowed. */
void sbx_sort(void *items, size_t count, size_t size, int (*compare)(const void *, const void *));

#endif
