/* A plain child on Windows: found, quoted, born suspended into a job, watched, ended as a tree. */
#include <windows.h>

#include <string.h>

#include "common/os.h"
#include "win/attend.h"
#include "win/environment.h"
#include "win/fault.h"
#include "win/handle.h"
#include "win/job.h"
#include "win/process.h"
#include "win/program.h"
#include "win/wide.h"

#include "common/base/banned.h"

enum { RUN_ARENA = 16 << 20 };

struct run {
    const struct sbx_plain_run *plan;
    struct sbx_arena arena;
    struct sbx_attend attend;
};

static void release(struct run *run)
{
    sbx_attend_release(&run->attend);
    sbx_handle_close(&run->attend.thread);
    sbx_handle_close(&run->attend.process);
    sbx_handle_close(&run->attend.job); /* ends what may still be in it */
    sbx_arena_release(&run->arena);
}

/* ---- before -------------------------------------------------------------------------------- */

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
            struct sbx_pump_plan plan = {.sink = stream[i + 1],
                                         .max_bytes = run->plan->max_output_bytes,
                                         .over = run->attend.over};
            enum sbx_code code = sbx_pump_open(&plan, &run->attend.output[i], &made[i], err);
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
        code = sbx_program_line(arena, *program, plan->argv, &birth->command_line, err);
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
        code = sbx_attend_init(&run->attend, err);
    }
    if (code == SBX_OK) {
        code = sbx_job_open(NULL, &run->attend.job, err);
    }
    if (code != SBX_OK) {
        return code;
    }
    HANDLE made[2] = {NULL, NULL};
    struct sbx_process born = {0};
    birth.job = run->attend.job;
    code = open_streams(run, birth.stream, made, err);
    if (code == SBX_OK) {
        code = sbx_process_create(&birth, &born, err);
        if (code != SBX_OK) {
            (void)sbx_err_context(err, "\"%s\"", program.text);
            if (err != NULL && (DWORD)err->raw == SBX_ERROR_ELEVATION_REQUIRED) {
                (void)sbx_err_hint(err,
                                   "sbx never elevates; start sbx itself elevated if you must");
            }
        }
    }
    sbx_handle_close(&made[0]); /* so that the pumps see the child's end */
    sbx_handle_close(&made[1]);
    run->attend.process = born.process;
    run->attend.thread = born.thread;
    return code;
}

enum sbx_code sbx_os_run_plain(const struct sbx_plain_run *plan, struct sbx_outcome *out,
                               struct sbx_err *err)
{
    SBX_CLEANUP(release) struct run run = {.plan = plan};
    sbx_arena_init(&run.arena, RUN_ARENA);
    enum sbx_code code = start(&run, err);
    if (code == SBX_OK) {
        run.attend.timeout_ns = plan->timeout_ns;
        code = sbx_attend_run(&run.attend, err);
    }
    if (code == SBX_OK) {
        uint64_t *const bytes[] = {&run.attend.outcome.stdout_bytes,
                                   &run.attend.outcome.stderr_bytes};
        for (size_t i = 0; i < SBX_COUNT(bytes); i++) {
            *bytes[i] = sbx_pump_close(SBX_TAKE(run.attend.output[i], NULL));
        }
        *out = run.attend.outcome;
    }
    return code;
}
