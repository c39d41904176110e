/* Cases of the self-test on Windows that are more than one attempt: what they make of what sbx does, which the test
 * program plays. */
#include <windows.h>

#include <stdio.h>

#include "common/os.h"
#include "tests/unit/os_actor.h"
#include "tests/unit/played_sbx.h"

#include "common/base/banned.h"

/* ---- no box ------------------------------------------------------------------------------------- */

static void where_no_box_can_be_no_case_says_anything(void)
{
    static const char *const ids[] = {
        "growth.10000",     "tools.cmd",           "terminal.output",  "terminal.close",
        "nesting.job",      "leftovers.processes", "leftovers.leases", "leftovers.profiles",
        "leftovers.grants", "nesting.job-ui"};
    played_well();
    played_run(PLAY_REFUSAL);
    for (size_t i = 0; i < SBX_COUNT(ids); i++) {
        played_check(played_find(ids[i]), "cannot", "it is played");
    }
}

/* ---- growth ------------------------------------------------------------------------------------- */

static void growth_runs_twice_in_each_tree_and_takes_them_back(void)
{
    struct sbx_selftest_case row = played_row("growth.10000", "20 150");
    struct sbx_selftest_result result;
    size_t count = played()->timing_count;
    played_well();
    sbx_selftest_run_case(played(), &row, &result);
    CHECK(sbx_str_contains(sbx_str(result.evidence), "; 150 files "));
    if (!CHECK_U64(played()->timing_count, count + 6)) {
        return;
    }
    /* How long they take is the machine's; the verdict must be what the figures say. */
    const struct sbx_selftest_timing *few = &played()->timings[count];
    const struct sbx_selftest_timing *many = &played()->timings[count + 3];
    CHECK_TEXT(few[1].name, "20 files, second run");
    CHECK_TEXT(many[1].name, "150 files, second run");
    bool is_flat = many[1].ns <= 2 * few[1].ns + UINT64_C(500000000);
    CHECK_INT(result.verdict, is_flat ? SBX_SELFTEST_PASS : SBX_SELFTEST_FAIL);
    CHECK(played_log_has("\\\\tree-150\"]"));
    CHECK(played_log_has("\\tree-20\n"));
    CHECK(played_log_has("\\tree-150\n"));
    CHECK(!sbx_selftest_exists(played_path("tree-20")));
    CHECK(!sbx_selftest_exists(played_path("tree-150")));
    CHECK_TEXT(sbx_selftest_place(played(), "tree"), "");
}

static void growth_fails_where_a_run_or_a_removal_does(void)
{
    struct sbx_selftest_case row = played_row("growth.10000", "20 150");
    played_well();
    played_run(PLAY_FAILURE);
    played_check(&row, "fail", "sbx run refused (verification-failed): it is played");
    played_well();
    played_workspace(PLAY_FAILS);
    played_check(&row, "fail", "sbx workspace remove ended with 1: sbx: error: it is played");
    played_workspace(PLAY_UNKNOWN);
    played_check(&row, "cannot", "this build has no sbx workspace");
    CHECK(!sbx_selftest_exists(played_path("tree-20")));
}

static void growth_needs_its_tree(void)
{
    struct sbx_selftest_case row = played_row("growth.10000", "20 150");
    played_well();
    actor_write(played_path("tree-20"), "in the way");
    played_check(&row, "error", "no tree of 20 files could be made");
    (void)DeleteFileA(played_path("tree-20"));
}

/* ---- tools -------------------------------------------------------------------------------------- */

static void a_tool_of_the_system_runs_as_it_is(void)
{
    played_well();
    played_check(played_find("tools.cmd"), "pass", "ends with 0x7 in a box, 0x7 outside");
    CHECK(played_log_has("env_pass = [\"PATH\"]"));
    CHECK(!played_log_has("workspace remove")); /* nothing of it was granted */
    played_run(PLAY_BROKEN);
    played_check(played_find("tools.cmd"), "fail", "ends with 0x8 in a box, 0x7 outside; ");
}

static void a_tool_that_is_not_there_or_does_not_work_anyway_proves_nothing(void)
{
    struct sbx_selftest_case absent = played_row("tools.cmd", "no-such-tool.exe --version");
    struct sbx_selftest_case broken = played_row("tools.cmd", "cmd.exe /d /c exit 3");
    played_well();
    played_check(&absent, "cannot", "it is not installed: ");
    played_check(&broken, "cannot", "ends with 0x3 outside a box too");
}

/* Its directory is granted, only with --long, and taken back. */
static void a_tool_elsewhere_is_granted_for_the_time_of_the_case(void)
{
    struct sbx_selftest_case row = played_row("tools.cmd", "sbx.exe selftest --probe nothing");
    AUTO_ARENA arena;
    row.wants = 0;
    sbx_arena_init(&arena, 1u << 20);
    const char *path = sbx_os_env(&arena, "PATH");
    (void)SetEnvironmentVariableW(L"PATH", sbx_attempt_wide(sbx_selftest_place(played(), "bin")));
    played_well();
    played_check(&row, "cannot", "is in a directory that boxes may not read; --long grants it");
    CHECK(!played_log_has("workspace"));
    played()->is_long = true;
    played_check(&row, "pass", "ends with 0x0 in a box, 0x0 outside");
    played()->is_long = false;
    (void)SetEnvironmentVariableW(L"PATH", sbx_attempt_wide(path));
    char granted[1024];
    (void)snprintf(granted, sizeof granted, "workspace remove %s\n",
                   sbx_selftest_place(played(), "bin"));
    CHECK(played_log_has("fs_read_allow = [\""));
    CHECK(played_log_has("\\\\bin\", \""));
    CHECK(played_log_has(granted));
}

static const struct sbx_test tests[] = {
    {"where no box can be, no case says anything", where_no_box_can_be_no_case_says_anything},
    {"growth runs twice in each tree, and takes them back",
     growth_runs_twice_in_each_tree_and_takes_them_back},
    {"growth fails where a run or a removal does", growth_fails_where_a_run_or_a_removal_does},
    {"growth needs its tree", growth_needs_its_tree},
    {"a tool of the system runs as it is", a_tool_of_the_system_runs_as_it_is},
    {"a tool that is not there, or does not work anyway, proves nothing",
     a_tool_that_is_not_there_or_does_not_work_anyway_proves_nothing},
    {"a tool elsewhere is granted for the time of the case",
     a_tool_elsewhere_is_granted_for_the_time_of_the_case},
};
PLAYED_TEST_MAIN("selftest cases", tests)
