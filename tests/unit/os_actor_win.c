/* Actors beside the test, and what only a Windows actor can do. */
#include "tests/unit/os_actor.h"

#include <windows.h>

#include <fcntl.h>
#include <io.h>
#include <shellapi.h> /* CommandLineToArgvW only */
#include <stdio.h>
#include <string.h>

#include "common/base/buf.h"
#include "win/handle.h"
#include "win/quote.h"
#include "win/wide.h"

#include "common/base/banned.h"

long actor_pid(void)
{
    return (long)GetCurrentProcessId();
}

void actor_sleep_ms(unsigned milliseconds)
{
    Sleep(milliseconds);
}

bool actor_is_process_alive(long pid)
{
    AUTO_HANDLE process = OpenProcess(SYNCHRONIZE, FALSE, (DWORD)pid);
    return sbx_handle_is_open(process) && WaitForSingleObject(process, 0) == WAIT_TIMEOUT;
}

void actor_binary_stdout(void)
{
    (void)_setmode(1, _O_BINARY);
}

/* ---- removing ------------------------------------------------------------------------------ */

/* Our own walk over absolute \\?\ names: the shell's delete function, given paths beyond MAX_PATH,
 * deleted the current directory instead (Wine 8). Never leaves the tree it was given. */
static void remove_below(wchar_t *path, size_t len, size_t capacity)
{
    WIN32_FIND_DATAW entry;
    if (len + 3 > capacity) {
        return;
    }
    wmemcpy(path + len, L"\\*", 3);
    HANDLE search = FindFirstFileW(path, &entry);
    path[len] = L'\0';
    if (search == INVALID_HANDLE_VALUE) {
        return;
    }
    do {
        size_t name = wcslen(entry.cFileName);
        bool is_dots = wcscmp(entry.cFileName, L".") == 0 || wcscmp(entry.cFileName, L"..") == 0;
        if (is_dots || len + 1 + name + 1 > capacity) {
            continue;
        }
        path[len] = L'\\';
        wmemcpy(path + len + 1, entry.cFileName, name + 1);
        bool is_directory = (entry.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
        bool is_link = (entry.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0;
        (void)SetFileAttributesW(path, FILE_ATTRIBUTE_NORMAL);
        if (is_directory && !is_link) {
            remove_below(path, len + 1 + name, capacity);
        }
        (void)(is_directory ? RemoveDirectoryW(path) : DeleteFileW(path));
        path[len] = L'\0';
    } while (FindNextFileW(search, &entry));
    (void)FindClose(search);
}

void actor_remove_tree(const char *path)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 20);
    static wchar_t buffer[32768];
    wchar_t *wide;
    /* Only what this file made: an absolute name with the tests' own mark in it. */
    bool is_ours = sbx_str_contains(sbx_str(path), "sbx-test-");
    if (!is_ours || sbx_wide_path(&arena, path, &wide, NULL) != SBX_OK ||
        wcsncmp(wide, L"\\\\?\\", 4) != 0 || wcsstr(wide, L"sbx-test-") == NULL) {
        return;
    }
    size_t len = wcslen(wide);
    wmemcpy(buffer, wide, len + 1);
    remove_below(buffer, len, SBX_COUNT(buffer));
    (void)RemoveDirectoryW(wide);
}

/* ---- starting ------------------------------------------------------------------------------ */

/* The C runtime's narrow arguments have lost what the code page lacks. */
const char *const *actor_verb(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    static const char *verb[64];
    static struct sbx_arena arena;
    sbx_arena_init(&arena, 1 << 20);
    int count;
    wchar_t **wide = CommandLineToArgvW(GetCommandLineW(), &count);
    for (int i = 2; i < count && i < 60; i++) {
        if (sbx_wide_to(&arena, wide[i], &verb[i - 2], NULL) != SBX_OK) {
            verb[i - 2] = "?";
        }
    }
    return verb;
}

static HANDLE open_stream(struct sbx_arena *arena, const char *path)
{
    wchar_t *wide;
    SECURITY_ATTRIBUTES inherit = {.nLength = sizeof inherit, .bInheritHandle = TRUE};
    if (path == NULL) {
        return CreateFileW(L"NUL", GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE,
                           &inherit, OPEN_EXISTING, 0, NULL);
    }
    if (sbx_wide_path(arena, path, &wide, NULL) != SBX_OK) {
        return NULL;
    }
    return CreateFileW(wide, GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE, &inherit,
                       CREATE_ALWAYS, 0, NULL);
}

bool actor_start(struct actor *actor, const char *const *verb, const char *stdout_path,
                 const char *stderr_path)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 4 << 20);
    const char *argv[32] = {actor_program(), "--actor"};
    for (size_t i = 0; verb[i] != NULL && i + 3 < SBX_COUNT(argv); i++) {
        argv[i + 2] = verb[i];
    }
    wchar_t *line;
    wchar_t *program;
    if (sbx_quote_argv(&arena, argv, &line, NULL) != SBX_OK ||
        sbx_wide_from(&arena, argv[0], &program, NULL) != SBX_OK) {
        return false;
    }
    AUTO_HANDLE in = open_stream(&arena, NULL);
    AUTO_HANDLE out = open_stream(&arena, stdout_path);
    AUTO_HANDLE error = open_stream(&arena, stderr_path);
    STARTUPINFOW info = {
        .cb = sizeof info,
        .dwFlags = STARTF_USESTDHANDLES,
        .hStdInput = in,
        .hStdOutput = out,
        .hStdError = error,
    };
    PROCESS_INFORMATION born;
    if (!CreateProcessW(program, line, NULL, NULL, TRUE, 0, NULL, NULL, &info, &born)) {
        return false;
    }
    (void)CloseHandle(born.hThread);
    actor->process = (intptr_t)born.hProcess;
    return true;
}

int actor_wait(struct actor *actor)
{
    HANDLE process = (HANDLE)actor->process;
    DWORD code = 0;
    bool ended = WaitForSingleObject(process, 60000) == WAIT_OBJECT_0;
    (void)GetExitCodeProcess(process, &code);
    (void)CloseHandle(process);
    return ended ? (int)code : -1;
}

void actor_kill(struct actor *actor)
{
    (void)TerminateProcess((HANDLE)actor->process, 99);
    (void)actor_wait(actor);
}

/* ---- verbs --------------------------------------------------------------------------------- */

static uint64_t number(const char *text)
{
    uint64_t value = 0;
    return text != NULL && sbx_str_to_u64(sbx_str(text), &value) ? value : 0;
}

/* code NUMBER: all 32 bits */
static int verb_code(const char *const *args)
{
    ExitProcess((UINT)number(args[0]));
}

/* daemon FILE SLEEP-MS: leaves a process without console and parent behind */
static int verb_daemon(const char *const *args)
{
    struct actor actor;
    if (!actor_start(&actor, (const char *[]){"sleep", args[0], "600000", NULL}, NULL, NULL)) {
        return 1;
    }
    while (actor_read(args[0])[0] == '\0') {
        Sleep(5);
    }
    Sleep((DWORD)number(args[1]));
    return 0;
}

/* breakaway FILE: tries to start a process outside its job; the error goes into FILE */
static int verb_breakaway(const char *const *args)
{
    wchar_t line[] = L"cmd.exe /c exit";
    wchar_t program[MAX_PATH + 16];
    UINT len = GetSystemDirectoryW(program, MAX_PATH);
    wmemcpy(program + len, L"\\cmd.exe", 9);
    STARTUPINFOW info = {.cb = sizeof info};
    PROCESS_INFORMATION born;
    BOOL done = CreateProcessW(program, line, NULL, NULL, FALSE, CREATE_BREAKAWAY_FROM_JOB, NULL,
                               NULL, &info, &born);
    char text[32];
    (void)snprintf(text, sizeof text, "%lu", done ? 0 : GetLastError());
    actor_write(args[0], text);
    return 0;
}

/* birth FILE EVENT-HANDLE: its environment, and whether the number is an event here */
static int verb_birth(const char *const *args)
{
    AUTO_BUF all;
    AUTO_ARENA arena;
    sbx_buf_init(&all, 1 << 16);
    sbx_arena_init(&arena, 1 << 20);
    const wchar_t *block = GetEnvironmentStringsW();
    for (const wchar_t *at = block; *at != L'\0'; at += wcslen(at) + 1) {
        const char *text;
        if (sbx_wide_to(&arena, at, &text, NULL) == SBX_OK) {
            sbx_buf_printf(&all, "env %s\n", text);
        }
    }
    HANDLE event = (HANDLE)(uintptr_t)number(args[1]);
    sbx_buf_printf(&all, "event %d\n", SetEvent(event) ? 1 : 0);
    actor_write(args[0], sbx_buf_text(&all));
    return 0;
}

static volatile LONG presses;

static BOOL WINAPI on_press(DWORD kind)
{
    (void)kind;
    (void)InterlockedIncrement(&presses);
    return TRUE;
}

/* listen PIDFILE LOGFILE: counts Ctrl-C for a while */
static int verb_listen(const char *const *args)
{
    (void)SetConsoleCtrlHandler(on_press, TRUE);
    char text[32];
    (void)snprintf(text, sizeof text, "%ld", actor_pid());
    actor_write(args[0], text);
    for (int i = 0; i < 600; i++) {
        (void)snprintf(text, sizeof text, "%ld", presses);
        actor_write(args[1], text);
        Sleep(100);
    }
    return 0;
}

static const struct {
    const char *name;
    int (*run)(const char *const *args);
} verbs[] = {
    {"code", verb_code},   {"daemon", verb_daemon}, {"breakaway", verb_breakaway},
    {"birth", verb_birth}, {"listen", verb_listen},
};

int actor_system_verb(const char *const *verb)
{
    for (size_t i = 0; i < SBX_COUNT(verbs); i++) {
        if (sbx_text_eq(verb[0], verbs[i].name)) {
            return verbs[i].run(verb + 1);
        }
    }
    return 98;
}
