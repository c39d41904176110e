/* File grants (win/grant.h) on the model of NT: what a box may do afterwards, what a second run costs, what is left
 * when the entries are taken away. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "common/run/workspace.h"
#include "tests/check.h"
#include "tests/unit/grants_world.h"

#include "common/base/banned.h"

/* ---- what a box may do ------------------------------------------------------------------------- */

static void a_box_writes_to_its_root_and_nowhere_else(void)
{
    AUTO_WORLD world;
    world_start(&world, NULL, WRITES_CWD);
    CHECK_CODE(world_make(&world), SBX_OK, &world.err);
    CHECK_U64(world.grants.count, 1);
    CHECK(world_reads(&world, PROJECT));
    CHECK(world_may(&world, PROJECT, FILE_ADD_FILE) != 0);
    CHECK(world_reads(&world, PROJECT L"\\src\\main.c"));
    CHECK(world_writes(&world, PROJECT L"\\src\\main.c"));
    CHECK(world_may(&world, PROJECT L"\\src\\main.c", DELETE) != 0);
    /* Not what would let it remove, or open, what it may not touch. */
    CHECK_U64(world_may(&world, PROJECT, FILE_DELETE_CHILD | WRITE_DAC | WRITE_OWNER), 0);
    CHECK_U64(world_may(&world, PROJECT L"\\src", FILE_DELETE_CHILD | WRITE_DAC | WRITE_OWNER), 0);
    CHECK(!world_reads(&world, L"C:\\Users\\user\\notes.txt"));
    CHECK(!world_reads(&world, L"C:\\Users\\user\\.ssh\\id_rsa"));
    CHECK(!world_reads(&world, L"C:\\Users\\user"));
    CHECK(!world_writes(&world, L"C:\\Users\\user"));
    CHECK(!world_writes(&world, L"C:\\Windows\\win.ini"));
    /* Programs ask whether the directories above are there. */
    CHECK(world_may(&world, L"C:\\Users\\user", FILE_READ_ATTRIBUTES) != 0);
    CHECK(world_may(&world, L"C:\\Users\\user\\notes.txt", FILE_READ_ATTRIBUTES) == 0);
    CHECK(world_remarks(&world, "not yours to change")); /* C:\Users is not */
}

static void a_box_without_the_capability_gets_nothing_from_the_entries(void)
{
    AUTO_WORLD world;
    world_start(&world, NULL, WRITES_CWD);
    world_grant(&world);
    world.grants.count = 0;
    CHECK(!world_reads(&world, PROJECT L"\\src\\main.c"));
    CHECK_U64(world_may(&world, PROJECT, FILE_ALL_ACCESS), 0);
}

static void protected_names_can_be_read_and_not_changed(void)
{
    AUTO_WORLD world;
    world_start(&world, NULL, WRITES_CWD);
    nt_put_file(world.model, PROJECT L"\\deep\\er\\.git\\config", "x", NULL);
    nt_put_file(world.model, PROJECT L"\\deep\\.NPMRC", "x", NULL);
    CHECK_CODE(world_make(&world), SBX_OK, &world.err);
    static const wchar_t *const places[] = {
        PROJECT L"\\.git",           PROJECT L"\\.git\\config",
        PROJECT L"\\.git\\hooks",    PROJECT L"\\.git\\hooks\\pre-commit",
        PROJECT L"\\deep\\er\\.git", PROJECT L"\\deep\\er\\.git\\config",
        PROJECT L"\\deep\\.NPMRC"};
    for (size_t i = 0; i < SBX_COUNT(places); i++) {
        CHECK(world_reads(&world, places[i]));
        CHECK_U64(world_may(&world, places[i], SBX_GRANT_CHANGE), 0);
    }
    CHECK(world_writes(&world, PROJECT L"\\deep\\er"));
    /* Whatever another tool lets flow down from the root stops there. */
    CHECK(world_is_protected(&world, PROJECT L"\\.git"));
    CHECK(world_is_protected(&world, PROJECT L"\\deep\\er\\.git"));
    CHECK(!world_is_protected(&world, PROJECT L"\\src"));
    /* They are held as long as the box lives. */
    CHECK(!host_move(PROJECT L"\\.git", PROJECT L"\\git"));
    CHECK(!host_move(PROJECT, L"C:\\Users\\user\\other"));
    world_close(&world);
    CHECK(host_move(PROJECT L"\\.git", PROJECT L"\\git"));
    CHECK(host_move(PROJECT L"\\git", PROJECT L"\\.git"));
}

static void new_files_get_what_their_directory_gives(void)
{
    AUTO_WORLD world;
    world_start(&world, NULL, WRITES_CWD);
    world_grant(&world);
    host_file(PROJECT L"\\src\\new.c");
    host_directory(PROJECT L"\\made");
    host_file(PROJECT L"\\made\\inside.c");
    host_file(PROJECT L"\\.git\\index");
    CHECK(world_writes(&world, PROJECT L"\\src\\new.c"));
    CHECK(world_writes(&world, PROJECT L"\\made\\inside.c"));
    CHECK(world_reads(&world, PROJECT L"\\.git\\index"));
    CHECK(!world_writes(&world, PROJECT L"\\.git\\index"));
}

static void closed_and_read_only_places_inside_are_held(void)
{
    AUTO_WORLD world;
    world_start(
        &world, NULL,
        "[sandbox]\nfs_write_allow = [':cwd']\nfilesystem = { ':cwd/.env' = \"none\", "
        "':cwd/vendor' = \"read\", ':cwd/closed' = \"none\", ':cwd/closed/open' = \"read\", "
        "':cwd/vendor/out' = \"write\", ':cwd/**/*.key' = \"none\" }\n");
    nt_put_file(world.model, PROJECT L"\\vendor\\a.c", "x", NULL);
    nt_put_file(world.model, PROJECT L"\\vendor\\out\\b.c", "x", NULL);
    nt_put_file(world.model, PROJECT L"\\closed\\c.c", "x", NULL);
    nt_put_file(world.model, PROJECT L"\\closed\\open\\d.c", "x", NULL);
    nt_put_file(world.model, PROJECT L"\\src\\private.key", "x", NULL);
    CHECK_CODE(world_make(&world), SBX_OK, &world.err);
    CHECK_U64(world.grants.count, 3);
    CHECK_U64(world_may(&world, PROJECT L"\\.env", FILE_ALL_ACCESS), 0);
    CHECK_U64(world_may(&world, PROJECT L"\\src\\private.key", FILE_ALL_ACCESS), 0);
    CHECK_U64(world_may(&world, PROJECT L"\\closed", FILE_READ_DATA | SBX_GRANT_CHANGE), 0);
    CHECK_U64(world_may(&world, PROJECT L"\\closed\\c.c", FILE_ALL_ACCESS), 0);
    CHECK(world_reads(&world, PROJECT L"\\closed\\open\\d.c"));
    CHECK(!world_writes(&world, PROJECT L"\\closed\\open\\d.c"));
    CHECK(world_reads(&world, PROJECT L"\\vendor\\a.c"));
    CHECK(!world_writes(&world, PROJECT L"\\vendor\\a.c"));
    CHECK(world_writes(&world, PROJECT L"\\vendor\\out\\b.c"));
    CHECK(world_writes(&world, PROJECT L"\\src\\main.c"));
    world_close(&world);
    world_remove_all(&world);
    CHECK_TEXT(world_changed(&world), "");
}

static void a_read_only_root_is_not_written(void)
{
    AUTO_WORLD world;
    world_start(&world, NULL, "[sandbox]\nfs_read_allow = [':cwd']\n");
    world_grant(&world);
    CHECK(world_reads(&world, PROJECT L"\\src\\main.c"));
    CHECK(!world_writes(&world, PROJECT L"\\src\\main.c"));
    CHECK(!world_writes(&world, PROJECT));
    CHECK(world_reads(&world, PROJECT L"\\.git\\config"));
    CHECK(strstr(world.grants.capabilities[0].name, ".ro") != NULL);
}

static void one_file_can_be_granted(void)
{
    AUTO_WORLD world;
    world_start(&world, NULL, "[sandbox]\nfs_write_allow = [':cwd/README.md']\n");
    world_grant(&world);
    CHECK(world_writes(&world, PROJECT L"\\README.md"));
    CHECK(!world_reads(&world, PROJECT L"\\src\\main.c"));
    CHECK(!world_reads(&world, PROJECT));
    CHECK(world_may(&world, PROJECT, FILE_READ_ATTRIBUTES) != 0);
    world_remove_all(&world);
    CHECK_TEXT(world_changed(&world), "");
}

static void another_shape_is_another_capability(void)
{
    AUTO_WORLD world;
    char first[64];
    world_start(&world, NULL, WRITES_CWD);
    world_grant(&world);
    (void)snprintf(first, sizeof first, "%s", world.grants.capabilities[0].name);
    world_policy(&world, "[sandbox]\nfs_write_allow = [':cwd']\nfilesystem = { ':cwd/src' = "
                         "\"none\" }\n");
    world_grant(&world);
    CHECK(strcmp(world.grants.capabilities[0].name, first) != 0);
    CHECK(!world_reads(&world, PROJECT L"\\src\\main.c"));
    CHECK(world_writes(&world, PROJECT L"\\README.md"));
    /* The first one is as it was. */
    world_policy(&world, WRITES_CWD);
    world_grant(&world);
    CHECK_TEXT(world.grants.capabilities[0].name, first);
    CHECK(world_writes(&world, PROJECT L"\\src\\main.c"));
    CHECK(!world_writes(&world, PROJECT L"\\.git\\config"));
    world_remove_all(&world);
    CHECK_TEXT(world_changed(&world), "");
}

/* ---- single objects ---------------------------------------------------------------------------- */

static void odd_objects_are_left_alone_and_counted(void)
{
    AUTO_WORLD world;
    world_start(&world, NULL, WRITES_CWD);
    nt_put_directory(world.model, PROJECT L"\\own", "O:$UG:$UD:PAI(A;OICI;FA;;;$U)");
    nt_put_file(world.model, PROJECT L"\\own\\a", "x", NULL);
    nt_put_link(world.model, PROJECT L"\\junction", IO_REPARSE_TAG_MOUNT_POINT,
                L"C:\\Users\\user\\.ssh", true);
    nt_put_file(world.model, PROJECT L"\\linked", "x", NULL);
    nt_put_hard_link(world.model, L"C:\\Users\\user\\elsewhere", PROJECT L"\\linked");
    nt_put_file(world.model, PROJECT L"\\foreign", "x", "O:SYG:SYD:PAI(A;;FA;;;SY)(A;;FR;;;$U)");
    free(world.before);
    world.before = nt_model_acl_snapshot(world.model);
    CHECK_CODE(world_make(&world), SBX_OK, &world.err);
    CHECK(!world_reads(&world, PROJECT L"\\own\\a"));
    CHECK(!world_reads(&world, L"C:\\Users\\user\\.ssh\\id_rsa"));
    CHECK(world_reads(&world, PROJECT L"\\linked"));
    CHECK(!world_writes(&world, PROJECT L"\\linked"));
    CHECK(!world_writes(&world, L"C:\\Users\\user\\elsewhere"));
    CHECK(!world_reads(&world, PROJECT L"\\foreign"));
    CHECK(world_remarks(&world, "several names"));
    CHECK(world_remarks(&world, "lists of their own"));
    CHECK(world_remarks(&world, "links or placeholders"));
    world_close(&world);
    world_remove_all(&world);
    CHECK_TEXT(world_changed(&world), "");
}

static void what_every_package_may_change_cannot_be_closed(void)
{
    AUTO_WORLD world;
    world_start(
        &world, NULL,
        "[sandbox]\nfs_write_allow = [':cwd']\nfilesystem = { ':cwd/shared' = \"none\" }\n");
    nt_put_directory(world.model, PROJECT L"\\shared",
                     "O:$UG:$UD:(A;OICI;FA;;;$U)(A;OICI;0x1200a9;;;AC)");
    free(world.before);
    world.before = nt_model_acl_snapshot(world.model);
    CHECK_CODE(world_make(&world), SBX_E_UNSUPPORTED, &world.err);
    CHECK(strstr(world.err.text, "shared") != NULL);
    CHECK(world.err.hint[0] != '\0');
    CHECK_TEXT(world_changed(&world), ""); /* and nothing is left of the attempt */
}

/* ---- places that are refused -------------------------------------------------------------------- */

static void places_that_are_no_box_are_refused(void)
{
    static const struct {
        const char *manifest;
        enum sbx_code code;
        const char *why;
    } rows[] = {
        {"[sandbox]\nfs_write_allow = ['C:\\Users\\user']\n", SBX_E_INVALID, "whole profile"},
        {"[sandbox]\nfs_read_allow = ['C:\\Users']\n", SBX_E_INVALID, "whole profile"},
        {"[sandbox]\nfs_write_allow = ['C:\\Users\\user\\AppData\\Local\\Temp']\n", SBX_E_INVALID,
         "temporary directory"},
        {"[sandbox]\nfs_read_allow = ['C:\\Users\\user\\AppData']\n", SBX_E_INVALID,
         "data of every program"},
        {"[sandbox]\nfs_read_allow = ['C:\\Users\\other\\x']\n", SBX_E_INVALID, "another user"},
        {"[sandbox]\nfs_write_allow = ['C:\\Program Files\\Git']\n", SBX_E_INVALID, "more rights"},
        {"[sandbox]\nfilesystem = { 'C:\\Users\\user\\*.txt' = \"read\" }\n", SBX_E_UNSUPPORTED,
         "glob"},
    };
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        AUTO_WORLD world;
        world_start(&world, NULL, rows[i].manifest);
        nt_put_directory(world.model, L"C:\\Users\\other\\x",
                         "O:$UG:$UD:(A;OICI;FA;;;$U)(A;OICI;FA;;;SY)");
        free(world.before);
        world.before = nt_model_acl_snapshot(world.model);
        CHECK_CODE(world_make(&world), rows[i].code, &world.err);
        CHECK(strstr(world.err.text, rows[i].why) != NULL);
        CHECK(world.err.hint[0] != '\0');
        CHECK_TEXT(world_changed(&world), "");
        CHECK_U64(nt_model_handles(world.model), 0);
    }
}

static void system_places_need_no_entries(void)
{
    AUTO_WORLD world;
    world_start(&world, NULL, "[sandbox]\nmode = \"read-only\"\n");
    CHECK_CODE(world_make(&world), SBX_OK, &world.err);
    CHECK_U64(world.grants.count, 1); /* the working directory */
    CHECK(world_reads(&world, L"C:\\Windows\\win.ini"));
    world_close(&world);
    world_remove_all(&world);
    CHECK_TEXT(world_changed(&world), "");
    /* What is open there to every package cannot be closed; what is not, is closed. */
    world_policy(&world, "[sandbox]\nfilesystem = { 'C:\\Windows\\win.ini' = \"none\" }\n");
    CHECK_CODE(world_make(&world), SBX_E_UNSUPPORTED, &world.err);
    CHECK(strstr(world.err.text, "win.ini") != NULL);
    nt_put_file(world.model, L"C:\\Windows\\secret", "x",
                "O:SYG:SYD:PAI(A;;FA;;;SY)(A;;FA;;;BA)(A;;FR;;;BU)");
    world_policy(&world, "[sandbox]\nfilesystem = { 'C:\\Windows\\secret' = \"none\" }\n");
    CHECK_CODE(world_make(&world), SBX_OK, &world.err);
    CHECK(!world_reads(&world, L"C:\\Windows\\secret"));
}

static void a_root_that_is_not_the_users_is_refused(void)
{
    AUTO_WORLD world;
    world_start(&world, NULL, "[sandbox]\nfs_read_allow = ['C:\\data']\n");
    nt_put_directory(world.model, L"C:\\data", "O:SYG:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;FR;;;BU)");
    free(world.before);
    world.before = nt_model_acl_snapshot(world.model);
    CHECK_CODE(world_make(&world), SBX_E_DENIED, &world.err);
    CHECK(strstr(world.err.text, "C:\\data") != NULL);
    CHECK(strstr(world.err.hint, "yours") != NULL);
    CHECK_TEXT(world_changed(&world), "");
}

/* ---- the second time ---------------------------------------------------------------------------- */

static unsigned calls_of_second_run(unsigned files)
{
    AUTO_WORLD world;
    wchar_t name[128];
    world_start(&world, NULL, WRITES_CWD);
    for (unsigned i = 0; i < files; i++) {
        (void)swprintf(name, SBX_COUNT(name), PROJECT L"\\src\\d%u\\f%u", i % 40, i);
        nt_put_file(world.model, name, "x", NULL);
    }
    world_grant(&world);
    CHECK(world_writes(&world, PROJECT L"\\src\\d1\\f1"));
    unsigned before = nt_model_calls_total(world.model);
    world_grant(&world);
    unsigned calls = nt_model_calls_total(world.model) - before;
    CHECK(!world_remarks(&world, "slower"));
    CHECK(world_writes(&world, PROJECT L"\\src\\d1\\f1"));
    return calls;
}

static void a_second_run_costs_the_same_for_few_and_for_many_files(void)
{
    unsigned few = calls_of_second_run(10);
    unsigned many = calls_of_second_run(2000);
    CHECK_U64(many, few);
    CHECK(few < 200);
    printf("# a second run makes %u calls\n", few);
}

static void what_the_host_made_since_is_closed(bool has_journal)
{
    AUTO_WORLD world;
    world_start(&world, &(struct nt_world){.has_no_journal = !has_journal}, WRITES_CWD);
    world_grant(&world);
    host_directory(PROJECT L"\\src\\sub");
    host_directory(PROJECT L"\\src\\sub\\.git");
    host_file(PROJECT L"\\src\\sub\\.git\\config");
    host_directory(PROJECT L"\\src\\sub\\.git\\hooks");
    host_file(PROJECT L"\\src\\sub\\.git\\hooks\\pre-commit");
    host_file(PROJECT L"\\sbx.toml");
    CHECK(world_writes(&world, PROJECT L"\\src\\sub\\.git\\config")); /* until the next run */
    world_grant(&world);
    CHECK_INT(world_remarks(&world, "slower"), !has_journal);
    static const wchar_t *const places[] = {
        PROJECT L"\\src\\sub\\.git", PROJECT L"\\src\\sub\\.git\\config",
        PROJECT L"\\src\\sub\\.git\\hooks\\pre-commit", PROJECT L"\\sbx.toml"};
    for (size_t i = 0; i < SBX_COUNT(places); i++) {
        CHECK(world_reads(&world, places[i]));
        CHECK(!world_writes(&world, places[i]));
    }
    CHECK(world_writes(&world, PROJECT L"\\src\\sub"));
    /* A file that was saved by renaming another one over it. */
    host_file(PROJECT L"\\src\\sub\\new");
    CHECK(host_move(PROJECT L"\\src\\sub\\new", PROJECT L"\\src\\sub\\.npmrc"));
    CHECK(world_writes(&world, PROJECT L"\\src\\sub\\.npmrc"));
    world_grant(&world);
    CHECK(!world_writes(&world, PROJECT L"\\src\\sub\\.npmrc"));
    world_remove_all(&world);
    CHECK_TEXT(world_changed(&world), "");
    CHECK_U64(world_may(&world, PROJECT L"\\src\\sub\\.git\\config", FILE_ALL_ACCESS), 0);
}

static void names_that_the_host_made_are_closed_by_the_journal(void)
{
    what_the_host_made_since_is_closed(true);
}

static void names_that_the_host_made_are_closed_without_a_journal(void)
{
    what_the_host_made_since_is_closed(false);
}

static void entries_that_somebody_took_away_are_made_again(void)
{
    AUTO_WORLD world;
    world_start(&world, NULL, WRITES_CWD);
    world_grant(&world);
    nt_put_descriptor(world.model, PROJECT, "O:$UG:$UD:AI(A;OICI;FA;;;$U)");
    CHECK(!world_writes(&world, PROJECT));
    world_grant(&world);
    CHECK(world_writes(&world, PROJECT));
}

static void a_root_that_was_replaced_gets_its_own_entries(void)
{
    AUTO_WORLD world;
    world_start(&world, NULL, WRITES_CWD);
    world_grant(&world);
    CHECK(host_move(PROJECT, L"C:\\Users\\user\\old"));
    host_directory(PROJECT);
    host_file(PROJECT L"\\a.c");
    CHECK(!world_reads(&world, PROJECT L"\\a.c"));
    world_grant(&world);
    CHECK(world_writes(&world, PROJECT L"\\a.c"));
    CHECK(!world_reads(&world, L"C:\\Users\\user\\old\\README.md"));
    /* What was moved away is found by its identity when everything is removed. */
    world_remove_all(&world);
    CHECK_TEXT(world_changed(&world), "");
}

/* ---- removing ----------------------------------------------------------------------------------- */

static void removing_leaves_every_list_as_it_was(void)
{
    AUTO_WORLD world;
    struct sbx_workspaces list;
    world_start(&world, NULL, WRITES_CWD);
    nt_model_settle(world.model);
    world_grant(&world);
    CHECK(world_changed(&world)[0] != '\0');
    CHECK_CODE(sbx_workspace_list(&world.arena, &world.fixture.context, &list, &world.err), SBX_OK,
               &world.err);
    CHECK_U64(list.count, 1);
    CHECK_TEXT(list.items[0].path, "C:\\Users\\user\\project");
    CHECK_TEXT(list.items[0].state, "complete");
    CHECK(list.items[0].is_write);
    CHECK_U64(list.items[0].narrowed, 1);
    CHECK_TEXT(list.items[0].capability, world.grants.capabilities[0].name);
    world_remove_all(&world);
    CHECK_TEXT(world_changed(&world), "");
    CHECK_CODE(sbx_workspace_list(&world.arena, &world.fixture.context, &list, &world.err), SBX_OK,
               &world.err);
    CHECK_U64(list.count, 0);
    CHECK_U64(nt_model_handles(world.model), 0);
}

static void one_place_of_several_is_removed(void)
{
    AUTO_WORLD world;
    struct sbx_workspaces removed;
    world_start(
        &world, NULL,
        "[sandbox]\nfs_write_allow = [':cwd']\nfs_read_allow = ['C:\\Users\\user\\tools']\n");
    nt_put_file(world.model, L"C:\\Users\\user\\tools\\t.exe", "x", NULL);
    free(world.before);
    world.before = nt_model_acl_snapshot(world.model);
    world_grant(&world);
    CHECK_U64(world.grants.count, 2);
    struct sbx_path tools = fixture_path(&world.fixture, "C:\\users\\USER\\tools");
    CHECK_CODE(sbx_workspace_remove(&world.arena, &world.fixture.context, tools, NULL, &removed,
                                    &world.err),
               SBX_OK, &world.err);
    CHECK_U64(removed.count, 1);
    CHECK(!world_reads(&world, L"C:\\Users\\user\\tools\\t.exe"));
    CHECK(world_writes(&world, PROJECT L"\\src\\main.c"));
    CHECK_CODE(sbx_workspace_remove(&world.arena, &world.fixture.context, tools, NULL, &removed,
                                    &world.err),
               SBX_E_NOT_FOUND, &world.err);
    world_remove_all(&world);
    CHECK_TEXT(world_changed(&world), "");
}

static const struct sbx_test tests[] = {
    {"a box writes to its root and nowhere else", a_box_writes_to_its_root_and_nowhere_else},
    {"a box without the capability gets nothing from the entries",
     a_box_without_the_capability_gets_nothing_from_the_entries},
    {"protected names can be read and not changed, at any depth",
     protected_names_can_be_read_and_not_changed},
    {"new files get what their directory gives", new_files_get_what_their_directory_gives},
    {"closed and read-only places inside a root are held",
     closed_and_read_only_places_inside_are_held},
    {"a read-only root is not written", a_read_only_root_is_not_written},
    {"one file can be granted", one_file_can_be_granted},
    {"another shape is another capability", another_shape_is_another_capability},
    {"odd objects are left alone and counted", odd_objects_are_left_alone_and_counted},
    {"what every package may read cannot be closed",
     what_every_package_may_change_cannot_be_closed},
    {"places whose grant would be no box are refused", places_that_are_no_box_are_refused},
    {"system places need no entries", system_places_need_no_entries},
    {"a root that is not the user's is refused", a_root_that_is_not_the_users_is_refused},
    {"a second run costs the same for few and for many files",
     a_second_run_costs_the_same_for_few_and_for_many_files},
    {"protected names that the host made since are closed, by the journal",
     names_that_the_host_made_are_closed_by_the_journal},
    {"protected names that the host made since are closed, without a journal",
     names_that_the_host_made_are_closed_without_a_journal},
    {"entries that somebody took away are made again",
     entries_that_somebody_took_away_are_made_again},
    {"a root that was replaced gets its own entries",
     a_root_that_was_replaced_gets_its_own_entries},
    {"removing leaves every list as it was, byte for byte", removing_leaves_every_list_as_it_was},
    {"one place of several is removed", one_place_of_several_is_removed},
};
SBX_TEST_MAIN("simulated_grants", tests)
