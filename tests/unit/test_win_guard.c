/* The wall clock around the set-up: work that comes back, fails, is slow but alive, or never comes back. */
#include <windows.h>

#include <stdatomic.h>
#include <string.h>

#include "tests/check.h"
#include "tests/unit/win_fixture.h"
#include "win/guard.h"
#include "win/handle.h"

#include "common/base/banned.h"

enum { LIMIT_MS = 200, ALIVE_MS = 60, ALIVE_TIMES = 10 };

struct work {
    HANDLE release;
    HANDLE went_on; /* set just before the next sign of life */
    atomic_int steps;
};

static struct sbx_err err;

static enum sbx_code returns(void *state, struct sbx_guard *guard, struct sbx_err *out)
{
    struct work *work = state;
    (void)out;
    sbx_guard_alive(guard, "returning");
    atomic_fetch_add(&work->steps, 1);
    return SBX_OK;
}

static enum sbx_code fails(void *state, struct sbx_guard *guard, struct sbx_err *out)
{
    (void)state;
    (void)guard;
    (void)sbx_err_os(out, SBX_E_DENIED, SBX_OS_WIN32, 5, "CreateSomething", "cannot do it");
    return sbx_err_hint(out, "do another thing");
}

static enum sbx_code is_slow(void *state, struct sbx_guard *guard, struct sbx_err *out)
{
    struct work *work = state;
    (void)out;
    for (int i = 0; i < ALIVE_TIMES; i++) {
        sbx_guard_alive(guard, "going on");
        Sleep(ALIVE_MS);
        atomic_fetch_add(&work->steps, 1);
    }
    return SBX_OK;
}

static enum sbx_code stalls(void *state, struct sbx_guard *guard, struct sbx_err *out)
{
    struct work *work = state;
    (void)out;
    sbx_guard_alive(guard, "asking the profile service");
    (void)WaitForSingleObject(work->release, INFINITE);
    (void)SetEvent(work->went_on);
    sbx_guard_alive(guard, "going on as if nothing had happened");
    atomic_fetch_add(&work->steps, 1);
    return SBX_OK;
}

static enum sbx_code stalls_silently(void *state, struct sbx_guard *guard, struct sbx_err *out)
{
    struct work *work = state;
    (void)guard;
    (void)WaitForSingleObject(work->release, INFINITE);
    (void)SetEvent(work->went_on);
    return sbx_err_set(out, SBX_E_IO, "too late");
}

static void result_is_the_works(void)
{
    struct work work = {0};
    bool has_stalled = true;
    CHECK_CODE(sbx_guard_run(returns, &work, LIMIT_MS, &has_stalled, &err), SBX_OK, &err);
    CHECK(!has_stalled);
    CHECK_INT(atomic_load(&work.steps), 1);
    sbx_guard_alive(NULL, "without a guard"); /* allowed */
}

static void error_is_the_works(void)
{
    bool has_stalled = true;
    CHECK_CODE(sbx_guard_run(fails, NULL, LIMIT_MS, &has_stalled, &err), SBX_E_DENIED, &err);
    CHECK(!has_stalled);
    CHECK_TEXT(err.text, "cannot do it");
    CHECK_TEXT(err.hint, "do another thing");
    CHECK_TEXT(err.call, "CreateSomething");
    CHECK_INT(err.raw, 5);
    CHECK_CODE(sbx_guard_run(fails, NULL, LIMIT_MS, &has_stalled, NULL), SBX_E_DENIED, NULL);
}

static void slow_but_alive_is_waited_for(void)
{
    struct work work = {0};
    bool has_stalled = true;
    ULONGLONG begin = GetTickCount64();
    CHECK_CODE(sbx_guard_run(is_slow, &work, LIMIT_MS, &has_stalled, &err), SBX_OK, &err);
    CHECK(!has_stalled);
    CHECK_INT(atomic_load(&work.steps), ALIVE_TIMES);
    CHECK(GetTickCount64() - begin > 2ULL * LIMIT_MS);
}

static void a_stall_is_told(void)
{
    struct work work = {.release = CreateEventW(NULL, TRUE, FALSE, NULL),
                        .went_on = CreateEventW(NULL, TRUE, FALSE, NULL)};
    bool has_stalled = false;
    ULONGLONG begin = GetTickCount64();
    CHECK_CODE(sbx_guard_run(stalls, &work, LIMIT_MS, &has_stalled, &err), SBX_E_UNAVAILABLE, &err);
    ULONGLONG took = GetTickCount64() - begin;
    CHECK(has_stalled);
    CHECK(took >= LIMIT_MS && took < 20ULL * LIMIT_MS);
    CHECK(strstr(err.text, "stalled") != NULL);
    CHECK(strstr(err.text, "while asking the profile service") != NULL);
    CHECK(strstr(err.hint, "nothing was run") != NULL);
    /* It wakes up later, and goes no further than its next sign of life. */
    CHECK(SetEvent(work.release));
    CHECK_INT(WaitForSingleObject(work.went_on, 5000), WAIT_OBJECT_0);
    actor_sleep_ms(300);
    CHECK_INT(atomic_load(&work.steps), 0);
}

static void a_late_return_touches_nothing(void)
{
    struct work work = {.release = CreateEventW(NULL, TRUE, FALSE, NULL),
                        .went_on = CreateEventW(NULL, TRUE, FALSE, NULL)};
    bool has_stalled = false;
    CHECK_CODE(sbx_guard_run(stalls_silently, &work, LIMIT_MS, &has_stalled, &err),
               SBX_E_UNAVAILABLE, &err);
    CHECK(has_stalled);
    CHECK(strstr(err.text, "while starting") != NULL);
    struct sbx_err before = err;
    CHECK(SetEvent(work.release));
    CHECK_INT(WaitForSingleObject(work.went_on, 5000), WAIT_OBJECT_0);
    actor_sleep_ms(300);
    CHECK_MEM(&err, sizeof err, &before, sizeof before); /* our error is not the thread's */
}

static void many_guards_leave_nothing(void)
{
    size_t before = 0;
    for (int round = 0; round < 200; round++) {
        struct work work = {0};
        bool has_stalled = true;
        CHECK_CODE(sbx_guard_run(returns, &work, 5000, &has_stalled, &err), SBX_OK, &err);
        CHECK(!has_stalled && atomic_load(&work.steps) == 1);
        before = round == 20 ? win_open_handles() : before;
    }
    CHECK_U64(win_open_handles(), before);
}

static const struct sbx_test tests[] = {
    {"work that comes back gives its result", result_is_the_works},
    {"work that fails gives its error, whole", error_is_the_works},
    {"slow work that shows signs of life is waited for", slow_but_alive_is_waited_for},
    {"a stall is told with what was done, and what wakes up later goes no further",
     a_stall_is_told},
    {"work that comes back too late touches nothing of the caller's",
     a_late_return_touches_nothing},
    {"two hundred guards leave no handle", many_guards_leave_nothing},
};

ACTOR_TEST_MAIN("the wall clock", tests)
