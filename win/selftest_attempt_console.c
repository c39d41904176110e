/* Attempts on consoles: the user's, and the command's own. */
#include "win/handle.h"
#include "win/selftest.h"

#include "common/base/banned.h"

#define STEP_MS 50

/* ---- the user's ---- */

static bool attach(const char *pid, struct sbx_reply *reply)
{
    (void)FreeConsole();
    if (!AttachConsole((DWORD)sbx_attempt_number(pid))) {
        DWORD raw = GetLastError();
        sbx_reply_win32(reply, raw, "AttachConsole", pid);
        return false;
    }
    return true;
}

static void try_attach(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    if (attach(arguments[0], reply)) {
        sbx_reply(reply, SBX_ANSWER_DONE, "attached to the console of process %s", arguments[0]);
    }
}

/* An event that no program reads as input. */
static void try_input(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    INPUT_RECORD record = {.EventType = FOCUS_EVENT};
    DWORD put = 0;
    if (!attach(arguments[0], reply)) {
        return;
    }
    AUTO_HANDLE input =
        CreateFileW(L"CONIN$", GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE,
                    NULL, OPEN_EXISTING, 0, NULL);
    if (!sbx_handle_is_open(input) || !WriteConsoleInputW(input, &record, 1, &put)) {
        DWORD raw = GetLastError();
        sbx_reply_win32(reply, raw, "WriteConsoleInputW", arguments[0]);
        return;
    }
    sbx_reply(reply, SBX_ANSWER_DONE, "wrote input for process %s", arguments[0]);
}

/* Without attaching: is the console that it has shared with that process? */
static void try_peers(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    DWORD ids[256];
    DWORD got = GetConsoleProcessList(ids, SBX_COUNT(ids));
    for (DWORD i = 0; i < got && i < SBX_COUNT(ids); i++) {
        if (ids[i] == (DWORD)sbx_attempt_number(arguments[0])) {
            sbx_reply(reply, SBX_ANSWER_DONE, "process %s is on the same console", arguments[0]);
            return;
        }
    }
    sbx_reply(reply, SBX_ANSWER_ABSENT, "%lu processes on the console, %s not among them", got,
              arguments[0]);
}

/* ---- its own ---- */

static bool size_of_terminal(COORD *out)
{
    CONSOLE_SCREEN_BUFFER_INFO info;
    DWORD mode;
    HANDLE console = GetStdHandle(STD_OUTPUT_HANDLE);
    if (!GetConsoleMode(console, &mode) || !GetConsoleScreenBufferInfo(console, &info)) {
        return false;
    }
    out->X = (SHORT)(info.srWindow.Right - info.srWindow.Left + 1);
    out->Y = (SHORT)(info.srWindow.Bottom - info.srWindow.Top + 1);
    return true;
}

static void try_terminal(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)arguments;
    (void)count;
    COORD size;
    if (!size_of_terminal(&size)) {
        sbx_reply(reply, SBX_ANSWER_ABSENT, "standard output is no terminal: %lu", GetLastError());
        return;
    }
    sbx_reply(reply, SBX_ANSWER_DONE, "terminal of %d x %d", size.X, size.Y);
}

/* Says when it is there, then waits for the terminal to become another size. */
static void try_resize(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    COORD first;
    COORD now;
    if (!size_of_terminal(&first)) {
        sbx_reply(reply, SBX_ANSWER_ABSENT, "standard output is no terminal: %lu", GetLastError());
        return;
    }
    HANDLE file =
        CreateFileW(sbx_attempt_wide(arguments[0]), GENERIC_WRITE, 0, NULL, CREATE_ALWAYS, 0, NULL);
    sbx_handle_close(&file);
    DWORD left = (DWORD)sbx_attempt_number(arguments[1]);
    for (; left > STEP_MS; left -= STEP_MS) {
        if (size_of_terminal(&now) && (now.X != first.X || now.Y != first.Y)) {
            sbx_reply(reply, SBX_ANSWER_DONE, "%d x %d, then %d x %d", first.X, first.Y, now.X,
                      now.Y);
            return;
        }
        Sleep(STEP_MS);
    }
    sbx_reply(reply, SBX_ANSWER_DENIED, "still %d x %d", first.X, first.Y);
}

const struct sbx_attempt sbx_attempts_console[] = {
    {"attach", "PID", "attaches to the console of a process", 1, try_attach},
    {"input", "PID", "writes an event to the console of a process", 1, try_input},
    {"peers", "PID", "shares its console with a process", 1, try_peers},
    {"terminal", "", "has a terminal", 0, try_terminal},
    {"resize", "FILE MS", "makes FILE, then sees its terminal change", 2, try_resize},
    SBX_SELFTEST_ALONE,
};
