/* Unit tests of globs over paths, with the patterns that make naive matchers run for years. */
#include "common/base/path.h"

#include <stdio.h>
#include <string.h>

#include "tests/check.h"
#include "tests/unit/random.h"

#include "common/base/banned.h"

static struct sbx_arena arena;

static bool matches(enum sbx_path_rules rules, const char *pattern, const char *text)
{
    struct sbx_path glob = {NULL, 0, rules};
    struct sbx_path path = {NULL, 0, rules};
    CHECK_INT(sbx_path_make_glob(&arena, rules, sbx_str(pattern), &glob), SBX_PATH_OK);
    CHECK_INT(sbx_path_make(&arena, rules, sbx_str(text), &path), SBX_PATH_OK);
    bool result = sbx_path_glob_match(glob, path);
    sbx_arena_release(&arena);
    return result;
}

static bool posix(const char *pattern, const char *text)
{
    return matches(SBX_PATH_POSIX, pattern, text);
}

static bool windows(const char *pattern, const char *text)
{
    return matches(SBX_PATH_WINDOWS, pattern, text);
}

static void a_text_with_a_star_or_a_mark_is_a_glob(void)
{
    CHECK(sbx_path_is_glob(sbx_str("/a/*")));
    CHECK(sbx_path_is_glob(sbx_str("?")));
    CHECK(!sbx_path_is_glob(sbx_str("/a/[b]{c}")));
    CHECK(!sbx_path_is_glob(sbx_str("")));
    CHECK(!sbx_path_is_glob((struct sbx_str){NULL, 0}));
}

static void a_pattern_without_stars_matches_itself(void)
{
    CHECK(posix("/a/b", "/a/b"));
    CHECK(posix("/", "/"));
    CHECK(!posix("/a/b", "/a"));
    CHECK(!posix("/a", "/a/b"));
    CHECK(!posix("/", "/a"));
    CHECK(!posix("/a", "/"));
    CHECK(!posix("/a/b", "/a/c"));
    CHECK(!posix("/ab", "/abc"));
    CHECK(!posix("/abc", "/ab"));
    CHECK(posix("/[ab]", "/[ab]"));
    CHECK(!posix("/[ab]", "/a"));
    CHECK(posix("/a\\*", "/a\\b"));
}

static void a_star_stays_within_its_component(void)
{
    CHECK(posix("/*", "/a"));
    CHECK(posix("/*", "/.hidden"));
    CHECK(!posix("/*", "/"));
    CHECK(!posix("/*", "/a/b"));
    CHECK(posix("/a/*/c", "/a/b/c"));
    CHECK(!posix("/a/*/c", "/a/c"));
    CHECK(!posix("/a/*/c", "/a/b/b/c"));
    CHECK(posix("/*.pem", "/x.pem"));
    CHECK(posix("/*.pem", "/.pem"));
    CHECK(!posix("/*.pem", "/x.pem.bak"));
    CHECK(posix("/a*b*c", "/axxbyybzc"));
    CHECK(posix("/a*", "/a"));
    CHECK(posix("/a***", "/abc"));
    CHECK(posix("/*a", "/bababa"));
    CHECK(!posix("/*ab", "/abababa"));
    CHECK(posix("/***", "/x"));
    CHECK(!posix("/***", "/x/y"));
    CHECK(!posix("/a**b", "/a/b"));
}

static void a_mark_is_one_character(void)
{
    CHECK(posix("/?", "/a"));
    CHECK(posix("/?", "/\xc3\xa9"));
    CHECK(posix("/?", "/\xf0\x9f\x98\x80"));
    CHECK(!posix("/?", "/ab"));
    CHECK(!posix("/??", "/a"));
    CHECK(!posix("/a?", "/a"));
    CHECK(posix("/?*", "/a"));
    CHECK(posix("/*?", "/ab"));
    CHECK(posix("/*?x", "/\xc3\xa9x"));
    CHECK(!posix("/*?x", "/x"));
}

static void two_stars_are_any_number_of_components(void)
{
    CHECK(posix("/**", "/"));
    CHECK(posix("/**", "/a"));
    CHECK(posix("/**", "/a/b/c"));
    CHECK(posix("/a/**", "/a"));
    CHECK(posix("/a/**", "/a/b/c"));
    CHECK(!posix("/a/**", "/ab"));
    CHECK(posix("/**/c", "/c"));
    CHECK(posix("/**/c", "/a/b/c"));
    CHECK(posix("/**/c", "/c/c/c"));
    CHECK(!posix("/**/c", "/a/c/b"));
    CHECK(posix("/a/**/b/*/c", "/a/x/b/b/y/c"));
    CHECK(posix("/a/**/b/**/c", "/a/b/c"));
    CHECK(!posix("/a/**/b/**/c", "/a/c"));
    CHECK(posix("/**/.env*", "/x/y/.env.local"));
    CHECK(posix("/**/**", "/"));
    CHECK(posix("/**/a/**", "/x/a"));
    CHECK(!posix("/**/a/**", "/x/b"));
}

static void matching_follows_the_case_of_the_rules(void)
{
    CHECK(!posix("/A*", "/ab"));
    CHECK(matches(SBX_PATH_MACOS, "/A*", "/ab"));
    CHECK(matches(SBX_PATH_MACOS, "/**/.S\xc5\xbfH", "/x/.ssh"));
    CHECK(windows("c:\\**\\*.PEM", "C:\\Users\\x.pem"));
    CHECK(windows("C:/*/\xc3\x84?", "c:\\x\\\xc3\xa4z"));
    CHECK(!windows("C:\\**", "D:\\a"));
    CHECK(windows("C:\\**", "C:\\"));
    CHECK(windows("C:\\?", "C:\\x"));
}

static void windows_globs_still_refuse_everything_else(void)
{
    static const struct {
        const char *text;
        enum sbx_path_problem problem;
    } cases[] = {
        {"C:\\*", SBX_PATH_OK},
        {"C:\\**\\?.txt", SBX_PATH_OK},
        {"*", SBX_PATH_NOT_ABSOLUTE},
        {"**\\x", SBX_PATH_NOT_ABSOLUTE},
        {"*:\\x", SBX_PATH_NOT_ABSOLUTE},
        {"?:\\x", SBX_PATH_NOT_ABSOLUTE},
        {"\\\\?\\C:\\*", SBX_PATH_DEVICE},
        {"\\??\\C:\\*", SBX_PATH_DEVICE},
        {"\\\\*\\share", SBX_PATH_UNC},
        {"C:\\*:x", SBX_PATH_STREAM},
        {"C:\\*<", SBX_PATH_RESERVED_CHAR},
        {"C:\\\"*", SBX_PATH_RESERVED_CHAR},
        {"C:\\*|", SBX_PATH_RESERVED_CHAR},
        {"C:\\*.", SBX_PATH_TRAILING},
        {"C:\\* ", SBX_PATH_TRAILING},
        {"C:\\*\\..\\x", SBX_PATH_DOTDOT},
        {"C:\\con.*", SBX_PATH_DEVICE},
        {"C:\\*\\nul", SBX_PATH_DEVICE},
        {"C:\\*~1", SBX_PATH_SHORT_NAME},
        {"C:\\*\\PROGRA~1\\*", SBX_PATH_SHORT_NAME},
        {"C:\\*\n", SBX_PATH_HAS_CONTROL},
        {"C:\\*\xff", SBX_PATH_NOT_UTF8},
    };
    for (size_t i = 0; i < SBX_COUNT(cases); i++) {
        struct sbx_path path;
        CHECK_INT(sbx_path_make_glob(&arena, SBX_PATH_WINDOWS, sbx_str(cases[i].text), &path),
                  cases[i].problem);
    }
    sbx_arena_release(&arena);
}

/* With exponential matching each of these would outlive the reader; the test's time limit is the
 * real check. */
static void hostile_patterns_end_soon(void)
{
    char pattern[4096] = "/";
    char text[4096] = "/";
    size_t at = 1;
    for (unsigned i = 0; i < 120; i++, at += 2) {
        memcpy(pattern + at, "*a", 3);
    }
    memcpy(pattern + at, "*b", 3);
    memset(text + 1, 'a', 255);
    CHECK(!posix(pattern, text));

    at = 0;
    for (unsigned i = 0; i < 1000; i++, at += 3) {
        memcpy(pattern + at, "/**", 4);
    }
    memcpy(pattern + at, "/b", 3);
    at = 0;
    for (unsigned i = 0; i < 2000; i++, at += 2) {
        memcpy(text + at, "/a", 3);
    }
    CHECK(!posix(pattern, text));
    memcpy(text + at, "/b", 3);
    CHECK(posix(pattern, text));

    at = 0;
    for (unsigned i = 0; i < 600; i++, at += 5) {
        memcpy(pattern + at, "/**/a", 6);
    }
    memcpy(pattern + at, "/c", 3);
    CHECK(!posix(pattern, text));

    /* Both levels at once. */
    at = 0;
    for (unsigned i = 0; i < 300; i++, at += 12) {
        memcpy(pattern + at, "/**/*a*a*a*b", 13);
    }
    at = 0;
    for (unsigned i = 0; i < 20; i++, at += 201) {
        text[at] = '/';
        memset(text + at + 1, 'a', 200);
        text[at + 201] = '\0';
    }
    CHECK(!posix(pattern, text));
}

/* The definition, written down without a thought for time. */
static bool slow_name(const char *pattern, size_t pattern_len, const char *name, size_t name_len)
{
    if (pattern_len == 0) {
        return name_len == 0;
    }
    if (pattern[0] == '*') {
        for (size_t skip = 0; skip <= name_len; skip++) {
            if (slow_name(pattern + 1, pattern_len - 1, name + skip, name_len - skip)) {
                return true;
            }
        }
        return false;
    }
    return name_len > 0 && (pattern[0] == '?' || pattern[0] == name[0]) &&
           slow_name(pattern + 1, pattern_len - 1, name + 1, name_len - 1);
}

static bool slow_match(struct sbx_path pattern, size_t i, struct sbx_path path, size_t k)
{
    size_t patterns = sbx_path_depth(pattern);
    size_t names = sbx_path_depth(path);
    if (i == patterns) {
        return k == names;
    }
    struct sbx_str want = sbx_path_component(pattern, i);
    if (sbx_str_is(want, "**")) {
        for (size_t skip = k; skip <= names; skip++) {
            if (slow_match(pattern, i + 1, path, skip)) {
                return true;
            }
        }
        return false;
    }
    if (k == names) {
        return false;
    }
    struct sbx_str name = sbx_path_component(path, k);
    return slow_name(want.ptr, want.len, name.ptr, name.len) &&
           slow_match(pattern, i + 1, path, k + 1);
}

static void random_text(uint64_t *seed, const char *alphabet, char *out, size_t max)
{
    size_t len = 1 + random_below(seed, max - 2);
    size_t letters = strlen(alphabet);
    out[0] = '/';
    for (size_t i = 1; i < len; i++) {
        out[i] = alphabet[random_below(seed, letters)];
    }
    out[len] = '\0';
}

/* Two stars that are written out say the same as an end that is open. */
static bool open_ends_agree(struct sbx_path pattern, struct sbx_path path)
{
    char text[32];
    (void)snprintf(text, sizeof text, "/**%s", pattern.text);
    struct sbx_path above = {text, strlen(text), SBX_PATH_POSIX};
    struct sbx_str rootless = {pattern.text + 1, pattern.len - 1};
    bool ends = sbx_path_ends_in(path, rootless) == sbx_path_glob_match(above, path);
    (void)snprintf(text, sizeof text, "%s/**", pattern.text);
    struct sbx_path below = {text, strlen(text), SBX_PATH_POSIX};
    return ends && sbx_path_glob_covers(pattern, path) == sbx_path_glob_match(below, path);
}

static void matching_agrees_with_its_definition(void)
{
    uint64_t seed = 2024;
    unsigned wrong = 0;
    unsigned hits = 0;
    for (unsigned round = 0; round < 100000; round++) {
        char pattern_text[16];
        char path_text[16];
        random_text(&seed, "ab*?//*", pattern_text, sizeof pattern_text);
        random_text(&seed, "aab//", path_text, sizeof path_text);
        struct sbx_path pattern;
        struct sbx_path path;
        if (sbx_path_make_glob(&arena, SBX_PATH_POSIX, sbx_str(pattern_text), &pattern) !=
                SBX_PATH_OK ||
            sbx_path_make(&arena, SBX_PATH_POSIX, sbx_str(path_text), &path) != SBX_PATH_OK) {
            wrong++;
            continue;
        }
        bool want = slow_match(pattern, 0, path, 0);
        wrong += sbx_path_glob_match(pattern, path) != want;
        hits += want;
        wrong += !open_ends_agree(pattern, path);
        if (round % 1000 == 0) {
            sbx_arena_release(&arena);
        }
    }
    CHECK_U64(wrong, 0);
    CHECK(hits > 1000); /* else the comparison says little */
    sbx_arena_release(&arena);
}

static const struct sbx_test tests[] = {
    {"a text with a star or a mark is a glob", a_text_with_a_star_or_a_mark_is_a_glob},
    {"a pattern without stars matches itself", a_pattern_without_stars_matches_itself},
    {"a star stays within its component", a_star_stays_within_its_component},
    {"a mark is one character", a_mark_is_one_character},
    {"two stars are any number of components", two_stars_are_any_number_of_components},
    {"matching follows the case of the rules", matching_follows_the_case_of_the_rules},
    {"Windows globs still refuse everything else", windows_globs_still_refuse_everything_else},
    {"hostile patterns end soon", hostile_patterns_end_soon},
    {"matching agrees with its definition", matching_agrees_with_its_definition},
};

int main(int argc, char **argv)
{
    sbx_arena_init(&arena, (size_t)4 << 20);
    int status = sbx_test_main(argc, argv, "path_glob", tests, SBX_COUNT(tests));
    sbx_arena_release(&arena);
    return status;
}
