/* Property tests of common/base/path: random texts, the same on every run. */
#include "common/base/path.h"

#include <string.h>

#include "tests/check.h"
#include "tests/unit/random.h"

#include "common/base/banned.h"

enum { ROUNDS = 40000, TEXT_BYTES = 64, POOL = 160 };

static const enum sbx_path_rules all_rules[] = {SBX_PATH_POSIX, SBX_PATH_MACOS, SBX_PATH_WINDOWS};

/* Pieces that mean something to some rule set, and some that mean nothing. */
static const char *const pieces[] = {
    "/",           "/",    "/", "\\",       "\\",       ".",        "..",   "a",
    "A",           "b",    "B", "ab",       "nul",      "CON",      "com1", ":",
    "~1",          "*",    "?", " ",        "\xc3\xa9", "\xc3\x89", "\xff", "\xe2\x84\xaa",
    "k",           "K",    "-", "\xc5\xbf", "s",        "\n",       "$",    "\xf0\x9f\x98\x80",
    "..namedfork", ".vol", "<", "C:\\",
};

static struct sbx_str random_text(uint64_t *seed, enum sbx_path_rules rules, char out[TEXT_BYTES])
{
    size_t len = 0;
    if (random_below(seed, 8) != 0) {
        const char *root = rules == SBX_PATH_WINDOWS ? "c:/" : "/";
        len = strlen(root);
        memcpy(out, root, len);
    }
    for (size_t count = random_below(seed, 10); count > 0; count--) {
        const char *piece = pieces[random_below(seed, SBX_COUNT(pieces))];
        memcpy(out + len, piece, strlen(piece));
        len += strlen(piece);
        len = len > TEXT_BYTES - 16 ? TEXT_BYTES - 16 : len;
    }
    return (struct sbx_str){out, len};
}

/* What path.h promises of every path there is. */
static bool keeps_the_promises(struct sbx_path path)
{
    char separator = path.rules == SBX_PATH_WINDOWS ? '\\' : '/';
    size_t root_len = path.rules == SBX_PATH_WINDOWS ? 3 : 1;
    if (path.text[path.len] != '\0' || strlen(path.text) != path.len || path.len < root_len) {
        return false;
    }
    if (path.text[root_len - 1] != separator ||
        (path.len > root_len && path.text[path.len - 1] == separator)) {
        return false;
    }
    size_t total = root_len == path.len ? root_len : root_len - 1;
    for (size_t i = 0; i < sbx_path_depth(path); i++) {
        struct sbx_str name = sbx_path_component(path, i);
        bool has_slash = memchr(name.ptr, '/', name.len) != NULL;
        if (name.len == 0 || has_slash || sbx_str_is(name, ".") || sbx_str_is(name, "..")) {
            return false;
        }
        total += name.len + 1;
    }
    return total == path.len;
}

static void what_is_made_keeps_the_promises_and_is_made_again(void)
{
    uint64_t seed = 11;
    unsigned wrong = 0;
    unsigned made = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        AUTO_ARENA arena;
        sbx_arena_init(&arena, 1 << 16);
        enum sbx_path_rules rules = all_rules[round % SBX_COUNT(all_rules)];
        bool is_glob = random_below(&seed, 2) == 0;
        char text[TEXT_BYTES];
        struct sbx_path once;
        struct sbx_path twice;
        struct sbx_str raw = random_text(&seed, rules, text);
        enum sbx_path_problem problem = is_glob ? sbx_path_make_glob(&arena, rules, raw, &once)
                                                : sbx_path_make(&arena, rules, raw, &once);
        if (problem != SBX_PATH_OK) {
            continue;
        }
        made++;
        wrong += !keeps_the_promises(once);
        struct sbx_str clean = {once.text, once.len};
        problem = is_glob ? sbx_path_make_glob(&arena, rules, clean, &twice)
                          : sbx_path_make(&arena, rules, clean, &twice);
        wrong += problem != SBX_PATH_OK || !sbx_str_is(clean, twice.text);
        wrong += sbx_path_compare(once, twice) != 0 || !sbx_path_eq(once, twice);
    }
    CHECK_U64(wrong, 0);
    CHECK(made > ROUNDS / 10);
}

/* Whatever make accepts without globs, make_glob accepts with the same result. */
static void a_path_is_a_glob_that_matches_itself(void)
{
    uint64_t seed = 12;
    unsigned wrong = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        AUTO_ARENA arena;
        sbx_arena_init(&arena, 1 << 16);
        enum sbx_path_rules rules = all_rules[round % SBX_COUNT(all_rules)];
        char text[TEXT_BYTES];
        struct sbx_str raw = random_text(&seed, rules, text);
        struct sbx_path path;
        struct sbx_path glob;
        if (sbx_path_make(&arena, rules, raw, &path) == SBX_PATH_OK) {
            wrong += sbx_path_make_glob(&arena, rules, raw, &glob) != SBX_PATH_OK ||
                     !sbx_str_is((struct sbx_str){path.text, path.len}, glob.text) ||
                     !sbx_path_glob_match(glob, path);
        }
    }
    CHECK_U64(wrong, 0);
}

static void a_parent_contains_its_child_and_comes_before_it(void)
{
    uint64_t seed = 13;
    unsigned wrong = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        AUTO_ARENA arena;
        sbx_arena_init(&arena, 1 << 16);
        enum sbx_path_rules rules = all_rules[round % SBX_COUNT(all_rules)];
        char text[TEXT_BYTES];
        struct sbx_path path;
        if (sbx_path_make(&arena, rules, random_text(&seed, rules, text), &path) != SBX_PATH_OK) {
            continue;
        }
        struct sbx_path child = path;
        while (!sbx_path_is_root(child)) {
            struct sbx_path parent = sbx_path_parent(&arena, child);
            struct sbx_path back;
            wrong += parent.text == NULL || !keeps_the_promises(parent);
            wrong += !sbx_path_contains(parent, child) || sbx_path_contains(child, parent);
            wrong += !sbx_path_contains(parent, path) || sbx_path_eq(parent, child);
            wrong += sbx_path_compare(parent, child) >= 0;
            wrong += sbx_path_depth(parent) + 1 != sbx_path_depth(child);
            wrong += sbx_path_join(&arena, parent, sbx_path_name(child), &back) != SBX_PATH_OK ||
                     sbx_path_compare(back, child) != 0;
            child = parent;
        }
        wrong += sbx_path_depth(child) != 0;
    }
    CHECK_U64(wrong, 0);
}

/* Short paths over few letters, so that many are related. */
static size_t fill_pool(struct sbx_arena *arena, enum sbx_path_rules rules, uint64_t *seed,
                        struct sbx_path pool[POOL])
{
    static const char *const names[] = {
        "a", "A", "b", "a-", "\xc3\xa9", "\xc3\x89", "k", "\xe2\x84\xaa", "ab"};
    size_t count = 0;
    while (count < POOL) {
        char text[TEXT_BYTES];
        const char *root = rules == SBX_PATH_WINDOWS ? "C:/" : "/";
        size_t len = strlen(root);
        memcpy(text, root, len);
        for (size_t depth = random_below(seed, 4); depth > 0; depth--) {
            const char *name = names[random_below(seed, SBX_COUNT(names))];
            memcpy(text + len, name, strlen(name));
            len += strlen(name);
            text[len++] = '/';
        }
        if (sbx_path_make(arena, rules, (struct sbx_str){text, len}, &pool[count]) != SBX_PATH_OK) {
            break;
        }
        count++;
    }
    return count;
}

static int sign(int number)
{
    return (number > 0) - (number < 0);
}

static unsigned check_pair(struct sbx_path a, struct sbx_path b)
{
    unsigned wrong = 0;
    int order = sign(sbx_path_compare(a, b));
    bool same_bytes = strcmp(a.text, b.text) == 0;
    wrong += order != -sign(sbx_path_compare(b, a));
    wrong += (order == 0) != same_bytes;
    wrong += sbx_path_eq(a, b) != sbx_path_eq(b, a);
    wrong += order == 0 && !sbx_path_eq(a, b);
    wrong += sbx_path_eq(a, b) != (sbx_path_contains(a, b) && sbx_path_contains(b, a));
    wrong += sbx_path_contains(a, b) && sbx_path_depth(a) > sbx_path_depth(b);
    /* Above and not the same: before it. */
    wrong += sbx_path_contains(a, b) && !sbx_path_eq(a, b) && order >= 0;
    return wrong;
}

static unsigned check_triple(struct sbx_path a, struct sbx_path b, struct sbx_path c)
{
    unsigned wrong = 0;
    int ab = sbx_path_compare(a, b);
    int bc = sbx_path_compare(b, c);
    int ac = sbx_path_compare(a, c);
    wrong += ab <= 0 && bc <= 0 && ac > 0;
    wrong += sbx_path_contains(a, b) && sbx_path_contains(b, c) && !sbx_path_contains(a, c);
    wrong += sbx_path_eq(a, b) && sbx_path_eq(b, c) && !sbx_path_eq(a, c);
    /* What lies between two equal ones in the order is equal to both. */
    wrong += ab <= 0 && bc <= 0 && sbx_path_eq(a, c) && !sbx_path_eq(a, b);
    return wrong;
}

static void order_equality_and_containment_fit_together(void)
{
    uint64_t seed = 14;
    for (size_t r = 0; r < SBX_COUNT(all_rules); r++) {
        static struct sbx_path pool[POOL];
        AUTO_ARENA arena;
        sbx_arena_init(&arena, 1 << 20);
        size_t count = fill_pool(&arena, all_rules[r], &seed, pool);
        unsigned wrong = 0;
        CHECK_U64(count, POOL);
        for (size_t i = 0; i < count; i++) {
            wrong += !sbx_path_eq(pool[i], pool[i]) || !sbx_path_contains(pool[i], pool[i]);
            for (size_t j = 0; j < count; j++) {
                wrong += check_pair(pool[i], pool[j]);
            }
        }
        for (unsigned round = 0; round < 200000; round++) {
            size_t i = random_below(&seed, count);
            size_t j = random_below(&seed, count);
            wrong += check_triple(pool[i], pool[j], pool[random_below(&seed, count)]);
        }
        CHECK_U64(wrong, 0);
    }
}

static const struct sbx_test tests[] = {
    {"what is made keeps the promises and is made again",
     what_is_made_keeps_the_promises_and_is_made_again},
    {"a path is a glob that matches itself", a_path_is_a_glob_that_matches_itself},
    {"a parent contains its child and comes before it",
     a_parent_contains_its_child_and_comes_before_it},
    {"order, equality and containment fit together", order_equality_and_containment_fit_together},
};

SBX_TEST_MAIN("path_properties", tests)
