/* A plain child on Windows: found, quoted, born suspended into a job, watched, ended as a tree. */
#include <windows.h>

#include <string.h>

#include "common/os.h"
#include "win/console.h"
#include "win/environment.h"
#include "win/fault.h"
#include "win/handle.h"
#include "win/job.h"
#include "win/process.h"
#include "win/pump.h"
#include "win/quote.h"
#include "win/wide.h"

#include "common/base/banned.h"

enum { RUN_ARENA = 16 << 20 };

struct run {
    const struct sbx_plain_run *plan;
    struct sbx_arena arena;
    HANDLE job;
    HANDLE process;
    HANDLE thread;
    HANDLE cancel; /* events */
    HANDLE over;
    HANDLE done;
    struct sbx_pump *pump[2];
    uint64_t begin_ns;
    uint64_t deadline_ns; /* 0: none */
    struct sbx_outcome outcome;
};

static void release(struct run *run)
{
    for (size_t i = 0; i < SBX_COUNT(run->pump); i++) {
        (void)sbx_pump_close(run->pump[i]);
    }
    sbx_handle_close(&run->thread);
    sbx_handle_close(&run->process);
    sbx_handle_close(&run->job); /* ends what may still be in it */
    sbx_handle_close(&run->cancel);
    sbx_handle_close(&run->over);
    sbx_handle_close(&run->done);
    sbx_arena_release(&run->arena);
}

/* ---- before -------------------------------------------------------------------------------- */

static enum sbx_code open_events(struct run *run, struct sbx_err *err)
{
    run->cancel = CreateEventW(NULL, TRUE, FALSE, NULL);
    run->over = CreateEventW(NULL, TRUE, FALSE, NULL);
    run->done = CreateEventW(NULL, TRUE, FALSE, NULL);
    if (run->cancel == NULL || run->over == NULL || run->done == NULL) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "CreateEventW", "cannot watch the command");
    }
    return SBX_OK;
}

/* CreateProcessW takes no \\?\ prefix for a directory and names it only by a number. */
static enum sbx_code directory_of(struct run *run, wchar_t **out, struct sbx_err *err)
{
    const char *cwd = run->plan->cwd;
    wchar_t *wide = NULL;
    if (cwd != NULL) {
        enum sbx_code code = sbx_wide_path(&run->arena, cwd, &wide, err);
        if (code != SBX_OK) {
            return code;
        }
        DWORD attributes = GetFileAttributesW(wide);
        DWORD raw = attributes == INVALID_FILE_ATTRIBUTES ? GetLastError() : ERROR_DIRECTORY;
        if (attributes == INVALID_FILE_ATTRIBUTES || (attributes & FILE_ATTRIBUTE_DIRECTORY) == 0) {
            return sbx_err_os(err, SBX_E_INVALID, SBX_OS_WIN32, raw, "GetFileAttributesW",
                              "cannot change to the directory \"%s\": %s", cwd,
                              sbx_win32_text(raw));
        }
        wide += wcslen(L"\\\\?\\");
    }
    *out = wide;
    return SBX_OK;
}

/* Our own streams, or for the two outputs a pipe when sbx carries them. */
static enum sbx_code open_streams(struct run *run, HANDLE stream[3], HANDLE made[2],
                                  struct sbx_err *err)
{
    static const DWORD names[] = {STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, STD_ERROR_HANDLE};
    for (size_t i = 0; i < 3; i++) {
        stream[i] = GetStdHandle(names[i]);
    }
    for (size_t i = 0; i < 2 && run->plan->max_output_bytes != 0; i++) {
        if (sbx_handle_is_open(stream[i + 1])) {
            enum sbx_code code =
                sbx_pump_open(&run->pump[i], stream[i + 1], run->plan->max_output_bytes, run->over,
                              &made[i], err);
            if (code != SBX_OK) {
                return code;
            }
            stream[i + 1] = made[i];
        }
    }
    return SBX_OK;
}

/* Everything that can be refused before anything of the system is touched. */
static enum sbx_code prepare(struct run *run, struct sbx_process_plan *birth,
                             struct sbx_path *program, struct sbx_err *err)
{
    const struct sbx_plain_run *plan = run->plan;
    struct sbx_arena *arena = &run->arena;
    wchar_t *path = NULL;
    wchar_t *directory = NULL;
    enum sbx_code code = sbx_os_find_program(arena, plan->program, plan->search_path, program, err);
    if (code == SBX_OK) {
        code = sbx_wide_from(arena, program->text, &path, err);
    }
    if (code == SBX_OK) {
        code = sbx_quote_argv(arena, plan->argv, &birth->command_line, err);
    }
    if (code == SBX_OK) {
        code = sbx_environment_block(arena, plan->env, &birth->environment, err);
    }
    if (code == SBX_OK) {
        code = directory_of(run, &directory, err);
    }
    birth->program = path;
    birth->directory = directory;
    return code;
}

static enum sbx_code start(struct run *run, struct sbx_err *err)
{
    struct sbx_process_plan birth = {0};
    struct sbx_path program;
    enum sbx_code code = prepare(run, &birth, &program, err);
    if (code == SBX_OK) {
        code = open_events(run, err);
    }
    if (code == SBX_OK) {
        code = sbx_job_open(&run->job, err);
    }
    if (code != SBX_OK) {
        return code;
    }
    HANDLE made[2] = {NULL, NULL};
    struct sbx_process born = {NULL, NULL};
    birth.job = run->job;
    code = open_streams(run, birth.stream, made, err);
    if (code == SBX_OK) {
        code = sbx_process_create(&birth, &born, err);
        if (code != SBX_OK) {
            (void)sbx_err_context(err, "\"%s\"", program.text);
        }
    }
    sbx_handle_close(&made[0]); /* so that the pumps see the child's end */
    sbx_handle_close(&made[1]);
    run->process = born.process;
    run->thread = born.thread;
    return code;
}

/* ---- meanwhile and after ------------------------------------------------------------------- */

static DWORD left_ms(const struct run *run)
{
    if (run->deadline_ns == 0) {
        return INFINITE;
    }
    uint64_t now = sbx_os_monotonic_ns();
    uint64_t left = run->deadline_ns <= now ? 0 : (run->deadline_ns - now) / 1000000 + 1;
    return left > 3600000 ? 3600000 : (DWORD)left;
}

static void note_limit(struct run *run, enum sbx_limit limit)
{
    if (run->outcome.limit == SBX_LIMIT_NONE) {
        run->outcome.limit = limit;
        run->outcome.origin = SBX_FROM_SBX;
    }
}

/* Waits for `what`; true when it came, false when the run was told to end. `over` may be NULL. */
static bool await(struct run *run, HANDLE what, HANDLE over)
{
    HANDLE handles[] = {what, run->cancel, over};
    for (;;) {
        DWORD got = WaitForMultipleObjects(over == NULL ? 2 : 3, handles, FALSE, left_ms(run));
        if (got == WAIT_OBJECT_0) {
            return true;
        }
        if (got == WAIT_OBJECT_0 + 1) {
            note_limit(run, SBX_LIMIT_CANCEL);
            return false;
        }
        if (got == WAIT_OBJECT_0 + 2) {
            note_limit(run, SBX_LIMIT_OUTPUT);
            return false;
        }
        if (got != WAIT_TIMEOUT || sbx_os_monotonic_ns() >= run->deadline_ns) {
            note_limit(run, got == WAIT_TIMEOUT ? SBX_LIMIT_TIMEOUT : SBX_LIMIT_CANCEL);
            return false;
        }
    }
}

/* The tree is gone; what it wrote is still in the pipes. A slow reader is waited for unless the run
 * was told to end. */
static void pass_on_rest(struct run *run)
{
    uint64_t *bytes[] = {&run->outcome.stdout_bytes, &run->outcome.stderr_bytes};
    bool hurries =
        run->outcome.limit == SBX_LIMIT_TIMEOUT || run->outcome.limit == SBX_LIMIT_CANCEL;
    for (size_t i = 0; i < SBX_COUNT(run->pump); i++) {
        if (run->pump[i] != NULL) {
            if (hurries || !await(run, sbx_pump_thread(run->pump[i]), NULL)) {
                hurries = true;
                sbx_pump_hurry(run->pump[i]);
            } else if (sbx_pump_is_over(run->pump[i])) {
                note_limit(run, SBX_LIMIT_OUTPUT);
            }
            *bytes[i] = sbx_pump_close(SBX_TAKE(run->pump[i], NULL));
        }
    }
}

static enum sbx_code watch(struct run *run, struct sbx_err *err)
{
    sbx_console_watch(run->cancel, run->done);
    run->begin_ns = sbx_os_monotonic_ns();
    if (run->plan->timeout_ns != 0) {
        run->deadline_ns = run->begin_ns + run->plan->timeout_ns;
    }
    enum sbx_code code = SBX_OK;
    if (ResumeThread(run->thread) == (DWORD)-1) {
        DWORD raw = GetLastError();
        code = sbx_err_win32(err, raw, "ResumeThread", "cannot start the program");
    } else {
        (void)await(run, run->process, run->over);
    }
    run->outcome.wall_ns = sbx_os_monotonic_ns() - run->begin_ns;
    sbx_job_end(run->job);
    pass_on_rest(run);
    (void)SetEvent(run->done);
    sbx_console_release();
    if (code == SBX_OK) {
        DWORD exit_code = 0;
        (void)WaitForSingleObject(run->process, 5000);
        (void)GetExitCodeProcess(run->process, &exit_code);
        run->outcome.exit_code = exit_code;
        run->outcome.started = true;
        sbx_job_account(run->job, run->process, &run->outcome);
    }
    return code;
}

enum sbx_code sbx_os_run_plain(const struct sbx_plain_run *plan, struct sbx_outcome *out,
                               struct sbx_err *err)
{
    SBX_CLEANUP(release) struct run run = {.plan = plan};
    sbx_arena_init(&run.arena, RUN_ARENA);
    enum sbx_code code = start(&run, err);
    if (code == SBX_OK) {
        code = watch(&run, err);
    }
    if (code == SBX_OK) {
        *out = run.outcome;
    }
    return code;
}
