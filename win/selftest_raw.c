/* A box by hand. */
#include <windows.h>

#include <aclapi.h>
#include <stdio.h>
#include <string.h>

#include "win/handle.h"
#include "win/selftest_raw.h"
#include "win/sid.h"
#include "win/wide.h"

#include "common/base/banned.h"

#define WAIT_MS 20000
#define LINE_MAX_UNITS 2048

/* ---- profile ---- */

HRESULT sbx_raw_open(struct sbx_raw_profile *out)
{
    static LONG serial;
    AUTO_ARENA arena;
    wchar_t *text = NULL;
    sbx_arena_init(&arena, 4096);
    *out = (struct sbx_raw_profile){.sid = NULL};
    if (sbx_win()->CreateAppContainerProfile == NULL ||
        sbx_win()->DeleteAppContainerProfile == NULL ||
        sbx_win()->GetAppContainerFolderPath == NULL) {
        return E_NOTIMPL;
    }
    (void)_snwprintf(out->name, SBX_COUNT(out->name), L"sbx.selftest.%lu.%ld",
                     GetCurrentProcessId(), InterlockedIncrement(&serial));
    HRESULT result =
        sbx_win()->CreateAppContainerProfile(out->name, out->name, out->name, NULL, 0, &out->sid);
    if (SUCCEEDED(result) &&
        sbx_wide_from(&arena, sbx_sid_text(&arena, out->sid), &text, NULL) == SBX_OK) {
        (void)sbx_win()->GetAppContainerFolderPath(text, &out->folder);
    }
    return result;
}

void sbx_raw_close(struct sbx_raw_profile *profile)
{
    if (profile->sid != NULL) {
        (void)sbx_win()->FreeSid(profile->sid);
        (void)sbx_win()->DeleteAppContainerProfile(profile->name);
        sbx_win()->CoTaskMemFree(profile->folder);
        profile->sid = NULL;
    }
}

DWORD sbx_raw_grant(const struct sbx_raw_profile *profile, wchar_t *directory, bool may_write)
{
    AUTO_LOCAL PSECURITY_DESCRIPTOR descriptor = NULL;
    AUTO_LOCAL PACL made = NULL;
    PACL list = NULL;
    EXPLICIT_ACCESSW entry = {
        .grfAccessPermissions = GENERIC_READ | GENERIC_EXECUTE | (may_write ? GENERIC_WRITE : 0),
        .grfAccessMode = GRANT_ACCESS,
        .grfInheritance = SUB_CONTAINERS_AND_OBJECTS_INHERIT,
        .Trustee = {.TrusteeForm = TRUSTEE_IS_SID, .ptstrName = (LPWSTR)profile->sid},
    };
    DWORD raw = GetNamedSecurityInfoW(directory, SE_FILE_OBJECT, DACL_SECURITY_INFORMATION, NULL,
                                      NULL, &list, NULL, &descriptor);
    if (raw == ERROR_SUCCESS) {
        raw = SetEntriesInAclW(1, &entry, list, &made);
    }
    if (raw == ERROR_SUCCESS) {
        raw = SetNamedSecurityInfoW(directory, SE_FILE_OBJECT, DACL_SECURITY_INFORMATION, NULL,
                                    NULL, made, NULL);
    }
    return raw;
}

/* ---- token ---- */

static bool make_token(const struct sbx_raw_plan *plan, HANDLE *out, const char **call)
{
    AUTO_HANDLE own = NULL;
    SID_AND_ATTRIBUTES denied[3];
    DWORD count = 0;
    PSID low = sbx_sid_known(SBX_SID_LOW_INTEGRITY);
    TOKEN_MANDATORY_LABEL label = {.Label = {.Sid = low, .Attributes = SE_GROUP_INTEGRITY}};
    if ((plan->deny & SBX_RAW_DENY_ADMINS) != 0) {
        denied[count++].Sid = sbx_sid_known(SBX_SID_ADMINISTRATORS);
    }
    if ((plan->deny & SBX_RAW_DENY_USERS) != 0) {
        denied[count++].Sid = sbx_sid_known(SBX_SID_USERS);
        denied[count++].Sid = sbx_sid_known(SBX_SID_AUTHENTICATED_USERS);
    }
    for (DWORD i = 0; i < count; i++) {
        denied[i].Attributes = 0;
    }
    *call = "OpenProcessToken";
    if (!sbx_win()->OpenProcessToken(
            sbx_win()->GetCurrentProcess(),
            TOKEN_QUERY | TOKEN_DUPLICATE | TOKEN_ASSIGN_PRIMARY | TOKEN_ADJUST_DEFAULT, &own)) {
        return false;
    }
    *call = "CreateRestrictedToken";
    if (!sbx_win()->CreateRestrictedToken(own, DISABLE_MAX_PRIVILEGE, count, denied, 0, NULL, 0,
                                          NULL, out)) {
        return false;
    }
    *call = "SetTokenInformation";
    return plan->token != SBX_RAW_RESTRICTED_LOW ||
           sbx_win()->SetTokenInformation(*out, TokenIntegrityLevel, &label,
                                          (DWORD)(sizeof label + GetLengthSid(low)));
}

/* ---- job ---- */

static HANDLE make_job(DWORD ui)
{
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {0};
    JOBOBJECT_BASIC_UI_RESTRICTIONS restrictions = {ui};
    HANDLE job = sbx_win()->CreateJobObjectW(NULL, NULL);
    limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
    if (job != NULL &&
        (!sbx_win()->SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits,
                                             sizeof limits) ||
         (ui != 0 && !sbx_win()->SetInformationJobObject(job, JobObjectBasicUIRestrictions,
                                                         &restrictions, sizeof restrictions)))) {
        sbx_handle_close(&job);
    }
    return job;
}

/* ---- start ---- */

struct birth {
    _Alignas(16) BYTE room[1024];
    LPPROC_THREAD_ATTRIBUTE_LIST list; /* NULL: none was made */
    SECURITY_CAPABILITIES security;
    HANDLE jobs[2];
    HANDLE token;
    wchar_t line[LINE_MAX_UNITS];
};

static void release_birth(struct birth *birth)
{
    if (birth->list != NULL) {
        sbx_win()->DeleteProcThreadAttributeList(birth->list);
    }
    sbx_handle_close(&birth->jobs[0]);
    sbx_handle_close(&birth->jobs[1]);
    sbx_handle_close(&birth->token);
}

static bool make_list(struct birth *birth, DWORD jobs)
{
    SIZE_T size = sizeof birth->room;
    LPPROC_THREAD_ATTRIBUTE_LIST list = (LPPROC_THREAD_ATTRIBUTE_LIST)(void *)birth->room;
    if (!sbx_win()->InitializeProcThreadAttributeList(list, 2, 0, &size)) {
        return false;
    }
    birth->list = list;
    return sbx_win()->UpdateProcThreadAttribute(
               list, 0, PROC_THREAD_ATTRIBUTE_SECURITY_CAPABILITIES, &birth->security,
               sizeof birth->security, NULL, NULL) &&
           sbx_win()->UpdateProcThreadAttribute(list, 0, PROC_THREAD_ATTRIBUTE_JOB_LIST,
                                                birth->jobs, jobs * sizeof birth->jobs[0], NULL,
                                                NULL);
}

static bool start(struct birth *birth, const struct sbx_raw_plan *plan, const wchar_t *line,
                  PROCESS_INFORMATION *child, const char **call)
{
    STARTUPINFOEXW info = {.StartupInfo.cb = sizeof info};
    DWORD flags = EXTENDED_STARTUPINFO_PRESENT | plan->flags;
    bool is_two = plan->ui_apart;
    *call = "CreateJobObjectW";
    birth->jobs[0] = make_job(is_two ? 0 : plan->ui);
    birth->jobs[1] = is_two ? make_job(plan->ui) : NULL;
    if (birth->jobs[0] == NULL || (is_two && birth->jobs[1] == NULL)) {
        return false;
    }
    *call = "UpdateProcThreadAttribute";
    if (!make_list(birth, is_two ? 2 : 1)) {
        return false;
    }
    info.lpAttributeList = birth->list;
    (void)_snwprintf(birth->line, SBX_COUNT(birth->line), L"%ls", line);
    if (plan->token == SBX_RAW_PLAIN) {
        *call = "CreateProcessW";
        return sbx_win()->CreateProcessW(NULL, birth->line, NULL, NULL, FALSE, flags, NULL, NULL,
                                         &info.StartupInfo, child) != 0;
    }
    if (!make_token(plan, &birth->token, call)) {
        return false;
    }
    *call = "CreateProcessAsUserW";
    return sbx_win()->CreateProcessAsUserW(birth->token, NULL, birth->line, NULL, NULL, FALSE,
                                           flags, NULL, NULL, &info.StartupInfo, child) != 0;
}

void sbx_raw_run(const struct sbx_raw_profile *profile, const struct sbx_raw_plan *plan,
                 const wchar_t *line, struct sbx_raw_end *out)
{
    SBX_CLEANUP(release_birth) struct birth birth = {.list = NULL};
    PROCESS_INFORMATION child = {0};
    *out = (struct sbx_raw_end){.call = NULL};
    birth.security = (SECURITY_CAPABILITIES){.AppContainerSid = profile->sid};
    if (!start(&birth, plan, line, &child, &out->call)) {
        out->raw = GetLastError();
        return;
    }
    out->call = NULL;
    out->status = STILL_ACTIVE;
    (void)sbx_win()->WaitForSingleObject(child.hProcess, WAIT_MS);
    (void)sbx_win()->GetExitCodeProcess(child.hProcess, &out->status);
    (void)sbx_win()->TerminateJobObject(birth.jobs[0], 1);
    (void)sbx_win()->WaitForSingleObject(child.hProcess, WAIT_MS);
    sbx_handle_close(&child.hThread);
    sbx_handle_close(&child.hProcess);
}
