/* A job object: a process tree that ends as one, and when its last handle is closed. */
#include "win/job.h"

#include <psapi.h>

#include "win/fault.h"
#include "win/handle.h"

#include "common/base/banned.h"

enum { END_WAIT_MS = 5000, END_CODE = 1 };

enum sbx_code sbx_job_open(HANDLE *out, struct sbx_err *err)
{
    /* Not inheritable: a handle in the tree would keep the job alive. */
    AUTO_HANDLE job = CreateJobObjectW(NULL, NULL);
    if (!sbx_handle_is_open(job)) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "CreateJobObjectW", "cannot make a job for the command");
    }
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {
        /* Without one of the breakaway flags nobody leaves. */
        .BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
    };
    if (!SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits, sizeof limits)) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "SetInformationJobObject",
                             "cannot make a job for the command");
    }
    *out = SBX_TAKE(job, NULL);
    return SBX_OK;
}

static bool is_empty(HANDLE job)
{
    JOBOBJECT_BASIC_ACCOUNTING_INFORMATION info = {0};
    return !QueryInformationJobObject(job, JobObjectBasicAccountingInformation, &info, sizeof info,
                                      NULL) ||
           info.ActiveProcesses == 0;
}

void sbx_job_end(HANDLE job)
{
    (void)TerminateJobObject(job, END_CODE);
    ULONGLONG begin = GetTickCount64();
    for (DWORD step_ms = 0; !is_empty(job) && GetTickCount64() - begin < END_WAIT_MS;) {
        Sleep(step_ms);
        step_ms = step_ms < 10 ? step_ms + 1 : step_ms;
    }
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
    if (QueryInformationJobObject(job, JobObjectBasicAccountingInformation, &times, sizeof times,
                                  NULL)) {
        ticks = (uint64_t)times.TotalUserTime.QuadPart + (uint64_t)times.TotalKernelTime.QuadPart;
    }
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION memory = {0};
    if (QueryInformationJobObject(job, JobObjectExtendedLimitInformation, &memory, sizeof memory,
                                  NULL)) {
        bytes = memory.PeakProcessMemoryUsed;
    }
    FILETIME created;
    FILETIME ended;
    FILETIME kernel;
    FILETIME user;
    if (GetProcessTimes(process, &created, &ended, &kernel, &user)) {
        ticks = larger(ticks, ticks_of(kernel) + ticks_of(user));
    }
    PROCESS_MEMORY_COUNTERS counters = {0};
    if (GetProcessMemoryInfo(process, &counters, sizeof counters)) {
        bytes = larger(bytes, counters.PeakWorkingSetSize);
    }
    outcome->cpu_ns = ticks * 100;
    outcome->peak_memory_bytes = bytes;
}
