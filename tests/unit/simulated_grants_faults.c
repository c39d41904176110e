/* File grants on the model of NT while things go wrong: sbx is killed at each call, the power fails, each call fails
 * once, the user cancels. Afterwards every access list is as it was. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/run/workspace.h"
#include "tests/check.h"
#include "tests/unit/grants_world.h"

#include "common/base/banned.h"

#define OTHER "[sandbox]\nfs_read_allow = ['C:\\Users\\user\\tools']\n"

static void start(struct world *world)
{
    world_start(world, NULL, WRITES_CWD);
    nt_put_file(world->model, L"C:\\Users\\user\\tools\\t.exe", "x", NULL);
    nt_put_file(world->model, PROJECT L"\\linked", "x", NULL);
    nt_put_hard_link(world->model, L"C:\\Users\\user\\elsewhere", PROJECT L"\\linked");
    free(world->before);
    world->before = nt_model_acl_snapshot(world->model);
}

/* ---- killed ------------------------------------------------------------------------------------- */

static void make(void *state)
{
    struct world *world = state;
    (void)!world_make(world);
    world_close(world);
}

static void take_away(void *state)
{
    struct world *world = state;
    struct sbx_workspaces removed;
    struct sbx_path all = {.text = NULL};
    (void)!sbx_workspace_remove(&world->arena, &world->fixture.context, all, NULL, &removed,
                                &world->err);
}

typedef void strike(struct nt_model *model, unsigned n);

static size_t records(struct world *world)
{
    struct sbx_workspaces list = {0};
    CHECK_CODE(sbx_workspace_list(&world->arena, &world->fixture.context, &list, &world->err),
               SBX_OK, &world->err);
    return list.count;
}

/* What a dead launcher had open is closed; its memory is only known to it. */
static void forget(struct world *world)
{
    world->grants = (struct sbx_grants){0};
}

/* The next run wants the same: it is finished. */
static void then_the_same(struct world *world)
{
    CHECK(nt_launcher_run(world->model, make, world));
    CHECK_CODE(world->err.code, SBX_OK, &world->err);
    CHECK(world_writes(world, PROJECT L"\\src\\main.c"));
    CHECK(!world_writes(world, PROJECT L"\\.git\\config"));
    CHECK(nt_launcher_run(world->model, take_away, world));
    CHECK_TEXT(world_changed(world), "");
    CHECK_U64(records(world), 0);
}

/* The next run wants something else: it undoes what is not finished. */
static void then_another(struct world *world)
{
    struct sbx_workspaces removed;
    world_policy(world, WRITES_CWD);
    bool was_complete = false;
    struct sbx_workspaces list = {0};
    CHECK_CODE(sbx_workspace_list(&world->arena, &world->fixture.context, &list, &world->err),
               SBX_OK, &world->err);
    for (size_t i = 0; i < list.count; i++) {
        was_complete |= sbx_text_eq(list.items[i].state, "complete");
    }
    world_policy(world, OTHER);
    CHECK(nt_launcher_run(world->model, make, world));
    CHECK_CODE(world->err.code, SBX_OK, &world->err);
    CHECK(world_reads(world, L"C:\\Users\\user\\tools\\t.exe"));
    CHECK_U64(records(world), was_complete ? 2 : 1);
    struct sbx_path tools = fixture_path(&world->fixture, "C:\\Users\\user\\tools");
    CHECK_CODE(sbx_workspace_remove(&world->arena, &world->fixture.context, tools, NULL, &removed,
                                    &world->err),
               SBX_OK, &world->err);
    if (!was_complete) {
        CHECK_TEXT(world_changed(world), "");
    }
    CHECK(nt_launcher_run(world->model, take_away, world));
    CHECK_TEXT(world_changed(world), "");
}

static void killed_at_every_call(strike *hit, void (*then)(struct world *world), const char *what)
{
    unsigned n = 1;
    for (;; n++) {
        AUTO_WORLD world;
        start(&world);
        hit(world.model, n);
        bool survived = nt_launcher_run(world.model, make, &world);
        hit(world.model, 0);
        forget(&world);
        then(&world);
        forget(&world);
        if (survived) {
            break;
        }
    }
    CHECK(n > 100);
    printf("# %s at each of %u calls of a first grant\n", what, n - 1);
}

static void a_grant_killed_at_any_call_is_finished_by_the_next_run(void)
{
    killed_at_every_call(nt_model_crash_after, then_the_same, "killed");
}

static void a_grant_killed_at_any_call_is_undone_by_another_run(void)
{
    killed_at_every_call(nt_model_crash_after, then_another, "killed");
}

static void a_power_failure_at_any_call_leaves_nothing_that_is_not_known(void)
{
    killed_at_every_call(nt_model_power_fails_after, then_the_same, "without power");
}

static void a_removal_killed_at_any_call_is_finished_by_the_next_one(void)
{
    unsigned n = 1;
    for (;; n++) {
        AUTO_WORLD world;
        start(&world);
        world_grant(&world);
        forget(&world);
        nt_model_crash_after(world.model, n);
        bool survived = nt_launcher_run(world.model, take_away, &world);
        nt_model_crash_after(world.model, 0);
        CHECK(nt_launcher_run(world.model, take_away, &world));
        CHECK_TEXT(world_changed(&world), "");
        CHECK_U64(records(&world), 0);
        if (survived) {
            break;
        }
    }
    CHECK(n > 50);
    printf("# killed at each of %u calls of a removal\n", n - 1);
}

/* Closing what the host made since the last run, interrupted: it is not called complete meanwhile. */
static void a_second_run_killed_at_any_call_leaves_nothing_open(void)
{
    unsigned n = 1;
    for (;; n++) {
        AUTO_WORLD world;
        start(&world);
        world_grant(&world);
        host_directory(PROJECT L"\\src\\.git");
        host_file(PROJECT L"\\src\\.git\\config");
        forget(&world);
        nt_model_crash_after(world.model, n);
        bool survived = nt_launcher_run(world.model, make, &world);
        nt_model_crash_after(world.model, 0);
        forget(&world);
        CHECK(nt_launcher_run(world.model, make, &world));
        CHECK_CODE(world.err.code, SBX_OK, &world.err);
        CHECK(world_reads(&world, PROJECT L"\\src\\.git\\config"));
        CHECK(!world_writes(&world, PROJECT L"\\src\\.git\\config"));
        forget(&world);
        if (survived) {
            break;
        }
    }
    CHECK(n > 50);
    printf("# killed at each of %u calls of a second run\n", n - 1);
}

/* ---- calls that fail ---------------------------------------------------------------------------- */

struct fault {
    unsigned at;
    unsigned seen;
    DWORD code;
    enum sbx_winapi_id id;
    bool has_struck;
};

static bool before(void *state, enum sbx_winapi_id id, unsigned n)
{
    struct fault *fault = state;
    (void)n;
    /* Closing what is open does not fail. */
    bool is_sure = sbx_winapi_rows[id].tells == SBX_TELLS_SURE || id == SBX_CALL_CloseHandle ||
                   id == SBX_CALL_FindClose;
    if (is_sure || ++fault->seen != fault->at) {
        return true;
    }
    fault->id = id;
    fault->has_struck = true;
    SetLastError(fault->code);
    return false;
}

/* A grant either holds or leaves nothing, and says which call failed. */
static void each_call_fails_once(DWORD code, size_t *points)
{
    for (unsigned n = 1;; n++) {
        AUTO_WORLD world;
        struct fault fault = {.at = n, .code = code};
        start(&world);
        nt_model_before(world.model, before, &fault);
        enum sbx_code result = world_make(&world);
        nt_model_before(world.model, NULL, NULL);
        if (result == SBX_OK) {
            /* A single object that cannot be opened stays without access, and that is told. */
            CHECK(world_writes(&world, PROJECT L"\\src\\main.c") ||
                  world_remarks(&world, "could not be changed"));
            CHECK(!world_writes(&world, PROJECT L"\\.git\\config"));
            CHECK(!world_writes(&world, PROJECT L"\\linked"));
            world_close(&world);
            world_remove_all(&world);
        } else {
            CHECK(world.err.text[0] != '\0');
            /* A lock, a file that may appear a moment later: what is waited for has a call of its own. */
            CHECK(world.err.call != NULL || result == SBX_E_NOMEM || result == SBX_E_IO ||
                  result == SBX_E_UNSUPPORTED || result == SBX_E_UNTRUSTED);
        }
        CHECK_U64(nt_model_handles(world.model), 0);
        if (world_changed(&world)[0] != '\0') {
            printf("# after %s failed with %lu: %s: %s\n", sbx_winapi_rows[fault.id].name, code,
                   world.err.text, world_changed(&world));
        }
        CHECK_TEXT(world_changed(&world), "");
        CHECK_U64(records(&world), 0);
        if (!fault.has_struck) {
            break;
        }
        ++*points;
    }
}

static void a_grant_holds_or_leaves_nothing_whichever_call_fails(void)
{
    static const DWORD codes[] = {ERROR_ACCESS_DENIED, ERROR_IO_DEVICE, ERROR_NOT_ENOUGH_MEMORY};
    size_t points = 0;
    for (size_t i = 0; i < SBX_COUNT(codes); i++) {
        each_call_fails_once(codes[i], &points);
    }
    CHECK(points > 300);
    printf("# %zu injected failures\n", points);
}

/* A second run that meets a failure gives less or nothing, never more. Not with "access denied": a directory that the
 * user may not look into is passed over, and the box cannot look into it either. */
static void a_second_run_opens_nothing_whichever_call_fails(void)
{
    size_t points = 0;
    for (unsigned n = 1;; n++) {
        AUTO_WORLD world;
        struct fault fault = {.at = n, .code = ERROR_IO_DEVICE};
        start(&world);
        world_grant(&world);
        host_directory(PROJECT L"\\src\\.git");
        host_file(PROJECT L"\\src\\.git\\config");
        host_file(PROJECT L"\\.envrc");
        nt_model_before(world.model, before, &fault);
        enum sbx_code result = world_make(&world);
        nt_model_before(world.model, NULL, NULL);
        if (result == SBX_OK) {
            CHECK(!world_writes(&world, PROJECT L"\\src\\.git\\config"));
            CHECK(!world_writes(&world, PROJECT L"\\src\\.git"));
            CHECK(!world_writes(&world, PROJECT L"\\.envrc"));
            if (world_writes(&world, PROJECT L"\\src\\.git\\config")) {
                printf("# after %s failed\n", sbx_winapi_rows[fault.id].name);
            }
        }
        world_close(&world);
        CHECK_U64(nt_model_handles(world.model), 0);
        world_grant(&world); /* and the next one is as if nothing had been */
        CHECK(!world_writes(&world, PROJECT L"\\src\\.git\\config"));
        CHECK(world_writes(&world, PROJECT L"\\src\\main.c"));
        world_remove_all(&world);
        CHECK_TEXT(world_changed(&world), "");
        if (!fault.has_struck) {
            break;
        }
        points++;
    }
    CHECK(points > 100);
    printf("# %zu injected failures\n", points);
}

/* ---- cancelled ---------------------------------------------------------------------------------- */

struct patience {
    unsigned left;
    unsigned told;
};

static void tell(void *state, uint64_t done, const char *path)
{
    struct patience *patience = state;
    (void)done;
    patience->told += path[0] != '\0' ? 1 : 0;
}

static bool is_cancelled(void *state)
{
    struct patience *patience = state;
    return patience->left-- == 0;
}

static void a_cancelled_grant_is_undone(void)
{
    unsigned n = 0;
    for (;; n++) {
        AUTO_WORLD world;
        struct patience patience = {.left = n};
        start(&world);
        world.progress =
            (struct sbx_progress){.tell = tell, .is_cancelled = is_cancelled, .state = &patience};
        enum sbx_code code = world_make(&world);
        world.progress = (struct sbx_progress){0};
        if (code == SBX_OK) {
            CHECK(patience.told >= 10);
            break;
        }
        CHECK_CODE(code, SBX_E_UNAVAILABLE, &world.err);
        CHECK(strstr(world.err.text, "cancelled") != NULL);
        CHECK_TEXT(world_changed(&world), "");
        CHECK_U64(records(&world), 0);
    }
    CHECK(n >= 10);
}

/* ---- two at once -------------------------------------------------------------------------------- */

static void a_damaged_record_is_put_aside_and_the_grant_made_again(void)
{
    AUTO_WORLD world;
    world_start(&world, NULL, WRITES_CWD);
    world_grant(&world);
    wchar_t path[256];
    (void)swprintf(path, SBX_COUNT(path),
                   L"C:\\Users\\user\\AppData\\Local\\sbx\\workspaces\\%.16hs.workspace",
                   world.grants.capabilities[0].name + strlen("sbx.root."));
    CHECK(nt_exists(world.model, path));
    HANDLE file = sbx_win()->CreateFileW(path, GENERIC_WRITE, 0, NULL, CREATE_ALWAYS,
                                         FILE_ATTRIBUTE_NORMAL, NULL);
    CHECK(file != INVALID_HANDLE_VALUE);
    CHECK(sbx_win()->CloseHandle(file));
    world_grant(&world);
    CHECK(world_remarks(&world, "quarantine"));
    CHECK(world_writes(&world, PROJECT L"\\src\\main.c"));
    world_remove_all(&world);
    CHECK_TEXT(world_changed(&world), "");
}

static void a_state_directory_that_others_may_write_is_refused(void)
{
    AUTO_WORLD world;
    world_start(&world, NULL, WRITES_CWD);
    nt_put_directory(world.model, L"C:\\Users\\user\\AppData\\Local\\sbx",
                     "O:$UG:$UD:P(A;OICI;FA;;;$U)(A;OICI;FA;;;WD)");
    CHECK_CODE(world_make(&world), SBX_E_UNTRUSTED, &world.err);
    CHECK(strstr(world.err.text, "by others") != NULL);
    nt_remove(world.model, L"C:\\Users\\user\\AppData\\Local\\sbx");
    nt_put_link(world.model, L"C:\\Users\\user\\AppData\\Local\\sbx", IO_REPARSE_TAG_MOUNT_POINT,
                L"C:\\Users\\user\\project", true);
    CHECK_CODE(world_make(&world), SBX_E_UNTRUSTED, &world.err);
    CHECK(strstr(world.err.text, "link") != NULL);
}

static const struct sbx_test tests[] = {
    {"a grant killed at any call is finished by the next run",
     a_grant_killed_at_any_call_is_finished_by_the_next_run},
    {"a grant killed at any call is undone by another run",
     a_grant_killed_at_any_call_is_undone_by_another_run},
    {"a power failure at any call leaves nothing that is not known",
     a_power_failure_at_any_call_leaves_nothing_that_is_not_known},
    {"a removal killed at any call is finished by the next one",
     a_removal_killed_at_any_call_is_finished_by_the_next_one},
    {"a second run killed at any call leaves nothing open",
     a_second_run_killed_at_any_call_leaves_nothing_open},
    {"a grant holds or leaves nothing, whichever call fails",
     a_grant_holds_or_leaves_nothing_whichever_call_fails},
    {"a second run opens nothing, whichever call fails",
     a_second_run_opens_nothing_whichever_call_fails},
    {"a cancelled grant is undone", a_cancelled_grant_is_undone},
    {"a damaged record is put aside and the grant made again",
     a_damaged_record_is_put_aside_and_the_grant_made_again},
    {"a state directory that is a link, or that others may write, is refused",
     a_state_directory_that_others_may_write_is_refused},
};
SBX_TEST_MAIN("simulated_grants_faults", tests)
