/* Records on disk as text: what is written is read back, and nothing else is a record. */
#include <stdlib.h>
#include <string.h>

#include "common/base/sha256.h"
#include "tests/check.h"
#include "win/record_text.h"

#include "common/base/banned.h"

static struct sbx_err err;

static const struct sbx_record lease = {
    .kind = SBX_RECORD_LEASE,
    .state = SBX_RECORD_RUNNING,
    .owner = {4242, UINT64_C(133700000000000001), "C:\\Program Files\\sbx\\sbx.exe"},
    .since = 1760000000,
    .profile = "sbx.4242.0123456789abcdef",
};

static const char *above[] = {"C:\\Users\\Zo\xc3\xab", "C:\\Users", "C:\\"};

static const struct sbx_record workspace = {
    .kind = SBX_RECORD_WORKSPACE,
    .state = SBX_RECORD_COMPLETE,
    .owner = {1, 2, "C:\\x"},
    .since = 0,
    .capability = "sbx.root.0123456789abcdef.rw",
    .sid = "S-1-15-3-1024-1-2-3-4-5-6-7-8",
    .is_write = true,
    .is_directory = true,
    .volume = UINT64_C(0xFEDCBA9876543210),
    .file = {1, 2, 3, 0xFF},
    .path = "C:\\Users\\Zo\xc3\xab\\a project, with spaces",
    .journal = 7,
    .usn = INT64_MAX,
    .counts = {UINT64_MAX, 1, 2, 3, 4, 5},
    .above = above,
    .above_count = SBX_COUNT(above),
};

static void print(const struct sbx_record *record, struct sbx_buf *out)
{
    sbx_buf_init(out, SBX_RECORD_BYTES_MAX);
    sbx_record_print(record, out);
    CHECK(!out->failed);
}

static enum sbx_code parse(struct sbx_str text)
{
    AUTO_ARENA arena;
    struct sbx_record out = {.since = 77};
    sbx_arena_init(&arena, 1 << 20);
    err = (struct sbx_err){0};
    enum sbx_code code = sbx_record_parse(&arena, text, &out, &err);
    CHECK(code == SBX_OK || out.since == 77); /* untouched on failure */
    return code;
}

static void a_record_is_read_back_as_it_was_written(void)
{
    const struct sbx_record *records[] = {&lease, &workspace};
    for (size_t i = 0; i < SBX_COUNT(records); i++) {
        AUTO_BUF first;
        AUTO_BUF second;
        AUTO_ARENA arena;
        struct sbx_record read;
        sbx_arena_init(&arena, 1 << 20);
        print(records[i], &first);
        CHECK_CODE(sbx_record_parse(&arena, sbx_buf_str(&first), &read, &err), SBX_OK, &err);
        CHECK_INT(read.kind, records[i]->kind);
        CHECK_INT(read.state, records[i]->state);
        CHECK_U64(read.owner.created, records[i]->owner.created);
        print(&read, &second);
        CHECK_TEXT(sbx_buf_text(&second), sbx_buf_text(&first));
    }
}

static void every_changed_byte_is_noticed(void)
{
    AUTO_BUF text;
    print(&workspace, &text);
    CHECK_CODE(parse(sbx_buf_str(&text)), SBX_OK, &err);
    for (size_t i = 0; i < text.len; i++) {
        char saved = text.data[i];
        text.data[i] = (char)(saved ^ 1);
        CHECK_CODE(parse(sbx_buf_str(&text)), SBX_E_SYNTAX, &err);
        text.data[i] = saved;
    }
    for (size_t len = 0; len < text.len; len++) {
        CHECK_CODE(parse((struct sbx_str){text.data, len}), SBX_E_SYNTAX, &err);
    }
    sbx_buf_add_char(&text, '\n');
    CHECK_CODE(parse(sbx_buf_str(&text)), SBX_E_SYNTAX, &err);
}

/* The same with a digest that fits: what a person, or a program that knows the format, would write. */
static enum sbx_code parse_signed(const char *body)
{
    char digest[SBX_SHA256_HEX];
    AUTO_BUF text;
    sbx_buf_init(&text, 1 << 20);
    sbx_sha256_hex(body, strlen(body), digest);
    sbx_buf_printf(&text, "%sdigest %s\n", body, digest);
    return parse(sbx_buf_str(&text));
}

#define HEAD "sbx-record 1\nkind lease\nstate running\npid 1\ncreated 2\nimage C:\\x\nsince 3\n"

static void only_one_spelling_is_a_record(void)
{
    static const char *const wrong[] = {
        "",
        "\n",
        "sbx-record 2\nkind lease\nstate running\npid 1\ncreated 2\nimage x\nsince 3\nprofile "
        "sbx.a\n",
        "sbx-record 1\r\nkind lease\nstate running\npid 1\ncreated 2\nimage x\nsince 3\nprofile "
        "sbx.a\n",
        HEAD,
        HEAD "profile \n",
        HEAD "profile other.app\n",
        HEAD "profile sbx.\n",
        HEAD "profile sbx.a b\n",
        HEAD "profile sbx.a/../b\n",
        HEAD "profile sbx.0123456789012345678901234567890123456789012345678\n",
        HEAD "profile sbx.a\nprofile sbx.a\n",
        HEAD "profile sbx.a\nmore\n",
        HEAD " profile sbx.a\n",
        "sbx-record 1\nkind lease\nstate complete\npid 1\ncreated 2\nimage x\nsince 3\nprofile "
        "sbx.a\n",
        "sbx-record 1\nkind workspace\nstate running\npid 1\ncreated 2\nimage x\nsince 3\n",
        "sbx-record 1\nkind lease\nstate running\npid 01\ncreated 2\nimage x\nsince 3\nprofile "
        "sbx.a\n",
        "sbx-record 1\nkind lease\nstate running\npid 4294967296\ncreated 2\nimage x\nsince "
        "3\nprofile sbx.a\n",
        "sbx-record 1\nkind lease\nstate running\npid -1\ncreated 2\nimage x\nsince 3\nprofile "
        "sbx.a\n",
        "sbx-record 1\nkind lease\nstate running\npid 1\ncreated 2\nimage a\tb\nsince 3\nprofile "
        "sbx.a\n",
        "sbx-record 1\nkind lease\nstate running\npid 1\ncreated 2\nimage \xff\nsince 3\nprofile "
        "sbx.a\n",
        "sbx-record 1\nkind lease\nstate running\ncreated 2\npid 1\nimage x\nsince 3\nprofile "
        "sbx.a\n",
    };
    CHECK_CODE(parse_signed(HEAD "profile sbx.a\n"), SBX_OK, &err);
    for (size_t i = 0; i < SBX_COUNT(wrong); i++) {
        CHECK_CODE(parse_signed(wrong[i]), SBX_E_SYNTAX, &err);
        CHECK(strstr(err.text, "line") != NULL);
    }
}

static void values_of_a_workspace_are_checked(void)
{
    static const char *const pairs[][2] = {
        {"capability sbx.root.0123456789abcdef.rw", "capability internetClient"},
        {"sid S-1-15-3-1024-1-2-3-4-5-6-7-8", "sid S-1-5-18"},
        {"access write", "access all"},
        {"node directory", "node pipe"},
        {"volume fedcba9876543210", "volume FEDCBA9876543210"},
        {"volume fedcba9876543210", "volume fedcba987654321"},
        {"usn 9223372036854775807", "usn 9223372036854775808"},
        {"above-count 3", "above-count 2"},
        {"above-count 3", "above-count 4"},
        {"above-count 3", "above-count 65"},
        {"above-count 3", "above-count 18446744073709551615"},
    };
    AUTO_BUF text;
    print(&workspace, &text);
    *strstr(text.data, "digest ") = '\0';
    CHECK_CODE(parse_signed(text.data), SBX_OK, &err);
    for (size_t i = 0; i < SBX_COUNT(pairs); i++) {
        AUTO_BUF changed;
        sbx_buf_init(&changed, 1 << 20);
        const char *at = strstr(text.data, pairs[i][0]);
        CHECK(at != NULL);
        if (at == NULL) {
            continue;
        }
        sbx_buf_add(&changed, text.data, (size_t)(at - text.data));
        sbx_buf_add_text(&changed, pairs[i][1]);
        sbx_buf_add_text(&changed, at + strlen(pairs[i][0]));
        CHECK_CODE(parse_signed(sbx_buf_text(&changed)), SBX_E_SYNTAX, &err);
    }
}

static void sizes_have_a_maximum(void)
{
    char *large = malloc(SBX_RECORD_BYTES_MAX + 2);
    CHECK(large != NULL);
    if (large == NULL) {
        return;
    }
    memset(large, 'a', SBX_RECORD_BYTES_MAX + 1);
    CHECK_CODE(parse((struct sbx_str){large, SBX_RECORD_BYTES_MAX + 1}), SBX_E_LIMIT, &err);
    CHECK_CODE(parse((struct sbx_str){large, SBX_RECORD_BYTES_MAX}), SBX_E_SYNTAX, &err);
    /* One value over its maximum, and one at it. */
    for (size_t over = 0; over < 2; over++) {
        AUTO_BUF text;
        sbx_buf_init(&text, SBX_RECORD_BYTES_MAX);
        sbx_buf_add_text(&text,
                         "sbx-record 1\nkind lease\nstate running\npid 1\ncreated 2\nimage ");
        sbx_buf_add_repeat(&text, 'a', SBX_RECORD_VALUE_MAX + over);
        sbx_buf_add_text(&text, "\nsince 3\nprofile sbx.a\n");
        CHECK_CODE(parse_signed(sbx_buf_text(&text)), over == 0 ? SBX_OK : SBX_E_SYNTAX, &err);
    }
    free(large);
}

static void no_memory_is_no_syntax_error(void)
{
    AUTO_BUF text;
    print(&workspace, &text);
    size_t failures = 0;
    for (size_t max = 0; max < 1 << 16; max += 64) {
        AUTO_ARENA arena;
        struct sbx_record out;
        sbx_arena_init(&arena, max);
        enum sbx_code code = sbx_record_parse(&arena, sbx_buf_str(&text), &out, &err);
        CHECK(code == SBX_OK || code == SBX_E_NOMEM);
        failures += code == SBX_E_NOMEM ? 1 : 0;
    }
    CHECK(failures > 0);
}

static const struct sbx_test tests[] = {
    {"a record is read back as it was written", a_record_is_read_back_as_it_was_written},
    {"every changed, missing or added byte is noticed", every_changed_byte_is_noticed},
    {"only one spelling is a record", only_one_spelling_is_a_record},
    {"values of a workspace are checked", values_of_a_workspace_are_checked},
    {"sizes have a maximum", sizes_have_a_maximum},
    {"no memory is no syntax error", no_memory_is_no_syntax_error},
};
SBX_TEST_MAIN("record text", tests)
