/* A worker of the library's own: a child with a pipe on its standard input and another on its output. */
#include "lib/link_win.h"

#include <stdio.h>
#include <stdlib.h>
#include <wchar.h>

#include "common/base/banned.h"

/* Boxes of a worker end with it; on a busy machine that takes a while. */
#define LEAVING_MS 10000
#define PIPE_BYTES (64u << 10)

/* Owned until the worker runs. */
struct start {
    HANDLE ours[2], theirs[2]; /* its input and its output */
    HANDLE job;
    PROCESS_INFORMATION process;
};

static void close_handle(HANDLE *handle)
{
    if (*handle != NULL && *handle != INVALID_HANDLE_VALUE) (void)CloseHandle(*handle);
    *handle = NULL;
}

static void release_start(struct start *start)
{
    for (int i = 0; i < 2; i++) {
        close_handle(&start->ours[i]);
        close_handle(&start->theirs[i]);
    }
    close_handle(&start->job);
    close_handle(&start->process.hThread);
    close_handle(&start->process.hProcess);
}

/* One direction: anonymous pipes have no overlapped end, so it is a named one that only we can have made. */
static bool make_pipe(int index, HANDLE *ours, HANDLE *theirs)
{
    static volatile LONG count;
    wchar_t name[96];
    SECURITY_ATTRIBUTES inherited = {.nLength = sizeof inherited, .bInheritHandle = TRUE};
    bool is_input = index == 0;
    LARGE_INTEGER now;
    (void)QueryPerformanceCounter(&now);
    (void)swprintf(name, SBX_COUNT(name), L"\\\\.\\pipe\\sbx-lib-%lu-%ld-%llx",
                   GetCurrentProcessId(), InterlockedIncrement(&count),
                   (unsigned long long)now.QuadPart);
    *ours = CreateNamedPipeW(name,
                             (is_input ? PIPE_ACCESS_OUTBOUND : PIPE_ACCESS_INBOUND) |
                                 FILE_FLAG_OVERLAPPED | FILE_FLAG_FIRST_PIPE_INSTANCE,
                             PIPE_TYPE_BYTE | PIPE_REJECT_REMOTE_CLIENTS, 1, PIPE_BYTES, PIPE_BYTES,
                             0, NULL);
    if (*ours == INVALID_HANDLE_VALUE) return false;
    *theirs = CreateFileW(name, is_input ? GENERIC_READ : GENERIC_WRITE, 0, &inherited,
                          OPEN_EXISTING, 0, NULL);
    return *theirs != INVALID_HANDLE_VALUE;
}

static bool make_job(HANDLE *job)
{
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {0};
    limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
    *job = CreateJobObjectW(NULL, NULL);
    return *job != NULL &&
           SetInformationJobObject(*job, JobObjectExtendedLimitInformation, &limits, sizeof limits);
}

/* Exactly its two pipes and the caller's standard error are inherited. */
static bool create(wchar_t *line, struct start *start, LPPROC_THREAD_ATTRIBUTE_LIST attributes)
{
    HANDLE error = GetStdHandle(STD_ERROR_HANDLE);
    HANDLE own_error = NULL;
    bool has_error = error != NULL && error != INVALID_HANDLE_VALUE &&
                     DuplicateHandle(GetCurrentProcess(), error, GetCurrentProcess(), &own_error, 0,
                                     TRUE, DUPLICATE_SAME_ACCESS);
    HANDLE list[3] = {start->theirs[0], start->theirs[1], own_error};
    STARTUPINFOEXW info = {.StartupInfo = {.cb = sizeof info,
                                           .dwFlags = STARTF_USESTDHANDLES,
                                           .hStdInput = start->theirs[0],
                                           .hStdOutput = start->theirs[1],
                                           .hStdError = own_error},
                           .lpAttributeList = attributes};
    bool is_made =
        UpdateProcThreadAttribute(attributes, 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST, list,
                                  (has_error ? 3 : 2) * sizeof *list, NULL, NULL) &&
        CreateProcessW(NULL, line, NULL, NULL, TRUE,
                       EXTENDED_STARTUPINFO_PRESENT | CREATE_SUSPENDED | CREATE_NO_WINDOW, NULL,
                       NULL, &info.StartupInfo, &start->process);
    DWORD raw = GetLastError();
    close_handle(&own_error);
    SetLastError(raw);
    return is_made;
}

static bool launch(wchar_t *line, struct start *start)
{
    SIZE_T size = 0;
    (void)InitializeProcThreadAttributeList(NULL, 1, 0, &size);
    LPPROC_THREAD_ATTRIBUTE_LIST attributes = malloc(size);
    if (attributes == NULL) return false;
    bool is_made = InitializeProcThreadAttributeList(attributes, 1, 0, &size) != 0;
    if (is_made) {
        is_made = create(line, start, attributes);
        DeleteProcThreadAttributeList(attributes);
    }
    free(attributes);
    /* Before its first instruction, so that it cannot outlive us. */
    return is_made && AssignProcessToJobObject(start->job, start->process.hProcess) &&
           ResumeThread(start->process.hThread) != (DWORD)-1;
}

/* Where PATH leads, and never the current directory, which CreateProcessW would try. */
static bool add_installed(struct sbx_buf *line)
{
    static const DWORD room = 32768;
    wchar_t *path = calloc(room, sizeof *path);
    wchar_t *found = calloc(room, sizeof *found);
    DWORD len = 0;
    if (path != NULL && found != NULL && GetEnvironmentVariableW(L"PATH", path, room) > 0)
        len = SearchPathW(path, L"sbx.exe", NULL, room, found, NULL);
    bool is_found = len > 0 && len < room;
    if (is_found) sbx_link_add_narrow(line, found, (int)len);
    free(path);
    free(found);
    return is_found;
}

enum sbx_code sbx_link_start(const char *program, struct sbx_link *out, struct sbx_err *err)
{
    AUTO_BUF line;
    struct start start = {0};
    sbx_buf_init(&line, 32u << 10);
    sbx_buf_add_char(&line, '"');
    SetLastError(ERROR_FILE_NOT_FOUND);
    bool is_found = program != NULL || add_installed(&line);
    if (program != NULL) sbx_buf_add_text(&line, program);
    sbx_buf_add_text(&line, "\" serve --stdio");
    wchar_t *wide = line.failed || !is_found ? NULL : sbx_link_wide(sbx_buf_text(&line));
    bool is_made = wide != NULL && make_pipe(0, &start.ours[0], &start.theirs[0]) &&
                   make_pipe(1, &start.ours[1], &start.theirs[1]) && make_job(&start.job) &&
                   launch(wide, &start);
    DWORD raw = GetLastError();
    free(wide);
    if (!is_made) {
        release_start(&start);
        (void)sbx_err_os(err, raw == ERROR_FILE_NOT_FOUND ? SBX_E_NOT_FOUND : SBX_E_IO,
                         SBX_OS_WIN32, (int64_t)raw, "CreateProcessW",
                         "the worker \"%s\" cannot be started",
                         program != NULL ? program : "sbx.exe");
        return sbx_err_hint(err, "install sbx, or name its program in the options");
    }
    enum sbx_code code =
        sbx_link_open_pipes(SBX_TAKE(start.ours[1], NULL), SBX_TAKE(start.ours[0], NULL), out, err);
    if (code == SBX_OK) {
        out->worker = (intptr_t)SBX_TAKE(start.process.hProcess, NULL);
        out->system->job = SBX_TAKE(start.job, NULL);
    }
    release_start(&start);
    return code;
}

void sbx_link_close(struct sbx_link *link)
{
    struct sbx_link_system *system = link->system;
    HANDLE worker = link->worker == -1 ? NULL : (HANDLE)link->worker;
    *link = (struct sbx_link){.stream = -1, .worker = -1};
    if (system == NULL) return;
    DWORD unused;
    if (system->out != system->in) (void)CloseHandle(system->out);
    if (worker != NULL) {
        (void)WaitForSingleObject(worker, LEAVING_MS);
        (void)CloseHandle(worker);
    }
    if (system->is_reading && CancelIoEx(system->in, &system->reading))
        (void)GetOverlappedResult(system->in, &system->reading, &unused, TRUE);
    (void)CloseHandle(system->in);
    (void)CloseHandle(system->reading.hEvent);
    (void)CloseHandle(system->writing.hEvent);
    if (system->job != NULL) (void)CloseHandle(system->job);
    free(system);
}
