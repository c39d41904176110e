/* The calls that open, read, write, move and delete files. */
#include "tests/ntmodel/nt_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/banned.h"

#define SHARE_ALL (FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE)

/* ---- opening ---------------------------------------------------------------------------------------- */

static HANDLE publish(struct nt_process *process, void *file, DWORD granted, bool inherits)
{
    HANDLE handle = nt_handle_add(process, file, granted, inherits);
    nt_object_unref(file);
    return handle;
}

static DWORD options_of(DWORD flags)
{
    DWORD options = 0;
    options |= (flags & FILE_FLAG_BACKUP_SEMANTICS) != 0 ? FILE_OPEN_FOR_BACKUP_INTENT
                                                         : FILE_NON_DIRECTORY_FILE;
    options |= (flags & FILE_FLAG_OPEN_REPARSE_POINT) != 0 ? FILE_OPEN_REPARSE_POINT : 0;
    options |= (flags & FILE_FLAG_DELETE_ON_CLOSE) != 0 ? FILE_DELETE_ON_CLOSE : 0;
    options |= (flags & FILE_FLAG_OVERLAPPED) != 0 ? 0 : FILE_SYNCHRONOUS_IO_NONALERT;
    return options;
}

static HANDLE open_win32(struct nt_open *open, const SECURITY_ATTRIBUTES *security, DWORD flags,
                         ULONG *information)
{
    struct nt_process *process = nt_process_now();
    void *file = NULL;
    DWORD granted = 0;
    open->access |= SYNCHRONIZE | FILE_READ_ATTRIBUTES;
    open->access |= (flags & FILE_FLAG_DELETE_ON_CLOSE) != 0 ? DELETE : 0;
    open->options = options_of(flags);
    open->attributes = flags & 0xFFFF;
    open->descriptor = nt_descriptor_of(security);
    if (open->place.is_volume) { /* the disk itself is the administrators' */
        if ((open->access & ~(DWORD)(SYNCHRONIZE | FILE_READ_ATTRIBUTES)) != 0 &&
            !nt_token_is_admin(&process->token->token)) {
            return nt_fail_file(NT_STATUS_ACCESS_DENIED);
        }
        open->options &= ~(DWORD)FILE_NON_DIRECTORY_FILE;
    }
    NTSTATUS status = nt_file_open(process, open, &file, &granted, information);
    if (status == NT_STATUS_OBJECT_NAME_COLLISION) {
        SetLastError(ERROR_FILE_EXISTS);
        return INVALID_HANDLE_VALUE;
    }
    if (status != 0) {
        return nt_fail_file(status);
    }
    if (((struct nt_object *)file)->kind == NT_FILE) {
        ((struct nt_file *)file)->is_overlapped = (flags & FILE_FLAG_OVERLAPPED) != 0;
    }
    return publish(process, file, granted, nt_inherits(security));
}

HANDLE WINAPI nt_CreateFileW(LPCWSTR path, DWORD access, DWORD share,
                             LPSECURITY_ATTRIBUTES security, DWORD disposition, DWORD flags,
                             HANDLE like)
{
    static const DWORD dispositions[] = {
        [CREATE_NEW] = FILE_CREATE,           [CREATE_ALWAYS] = FILE_OVERWRITE_IF,
        [OPEN_EXISTING] = FILE_OPEN,          [OPEN_ALWAYS] = FILE_OPEN_IF,
        [TRUNCATE_EXISTING] = FILE_OVERWRITE,
    };
    (void)like;
    if (disposition < CREATE_NEW || disposition > TRUNCATE_EXISTING || path == NULL ||
        (share & ~(DWORD)SHARE_ALL) != 0 ||
        (disposition == TRUNCATE_EXISTING && (access & GENERIC_WRITE) == 0)) {
        SetLastError(path == NULL ? ERROR_PATH_NOT_FOUND : ERROR_INVALID_PARAMETER);
        return INVALID_HANDLE_VALUE;
    }
    struct nt_open open = {
        .access = access, .share = share, .disposition = dispositions[disposition]};
    NTSTATUS status = nt_parse_path(nt_process_now(), path, &open.place);
    if (status != 0) {
        return nt_fail_file(status);
    }
    ULONG information = 0;
    HANDLE handle = open_win32(&open, security, flags, &information);
    if (handle != INVALID_HANDLE_VALUE) {
        bool existed = (disposition == CREATE_ALWAYS && information == FILE_OVERWRITTEN) ||
                       (disposition == OPEN_ALWAYS && information == FILE_OPENED);
        SetLastError(existed ? ERROR_ALREADY_EXISTS : NO_ERROR);
    }
    return handle;
}

static NTSTATUS place_of_object(const OBJECT_ATTRIBUTES *object, struct nt_place *out)
{
    if (object == NULL || object->ObjectName == NULL ||
        object->ObjectName->Length / sizeof(wchar_t) >= NT_PATH_MAX ||
        object->ObjectName->Length % sizeof(wchar_t) != 0) {
        return NT_STATUS_INVALID_PARAMETER;
    }
    wchar_t name[NT_PATH_MAX] = {0};
    size_t len = object->ObjectName->Length / sizeof(wchar_t);
    memcpy(name, object->ObjectName->Buffer, len * sizeof *name);
    struct nt_process *process = nt_process_now();
    if (object->RootDirectory == NULL) {
        return name[0] != '\\' ? NT_STATUS_OBJECT_PATH_SYNTAX_BAD
                               : nt_parse_path(process, name, out);
    }
    struct nt_file *root = nt_handle_get(object->RootDirectory, NT_FILE, 0);
    if (root == NULL) {
        return NT_STATUS_INVALID_HANDLE;
    }
    if (name[0] == '\\') {
        return NT_STATUS_INVALID_PARAMETER;
    }
    /* The rules of a raw path, then begun at the root that was given. */
    wchar_t path[NT_PATH_MAX + 8] = L"\\??\\C:\\";
    memcpy(path + 7, name, (len + 1) * sizeof *name);
    NTSTATUS status = nt_parse_path(process, path, out);
    out->volume = root->node->volume;
    out->base = root->node;
    out->base_entry = root->entry;
    return status;
}

NTSTATUS WINAPI nt_NtCreateFile(PHANDLE out, ACCESS_MASK access, POBJECT_ATTRIBUTES object,
                                PIO_STATUS_BLOCK io, PLARGE_INTEGER size, ULONG attributes,
                                ULONG share, ULONG disposition, ULONG options, PVOID extended,
                                ULONG extended_size)
{
    (void)size;
    (void)extended;
    (void)extended_size;
    struct nt_process *process = nt_process_now();
    struct nt_open open = {.access = access,
                           .share = share,
                           .attributes = attributes,
                           .disposition = disposition,
                           .options = options};
    if (disposition > FILE_OVERWRITE_IF ||
        ((options & FILE_DIRECTORY_FILE) != 0 && (options & FILE_NON_DIRECTORY_FILE) != 0) ||
        ((options & (FILE_SYNCHRONOUS_IO_ALERT | FILE_SYNCHRONOUS_IO_NONALERT)) != 0 &&
         (nt_map_generic(access, &nt_file_mapping) & (SYNCHRONIZE | MAXIMUM_ALLOWED)) == 0)) {
        return NT_STATUS_INVALID_PARAMETER;
    }
    NTSTATUS status = place_of_object(object, &open.place);
    if (status != 0) {
        return status;
    }
    open.place.refuses_links = (object->Attributes & 0x1000) != 0; /* OBJ_DONT_REPARSE */
    open.descriptor = object->SecurityDescriptor;
    void *file = NULL;
    DWORD granted = 0;
    ULONG information = 0;
    status = nt_file_open(process, &open, &file, &granted, &information);
    if (status != 0) {
        return status;
    }
    if (((struct nt_object *)file)->kind == NT_FILE) {
        ((struct nt_file *)file)->is_overlapped =
            (options & (FILE_SYNCHRONOUS_IO_ALERT | FILE_SYNCHRONOUS_IO_NONALERT)) == 0;
    }
    *out = publish(process, file, granted, (object->Attributes & OBJ_INHERIT) != 0);
    io->Information = information;
    io->Status = 0;
    return 0;
}

ULONG WINAPI nt_RtlNtStatusToDosError(NTSTATUS status)
{
    return RtlNtStatusToDosError(status);
}

HANDLE WINAPI nt_OpenFileById(HANDLE volume, LPFILE_ID_DESCRIPTOR id, DWORD access, DWORD share,
                              LPSECURITY_ATTRIBUTES security, DWORD flags)
{
    const struct nt_file *hint = nt_handle_get(volume, NT_FILE, 0);
    if (hint == NULL) {
        return INVALID_HANDLE_VALUE;
    }
    uint64_t wanted = 0;
    if (id->Type == ExtendedFileIdType) {
        memcpy(&wanted, &id->ExtendedFileId, sizeof wanted);
    } else {
        wanted = (uint64_t)id->FileId.QuadPart;
    }
    struct nt_open open = {.access = access, .share = share, .disposition = FILE_OPEN};
    open.place.volume = hint->node->volume;
    open.place.base = nt_node_by_id(hint->node->volume, wanted, &open.place.base_entry);
    if (open.place.base == NULL) {
        return nt_fail_file(NT_STATUS_INVALID_PARAMETER);
    }
    ULONG information;
    return open_win32(&open, security, flags, &information);
}

/* ---- reading and writing ---------------------------------------------------------------------------------- */

static struct nt_bytes *bytes_of(struct nt_file *file)
{
    return file->stream != NULL ? &file->stream->bytes : &file->node->bytes;
}

static uint64_t offset_of(const struct nt_file *file, const OVERLAPPED *overlapped)
{
    return overlapped == NULL ? file->position
                              : (uint64_t)overlapped->OffsetHigh << 32 | overlapped->Offset;
}

static BOOL finish(LPOVERLAPPED overlapped, DWORD bytes, LPDWORD told)
{
    if (told != NULL) {
        *told = bytes;
    }
    if (overlapped != NULL) {
        nt_overlapped_done(nt_process_now(), overlapped, 0, bytes);
    }
    return TRUE;
}

static BOOL read_file(struct nt_file *file, LPVOID out, DWORD size, LPDWORD read,
                      LPOVERLAPPED overlapped)
{
    if (nt_is_directory(file->node) && file->stream == NULL) {
        return nt_fail(ERROR_INVALID_FUNCTION);
    }
    const struct nt_bytes *bytes = bytes_of(file);
    uint64_t at = offset_of(file, overlapped);
    size_t left = at < bytes->size ? bytes->size - (size_t)at : 0;
    DWORD part = size < left ? size : (DWORD)left;
    if (part > 0) {
        memcpy(out, bytes->data + at, part);
    }
    file->position = at + part;
    if (part == 0 && size > 0 && overlapped != NULL) {
        return nt_fail(ERROR_HANDLE_EOF);
    }
    return finish(overlapped, part, read);
}

BOOL WINAPI nt_ReadFile(HANDLE handle, LPVOID out, DWORD size, LPDWORD read,
                        LPOVERLAPPED overlapped)
{
    if (read != NULL) {
        *read = 0;
    }
    struct nt_object *object = nt_handle_get(handle, NT_ANY, FILE_READ_DATA);
    if (object == NULL) {
        return FALSE;
    }
    if (object->kind == NT_FILE) {
        return read_file((struct nt_file *)object, out, size, read, overlapped);
    }
    if (object->kind == NT_DEVICE) {
        return finish(overlapped, 0, read);
    }
    if (object->kind != NT_PIPE) {
        nt_bad_handle(object->model, handle, "nothing to read");
        return FALSE;
    }
    DWORD got = 0;
    DWORD code = nt_pipe_read((struct nt_pipe *)object, out, size, &got);
    return code == 0 ? finish(overlapped, got, read) : nt_fail(code);
}

static BOOL write_file(struct nt_file *file, LPCVOID data, DWORD size, LPDWORD written,
                       LPOVERLAPPED overlapped)
{
    if (nt_is_directory(file->node) && file->stream == NULL) {
        return nt_fail(ERROR_INVALID_FUNCTION);
    }
    struct nt_bytes *bytes = bytes_of(file);
    bool appends = (file->access & FILE_WRITE_DATA) == 0;
    uint64_t at = appends ? bytes->size : offset_of(file, overlapped);
    DWORD reason = at + size > bytes->size ? USN_REASON_DATA_EXTEND : USN_REASON_DATA_OVERWRITE;
    nt_bytes_put(bytes, at, data, size);
    file->position = at + size;
    file->node->is_dirty = file->stream == NULL ? true : file->node->is_dirty;
    file->node->written.QuadPart = (LONGLONG)nt_time(file->object.model);
    if ((file->reasons & reason) == 0) {
        file->reasons |= reason;
        nt_changed(file->node, file->entry, reason, FILE_ACTION_MODIFIED);
    }
    return finish(overlapped, size, written);
}

BOOL WINAPI nt_WriteFile(HANDLE handle, LPCVOID bytes, DWORD size, LPDWORD written,
                         LPOVERLAPPED overlapped)
{
    if (written != NULL) {
        *written = 0;
    }
    struct nt_object *object = nt_handle_get(handle, NT_ANY, 0);
    if (object == NULL) {
        return FALSE;
    }
    const struct nt_handle *row = nt_handle_row(nt_process_now(), handle);
    if (row == NULL || (row->access & (FILE_WRITE_DATA | FILE_APPEND_DATA)) == 0) {
        return nt_fail(ERROR_ACCESS_DENIED);
    }
    if (object->kind == NT_FILE) {
        return write_file((struct nt_file *)object, bytes, size, written, overlapped);
    }
    if (object->kind == NT_DEVICE) {
        return finish(overlapped, size, written);
    }
    if (object->kind != NT_PIPE) {
        nt_bad_handle(object->model, handle, "nothing to write");
        return FALSE;
    }
    DWORD put = 0;
    DWORD code = nt_pipe_write((struct nt_pipe *)object, bytes, size, &put);
    return code == 0 ? finish(overlapped, put, written) : nt_fail(code);
}

BOOL WINAPI nt_FlushFileBuffers(HANDLE handle)
{
    struct nt_object *object = nt_handle_get(handle, NT_ANY, 0);
    if (object == NULL) {
        return FALSE;
    }
    const struct nt_handle *row = nt_handle_row(nt_process_now(), handle);
    if (object->kind != NT_FILE) {
        return object->kind == NT_PIPE ? TRUE : nt_fail(ERROR_INVALID_HANDLE);
    }
    if (row == NULL || (row->access & (FILE_WRITE_DATA | FILE_APPEND_DATA)) == 0) {
        return nt_fail(ERROR_ACCESS_DENIED);
    }
    struct nt_node *node = ((struct nt_file *)object)->node;
    nt_bytes_free(&node->safe);
    nt_bytes_put(&node->safe, 0, node->bytes.data, node->bytes.size);
    node->is_dirty = false;
    return TRUE;
}

BOOL WINAPI nt_GetFileSizeEx(HANDLE handle, PLARGE_INTEGER size)
{
    struct nt_file *file = nt_handle_get(handle, NT_FILE, 0);
    if (file == NULL) {
        return FALSE;
    }
    size->QuadPart = (LONGLONG)bytes_of(file)->size;
    return TRUE;
}

/* ---- by name ------------------------------------------------------------------------------------------- */

static NTSTATUS open_for(const wchar_t *path, DWORD access, DWORD options, struct nt_file **out)
{
    struct nt_open open = {.access = access | SYNCHRONIZE,
                           .share = SHARE_ALL,
                           .disposition = FILE_OPEN,
                           .options = options | FILE_OPEN_REPARSE_POINT};
    struct nt_process *process = nt_process_now();
    NTSTATUS status = nt_parse_path(process, path, &open.place);
    void *file = NULL;
    DWORD granted;
    ULONG information;
    if (status == 0) {
        status = nt_file_open(process, &open, &file, &granted, &information);
    }
    if (status == 0 && ((struct nt_object *)file)->kind != NT_FILE) {
        nt_object_unref(file);
        status = NT_STATUS_INVALID_PARAMETER;
    }
    if (status == 0) {
        *out = file;
    }
    return status;
}

BOOL WINAPI nt_CreateDirectoryW(LPCWSTR path, LPSECURITY_ATTRIBUTES security)
{
    struct nt_open open = {.access = FILE_LIST_DIRECTORY | SYNCHRONIZE,
                           .share = SHARE_ALL,
                           .disposition = FILE_CREATE,
                           .options = FILE_DIRECTORY_FILE,
                           .descriptor = nt_descriptor_of(security)};
    struct nt_process *process = nt_process_now();
    NTSTATUS status = nt_parse_path(process, path, &open.place);
    void *file = NULL;
    DWORD granted;
    ULONG information;
    if (status == 0 && open.place.is_device) {
        return nt_fail(ERROR_DIRECTORY);
    }
    if (status == 0) {
        status = nt_file_open(process, &open, &file, &granted, &information);
    }
    if (status != 0) {
        return nt_fail_status(status);
    }
    nt_object_unref(file);
    return TRUE;
}

static BOOL delete_by_name(const wchar_t *path, DWORD options)
{
    struct nt_file *file;
    NTSTATUS status = open_for(path, DELETE | FILE_READ_ATTRIBUTES, options, &file);
    if (status == 0) {
        status = nt_file_dispose(file, true, true, false);
        nt_object_unref(file);
    }
    return status == 0 ? TRUE : nt_fail_status(status);
}

BOOL WINAPI nt_DeleteFileW(LPCWSTR path)
{
    return delete_by_name(path, FILE_NON_DIRECTORY_FILE);
}

BOOL WINAPI nt_RemoveDirectoryW(LPCWSTR path)
{
    return delete_by_name(path, FILE_DIRECTORY_FILE);
}

BOOL WINAPI nt_MoveFileExW(LPCWSTR from, LPCWSTR to, DWORD flags)
{
    if (to == NULL || (flags & MOVEFILE_DELAY_UNTIL_REBOOT) != 0) {
        return nt_fail(to == NULL ? ERROR_INVALID_PARAMETER : ERROR_ACCESS_DENIED);
    }
    struct nt_file *file;
    struct nt_process *process = nt_process_now();
    NTSTATUS status = open_for(from, DELETE | FILE_READ_ATTRIBUTES, 0, &file);
    if (status != 0) {
        return nt_fail_status(status);
    }
    struct nt_place place;
    status = nt_parse_path(process, to, &place);
    if (status == 0) {
        status =
            nt_file_rename(process, file, &place, (flags & MOVEFILE_REPLACE_EXISTING) != 0, false);
    }
    nt_object_unref(file);
    return status == 0 ? TRUE : nt_fail_status(status);
}
