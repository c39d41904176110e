/* A wall clock around work that may never come back. */
#include "win/guard.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "win/fault.h"
#include "win/handle.h"

#include "common/base/banned.h"

enum phase { WORKING, DONE, ABANDONED };

struct sbx_guard {
    sbx_guard_work *work;
    void *state;
    atomic_int phase;
    _Atomic(const char *) doing;
    atomic_ullong alive_ms;
    enum sbx_code code;
    struct sbx_err err;
};

/* Nobody waits any more; going on would touch what may be gone. */
static void park_if_abandoned(struct sbx_guard *guard)
{
    while (atomic_load(&guard->phase) == ABANDONED) {
        sbx_win()->Sleep(INFINITE);
    }
}

void sbx_guard_alive(struct sbx_guard *guard, const char *doing)
{
    if (guard == NULL) {
        return;
    }
    park_if_abandoned(guard);
    atomic_store(&guard->doing, doing);
    atomic_store(&guard->alive_ms, sbx_win()->GetTickCount64());
}

static DWORD WINAPI work(void *argument)
{
    struct sbx_guard *guard = argument;
    guard->code = guard->work(guard->state, guard, &guard->err);
    int expected = WORKING;
    /* Once it is done the guard is the waiting thread's, and may be gone. */
    if (!atomic_compare_exchange_strong(&guard->phase, &expected, DONE)) {
        park_if_abandoned(guard);
    }
    return 0;
}

static DWORD left_ms(struct sbx_guard *guard, DWORD limit_ms)
{
    ULONGLONG silent = sbx_win()->GetTickCount64() - atomic_load(&guard->alive_ms);
    return silent >= limit_ms ? 0 : limit_ms - (DWORD)silent;
}

/* True when the work has come back, by its own word: a wait that fails says nothing about it. */
static bool await(struct sbx_guard *guard, HANDLE thread, DWORD limit_ms)
{
    while (atomic_load(&guard->phase) == WORKING) {
        DWORD left = left_ms(guard, limit_ms);
        int expected = WORKING;
        if (left == 0 && atomic_compare_exchange_strong(&guard->phase, &expected, ABANDONED)) {
            return false;
        }
        if (sbx_win()->WaitForSingleObject(thread, left) == WAIT_FAILED) {
            sbx_win()->Sleep(1);
        }
    }
    return true;
}

enum sbx_code sbx_guard_run(sbx_guard_work *function, void *state, DWORD limit_ms,
                            bool *has_stalled, struct sbx_err *err)
{
    *has_stalled = false;
    struct sbx_guard *guard = calloc(1, sizeof *guard);
    if (guard == NULL) {
        return sbx_err_nomem(err);
    }
    guard->work = function;
    guard->state = state;
    atomic_store(&guard->doing, "starting");
    atomic_store(&guard->alive_ms, sbx_win()->GetTickCount64());
    AUTO_HANDLE thread = sbx_win()->CreateThread(NULL, 0, work, guard, 0, NULL);
    if (thread == NULL) {
        DWORD raw = GetLastError();
        free(guard);
        return sbx_err_win32(err, raw, "CreateThread", "cannot set up the box");
    }
    if (await(guard, thread, limit_ms)) {
        enum sbx_code code = guard->code;
        if (code != SBX_OK && err != NULL) {
            *err = guard->err;
        }
        free(guard);
        return code;
    }
    *has_stalled = true;
    /* Not suspended: it may hold a lock of the heap. The guard itself is the thread's for good. */
    (void)sbx_err_set(err, SBX_E_UNAVAILABLE, "setting up the box stalled for %lu s while %s",
                      limit_ms / 1000, atomic_load(&guard->doing));
    return sbx_err_hint(err, "a virus scanner or the profile service may hold it; nothing was run, "
                             "and the next sbx removes what is left");
}
