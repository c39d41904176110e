/* The smallest run of a box that has every step. */
#include "tests/unit/nt_run.h"

#include <string.h>
#include <wchar.h>

#include "win/sid.h"

#include "common/base/banned.h"

#define PROFILE L"sbx.test"

/* What a run holds; released in reverse whatever happened. */
struct held {
    struct nt_run *run;
    PSID sid;
    bool has_profile;
    PSID *groups;
    DWORD group_count;
    PSID *capabilities;
    DWORD capability_count;
    HANDLE own;
    HANDLE token;
    HANDLE job;
    HANDLE port;
    HANDLE read;
    HANDLE write;
    LPPROC_THREAD_ATTRIBUTE_LIST list;
    _Alignas(16) unsigned char room[512];
    PROCESS_INFORMATION child;
};

static bool failed(struct held *held, const char *call, DWORD code)
{
    held->run->failed = call;
    held->run->code = code;
    return false;
}

static bool make_profile(struct held *held)
{
    const struct nt_run *run = held->run;
    HRESULT result =
        sbx_win()->CreateAppContainerProfile(PROFILE, PROFILE, PROFILE, NULL, 0, &held->sid);
    if (FAILED(result)) {
        return failed(held, "CreateAppContainerProfile", (DWORD)result);
    }
    held->has_profile = true;
    if (run->capability != NULL &&
        !sbx_win()->DeriveCapabilitySidsFromName(run->capability, &held->groups, &held->group_count,
                                                 &held->capabilities, &held->capability_count)) {
        return failed(held, "DeriveCapabilitySidsFromName", GetLastError());
    }
    return true;
}

static bool make_token(struct held *held)
{
    SID_AND_ATTRIBUTES disabled[] = {{sbx_sid_known(SBX_SID_ADMINISTRATORS), 0},
                                     {sbx_sid_known(SBX_SID_USERS), 0}};
    if (!sbx_win()->OpenProcessToken(sbx_win()->GetCurrentProcess(),
                                     TOKEN_QUERY | TOKEN_DUPLICATE | TOKEN_ASSIGN_PRIMARY |
                                         TOKEN_ADJUST_DEFAULT,
                                     &held->own)) {
        return failed(held, "OpenProcessToken", GetLastError());
    }
    if (!sbx_win()->CreateRestrictedToken(held->own, DISABLE_MAX_PRIVILEGE,
                                          held->run->denies_users ? 2 : 1, disabled, 0, NULL, 0,
                                          NULL, &held->token)) {
        return failed(held, "CreateRestrictedToken", GetLastError());
    }
    TOKEN_MANDATORY_LABEL label = {{sbx_sid_known(SBX_SID_LOW_INTEGRITY), SE_GROUP_INTEGRITY}};
    if (!sbx_win()->SetTokenInformation(held->token, TokenIntegrityLevel, &label, sizeof label)) {
        return failed(held, "SetTokenInformation", GetLastError());
    }
    return true;
}

static bool make_job(struct held *held)
{
    const struct nt_run *run = held->run;
    held->job = sbx_win()->CreateJobObjectW(NULL, NULL);
    held->port = sbx_win()->CreateIoCompletionPort(INVALID_HANDLE_VALUE, NULL, 0, 1);
    if (held->job == NULL || held->port == NULL) {
        return failed(held, "CreateJobObjectW", GetLastError());
    }
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {
        .BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | run->limit_flags,
        .BasicLimitInformation.ActiveProcessLimit = run->processes,
        .BasicLimitInformation.PerJobUserTimeLimit.QuadPart = (LONGLONG)run->job_time_ms * 10000,
        .BasicLimitInformation.PerProcessUserTimeLimit.QuadPart =
            (LONGLONG)run->process_time_ms * 10000,
        .ProcessMemoryLimit = run->process_memory_bytes,
        .JobMemoryLimit = run->job_memory_bytes,
    };
    JOBOBJECT_ASSOCIATE_COMPLETION_PORT port = {NULL, held->port};
    JOBOBJECT_BASIC_UI_RESTRICTIONS ui = {run->ui_limits};
    if (!sbx_win()->SetInformationJobObject(held->job, JobObjectExtendedLimitInformation, &limits,
                                            sizeof limits) ||
        !sbx_win()->SetInformationJobObject(held->job, JobObjectAssociateCompletionPortInformation,
                                            &port, sizeof port) ||
        (ui.UIRestrictionsClass != 0 &&
         !sbx_win()->SetInformationJobObject(held->job, JobObjectBasicUIRestrictions, &ui,
                                             sizeof ui))) {
        return failed(held, "SetInformationJobObject", GetLastError());
    }
    return true;
}

static bool make_pipe(struct held *held)
{
    if (!sbx_win()->CreatePipe(&held->read, &held->write, NULL, 0) ||
        !sbx_win()->SetHandleInformation(held->write, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT)) {
        return failed(held, "CreatePipe", GetLastError());
    }
    return true;
}

static bool start(struct held *held)
{
    const struct nt_run *run = held->run;
    struct {
        BYTE bytes[16];
    } network = {{1, 2, 0, 0, 0, 0, 0, 15, 3, 0, 0, 0, (BYTE)run->network}};
    SID_AND_ATTRIBUTES selected[2];
    DWORD count = 0;
    if (run->network != 0) {
        selected[count++] = (SID_AND_ATTRIBUTES){&network, SE_GROUP_ENABLED};
    }
    if (held->capability_count > 0) {
        selected[count++] = (SID_AND_ATTRIBUTES){held->capabilities[0], SE_GROUP_ENABLED};
    }
    SECURITY_CAPABILITIES capabilities = {held->sid, selected, count, 0};
    DWORD packages = 1;
    SIZE_T size = sizeof held->room;
    LPPROC_THREAD_ATTRIBUTE_LIST list = (void *)held->room;
    if (!sbx_win()->InitializeProcThreadAttributeList(list, 4, 0, &size)) {
        return failed(held, "InitializeProcThreadAttributeList", GetLastError());
    }
    held->list = list;
    if (!sbx_win()->UpdateProcThreadAttribute(list, 0, PROC_THREAD_ATTRIBUTE_SECURITY_CAPABILITIES,
                                              &capabilities, sizeof capabilities, NULL, NULL) ||
        !sbx_win()->UpdateProcThreadAttribute(list, 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST,
                                              &held->write, sizeof held->write, NULL, NULL) ||
        !sbx_win()->UpdateProcThreadAttribute(list, 0, PROC_THREAD_ATTRIBUTE_JOB_LIST, &held->job,
                                              sizeof held->job, NULL, NULL) ||
        (run->is_lpac && !sbx_win()->UpdateProcThreadAttribute(
                             list, 0, PROC_THREAD_ATTRIBUTE_ALL_APPLICATION_PACKAGES_POLICY,
                             &packages, sizeof packages, NULL, NULL))) {
        return failed(held, "UpdateProcThreadAttribute", GetLastError());
    }
    wchar_t line[] = L"cmd.exe /c x";
    wchar_t environment[] = L"A=1\0B=2\0";
    STARTUPINFOEXW info = {
        .StartupInfo.cb = sizeof info,
        .StartupInfo.dwFlags = STARTF_USESTDHANDLES,
        .StartupInfo.hStdOutput = held->write,
        .StartupInfo.hStdError = held->write,
        .StartupInfo.lpDesktop = (wchar_t *)(ULONG_PTR)run->desktop,
        .lpAttributeList = list,
    };
    if (!sbx_win()->CreateProcessAsUserW(
            held->token, run->program != NULL ? run->program : L"C:\\Windows\\System32\\cmd.exe",
            line, NULL, NULL, TRUE,
            CREATE_SUSPENDED | EXTENDED_STARTUPINFO_PRESENT | CREATE_UNICODE_ENVIRONMENT |
                run->creation_flags,
            environment, run->directory != NULL ? run->directory : L"C:\\Windows",
            &info.StartupInfo, &held->child)) {
        return failed(held, "CreateProcessAsUserW", GetLastError());
    }
    return true;
}

static bool verify(struct held *held)
{
    struct nt_run *run = held->run;
    HANDLE token = NULL;
    BOOL is_in = FALSE;
    DWORD box = 0;
    DWORD size;
    _Alignas(8) BYTE label[64];
    if (!sbx_win()->OpenProcessToken(held->child.hProcess, TOKEN_QUERY, &token)) {
        return failed(held, "OpenProcessToken", GetLastError());
    }
    bool told =
        sbx_win()->IsProcessInJob(held->child.hProcess, held->job, &is_in) &&
        sbx_win()->GetTokenInformation(token, TokenIsAppContainer, &box, sizeof box, &size) &&
        sbx_win()->GetTokenInformation(token, TokenIntegrityLevel, label, sizeof label, &size);
    DWORD code = GetLastError();
    (void)sbx_win()->CloseHandle(token);
    if (!told) {
        return failed(held, "GetTokenInformation", code);
    }
    run->was_in_job = is_in;
    run->was_box = box != 0;
    run->integrity = sbx_sid_last(((TOKEN_MANDATORY_LABEL *)(void *)label)->Label.Sid);
    return true;
}

static bool carry(struct held *held)
{
    struct nt_run *run = held->run;
    (void)sbx_win()->CloseHandle(held->write);
    held->write = NULL;
    if (sbx_win()->ResumeThread(held->child.hThread) != 1) {
        return failed(held, "ResumeThread", GetLastError());
    }
    DWORD len = 0;
    DWORD got;
    while (len < sizeof run->output - 1 &&
           sbx_win()->ReadFile(held->read, run->output + len, sizeof run->output - 1 - len, &got,
                               NULL)) {
        len += got;
    }
    (void)sbx_win()->WaitForSingleObject(held->child.hProcess, INFINITE);
    (void)sbx_win()->GetExitCodeProcess(held->child.hProcess, &run->exit_code);
    (void)sbx_win()->TerminateJobObject(held->job, 1);
    ULONG_PTR key;
    LPOVERLAPPED value;
    while (run->message_count < 32 &&
           sbx_win()->GetQueuedCompletionStatus(held->port, &run->messages[run->message_count],
                                                &key, &value, 0)) {
        run->message_count++;
    }
    return true;
}

static void drop(HANDLE handle)
{
    if (handle != NULL) {
        (void)sbx_win()->CloseHandle(handle);
    }
}

static void release(struct held *held)
{
    if (held->child.hProcess != NULL) {
        (void)sbx_win()->TerminateJobObject(held->job, 1);
    }
    drop(held->child.hThread);
    drop(held->child.hProcess);
    if (held->list != NULL) {
        sbx_win()->DeleteProcThreadAttributeList(held->list);
    }
    drop(held->write);
    drop(held->read);
    drop(held->port);
    drop(held->job);
    drop(held->token);
    drop(held->own);
    for (DWORD i = 0; i < held->capability_count; i++) {
        (void)sbx_win()->LocalFree(held->capabilities[i]);
    }
    for (DWORD i = 0; i < held->group_count; i++) {
        (void)sbx_win()->LocalFree(held->groups[i]);
    }
    (void)sbx_win()->LocalFree(held->capabilities);
    (void)sbx_win()->LocalFree(held->groups);
    if (held->sid != NULL) {
        (void)sbx_win()->FreeSid(held->sid);
    }
    if (held->has_profile) {
        (void)sbx_win()->DeleteAppContainerProfile(PROFILE);
    }
}

void nt_run(struct nt_run *run)
{
    struct held held = {.run = run};
    if (make_profile(&held) && make_token(&held) && make_job(&held) && make_pipe(&held) &&
        start(&held) && verify(&held)) {
        (void)carry(&held);
    }
    release(&held);
}
