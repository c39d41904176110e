/* A named pipe to a worker. */
#include "lib/link_win.h"

#include <aclapi.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "common/base/banned.h"

#define PIPE_NAME "\\\\.\\pipe\\sbx"
#define PIPE_PREFIX "\\\\.\\pipe\\"

wchar_t *sbx_link_wide(const char *text)
{
    int len = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, NULL, 0);
    wchar_t *wide = len <= 0 ? NULL : calloc((size_t)len, sizeof *wide);
    if (wide != NULL &&
        MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, wide, len) != len) {
        free(wide);
        wide = NULL;
    }
    return wide;
}

void sbx_link_add_narrow(struct sbx_buf *out, const wchar_t *wide, int len)
{
    int size = WideCharToMultiByte(CP_UTF8, WC_ERR_INVALID_CHARS, wide, len, NULL, 0, NULL, NULL);
    if (size <= 0) return; /* not valid text: left out, as the header says */
    size_t before = out->len;
    sbx_buf_add_repeat(out, '?', (size_t)size);
    if (!out->failed)
        (void)WideCharToMultiByte(CP_UTF8, WC_ERR_INVALID_CHARS, wide, len, out->data + before,
                                  size, NULL, NULL);
}

/* ---- bytes ---- */

static void begin_reading(struct sbx_link_system *system)
{
    system->at = system->len = 0;
    system->is_reading =
        ReadFile(system->in, system->bytes, sizeof system->bytes, NULL, &system->reading) ||
        GetLastError() == ERROR_IO_PENDING;
    /* Whoever polls has to look, and finds that it is over. */
    if (!system->is_reading) (void)SetEvent(system->reading.hEvent);
}

enum sbx_code sbx_link_open_pipes(HANDLE in, HANDLE out, struct sbx_link *link, struct sbx_err *err)
{
    struct sbx_link_system *system = calloc(1, sizeof *system);
    HANDLE read_event = CreateEventW(NULL, TRUE, FALSE, NULL);
    HANDLE write_event = CreateEventW(NULL, TRUE, FALSE, NULL);
    if (system == NULL || read_event == NULL || write_event == NULL) {
        if (read_event != NULL) (void)CloseHandle(read_event);
        if (write_event != NULL) (void)CloseHandle(write_event);
        if (out != in) (void)CloseHandle(out);
        (void)CloseHandle(in);
        free(system);
        return sbx_err_nomem(err);
    }
    system->in = in;
    system->out = out;
    system->reading.hEvent = read_event;
    system->writing.hEvent = write_event;
    *link = (struct sbx_link){
        .stream = (intptr_t)in, .worker = -1, .system = (struct sbx_link_system *)system};
    begin_reading(system);
    return SBX_OK;
}

enum sbx_link_state sbx_link_read(struct sbx_link *link, void *bytes, size_t len, size_t *moved)
{
    struct sbx_link_system *system = link->system;
    if (system->at == system->len) {
        if (!system->is_reading) return SBX_LINK_OVER;
        DWORD got = 0;
        if (!GetOverlappedResult(system->in, &system->reading, &got, FALSE)) {
            if (GetLastError() == ERROR_IO_INCOMPLETE) return SBX_LINK_BUSY;
            system->is_reading = false;
            return SBX_LINK_OVER;
        }
        system->at = 0;
        system->len = got;
        if (got == 0) { /* a message of nothing is not the end */
            begin_reading(system);
            return SBX_LINK_BUSY;
        }
    }
    size_t left = system->len - system->at;
    *moved = left < len ? left : len;
    memcpy(bytes, system->bytes + system->at, *moved);
    system->at += (DWORD)*moved;
    if (system->at == system->len) begin_reading(system);
    return SBX_LINK_MOVED;
}

enum sbx_link_state sbx_link_write(struct sbx_link *link, const void *bytes, size_t len,
                                   const int *fds, size_t *moved)
{
    struct sbx_link_system *system = link->system;
    DWORD put = 0;
    (void)fds;
    (void)ResetEvent(system->writing.hEvent);
    if (!WriteFile(system->out, bytes, (DWORD)(len > 65536 ? 65536 : len), NULL,
                   &system->writing) &&
        GetLastError() != ERROR_IO_PENDING)
        return SBX_LINK_OVER;
    if (!GetOverlappedResult(system->out, &system->writing, &put, TRUE) || put == 0)
        return SBX_LINK_OVER;
    *moved = put;
    return SBX_LINK_MOVED;
}

bool sbx_link_passes_descriptors(const struct sbx_link *link)
{
    (void)link;
    return false;
}

void sbx_link_wait(struct sbx_link *link, bool is_writing, int timeout_ms)
{
    (void)is_writing;
    (void)WaitForSingleObject(link->system->reading.hEvent,
                              timeout_ms < 0 ? INFINITE : (DWORD)timeout_ms);
}

intptr_t sbx_link_pollable(const struct sbx_link *link)
{
    return (intptr_t)link->system->reading.hEvent;
}

/* ---- connecting ---- */

static bool is_well_known(PSID sid, WELL_KNOWN_SID_TYPE type)
{
    return IsWellKnownSid(sid, type) != 0;
}

static bool is_callers(PSID sid)
{
    union {
        TOKEN_USER user;
        char room[sizeof(TOKEN_USER) + SECURITY_MAX_SID_SIZE];
    } own;
    HANDLE token = NULL;
    DWORD size = 0;
    if (!OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token)) return false;
    bool is_own = GetTokenInformation(token, TokenUser, &own, sizeof own, &size) &&
                  EqualSid(own.user.User.Sid, sid);
    (void)CloseHandle(token);
    return is_own;
}

/* Who made the pipe owns it, and nobody can make one that belongs to the system but the system: what another user
 * put there before the service came is seen here. */
static bool is_trusted(HANDLE pipe)
{
    PSID owner = NULL;
    PSECURITY_DESCRIPTOR descriptor = NULL;
    if (GetSecurityInfo(pipe, SE_KERNEL_OBJECT, OWNER_SECURITY_INFORMATION, &owner, NULL, NULL,
                        NULL, &descriptor) != ERROR_SUCCESS)
        return false;
    bool is_good =
        owner != NULL && (is_well_known(owner, WinLocalSystemSid) ||
                          is_well_known(owner, WinBuiltinAdministratorsSid) || is_callers(owner));
    (void)LocalFree(descriptor);
    return is_good;
}

static HANDLE open_pipe(const wchar_t *name, int timeout_ms)
{
    uint64_t end = sbx_link_now_ms() + (uint64_t)timeout_ms;
    for (;;) {
        /* Whoever serves it may learn who we are and no more. */
        HANDLE pipe = CreateFileW(
            name, GENERIC_READ | GENERIC_WRITE, 0, NULL, OPEN_EXISTING,
            FILE_FLAG_OVERLAPPED | SECURITY_SQOS_PRESENT | SECURITY_IDENTIFICATION, NULL);
        if (pipe != INVALID_HANDLE_VALUE || GetLastError() != ERROR_PIPE_BUSY) return pipe;
        uint64_t now = sbx_link_now_ms();
        if (now >= end || !WaitNamedPipeW(name, (DWORD)(end - now))) {
            SetLastError(ERROR_PIPE_BUSY);
            return INVALID_HANDLE_VALUE;
        }
    }
}

enum sbx_code sbx_link_connect(const char *address, int timeout_ms, struct sbx_link *out,
                               struct sbx_err *err)
{
    if (address == NULL) address = getenv("SBX_SOCKET");
    if (address == NULL || address[0] == '\0') address = PIPE_NAME;
    if (!sbx_str_starts(sbx_str(address), PIPE_PREFIX))
        return sbx_err_set(
            err, SBX_E_INVALID,
            "\"%.100s\" is no pipe of this machine: its name starts with " PIPE_PREFIX, address);
    wchar_t *name = sbx_link_wide(address);
    if (name == NULL) return sbx_err_set(err, SBX_E_INVALID, "the name of the pipe is not UTF-8");
    HANDLE pipe = open_pipe(name, timeout_ms);
    DWORD raw = GetLastError();
    free(name);
    if (pipe == INVALID_HANDLE_VALUE) {
        enum sbx_code code = raw == ERROR_FILE_NOT_FOUND ? SBX_E_NOT_FOUND : SBX_E_IO;
        (void)sbx_err_os(err, code, SBX_OS_WIN32, (int64_t)raw, "CreateFileW",
                         "no service answers at \"%s\"", address);
        return sbx_err_hint(err, "start it with: sbx service start, or install it with: sbx "
                                 "service install");
    }
    if (!is_trusted(pipe)) {
        (void)CloseHandle(pipe);
        return sbx_err_set(err, SBX_E_UNTRUSTED, "the pipe \"%s\" belongs to another user",
                           address);
    }
    return sbx_link_open_pipes(pipe, pipe, out, err);
}

enum sbx_code sbx_link_adopt(int fd, struct sbx_link *out, struct sbx_err *err)
{
    (void)fd;
    (void)out;
    return sbx_err_set(err, SBX_E_UNSUPPORTED, "there are no descriptors to hand over here");
}

/* ---- the caller's process ---- */

uint64_t sbx_link_now_ms(void)
{
    return GetTickCount64();
}

bool sbx_link_add_directory(struct sbx_buf *out)
{
    wchar_t room[32768]; /* what a path can have at most */
    DWORD len = GetCurrentDirectoryW((DWORD)SBX_COUNT(room), room);
    size_t before = out->len;
    if (len == 0 || len >= SBX_COUNT(room)) return false;
    sbx_link_add_narrow(out, room, (int)len);
    return out->failed || out->len > before;
}

void sbx_link_add_environment(struct sbx_buf *out)
{
    wchar_t *block = GetEnvironmentStringsW();
    for (const wchar_t *entry = block; entry != NULL && *entry != L'\0';
         entry += wcslen(entry) + 1) {
        if (*entry == L'=') continue; /* the current directories of drives */
        size_t before = out->len;
        sbx_link_add_narrow(out, entry, (int)wcslen(entry));
        if (out->len > before) sbx_buf_add(out, "", 1);
    }
    if (block != NULL) (void)FreeEnvironmentStringsW(block);
}
