/* Cases: sbx itself is in a job already, as under a terminal, a build agent or another sandbox. */
#include "win/handle.h"
#include "win/selftest.h"

#include "common/base/banned.h"

static HANDLE make_job(DWORD ui)
{
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {0};
    JOBOBJECT_BASIC_UI_RESTRICTIONS restrictions = {ui};
    HANDLE job = CreateJobObjectW(NULL, NULL);
    limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
    if (job != NULL &&
        (!SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits, sizeof limits) ||
         (ui != 0 && !SetInformationJobObject(job, JobObjectBasicUIRestrictions, &restrictions,
                                              sizeof restrictions)))) {
        sbx_handle_close(&job);
    }
    return job;
}

static void run_in_job(struct sbx_selftest *t, DWORD ui, struct sbx_selftest_result *result)
{
    AUTO_HANDLE job = make_job(ui);
    struct sbx_selftest_around around = {.job = job};
    struct sbx_selftest_plan plan = {
        .words = "nothing", .spawn = sbx_selftest_spawn_around, .spawn_state = &around};
    struct sbx_selftest_box box;
    if (!sbx_selftest_has_box(t, result)) {
        return;
    }
    if (job == NULL) {
        sbx_selftest_say(t, result, SBX_SELFTEST_ERROR, "no job could be made: %lu",
                         GetLastError());
        return;
    }
    if (!sbx_selftest_run_box(t, &plan, &box, result)) {
        return;
    }
    sbx_selftest_say(t, result,
                     box.answer == SBX_ANSWER_DONE ? SBX_SELFTEST_PASS : SBX_SELFTEST_FAIL,
                     "box: %s", sbx_selftest_describe(t, &box));
}

static void in_plain_job(struct sbx_selftest *t, const struct sbx_selftest_case *row,
                         struct sbx_selftest_result *result)
{
    (void)row;
    run_in_job(t, 0, result);
}

/* Nesting is documented for jobs without such limits on either side; what sbx does then must be one of two things:
 * work, or refuse and say why. */
static void in_limited_job(struct sbx_selftest *t, const struct sbx_selftest_case *row,
                           struct sbx_selftest_result *result)
{
    (void)row;
    run_in_job(t, JOB_OBJECT_UILIMIT_EXITWINDOWS, result);
    if (result->verdict == SBX_SELFTEST_FAIL) {
        sbx_selftest_say(t, result, SBX_SELFTEST_PASS, "no box, and a reason: %s",
                         result->evidence);
    }
}

static const struct sbx_selftest_case cases[] = {
    {.id = "nesting.job",
     .promise = "a box starts when sbx is in another job",
     .run = in_plain_job},
    {.id = "nesting.job-ui",
     .promise = "it is measured what happens when that job limits the user interface",
     .run = in_limited_job},
};
const struct sbx_selftest_group sbx_selftest_nesting_group = {"nesting", cases, SBX_COUNT(cases)};
