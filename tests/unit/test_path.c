/* Unit tests of common/base/path under POSIX and macOS rules, and of what all rules share. */
#include "common/base/path.h"

#include <string.h>

#include "tests/check.h"

#include "common/base/banned.h"

static struct sbx_arena arena;

static enum sbx_path_problem problem_of(enum sbx_path_rules rules, const char *text)
{
    struct sbx_path path;
    return sbx_path_make(&arena, rules, sbx_str(text), &path);
}

static struct sbx_path make(enum sbx_path_rules rules, const char *text)
{
    struct sbx_path path = {"(refused)", 0, rules};
    CHECK_INT(sbx_path_make(&arena, rules, sbx_str(text), &path), SBX_PATH_OK);
    return path;
}

static struct sbx_path posix(const char *text)
{
    return make(SBX_PATH_POSIX, text);
}

static void check_clean(enum sbx_path_rules rules, const char *text, const char *want)
{
    struct sbx_path path = make(rules, text);
    CHECK_TEXT(path.text, want);
    CHECK_U64(path.len, strlen(want));
    CHECK_INT(path.rules, rules);
    sbx_arena_release(&arena);
}

static void a_clean_path_stays_as_it_is(void)
{
    check_clean(SBX_PATH_POSIX, "/", "/");
    check_clean(SBX_PATH_POSIX, "/a", "/a");
    check_clean(SBX_PATH_POSIX, "/home/u/.config/x y", "/home/u/.config/x y");
    check_clean(SBX_PATH_POSIX, "/a\\b:c*?<>\"|", "/a\\b:c*?<>\"|");
    check_clean(SBX_PATH_POSIX, "/\xc3\xa9/\xf0\x9f\x98\x80", "/\xc3\xa9/\xf0\x9f\x98\x80");
    check_clean(SBX_PATH_MACOS, "/Users/X", "/Users/X");
}

static void dots_and_doubled_separators_are_dropped(void)
{
    check_clean(SBX_PATH_POSIX, "//", "/");
    check_clean(SBX_PATH_POSIX, "/.", "/");
    check_clean(SBX_PATH_POSIX, "/./", "/");
    check_clean(SBX_PATH_POSIX, "/././/.", "/");
    check_clean(SBX_PATH_POSIX, "//a//b//", "/a/b");
    check_clean(SBX_PATH_POSIX, "/./a/././b/.", "/a/b");
    check_clean(SBX_PATH_POSIX, "/a/...", "/a/...");
    check_clean(SBX_PATH_POSIX, "/.a/b.", "/.a/b.");
    check_clean(SBX_PATH_POSIX, "///////////////a", "/a");
}

static void a_parent_component_is_refused_never_resolved(void)
{
    static const char *const bad[] = {"/..", "/../", "/a/../b", "/a/b/..", "/./..", "//..//a"};
    for (size_t i = 0; i < SBX_COUNT(bad); i++) {
        CHECK_INT(problem_of(SBX_PATH_POSIX, bad[i]), SBX_PATH_DOTDOT);
        CHECK_INT(problem_of(SBX_PATH_MACOS, bad[i]), SBX_PATH_DOTDOT);
    }
}

static void an_empty_text_is_refused(void)
{
    CHECK_INT(problem_of(SBX_PATH_POSIX, ""), SBX_PATH_EMPTY);
    CHECK_INT(problem_of(SBX_PATH_WINDOWS, ""), SBX_PATH_EMPTY);
    CHECK_INT(problem_of(SBX_PATH_MACOS, NULL), SBX_PATH_EMPTY);
}

static void a_relative_path_is_refused(void)
{
    static const char *const bad[] = {"a", "a/b", ".",   "./a", "..",
                                      "~", "~/a", " /a", "\\a", "C:\\a"};
    for (size_t i = 0; i < SBX_COUNT(bad); i++) {
        CHECK_INT(problem_of(SBX_PATH_POSIX, bad[i]), SBX_PATH_NOT_ABSOLUTE);
    }
}

static void a_path_with_a_nul_byte_is_refused(void)
{
    static const enum sbx_path_rules all[] = {SBX_PATH_POSIX, SBX_PATH_MACOS, SBX_PATH_WINDOWS};
    for (size_t i = 0; i < SBX_COUNT(all); i++) {
        struct sbx_path path;
        struct sbx_str text = all[i] == SBX_PATH_WINDOWS ? (struct sbx_str){"C:\\a\0b", 6}
                                                         : (struct sbx_str){"/a\0b", 4};
        CHECK_INT(sbx_path_make(&arena, all[i], text, &path), SBX_PATH_HAS_CONTROL);
        text.len -= 1; /* the NUL is last */
        CHECK_INT(sbx_path_make(&arena, all[i], text, &path), SBX_PATH_HAS_CONTROL);
    }
}

static void every_control_character_is_refused(void)
{
    for (int c = 1; c < 0x80; c++) {
        if (c < 0x20 || c == 0x7f) {
            const char unix_text[] = {'/', 'a', (char)c, '\0'};
            const char windows_text[] = {'C', ':', '\\', (char)c, '\0'};
            CHECK_INT(problem_of(SBX_PATH_POSIX, unix_text), SBX_PATH_HAS_CONTROL);
            CHECK_INT(problem_of(SBX_PATH_WINDOWS, windows_text), SBX_PATH_HAS_CONTROL);
        }
    }
}

static void bad_utf8_is_refused(void)
{
    static const char *const bad[] = {
        "/\xff", "/a\xc0\xaf-", "/\xed\xa0\x80", "/\xe6\xbc", "/\xf4\x90\x80\x80", "\xc0\xaf",
    };
    for (size_t i = 0; i < SBX_COUNT(bad); i++) {
        CHECK_INT(problem_of(SBX_PATH_POSIX, bad[i]), SBX_PATH_NOT_UTF8);
    }
    CHECK_INT(problem_of(SBX_PATH_WINDOWS, "C:\\\xed\xa0\x80"), SBX_PATH_NOT_UTF8);
}

/* "/" + count times (name of `len` bytes + "/"), in the test's own storage. */
static struct sbx_str long_text(size_t count, size_t len)
{
    static char text[200000];
    size_t at = 0;
    text[at++] = '/';
    for (size_t i = 0; i < count; i++) {
        memset(text + at, 'n', len);
        at += len;
        text[at++] = '/';
    }
    return (struct sbx_str){text, at};
}

static void names_of_255_bytes_are_the_longest(void)
{
    struct sbx_path path;
    CHECK_INT(sbx_path_make(&arena, SBX_PATH_POSIX, long_text(1, 255), &path), SBX_PATH_OK);
    CHECK_INT(sbx_path_make(&arena, SBX_PATH_POSIX, long_text(1, 256), &path), SBX_PATH_TOO_LONG);
    CHECK_INT(sbx_path_make(&arena, SBX_PATH_MACOS, long_text(1, 255), &path), SBX_PATH_OK);
    CHECK_INT(sbx_path_make(&arena, SBX_PATH_MACOS, long_text(1, 256), &path), SBX_PATH_TOO_LONG);
}

static void the_whole_length_is_bounded_after_cleaning(void)
{
    struct sbx_path path;
    /* 16 names of 255 and their separators are 4096 bytes, one too many. */
    struct sbx_str text = long_text(16, 255);
    CHECK_INT(sbx_path_make(&arena, SBX_PATH_POSIX, text, &path), SBX_PATH_TOO_LONG);
    text.len -= 2; /* without the last separator and one letter */
    CHECK_INT(sbx_path_make(&arena, SBX_PATH_POSIX, text, &path), SBX_PATH_OK);
    CHECK_U64(path.len, 4095);
    text = long_text(4, 255);
    CHECK_INT(sbx_path_make(&arena, SBX_PATH_MACOS, text, &path), SBX_PATH_TOO_LONG);
    text.len -= 2;
    CHECK_INT(sbx_path_make(&arena, SBX_PATH_MACOS, text, &path), SBX_PATH_OK);
    CHECK_U64(path.len, 1023);
    /* Separators that are dropped do not count. */
    CHECK_INT(sbx_path_make(&arena, SBX_PATH_POSIX, long_text(100000, 0), &path), SBX_PATH_OK);
    CHECK_TEXT(path.text, "/");
    sbx_arena_release(&arena);
}

static void a_refused_path_touches_neither_output_nor_arena(void)
{
    struct sbx_path path = {"before", 6, SBX_PATH_MACOS};
    size_t used = arena.used_bytes;
    CHECK_INT(sbx_path_make(&arena, SBX_PATH_POSIX, sbx_str("/a/../b"), &path), SBX_PATH_DOTDOT);
    CHECK_INT(sbx_path_join(&arena, posix("/a"), sbx_str(".."), &path), SBX_PATH_DOTDOT);
    CHECK_TEXT(path.text, "before");
    CHECK_U64(path.len, 6);
    sbx_arena_release(&arena);
    CHECK_INT(problem_of(SBX_PATH_POSIX, "/a\n"), SBX_PATH_HAS_CONTROL);
    CHECK_U64(arena.used_bytes, 0);
    (void)used;
}

static void an_exhausted_arena_is_a_problem_of_its_own(void)
{
    AUTO_ARENA tiny;
    sbx_arena_init(&tiny, 0);
    struct sbx_path path = {"before", 6, SBX_PATH_POSIX};
    CHECK_INT(sbx_path_make(&tiny, SBX_PATH_POSIX, sbx_str("/a"), &path), SBX_PATH_NO_MEMORY);
    CHECK_INT(sbx_path_make_glob(&tiny, SBX_PATH_POSIX, sbx_str("/a"), &path), SBX_PATH_NO_MEMORY);
    CHECK_TEXT(path.text, "before");
    path = posix("/a/b");
    struct sbx_path parent = sbx_path_parent(&tiny, path);
    CHECK(parent.text == NULL);
    CHECK_U64(parent.len, 0);
    /* The path that is none contains nothing and is no root. */
    CHECK(!sbx_path_contains(parent, path));
    CHECK(!sbx_path_contains(path, parent));
    CHECK(!sbx_path_is_root(parent));
    CHECK(!sbx_path_eq(parent, path));
    CHECK(!sbx_path_glob_match(parent, path));
    CHECK(!sbx_path_glob_match(path, parent));
    CHECK_U64(sbx_path_depth(parent), 0);
    CHECK_STR(sbx_path_name(parent), "");
    sbx_arena_release(&arena);
}

static void the_names_the_macos_kernel_reads_are_refused(void)
{
    CHECK_INT(problem_of(SBX_PATH_MACOS, "/.vol/16777220/2"), SBX_PATH_DEVICE);
    CHECK_INT(problem_of(SBX_PATH_MACOS, "/.VOL"), SBX_PATH_DEVICE);
    CHECK_INT(problem_of(SBX_PATH_MACOS, "//./.vol/1"), SBX_PATH_DEVICE);
    CHECK_INT(problem_of(SBX_PATH_MACOS, "/.nofollow/etc/passwd"), SBX_PATH_DEVICE);
    CHECK_INT(problem_of(SBX_PATH_MACOS, "/.resolve/1/etc"), SBX_PATH_DEVICE);
    CHECK_INT(problem_of(SBX_PATH_MACOS, "/a/..namedfork/rsrc"), SBX_PATH_STREAM);
    CHECK_INT(problem_of(SBX_PATH_MACOS, "/a/..NamedFork/rsrc"), SBX_PATH_STREAM);
    CHECK_INT(problem_of(SBX_PATH_MACOS, "/a/.vol"), SBX_PATH_OK);
    CHECK_INT(problem_of(SBX_PATH_MACOS, "/.volume"), SBX_PATH_OK);
    CHECK_INT(problem_of(SBX_PATH_POSIX, "/.vol/..namedfork"), SBX_PATH_OK);
    struct sbx_path path;
    CHECK_INT(sbx_path_join(&arena, make(SBX_PATH_MACOS, "/"), sbx_str(".vol/1"), &path),
              SBX_PATH_DEVICE);
    CHECK_INT(sbx_path_join(&arena, make(SBX_PATH_MACOS, "/a"), sbx_str(".vol/1"), &path),
              SBX_PATH_OK);
}

static void check_join(const char *base, const char *rest, const char *want)
{
    struct sbx_path path = {"(refused)", 9, SBX_PATH_POSIX};
    CHECK_INT(sbx_path_join(&arena, posix(base), sbx_str(rest), &path), SBX_PATH_OK);
    CHECK_TEXT(path.text, want);
    CHECK_U64(path.len, strlen(want));
}

static void joining_adds_clean_components(void)
{
    check_join("/", "a", "/a");
    check_join("/", "a/b", "/a/b");
    check_join("/a", "b", "/a/b");
    check_join("/a", "./b//c/", "/a/b/c");
    check_join("/a", ".", "/a");
    check_join("/", ".", "/");
    check_join("/a", "C:\\x", "/a/C:\\x");
    sbx_arena_release(&arena);
}

static void joining_refuses_what_is_not_below(void)
{
    static const struct {
        const char *rest;
        enum sbx_path_problem problem;
    } bad[] = {
        {"", SBX_PATH_EMPTY},           {"/b", SBX_PATH_NOT_RELATIVE},
        {"//b", SBX_PATH_NOT_RELATIVE}, {"..", SBX_PATH_DOTDOT},
        {"b/../../c", SBX_PATH_DOTDOT}, {"./..", SBX_PATH_DOTDOT},
        {"b\n", SBX_PATH_HAS_CONTROL},  {"b\xff", SBX_PATH_NOT_UTF8},
    };
    for (size_t i = 0; i < SBX_COUNT(bad); i++) {
        struct sbx_path path;
        CHECK_INT(sbx_path_join(&arena, posix("/a"), sbx_str(bad[i].rest), &path), bad[i].problem);
    }
    struct sbx_path path;
    struct sbx_str text = long_text(16, 255);
    text.len -= 2;
    CHECK_INT(sbx_path_make(&arena, SBX_PATH_POSIX, text, &path), SBX_PATH_OK);
    CHECK_INT(sbx_path_join(&arena, path, sbx_str("b"), &path), SBX_PATH_TOO_LONG);
    text.len -= 2;
    CHECK_INT(sbx_path_make(&arena, SBX_PATH_POSIX, text, &path), SBX_PATH_OK);
    CHECK_INT(sbx_path_join(&arena, path, sbx_str("b"), &path), SBX_PATH_OK);
    CHECK_U64(path.len, 4095);
    sbx_arena_release(&arena);
}

static void a_path_comes_apart_by_components(void)
{
    struct sbx_path path = posix("/usr/local/bin");
    CHECK_U64(sbx_path_depth(path), 3);
    CHECK_STR(sbx_path_component(path, 0), "usr");
    CHECK_STR(sbx_path_component(path, 1), "local");
    CHECK_STR(sbx_path_component(path, 2), "bin");
    CHECK_STR(sbx_path_component(path, 3), "");
    CHECK_STR(sbx_path_component(path, SIZE_MAX), "");
    CHECK_STR(sbx_path_name(path), "bin");
    path = sbx_path_parent(&arena, path);
    CHECK_TEXT(path.text, "/usr/local");
    path = sbx_path_parent(&arena, path);
    CHECK_TEXT(path.text, "/usr");
    CHECK(!sbx_path_is_root(path));
    path = sbx_path_parent(&arena, path);
    CHECK_TEXT(path.text, "/");
    CHECK(sbx_path_is_root(path));
    path = sbx_path_parent(&arena, path);
    CHECK_TEXT(path.text, "/");
    CHECK_U64(sbx_path_depth(path), 0);
    CHECK_STR(sbx_path_component(path, 0), "");
    CHECK_STR(sbx_path_name(path), "");
    sbx_arena_release(&arena);
}

static bool contains(enum sbx_path_rules rules, const char *outer, const char *inner)
{
    bool result = sbx_path_contains(make(rules, outer), make(rules, inner));
    sbx_arena_release(&arena);
    return result;
}

static void containment_is_by_whole_components(void)
{
    CHECK(contains(SBX_PATH_POSIX, "/", "/"));
    CHECK(contains(SBX_PATH_POSIX, "/", "/a"));
    CHECK(contains(SBX_PATH_POSIX, "/a", "/a"));
    CHECK(contains(SBX_PATH_POSIX, "/a", "/a/b"));
    CHECK(contains(SBX_PATH_POSIX, "/a", "/a/b/c"));
    CHECK(!contains(SBX_PATH_POSIX, "/a", "/"));
    CHECK(!contains(SBX_PATH_POSIX, "/a", "/ab"));
    CHECK(!contains(SBX_PATH_POSIX, "/a", "/b/a"));
    CHECK(!contains(SBX_PATH_POSIX, "/ab", "/a"));
    CHECK(!contains(SBX_PATH_POSIX, "/a/b", "/a"));
    CHECK(!contains(SBX_PATH_POSIX, "/a", "/A/b"));
    CHECK(!contains(SBX_PATH_POSIX, "/a", "/a-b"));
}

static void macos_names_compare_without_case(void)
{
    CHECK(contains(SBX_PATH_MACOS, "/Users/Me", "/users/ME/x"));
    CHECK(contains(SBX_PATH_MACOS, "/\xc3\x89", "/\xc3\xa9/x"));
    /* Folding changes the length in bytes: long s, kelvin sign, capital sharp s. */
    CHECK(contains(SBX_PATH_MACOS, "/.s\xc5\xbfh", "/.SSH/id"));
    CHECK(contains(SBX_PATH_MACOS,
                   "/.doc\xe2\x84\xaa"
                   "er",
                   "/.docker/x"));
    CHECK(contains(SBX_PATH_MACOS, "/\xe1\xba\x9e", "/\xc3\x9f"));
    CHECK(!contains(SBX_PATH_MACOS, "/Users/Me", "/users/MEx"));
    CHECK(sbx_path_eq(make(SBX_PATH_MACOS, "/A"), make(SBX_PATH_MACOS, "/a")));
    CHECK(!sbx_path_eq(make(SBX_PATH_POSIX, "/A"), make(SBX_PATH_POSIX, "/a")));
    sbx_arena_release(&arena);
}

static void paths_of_different_rules_have_nothing_in_common(void)
{
    struct sbx_path a = make(SBX_PATH_POSIX, "/a");
    struct sbx_path b = make(SBX_PATH_MACOS, "/a");
    CHECK(!sbx_path_eq(a, b));
    CHECK(!sbx_path_contains(a, b));
    CHECK(!sbx_path_glob_match(a, b));
    CHECK(sbx_path_compare(a, b) < 0);
    CHECK(sbx_path_compare(b, a) > 0);
    sbx_arena_release(&arena);
}

static void parents_come_first_then_siblings_in_order(void)
{
    static const char *const posix_order[] = {
        "/", "/A", "/a", "/a/b", "/a/b/c", "/a/c", "/a!", "/a-b", "/a.b", "/ab", "/b", "/\xc3\xa9",
    };
    static const char *const macos_order[] = {
        "/", "/A", "/a", "/A/b", "/a/B", "/a/b", "/A/c", "/a!", "/Ab", "/aB", "/B/x", "/c",
    };
    for (size_t i = 0; i < SBX_COUNT(posix_order); i++) {
        for (size_t j = 0; j < SBX_COUNT(posix_order); j++) {
            int want = (i > j) - (i < j);
            int got = sbx_path_compare(posix(posix_order[i]), posix(posix_order[j]));
            CHECK_INT((got > 0) - (got < 0), want);
            got = sbx_path_compare(make(SBX_PATH_MACOS, macos_order[i]),
                                   make(SBX_PATH_MACOS, macos_order[j]));
            CHECK_INT((got > 0) - (got < 0), want);
        }
    }
    sbx_arena_release(&arena);
}

static void bytes_that_no_path_has_still_compare(void)
{
    struct sbx_path a = {"/\xff", 2, SBX_PATH_MACOS};
    struct sbx_path b = {"/\xfe", 2, SBX_PATH_MACOS};
    CHECK(sbx_path_eq(a, a));
    CHECK(!sbx_path_eq(a, b));
    CHECK(!sbx_path_contains(a, b));
}

static void every_problem_has_its_own_text(void)
{
    for (int a = 0; a < SBX_PATH_PROBLEM_COUNT; a++) {
        const char *text = sbx_path_problem_text((enum sbx_path_problem)a);
        CHECK(strcmp(text, "unknown") != 0);
        for (int b = 0; b < a; b++) {
            CHECK(strcmp(text, sbx_path_problem_text((enum sbx_path_problem)b)) != 0);
        }
    }
    CHECK_TEXT(sbx_path_problem_text(SBX_PATH_PROBLEM_COUNT), "unknown");
}

static const struct sbx_test tests[] = {
    {"a clean path stays as it is", a_clean_path_stays_as_it_is},
    {"dots and doubled separators are dropped", dots_and_doubled_separators_are_dropped},
    {"a parent component is refused, never resolved", a_parent_component_is_refused_never_resolved},
    {"an empty text is refused", an_empty_text_is_refused},
    {"a relative path is refused", a_relative_path_is_refused},
    {"a path with a NUL byte is refused", a_path_with_a_nul_byte_is_refused},
    {"every control character is refused", every_control_character_is_refused},
    {"bad UTF-8 is refused", bad_utf8_is_refused},
    {"names of 255 bytes are the longest", names_of_255_bytes_are_the_longest},
    {"the whole length is bounded after cleaning", the_whole_length_is_bounded_after_cleaning},
    {"a refused path touches neither output nor arena",
     a_refused_path_touches_neither_output_nor_arena},
    {"an exhausted arena is a problem of its own", an_exhausted_arena_is_a_problem_of_its_own},
    {"the names the macOS kernel reads are refused", the_names_the_macos_kernel_reads_are_refused},
    {"joining adds clean components", joining_adds_clean_components},
    {"joining refuses what is not below", joining_refuses_what_is_not_below},
    {"a path comes apart by components", a_path_comes_apart_by_components},
    {"containment is by whole components", containment_is_by_whole_components},
    {"macOS names compare without case", macos_names_compare_without_case},
    {"paths of different rules have nothing in common",
     paths_of_different_rules_have_nothing_in_common},
    {"parents come first, then siblings in order", parents_come_first_then_siblings_in_order},
    {"bytes that no path has still compare", bytes_that_no_path_has_still_compare},
    {"every problem has its own text", every_problem_has_its_own_text},
};

int main(int argc, char **argv)
{
    sbx_arena_init(&arena, (size_t)1 << 20);
    int status = sbx_test_main(argc, argv, "path", tests, SBX_COUNT(tests));
    sbx_arena_release(&arena);
    return status;
}
