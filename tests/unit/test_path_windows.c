/* Unit tests of common/base/path under Windows rules: each refused spelling is a known way round. */
#include "common/base/path.h"

#include <string.h>

#include "tests/check.h"

#include "common/base/banned.h"

static struct sbx_arena arena;

static enum sbx_path_problem problem_of(const char *text)
{
    struct sbx_path path;
    enum sbx_path_problem problem = sbx_path_make(&arena, SBX_PATH_WINDOWS, sbx_str(text), &path);
    sbx_arena_release(&arena);
    return problem;
}

static struct sbx_path make(const char *text)
{
    struct sbx_path path = {"(refused)", 0, SBX_PATH_WINDOWS};
    CHECK_INT(sbx_path_make(&arena, SBX_PATH_WINDOWS, sbx_str(text), &path), SBX_PATH_OK);
    return path;
}

/* The text is printed with the first problem that differs. */
static void check_all(const char *const *texts, size_t count, enum sbx_path_problem want)
{
    for (size_t i = 0; i < count; i++) {
        enum sbx_path_problem got = problem_of(texts[i]);
        if (got != want) {
            CHECK_TEXT(texts[i], sbx_path_problem_text(got));
        }
        CHECK_INT(got, want);
    }
}
#define CHECK_ALL(texts, want) check_all((texts), SBX_COUNT(texts), (want))

static void check_clean(const char *text, const char *want)
{
    CHECK_TEXT(make(text).text, want);
    sbx_arena_release(&arena);
}

static void a_path_is_cleaned(void)
{
    check_clean("C:\\", "C:\\");
    check_clean("c:/", "C:\\");
    check_clean("z:\\a", "Z:\\a");
    check_clean("C:/Users/me", "C:\\Users\\me");
    check_clean("c:\\\\a\\/b//", "C:\\a\\b");
    check_clean("C:\\.\\a\\.\\.", "C:\\a");
    check_clean("C:\\a b\\.c", "C:\\a b\\.c");
    check_clean("C:\\\xc3\x84\xc3\xb6\\\xf0\x9f\x98\x80", "C:\\\xc3\x84\xc3\xb6\\\xf0\x9f\x98\x80");
}

static void relative_and_drive_relative_paths_are_refused(void)
{
    static const char *const bad[] = {
        "a",    "\\",    "\\a",  "/a",     "C:",     "C:a",          "C:a\\b", "C:.",
        "C",    "1:\\a", ":\\a", "CC:\\a", "@:\\a",  "[:\\a",        "`:\\a",  "{:\\a",
        "C;\\", "C",     "NUL",  "\\?\\a", "\\.\\a", "\xc3\x89:\\a", ".\\a",   "?:\\a",
    };
    CHECK_ALL(bad, SBX_PATH_NOT_ABSOLUTE);
}

static void device_prefixes_are_refused(void)
{
    static const char *const bad[] = {
        "\\\\?\\C:\\x",
        "\\\\.\\C:\\x",
        "\\??\\C:\\x",
        "//?/C:/x",
        "//./C:/x",
        "/\?\?/C:/x",
        "\\/?\\C:\\x",
        "/\\./C:",
        "\\\\.\\pipe\\x",
        "\\\\?\\UNC\\s\\x",
        "\\\\?\\GLOBALROOT\\Device\\HarddiskVolume1",
        "\\\\.\\PhysicalDrive0",
        "\\\\?\\Volume{b75e2c83-0000-0000-0000-602f00000000}\\x",
        "\\\\.",
        "\\\\?",
        "\\??",
        "\\\\?\\",
    };
    CHECK_ALL(bad, SBX_PATH_DEVICE);
}

static void network_paths_are_refused(void)
{
    static const char *const bad[] = {
        "\\\\server\\share\\x",
        "//server/share",
        "\\/server\\share",
        "\\\\",
        "//",
        "\\\\..\\x",
        "\\\\wsl.localhost\\Debian",
        "\\\\?x\\y",
        "\\\\127.0.0.1\\c$",
        "\\\\.x\\y",
        "\\\\localhost@80\\dav",
        "\\\\\\x",
    };
    CHECK_ALL(bad, SBX_PATH_UNC);
}

static void streams_are_refused(void)
{
    static const char *const bad[] = {
        "C:\\a:b",          "C:\\a::$DATA", "C:\\a:b:$DATA",
        "C:\\:x",           "C:\\a\\b:",    "C:\\a::$INDEX_ALLOCATION\\b",
        "C:\\C:\\x",        "C:\\nul:",     "C:\\a:b\\c",
        "C:\\$i30:$bitmap",
    };
    CHECK_ALL(bad, SBX_PATH_STREAM);
}

static void wildcards_and_reserved_characters_are_refused(void)
{
    static const char *const bad[] = {
        "C:\\a*", "C:\\?", "C:\\a<b", "C:\\a>b", "C:\\a\"b", "C:\\a|b", "C:\\*\\x", "C:\\??\\C:",
    };
    CHECK_ALL(bad, SBX_PATH_RESERVED_CHAR);
}

static void names_that_windows_would_shorten_are_refused(void)
{
    static const char *const bad[] = {
        "C:\\a.",    "C:\\a ",    "C:\\a. .",   "C:\\...",  "C:\\.. ",    "C:\\. ",   "C:\\ ",
        "C:\\a \\b", "C:\\a.\\b", "C:\\a.txt.", "C:\\CON.", "C:\\a/b./c", "C:\\.. .", "C:\\....\\x",
    };
    CHECK_ALL(bad, SBX_PATH_TRAILING);
}

static void parent_components_are_refused(void)
{
    static const char *const bad[] = {"C:\\..", "C:\\a\\..\\b", "C:/a/../b", "C:\\a\\..", "C:/../"};
    CHECK_ALL(bad, SBX_PATH_DOTDOT);
}

static void device_names_are_refused_with_any_extension(void)
{
    static const char *const bad[] = {
        "C:\\CON",         "C:\\con",         "C:\\Con.txt",
        "C:\\con.tar.gz",  "C:\\a\\NUL",      "C:\\nul\\b",
        "C:\\PRN",         "C:\\aux.h",       "C:\\nul .txt",
        "C:\\nul   .a.b",  "C:\\COM0",        "C:\\COM1",
        "C:\\com9.log",    "C:\\LPT0",        "C:\\lpt1",
        "C:\\LPT9.x",      "C:\\COM\xc2\xb9", "C:\\com\xc2\xb2.txt",
        "C:\\LPT\xc2\xb3", "C:\\CONIN$",      "C:\\conout$",
        "C:\\CONIN$.txt",  "C:/x/aUx",        "C:\\NUL..txt",
        "C:\\COM5 .a",
    };
    CHECK_ALL(bad, SBX_PATH_DEVICE);
}

static void names_that_only_resemble_devices_are_fine(void)
{
    static const char *const good[] = {
        "C:\\CONSOLE",     "C:\\CO",           "C:\\xCON",      "C:\\CON-1",
        "C:\\COM",         "C:\\COM10",        "C:\\COMX",      "C:\\LPT",
        "C:\\LPT11.x",     "C:\\NULL",         "C:\\auxiliary", "C:\\x.con",
        "C:\\COM\xc2\xb4", "C:\\COM\302\2711", "C:\\.con",      "C:\\CONIN",
        "C:\\$CONIN$",     "C:\\COM1x",        "C:\\ CON",      "C:\\COM\xe2\x81\xb4",
        "C:\\_NUL",        "C:\\CLP1",
    };
    CHECK_ALL(good, SBX_PATH_OK);
}

static void names_that_may_be_short_names_are_refused(void)
{
    static const char *const bad[] = {
        "C:\\PROGRA~1",
        "C:\\progra~2\\x",
        "C:\\ADMINU~1",
        "C:\\A~1",
        "C:\\~1",
        "C:\\LONGNA~1.TXT",
        "C:\\A1B2~34.c",
        "C:\\ABCD~123",
        "C:\\a~0",
        "C:\\a~1.x",
        "C:\\x\\DOCUME~1",
        "C:\\a~999999",
        "C:\\\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4~1", /* 8 characters, not bytes */
    };
    CHECK_ALL(bad, SBX_PATH_SHORT_NAME);
}

static void names_that_cannot_be_short_names_are_fine(void)
{
    static const char *const good[] = {
        "C:\\PROGRAM~1", /* nine before the dot */
        "C:\\a~",        "C:\\~a",  "C:\\a~1b", "C:\\a~1.html", "C:\\backup~1.txt.old", "C:\\a.b~1",
        "C:\\file1",     "C:\\123", "C:\\a~b1", "C:\\~",        "C:\\v1.0~1.x",
    };
    CHECK_ALL(good, SBX_PATH_OK);
}

/* "C:" + count times ("\" + name), the name being `repeat` times `unit`. */
static struct sbx_str long_text(size_t count, const char *unit, size_t repeat)
{
    static char text[400000];
    size_t unit_len = strlen(unit);
    memcpy(text, "C:", 2);
    size_t at = 2;
    for (size_t i = 0; i < count; i++) {
        text[at++] = '\\';
        for (size_t k = 0; k < repeat; k++) {
            memcpy(text + at, unit, unit_len);
            at += unit_len;
        }
    }
    return (struct sbx_str){text, at};
}

static enum sbx_path_problem problem_of_long(size_t count, const char *unit, size_t repeat,
                                             size_t cut)
{
    struct sbx_path path;
    struct sbx_str text = long_text(count, unit, repeat);
    text.len -= cut;
    enum sbx_path_problem problem = sbx_path_make(&arena, SBX_PATH_WINDOWS, text, &path);
    sbx_arena_release(&arena);
    return problem;
}

static void lengths_count_utf16_units(void)
{
    CHECK_INT(problem_of_long(1, "n", 255, 0), SBX_PATH_OK);
    CHECK_INT(problem_of_long(1, "n", 256, 0), SBX_PATH_TOO_LONG);
    CHECK_INT(problem_of_long(1, "\xe6\xbc\xa2", 255, 0), SBX_PATH_OK);
    CHECK_INT(problem_of_long(1, "\xe6\xbc\xa2", 256, 0), SBX_PATH_TOO_LONG);
    CHECK_INT(problem_of_long(1, "\xf0\x9f\x98\x80", 127, 0), SBX_PATH_OK);
    CHECK_INT(problem_of_long(1, "\xf0\x9f\x98\x80", 128, 0), SBX_PATH_TOO_LONG);
    /* 2 + 128 * 256 = 32770 units; 32766 is the last that fits. */
    CHECK_INT(problem_of_long(128, "n", 255, 3), SBX_PATH_TOO_LONG);
    CHECK_INT(problem_of_long(128, "n", 255, 4), SBX_PATH_OK);
    CHECK_INT(problem_of_long(128, "\xc3\xa9", 255, 6), SBX_PATH_TOO_LONG);
    CHECK_INT(problem_of_long(128, "\xc3\xa9", 255, 8), SBX_PATH_OK);
}

static void the_root_of_a_drive_is_a_root(void)
{
    struct sbx_path path = make("d:\\a\\b");
    CHECK_U64(sbx_path_depth(path), 2);
    CHECK_STR(sbx_path_component(path, 0), "a");
    CHECK_STR(sbx_path_name(path), "b");
    path = sbx_path_parent(&arena, path);
    CHECK_TEXT(path.text, "D:\\a");
    path = sbx_path_parent(&arena, path);
    CHECK_TEXT(path.text, "D:\\");
    CHECK(sbx_path_is_root(path));
    CHECK_U64(sbx_path_depth(path), 0);
    CHECK_TEXT(sbx_path_parent(&arena, path).text, "D:\\");
    sbx_arena_release(&arena);
}

static void names_compare_without_case_and_drives_stay_apart(void)
{
    CHECK(sbx_path_eq(make("c:\\Users\\\xc3\x84"), make("C:/uSERS/\xc3\xa4")));
    CHECK(sbx_path_contains(make("C:\\"), make("c:\\x")));
    CHECK(sbx_path_contains(make("C:\\A"), make("c:\\a\\x")));
    CHECK(!sbx_path_contains(make("C:\\A"), make("c:\\ab")));
    CHECK(!sbx_path_contains(make("C:\\"), make("D:\\")));
    CHECK(!sbx_path_contains(make("C:\\"), make("D:\\a")));
    CHECK(sbx_path_compare(make("C:\\b"), make("C:\\A\\x")) > 0);
    CHECK(sbx_path_compare(make("C:\\A"), make("C:\\a\\x")) < 0);
    sbx_arena_release(&arena);
}

static void check_join(const char *base, const char *rest, const char *want)
{
    struct sbx_path path = {"(refused)", 9, SBX_PATH_WINDOWS};
    CHECK_INT(sbx_path_join(&arena, make(base), sbx_str(rest), &path), SBX_PATH_OK);
    CHECK_TEXT(path.text, want);
}

static void joining_takes_either_separator(void)
{
    check_join("C:\\", "a/b", "C:\\a\\b");
    check_join("C:\\a", "b\\.\\c\\", "C:\\a\\b\\c");
    check_join("C:\\a", ".", "C:\\a");
    sbx_arena_release(&arena);
}

static void joining_refuses_what_making_refuses(void)
{
    static const struct {
        const char *rest;
        enum sbx_path_problem problem;
    } bad[] = {
        {"", SBX_PATH_EMPTY},
        {"\\b", SBX_PATH_NOT_RELATIVE},
        {"/b", SBX_PATH_NOT_RELATIVE},
        {"\\\\s\\x", SBX_PATH_NOT_RELATIVE},
        {"\\??\\C:", SBX_PATH_NOT_RELATIVE},
        {"C:\\b", SBX_PATH_NOT_RELATIVE},
        {"d:/b", SBX_PATH_NOT_RELATIVE},
        {"C:b", SBX_PATH_STREAM},
        {"b:c", SBX_PATH_STREAM},
        {"..\\b", SBX_PATH_DOTDOT},
        {"b/..", SBX_PATH_DOTDOT},
        {"nul", SBX_PATH_DEVICE},
        {"b\\com1.txt", SBX_PATH_DEVICE},
        {"b.", SBX_PATH_TRAILING},
        {"b~1", SBX_PATH_SHORT_NAME},
        {"*", SBX_PATH_RESERVED_CHAR},
    };
    for (size_t i = 0; i < SBX_COUNT(bad); i++) {
        struct sbx_path path;
        CHECK_INT(sbx_path_join(&arena, make("C:\\a"), sbx_str(bad[i].rest), &path),
                  bad[i].problem);
    }
    sbx_arena_release(&arena);
}

static const struct sbx_test tests[] = {
    {"a path is cleaned", a_path_is_cleaned},
    {"relative and drive-relative paths are refused",
     relative_and_drive_relative_paths_are_refused},
    {"device prefixes are refused", device_prefixes_are_refused},
    {"network paths are refused", network_paths_are_refused},
    {"streams are refused", streams_are_refused},
    {"wildcards and reserved characters are refused",
     wildcards_and_reserved_characters_are_refused},
    {"names that Windows would shorten are refused", names_that_windows_would_shorten_are_refused},
    {"parent components are refused", parent_components_are_refused},
    {"device names are refused with any extension", device_names_are_refused_with_any_extension},
    {"names that only resemble devices are fine", names_that_only_resemble_devices_are_fine},
    {"names that may be short names are refused", names_that_may_be_short_names_are_refused},
    {"names that cannot be short names are fine", names_that_cannot_be_short_names_are_fine},
    {"lengths count UTF-16 units", lengths_count_utf16_units},
    {"the root of a drive is a root", the_root_of_a_drive_is_a_root},
    {"names compare without case and drives stay apart",
     names_compare_without_case_and_drives_stay_apart},
    {"joining takes either separator", joining_takes_either_separator},
    {"joining refuses what making refuses", joining_refuses_what_making_refuses},
};

int main(int argc, char **argv)
{
    sbx_arena_init(&arena, (size_t)1 << 20);
    int status = sbx_test_main(argc, argv, "path_windows", tests, SBX_COUNT(tests));
    sbx_arena_release(&arena);
    return status;
}
