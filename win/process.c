/* One suspended process, born into a job, with three handles and no more. */
#include "win/process.h"

#include <stdbool.h>

#include "win/fault.h"
#include "win/handle.h"

#include "common/base/banned.h"

struct birth {
    HANDLE stream[3]; /* inheritable copies; NULL where there is none */
    HANDLE listed[3]; /* the same without gaps; must live as long as the list */
    DWORD count;
    HANDLE job[1];
    LPPROC_THREAD_ATTRIBUTE_LIST list;
    _Alignas(16) unsigned char room[512];
};

/* Copies, so that ours stay non-inheritable and equal ones (2>&1) become different: the list must
 * not name a handle twice. */
static bool copy_streams(struct birth *birth, const HANDLE stream[3])
{
    HANDLE self = GetCurrentProcess();
    for (size_t i = 0; i < 3; i++) {
        if (!sbx_handle_is_open(stream[i])) {
            continue;
        }
        if (!DuplicateHandle(self, stream[i], self, &birth->stream[i], 0, TRUE,
                             DUPLICATE_SAME_ACCESS)) {
            return false;
        }
        birth->listed[birth->count++] = birth->stream[i];
    }
    return true;
}

static bool make_list(struct birth *birth, HANDLE job)
{
    SIZE_T size = sizeof birth->room;
    LPPROC_THREAD_ATTRIBUTE_LIST list = (void *)birth->room;
    if (!InitializeProcThreadAttributeList(list, 2, 0, &size)) {
        return false;
    }
    birth->list = list;
    birth->job[0] = job;
    if (!UpdateProcThreadAttribute(list, 0, PROC_THREAD_ATTRIBUTE_JOB_LIST, birth->job,
                                   sizeof birth->job, NULL, NULL)) {
        return false;
    }
    return birth->count == 0 ||
           UpdateProcThreadAttribute(list, 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST, birth->listed,
                                     birth->count * sizeof birth->listed[0], NULL, NULL);
}

static void release(struct birth *birth)
{
    DWORD saved = GetLastError();
    if (birth->list != NULL) {
        DeleteProcThreadAttributeList(birth->list);
    }
    for (size_t i = 0; i < 3; i++) {
        sbx_handle_close(&birth->stream[i]);
    }
    SetLastError(saved);
}

/* Returns the call that failed, with the last error; NULL on success. */
static const char *give_birth(const struct sbx_process_plan *plan, struct birth *birth,
                              PROCESS_INFORMATION *out)
{
    if (!copy_streams(birth, plan->stream)) {
        return "DuplicateHandle";
    }
    if (!make_list(birth, plan->job)) {
        return "UpdateProcThreadAttribute";
    }
    STARTUPINFOEXW info = {
        .StartupInfo.cb = sizeof info,
        .StartupInfo.dwFlags = STARTF_USESTDHANDLES,
        .StartupInfo.hStdInput = birth->stream[0],
        .StartupInfo.hStdOutput = birth->stream[1],
        .StartupInfo.hStdError = birth->stream[2],
        .lpAttributeList = birth->list,
    };
    /* Without a list, inheritance would mean everything: then nothing is inherited. */
    BOOL inherits = birth->count > 0;
    return CreateProcessW(plan->program, plan->command_line, NULL, NULL, inherits,
                          CREATE_SUSPENDED | CREATE_UNICODE_ENVIRONMENT |
                              EXTENDED_STARTUPINFO_PRESENT,
                          plan->environment, plan->directory, &info.StartupInfo, out)
               ? NULL
               : "CreateProcessW";
}

enum sbx_code sbx_process_create(const struct sbx_process_plan *plan, struct sbx_process *out,
                                 struct sbx_err *err)
{
    struct birth birth = {0};
    PROCESS_INFORMATION born = {0};
    const char *failed = give_birth(plan, &birth, &born);
    DWORD raw = GetLastError();
    release(&birth);
    if (failed != NULL) {
        (void)sbx_err_win32(err, raw, failed, "cannot start the program");
        if (raw == SBX_ERROR_ELEVATION_REQUIRED) {
            return sbx_err_hint(err, "sbx never elevates; start sbx itself elevated if you must");
        }
        return sbx_win32_code(raw);
    }
    *out = (struct sbx_process){born.hProcess, born.hThread};
    return SBX_OK;
}
