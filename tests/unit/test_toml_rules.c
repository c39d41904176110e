/* Unit tests of common/policy/toml: what may be defined where, and what the refusal says. */
#include <stdio.h>
#include <string.h>

#include "common/policy/toml.h"
#include "tests/check.h"
#include "tests/unit/toml_text.h"

#include "common/base/banned.h"

#define ARENA_BYTES ((size_t)64 << 20)

/* A document, and either what it reads as (starting with a brace) or a part of its message. */
struct sample {
    const char *toml;
    const char *want;
};

static void check_samples(const struct sample *samples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *want = samples[i].want;
        AUTO_ARENA arena;
        AUTO_BUF buf;
        sbx_arena_init(&arena, ARENA_BYTES);
        sbx_buf_init(&buf, ARENA_BYTES);
        struct sbx_value value;
        struct sbx_err err = {0};
        enum sbx_code code =
            sbx_toml_read(&arena, "x", sbx_str(samples[i].toml), NULL, &value, NULL, &err);
        if (want[0] == '{') {
            if (CHECK_CODE(code, SBX_OK, &err)) {
                toml_text(&buf, &value);
                CHECK_TEXT(sbx_buf_text(&buf), want);
            }
        } else if (CHECK_CODE(code, SBX_E_SYNTAX, &err)) {
            CHECK_TEXT(strstr(err.text, want) != NULL ? want : err.text, want);
        }
    }
}

static void headers_make_tables_in_any_order(void)
{
    static const struct sample samples[] = {
        {"[a]\nb = 1\n[c]", "{a = {b = 1}, c = {}}"},
        {"[ a . 'b' . \"c\" ] # d", "{a = {b = {c = {}}}}"},
        {"[a.b.c]\nx = 1\n[a]\ny = 2\n[a.b]\nz = 3", "{a = {b = {c = {x = 1}, z = 3}, y = 2}}"},
        {"[a.b]\n[c]\n[a.d]", "{a = {b = {}, d = {}}, c = {}}"},
        {"[a]\nx = 1\n[a.b]\ny = 2\n[c]\n[a.d]\nz = 3",
         "{a = {x = 1, b = {y = 2}, d = {z = 3}}, c = {}}"},
        {"x = 1\n[a]\nx = 2", "{x = 1, a = {x = 2}}"},
    };
    check_samples(samples, SBX_COUNT(samples));
}

static void wrong_headers_are_refused(void)
{
    static const struct sample samples[] = {
        {"[]", "x:1:2: the name of the table is missing before \"]\""},
        {"[a.]", "x:1:4: the name of the table is missing"},
        {"[.a]", "x:1:2: a key is missing before \".\""},
        {"[a", "x:1:3: expected \"]\", found the end of the file"},
        {"[a b]", "x:1:4: expected \"]\", found \"b\""},
        {"[a] b = 1", "x:1:5: expected the end of the line after the header, found \"b\""},
        {"[a]]", "x:1:4: expected the end of the line"},
        {"[[a]", "x:1:5: expected \"]]\" without a space between the brackets"},
        {"[[a] ]", "x:1:5: expected \"]]\""},
        {"[ [a]]", "x:1:3: expected a key"},
        {"[a\n]", "x:1:3: expected \"]\", found the end of the line"},
        {"[a=1]", "x:1:3: expected \"]\" after the key \"a\""},
    };
    check_samples(samples, SBX_COUNT(samples));
}

static void arrays_of_tables_grow_by_headers(void)
{
    static const struct sample samples[] = {
        {"[[a]]\nx = 1\n[[a]]\n[[a]]\nx = 3", "{a = [{x = 1}, {}, {x = 3}]}"},
        {"[[a]]\n[a.b]\nx = 1\n[[a]]\n[a.b]\nx = 2", "{a = [{b = {x = 1}}, {b = {x = 2}}]}"},
        {"[[a]]\n[[a.b]]\nx = 1\n[[a.b]]\n[[a]]\n[[a.b]]",
         "{a = [{b = [{x = 1}, {}]}, {b = [{}]}]}"},
        {"[[a.b.c]]\n[a]\nx = 1", "{a = {b = {c = [{}]}, x = 1}}"},
        {"[[a]]\nx.y = 1\n[a.x.z]", "{a = [{x = {y = 1, z = {}}}]}"},
    };
    check_samples(samples, SBX_COUNT(samples));
}

static void dotted_keys_make_tables_for_their_own_section(void)
{
    static const struct sample samples[] = {
        {"a.b = 1\na.c.d = 2\na.c.e = 3", "{a = {b = 1, c = {d = 2, e = 3}}}"},
        {"[a]\nb.c = 1\n[a.b.d]\nx = 2", "{a = {b = {c = 1, d = {x = 2}}}}"},
        {"[a.b.c]\n[a]\nb.x = 1", "{a = {b = {c = {}, x = 1}}}"},
        {"a.b = 1\n[a]",
         "x:2:2: \"a\" is already defined by dotted keys (line 1); put all its keys "
         "in one place"},
        {"[a]\nb.c = 1\n[a.b]", "x:3:4: \"b\" is already defined by dotted keys (line 2)"},
        {"[a.b.c]\n[a]\nb.c.d = 1",
         "x:3:3: \"c\" is already defined by its header (line 1); add the "
         "key below that header"},
        {"[a.b.c]\n[a]\nb.x = 1\n[a.b]", "x:4:4: \"b\" is already defined by dotted keys (line 3)"},
        {"[[a.b]]\n[a]\nb.c = 1", "x:3:1: \"b\" is already defined as an array of tables (line 1)"},
        {"a = 1\na.b = 2", "x:2:1: \"a\" is an integer already (line 1), not a table"},
        {"a.b = 1\na = 2",
         "x:2:1: the key \"a\" is already defined (line 1); remove one of the two"},
    };
    check_samples(samples, SBX_COUNT(samples));
}

static void nothing_is_defined_twice(void)
{
    static const struct sample samples[] = {
        {"a = 1\n\na = 2",
         "x:3:1: the key \"a\" is already defined (line 1); remove one of the two"},
        {"a = 1\n\"\\u0061\" = 2", "x:2:1: the key \"a\" is already defined (line 1)"},
        {"a = 1\n'a' = 2", "x:2:1: the key \"a\" is already defined (line 1)"},
        {"[a]\n[a]",
         "x:2:2: \"a\" is already defined by its header (line 1); put all its keys in one "
         "place"},
        {"[a.b]\n[a]\n[a]", "x:3:2: \"a\" is already defined by its header (line 2)"},
        {"[a]\nx = 1\n[b]\n[a.x]", "x:4:4: \"x\" is an integer already (line 2), not a table"},
        {"[a]\nx = 1\n[b]\n[a.x.y]", "x:4:4: \"x\" is an integer already (line 2), not a table"},
        {"[a]\n[[a]]",
         "x:2:3: \"a\" is already defined by its header (line 1); double brackets need "
         "an array of tables"},
        {"[a.b]\n[[a]]", "x:2:3: \"a\" is already defined by the header of a table in it (line 1)"},
        {"[[a]]\n[a]", "x:2:2: \"a\" is already defined as an array of tables (line 1); double "
                       "brackets add an element to it"},
        {"[[a]]\n[a.b]\n[a.b]", "x:3:4: \"b\" is already defined by its header (line 2)"},
        {"[a]\nb = 1\n[a.c]\n[a]", "x:4:2: \"a\" is already defined by its header (line 1)"},
    };
    check_samples(samples, SBX_COUNT(samples));
}

static void inline_tables_and_arrays_are_complete_where_they_stand(void)
{
    static const struct sample samples[] = {
        {"a = {b = 1}\na.c = 2",
         "x:2:1: the inline table \"a\" (line 1) cannot be added to; write all "
         "its keys between its braces"},
        {"a = {b.c = 1}\n[a.b]", "x:2:2: the inline table \"a\" (line 1) cannot be added to"},
        {"a = {}\n[a]", "x:2:2: the inline table \"a\" (line 1) cannot be added to"},
        {"a = {b = {}, b.c = 1}", "x:1:14: the inline table \"b\" (line 1) cannot be added to"},
        {"a = {b.c = 1, b = 2}", "x:1:15: the key \"b\" is already defined (line 1)"},
        {"a = [{}]\n[[a]]",
         "x:2:3: the array \"a\" (line 1) cannot be added to; write all its items "
         "between its brackets"},
        {"a = [{}]\n[a.b]", "x:2:2: the array \"a\" (line 1) cannot be added to"},
        {"a = []\n[[a]]", "x:2:3: the array \"a\" (line 1) cannot be added to"},
        {"[a]\nb = []\n[c]\n[[a.b]]", "x:4:5: the array \"b\" (line 2) cannot be added to"},
        {"a = {b.c = 1, b.d = 2}", "{a = {b = {c = 1, d = 2}}}"},
    };
    check_samples(samples, SBX_COUNT(samples));
}

/* Beyond a few members a table has an index: the same rules hold on both sides of that, with keys
 * that share their start, are each other's start, or hold NUL. */
static void add_key(struct sbx_buf *buf, unsigned shape, unsigned n)
{
    switch (shape) {
    case 0:
        sbx_buf_printf(buf, "k%u", n);
        break;
    case 1:
        sbx_buf_printf(buf, "%08x", n * 2654435761u);
        break;
    case 2:
        sbx_buf_add_repeat(buf, 'p', n + 1);
        break;
    case 3:
        sbx_buf_add_char(buf, '"');
        for (unsigned i = 0; i < n; i++) {
            sbx_buf_add_text(buf, "\\u0000");
        }
        sbx_buf_add_char(buf, '"');
        break;
    default:
        /* The last two bytes are not hashed: all in one tree. */
        sbx_buf_printf(buf, "same-start-%c%c", "abcdefghijklmnopqrstuvwxyz"[n % 26],
                       "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[n / 26 % 26]);
        break;
    }
}

static enum sbx_code read_keys(unsigned shape, unsigned count, unsigned again, const char *form,
                               struct sbx_err *err)
{
    AUTO_ARENA arena;
    AUTO_BUF buf;
    sbx_arena_init(&arena, ARENA_BYTES);
    sbx_buf_init(&buf, ARENA_BYTES);
    for (unsigned n = 0; n <= count; n++) {
        sbx_buf_add_char(&buf, form[0] == '[' ? '[' : ' ');
        add_key(&buf, shape, n < count ? n : again);
        sbx_buf_add_text(&buf, form[0] == '[' ? "]\n" : " = 1\n");
    }
    struct sbx_value value;
    enum sbx_code code = sbx_toml_read(&arena, "x", sbx_buf_str(&buf), NULL, &value, NULL, err);
    if (code == SBX_OK) {
        CHECK_U64(value.table.count, count + 1);
    }
    return code;
}

static void a_key_is_found_again_in_tables_of_any_size(void)
{
    for (unsigned shape = 0; shape < 5; shape++) {
        for (unsigned count = 1; count < 300; count += count < 40 ? 1 : 37) {
            for (unsigned again = 0; again < count; again += 1 + count / 7) {
                const char *form = again % 2 == 0 ? "=" : "[]";
                char want[64];
                struct sbx_err err = {0};
                CHECK_CODE(read_keys(shape, count, again, form, &err), SBX_E_SYNTAX, &err);
                (void)snprintf(want, sizeof want, "x:%u:2: ", count + 1);
                CHECK(strncmp(err.text, want, strlen(want)) == 0);
                (void)snprintf(want, sizeof want, "(line %u)", again + 1);
                CHECK(strstr(err.text, want) != NULL);
            }
            struct sbx_err err = {0};
            CHECK_CODE(read_keys(shape, count, count, "=", &err), SBX_OK, &err);
        }
    }
}

static void a_hundred_thousand_keys_are_told_apart(void)
{
    struct sbx_err err = {0};
    CHECK_CODE(read_keys(0, 100000, 77777, "=", &err), SBX_E_SYNTAX, &err);
    CHECK_TEXT(
        err.text,
        "x:100001:2: the key \"k77777\" is already defined (line 77778); remove one of the two");
    CHECK_CODE(read_keys(1, 100000, 100000, "[]", &err), SBX_OK, &err);
}

/* A key of 16 bytes that toml_index.c gives the same hash as all others made here, and two bytes that
 * it leaves out: what somebody would write who wants to slow the reader down. The first half is free
 * and decides the second; false when that is not printable. */
static bool make_colliding_key(uint64_t n, char out[19])
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15);
    for (int i = 0; i < 8; i++) {
        out[i] = letters[n * factor >> (6 * i + 10) & 63];
    }
    uint64_t word;
    memcpy(&word, out, sizeof word);
    uint64_t hash = (16 ^ word) * factor;
    hash ^= hash >> 32;
    word = hash ^ UINT64_C(0x1122334455667788);
    memcpy(out + 8, &word, sizeof word);
    memcpy(out + 16, "xx", 3);
    for (int i = 8; i < 16; i++) {
        if (out[i] < ' ' || out[i] > '~' || out[i] == '\'') {
            return false;
        }
    }
    return true;
}

static void keys_made_to_collide_are_told_apart(void)
{
    AUTO_ARENA arena;
    AUTO_BUF buf;
    sbx_arena_init(&arena, ARENA_BYTES);
    sbx_buf_init(&buf, ARENA_BYTES);
    char key[19];
    char first[19] = "";
    unsigned count = 0;
    for (uint64_t n = 1; count < 2000; n++) {
        if (make_colliding_key(n, key)) {
            memcpy(first, count == 0 ? key : first, sizeof first);
            sbx_buf_printf(&buf, "'%s' = %u\n", key, count);
            count++;
        }
    }
    struct sbx_value value;
    struct sbx_err err = {0};
    CHECK_CODE(sbx_toml_read(&arena, "x", sbx_buf_str(&buf), NULL, &value, NULL, &err), SBX_OK,
               &err);
    CHECK_U64(value.table.count, count);
    sbx_buf_printf(&buf, "'%s' = 1\n", first);
    CHECK_CODE(sbx_toml_read(&arena, "x", sbx_buf_str(&buf), NULL, &value, NULL, &err),
               SBX_E_SYNTAX, &err);
    CHECK(strncmp(err.text, "x:2001:1: the key ", 18) == 0);
    CHECK(strstr(err.text, "already defined (line 1)") != NULL);
}

static const struct sbx_test tests[] = {
    {"headers make tables in any order", headers_make_tables_in_any_order},
    {"wrong headers are refused", wrong_headers_are_refused},
    {"arrays of tables grow by headers", arrays_of_tables_grow_by_headers},
    {"dotted keys make tables for their own section",
     dotted_keys_make_tables_for_their_own_section},
    {"nothing is defined twice", nothing_is_defined_twice},
    {"inline tables and arrays are complete where they stand",
     inline_tables_and_arrays_are_complete_where_they_stand},
    {"a key is found again in tables of any size", a_key_is_found_again_in_tables_of_any_size},
    {"a hundred thousand keys are told apart", a_hundred_thousand_keys_are_told_apart},
    {"keys made to collide are told apart", keys_made_to_collide_are_told_apart},
};

SBX_TEST_MAIN("toml rules", tests)
