/* What an open file tells about itself, and what can be set by its handle. */
#include "tests/ntmodel/nt_internal.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/banned.h"

/* Classes by number: the headers give some of them only to a newer target, and misnumber those behind. */
enum {
    INFO_BASIC = 0,
    INFO_STANDARD = 1,
    INFO_NAME = 2,
    INFO_RENAME = 3,
    INFO_DISPOSITION = 4,
    INFO_ALLOCATION = 5,
    INFO_END_OF_FILE = 6,
    INFO_STREAMS = 7,
    INFO_TAG = 9,
    INFO_LIST = 10,
    INFO_LIST_RESTART = 11,
    INFO_REMOTE = 13,
    INFO_ID = 18,
    INFO_DISPOSITION_EX = 21,
    INFO_RENAME_EX = 22,
    RENAME_REPLACES = 1,
    RENAME_POSIX = 2,
    DISPOSE_DELETES = 1,
    DISPOSE_POSIX = 2,
    DISPOSE_ON_CLOSE = 8,
    DISPOSE_READ_ONLY = 0x10,
    CLUSTER = 4096,
};

static LONGLONG size_of(const struct nt_file *file)
{
    return (LONGLONG)(file->stream != NULL ? file->stream->bytes.size : file->node->bytes.size);
}

static LONGLONG allocated(LONGLONG size)
{
    return (size + CLUSTER - 1) / CLUSTER * CLUSTER;
}

DWORD nt_attributes_of(const struct nt_node *node)
{
    DWORD attributes = node->attributes | (node->tag != 0 ? FILE_ATTRIBUTE_REPARSE_POINT : 0);
    return attributes == 0 ? FILE_ATTRIBUTE_NORMAL : attributes;
}

BOOL WINAPI nt_GetFileInformationByHandle(HANDLE handle, LPBY_HANDLE_FILE_INFORMATION out)
{
    const struct nt_file *file = nt_handle_get(handle, NT_FILE, 0);
    if (file == NULL) {
        return FALSE;
    }
    const struct nt_node *node = file->node;
    *out = (BY_HANDLE_FILE_INFORMATION){
        .dwFileAttributes = nt_attributes_of(node),
        .ftCreationTime = nt_filetime((uint64_t)node->created.QuadPart),
        .ftLastAccessTime = nt_filetime((uint64_t)node->written.QuadPart),
        .ftLastWriteTime = nt_filetime((uint64_t)node->written.QuadPart),
        .dwVolumeSerialNumber = node->volume->serial,
        .nFileSizeHigh = (DWORD)((uint64_t)size_of(file) >> 32),
        .nFileSizeLow = (DWORD)size_of(file),
        .nNumberOfLinks = node->links == 0 ? 1 : node->links,
        .nFileIndexHigh = (DWORD)(node->id >> 32),
        .nFileIndexLow = (DWORD)node->id,
    };
    return TRUE;
}

/* ---- asking ------------------------------------------------------------------------------------------- */

static BOOL tell(void *out, DWORD size, const void *from, size_t from_size)
{
    if (size < from_size) {
        return nt_fail(ERROR_BAD_LENGTH);
    }
    memcpy(out, from, from_size);
    return TRUE;
}

static BOOL tell_basic(const struct nt_node *node, void *out, DWORD size)
{
    FILE_BASIC_INFO info = {
        .CreationTime = node->created,
        .LastAccessTime = node->written,
        .LastWriteTime = node->written,
        .ChangeTime = node->changed,
        .FileAttributes = nt_attributes_of(node),
    };
    return tell(out, size, &info, sizeof info);
}

static BOOL tell_standard(const struct nt_file *file, void *out, DWORD size)
{
    bool is_going = file->entry != NULL && (file->entry->delete_pending || file->entry->is_gone);
    FILE_STANDARD_INFO info = {
        .EndOfFile.QuadPart = size_of(file),
        .AllocationSize.QuadPart = allocated(size_of(file)),
        .NumberOfLinks = file->node->links - (is_going && file->node->links > 0 ? 1 : 0),
        .DeletePending = is_going,
        .Directory = nt_is_directory(file->node),
    };
    if (file->entry == NULL) {
        info.NumberOfLinks = 1;
    }
    return tell(out, size, &info, sizeof info);
}

static BOOL tell_name(const struct nt_file *file, void *out, DWORD size)
{
    wchar_t path[NT_PATH_MAX];
    size_t len = nt_node_path(file->node, file->entry, path) * sizeof path[0];
    FILE_NAME_INFO *info = out;
    if (size < sizeof *info) {
        return nt_fail(ERROR_BAD_LENGTH);
    }
    info->FileNameLength = (DWORD)len;
    size_t room = size - offsetof(FILE_NAME_INFO, FileName);
    memcpy((unsigned char *)out + offsetof(FILE_NAME_INFO, FileName), path,
           len < room ? len : room);
    return len <= room ? TRUE : nt_fail(ERROR_MORE_DATA);
}

static BOOL tell_id(const struct nt_node *node, void *out, DWORD size)
{
    if (!node->volume->has_ids) {
        return nt_fail(ERROR_INVALID_PARAMETER);
    }
    FILE_ID_INFO info = {.VolumeSerialNumber = 0x5A5A000000000000ull | node->volume->serial};
    memcpy(&info.FileId, &node->id, sizeof node->id);
    return tell(out, size, &info, sizeof info);
}

static BOOL tell_tag(const struct nt_node *node, void *out, DWORD size)
{
    FILE_ATTRIBUTE_TAG_INFO info = {nt_attributes_of(node), node->tag};
    return tell(out, size, &info, sizeof info);
}

static BOOL put_stream(void *out, DWORD size, size_t *at, size_t *last, const wchar_t *name,
                       LONGLONG bytes)
{
    size_t len = (nt_length(name) + 7) * sizeof(wchar_t); /* :name:$DATA */
    size_t start = (*at + 7) & ~(size_t)7;
    if (start + offsetof(FILE_STREAM_INFO, StreamName) + len > size) {
        return nt_fail(ERROR_MORE_DATA);
    }
    FILE_STREAM_INFO *info = (void *)((unsigned char *)out + start);
    info->NextEntryOffset = 0;
    info->StreamNameLength = (DWORD)len;
    info->StreamSize.QuadPart = bytes;
    info->StreamAllocationSize.QuadPart = allocated(bytes);
    wchar_t *to = (void *)((unsigned char *)info + offsetof(FILE_STREAM_INFO, StreamName));
    *to++ = ':';
    memcpy(to, name, nt_length(name) * sizeof *name);
    memcpy(to + nt_length(name), L":$DATA", 6 * sizeof *name);
    if (*at > 0) {
        ((FILE_STREAM_INFO *)(void *)((unsigned char *)out + *last))->NextEntryOffset =
            (DWORD)(start - *last);
    }
    *last = start;
    *at = start + offsetof(FILE_STREAM_INFO, StreamName) + len;
    return TRUE;
}

static BOOL tell_streams(const struct nt_file *file, void *out, DWORD size)
{
    size_t at = 0;
    size_t last = 0;
    const struct nt_node *node = file->node;
    if (!nt_is_directory(node) &&
        !put_stream(out, size, &at, &last, L"", (LONGLONG)node->bytes.size)) {
        return FALSE;
    }
    for (const struct nt_stream *stream = node->streams; stream != NULL; stream = stream->next) {
        if (!put_stream(out, size, &at, &last, stream->name, (LONGLONG)stream->bytes.size)) {
            return FALSE;
        }
    }
    return at > 0 ? TRUE : nt_fail(ERROR_HANDLE_EOF);
}

/* ---- listing ------------------------------------------------------------------------------------------- */

/* One row; false when it does not fit. */
static bool put_row(unsigned char *out, DWORD size, size_t *at, size_t *last, const wchar_t *name,
                    const struct nt_entry *entry, const struct nt_node *node)
{
    size_t len = nt_length(name) * sizeof *name;
    size_t start = (*at + 7) & ~(size_t)7;
    if (start + offsetof(FILE_ID_BOTH_DIR_INFO, FileName) + len > size) {
        return false;
    }
    FILE_ID_BOTH_DIR_INFO *row = (void *)(out + start);
    memset(row, 0, offsetof(FILE_ID_BOTH_DIR_INFO, FileName));
    row->CreationTime = node->created;
    row->LastAccessTime = node->written;
    row->LastWriteTime = node->written;
    row->ChangeTime = node->changed;
    row->EndOfFile.QuadPart = (LONGLONG)node->bytes.size;
    row->AllocationSize.QuadPart = allocated((LONGLONG)node->bytes.size);
    row->FileAttributes = nt_attributes_of(node);
    row->FileNameLength = (DWORD)len;
    row->EaSize = node->tag; /* as documented for a reparse point */
    row->FileId.QuadPart = (LONGLONG)node->id;
    if (entry != NULL && entry->short_name[0] != 0) {
        size_t alias = nt_length(entry->short_name) * sizeof(wchar_t);
        row->ShortNameLength = (CCHAR)alias;
        memcpy(row->ShortName, entry->short_name, alias);
    }
    memcpy(out + start + offsetof(FILE_ID_BOTH_DIR_INFO, FileName), name, len);
    if (*at > 0) {
        ((FILE_ID_BOTH_DIR_INFO *)(void *)(out + *last))->NextEntryOffset = (DWORD)(start - *last);
    }
    *last = start;
    *at = start + offsetof(FILE_ID_BOTH_DIR_INFO, FileName) + len;
    return true;
}

/* "." and ".." come first, but not in a root. */
static BOOL list(struct nt_file *file, void *out, DWORD size)
{
    const struct nt_node *node = file->node;
    if (!nt_is_directory(node)) {
        return nt_fail(ERROR_INVALID_PARAMETER);
    }
    size_t dots = node->entry == NULL ? 0 : 2;
    size_t at = 0;
    size_t last = 0;
    bool fits = true;
    while (fits && file->cursor < dots + node->child_count) {
        if (file->cursor < dots) {
            const struct nt_node *shown =
                file->cursor == 0 || node->entry->parent == NULL ? node : node->entry->parent;
            fits = put_row(out, size, &at, &last, file->cursor == 0 ? L"." : L"..", NULL, shown);
        } else {
            const struct nt_entry *entry = node->children[file->cursor - dots];
            fits = put_row(out, size, &at, &last, entry->name, entry, entry->node);
        }
        file->cursor += fits ? 1 : 0;
    }
    if (at > 0) {
        return TRUE;
    }
    return nt_fail(fits ? ERROR_NO_MORE_FILES : ERROR_MORE_DATA);
}

BOOL WINAPI nt_GetFileInformationByHandleEx(HANDLE handle, FILE_INFO_BY_HANDLE_CLASS which,
                                            LPVOID out, DWORD size)
{
    bool lists = (int)which == INFO_LIST || (int)which == INFO_LIST_RESTART;
    bool reads = (int)which == INFO_BASIC || (int)which == INFO_TAG;
    DWORD access = lists ? (DWORD)FILE_LIST_DIRECTORY : reads ? (DWORD)FILE_READ_ATTRIBUTES : 0;
    struct nt_file *file = nt_handle_get(handle, NT_FILE, access);
    if (file == NULL) {
        return FALSE;
    }
    switch ((int)which) {
    case INFO_BASIC:
        return tell_basic(file->node, out, size);
    case INFO_STANDARD:
        return tell_standard(file, out, size);
    case INFO_NAME:
        return tell_name(file, out, size);
    case INFO_STREAMS:
        return tell_streams(file, out, size);
    case INFO_TAG:
        return tell_tag(file->node, out, size);
    case INFO_LIST_RESTART:
        file->cursor = 0;
        return list(file, out, size);
    case INFO_LIST:
        return list(file, out, size);
    case INFO_REMOTE:
        return file->node->volume->share == NULL ? nt_fail(ERROR_INVALID_PARAMETER) : TRUE;
    case INFO_ID:
        return tell_id(file->node, out, size);
    default:
        return nt_fail(ERROR_INVALID_PARAMETER);
    }
}

/* ---- setting ------------------------------------------------------------------------------------------- */

static NTSTATUS place_of(const FILE_RENAME_INFO *info, DWORD size, struct nt_file *file,
                         struct nt_place *out)
{
    size_t len = info->FileNameLength;
    if (len == 0 || len % sizeof(wchar_t) != 0 || len / sizeof(wchar_t) >= NT_PATH_MAX ||
        offsetof(FILE_RENAME_INFO, FileName) + len > size) {
        return NT_STATUS_INVALID_PARAMETER;
    }
    wchar_t path[NT_PATH_MAX + 8] = {0};
    const unsigned char *name = (const unsigned char *)info + offsetof(FILE_RENAME_INFO, FileName);
    struct nt_process *process = nt_process_now();
    if (info->RootDirectory == NULL) {
        memcpy(path, name, len);
        return nt_parse_path(process, path, out);
    }
    (void)file;
    struct nt_file *root = nt_handle_get(info->RootDirectory, NT_FILE, 0);
    if (root == NULL) {
        return NT_STATUS_INVALID_HANDLE;
    }
    memcpy(path, L"\\??\\C:\\", 7 * sizeof path[0]);
    memcpy(path + 7, name, len);
    NTSTATUS status = nt_parse_path(process, path, out);
    out->volume = root->node->volume;
    out->base = root->node;
    return status;
}

static BOOL set_rename(struct nt_file *file, const FILE_RENAME_INFO *info, DWORD size, bool is_ex)
{
    if (size < sizeof *info) {
        return nt_fail(ERROR_BAD_LENGTH);
    }
    /* The flags lie where the older form has one byte. */
    DWORD flags = 0;
    memcpy(&flags, info, is_ex ? sizeof flags : 1);
    bool replaces = is_ex ? (flags & RENAME_REPLACES) != 0 : flags != 0;
    struct nt_place place;
    NTSTATUS status = place_of(info, size, file, &place);
    if (status == 0) {
        status = nt_file_rename(nt_process_now(), file, &place, replaces,
                                is_ex && (flags & RENAME_POSIX) != 0);
    }
    return status == 0 ? TRUE : nt_fail_status(status);
}

static BOOL set_disposition(struct nt_file *file, const void *value, DWORD size, bool is_ex)
{
    DWORD flags = 0;
    if (size < (is_ex ? sizeof(DWORD) : sizeof(BOOLEAN))) {
        return nt_fail(ERROR_BAD_LENGTH);
    }
    memcpy(&flags, value, is_ex ? sizeof flags : 1);
    NTSTATUS status;
    if (is_ex) {
        if ((flags & DISPOSE_ON_CLOSE) != 0) {
            file->deletes_on_close = (flags & DISPOSE_DELETES) != 0;
            return TRUE;
        }
        status = nt_file_dispose(file, (flags & DISPOSE_DELETES) != 0, (flags & DISPOSE_POSIX) != 0,
                                 (flags & DISPOSE_READ_ONLY) != 0);
    } else {
        status = nt_file_dispose(file, flags != 0, false, false);
    }
    return status == 0 ? TRUE : nt_fail_status(status);
}

static BOOL set_basic(struct nt_file *file, const FILE_BASIC_INFO *info, DWORD size)
{
    if (size < sizeof *info) {
        return nt_fail(ERROR_BAD_LENGTH);
    }
    struct nt_node *node = file->node;
    if (info->FileAttributes != 0) {
        DWORD kept = node->attributes & FILE_ATTRIBUTE_DIRECTORY;
        node->attributes = kept | (info->FileAttributes &
                                   ~(DWORD)(FILE_ATTRIBUTE_DIRECTORY |
                                            FILE_ATTRIBUTE_REPARSE_POINT | FILE_ATTRIBUTE_NORMAL));
    }
    node->created = info->CreationTime.QuadPart > 0 ? info->CreationTime : node->created;
    node->written = info->LastWriteTime.QuadPart > 0 ? info->LastWriteTime : node->written;
    nt_changed(node, file->entry, 0x00008000 /* basic info */, FILE_ACTION_MODIFIED);
    return TRUE;
}

static BOOL set_end(struct nt_file *file, const FILE_END_OF_FILE_INFO *info, DWORD size)
{
    if (size < sizeof *info) {
        return nt_fail(ERROR_BAD_LENGTH);
    }
    struct nt_bytes *bytes = file->stream != NULL ? &file->stream->bytes : &file->node->bytes;
    size_t end = (size_t)info->EndOfFile.QuadPart;
    if (end > bytes->size) {
        nt_bytes_put(bytes, end, NULL, 0);
    }
    bytes->size = end;
    file->node->is_dirty = true;
    nt_changed(file->node, file->entry, USN_REASON_DATA_TRUNCATION, FILE_ACTION_MODIFIED);
    return TRUE;
}

BOOL WINAPI nt_SetFileInformationByHandle(HANDLE handle, FILE_INFO_BY_HANDLE_CLASS which,
                                          LPVOID value, DWORD size)
{
    DWORD access = 0;
    switch ((int)which) {
    case INFO_RENAME:
    case INFO_RENAME_EX:
    case INFO_DISPOSITION:
    case INFO_DISPOSITION_EX:
        access = DELETE;
        break;
    case INFO_BASIC:
        access = FILE_WRITE_ATTRIBUTES;
        break;
    case INFO_END_OF_FILE:
    case INFO_ALLOCATION:
        access = FILE_WRITE_DATA;
        break;
    default:
        return nt_fail(ERROR_INVALID_PARAMETER);
    }
    struct nt_file *file = nt_handle_get(handle, NT_FILE, access);
    if (file == NULL) {
        return FALSE;
    }
    switch ((int)which) {
    case INFO_RENAME:
    case INFO_RENAME_EX:
        return set_rename(file, value, size, (int)which == INFO_RENAME_EX);
    case INFO_DISPOSITION:
    case INFO_DISPOSITION_EX:
        return set_disposition(file, value, size, (int)which == INFO_DISPOSITION_EX);
    case INFO_BASIC:
        return set_basic(file, value, size);
    case INFO_END_OF_FILE:
        return set_end(file, value, size);
    default:
        return TRUE;
    }
}
