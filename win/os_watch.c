/* Waiting for a connection while Ctrl-C is caught and standard input is read, by a thread, because neither a console nor every pipe
 * can be waited for. */
#include <windows.h>

#include "common/os.h"
#include "win/fault.h"
#include "win/handle.h"

#include "common/base/banned.h"

enum { PIECE = 48 << 10 };

static struct {
    HANDLE signalled; /* `name` is set */
    const char *volatile name;
    HANDLE filled, taken; /* a piece of input is there, and may be replaced */
    HANDLE thread;
    char bytes[PIECE];
    DWORD len;
} watch;

static BOOL WINAPI on_control(DWORD event)
{
    watch.name = event == CTRL_C_EVENT ? "INT" : event == CTRL_BREAK_EVENT ? "QUIT" : "TERM";
    (void)SetEvent(watch.signalled);
    return TRUE;
}

static DWORD WINAPI read_input(void *unused)
{
    (void)unused;
    HANDLE input = GetStdHandle(STD_INPUT_HANDLE);
    do {
        (void)WaitForSingleObject(watch.taken, INFINITE);
        if (!sbx_handle_is_open(input) || !ReadFile(input, watch.bytes, PIECE, &watch.len, NULL))
            watch.len = 0;
        (void)SetEvent(watch.filled);
    } while (watch.len > 0);
    return 0;
}

enum sbx_code sbx_os_watch_begin(struct sbx_err *err)
{
    watch.signalled = CreateEventW(NULL, FALSE, FALSE, NULL);
    watch.filled = CreateEventW(NULL, FALSE, FALSE, NULL);
    watch.taken = CreateEventW(NULL, FALSE, TRUE, NULL);
    if (watch.signalled != NULL && watch.filled != NULL && watch.taken != NULL)
        watch.thread = CreateThread(NULL, 0, read_input, NULL, 0, NULL);
    if (watch.thread == NULL)
        return sbx_err_win32(err, GetLastError(), "CreateThread", "cannot watch the streams");
    (void)SetConsoleCtrlHandler(on_control, TRUE);
    return SBX_OK;
}

void sbx_os_watch_end(void)
{
    (void)SetConsoleCtrlHandler(on_control, FALSE);
    /* The thread may be in a read that nobody answers; it has nothing that outlives the process, which is about to end. */
    sbx_handle_close(&watch.thread);
}

const char *sbx_os_watch_wait(intptr_t pollable, bool is_writing)
{
    HANDLE handles[3] = {watch.signalled, (HANDLE)pollable, watch.filled};
    (void)is_writing;
    DWORD which = WaitForMultipleObjects(3, handles, FALSE, INFINITE);
    /* Taken by sbx_os_watch_input, which looks at it again. */
    if (which == WAIT_OBJECT_0 + 2) (void)SetEvent(watch.filled);
    return which == WAIT_OBJECT_0 ? watch.name : NULL;
}

bool sbx_os_watch_passes(void)
{
    return false;
}

bool sbx_os_watch_input(struct sbx_str *out)
{
    static bool is_held; /* the last piece is the caller's until now */
    if (is_held) (void)SetEvent(watch.taken);
    is_held = WaitForSingleObject(watch.filled, 0) == WAIT_OBJECT_0;
    if (is_held) *out = (struct sbx_str){watch.bytes, watch.len};
    return is_held;
}
