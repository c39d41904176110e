/* Unit tests of common/policy/toml: what is read from valid documents. The public corpus and
 * tomllib judge the grammar as a whole (tests/toml); here are the exact results and the corner
 * cases. */
#include "common/policy/toml.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/check.h"
#include "tests/unit/toml_text.h"

#include "common/base/banned.h"

#define ARENA_BYTES ((size_t)16 << 20)

/* A document and what it reads as; NULL when it has to be refused. */
struct sample {
    const char *toml;
    const char *want;
};

static void check_samples(const struct sample *samples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        AUTO_ARENA arena;
        AUTO_BUF buf;
        sbx_arena_init(&arena, ARENA_BYTES);
        sbx_buf_init(&buf, ARENA_BYTES);
        struct sbx_value value;
        struct sbx_err err = {0};
        enum sbx_code code = sbx_toml_read(&arena, samples[i].toml, sbx_str(samples[i].toml), NULL,
                                           &value, NULL, &err);
        if (samples[i].want == NULL) {
            CHECK_CODE(code, SBX_E_SYNTAX, &err);
            CHECK_TEXT(code == SBX_OK ? samples[i].toml : "refused", "refused");
        } else if (CHECK_CODE(code, SBX_OK, &err)) {
            toml_text(&buf, &value);
            CHECK_TEXT(sbx_buf_text(&buf), samples[i].want);
        }
    }
}

static void an_empty_document_is_an_empty_table(void)
{
    static const struct sample samples[] = {
        {"", "{}"},
        {"\n", "{}"},
        {" \t", "{}"},
        {"# only a comment", "{}"},
        {"\r\n# é\r\n", "{}"},
        {"\xef\xbb\xbf", "{}"},
    };
    check_samples(samples, SBX_COUNT(samples));
    AUTO_ARENA arena;
    sbx_arena_init(&arena, ARENA_BYTES);
    struct sbx_value value = {.type = SBX_VALUE_NULL};
    struct sbx_err err = {0};
    CHECK_CODE(sbx_toml_read(&arena, "x", (struct sbx_str){NULL, 0}, NULL, &value, NULL, &err),
               SBX_OK, &err);
    CHECK(value.type == SBX_VALUE_TABLE && value.table.count == 0);
    CHECK(sbx_value_get(&value, "a") == NULL);
}

static void keys_may_be_bare_quoted_and_dotted(void)
{
    static const struct sample samples[] = {
        {"a=1\nb-c_9 = 2\n1234 = 3", "{a = 1, b-c_9 = 2, 1234 = 3}"},
        {"\"a b\" = 1\n'c.d' = 2\n\"\" = 3", "{\"a b\" = 1, \"c.d\" = 2, \"\" = 3}"},
        {"\"\\u00e9\" = 1\n\"\\u0000\" = 2", "{\"é\" = 1, \"\\u0000\" = 2}"},
        {"a . b\t.'c' = 1\na.b.d = 2", "{a = {b = {c = 1, d = 2}}}"},
        {"3.14 = 1\ntrue = 2\n1979-05-27 = 3", "{3 = {14 = 1}, true = 2, 1979-05-27 = 3}"},
        {"= 1", NULL},
        {".a = 1", NULL},
        {"a. = 1", NULL},
        {"a..b = 1", NULL},
        {"é = 1", NULL},
        {"a b = 1", NULL},
        {"a", NULL},
        {"a =", NULL},
        {"a = 1 b = 2", NULL},
        {"\"\"\"a\"\"\" = 1", NULL},
        {"'''a''' = 1", NULL},
        {"a\n= 1", NULL},
    };
    check_samples(samples, SBX_COUNT(samples));
}

static void strings_of_all_four_kinds_are_decoded(void)
{
    static const struct sample samples[] = {
        {"a = \"b\\t\\\"\\\\c\"", "{a = \"b\\u0009\\\"\\\\c\"}"},
        {"a = \"\\b\\n\\f\\r\"", "{a = \"\\u0008\\u000a\\u000c\\u000d\"}"},
        {"a = \"\\u00E9\\U0001F600\\u0000\"", "{a = \"é\xf0\x9f\x98\x80\\u0000\"}"},
        {"a = 'C:\\n\"x\"'", "{a = \"C:\\\\n\\\"x\\\"\"}"},
        {"a = \"\"\"\nb\n c\"\"\"", "{a = \"b\\u000a c\"}"},
        {"a = \"\"\"b \\\n \t\n  c\\ \n\"\"\"", "{a = \"b c\"}"},
        {"a = \"\"\"\"b\"\"\"\"\"", "{a = \"\\\"b\\\"\\\"\"}"},
        {"a = \"\"\"\\\"\"\"\\\"\"\"\"", "{a = \"\\\"\\\"\\\"\\\"\"}"},
        {"a = '''\n'b''\n'''", "{a = \"'b''\\u000a\"}"},
        {"a = ''''b'''''", "{a = \"'b''\"}"},
        {"a = ''\nb = \"\"\nc = ''''''\nd = \"\"\"\"\"\"",
         "{a = \"\", b = \"\", c = \"\", d = \"\"}"},
        {"a = \"\t\"\nb = '\t'", "{a = \"\\u0009\", b = \"\\u0009\"}"},
        {"a = \"b", NULL},
        {"a = \"b\n\"", NULL},
        {"a = \"\"\"b\"\"", NULL},
        {"a = \"\"\"\"\"\"\"\"\"", NULL},
        {"a = '''b''''''", NULL},
        {"a = \"\\\"", NULL},
        {"a = \"\\\n\"", NULL},
        {"a = \"\"\"\\ b\"\"\"", NULL},
    };
    check_samples(samples, SBX_COUNT(samples));
}

static void crlf_in_a_string_reads_as_lf(void)
{
    static const struct sample samples[] = {
        {"a = \"\"\"\r\nb\r\nc\"\"\"\r\n", "{a = \"b\\u000ac\"}"},
        {"a = '''\r\nb\\\r\n'''", "{a = \"b\\\\\\u000a\"}"},
        {"a = \"\"\"b\\\r\n  \r\n c\"\"\"", "{a = \"bc\"}"},
        {"a = \"\"\"b\rc\"\"\"", NULL},
        {"a = '''b\r'''", NULL},
        {"a = 1\rb = 2", NULL},
        {"a = 1 # c\r", NULL},
        {"a = [1,\r2]", NULL},
    };
    check_samples(samples, SBX_COUNT(samples));
}

static void what_toml_1_1_adds_is_refused(void)
{
    static const struct sample samples[] = {
        {"a = \"\\e\"", NULL},   {"a = \"\\x41\"", NULL},        {"a = {b = 1,}", NULL},
        {"a = {\nb = 1}", NULL}, {"a = {b = 1\n}", NULL},        {"a = {b = 1, # c\nc = 2}", NULL},
        {"a = 07:32", NULL},     {"a = 1979-05-27T07:32", NULL}, {"a = 1979-05-27 07:32Z", NULL},
    };
    check_samples(samples, SBX_COUNT(samples));
}

static void integers_are_exact_to_both_ends_of_64_bits(void)
{
    static const struct sample samples[] = {
        {"a = 9223372036854775807", "{a = 9223372036854775807}"},
        {"a = -9223372036854775808", "{a = -9223372036854775808}"},
        {"a = 9_223_372_036_854_775_807", "{a = 9223372036854775807}"},
        {"a = 0x7fff_FFFF_ffff_ffff", "{a = 9223372036854775807}"},
        {"a = 0x0000000000000000001", "{a = 1}"},
        {"a = 0o777777777777777777777", "{a = 9223372036854775807}"},
        {"a = 0b1111", "{a = 15}"},
        {"a = +0\nb = -0\nc = +99", "{a = 0, b = 0, c = 99}"},
        {"a = 9223372036854775808", NULL},
        {"a = -9223372036854775809", NULL},
        {"a = 0x8000000000000000", NULL},
        {"a = 99999999999999999999999999", NULL},
        {"a = 0o1000000000000000000000", NULL},
        {"a = 01", NULL},
        {"a = 0_1", NULL},
        {"a = 1__0", NULL},
        {"a = 1_", NULL},
        {"a = _1", NULL},
        {"a = 0x", NULL},
        {"a = 0x_1", NULL},
        {"a = 0X1", NULL},
        {"a = +0x1", NULL},
        {"a = 0b2", NULL},
        {"a = 0o8", NULL},
        {"a = +", NULL},
        {"a = --1", NULL},
        {"a = 1k", NULL},
        {"a = 1 2", NULL},
    };
    check_samples(samples, SBX_COUNT(samples));
}

static double read_float(const char *text)
{
    AUTO_ARENA arena;
    AUTO_BUF buf;
    sbx_arena_init(&arena, ARENA_BYTES);
    sbx_buf_init(&buf, ARENA_BYTES);
    sbx_buf_printf(&buf, "a = %s", text);
    struct sbx_value value;
    struct sbx_err err = {0};
    if (!CHECK_CODE(sbx_toml_read(&arena, "x", sbx_buf_str(&buf), NULL, &value, NULL, &err), SBX_OK,
                    &err)) {
        return 0.0;
    }
    const struct sbx_value *number = sbx_value_get(&value, "a");
    const bool is_float = number != NULL && number->type == SBX_VALUE_FLOAT;
    CHECK(is_float);
    return is_float ? number->number : 0.0;
}

/* The compiler's own reading of hexadecimal floats, which need no rounding, is what is compared
 * with. */
static void floats_are_rounded_correctly(void)
{
    static const struct {
        const char *text;
        double want;
    } samples[] = {
        {"0.1", 0x1.999999999999ap-4},
        {"3.14", 0x1.91eb851eb851fp+1},
        {"1e22", 0x1.0f0cf064dd592p+73},
        {"1e23", 0x1.52d02c7e14af6p+76},
        {"9007199254740993.0", 0x1p+53},
        {"9007199254740993.000000000000000000001", 0x1.0000000000001p+53},
        {"123456789012345678.5", 0x1.b69b4ba630f35p+56},
        {"1.00000000000000011102230246251565404236316680908203125", 0x1p+0},
        {"1.00000000000000011102230246251565404236316680908203126", 0x1.0000000000001p+0},
        {"1.00000000000000033306690738754696212708950042724609375", 0x1.0000000000002p+0},
        {"2.2250738585072011e-308", 0x0.fffffffffffffp-1022},
        {"2.2250738585072014e-308", 0x1p-1022},
        {"4.9e-324", 0x1p-1074},
        {"2.4703282292062327e-324", 0.0},
        {"2.4703282292062328e-324", 0x1p-1074},
        {"1.7976931348623157e308", 0x1.fffffffffffffp+1023},
        {"1.7976931348623158e308", 0x1.fffffffffffffp+1023},
        {"6.02_214_076E+2_3", 0x1.fe185ca57c517p+78},
        {"1e0_0", 1.0},
    };
    for (size_t i = 0; i < SBX_COUNT(samples); i++) {
        double got = read_float(samples[i].text);
        if (!CHECK(got == samples[i].want)) {
            printf("# %s: got %a, want %a\n", samples[i].text, got, samples[i].want);
        }
    }
}

static bool is_nan(double number)
{
    return number != number;
}

static void floats_beyond_the_range_become_zero_or_infinity(void)
{
    CHECK(read_float("1e309") == (double)INFINITY);
    CHECK(read_float("-1e99999999999999999999") == -(double)INFINITY);
    CHECK(read_float("1e-99999999999999999999") == 0.0);
    CHECK(read_float("0e99999999999999999999") == 0.0);
    CHECK(read_float("inf") == (double)INFINITY);
    CHECK(read_float("-inf") == -(double)INFINITY);
    CHECK(is_nan(read_float("nan")) && is_nan(read_float("+nan")) && is_nan(read_float("-nan")));
    CHECK(1.0 / read_float("-0.0") < 0 && 1.0 / read_float("0.0") > 0);
}

/* 1, then a point and zeros, then perhaps one more digit; or zeros before and a large exponent. */
static void floats_of_a_million_digits_are_still_exact(void)
{
    const size_t zeros = 1000000;
    AUTO_BUF buf;
    sbx_buf_init(&buf, ARENA_BYTES);
    sbx_buf_add_text(&buf, "9007199254740993.");
    sbx_buf_add_repeat(&buf, '0', zeros);
    CHECK(read_float(sbx_buf_text(&buf)) == 0x1p+53);
    sbx_buf_add_char(&buf, '1');
    CHECK(read_float(sbx_buf_text(&buf)) == 0x1.0000000000001p+53);

    sbx_buf_reset(&buf);
    sbx_buf_add_text(&buf, "0.");
    sbx_buf_add_repeat(&buf, '0', zeros);
    sbx_buf_add_text(&buf, "15e1000001");
    CHECK(read_float(sbx_buf_text(&buf)) == 1.5);

    sbx_buf_reset(&buf);
    sbx_buf_add_char(&buf, '1');
    sbx_buf_add_repeat(&buf, '0', zeros);
    sbx_buf_add_text(&buf, "e-1000000");
    CHECK(read_float(sbx_buf_text(&buf)) == 1.0);
}

static void wrong_floats_are_refused(void)
{
    static const struct sample samples[] = {
        {"a = .5", NULL},   {"a = 1.", NULL},   {"a = 1.e2", NULL},  {"a = 1e", NULL},
        {"a = 1e+", NULL},  {"a = 1._0", NULL}, {"a = 1_.0", NULL},  {"a = 1.0_", NULL},
        {"a = 1e_1", NULL}, {"a = 01.0", NULL}, {"a = 1.0.0", NULL}, {"a = 1e2.0", NULL},
        {"a = Inf", NULL},  {"a = NaN", NULL},  {"a = +i", NULL},    {"a = -infinity", NULL},
        {"a = inf_", NULL}, {"a = 1,0", NULL},
    };
    check_samples(samples, SBX_COUNT(samples));
}

static void dates_and_times_keep_every_field(void)
{
    static const struct sample samples[] = {
        {"a = 1979-05-27T07:32:00Z", "{a = 1979-05-27T07:32:00Z}"},
        {"a = 1979-05-27t07:32:00z", "{a = 1979-05-27T07:32:00Z}"},
        {"a = 1979-05-27 07:32:00.5-07:30", "{a = 1979-05-27T07:32:00.500000000-07:30}"},
        {"a = 1979-05-27T07:32:00+00:00", "{a = 1979-05-27T07:32:00+00:00}"},
        {"a = 1979-05-27T07:32:00.123456789999", "{a = 1979-05-27T07:32:00.123456789}"},
        {"a = 1979-05-27", "{a = 1979-05-27}"},
        {"a = 1979-05-27 # c", "{a = 1979-05-27}"},
        {"a = [1979-05-27 ,07:32:00]", "{a = [1979-05-27, 07:32:00]}"},
        {"a = 23:59:59.000000001", "{a = 23:59:59.000000001}"},
        {"a = 0000-02-29", "{a = 0000-02-29}"},
        {"a = 9999-12-31T23:59:59+23:59", "{a = 9999-12-31T23:59:59+23:59}"},
    };
    check_samples(samples, SBX_COUNT(samples));
}

static void days_that_do_not_exist_are_refused(void)
{
    static const struct sample samples[] = {
        {"a = 2024-02-29", "{a = 2024-02-29}"},
        {"a = 2000-02-29", "{a = 2000-02-29}"},
        {"a = 2023-02-29", NULL},
        {"a = 1900-02-29", NULL},
        {"a = 2024-02-30", NULL},
        {"a = 2024-04-31", NULL},
        {"a = 2024-12-32", NULL},
        {"a = 2024-00-01", NULL},
        {"a = 2024-13-01", NULL},
        {"a = 2024-01-00", NULL},
        {"a = 24:00:00", NULL},
        {"a = 00:60:00", NULL},
        {"a = 00:00:60", NULL},
        {"a = 00:00:00.", NULL},
        {"a = 0:00:00", NULL},
        {"a = 2024-1-1", NULL},
        {"a = 2024-01-01T", NULL},
        {"a = 2024-01-01T00:00:00+24:00", NULL},
        {"a = 2024-01-01T00:00:00+00:60", NULL},
        {"a = 2024-01-01T00:00:00+0000", NULL},
        {"a = 2024-01-01T00:00:00Z0", NULL},
        {"a = 2024-01-01Z", NULL},
        {"a = 00:00:00Z", NULL},
        {"a = 2024-01-01  00:00:00", NULL},
    };
    check_samples(samples, SBX_COUNT(samples));
}

static void arrays_take_mixed_types_newlines_and_comments(void)
{
    static const struct sample samples[] = {
        {"a = []", "{a = []}"},
        {"a = [ # c\n 1,\r\n\n 'b', # d ]\n [[], {}],\n]", "{a = [1, \"b\", [[], {}]]}"},
        {"a = "
         "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31]",
         "{a = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, "
         "24, 25, 26, 27, 28, 29, 30, 31]}"},
        {"a = [{b.c = [\n1\n]}, 2]", "{a = [{b = {c = [1]}}, 2]}"},
        {"a = [,]", NULL},
        {"a = [1,,2]", NULL},
        {"a = [1 2]", NULL},
        {"a = [1", NULL},
        {"a = [1,", NULL},
        {"a = [", NULL},
        {"a = [1]]", NULL},
        {"a = [1}", NULL},
        {"a = [b = 1]", NULL},
    };
    check_samples(samples, SBX_COUNT(samples));
}

static void inline_tables_stay_on_their_line(void)
{
    static const struct sample samples[] = {
        {"a = {}\nb = { }", "{a = {}, b = {}}"},
        {"a = {b=1,c = {d = 'e'} , \"f g\".h=2}",
         "{a = {b = 1, c = {d = \"e\"}, \"f g\" = {h = 2}}}"},
        {"a = {b = \"\"\"\n\n\"\"\", c = [\n1]}", "{a = {b = \"\\u000a\", c = [1]}}"},
        {"a = {b = 1", NULL},
        {"a = {b = 1,", NULL},
        {"a = {", NULL},
        {"a = {b}", NULL},
        {"a = {,}", NULL},
        {"a = {b = 1 c = 2}", NULL},
        {"a = {b = 1]", NULL},
        {"a = {b = 1, b = 2}", NULL},
    };
    check_samples(samples, SBX_COUNT(samples));
}

static void words_in_the_place_of_values_are_refused(void)
{
    static const struct sample samples[] = {
        {"a = true\nb = false", "{a = true, b = false}"},
        {"a = True", NULL},
        {"a = truefalse", NULL},
        {"a = yes", NULL},
        {"a = null", NULL},
        {"a = /usr", NULL},
        {"a = é", NULL},
        {"a = # b", NULL},
        {"a = = 1", NULL},
        {"a = ]", NULL},
    };
    check_samples(samples, SBX_COUNT(samples));
}

/* Zero-copy is a promise of the header, and so is the copy of what has escapes. */
static void strings_without_escapes_point_into_the_text(void)
{
    static const char text[] =
        "plain = \"value\"\n'literal' = 'C:\\x'\nlines = \"\"\"\na\nb\"\"\"\n"
        "escaped = \"a\\tb\"";
    AUTO_ARENA arena;
    sbx_arena_init(&arena, ARENA_BYTES);
    struct sbx_value value;
    struct sbx_err err = {0};
    CHECK_CODE(sbx_toml_read(&arena, "x", sbx_str(text), NULL, &value, NULL, &err), SBX_OK, &err);
    if (!CHECK_U64(value.table.count, 4)) {
        return;
    }
    for (size_t i = 0; i < 4; i++) {
        const struct sbx_member *member = &value.table.members[i];
        const char *string = member->value.string.ptr;
        CHECK(member->key.ptr >= text && member->key.ptr < text + sizeof text);
        CHECK_INT(string >= text && string < text + sizeof text, i != 3);
    }
}

static void check_place(const struct sbx_place *place, uint32_t line, uint32_t column)
{
    CHECK_U64(place->line, line);
    CHECK_U64(place->column, column);
}

static const struct sbx_value *member(const struct sbx_value *table, size_t index)
{
    return &table->table.members[index].value;
}

static void places_count_lines_and_characters(void)
{
    static const char text[] =
        "\xef\xbb\xbf"
        "a = 1\n"
        "'é日'.\"\xf0\x9f\x98\x80\" = [ '\xc3\xa9', \"\"\"\n\n  x\"\"\", 7]\r\n"
        "  [t]\n\tk = {x = 1}\n[[u]]\n[[u]]\n";
    AUTO_ARENA arena;
    sbx_arena_init(&arena, ARENA_BYTES);
    struct sbx_value root;
    struct sbx_err err = {0};
    CHECK_CODE(sbx_toml_read(&arena, "x", sbx_str(text), NULL, &root, NULL, &err), SBX_OK, &err);
    if (!CHECK_U64(root.table.count, 4)) {
        return;
    }
    check_place(&root.table.members[0].place, 1, 1);
    check_place(&member(&root, 0)->place, 1, 5);
    check_place(&root.table.members[1].place, 2, 1);
    check_place(&member(&root, 1)->table.members[0].place, 2, 6);
    const struct sbx_value *array = member(member(&root, 1), 0);
    check_place(&array->place, 2, 12);
    check_place(&array->array.items[0].place, 2, 14);
    check_place(&array->array.items[1].place, 2, 19);
    check_place(&array->array.items[2].place, 4, 9);
    check_place(&member(&root, 2)->place, 5, 4);
    check_place(&member(&root, 2)->table.members[0].place, 6, 2);
    check_place(&member(member(&root, 2), 0)->table.members[0].place, 6, 7);
    check_place(&root.table.members[3].place, 7, 3);
    check_place(&member(&root, 3)->array.items[1].place, 8, 3);
}

static const struct sbx_test tests[] = {
    {"an empty document is an empty table", an_empty_document_is_an_empty_table},
    {"keys may be bare, quoted and dotted", keys_may_be_bare_quoted_and_dotted},
    {"strings of all four kinds are decoded", strings_of_all_four_kinds_are_decoded},
    {"CR LF in a string reads as LF, a lone CR is refused", crlf_in_a_string_reads_as_lf},
    {"what TOML 1.1 adds is refused", what_toml_1_1_adds_is_refused},
    {"integers are exact to both ends of 64 bits", integers_are_exact_to_both_ends_of_64_bits},
    {"floats are rounded correctly", floats_are_rounded_correctly},
    {"floats beyond the range become zero or infinity",
     floats_beyond_the_range_become_zero_or_infinity},
    {"floats of a million digits are still exact", floats_of_a_million_digits_are_still_exact},
    {"wrong floats are refused", wrong_floats_are_refused},
    {"dates and times keep every field", dates_and_times_keep_every_field},
    {"days and times that do not exist are refused", days_that_do_not_exist_are_refused},
    {"arrays take mixed types, newlines and comments",
     arrays_take_mixed_types_newlines_and_comments},
    {"inline tables stay on their line", inline_tables_stay_on_their_line},
    {"words in the place of values are refused", words_in_the_place_of_values_are_refused},
    {"strings without escapes point into the text", strings_without_escapes_point_into_the_text},
    {"places count lines and characters", places_count_lines_and_characters},
};

SBX_TEST_MAIN("toml", tests)
