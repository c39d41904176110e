/* Unit tests of common/policy/toml: refusals. They name the place, show the line safely, cost
 * little however large or deep or broken the text is, and leave the caller's value alone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/utf8.h"
#include "common/policy/toml.h"
#include "tests/check.h"

#include "common/base/banned.h"

#define ARENA_BYTES ((size_t)64 << 20)

/* What a refused document leaves. */
struct refusal {
    enum sbx_code code;
    struct sbx_toml_fault fault;
    struct sbx_err err;
};

static void free_copy(char **copy)
{
    free(*copy);
}

/* Reads a copy that is exactly as large, so that a sanitizer sees one byte too far; checks what
 * holds for every outcome. */
static struct refusal read_copy(const char *text, size_t len, size_t arena_bytes)
{
    struct refusal got = {.code = SBX_OK};
    AUTO_ARENA arena;
    sbx_arena_init(&arena, arena_bytes);
    struct sbx_value value = {.type = SBX_VALUE_NULL, .integer = 77};
    SBX_CLEANUP(free_copy) char *copy = malloc(len > 0 ? len : 1);
    if (copy == NULL) {
        CHECK(copy != NULL);
        return got;
    }
    memcpy(copy, text, len);
    got.code = sbx_toml_read(&arena, "x.toml", (struct sbx_str){copy, len}, NULL, &value,
                             &got.fault, &got.err);
    if (got.code == SBX_OK) {
        CHECK(value.type == SBX_VALUE_TABLE);
    } else {
        const struct sbx_err *err = &got.err;
        bool told = err->code == got.code && strncmp(err->text, "x.toml:", 7) == 0 &&
                    got.fault.offset <= len && got.fault.place.line >= 1 &&
                    got.fault.place.column >= 1 && value.type == SBX_VALUE_NULL &&
                    value.integer == 77 && sbx_utf8_valid(err->text, strlen(err->text), NULL) &&
                    sbx_utf8_valid(err->hint, strlen(err->hint), NULL);
        if (!CHECK(told)) {
            printf("# %s\n# %s\n", err->text, err->hint);
        }
    }
    return got;
}

static struct refusal read_text(const char *text)
{
    return read_copy(text, strlen(text), ARENA_BYTES);
}

static void a_refusal_names_the_place_and_the_remedy(void)
{
    static const struct {
        const char *toml;
        const char *text;
        const char *hint;
    } samples[] = {
        {"a = 1\nname = bob\n", "x.toml:2:8: \"bob\" is not a value; strings need quotes",
         "name = bob\n       ^"},
        {"ok = True",
         "x.toml:1:6: \"True\" is not a value; booleans are true and false, in lower case",
         "ok = True\n     ^"},
        {"a = none", "x.toml:1:5: \"none\" is not a value; leave the key out instead",
         "a = none\n    ^"},
        {"a = Inf", "x.toml:1:5: \"Inf\" is not a value; write it in lower case", "a = Inf\n    ^"},
        {"a =\nb = 1",
         "x.toml:1:4: expected a value (strings need quotes), found the end of the line",
         "a =\n   ^"},
        {"a = /usr", "x.toml:1:5: expected a value (strings need quotes), found \"/\"",
         "a = /usr\n    ^"},
        {"a = \"C:\\Users\"",
         "x.toml:1:8: \\U needs 8 hexadecimal digits; a text with backslashes is "
         "easier in single quotes",
         "a = \"C:\\Users\"\n       ^"},
        {"a = \"C:\\windows\"",
         "x.toml:1:8: a backslash before \"w\" is no escape; write \\\\ for a "
         "backslash, or use single quotes",
         "a = \"C:\\windows\"\n       ^"},
        {"a = \"\\ud800\"", "x.toml:1:6: U+D800 is not a character", "a = \"\\ud800\"\n     ^"},
        {"a = \"b\nc", "x.toml:1:7: the string is not closed; expected \" on the same line",
         "a = \"b\n      ^"},
        {"a = '''b\nc",
         "x.toml:2:2: the string from line 1 is not closed; expected ''' before the end of the "
         "file",
         "c\n ^"},
        {"a = 007", "x.toml:1:5: leading zeros are not allowed; an octal number starts with 0o",
         "a = 007\n    ^"},
        {"a = 10px", "x.toml:1:7: \"p\" does not belong into a number here; strings need quotes",
         "a = 10px\n      ^"},
        {"a = 1_000_", "x.toml:1:10: an underscore has to stand between two digits",
         "a = 1_000_\n         ^"},
        {"a = 1e", "x.toml:1:7: the number is not complete; a digit is missing", "a = 1e\n      ^"},
        {"a = .5", "x.toml:1:5: a number needs a digit before the point", "a = .5\n    ^"},
        {"a = 99999999999999999999", "x.toml:1:5: the integer does not fit into 64 bits with sign",
         "a = 99999999999999999999\n    ^"},
        {"a = 2023-02-29", "x.toml:1:13: the day 29 is not between 1 and 28",
         "a = 2023-02-29\n            ^"},
        {"a = 07:32", "x.toml:1:10: expected \":\" here: a time is HH:MM:SS",
         "a = 07:32\n         ^"},
        {"a = {b = 1,\n",
         "x.toml:1:12: an inline table has to be on one line; use a [table] header "
         "for several",
         "a = {b = 1,\n           ^"},
        {"a = {b = 1, }", "x.toml:1:13: a comma before the \"}\" of an inline table is not allowed",
         "a = {b = 1, }\n            ^"},
        {"a = [1\nb = 2",
         "x.toml:2:1: expected \",\" or \"]\" in the array from line 1, found \"b\"", "b = 2\n^"},
        {"a = 1 b", "x.toml:1:7: expected the end of the line after the value, found \"b\"",
         "a = 1 b\n      ^"},
        {"a: 1",
         "x.toml:1:2: expected \"=\" after the key \"a\"; a key with characters other than A-Z "
         "a-z 0-9 _ - needs quotes",
         "a: 1\n ^"},
        {"a 1", "x.toml:1:3: expected \"=\", found \"1\"", "a 1\n  ^"},
    };
    for (size_t i = 0; i < SBX_COUNT(samples); i++) {
        struct refusal got = read_text(samples[i].toml);
        CHECK_CODE(got.code, SBX_E_SYNTAX, &got.err);
        CHECK_TEXT(got.err.text, samples[i].text);
        CHECK_TEXT(got.err.hint, samples[i].hint);
    }
}

static void bytes_that_are_no_text_are_named(void)
{
    static const struct {
        const char *toml;
        size_t len;
        const char *text;
        const char *hint;
    } samples[] = {
        {"a = \"\xff\"", 7, "x.toml:1:6: byte 0xff is not UTF-8; save the file as UTF-8",
         "a = \"\\xff\"\n     ^"},
        {"# \xc3\x28", 4, "x.toml:1:3: byte 0xc3 is not UTF-8; save the file as UTF-8",
         "# \\xc3(\n  ^"},
        {"a = '\xed\xa0\x80'", 9, "x.toml:1:6: byte 0xed is not UTF-8; save the file as UTF-8",
         "a = '\\xed\\xa0\\x80'\n     ^"},
        {"\xff\xfe"
         "a\0",
         4, "x.toml:1:1: the file is UTF-16; save it as UTF-8", "\\xff\\xfea\\x00\n^"},
        {"a\0=\0", 4, "x.toml:1:1: the file is UTF-16; save it as UTF-8", "a\\x00=\\x00\n^"},
        {"ab\0", 3, "x.toml:1:3: the control character U+0000 is not allowed", "ab\\x00\n  ^"},
        {"a = \0", 5, "x.toml:1:5: the control character U+0000 is not allowed",
         "a = \\x00\n    ^"},
        {"a = '\0'", 7,
         "x.toml:1:6: the control character U+0000 is not allowed in a string; write "
         "\\u0000 in a string with double quotes",
         "a = '\\x00'\n     ^"},
        {"a = \"\x1b\"", 7,
         "x.toml:1:6: the control character U+001B is not allowed in a string; "
         "write \\u001B",
         "a = \"\\x1b\"\n     ^"},
        {"#\x7f", 2, "x.toml:1:2: the control character U+007F is not allowed in a comment",
         "#\\x7f\n ^"},
        {"a = 1\rb = 2", 11, "x.toml:1:6: a carriage return must be followed by a line feed",
         "a = 1\\rb = 2\n     ^"},
    };
    for (size_t i = 0; i < SBX_COUNT(samples); i++) {
        struct refusal got = read_copy(samples[i].toml, samples[i].len, ARENA_BYTES);
        CHECK_CODE(got.code, SBX_E_SYNTAX, &got.err);
        CHECK_TEXT(got.err.text, samples[i].text);
        CHECK_TEXT(got.err.hint, samples[i].hint);
    }
}

/* The caret stands below the place also when what is before it is cut or made visible. */
static void the_shown_line_is_cut_and_safe(void)
{
    AUTO_BUF buf;
    sbx_buf_init(&buf, 4096);
    sbx_buf_add_text(&buf, "a = '");
    sbx_buf_add_repeat(&buf, 'b', 500);
    sbx_buf_add_text(&buf, "' x ");
    sbx_buf_add_repeat(&buf, 'c', 500);
    struct refusal got = read_text(sbx_buf_text(&buf));
    CHECK_U64(got.fault.place.column, 508);
    CHECK_U64(got.fault.offset, 507);
    CHECK_TEXT(got.err.hint,
               "…bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb' x cccccccccccccccccccccccccccccc"
               "cccccccc…\n                                         ^");

    got = read_text("\t\"\xe2\x80\xae\" = 1 # \xe2\x80\x8b\n\t\"\xe2\x80\xae\" = 2");
    CHECK_TEXT(got.err.text,
               "x.toml:2:2: the key \"\\u{202e}\" is already defined (line 1); remove one "
               "of the two");
    CHECK_TEXT(got.err.hint, "\\t\"\\u{202e}\" = 2\n  ^");

    sbx_buf_reset(&buf);
    for (int i = 0; i < 200; i++) {
        sbx_buf_add_text(&buf, i == 100 ? "x" : "\xf0\x9f\x98\x80");
    }
    got = read_text(sbx_buf_text(&buf));
    CHECK_U64(sbx_utf8_count(got.err.hint, strlen(got.err.hint)), 80 + 1 + 2);
    CHECK(strlen(got.err.hint) < sizeof got.err.hint - 4);
}

static void long_names_and_keys_leave_room_for_the_message(void)
{
    AUTO_ARENA arena;
    AUTO_BUF name;
    AUTO_BUF text;
    sbx_arena_init(&arena, ARENA_BYTES);
    sbx_buf_init(&name, 8192);
    sbx_buf_init(&text, 8192);
    sbx_buf_add_repeat(&name, 'd', 4000);
    sbx_buf_add_text(&name, "/\x1b[2Jend.toml");
    for (int i = 0; i < 2; i++) {
        sbx_buf_add_repeat(&text, 'k', 3000);
        sbx_buf_add_text(&text, " = 1\n");
    }
    struct sbx_value value;
    struct sbx_err err = {0};
    CHECK_CODE(
        sbx_toml_read(&arena, sbx_buf_text(&name), sbx_buf_str(&text), NULL, &value, NULL, &err),
        SBX_E_SYNTAX, &err);
    CHECK(strstr(err.text, "\\x1b[2Jend.toml:2:1: the key \"kkkkkkkkkkkkkkkkkkkkkkkk\"… is already "
                           "defined (line 1); remove one of the two") != NULL);
}

static void nobody_has_to_want_the_details(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, ARENA_BYTES);
    struct sbx_value value;
    CHECK_INT(sbx_toml_read(&arena, "x", sbx_str("a = b"), NULL, &value, NULL, NULL), SBX_E_SYNTAX);
    CHECK_INT(sbx_toml_read(&arena, "x", sbx_str("a = 'b'"), NULL, &value, NULL, NULL), SBX_OK);
}

static void fifty_megabytes_are_refused_unread(void)
{
    const size_t len = (size_t)50 << 20;
    char *text = calloc(len, 1); /* the pages are not even there before somebody reads them */
    AUTO_ARENA arena;
    sbx_arena_init(&arena, ARENA_BYTES);
    struct sbx_value value;
    struct sbx_err err = {0};
    if (CHECK(text != NULL)) {
        CHECK_CODE(sbx_toml_read(&arena, "big.toml", (struct sbx_str){text, len}, NULL, &value,
                                 NULL, &err),
                   SBX_E_LIMIT, &err);
        CHECK_TEXT(err.text, "big.toml:1:1: the file has 52428800 bytes, more than the maximum of "
                             "16777216");
    }
    CHECK_U64(arena.used_bytes, 0);
    free(text);
    const struct sbx_toml_options options = {.max_bytes = 4};
    CHECK_CODE(sbx_toml_read(&arena, "x", sbx_str("a = 1"), &options, &value, NULL, &err),
               SBX_E_LIMIT, &err);
    CHECK_CODE(sbx_toml_read(&arena, "x", sbx_str("a=12"), &options, &value, NULL, &err), SBX_OK,
               &err);
}

/* `count` times `piece`, and what has to stand before and behind it. */
static enum sbx_code read_repeated(const char *start, const char *piece, size_t count,
                                   const char *end, unsigned max_depth, struct sbx_err *err)
{
    AUTO_ARENA arena;
    AUTO_BUF buf;
    sbx_arena_init(&arena, ARENA_BYTES);
    sbx_buf_init(&buf, ARENA_BYTES);
    sbx_buf_add_text(&buf, start);
    for (size_t i = 0; i < count; i++) {
        sbx_buf_add_text(&buf, piece);
    }
    sbx_buf_add_text(&buf, end);
    for (size_t i = 0; i < count && piece[0] != 'a'; i++) {
        sbx_buf_add_text(&buf, piece[0] == '[' ? "]" : "}");
    }
    const struct sbx_toml_options options = {.max_depth = max_depth};
    struct sbx_value value;
    return sbx_toml_read(&arena, "x", sbx_buf_str(&buf), &options, &value, NULL, err);
}

static void depth_is_limited_for_every_construct(void)
{
    static const struct {
        const char *start, *piece, *end;
        size_t fits; /* pieces at 64 levels */
    } shapes[] = {
        {"a = ", "[", "", 64},        {"a = ", "{a=", "1", 64},
        {"", "a.", "b = 1", 64},      {"[", "a.", "b]", 63},
        {"[[", "a.", "b]]", 62},      {"[x.y]\n", "a.", "b = 1", 62},
        {"[x.y]\nz = ", "[", "", 62}, {"[[x]]\nz = ", "{a=", "1", 62},
    };
    for (size_t i = 0; i < SBX_COUNT(shapes); i++) {
        struct sbx_err err = {0};
        const size_t fits = shapes[i].fits;
        const char *start = shapes[i].start;
        CHECK_CODE(read_repeated(start, shapes[i].piece, fits, shapes[i].end, 0, &err), SBX_OK,
                   &err);
        CHECK_CODE(read_repeated(start, shapes[i].piece, fits + 1, shapes[i].end, 0, &err),
                   SBX_E_LIMIT, &err);
        CHECK(strstr(err.text, "nested deeper than 64 levels, which is the maximum") != NULL);
        CHECK_CODE(read_repeated(start, shapes[i].piece, 100000, shapes[i].end, 0, &err),
                   SBX_E_LIMIT, &err);
        CHECK_CODE(read_repeated(start, shapes[i].piece, 1, shapes[i].end, 3, &err), SBX_OK, &err);
        CHECK_CODE(read_repeated(start, shapes[i].piece, 4, shapes[i].end, 3, &err), SBX_E_LIMIT,
                   &err);
        /* However much is allowed, the stack is safe. */
        CHECK_CODE(read_repeated(start, shapes[i].piece, 250, shapes[i].end, 100000, &err), SBX_OK,
                   &err);
        CHECK_CODE(read_repeated(start, shapes[i].piece, 100000, shapes[i].end, 100000, &err),
                   SBX_E_LIMIT, &err);
    }
}

/* One of everything. */
static const char rich[] = "\xef\xbb\xbf# comment é\r\n"
                           "title = \"a \\\"b\\\" \\u00e9\\U0001F600\\n\" # c\n"
                           "'lit' = 'C:\\x'\n\"q\\tk\".sub . x = \"\"\"\\\n  l1\r\n\"l2\"\"\"\"\"\n"
                           "m = '''\n''x'\n'''\ni = [ -0, +1_000, 0xDEAD_beef, 0o17, 0b1, # i\n ]\n"
                           "f = [1.5, -6.02e+2_3, 1E-9, +inf, -nan, 0.1]\nb = [true,false]\n"
                           "d = [1979-05-27T07:32:00.999Z, 1979-05-27 00:00:00-07:30, 2000-02-29, "
                           "23:59:59.5]\ne = {}\nn = { a = { b.c = 1 }, d = [ {}, [[]] ] }\n"
                           "[t.u]\nk1 = 1\nk2=2\nk3=3\nk4=4\nk5=5\nk6=6\nk7=7\nk8=8\nk9=9\nk10=10\n"
                           "[t]\n[[t.arr]]\nx = 1\n[t.arr.y]\n[[t.arr]]\n[[\"é\"]]\n";

static void every_prefix_is_read_or_refused_cleanly(void)
{
    unsigned read = 0;
    for (size_t len = 0; len < sizeof rich; len++) {
        struct refusal got = read_copy(rich, len, ARENA_BYTES);
        read += got.code == SBX_OK ? 1 : 0;
        CHECK(got.code == SBX_OK || got.code == SBX_E_SYNTAX);
    }
    CHECK(read > 30);
    struct refusal whole = read_text(rich);
    CHECK_CODE(whole.code, SBX_OK, &whole.err);
}

static void every_changed_byte_is_read_or_refused_cleanly(void)
{
    static const char bytes[] = "\0\n\r\t \"'\\[]{}=.,#_-+019aeZ:T\x7f\x80\xc3\xff";
    char changed[sizeof rich];
    for (size_t at = 0; at < sizeof rich - 1; at++) {
        memcpy(changed, rich, sizeof rich);
        for (size_t i = 0; i < sizeof bytes - 1; i++) {
            changed[at] = bytes[i];
            struct refusal got = read_copy(changed, sizeof rich - 1, ARENA_BYTES);
            CHECK(got.code == SBX_OK || got.code == SBX_E_SYNTAX);
        }
    }
}

static void memory_that_ends_is_an_ordinary_error(void)
{
    const size_t len = sizeof rich - 1;
    size_t bytes = 0;
    struct refusal got = read_copy(rich, len, bytes);
    while (got.code == SBX_E_NOMEM && bytes < ARENA_BYTES) {
        bytes += 16;
        got = read_copy(rich, len, bytes);
    }
    CHECK_CODE(got.code, SBX_OK, &got.err);
    CHECK(bytes > 1000);
}

/* In a piece of text, "@" stands for a number that is new each time, "~" for sixty ".a". */
static void add_piece(struct sbx_buf *buf, const char *piece, unsigned n)
{
    for (; *piece != '\0'; piece++) {
        if (*piece == '@') {
            sbx_buf_printf(buf, "%x", n);
        } else if (*piece == '~') {
            for (int i = 0; i < 60; i++) {
                sbx_buf_add_text(buf, ".a");
            }
        } else {
            sbx_buf_add_char(buf, *piece);
        }
    }
}

/* The header's promise about memory, on the texts that need most of it. */
static void memory_is_a_small_multiple_of_the_text(void)
{
    static const struct {
        const char *start, *piece, *end;
    } shapes[] = {
        {"a = [1", ",1", "]"},
        {"a = [[]", ",[]", "]"},
        {"a = [{}", ",{}", "]"},
        {"a = [{a=1}", ",{a=1}", "]"},
        {"a = [{a.a=1}", ",{a.a=1}", "]"},
        {"a = [\"\\t\"", ",\"\\t\"", "]"},
        {"", "[[a]]\n", ""},
        {"[[a]]\n", "[[a.a]]\n", ""},
        {"", "[[a]]\nb=1\n[a.c]\n", ""},
        {"", "@=1\n", ""},
        {"", "[@]\n", ""},
        {"", "[a.@]\nb=1\n[a.@.c]\n", ""},
        {"", "[[a]]\nb~=1\n", ""},
        {"", "[@~]\n", ""},
        {"", "@~=1\n", ""},
    };
    for (size_t i = 0; i < SBX_COUNT(shapes); i++) {
        AUTO_BUF buf;
        sbx_buf_init(&buf, ARENA_BYTES);
        sbx_buf_add_text(&buf, shapes[i].start);
        for (unsigned n = 0; buf.len < 1000000; n++) {
            add_piece(&buf, shapes[i].piece, n);
        }
        sbx_buf_add_text(&buf, shapes[i].end);
        /* The arena's maximum bounds the scratch memory too. */
        AUTO_ARENA arena;
        sbx_arena_init(&arena, buf.len * SBX_TOML_SCRATCH_MULTIPLE + SBX_TOML_ARENA_EXTRA);
        struct sbx_value value;
        struct sbx_err err = {0};
        CHECK_CODE(
            sbx_toml_read(&arena, shapes[i].piece, sbx_buf_str(&buf), NULL, &value, NULL, &err),
            SBX_OK, &err);
        const size_t most = buf.len * SBX_TOML_ARENA_MULTIPLE + SBX_TOML_ARENA_EXTRA;
        if (!CHECK(arena.used_bytes <= most)) {
            printf("# %s: %zu bytes for %zu\n", shapes[i].piece, arena.used_bytes, buf.len);
        }
    }
}

static const struct sbx_test tests[] = {
    {"a refusal names the place and the remedy", a_refusal_names_the_place_and_the_remedy},
    {"bytes that are no text are named", bytes_that_are_no_text_are_named},
    {"the shown line is cut and safe", the_shown_line_is_cut_and_safe},
    {"long names and keys leave room for the message",
     long_names_and_keys_leave_room_for_the_message},
    {"nobody has to want the details", nobody_has_to_want_the_details},
    {"fifty megabytes are refused unread", fifty_megabytes_are_refused_unread},
    {"depth is limited for every construct", depth_is_limited_for_every_construct},
    {"every prefix of a rich document is read or refused cleanly",
     every_prefix_is_read_or_refused_cleanly},
    {"every changed byte of a rich document is read or refused cleanly",
     every_changed_byte_is_read_or_refused_cleanly},
    {"memory that ends is an ordinary error", memory_that_ends_is_an_ordinary_error},
    {"memory is a small multiple of the text", memory_is_a_small_multiple_of_the_text},
};

SBX_TEST_MAIN("toml faults", tests)
