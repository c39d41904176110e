/* Unit tests of common/base/str. */
#include "common/base/str.h"

#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "tests/check.h"
#include "tests/unit/random.h"

#include "common/base/banned.h"

static const struct sbx_str none = {NULL, 0};

static void null_is_the_empty_view(void)
{
    CHECK_U64(sbx_str(NULL).len, 0);
    CHECK(sbx_str_eq(sbx_str(NULL), sbx_str("")));
    CHECK(sbx_str_is(none, ""));
    CHECK(sbx_str_is_nocase(none, ""));
    CHECK(sbx_str_starts(none, ""));
    CHECK(sbx_str_ends(none, ""));
    CHECK(sbx_str_contains(none, ""));
    CHECK(!sbx_str_contains(none, "a"));
    CHECK_INT(sbx_str_compare(none, sbx_str("")), 0);
    CHECK(!sbx_str_starts(none, "a"));
    CHECK(!sbx_str_ends(none, "a"));
}

static void equality_is_of_bytes_and_length(void)
{
    CHECK(sbx_str_is(sbx_str("abc"), "abc"));
    CHECK(!sbx_str_is(sbx_str("abc"), "abd"));
    CHECK(!sbx_str_is(sbx_str("abc"), "ab"));
    CHECK(!sbx_str_is(sbx_str("abc"), "ABC"));
    CHECK(!sbx_str_is((struct sbx_str){"ab\0c", 4}, "ab"));
    CHECK(sbx_str_eq((struct sbx_str){"abX", 2}, (struct sbx_str){"abY", 2}));
}

static void ignoring_case_concerns_ascii_letters_only(void)
{
    CHECK(sbx_str_is_nocase(sbx_str("HeLLo-9"), "hEllO-9"));
    CHECK(!sbx_str_is_nocase(sbx_str("hello"), "hell"));
    CHECK(!sbx_str_is_nocase(sbx_str("hello"), "jello"));
    CHECK(!sbx_str_is_nocase(sbx_str("@"), "`"));
    CHECK(!sbx_str_is_nocase(sbx_str("["), "{"));
    CHECK(!sbx_str_is_nocase(sbx_str("\xc3\x89"), "\xc3\xa9"));
}

static void prefixes_suffixes_and_parts_are_found(void)
{
    CHECK(sbx_str_starts(sbx_str("abc"), "ab"));
    CHECK(sbx_str_starts(sbx_str("abc"), "abc"));
    CHECK(!sbx_str_starts(sbx_str("abc"), "abcd"));
    CHECK(!sbx_str_starts(sbx_str("abc"), "b"));
    CHECK(sbx_str_ends(sbx_str("abc"), "bc"));
    CHECK(sbx_str_ends(sbx_str("abc"), ""));
    CHECK(!sbx_str_ends(sbx_str("abc"), "xabc"));
    CHECK(!sbx_str_ends(sbx_str("abc"), "b"));
    CHECK(sbx_str_contains(sbx_str("abc"), "b"));
    CHECK(sbx_str_contains(sbx_str("aab"), "ab"));
    CHECK(sbx_str_contains(sbx_str("aaaab"), "aab"));
    CHECK(sbx_str_contains(sbx_str("abc"), "abc"));
    CHECK(!sbx_str_contains(sbx_str("abc"), "abcd"));
    CHECK(!sbx_str_contains(sbx_str("abc"), "ac"));
    CHECK(!sbx_str_contains(sbx_str("aaa"), "ab"));
    CHECK(!sbx_str_contains((struct sbx_str){"abc", 2}, "bc"));
    CHECK(!sbx_str_contains((struct sbx_str){"abc", 2}, "c"));
}

static int sign(int number)
{
    return (number > 0) - (number < 0);
}

static void order_is_by_unsigned_bytes_then_length(void)
{
    CHECK_INT(sign(sbx_str_compare(sbx_str("a"), sbx_str("b"))), -1);
    CHECK_INT(sign(sbx_str_compare(sbx_str("b"), sbx_str("a"))), 1);
    CHECK_INT(sign(sbx_str_compare(sbx_str("a"), sbx_str("ab"))), -1);
    CHECK_INT(sign(sbx_str_compare(sbx_str("ab"), sbx_str("a"))), 1);
    CHECK_INT(sign(sbx_str_compare(sbx_str("a"), sbx_str("a"))), 0);
    CHECK_INT(sign(sbx_str_compare(sbx_str("z"), sbx_str("\xc3\xa9"))), -1);
    CHECK_INT(sign(sbx_str_compare(none, sbx_str("a"))), -1);
}

static void null_equals_only_null(void)
{
    CHECK(sbx_text_eq(NULL, NULL));
    CHECK(!sbx_text_eq(NULL, ""));
    CHECK(!sbx_text_eq("", NULL));
    CHECK(sbx_text_eq("a", "a"));
    CHECK(!sbx_text_eq("a", "b"));
}

static void numbers_are_decimal_digits_without_overflow(void)
{
    static const struct {
        const char *text;
        uint64_t number;
    } good[] = {
        {"0", 0},
        {"7", 7},
        {"007", 7},
        {"1234567890", 1234567890},
        {"18446744073709551615", UINT64_MAX},
        {"00000000000000000000000018446744073709551615", UINT64_MAX},
    };
    static const char *const bad[] = {
        "",
        "-1",
        "+1",
        " 1",
        "1 ",
        "1a",
        "0x10",
        "1.0",
        "1e3",
        "18446744073709551616",
        "99999999999999999999",
        "184467440737095516150",
        "\xd9\xa1",
    };
    for (size_t i = 0; i < SBX_COUNT(good); i++) {
        uint64_t number = 99;
        CHECK(sbx_str_to_u64(sbx_str(good[i].text), &number));
        CHECK_U64(number, good[i].number);
    }
    for (size_t i = 0; i < SBX_COUNT(bad); i++) {
        uint64_t number = 99;
        CHECK(!sbx_str_to_u64(sbx_str(bad[i]), &number));
        CHECK_U64(number, 99);
    }
}

static void splitting_is_at_the_first_separator(void)
{
    struct sbx_str head;
    struct sbx_str tail;
    CHECK(sbx_str_split(sbx_str("a=b=c"), '=', &head, &tail));
    CHECK_STR(head, "a");
    CHECK_STR(tail, "b=c");
    CHECK(sbx_str_split(sbx_str("=x"), '=', &head, &tail));
    CHECK_STR(head, "");
    CHECK_STR(tail, "x");
    CHECK(sbx_str_split(sbx_str("x="), '=', &head, &tail));
    CHECK_STR(head, "x");
    CHECK_STR(tail, "");
    CHECK(!sbx_str_split(sbx_str("abc"), '=', &head, &tail));
    CHECK_STR(head, "abc");
    CHECK_STR(tail, "");
    CHECK(!sbx_str_split(none, '=', &head, &tail));
    CHECK_STR(head, "");
    CHECK_STR(tail, "");
}

static size_t distance(const char *a, const char *b)
{
    return sbx_str_distance(sbx_str(a), sbx_str(b));
}

static void distance_counts_edits_and_swaps(void)
{
    CHECK_U64(distance("", ""), 0);
    CHECK_U64(distance("abc", "abc"), 0);
    CHECK_U64(distance("", "abc"), 3);
    CHECK_U64(distance("abc", ""), 3);
    CHECK_U64(distance("abc", "abd"), 1);
    CHECK_U64(distance("abc", "ac"), 1);
    CHECK_U64(distance("ac", "abc"), 1);
    CHECK_U64(distance("ab", "ba"), 1);
    CHECK_U64(distance("network", "netwrok"), 1);
    CHECK_U64(distance("kitten", "sitting"), 3);
    CHECK_U64(distance("ca", "abc"), 3); /* optimal string alignment, not Damerau */
}

static void distance_is_symmetric_and_bounded(void)
{
    uint64_t seed = 7;
    unsigned wrong = 0;
    for (unsigned round = 0; round < 3000; round++) {
        char bytes[2][64];
        struct sbx_str text[2];
        for (size_t k = 0; k < 2; k++) {
            size_t len = random_below(&seed, sizeof bytes[k] + 1);
            for (size_t i = 0; i < len; i++) {
                bytes[k][i] = (char)('a' + random_below(&seed, 3));
            }
            text[k] = (struct sbx_str){bytes[k], len};
        }
        size_t one = sbx_str_distance(text[0], text[1]);
        size_t longer = text[0].len > text[1].len ? text[0].len : text[1].len;
        size_t shorter = text[0].len + text[1].len - longer;
        wrong += one != sbx_str_distance(text[1], text[0]);
        wrong += one > longer || one < longer - shorter;
        wrong += (one == 0) != sbx_str_eq(text[0], text[1]);
    }
    CHECK_U64(wrong, 0);
}

static void distance_of_long_names_is_not_computed(void)
{
    char text[66];
    memset(text, 'a', 65);
    text[65] = '\0';
    CHECK(distance(text, "a") == SIZE_MAX);
    CHECK(distance("a", text) == SIZE_MAX);
    text[64] = '\0';
    CHECK_U64(distance(text, "a"), 63);
    CHECK_U64(distance(text, text), 0);
}

static void character_classes_are_ascii_only(void)
{
    unsigned digits = 0;
    unsigned letters = 0;
    unsigned both = 0;
    unsigned changed = 0;
    for (int c = -128; c < 128; c++) {
        digits += sbx_is_digit((char)c);
        letters += sbx_is_alpha((char)c);
        both += sbx_is_alnum((char)c);
        changed += sbx_to_lower((char)c) != (char)c;
    }
    CHECK_U64(digits, 10);
    CHECK_U64(letters, 52);
    CHECK_U64(both, 62);
    CHECK_U64(changed, 26);
    CHECK_INT(sbx_to_lower('Q'), 'q');
    CHECK(!sbx_is_digit('/') && !sbx_is_digit(':'));
}

static void formatting_cuts_at_a_character_and_says_so(void)
{
    char out[8];
    sbx_text_format(out, sizeof out, "%s", "1234567");
    CHECK_TEXT(out, "1234567");
    sbx_text_format(out, sizeof out, "%s", "12345678");
    CHECK_TEXT(out, "1234\xe2\x80\xa6");
    sbx_text_format(out, sizeof out, "%s", "123\xc3\xa9zzzz");
    CHECK_TEXT(out, "123\xe2\x80\xa6");
    sbx_text_format(out, sizeof out, "%s", "12\xc3\xa9zzzz");
    CHECK_TEXT(out, "12\xc3\xa9\xe2\x80\xa6");
    sbx_text_format(out, sizeof out, "%s", "\xf0\x9f\x98\x80\xf0\x9f\x98\x80");
    CHECK_TEXT(out, "\xf0\x9f\x98\x80\xe2\x80\xa6");
    sbx_text_format(out, sizeof out, "%s", "1\xf0\x9f\x98\x80\xf0\x9f\x98\x80");
    CHECK_TEXT(out, "1\xe2\x80\xa6");
}

static void formatting_into_almost_nothing_is_cut_without_a_mark(void)
{
    char out[5] = "....";
    sbx_text_format(out, 1, "%s", "abc");
    CHECK_TEXT(out, "");
    sbx_text_format(out, 3, "%s", "abcdef");
    CHECK_TEXT(out, "ab");
    sbx_text_format(out, 4, "%s", "abcdef");
    CHECK_TEXT(out, "abc");
    sbx_text_format(out, 5, "%s", "abcdef");
    CHECK_TEXT(out, "a\xe2\x80\xa6");
}

#ifndef _WIN32 /* that C library prints anything */
/* Half of a pair is no character in any encoding. */
static const wchar_t bad_wide[] = {0xdc00, 0};
static void a_text_that_cannot_be_made_says_so(void)
{
    char out[40];
    sbx_text_format(out, sizeof out, "a %ls", bad_wide);
    CHECK_TEXT(out, "(this text cannot be shown)");
    sbx_text_format(out, 6, "a %ls", bad_wide);
    CHECK_TEXT(out, "(this");
}
#endif

static const struct sbx_test tests[] = {
    {"NULL is the empty view", null_is_the_empty_view},
    {"equality is of bytes and length", equality_is_of_bytes_and_length},
    {"ignoring case concerns ASCII letters only", ignoring_case_concerns_ascii_letters_only},
    {"prefixes, suffixes and parts are found", prefixes_suffixes_and_parts_are_found},
    {"order is by unsigned bytes, then length", order_is_by_unsigned_bytes_then_length},
    {"NULL equals only NULL", null_equals_only_null},
    {"numbers are decimal digits without overflow", numbers_are_decimal_digits_without_overflow},
    {"splitting is at the first separator", splitting_is_at_the_first_separator},
    {"distance counts edits and swaps", distance_counts_edits_and_swaps},
    {"distance is symmetric and bounded", distance_is_symmetric_and_bounded},
    {"distance of long names is not computed", distance_of_long_names_is_not_computed},
    {"character classes are ASCII only", character_classes_are_ascii_only},
    {"formatting cuts at a character and says so", formatting_cuts_at_a_character_and_says_so},
    {"formatting into almost nothing is cut without a mark",
     formatting_into_almost_nothing_is_cut_without_a_mark},
#ifndef _WIN32
    {"a text that cannot be made says so", a_text_that_cannot_be_made_says_so},
#endif
};

SBX_TEST_MAIN("str", tests)
