/* The model itself: its memory, its lock, its clock, its launchers and their deaths. */
#include "tests/ntmodel/nt_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/banned.h"

enum { END_WAIT_MS = 10000, KILLED_CODE = 1 };

WCHAR NTAPI RtlUpcaseUnicodeChar(WCHAR character);

static struct nt_model *current;

/* ---- memory and text -------------------------------------------------------------------------------- */

void *nt_alloc(size_t size)
{
    void *memory = calloc(1, size == 0 ? 1 : size);
    if (memory == NULL) {
        (void)fprintf(stderr, "nt model: out of memory\n");
        abort();
    }
    return memory;
}

void *nt_grow(void *rows, size_t *room, size_t count, size_t each)
{
    if (count < *room) {
        return rows;
    }
    *room = *room == 0 ? 16 : *room * 2;
    void *grown = realloc(rows, *room * each);
    if (grown == NULL) {
        (void)fprintf(stderr, "nt model: out of memory\n");
        abort();
    }
    return grown;
}

void *nt_copy(const void *bytes, size_t size)
{
    void *copy = nt_alloc(size);
    memcpy(copy, bytes, size);
    return copy;
}

size_t nt_length(const wchar_t *text)
{
    size_t len = 0;
    while (text[len] != 0) {
        len++;
    }
    return len;
}

wchar_t *nt_wide(const wchar_t *text)
{
    return text == NULL ? NULL : nt_copy(text, (nt_length(text) + 1) * sizeof *text);
}

static WCHAR fold(WCHAR character)
{
    if (character < 0x80) {
        return character >= 'a' && character <= 'z' ? (WCHAR)(character - 'a' + 'A') : character;
    }
    return RtlUpcaseUnicodeChar(character);
}

int nt_compare_names(const wchar_t *a, size_t a_len, const wchar_t *b, size_t b_len)
{
    for (size_t i = 0; i < a_len && i < b_len; i++) {
        WCHAR left = fold(a[i]);
        WCHAR right = fold(b[i]);
        if (left != right) {
            return left < right ? -1 : 1;
        }
    }
    return a_len == b_len ? 0 : a_len < b_len ? -1 : 1;
}

bool nt_same_name(const wchar_t *a, const wchar_t *b)
{
    return nt_compare_names(a, nt_length(a), b, nt_length(b)) == 0;
}

void nt_say(struct nt_model *model, const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    int len = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    for (int i = 0; i < len && i < (int)sizeof line - 1; i++) {
        model->report =
            nt_grow(model->report, &model->report_room, model->report_size + 1, sizeof(char));
        model->report[model->report_size++] = line[i];
    }
    if (model->report != NULL) {
        model->report[model->report_size] = '\0';
    }
}

/* ---- failing ---------------------------------------------------------------------------------------- */

BOOL nt_fail(DWORD code)
{
    SetLastError(code);
    return FALSE;
}

BOOL nt_fail_status(NTSTATUS status)
{
    return nt_fail(RtlNtStatusToDosError(status));
}

HANDLE nt_fail_handle(DWORD code)
{
    SetLastError(code);
    return NULL;
}

HANDLE nt_fail_file(NTSTATUS status)
{
    SetLastError(RtlNtStatusToDosError(status));
    return INVALID_HANDLE_VALUE;
}

HRESULT nt_hresult(DWORD code)
{
    return (code & 0x80000000u) != 0 ? (HRESULT)code : HRESULT_FROM_WIN32(code);
}

NTSTATUS nt_status(DWORD code)
{
    if ((code & 0x80000000u) != 0) {
        return (NTSTATUS)code;
    }
    return code == ERROR_ACCESS_DENIED ? NT_STATUS_ACCESS_DENIED : NT_STATUS_UNSUCCESSFUL;
}

/* ---- life ------------------------------------------------------------------------------------------- */

struct nt_model *nt_model_current(void)
{
    return current;
}

struct nt_model *nt_model_of_call(void)
{
    return current;
}

struct nt_model *nt_model_new(const struct nt_world *world)
{
    nt_threads_init();
    struct nt_model *model = nt_alloc(sizeof *model);
    InitializeSRWLock(&model->lock);
    InitializeConditionVariable(&model->changed);
    model->world = *world;
    if (model->world.build == 0) {
        model->world.build = 22631;
    }
    model->start_tick = GetTickCount64();
    FILETIME now;
    GetSystemTimeAsFileTime(&now);
    model->start_time = (uint64_t)now.dwHighDateTime << 32 | now.dwLowDateTime;
    model->next_id = 4000;
    model->has_console = !world->has_no_console && !world->is_service;
    current = model;
    nt_table_forget();
    nt_lock(model);
    nt_world_build(model);
    (void)nt_launcher_new(model);
    nt_unlock(model);
    nt_model_settle(model);
    return model;
}

static bool await_threads(struct nt_model *model, const unsigned *threads)
{
    uint64_t until = nt_until(model, END_WAIT_MS);
    while (*threads > 0 && nt_sleep_plain(model, until)) {
    }
    return *threads == 0;
}

void nt_model_free(struct nt_model *model)
{
    if (model == NULL) {
        return;
    }
    nt_lock(model);
    memset(model->stalls, 0, sizeof model->stalls);
    for (struct nt_process *process = model->processes, *next; process != NULL; process = next) {
        next = process->next;
        if (!process->is_ended) {
            (void)nt_object_ref(process);
            nt_process_end(process, KILLED_CODE);
            nt_object_unref(process);
            next = model->processes; /* ending one may end others */
        }
    }
    nt_wake(model);
    bool is_quiet = await_threads(model, &model->threads);
    if (!is_quiet) {
        (void)fprintf(stderr, "nt model: %u threads do not end\n", model->threads);
        nt_unlock(model);
        return; /* they would find its memory gone */
    }
    nt_object_unref(model->launcher);
    for (size_t i = 0; i < model->attached_count; i++) {
        nt_object_unref(model->attached[i]);
    }
    nt_profiles_free(model);
    nt_consoles_free(model);
    nt_stations_free(model);
    nt_volumes_free(model);
    nt_unlock(model);
    for (size_t i = 0; i < 3; i++) {
        nt_pipe_buffer_unref(model->streams[i]);
        free(model->outputs[i]);
    }
    free(model->locals);
    free(model->report);
    if (current == model) {
        current = NULL;
    }
    free(model);
}

/* ---- launchers -------------------------------------------------------------------------------------- */

struct work {
    struct nt_process *process;
    void (*function)(void *state);
    void *state;
    bool is_done;
};

static DWORD WINAPI run_work(void *argument)
{
    struct work *work = argument;
    work->function(work->state);
    nt_lock(work->process->object.model);
    work->is_done = true;
    nt_wake(work->process->object.model);
    nt_unlock(work->process->object.model);
    return 0;
}

/* The launcher of before exits, as a process does whose main function returns. */
static void retire(struct nt_model *model)
{
    struct nt_process *old = nt_object_ref(model->launcher);
    if (!old->is_ended) {
        nt_process_end(old, 0);
        model->local_count = 0;
        model->handler_count = 0;
    }
    nt_wake(model);
    if (!await_threads(model, &old->threads)) {
        (void)fprintf(stderr, "nt model: a thread of the launcher does not end\n");
    }
    nt_object_unref(old);
}

bool nt_launcher_run(struct nt_model *model, void (*function)(void *state), void *state)
{
    nt_lock(model);
    retire(model);
    struct nt_process *launcher = nt_launcher_new(model);
    (void)nt_object_ref(launcher);
    struct work work = {launcher, function, state, false};
    struct nt_thread *thread = nt_thread_new(launcher, run_work, &work, false);
    nt_thread_start(thread);
    while (!thread->is_over) {
        (void)nt_sleep_plain(model, UINT64_MAX);
    }
    nt_object_unref(thread);
    bool lives = !launcher->is_killed;
    if (!lives && !await_threads(model, &launcher->threads)) {
        (void)fprintf(stderr, "nt model: a thread of the killed launcher does not end\n");
    }
    nt_object_unref(launcher);
    nt_unlock(model);
    return lives;
}

void nt_model_crash_after(struct nt_model *model, unsigned n)
{
    nt_lock(model);
    model->crash_at = n == 0 ? 0 : model->calls + n;
    model->loses_power = false;
    nt_unlock(model);
}

void nt_model_power_fails_after(struct nt_model *model, unsigned n)
{
    nt_model_crash_after(model, n);
    nt_lock(model);
    model->loses_power = true;
    nt_unlock(model);
}

void nt_launcher_kill(struct nt_process *launcher)
{
    struct nt_model *model = launcher->object.model;
    model->crash_at = 0;
    model->local_count = 0; /* its memory goes with it */
    model->handler_count = 0;
    launcher->is_killed = true;
    if (model->loses_power) {
        /* Everything that runs is gone at once, before it can write anything more. */
        for (struct nt_process *process = model->processes; process != NULL;) {
            struct nt_process *next = process->next;
            if (!process->is_ended && process != launcher) {
                process->is_killed = true;
                nt_process_end(process, KILLED_CODE);
                next = model->processes;
            }
            process = next;
        }
        nt_volumes_lose_power(model);
        model->loses_power = false;
    }
    nt_process_end(launcher, KILLED_CODE);
    nt_consoles_end(model);
    nt_wake(model);
}

void nt_model_crash(struct nt_model *model)
{
    nt_lock(model);
    nt_launcher_kill(model->launcher);
    (void)await_threads(model, &model->launcher->threads);
    nt_unlock(model);
}

/* ---- a second one at the same time ---------------------------------------------------------------------- */

struct nt_launcher {
    struct nt_process *process;
    struct nt_thread *thread;
    struct work work;
};

struct nt_launcher *nt_launcher_begin(struct nt_model *model, void (*function)(void *state),
                                      void *state)
{
    struct nt_launcher *launcher = nt_alloc(sizeof *launcher);
    nt_lock(model);
    launcher->process = nt_launcher_make(model);
    launcher->work = (struct work){launcher->process, function, state, false};
    launcher->thread = nt_thread_new(launcher->process, run_work, &launcher->work, false);
    nt_thread_start(launcher->thread);
    nt_unlock(model);
    return launcher;
}

bool nt_launcher_end(struct nt_launcher *launcher)
{
    struct nt_process *process = launcher->process;
    struct nt_model *model = process->object.model;
    nt_lock(model);
    while (!launcher->thread->is_over) {
        (void)nt_sleep_plain(model, UINT64_MAX);
    }
    bool lives = !process->is_killed;
    nt_process_end(process, 0);
    (void)await_threads(model, &process->threads);
    nt_object_unref(launcher->thread);
    nt_object_unref(process);
    nt_unlock(model);
    free(launcher);
    return lives;
}

DWORD nt_model_launcher_id(const struct nt_model *model)
{
    return model->launcher->id;
}

void nt_model_next_id(struct nt_model *model, DWORD id)
{
    model->forced_id = id;
}

/* ---- hooks ------------------------------------------------------------------------------------------ */

void nt_model_before(struct nt_model *model, nt_before *before, void *state)
{
    nt_lock(model);
    model->before = before;
    model->before_state = state;
    nt_unlock(model);
}

unsigned nt_model_calls(const struct nt_model *model, enum sbx_winapi_id id)
{
    return model->counts[id];
}

unsigned nt_model_calls_total(const struct nt_model *model)
{
    return model->calls;
}

void nt_model_stall(struct nt_model *model, enum sbx_winapi_id id)
{
    nt_lock(model);
    model->stalls[id] = true;
    nt_unlock(model);
}

void nt_model_unstall(struct nt_model *model)
{
    nt_lock(model);
    memset(model->stalls, 0, sizeof model->stalls);
    nt_wake(model);
    nt_unlock(model);
}

void nt_model_actor(struct nt_model *model, nt_actor *actor, void *state)
{
    nt_lock(model);
    model->world.actor = actor;
    model->world.actor_state = state;
    nt_unlock(model);
}

unsigned nt_model_bad_handles(const struct nt_model *model)
{
    return model->bad_handles;
}

unsigned nt_model_not_modelled(const struct nt_model *model)
{
    return model->not_modelled;
}
