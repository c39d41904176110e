/* Unit tests of common/base/sort. */
#include "common/base/sort.h"

#include <stdint.h>
#include <stdlib.h>

#include "tests/check.h"

#include "common/base/banned.h"

struct record {
    int key;
    int came; /* its place before */
    char rest[50];
};

static int compare(const void *left, const void *right)
{
    int a = ((const struct record *)left)->key;
    int b = ((const struct record *)right)->key;
    return (a > b) - (a < b);
}

static void check_sorted(struct record *records, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        records[i].came = (int)i;
        records[i].rest[49] = (char)records[i].key;
    }
    sbx_sort(records, count, sizeof *records, compare);
    bool is_right = true;
    bool seen[300] = {false};
    for (size_t i = 0; i < count; i++) {
        is_right &= records[i].rest[49] == (char)records[i].key && !seen[records[i].came];
        seen[records[i].came] = true;
        if (i > 0) {
            is_right &=
                records[i - 1].key < records[i].key ||
                (records[i - 1].key == records[i].key && records[i - 1].came < records[i].came);
        }
    }
    CHECK(is_right);
}

/* The same numbers every time. */
static uint32_t next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void lists_of_every_length_are_sorted_and_stable(void)
{
    static struct record records[300];
    uint32_t state = 7;
    for (size_t count = 0; count <= 300; count += count < 20 ? 1 : 35) {
        for (size_t i = 0; i < count; i++) {
            records[i].key = (int)(next(&state) % (count / 2 + 1)); /* many are equal */
        }
        check_sorted(records, count);
    }
}

static void runs_and_their_reverse_are_sorted(void)
{
    static struct record records[300];
    for (int step = 1; step <= 300; step += 23) {
        for (int i = 0; i < 300; i++) {
            records[i].key = i % step;
        }
        check_sorted(records, 300);
        for (int i = 0; i < 300; i++) {
            records[i].key = -(i % step) - i / step;
        }
        check_sorted(records, 300);
    }
}

static size_t compared;

static int count_compares(const void *left, const void *right)
{
    compared++;
    return compare(left, right);
}

static void what_is_in_order_is_looked_at_once(void)
{
    static struct record records[200];
    for (int i = 0; i < 200; i++) {
        records[i].key = i;
    }
    compared = 0;
    sbx_sort(records, 200, sizeof records[0], count_compares);
    CHECK_INT(compared, 199);
    sbx_sort(NULL, 0, sizeof records[0], count_compares);
    CHECK_INT(compared, 199);
}

static const struct sbx_test tests[] = {
    {"lists of every length are sorted, equal records in the order they came",
     lists_of_every_length_are_sorted_and_stable},
    {"lists of runs, and backward ones, are sorted", runs_and_their_reverse_are_sorted},
    {"what is in order already is looked at once", what_is_in_order_is_looked_at_once},
};

SBX_TEST_MAIN("sort", tests)
