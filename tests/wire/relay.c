/* Standard streams of this program become a connection to a named pipe of Windows, so that a player on another system can speak to
 * the service: `wire_relay PIPE`. Exits with 0 when the service closed the connection, 3 when it cannot be reached. */
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

/* A pipe has no half of a connection to close: at the end of standard input the program ends, and the connection with it. */
static DWORD WINAPI send_input(void *context)
{
    static char bytes[PIECE];
    HANDLE pipe = context;
    HANDLE input = GetStdHandle(STD_INPUT_HANDLE);
    DWORD got = 0;
    while (ReadFile(input, bytes, sizeof bytes, &got, NULL) && got > 0)
        if (!write_all(pipe, bytes, got)) return 0;
    ExitProcess(0);
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

int main(void)
{
    static char bytes[PIECE];
    int argc = 0;
    wchar_t **argv = CommandLineToArgvW(GetCommandLineW(), &argc);
    if (argv == NULL || argc != 2) {
        (void)fputs("usage: wire_relay PIPE\n", stderr);
        return 2;
    }
    HANDLE pipe = reach(argv[1]);
    if (pipe == INVALID_HANDLE_VALUE) {
        (void)fprintf(stderr, "wire_relay: no pipe, error %lu\n", GetLastError());
        return 3;
    }
    HANDLE thread = CreateThread(NULL, 0, send_input, pipe, 0, NULL);
    if (thread == NULL) return 4;
    HANDLE output = GetStdHandle(STD_OUTPUT_HANDLE);
    DWORD got = 0;
    DWORD put = 0;
    while (transfer(pipe, false, bytes, sizeof bytes, &got) && got > 0)
        if (!WriteFile(output, bytes, got, &put, NULL) || put != got) return 5;
    return 0;
}
