/* Attempts on processes, handles and pipes, and what goes on after the attempt. */
#include <stdio.h>

#include "win/handle.h"
#include "win/selftest.h"

#include "common/base/banned.h"

/* ---- other processes ---- */

static void try_open_process(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    DWORD rights = (DWORD)sbx_attempt_number(arguments[1]);
    AUTO_HANDLE process = OpenProcess(rights, FALSE, (DWORD)sbx_attempt_number(arguments[0]));
    if (process == NULL) {
        DWORD raw = GetLastError();
        if (raw == ERROR_INVALID_PARAMETER) { /* what Windows says of a process that is not there */
            sbx_reply(reply, SBX_ANSWER_ABSENT, "OpenProcess %s: %lu", arguments[0], raw);
        } else {
            sbx_reply_win32(reply, raw, "OpenProcess", arguments[0]);
        }
        return;
    }
    sbx_reply(reply, SBX_ANSWER_DONE, "opened process %s with %s", arguments[0], arguments[1]);
}

/* A child under a foreign parent would have the parent's token and be outside the job. */
static void try_foreign_parent(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    _Alignas(16) BYTE storage[256];
    LPPROC_THREAD_ATTRIBUTE_LIST list = (LPPROC_THREAD_ATTRIBUTE_LIST)(void *)storage;
    SIZE_T size = sizeof storage;
    wchar_t line[] = L"cmd.exe /c exit 0";
    STARTUPINFOEXW info = {.StartupInfo.cb = sizeof info};
    PROCESS_INFORMATION child = {0};
    HANDLE parent =
        OpenProcess(PROCESS_CREATE_PROCESS, FALSE, (DWORD)sbx_attempt_number(arguments[0]));
    AUTO_HANDLE kept = parent;
    if (kept == NULL || !InitializeProcThreadAttributeList(list, 1, 0, &size) ||
        !UpdateProcThreadAttribute(list, 0, PROC_THREAD_ATTRIBUTE_PARENT_PROCESS, &parent,
                                   sizeof parent, NULL, NULL)) {
        DWORD raw = GetLastError();
        sbx_reply_win32(reply, raw, "take for a parent process", arguments[0]);
        return;
    }
    info.lpAttributeList = list;
    BOOL made = CreateProcessW(NULL, line, NULL, NULL, FALSE, EXTENDED_STARTUPINFO_PRESENT, NULL,
                               NULL, &info.StartupInfo, &child);
    DWORD raw = GetLastError();
    DeleteProcThreadAttributeList(list);
    sbx_handle_close(&child.hThread);
    sbx_handle_close(&child.hProcess);
    if (made) {
        sbx_reply(reply, SBX_ANSWER_DONE, "started a child of process %s", arguments[0]);
    } else {
        sbx_reply_win32(reply, raw, "start a child of process", arguments[0]);
    }
}

/* ---- handles and pipes ---- */

/* The value of a handle that the self-test holds open for reading its secret. */
static void try_handle(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    char block[16];
    DWORD got = 0;
    OVERLAPPED at = {0};
    HANDLE handle = (HANDLE)(uintptr_t)sbx_attempt_number(arguments[0]);
    if (!ReadFile(handle, block, 8, &got, &at)) {
        DWORD raw = GetLastError();
        sbx_reply_win32(reply, raw, "ReadFile of handle", arguments[0]);
        return;
    }
    block[got] = '\0';
    if (sbx_text_eq(block, "planted:")) {
        sbx_reply(reply, SBX_ANSWER_DONE, "read the secret through handle %s", arguments[0]);
    } else {
        sbx_reply(reply, SBX_ANSWER_ABSENT, "handle %s is another file here", arguments[0]);
    }
}

static void try_pipe(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    AUTO_HANDLE pipe =
        CreateNamedPipeW(sbx_attempt_wide(arguments[0]), PIPE_ACCESS_DUPLEX, PIPE_TYPE_BYTE,
                         PIPE_UNLIMITED_INSTANCES, 4096, 4096, 0, NULL);
    if (!sbx_handle_is_open(pipe)) {
        DWORD raw = GetLastError();
        sbx_reply_win32(reply, raw, "CreateNamedPipeW", arguments[0]);
        return;
    }
    sbx_reply(reply, SBX_ANSWER_DONE, "made the pipe %s", arguments[0]);
}

/* ---- leaving ---- */

static void try_breakaway(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)arguments;
    (void)count;
    PROCESS_INFORMATION child = {0};
    BOOL is_in = FALSE;
    if (!sbx_attempt_start(L"nothing", CREATE_BREAKAWAY_FROM_JOB | CREATE_SUSPENDED, &child)) {
        DWORD raw = GetLastError();
        sbx_reply_win32(reply, raw, "CREATE_BREAKAWAY_FROM_JOB", "");
        return;
    }
    bool is_out = IsProcessInJob(child.hProcess, NULL, &is_in) && !is_in;
    (void)TerminateProcess(child.hProcess, 0);
    sbx_handle_close(&child.hThread);
    sbx_handle_close(&child.hProcess);
    if (is_out) {
        sbx_reply(reply, SBX_ANSWER_DONE, "a child is in no job");
    } else {
        sbx_reply(reply, SBX_ANSWER_DENIED, "the child is still in a job");
    }
}

static void make_file(const char *name)
{
    HANDLE file =
        CreateFileW(sbx_attempt_wide(name), GENERIC_WRITE, 0, NULL, CREATE_ALWAYS, 0, NULL);
    sbx_handle_close(&file);
}

/* What the process that is left behind does. */
static void try_later(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    Sleep((DWORD)sbx_attempt_number(arguments[1]));
    make_file(arguments[0]);
    sbx_reply(reply, SBX_ANSWER_DONE, "made %s", arguments[0]);
}

static void try_leave(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    char words[1200];
    PROCESS_INFORMATION child = {0};
    (void)snprintf(words, sizeof words, "later \"%.1000s\" %.20s", arguments[0], arguments[1]);
    if (!sbx_attempt_start(sbx_attempt_wide(words), DETACHED_PROCESS | CREATE_NEW_PROCESS_GROUP,
                           &child)) {
        DWORD raw = GetLastError();
        sbx_reply_win32(reply, raw, "CreateProcessW", "");
        return;
    }
    sbx_handle_close(&child.hThread);
    sbx_handle_close(&child.hProcess);
    sbx_reply(reply, SBX_ANSWER_DONE, "left a process behind");
}

static void try_mark(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    make_file(arguments[0]);
    if (GetFileAttributesW(sbx_attempt_wide(arguments[0])) == INVALID_FILE_ATTRIBUTES) {
        DWORD raw = GetLastError();
        sbx_reply_win32(reply, raw, "make", arguments[0]);
        return;
    }
    Sleep((DWORD)sbx_attempt_number(arguments[2]));
    make_file(arguments[1]);
    sbx_reply(reply, SBX_ANSWER_DONE, "went on for %s ms", arguments[2]);
}

const struct sbx_attempt sbx_attempts_process[] = {
    {"open-process", "PID RIGHTS", "opens a process", 2, try_open_process},
    {"foreign-parent", "PID", "starts a child of another process", 1, try_foreign_parent},
    {"handle", "VALUE", "reads through an inherited handle", 1, try_handle},
    {"pipe", "NAME", "makes a named pipe", 1, try_pipe},
    {"breakaway", "", "starts a child outside the job", 0, try_breakaway},
    {"later", "FILE MS", "waits, then makes FILE", 2, try_later},
    {"leave", "FILE MS", "leaves a process behind that makes FILE later", 2, try_leave},
    {"mark", "FILE LATER MS", "makes FILE, waits, makes LATER", 3, try_mark},
    SBX_SELFTEST_ALONE,
};
