/* Jobs on the real system: a tree ends as one, nobody leaves, and limits that the system accepts and forgets are found
 * out. Which limit ended a command is a pure table. */
#include <windows.h>

#include <stdio.h>
#include <string.h>

#include "tests/check.h"
#include "tests/unit/win_fixture.h"
#include "win/handle.h"
#include "win/job.h"

#include "common/base/banned.h"

#define SECOND UINT64_C(1000000000)

static struct sbx_err err;
static const struct sbx_job_limits limits = {64 << 20, 128 << 20, 10, 8};

/* `daemon` in a job: a process and its child, both there; the child's pid. */
struct tree {
    HANDLE job;
    struct sbx_process process;
    long child;
};

static void grow(struct sbx_arena *arena, const char *name, struct tree *tree)
{
    struct sbx_process_plan plan;
    const char *file = scratch(name);
    CHECK_CODE(sbx_job_open(&limits, &tree->job, &err), SBX_OK, &err);
    CHECK(win_birth(arena, (const char *[]){"daemon", file, "600000", NULL}, &plan));
    plan.job = tree->job;
    CHECK_CODE(sbx_process_create(&plan, &tree->process, &err), SBX_OK, &err);
    CHECK_U64(ResumeThread(tree->process.thread), 1);
    tree->child = win_await_pid(file);
    CHECK(tree->child > 0 && actor_is_process_alive(tree->child));
    CHECK_INT(WaitForSingleObject(tree->process.process, 0), WAIT_TIMEOUT);
}

static void fell(struct tree *tree)
{
    sbx_handle_close(&tree->process.thread);
    sbx_handle_close(&tree->process.process);
    sbx_handle_close(&tree->job);
}

/* ---- ending ------------------------------------------------------------------------------------ */

static void closing_ends_the_tree(void)
{
    WIN_ARENA(arena);
    struct tree tree = {0};
    grow(&arena, "closing", &tree);
    sbx_handle_close(&tree.job);
    CHECK_INT(WaitForSingleObject(tree.process.process, 5000), WAIT_OBJECT_0);
    CHECK(win_await_death(tree.child));
    fell(&tree);
}

static void ending_ends_the_tree(void)
{
    WIN_ARENA(arena);
    struct tree tree = {0};
    grow(&arena, "ending", &tree);
    CHECK(sbx_job_end(tree.job));
    CHECK(!actor_is_process_alive(tree.child)); /* at once: it has waited */
    DWORD code = 0;
    CHECK(GetExitCodeProcess(tree.process.process, &code));
    CHECK_U64(code, 1);
    CHECK(sbx_job_end(tree.job)); /* an empty one too */
    fell(&tree);
}

static void a_job_that_cannot_be_asked_is_not_called_empty(void)
{
    AUTO_HANDLE event = CreateEventW(NULL, TRUE, FALSE, NULL);
    ULONGLONG begin = GetTickCount64();
    CHECK(!sbx_job_end(event));
    CHECK(GetTickCount64() - begin >= 4900);
}

/* The launcher is an actor that holds the only handle of the job. */
static void death_of_the_launcher_ends_the_tree(void)
{
    struct actor launcher;
    const char *child = scratch("orphan");
    CHECK(actor_start(&launcher, (const char *[]){"hold-job", child, NULL}, NULL, NULL));
    long pid = win_await_pid(child);
    CHECK(pid > 0 && actor_is_process_alive(pid));
    actor_kill(&launcher);
    CHECK(win_await_death(pid));
}

static void nobody_leaves(void)
{
    WIN_ARENA(arena);
    struct sbx_process_plan plan;
    struct sbx_process process = {0};
    AUTO_HANDLE job = NULL;
    CHECK_CODE(sbx_job_open(&limits, &job, &err), SBX_OK, &err);
    CHECK(win_birth(&arena, (const char *[]){"breakaway", scratch("breakaway"), NULL}, &plan));
    plan.job = job;
    CHECK_CODE(sbx_process_create(&plan, &process, &err), SBX_OK, &err);
    CHECK_U64(ResumeThread(process.thread), 1);
    CHECK_INT(WaitForSingleObject(process.process, 30000), WAIT_OBJECT_0);
    CHECK_TEXT(actor_read(scratch("breakaway")), "5"); /* ERROR_ACCESS_DENIED */
    sbx_handle_close(&process.thread);
    sbx_handle_close(&process.process);
    /* Outside a job the same attempt succeeds. */
    struct actor control;
    CHECK(
        actor_start(&control, (const char *[]){"breakaway", scratch("control"), NULL}, NULL, NULL));
    CHECK_INT(actor_wait(&control), 0);
    CHECK_TEXT(actor_read(scratch("control")), "0");
}

static void the_handle_of_a_job_stays_here(void)
{
    AUTO_HANDLE job = NULL;
    DWORD flags = HANDLE_FLAG_INHERIT;
    CHECK_CODE(sbx_job_open(NULL, &job, &err), SBX_OK, &err);
    CHECK(GetHandleInformation(job, &flags));
    CHECK_U64(flags & HANDLE_FLAG_INHERIT, 0);
}

/* ---- limits ------------------------------------------------------------------------------------ */

static void forgotten_limits_are_found_out(void)
{
    WIN_ARENA(arena);
    AUTO_HANDLE job = NULL;
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION got = {0};
    CHECK_CODE(sbx_job_open(&limits, &job, &err), SBX_OK, &err); /* accepted */
    CHECK(
        QueryInformationJobObject(job, JobObjectExtendedLimitInformation, &got, sizeof got, NULL));
    struct sbx_evidence_list list;
    sbx_evidence_init(&list, &arena);
    sbx_job_prove(&list, job, &limits);
    if (got.BasicLimitInformation.LimitFlags != 0) {
        sbx_test_skip("wine", "this system keeps the limits of jobs: its selftest shows them");
        return;
    }
    CHECK_CODE(sbx_evidence_verdict(&list, &err), SBX_E_VERIFY, &err);
    /* Wine tells no desktop limits at all; a system that tells them as zero gets further, not through. */
    CHECK(strstr(err.text, "job.ui should be readable") != NULL ||
          strstr(err.text, "job.flags should be 0x") != NULL);
}

static void an_unreadable_job_differs(void)
{
    WIN_ARENA(arena);
    struct sbx_evidence_list list;
    AUTO_HANDLE event = CreateEventW(NULL, TRUE, FALSE, NULL);
    sbx_evidence_init(&list, &arena);
    sbx_job_prove(&list, event, &limits);
    CHECK_U64(list.count, 1);
    CHECK(!list.items[0].ok);
    CHECK(strstr(list.items[0].got, "QueryInformationJobObject failed") != NULL);
}

static void times_and_memory_are_the_processes(void)
{
    WIN_ARENA(arena);
    struct sbx_process_plan plan;
    struct sbx_process process = {0};
    struct sbx_outcome outcome = {0};
    AUTO_HANDLE job = NULL;
    CHECK_CODE(sbx_job_open(NULL, &job, &err), SBX_OK, &err);
    CHECK(win_birth(&arena, (const char *[]){"pour", "20000000", NULL}, &plan));
    plan.job = job;
    CHECK_CODE(sbx_process_create(&plan, &process, &err), SBX_OK, &err);
    CHECK_U64(ResumeThread(process.thread), 1);
    CHECK_INT(WaitForSingleObject(process.process, 30000), WAIT_OBJECT_0);
    sbx_job_account(job, process.process, &outcome);
    FILETIME created;
    FILETIME ended;
    FILETIME kernel;
    FILETIME user;
    CHECK(GetProcessTimes(process.process, &created, &ended, &kernel, &user));
    uint64_t ticks = ((uint64_t)kernel.dwHighDateTime << 32 | kernel.dwLowDateTime) +
                     ((uint64_t)user.dwHighDateTime << 32 | user.dwLowDateTime);
    CHECK(outcome.cpu_ns >= ticks * 100);
    /* Neither can be asked: nothing is claimed. */
    AUTO_HANDLE event = CreateEventW(NULL, TRUE, FALSE, NULL);
    sbx_job_account(event, event, &outcome);
    CHECK_U64(outcome.cpu_ns, 0);
    CHECK_U64(outcome.peak_memory_bytes, 0);
    sbx_handle_close(&process.thread);
    sbx_handle_close(&process.process);
}

/* ---- the port ---------------------------------------------------------------------------------- */

static void an_ordinary_run_meets_no_limit(void)
{
    WIN_ARENA(arena);
    size_t before = 0;
    for (int round = 0; round < 4; round++) {
        struct sbx_process_plan plan;
        struct sbx_process process = {0};
        struct sbx_job_port *port = NULL;
        struct sbx_job_messages messages;
        memset(&messages, 0x5a, sizeof messages);
        HANDLE job = NULL;
        CHECK_CODE(sbx_job_open(&limits, &job, &err), SBX_OK, &err);
        CHECK_CODE(sbx_job_port_open(job, &port, &err), SBX_OK, &err);
        CHECK(win_birth(&arena, (const char *[]){"exit", "0", NULL}, &plan));
        plan.job = job;
        CHECK_CODE(sbx_process_create(&plan, &process, &err), SBX_OK, &err);
        CHECK_U64(ResumeThread(process.thread), 1);
        CHECK_INT(WaitForSingleObject(process.process, 30000), WAIT_OBJECT_0);
        sbx_job_port_close(port, &messages);
        static const struct sbx_job_messages none;
        CHECK_MEM(&messages, sizeof messages, &none, sizeof none);
        sbx_handle_close(&process.thread);
        sbx_handle_close(&process.process);
        sbx_handle_close(&job);
        if (round == 0) {
            before = win_open_handles();
        }
    }
    CHECK_U64(win_open_handles(), before);
}

static void a_port_needs_a_job(void)
{
    struct sbx_job_port *port = (struct sbx_job_port *)&err;
    CHECK_CODE(sbx_job_port_open(NULL, &port, &err), SBX_E_INVALID, &err);
    CHECK_TEXT(err.call, "SetInformationJobObject");
    CHECK(port == (struct sbx_job_port *)&err);
    sbx_job_port_close(NULL, NULL);
}

/* ---- which limit ------------------------------------------------------------------------------- */

static void limits_are_named(void)
{
    const struct {
        struct sbx_job_messages messages;
        uint64_t cpu_secs;
        uint32_t exit_code;
        uint64_t cpu_ns;
        enum sbx_limit want;
    } rows[] = {
        {{0}, 10, 0, 0, SBX_LIMIT_NONE},
        {{0}, 10, 1, 0, SBX_LIMIT_NONE},
        /* Time ends a command whatever its code is. */
        {{.process_time = 1}, 10, 0, 0, SBX_LIMIT_CPU},
        {{.process_time = 1}, 10, 1816, 0, SBX_LIMIT_CPU},
        {{.time = 1}, 10, 0, 0, SBX_LIMIT_CPU},
        {{.time = 1, .memory = 1, .processes = 1}, 10, 1, 0, SBX_LIMIT_CPU},
        /* No message came, but the code is the kernel's and the time is used up. */
        {{0}, 10, 1816, 10 * SECOND, SBX_LIMIT_CPU},
        {{0}, 10, 1816, 10 * SECOND - 1, SBX_LIMIT_NONE},
        {{0}, 10, 1, 10 * SECOND, SBX_LIMIT_NONE},
        {{0}, 0, 1816, 10 * SECOND, SBX_LIMIT_NONE},
        /* Refusals that it survived did not end it. */
        {{.memory = 3}, 10, 0, 0, SBX_LIMIT_NONE},
        {{.process_memory = 3}, 10, 0, 0, SBX_LIMIT_NONE},
        {{.processes = 3}, 10, 0, 0, SBX_LIMIT_NONE},
        {{.memory = 1}, 10, 1, 0, SBX_LIMIT_MEMORY},
        {{.process_memory = 1}, 10, 0xC0000017, 0, SBX_LIMIT_MEMORY},
        {{.memory = 1, .processes = 1}, 10, 1, 0, SBX_LIMIT_MEMORY},
        {{.processes = 1}, 10, 1, 0, SBX_LIMIT_PROCESSES},
        {{.abnormal = 1}, 10, 0xC0000005, 0, SBX_LIMIT_NONE},
    };
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        struct sbx_job_limits set = {.cpu_secs = rows[i].cpu_secs};
        struct sbx_outcome outcome = {.exit_code = rows[i].exit_code, .cpu_ns = rows[i].cpu_ns};
        if (!CHECK_INT(sbx_job_limit_met(&rows[i].messages, &set, &outcome), rows[i].want)) {
            printf("# row %zu\n", i);
        }
    }
}

static const struct sbx_test tests[] = {
    {"closing the job ends the tree, grandchildren too", closing_ends_the_tree},
    {"ending the job ends the tree and has waited for it", ending_ends_the_tree},
    {"a job that cannot be asked is not called empty",
     a_job_that_cannot_be_asked_is_not_called_empty},
    {"when the launcher is killed hard, the tree dies", death_of_the_launcher_ends_the_tree},
    {"no process leaves the job, and without a job it could", nobody_leaves},
    {"the handle of a job is not inheritable", the_handle_of_a_job_stays_here},
    {"limits that were accepted and forgotten are refused", forgotten_limits_are_found_out},
    {"a job that cannot be read counts as different", an_unreadable_job_differs},
    {"times are at least those of the process, and unknown ones are zero",
     times_and_memory_are_the_processes},
    {"an ordinary run meets no limit and leaves no handle", an_ordinary_run_meets_no_limit},
    {"a port needs a job", a_port_needs_a_job},
    {"messages, code and time name the limit", limits_are_named},
};

ACTOR_TEST_MAIN("jobs", tests)
