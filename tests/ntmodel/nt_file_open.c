/* Opening and creating files: access, share modes, dispositions, and what the last close does. */
#include "tests/ntmodel/nt_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/banned.h"

#define READS (FILE_READ_DATA | FILE_EXECUTE)
#define WRITES (FILE_WRITE_DATA | FILE_APPEND_DATA)

/* ---- access ----------------------------------------------------------------------------------------- */

/* NTFS gives two rights by the directory too: DELETE by FILE_DELETE_CHILD, attributes by listing. */
bool nt_file_access(const struct nt_token *token, const struct nt_node *node,
                    const struct nt_node *parent, DWORD desired, DWORD *granted)
{
    desired = nt_map_generic(desired, &nt_file_mapping);
    bool asks_all = (desired & MAXIMUM_ALLOWED) != 0;
    if (node->descriptor == NULL) {
        *granted = asks_all ? FILE_ALL_ACCESS : desired;
        return true;
    }
    if (!asks_all && nt_has_access(token, node->descriptor, desired, &nt_file_mapping, granted)) {
        return true;
    }
    DWORD implied = 0;
    if (parent != NULL && parent->descriptor != NULL) {
        if ((desired & (DELETE | MAXIMUM_ALLOWED)) != 0 &&
            nt_has_access(token, parent->descriptor, FILE_DELETE_CHILD, &nt_file_mapping, NULL)) {
            implied |= DELETE;
        }
        if ((desired & (FILE_READ_ATTRIBUTES | MAXIMUM_ALLOWED)) != 0 &&
            nt_has_access(token, parent->descriptor, FILE_LIST_DIRECTORY, &nt_file_mapping, NULL)) {
            implied |= FILE_READ_ATTRIBUTES;
        }
    }
    DWORD rest = desired & ~implied;
    if (rest == 0) {
        *granted = implied;
        return true;
    }
    if (!nt_has_access(token, node->descriptor, rest, &nt_file_mapping, granted)) {
        return false;
    }
    *granted |= implied;
    return true;
}

/* IoCheckShareAccess: an open that neither reads, writes nor deletes is not counted and refuses nobody. */
bool nt_share(struct nt_node *node, DWORD access, DWORD share, bool counts)
{
    bool reads = (access & READS) != 0;
    bool writes = (access & WRITES) != 0;
    bool deletes = (access & DELETE) != 0;
    if (!reads && !writes && !deletes) {
        return true;
    }
    bool share_read = (share & FILE_SHARE_READ) != 0;
    bool share_write = (share & FILE_SHARE_WRITE) != 0;
    bool share_delete = (share & FILE_SHARE_DELETE) != 0;
    if ((reads && node->share_readers < node->sharers) ||
        (writes && node->share_writers < node->sharers) ||
        (deletes && node->share_deleters < node->sharers) || (node->readers > 0 && !share_read) ||
        (node->writers > 0 && !share_write) || (node->deleters > 0 && !share_delete)) {
        return false;
    }
    if (counts) {
        node->sharers++;
        node->readers += reads;
        node->writers += writes;
        node->deleters += deletes;
        node->share_readers += share_read;
        node->share_writers += share_write;
        node->share_deleters += share_delete;
    }
    return true;
}

static void unshare(struct nt_node *node, DWORD access, DWORD share)
{
    if ((access & (READS | WRITES | DELETE)) == 0) {
        return;
    }
    node->sharers--;
    node->readers -= (access & READS) != 0;
    node->writers -= (access & WRITES) != 0;
    node->deleters -= (access & DELETE) != 0;
    node->share_readers -= (share & FILE_SHARE_READ) != 0;
    node->share_writers -= (share & FILE_SHARE_WRITE) != 0;
    node->share_deleters -= (share & FILE_SHARE_DELETE) != 0;
}

/* ---- open files --------------------------------------------------------------------------------------- */

static void count_above(const struct nt_file *file, bool is_open)
{
    const struct nt_entry *entry = file->entry;
    for (struct nt_node *above = entry == NULL ? NULL : entry->parent; above != NULL;
         above = above->entry == NULL ? NULL : above->entry->parent) {
        if (is_open) {
            above->opens_below++;
        } else {
            above->opens_below--;
        }
    }
}

static struct nt_file *file_new(const struct nt_open *open, const struct nt_walk *walk,
                                DWORD granted)
{
    struct nt_file *file = nt_object_new(walk->node->volume->model, NT_FILE, sizeof *file);
    file->node = walk->node;
    file->node->references++;
    file->node->opens++;
    file->entry = walk->entry;
    if (file->entry != NULL) {
        file->entry->references++;
        file->entry->opens++;
    }
    file->access = granted;
    file->share = open->share;
    file->options = open->options;
    file->deletes_on_close = (open->options & FILE_DELETE_ON_CLOSE) != 0;
    file->is_open = true;
    count_above(file, true);
    return file;
}

/* The name of a file that is to go, once nobody has it open by that name. */
static void delete_name(struct nt_file *file)
{
    struct nt_entry *entry = file->entry;
    if (entry == NULL || entry->is_gone) {
        return;
    }
    bool goes_now = file->deletes_posix || entry->opens == 0;
    if (entry->delete_pending && goes_now &&
        (!nt_is_directory(entry->node) || entry->node->child_count == 0)) {
        nt_changed(entry->node, entry, USN_REASON_FILE_DELETE | USN_REASON_CLOSE,
                   FILE_ACTION_REMOVED);
        nt_entry_remove(entry);
    }
}

void nt_file_close(struct nt_file *file)
{
    if (!file->is_open) {
        return;
    }
    file->is_open = false;
    if (file->is_watch) {
        nt_watch_cancel(file, NT_STATUS_CANCELLED);
    }
    count_above(file, false);
    unshare(file->node, file->access, file->share);
    file->node->opens--;
    if (file->reasons != 0) {
        nt_journal(file->node, file->entry, file->reasons | USN_REASON_CLOSE);
    }
    if (file->entry != NULL) {
        file->entry->opens--;
        if (file->deletes_on_close) {
            file->entry->delete_pending = true;
        }
        delete_name(file);
    }
}

void nt_file_free(struct nt_file *file)
{
    nt_file_close(file);
    nt_entry_unref(file->entry);
    nt_node_unref(file->node);
    nt_bytes_free(&file->watched);
}

/* ---- streams ------------------------------------------------------------------------------------------ */

static struct nt_stream *find_stream(struct nt_node *node, const wchar_t *name)
{
    struct nt_stream *stream = node->streams;
    while (stream != NULL && !nt_same_name(stream->name, name)) {
        stream = stream->next;
    }
    return stream;
}

static NTSTATUS open_stream(struct nt_process *process, const struct nt_open *open,
                            struct nt_file *file, const wchar_t *name, ULONG *information)
{
    struct nt_stream *stream = find_stream(file->node, name);
    bool creates = open->disposition != FILE_OPEN && open->disposition != FILE_OVERWRITE;
    if (stream != NULL && open->disposition == FILE_CREATE) {
        return NT_STATUS_OBJECT_NAME_COLLISION;
    }
    if (stream == NULL && !creates) {
        return NT_STATUS_OBJECT_NAME_NOT_FOUND;
    }
    if (stream == NULL) {
        DWORD granted;
        if (!open->is_test &&
            !nt_file_access(&process->token->token, file->node, NULL, FILE_WRITE_DATA, &granted)) {
            return NT_STATUS_ACCESS_DENIED;
        }
        stream = nt_alloc(sizeof *stream);
        stream->name = nt_wide(name);
        stream->next = file->node->streams;
        file->node->streams = stream;
        *information = FILE_CREATED;
        nt_changed(file->node, file->entry, 0x00200000 /* stream change */, 0);
    } else if (open->disposition != FILE_OPEN && open->disposition != FILE_OPEN_IF) {
        stream->bytes.size = 0;
        *information = FILE_OVERWRITTEN;
    }
    file->stream = stream;
    return 0;
}

/* ---- existing files -------------------------------------------------------------------------------------- */

static bool overwrites(DWORD disposition)
{
    return disposition == FILE_SUPERSEDE || disposition == FILE_OVERWRITE ||
           disposition == FILE_OVERWRITE_IF;
}

static NTSTATUS check_kind(const struct nt_open *open, const struct nt_walk *walk)
{
    bool is_directory = nt_is_directory(walk->node);
    if (walk->has_stream) {
        return 0;
    }
    if ((open->options & FILE_DIRECTORY_FILE) != 0 && !is_directory) {
        return NT_STATUS_NOT_A_DIRECTORY;
    }
    if ((open->options & FILE_NON_DIRECTORY_FILE) != 0 && is_directory) {
        return NT_STATUS_FILE_IS_A_DIRECTORY;
    }
    if (walk->wants_directory && !is_directory) {
        return NT_STATUS_OBJECT_NAME_INVALID;
    }
    if (overwrites(open->disposition) && is_directory) {
        return NT_STATUS_FILE_IS_A_DIRECTORY;
    }
    return 0;
}

/* What is asked of an existing file, with what its disposition asks besides. */
static DWORD desired_of(const struct nt_open *open, const struct nt_walk *walk)
{
    DWORD desired = nt_map_generic(open->access, &nt_file_mapping);
    if (overwrites(open->disposition) && !walk->has_stream) {
        desired |= open->disposition == FILE_SUPERSEDE ? DELETE : FILE_WRITE_DATA;
    }
    return desired;
}

static NTSTATUS check_existing(struct nt_process *process, const struct nt_open *open,
                               const struct nt_walk *walk, DWORD *granted)
{
    struct nt_node *node = walk->node;
    if (walk->entry != NULL && walk->entry->delete_pending) {
        return NT_STATUS_DELETE_PENDING;
    }
    if (open->disposition == FILE_CREATE && !walk->has_stream) {
        return NT_STATUS_OBJECT_NAME_COLLISION;
    }
    NTSTATUS status = check_kind(open, walk);
    if (status != 0) {
        return status;
    }
    DWORD desired = desired_of(open, walk);
    bool is_read_only = (node->attributes & FILE_ATTRIBUTE_READONLY) != 0 && !nt_is_directory(node);
    if (open->is_test) {
        *granted = FILE_ALL_ACCESS;
        return 0;
    }
    if (is_read_only && (desired & WRITES) != 0) {
        return NT_STATUS_ACCESS_DENIED;
    }
    if (is_read_only && (open->options & FILE_DELETE_ON_CLOSE) != 0) {
        return NT_STATUS_CANNOT_DELETE;
    }
    /* A file that is hidden or of the system is not overwritten by an ordinary one. */
    DWORD special = node->attributes & (FILE_ATTRIBUTE_HIDDEN | FILE_ATTRIBUTE_SYSTEM);
    if (overwrites(open->disposition) && (special & ~open->attributes) != 0) {
        return NT_STATUS_ACCESS_DENIED;
    }
    if (!nt_file_access(&process->token->token, node, walk->parent, desired, granted)) {
        return NT_STATUS_ACCESS_DENIED;
    }
    return 0;
}

static NTSTATUS open_existing(struct nt_process *process, const struct nt_open *open,
                              const struct nt_walk *walk, void **out, DWORD *granted,
                              ULONG *information)
{
    NTSTATUS status = check_existing(process, open, walk, granted);
    if (status != 0) {
        return status;
    }
    if (!nt_share(walk->node, *granted, open->share, true)) {
        return NT_STATUS_SHARING_VIOLATION;
    }
    *information = FILE_OPENED;
    struct nt_file *file = file_new(open, walk, *granted);
    if (walk->has_stream) {
        status = open_stream(process, open, file, walk->stream, information);
        if (status != 0) {
            nt_object_unref(file);
            return status;
        }
    } else if (overwrites(open->disposition)) {
        walk->node->bytes.size = 0;
        walk->node->is_dirty = true;
        file->reasons |= USN_REASON_DATA_TRUNCATION;
        nt_changed(walk->node, walk->entry, USN_REASON_DATA_TRUNCATION, FILE_ACTION_MODIFIED);
        *information = open->disposition == FILE_SUPERSEDE ? FILE_SUPERSEDED : FILE_OVERWRITTEN;
    }
    *out = file;
    return 0;
}

/* ---- new files --------------------------------------------------------------------------------------------- */

static NTSTATUS check_new(struct nt_process *process, const struct nt_open *open,
                          const struct nt_walk *walk)
{
    bool is_directory = (open->options & FILE_DIRECTORY_FILE) != 0;
    if (open->disposition == FILE_OPEN || open->disposition == FILE_OVERWRITE) {
        return NT_STATUS_OBJECT_NAME_NOT_FOUND;
    }
    if (walk->wants_directory && !is_directory) {
        return NT_STATUS_OBJECT_NAME_INVALID;
    }
    if (walk->parent->entry != NULL && walk->parent->entry->delete_pending) {
        return NT_STATUS_DELETE_PENDING;
    }
    DWORD granted;
    if (!open->is_test &&
        !nt_file_access(&process->token->token, walk->parent, NULL,
                        is_directory ? FILE_ADD_SUBDIRECTORY : FILE_ADD_FILE, &granted)) {
        return NT_STATUS_ACCESS_DENIED;
    }
    return 0;
}

/* Whoever makes a file gets what he asks for, whatever its descriptor says then. */
static NTSTATUS open_new(struct nt_process *process, const struct nt_open *open,
                         struct nt_walk *walk, void **out, DWORD *granted, ULONG *information)
{
    NTSTATUS status = check_new(process, open, walk);
    if (status != 0) {
        return status;
    }
    bool is_directory = (open->options & FILE_DIRECTORY_FILE) != 0;
    DWORD attributes = open->attributes & (FILE_ATTRIBUTE_READONLY | FILE_ATTRIBUTE_HIDDEN |
                                           FILE_ATTRIBUTE_SYSTEM | FILE_ATTRIBUTE_TEMPORARY);
    attributes |= is_directory ? FILE_ATTRIBUTE_DIRECTORY : FILE_ATTRIBUTE_ARCHIVE;
    struct nt_node *node = nt_node_new(walk->parent->volume, attributes);
    size_t size = 0;
    unsigned char *flat =
        open->descriptor == NULL ? NULL : nt_self_relative(open->descriptor, &size);
    nt_node_describe(node, &process->token->token, walk->parent, flat);
    free(flat);
    walk->entry = nt_entry_add(walk->parent, walk->leaf, node);
    walk->node = node;
    nt_node_unref(node); /* the entry has its own */
    DWORD desired = nt_map_generic(open->access, &nt_file_mapping);
    *granted = (desired & MAXIMUM_ALLOWED) != 0 ? FILE_ALL_ACCESS : desired;
    (void)nt_share(node, *granted, open->share, true);
    struct nt_file *file = file_new(open, walk, *granted);
    file->reasons |= USN_REASON_FILE_CREATE;
    nt_changed(node, walk->entry, USN_REASON_FILE_CREATE, FILE_ACTION_ADDED);
    *information = FILE_CREATED;
    if (walk->has_stream) {
        status = open_stream(process, open, file, walk->stream, information);
    }
    *out = file;
    return status;
}

/* ---- devices and pipes ------------------------------------------------------------------------------------- */

static NTSTATUS open_device(struct nt_process *process, const struct nt_open *open, void **out,
                            DWORD *granted)
{
    struct nt_model *model = process->object.model;
    *granted = nt_map_generic(open->access, &nt_file_mapping);
    if (open->place.device == NT_DEVICE_NULL) {
        size_t size;
        const void *descriptor =
            nt_described(model,
                         model->world.null_is_open
                             ? "O:BAG:SYD:(A;;FA;;;SY)(A;;FA;;;BA)(A;;GRGWGX;;;WD)(A;;GRGWGX;;;AC)"
                               "(A;;GRGWGX;;;S-1-15-2-2)S:(ML;;NW;;;LW)"
                             : "O:BAG:SYD:(A;;FA;;;SY)(A;;FA;;;BA)(A;;GRGWGX;;;WD)(A;;GRGX;;;RC)",
                         &size);
        if (!nt_has_access(&process->token->token, descriptor, *granted, &nt_file_mapping,
                           granted)) {
            return NT_STATUS_ACCESS_DENIED;
        }
    } else if (*process->console == 0) {
        return NT_STATUS_INVALID_HANDLE;
    }
    struct nt_device *device = nt_object_new(model, NT_DEVICE, sizeof *device);
    device->which = open->place.device;
    *out = device;
    return 0;
}

static NTSTATUS check_pipe(struct nt_process *process, const struct nt_open *open)
{
    struct nt_object *pipe = nt_object_find(process->object.model, NT_PIPE, open->place.pipe);
    if (pipe == NULL) {
        return NT_STATUS_OBJECT_NAME_NOT_FOUND;
    }
    if (!nt_has_access(&process->token->token, pipe->descriptor, open->access, &nt_file_mapping,
                       NULL)) {
        return NT_STATUS_ACCESS_DENIED;
    }
    process->object.model->not_modelled++; /* who may open one is; what is said through it is not */
    return NT_STATUS_NOT_IMPLEMENTED;
}

NTSTATUS nt_file_open(struct nt_process *process, const struct nt_open *open, void **out,
                      DWORD *granted, ULONG *information)
{
    if (open->place.is_device) {
        *information = FILE_OPENED;
        return open_device(process, open, out, granted);
    }
    if (open->place.pipe != NULL) {
        return check_pipe(process, open);
    }
    struct nt_walk walk;
    bool opens_link = (open->options & FILE_OPEN_REPARSE_POINT) != 0;
    NTSTATUS status = nt_walk_path(process, &open->place, opens_link, &walk);
    if (status != 0) {
        return status;
    }
    return walk.node != NULL ? open_existing(process, open, &walk, out, granted, information)
                             : open_new(process, open, &walk, out, granted, information);
}

NTSTATUS nt_file_try(struct nt_process *process, const wchar_t *path, DWORD access)
{
    struct nt_open open = {
        .access = access,
        .share = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
        .disposition = FILE_OPEN,
    };
    void *file = NULL;
    DWORD granted;
    ULONG information;
    NTSTATUS status = nt_parse_path(process, path, &open.place);
    if (status == 0) {
        status = nt_file_open(process, &open, &file, &granted, &information);
    }
    if (status == 0) {
        nt_object_unref(file);
    }
    return status;
}
