/* The console of a box. */
#include "win/terminal.h"

#include "win/fault.h"
#include "win/handle.h"

#include "common/base/banned.h"

enum { DEFAULT_COLUMNS = 120, DEFAULT_ROWS = 30, CLOSE_WAIT_MS = 5000 };

bool sbx_terminal_is_available(void)
{
    return sbx_win()->CreatePseudoConsole != NULL && sbx_win()->ResizePseudoConsole != NULL &&
           sbx_win()->ClosePseudoConsole != NULL;
}

/* ---- the caller's console -------------------------------------------------------------------- */

static COORD size_of(HANDLE screen)
{
    CONSOLE_SCREEN_BUFFER_INFO info = {0};
    COORD size = {DEFAULT_COLUMNS, DEFAULT_ROWS};
    if (screen != NULL && sbx_win()->GetConsoleScreenBufferInfo(screen, &info)) {
        size.X = (SHORT)(info.srWindow.Right - info.srWindow.Left + 1);
        size.Y = (SHORT)(info.srWindow.Bottom - info.srWindow.Top + 1);
    }
    return size;
}

/* Keys and colours as sequences, nothing interpreted on the way: Ctrl-C is the box's. */
static enum sbx_code make_raw(struct sbx_terminal *terminal, struct sbx_err *err)
{
    if (!sbx_win()->GetConsoleMode(terminal->screen, &terminal->screen_mode) ||
        !sbx_win()->GetConsoleMode(terminal->keyboard, &terminal->keyboard_mode)) {
        DWORD raw = GetLastError();
        (void)sbx_err_win32(err, raw, "GetConsoleMode", "the streams of sbx are not a console");
        return sbx_err_hint(err, "leave out --tty");
    }
    terminal->has_modes = true;
    DWORD keys = ENABLE_VIRTUAL_TERMINAL_INPUT;
    DWORD screen = terminal->screen_mode | ENABLE_PROCESSED_OUTPUT |
                   ENABLE_VIRTUAL_TERMINAL_PROCESSING | DISABLE_NEWLINE_AUTO_RETURN;
    if (!sbx_win()->SetConsoleMode(terminal->keyboard, keys) ||
        !sbx_win()->SetConsoleMode(terminal->screen, screen)) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "SetConsoleMode", "the console cannot carry a terminal");
    }
    return SBX_OK;
}

void sbx_terminal_follow(void *argument)
{
    struct sbx_terminal *terminal = argument;
    COORD size = size_of(terminal->screen);
    if (terminal->screen != NULL && (size.X != terminal->size.X || size.Y != terminal->size.Y)) {
        terminal->size = size;
        (void)sbx_win()->ResizePseudoConsole(terminal->console, size);
    }
}

/* ---- opening and closing --------------------------------------------------------------------- */

/* The ends that the console gets; the pumps have the others. */
static enum sbx_code open_ends(bool is_carried, struct sbx_attend *attend,
                               struct sbx_terminal *terminal, HANDLE *in, HANDLE *out,
                               struct sbx_err *err)
{
    struct sbx_pump_plan plan = {.sink = terminal->screen};
    if (!is_carried) {
        if (!sbx_win()->CreatePipe(in, &terminal->input, NULL, 0)) {
            DWORD raw = GetLastError();
            return sbx_err_win32(err, raw, "CreatePipe", "cannot make the console of the box");
        }
        return sbx_pump_open(&plan, &terminal->silent, out, err);
    }
    enum sbx_code code = sbx_pump_open_input(terminal->keyboard, &attend->input, in, err);
    return code != SBX_OK ? code : sbx_pump_open(&plan, &attend->output[0], out, err);
}

static enum sbx_code open_console(bool is_carried, struct sbx_attend *attend,
                                  struct sbx_terminal *terminal, struct sbx_err *err)
{
    AUTO_HANDLE in = NULL;
    AUTO_HANDLE out = NULL;
    enum sbx_code code = is_carried ? make_raw(terminal, err) : SBX_OK;
    if (code == SBX_OK) {
        code = open_ends(is_carried, attend, terminal, &in, &out, err);
    }
    if (code != SBX_OK) {
        return code;
    }
    terminal->size = size_of(terminal->screen);
    HRESULT raw = sbx_win()->CreatePseudoConsole(terminal->size, in, out, 0, &terminal->console);
    if (FAILED(raw)) {
        terminal->console = NULL;
        return sbx_err_os(err, SBX_E_IO, SBX_OS_HRESULT, raw, "CreatePseudoConsole",
                          "cannot make the console of the box");
    }
    return SBX_OK;
}

enum sbx_code sbx_terminal_open(bool is_carried, struct sbx_attend *attend,
                                struct sbx_terminal *out, struct sbx_err *err)
{
    struct sbx_terminal terminal = {0};
    if (!sbx_terminal_is_available()) {
        (void)sbx_err_set(err, SBX_E_UNSUPPORTED, "this Windows has no pseudo consoles");
        return sbx_err_hint(err, "they come with Windows 10 1809");
    }
    if (is_carried) {
        terminal.screen = sbx_win()->GetStdHandle(STD_OUTPUT_HANDLE);
        terminal.keyboard = sbx_win()->GetStdHandle(STD_INPUT_HANDLE);
    }
    enum sbx_code code = open_console(is_carried, attend, &terminal, err);
    if (code != SBX_OK) {
        sbx_terminal_close(&terminal);
        return code;
    }
    *out = terminal;
    return SBX_OK;
}

void sbx_terminal_end(void *argument)
{
    struct sbx_terminal *terminal = argument;
    /* Before Windows 11 24H2 this waits until the last frame is read: the pump reads it. */
    if (terminal->console != NULL) {
        sbx_win()->ClosePseudoConsole(terminal->console);
        terminal->console = NULL;
    }
}

void sbx_terminal_close(struct sbx_terminal *terminal)
{
    sbx_terminal_end(terminal);
    sbx_handle_close(&terminal->input);
    if (terminal->silent != NULL) {
        if (!sbx_handle_has_ended(sbx_pump_thread(terminal->silent), CLOSE_WAIT_MS)) {
            sbx_pump_hurry(terminal->silent);
        }
        (void)sbx_pump_close(SBX_TAKE(terminal->silent, NULL));
    }
    if (terminal->has_modes) {
        (void)sbx_win()->SetConsoleMode(terminal->keyboard, terminal->keyboard_mode);
        (void)sbx_win()->SetConsoleMode(terminal->screen, terminal->screen_mode);
        terminal->has_modes = false;
    }
}
