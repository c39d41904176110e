/* CreateProcess: every check that can refuse a process, and its birth. */
#include "tests/ntmodel/nt_internal.h"

#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "common/base/banned.h"

enum {
    PROCESS_ALL = 0x1FFFFF,
    CWD_MAX = MAX_PATH - 2,
};

/* Every handle of the list is open, inheritable and named once, and inheritance is on at all. */
static DWORD check_handles(struct nt_process *creator, const struct nt_birth *birth,
                           const struct nt_wishes *wishes)
{
    if (!wishes->has_handles) {
        return 0;
    }
    if (!birth->inherits) {
        return ERROR_INVALID_PARAMETER;
    }
    for (size_t i = 0; i < wishes->handle_count; i++) {
        const struct nt_handle *row = nt_handle_row(creator, wishes->handles[i]);
        if (row == NULL || !row->inherits) {
            return ERROR_INVALID_PARAMETER;
        }
        for (size_t j = 0; j < i; j++) {
            if (wishes->handles[i] == wishes->handles[j]) {
                return ERROR_INVALID_PARAMETER;
            }
        }
    }
    return 0;
}

/* ---- image and directory ---------------------------------------------------------------------------------- */

static bool program_of(const struct nt_birth *birth, wchar_t out[NT_PATH_MAX])
{
    const wchar_t *from = birth->program;
    size_t len;
    if (from != NULL) {
        len = nt_length(from);
    } else {
        from = birth->line;
        bool is_quoted = *from == '"';
        from += is_quoted ? 1 : 0;
        len = 0;
        while (from[len] != 0 && from[len] != (is_quoted ? '"' : ' ')) {
            len++;
        }
    }
    if (len == 0 || len >= NT_PATH_MAX) {
        return false;
    }
    memcpy(out, from, len * sizeof *out);
    out[len] = 0;
    return true;
}

static DWORD open_as(struct nt_process *process, const wchar_t *path, DWORD access,
                     struct nt_file **out)
{
    struct nt_open open = {
        .access = access,
        .share = FILE_SHARE_READ | FILE_SHARE_DELETE,
        .disposition = FILE_OPEN,
        .options = FILE_NON_DIRECTORY_FILE,
    };
    NTSTATUS status = nt_parse_path(process, path, &open.place);
    void *file = NULL;
    DWORD granted;
    ULONG information;
    if (status == 0) {
        status = nt_file_open(process, &open, &file, &granted, &information);
    }
    if (status == NT_STATUS_FILE_IS_A_DIRECTORY) {
        return ERROR_ACCESS_DENIED;
    }
    if (status != 0) {
        return RtlNtStatusToDosError(status);
    }
    *out = file;
    return 0;
}

static void close_file(struct nt_file *file)
{
    nt_object_hold(file);
    nt_object_unref(file);
    nt_object_let_go(file);
}

static DWORD check_image(struct nt_process *creator, const wchar_t *path, bool is_elevated,
                         struct nt_process *child)
{
    struct nt_file *file;
    DWORD code = open_as(creator, path, FILE_EXECUTE | SYNCHRONIZE, &file);
    if (code != 0) {
        return code;
    }
    unsigned image = ((struct nt_object *)file)->kind == NT_FILE ? file->node->image : 0;
    wchar_t real[NT_PATH_MAX];
    wchar_t full[NT_PATH_MAX];
    if (((struct nt_object *)file)->kind == NT_FILE) {
        (void)nt_node_path(file->node, file->entry, real);
        const wchar_t drive[] = {file->node->volume->letter, L':', L'\0'};
        (void)swprintf(full, NT_PATH_MAX, L"%ls%ls", drive, real);
    }
    close_file(file);
    if (image == 0 || (image & NT_IMAGE_16) != 0) {
        return ERROR_BAD_EXE_FORMAT;
    }
    if ((image & NT_IMAGE_FOREIGN) != 0) {
        return ERROR_EXE_MACHINE_TYPE_MISMATCH;
    }
    if ((image & NT_IMAGE_ELEVATE) != 0 && !is_elevated) {
        return ERROR_ELEVATION_REQUIRED;
    }
    child->image_kind = image;
    child->image = nt_wide(full);
    return 0;
}

static DWORD check_directory(struct nt_process *creator, const struct nt_birth *birth,
                             struct nt_process *child)
{
    const wchar_t *path = birth->directory != NULL ? birth->directory : creator->directory;
    size_t len = nt_length(path);
    struct nt_open open = {
        .access = FILE_READ_ATTRIBUTES | SYNCHRONIZE,
        .share = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
        .disposition = FILE_OPEN,
        .options = FILE_DIRECTORY_FILE,
    };
    /* A current directory has no \\?\ form and no long one. */
    if (len > CWD_MAX || (len > 3 && path[0] == '\\' && path[2] == '?')) {
        return ERROR_DIRECTORY;
    }
    void *file = NULL;
    DWORD granted;
    ULONG information;
    if (nt_parse_path(creator, path, &open.place) != 0 ||
        nt_file_open(creator, &open, &file, &granted, &information) != 0) {
        return ERROR_DIRECTORY;
    }
    close_file(file);
    child->directory = nt_wide(path);
    return 0;
}

/* ---- token, jobs, surroundings ------------------------------------------------------------------------------ */

static bool has_profile(const struct nt_model *model, const void *sid)
{
    for (const struct nt_profile *at = model->profiles; at != NULL; at = at->next) {
        if (nt_sid_equal(at->sid.bytes, sid)) {
            return true;
        }
    }
    return false;
}

/* A package without a profile has no place for its data, which the system looks for first. */
static DWORD make_token(const struct nt_birth *birth, const struct nt_wishes *wishes,
                        struct nt_token_object **out)
{
    const SECURITY_CAPABILITIES *wanted = wishes->capabilities;
    if (wanted == NULL) {
        *out = nt_token_object_new(birth->token->object.model, &birth->token->token);
        (*out)->parent = birth->token->parent;
        return 0;
    }
    if (birth->token->token.is_appcontainer) {
        return ERROR_ACCESS_DENIED;
    }
    if (wanted->AppContainerSid == NULL || nt_sid_size(wanted->AppContainerSid) == 0 ||
        wanted->Reserved != 0 || (wanted->CapabilityCount > 0 && wanted->Capabilities == NULL)) {
        return ERROR_INVALID_PARAMETER;
    }
    struct nt_token *token = nt_alloc(sizeof *token);
    DWORD code = 0;
    if (!nt_token_lowbox(&birth->token->token, wanted->AppContainerSid, wanted->Capabilities,
                         wanted->CapabilityCount, wishes->is_lpac, token)) {
        code = ERROR_INVALID_PARAMETER;
    } else if (!has_profile(birth->token->object.model, wanted->AppContainerSid)) {
        code = ERROR_FILE_NOT_FOUND;
    } else {
        *out = nt_token_object_new(birth->token->object.model, token);
        (*out)->parent = birth->token->id;
    }
    free(token);
    return code;
}

static DWORD limit_flags(const struct nt_job *job)
{
    return job->limits.BasicLimitInformation.LimitFlags;
}

/* The creator's jobs from the outside in, without those that may be left and are. */
static DWORD join_jobs(struct nt_process *creator, const struct nt_birth *birth,
                       const struct nt_wishes *wishes, struct nt_process *child)
{
    bool breaks = (birth->flags & CREATE_BREAKAWAY_FROM_JOB) != 0;
    size_t stay = creator->job_count;
    while (stay > 0) {
        DWORD flags = limit_flags(creator->jobs[stay - 1]);
        bool leaves = (flags & JOB_OBJECT_LIMIT_SILENT_BREAKAWAY_OK) != 0 ||
                      (breaks && (flags & JOB_OBJECT_LIMIT_BREAKAWAY_OK) != 0);
        if (!leaves) {
            break;
        }
        stay--;
    }
    if (breaks && stay > 0 && stay == creator->job_count) {
        return ERROR_ACCESS_DENIED;
    }
    DWORD code = 0;
    for (size_t i = 0; i < stay && code == 0; i++) {
        code = nt_job_join(creator->jobs[i], child);
    }
    for (size_t i = 0; i < wishes->job_count && code == 0; i++) {
        struct nt_job *job = nt_handle_get(wishes->jobs[i], NT_JOB, JOB_OBJECT_ASSIGN_PROCESS);
        code = job == NULL ? GetLastError() : nt_job_join(job, child);
    }
    return code;
}

static size_t block_size(const wchar_t *block)
{
    size_t at = 0;
    while (block[at] != 0) {
        at += nt_length(block + at) + 1;
    }
    return (at + 1) * sizeof *block;
}

static void surround(struct nt_process *creator, const struct nt_birth *birth,
                     const struct nt_wishes *wishes, struct nt_process *child)
{
    static const wchar_t nothing[2] = {0};
    const wchar_t *block =
        (birth->flags & CREATE_UNICODE_ENVIRONMENT) != 0 ? birth->environment : NULL;
    if (block == NULL) {
        block = creator->environment != NULL ? creator->environment : nothing;
    }
    child->environment = nt_copy(block, block_size(block));
    child->command_line = nt_wide(birth->line != NULL ? birth->line : birth->program);
    memcpy(child->mitigations, wishes->mitigations, sizeof child->mitigations);
    child->has_no_children = wishes->has_no_children;
    if (birth->inherits) {
        nt_handles_inherit(creator, child, wishes->handles, wishes->handle_count,
                           wishes->has_handles);
    }
    if ((birth->info->dwFlags & STARTF_USESTDHANDLES) != 0) {
        child->std[0] = birth->info->hStdInput;
        child->std[1] = birth->info->hStdOutput;
        child->std[2] = birth->info->hStdError;
    }
    nt_console_child(creator, child, birth->flags, wishes->console);
    const wchar_t *desktop = birth->info->lpDesktop;
    if (desktop == NULL || *desktop == 0) {
        desktop = creator->desktop_name;
    }
    child->desktop_name = nt_wide(desktop);
    nt_object_describe(child, &creator->token->token, NULL,
                       nt_descriptor_of(birth->process_security), false, nt_mapping(NT_PROCESS));
}

/* ---- the birth ------------------------------------------------------------------------------------------------- */

/* What is checked once the child is there; it is taken away again when something is wrong. */
static DWORD equip(struct nt_process *creator, const struct nt_birth *birth,
                   const struct nt_wishes *wishes, struct nt_process *child)
{
    wchar_t program[NT_PATH_MAX];
    if (!program_of(birth, program)) {
        return ERROR_FILE_NOT_FOUND;
    }
    DWORD code = check_image(creator, program, birth->token->token.is_elevated, child);
    if (code == 0) {
        code = check_directory(creator, birth, child);
    }
    if (code == 0) {
        struct nt_file *file;
        code = open_as(child, child->image, FILE_READ_DATA | FILE_EXECUTE | SYNCHRONIZE, &file);
        if (code == 0) {
            close_file(file);
        }
    }
    if (code == 0 && wishes->console != NULL &&
        !nt_console_is_pseudo(child->object.model, wishes->console)) {
        code = ERROR_INVALID_HANDLE;
    }
    if (code == 0) {
        code = join_jobs(creator, birth, wishes, child);
    }
    if (code == 0) {
        surround(creator, birth, wishes, child);
    }
    return code;
}

DWORD nt_process_create(struct nt_process *creator, const struct nt_birth *birth,
                        struct nt_process **out)
{
    struct nt_wishes wishes;
    DWORD code = nt_wishes_read(birth, &wishes);
    if (code == 0 && creator->has_no_children) {
        code = ERROR_ACCESS_DENIED;
    }
    if (code == 0) {
        code = check_handles(creator, birth, &wishes);
    }
    struct nt_token_object *token = NULL;
    if (code == 0) {
        code = make_token(birth, &wishes, &token);
    }
    if (code != 0) {
        return code;
    }
    struct nt_model *model = creator->object.model;
    struct nt_process *child = nt_process_new(model, token);
    nt_object_unref(token);
    child->parent_id = creator->id;
    child->actor = birth->actor;
    child->actor_state = birth->actor_state;
    code = equip(creator, birth, &wishes, child);
    if (code != 0) {
        nt_process_end(child, code);
        nt_object_unref(child);
        return code;
    }
    child->main = nt_thread_new(child, NULL, NULL, true);
    *out = child;
    return 0;
}

static BOOL create(struct nt_process *creator, const struct nt_birth *birth,
                   LPPROCESS_INFORMATION out)
{
    if (birth->info == NULL || out == NULL ||
        (birth->program == NULL && (birth->line == NULL || *birth->line == 0))) {
        return nt_fail(ERROR_INVALID_PARAMETER);
    }
    struct nt_process *child = NULL;
    DWORD code = nt_process_create(creator, birth, &child);
    if (code != 0) {
        return nt_fail(code);
    }
    out->hProcess =
        nt_handle_add(creator, child, PROCESS_ALL, nt_inherits(birth->process_security));
    out->hThread =
        nt_handle_add(creator, child->main, PROCESS_ALL, nt_inherits(birth->thread_security));
    out->dwProcessId = child->id;
    out->dwThreadId = child->main->id;
    if ((birth->flags & CREATE_SUSPENDED) == 0) {
        nt_thread_resume(child->main);
    }
    nt_object_unref(child);
    return TRUE;
}

/* ---- the calls --------------------------------------------------------------------------------------------------- */

BOOL WINAPI nt_CreateProcessW(LPCWSTR program, LPWSTR line, LPSECURITY_ATTRIBUTES process,
                              LPSECURITY_ATTRIBUTES thread, BOOL inherit, DWORD flags,
                              LPVOID environment, LPCWSTR directory, LPSTARTUPINFOW info,
                              LPPROCESS_INFORMATION out)
{
    struct nt_process *creator = nt_process_now();
    const struct nt_world *world = &creator->object.model->world;
    struct nt_birth birth = {
        program,        line,         inherit != FALSE,   flags,   environment, directory, info,
        creator->token, world->actor, world->actor_state, process, thread,
    };
    return create(creator, &birth, out);
}

/* A token that is neither the caller's nor made from it needs a privilege that no user has. */
static bool is_own_token(const struct nt_process *creator, const struct nt_token_object *token)
{
    const struct nt_token_object *mine = creator->token;
    return token->parent == mine->id || token == mine ||
           (token->parent == mine->parent &&
            nt_sid_equal(token->token.user.bytes, mine->token.user.bytes));
}

BOOL WINAPI nt_CreateProcessAsUserW(HANDLE handle, LPCWSTR program, LPWSTR line,
                                    LPSECURITY_ATTRIBUTES process, LPSECURITY_ATTRIBUTES thread,
                                    BOOL inherit, DWORD flags, LPVOID environment,
                                    LPCWSTR directory, LPSTARTUPINFOW info,
                                    LPPROCESS_INFORMATION out)
{
    struct nt_process *creator = nt_process_now();
    const struct nt_world *world = &creator->object.model->world;
    struct nt_token_object *token =
        nt_handle_get(handle, NT_TOKEN, TOKEN_QUERY | TOKEN_DUPLICATE | TOKEN_ASSIGN_PRIMARY);
    if (token == NULL) {
        return FALSE;
    }
    if (!token->token.is_primary) {
        return nt_fail(ERROR_BAD_TOKEN_TYPE);
    }
    if (!is_own_token(creator, token) &&
        !nt_token_has_privilege(&creator->token->token, 3 /* assign primary token */)) {
        return nt_fail(ERROR_PRIVILEGE_NOT_HELD);
    }
    struct nt_birth birth = {
        program, line,         inherit != FALSE,   flags,   environment, directory, info,
        token,   world->actor, world->actor_state, process, thread,
    };
    return create(creator, &birth, out);
}
