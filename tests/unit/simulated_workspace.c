/* sbx workspace (common/run/workspace.h) on the model of NT: places are added, listed and removed; whoever cancels gets
 * every list back as it was. */
#include <stdlib.h>
#include <string.h>

#include "common/run/workspace.h"
#include "tests/check.h"
#include "tests/unit/grants_world.h"

#include "common/base/banned.h"

#define TWO_PLACES                                                                                 \
    "[sandbox]\nfs_write_allow = [':cwd']\nfs_read_allow = ['C:\\Users\\user\\tools']\n"

static void start(struct world *world)
{
    world_start(world, NULL, TWO_PLACES);
    nt_put_file(world->model, L"C:\\Users\\user\\tools\\t.exe", "x", NULL);
    free(world->before);
    world->before = nt_model_acl_snapshot(world->model);
    nt_model_settle(world->model);
}

static enum sbx_code add(struct world *world, const struct sbx_progress *progress,
                         struct sbx_workspaces *out)
{
    world->err = (struct sbx_err){0};
    return sbx_workspace_add(&world->arena, &world->fixture.policy, progress, out, &world->err);
}

static enum sbx_code list(struct world *world, struct sbx_workspaces *out)
{
    world->err = (struct sbx_err){0};
    return sbx_workspace_list(&world->arena, &world->fixture.context, out, &world->err);
}

static enum sbx_code take_away(struct world *world, const char *path,
                               const struct sbx_progress *progress, struct sbx_workspaces *out)
{
    struct sbx_path meant = {.text = NULL};
    if (path != NULL) {
        meant = fixture_path(&world->fixture, path);
    }
    world->err = (struct sbx_err){0};
    return sbx_workspace_remove(&world->arena, &world->fixture.context, meant, progress, out,
                                &world->err);
}

/* Everything is as it was, and nobody holds anything. */
static void check_untouched(struct world *world)
{
    struct sbx_workspaces found;
    CHECK_TEXT(world_changed(world), "");
    CHECK_CODE(list(world, &found), SBX_OK, &world->err);
    CHECK_U64(found.count, 0);
    CHECK_U64(nt_model_handles(world->model), 0);
    CHECK_U64(nt_model_bad_handles(world->model), 0);
}

/* ---- adding ------------------------------------------------------------------------------------- */

static void places_of_a_policy_are_added_listed_and_removed(void)
{
    AUTO_WORLD world;
    struct sbx_workspaces added;
    struct sbx_workspaces found;
    start(&world);
    CHECK_CODE(add(&world, NULL, &added), SBX_OK, &world.err);
    CHECK_U64(added.count, 2);
    CHECK_CODE(list(&world, &found), SBX_OK, &world.err);
    CHECK_U64(found.count, 2);
    for (size_t i = 0; i < found.count && i < added.count; i++) {
        CHECK_TEXT(found.items[i].path, added.items[i].path);
        CHECK_TEXT(found.items[i].capability, added.items[i].capability);
        CHECK_TEXT(found.items[i].state, "complete");
    }
    CHECK_TEXT(found.items[0].path, "C:\\Users\\user\\project"); /* by path */
    CHECK(found.items[0].is_write);
    CHECK_TEXT(found.items[1].path, "C:\\Users\\user\\tools");
    CHECK(!found.items[1].is_write);
    CHECK(world_changed(&world)[0] != '\0');
    CHECK_CODE(take_away(&world, NULL, NULL, &found), SBX_OK, &world.err);
    CHECK_U64(found.count, 2);
    CHECK(found.items[0].objects > 0);
    check_untouched(&world);
}

static void only_places_of_the_policy_are_told(void)
{
    AUTO_WORLD world;
    struct sbx_workspaces added;
    start(&world);
    CHECK_CODE(add(&world, NULL, &added), SBX_OK, &world.err);
    world_policy(&world, "[sandbox]\nfs_read_allow = ['C:\\Users\\user\\tools']\n");
    CHECK_CODE(add(&world, NULL, &added), SBX_OK, &world.err);
    CHECK_U64(added.count, 1);
    CHECK_TEXT(added.items[0].path, "C:\\Users\\user\\tools");
    CHECK_CODE(list(&world, &added), SBX_OK, &world.err);
    CHECK_U64(added.count, 2);
}

/* What was moved there has another list; a run alone would not look at it. */
static void adding_again_reaches_what_was_moved_there(void)
{
    AUTO_WORLD world;
    struct sbx_workspaces added;
    start(&world);
    nt_put_file(world.model, L"C:\\Users\\user\\elsewhere\\moved.c", "x", NULL);
    CHECK_CODE(add(&world, NULL, &added), SBX_OK, &world.err);
    CHECK(host_move(L"C:\\Users\\user\\elsewhere\\moved.c", PROJECT L"\\moved.c"));
    CHECK_CODE(add(&world, NULL, &added), SBX_OK, &world.err);
    world_grant(&world); /* whose capabilities world_writes asks for */
    CHECK(world_writes(&world, PROJECT L"\\moved.c"));
}

static void without_what_a_box_needs_nothing_is_added(void)
{
    AUTO_WORLD world;
    struct sbx_workspaces added;
    start(&world);
    nt_model_lacks(world.model, SBX_CALL_DeriveCapabilitySidsFromName);
    CHECK_CODE(add(&world, NULL, &added), SBX_E_UNSUPPORTED, &world.err);
    CHECK(strstr(world.err.text, "DeriveCapabilitySidsFromName") != NULL);
    check_untouched(&world);
}

/* ---- cancelling --------------------------------------------------------------------------------- */

struct caller {
    struct nt_model *model;
    unsigned asked, told;
    unsigned cancels_at;    /* the question that is answered with yes; 0: none */
    unsigned interrupts_at; /* Ctrl-C comes at that question; 0: it does not */
};

static bool is_cancelled(void *state)
{
    struct caller *caller = state;
    caller->asked++;
    if (caller->asked == caller->interrupts_at) {
        CHECK(nt_model_ctrl(caller->model, CTRL_C_EVENT));
    }
    return caller->cancels_at != 0 && caller->asked >= caller->cancels_at;
}

static void tell(void *state, uint64_t done, const char *path)
{
    struct caller *caller = state;
    (void)done;
    caller->told += path != NULL ? 1 : 0;
}

static void a_caller_that_cancels_gets_everything_back(void)
{
    for (unsigned i = 1; i <= 3; i++) {
        AUTO_WORLD world;
        struct sbx_workspaces added;
        start(&world);
        struct caller caller = {.model = world.model, .cancels_at = i};
        struct sbx_progress progress = {
            .tell = tell, .is_cancelled = is_cancelled, .state = &caller};
        CHECK_CODE(add(&world, &progress, &added), SBX_E_UNAVAILABLE, &world.err);
        check_untouched(&world);
    }
}

static void ctrl_c_cancels_and_counts_for_one_command_only(void)
{
    AUTO_WORLD world;
    struct sbx_workspaces added;
    start(&world);
    struct caller caller = {.model = world.model, .interrupts_at = 2};
    struct sbx_progress progress = {.tell = tell, .is_cancelled = is_cancelled, .state = &caller};
    CHECK_CODE(add(&world, &progress, &added), SBX_E_UNAVAILABLE, &world.err);
    check_untouched(&world);
    CHECK(!nt_model_ctrl(world.model, CTRL_C_EVENT)); /* its handler is gone */
    caller = (struct caller){.model = world.model};
    CHECK_CODE(add(&world, &progress, &added), SBX_OK, &world.err);
    CHECK_U64(added.count, 2);
    CHECK(caller.asked > 2);
    CHECK(caller.told > 0);
    CHECK_CODE(take_away(&world, NULL, NULL, &added), SBX_OK, &world.err);
    check_untouched(&world);
}

/* ---- removing ----------------------------------------------------------------------------------- */

static void a_place_without_entries_is_not_found(void)
{
    AUTO_WORLD world;
    struct sbx_workspaces removed;
    start(&world);
    CHECK_CODE(take_away(&world, "C:\\Users\\user\\tools", NULL, &removed), SBX_E_NOT_FOUND,
               &world.err);
    CHECK(strstr(world.err.text, "\"C:\\Users\\user\\tools\" has no entries of sbx") != NULL);
    CHECK_CODE(take_away(&world, NULL, NULL, &removed), SBX_OK, &world.err);
    CHECK_U64(removed.count, 0);
}

/* What cannot be opened keeps its entry; the person is told. */
static void what_cannot_be_changed_is_told(void)
{
    AUTO_WORLD world;
    struct sbx_workspaces removed;
    start(&world);
    CHECK_CODE(add(&world, NULL, &removed), SBX_OK, &world.err);
    nt_put_descriptor(world.model, PROJECT L"\\src\\main.c",
                      "O:SYG:SYD:P(A;;FA;;;SY)(A;;FR;;;S-1-15-3-1024-1-2-3-4-5-6-7-8)");
    CHECK_CODE(take_away(&world, "C:\\Users\\user\\project", NULL, &removed), SBX_OK, &world.err);
    CHECK_U64(removed.count, 1);
    bool is_told = false;
    for (size_t i = 0; i < removed.remark_count; i++) {
        is_told |=
            strstr(removed.remarks[i], "1 objects below \"C:\\Users\\user\\project\"") != NULL;
    }
    CHECK(is_told);
}

static void a_state_that_cannot_be_read_is_an_error(void)
{
    AUTO_WORLD world;
    struct sbx_workspaces found;
    start(&world);
    CHECK_CODE(add(&world, NULL, &found), SBX_OK, &world.err);
    nt_put_descriptor(world.model, L"C:\\Users\\user\\AppData\\Local\\sbx\\workspaces",
                      "O:SYG:SYD:P(A;;FA;;;SY)");
    enum sbx_code code = list(&world, &found);
    CHECK(code != SBX_OK && code != SBX_E_NOT_FOUND);
    CHECK(strstr(world.err.text, "workspaces") != NULL);
    CHECK_CODE(take_away(&world, NULL, NULL, &found), code, &world.err);
}

static const struct sbx_test tests[] = {
    {"places of a policy are added, listed and removed",
     places_of_a_policy_are_added_listed_and_removed},
    {"only places of the policy are told", only_places_of_the_policy_are_told},
    {"adding again reaches what was moved there", adding_again_reaches_what_was_moved_there},
    {"without what a box needs nothing is added", without_what_a_box_needs_nothing_is_added},
    {"a caller that cancels gets everything back", a_caller_that_cancels_gets_everything_back},
    {"Ctrl-C cancels, and counts for one command only",
     ctrl_c_cancels_and_counts_for_one_command_only},
    {"a place without entries is not found", a_place_without_entries_is_not_found},
    {"what cannot be changed is told", what_cannot_be_changed_is_told},
    {"a state that cannot be read is an error", a_state_that_cannot_be_read_is_an_error},
};
SBX_TEST_MAIN("simulated workspace", tests)
