/* A job object: a process tree that ends as one, and when its last handle is closed. */
#include "win/job.h"

#include "win/fault.h"
#include "win/handle.h"

#include "common/base/banned.h"

enum { END_WAIT_MS = 5000, END_CODE = 1 };

/* Without one of the breakaway flags nobody leaves. */
#define ALWAYS_FLAGS JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE

static JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits_of(const struct sbx_job_limits *limits)
{
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION info = {
        .BasicLimitInformation.LimitFlags = ALWAYS_FLAGS,
    };
    if (limits == NULL) {
        return info;
    }
    JOBOBJECT_BASIC_LIMIT_INFORMATION *basic = &info.BasicLimitInformation;
    basic->LimitFlags |=
        JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION | JOB_OBJECT_LIMIT_PRIORITY_CLASS;
    basic->PriorityClass = BELOW_NORMAL_PRIORITY_CLASS;
    if (limits->processes != 0) {
        basic->LimitFlags |= JOB_OBJECT_LIMIT_ACTIVE_PROCESS;
        basic->ActiveProcessLimit = limits->processes;
    }
    if (limits->process_memory_bytes != 0) {
        basic->LimitFlags |= JOB_OBJECT_LIMIT_PROCESS_MEMORY;
        info.ProcessMemoryLimit = (SIZE_T)limits->process_memory_bytes;
    }
    if (limits->memory_bytes != 0) {
        basic->LimitFlags |= JOB_OBJECT_LIMIT_JOB_MEMORY;
        info.JobMemoryLimit = (SIZE_T)limits->memory_bytes;
    }
    if (limits->cpu_secs != 0) {
        basic->LimitFlags |= JOB_OBJECT_LIMIT_PROCESS_TIME | JOB_OBJECT_LIMIT_JOB_TIME;
        basic->PerProcessUserTimeLimit.QuadPart = (LONGLONG)(limits->cpu_secs * 10000000);
        basic->PerJobUserTimeLimit = basic->PerProcessUserTimeLimit;
    }
    return info;
}

static enum sbx_code set(HANDLE job, JOBOBJECTINFOCLASS which, void *value, DWORD size,
                         const char *what, struct sbx_err *err)
{
    if (!sbx_win()->SetInformationJobObject(job, which, value, size)) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "SetInformationJobObject", "cannot set %s of the job", what);
    }
    return SBX_OK;
}

enum sbx_code sbx_job_open(const struct sbx_job_limits *limits, HANDLE *out, struct sbx_err *err)
{
    /* Not inheritable: a handle in the tree would keep the job alive. */
    AUTO_HANDLE job = sbx_win()->CreateJobObjectW(NULL, NULL);
    if (!sbx_handle_is_open(job)) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "CreateJobObjectW", "cannot make a job for the command");
    }
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION info = limits_of(limits);
    enum sbx_code code =
        set(job, JobObjectExtendedLimitInformation, &info, sizeof info, "the limits", err);
    if (code == SBX_OK && limits != NULL) {
        JOBOBJECT_BASIC_UI_RESTRICTIONS ui = {.UIRestrictionsClass = SBX_JOB_UI_LIMITS};
        code =
            set(job, JobObjectBasicUIRestrictions, &ui, sizeof ui, "the desktop restrictions", err);
    }
    if (code == SBX_OK) {
        *out = SBX_TAKE(job, NULL);
    }
    return code;
}

/* ---- proving --------------------------------------------------------------------------------- */

static void prove_number(struct sbx_evidence_list *list, const char *what, uint64_t wanted,
                         uint64_t got)
{
    const char *wanted_text = sbx_arena_printf(list->arena, "%llu", (unsigned long long)wanted);
    const char *got_text = sbx_arena_printf(list->arena, "%llu", (unsigned long long)got);
    if (wanted_text == NULL || got_text == NULL) {
        list->failed = true;
        return;
    }
    sbx_evidence_add(list, what, wanted_text, got_text, wanted == got);
}

static void prove_flags(struct sbx_evidence_list *list, const char *what, DWORD wanted, DWORD got)
{
    const char *wanted_text = sbx_arena_printf(list->arena, "0x%lX", wanted);
    const char *got_text = sbx_arena_printf(list->arena, "0x%lX", got);
    if (wanted_text == NULL || got_text == NULL) {
        list->failed = true;
        return;
    }
    sbx_evidence_add(list, what, wanted_text, got_text, wanted == got);
}

void sbx_job_prove(struct sbx_evidence_list *list, HANDLE job, const struct sbx_job_limits *limits)
{
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION wanted = limits_of(limits);
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION got = {0};
    JOBOBJECT_BASIC_UI_RESTRICTIONS ui = {0};
    if (!sbx_win()->QueryInformationJobObject(job, JobObjectExtendedLimitInformation, &got,
                                              sizeof got, NULL)) {
        sbx_evidence_add(list, "job.limits", "readable", "QueryInformationJobObject failed", false);
        return;
    }
    if (!sbx_win()->QueryInformationJobObject(job, JobObjectBasicUIRestrictions, &ui, sizeof ui,
                                              NULL)) {
        sbx_evidence_add(list, "job.ui", "readable", "QueryInformationJobObject failed", false);
        return;
    }
    const JOBOBJECT_BASIC_LIMIT_INFORMATION *basic = &wanted.BasicLimitInformation;
    const JOBOBJECT_BASIC_LIMIT_INFORMATION *real = &got.BasicLimitInformation;
    prove_flags(list, "job.flags", basic->LimitFlags, real->LimitFlags);
    prove_flags(list, "job.ui", SBX_JOB_UI_LIMITS, ui.UIRestrictionsClass);
    prove_number(list, "job.priority", basic->PriorityClass, real->PriorityClass);
    if (limits->processes != 0) {
        prove_number(list, "job.processes", basic->ActiveProcessLimit, real->ActiveProcessLimit);
    }
    if (limits->process_memory_bytes != 0) {
        prove_number(list, "job.process-memory", wanted.ProcessMemoryLimit, got.ProcessMemoryLimit);
    }
    if (limits->memory_bytes != 0) {
        prove_number(list, "job.memory", wanted.JobMemoryLimit, got.JobMemoryLimit);
    }
    if (limits->cpu_secs != 0) {
        prove_number(list, "job.process-time", (uint64_t)basic->PerProcessUserTimeLimit.QuadPart,
                     (uint64_t)real->PerProcessUserTimeLimit.QuadPart);
        /* What is left of the job's time is told, not what was set. */
        uint64_t left = (uint64_t)real->PerJobUserTimeLimit.QuadPart;
        uint64_t set_to = (uint64_t)basic->PerJobUserTimeLimit.QuadPart;
        prove_number(list, "job.time", set_to, left != 0 && left <= set_to ? set_to : left);
    }
}

/* ---- ending ---------------------------------------------------------------------------------- */

/* Unreadable counts as not empty: sbx must not believe a tree gone that may be there. */
static bool is_empty(HANDLE job)
{
    JOBOBJECT_BASIC_ACCOUNTING_INFORMATION info = {0};
    return sbx_win()->QueryInformationJobObject(job, JobObjectBasicAccountingInformation, &info,
                                                sizeof info, NULL) &&
           info.ActiveProcesses == 0;
}

bool sbx_job_end(HANDLE job)
{
    (void)sbx_win()->TerminateJobObject(job, END_CODE);
    ULONGLONG begin = sbx_win()->GetTickCount64();
    bool is_gone = is_empty(job);
    for (DWORD step_ms = 0; !is_gone && sbx_win()->GetTickCount64() - begin < END_WAIT_MS;) {
        sbx_win()->Sleep(step_ms);
        step_ms = step_ms < 10 ? step_ms + 1 : step_ms;
        is_gone = is_empty(job);
    }
    return is_gone;
}

static uint64_t ticks_of(FILETIME time)
{
    return (uint64_t)time.dwHighDateTime << 32 | time.dwLowDateTime;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

void sbx_job_account(HANDLE job, HANDLE process, struct sbx_outcome *outcome)
{
    uint64_t ticks = 0; /* of 100 ns */
    uint64_t bytes = 0;
    JOBOBJECT_BASIC_ACCOUNTING_INFORMATION times = {0};
    if (sbx_win()->QueryInformationJobObject(job, JobObjectBasicAccountingInformation, &times,
                                             sizeof times, NULL)) {
        ticks = (uint64_t)times.TotalUserTime.QuadPart + (uint64_t)times.TotalKernelTime.QuadPart;
    }
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION memory = {0};
    if (sbx_win()->QueryInformationJobObject(job, JobObjectExtendedLimitInformation, &memory,
                                             sizeof memory, NULL)) {
        bytes = memory.PeakProcessMemoryUsed;
    }
    FILETIME created;
    FILETIME ended;
    FILETIME kernel;
    FILETIME user;
    if (sbx_win()->GetProcessTimes(process, &created, &ended, &kernel, &user)) {
        ticks = larger(ticks, ticks_of(kernel) + ticks_of(user));
    }
    PROCESS_MEMORY_COUNTERS counters = {0};
    if (sbx_win()->K32GetProcessMemoryInfo(process, &counters, sizeof counters)) {
        bytes = larger(bytes, counters.PeakWorkingSetSize);
    }
    outcome->cpu_ns = ticks * 100;
    outcome->peak_memory_bytes = bytes;
}
