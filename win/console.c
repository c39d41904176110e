/* Ctrl-C and its kin while a child runs in the same console. */
#include "win/console.h"

#include "common/base/banned.h"

enum { DOUBLE_MS = 3000, CLOSE_WAIT_MS = 4500 };

/* A handler has no other way to know. */
static struct {
    HANDLE cancel;
    HANDLE done;
    ULONGLONG last_ms;
} watch;

static BOOL WINAPI on_control(DWORD kind)
{
    switch (kind) {
    case CTRL_C_EVENT:
    case CTRL_BREAK_EVENT: {
        ULONGLONG now = GetTickCount64();
        if (watch.last_ms != 0 && now - watch.last_ms < DOUBLE_MS) {
            (void)SetEvent(watch.cancel);
        }
        watch.last_ms = now;
        return TRUE;
    }
    default:
        /* The system ends sbx when this returns, and with sbx the job. */
        (void)WaitForSingleObject(watch.done, CLOSE_WAIT_MS);
        return FALSE;
    }
}

void sbx_console_watch(HANDLE cancel, HANDLE done)
{
    watch.cancel = cancel;
    watch.done = done;
    watch.last_ms = 0;
    (void)SetConsoleCtrlHandler(on_control, TRUE);
}

void sbx_console_release(void)
{
    (void)SetConsoleCtrlHandler(on_control, FALSE);
}
