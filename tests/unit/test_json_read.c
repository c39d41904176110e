/* Unit tests of common/policy/json_read: what is read, what is refused, and what the refusal says. */
#include "common/policy/json_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/utf8.h"
#include "tests/check.h"
#include "tests/unit/toml_text.h"

#include "common/base/banned.h"

#define ARENA_BYTES ((size_t)64 << 20)

struct sample {
    const char *json;
    const char *want;
};

static void check_read(const struct sample *samples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        AUTO_ARENA arena;
        AUTO_BUF buf;
        sbx_arena_init(&arena, ARENA_BYTES);
        sbx_buf_init(&buf, ARENA_BYTES);
        struct sbx_value value;
        struct sbx_err err = {0};
        if (CHECK_CODE(sbx_json_read(&arena, "x", sbx_str(samples[i].json), &value, &err), SBX_OK,
                       &err)) {
            toml_text(&buf, &value);
            CHECK_TEXT(sbx_buf_text(&buf), samples[i].want);
        }
    }
}

static void check_refused(const struct sample *samples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        AUTO_ARENA arena;
        sbx_arena_init(&arena, ARENA_BYTES);
        struct sbx_value value = {.type = SBX_VALUE_NULL, .integer = 77};
        struct sbx_err err = {0};
        CHECK_CODE(sbx_json_read(&arena, "x.json", sbx_str(samples[i].json), &value, &err),
                   SBX_E_SYNTAX, &err);
        CHECK_TEXT(err.text, samples[i].want);
        CHECK(value.type == SBX_VALUE_NULL && value.integer == 77);
    }
}

static void every_type_of_json_is_read(void)
{
    static const struct sample samples[] = {
        {"{}", "{}"},
        {"[]", "[]"},
        {" {\"b\": [1, \"x\", true, false, null], \"a\": {\"c\": {}}}\r\n",
         "{b = [1, \"x\", true, false, null], a = {c = {}}}"},
        {"{\"\": 1, \"\\u00e9\\n\": 2}", "{\"\" = 1, \"é\\u000a\" = 2}"},
        {"[\"\\ud83d\\ude00\", \"a\\u0000b\"]", "[\"\xf0\x9f\x98\x80\", \"a\\u0000b\"]"},
        {"[9223372036854775807, -9223372036854775808, 0, -0]",
         "[9223372036854775807, -9223372036854775808, 0, 0]"},
        {"[1.0, 1e2, -2.5E-1, 0.1]", "[1.0, 100.0, -0.25, 0.10000000000000001]"},
        {"\xef\xbb\xbf{\"a\":1}", "{a = 1}"},
        {"\"text\"", "\"text\""},
    };
    check_read(samples, SBX_COUNT(samples));
}

static void members_keep_the_order_of_the_file(void)
{
    static const struct sample samples[] = {
        {"{\"z\":1,\"y\":2,\"x\":3,\"w\":4,\"v\":5,\"u\":6,\"t\":7,\"s\":8,\"r\":9,\"q\":10}",
         "{z = 1, y = 2, x = 3, w = 4, v = 5, u = 6, t = 7, s = 8, r = 9, q = 10}"},
    };
    check_read(samples, SBX_COUNT(samples));
}

static void what_is_not_strict_json_is_refused(void)
{
    static const struct sample samples[] = {
        {"", "x.json:1:1: unexpected token near end of file"},
        {"{\"a\":1,\n\"a\":2}", "x.json:2:3: duplicate object key near '\"a\"'"},
        {"{\"a\":1}x", "x.json:1:8: end of file expected near 'x'"},
        {"{\"a\":1} {}", "x.json:1:9: end of file expected near '{'"},
        {"[01]", "x.json:1:2: invalid token near '0'"},
        {"[1.]", "x.json:1:3: invalid token near '1.'"},
        {"[1,]", "x.json:1:4: unexpected token near ']'"},
        {"{a:1}", "x.json:1:2: string or '}' expected near 'a'"},
        {"['a']", "x.json:1:2: invalid token near '''"},
        {"[1 // c\n]", "x.json:1:4: ']' expected near '/'"},
        {"[NaN]", "x.json:1:4: invalid token near 'NaN'"},
        {"[1e999]", "x.json:1:6: real number overflow near '1e999'"},
        {"[9223372036854775808]", "x.json:1:20: too big integer near '9223372036854775808'"},
        {"[-9223372036854775809]",
         "x.json:1:21: too big negative integer near '-9223372036854775809'"},
        {"{\"\\u0000\":1}", "x.json:1:9: NUL byte in object key not supported near '\"\\u0000\"'"},
        {"[\"\\ud800\"]", "x.json:1:9: invalid Unicode '\\uD800' near '\"\\ud800\"'"},
        {"[\"\xff\"]", "x.json:1:2: unable to decode byte 0xff near '\"'"},
        {"[\"\t\"]", "x.json:1:2: control character 0x9 near '\"'"},
        {"[\"a", "x.json:1:3: premature end of input near '\"a'"},
    };
    check_refused(samples, SBX_COUNT(samples));
}

static void a_nul_byte_is_refused(void)
{
    static const char text[] = "{\"a\":\0 1}";
    AUTO_ARENA arena;
    sbx_arena_init(&arena, ARENA_BYTES);
    struct sbx_value value;
    struct sbx_err err = {0};
    CHECK_CODE(sbx_json_read(&arena, "x", (struct sbx_str){text, sizeof text - 1}, &value, &err),
               SBX_E_SYNTAX, &err);
    CHECK_CODE(sbx_json_read(&arena, "x", (struct sbx_str){NULL, 0}, &value, &err), SBX_E_SYNTAX,
               &err);
}

/* Neither the name nor what the message quotes may reach a terminal as it is. */
static void messages_are_safe_to_show(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, ARENA_BYTES);
    struct sbx_value value;
    struct sbx_err err = {0};
    CHECK_CODE(sbx_json_read(&arena, "\x1b[2J", sbx_str("[\x1b]"), &value, &err), SBX_E_SYNTAX,
               &err);
    CHECK_TEXT(err.text, "\\x1b[2J:1:2: invalid token near '\\x1b'");
    CHECK_CODE(sbx_json_read(&arena, "x", sbx_str("[1 \"\xe2\x80\xae\"]"), &value, &err),
               SBX_E_SYNTAX, &err);
    CHECK_TEXT(err.text, "x:1:6: ']' expected near '\"\\u{202e}\"'");
}

static enum sbx_code read_nested(const char *open, const char *close, size_t depth,
                                 struct sbx_err *err)
{
    AUTO_ARENA arena;
    AUTO_BUF buf;
    sbx_arena_init(&arena, ARENA_BYTES);
    sbx_buf_init(&buf, ARENA_BYTES);
    for (size_t i = 0; i < depth; i++) {
        sbx_buf_add_text(&buf, open);
    }
    sbx_buf_add_text(&buf, "\"[{\\\"[[[\"");
    for (size_t i = 0; i < depth; i++) {
        sbx_buf_add_text(&buf, close);
    }
    struct sbx_value value;
    return sbx_json_read(&arena, "x", sbx_buf_str(&buf), &value, err);
}

static void depth_is_limited(void)
{
    struct sbx_err err = {0};
    CHECK_CODE(read_nested("[", "]", 64, &err), SBX_OK, &err);
    CHECK_CODE(read_nested("{\"a\":", "}", 64, &err), SBX_OK, &err);
    CHECK_CODE(read_nested("[", "]", 65, &err), SBX_E_LIMIT, &err);
    CHECK_TEXT(err.text, "x:1:65: nested deeper than 64 levels, which is the maximum");
    CHECK_CODE(read_nested("{\"\u00e9\":\n", "}", 65, &err), SBX_E_LIMIT, &err);
    CHECK_TEXT(err.text, "x:65:1: nested deeper than 64 levels, which is the maximum");
    CHECK_CODE(read_nested("[", "]", 100000, &err), SBX_E_LIMIT, &err);
}

static void size_is_limited(void)
{
    const size_t len = (size_t)50 << 20;
    char *text = calloc(len, 1);
    AUTO_ARENA arena;
    sbx_arena_init(&arena, ARENA_BYTES);
    struct sbx_value value;
    struct sbx_err err = {0};
    if (CHECK(text != NULL)) {
        CHECK_CODE(sbx_json_read(&arena, "x", (struct sbx_str){text, len}, &value, &err),
                   SBX_E_LIMIT, &err);
        CHECK_TEXT(err.text,
                   "x:1:1: the file has 52428800 bytes, more than the maximum of 16777216");
    }
    free(text);
}

/* jansson takes its memory from malloc: the arena's maximum has to bound that too. */
static void memory_is_bounded_before_it_is_taken(void)
{
    static const char *const pieces[] = {"[],", "{},", "1,", "{\"a\":1},", "\"\","};
    for (size_t i = 0; i < SBX_COUNT(pieces); i++) {
        AUTO_ARENA arena;
        AUTO_BUF buf;
        sbx_arena_init(&arena, (size_t)8 << 20);
        sbx_buf_init(&buf, ARENA_BYTES);
        sbx_buf_add_char(&buf, '[');
        while (buf.len < 1000000) {
            sbx_buf_add_text(&buf, pieces[i]);
        }
        sbx_buf_add_text(&buf, "1]");
        struct sbx_value value;
        struct sbx_err err = {0};
        CHECK_CODE(sbx_json_read(&arena, "x", sbx_buf_str(&buf), &value, &err), SBX_E_NOMEM, &err);
        CHECK_TEXT(err.text, "x:1:1: reading the file needs more than 8388608 bytes of memory");
        CHECK_U64(arena.used_bytes, 0);
    }
}

static const char rich[] = "{\"a\": [1, -2.5e3, true, false, null, \"x\\u00e9\\n\xc3\xa9\"],\r\n "
                           "\"b\": {\"c\": [[], {}], \"d\": 9223372036854775807}}";

static void every_prefix_is_refused_cleanly(void)
{
    for (size_t len = 0; len <= sizeof rich - 1; len++) {
        AUTO_ARENA arena;
        sbx_arena_init(&arena, ARENA_BYTES);
        struct sbx_value value;
        struct sbx_err err = {0};
        char *copy = malloc(len > 0 ? len : 1);
        if (CHECK(copy != NULL)) {
            memcpy(copy, rich, len);
            CHECK_CODE(sbx_json_read(&arena, "x", (struct sbx_str){copy, len}, &value, &err),
                       len == sizeof rich - 1 ? SBX_OK : SBX_E_SYNTAX, &err);
            CHECK(sbx_utf8_valid(err.text, strlen(err.text), NULL));
        }
        free(copy);
    }
}

static void memory_that_ends_is_an_ordinary_error(void)
{
    enum sbx_code code = SBX_E_NOMEM;
    size_t bytes = 0;
    for (; code == SBX_E_NOMEM && bytes < ARENA_BYTES; bytes += 16) {
        AUTO_ARENA arena;
        sbx_arena_init(&arena, bytes);
        struct sbx_value value;
        struct sbx_err err = {0};
        code = sbx_json_read(&arena, "x", sbx_str(rich), &value, &err);
    }
    CHECK_INT(code, SBX_OK);
    CHECK(bytes > 300);
}

static const struct sbx_test tests[] = {
    {"every type of JSON is read", every_type_of_json_is_read},
    {"members keep the order of the file", members_keep_the_order_of_the_file},
    {"what is not strict JSON is refused", what_is_not_strict_json_is_refused},
    {"a NUL byte is refused", a_nul_byte_is_refused},
    {"messages are safe to show", messages_are_safe_to_show},
    {"depth is limited", depth_is_limited},
    {"size is limited", size_is_limited},
    {"memory is bounded before it is taken", memory_is_bounded_before_it_is_taken},
    {"every prefix of a document is refused cleanly", every_prefix_is_refused_cleanly},
    {"memory that ends is an ordinary error", memory_that_ends_is_an_ordinary_error},
};

SBX_TEST_MAIN("json_read", tests)
