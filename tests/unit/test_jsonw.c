/* Unit tests of common/base/jsonw. */
#include "common/base/jsonw.h"

#include "tests/check.h"

#include "common/base/banned.h"

/* A document with everything in it. */
static void write_all(struct sbx_jsonw *json)
{
    sbx_jsonw_object(json);
    sbx_jsonw_pair_text(json, "name", "box");
    sbx_jsonw_pair_text(json, "none", NULL);
    sbx_jsonw_pair_u64(json, "big", UINT64_MAX);
    sbx_jsonw_pair_bool(json, "on", true);
    sbx_jsonw_pair_str(json, "view", sbx_str("v"));
    sbx_jsonw_key_str(json, sbx_str("list"));
    sbx_jsonw_array(json);
    sbx_jsonw_i64(json, INT64_MIN);
    sbx_jsonw_bool(json, false);
    sbx_jsonw_null(json);
    sbx_jsonw_object(json);
    sbx_jsonw_end(json);
    sbx_jsonw_array(json);
    sbx_jsonw_end(json);
    sbx_jsonw_end(json);
    sbx_jsonw_end(json);
}

static void a_document_is_written_without_white_space(void)
{
    AUTO_BUF buf;
    struct sbx_jsonw json;
    sbx_buf_init(&buf, 1000);
    sbx_jsonw_init(&json, &buf, false);
    CHECK(!json.done);
    write_all(&json);
    CHECK(json.done);
    CHECK(!buf.failed);
    CHECK_TEXT(sbx_buf_text(&buf),
               "{\"name\":\"box\",\"none\":null,\"big\":18446744073709551615,\"on\":true,"
               "\"view\":\"v\",\"list\":[-9223372036854775808,false,null,{},[]]}");
}

static void a_pretty_document_has_two_spaces_a_level(void)
{
    AUTO_BUF buf;
    struct sbx_jsonw json;
    sbx_buf_init(&buf, 1000);
    sbx_jsonw_init(&json, &buf, true);
    write_all(&json);
    CHECK(!buf.failed);
    CHECK_TEXT(sbx_buf_text(&buf), "{\n"
                                   "  \"name\": \"box\",\n"
                                   "  \"none\": null,\n"
                                   "  \"big\": 18446744073709551615,\n"
                                   "  \"on\": true,\n"
                                   "  \"view\": \"v\",\n"
                                   "  \"list\": [\n"
                                   "    -9223372036854775808,\n"
                                   "    false,\n"
                                   "    null,\n"
                                   "    {},\n"
                                   "    []\n"
                                   "  ]\n"
                                   "}");
}

static void check_string(struct sbx_str text, const char *want)
{
    AUTO_BUF buf;
    struct sbx_jsonw json;
    sbx_buf_init(&buf, 1000);
    sbx_jsonw_init(&json, &buf, false);
    sbx_jsonw_str(&json, text);
    CHECK(!buf.failed);
    CHECK(json.done);
    CHECK_TEXT(sbx_buf_text(&buf), want);
}

static void strings_are_escaped(void)
{
    check_string(sbx_str(""), "\"\"");
    check_string(sbx_str("a\"b\\c/"), "\"a\\\"b\\\\c/\"");
    check_string(sbx_str("\b\t\n\f\r\x01\x1f\x7f"), "\"\\b\\t\\n\\f\\r\\u0001\\u001f\\u007f\"");
    check_string((struct sbx_str){"a\0b", 3}, "\"a\\u0000b\"");
    check_string(sbx_str("\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x98\x80"),
                 "\"\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x98\x80\"");
}

static void what_could_harm_a_terminal_is_escaped_without_loss(void)
{
    check_string(sbx_str("\x1b[2J"), "\"\\u001b[2J\"");
    check_string(sbx_str("\xc2\x9b"), "\"\\u009b\"");
    check_string(sbx_str("a\xe2\x80\xaez\xe2\x80\xac"), "\"a\\u202ez\\u202c\"");
    check_string(sbx_str("\xe2\x80\xa8"), "\"\\u2028\"");
    check_string(sbx_str("\xf3\xa0\x80\x81"), "\"\\udb40\\udc01\"");
}

static void bad_utf8_becomes_the_replacement_character(void)
{
    check_string(sbx_str("\xff"), "\"\xef\xbf\xbd\"");
    check_string(sbx_str("a\xc0\x80z"), "\"a\xef\xbf\xbd\xef\xbf\xbdz\"");
    check_string(sbx_str("\xe6\xbc"), "\"\xef\xbf\xbd\xef\xbf\xbd\"");
}

static void keys_are_escaped_too(void)
{
    AUTO_BUF buf;
    struct sbx_jsonw json;
    sbx_buf_init(&buf, 1000);
    sbx_jsonw_init(&json, &buf, false);
    sbx_jsonw_object(&json);
    sbx_jsonw_pair_u64(&json, "a\"\n", 1);
    sbx_jsonw_end(&json);
    CHECK_TEXT(sbx_buf_text(&buf), "{\"a\\\"\\n\":1}");
}

static void a_key_outside_an_object(struct sbx_jsonw *json)
{
    sbx_jsonw_key(json, "k");
}

static void a_key_in_an_array(struct sbx_jsonw *json)
{
    sbx_jsonw_array(json);
    sbx_jsonw_key(json, "k");
}

static void two_keys_in_a_row(struct sbx_jsonw *json)
{
    sbx_jsonw_object(json);
    sbx_jsonw_key(json, "k");
    sbx_jsonw_key(json, "l");
}

static void a_value_without_key(struct sbx_jsonw *json)
{
    sbx_jsonw_object(json);
    sbx_jsonw_u64(json, 1);
}

static void a_container_without_key(struct sbx_jsonw *json)
{
    sbx_jsonw_object(json);
    sbx_jsonw_array(json);
}

static void an_end_without_start(struct sbx_jsonw *json)
{
    sbx_jsonw_end(json);
}

static void an_end_too_many(struct sbx_jsonw *json)
{
    sbx_jsonw_array(json);
    sbx_jsonw_end(json);
    sbx_jsonw_end(json);
}

static void an_end_after_a_key(struct sbx_jsonw *json)
{
    sbx_jsonw_object(json);
    sbx_jsonw_key(json, "k");
    sbx_jsonw_end(json);
}

static void two_documents(struct sbx_jsonw *json)
{
    sbx_jsonw_null(json);
    sbx_jsonw_null(json);
}

static void a_second_container(struct sbx_jsonw *json)
{
    sbx_jsonw_array(json);
    sbx_jsonw_end(json);
    sbx_jsonw_object(json);
}

static void one_level_too_many(struct sbx_jsonw *json)
{
    for (unsigned i = 0; i <= SBX_JSONW_DEPTH; i++) {
        sbx_jsonw_array(json);
    }
}

static void misuse_fails_the_buffer(void)
{
    static void (*const misuses[])(struct sbx_jsonw *) = {
        a_key_outside_an_object, a_key_in_an_array,    two_keys_in_a_row,  a_value_without_key,
        a_container_without_key, an_end_without_start, an_end_too_many,    an_end_after_a_key,
        two_documents,           a_second_container,   one_level_too_many,
    };
    for (size_t i = 0; i < SBX_COUNT(misuses); i++) {
        AUTO_BUF buf;
        struct sbx_jsonw json;
        sbx_buf_init(&buf, 100000);
        sbx_jsonw_init(&json, &buf, i % 2 == 0);
        misuses[i](&json);
        CHECK(buf.failed);
        write_all(&json); /* whatever comes after stays inside the writer's arrays */
        sbx_jsonw_i64(&json, 1);
        sbx_jsonw_null(&json);
        CHECK(buf.failed);
    }
}

static void the_deepest_level_allowed_works(void)
{
    AUTO_BUF buf;
    struct sbx_jsonw json;
    sbx_buf_init(&buf, 1000);
    sbx_jsonw_init(&json, &buf, false);
    for (unsigned i = 0; i < SBX_JSONW_DEPTH; i++) {
        sbx_jsonw_array(&json);
    }
    for (unsigned i = 0; i < SBX_JSONW_DEPTH; i++) {
        sbx_jsonw_end(&json);
    }
    CHECK(!buf.failed);
    CHECK_U64(buf.len, 2 * SBX_JSONW_DEPTH);
}

static void every_bound_of_the_buffer_gives_a_prefix(void)
{
    AUTO_BUF whole;
    struct sbx_jsonw json;
    sbx_buf_init(&whole, 1000);
    sbx_jsonw_init(&json, &whole, true);
    write_all(&json);
    for (size_t max = 0; max < whole.len; max++) {
        AUTO_BUF buf;
        sbx_buf_init(&buf, max);
        sbx_jsonw_init(&json, &buf, true);
        write_all(&json);
        CHECK(buf.failed);
        CHECK(buf.len <= max);
        CHECK(sbx_str_starts(sbx_buf_str(&whole), sbx_buf_text(&buf)));
    }
}

static const struct sbx_test tests[] = {
    {"a document is written without white space", a_document_is_written_without_white_space},
    {"a pretty document has two spaces a level", a_pretty_document_has_two_spaces_a_level},
    {"strings are escaped", strings_are_escaped},
    {"what could harm a terminal is escaped without loss",
     what_could_harm_a_terminal_is_escaped_without_loss},
    {"bad UTF-8 becomes the replacement character", bad_utf8_becomes_the_replacement_character},
    {"keys are escaped too", keys_are_escaped_too},
    {"misuse fails the buffer", misuse_fails_the_buffer},
    {"the deepest level allowed works", the_deepest_level_allowed_works},
    {"every bound of the buffer gives a prefix", every_bound_of_the_buffer_gives_a_prefix},
};

SBX_TEST_MAIN("jsonw", tests)
