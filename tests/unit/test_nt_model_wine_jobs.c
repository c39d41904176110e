/* Where Wine implements the same as the model of the NT kernel, both must answer alike: processes, jobs, tokens. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "tests/check.h"
#include "tests/unit/nt_stage.h"
#include "win/sid.h"

#include "common/base/banned.h"

enum { SOON_MS = 10000, LIST_BYTES = 512 };

/* ---- starting ---------------------------------------------------------------------------------------------- */

static void do_starts(struct nt_stage *stage)
{
    const struct sbx_winapi *win = stage->win;
    PROCESS_INFORMATION child;
    nt_stage_told(stage, "start", nt_stage_start(stage, "exit 42", FALSE, 0, NULL, &child));
    nt_stage_say(stage, "exit %lu", nt_stage_finish(stage, &child));
    nt_stage_told(stage, "start suspended",
                  nt_stage_start(stage, "exit 43", FALSE, CREATE_SUSPENDED, NULL, &child));
    nt_stage_say(stage, "waits %lu", win->WaitForSingleObject(child.hProcess, 30));
    DWORD code = 0;
    nt_stage_told(stage, "ask", win->GetExitCodeProcess(child.hProcess, &code));
    nt_stage_say(stage, "so far %lu", code);
    nt_stage_say(stage, "same id %d", win->GetProcessId(child.hProcess) == child.dwProcessId);
    nt_stage_say(stage, "resume %lu", win->ResumeThread(child.hThread));
    nt_stage_say(stage, "exit %lu", nt_stage_finish(stage, &child));
    nt_stage_told(stage, "start suspended",
                  nt_stage_start(stage, "exit 1", FALSE, CREATE_SUSPENDED, NULL, &child));
    nt_stage_told(stage, "end", win->TerminateProcess(child.hProcess, 77));
    nt_stage_say(stage, "exit %lu", nt_stage_finish(stage, &child));
    nt_stage_told(stage, "end nobody", win->TerminateProcess(child.hProcess, 77));
    HANDLE opened =
        win->OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, FALSE, win->GetCurrentProcessId());
    nt_stage_told(stage, "open", opened != NULL);
    nt_stage_told(stage, "end without the right", win->TerminateProcess(opened, 1));
    (void)win->CloseHandle(opened);
    opened = win->OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, FALSE, 0xFFFFFFF0);
    nt_stage_told(stage, "open nobody", opened != NULL);
    wchar_t line[] = L"x";
    STARTUPINFOW info = {.cb = sizeof info};
    wchar_t none[MAX_PATH];
    (void)swprintf(none, MAX_PATH, L"%lsnone.exe", stage->directory);
    nt_stage_told(stage, "start nothing",
                  win->CreateProcessW(none, line, NULL, NULL, FALSE, 0, NULL, NULL, &info, &child));
    (void)swprintf(none, MAX_PATH, L"%lsnone\\none.exe", stage->directory);
    nt_stage_told(stage, "start nowhere",
                  win->CreateProcessW(none, line, NULL, NULL, FALSE, 0, NULL, NULL, &info, &child));
    nt_stage_told(
        stage, "start in nothing",
        win->CreateProcessW(stage->program, line, NULL, NULL, FALSE, 0, NULL, none, &info, &child));
}

static void starts_agree(void)
{
    nt_stage_compare(do_starts, 19);
}

/* ---- handle lists -------------------------------------------------------------------------------------------- */

struct list {
    LPPROC_THREAD_ATTRIBUTE_LIST it;
    _Alignas(16) unsigned char room[LIST_BYTES];
};

static bool begin(struct nt_stage *stage, struct list *list)
{
    SIZE_T size = sizeof list->room;
    list->it = (void *)list->room;
    return stage->win->InitializeProcThreadAttributeList(list->it, 2, 0, &size);
}

static void inherit(struct nt_stage *stage, const char *name, HANDLE *handles, size_t count,
                    BOOL inherits, HANDLE watched)
{
    struct list list;
    PROCESS_INFORMATION child;
    char task[64];
    (void)snprintf(task, sizeof task, "handle %llu", (unsigned long long)(ULONG_PTR)watched);
    if (!begin(stage, &list) ||
        !stage->win->UpdateProcThreadAttribute(list.it, 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST,
                                               handles, count * sizeof *handles, NULL, NULL)) {
        nt_stage_told(stage, name, FALSE);
        return;
    }
    BOOL started = nt_stage_start(stage, task, inherits, 0, list.it, &child);
    nt_stage_told(stage, name, started);
    if (started) {
        nt_stage_say(stage, "has %lu", nt_stage_finish(stage, &child));
    }
    stage->win->DeleteProcThreadAttributeList(list.it);
}

static void do_handle_lists(struct nt_stage *stage)
{
    const struct sbx_winapi *win = stage->win;
    SECURITY_ATTRIBUTES inheritable = {sizeof inheritable, NULL, TRUE};
    HANDLE listed = win->CreateEventW(&inheritable, TRUE, FALSE, NULL);
    HANDLE other = win->CreateEventW(&inheritable, TRUE, FALSE, NULL);
    HANDLE list[2] = {listed, other};
    inherit(stage, "one", list, 1, TRUE, listed);
    inherit(stage, "not the other", list, 1, TRUE, other);
    inherit(stage, "both", list, 2, TRUE, other);
    /* One that is not inheritable is refused by Windows, and left out by Wine. */
    PROCESS_INFORMATION child;
    char task[64];
    (void)snprintf(task, sizeof task, "handle %llu", (unsigned long long)(ULONG_PTR)other);
    nt_stage_told(stage, "everything", nt_stage_start(stage, task, TRUE, 0, NULL, &child));
    nt_stage_say(stage, "has %lu", nt_stage_finish(stage, &child));
    nt_stage_told(stage, "nothing", nt_stage_start(stage, task, FALSE, 0, NULL, &child));
    nt_stage_say(stage, "has %lu", nt_stage_finish(stage, &child));
    (void)win->CloseHandle(listed);
    (void)win->CloseHandle(other);
}

static void handle_lists_agree(void)
{
    nt_stage_compare(do_handle_lists, 10);
}

static void do_attributes(struct nt_stage *stage)
{
    const struct sbx_winapi *win = stage->win;
    _Alignas(16) unsigned char room[LIST_BYTES];
    LPPROC_THREAD_ATTRIBUTE_LIST list = (void *)room;
    HANDLE handles[2] = {NULL, NULL};
    SIZE_T size = 0;
    nt_stage_told(stage, "ask for the size",
                  win->InitializeProcThreadAttributeList(NULL, 1, 0, &size));
    nt_stage_say(stage, "fits %d", size > 0 && size <= sizeof room);
    size = 4;
    nt_stage_told(stage, "too small", win->InitializeProcThreadAttributeList(list, 1, 0, &size));
    size = sizeof room;
    nt_stage_told(stage, "begin", win->InitializeProcThreadAttributeList(list, 2, 0, &size));
    static const struct {
        DWORD_PTR attribute;
        SIZE_T size;
    } rows[] = {
        {0x2FFFF, 8}, /* unknown */
        {PROC_THREAD_ATTRIBUTE_PARENT_PROCESS, 4},
        {PROC_THREAD_ATTRIBUTE_HANDLE_LIST, 7},
        {PROC_THREAD_ATTRIBUTE_HANDLE_LIST, 16},
        {PROC_THREAD_ATTRIBUTE_HANDLE_LIST, 16}, /* twice */
        {PROC_THREAD_ATTRIBUTE_JOB_LIST, 8},
        {PROC_THREAD_ATTRIBUTE_PARENT_PROCESS, 8}, /* no room */
    };
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        nt_stage_told(stage, "put",
                      win->UpdateProcThreadAttribute(list, 0, rows[i].attribute, handles,
                                                     rows[i].size, NULL, NULL));
    }
    win->DeleteProcThreadAttributeList(list);
}

static void attributes_agree(void)
{
    nt_stage_compare(do_attributes, 10);
}

/* ---- jobs ---------------------------------------------------------------------------------------------------- */

static DWORD active(struct nt_stage *stage, HANDLE job)
{
    JOBOBJECT_BASIC_ACCOUNTING_INFORMATION info = {0};
    (void)stage->win->QueryInformationJobObject(job, JobObjectBasicAccountingInformation, &info,
                                                sizeof info, NULL);
    return info.ActiveProcesses;
}

static void await_active(struct nt_stage *stage, HANDLE job, DWORD count)
{
    ULONGLONG until = GetTickCount64() + SOON_MS;
    while (active(stage, job) != count && GetTickCount64() < until) {
        Sleep(2);
    }
    nt_stage_say(stage, "active %lu", active(stage, job));
}

static HANDLE make_job(struct nt_stage *stage, DWORD flags, HANDLE *port)
{
    HANDLE job = stage->win->CreateJobObjectW(NULL, NULL);
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {.BasicLimitInformation.LimitFlags = flags};
    nt_stage_told(stage, "limits",
                  stage->win->SetInformationJobObject(job, JobObjectExtendedLimitInformation,
                                                      &limits, sizeof limits));
    if (port != NULL) {
        *port = stage->win->CreateIoCompletionPort(INVALID_HANDLE_VALUE, NULL, 0, 1);
        JOBOBJECT_ASSOCIATE_COMPLETION_PORT associated = {(PVOID)(ULONG_PTR)5, *port};
        nt_stage_told(
            stage, "port",
            stage->win->SetInformationJobObject(job, JobObjectAssociateCompletionPortInformation,
                                                &associated, sizeof associated));
    }
    return job;
}

static bool start_in(struct nt_stage *stage, HANDLE job, const char *task,
                     PROCESS_INFORMATION *child)
{
    struct list list;
    if (!begin(stage, &list) ||
        !stage->win->UpdateProcThreadAttribute(list.it, 0, PROC_THREAD_ATTRIBUTE_JOB_LIST, &job,
                                               sizeof job, NULL, NULL)) {
        return false;
    }
    BOOL started = nt_stage_start(stage, task, FALSE, CREATE_SUSPENDED, list.it, child);
    nt_stage_told(stage, "start in the job", started);
    stage->win->DeleteProcThreadAttributeList(list.it);
    return started;
}

static void do_trees(struct nt_stage *stage)
{
    const struct sbx_winapi *win = stage->win;
    for (int way = 0; way < 2; way++) {
        PROCESS_INFORMATION child;
        HANDLE job = make_job(stage, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE, NULL);
        BOOL is_in = FALSE;
        if (!start_in(stage, job, "tree", &child)) {
            continue;
        }
        nt_stage_told(stage, "ask", win->IsProcessInJob(child.hProcess, job, &is_in));
        nt_stage_say(stage, "in %d, active %lu", is_in != 0, active(stage, job));
        nt_stage_say(stage, "resume %lu", win->ResumeThread(child.hThread));
        await_active(stage, job, 2);
        if (way == 0) {
            nt_stage_told(stage, "terminate", win->TerminateJobObject(job, 9));
            await_active(stage, job, 0);
            (void)win->CloseHandle(job);
        } else {
            nt_stage_told(stage, "close", win->CloseHandle(job));
        }
        nt_stage_say(stage, "exit %lu", nt_stage_finish(stage, &child));
    }
}

static void trees_agree(void)
{
    nt_stage_compare(do_trees, 14);
}

static void do_messages(struct nt_stage *stage)
{
    const struct sbx_winapi *win = stage->win;
    PROCESS_INFORMATION child;
    HANDLE port = NULL;
    HANDLE job = make_job(stage, 0, &port);
    if (!start_in(stage, job, "exit 3", &child)) {
        return;
    }
    DWORD id = child.dwProcessId;
    (void)win->ResumeThread(child.hThread);
    nt_stage_say(stage, "exit %lu", nt_stage_finish(stage, &child));
    for (int i = 0; i < 3; i++) {
        DWORD message = 0;
        ULONG_PTR key = 0;
        LPOVERLAPPED value = NULL;
        nt_stage_told(stage, "message",
                      win->GetQueuedCompletionStatus(port, &message, &key, &value, SOON_MS));
        nt_stage_say(stage, "%lu key %llu about it %d", message, (unsigned long long)key,
                     (ULONG_PTR)value == id);
    }
    DWORD message = 0;
    ULONG_PTR key = 0;
    LPOVERLAPPED value = NULL;
    nt_stage_told(stage, "no more",
                  win->GetQueuedCompletionStatus(port, &message, &key, &value, 10));
    nt_stage_told(stage, "post", win->PostQueuedCompletionStatus(port, 7, 8, NULL));
    nt_stage_told(stage, "posted",
                  win->GetQueuedCompletionStatus(port, &message, &key, &value, 10));
    nt_stage_say(stage, "%lu key %llu", message, (unsigned long long)key);
    (void)win->CloseHandle(job);
    (void)win->CloseHandle(port);
}

static void messages_agree(void)
{
    nt_stage_compare(do_messages, 14);
}

static void do_breakaway(struct nt_stage *stage)
{
    static const DWORD flags[] = {0, JOB_OBJECT_LIMIT_BREAKAWAY_OK};
    for (size_t i = 0; i < SBX_COUNT(flags); i++) {
        PROCESS_INFORMATION child;
        HANDLE job = make_job(stage, flags[i], NULL);
        if (start_in(stage, job, "breakaway", &child)) {
            (void)stage->win->ResumeThread(child.hThread);
            nt_stage_say(stage, "breakaway %lu", nt_stage_finish(stage, &child));
        }
        (void)stage->win->CloseHandle(job);
    }
}

static void breakaway_agrees(void)
{
    nt_stage_compare(do_breakaway, 6);
}

static void do_nesting(struct nt_stage *stage)
{
    const struct sbx_winapi *win = stage->win;
    PROCESS_INFORMATION child;
    HANDLE outer = make_job(stage, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE, NULL);
    HANDLE inner = make_job(stage, 0, NULL);
    nt_stage_told(stage, "start",
                  nt_stage_start(stage, "sleep", FALSE, CREATE_SUSPENDED, NULL, &child));
    nt_stage_told(stage, "outer", win->AssignProcessToJobObject(outer, child.hProcess));
    nt_stage_told(stage, "outer again", win->AssignProcessToJobObject(outer, child.hProcess));
    nt_stage_told(stage, "inner", win->AssignProcessToJobObject(inner, child.hProcess));
    nt_stage_say(stage, "active %lu %lu", active(stage, outer), active(stage, inner));
    nt_stage_told(stage, "close the inner", win->CloseHandle(inner));
    nt_stage_say(stage, "alive %lu", win->WaitForSingleObject(child.hProcess, 30));
    nt_stage_told(stage, "close the outer", win->CloseHandle(outer));
    nt_stage_say(stage, "exit %lu", nt_stage_finish(stage, &child));
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION bad = {.BasicLimitInformation.LimitFlags = 0x00800000};
    JOBOBJECT_BASIC_LIMIT_INFORMATION basic = {.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE};
    HANDLE job = win->CreateJobObjectW(NULL, NULL);
    nt_stage_told(
        stage, "unknown flag",
        win->SetInformationJobObject(job, JobObjectExtendedLimitInformation, &bad, sizeof bad));
    nt_stage_told(
        stage, "extended flag in the basic ones",
        win->SetInformationJobObject(job, JobObjectBasicLimitInformation, &basic, sizeof basic));
    (void)win->CloseHandle(job);
}

static void nesting_agrees(void)
{
    nt_stage_compare(do_nesting, 13);
}

/* ---- tokens ----------------------------------------------------------------------------------------------------- */

static DWORD attributes_of(struct nt_stage *stage, HANDLE token, PSID sid)
{
    _Alignas(8) BYTE room[8192];
    DWORD size = 0;
    const TOKEN_GROUPS *groups = (const TOKEN_GROUPS *)(const void *)room;
    if (!stage->win->GetTokenInformation(token, TokenGroups, room, sizeof room, &size)) {
        return MAXDWORD;
    }
    for (DWORD i = 0; i < groups->GroupCount; i++) {
        if (sbx_sid_eq(groups->Groups[i].Sid, sid)) {
            return groups->Groups[i].Attributes & (SE_GROUP_ENABLED | SE_GROUP_USE_FOR_DENY_ONLY);
        }
    }
    return MAXDWORD;
}

static void check_access(struct nt_stage *stage, HANDLE token)
{
    const struct sbx_winapi *win = stage->win;
    GENERIC_MAPPING mapping = {1, 2, 4, 7};
    PSECURITY_DESCRIPTOR descriptor = NULL;
    nt_stage_told(stage, "descriptor",
                  win->ConvertStringSecurityDescriptorToSecurityDescriptorW(
                      L"O:SYG:SYD:(A;;0x3;;;BU)(A;;0x4;;;WD)", SDDL_REVISION_1, &descriptor, NULL));
    static const DWORD asked[] = {1, 2, 4, 7, 8, GENERIC_READ, MAXIMUM_ALLOWED};
    for (size_t i = 0; i < SBX_COUNT(asked); i++) {
        PRIVILEGE_SET set;
        DWORD size = sizeof set;
        DWORD granted = 0;
        BOOL allowed = FALSE;
        BOOL done = win->AccessCheck(descriptor, token, asked[i], &mapping, &set, &size, &granted,
                                     &allowed);
        nt_stage_told(stage, "check", done);
        if (done) {
            nt_stage_say(stage, "asked %lx allowed %d granted %lx", asked[i], allowed != 0,
                         granted);
        }
    }
    (void)win->LocalFree(descriptor);
}

static void do_tokens(struct nt_stage *stage)
{
    const struct sbx_winapi *win = stage->win;
    PSID users = sbx_sid_known(SBX_SID_USERS);
    SID_AND_ATTRIBUTES disabled = {users, 0};
    HANDLE own = NULL;
    HANDLE restricted = NULL;
    HANDLE copy = NULL;
    DWORD size = 0;
    DWORD small = 0;
    nt_stage_told(stage, "open",
                  win->OpenProcessToken(win->GetCurrentProcess(),
                                        TOKEN_QUERY | TOKEN_DUPLICATE | TOKEN_ASSIGN_PRIMARY,
                                        &own));
    nt_stage_told(stage, "ask for the size",
                  win->GetTokenInformation(own, TokenUser, NULL, 0, &size));
    nt_stage_say(stage, "size %d", size > sizeof(TOKEN_USER));
    nt_stage_told(stage, "too small",
                  win->GetTokenInformation(own, TokenUser, &small, sizeof small, &size));
    nt_stage_say(stage, "users %lx", attributes_of(stage, own, users));
    nt_stage_told(stage, "restrict",
                  win->CreateRestrictedToken(own, 0, 1, &disabled, 0, NULL, 0, NULL, &restricted));
    nt_stage_say(stage, "users %lx", attributes_of(stage, restricted, users));
    nt_stage_say(stage, "own users %lx", attributes_of(stage, own, users));
    nt_stage_told(stage, "impersonation",
                  win->DuplicateTokenEx(own, TOKEN_QUERY | TOKEN_IMPERSONATE, NULL,
                                        SecurityImpersonation, TokenImpersonation, &copy));
    check_access(stage, copy);
    (void)win->CloseHandle(copy);
    nt_stage_told(stage, "impersonation",
                  win->DuplicateTokenEx(restricted, TOKEN_QUERY | TOKEN_IMPERSONATE, NULL,
                                        SecurityImpersonation, TokenImpersonation, &copy));
    check_access(stage, copy);
    check_access(stage, own); /* a primary one */
    (void)win->CloseHandle(copy);
    (void)win->CloseHandle(restricted);
    (void)win->CloseHandle(own);
}

static void tokens_agree(void)
{
    nt_stage_compare(do_tokens, 40);
}

int main(int argc, char **argv)
{
    static const struct sbx_test tests[] = {
        {"starts agree", starts_agree},
        {"handle lists agree", handle_lists_agree},
        {"attribute lists agree", attributes_agree},
        {"trees agree", trees_agree},
        {"messages agree", messages_agree},
        {"breakaway agrees", breakaway_agrees},
        {"nesting agrees", nesting_agrees},
        {"tokens agree", tokens_agree},
    };
    int status;
    if (nt_stage_task(argc, argv, &status)) {
        return status;
    }
    return sbx_test_main(argc, argv, "nt_model_agrees_with_wine_on_processes", tests,
                         SBX_COUNT(tests));
}
