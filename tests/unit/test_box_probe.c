/* The probe that starts a real, empty box, and the backend around it, on the model of NT: the strongest way that works
 * is taken and remembered, each failure is told, and nothing is left. */
#include <stdio.h>
#include <string.h>

#include "common/run/backend.h"
#include "tests/check.h"
#include "tests/unit/box_fixture.h"
#include "win/backend_win.h"
#include "win/recipe.h"

const struct sbx_winapi *sbx_win(void)
{
    return nt_model_table();
}

static const char manifest[] = "[sandbox]\nfs_write_allow = ['C:\\Users\\user\\project']\n";
static const char plain[] = "[sandbox]\n"; /* a boxed caller does not see the project */

static DWORD ends_well(struct nt_process *self, void *state)
{
    (void)self;
    (void)state;
    return 23; /* what the probe's command says */
}

static DWORD ends_otherwise(struct nt_process *self, void *state)
{
    (void)self;
    (void)state;
    return 0xC0000142;
}

struct probed {
    struct boxed boxed;
    struct sbx_probe answer;
};

static void open_world(struct probed *probed, const struct nt_world *world)
{
    *probed = (struct probed){0};
    boxed_open(&probed->boxed, world, world->is_boxed ? plain : manifest);
    sbx_recipe_forget(&probed->boxed.fixture.arena, &probed->boxed.fixture.context);
}

static void close_world(struct probed *probed)
{
    sbx_recipe_forget(&probed->boxed.fixture.arena, &probed->boxed.fixture.context);
    boxed_close(&probed->boxed);
}

static void ask(struct probed *probed)
{
    sbx_recipe_probe(&probed->boxed.fixture.arena, &probed->boxed.fixture.context, &probed->answer);
}

static unsigned births(const struct probed *probed)
{
    return nt_model_calls(probed->boxed.model, SBX_CALL_CreateProcessAsUserW);
}

static const char *reason(const struct probed *probed)
{
    return probed->answer.reason == NULL ? "" : probed->answer.reason;
}

/* The directories that sbx keeps are there from the first time on. */
static void leaves_nothing(struct probed *probed)
{
    struct fixture *f = &probed->boxed.fixture;
    sbx_recipe_forget(&f->arena, &f->context);
    nt_model_settle(probed->boxed.model);
    ask(probed);
    sbx_recipe_forget(&f->arena, &f->context);
    CHECK_TEXT(nt_model_leftovers(probed->boxed.model), "");
}

/* ---- the probe --------------------------------------------------------------------------------- */

static void a_way_that_works_is_taken_and_remembered(void)
{
    struct probed probed;
    struct sbx_recipe known;
    open_world(&probed, &(struct nt_world){.actor = ends_well});
    ask(&probed);
    if (!CHECK_INT(probed.answer.state, SBX_PROBE_PASSED)) {
        printf("# %s\n", reason(&probed));
    }
    CHECK(sbx_recipe_known(&probed.boxed.fixture.arena, &probed.boxed.fixture.context, &known));
    CHECK_TEXT(probed.answer.version, sbx_recipe_text(known));
    unsigned before = births(&probed);
    CHECK(before > 0);
    ask(&probed);
    CHECK_INT(probed.answer.state, SBX_PROBE_PASSED);
    CHECK_U64(births(&probed), before); /* nothing was started again */
    CHECK_U64(nt_model_processes(probed.boxed.model), 0);
    CHECK_U64(nt_model_bad_handles(probed.boxed.model), 0);
    CHECK_U64(nt_model_not_modelled(probed.boxed.model), 0);
    leaves_nothing(&probed);
    close_world(&probed);
}

static void a_box_that_ends_otherwise_is_told_for_each_way(void)
{
    struct probed probed;
    open_world(&probed, &(struct nt_world){.actor = ends_otherwise});
    ask(&probed);
    CHECK_INT(probed.answer.state, SBX_PROBE_FAILED);
    for (size_t i = 0; i < sbx_recipe_count; i++) {
        if (!CHECK(strstr(reason(&probed), sbx_recipe_text(sbx_recipes[i])) != NULL)) {
            printf("# %s\n", reason(&probed));
        }
    }
    CHECK(strstr(reason(&probed), "ended with 0xC0000142, not with 23") != NULL);
    struct sbx_recipe known;
    CHECK(!sbx_recipe_known(&probed.boxed.fixture.arena, &probed.boxed.fixture.context, &known));
    leaves_nothing(&probed);
    close_world(&probed);
}

/* The model lets no boxed process make its own console, so that one fails there. */
static void without_pseudo_consoles_only_the_hidden_one_is_tried(void)
{
    struct probed probed;
    open_world(&probed, &(struct nt_world){.actor = ends_well});
    nt_model_lacks(probed.boxed.model, SBX_CALL_CreatePseudoConsole);
    ask(&probed);
    CHECK_INT(probed.answer.state, SBX_PROBE_FAILED);
    CHECK(strstr(reason(&probed), sbx_recipe_text(sbx_recipes[2])) == reason(&probed));
    CHECK(strstr(reason(&probed), "own pseudo console") == NULL);
    CHECK_U64(births(&probed), 1);
    close_world(&probed);
}

static void missing_calls_start_nothing(void)
{
    struct probed probed;
    open_world(&probed, &(struct nt_world){.actor = ends_well});
    nt_model_lacks(probed.boxed.model, SBX_CALL_DeriveCapabilitySidsFromName);
    ask(&probed);
    CHECK_INT(probed.answer.state, SBX_PROBE_FAILED);
    CHECK_TEXT(reason(&probed), "this Windows lacks DeriveCapabilitySidsFromName (kernelbase.dll)");
    CHECK_TEXT(probed.answer.remedy, "AppContainer boxes need Windows 10 1809 or newer");
    CHECK_U64(births(&probed), 0);
    close_world(&probed);
}

static void inside_of_a_box_it_is_not_tried_again(void)
{
    struct probed probed;
    open_world(&probed, &(struct nt_world){.actor = ends_well, .is_boxed = true});
    ask(&probed);
    CHECK_INT(probed.answer.state, SBX_PROBE_FAILED);
    CHECK(strstr(reason(&probed), "sbx runs inside an AppContainer already") != NULL);
    CHECK(strstr(reason(&probed), sbx_recipe_text(sbx_recipes[1])) == NULL); /* no way changes it */
    CHECK_TEXT(probed.answer.remedy, "boxes do not nest: start sbx outside");
    CHECK_U64(births(&probed), 0);
    close_world(&probed);
}

static bool fail_first(void *state, enum sbx_winapi_id id, unsigned n)
{
    unsigned *failed = state;
    (void)n;
    if (id != SBX_CALL_CreateAppContainerProfile || *failed > 0) {
        return true;
    }
    ++*failed;
    SetLastError(ERROR_GEN_FAILURE);
    return false;
}

static void a_fast_failure_is_tried_once_more(void)
{
    struct probed probed;
    unsigned failed = 0;
    open_world(&probed, &(struct nt_world){.actor = ends_well});
    nt_model_before(probed.boxed.model, fail_first, &failed);
    ask(&probed);
    CHECK_U64(failed, 1);
    CHECK_INT(probed.answer.state, SBX_PROBE_PASSED);
    close_world(&probed);
}

static void a_stall_is_not_tried_again(void)
{
    struct probed probed;
    open_world(&probed, &(struct nt_world){.actor = ends_well});
    nt_model_stall(probed.boxed.model, SBX_CALL_CreateAppContainerProfile);
    ask(&probed);
    CHECK_INT(probed.answer.state, SBX_PROBE_FAILED);
    CHECK(strstr(reason(&probed), "stalled for 15 s while creating the AppContainer profile") !=
          NULL);
    CHECK_U64(nt_model_calls(probed.boxed.model, SBX_CALL_CreateAppContainerProfile), 1);
    CHECK(probed.answer.remedy != NULL && strstr(probed.answer.remedy, "virus scanner") != NULL);
    close_world(&probed);
}

/* ---- the backend ------------------------------------------------------------------------------- */

static enum sbx_code run_backend(struct probed *probed, const char *const *command,
                                 struct sbx_run_record *record, struct sbx_err *err)
{
    struct fixture *f = &probed->boxed.fixture;
    struct sbx_plan plan = {
        .policy = &f->policy,
        .command = command,
        .process_memory_bytes = (uint64_t)1 << 30,
        .memory_bytes = (uint64_t)2 << 30,
        .timeout_ns = UINT64_C(30000000000),
    };
    struct sbx_selection selection = {0};
    return sbx_backend_appcontainer.run(&f->arena, &plan, &selection, record, err);
}

static const char *const shell[] = {SHELL, "/c", "work", NULL};

static void the_backend_runs_with_the_known_way(void)
{
    struct probed probed;
    struct sbx_run_record record = {0};
    struct sbx_err err = {0};
    open_world(&probed, &(struct nt_world){.actor = ends_well});
    CHECK_CODE(run_backend(&probed, shell, &record, &err), SBX_E_UNAVAILABLE, &err);
    CHECK_TEXT(err.text, "no way to start a box is known on this machine");
    CHECK_U64(births(&probed), 0);
    ask(&probed);
    CHECK_CODE(run_backend(&probed, shell, &record, &err), SBX_OK, &err);
    CHECK_U64(record.outcome.exit_code, 23);
    CHECK(record.evidence_count > 10);
    close_world(&probed);
}

static bool is_known(struct probed *probed)
{
    struct sbx_recipe recipe;
    return sbx_recipe_known(&probed->boxed.fixture.arena, &probed->boxed.fixture.context, &recipe);
}

static bool refuse_token(void *state, enum sbx_winapi_id id, unsigned n)
{
    (void)state;
    (void)n;
    if (id != SBX_CALL_CreateRestrictedToken) {
        return true;
    }
    SetLastError(ERROR_GEN_FAILURE);
    return false;
}

static void only_a_fault_of_the_machine_forgets_the_way(void)
{
    struct probed probed;
    struct sbx_run_record record = {0};
    struct sbx_err err = {0};
    open_world(&probed, &(struct nt_world){.actor = ends_well});
    ask(&probed);
    CHECK(is_known(&probed));
    const char *const missing[] = {"C:\\Windows\\System32\\no-such.exe", NULL};
    CHECK_CODE(run_backend(&probed, missing, &record, &err), SBX_E_NOT_FOUND, &err);
    CHECK(is_known(&probed)); /* the command's own fault */
    nt_model_before(probed.boxed.model, refuse_token, NULL);
    CHECK_CODE(run_backend(&probed, shell, &record, &err), SBX_E_IO, &err);
    CHECK_TEXT(err.call, "CreateRestrictedToken");
    CHECK(!is_known(&probed));
    close_world(&probed);
}

static const struct sbx_test tests[] = {
    {"simulated: a way that works is taken, remembered and leaves nothing",
     a_way_that_works_is_taken_and_remembered},
    {"simulated: a box that ends otherwise than it should is told for each way",
     a_box_that_ends_otherwise_is_told_for_each_way},
    {"simulated: without pseudo consoles only the way without one is tried",
     without_pseudo_consoles_only_the_hidden_one_is_tried},
    {"simulated: a missing call is named and nothing is started", missing_calls_start_nothing},
    {"simulated: inside of a box it says so and is not tried again",
     inside_of_a_box_it_is_not_tried_again},
    {"simulated: a fast failure is tried once more", a_fast_failure_is_tried_once_more},
    {"simulated: a stall is told and not tried again", a_stall_is_not_tried_again},
    {"simulated: the backend runs with the known way, and not without one",
     the_backend_runs_with_the_known_way},
    {"simulated: a fault of the machine forgets the way, one of the command does not",
     only_a_fault_of_the_machine_forgets_the_way},
};

SBX_TEST_MAIN("simulated_box_probe", tests)
