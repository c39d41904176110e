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
#include "win/job.h"
#include "win/quote.h"
#include "win/recipe.h"
#include "win/terminal.h"
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

/* The C runtime's own start-up, by the rules of its time. */
typedef struct {
    int new_mode;
} crt_start;
typedef int CDECL crt_arguments(int *count, wchar_t ***arguments, wchar_t ***environment,
                                int expands, crt_start *start);

/* crt FILE TEXT…: as say, but taken apart by the C runtime */
static int verb_crt(const char *const *args)
{
    AUTO_BUF all;
    AUTO_ARENA arena;
    sbx_buf_init(&all, 1 << 16);
    sbx_arena_init(&arena, 1 << 20);
    FARPROC address = GetProcAddress(LoadLibraryA("msvcrt.dll"), "__wgetmainargs");
    crt_arguments *take;
    memcpy(&take, &address, sizeof take);
    int count = 0;
    wchar_t **wide = NULL;
    wchar_t **environment = NULL;
    crt_start start = {0};
    if (take == NULL || take(&count, &wide, &environment, 0, &start) != 0) {
        return 1;
    }
    for (int i = 4; i < count; i++) { /* program, --actor, crt, FILE */
        const char *text = "?";
        (void)!sbx_wide_to(&arena, wide[i], &text, NULL);
        sbx_buf_printf(&all, "[%s]\n", text);
    }
    actor_write(args[0], sbx_buf_text(&all));
    return 0;
}

/* hold-job FILE: owns a job with a tree in it, whose last child writes its pid into FILE, and waits to be killed */
static int verb_hold_job(const char *const *args)
{
    HANDLE job = NULL;
    struct actor tree;
    if (sbx_job_open(NULL, &job, NULL) != SBX_OK ||
        !AssignProcessToJobObject(job, GetCurrentProcess()) ||
        !actor_start(&tree, (const char *[]){"daemon", args[0], "600000", NULL}, NULL, NULL)) {
        return 1;
    }
    Sleep(600000);
    return 0;
}

/* desktop FILE: the names of its window station and its desktop */
static int verb_desktop(const char *const *args)
{
    wchar_t name[2][128] = {{0}};
    DWORD size;
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 16);
    const char *text[2] = {"?", "?"};
    HANDLE objects[] = {GetProcessWindowStation(), GetThreadDesktop(GetCurrentThreadId())};
    for (size_t i = 0; i < 2; i++) {
        if (!GetUserObjectInformationW(objects[i], UOI_NAME, name[i], sizeof name[i], &size) ||
            sbx_wide_to(&arena, name[i], &text[i], NULL) != SBX_OK) {
            return 1;
        }
    }
    actor_write(args[0], sbx_arena_printf(&arena, "%s\\%s", text[0], text[1]));
    return 0;
}

static HANDLE open_console(const wchar_t *name)
{
    return CreateFileW(name, GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL,
                       OPEN_EXISTING, 0, NULL);
}

/* console FILE: the size of its console, and a line on it */
static int verb_console(const char *const *args)
{
    CONSOLE_SCREEN_BUFFER_INFO info = {0};
    AUTO_HANDLE screen = open_console(L"CONOUT$");
    char text[64] = "none";
    DWORD put;
    if (GetConsoleScreenBufferInfo(screen, &info)) {
        (void)snprintf(text, sizeof text, "%dx%d", info.srWindow.Right - info.srWindow.Left + 1,
                       info.srWindow.Bottom - info.srWindow.Top + 1);
    }
    (void)WriteFile(screen, "hello\r\n", 7, &put, NULL);
    actor_write(args[0], text);
    return 0;
}

/* screen FILE TEXT: writes the text to its console as sbx writes, and what the screen shows then into FILE */
static int verb_screen(const char *const *args)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 20);
    AUTO_HANDLE screen = open_console(L"CONOUT$");
    wchar_t line[32] = {0};
    const char *shown = "?";
    CONSOLE_SCREEN_BUFFER_INFO info = {0};
    DWORD got = 0;
    struct sbx_err err = {.text = ""};
    (void)SetStdHandle(STD_OUTPUT_HANDLE, screen);
    (void)GetConsoleScreenBufferInfo(screen, &info);
    enum sbx_code code = sbx_os_write(SBX_STDOUT, args[1], strlen(args[1]), &err);
    (void)ReadConsoleOutputCharacterW(screen, line, 20, info.dwCursorPosition, &got);
    (void)!sbx_wide_to(&arena, line, &shown, NULL);
    actor_write(args[0],
                sbx_arena_printf(&arena, "%s %s %s [%s]", sbx_code_text(code),
                                 sbx_os_is_terminal(SBX_STDOUT) ? "terminal" : "file",
                                 sbx_os_terminal_colours(SBX_STDOUT) ? "colours" : "plain", shown));
    return 0;
}

/* carry FILE: opens a carried terminal on its own console and closes it; what happened goes into FILE */
static int verb_carry(const char *const *args)
{
    AUTO_HANDLE screen = open_console(L"CONOUT$");
    AUTO_HANDLE keyboard = open_console(L"CONIN$");
    struct sbx_attend attend = {0};
    struct sbx_terminal terminal = {0};
    struct sbx_err err = {0};
    DWORD before[2] = {0};
    DWORD during[2] = {0};
    DWORD after[2] = {0};
    (void)SetStdHandle(STD_OUTPUT_HANDLE, screen);
    (void)SetStdHandle(STD_INPUT_HANDLE, keyboard);
    bool is_ok = GetConsoleMode(screen, &before[0]) && GetConsoleMode(keyboard, &before[1]);
    if (!is_ok || sbx_attend_init(&attend, &err) != SBX_OK ||
        sbx_terminal_open(true, &attend, &terminal, &err) != SBX_OK) {
        actor_write(args[0], err.text);
        return 1;
    }
    (void)GetConsoleMode(screen, &during[0]);
    (void)GetConsoleMode(keyboard, &during[1]);
    bool is_raw =
        (during[0] & ENABLE_VIRTUAL_TERMINAL_PROCESSING) != 0 &&
        (during[1] & (ENABLE_LINE_INPUT | ENABLE_ECHO_INPUT | ENABLE_PROCESSED_INPUT)) == 0;
    bool is_carried = attend.output[0] != NULL && attend.input != NULL && terminal.silent == NULL;
    sbx_terminal_follow(&terminal);
    terminal.size.X = 1; /* as if the window had grown since */
    sbx_terminal_follow(&terminal);
    is_carried &= terminal.size.X > 1;
    sbx_terminal_end(&terminal);
    sbx_attend_release(&attend);
    sbx_terminal_close(&terminal);
    (void)GetConsoleMode(screen, &after[0]);
    (void)GetConsoleMode(keyboard, &after[1]);
    bool is_back = before[0] == after[0] && before[1] == after[1];
    char text[128];
    (void)snprintf(text, sizeof text, "opened %s %s closed %s", is_raw ? "raw" : "cooked",
                   is_carried ? "carried" : "not carried", is_back ? "back" : "changed");
    actor_write(args[0], text);
    return 0;
}

/* recipe FILE STATE-DIRECTORY: the index of the recipe that is known there; else nothing */
static int verb_recipe(const char *const *args)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 20);
    struct sbx_context context = {0};
    struct sbx_recipe recipe;
    const char *text = "-";
    if (sbx_path_make(&arena, SBX_PATH_WINDOWS, sbx_str(args[1]), &context.state_dir) !=
        SBX_PATH_OK) {
        return 1;
    }
    if (sbx_recipe_known(&arena, &context, &recipe)) {
        for (size_t i = 0; i < sbx_recipe_count; i++) {
            if (sbx_recipes[i].rung == recipe.rung &&
                sbx_recipes[i].has_console == recipe.has_console) {
                text = sbx_arena_printf(&arena, "%zu", i);
            }
        }
    }
    actor_write(args[0], text);
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
    {"code", verb_code},       {"daemon", verb_daemon},   {"breakaway", verb_breakaway},
    {"birth", verb_birth},     {"listen", verb_listen},   {"hold-job", verb_hold_job},
    {"desktop", verb_desktop}, {"console", verb_console}, {"carry", verb_carry},
    {"recipe", verb_recipe},   {"screen", verb_screen},   {"crt", verb_crt},
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
