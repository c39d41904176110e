/* The table of the model: what every call passes on its way in and out, and loud answers for what nobody modelled. */
#include "tests/ntmodel/nt_internal.h"

#include <stdio.h>

#include "common/base/banned.h"

/* clang-format off */
#define NT_MODELLED(X) \
  X(CloseHandle) X(CompareObjectHandles) X(DuplicateHandle) X(SetHandleInformation) X(GetHandleInformation) X(GetFileType) \
  X(GetStdHandle) X(CreateEventW) X(SetEvent) X(ResetEvent) X(CreateMutexW) X(ReleaseMutex) \
  X(WaitForSingleObject) X(WaitForMultipleObjects) X(CreateThread) X(Sleep) \
  X(GetSystemTimeAsFileTime) X(SystemFunction036) X(GetTickCount64) \
  X(GetCurrentProcess) X(GetCurrentProcessId) X(ProcessIdToSessionId) X(OpenProcess) \
  X(GetProcessId) X(GetProcessTimes) X(QueryFullProcessImageNameW) X(GetExitCodeProcess) \
  X(TerminateProcess) X(ResumeThread) X(K32GetProcessMemoryInfo) \
  X(GetProcessMitigationPolicy) X(InitializeProcThreadAttributeList) X(UpdateProcThreadAttribute) \
  X(DeleteProcThreadAttributeList) X(CreateProcessW) X(CreateProcessAsUserW) \
  X(CreateJobObjectW) X(SetInformationJobObject) X(QueryInformationJobObject) \
  X(AssignProcessToJobObject) X(IsProcessInJob) X(TerminateJobObject) X(CreateIoCompletionPort) \
  X(GetQueuedCompletionStatus) X(PostQueuedCompletionStatus) \
  X(OpenProcessToken) X(DuplicateTokenEx) X(CreateRestrictedToken) X(GetTokenInformation) \
  X(SetTokenInformation) X(LookupPrivilegeNameW) X(AccessCheck) X(CreateAppContainerProfile) \
  X(DeleteAppContainerProfile) X(DeriveAppContainerSidFromAppContainerName) \
  X(GetAppContainerFolderPath) X(DeriveCapabilitySidsFromName) X(FreeSid) X(LocalFree) \
  X(CoTaskMemFree) \
  X(CreateFileW) X(NtCreateFile) X(RtlNtStatusToDosError) X(RtlGetVersion) X(ReadFile) \
  X(WriteFile) X(FlushFileBuffers) X(GetFileSizeEx) X(GetFinalPathNameByHandleW) \
  X(GetFileInformationByHandle) X(GetFileInformationByHandleEx) X(SetFileInformationByHandle) \
  X(GetVolumeInformationByHandleW) X(GetDriveTypeW) X(DeviceIoControl) X(MoveFileExW) \
  X(DeleteFileW) X(CreateDirectoryW) X(RemoveDirectoryW) X(FindFirstFileW) X(FindNextFileW) \
  X(FindClose) X(OpenFileById) X(ReadDirectoryChangesW) X(GetOverlappedResult) X(CancelIoEx) \
  X(CancelSynchronousIo) X(CreatePipe) X(GetKernelObjectSecurity) X(SetKernelObjectSecurity) \
  X(ConvertStringSecurityDescriptorToSecurityDescriptorW) X(GetSystemWindowsDirectoryW) \
  X(CreatePseudoConsole) X(ResizePseudoConsole) X(ClosePseudoConsole) X(GetConsoleMode) \
  X(SetConsoleMode) X(GetConsoleScreenBufferInfo) X(SetConsoleCtrlHandler) X(AllocConsole) \
  X(GetConsoleWindow) X(GetProcessWindowStation) X(CreateWindowStationW) \
  X(SetProcessWindowStation) X(CloseWindowStation) X(CreateDesktopExW) X(CloseDesktop) \
  X(GetThreadDesktop) X(GetUserObjectInformationW) X(GetUserObjectSecurity) X(GetCurrentThreadId)
/* clang-format on */

/* What a call carries from its way in to its way out. */
struct visit {
    struct nt_model *model;
    bool kills;
};

static bool enter(struct visit *visit, enum sbx_winapi_id id)
{
    struct nt_model *model = nt_model_of_call();
    DWORD saved = GetLastError();
    nt_lock(model);
    visit->model = model;
    struct nt_thread *self = nt_self();
    nt_thread_gate(self);
    if (!self->process->is_launcher) {
        SetLastError(saved);
        return true;
    }
    unsigned n = ++model->calls;
    model->counts[id]++;
    visit->kills = n == model->crash_at;
    while (model->stalls[id]) {
        (void)nt_sleep(model, UINT64_MAX);
    }
    nt_thread_gate(self);
    SetLastError(saved);
    if (model->before == NULL) {
        return true;
    }
    nt_before *before = model->before;
    void *state = model->before_state;
    nt_unlock(model);
    bool goes_on = before(state, id, n);
    saved = GetLastError();
    nt_lock(model);
    nt_thread_gate(self);
    SetLastError(saved);
    return goes_on;
}

static void leave(struct visit *visit)
{
    if (visit->kills) {
        struct nt_thread *self = nt_self();
        nt_launcher_kill(self->process);
        nt_die(self);
    }
    nt_unlock(visit->model);
}

static void not_modelled(const char *name)
{
    nt_model_of_call()->not_modelled++;
    (void)fprintf(stderr, "nt model: %s is not modelled\n", name);
    SetLastError(ERROR_CALL_NOT_IMPLEMENTED);
}

#pragma GCC diagnostic ignored "-Wpedantic" /* return of nothing, where a call answers nothing */
#pragma GCC diagnostic ignored "-Wunused-parameter" /* what is not modelled looks at none */

#define MISSING(dll, need, tells, type, name, parameters, arguments)                               \
    static type WINAPI missing_##name parameters                                                   \
    {                                                                                              \
        not_modelled(#name);                                                                       \
        return NT_TOLD_##tells(type, ERROR_CALL_NOT_IMPLEMENTED);                                  \
    }
SBX_WINAPI_CALLS(MISSING)
#undef MISSING

/* Behind the door. */
static const struct sbx_winapi *slots(void)
{
    static struct sbx_winapi table;
    if (table.CloseHandle == NULL) {
#define FILL_MISSING(dll, need, tells, type, name, parameters, arguments)                          \
    table.name = missing_##name;
        SBX_WINAPI_CALLS(FILL_MISSING)
#undef FILL_MISSING
#define FILL(name) table.name = nt_##name;
        NT_MODELLED(FILL)
#undef FILL
    }
    return &table;
}

#define DOOR(dll, need, tells, type, name, parameters, arguments)                                  \
    static type WINAPI door_##name parameters                                                      \
    {                                                                                              \
        SBX_CLEANUP(leave) struct visit visit = {0};                                               \
        if (!enter(&visit, SBX_CALL_##name)) {                                                     \
            return NT_TOLD_##tells(type, GetLastError());                                          \
        }                                                                                          \
        return slots()->name arguments;                                                            \
    }
SBX_WINAPI_CALLS(DOOR)
#undef DOOR

static bool is_filled;

void nt_table_forget(void)
{
    is_filled = false;
}

const struct sbx_winapi *nt_model_table(void)
{
    static struct sbx_winapi table;
    if (is_filled) {
        return &table;
    }
    is_filled = true;
    const struct nt_model *model = nt_model_current();
#define FILL(dll, need, tells, type, name, parameters, arguments)                                  \
    table.name = model != NULL && model->lacks[SBX_CALL_##name] ? NULL : door_##name;
    SBX_WINAPI_CALLS(FILL)
#undef FILL
    return &table;
}

void nt_model_lacks(struct nt_model *model, enum sbx_winapi_id id)
{
    model->lacks[id] = true;
    is_filled = false;
}
