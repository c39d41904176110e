/* The strict reader of JSON lines: what it refuses, what it hands out. */
#include <stdlib.h>
#include <string.h>

#include "common/wire/json_scan.h"
#include "common/wire/json_string.h"
#include "tests/check.h"

#include "common/base/banned.h"

static struct sbx_json_reader reader;

/* Every text stands in memory of just its size, so that a sanitizer sees a read behind it. */
static enum sbx_code check(const char *text, size_t len)
{
    char *copy = malloc(len == 0 ? 1 : len);
    if (copy == NULL) abort();
    memcpy(copy, text, len);
    enum sbx_code code = sbx_json_check(&reader, (struct sbx_str){copy, len}, NULL);
    free(copy);
    return code;
}

static void check_all(const char *const *texts, size_t count, enum sbx_code want)
{
    for (size_t i = 0; i < count; i++)
        if (check(texts[i], strlen(texts[i])) != want) {
            CHECK_TEXT(texts[i], want == SBX_OK ? "is accepted" : "is refused");
        } else {
            CHECK(true);
        }
}

static const char *const good[] = {
    "{}",
    " {\t}\r",
    "{\"a\":1}",
    "{\"a\":-1,\"b\":0,\"c\":[1,2,[3,{}]],\"d\":null,\"e\":true,\"f\":false}",
    "{\"\":\"\"}",
    "{\"a\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00\"}",
    "{\"a\":\"\xc3\xa9\xf0\x9f\x98\x80\xef\xbf\xbd\"}",
    "{\"n\":9007199254740992,\"m\":-9007199254740992,\"z\":-0}",
    "{ \"a\" : [ 1 , 2 ] , \"b\" : { } }",
    "{\"a\":\"0123456789012345678901234567890123456789012345678901234567890123456789\"}",
    "{\"a\":1,\"A\":2,\"a \":3,\"\\u0000\":4,\"aa\":5}",
};

static const char *const bad[] = {
    "",
    " ",
    "[]",
    "1",
    "\"a\"",
    "null",
    "true",
    "{",
    "}",
    "{}{}",
    "{},",
    "{} x",
    "\xef\xbb\xbf{}",
    "{\"a\"}",
    "{\"a\":}",
    "{\"a\":1,}",
    "{,}",
    "{a:1}",
    "{'a':1}",
    "{1:1}",
    "{\"a\" 1}",
    "{\"a\":1 \"b\":2}",
    "{\"a\":[1,]}",
    "{\"a\":[,1]}",
    "{\"a\":[1 2]}",
    "{\"a\":[1}",
    "{\"a\":[1]]}",
    "{\"a\":tru}",
    "{\"a\":True}",
    "{\"a\":nul}",
    "{\"a\":truex}",
    "{\"a\":NaN}",
    "{\"a\":Infinity}",
    "{\"a\":01}",
    "{\"a\":-01}",
    "{\"a\":+1}",
    "{\"a\":-}",
    "{\"a\":1.0}",
    "{\"a\":1e3}",
    "{\"a\":1E3}",
    "{\"a\":.5}",
    "{\"a\":1.}",
    "{\"a\":0x10}",
    "{\"a\":9007199254740993}",
    "{\"a\":-9007199254740993}",
    "{\"a\":99999999999999999999999999999999}",
    "{\"a\":\"",
    "{\"a\":\"x}",
    "{\"a\":\"\\x\"}",
    "{\"a\":\"\\u12\"}",
    "{\"a\":\"\\u12g4\"}",
    "{\"a\":\"\\\"}",
    "{\"a\":\"\\ud800\"}",
    "{\"a\":\"\\udc00\"}",
    "{\"a\":\"\\ud800\\u0041\"}",
    "{\"a\":\"\\ud800x\"}",
    "{\"a\":\"\\ude00\\ud83d\"}",
    "{\"a\":\"\\ud83d\\\"}",
    "{\"a\":\"\t\"}",
    "{\"a\":\"\x01\"}",
    "{\"a\":\"\n\"}",
    "{\"a\":\"\x80\"}",
    "{\"a\":\"\xc0\x80\"}",
    "{\"a\":\"\xed\xa0\x80\"}",
    "{\"a\":\"\xf4\x90\x80\x80\"}",
    "{\"a\":\"\xc3\"}",
    "{\"a\":\"\xff\"}",
    "{\"a\":1,\"a\":1}",
    "{\"a\":1,\"b\":2,\"a\":3}",
    "{\"x\":{\"a\":1,\"a\":1}}",
    "{\"x\":[{\"a\":1,\"a\":1}]}",
    "{\"a\":1,\"\\u0061\":1}",
    "{\"\\u0061\":1,\"\\u0061\":1}",
    "{\"\xc3\xa9\":1,\"\\u00e9\":1}",
    "{\"\\ud83d\\ude00\":1,\"\xf0\x9f\x98\x80\":1}",
    "{\"/\":1,\"\\/\":1}",
    "{\"\":1,\"\":2}",
    "{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,\"i\":1,\"\\u0063\":1}",
    "{\"a\":1}\v",
    "{\f}",
    "{/*x*/}",
    "{\"a\":1}//",
};

static void what_is_one_strict_object_is_accepted(void)
{
    check_all(good, SBX_COUNT(good), SBX_OK);
}

static void everything_else_is_refused(void)
{
    for (size_t i = 0; i < SBX_COUNT(bad); i++) {
        struct sbx_err err = {0};
        enum sbx_code code = sbx_json_check(&reader, sbx_str(bad[i]), &err);
        CHECK(code == SBX_E_SYNTAX && err.code == code && strstr(err.text, "at byte") != NULL);
        if (check(bad[i], strlen(bad[i])) == SBX_OK) CHECK_TEXT(bad[i], "is refused");
    }
    CHECK_INT(check("{\"a\0b\":1}", 9), SBX_E_SYNTAX);
    CHECK_INT(check("{}\0", 3), SBX_E_SYNTAX);
}

static void no_part_of_a_right_text_is_accepted(void)
{
    for (size_t i = 0; i < SBX_COUNT(good); i++) {
        size_t whole = strlen(good[i]);
        while (good[i][whole - 1] != '}') whole--;
        for (size_t len = 0; len < whole; len++) CHECK(check(good[i], len) != SBX_OK);
    }
}

static void levels_are_bounded(void)
{
    char text[2 * 40 + 8];
    for (size_t levels = 31; levels <= 33; levels++) {
        size_t len = 0;
        memcpy(text, "{\"a\":", 5);
        len = 5;
        memset(text + len, '[', levels - 1);
        len += levels - 1;
        memset(text + len, ']', levels - 1);
        len += levels - 1;
        text[len++] = '}';
        CHECK_INT(check(text, len), levels <= SBX_JSON_LEVELS ? SBX_OK : SBX_E_LIMIT);
    }
}

/* `count` members with long names that begin alike, one of them twice when `twin`. */
static enum sbx_code check_members(size_t count, bool twin)
{
    AUTO_BUF text;
    sbx_buf_init(&text, 16u << 20);
    for (size_t i = 0; i < count; i++)
        sbx_buf_printf(&text, "%s\"a name that begins as all the others do: %06zu\":0",
                       i == 0 ? "{" : ",", (i * 7919) % count);
    if (twin)
        sbx_buf_printf(&text, ",\"a name that begins as \\u0061ll the others do: %06zu\":0",
                       count / 2);
    sbx_buf_add_char(&text, '}');
    return sbx_json_check(&reader, sbx_buf_str(&text), NULL);
}

static void members_are_bounded_and_none_comes_twice(void)
{
    static const size_t counts[] = {1, 2, 7, 8, 9, 10, 100, 1001};
    for (size_t i = 0; i < SBX_COUNT(counts); i++) {
        CHECK_INT(check_members(counts[i], false), SBX_OK);
        CHECK_INT(check_members(counts[i], true), SBX_E_SYNTAX);
    }
    CHECK_INT(check_members(SBX_JSON_MEMBERS, false), SBX_OK);
    CHECK_INT(check_members(SBX_JSON_MEMBERS + 1, false), SBX_E_LIMIT);
    CHECK_INT(check_members(SBX_JSON_MEMBERS - 1, true), SBX_E_SYNTAX);
}

static void a_fault_is_found_wherever_it_stands_in_a_long_string(void)
{
    static const struct {
        char byte;
        enum sbx_code want;
    } rows[] = {{'x', SBX_OK},        {'"', SBX_E_SYNTAX},   {'\\', SBX_E_SYNTAX},
                {'\n', SBX_E_SYNTAX}, {'\0', SBX_E_SYNTAX},  {'\x80', SBX_E_SYNTAX},
                {'\x7f', SBX_OK},     {'\x1f', SBX_E_SYNTAX}};
    char text[160];
    for (size_t r = 0; r < SBX_COUNT(rows); r++)
        for (size_t at = 6; at < sizeof text - 2; at++) {
            memset(text, 'x', sizeof text);
            memcpy(text, "{\"a\":\"", 6);
            memcpy(text + sizeof text - 2, "\"}", 2);
            text[at] = rows[r].byte;
            CHECK_INT(check(text, sizeof text), rows[r].want);
        }
}

static void a_walk_gives_members_and_items_in_order(void)
{
    char text[] =
        " { \"a\" : [1, \"]}\\\"\" ,{\"x\":[]}] , \"\\u0062\":{\"y\":\"{\"},\"c\":-12 ,\"d\":true}";
    struct sbx_str whole = sbx_str(text);
    CHECK_INT(sbx_json_check(&reader, whole, NULL), SBX_OK);
    struct sbx_json_walk walk, inner;
    struct sbx_json_value key, value, item;
    sbx_json_enter(whole, &walk);
    CHECK(sbx_json_next_member(&walk, &key, &value) && sbx_json_is(key.raw, "a"));
    CHECK_STR(value.raw, "[1, \"]}\\\"\" ,{\"x\":[]}]");
    sbx_json_enter(value.raw, &inner);
    CHECK(sbx_json_next_item(&inner, &item) && sbx_json_number(item.raw) == 1);
    CHECK(sbx_json_next_item(&inner, &item) && item.type == SBX_JSON_STRING);
    CHECK_STR(sbx_json_take_text(item.raw), "]}\"");
    CHECK(sbx_json_next_item(&inner, &item) && item.type == SBX_JSON_OBJECT);
    CHECK(!sbx_json_next_item(&inner, &item));
    CHECK(sbx_json_next_member(&walk, &key, &value) && sbx_json_is(key.raw, "b"));
    CHECK_STR(value.raw, "{\"y\":\"{\"}");
    CHECK(sbx_json_next_member(&walk, &key, &value) && sbx_json_number(value.raw) == -12);
    CHECK(sbx_json_next_member(&walk, &key, &value) && sbx_json_bool(value.raw));
    CHECK(!sbx_json_next_member(&walk, &key, &value));
    sbx_json_enter(sbx_str("{ }"), &walk);
    CHECK(!sbx_json_next_member(&walk, &key, &value));
}

static void a_string_means_what_it_was_written_from(void)
{
    char all[256 + 64];
    size_t len = 0;
    for (int i = 1; i < 128; i++) all[len++] = (char)i;
    memcpy(all + len, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9);
    len += 9;
    AUTO_BUF out;
    sbx_buf_init(&out, 4096);
    sbx_json_add_string(&out, (struct sbx_str){all, len});
    CHECK_U64(out.len, sbx_json_string_len((struct sbx_str){all, len}));
    const char *next = NULL;
    CHECK(sbx_json_string_end(out.data + 1, out.data + out.len, &next) == NULL);
    CHECK(next == out.data + out.len);
    struct sbx_str back = sbx_json_take_text(sbx_buf_str(&out));
    CHECK_MEM(back.ptr, back.len, all, len);
    CHECK_INT(back.ptr[back.len], 0);
    char pairs[] = "\"\\ud83d\\ude00\\u0041\\/\"";
    CHECK_STR(sbx_json_take_text(sbx_str(pairs)), "\xf0\x9f\x98\x80"
                                                  "A/");
}

static const struct sbx_test tests[] = {
    {"what is one strict object is accepted", what_is_one_strict_object_is_accepted},
    {"everything else is refused", everything_else_is_refused},
    {"no part of a right text is accepted", no_part_of_a_right_text_is_accepted},
    {"levels are bounded", levels_are_bounded},
    {"members are bounded and none comes twice", members_are_bounded_and_none_comes_twice},
    {"a fault is found wherever it stands in a long string",
     a_fault_is_found_wherever_it_stands_in_a_long_string},
    {"a walk gives members and items in order", a_walk_gives_members_and_items_in_order},
    {"a string means what it was written from", a_string_means_what_it_was_written_from},
};
SBX_TEST_MAIN("wire_json", tests)
