/* Probes: a success is remembered, a failure is not, and callers at the same time share one. */
#include <stdatomic.h>
#include <string.h>

#ifdef _WIN32
#include <windows.h>
#else
#include <pthread.h>
#include <time.h>
#endif

#include "common/run/probe.h"
#include "tests/check.h"

#include "common/base/banned.h"

/* ---- a backend whose probe counts, waits and answers as told ---- */

static atomic_int calls;
static atomic_bool may_finish;
static atomic_int answer; /* enum sbx_probe_state */

static void rest(void)
{
#ifdef _WIN32
    Sleep(1);
#else
    (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
#endif
}

static void counting_probe(struct sbx_arena *arena, struct sbx_probe *out)
{
    atomic_fetch_add(&calls, 1);
    while (!atomic_load(&may_finish)) {
        rest();
    }
    out->state = (enum sbx_probe_state)atomic_load(&answer);
    out->version = sbx_arena_copy(arena, "fake 1.0", 8);
    out->reason = out->state == SBX_PROBE_PASSED ? NULL : sbx_arena_copy(arena, "no luck", 7);
}

static const struct sbx_backend fake = {.id = SBX_BACKEND_BWRAP, .probe = counting_probe};

static struct sbx_probe_cache cache;

static void start_over(enum sbx_probe_state state)
{
    sbx_probe_cache_release(&cache);
    sbx_probe_cache_init(&cache);
    atomic_store(&calls, 0);
    atomic_store(&may_finish, true);
    atomic_store(&answer, (int)state);
}

static enum sbx_probe_state ask(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 16);
    struct sbx_probe probe;
    sbx_probe_ask(&cache, &arena, SBX_BACKEND_BWRAP, &fake, &probe);
    return probe.state;
}

/* ---- threads, as much as is needed ---- */

enum { CALLERS = 16 };
static atomic_int waiting;
static atomic_int passed;

static void one_caller(void)
{
    atomic_fetch_add(&waiting, 1);
    if (ask() == SBX_PROBE_PASSED) {
        atomic_fetch_add(&passed, 1);
    }
}

#ifdef _WIN32
typedef HANDLE thread;
static DWORD WINAPI enter(LPVOID unused)
{
    (void)unused;
    one_caller();
    return 0;
}
static void start(thread *out)
{
    *out = CreateThread(NULL, 0, enter, NULL, 0, NULL);
}
static void join(thread one)
{
    (void)WaitForSingleObject(one, INFINITE);
    (void)CloseHandle(one);
}
#else
typedef pthread_t thread;
static void *enter(void *unused)
{
    (void)unused;
    one_caller();
    return NULL;
}
static void start(thread *out)
{
    (void)pthread_create(out, NULL, enter, NULL);
}
static void join(thread one)
{
    (void)pthread_join(one, NULL);
}
#endif

/* All callers are inside before the probe may answer. */
static void ask_from_many(void)
{
    thread threads[CALLERS];
    atomic_store(&waiting, 0);
    atomic_store(&passed, 0);
    atomic_store(&may_finish, false);
    for (int i = 0; i < CALLERS; i++) {
        start(&threads[i]);
    }
    while (atomic_load(&waiting) < CALLERS || atomic_load(&calls) == 0) {
        rest();
    }
    for (int i = 0; i < 20; i++) {
        rest(); /* those who have counted themselves reach the lock */
    }
    atomic_store(&may_finish, true);
    for (int i = 0; i < CALLERS; i++) {
        join(threads[i]);
    }
}

/* ---- the promises ---- */

static void success_is_remembered(void)
{
    start_over(SBX_PROBE_PASSED);
    CHECK_INT(ask(), SBX_PROBE_PASSED);
    atomic_store(&answer, SBX_PROBE_FAILED); /* whatever it would say now */
    CHECK_INT(ask(), SBX_PROBE_PASSED);
    CHECK_INT(atomic_load(&calls), 1);
}

static void failure_is_not_remembered(void)
{
    start_over(SBX_PROBE_FAILED);
    CHECK_INT(ask(), SBX_PROBE_FAILED);
    CHECK_INT(ask(), SBX_PROBE_FAILED);
    CHECK_INT(atomic_load(&calls), 2);
    atomic_store(&answer, SBX_PROBE_PASSED);
    CHECK_INT(ask(), SBX_PROBE_PASSED);
    CHECK_INT(atomic_load(&calls), 3);
}

static void texts_belong_to_the_caller(void)
{
    start_over(SBX_PROBE_FAILED);
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 16);
    struct sbx_probe probe;
    sbx_probe_ask(&cache, &arena, SBX_BACKEND_BWRAP, &fake, &probe);
    sbx_probe_cache_release(&cache);
    sbx_probe_cache_init(&cache);
    CHECK_TEXT(probe.version, "fake 1.0");
    CHECK_TEXT(probe.reason, "no luck");
}

static void first_callers_share_a_success(void)
{
    start_over(SBX_PROBE_PASSED);
    ask_from_many();
    CHECK_INT(atomic_load(&calls), 1);
    CHECK_INT(atomic_load(&passed), CALLERS);
}

static void waiting_callers_share_a_failure(void)
{
    start_over(SBX_PROBE_FAILED);
    ask_from_many();
    CHECK_INT(atomic_load(&calls), 1);
    CHECK_INT(atomic_load(&passed), 0);
}

static void many_failures_do_not_fill_the_cache(void)
{
    start_over(SBX_PROBE_FAILED);
    for (int i = 0; i < 100000; i++) {
        (void)ask();
    }
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 16);
    struct sbx_probe probe;
    sbx_probe_ask(&cache, &arena, SBX_BACKEND_BWRAP, &fake, &probe);
    CHECK_TEXT(probe.reason, "no luck");
}

static void a_backend_that_is_not_built_says_so(void)
{
    start_over(SBX_PROBE_PASSED);
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 16);
    struct sbx_probe probe;
    sbx_probe_ask(&cache, &arena, SBX_BACKEND_SEATBELT, NULL, &probe);
    CHECK_INT(probe.state, SBX_PROBE_NOT_BUILT);
    CHECK(probe.reason != NULL);
}

static const struct sbx_test tests[] = {
    {"a probe that passed is not asked again", success_is_remembered},
    {"a probe that failed is asked again", failure_is_not_remembered},
    {"an answer outlives the cache", texts_belong_to_the_caller},
    {"callers at the same time share one success", first_callers_share_a_success},
    {"callers who waited share one failure", waiting_callers_share_a_failure},
    {"failures do not use up memory", many_failures_do_not_fill_the_cache},
    {"a backend that is not built in says so", a_backend_that_is_not_built_says_so},
};

SBX_TEST_MAIN("probe", tests)
