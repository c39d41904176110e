/* Tests of posix/linux_mountinfo and of the verdict: what the kernel lists, read strictly. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "posix/linux_evidence.h"
#include "posix/linux_mountinfo.h"
#include "tests/check.h"

#include "common/base/banned.h"

enum { ARENA_BYTES = 1 << 20 };

struct table {
    struct sbx_arena arena;
    struct sbx_mountinfo_list list;
    char text[4096];
    bool ok;
};

static void table_release(struct table *table)
{
    sbx_arena_release(&table->arena);
}
#define AUTO_TABLE SBX_CLEANUP(table_release) struct table

static void read_text(struct table *table, const char *text)
{
    *table = (struct table){0};
    sbx_arena_init(&table->arena, ARENA_BYTES);
    (void)snprintf(table->text, sizeof table->text, "%s", text);
    table->ok = sbx_mountinfo_parse(&table->arena, table->text, &table->list);
}

static void a_line_is_read_field_by_field(void)
{
    AUTO_TABLE t;
    read_text(&t,
              "36 35 98:7 /mnt\\0401 /mnt\\0402 rw,nosuid,nodev shared:1 master:2 - ext3 /dev/root "
              "rw,errors=continue\n"
              "37 36 0:5 / /x ro,nosuidx master:7 - tmpfs  rw,size=4k\n"
              "38 36 0:6 / /y\\134z rw - proc none ro\n");
    CHECK(t.ok);
    if (!CHECK_U64(t.list.count, 3)) {
        return;
    }
    const struct sbx_mountinfo *line = t.list.items;
    CHECK_U64(line[0].id, 36);
    CHECK_U64(line[0].parent, 35);
    CHECK_U64(line[0].major, 98);
    CHECK_U64(line[0].minor, 7);
    CHECK_TEXT(line[0].root, "/mnt 1");
    CHECK_TEXT(line[0].place, "/mnt 2");
    CHECK_TEXT(line[0].kind, "ext3");
    CHECK(!line[0].is_read_only && line[0].no_set_id && line[0].no_devices && line[0].is_shared);
    CHECK(line[1].is_read_only && !line[1].no_set_id && !line[1].no_devices && !line[1].is_shared);
    CHECK_TEXT(line[1].kind, "tmpfs");
    CHECK_TEXT(line[2].place, "/y\\z");
    CHECK(line[2].is_read_only); /* by its file system */
    CHECK(sbx_mountinfo_at(&t.list, "/x") == &line[1]);
    CHECK(sbx_mountinfo_at(&t.list, "/nowhere") == NULL);
}

static void what_is_not_understood_is_no_list(void)
{
    static const char *const bad[] = {"",
                                      "36 35 98:0 / /mnt rw",
                                      "36 35 98:0 / /mnt rw shared:1",
                                      "36 35 98:0 / /mnt rw -",
                                      "36 35 98:0 / /mnt rw - ext3",
                                      "36 35 98 / /mnt rw - ext3 x rw",
                                      "garbage",
                                      "36 35 98:0 / /mnt rw - ext3 x rw\ngarbage"};
    for (size_t i = 0; i < SBX_COUNT(bad); i++) {
        AUTO_TABLE t;
        read_text(&t, bad[i]);
        if (!CHECK(!t.ok)) {
            printf("#   \"%s\"\n", bad[i]);
        }
    }
}

static void check_hidden(const char *text, const char *hidden)
{
    AUTO_TABLE t;
    char got[256] = "";
    read_text(&t, text);
    for (size_t i = 0; i < t.list.count; i++) {
        if (sbx_mountinfo_is_hidden(&t.list, &t.list.items[i])) {
            size_t len = strlen(got);
            (void)snprintf(got + len, sizeof got - len, "%lu ", t.list.items[i].id);
        }
    }
    CHECK_TEXT(got, hidden);
}

#define REST " rw - tmpfs none rw\n"

static void what_no_path_leads_to_is_hidden(void)
{
    check_hidden("1 0 0:1 / /" REST "2 1 0:2 / /a" REST "3 2 0:3 / /a/b" REST, "");
    /* Something over it. */
    check_hidden("1 0 0:1 / /" REST "2 1 0:2 / /a" REST "3 2 0:3 / /a" REST, "2 ");
    /* And over what was in it. */
    check_hidden("1 0 0:1 / /" REST "2 1 0:2 / /a" REST "3 2 0:3 / /a/b" REST "4 2 0:4 / /a" REST,
                 "2 3 ");
    /* Over a directory on the way. */
    check_hidden("1 0 0:1 / /" REST "2 1 0:2 / /a/b" REST "3 1 0:3 / /a" REST, "2 ");
    /* What lies in the upper of two is seen. */
    check_hidden("1 0 0:1 / /" REST "2 1 0:2 / /a" REST "3 2 0:3 / /a" REST "4 3 0:4 / /a/b" REST,
                 "2 ");
    /* A name that begins alike is not on the way. */
    check_hidden("1 0 0:1 / /" REST "2 1 0:2 / /ab" REST "3 1 0:3 / /a" REST, "");
}

static void our_own_list_can_be_read(void)
{
    AUTO_TABLE t;
    read_text(&t, "");
    CHECK(sbx_mountinfo_read(&t.arena, getpid(), &t.list));
    CHECK(sbx_mountinfo_at(&t.list, "/") != NULL);
    struct sbx_mountinfo_list none = {0};
    CHECK(!sbx_mountinfo_read(&t.arena, 999999999, &none));
}

/* ---- the verdict ---- */

static void one_difference_is_enough(void)
{
    struct sbx_arena arena;
    struct sbx_evidence_list list;
    struct sbx_err err = {0};
    sbx_arena_init(&arena, ARENA_BYTES);
    sbx_evidence_init(&list, &arena);
    CHECK_CODE(sbx_evidence_verdict(&list, &err), SBX_E_VERIFY, &err); /* nothing proves nothing */
    sbx_evidence_same(&list, "first", "a", "a");
    CHECK_CODE(sbx_evidence_verdict(&list, &err), SBX_OK, &err);
    sbx_evidence_same(&list, "second", "b", "c");
    sbx_evidence_same(&list, "third", "d", "e");
    CHECK_CODE(sbx_evidence_verdict(&list, &err), SBX_E_VERIFY, &err);
    CHECK(strstr(err.text, "second should be b but is c") != NULL);
    CHECK_U64(list.count, 3);
    sbx_arena_release(&arena);
}

static void without_memory_nothing_is_proven(void)
{
    struct sbx_arena arena;
    struct sbx_evidence_list list;
    struct sbx_err err = {0};
    sbx_arena_init(&arena, 4096);
    sbx_evidence_init(&list, &arena);
    for (int i = 0; i < 1000; i++) {
        sbx_evidence_same(&list, "an item with a rather long name", "same", "same");
    }
    CHECK(list.failed);
    CHECK_CODE(sbx_evidence_verdict(&list, &err), SBX_E_VERIFY, &err);
    sbx_arena_release(&arena);
}

static const struct sbx_test tests[] = {
    {"a line of mountinfo is read field by field", a_line_is_read_field_by_field},
    {"what is not understood is no list", what_is_not_understood_is_no_list},
    {"what no path leads to is hidden, and nothing else", what_no_path_leads_to_is_hidden},
    {"our own list can be read", our_own_list_can_be_read},
    {"one difference is enough, and the first is named", one_difference_is_enough},
    {"without memory nothing is proven", without_memory_nothing_is_proven},
};

SBX_TEST_MAIN("evidence", tests)
