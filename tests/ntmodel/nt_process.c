/* Processes: their life, what can be asked of one, and how the loader begins one. */
#include "tests/ntmodel/nt_internal.h"

#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "common/base/banned.h"

/* ---- life ------------------------------------------------------------------------------------------- */

struct nt_process *nt_process_new(struct nt_model *model, struct nt_token_object *token)
{
    struct nt_process *process = nt_object_new(model, NT_PROCESS, sizeof *process);
    process->token = nt_object_ref(token);
    process->id = model->forced_id != 0 ? model->forced_id : (model->next_id += 4);
    model->forced_id = 0;
    process->created = nt_filetime(nt_time(model));
    process->console = "";
    process->next = model->processes;
    model->processes = nt_object_ref(process);
    return process;
}

static void unlink_process(struct nt_process *process)
{
    struct nt_process **at = &process->object.model->processes;
    while (*at != process) {
        at = &(*at)->next;
    }
    *at = process->next;
    nt_object_unref(process);
}

void nt_process_end(struct nt_process *process, DWORD code)
{
    if (process->is_ended) {
        return;
    }
    (void)nt_object_ref(process);
    process->is_ended = true;
    process->exit_code = code;
    process->ended = nt_filetime(nt_time(process->object.model));
    if (process->main != NULL) {
        process->main->is_over = true;
        if (!process->main->is_started) {
            process->main->process = NULL;
        }
    }
    nt_handles_close(process);
    nt_consoles_leave(process);
    if (process->directory_file != NULL) {
        nt_object_let_go(process->directory_file);
        process->directory_file = NULL;
    }
    nt_station_attach(process, NULL);
    nt_job_leave(process);
    unlink_process(process);
    nt_wake(process->object.model);
    nt_object_unref(process);
}

void nt_process_free(struct nt_process *process)
{
    nt_object_unref(process->main);
    nt_object_unref(process->token);
    free(process->handles.rows);
    free(process->image);
    free(process->command_line);
    free(process->environment);
    free(process->directory);
    free(process->desktop_name);
}

struct nt_process *nt_process_find(struct nt_model *model, DWORD id)
{
    struct nt_process *process = model->processes;
    while (process != NULL && process->id != id) {
        process = process->next;
    }
    return process;
}

static void give_streams(struct nt_model *model, struct nt_process *launcher)
{
    for (int i = 0; i < 3; i++) {
        if (model->world.is_on_console) {
            void *device = i == 0 ? model->console_input : model->console_output;
            launcher->std[i] =
                nt_handle_add(launcher, device, FILE_GENERIC_READ | FILE_GENERIC_WRITE, true);
            continue;
        }
        struct nt_pipe *end = nt_pipe_end(model, model->streams[i], i != 0);
        DWORD access = i == 0 ? FILE_GENERIC_READ : FILE_GENERIC_WRITE;
        launcher->std[i] = nt_handle_add(launcher, end, access, true);
        nt_object_unref(end);
    }
}

static void join_outer_job(struct nt_model *model, struct nt_process *launcher)
{
    if (!model->world.is_in_job) {
        return;
    }
    struct nt_job *job = nt_object_new(model, NT_JOB, sizeof *job);
    job->session = launcher->token->token.session;
    job->limits.BasicLimitInformation.LimitFlags = model->world.outer_limit_flags;
    job->ui_limits = model->world.outer_ui_limits;
    (void)nt_job_join(job, launcher);
    nt_object_unref(job); /* somebody else's handle is not ours to count */
}

struct nt_process *nt_launcher_make(struct nt_model *model)
{
    struct nt_token *token = nt_alloc(sizeof *token);
    if (model->world.is_elevated) {
        nt_token_admin(token);
    } else {
        nt_token_user(token);
    }
    token->session = model->world.is_service ? 0 : 1;
    if (model->world.is_boxed) {
        struct nt_token plain = *token;
        struct nt_sid package;
        (void)nt_sid_parse("S-1-15-2-1-2-3-4-5-6-7", &package);
        (void)nt_token_lowbox(&plain, package.bytes, NULL, 0, false, token);
    }
    struct nt_token_object *object = nt_token_object_new(model, token);
    free(token);
    struct nt_process *launcher = nt_process_new(model, object);
    nt_object_unref(object);
    launcher->is_launcher = true;
    launcher->is_running = true;
    launcher->image = nt_wide(L"C:\\Program Files\\sbx\\sbx.exe");
    launcher->command_line = nt_wide(L"sbx.exe");
    launcher->directory = nt_wide(L"C:\\Users\\user\\project");
    launcher->console = model->has_console ? "launcher" : "";
    size_t size;
    const void *descriptor = nt_described(
        model, "O:$UG:$UD:(A;;0x1fffff;;;$U)(A;;0x1fffff;;;SY)S:(ML;;NWNR;;;ME)", &size);
    launcher->object.descriptor = nt_copy(descriptor, size);
    launcher->object.descriptor_size = size;
    launcher->desktop_name = nt_wide(model->first_desktop->name);
    nt_station_attach(launcher, model->first_station);
    give_streams(model, launcher);
    join_outer_job(model, launcher);
    launcher->own_handles = launcher->handles.count;
    return launcher;
}

struct nt_process *nt_launcher_new(struct nt_model *model)
{
    struct nt_process *launcher = nt_launcher_make(model);
    nt_object_unref(model->launcher);
    model->launcher = launcher;
    return launcher;
}

/* ---- the beginning ------------------------------------------------------------------------------------ */

static bool ends_with_dll(const wchar_t *name)
{
    size_t len = nt_length(name);
    return len > 4 && nt_same_name(name + len - 4, L".dll");
}

static bool can_load(struct nt_process *process, const wchar_t *path)
{
    return nt_file_try(process, path, FILE_READ_DATA | FILE_EXECUTE | SYNCHRONIZE) == 0;
}

/* Every library that lies next to the program counts as one that it needs. */
static bool can_load_neighbours(struct nt_process *process)
{
    struct nt_entry *entry = NULL;
    if (nt_world_find(process->object.model, process->image, &entry) == NULL || entry == NULL) {
        return false;
    }
    const struct nt_node *directory = entry->parent;
    wchar_t head[NT_PATH_MAX];
    size_t len = nt_node_path(directory, directory->entry, head);
    for (size_t i = 0; i < directory->child_count; i++) {
        const wchar_t *name = directory->children[i]->name;
        if (ends_with_dll(name)) {
            wchar_t path[NT_PATH_MAX];
            const wchar_t drive[] = {directory->volume->letter, L':', L'\0'};
            (void)swprintf(path, NT_PATH_MAX, L"%ls%ls%ls%ls", drive, head, len > 1 ? L"\\" : L"",
                           name);
            if (!can_load(process, path)) {
                return false;
            }
        }
    }
    return true;
}

/* What ends a process before its first instruction: 0 when it runs. */
static DWORD load(struct nt_process *process)
{
    static const wchar_t *const system[] = {
        L"C:\\Windows\\System32\\ntdll.dll",
        L"C:\\Windows\\System32\\kernel32.dll",
        L"C:\\Windows\\System32\\kernelbase.dll",
    };
    for (size_t i = 0; i < SBX_COUNT(system); i++) {
        if (!can_load(process, system[i])) {
            return NT_STATUS_DLL_NOT_FOUND;
        }
    }
    if (!can_load_neighbours(process)) {
        return NT_STATUS_DLL_NOT_FOUND;
    }
    bool needs_user = (process->image_kind & (NT_IMAGE_USER32 | NT_IMAGE_WINDOWS)) != 0;
    if (needs_user && (!can_load(process, L"C:\\Windows\\System32\\user32.dll") ||
                       nt_desktop_check(process) != 0)) {
        return NT_STATUS_DLL_INIT_FAILED;
    }
    /* A box cannot build the console that nobody gave it: its conhost would be outside of its reach. */
    bool needs_console = (process->image_kind & NT_IMAGE_WINDOWS) == 0;
    if (needs_console && strcmp(process->console, "own") == 0 &&
        process->token->token.is_appcontainer) {
        return NT_STATUS_DLL_INIT_FAILED;
    }
    return 0;
}

/* A directory that the process cannot open becomes the root of its drive, without a word. */
static void enter_directory(struct nt_process *process)
{
    struct nt_open open = {
        .access = FILE_TRAVERSE | SYNCHRONIZE,
        .share = FILE_SHARE_READ | FILE_SHARE_WRITE,
        .disposition = FILE_OPEN,
        .options = FILE_DIRECTORY_FILE,
    };
    void *file = NULL;
    DWORD granted;
    ULONG information;
    if (nt_parse_path(process, process->directory, &open.place) != 0 ||
        nt_file_open(process, &open, &file, &granted, &information) != 0) {
        free(process->directory);
        process->directory = nt_wide(L"C:\\");
        return;
    }
    nt_object_hold(file);
    nt_object_unref(file);
    process->directory_file = file;
}

static DWORD WINAPI act(void *argument)
{
    struct nt_process *process = argument;
    struct nt_model *model = process->object.model;
    DWORD code = process->actor(process, process->actor_state);
    nt_lock(model);
    nt_process_end(process, code);
    nt_unlock(model);
    return 0;
}

void nt_process_start(struct nt_process *process)
{
    process->is_running = true;
    enter_directory(process);
    DWORD code = load(process);
    if (code != 0 || process->actor == NULL) {
        nt_process_end(process, code);
        return;
    }
    process->main->start = act;
    process->main->argument = process;
    nt_thread_start(process->main);
}

/* ---- the calls ---------------------------------------------------------------------------------------- */

HANDLE WINAPI nt_GetCurrentProcess(void)
{
    return (HANDLE)(LONG_PTR)-1;
}

DWORD WINAPI nt_GetCurrentProcessId(void)
{
    return nt_process_now()->id;
}

BOOL WINAPI nt_ProcessIdToSessionId(DWORD id, DWORD *session)
{
    const struct nt_process *process = nt_process_find(nt_model_of_call(), id);
    if (process == NULL) {
        return nt_fail(ERROR_INVALID_PARAMETER);
    }
    *session = process->token->token.session;
    return TRUE;
}

HANDLE WINAPI nt_OpenProcess(DWORD access, BOOL inherit, DWORD id)
{
    struct nt_process *self = nt_process_now();
    struct nt_process *process = nt_process_find(self->object.model, id);
    if (process == NULL) {
        return nt_fail_handle(ERROR_INVALID_PARAMETER);
    }
    DWORD granted = 0;
    if (!nt_has_access(&self->token->token, process->object.descriptor, access,
                       nt_mapping(NT_PROCESS), &granted)) {
        return nt_fail_handle(ERROR_ACCESS_DENIED);
    }
    if ((granted & PROCESS_QUERY_INFORMATION) != 0) {
        granted |= PROCESS_QUERY_LIMITED_INFORMATION;
    }
    return nt_handle_add(self, process, granted, inherit != FALSE);
}

static struct nt_process *query(HANDLE handle)
{
    return nt_handle_get(handle, NT_PROCESS, PROCESS_QUERY_LIMITED_INFORMATION);
}

DWORD WINAPI nt_GetProcessId(HANDLE handle)
{
    const struct nt_process *process = query(handle);
    return process == NULL ? 0 : process->id;
}

BOOL WINAPI nt_GetProcessTimes(HANDLE handle, LPFILETIME created, LPFILETIME ended,
                               LPFILETIME kernel, LPFILETIME user)
{
    const struct nt_process *process = query(handle);
    if (process == NULL) {
        return FALSE;
    }
    *created = process->created;
    *ended = process->ended;
    *kernel = nt_filetime(0);
    *user = nt_filetime(process->user_ticks);
    return TRUE;
}

BOOL WINAPI nt_QueryFullProcessImageNameW(HANDLE handle, DWORD flags, LPWSTR name, PDWORD size)
{
    const struct nt_process *process = query(handle);
    if (process == NULL) {
        return FALSE;
    }
    wchar_t path[NT_PATH_MAX];
    const wchar_t *shown = process->image;
    if ((flags & PROCESS_NAME_NATIVE) != 0) {
        (void)swprintf(path, NT_PATH_MAX, L"\\Device\\HarddiskVolume3%ls", process->image + 2);
        shown = path;
    }
    size_t len = nt_length(shown);
    if (*size <= len) {
        return nt_fail(ERROR_INSUFFICIENT_BUFFER);
    }
    memcpy(name, shown, (len + 1) * sizeof *name);
    *size = (DWORD)len;
    return TRUE;
}

BOOL WINAPI nt_GetExitCodeProcess(HANDLE handle, LPDWORD code)
{
    const struct nt_process *process = query(handle);
    if (process == NULL) {
        return FALSE;
    }
    *code = process->is_ended ? process->exit_code : STILL_ACTIVE;
    return TRUE;
}

BOOL WINAPI nt_TerminateProcess(HANDLE handle, UINT code)
{
    struct nt_process *process = nt_handle_get(handle, NT_PROCESS, PROCESS_TERMINATE);
    if (process == NULL) {
        return FALSE;
    }
    if (process->is_ended) {
        return nt_fail(ERROR_ACCESS_DENIED);
    }
    nt_process_end(process, code);
    return TRUE;
}

BOOL WINAPI nt_K32GetProcessMemoryInfo(HANDLE handle, PPROCESS_MEMORY_COUNTERS counters, DWORD size)
{
    const struct nt_process *process = query(handle);
    if (process == NULL) {
        return FALSE;
    }
    if (size < sizeof *counters) {
        return nt_fail(ERROR_INSUFFICIENT_BUFFER);
    }
    *counters = (PROCESS_MEMORY_COUNTERS){
        .cb = sizeof *counters,
        .PeakWorkingSetSize = process->peak_memory,
        .WorkingSetSize = process->memory,
        .PagefileUsage = process->memory,
        .PeakPagefileUsage = process->peak_memory,
    };
    return TRUE;
}

/* ---- mitigations ---------------------------------------------------------------------------------------- */

/* Which bits of the attribute become which bits of a policy. The attribute has two bits for each. */
static const struct {
    int policy;
    unsigned from; /* the bit of "always on" */
    DWORD to;
} mitigations[] = {
    {0, 0, 1},   /* ProcessDEPPolicy: enable */
    {1, 8, 2},   /* ProcessASLRPolicy: force relocation */
    {1, 16, 1},  /* bottom-up */
    {1, 20, 4},  /* high entropy */
    {2, 36, 1},  /* ProcessDynamicCodePolicy */
    {3, 24, 3},  /* ProcessStrictHandleCheckPolicy: raise, for good */
    {4, 28, 1},  /* ProcessSystemCallDisablePolicy: win32k */
    {6, 32, 1},  /* ProcessExtensionPointDisablePolicy */
    {7, 40, 1},  /* ProcessControlFlowGuardPolicy */
    {8, 44, 1},  /* ProcessSignaturePolicy: Microsoft only */
    {9, 48, 1},  /* ProcessFontDisablePolicy */
    {10, 52, 1}, /* ProcessImageLoadPolicy: no remote images */
    {10, 56, 2}, /* no low label */
    {10, 60, 4}, /* prefer System32 */
};

BOOL WINAPI nt_GetProcessMitigationPolicy(HANDLE handle, PROCESS_MITIGATION_POLICY which, PVOID out,
                                          SIZE_T size)
{
    const struct nt_process *process = query(handle);
    if (process == NULL) {
        return FALSE;
    }
    if (size < sizeof(DWORD) || (int)which < 0 || (int)which > 16) {
        return nt_fail(ERROR_INVALID_PARAMETER);
    }
    DWORD flags = 0;
    for (size_t i = 0; i < SBX_COUNT(mitigations); i++) {
        if (mitigations[i].policy == (int)which &&
            (process->mitigations[0] >> mitigations[i].from & 3) == 1) {
            flags |= mitigations[i].to;
        }
    }
    if ((int)which == 13) { /* ProcessChildProcessPolicy */
        flags = process->has_no_children ? 1 : 0;
    }
    memset(out, 0, size);
    memcpy(out, &flags, sizeof flags);
    return TRUE;
}
