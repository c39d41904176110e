/* Natural merge sort: runs that are in order already are found, then merged two by two. */
#include "common/base/sort.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/banned.h"

enum { USUAL_BYTES = 2048 };

struct sorting {
    size_t size;
    int (*compare)(const void *, const void *);
};

/* How many records from `first` on are in order. */
static size_t run_length(const struct sorting *sorting, const char *first, size_t count)
{
    size_t length = count > 0;
    while (length < count && sorting->compare(first + (length - 1) * sorting->size,
                                              first + length * sorting->size) <= 0) {
        length++;
    }
    return length;
}

static void merge(const struct sorting *sorting, const char *left, size_t left_count,
                  const char *right, size_t right_count, char *out)
{
    const size_t size = sorting->size;
    while (left_count > 0 && right_count > 0) {
        if (sorting->compare(left, right) <= 0) {
            memcpy(out, left, size);
            left += size;
            left_count--;
        } else {
            memcpy(out, right, size);
            right += size;
            right_count--;
        }
        out += size;
    }
    memcpy(out, left, left_count * size);
    memcpy(out + left_count * size, right, right_count * size);
}

/* Once over the whole: every two runs of `from` become one of `to`. True when it was one by then. */
static bool pass(const struct sorting *sorting, const char *from, char *to, size_t count)
{
    const size_t size = sorting->size;
    for (size_t at = 0; at < count;) {
        size_t left = run_length(sorting, from + at * size, count - at);
        size_t right = run_length(sorting, from + (at + left) * size, count - at - left);
        merge(sorting, from + at * size, left, from + (at + left) * size, right, to + at * size);
        at += left + right;
        if (at == count && at == left + right) {
            return true;
        }
    }
    return false;
}

void sbx_sort(void *items, size_t count, size_t size, int (*compare)(const void *, const void *))
{
    const struct sorting sorting = {size, compare};
    if (count < 2 || run_length(&sorting, (const char *)items, count) == count) {
        return;
    }
    /* Most lists are short, and giving memory back is what takes long. */
    _Alignas(max_align_t) char usual[USUAL_BYTES];
    char *large = NULL;
    char *spare = usual;
    if (count > sizeof usual / size) {
        spare = large = (char *)calloc(count, size);
    }
    if (spare == NULL) {
        qsort(items, count, size, compare);
        return;
    }
    char *from = (char *)items;
    char *to = spare;
    bool is_done = false;
    while (!is_done) {
        is_done = pass(&sorting, from, to, count);
        char *other = from;
        from = to;
        to = other;
    }
    if (from == spare) {
        memcpy(items, spare, count * size);
    }
    free(large);
}
