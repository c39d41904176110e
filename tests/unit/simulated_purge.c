/* sbx workspace purge (common/run/workspace.h) on the model of NT: of what sbx has made for a user nothing is left, and what
 * something else still needs stays. */
#include <string.h>

#include "common/run/workspace.h"
#include "tests/check.h"
#include "tests/unit/grants_world.h"
#include "win/appcontainer.h"
#include "win/lease.h"

#include "common/base/banned.h"

#define STATE L"C:\\Users\\user\\AppData\\Local\\sbx"
#define PROFILE "sbx.4242.00000000000000ff"

/* As a run has it while its command runs. */
static void begin_run(void *state)
{
    struct world *world = state;
    struct sbx_lease *lease = NULL;
    struct sbx_profile profile;
    struct sbx_err err = {0};
    CHECK_CODE(sbx_lease_open(world->fixture.context.state_dir, PROFILE, &lease, &err), SBX_OK,
               &err);
    CHECK_CODE(sbx_profile_create(&world->arena, PROFILE, &profile, &err), SBX_OK, &err);
    if (lease != NULL) {
        CHECK_CODE(sbx_lease_mark(lease, SBX_LEASE_RUNNING, &err), SBX_OK, &err);
        sbx_lease_abandon(lease);
    }
}

static void start(struct world *world)
{
    world_start(world, NULL, WRITES_CWD);
    nt_model_settle(world->model);
}

static void use(struct world *world)
{
    struct sbx_workspaces added;
    CHECK_CODE(sbx_workspace_add(&world->arena, &world->fixture.policy, NULL, &added, &world->err),
               SBX_OK, &world->err);
    nt_put_file(world->model, STATE L"\\appcontainer.recipe", "x", NULL);
    nt_put_file(world->model, STATE L"\\trust", "x", NULL);
    nt_put_file(world->model, STATE L"\\workspaces\\quarantine\\1.workspace", "x", NULL);
    nt_put_file(world->model, STATE L"\\workspaces\\2.workspace.new", "x", NULL);
}

static enum sbx_code purge(struct world *world, struct sbx_workspaces *out)
{
    *out = (struct sbx_workspaces){0};
    world->err = (struct sbx_err){0};
    return sbx_workspace_purge(&world->arena, &world->fixture.context, NULL, out, &world->err);
}

/* The same by a process of its own, for which all that came before is dead. */
struct attempt {
    struct world *world;
    struct sbx_workspaces removed;
    enum sbx_code code;
};

static void purge_work(void *state)
{
    struct attempt *attempt = state;
    attempt->code = purge(attempt->world, &attempt->removed);
}

static void purge_later(struct world *world, struct attempt *out)
{
    *out = (struct attempt){.world = world};
    CHECK(nt_launcher_run(world->model, purge_work, out));
}

static void nothing_is_left(void)
{
    AUTO_WORLD world;
    struct attempt later;
    start(&world);
    use(&world);
    CHECK(nt_launcher_run(world.model, begin_run, &world)); /* and is gone: a run that was killed */
    CHECK(nt_model_has_profile(world.model, L"" PROFILE));
    CHECK(strstr(nt_model_leftovers(world.model), PROFILE) != NULL);
    CHECK(world_changed(&world)[0] != '\0');
    purge_later(&world, &later);
    CHECK_CODE(later.code, SBX_OK, &world.err);
    CHECK_U64(later.removed.count, 1);
    CHECK_U64(later.removed.remark_count, 0);
    CHECK_TEXT(nt_model_leftovers(world.model), "");
    CHECK_TEXT(world_changed(&world), "");
    CHECK(!nt_exists(world.model, STATE));
    CHECK_U64(nt_model_bad_handles(world.model), 0);
}

static void a_second_one_finds_nothing(void)
{
    AUTO_WORLD world;
    struct sbx_workspaces removed;
    start(&world);
    for (int i = 0; i < 2; i++) {
        CHECK_CODE(purge(&world, &removed), SBX_OK, &world.err);
        CHECK_U64(removed.count, 0);
        CHECK_U64(removed.remark_count, 0);
        CHECK_TEXT(nt_model_leftovers(world.model), "");
    }
}

static void while_a_box_runs_it_is_refused(void)
{
    AUTO_WORLD world;
    struct sbx_workspaces removed;
    start(&world);
    use(&world);
    begin_run(&world); /* of this very process */
    CHECK_CODE(purge(&world, &removed), SBX_E_UNAVAILABLE, &world.err);
    CHECK(strstr(world.err.text, "1 boxes of this user run") != NULL);
    CHECK(nt_model_has_profile(world.model, L"" PROFILE));
    CHECK(world_changed(&world)[0] != '\0'); /* the entries that it needs */
    CHECK(nt_exists(world.model, STATE L"\\trust"));
}

static bool refuse_deletion(void *state, enum sbx_winapi_id id, unsigned n)
{
    (void)state;
    (void)n;
    SetLastError(ERROR_ACCESS_DENIED);
    return id != SBX_CALL_DeleteAppContainerProfile;
}

static void what_could_not_be_undone_keeps_its_record(void)
{
    AUTO_WORLD world;
    struct attempt later;
    start(&world);
    CHECK(nt_launcher_run(world.model, begin_run, &world));
    nt_model_before(world.model, refuse_deletion, NULL);
    purge_later(&world, &later);
    CHECK_CODE(later.code, SBX_E_UNAVAILABLE, &world.err);
    CHECK(strstr(world.err.text, "cannot delete the profile") != NULL);
    CHECK(strstr(nt_model_leftovers(world.model), ".lease") != NULL);
}

static void what_is_not_ours_stays(void)
{
    AUTO_WORLD world;
    struct sbx_workspaces removed;
    start(&world);
    use(&world);
    nt_put_file(world.model, STATE L"\\notes.txt", "x", NULL);
    CHECK_CODE(purge(&world, &removed), SBX_OK, &world.err);
    CHECK_U64(removed.remark_count, 1);
    CHECK(nt_exists(world.model, STATE L"\\notes.txt"));
    CHECK(!nt_exists(world.model, STATE L"\\workspaces"));
    CHECK(!nt_exists(world.model, STATE L"\\trust"));
}

static const struct sbx_test tests[] = {
    {"of a user's grants, killed runs and answers nothing is left", nothing_is_left},
    {"without anything to remove it succeeds, and makes nothing", a_second_one_finds_nothing},
    {"while a box runs it is refused, and nothing is removed", while_a_box_runs_it_is_refused},
    {"what could not be undone keeps its record", what_could_not_be_undone_keeps_its_record},
    {"a file that is not sbx's stays, and that is told", what_is_not_ours_stays},
};
SBX_TEST_MAIN("simulated purge", tests)
