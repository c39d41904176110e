/* Cases of the self-test on Windows about what sbx is started in, a terminal or a job, and how anything is started there.
 * The windows, jobs and processes are real; sbx is the test program. */
#include <windows.h>

#include <stdio.h>

#include "common/os.h"
#include "tests/unit/os_actor.h"
#include "tests/unit/played_sbx.h"

#include "common/base/banned.h"

/* ---- a terminal --------------------------------------------------------------------------------- */

static void a_command_in_a_window_sees_its_terminal(void)
{
    played_well();
    played_check(played_find("terminal.output"), "pass", "DONE terminal of 100 x 30");
    CHECK(played_log_has("run --tty"));
}

static void a_window_that_stays_as_it_is_fails_the_case(void)
{
    struct sbx_selftest_case row = played_row("terminal.resize", "resize {inside}\\other 300");
    played_well();
    played_check(&row, "fail", "DENIED still 100 x 30"); /* nobody looks for that file */
    CHECK(sbx_selftest_exists(played_path("inside\\other")));
    (void)DeleteFileA(played_path("inside\\other"));
}

static void without_a_window_the_command_must_come_to_its_end(void)
{
    struct sbx_selftest_case row = played_row("terminal.close", "nothing");
    played_well();
    played_check(&row, "pass", "exit code 0 after ");
    played_run(PLAY_BROKEN);
    played_check(&row, "fail", "exit code 1 after ");
}

/* ---- nesting ------------------------------------------------------------------------------------ */

static void sbx_is_started_in_the_job(void)
{
    played_well();
    played_check(played_find("nesting.job"), "pass", "box: DONE it ran");
    CHECK(played_log_has("run in a job\n"));
    CHECK(played_log_has("run\n")); /* the plainest one before it is not */
    played_check(played_find("nesting.job-ui"), "pass", "box: DONE it ran");
    played_run(PLAY_FAILURE);
    played_check(played_find("nesting.job"), "fail", "it is played");
    played_check(played_find("nesting.job-ui"), "pass", "no box, and a reason: sbx run refused");
}

/* ---- what all of them are started with ----------------------------------------------------------- */

static struct sbx_selftest_ended spawned(const char *const *argv, uint64_t timeout_ms,
                                         const char *kill_when)
{
    struct sbx_selftest_spawn spawn = {.argv = argv,
                                       .cwd = sbx_selftest_place(played(), "bin"),
                                       .timeout_ns = timeout_ms * 1000000,
                                       .kill_when = kill_when};
    struct sbx_selftest_ended ended = {0};
    struct sbx_err err = {0};
    CHECK_CODE(sbx_selftest_spawn(&played()->arena, &spawn, &ended, &err), SBX_OK, &err);
    return ended;
}

static void what_does_not_end_is_killed(void)
{
    const char *copy = sbx_selftest_place(played(), "copy");
    const char *sleeps[] = {copy, "selftest", "--probe", "sleep", "60000", NULL};
    struct sbx_selftest_ended ended = spawned(sleeps, 200, NULL);
    CHECK(ended.is_timeout && !ended.is_killed);
    CHECK(ended.wall_ns < UINT64_C(30000000000));
    const char *marks[] = {copy,     "selftest", "--probe", "mark", played_path("begun"),
                           "unused", "60000",    NULL};
    ended = spawned(marks, 60000, played_path("begun"));
    CHECK(ended.is_killed && !ended.is_timeout);
    (void)DeleteFileA(played_path("begun"));
}

static void what_cannot_be_started_is_an_error(void)
{
    const char *argv[] = {"C:\\no-such-program.exe", NULL};
    struct sbx_selftest_spawn spawn = {
        .argv = argv, .cwd = sbx_selftest_place(played(), "bin"), .timeout_ns = 1};
    struct sbx_selftest_ended ended;
    struct sbx_err err = {0};
    CHECK_CODE(sbx_selftest_spawn(&played()->arena, &spawn, &ended, &err), SBX_E_NOT_FOUND, &err);
    CHECK(sbx_str_contains(sbx_str(err.text), "cannot start \"C:\\no-such-program.exe\""));
}

static const struct sbx_test tests[] = {
    {"a command in a window sees its terminal", a_command_in_a_window_sees_its_terminal},
    {"a window that stays as it is fails the case", a_window_that_stays_as_it_is_fails_the_case},
    {"without a window the command must come to its end",
     without_a_window_the_command_must_come_to_its_end},
    {"sbx is started in the job", sbx_is_started_in_the_job},
    {"what does not end is killed", what_does_not_end_is_killed},
    {"what cannot be started is an error", what_cannot_be_started_is_an_error},
};
PLAYED_TEST_MAIN("selftest around", tests)
