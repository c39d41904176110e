/* What tells about changes: the journal of a volume, watches of directories, and the controls of files. */
#include "tests/ntmodel/nt_internal.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "common/base/banned.h"

#define QUERY_JOURNAL 0x000900F4
#define READ_JOURNAL 0x000900BB
#define READ_UNPRIVILEGED 0x000903AB
#define GET_REPARSE_POINT 0x000900A8

enum { RECORD_BYTES = 96, WATCH_MAX = 65536 };

static const uint64_t journal_id = 0x01D0A5C0FFEE0001ull;

/* ---- the journal ------------------------------------------------------------------------------------------ */

void nt_journal(struct nt_node *node, const struct nt_entry *entry, DWORD reason)
{
    struct nt_volume *volume = node->volume;
    if (!volume->has_acls || volume->model->world.has_no_journal || volume->model->is_building ||
        reason == 0) {
        return;
    }
    volume->changes = nt_grow(volume->changes, &volume->change_room, volume->change_count,
                              sizeof volume->changes[0]);
    struct nt_change *change = &volume->changes[volume->change_count++];
    memset(change, 0, sizeof *change);
    change->id = node->id;
    change->parent = entry == NULL || entry->parent == NULL ? node->id : entry->parent->id;
    change->reason = reason;
    change->attributes = nt_attributes_of(node);
    change->time.QuadPart = (LONGLONG)nt_time(volume->model);
    const wchar_t *name = entry == NULL ? L"" : entry->name;
    memcpy(change->name, name, nt_length(name) * sizeof *name);
}

static BOOL query_journal(const struct nt_volume *volume, void *out, DWORD out_size,
                          DWORD *returned)
{
    if (volume->model->world.has_no_journal) {
        return nt_fail(ERROR_JOURNAL_NOT_ACTIVE);
    }
    USN_JOURNAL_DATA data = {
        .UsnJournalID = journal_id,
        .FirstUsn = 0,
        .NextUsn = (USN)(volume->change_count * RECORD_BYTES),
        .LowestValidUsn = 0,
        .MaxUsn = 0x7FFFFFFFFFFF0000,
        .MaximumSize = 32 << 20,
        .AllocationDelta = 8 << 20,
    };
    if (out_size < sizeof data) {
        return nt_fail(ERROR_INSUFFICIENT_BUFFER);
    }
    memcpy(out, &data, sizeof data);
    *returned = sizeof data;
    return TRUE;
}

/* An unprivileged reader gets only what lies in directories that he may list. */
static bool may_know(struct nt_volume *volume, const struct nt_change *change)
{
    struct nt_entry *entry;
    const struct nt_node *parent = nt_node_by_id(volume, change->parent, &entry);
    DWORD granted;
    return parent != NULL && nt_file_access(&nt_process_now()->token->token, parent, NULL,
                                            FILE_LIST_DIRECTORY, &granted);
}

static size_t put_record(unsigned char *out, size_t room, const struct nt_change *change, USN usn)
{
    size_t name = nt_length(change->name) * sizeof(wchar_t);
    size_t size = (offsetof(USN_RECORD, FileName) + name + 7) & ~(size_t)7;
    if (size > room) {
        return 0;
    }
    USN_RECORD *record = (void *)out;
    memset(record, 0, size);
    record->RecordLength = (DWORD)size;
    record->MajorVersion = 2;
    record->FileReferenceNumber = change->id;
    record->ParentFileReferenceNumber = change->parent;
    record->Usn = usn;
    record->TimeStamp = change->time;
    record->Reason = change->reason;
    record->FileAttributes = change->attributes;
    record->FileNameLength = (WORD)name;
    record->FileNameOffset = offsetof(USN_RECORD, FileName);
    memcpy(out + offsetof(USN_RECORD, FileName), change->name, name);
    return size;
}

static BOOL read_journal(struct nt_volume *volume, const READ_USN_JOURNAL_DATA *in, DWORD in_size,
                         unsigned char *out, DWORD out_size, DWORD *returned, bool is_privileged)
{
    if (volume->model->world.has_no_journal) {
        return nt_fail(ERROR_JOURNAL_NOT_ACTIVE);
    }
    if (in_size < sizeof *in || out_size < sizeof(USN) || in->UsnJournalID != journal_id) {
        return nt_fail(ERROR_INVALID_PARAMETER);
    }
    size_t at = sizeof(USN);
    size_t index = (size_t)in->StartUsn / RECORD_BYTES;
    for (; index < volume->change_count; index++) {
        const struct nt_change *change = &volume->changes[index];
        if ((change->reason & in->ReasonMask) == 0 ||
            (in->ReturnOnlyOnClose != 0 && (change->reason & USN_REASON_CLOSE) == 0) ||
            (!is_privileged && !may_know(volume, change))) {
            continue;
        }
        size_t size = put_record(out + at, out_size - at, change, (USN)(index * RECORD_BYTES));
        if (size == 0) {
            break;
        }
        at += size;
    }
    USN next = (USN)(index * RECORD_BYTES);
    memcpy(out, &next, sizeof next);
    *returned = (DWORD)at;
    return TRUE;
}

/* ---- reparse points -------------------------------------------------------------------------------------- */

/* REPARSE_DATA_BUFFER: tag, length, reserved, and for links two names by offset and length. */
static BOOL get_reparse(const struct nt_node *node, unsigned char *out, DWORD out_size,
                        DWORD *returned)
{
    if (node->tag == 0) {
        return nt_fail(ERROR_NOT_A_REPARSE_POINT);
    }
    unsigned char data[4096] = {0};
    size_t head = node->tag == IO_REPARSE_TAG_SYMLINK ? 20 : 16;
    size_t size = 8;
    if (node->target != NULL) {
        bool is_absolute = node->target[1] == ':';
        wchar_t name[NT_PATH_MAX + 4];
        (void)swprintf(name, SBX_COUNT(name), L"%ls%ls", is_absolute ? L"\\??\\" : L"",
                       node->target);
        WORD substitute = (WORD)(nt_length(name) * sizeof *name);
        WORD print = (WORD)(nt_length(node->target) * sizeof *name);
        WORD numbers[4] = {0, substitute, (WORD)(substitute + 2), print};
        memcpy(data + 8, numbers, sizeof numbers);
        if (head == 20) {
            data[16] = is_absolute ? 0 : 1; /* SYMLINK_FLAG_RELATIVE */
        }
        memcpy(data + head, name, substitute);
        memcpy(data + head + substitute + 2, node->target, print);
        size = head + substitute + print + 4u;
    }
    WORD length = (WORD)(size - 8);
    memcpy(data, &node->tag, sizeof node->tag);
    memcpy(data + 4, &length, sizeof length);
    if (out_size < size) {
        return nt_fail(out_size < 8 ? ERROR_INSUFFICIENT_BUFFER : ERROR_MORE_DATA);
    }
    memcpy(out, data, size);
    *returned = (DWORD)size;
    return TRUE;
}

BOOL WINAPI nt_DeviceIoControl(HANDLE handle, DWORD code, LPVOID in, DWORD in_size, LPVOID out,
                               DWORD out_size, LPDWORD returned, LPOVERLAPPED overlapped)
{
    struct nt_file *file = nt_handle_get(handle, NT_FILE, 0);
    DWORD bytes = 0;
    if (file == NULL) {
        return FALSE;
    }
    struct nt_volume *volume = file->node->volume;
    bool is_admin = nt_token_is_admin(&nt_process_now()->token->token);
    BOOL done = FALSE;
    if (code == GET_REPARSE_POINT) {
        done = get_reparse(file->node, out, out_size, &bytes);
    } else if (!volume->has_acls) {
        return nt_fail(ERROR_INVALID_FUNCTION);
    } else if (code == QUERY_JOURNAL) {
        done = query_journal(volume, out, out_size, &bytes);
    } else if (code == READ_UNPRIVILEGED) {
        done = read_journal(volume, in, in_size, out, out_size, &bytes, false);
    } else if (code == READ_JOURNAL) {
        done = is_admin ? read_journal(volume, in, in_size, out, out_size, &bytes, true)
                        : nt_fail(ERROR_ACCESS_DENIED);
    } else {
        return nt_fail(ERROR_INVALID_FUNCTION);
    }
    if (done && returned != NULL) {
        *returned = bytes;
    }
    if (done && overlapped != NULL) {
        nt_overlapped_done(nt_process_now(), overlapped, 0, bytes);
    }
    return done;
}

/* ---- watches ----------------------------------------------------------------------------------------------- */

void nt_overlapped_done(struct nt_process *process, LPOVERLAPPED overlapped, NTSTATUS status,
                        DWORD bytes)
{
    overlapped->Internal = (ULONG_PTR)(ULONG)status;
    overlapped->InternalHigh = bytes;
    HANDLE event = (HANDLE)((ULONG_PTR)overlapped->hEvent & ~(ULONG_PTR)1);
    const struct nt_handle *row = event == NULL ? NULL : nt_handle_row(process, event);
    if (row != NULL && row->object->kind == NT_EVENT) {
        ((struct nt_event *)row->object)->is_set = true;
    }
    nt_wake(process->object.model);
}

static void finish_watch(struct nt_file *file, NTSTATUS status)
{
    LPOVERLAPPED overlapped = file->watch_overlapped;
    DWORD bytes = 0;
    if (overlapped == NULL) {
        return;
    }
    if (file->watch_process->is_ended) { /* its memory is gone */
        file->watch_overlapped = NULL;
        return;
    }
    if (status == 0 && !file->has_overflowed && file->watched.size <= file->watch_size) {
        memcpy(file->watch_out, file->watched.data, file->watched.size);
        bytes = (DWORD)file->watched.size;
    }
    file->watched.size = 0;
    file->has_overflowed = false;
    file->watch_overlapped = NULL;
    nt_overlapped_done(file->watch_process, overlapped, status, bytes);
}

static void unlink_watch(struct nt_file *file)
{
    for (struct nt_file **at = &file->object.model->watches; *at != NULL; at = &(*at)->next_watch) {
        if (*at == file) {
            *at = file->next_watch;
            return;
        }
    }
}

void nt_watch_cancel(struct nt_file *file, NTSTATUS status)
{
    finish_watch(file, status);
    if (!file->is_open) {
        unlink_watch(file);
    }
}

/* The name below the watched directory; false when it is not there. */
static bool relative_name(const struct nt_file *watch, const struct nt_entry *entry,
                          wchar_t out[NT_PATH_MAX])
{
    const struct nt_node *top = watch->node;
    const struct nt_node *at = entry->parent;
    while (watch->watches_tree && at != NULL && at != top) {
        at = at->entry == NULL ? NULL : at->entry->parent;
    }
    if (at != top) {
        return false;
    }
    wchar_t whole[NT_PATH_MAX];
    wchar_t head[NT_PATH_MAX];
    (void)nt_node_path(entry->node, entry, whole);
    size_t skip = nt_node_path(top, top->entry, head);
    const wchar_t *rest = whole + (skip == 1 ? 1 : skip + 1);
    memcpy(out, rest, (nt_length(rest) + 1) * sizeof *rest);
    return true;
}

static bool is_watched(const struct nt_file *watch, const struct nt_node *node, DWORD action)
{
    if (action == FILE_ACTION_MODIFIED) {
        return (watch->filter & (FILE_NOTIFY_CHANGE_LAST_WRITE | FILE_NOTIFY_CHANGE_SIZE |
                                 FILE_NOTIFY_CHANGE_ATTRIBUTES | FILE_NOTIFY_CHANGE_SECURITY)) != 0;
    }
    return (watch->filter & (nt_is_directory(node) ? FILE_NOTIFY_CHANGE_DIR_NAME
                                                   : FILE_NOTIFY_CHANGE_FILE_NAME)) != 0;
}

static void append(struct nt_file *watch, DWORD action, const wchar_t *name)
{
    size_t len = nt_length(name) * sizeof *name;
    size_t size = (offsetof(FILE_NOTIFY_INFORMATION, FileName) + len + 3) & ~(size_t)3;
    size_t at = watch->watched.size;
    if (at + size > (watch->watch_size == 0 ? WATCH_MAX : watch->watch_size)) {
        watch->has_overflowed = true;
        return;
    }
    unsigned char *row = nt_alloc(size);
    DWORD head[3] = {0, action, (DWORD)len};
    memcpy(row, head, sizeof head);
    memcpy(row + sizeof head, name, len);
    nt_bytes_put(&watch->watched, at, row, size);
    free(row);
    /* The row before points to this one. */
    size_t before = 0;
    while (before < at) {
        DWORD next;
        memcpy(&next, watch->watched.data + before, sizeof next);
        if (next == 0) {
            next = (DWORD)(at - before);
            memcpy(watch->watched.data + before, &next, sizeof next);
            break;
        }
        before += next;
    }
}

void nt_changed(struct nt_node *node, const struct nt_entry *entry, DWORD reason, DWORD action)
{
    struct nt_model *model = node->volume->model;
    if (model->is_building) {
        return;
    }
    node->changed.QuadPart = (LONGLONG)nt_time(model);
    nt_journal(node, entry, reason);
    if (entry == NULL || action == 0) {
        return;
    }
    for (struct nt_file *watch = model->watches; watch != NULL; watch = watch->next_watch) {
        wchar_t name[NT_PATH_MAX];
        if (is_watched(watch, node, action) && relative_name(watch, entry, name)) {
            append(watch, action, name);
            /* Of a rename both names come together. */
            if (action != FILE_ACTION_RENAMED_OLD_NAME) {
                finish_watch(watch, 0);
            }
        }
    }
}

BOOL WINAPI nt_ReadDirectoryChangesW(HANDLE handle, LPVOID out, DWORD size, BOOL subtree,
                                     DWORD filter, LPDWORD returned, LPOVERLAPPED overlapped,
                                     LPOVERLAPPED_COMPLETION_ROUTINE routine)
{
    struct nt_file *file = nt_handle_get(handle, NT_FILE, FILE_LIST_DIRECTORY);
    if (file == NULL) {
        return FALSE;
    }
    if (!nt_is_directory(file->node) || filter == 0 || routine != NULL || overlapped == NULL ||
        !file->is_overlapped || file->watch_overlapped != NULL) {
        return nt_fail(ERROR_INVALID_PARAMETER);
    }
    (void)returned;
    if (!file->is_watch) { /* tree and filter stay what the first call says */
        file->is_watch = true;
        file->watches_tree = subtree != FALSE;
        file->filter = filter;
        file->next_watch = file->object.model->watches;
        file->object.model->watches = file;
    }
    file->watch_out = out;
    file->watch_size = size;
    file->watch_overlapped = overlapped;
    file->watch_process = nt_process_now();
    overlapped->Internal = (ULONG_PTR)(ULONG)NT_STATUS_PENDING;
    overlapped->InternalHigh = 0;
    if (file->watched.size > 0 || file->has_overflowed) {
        finish_watch(file, 0);
    }
    return TRUE;
}

BOOL WINAPI nt_GetOverlappedResult(HANDLE handle, LPOVERLAPPED overlapped, LPDWORD bytes, BOOL wait)
{
    struct nt_object *object = nt_handle_get(handle, NT_ANY, 0);
    if (object == NULL) {
        return FALSE;
    }
    struct nt_model *model = object->model;
    while (wait && (ULONG)overlapped->Internal == (ULONG)NT_STATUS_PENDING) {
        (void)nt_sleep(model, UINT64_MAX);
    }
    if ((ULONG)overlapped->Internal == (ULONG)NT_STATUS_PENDING) {
        return nt_fail(ERROR_IO_INCOMPLETE);
    }
    *bytes = (DWORD)overlapped->InternalHigh;
    NTSTATUS status = (NTSTATUS)(ULONG)overlapped->Internal;
    return status >= 0 ? TRUE : nt_fail_status(status);
}

BOOL WINAPI nt_CancelIoEx(HANDLE handle, LPOVERLAPPED overlapped)
{
    struct nt_object *object = nt_handle_get(handle, NT_ANY, 0);
    if (object == NULL) {
        return FALSE;
    }
    struct nt_file *file = object->kind == NT_FILE ? (struct nt_file *)object : NULL;
    if (file == NULL || file->watch_overlapped == NULL ||
        (overlapped != NULL && overlapped != file->watch_overlapped)) {
        return nt_fail(ERROR_NOT_FOUND);
    }
    nt_watch_cancel(file, NT_STATUS_CANCELLED);
    return TRUE;
}
