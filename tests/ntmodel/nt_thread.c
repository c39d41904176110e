/* Threads: real ones underneath, from a pool, each with the process it belongs to. */
#include "tests/ntmodel/nt_internal.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/banned.h"

enum { THREAD_ALL = 0x1FFFFF, ATTACHED_MAX = 8 };

/* A real thread that waits for work costs nothing; making one costs more than a whole call of the pipeline. */
static struct {
    SRWLOCK lock;
    CONDITION_VARIABLE changed;
    struct nt_thread *queue[64];
    size_t queued;
    size_t idle;
    DWORD slot; /* of thread-local storage: the struct nt_thread */
    bool is_ready;
} pool;

void nt_threads_init(void)
{
    if (!pool.is_ready) {
        pool.is_ready = true;
        InitializeSRWLock(&pool.lock);
        InitializeConditionVariable(&pool.changed);
        pool.slot = TlsAlloc();
    }
}

/* ---- who calls -------------------------------------------------------------------------------------- */

static struct nt_thread *attach(struct nt_model *model)
{
    DWORD id = GetCurrentThreadId();
    if (model->launcher != NULL && model->launcher->is_ended) {
        (void)nt_launcher_new(model);
    }
    for (size_t i = 0; i < model->attached_count; i++) {
        if (model->attached_ids[i] == id) {
            model->attached[i]->process = model->launcher;
            return model->attached[i];
        }
    }
    if (model->attached_count == ATTACHED_MAX) {
        (void)fprintf(stderr, "nt model: too many threads of the test\n");
        abort();
    }
    struct nt_thread *thread = nt_object_new(model, NT_THREAD, sizeof *thread);
    thread->process = model->launcher;
    thread->id = model->next_id += 4;
    thread->is_attached = true;
    thread->is_started = true;
    model->attached_ids[model->attached_count] = id;
    model->attached[model->attached_count++] = thread;
    model->running++;
    return thread;
}

struct nt_thread *nt_self(void)
{
    DWORD saved = GetLastError();
    struct nt_thread *thread = TlsGetValue(pool.slot);
    SetLastError(saved);
    return thread != NULL ? thread : attach(nt_model_of_call());
}

bool nt_is_counted(const struct nt_model *model)
{
    DWORD saved = GetLastError();
    bool is_ours = TlsGetValue(pool.slot) != NULL;
    SetLastError(saved);
    for (size_t i = 0; !is_ours && i < model->attached_count; i++) {
        is_ours = model->attached_ids[i] == GetCurrentThreadId();
    }
    return is_ours;
}

struct nt_process *nt_process_now(void)
{
    return nt_self()->process;
}

/* ---- the end of a thread ------------------------------------------------------------------------------ */

static void over(struct nt_thread *thread)
{
    struct nt_process *process = thread->process;
    thread->is_over = true;
    nt_mutexes_abandon(thread);
    process->threads--;
    process->object.model->threads--;
    process->object.model->running--;
    thread->process = NULL;
    nt_wake(process->object.model);
    nt_object_unref(process);
    nt_object_unref(thread);
}

/* The frames of the dead thread are left as they are, like those of a process that is killed; the real thread underneath
 * serves the next. Not longjmp of the C library: on Windows that unwinds. */
_Noreturn void nt_die(struct nt_thread *self)
{
    struct nt_model *model = self->object.model;
    if (self->is_attached) {
        (void)fprintf(stderr, "nt model: a killed launcher must run in nt_launcher_run\n");
        abort();
    }
    void **way_out = self->way_out;
    over(self);
    nt_unlock(model);
    __builtin_longjmp(way_out, 1);
}

void nt_die_if_ended(struct nt_thread *self)
{
    if (self->process != NULL && self->process->is_ended && !self->is_attached) {
        nt_die(self);
    }
}

void nt_thread_gate(struct nt_thread *self)
{
    nt_die_if_ended(self);
    while (self->suspended > 0) {
        (void)nt_sleep(self->object.model, UINT64_MAX);
    }
}

/* ---- the beginning ------------------------------------------------------------------------------------ */

static void run(struct nt_thread *thread)
{
    struct nt_model *model = thread->object.model;
    nt_lock(model);
    nt_thread_gate(thread);
    nt_unlock(model);
    (void)thread->start(thread->argument);
    nt_lock(model);
    over(thread);
    nt_unlock(model);
}

/* Comes back whether the thread returns or dies. */
static __attribute__((noinline)) void run_or_die(struct nt_thread *thread)
{
    void *way_out[5];
    thread->way_out = way_out;
    (void)TlsSetValue(pool.slot, thread);
    if (__builtin_setjmp(way_out) == 0) {
        run(thread);
    }
    (void)TlsSetValue(pool.slot, NULL);
}

static _Noreturn DWORD WINAPI serve(void *unused)
{
    (void)unused;
    for (;;) {
        AcquireSRWLockExclusive(&pool.lock);
        pool.idle++;
        while (pool.queued == 0) {
            (void)SleepConditionVariableSRW(&pool.changed, &pool.lock, INFINITE, 0);
        }
        pool.idle--;
        struct nt_thread *thread = pool.queue[--pool.queued];
        ReleaseSRWLockExclusive(&pool.lock);
        run_or_die(thread);
    }
}

struct nt_thread *nt_thread_new(struct nt_process *process, LPTHREAD_START_ROUTINE start,
                                void *argument, bool is_suspended)
{
    struct nt_model *model = process->object.model;
    struct nt_thread *thread = nt_object_new(model, NT_THREAD, sizeof *thread);
    thread->process = process;
    thread->id = model->next_id += 4;
    thread->start = start;
    thread->argument = argument;
    thread->suspended = is_suspended ? 1 : 0;
    return thread;
}

void nt_thread_start(struct nt_thread *thread)
{
    thread->is_started = true;
    (void)nt_object_ref(thread);
    (void)nt_object_ref(thread->process);
    thread->process->threads++;
    thread->object.model->threads++;
    thread->object.model->running++;
    AcquireSRWLockExclusive(&pool.lock);
    if (pool.queued == SBX_COUNT(pool.queue)) {
        (void)fprintf(stderr, "nt model: too many threads\n");
        abort();
    }
    pool.queue[pool.queued++] = thread;
    bool needs_one = pool.queued > pool.idle;
    WakeAllConditionVariable(&pool.changed);
    ReleaseSRWLockExclusive(&pool.lock);
    if (needs_one) {
        HANDLE real = CreateThread(NULL, 0, serve, NULL, 0, NULL);
        if (real == NULL) {
            (void)fprintf(stderr, "nt model: CreateThread: %lu\n", GetLastError());
            abort();
        }
        (void)CloseHandle(real);
    }
}

void nt_thread_resume(struct nt_thread *thread)
{
    if (thread->suspended > 0) {
        thread->suspended--;
    }
    struct nt_process *process = thread->process;
    if (thread->suspended == 0 && !thread->is_started && process != NULL && !process->is_ended &&
        process->main == thread) {
        nt_process_start(process);
    }
    nt_wake(thread->object.model);
}

/* ---- the calls ---------------------------------------------------------------------------------------- */

HANDLE WINAPI nt_CreateThread(LPSECURITY_ATTRIBUTES security, SIZE_T stack,
                              LPTHREAD_START_ROUTINE start, LPVOID argument, DWORD flags,
                              LPDWORD id)
{
    (void)stack;
    struct nt_process *process = nt_process_now();
    struct nt_thread *thread =
        nt_thread_new(process, start, argument, (flags & CREATE_SUSPENDED) != 0);
    HANDLE handle = nt_handle_add(process, thread, THREAD_ALL, nt_inherits(security));
    if (id != NULL) {
        *id = thread->id;
    }
    nt_thread_start(thread);
    nt_object_unref(thread);
    return handle;
}

DWORD WINAPI nt_ResumeThread(HANDLE handle)
{
    struct nt_thread *thread = nt_handle_get(handle, NT_THREAD, THREAD_SUSPEND_RESUME);
    if (thread == NULL) {
        return (DWORD)-1;
    }
    DWORD before = thread->suspended;
    nt_thread_resume(thread);
    return before;
}

DWORD WINAPI nt_GetCurrentThreadId(void)
{
    return nt_self()->id;
}

BOOL WINAPI nt_CancelSynchronousIo(HANDLE handle)
{
    struct nt_thread *thread = nt_handle_get(handle, NT_THREAD, THREAD_TERMINATE);
    if (thread == NULL) {
        return FALSE;
    }
    if (!thread->is_in_io) {
        return nt_fail(ERROR_NOT_FOUND);
    }
    thread->is_cancelled = true;
    nt_wake(thread->object.model);
    return TRUE;
}
