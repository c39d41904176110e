/* Cases: a box starts, is what it should be, and has the environment it should have. */
#include "win/selftest.h"

#include "common/base/banned.h"

static const struct sbx_selftest_case box_cases[] = {
    {.id = "box.start",
     .promise = "a box starts, and all that was read back of it is as planned",
     .attempt = "nothing",
     .run = sbx_selftest_case_start},
    {.id = "box.timing",
     .promise = "how long a box takes is measured, beside the same program without one",
     .attempt = "nothing",
     .run = sbx_selftest_case_timing},
};
const struct sbx_selftest_group sbx_selftest_box_group = {"box", box_cases, SBX_COUNT(box_cases)};

/* Without the service there is nothing to try. */
static void without_service(struct sbx_selftest *t, const struct sbx_selftest_case *row,
                            struct sbx_selftest_result *result)
{
    (void)row;
    sbx_selftest_say(t, result, SBX_SELFTEST_CANNOT,
                     "this build has no service; sbx run needs none");
}

/* Asked of the process itself: what sbx read back from outside is in box.start. */
static const struct sbx_selftest_case identity_cases[] = {
    {.id = "identity.integrity",
     .promise = "the integrity level of a box is low (0x1000), neither more nor less",
     .attempt = "integrity 0x1000",
     .wants = SBX_ANSWER_DONE,
     .control = SBX_ANSWER_ABSENT},
    {.id = "identity.container",
     .promise = "a box is in an AppContainer",
     .attempt = "container",
     .wants = SBX_ANSWER_DONE,
     .control = SBX_ANSWER_ABSENT},
    {.id = "identity.no-capability",
     .promise = "a box without network has no capability but those of its roots",
     .attempt = "capabilities",
     .wants = SBX_ANSWER_DONE},
    {.id = "identity.capabilities",
     .promise = "a box with the host's network has the two capabilities for it, and no other",
     .manifest = "network = \"inherit\"\n",
     .attempt = "capabilities S-1-15-3-1 S-1-15-3-3",
     .wants = SBX_ANSWER_DONE},
    {.id = "identity.no-admin",
     .promise = "no group of administrators is enabled in a box",
     .attempt = "admin",
     .wants = SBX_ANSWER_ABSENT,
     .control = SBX_ANSWER_DONE | SBX_ANSWER_ABSENT}, /* done when the caller is elevated */
    {.id = "identity.privileges",
     .promise = "a box has no privilege but the harmless two",
     .attempt = "privileges",
     .wants = SBX_ANSWER_ABSENT,
     .control = SBX_ANSWER_DONE},
    {.id = "identity.job",
     .promise = "a box is in a job that dies with its handle and that it cannot leave",
     .attempt = "job",
     .wants = SBX_ANSWER_DONE,
     .control = SBX_ANSWER_DONE | SBX_ANSWER_ABSENT}, /* the caller may be in one too */
    {.id = "identity.session",
     .promise = "the service starts boxes in the session of its client",
     .run = without_service},
};

const struct sbx_selftest_group sbx_selftest_identity_group = {"identity", identity_cases,
                                                               SBX_COUNT(identity_cases)};

static const struct sbx_selftest_case environment_cases[] = {
    {.id = "environment.dropped",
     .promise = "a variable of the caller does not reach a box",
     .attempt = "variable SBX_SELFTEST_VARIABLE",
     .wants = SBX_ANSWER_ABSENT,
     .control = SBX_ANSWER_DONE},
    {.id = "environment.passed",
     .promise = "a variable that the manifest passes does",
     .manifest = "env_pass = [\"SBX_SELFTEST_VARIABLE\"]\n",
     .attempt = "variable SBX_SELFTEST_VARIABLE",
     .wants = SBX_ANSWER_DONE,
     .control = SBX_ANSWER_DONE},
    {.id = "environment.exact",
     .promise = "a box has the declared variables, those that Windows needs, and no other",
     .manifest = "env = [[\"DECLARED\", \"1\"]]\n",
     .attempt = "environment DECLARED SystemRoot SystemDrive LOCALAPPDATA TEMP TMP",
     .wants = SBX_ANSWER_ABSENT,
     .control = SBX_ANSWER_DONE},
};
const struct sbx_selftest_group sbx_selftest_environment_group = {"environment", environment_cases,
                                                                  SBX_COUNT(environment_cases)};
