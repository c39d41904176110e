/* A client of the service's pipe for the scripts of this directory: standard input goes to the pipe, what comes from the pipe
 * goes to standard output, until the service closes it. usage: pipe_client PIPE */
#include <windows.h>

#include <stdio.h>

#include "common/base/attr.h"

#include "common/base/banned.h"

enum { CHUNK = 4096, TRIES = 200, TRY_MS = 50, NO_PIPE = 3 };

/* Reading waits while something is written, so both are overlapped. */
static DWORD move(HANDLE pipe, BOOL is_write, char *bytes, DWORD size)
{
    DWORD moved = 0;
    OVERLAPPED overlapped = {.hEvent = CreateEventW(NULL, TRUE, FALSE, NULL)};
    BOOL is_begun = is_write ? WriteFile(pipe, bytes, size, NULL, &overlapped)
                             : ReadFile(pipe, bytes, size, NULL, &overlapped);
    BOOL is_under_way = is_begun || GetLastError() == ERROR_IO_PENDING;
    if (is_under_way && !GetOverlappedResult(pipe, &overlapped, &moved, TRUE)) {
        moved = 0;
    }
    (void)CloseHandle(overlapped.hEvent);
    return moved;
}

static DWORD WINAPI send_all(void *pipe)
{
    char bytes[CHUNK];
    DWORD size = 0;
    while (ReadFile(GetStdHandle(STD_INPUT_HANDLE), bytes, sizeof bytes, &size, NULL) && size > 0) {
        (void)move(pipe, TRUE, bytes, size);
    }
    ExitProcess(0);
}

static HANDLE reach(const char *name)
{
    HANDLE pipe = INVALID_HANDLE_VALUE;
    for (int i = 0; i < TRIES && pipe == INVALID_HANDLE_VALUE; i++) {
        pipe = CreateFileA(name, GENERIC_READ | GENERIC_WRITE, 0, NULL, OPEN_EXISTING,
                           FILE_FLAG_OVERLAPPED | SECURITY_SQOS_PRESENT | SECURITY_IMPERSONATION,
                           NULL);
        if (pipe == INVALID_HANDLE_VALUE) {
            Sleep(TRY_MS);
        }
    }
    return pipe;
}

int main(int argc, char **argv)
{
    HANDLE pipe = argc == 2 ? reach(argv[1]) : INVALID_HANDLE_VALUE;
    if (pipe == INVALID_HANDLE_VALUE) {
        return NO_PIPE;
    }
    HANDLE sender = CreateThread(NULL, 0, send_all, pipe, 0, NULL);
    char bytes[CHUNK];
    DWORD size = sender == NULL ? 0 : move(pipe, FALSE, bytes, sizeof bytes);
    while (size > 0) {
        DWORD written = 0;
        (void)WriteFile(GetStdHandle(STD_OUTPUT_HANDLE), bytes, size, &written, NULL);
        size = move(pipe, FALSE, bytes, sizeof bytes);
    }
    return 0;
}
