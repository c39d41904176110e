/* The birth of a process on the real system: suspended, in its job, with its streams and no other handle; and no birth
 * at all where the system does not know the container. */
#include <windows.h>

#include <stdio.h>
#include <string.h>

#include "tests/check.h"
#include "tests/unit/win_fixture.h"
#include "win/handle.h"
#include "win/job.h"
#include "win/mitigation.h"
#include "win/process.h"
#include "win/sid.h"
#include "win/wide.h"

#include "common/base/banned.h"

static struct sbx_err err;

struct born {
    HANDLE job;
    struct sbx_process process;
};

static void bury(struct born *born)
{
    (void)sbx_job_end(born->job);
    sbx_handle_close(&born->process.thread);
    sbx_handle_close(&born->process.process);
    sbx_handle_close(&born->job);
}

static enum sbx_code bear(struct sbx_process_plan *plan, struct born *born)
{
    CHECK_CODE(sbx_job_open(NULL, &born->job, &err), SBX_OK, &err);
    plan->job = born->job;
    return sbx_process_create(plan, &born->process, &err);
}

/* Its exit code; everything is let go. */
static DWORD finish(struct born *born)
{
    DWORD code = 0xdeadbeef;
    CHECK_U64(ResumeThread(born->process.thread), 1);
    CHECK_INT(WaitForSingleObject(born->process.process, 30000), WAIT_OBJECT_0);
    CHECK(GetExitCodeProcess(born->process.process, &code));
    bury(born);
    return code;
}

/* ---- handles ----------------------------------------------------------------------------------- */

static bool child_has(struct sbx_arena *arena, HANDLE event, HANDLE output)
{
    struct sbx_process_plan plan;
    struct born born = {0};
    char number[32];
    (void)snprintf(number, sizeof number, "%llu", (unsigned long long)(uintptr_t)event);
    CHECK(ResetEvent(event));
    CHECK(win_birth(arena, (const char *[]){"birth", scratch("birth"), number, NULL}, &plan));
    plan.stream[1] = output;
    CHECK_CODE(bear(&plan, &born), SBX_OK, &err);
    CHECK_U64(finish(&born), 0);
    return WaitForSingleObject(event, 0) == WAIT_OBJECT_0;
}

static void an_unlisted_handle_stays_here(void)
{
    WIN_ARENA(arena);
    AUTO_HANDLE event = win_inheritable_event();
    AUTO_HANDLE null = CreateFileW(L"NUL", GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL,
                                   OPEN_EXISTING, 0, NULL);
    CHECK(!child_has(&arena, event, null)); /* with a list */
    CHECK(!child_has(&arena, event, NULL)); /* without one nothing is inherited */
    /* The same child, started as everybody does, gets it. */
    struct actor control;
    char number[32];
    (void)snprintf(number, sizeof number, "%llu", (unsigned long long)(uintptr_t)event);
    CHECK(actor_start(&control, (const char *[]){"birth", scratch("control"), number, NULL}, NULL,
                      NULL));
    CHECK_INT(actor_wait(&control), 0);
    CHECK_INT(WaitForSingleObject(event, 0), WAIT_OBJECT_0);
}

static HANDLE make_file(struct sbx_arena *arena, const char *name)
{
    wchar_t *wide = NULL;
    actor_write(scratch(name), "");
    CHECK_CODE(sbx_wide_path(arena, scratch(name), &wide, &err), SBX_OK, &err);
    return CreateFileW(wide, GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL,
                       OPEN_EXISTING, 0, NULL);
}

static void streams_arrive(void)
{
    WIN_ARENA(arena);
    AUTO_HANDLE out = make_file(&arena, "out");
    AUTO_HANDLE log = make_file(&arena, "log");
    struct sbx_process_plan plan;
    struct born born = {0};
    CHECK(win_birth(&arena, (const char *[]){"pour", "70000", "3", NULL}, &plan));
    plan.stream[1] = out;
    plan.stream[2] = log;
    CHECK_CODE(bear(&plan, &born), SBX_OK, &err);
    CHECK_U64(finish(&born), 0);
    CHECK_U64(strlen(actor_read(scratch("out"))), 70000);
    CHECK_TEXT(actor_read(scratch("log")), "eee");
    DWORD flags = HANDLE_FLAG_INHERIT;
    CHECK(GetHandleInformation(out, &flags)); /* ours stayed what it was */
    CHECK_U64(flags & HANDLE_FLAG_INHERIT, 0);
}

static void equal_streams_are_one(void)
{
    WIN_ARENA(arena);
    AUTO_HANDLE both = make_file(&arena, "both");
    struct sbx_process_plan plan;
    struct born born = {0};
    CHECK(win_birth(&arena, (const char *[]){"pour", "5", "3", NULL}, &plan));
    plan.stream[1] = both;
    plan.stream[2] = both;
    CHECK_CODE(bear(&plan, &born), SBX_OK, &err);
    CHECK_U64(finish(&born), 0);
    CHECK_TEXT(actor_read(scratch("both")), "abcdeeee");
}

static void a_stream_that_is_not_open_is_left_out(void)
{
    WIN_ARENA(arena);
    AUTO_HANDLE log = make_file(&arena, "gap");
    struct sbx_process_plan plan;
    struct born born = {0};
    CHECK(win_birth(&arena, (const char *[]){"pour", "0", "2", NULL}, &plan));
    plan.stream[0] = INVALID_HANDLE_VALUE;
    plan.stream[2] = log;
    CHECK_CODE(bear(&plan, &born), SBX_OK, &err);
    CHECK_U64(finish(&born), 0);
    CHECK_TEXT(actor_read(scratch("gap")), "ee");
}

static void a_stream_that_is_closed_is_an_error(void)
{
    WIN_ARENA(arena);
    HANDLE closed = (HANDLE)(ULONG_PTR)0x123450; /* far above what is open here */
    struct sbx_process_plan plan;
    struct born born = {0};
    CHECK(win_birth(&arena, (const char *[]){"say", scratch("closed"), "x", NULL}, &plan));
    plan.stream[1] = closed;
    CHECK_CODE(bear(&plan, &born), SBX_E_INVALID, &err);
    CHECK_TEXT(err.call, "DuplicateHandle");
    CHECK(!win_exists(scratch("closed")));
    bury(&born);
}

/* ---- suspended, in the job --------------------------------------------------------------------- */

static void nothing_runs_before_release(void)
{
    WIN_ARENA(arena);
    const char *marker = scratch("marker");
    struct sbx_process_plan plan;
    struct born born = {0};
    CHECK(win_birth(&arena, (const char *[]){"say", marker, "x", NULL}, &plan));
    CHECK_CODE(bear(&plan, &born), SBX_OK, &err);
    CHECK_INT(WaitForSingleObject(born.process.process, 1500), WAIT_TIMEOUT);
    CHECK(!win_exists(marker));
    CHECK_U64(finish(&born), 0);
    CHECK_TEXT(actor_read(marker), "[x]\n");
}

static void ended_before_release_it_never_ran(void)
{
    WIN_ARENA(arena);
    const char *marker = scratch("never");
    struct sbx_process_plan plan;
    struct born born = {0};
    CHECK(win_birth(&arena, (const char *[]){"say", marker, "x", NULL}, &plan));
    CHECK_CODE(bear(&plan, &born), SBX_OK, &err);
    CHECK(sbx_job_end(born.job));
    CHECK_INT(WaitForSingleObject(born.process.process, 0), WAIT_OBJECT_0);
    actor_sleep_ms(300);
    CHECK(!win_exists(marker));
    bury(&born);
}

static void it_is_born_in_the_job(void)
{
    WIN_ARENA(arena);
    struct sbx_process_plan plan;
    struct born born = {0};
    AUTO_HANDLE other = NULL;
    BOOL is_in = FALSE;
    CHECK(win_birth(&arena, (const char *[]){"exit", "7", NULL}, &plan));
    CHECK_CODE(bear(&plan, &born), SBX_OK, &err);
    CHECK(!born.process.is_job_late);
    CHECK(IsProcessInJob(born.process.process, born.job, &is_in) && is_in);
    CHECK_CODE(sbx_job_open(NULL, &other, &err), SBX_OK, &err);
    CHECK(IsProcessInJob(born.process.process, other, &is_in) && !is_in);
    CHECK_U64(finish(&born), 7);
}

/* ---- failures ---------------------------------------------------------------------------------- */

static void failures_name_the_call(void)
{
    WIN_ARENA(arena);
    struct sbx_process_plan plan;
    struct born born = {0};
    CHECK(win_birth(&arena, (const char *[]){"exit", "0", NULL}, &plan));
    plan.program = L"C:\\no\\such\\program.exe";
    CHECK_CODE(bear(&plan, &born), SBX_E_NOT_FOUND, &err);
    CHECK_TEXT(err.call, "CreateProcessW");
    CHECK(born.process.process == NULL && born.process.thread == NULL);
    bury(&born);
    CHECK(win_birth(&arena, (const char *[]){"exit", "0", NULL}, &plan));
    plan.directory = L"C:\\no\\such\\directory";
    CHECK_CODE(bear(&plan, &born), SBX_E_INVALID, &err);
    CHECK_INT(err.raw, ERROR_DIRECTORY);
    bury(&born);
}

static void no_birth_leaves_a_handle(void)
{
    WIN_ARENA(arena);
    size_t before = 0;
    for (int round = 0; round < 6; round++) {
        AUTO_HANDLE out = make_file(&arena, "round");
        struct sbx_process_plan plan;
        struct born born = {0};
        CHECK(win_birth(&arena, (const char *[]){"exit", "0", NULL}, &plan));
        plan.stream[0] = plan.stream[1] = plan.stream[2] = out;
        if (round % 2 == 0) {
            CHECK_CODE(bear(&plan, &born), SBX_OK, &err);
            CHECK_U64(finish(&born), 0);
        } else {
            plan.program = L"C:\\no\\such\\program.exe";
            CHECK_CODE(bear(&plan, &born), SBX_E_NOT_FOUND, &err);
            bury(&born);
        }
        if (round == 1) {
            before = win_open_handles();
        }
    }
    /* Both were counted with this round's file open or closed alike. */
    AUTO_HANDLE out = make_file(&arena, "round");
    CHECK_U64(win_open_handles(), before);
}

/* ---- the container ----------------------------------------------------------------------------- */

/* Wine does not know the attribute, and would start the process without it. */
static void without_containers_nothing_is_born(void)
{
    WIN_ARENA(arena);
    const char *marker = scratch("unconfined");
    AUTO_HANDLE token = NULL;
    struct sbx_sid package;
    struct sbx_process_plan plan;
    struct born born = {0};
    if (sbx_winapi_check(sbx_win(), &err) == SBX_OK) {
        sbx_test_skip("wine", "this system has AppContainers: its selftest starts one");
        return;
    }
    CHECK(OpenProcessToken(GetCurrentProcess(),
                           TOKEN_QUERY | TOKEN_DUPLICATE | TOKEN_ASSIGN_PRIMARY, &token));
    CHECK(sbx_sid_parse("S-1-15-2-1-2-3-4-5-6-7", &package));
    struct sbx_container container = {
        .token = token,
        .package = package.bytes,
        .mitigations = sbx_mitigation_policy(false),
    };
    size_t before = 0;
    for (int round = 0; round < 3; round++) {
        CHECK(win_birth(&arena, (const char *[]){"say", marker, "x", NULL}, &plan));
        plan.container = &container;
        CHECK_CODE(bear(&plan, &born), SBX_E_UNSUPPORTED, &err);
        CHECK_TEXT(err.call, "UpdateProcThreadAttribute");
        CHECK_INT(err.os, SBX_OS_WIN32);
        CHECK_INT(err.raw, ERROR_NOT_SUPPORTED);
        CHECK(born.process.process == NULL);
        JOBOBJECT_BASIC_ACCOUNTING_INFORMATION info = {0};
        CHECK(QueryInformationJobObject(born.job, JobObjectBasicAccountingInformation, &info,
                                        sizeof info, NULL));
        CHECK_U64(info.TotalProcesses, 0);
        bury(&born);
        before = round == 0 ? win_open_handles() : before;
    }
    CHECK_U64(win_open_handles(), before);
    actor_sleep_ms(500);
    CHECK(!win_exists(marker));
    /* The same plan without the container does run. */
    CHECK(win_birth(&arena, (const char *[]){"say", marker, "x", NULL}, &plan));
    CHECK_CODE(bear(&plan, &born), SBX_OK, &err);
    CHECK_U64(finish(&born), 0);
    CHECK(win_exists(marker));
}

static const struct sbx_test tests[] = {
    {"an inheritable handle that is not listed does not reach the child; without sbx it does",
     an_unlisted_handle_stays_here},
    {"outputs arrive whole, and our handles stay non-inheritable", streams_arrive},
    {"two equal streams are one", equal_streams_are_one},
    {"a stream that is not open is left out", a_stream_that_is_not_open_is_left_out},
    {"a closed stream is an error and nothing runs", a_stream_that_is_closed_is_an_error},
    {"not one instruction runs before the release", nothing_runs_before_release},
    {"ended before the release it never ran", ended_before_release_it_never_ran},
    {"it is in its job, and in no other, while it is suspended", it_is_born_in_the_job},
    {"a birth that fails names the call", failures_name_the_call},
    {"no birth leaves a handle, failed or not", no_birth_leaves_a_handle},
    {"where containers are not known nothing is born", without_containers_nothing_is_born},
};

ACTOR_TEST_MAIN("birth of a process", tests)
