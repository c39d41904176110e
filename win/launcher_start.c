/* How a launcher is started: sbx.exe again, with the client's token, in a job of the service, with one pipe. */
#include "win/launcher_start.h"

#include <wchar.h>

#include "win/fault.h"
#include "win/handle.h"
#include "win/job.h"
#include "win/process.h"
#include "win/service_data.h"
#include "win/wide.h"

#include "common/base/banned.h"

enum { START_ARENA = 1 << 20, PIPE_BYTES = 64 * 1024, RANDOM_BYTES = 16 };

struct start {
    struct sbx_arena arena;
    HANDLE theirs; /* the launcher's end of the pipe */
    void *environment;
    struct sbx_launcher made;
    struct sbx_process born;
};

static void release(struct start *start)
{
    sbx_handle_close(&start->theirs);
    sbx_handle_close(&start->born.thread);
    sbx_handle_close(&start->born.process);
    sbx_handle_close(&start->made.pipe);
    sbx_handle_close(&start->made.heard);
    sbx_handle_close(&start->made.sent);
    sbx_handle_close(&start->made.job); /* ends what may be in it */
    if (start->environment != NULL) {
        (void)sbx_win()->DestroyEnvironmentBlock(start->environment);
    }
    sbx_arena_release(&start->arena);
}

/* A name that nobody can guess, which nobody but SYSTEM may open, and which is taken before it is known. */
static bool make_name(wchar_t *out, size_t size)
{
    unsigned char random[RANDOM_BYTES];
    static const wchar_t digits[] = L"0123456789abcdef";
    static const wchar_t prefix[] = L"\\\\.\\pipe\\sbx-launcher-";
    if (size < SBX_COUNT(prefix) + (size_t)2 * RANDOM_BYTES ||
        !sbx_win()->SystemFunction036(random, sizeof random)) {
        return false;
    }
    wmemcpy(out, prefix, SBX_COUNT(prefix));
    wchar_t *at = out + SBX_COUNT(prefix) - 1;
    for (size_t i = 0; i < RANDOM_BYTES; i++) {
        *at++ = digits[random[i] >> 4];
        *at++ = digits[random[i] & 15];
    }
    *at = L'\0';
    return true;
}

static enum sbx_code make_pipe(struct start *start, struct sbx_err *err)
{
    wchar_t name[96];
    AUTO_LOCAL PSECURITY_DESCRIPTOR descriptor = NULL;
    SECURITY_ATTRIBUTES security = {.nLength = sizeof security};
    if (!make_name(name, SBX_COUNT(name)) ||
        !sbx_win()->ConvertStringSecurityDescriptorToSecurityDescriptorW(
            sbx_service_control_sddl, SDDL_REVISION_1, &descriptor, NULL)) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "ConvertStringSecurityDescriptorToSecurityDescriptorW",
                             "cannot protect the pipe to the launcher");
    }
    security.lpSecurityDescriptor = descriptor;
    start->made.pipe = sbx_win()->CreateNamedPipeW(
        name, PIPE_ACCESS_DUPLEX | FILE_FLAG_OVERLAPPED | FILE_FLAG_FIRST_PIPE_INSTANCE,
        PIPE_TYPE_BYTE | PIPE_READMODE_BYTE | PIPE_WAIT | PIPE_REJECT_REMOTE_CLIENTS, 1, PIPE_BYTES,
        PIPE_BYTES, 0, &security);
    if (!sbx_handle_is_open(start->made.pipe)) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "CreateNamedPipeW", "cannot make a pipe to the launcher");
    }
    start->theirs = sbx_win()->CreateFileW(name, GENERIC_READ | GENERIC_WRITE, 0, NULL,
                                           OPEN_EXISTING, FILE_FLAG_OVERLAPPED, NULL);
    if (!sbx_handle_is_open(start->theirs)) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "CreateFileW", "cannot open the pipe to the launcher");
    }
    return SBX_OK;
}

static enum sbx_code make_events(struct start *start, struct sbx_err *err)
{
    start->made.heard = sbx_win()->CreateEventW(NULL, TRUE, FALSE, NULL);
    DWORD raw = GetLastError();
    if (start->made.heard != NULL) {
        start->made.sent = sbx_win()->CreateEventW(NULL, TRUE, FALSE, NULL);
        raw = GetLastError();
    }
    return start->made.sent != NULL
               ? SBX_OK
               : sbx_err_win32(err, raw, "CreateEventW", "cannot watch the launcher");
}

/* The variables of the user, not of the service; the directory of the user, or of the system. */
static enum sbx_code make_plan(struct start *start, HANDLE token, struct sbx_process_plan *plan,
                               struct sbx_err *err)
{
    static const wchar_t rest[] = L"\" " SBX_LAUNCHER_WORD;
    wchar_t *image = SBX_NEW_ARRAY(&start->arena, wchar_t, SBX_WIDE_PATH_MAX);
    wchar_t *directory = SBX_NEW_ARRAY(&start->arena, wchar_t, SBX_WIDE_PATH_MAX);
    wchar_t *line = SBX_NEW_ARRAY(&start->arena, wchar_t, SBX_WIDE_PATH_MAX + SBX_COUNT(rest) + 1);
    if (image == NULL || directory == NULL || line == NULL) {
        return sbx_err_nomem(err);
    }
    DWORD len = sbx_win()->GetModuleFileNameW(NULL, image, SBX_WIDE_PATH_MAX);
    DWORD raw = GetLastError();
    if (len == 0 || len >= SBX_WIDE_PATH_MAX) {
        return sbx_err_win32(err, raw, "GetModuleFileNameW", "cannot find the program sbx.exe");
    }
    if (!sbx_win()->CreateEnvironmentBlock(&start->environment, token, FALSE)) {
        raw = GetLastError();
        start->environment = NULL;
        return sbx_err_win32(err, raw, "CreateEnvironmentBlock",
                             "cannot read the variables of the user");
    }
    DWORD size = SBX_WIDE_PATH_MAX;
    if (!sbx_win()->GetUserProfileDirectoryW(token, directory, &size) &&
        sbx_win()->GetSystemWindowsDirectoryW(directory, SBX_WIDE_PATH_MAX) == 0) {
        raw = GetLastError();
        return sbx_err_win32(err, raw, "GetUserProfileDirectoryW",
                             "cannot find a directory for the launcher");
    }
    line[0] = L'"';
    wmemcpy(line + 1, image, len);
    wmemcpy(line + 1 + len, rest, SBX_COUNT(rest));
    *plan = (struct sbx_process_plan){.program = image,
                                      .command_line = line,
                                      .environment = start->environment,
                                      .directory = directory,
                                      .stream = {start->theirs, NULL, NULL},
                                      .job = start->made.job,
                                      .token = token,
                                      .desktop = L"winsta0\\default"};
    return SBX_OK;
}

static enum sbx_code resume(struct start *start, struct sbx_err *err)
{
    if (sbx_win()->ResumeThread(start->born.thread) == (DWORD)-1) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "ResumeThread", "cannot start the launcher");
    }
    return SBX_OK;
}

enum sbx_code sbx_launcher_start(struct sbx_launcher *launcher, HANDLE token, struct sbx_err *err)
{
    SBX_CLEANUP(release) struct start start = {0};
    struct sbx_process_plan plan;
    sbx_arena_init(&start.arena, START_ARENA);
    enum sbx_code code = make_pipe(&start, err);
    if (code == SBX_OK) {
        code = make_events(&start, err);
    }
    if (code == SBX_OK) {
        code = sbx_job_open(NULL, &start.made.job, err);
    }
    if (code == SBX_OK) {
        code = make_plan(&start, token, &plan, err);
    }
    if (code == SBX_OK) {
        code = sbx_process_create(&plan, &start.born, err);
    }
    if (code == SBX_OK) {
        code = resume(&start, err);
    }
    if (code == SBX_OK) {
        launcher->job = SBX_TAKE(start.made.job, NULL);
        launcher->process = SBX_TAKE(start.born.process, NULL);
        launcher->pipe = SBX_TAKE(start.made.pipe, NULL);
        launcher->heard = SBX_TAKE(start.made.heard, NULL);
        launcher->sent = SBX_TAKE(start.made.sent, NULL);
    }
    return code;
}
