/* Standard streams of this program become a connection to the service on Windows, so that a player on another system can speak to it:
 * `wire_relay PIPE` to a named pipe, `wire_relay PROGRAM ARG...` to the standard streams of a program, which are pipes of
 * Windows then. Exits with 0 when the service closed the connection, or with the program's status; 3 when there is no service. */
#include <stdbool.h>
#include <stdio.h>
#include <windows.h>

#include <shellapi.h>

#include "common/base/attr.h"

#include "common/base/banned.h"

enum { PIECE = 65536, TRIES = 300, TRY_MS = 100 };

/* Both directions go over one handle at the same time, so neither may wait inside it. */
static bool transfer(HANDLE pipe, bool writes, void *bytes, DWORD size, DWORD *done)
{
    OVERLAPPED operation = {.hEvent = CreateEventW(NULL, TRUE, FALSE, NULL)};
    if (operation.hEvent == NULL) return false;
    BOOL is_done = writes ? WriteFile(pipe, bytes, size, NULL, &operation)
                          : ReadFile(pipe, bytes, size, NULL, &operation);
    bool is_right = (is_done || GetLastError() == ERROR_IO_PENDING) &&
                    GetOverlappedResult(pipe, &operation, done, TRUE);
    (void)CloseHandle(operation.hEvent);
    return is_right;
}

static bool write_all(HANDLE pipe, char *bytes, DWORD size)
{
    for (DWORD at = 0, done = 0; at < size; at += done)
        if (!transfer(pipe, true, bytes + at, size - at, &done) || done == 0) return false;
    return true;
}

/* One connection: a named pipe is both of its ends, a program has one of each. */
struct peer {
    HANDLE to, from, process;
};

/* A named pipe has no half of a connection to close: at the end of standard input this program ends, and the connection with it. */
static DWORD WINAPI send_input(void *context)
{
    static char bytes[PIECE];
    struct peer *peer = context;
    HANDLE input = GetStdHandle(STD_INPUT_HANDLE);
    DWORD got = 0;
    while (ReadFile(input, bytes, sizeof bytes, &got, NULL) && got > 0)
        if (!write_all(peer->to, bytes, got)) return 0;
    if (peer->process == NULL) ExitProcess(0);
    (void)CloseHandle(peer->to);
    return 0;
}

static HANDLE reach(const wchar_t *name)
{
    for (int i = 0; i < TRIES; i++) {
        HANDLE pipe = CreateFileW(
            name, GENERIC_READ | GENERIC_WRITE, 0, NULL, OPEN_EXISTING,
            FILE_FLAG_OVERLAPPED | SECURITY_SQOS_PRESENT | SECURITY_IMPERSONATION, NULL);
        if (pipe != INVALID_HANDLE_VALUE) return pipe;
        Sleep(TRY_MS);
    }
    return INVALID_HANDLE_VALUE;
}

/* A pipe whose one end the program inherits. */
static bool open_pipe(HANDLE *read_end, HANDLE *write_end, bool reads)
{
    SECURITY_ATTRIBUTES inherited = {.nLength = sizeof inherited, .bInheritHandle = TRUE};
    return CreatePipe(read_end, write_end, &inherited, 0) &&
           SetHandleInformation(reads ? *read_end : *write_end, HANDLE_FLAG_INHERIT, 0);
}

static bool start(wchar_t *command, struct peer *peer)
{
    STARTUPINFOW how = {.cb = sizeof how, .dwFlags = STARTF_USESTDHANDLES};
    PROCESS_INFORMATION started = {0};
    how.hStdError = GetStdHandle(STD_ERROR_HANDLE);
    if (!open_pipe(&how.hStdInput, &peer->to, false) ||
        !open_pipe(&peer->from, &how.hStdOutput, true) ||
        !CreateProcessW(NULL, command, NULL, NULL, TRUE, 0, NULL, NULL, &how, &started))
        return false;
    (void)CloseHandle(how.hStdInput);
    (void)CloseHandle(how.hStdOutput);
    (void)CloseHandle(started.hThread);
    peer->process = started.hProcess;
    return true;
}

/* The command line behind the name of this program, which is without blanks or in quotes. */
static wchar_t *rest_of(wchar_t *line)
{
    bool is_quoted = false;
    for (; *line != L'\0' && (is_quoted || *line != L' '); line++)
        if (*line == L'"') is_quoted = !is_quoted;
    while (*line == L' ') line++;
    return line;
}

int main(void)
{
    static char bytes[PIECE];
    static struct peer peer;
    int argc = 0;
    wchar_t **argv = CommandLineToArgvW(GetCommandLineW(), &argc);
    if (argv == NULL || argc < 2) {
        (void)fputs("usage: wire_relay PIPE | PROGRAM ARG...\n", stderr);
        return 2;
    }
    if (argc == 2) peer.from = peer.to = reach(argv[1]);
    if (argc == 2 ? peer.to == INVALID_HANDLE_VALUE : !start(rest_of(GetCommandLineW()), &peer)) {
        (void)fprintf(stderr, "wire_relay: no service, error %lu\n", GetLastError());
        return 3;
    }
    HANDLE thread = CreateThread(NULL, 0, send_input, &peer, 0, NULL);
    if (thread == NULL) return 4;
    HANDLE output = GetStdHandle(STD_OUTPUT_HANDLE);
    DWORD got = 0;
    DWORD put = 0;
    while (transfer(peer.from, false, bytes, sizeof bytes, &got) && got > 0)
        if (!WriteFile(output, bytes, got, &put, NULL) || put != got) return 5;
    DWORD status = 0;
    if (peer.process != NULL) {
        (void)WaitForSingleObject(peer.process, INFINITE);
        (void)GetExitCodeProcess(peer.process, &status);
    }
    return (int)status;
}
