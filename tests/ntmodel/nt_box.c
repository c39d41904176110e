/* What a process asks of the kernel: files, other processes, the network, its own limits. */
#include "tests/ntmodel/nt_internal.h"

#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <winsock2.h>

#include "common/base/banned.h"

#define SHARE_ALL (FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE)

static void enter(struct nt_process *self)
{
    nt_lock(self->object.model);
    nt_thread_gate(nt_self());
}

/* A question may have ended the process that asked. */
static DWORD leave(struct nt_process *self, DWORD code)
{
    nt_die_if_ended(nt_self());
    nt_unlock(self->object.model);
    return code;
}

static DWORD win32_of(NTSTATUS status)
{
    return status == 0 ? 0 : RtlNtStatusToDosError(status);
}

/* ---- files -------------------------------------------------------------------------------------------- */

static const DWORD dispositions[] = {
    [CREATE_NEW] = FILE_CREATE,   [CREATE_ALWAYS] = FILE_OVERWRITE_IF,  [OPEN_EXISTING] = FILE_OPEN,
    [OPEN_ALWAYS] = FILE_OPEN_IF, [TRUNCATE_EXISTING] = FILE_OVERWRITE,
};

/* As CreateFileW asks, of files and directories alike. */
static NTSTATUS open_path(struct nt_process *self, const wchar_t *path, DWORD access,
                          DWORD disposition, DWORD options, void **out, DWORD *granted)
{
    struct nt_open open = {.access = access | SYNCHRONIZE | FILE_READ_ATTRIBUTES,
                           .share = SHARE_ALL,
                           .disposition = dispositions[disposition],
                           .options = options};
    ULONG information;
    NTSTATUS status = nt_parse_path(self, path, &open.place);
    if (status == 0 && open.place.is_volume && !nt_token_is_admin(&self->token->token)) {
        status = NT_STATUS_ACCESS_DENIED;
    }
    return status != 0 ? status : nt_file_open(self, &open, out, granted, &information);
}

DWORD nt_box_open(struct nt_process *self, const wchar_t *path, DWORD access, DWORD disposition,
                  HANDLE *out)
{
    enter(self);
    void *file = NULL;
    DWORD granted = 0;
    NTSTATUS status = open_path(self, path, access, disposition, 0, &file, &granted);
    if (status == 0) {
        if (out != NULL) {
            *out = nt_handle_add(self, file, granted, false);
        }
        nt_object_unref(file);
    }
    return leave(self,
                 status == NT_STATUS_OBJECT_NAME_COLLISION ? ERROR_FILE_EXISTS : win32_of(status));
}

DWORD nt_box_close(struct nt_process *self, HANDLE handle)
{
    enter(self);
    return leave(self, nt_handle_drop(self, handle) ? 0 : ERROR_INVALID_HANDLE);
}

/* Opens by another way of the same door and acts on what comes back. */
static DWORD with_file(struct nt_process *self, const wchar_t *path, DWORD access,
                       DWORD disposition, DWORD options,
                       DWORD (*act)(struct nt_process *self, struct nt_file *file, void *state),
                       void *state)
{
    enter(self);
    void *file = NULL;
    DWORD granted = 0;
    DWORD code = win32_of(open_path(self, path, access, disposition, options, &file, &granted));
    if (code == 0) {
        if (((struct nt_object *)file)->kind == NT_FILE && act != NULL) {
            code = act(self, file, state);
        }
        nt_object_unref(file);
    }
    return leave(self, code);
}

struct reading {
    char *out;
    size_t max;
};

static DWORD do_read(struct nt_process *self, struct nt_file *file, void *state)
{
    (void)self;
    const struct reading *reading = state;
    const struct nt_bytes *bytes = file->stream != NULL ? &file->stream->bytes : &file->node->bytes;
    if (reading->out != NULL && reading->max > 0) {
        size_t len = bytes->size < reading->max - 1 ? bytes->size : reading->max - 1;
        if (len > 0) {
            memcpy(reading->out, bytes->data, len);
        }
        reading->out[len] = '\0';
    }
    return 0;
}

DWORD nt_box_read(struct nt_process *self, const wchar_t *path, char *out, size_t max)
{
    struct reading reading = {out, max};
    return with_file(self, path, GENERIC_READ, OPEN_EXISTING, FILE_NON_DIRECTORY_FILE, do_read,
                     &reading);
}

static DWORD do_write(struct nt_process *self, struct nt_file *file, void *state)
{
    (void)self;
    const char *text = state;
    struct nt_bytes *bytes = file->stream != NULL ? &file->stream->bytes : &file->node->bytes;
    nt_bytes_put(bytes, bytes->size, text, strlen(text));
    file->node->is_dirty = true;
    file->reasons |= USN_REASON_DATA_EXTEND;
    nt_changed(file->node, file->entry, USN_REASON_DATA_EXTEND, FILE_ACTION_MODIFIED);
    return 0;
}

DWORD nt_box_write(struct nt_process *self, const wchar_t *path, const char *text)
{
    return with_file(self, path, GENERIC_WRITE, CREATE_ALWAYS, FILE_NON_DIRECTORY_FILE, do_write,
                     (void *)(ULONG_PTR)text);
}

DWORD nt_box_append(struct nt_process *self, const wchar_t *path, const char *text)
{
    return with_file(self, path, FILE_APPEND_DATA, OPEN_ALWAYS, FILE_NON_DIRECTORY_FILE, do_write,
                     (void *)(ULONG_PTR)text);
}

static DWORD do_rename(struct nt_process *self, struct nt_file *file, void *state)
{
    struct nt_place place;
    NTSTATUS status = nt_parse_path(self, state, &place);
    return win32_of(status != 0 ? status : nt_file_rename(self, file, &place, false, false));
}

DWORD nt_box_rename(struct nt_process *self, const wchar_t *from, const wchar_t *to)
{
    return with_file(self, from, DELETE, OPEN_EXISTING, FILE_OPEN_REPARSE_POINT, do_rename,
                     (void *)(ULONG_PTR)to);
}

static DWORD do_delete(struct nt_process *self, struct nt_file *file, void *state)
{
    (void)self;
    (void)state;
    return win32_of(nt_file_dispose(file, true, true, false));
}

DWORD nt_box_delete(struct nt_process *self, const wchar_t *path)
{
    return with_file(self, path, DELETE, OPEN_EXISTING,
                     FILE_NON_DIRECTORY_FILE | FILE_OPEN_REPARSE_POINT, do_delete, NULL);
}

DWORD nt_box_remove_directory(struct nt_process *self, const wchar_t *path)
{
    return with_file(self, path, DELETE, OPEN_EXISTING,
                     FILE_DIRECTORY_FILE | FILE_OPEN_REPARSE_POINT, do_delete, NULL);
}

static DWORD do_list(struct nt_process *self, struct nt_file *file, void *state)
{
    (void)self;
    if (state != NULL) {
        *(unsigned *)state = (unsigned)file->node->child_count;
    }
    return 0;
}

DWORD nt_box_list(struct nt_process *self, const wchar_t *path, unsigned *count)
{
    return with_file(self, path, FILE_LIST_DIRECTORY, OPEN_EXISTING, FILE_DIRECTORY_FILE, do_list,
                     count);
}

DWORD nt_box_make_directory(struct nt_process *self, const wchar_t *path)
{
    return with_file(self, path, FILE_LIST_DIRECTORY, CREATE_NEW, FILE_DIRECTORY_FILE, NULL, NULL);
}

static DWORD do_link(struct nt_process *self, struct nt_file *file, void *state)
{
    struct nt_place place;
    NTSTATUS status = nt_parse_path(self, state, &place);
    return win32_of(status != 0 ? status : nt_file_link(self, file, &place));
}

DWORD nt_box_hard_link(struct nt_process *self, const wchar_t *name, const wchar_t *existing)
{
    return with_file(self, existing, FILE_WRITE_ATTRIBUTES, OPEN_EXISTING,
                     FILE_NON_DIRECTORY_FILE | FILE_OPEN_REPARSE_POINT, do_link,
                     (void *)(ULONG_PTR)name);
}

DWORD nt_box_look(struct nt_process *self, const wchar_t *path)
{
    return with_file(self, path, 0, OPEN_EXISTING, 0, NULL, NULL);
}

static DWORD do_set_dacl(struct nt_process *self, struct nt_file *file, void *state)
{
    if (!file->node->volume->has_acls) {
        return 0;
    }
    HANDLE handle = nt_handle_add(self, file, WRITE_DAC | READ_CONTROL, false);
    size_t size;
    const void *descriptor = nt_described(self->object.model, state, &size);
    BOOL done = nt_SetKernelObjectSecurity(handle, DACL_SECURITY_INFORMATION,
                                           (PSECURITY_DESCRIPTOR)(ULONG_PTR)descriptor);
    DWORD code = done ? 0 : GetLastError();
    (void)nt_handle_drop(self, handle);
    return code;
}

DWORD nt_box_set_dacl(struct nt_process *self, const wchar_t *path, const char *sddl)
{
    return with_file(self, path, WRITE_DAC, OPEN_EXISTING, 0, do_set_dacl, (void *)(ULONG_PTR)sddl);
}

/* ---- others --------------------------------------------------------------------------------------------- */

static bool has_capability(const struct nt_token *token, DWORD number)
{
    for (size_t i = 0; i < token->capability_count; i++) {
        const unsigned char *sid = token->capabilities[i].sid.bytes;
        DWORD parts[2];
        memcpy(parts, sid + 8, sizeof parts);
        if (sid[1] == 2 && sid[7] == 15 && parts[0] == 3 && parts[1] == number &&
            (token->capabilities[i].attributes & SE_GROUP_ENABLED) != 0) {
            return true;
        }
    }
    return false;
}

/* The filters that every Windows has: a box reaches what its capabilities name, and never the host's loopback. */
DWORD nt_box_connect(struct nt_process *self, enum nt_peer peer)
{
    enter(self);
    const struct nt_token *token = &self->token->token;
    bool may = !token->is_appcontainer;
    if (!may && peer == NT_PEER_INTERNET) {
        may = has_capability(token, 1) || has_capability(token, 2);
    } else if (!may && peer == NT_PEER_PRIVATE) {
        may = has_capability(token, 3);
    }
    return leave(self, may ? 0 : WSAEACCES);
}

DWORD nt_box_open_process(struct nt_process *self, DWORD id, DWORD access)
{
    enter(self);
    const struct nt_process *process = nt_process_find(self->object.model, id);
    DWORD code = ERROR_INVALID_PARAMETER;
    if (process != NULL) {
        code = nt_has_access(&self->token->token, process->object.descriptor, access,
                             nt_mapping(NT_PROCESS), NULL)
                   ? 0
                   : ERROR_ACCESS_DENIED;
    }
    return leave(self, code);
}

DWORD nt_box_open_pipe(struct nt_process *self, const wchar_t *name, DWORD access)
{
    enter(self);
    const struct nt_object *pipe = nt_object_find(self->object.model, NT_PIPE, name);
    DWORD code = ERROR_FILE_NOT_FOUND;
    if (pipe != NULL) {
        code = nt_has_access(&self->token->token, pipe->descriptor, access, &nt_file_mapping, NULL)
                   ? 0
                   : ERROR_ACCESS_DENIED;
    }
    return leave(self, code);
}

DWORD nt_box_open_station(struct nt_process *self, const wchar_t *name, DWORD access)
{
    enter(self);
    return leave(self, nt_station_open(self, name, access));
}

DWORD nt_box_open_desktop(struct nt_process *self, const wchar_t *station, const wchar_t *name,
                          DWORD access)
{
    enter(self);
    return leave(self, nt_desktop_open(self, station, name, access));
}

static DWORD unless_limited(struct nt_process *self, DWORD limit)
{
    enter(self);
    return leave(self, (nt_ui_limits(self) & limit) != 0 ? ERROR_ACCESS_DENIED : 0);
}

DWORD nt_box_clipboard(struct nt_process *self, bool writes)
{
    return unless_limited(self, writes ? JOB_OBJECT_UILIMIT_WRITECLIPBOARD
                                       : JOB_OBJECT_UILIMIT_READCLIPBOARD);
}

DWORD nt_box_exit_windows(struct nt_process *self)
{
    return unless_limited(self, JOB_OBJECT_UILIMIT_EXITWINDOWS);
}

DWORD nt_box_switch_desktop(struct nt_process *self)
{
    return unless_limited(self, JOB_OBJECT_UILIMIT_DESKTOP);
}

DWORD nt_box_system_parameters(struct nt_process *self)
{
    return unless_limited(self, JOB_OBJECT_UILIMIT_SYSTEMPARAMETERS);
}

DWORD nt_box_spawn(struct nt_process *self, const wchar_t *image, DWORD flags, nt_actor *actor,
                   void *state, DWORD *id)
{
    enter(self);
    STARTUPINFOW info = {.cb = sizeof info};
    struct nt_birth birth = {.program = image,
                             .line = image,
                             .inherits = true,
                             .flags = flags,
                             .info = &info,
                             .token = self->token,
                             .actor = actor,
                             .actor_state = state};
    struct nt_process *child = NULL;
    DWORD code = nt_process_create(self, &birth, &child);
    if (code == 0) {
        memcpy(child->std, self->std, sizeof child->std);
        if (id != NULL) {
            *id = child->id;
        }
        nt_thread_resume(child->main);
        nt_object_unref(child);
    }
    return leave(self, code);
}

/* ---- its own limits ---------------------------------------------------------------------------------------- */

DWORD nt_box_allocate(struct nt_process *self, uint64_t bytes)
{
    enter(self);
    DWORD code = nt_job_allow(self, bytes);
    if (code == 0) {
        self->memory += bytes;
        self->peak_memory = self->memory > self->peak_memory ? self->memory : self->peak_memory;
        for (size_t i = 0; i < self->job_count; i++) {
            struct nt_job *job = self->jobs[i];
            job->memory += bytes;
            job->peak_memory = job->memory > job->peak_memory ? job->memory : job->peak_memory;
            if (self->memory > job->limits.PeakProcessMemoryUsed) {
                job->limits.PeakProcessMemoryUsed = self->memory;
            }
        }
    }
    return leave(self, code);
}

void nt_box_burn(struct nt_process *self, uint64_t ms)
{
    enter(self);
    nt_job_charge_time(self, ms * 10000);
    (void)leave(self, 0);
}

static struct nt_pipe *stream_of(struct nt_process *self, int stream)
{
    const struct nt_handle *row = nt_handle_row(self, self->std[stream]);
    if (row != NULL && row->object->kind == NT_PIPE) {
        return (struct nt_pipe *)row->object;
    }
    if (self->std[stream] == NULL && self->pseudo != NULL) {
        return stream == 0 ? self->pseudo->input : self->pseudo->output;
    }
    return NULL;
}

DWORD nt_box_print(struct nt_process *self, int stream, const char *text)
{
    enter(self);
    struct nt_pipe *pipe = stream_of(self, stream);
    DWORD written;
    DWORD code = pipe == NULL ? ERROR_INVALID_HANDLE
                              : nt_pipe_write(pipe, text, (DWORD)strlen(text), &written);
    return leave(self, code);
}

DWORD nt_box_input(struct nt_process *self, char *out, size_t max, size_t *len)
{
    enter(self);
    struct nt_pipe *pipe = stream_of(self, 0);
    DWORD got = 0;
    DWORD code = pipe == NULL ? ERROR_INVALID_HANDLE : nt_pipe_read(pipe, out, (DWORD)max, &got);
    *len = got;
    return leave(self, code);
}

void nt_box_sleep(struct nt_process *self, DWORD ms)
{
    enter(self);
    uint64_t until = nt_until(self->object.model, ms);
    while (nt_sleep(self->object.model, until)) {
    }
    (void)leave(self, 0);
}

void nt_box_crash(struct nt_process *self, DWORD code)
{
    enter(self);
    nt_process_end(self, code);
    (void)leave(self, 0);
}

/* ---- what it is ---------------------------------------------------------------------------------------------- */

const struct nt_token *nt_box_token(const struct nt_process *self)
{
    return &self->token->token;
}

DWORD nt_box_id(const struct nt_process *self)
{
    return self->id;
}

DWORD nt_box_parent_id(const struct nt_process *self)
{
    return self->parent_id;
}

const wchar_t *nt_box_command_line(const struct nt_process *self)
{
    return self->command_line;
}

const wchar_t *nt_box_directory(const struct nt_process *self)
{
    return self->directory;
}

const wchar_t *nt_box_image(const struct nt_process *self)
{
    return self->image;
}

const wchar_t *nt_box_environment(const struct nt_process *self)
{
    return self->environment;
}

const wchar_t *nt_box_variable(const struct nt_process *self, const wchar_t *name)
{
    size_t len = nt_length(name);
    for (const wchar_t *at = self->environment; *at != 0; at += nt_length(at) + 1) {
        if (nt_length(at) > len && at[len] == '=' && nt_compare_names(at, len, name, len) == 0) {
            return at + len + 1;
        }
    }
    return NULL;
}

unsigned nt_box_handles(const struct nt_process *self)
{
    return (unsigned)self->handles.open;
}

bool nt_box_has_handle(const struct nt_process *self, HANDLE handle)
{
    size_t index = (size_t)(ULONG_PTR)handle / 4 - 1;
    return index < self->handles.count && self->handles.rows[index].object != NULL;
}

const wchar_t *nt_box_desktop(const struct nt_process *self)
{
    return self->desktop_name;
}

const char *nt_box_console(const struct nt_process *self)
{
    return self->console;
}

uint64_t nt_box_mitigations(const struct nt_process *self)
{
    return self->mitigations[0];
}
