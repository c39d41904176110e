/* Unit tests of common/base/buf. */
#include "common/base/buf.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "common/base/utf8.h"
#include "tests/check.h"
#include "tests/unit/malloc_may_fail.h"
#include "tests/unit/random.h"

#include "common/base/banned.h"

static void an_empty_buffer_is_an_empty_text(void)
{
    AUTO_BUF buf;
    sbx_buf_init(&buf, 10);
    CHECK_TEXT(sbx_buf_text(&buf), "");
    CHECK_STR(sbx_buf_str(&buf), "");
    CHECK(!buf.failed);
    CHECK(buf.data == NULL);
}

static void appends_add_up(void)
{
    AUTO_BUF buf;
    sbx_buf_init(&buf, 1000);
    sbx_buf_add(&buf, "ab\0c", 4);
    CHECK_MEM(sbx_buf_text(&buf), buf.len + 1, "ab\0c\0", 5);
    sbx_buf_reset(&buf);
    CHECK_TEXT(sbx_buf_text(&buf), "");
    sbx_buf_add_text(&buf, "one ");
    sbx_buf_add_text(&buf, NULL);
    sbx_buf_add_str(&buf, sbx_str("two "));
    sbx_buf_add_char(&buf, '3');
    sbx_buf_add_repeat(&buf, '.', 3);
    sbx_buf_printf(&buf, " %d %s", 4, "five");
    sbx_buf_add(&buf, NULL, 0);
    CHECK_TEXT(sbx_buf_text(&buf), "one two 3... 4 five");
    CHECK_STR(sbx_buf_str(&buf), "one two 3... 4 five");
}

static void the_maximum_can_be_reached_and_not_passed(void)
{
    for (size_t max = 0; max < 200; max++) {
        AUTO_BUF buf;
        sbx_buf_init(&buf, max);
        for (size_t i = 0; i < max; i++) {
            sbx_buf_add_char(&buf, 'x');
        }
        CHECK(!buf.failed);
        CHECK_U64(buf.len, max);
        CHECK(buf.cap <= max + 1);
        sbx_buf_add_char(&buf, 'y');
        CHECK(buf.failed);
        CHECK_U64(buf.len, max);
        CHECK_U64(strlen(sbx_buf_text(&buf)), max);
    }
}

static void a_failure_is_sticky_and_the_content_is_a_prefix(void)
{
    AUTO_BUF buf;
    sbx_buf_init(&buf, 8);
    sbx_buf_add_text(&buf, "12345");
    sbx_buf_add_text(&buf, "6789");
    CHECK(buf.failed);
    CHECK_TEXT(sbx_buf_text(&buf), "12345");
    sbx_buf_add_char(&buf, '6');
    sbx_buf_add_repeat(&buf, '6', 1);
    sbx_buf_add_str(&buf, sbx_str("6"));
    sbx_buf_printf(&buf, "%d", 6);
    sbx_buf_add_visible(&buf, sbx_str("6"), true);
    CHECK_TEXT(sbx_buf_text(&buf), "12345");
    CHECK(buf.failed);
}

static void every_kind_of_append_can_be_the_one_that_fails(void)
{
    for (int kind = 0; kind < 5; kind++) {
        AUTO_BUF buf;
        sbx_buf_init(&buf, 3);
        sbx_buf_add_text(&buf, "abc");
        switch (kind) {
        case 0:
            sbx_buf_add_char(&buf, 'd');
            break;
        case 1:
            sbx_buf_add_repeat(&buf, 'd', SIZE_MAX);
            break;
        case 2:
            sbx_buf_add(&buf, "d", 1);
            break;
        case 3:
            sbx_buf_printf(&buf, "%s", "defghijklmnopqrstuvwxyz");
            break;
        default:
            sbx_buf_add_visible(&buf, sbx_str("d"), false);
            break;
        }
        CHECK(buf.failed);
        CHECK_TEXT(sbx_buf_text(&buf), "abc");
    }
}

static void printing_into_an_empty_full_buffer_fails_cleanly(void)
{
    AUTO_BUF buf;
    sbx_buf_init(&buf, 0);
    sbx_buf_printf(&buf, "%s", "");
    CHECK(!buf.failed);
    sbx_buf_printf(&buf, "%s", "x");
    CHECK(buf.failed);
    CHECK_TEXT(sbx_buf_text(&buf), "");
}

static void a_print_that_fails_leaves_no_trace(void)
{
    AUTO_BUF buf;
    sbx_buf_init(&buf, 70);
    sbx_buf_add_text(&buf, "start");
    sbx_buf_printf(&buf, "%0100d", 1);
    CHECK(buf.failed);
    CHECK_TEXT(sbx_buf_text(&buf), "start");
}

static void printing_grows_as_needed(void)
{
    AUTO_BUF buf;
    sbx_buf_init(&buf, 100000);
    for (int width = 1; width < 300; width++) {
        sbx_buf_printf(&buf, "%0*d", width, 7);
    }
    CHECK(!buf.failed);
    CHECK_U64(buf.len, 299 * 300 / 2);
    CHECK_U64(strlen(sbx_buf_text(&buf)), 299 * 300 / 2);
}

static void reset_clears_the_failure_and_keeps_the_storage(void)
{
    AUTO_BUF buf;
    sbx_buf_init(&buf, 4);
    sbx_buf_reset(&buf);
    CHECK_TEXT(sbx_buf_text(&buf), "");
    sbx_buf_add_text(&buf, "1234");
    sbx_buf_add_char(&buf, '5');
    char *data = buf.data;
    sbx_buf_reset(&buf);
    CHECK(!buf.failed);
    CHECK(buf.data == data);
    sbx_buf_add_text(&buf, "ok");
    CHECK_TEXT(sbx_buf_text(&buf), "ok");
}

static void the_check_at_the_end_tells(void)
{
    AUTO_BUF buf;
    struct sbx_err err = {0};
    sbx_buf_init(&buf, 2);
    sbx_buf_add_text(&buf, "ab");
    CHECK_CODE(sbx_buf_check(&buf, &err), SBX_OK, &err);
    CHECK_INT(err.code, SBX_OK);
    sbx_buf_add_text(&buf, "c");
    CHECK_CODE(sbx_buf_check(&buf, &err), SBX_E_NOMEM, &err);
    CHECK_CODE(sbx_buf_check(&buf, NULL), SBX_E_NOMEM, NULL);
    CHECK_TEXT(err.text, "a text does not fit into 2 bytes of memory");
}

static void a_malloc_that_fails_is_sticky_too(void)
{
    AUTO_BUF buf;
    sbx_buf_init(&buf, SIZE_MAX);
    sbx_buf_add_text(&buf, "kept");
    sbx_buf_add_repeat(&buf, 'x', SIZE_MAX / 4 - 4);
    CHECK(buf.failed);
    CHECK_TEXT(sbx_buf_text(&buf), "kept");
    sbx_buf_reset(&buf);
    sbx_buf_add_repeat(&buf, 'x', SIZE_MAX);
    CHECK(buf.failed);
}

static void release_twice_is_harmless(void)
{
    struct sbx_buf buf;
    sbx_buf_init(&buf, 100);
    sbx_buf_add_text(&buf, "x");
    sbx_buf_release(&buf);
    CHECK(buf.data == NULL);
    CHECK_U64(buf.max, 100);
    sbx_buf_release(&buf);
    sbx_buf_release(NULL);
}

struct visible_case {
    const char *text;
    const char *plain;
    const char *quoted;
};

static void check_visible(const struct visible_case *c)
{
    AUTO_BUF buf;
    sbx_buf_init(&buf, 1000);
    sbx_buf_add_visible(&buf, sbx_str(c->text), false);
    CHECK_TEXT(sbx_buf_text(&buf), c->plain);
    sbx_buf_reset(&buf);
    sbx_buf_add_visible(&buf, sbx_str(c->text), true);
    CHECK_TEXT(sbx_buf_text(&buf), c->quoted);
}

static void what_could_harm_a_terminal_is_escaped(void)
{
    static const struct visible_case cases[] = {
        {"", "", "\"\""},
        {"plain \xc3\xa9 \xe6\xbc\xa2 \xf0\x9f\x98\x80",
         "plain \xc3\xa9 \xe6\xbc\xa2 \xf0\x9f\x98\x80",
         "\"plain \xc3\xa9 \xe6\xbc\xa2 \xf0\x9f\x98\x80\""},
        {"a\nb\rc\td", "a\\nb\\rc\\td", "\"a\\nb\\rc\\td\""},
        {"\x1b[31mred\x07", "\\x1b[31mred\\x07", "\"\\x1b[31mred\\x07\""},
        {"\x7f", "\\x7f", "\"\\x7f\""},
        {"\xc2\x9bz", "\\u{9b}z", "\"\\u{9b}z\""},
        {"a\xe2\x80\xaez\xe2\x80\xac", "a\\u{202e}z\\u{202c}", "\"a\\u{202e}z\\u{202c}\""},
        {"\xe2\x81\xa6\xe2\x80\x8b\xe2\x81\xa9\xef\xbb\xbf", "\\u{2066}\\u{200b}\\u{2069}\\u{feff}",
         "\"\\u{2066}\\u{200b}\\u{2069}\\u{feff}\""},
        {"\xe2\x80\xa8\xe2\x80\xa9", "\\u{2028}\\u{2029}", "\"\\u{2028}\\u{2029}\""},
        {"\xf3\xa0\x81\x81", "\\u{e0041}", "\"\\u{e0041}\""},
        {"say \"hi\" \\", "say \"hi\" \\", "\"say \\\"hi\\\" \\\\\""},
        {"\xff"
         "a\xc0\x80",
         "\\xffa\\xc0\\x80", "\"\\xffa\\xc0\\x80\""},
        {"\xed\xa0\x80", "\\xed\\xa0\\x80", "\"\\xed\\xa0\\x80\""},
        {"cut \xe6\xbc", "cut \\xe6\\xbc", "\"cut \\xe6\\xbc\""},
    };
    for (size_t i = 0; i < SBX_COUNT(cases); i++) {
        check_visible(&cases[i]);
    }
}

static void a_nul_byte_is_shown(void)
{
    AUTO_BUF buf;
    sbx_buf_init(&buf, 100);
    sbx_buf_add_visible(&buf, (struct sbx_str){"a\0b", 3}, false);
    CHECK_TEXT(sbx_buf_text(&buf), "a\\x00b");
    sbx_buf_add_visible(&buf, (struct sbx_str){NULL, 0}, false);
    CHECK_TEXT(sbx_buf_text(&buf), "a\\x00b");
}

/* Whatever the bytes, what comes out is valid UTF-8 without any unsafe character. */
static void visible_text_is_safe_whatever_the_bytes(void)
{
    uint64_t seed = 42;
    unsigned wrong = 0;
    AUTO_BUF buf;
    sbx_buf_init(&buf, 1000);
    for (unsigned round = 0; round < 20000; round++) {
        char bytes[24];
        size_t len = random_below(&seed, sizeof bytes);
        for (size_t i = 0; i < len; i++) {
            bytes[i] = (char)(random_next(&seed) >> 20);
        }
        sbx_buf_reset(&buf);
        sbx_buf_add_visible(&buf, (struct sbx_str){bytes, len}, round % 2 == 0);
        wrong += buf.failed;
        for (size_t at = 0; at < buf.len;) {
            uint32_t character = 0;
            size_t step = sbx_utf8_decode(buf.data + at, buf.len - at, &character);
            wrong += step == 0 || sbx_utf8_is_unsafe(character);
            at += step == 0 ? 1 : step;
        }
    }
    CHECK_U64(wrong, 0);
}

#ifndef _WIN32 /* that C library prints anything */
/* Half of a pair is no character in any encoding. */
static const wchar_t bad_wide[] = {0xdc00, 0};
static void a_print_that_cannot_be_made_fails(void)
{
    AUTO_BUF buf;
    sbx_buf_init(&buf, 100);
    sbx_buf_printf(&buf, "a %ls", bad_wide);
    CHECK(buf.failed);
    CHECK_TEXT(sbx_buf_text(&buf), "");
    sbx_buf_reset(&buf);
    sbx_buf_add_text(&buf, "kept");
    sbx_buf_printf(&buf, "a %ls", bad_wide);
    CHECK(buf.failed);
    CHECK_TEXT(sbx_buf_text(&buf), "kept");
}
#endif

static void reserved_room_moves_nothing_and_is_no_promise_beyond_the_maximum(void)
{
    AUTO_BUF buf;
    sbx_buf_init(&buf, 1000);
    sbx_buf_add_text(&buf, "abc");
    sbx_buf_reserve(&buf, 500);
    const char *data = buf.data;
    sbx_buf_add_repeat(&buf, 'x', 497);
    CHECK(buf.data == data);
    CHECK_U64(buf.len, 500);
    sbx_buf_reserve(&buf, 10); /* never less than there is */
    CHECK_INT(strncmp(sbx_buf_text(&buf), "abcx", 4), 0);
    sbx_buf_reserve(&buf, SIZE_MAX);
    CHECK(!buf.failed);
    sbx_buf_add_repeat(&buf, 'x', 501);
    CHECK(buf.failed);
}

static const struct sbx_test tests[] = {
    {"an empty buffer is an empty text", an_empty_buffer_is_an_empty_text},
    {"appends add up", appends_add_up},
    {"the maximum can be reached and not passed", the_maximum_can_be_reached_and_not_passed},
    {"a failure is sticky and the content is a prefix",
     a_failure_is_sticky_and_the_content_is_a_prefix},
    {"every kind of append can be the one that fails",
     every_kind_of_append_can_be_the_one_that_fails},
    {"printing into an empty full buffer fails cleanly",
     printing_into_an_empty_full_buffer_fails_cleanly},
    {"a print that fails leaves no trace", a_print_that_fails_leaves_no_trace},
    {"printing grows as needed", printing_grows_as_needed},
    {"reset clears the failure and keeps the storage",
     reset_clears_the_failure_and_keeps_the_storage},
    {"the check at the end tells", the_check_at_the_end_tells},
    {"a malloc that fails is sticky too", a_malloc_that_fails_is_sticky_too},
    {"release twice is harmless", release_twice_is_harmless},
    {"what could harm a terminal is escaped", what_could_harm_a_terminal_is_escaped},
    {"a NUL byte is shown", a_nul_byte_is_shown},
    {"visible text is safe whatever the bytes", visible_text_is_safe_whatever_the_bytes},
#ifndef _WIN32
    {"a print that cannot be made fails", a_print_that_cannot_be_made_fails},
#endif
    {"reserved room moves nothing and is no promise beyond the maximum",
     reserved_room_moves_nothing_and_is_no_promise_beyond_the_maximum},
};

SBX_TEST_MAIN("buf", tests)
