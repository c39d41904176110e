/* Jobs with each of their limits, and completion ports. */
#include "tests/ntmodel/nt_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/banned.h"

enum { JOB_ALL = 0x1F003F, PORT_ALL = 0x1F0003, QUOTA_CODE = ERROR_NOT_ENOUGH_QUOTA };

/* The names of the documentation, which the headers do not all have. */
enum {
    MSG_END_OF_JOB_TIME = 1,
    MSG_END_OF_PROCESS_TIME = 2,
    MSG_ACTIVE_PROCESS_LIMIT = 3,
    MSG_ACTIVE_PROCESS_ZERO = 4,
    MSG_NEW_PROCESS = 6,
    MSG_EXIT_PROCESS = 7,
    MSG_ABNORMAL_EXIT_PROCESS = 8,
    MSG_PROCESS_MEMORY_LIMIT = 9,
    MSG_JOB_MEMORY_LIMIT = 10,
    KNOWN_UI_LIMITS = 0x3FF,
};

static const DWORD basic_flags =
    JOB_OBJECT_LIMIT_WORKINGSET | JOB_OBJECT_LIMIT_PROCESS_TIME | JOB_OBJECT_LIMIT_JOB_TIME |
    JOB_OBJECT_LIMIT_ACTIVE_PROCESS | JOB_OBJECT_LIMIT_AFFINITY | JOB_OBJECT_LIMIT_PRIORITY_CLASS |
    JOB_OBJECT_LIMIT_PRESERVE_JOB_TIME | JOB_OBJECT_LIMIT_SCHEDULING_CLASS;
static const DWORD extended_flags =
    JOB_OBJECT_LIMIT_PROCESS_MEMORY | JOB_OBJECT_LIMIT_JOB_MEMORY |
    JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION | JOB_OBJECT_LIMIT_BREAKAWAY_OK |
    JOB_OBJECT_LIMIT_SILENT_BREAKAWAY_OK | JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE |
    0x00004000 /* SUBSET_AFFINITY */;

/* ---- completion ports ----------------------------------------------------------------------------------- */

void nt_port_post(struct nt_port *port, DWORD bytes, ULONG_PTR key, LPOVERLAPPED overlapped)
{
    port->packets = nt_grow(port->packets, &port->room, port->count, sizeof port->packets[0]);
    port->packets[port->count++] = (struct nt_packet){bytes, key, overlapped};
    nt_wake(port->object.model);
}

void nt_port_free(struct nt_port *port)
{
    free(port->packets);
}

HANDLE WINAPI nt_CreateIoCompletionPort(HANDLE file, HANDLE port, ULONG_PTR key, DWORD threads)
{
    (void)key;
    (void)threads;
    if (file != INVALID_HANDLE_VALUE || port != NULL) {
        nt_model_of_call()->not_modelled++;
        return nt_fail_handle(ERROR_CALL_NOT_IMPLEMENTED);
    }
    struct nt_port *made = nt_object_new(nt_model_of_call(), NT_PORT, sizeof *made);
    HANDLE handle = nt_handle_add(nt_process_now(), made, PORT_ALL, false);
    nt_object_unref(made);
    return handle;
}

BOOL WINAPI nt_GetQueuedCompletionStatus(HANDLE handle, LPDWORD bytes, PULONG_PTR key,
                                         LPOVERLAPPED *overlapped, DWORD ms)
{
    struct nt_port *port = nt_handle_get(handle, NT_PORT, 0);
    if (port == NULL) {
        *overlapped = NULL;
        return FALSE;
    }
    struct nt_model *model = port->object.model;
    uint64_t until = nt_until(model, ms);
    (void)nt_object_ref(port);
    while (port->count == 0 && port->object.handles > 0 && nt_sleep(model, until)) {
    }
    BOOL got = FALSE;
    if (port->count > 0) {
        struct nt_packet first = port->packets[0];
        memmove(port->packets, port->packets + 1, --port->count * sizeof first);
        *bytes = first.bytes;
        *key = first.key;
        *overlapped = first.overlapped;
        got = TRUE;
    } else {
        *overlapped = NULL;
        SetLastError(port->object.handles == 0 ? ERROR_ABANDONED_WAIT_0 : WAIT_TIMEOUT);
    }
    nt_object_unref(port);
    return got;
}

BOOL WINAPI nt_PostQueuedCompletionStatus(HANDLE handle, DWORD bytes, ULONG_PTR key,
                                          LPOVERLAPPED overlapped)
{
    struct nt_port *port = nt_handle_get(handle, NT_PORT, 0);
    if (port == NULL) {
        return FALSE;
    }
    nt_port_post(port, bytes, key, overlapped);
    return TRUE;
}

/* ---- jobs ------------------------------------------------------------------------------------------------- */

/* Only some messages are documented to arrive for sure. */
void nt_job_message(struct nt_job *job, DWORD message, ULONG_PTR value, bool is_sure)
{
    if (job->port != NULL && (is_sure || !job->object.model->world.loses_messages)) {
        nt_port_post(job->port, message, job->key, (LPOVERLAPPED)value);
    }
}

bool nt_job_has(const struct nt_process *process, const struct nt_job *job)
{
    for (size_t i = 0; i < process->job_count; i++) {
        if (process->jobs[i] == job) {
            return true;
        }
    }
    return false;
}

DWORD nt_ui_limits(const struct nt_process *process)
{
    DWORD limits = 0;
    for (size_t i = 0; i < process->job_count; i++) {
        limits |= process->jobs[i]->ui_limits;
    }
    return limits;
}

static DWORD flags_of(const struct nt_job *job)
{
    return job->limits.BasicLimitInformation.LimitFlags;
}

/* Whether it may join at all, before anything changes. */
static DWORD may_join(const struct nt_job *job, const struct nt_process *process)
{
    if (job->session != process->token->token.session) {
        return ERROR_ACCESS_DENIED;
    }
    if (process->job_count > 0) {
        const struct nt_job *inner = process->jobs[process->job_count - 1];
        bool is_empty = job->account.TotalProcesses == 0 && job->outer == NULL;
        /* AssignProcessToJobObject: "empty, or in the hierarchy […], and it cannot have UI limits set". */
        if (job->ui_limits != 0 || (!is_empty && job->outer != inner)) {
            return ERROR_ACCESS_DENIED;
        }
        if (process->job_count == NT_JOBS_MAX) {
            return ERROR_NOT_ENOUGH_QUOTA;
        }
    } else if (job->outer != NULL) {
        return ERROR_ACCESS_DENIED;
    }
    return 0;
}

static bool is_full(const struct nt_job *job)
{
    return (flags_of(job) & JOB_OBJECT_LIMIT_ACTIVE_PROCESS) != 0 &&
           job->account.ActiveProcesses >= job->limits.BasicLimitInformation.ActiveProcessLimit;
}

DWORD nt_job_join(struct nt_job *job, struct nt_process *process)
{
    if (nt_job_has(process, job)) {
        return 0;
    }
    DWORD code = may_join(job, process);
    if (code != 0) {
        return code;
    }
    if (is_full(job)) {
        nt_job_message(job, MSG_ACTIVE_PROCESS_LIMIT, 0, false);
        return QUOTA_CODE;
    }
    if (process->job_count > 0) {
        job->outer = process->jobs[process->job_count - 1];
    }
    process->jobs[process->job_count++] = nt_object_ref(job);
    job->account.TotalProcesses++;
    job->account.ActiveProcesses++;
    nt_job_message(job, MSG_NEW_PROCESS, process->id, false);
    return 0;
}

static bool is_abnormal(DWORD code)
{
    switch (code) {
    case 0xC0000005: /* access violation */
    case 0xC000001D: /* illegal instruction */
    case 0xC0000094: /* integer divided by zero */
    case 0xC0000095: /* integer overflow */
    case 0xC0000096: /* privileged instruction */
    case 0xC00000FD: /* stack overflow */
    case 0xC0000025: /* non-continuable */
    case 0x80000001: /* guard page */
    case 0x80000002: /* misaligned */
    case 0x80000003: /* breakpoint */
    case 0x80000004: /* single step */
    case 0xC0000006: /* page error */
    case 0xC0000008: /* invalid handle */
    case 0xC000008C: /* array bounds */
    case 0xC000008D: /* floating point */
    case 0xC000013A: /* control-C */
        return true;
    default:
        return false;
    }
}

void nt_job_leave(struct nt_process *process)
{
    for (size_t i = process->job_count; i-- > 0;) {
        struct nt_job *job = process->jobs[i];
        job->account.ActiveProcesses--;
        job->memory -= process->memory;
        nt_job_message(
            job, is_abnormal(process->exit_code) ? MSG_ABNORMAL_EXIT_PROCESS : MSG_EXIT_PROCESS,
            process->id, false);
        if (job->account.ActiveProcesses == 0) {
            nt_job_message(job, MSG_ACTIVE_PROCESS_ZERO, 0, false);
        }
        nt_object_unref(job);
    }
    process->job_count = 0;
}

void nt_job_terminate(struct nt_job *job, DWORD code)
{
    struct nt_model *model = job->object.model;
    (void)nt_object_ref(job);
    for (struct nt_process *process = model->processes; process != NULL;) {
        if (!process->is_ended && nt_job_has(process, job)) {
            nt_process_end(process, code);
            process = model->processes; /* the end of one may be that of others */
        } else {
            process = process->next;
        }
    }
    nt_object_unref(job);
}

void nt_job_close(struct nt_job *job)
{
    if ((flags_of(job) & JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE) != 0) {
        nt_job_terminate(job, 0);
    }
}

void nt_job_free(struct nt_job *job)
{
    nt_object_unref(job->port);
}

/* ---- limits that are met while a process runs ----------------------------------------------------------------- */

DWORD nt_job_allow(const struct nt_process *process, uint64_t bytes)
{
    for (size_t i = 0; i < process->job_count; i++) {
        struct nt_job *job = process->jobs[i];
        if ((flags_of(job) & JOB_OBJECT_LIMIT_PROCESS_MEMORY) != 0 &&
            process->memory + bytes > job->limits.ProcessMemoryLimit) {
            nt_job_message(job, MSG_PROCESS_MEMORY_LIMIT, process->id, false);
            return ERROR_COMMITMENT_LIMIT;
        }
        if ((flags_of(job) & JOB_OBJECT_LIMIT_JOB_MEMORY) != 0 &&
            job->memory + bytes > job->limits.JobMemoryLimit) {
            nt_job_message(job, MSG_JOB_MEMORY_LIMIT, process->id, false);
            return ERROR_COMMITMENT_LIMIT;
        }
    }
    return 0;
}

static void charge_job(struct nt_job *job, struct nt_process *process, uint64_t ticks)
{
    const JOBOBJECT_BASIC_LIMIT_INFORMATION *basic = &job->limits.BasicLimitInformation;
    job->account.TotalUserTime.QuadPart += (LONGLONG)ticks;
    job->account.ThisPeriodTotalUserTime.QuadPart += (LONGLONG)ticks;
    if ((basic->LimitFlags & JOB_OBJECT_LIMIT_PROCESS_TIME) != 0 &&
        process->user_ticks > (uint64_t)basic->PerProcessUserTimeLimit.QuadPart) {
        nt_job_message(job, MSG_END_OF_PROCESS_TIME, process->id, false);
        job->account.TotalTerminatedProcesses++;
        nt_process_end(process, QUOTA_CODE);
    }
    if ((basic->LimitFlags & JOB_OBJECT_LIMIT_JOB_TIME) != 0 &&
        job->account.ThisPeriodTotalUserTime.QuadPart > basic->PerJobUserTimeLimit.QuadPart) {
        job->is_signalled = true;
        if (job->end_of_time == JOB_OBJECT_TERMINATE_AT_END_OF_JOB) {
            job->account.TotalTerminatedProcesses += job->account.ActiveProcesses;
            nt_job_message(job, MSG_END_OF_JOB_TIME, 0, false);
            nt_job_terminate(job, QUOTA_CODE);
        } else {
            nt_job_message(job, MSG_END_OF_JOB_TIME, 0, false);
        }
    }
}

void nt_job_charge_time(struct nt_process *process, uint64_t ticks)
{
    process->user_ticks += ticks;
    struct nt_job *jobs[NT_JOBS_MAX];
    size_t count = process->job_count;
    for (size_t i = 0; i < count; i++) {
        jobs[i] = nt_object_ref(process->jobs[i]); /* the process may end on the way */
    }
    for (size_t i = 0; i < count; i++) {
        if (!process->is_ended) {
            charge_job(jobs[i], process, ticks);
        }
        nt_object_unref(jobs[i]);
    }
}

/* ---- the calls ------------------------------------------------------------------------------------------------- */

HANDLE WINAPI nt_CreateJobObjectW(LPSECURITY_ATTRIBUTES security, LPCWSTR name)
{
    struct nt_process *process = nt_process_now();
    struct nt_job *job = name == NULL ? NULL : nt_object_find(process->object.model, NT_ANY, name);
    bool is_new = job == NULL;
    if (!is_new && job->object.kind != NT_JOB) {
        return nt_fail_handle(ERROR_INVALID_HANDLE);
    }
    if (is_new) {
        job = nt_object_new(process->object.model, NT_JOB, sizeof *job);
        job->session = process->token->token.session;
        nt_object_name(job, name);
        nt_object_describe(job, &process->token->token, NULL, nt_descriptor_of(security), false,
                           nt_mapping(NT_JOB));
    } else if (!nt_has_access(&process->token->token, job->object.descriptor, JOB_ALL,
                              nt_mapping(NT_JOB), NULL)) {
        return nt_fail_handle(ERROR_ACCESS_DENIED);
    }
    HANDLE handle = nt_handle_add(process, job, JOB_ALL, nt_inherits(security));
    if (is_new) {
        nt_object_unref(job);
    }
    SetLastError(is_new ? NO_ERROR : ERROR_ALREADY_EXISTS);
    return handle;
}

static BOOL set_limits(struct nt_job *job, const void *value, DWORD size, bool is_extended)
{
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION new = job->limits;
    size_t want = is_extended ? sizeof new : sizeof new.BasicLimitInformation;
    if (size != want) {
        return nt_fail(ERROR_BAD_LENGTH);
    }
    memcpy(&new, value, want);
    const JOBOBJECT_BASIC_LIMIT_INFORMATION *basic = &new.BasicLimitInformation;
    DWORD allowed = is_extended ? basic_flags | extended_flags : basic_flags;
    if ((basic->LimitFlags & ~allowed) != 0 ||
        ((basic->LimitFlags & JOB_OBJECT_LIMIT_ACTIVE_PROCESS) != 0 &&
         basic->ActiveProcessLimit == 0)) {
        return nt_fail(ERROR_INVALID_PARAMETER);
    }
    if ((basic->LimitFlags & JOB_OBJECT_LIMIT_PRIORITY_CLASS) != 0 &&
        basic->PriorityClass != BELOW_NORMAL_PRIORITY_CLASS &&
        basic->PriorityClass != NORMAL_PRIORITY_CLASS &&
        basic->PriorityClass != IDLE_PRIORITY_CLASS) {
        return nt_fail(basic->PriorityClass == REALTIME_PRIORITY_CLASS ||
                               basic->PriorityClass == HIGH_PRIORITY_CLASS ||
                               basic->PriorityClass == ABOVE_NORMAL_PRIORITY_CLASS
                           ? ERROR_PRIVILEGE_NOT_HELD
                           : ERROR_INVALID_PARAMETER);
    }
    if ((basic->LimitFlags & JOB_OBJECT_LIMIT_JOB_TIME) != 0) {
        job->account.ThisPeriodTotalUserTime.QuadPart = 0;
    }
    job->limits = new;
    return TRUE;
}

static BOOL set_port(struct nt_job *job, const JOBOBJECT_ASSOCIATE_COMPLETION_PORT *value,
                     DWORD size)
{
    if (size != sizeof *value) {
        return nt_fail(ERROR_BAD_LENGTH);
    }
    struct nt_port *port =
        value->CompletionPort == NULL ? NULL : nt_handle_get(value->CompletionPort, NT_PORT, 0);
    if (value->CompletionPort != NULL && port == NULL) {
        return FALSE;
    }
    if (job->port != NULL && port != NULL) {
        return nt_fail(ERROR_INVALID_PARAMETER);
    }
    nt_object_unref(job->port);
    job->port = nt_object_ref(port);
    job->key = (ULONG_PTR)value->CompletionKey;
    return TRUE;
}

static BOOL set_ui(struct nt_job *job, const JOBOBJECT_BASIC_UI_RESTRICTIONS *value, DWORD size)
{
    if (size != sizeof *value) {
        return nt_fail(ERROR_BAD_LENGTH);
    }
    DWORD build = job->object.model->world.build;
    DWORD known = build >= 26100 ? KNOWN_UI_LIMITS : build >= 22621 ? 0x1FF : 0xFF;
    if ((value->UIRestrictionsClass & ~known) != 0) {
        return nt_fail(ERROR_INVALID_PARAMETER);
    }
    if (job->outer != NULL && value->UIRestrictionsClass != 0) {
        return nt_fail(ERROR_ACCESS_DENIED);
    }
    job->ui_limits = value->UIRestrictionsClass;
    return TRUE;
}

BOOL WINAPI nt_SetInformationJobObject(HANDLE handle, JOBOBJECTINFOCLASS which, LPVOID value,
                                       DWORD size)
{
    struct nt_job *job = nt_handle_get(handle, NT_JOB, JOB_OBJECT_SET_ATTRIBUTES);
    if (job == NULL) {
        return FALSE;
    }
    switch ((int)which) {
    case JobObjectBasicLimitInformation:
        return set_limits(job, value, size, false);
    case JobObjectExtendedLimitInformation:
        return set_limits(job, value, size, true);
    case JobObjectBasicUIRestrictions:
        return set_ui(job, value, size);
    case JobObjectAssociateCompletionPortInformation:
        return set_port(job, value, size);
    case JobObjectEndOfJobTimeInformation:
        if (size != sizeof(JOBOBJECT_END_OF_JOB_TIME_INFORMATION)) {
            return nt_fail(ERROR_BAD_LENGTH);
        }
        job->end_of_time = *(const DWORD *)value;
        return TRUE;
    case JobObjectCpuRateControlInformation:
        if (size != sizeof job->cpu_rate) {
            return nt_fail(ERROR_BAD_LENGTH);
        }
        memcpy(&job->cpu_rate, value, size);
        return TRUE;
    default:
        return nt_fail(ERROR_INVALID_PARAMETER);
    }
}

static BOOL answer(const void *from, size_t from_size, void *out, DWORD size, LPDWORD returned)
{
    if (size < from_size) {
        return nt_fail(ERROR_BAD_LENGTH);
    }
    memcpy(out, from, from_size);
    if (returned != NULL) {
        *returned = (DWORD)from_size;
    }
    return TRUE;
}

static BOOL list_processes(const struct nt_job *job, JOBOBJECT_BASIC_PROCESS_ID_LIST *out,
                           DWORD size, LPDWORD returned)
{
    DWORD count = 0;
    if (size < sizeof *out) {
        return nt_fail(ERROR_BAD_LENGTH);
    }
    DWORD room = (DWORD)((size - offsetof(JOBOBJECT_BASIC_PROCESS_ID_LIST, ProcessIdList)) /
                         sizeof(ULONG_PTR));
    ULONG_PTR *ids = out->ProcessIdList;
    for (const struct nt_process *process = job->object.model->processes; process != NULL;
         process = process->next) {
        if (!process->is_ended && nt_job_has(process, job) && count < room) {
            ids[count++] = process->id;
        }
    }
    out->NumberOfAssignedProcesses = job->account.ActiveProcesses;
    out->NumberOfProcessIdsInList = count;
    if (returned != NULL) {
        *returned = (DWORD)(offsetof(JOBOBJECT_BASIC_PROCESS_ID_LIST, ProcessIdList) +
                            count * sizeof(ULONG_PTR));
    }
    return count == job->account.ActiveProcesses ? TRUE : nt_fail(ERROR_MORE_DATA);
}

BOOL WINAPI nt_QueryInformationJobObject(HANDLE handle, JOBOBJECTINFOCLASS which, LPVOID out,
                                         DWORD size, LPDWORD returned)
{
    const struct nt_job *job = NULL;
    const struct nt_process *self = nt_process_now();
    if (handle == NULL) { /* the job of the caller */
        job = self->job_count == 0 ? NULL : self->jobs[self->job_count - 1];
        if (job == NULL) {
            return nt_fail(ERROR_ACCESS_DENIED);
        }
    } else {
        job = nt_handle_get(handle, NT_JOB, JOB_OBJECT_QUERY);
    }
    if (job == NULL) {
        return FALSE;
    }
    JOBOBJECT_BASIC_UI_RESTRICTIONS ui = {job->ui_limits};
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = job->limits;
    limits.PeakJobMemoryUsed = job->peak_memory;
    switch ((int)which) {
    case JobObjectBasicLimitInformation:
        return answer(&limits.BasicLimitInformation, sizeof limits.BasicLimitInformation, out, size,
                      returned);
    case JobObjectExtendedLimitInformation:
        return answer(&limits, sizeof limits, out, size, returned);
    case JobObjectBasicAccountingInformation:
        return answer(&job->account, sizeof job->account, out, size, returned);
    case JobObjectBasicUIRestrictions:
        return answer(&ui, sizeof ui, out, size, returned);
    case JobObjectCpuRateControlInformation:
        return answer(&job->cpu_rate, sizeof job->cpu_rate, out, size, returned);
    case JobObjectEndOfJobTimeInformation:
        return answer(&job->end_of_time, sizeof job->end_of_time, out, size, returned);
    case JobObjectBasicProcessIdList:
        return list_processes(job, out, size, returned);
    default:
        return nt_fail(ERROR_INVALID_PARAMETER);
    }
}

/* One that the limit forbids is ended, as documented. */
BOOL WINAPI nt_AssignProcessToJobObject(HANDLE job_handle, HANDLE process_handle)
{
    struct nt_job *job = nt_handle_get(job_handle, NT_JOB, JOB_OBJECT_ASSIGN_PROCESS);
    struct nt_process *process = job == NULL ? NULL
                                             : nt_handle_get(process_handle, NT_PROCESS,
                                                             PROCESS_SET_QUOTA | PROCESS_TERMINATE);
    if (process == NULL) {
        return FALSE;
    }
    if (process->is_ended) {
        return nt_fail(ERROR_ACCESS_DENIED);
    }
    DWORD code = nt_job_join(job, process);
    if (code == QUOTA_CODE) {
        nt_process_end(process, QUOTA_CODE);
    }
    return code == 0 ? TRUE : nt_fail(code);
}

BOOL WINAPI nt_IsProcessInJob(HANDLE process_handle, HANDLE job_handle, PBOOL result)
{
    const struct nt_process *process =
        nt_handle_get(process_handle, NT_PROCESS, PROCESS_QUERY_LIMITED_INFORMATION);
    if (process == NULL) {
        return FALSE;
    }
    if (job_handle == NULL) {
        *result = process->job_count > 0;
        return TRUE;
    }
    const struct nt_job *job = nt_handle_get(job_handle, NT_JOB, JOB_OBJECT_QUERY);
    if (job == NULL) {
        return FALSE;
    }
    *result = nt_job_has(process, job);
    return TRUE;
}

BOOL WINAPI nt_TerminateJobObject(HANDLE handle, UINT code)
{
    struct nt_job *job = nt_handle_get(handle, NT_JOB, JOB_OBJECT_TERMINATE);
    if (job == NULL) {
        return FALSE;
    }
    nt_job_terminate(job, code);
    return TRUE;
}
