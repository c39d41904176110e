/* A released command on the real system: it is let go only from the state that was verified, and whatever ends it, its
 * tree is gone afterwards and its output is there. */
#include <windows.h>

#include <stdio.h>
#include <string.h>

#include "tests/check.h"
#include "tests/unit/win_fixture.h"
#include "win/attend.h"
#include "win/handle.h"
#include "win/job.h"
#include "win/process.h"

#include "common/base/banned.h"

#define MS UINT64_C(1000000)

static struct sbx_err err;

struct run {
    struct sbx_arena arena;
    struct sbx_attend attend;
    struct sbx_process_plan plan;
    HANDLE child_end[2];
};

static void run_init(struct run *run, const char *const *verb)
{
    *run = (struct run){0};
    sbx_arena_init(&run->arena, 16 << 20);
    CHECK(win_birth(&run->arena, verb, &run->plan));
    CHECK_CODE(sbx_attend_init(&run->attend, &err), SBX_OK, &err);
    CHECK_CODE(sbx_job_open(NULL, &run->attend.job, &err), SBX_OK, &err);
    run->plan.job = run->attend.job;
}

static void carry(struct run *run, HANDLE sink, uint64_t max_bytes)
{
    struct sbx_pump_plan plan = {
        .sink = sink, .max_bytes = max_bytes, .over = run->attend.over, .tail_bytes = 1 << 20};
    CHECK_CODE(sbx_pump_open(&plan, &run->attend.output[0], &run->child_end[0], &err), SBX_OK,
               &err);
    run->plan.stream[1] = run->child_end[0];
}

static void run_start(struct run *run)
{
    struct sbx_process process = {0};
    CHECK_CODE(sbx_process_create(&run->plan, &process, &err), SBX_OK, &err);
    sbx_handle_close(&run->child_end[0]);
    sbx_handle_close(&run->child_end[1]);
    run->attend.process = process.process;
    run->attend.thread = process.thread;
}

static enum sbx_code run_go(struct run *run)
{
    run_start(run);
    return sbx_attend_run(&run->attend, &err);
}

static void run_release(struct run *run)
{
    sbx_attend_release(&run->attend);
    sbx_handle_close(&run->attend.process);
    sbx_handle_close(&run->attend.thread);
    sbx_handle_close(&run->attend.job);
    sbx_arena_release(&run->arena);
}

/* ---- released from the verified state only ----------------------------------------------------- */

static void another_state_is_refused(DWORD extra_resumes, DWORD extra_suspends, const char *text)
{
    struct run run;
    const char *file = scratch(extra_resumes > 0 ? "resumed" : "suspended");
    run_init(&run, (const char *[]){"sleep", file, "600000", NULL});
    run_start(&run);
    for (DWORD i = 0; i < extra_resumes; i++) {
        CHECK_U64(ResumeThread(run.attend.thread), 1);
    }
    for (DWORD i = 0; i < extra_suspends; i++) {
        CHECK_U64(SuspendThread(run.attend.thread), 1 + i);
    }
    CHECK_CODE(sbx_attend_run(&run.attend, &err), SBX_E_VERIFY, &err);
    CHECK(strstr(err.text, text) != NULL);
    CHECK_INT(WaitForSingleObject(run.attend.process, 0), WAIT_OBJECT_0);
    CHECK(!run.attend.outcome.started);
    CHECK(!run.attend.is_tree_left);
    if (extra_suspends > 0) {
        CHECK(!win_exists(file));
    }
    run_release(&run);
}

static void only_one_suspension_is_ours(void)
{
    another_state_is_refused(1, 0, "was not held when it was to be released (0)");
    another_state_is_refused(0, 1, "was not held when it was to be released (2)");
}

static void a_thread_that_cannot_be_resumed_ends_the_tree(void)
{
    struct run run;
    run_init(&run, (const char *[]){"say", scratch("ran"), "x", NULL});
    run_start(&run);
    sbx_handle_close(&run.attend.thread);
    run.attend.thread = (HANDLE)(ULONG_PTR)0x123450;
    CHECK_CODE(sbx_attend_run(&run.attend, &err), SBX_E_INVALID, &err);
    CHECK_TEXT(err.call, "ResumeThread");
    CHECK_INT(err.raw, ERROR_INVALID_HANDLE);
    CHECK_INT(WaitForSingleObject(run.attend.process, 0), WAIT_OBJECT_0);
    run.attend.thread = NULL;
    CHECK(!win_exists(scratch("ran")));
    run_release(&run);
}

/* ---- what ends it ------------------------------------------------------------------------------ */

static void its_own_end(void)
{
    struct run run;
    run_init(&run, (const char *[]){"code", "3221225477", NULL});
    run.attend.timeout_ns = 60000 * MS;
    CHECK_CODE(run_go(&run), SBX_OK, &err);
    CHECK_U64(run.attend.outcome.exit_code, 0xC0000005);
    CHECK_INT(run.attend.outcome.limit, SBX_LIMIT_NONE);
    CHECK_INT(run.attend.outcome.origin, SBX_FROM_COMMAND);
    CHECK(run.attend.outcome.started);
    CHECK(run.attend.outcome.wall_ns > 0);
    run_release(&run);
}

static void set_later(HANDLE event);

static void ended_by(const char *name, HANDLE *event, enum sbx_limit want, uint64_t timeout_ns)
{
    struct run run;
    const char *file = scratch(name);
    run_init(&run, (const char *[]){"daemon", file, "600000", NULL});
    AUTO_HANDLE alarm = CreateEventW(NULL, TRUE, FALSE, NULL);
    run.attend.alarm = alarm;
    run.attend.alarm_limit = SBX_LIMIT_PROTECTED;
    run.attend.timeout_ns = timeout_ns;
    *event = want == SBX_LIMIT_PROTECTED ? alarm
             : want == SBX_LIMIT_CANCEL  ? run.attend.cancel
                                         : NULL;
    run_start(&run);
    if (*event != NULL) {
        set_later(*event);
    }
    CHECK_CODE(sbx_attend_run(&run.attend, &err), SBX_OK, &err);
    CHECK_INT(run.attend.outcome.limit, want);
    CHECK_INT(run.attend.outcome.origin, SBX_FROM_SBX);
    CHECK(run.attend.outcome.wall_ns >= 900 * MS);
    CHECK(run.attend.outcome.wall_ns < 20000 * MS);
    CHECK(!run.attend.is_tree_left);
    long child = win_await_pid(file);
    CHECK(child > 0);
    CHECK(!actor_is_process_alive(child));
    run_release(&run);
}

static DWORD WINAPI set_after_a_second(void *event)
{
    Sleep(1000);
    (void)SetEvent(event);
    return 0;
}

static void set_later(HANDLE event)
{
    AUTO_HANDLE thread = CreateThread(NULL, 0, set_after_a_second, event, 0, NULL);
    CHECK(thread != NULL);
}

static void what_ends_it_is_named(void)
{
    HANDLE event = NULL;
    ended_by("timeout", &event, SBX_LIMIT_TIMEOUT, 1000 * MS);
    ended_by("cancel", &event, SBX_LIMIT_CANCEL, 0);
    ended_by("alarm", &event, SBX_LIMIT_PROTECTED, 60000 * MS);
}

static void a_wait_that_fails_ends_it(void)
{
    struct run run;
    run_init(&run, (const char *[]){"sleep", scratch("unsure"), "600000", NULL});
    run.attend.alarm = (HANDLE)(ULONG_PTR)0x123450; /* no handle: the wait itself fails */
    CHECK_CODE(run_go(&run), SBX_OK, &err);
    CHECK_INT(run.attend.outcome.limit, SBX_LIMIT_CANCEL);
    CHECK_INT(WaitForSingleObject(run.attend.process, 0), WAIT_OBJECT_0);
    run_release(&run);
}

static void too_much_output_ends_it(void)
{
    struct run run;
    run_init(&run, (const char *[]){"pour", "100000000", NULL});
    carry(&run, NULL, 100000);
    CHECK_CODE(run_go(&run), SBX_OK, &err);
    CHECK_INT(run.attend.outcome.limit, SBX_LIMIT_OUTPUT);
    CHECK_U64(sbx_pump_tail(run.attend.output[0], &run.arena).len, 100000);
    run_release(&run);
}

/* A limit that a short run meets while it ends by itself. */
static void too_much_output_at_the_end_counts(void)
{
    for (int i = 0; i < 5; i++) {
        struct run run;
        run_init(&run, (const char *[]){"pour", "1001", NULL});
        carry(&run, NULL, 1000);
        CHECK_CODE(run_go(&run), SBX_OK, &err);
        CHECK_INT(run.attend.outcome.limit, SBX_LIMIT_OUTPUT);
        run_release(&run);
        run_init(&run, (const char *[]){"pour", "1000", NULL});
        carry(&run, NULL, 1000);
        CHECK_CODE(run_go(&run), SBX_OK, &err);
        CHECK_INT(run.attend.outcome.limit, SBX_LIMIT_NONE);
        CHECK_U64(sbx_pump_tail(run.attend.output[0], &run.arena).len, 1000);
        run_release(&run);
    }
}

/* ---- the rest of the output -------------------------------------------------------------------- */

static struct {
    int ticks;
    int ends;
    bool was_alive_at_end;
    HANDLE process;
} seen;

static void on_tick(void *state)
{
    CHECK(state == &seen);
    seen.ticks++;
}

static void on_end(void *state)
{
    CHECK(state == &seen);
    seen.ends++;
    seen.was_alive_at_end = WaitForSingleObject(seen.process, 0) != WAIT_OBJECT_0;
}

static void ticks_come_and_the_end_once(void)
{
    struct run run;
    run_init(&run, (const char *[]){"sleep", scratch("ticks"), "1500", NULL});
    run_start(&run);
    memset(&seen, 0, sizeof seen);
    seen.process = run.attend.process;
    run.attend.state = &seen;
    run.attend.tick = on_tick;
    run.attend.ended = on_end;
    CHECK_CODE(sbx_attend_run(&run.attend, &err), SBX_OK, &err);
    CHECK(seen.ticks >= 3 && seen.ticks <= 30);
    CHECK_INT(seen.ends, 1);
    CHECK(!seen.was_alive_at_end);
    CHECK_INT(run.attend.outcome.limit, SBX_LIMIT_NONE);
    run_release(&run);
}

static void a_deadline_holds_between_ticks(void)
{
    struct run run;
    run_init(&run, (const char *[]){"sleep", scratch("deadline"), "600000", NULL});
    memset(&seen, 0, sizeof seen);
    run.attend.state = &seen;
    run.attend.tick = on_tick;
    run.attend.timeout_ns = 700 * MS;
    CHECK_CODE(run_go(&run), SBX_OK, &err);
    CHECK_INT(run.attend.outcome.limit, SBX_LIMIT_TIMEOUT);
    CHECK(run.attend.outcome.wall_ns >= 690 * MS && run.attend.outcome.wall_ns < 5000 * MS);
    CHECK(seen.ticks >= 1);
    run_release(&run);
}

static DWORD WINAPI read_late(void *pipe)
{
    static char bytes[65536];
    DWORD got;
    Sleep(1500);
    size_t count = 0;
    while (ReadFile(pipe, bytes, sizeof bytes, &got, NULL)) {
        count += got;
    }
    return (DWORD)count;
}

static void a_slow_reader_is_waited_for(void)
{
    enum { TOTAL = 300000 };
    struct run run;
    AUTO_HANDLE source = NULL;
    HANDLE sink = NULL;
    DWORD count = 0;
    CHECK(CreatePipe(&source, &sink, NULL, 4096));
    AUTO_HANDLE thread = CreateThread(NULL, 0, read_late, source, 0, NULL);
    run_init(&run, (const char *[]){"pour", "300000", NULL});
    carry(&run, sink, 0);
    CHECK_CODE(run_go(&run), SBX_OK, &err);
    CHECK_INT(run.attend.outcome.limit, SBX_LIMIT_NONE);
    CHECK_U64(sbx_pump_close(SBX_TAKE(run.attend.output[0], NULL)), TOTAL);
    sbx_handle_close(&sink);
    CHECK_INT(WaitForSingleObject(thread, 10000), WAIT_OBJECT_0);
    CHECK(GetExitCodeThread(thread, &count));
    CHECK_U64(count, TOTAL);
    run_release(&run);
}

static void a_reader_that_never_reads_does_not_hold_an_ended_run(void)
{
    struct run run;
    AUTO_HANDLE unread = NULL;
    AUTO_HANDLE sink = NULL;
    CHECK(CreatePipe(&unread, &sink, NULL, 4096));
    run_init(&run, (const char *[]){"pour", "300000", NULL});
    carry(&run, sink, 0);
    run.attend.timeout_ns = 1000 * MS;
    ULONGLONG begin = GetTickCount64();
    CHECK_CODE(run_go(&run), SBX_OK, &err);
    CHECK(GetTickCount64() - begin < 8000);
    CHECK_INT(run.attend.outcome.limit, SBX_LIMIT_TIMEOUT);
    run_release(&run);
}

static void input_of_an_ended_command_is_not_waited_for(void)
{
    struct run run;
    AUTO_HANDLE source = NULL;
    AUTO_HANDLE feed = NULL; /* stays open: nobody types */
    CHECK(CreatePipe(&source, &feed, NULL, 4096));
    run_init(&run, (const char *[]){"exit", "4", NULL});
    CHECK_CODE(sbx_pump_open_input(source, &run.attend.input, &run.child_end[1], &err), SBX_OK,
               &err);
    run.plan.stream[0] = run.child_end[1];
    ULONGLONG begin = GetTickCount64();
    CHECK_CODE(run_go(&run), SBX_OK, &err);
    CHECK_U64(run.attend.outcome.exit_code, 4);
    run_release(&run);
    CHECK(GetTickCount64() - begin < 5000);
}

static void no_run_leaves_a_handle(void)
{
    size_t before = 0;
    for (int round = 0; round < 4; round++) {
        struct run run;
        run_init(&run, (const char *[]){"pour", "1000", NULL});
        carry(&run, NULL, 0);
        CHECK_CODE(run_go(&run), SBX_OK, &err);
        run_release(&run);
        before = round == 1 ? win_open_handles() : before;
    }
    CHECK_U64(win_open_handles(), before);
}

static const struct sbx_test tests[] = {
    {"a thread that was not suspended exactly once is not released", only_one_suspension_is_ours},
    {"a thread that cannot be resumed is an error and the tree is ended",
     a_thread_that_cannot_be_resumed_ends_the_tree},
    {"a command's own end keeps its 32 bits", its_own_end},
    {"timeout, cancel and alarm end the whole tree and are named", what_ends_it_is_named},
    {"a wait that fails ends the run", a_wait_that_fails_ends_it},
    {"too much output ends the run", too_much_output_ends_it},
    {"too much output counts although the command ended by itself",
     too_much_output_at_the_end_counts},
    {"ticks come while it runs, and its end is told once, after it", ticks_come_and_the_end_once},
    {"a deadline holds between ticks", a_deadline_holds_between_ticks},
    {"a slow reader gets everything", a_slow_reader_is_waited_for},
    {"a reader that never reads does not hold a run that was ended",
     a_reader_that_never_reads_does_not_hold_an_ended_run},
    {"input of a command that ended is not waited for",
     input_of_an_ended_command_is_not_waited_for},
    {"no run leaves a handle", no_run_leaves_a_handle},
};

ACTOR_TEST_MAIN("a released command", tests)
