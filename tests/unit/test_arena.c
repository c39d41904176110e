/* Unit tests of common/base/arena. */
#include "common/base/arena.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "tests/check.h"
#include "tests/unit/malloc_may_fail.h"
#include "tests/unit/random.h"

#include "common/base/banned.h"

static bool is_zero(const unsigned char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] != 0) {
            return false;
        }
    }
    return true;
}

static void a_new_arena_owns_nothing(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1000);
    CHECK(arena.head == NULL);
    CHECK_U64(arena.used_bytes, 0);
    CHECK_U64(arena.max_bytes, 1000);
}

static void release_leaves_the_arena_as_after_init(void)
{
    struct sbx_arena arena;
    sbx_arena_init(&arena, 1 << 20);
    CHECK(sbx_arena_alloc(&arena, 1, 100000) != NULL);
    CHECK(sbx_arena_alloc(&arena, 1, 10) != NULL);
    sbx_arena_release(&arena);
    CHECK(arena.head == NULL);
    CHECK_U64(arena.used_bytes, 0);
    CHECK_U64(arena.max_bytes, 1 << 20);
    CHECK(sbx_arena_alloc(&arena, 1, 10) != NULL);
    sbx_arena_release(&arena);
    sbx_arena_release(&arena);
    sbx_arena_release(NULL);
}

/* Random sizes until the maximum is reached, many times: aligned, zero, apart from each other. */
static void allocations_are_zeroed_aligned_and_apart(void)
{
    enum { ROUNDS = 60, PIECES = 400 };
    static struct {
        unsigned char *bytes;
        size_t len;
    } pieces[PIECES];
    uint64_t seed = 1;
    unsigned wrong = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        AUTO_ARENA arena;
        sbx_arena_init(&arena, random_below(&seed, 1 << 19));
        size_t count = 0;
        for (; count < PIECES; count++) {
            size_t limit = random_below(&seed, 10) == 0 ? 50000 : 300;
            size_t len = random_below(&seed, limit);
            unsigned char *bytes = sbx_arena_alloc(&arena, len, 1);
            wrong += arena.used_bytes > arena.max_bytes;
            if (bytes == NULL) {
                break;
            }
            wrong += (uintptr_t)bytes % _Alignof(max_align_t) != 0;
            wrong += !is_zero(bytes, len);
            memset(bytes, (int)(count % 255) + 1, len);
            pieces[count].bytes = bytes;
            pieces[count].len = len;
        }
        for (size_t i = 0; i < count; i++) {
            for (size_t at = 0; at < pieces[i].len; at++) {
                wrong += pieces[i].bytes[at] != i % 255 + 1;
            }
        }
    }
    CHECK_U64(wrong, 0);
}

static void size_zero_gives_unique_pointers(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 10000);
    char *a = sbx_arena_alloc(&arena, 0, 8);
    char *b = sbx_arena_alloc(&arena, 8, 0);
    char *c = sbx_arena_alloc(&arena, 0, 0);
    CHECK(a != NULL && b != NULL && c != NULL);
    CHECK(a != b && b != c && a != c);
}

/* For every maximum, allocations go on until they fail; used_bytes never exceeds the maximum, and a
 * request that fits the rest exactly is served. */
static void the_maximum_is_never_exceeded(void)
{
    unsigned wrong = 0;
    for (size_t max = 0; max < 9000; max += 7) {
        AUTO_ARENA arena;
        sbx_arena_init(&arena, max);
        size_t served = 0;
        while (sbx_arena_alloc(&arena, 1, 48) != NULL) {
            served += 48;
            wrong += arena.used_bytes > max;
        }
        wrong += arena.used_bytes > max || served > max;
        wrong += max >= 200 && served + 200 < max && arena.used_bytes + 200 < max;
    }
    CHECK_U64(wrong, 0);
}

static void the_maximum_can_be_used_to_the_last_block(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 3000); /* less than a first block */
    size_t count = 0;
    while (sbx_arena_alloc(&arena, 1, 16) != NULL) {
        count++;
    }
    CHECK(count * 16 > 2900);
    CHECK(arena.used_bytes <= 3000);
}

static void a_refused_allocation_leaves_the_arena_usable(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 8192);
    CHECK(sbx_arena_alloc(&arena, 1, 100) != NULL);
    size_t used = arena.used_bytes;
    CHECK(sbx_arena_alloc(&arena, 1, 8192) == NULL);
    CHECK(sbx_arena_alloc(&arena, SIZE_MAX, 1) == NULL);
    CHECK_U64(arena.used_bytes, used);
    CHECK(sbx_arena_alloc(&arena, 1, 100) != NULL);
}

static void a_product_that_overflows_is_refused(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, SIZE_MAX);
    CHECK(sbx_arena_alloc(&arena, SIZE_MAX / 2, 3) == NULL);
    CHECK(sbx_arena_alloc(&arena, 3, SIZE_MAX / 2) == NULL);
    CHECK(sbx_arena_alloc(&arena, SIZE_MAX / 16 + 1, 16) == NULL);
    CHECK(sbx_arena_alloc(&arena, SIZE_MAX - 3, 1) == NULL);
    CHECK(sbx_arena_copy(&arena, "x", SIZE_MAX) == NULL);
    CHECK_U64(arena.used_bytes, 0);
}

static void a_malloc_that_fails_is_an_ordinary_null(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, SIZE_MAX);
    CHECK(sbx_arena_alloc(&arena, SIZE_MAX / 8, 2) == NULL);
    CHECK_U64(arena.used_bytes, 0);
    CHECK(sbx_arena_alloc(&arena, 1, 1) != NULL);
}

static void something_large_does_not_waste_the_rest_of_a_block(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 4 << 20);
    char *before = sbx_arena_alloc(&arena, 1, 16);
    char *large = sbx_arena_alloc(&arena, 1, 1000000);
    char *after = sbx_arena_alloc(&arena, 1, 16);
    CHECK(large != NULL);
    CHECK(after == before + 16);
    CHECK(arena.used_bytes < 1000000 + (128 << 10) + 100);
}

static void many_small_allocations_take_few_blocks(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, (size_t)64 << 20);
    size_t blocks = 0;
    size_t used = 0;
    for (size_t i = 0; i < 500000; i++) {
        if (sbx_arena_alloc(&arena, 1, 16) == NULL) {
            break;
        }
        blocks += arena.used_bytes != used;
        used = arena.used_bytes;
    }
    CHECK(blocks < 24);
    CHECK(used >= 8000000 && used < 8000000 + (2 << 20));
}

static void a_copy_ends_in_nul_and_may_hold_nul(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1000);
    char *copy = sbx_arena_copy(&arena, "a\0bc", 4);
    CHECK_MEM(copy, 5, "a\0bc\0", 5);
    CHECK_TEXT(sbx_arena_copy(&arena, NULL, 0), "");
    CHECK(sbx_arena_copy(&arena, "too long", 2000) == NULL);
}

static void printing_gives_the_whole_text_or_null(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1000);
    CHECK_TEXT(sbx_arena_printf(&arena, "%s-%d", "a", 42), "a-42");
    CHECK_TEXT(sbx_arena_printf(&arena, "%s", ""), "");
    CHECK(sbx_arena_printf(&arena, "%2000d", 1) == NULL);
    CHECK(sbx_arena_printf(&arena, "%0100d", 0) != NULL);
}

#ifndef _WIN32 /* that C library prints anything */
/* Half of a pair is no character in any encoding. */
static void a_print_that_cannot_be_made_is_null(void)
{
    static const wchar_t bad_wide[] = {0xdc00, 0};
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1000);
    CHECK(sbx_arena_printf(&arena, "%ls", bad_wide) == NULL);
    CHECK_U64(arena.used_bytes, 0);
}
#endif

struct item {
    uint32_t number;
    char text[20];
};

static void pushing_keeps_all_items(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, (size_t)16 << 20);
    struct item *items = NULL;
    size_t count = 0;
    size_t capacity = 0;
    unsigned wrong = 0;
    for (uint32_t i = 0; i < 20000; i++) {
        struct item *item = sbx_arena_push(&arena, &items, &count, &capacity, sizeof *item);
        if (item == NULL) {
            wrong++;
            break;
        }
        wrong += item != &items[count - 1] || !is_zero((const unsigned char *)item, sizeof *item);
        item->number = i;
        item->text[19] = 'z';
        if (i % 100 == 0) {
            wrong += sbx_arena_alloc(&arena, 1, 24) == NULL; /* something comes in between */
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        wrong += items[i].number != i || items[i].text[19] != 'z';
    }
    CHECK_U64(count, 20000);
    CHECK_U64(wrong, 0);
}

static void the_newest_array_grows_in_place(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 20);
    uint64_t *numbers = NULL;
    size_t count = 0;
    size_t capacity = 0;
    CHECK(sbx_arena_push(&arena, &numbers, &count, &capacity, sizeof *numbers) != NULL);
    uint64_t *first = numbers;
    for (unsigned i = 0; i < 255; i++) {
        if (sbx_arena_push(&arena, &numbers, &count, &capacity, sizeof *numbers) == NULL) {
            break;
        }
    }
    CHECK_U64(count, 256);
    CHECK(numbers == first);
    CHECK(sbx_arena_alloc(&arena, 1, 1) != NULL);
    CHECK(sbx_arena_push(&arena, &numbers, &count, &capacity, sizeof *numbers) != NULL);
    CHECK(numbers != first);
    CHECK_U64(capacity, 512);
}

static void a_taken_off_item_comes_back_zeroed(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 16);
    struct item *items = NULL;
    size_t count = 0;
    size_t capacity = 0;
    struct item *item = sbx_arena_push(&arena, &items, &count, &capacity, sizeof *item);
    CHECK(item != NULL);
    memset(items, 0xff, sizeof *items);
    count = 0;
    item = sbx_arena_push(&arena, &items, &count, &capacity, sizeof *item);
    CHECK(is_zero((const unsigned char *)item, sizeof *item));
}

static void a_push_that_does_not_fit_changes_nothing(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 600);
    uint64_t *numbers = NULL;
    size_t count = 0;
    size_t capacity = 0;
    uint64_t *number;
    while ((number = sbx_arena_push(&arena, &numbers, &count, &capacity, 8)) != NULL) {
        *number = count;
    }
    CHECK(count >= 32 && count == capacity);
    uint64_t *array = numbers;
    size_t old_count = count;
    CHECK(sbx_arena_push(&arena, &numbers, &count, &capacity, 8) == NULL);
    CHECK(numbers == array);
    CHECK_U64(count, old_count);
    CHECK_U64(capacity, old_count);
    for (size_t i = 0; i < count; i++) {
        CHECK_U64(numbers[i], i + 1);
    }
}

static void an_array_from_elsewhere_moves_into_the_arena(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 16);
    uint64_t start[2] = {10, 20};
    uint64_t *numbers = start;
    size_t count = 2;
    size_t capacity = 2;
    uint64_t *third = sbx_arena_push(&arena, &numbers, &count, &capacity, sizeof *numbers);
    CHECK(third == &numbers[2]);
    CHECK(numbers != start);
    CHECK_U64(numbers[0], 10);
    CHECK_U64(numbers[1], 20);
    CHECK_U64(numbers[2], 0);
    CHECK_U64(capacity, 4);
}

static void a_capacity_that_overflows_is_refused(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, SIZE_MAX);
    char *array = NULL;
    size_t count = SIZE_MAX / 2 + 1;
    size_t capacity = count;
    CHECK(sbx_arena_push(&arena, &array, &count, &capacity, 1) == NULL);
    count = capacity = SIZE_MAX / 4;
    CHECK(sbx_arena_push(&arena, &array, &count, &capacity, 8) == NULL);
    count = capacity = SIZE_MAX / 4;
    CHECK(sbx_arena_push(&arena, &array, &count, &capacity, 3) == NULL);
    CHECK_U64(capacity, SIZE_MAX / 4);
    CHECK_U64(arena.used_bytes, 0);
}

static const struct sbx_test tests[] = {
    {"a new arena owns nothing", a_new_arena_owns_nothing},
    {"release leaves the arena as after init", release_leaves_the_arena_as_after_init},
    {"allocations are zeroed, aligned and apart", allocations_are_zeroed_aligned_and_apart},
    {"size zero gives unique pointers", size_zero_gives_unique_pointers},
    {"the maximum is never exceeded", the_maximum_is_never_exceeded},
    {"the maximum can be used to the last block", the_maximum_can_be_used_to_the_last_block},
    {"a refused allocation leaves the arena usable", a_refused_allocation_leaves_the_arena_usable},
    {"a product that overflows is refused", a_product_that_overflows_is_refused},
    {"a malloc that fails is an ordinary NULL", a_malloc_that_fails_is_an_ordinary_null},
    {"something large does not waste the rest of a block",
     something_large_does_not_waste_the_rest_of_a_block},
    {"many small allocations take few blocks", many_small_allocations_take_few_blocks},
    {"a copy ends in NUL and may hold NUL", a_copy_ends_in_nul_and_may_hold_nul},
    {"printing gives the whole text or NULL", printing_gives_the_whole_text_or_null},
#ifndef _WIN32
    {"a print that cannot be made is NULL", a_print_that_cannot_be_made_is_null},
#endif
    {"pushing keeps all items", pushing_keeps_all_items},
    {"the newest array grows in place", the_newest_array_grows_in_place},
    {"a taken off item comes back zeroed", a_taken_off_item_comes_back_zeroed},
    {"a push that does not fit changes nothing", a_push_that_does_not_fit_changes_nothing},
    {"an array from elsewhere moves into the arena", an_array_from_elsewhere_moves_into_the_arena},
    {"a capacity that overflows is refused", a_capacity_that_overflows_is_refused},
};

SBX_TEST_MAIN("arena", tests)
