/* Attempts on the user's desktop: windows, hooks, clipboard, settings, atoms. user32 is loaded only here. */
#include "win/handle.h"
#include "win/selftest.h"

#include "common/base/banned.h"

#define LATE(name) SBX_LATE(L"user32.dll", name)

/* A box in which it does not load proves nothing about what it would do. */
static bool has_user32(struct sbx_reply *reply)
{
    if (LATE(OpenWindowStationW) != NULL) {
        return true;
    }
    sbx_reply(reply, SBX_ANSWER_BROKEN, "user32.dll does not load: %lu", GetLastError());
    return false;
}

/* Goes to the desktop that the person at the machine sees; false with the reply made. */
static bool enter_users_desktop(struct sbx_reply *reply)
{
    if (!has_user32(reply)) {
        return false;
    }
    HWINSTA station =
        LATE(OpenWindowStationW)(L"WinSta0", FALSE,
                                 WINSTA_READATTRIBUTES | WINSTA_ENUMDESKTOPS |
                                     WINSTA_ACCESSCLIPBOARD | WINSTA_ACCESSGLOBALATOMS);
    if (station == NULL || !LATE(SetProcessWindowStation)(station)) {
        DWORD raw = GetLastError();
        sbx_reply_win32(reply, raw, "OpenWindowStationW", "WinSta0");
        return false;
    }
    HDESK desktop = LATE(OpenDesktopW)(L"Default", 0, FALSE,
                                       DESKTOP_READOBJECTS | DESKTOP_WRITEOBJECTS |
                                           DESKTOP_CREATEWINDOW | DESKTOP_HOOKCONTROL);
    if (desktop == NULL || !LATE(SetThreadDesktop)(desktop)) {
        DWORD raw = GetLastError();
        sbx_reply_win32(reply, raw, "OpenDesktopW", "Default");
        return false;
    }
    return true;
}

static void try_desktop(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)arguments;
    (void)count;
    if (enter_users_desktop(reply)) {
        sbx_reply(reply, SBX_ANSWER_DONE, "entered WinSta0\\Default");
    }
}

static LRESULT CALLBACK pass_on(int code, WPARAM word, LPARAM data)
{
    return LATE(CallNextHookEx)(NULL, code, word, data);
}

static void try_hook(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)arguments;
    (void)count;
    if (!enter_users_desktop(reply)) {
        return;
    }
    HHOOK hook = LATE(SetWindowsHookExW)(WH_KEYBOARD_LL, pass_on, GetModuleHandleW(NULL), 0);
    if (hook == NULL) {
        DWORD raw = GetLastError();
        sbx_reply_win32(reply, raw, "SetWindowsHookExW", "WH_KEYBOARD_LL");
        return;
    }
    (void)LATE(UnhookWindowsHookEx)(hook);
    sbx_reply(reply, SBX_ANSWER_DONE, "hooked the keyboard of the user's desktop");
}

/* A message that does nothing, to the shell's own window. */
static void try_message(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)arguments;
    (void)count;
    if (!enter_users_desktop(reply)) {
        return;
    }
    SetLastError(ERROR_FILE_NOT_FOUND);
    HWND window = LATE(FindWindowW)(L"Shell_TrayWnd", NULL);
    if (window == NULL || !LATE(PostMessageW)(window, WM_NULL, 0, 0)) {
        DWORD raw = GetLastError();
        sbx_reply_win32(reply, raw, "PostMessageW", "Shell_TrayWnd");
        return;
    }
    sbx_reply(reply, SBX_ANSWER_DONE, "sent a message to the shell");
}

/* ---- clipboard ---- */

static void try_clipboard_read(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)arguments;
    (void)count;
    if (!has_user32(reply)) {
        return;
    }
    if (!LATE(OpenClipboard)(NULL)) {
        DWORD raw = GetLastError();
        sbx_reply_win32(reply, raw, "OpenClipboard", "");
        return;
    }
    SetLastError(ERROR_SUCCESS);
    UINT format = LATE(EnumClipboardFormats)(0);
    DWORD raw = GetLastError();
    HANDLE data = NULL;
    if (format != 0) {
        data = LATE(GetClipboardData)(format);
        raw = GetLastError();
    }
    (void)LATE(CloseClipboard)();
    if (data != NULL) {
        sbx_reply(reply, SBX_ANSWER_DONE, "read the clipboard's format %u", format);
    } else if (raw == ERROR_SUCCESS) {
        sbx_reply(reply, SBX_ANSWER_ABSENT, "the clipboard is empty");
    } else {
        sbx_reply_win32(reply, raw, "GetClipboardData", "");
    }
}

/* Empties it: what a person had copied is gone. */
static void try_clipboard_write(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)arguments;
    (void)count;
    if (!has_user32(reply)) {
        return;
    }
    if (!LATE(OpenClipboard)(NULL)) {
        DWORD raw = GetLastError();
        sbx_reply_win32(reply, raw, "OpenClipboard", "");
        return;
    }
    BOOL is_emptied = LATE(EmptyClipboard)();
    DWORD raw = GetLastError();
    (void)LATE(CloseClipboard)();
    if (is_emptied) {
        sbx_reply(reply, SBX_ANSWER_DONE, "emptied the clipboard");
    } else {
        sbx_reply_win32(reply, raw, "EmptyClipboard", "");
    }
}

/* ---- what all programs share ---- */

/* Sets the beep to what it is. */
static void try_parameter(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)arguments;
    (void)count;
    BOOL beep = FALSE;
    if (!has_user32(reply)) {
        return;
    }
    SetLastError(ERROR_ACCESS_DENIED); /* it does not always say why */
    if (!LATE(SystemParametersInfoW)(SPI_GETBEEP, 0, &beep, 0) ||
        !LATE(SystemParametersInfoW)(SPI_SETBEEP, (UINT)beep, NULL, 0)) {
        DWORD raw = GetLastError();
        sbx_reply_win32(reply, raw, "SystemParametersInfoW", "SPI_SETBEEP");
        return;
    }
    sbx_reply(reply, SBX_ANSWER_DONE, "set a parameter of the system");
}

static void try_atom(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    if (GlobalFindAtomW(sbx_attempt_wide(arguments[0])) == 0) {
        DWORD raw = GetLastError();
        sbx_reply_win32(reply, raw, "GlobalFindAtomW", arguments[0]);
        return;
    }
    sbx_reply(reply, SBX_ANSWER_DONE, "found the atom %s", arguments[0]);
}

const struct sbx_attempt sbx_attempts_desktop[] = {
    {"desktop", "", "enters the user's desktop", 0, try_desktop},
    {"hook", "", "hooks the keyboard there, and lets go", 0, try_hook},
    {"message", "", "sends the shell a message that does nothing", 0, try_message},
    {"clipboard-read", "", "reads the clipboard", 0, try_clipboard_read},
    {"clipboard-write", "", "empties the clipboard", 0, try_clipboard_write},
    {"parameter", "", "sets a parameter of the system to what it is", 0, try_parameter},
    {"atom", "NAME", "finds a global atom", 1, try_atom},
    SBX_SELFTEST_ALONE,
};
