/* Objects, their names and descriptors, and the handles of each process. */
#include "tests/ntmodel/nt_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/banned.h"

#define SAME_AS_SELF ((HANDLE)(LONG_PTR)-1)
#define SAME_AS_THREAD ((HANDLE)(LONG_PTR)-2)

/* ---- objects ---------------------------------------------------------------------------------------- */

void *nt_object_new(struct nt_model *model, enum nt_kind kind, size_t size)
{
    struct nt_object *object = nt_alloc(size);
    object->kind = kind;
    object->references = 1;
    object->model = model;
    return object;
}

void *nt_object_ref(void *any)
{
    struct nt_object *object = any;
    if (object != NULL) {
        object->references++;
    }
    return object;
}

static void unlink_name(struct nt_object *object)
{
    for (struct nt_object **at = &object->model->named; *at != NULL; at = &(*at)->sister) {
        if (*at == object) {
            *at = object->sister;
            return;
        }
    }
}

static void mutex_free(struct nt_mutex *mutex)
{
    for (struct nt_mutex **at = &mutex->object.model->mutexes; *at != NULL; at = &(*at)->next) {
        if (*at == mutex) {
            *at = mutex->next;
            return;
        }
    }
}

/* What only this kind has; the rest is freed by nt_object_unref. */
static void free_parts(struct nt_object *object)
{
    switch (object->kind) {
    case NT_MUTEX:
        mutex_free((struct nt_mutex *)object);
        break;
    case NT_PROCESS:
        nt_process_free((struct nt_process *)object);
        break;
    case NT_JOB:
        nt_job_free((struct nt_job *)object);
        break;
    case NT_PORT:
        nt_port_free((struct nt_port *)object);
        break;
    case NT_FILE:
        nt_file_free((struct nt_file *)object);
        break;
    case NT_FIND:
        free(((struct nt_find *)object)->rows);
        break;
    case NT_PIPE:
        nt_pipe_free((struct nt_pipe *)object);
        break;
    case NT_DESKTOP:
        nt_desktop_free((struct nt_desktop *)object);
        break;
    case NT_THREAD:
        nt_object_unref(((struct nt_thread *)object)->desktop);
        break;
    case NT_EVENT:
    case NT_TOKEN:
    case NT_DEVICE:
    case NT_STATION:
    case NT_ANY:
        break;
    }
}

void nt_object_unref(void *any)
{
    struct nt_object *object = any;
    if (object == NULL || --object->references > 0) {
        return;
    }
    if (object->name != NULL) {
        unlink_name(object);
    }
    free_parts(object);
    free(object->name);
    free(object->descriptor);
    free(object);
}

void nt_object_hold(void *any)
{
    struct nt_object *object = nt_object_ref(any);
    object->handles++;
}

void nt_object_let_go(void *any)
{
    struct nt_object *object = any;
    if (--object->handles == 0) {
        if (object->kind == NT_FILE) {
            nt_file_close((struct nt_file *)object);
        } else if (object->kind == NT_PIPE) {
            nt_pipe_close((struct nt_pipe *)object);
        } else if (object->kind == NT_JOB) {
            nt_job_close((struct nt_job *)object);
        } else if (object->kind == NT_PORT) {
            nt_wake(object->model); /* who waits on it waits for nothing now */
        }
    }
    nt_object_unref(object);
}

void nt_object_name(void *any, const wchar_t *name)
{
    struct nt_object *object = any;
    if (name != NULL) {
        object->name = nt_wide(name);
        object->sister = object->model->named;
        object->model->named = object;
    }
}

/* Names of kernel objects have case only in "Local\" and "Global\", which mean one place in one session. */
static const wchar_t *bare(const wchar_t *name)
{
    static const wchar_t *const heads[] = {L"Local\\", L"Global\\"};
    for (size_t i = 0; i < SBX_COUNT(heads); i++) {
        size_t len = nt_length(heads[i]);
        if (nt_length(name) > len && nt_compare_names(name, len, heads[i], len) == 0) {
            return name + len;
        }
    }
    return name;
}

void *nt_object_find(struct nt_model *model, enum nt_kind kind, const wchar_t *name)
{
    for (struct nt_object *at = model->named; at != NULL; at = at->sister) {
        if ((kind == NT_ANY || at->kind == kind) && nt_same_name(bare(at->name), bare(name))) {
            return at;
        }
    }
    return NULL;
}

unsigned char *nt_self_relative(const void *descriptor, size_t *size)
{
    PSECURITY_DESCRIPTOR any = (PSECURITY_DESCRIPTOR)(ULONG_PTR)descriptor;
    SECURITY_DESCRIPTOR_CONTROL control;
    DWORD revision;
    if (!GetSecurityDescriptorControl(any, &control, &revision)) {
        return NULL;
    }
    DWORD needed = 0;
    if ((control & SE_SELF_RELATIVE) != 0) {
        needed = GetSecurityDescriptorLength(any);
        *size = needed;
        return nt_copy(descriptor, needed);
    }
    (void)MakeSelfRelativeSD(any, NULL, &needed);
    unsigned char *copy = nt_alloc(needed);
    if (!MakeSelfRelativeSD(any, copy, &needed)) {
        free(copy);
        return NULL;
    }
    *size = needed;
    return copy;
}

void nt_object_describe(void *any, const struct nt_token *creator, const void *parent,
                        const void *descriptor, bool is_container, const GENERIC_MAPPING *mapping)
{
    struct nt_object *object = any;
    unsigned char room[NT_DESCRIPTOR_MAX];
    size_t given_size = 0;
    unsigned char *given = descriptor == NULL ? NULL : nt_self_relative(descriptor, &given_size);
    size_t size =
        nt_descriptor_new(creator, parent, given, is_container, mapping, room, sizeof room);
    free(given);
    free(object->descriptor);
    object->descriptor = size == 0 ? NULL : nt_copy(room, size);
    object->descriptor_size = size;
}

/* ---- handles ---------------------------------------------------------------------------------------- */

static size_t index_of(HANDLE handle)
{
    ULONG_PTR value = (ULONG_PTR)handle;
    /* The two lowest bits are the caller's own. */
    return value < 4 || value > 0x40000000 ? SIZE_MAX : (size_t)(value / 4 - 1);
}

HANDLE nt_handle_add(struct nt_process *process, void *object, DWORD access, bool inherits)
{
    struct nt_handles *handles = &process->handles;
    handles->rows = nt_grow(handles->rows, &handles->room, handles->count, sizeof handles->rows[0]);
    nt_object_hold(object);
    handles->rows[handles->count++] = (struct nt_handle){object, access, inherits, false};
    handles->open++;
    return (HANDLE)(ULONG_PTR)(handles->count * 4);
}

struct nt_handle *nt_handle_row(struct nt_process *process, HANDLE handle)
{
    size_t index = index_of(handle);
    if (index >= process->handles.count || process->handles.rows[index].object == NULL) {
        return NULL;
    }
    return &process->handles.rows[index];
}

void nt_bad_handle(struct nt_model *model, HANDLE handle, const char *why)
{
    (void)handle;
    (void)why;
    if (nt_process_now()->is_launcher) {
        model->bad_handles++;
    }
    SetLastError(ERROR_INVALID_HANDLE);
}

void *nt_handle_get(HANDLE handle, enum nt_kind kind, DWORD access)
{
    struct nt_thread *self = nt_self();
    if (handle == SAME_AS_SELF && (kind == NT_PROCESS || kind == NT_ANY)) {
        return self->process;
    }
    if (handle == SAME_AS_THREAD && (kind == NT_THREAD || kind == NT_ANY)) {
        return self;
    }
    const struct nt_handle *row = nt_handle_row(self->process, handle);
    if (row == NULL || (kind != NT_ANY && row->object->kind != kind)) {
        nt_bad_handle(self->object.model, handle, row == NULL ? "not open" : "of another kind");
        return NULL;
    }
    if ((row->access & access) != access) {
        SetLastError(ERROR_ACCESS_DENIED);
        return NULL;
    }
    return row->object;
}

bool nt_handle_drop(struct nt_process *process, HANDLE handle)
{
    struct nt_handle *row = nt_handle_row(process, handle);
    if (row == NULL) {
        return false;
    }
    struct nt_object *object = row->object;
    *row = (struct nt_handle){0};
    process->handles.open--;
    nt_object_let_go(object);
    return true;
}

void nt_handles_close(struct nt_process *process)
{
    for (size_t i = 0; i < process->handles.count; i++) {
        (void)nt_handle_drop(process, (HANDLE)(ULONG_PTR)((i + 1) * 4));
    }
    free(process->handles.rows);
    process->handles = (struct nt_handles){0};
}

static bool is_listed(HANDLE handle, const HANDLE *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (index_of(list[i]) == index_of(handle)) {
            return true;
        }
    }
    return false;
}

/* An inherited handle has the same value in both processes. */
void nt_handles_inherit(struct nt_process *from, struct nt_process *to, const HANDLE *list,
                        size_t count, bool has_list)
{
    to->handles.count = from->handles.count;
    to->handles.room = from->handles.count + 16;
    to->handles.rows = nt_alloc(to->handles.room * sizeof to->handles.rows[0]);
    for (size_t i = 0; i < from->handles.count; i++) {
        const struct nt_handle *row = &from->handles.rows[i];
        HANDLE handle = (HANDLE)(ULONG_PTR)((i + 1) * 4);
        if (row->object != NULL && row->inherits && (!has_list || is_listed(handle, list, count))) {
            nt_object_hold(row->object);
            to->handles.rows[i] = *row;
            to->handles.open++;
        }
    }
}

bool nt_inherits(const SECURITY_ATTRIBUTES *security)
{
    return security != NULL && security->bInheritHandle != FALSE;
}

const void *nt_descriptor_of(const SECURITY_ATTRIBUTES *security)
{
    return security == NULL ? NULL : security->lpSecurityDescriptor;
}

const GENERIC_MAPPING *nt_mapping(enum nt_kind kind)
{
    static const GENERIC_MAPPING process = {0x00020410, 0x00020BEA, 0x00121001, 0x001FFFFF};
    static const GENERIC_MAPPING station = {0x00020303, 0x0002001C, 0x00020060, 0x000F037F};
    static const GENERIC_MAPPING desktop = {0x00020041, 0x000200BE, 0x00020100, 0x000F01FF};
    static const GENERIC_MAPPING job = {0x00020004, 0x0002000B, 0x00120000, 0x001F003F};
    static const GENERIC_MAPPING event = {0x00020001, 0x00020002, 0x00120000, 0x001F0003};
    static const GENERIC_MAPPING token = {0x0002001A, 0x000201E0, 0x00020005, 0x000F01FF};
    switch (kind) {
    case NT_PROCESS:
    case NT_THREAD:
        return &process;
    case NT_STATION:
        return &station;
    case NT_DESKTOP:
        return &desktop;
    case NT_JOB:
        return &job;
    case NT_TOKEN:
        return &token;
    case NT_FILE:
    case NT_PIPE:
    case NT_DEVICE:
        return &nt_file_mapping;
    case NT_EVENT:
    case NT_MUTEX:
    case NT_PORT:
    case NT_FIND:
    case NT_ANY:
        break;
    }
    return &event;
}

/* ---- the calls ---------------------------------------------------------------------------------------- */

BOOL WINAPI nt_CloseHandle(HANDLE handle)
{
    struct nt_process *process = nt_process_now();
    if (handle == SAME_AS_SELF || handle == SAME_AS_THREAD) {
        return TRUE;
    }
    const struct nt_handle *row = nt_handle_row(process, handle);
    if (row == NULL || row->is_protected || row->object->kind == NT_FIND ||
        row->object->kind == NT_STATION || row->object->kind == NT_DESKTOP) {
        nt_bad_handle(process->object.model, handle, "cannot be closed so");
        return FALSE;
    }
    (void)nt_handle_drop(process, handle);
    return TRUE;
}

BOOL WINAPI nt_DuplicateHandle(HANDLE from_process, HANDLE handle, HANDLE to_process, LPHANDLE out,
                               DWORD access, BOOL inherit, DWORD options)
{
    struct nt_process *from = nt_handle_get(from_process, NT_PROCESS, PROCESS_DUP_HANDLE);
    struct nt_process *to =
        from == NULL ? NULL : nt_handle_get(to_process, NT_PROCESS, PROCESS_DUP_HANDLE);
    if (to == NULL) {
        return FALSE;
    }
    if (from->is_ended || to->is_ended) {
        return nt_fail(ERROR_ACCESS_DENIED);
    }
    void *object;
    DWORD held = MAXDWORD;
    const struct nt_handle *row = nt_handle_row(from, handle);
    if (row != NULL) {
        object = row->object;
        held = row->access;
    } else if (handle == SAME_AS_SELF || handle == SAME_AS_THREAD) {
        object = handle == SAME_AS_SELF ? (void *)from : (void *)nt_self();
        held = PROCESS_ALL_ACCESS;
    } else {
        nt_bad_handle(from->object.model, handle, "not open");
        return FALSE;
    }
    DWORD wanted = access;
    MapGenericMask(
        &wanted, (PGENERIC_MAPPING)(ULONG_PTR)nt_mapping(((const struct nt_object *)object)->kind));
    if ((options & DUPLICATE_SAME_ACCESS) != 0) {
        wanted = held;
    } else if ((wanted & ~held) != 0) {
        return nt_fail(ERROR_ACCESS_DENIED);
    }
    if (out != NULL) {
        *out = nt_handle_add(to, object, wanted, inherit != FALSE);
    }
    if ((options & DUPLICATE_CLOSE_SOURCE) != 0) {
        (void)nt_handle_drop(from, handle);
    }
    return TRUE;
}

BOOL WINAPI nt_SetHandleInformation(HANDLE handle, DWORD mask, DWORD flags)
{
    struct nt_process *process = nt_process_now();
    struct nt_handle *row = nt_handle_row(process, handle);
    if (row == NULL) {
        nt_bad_handle(process->object.model, handle, "not open");
        return FALSE;
    }
    if ((mask & HANDLE_FLAG_INHERIT) != 0) {
        row->inherits = (flags & HANDLE_FLAG_INHERIT) != 0;
    }
    if ((mask & HANDLE_FLAG_PROTECT_FROM_CLOSE) != 0) {
        row->is_protected = (flags & HANDLE_FLAG_PROTECT_FROM_CLOSE) != 0;
    }
    return TRUE;
}

/* Asking is allowed: this is how a program finds out whether a stream is there. */
BOOL WINAPI nt_GetHandleInformation(HANDLE handle, LPDWORD flags)
{
    const struct nt_handle *row = nt_handle_row(nt_process_now(), handle);
    if (row == NULL) {
        return nt_fail(ERROR_INVALID_HANDLE);
    }
    *flags = (row->inherits ? (DWORD)HANDLE_FLAG_INHERIT : 0) |
             (row->is_protected ? (DWORD)HANDLE_FLAG_PROTECT_FROM_CLOSE : 0);
    return TRUE;
}

DWORD WINAPI nt_GetFileType(HANDLE handle)
{
    const struct nt_handle *row = nt_handle_row(nt_process_now(), handle);
    if (row == NULL) {
        SetLastError(ERROR_INVALID_HANDLE);
        return FILE_TYPE_UNKNOWN;
    }
    SetLastError(NO_ERROR);
    switch ((int)row->object->kind) {
    case NT_FILE:
        return FILE_TYPE_DISK;
    case NT_PIPE:
        return FILE_TYPE_PIPE;
    case NT_DEVICE:
        return FILE_TYPE_CHAR;
    default:
        SetLastError(ERROR_INVALID_HANDLE);
        return FILE_TYPE_UNKNOWN;
    }
}

HANDLE WINAPI nt_GetStdHandle(DWORD which)
{
    DWORD index = (DWORD)-10 - which; /* STD_INPUT_HANDLE is -10, then -11 and -12 */
    if (index > 2) {
        SetLastError(ERROR_INVALID_HANDLE);
        return INVALID_HANDLE_VALUE;
    }
    return nt_process_now()->std[index];
}

BOOL WINAPI nt_CompareObjectHandles(HANDLE a, HANDLE b)
{
    struct nt_process *self = nt_self()->process;
    const struct nt_handle *first = nt_handle_row(self, a);
    const struct nt_handle *second = nt_handle_row(self, b);
    if (first == NULL || second == NULL) {
        nt_bad_handle(self->object.model, first == NULL ? a : b, "not open");
        return FALSE;
    }
    return first->object == second->object || nt_fail(1656); /* ERROR_NOT_SAME_OBJECT */
}
