/* Cases: a terminal of the command's own. The self-test plays the terminal window around sbx. */
#include "common/os.h"
#include "win/handle.h"
#include "win/selftest.h"

#include "common/base/banned.h"

#define LATE(name) SBX_LATE(L"kernel32.dll", name)
#define WIDTH 100
#define HEIGHT 30

struct window {
    HPCON console;
    HANDLE keyboard, screen; /* our ends */
};

static void close_console(struct window *window)
{
    if (window->console != NULL) {
        LATE(ClosePseudoConsole)(window->console);
        window->console = NULL;
    }
}

/* Our ends first: closing the console waits until its screen is read, or nobody can read it any more. */
static void close_window(struct window *window)
{
    sbx_handle_close(&window->keyboard);
    sbx_handle_close(&window->screen);
    close_console(window);
}

static bool open_window(struct window *out)
{
    AUTO_HANDLE input = NULL;
    AUTO_HANDLE output = NULL;
    COORD size = {WIDTH, HEIGHT};
    if (LATE(CreatePseudoConsole) == NULL || !CreatePipe(&input, &out->keyboard, NULL, 0) ||
        !CreatePipe(&out->screen, &output, NULL, 0)) {
        return false;
    }
    return SUCCEEDED(LATE(CreatePseudoConsole)(size, input, output, 0, &out->console));
}

/* ---- the person at the window: makes it larger, and closes it when sbx has ended, so that its reader ends ---- */

struct person {
    struct window *window;
    const char *resize_when; /* a file; NULL: the size stays */
    HANDLE thread;
    volatile LONG stop;
};

static DWORD WINAPI play(void *state)
{
    struct person *person = (struct person *)state;
    COORD size = {WIDTH + 20, HEIGHT + 10};
    bool has_resized = person->resize_when == NULL;
    while (InterlockedCompareExchange(&person->stop, 0, 0) == 0) {
        if (!has_resized && sbx_selftest_exists(person->resize_when)) {
            has_resized = SUCCEEDED(LATE(ResizePseudoConsole)(person->window->console, size));
        }
        Sleep(20);
    }
    return 0;
}

static void stop(struct person *person)
{
    (void)InterlockedExchange(&person->stop, 1);
    if (person->thread != NULL) {
        (void)WaitForSingleObject(person->thread, INFINITE);
        sbx_handle_close(&person->thread);
    }
}

static void leave(void *state)
{
    struct person *person = (struct person *)state;
    stop(person);
    close_console(person->window);
}

static enum sbx_code spawn_in_window(void *state, struct sbx_arena *arena,
                                     const struct sbx_selftest_spawn *spawn,
                                     struct sbx_selftest_ended *out, struct sbx_err *err)
{
    struct person *person = (struct person *)state;
    struct sbx_selftest_around around = {.terminal = person->window->console,
                                         .terminal_in = person->window->screen,
                                         .ended = leave,
                                         .ended_state = person};
    person->thread = CreateThread(NULL, 0, play, person, 0, NULL);
    enum sbx_code code = sbx_selftest_spawn_around(&around, arena, spawn, out, err);
    stop(person);
    return code;
}

static void run_in_window(struct sbx_selftest *t, const struct sbx_selftest_case *row,
                          struct sbx_selftest_result *result)
{
    SBX_CLEANUP(close_window) struct window window = {0};
    struct person person = {.window = &window};
    struct sbx_selftest_plan plan = {.manifest = row->manifest,
                                     .words = row->attempt,
                                     .options = "--tty",
                                     .spawn = spawn_in_window,
                                     .spawn_state = &person};
    struct sbx_selftest_box box;
    if (!sbx_selftest_has_box(t, result)) {
        return;
    }
    person.resize_when = sbx_selftest_expand(t, "{inside}\\resize");
    if (!open_window(&window)) {
        sbx_selftest_say(t, result, SBX_SELFTEST_CANNOT, "this system makes no pseudo console");
        return;
    }
    if (!sbx_selftest_run_box(t, &plan, &box, result)) {
        return;
    }
    sbx_selftest_say(t, result,
                     box.answer == SBX_ANSWER_DONE ? SBX_SELFTEST_PASS : SBX_SELFTEST_FAIL,
                     "box: %s", sbx_selftest_describe(t, &box));
}

/* Without a window around it: the box still has a terminal, and sbx comes to its end. */
static void run_without_window(struct sbx_selftest *t, const struct sbx_selftest_case *row,
                               struct sbx_selftest_result *result)
{
    struct sbx_selftest_plan plan = {.words = row->attempt, .options = "--tty"};
    struct sbx_selftest_box box;
    if (!sbx_selftest_run_box(t, &plan, &box, result)) {
        return;
    }
    bool is_good = box.has_report && box.started && box.exit_code == 0;
    sbx_selftest_say(t, result, is_good ? SBX_SELFTEST_PASS : SBX_SELFTEST_FAIL,
                     "exit code %lu after %u ms; box: %s", (unsigned long)box.exit_code,
                     (unsigned)(box.ended.wall_ns / 1000000), sbx_selftest_describe(t, &box));
}

static const struct sbx_selftest_case cases[] = {
    {.id = "terminal.output",
     .promise = "a command has a terminal of its own, and what it writes arrives",
     .attempt = "terminal",
     .run = run_in_window},
    {.id = "terminal.resize",
     .promise = "a terminal that changes its size changes the command's",
     .manifest = SBX_SELFTEST_WRITES,
     .attempt = "resize {inside}\\resize 8000",
     .run = run_in_window},
    {.id = "terminal.close",
     .promise = "a command with a terminal ends, also when sbx has none",
     .attempt = "terminal",
     .run = run_without_window},
};
const struct sbx_selftest_group sbx_selftest_terminal_group = {"terminal", cases, SBX_COUNT(cases)};
