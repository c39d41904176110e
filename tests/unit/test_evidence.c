/* Tests of posix/linux_mountinfo and of the verdict: what the kernel lists, read strictly. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "posix/linux_evidence.h"
#include "posix/linux_line.h"
#include "posix/linux_mountindex.h"
#include "tests/check.h"

#include "common/base/banned.h"

enum { ARENA_BYTES = 1 << 20 };

struct table {
    struct sbx_arena arena;
    struct sbx_mountinfo_list list;
    struct sbx_mountindex index; /* when it is ok */
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
    table->ok = sbx_mountinfo_parse(&table->arena, table->text, &table->list) &&
                sbx_mountindex_make(&table->arena, &table->list, &table->index);
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
    CHECK(sbx_mountindex_at(&t.index, "/x") == &line[1]);
    CHECK(sbx_mountindex_at(&t.index, "/nowhere") == NULL);
}

static void what_is_not_understood_is_no_list(void)
{
    static const char *const bad[] = {
        "",
        "36 35 98:0 / /mnt rw",
        "36 35 98:0 / /mnt rw shared:1",
        "36 35 98:0 / /mnt rw -",
        "36 35 98:0 / /mnt rw - ext3",
        "36 35 98 / /mnt rw - ext3 x rw",
        "36 35 98: / /mnt rw - ext3 x rw",
        "36 35 :0 / /mnt rw - ext3 x rw",
        "36 35 98:0:1 / /mnt rw - ext3 x rw",
        "36 35 98:4294967296 / /mnt rw - ext3 x rw",
        "x36 35 98:0 / /mnt rw - ext3 x rw",
        "-36 35 98:0 / /mnt rw - ext3 x rw",
        "36 35x 98:0 / /mnt rw - ext3 x rw",
        "99999999999999999999 35 98:0 / /mnt rw - ext3 x rw",
        "   ",
        "36 35 98:0 / /mnt rw - ext3 x rw\n36 35 98:0 / /b rw - e x rw",
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
        if (sbx_mountindex_is_hidden(&t.index, &t.list.items[i])) {
            size_t len = strlen(got);
            (void)snprintf(got + len, sizeof got - len, "%" PRIu64 " ", t.list.items[i].id);
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
    AUTO_PROC own;
    AUTO_PROC nobody;
    read_text(&t, "");
    sbx_proc_open(&own, getpid());
    sbx_proc_open(&nobody, 999999999);
    CHECK(sbx_mountinfo_read(&t.arena, own.dir, &t.list));
    CHECK(sbx_mountindex_make(&t.arena, &t.list, &t.index));
    CHECK(sbx_mountindex_at(&t.index, "/") != NULL);
    struct sbx_mountinfo_list none = {0};
    CHECK(!sbx_mountinfo_read(&t.arena, nobody.dir, &none));
}

/* ---- many mounts ---- */

/* The same question, asked of every mount: slow, and plain to read. */
static bool is_hidden_slowly(const struct sbx_mountinfo_list *list,
                             const struct sbx_mountinfo *line)
{
    const struct sbx_mountinfo *below = NULL;
    for (int depth = 0; depth < 64; depth++) {
        const struct sbx_mountinfo *parent = NULL;
        for (size_t i = 0; i < list->count; i++) {
            const struct sbx_mountinfo *other = &list->items[i];
            size_t len = strlen(other->place);
            bool covers = other->parent == line->id && strcmp(other->place, line->place) == 0;
            bool is_between = other->parent == line->parent && len > 1 &&
                              strncmp(other->place, line->place, len) == 0 &&
                              (line->place[len] == '/' || line->place[len] == '\0');
            if (other != line && other != below && (covers || is_between)) {
                return true;
            }
            parent = other->id == line->parent && other != line ? other : parent;
        }
        if (parent == NULL) {
            return false;
        }
        below = line;
        line = parent;
    }
    return false;
}

/* Random trees, half of them nonsense, by a generator that always gives the same ones. */
static void the_index_says_what_a_search_of_all_says(void)
{
    static const char *const places[] = {"/",    "/a",     "/a/b", "/a/b/c", "/ab",
                                         "/a/c", "/a/b/d", "/b",   "/a//x",  "/b/a"};
    uint32_t state = 1;
    size_t hidden = 0;
    for (int round = 0; round < 300; round++) {
        AUTO_TABLE t;
        char text[4096] = "1 0 0:1 / / rw - tmpfs none rw\n";
        for (unsigned id = 2; id < 20; id++) {
            size_t len = strlen(text);
            state = state * 1664525u + 1013904223u;
            (void)snprintf(text + len, sizeof text - len, "%u %u 0:1 / %s rw - tmpfs none rw\n", id,
                           1 + (state >> 8) % (round % 2 == 0 ? id - 1 : 19),
                           places[(state >> 16) % SBX_COUNT(places)]);
        }
        read_text(&t, text);
        if (!CHECK(t.ok)) {
            return;
        }
        for (size_t i = 0; i < t.list.count; i++) {
            bool is_hidden = sbx_mountindex_is_hidden(&t.index, &t.list.items[i]);
            CHECK(is_hidden == is_hidden_slowly(&t.list, &t.list.items[i]));
            CHECK(sbx_mountindex_id(&t.index, t.list.items[i].id) == &t.list.items[i]);
            hidden += is_hidden;
        }
        CHECK(sbx_mountindex_id(&t.index, 77) == NULL);
    }
    CHECK(hidden > 300);
}

static void the_nearest_place_above_is_found(void)
{
    static const struct {
        const char *path;
        long above;
    } rows[] = {{"/", 0},    {"/x", 0},   {"/a", 4},     {"/a/x", 4},     {"/a/b", 2},
                {"/ab", 0},  {"", 0},     {"/a/b/c", 2}, {"/a/bc", 4},    {"/c/d/e", 3},
                {"/c/d", 3}, {"/c/x", 0}, {"/a/b//", 2}, {"/c/d//del", 3}};
    struct sbx_arena arena;
    struct sbx_places places;
    sbx_arena_init(&arena, ARENA_BYTES);
    if (CHECK(sbx_places_init(&places, &arena, 6))) {
        static const char *const texts[] = {"/", "/a", "/a/b", "/c/d", "/a", ""};
        for (size_t i = 0; i < SBX_COUNT(texts); i++) {
            sbx_places_add(&places, texts[i]);
        }
        sbx_places_add(&places, "/one/too/many");
        CHECK(sbx_places_find(&places, sbx_str("/one/too/many"), SBX_PLACES_NONE) < 0);
        for (size_t i = 0; i < SBX_COUNT(rows); i++) {
            if (!CHECK(sbx_places_above(&places, sbx_str(rows[i].path)) == rows[i].above)) {
                printf("#   \"%s\"\n", rows[i].path);
            }
        }
        CHECK(sbx_places_find(&places, sbx_str("/a"), SBX_PLACES_NONE) == 4);
        CHECK(sbx_places_find(&places, sbx_str("/a"), 4) == 1);
        CHECK(sbx_places_find(&places, sbx_str("/a"), 1) == SBX_PLACES_NONE);
    }
    sbx_arena_release(&arena);
}

/* ---- texts ---- */

static void a_line_is_cut_and_not_overrun(void)
{
    struct sbx_line line;
    sbx_line_set(&line, "");
    for (int i = 0; i < 100; i++) {
        sbx_line_add(&line, "0123456789");
    }
    sbx_line_number(&line, UINT64_MAX);
    CHECK_U64(line.len, SBX_LINE_BYTES - 1);
    CHECK_U64(strlen(line.text), SBX_LINE_BYTES - 1);
    sbx_line_set(&line, "");
    sbx_line_number(&line, 0);
    sbx_line_add(&line, " ");
    sbx_line_number(&line, UINT64_MAX);
    sbx_line_add(&line, " ");
    sbx_line_octal(&line, 0, 4);
    sbx_line_add(&line, " ");
    sbx_line_octal(&line, 01777, 4);
    sbx_line_octal(&line, 1, 4);
    sbx_line_octal(&line, 012345, 4);
    CHECK_TEXT(line.text, "0 18446744073709551615 0000 1777000112345");
}

static void a_field_of_status_is_found_by_its_whole_name(void)
{
    static struct sbx_proc proc = {.dir = -1};
    (void)snprintf(
        proc.status, sizeof proc.status,
        "Name:\tx\\nSeccomp:\t9\nxSeccomp:\t8\nSeccomp:\t2\nSeccomp_filters:\t 3\nPPid:\n"
        "Uid:\t1\t2\t3\t4\nCapInh\t7\nCapPrm:\t5\nCapEff:\t6");
    sbx_proc_parse(&proc);
    CHECK_TEXT(proc.field[SBX_STATUS_SECCOMP], "2");
    CHECK_TEXT(proc.field[SBX_STATUS_SECCOMP_FILTERS], "3");
    CHECK_TEXT(proc.field[SBX_STATUS_UID], "1\t2\t3\t4");
    CHECK_TEXT(proc.field[SBX_STATUS_PARENT], "");
    CHECK_TEXT(proc.field[SBX_STATUS_GID], "");
    CHECK_TEXT(proc.field[SBX_STATUS_CAP_INH], "");
    CHECK_TEXT(proc.field[SBX_STATUS_CAP_PRM], "5");
    CHECK_TEXT(proc.field[SBX_STATUS_CAP_EFF], ""); /* cut off: who knows what followed */
    CHECK(sbx_proc_filters(&proc) == 3);
    proc.status[0] = '\0';
    sbx_proc_parse(&proc);
    CHECK_TEXT(proc.field[SBX_STATUS_SECCOMP], "");
    CHECK(sbx_proc_filters(&proc) == -1);
    char text[16];
    CHECK(sbx_proc_read(&proc, "status", text, sizeof text) == 0 && text[0] == '\0');
    sbx_proc_link(&proc, "ns/user", text, sizeof text);
    CHECK_TEXT(text, "");
}

static void what_sbx_itself_is_can_be_read(void)
{
    struct sbx_arena arena;
    struct sbx_own own = {0};
    char link[8];
    AUTO_PROC proc;
    sbx_arena_init(&arena, ARENA_BYTES);
    sbx_own_read(&own, &arena, true);
    CHECK(own.is_read && own.has_mounts);
    CHECK(strncmp(own.namespaces[SBX_NAMESPACE_MNT], "mnt:[", 5) == 0);
    CHECK(sbx_own_list_mounts(&own, &arena) && own.mounts.list == &own.mount_list);
    sbx_proc_open(&proc, getpid());
    CHECK(strtoul(proc.field[SBX_STATUS_PARENT], NULL, 10) == (unsigned long)getppid());
    sbx_proc_link(&proc, "ns/user", link, sizeof link); /* does not fit: no half of it */
    CHECK_TEXT(link, "");
    sbx_arena_release(&arena);
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
    {"the index says what a search of all mounts says", the_index_says_what_a_search_of_all_says},
    {"the nearest place above a path is found", the_nearest_place_above_is_found},
    {"a line is cut and not overrun", a_line_is_cut_and_not_overrun},
    {"a field of status is found by its whole name", a_field_of_status_is_found_by_its_whole_name},
    {"what sbx itself is can be read", what_sbx_itself_is_can_be_read},
    {"one difference is enough, and the first is named", one_difference_is_enough},
    {"without memory nothing is proven", without_memory_nothing_is_proven},
};

SBX_TEST_MAIN("evidence", tests)
