/* Events, mutexes and waits. */
#include "tests/ntmodel/nt_internal.h"

#include <stdlib.h>

#include "common/base/banned.h"

enum { EVENT_ALL = 0x1F0003, MUTEX_ALL = 0x1F0001 };

/* A named object that is there already, for another creation; sets the last error as the creating calls do. */
static HANDLE open_named(enum nt_kind kind, const wchar_t *name, DWORD access, bool inherits)
{
    struct nt_process *process = nt_process_now();
    struct nt_object *object = nt_object_find(process->object.model, NT_ANY, name);
    if (object == NULL || object->kind != kind) {
        return nt_fail_handle(ERROR_INVALID_HANDLE);
    }
    if (object->descriptor != NULL && !nt_has_access(&process->token->token, object->descriptor,
                                                     access, nt_mapping(kind), NULL)) {
        return nt_fail_handle(ERROR_ACCESS_DENIED);
    }
    HANDLE handle = nt_handle_add(process, object, access, inherits);
    SetLastError(ERROR_ALREADY_EXISTS);
    return handle;
}

static HANDLE publish(struct nt_object *object, const wchar_t *name, DWORD access,
                      const SECURITY_ATTRIBUTES *security)
{
    struct nt_process *process = nt_process_now();
    nt_object_name(object, name);
    nt_object_describe(object, &process->token->token, NULL, nt_descriptor_of(security), false,
                       nt_mapping(object->kind));
    HANDLE handle = nt_handle_add(process, object, access, nt_inherits(security));
    nt_object_unref(object);
    SetLastError(NO_ERROR);
    return handle;
}

static bool is_taken(const wchar_t *name)
{
    return name != NULL && nt_object_find(nt_model_of_call(), NT_ANY, name) != NULL;
}

HANDLE WINAPI nt_CreateEventW(LPSECURITY_ATTRIBUTES security, BOOL manual, BOOL set, LPCWSTR name)
{
    if (is_taken(name)) {
        return open_named(NT_EVENT, name, EVENT_ALL, nt_inherits(security));
    }
    struct nt_event *event = nt_object_new(nt_model_of_call(), NT_EVENT, sizeof *event);
    event->is_manual = manual != FALSE;
    event->is_set = set != FALSE;
    return publish(&event->object, name, EVENT_ALL, security);
}

static BOOL set(HANDLE handle, bool is_set)
{
    struct nt_event *event = nt_handle_get(handle, NT_EVENT, EVENT_MODIFY_STATE);
    if (event == NULL) {
        return FALSE;
    }
    bool wakes = is_set && !event->is_set;
    event->is_set = is_set;
    if (wakes) {
        nt_wake(event->object.model);
    }
    return TRUE;
}

BOOL WINAPI nt_SetEvent(HANDLE handle)
{
    return set(handle, true);
}

BOOL WINAPI nt_ResetEvent(HANDLE handle)
{
    return set(handle, false);
}

HANDLE WINAPI nt_CreateMutexW(LPSECURITY_ATTRIBUTES security, BOOL owned, LPCWSTR name)
{
    if (is_taken(name)) {
        return open_named(NT_MUTEX, name, MUTEX_ALL, nt_inherits(security));
    }
    struct nt_model *model = nt_model_of_call();
    struct nt_mutex *mutex = nt_object_new(model, NT_MUTEX, sizeof *mutex);
    if (owned) {
        mutex->owner = nt_self();
        mutex->depth = 1;
    }
    mutex->next = model->mutexes;
    model->mutexes = mutex;
    return publish(&mutex->object, name, MUTEX_ALL, security);
}

BOOL WINAPI nt_ReleaseMutex(HANDLE handle)
{
    struct nt_mutex *mutex = nt_handle_get(handle, NT_MUTEX, 0);
    if (mutex == NULL) {
        return FALSE;
    }
    if (mutex->owner != nt_self()) {
        return nt_fail(ERROR_NOT_OWNER);
    }
    if (--mutex->depth == 0) {
        mutex->owner = NULL;
        nt_wake(mutex->object.model);
    }
    return TRUE;
}

void nt_mutexes_abandon(struct nt_thread *thread)
{
    for (struct nt_mutex *mutex = thread->object.model->mutexes; mutex != NULL;
         mutex = mutex->next) {
        if (mutex->owner == thread) {
            mutex->owner = NULL;
            mutex->depth = 0;
            mutex->is_abandoned = true;
        }
    }
}

/* ---- waits ------------------------------------------------------------------------------------------ */

static bool is_signalled(const struct nt_object *object, const struct nt_thread *self)
{
    switch (object->kind) {
    case NT_EVENT:
        return ((const struct nt_event *)object)->is_set;
    case NT_MUTEX: {
        const struct nt_thread *owner = ((const struct nt_mutex *)object)->owner;
        return owner == NULL || owner == self;
    }
    case NT_THREAD:
        return ((const struct nt_thread *)object)->is_over;
    case NT_PROCESS:
        return ((const struct nt_process *)object)->is_ended;
    case NT_JOB:
        return ((const struct nt_job *)object)->is_signalled;
    case NT_PORT:
        return ((const struct nt_port *)object)->count > 0;
    case NT_TOKEN:
    case NT_FILE:
    case NT_FIND:
    case NT_PIPE:
    case NT_DEVICE:
    case NT_STATION:
    case NT_DESKTOP:
    case NT_ANY:
        break;
    }
    return true;
}

/* True when the mutex was left behind by a thread that ended. */
static bool acquire(struct nt_object *object, struct nt_thread *self)
{
    if (object->kind == NT_EVENT && !((struct nt_event *)object)->is_manual) {
        ((struct nt_event *)object)->is_set = false;
    }
    if (object->kind == NT_MUTEX) {
        struct nt_mutex *mutex = (struct nt_mutex *)object;
        mutex->owner = self;
        mutex->depth++;
        bool was = mutex->is_abandoned;
        mutex->is_abandoned = false;
        return was;
    }
    return false;
}

static bool is_waitable(const struct nt_object *object)
{
    return object->kind != NT_TOKEN && object->kind != NT_FIND && object->kind != NT_STATION &&
           object->kind != NT_DESKTOP;
}

static DWORD try_any(struct nt_object *const *objects, DWORD count, struct nt_thread *self)
{
    for (DWORD i = 0; i < count; i++) {
        if (is_signalled(objects[i], self)) {
            return (acquire(objects[i], self) ? WAIT_ABANDONED_0 : WAIT_OBJECT_0) + i;
        }
    }
    return WAIT_TIMEOUT;
}

static DWORD try_all(struct nt_object *const *objects, DWORD count, struct nt_thread *self)
{
    for (DWORD i = 0; i < count; i++) {
        if (!is_signalled(objects[i], self)) {
            return WAIT_TIMEOUT;
        }
    }
    bool is_abandoned = false;
    for (DWORD i = 0; i < count; i++) {
        is_abandoned = acquire(objects[i], self) || is_abandoned;
    }
    return is_abandoned ? WAIT_ABANDONED_0 : WAIT_OBJECT_0;
}

static DWORD wait_for(struct nt_object *const *objects, DWORD count, bool all, DWORD ms)
{
    struct nt_thread *self = nt_self();
    struct nt_model *model = self->object.model;
    uint64_t until = nt_until(model, ms);
    for (;;) {
        DWORD done = all ? try_all(objects, count, self) : try_any(objects, count, self);
        if (done != WAIT_TIMEOUT) {
            return done;
        }
        if (!nt_sleep(model, until)) {
            return WAIT_TIMEOUT;
        }
    }
}

DWORD WINAPI nt_WaitForMultipleObjects(DWORD count, const HANDLE *handles, BOOL all, DWORD ms)
{
    if (count == 0 || count > MAXIMUM_WAIT_OBJECTS) {
        SetLastError(ERROR_INVALID_PARAMETER);
        return WAIT_FAILED;
    }
    struct nt_object *objects[MAXIMUM_WAIT_OBJECTS];
    for (DWORD i = 0; i < count; i++) {
        objects[i] = nt_handle_get(handles[i], NT_ANY, SYNCHRONIZE);
        if (objects[i] == NULL) {
            return WAIT_FAILED;
        }
        if (!is_waitable(objects[i])) {
            SetLastError(ERROR_INVALID_HANDLE);
            return WAIT_FAILED;
        }
        for (DWORD j = 0; all && j < i; j++) {
            if (handles[i] == handles[j]) {
                SetLastError(ERROR_INVALID_PARAMETER);
                return WAIT_FAILED;
            }
        }
    }
    /* Another thread may close what this one waits for. */
    for (DWORD i = 0; i < count; i++) {
        (void)nt_object_ref(objects[i]);
    }
    DWORD done = wait_for(objects, count, all != FALSE, ms);
    for (DWORD i = 0; i < count; i++) {
        nt_object_unref(objects[i]);
    }
    return done;
}

DWORD WINAPI nt_WaitForSingleObject(HANDLE handle, DWORD ms)
{
    return nt_WaitForMultipleObjects(1, &handle, FALSE, ms);
}

BOOLEAN WINAPI nt_SystemFunction036(PVOID out, ULONG size)
{
    return SystemFunction036(out, size);
}
