/* Names that change: renaming, linking and deleting what is open. */
#include "tests/ntmodel/nt_internal.h"

#include "common/base/banned.h"

static bool is_below(const struct nt_node *node, const struct nt_node *above)
{
    while (node != NULL && node != above) {
        node = node->entry == NULL ? NULL : node->entry->parent;
    }
    return node == above;
}

/* What is replaced must be one that the process may delete and that nobody holds. */
static NTSTATUS check_victim(struct nt_process *process, const struct nt_walk *there, bool is_posix)
{
    struct nt_node *victim = there->node;
    DWORD granted;
    if (nt_is_directory(victim) || (victim->attributes & FILE_ATTRIBUTE_READONLY) != 0) {
        return NT_STATUS_ACCESS_DENIED;
    }
    if (!nt_file_access(&process->token->token, victim, there->parent, DELETE, &granted)) {
        return NT_STATUS_ACCESS_DENIED;
    }
    if (!nt_share(victim, DELETE, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, false)) {
        return is_posix ? NT_STATUS_SHARING_VIOLATION : NT_STATUS_ACCESS_DENIED;
    }
    return victim->opens > 0 && !is_posix ? NT_STATUS_ACCESS_DENIED : 0;
}

static NTSTATUS check_target(struct nt_process *process, const struct nt_file *file,
                             const struct nt_walk *there)
{
    const struct nt_node *node = file->node;
    DWORD granted;
    if (there->parent == NULL || there->has_stream) {
        return NT_STATUS_INVALID_PARAMETER;
    }
    if (there->parent->volume != node->volume) {
        return NT_STATUS_NOT_SAME_DEVICE;
    }
    if (!nt_is_directory(there->parent)) {
        return NT_STATUS_OBJECT_PATH_NOT_FOUND;
    }
    if (nt_is_directory(node) && is_below(there->parent, node)) {
        return NT_STATUS_INVALID_PARAMETER;
    }
    if (!nt_file_access(&process->token->token, there->parent, NULL,
                        nt_is_directory(node) ? FILE_ADD_SUBDIRECTORY : FILE_ADD_FILE, &granted)) {
        return NT_STATUS_ACCESS_DENIED;
    }
    return 0;
}

/* The descriptor goes with the file as it is: what it inherited where it was made stays on it. */
NTSTATUS nt_file_rename(struct nt_process *process, struct nt_file *file, const struct nt_place *to,
                        bool replaces, bool is_posix)
{
    struct nt_node *node = file->node;
    struct nt_entry *entry = file->entry;
    if (entry == NULL || entry->is_gone) {
        return NT_STATUS_ACCESS_DENIED;
    }
    if (nt_is_directory(node) && node->opens_below > 0) {
        return NT_STATUS_ACCESS_DENIED;
    }
    struct nt_walk there;
    NTSTATUS status = to->volume == NULL ? NT_STATUS_OBJECT_NAME_INVALID
                                         : nt_walk_path(process, to, true, &there);
    if (status == 0) {
        status = check_target(process, file, &there);
    }
    if (status != 0) {
        return status;
    }
    wchar_t leaf[NT_NAME_MAX] = {0};
    const wchar_t *name = there.leaf;
    if (there.node != NULL) {
        /* The spelling of the new name, which may differ from what it finds in case only. */
        const wchar_t *rest = to->rest;
        for (const wchar_t *at = to->rest; *at != 0; at++) {
            rest = *at == '\\' ? at + 1 : rest;
        }
        for (size_t i = 0; rest[i] != 0; i++) {
            leaf[i] = rest[i];
        }
        name = leaf;
        if (there.entry != entry) {
            status = replaces ? check_victim(process, &there, is_posix)
                              : NT_STATUS_OBJECT_NAME_COLLISION;
            if (status != 0) {
                return status;
            }
            nt_changed(there.node, there.entry, USN_REASON_FILE_DELETE | USN_REASON_CLOSE,
                       FILE_ACTION_REMOVED);
            nt_entry_remove(there.entry);
        }
    }
    nt_changed(node, entry, USN_REASON_RENAME_OLD_NAME, FILE_ACTION_RENAMED_OLD_NAME);
    /* The open file itself is below other directories now. */
    for (struct nt_node *above = entry->parent; above != NULL;
         above = above->entry == NULL ? NULL : above->entry->parent) {
        above->opens_below -= entry->opens;
    }
    nt_entry_move(entry, there.parent, name);
    for (struct nt_node *above = entry->parent; above != NULL;
         above = above->entry == NULL ? NULL : above->entry->parent) {
        above->opens_below += entry->opens;
    }
    file->reasons |= USN_REASON_RENAME_NEW_NAME;
    nt_changed(node, entry, USN_REASON_RENAME_NEW_NAME, FILE_ACTION_RENAMED_NEW_NAME);
    return 0;
}

NTSTATUS nt_file_link(struct nt_process *process, struct nt_file *file, const struct nt_place *to)
{
    if (nt_is_directory(file->node)) {
        return NT_STATUS_FILE_IS_A_DIRECTORY;
    }
    struct nt_walk there;
    NTSTATUS status = to->volume == NULL ? NT_STATUS_OBJECT_NAME_INVALID
                                         : nt_walk_path(process, to, true, &there);
    if (status == 0) {
        status = there.node != NULL ? NT_STATUS_OBJECT_NAME_COLLISION
                                    : check_target(process, file, &there);
    }
    if (status != 0) {
        return status;
    }
    /* A sandboxed process must be able to write the file it gives another name (MS15-115). */
    DWORD granted;
    const struct nt_token *token = &process->token->token;
    if ((token->is_appcontainer || token->restricted_count > 0) &&
        !nt_file_access(token, file->node, NULL, FILE_WRITE_ATTRIBUTES, &granted)) {
        return NT_STATUS_ACCESS_DENIED;
    }
    struct nt_entry *entry = nt_entry_add(there.parent, there.leaf, file->node);
    nt_changed(file->node, entry, USN_REASON_HARD_LINK_CHANGE, FILE_ACTION_ADDED);
    return 0;
}

NTSTATUS nt_file_dispose(struct nt_file *file, bool deletes, bool is_posix, bool ignores_read_only)
{
    if (file->entry == NULL) {
        return NT_STATUS_CANNOT_DELETE;
    }
    if (!deletes) {
        file->entry->delete_pending = false;
        return 0;
    }
    if ((file->node->attributes & FILE_ATTRIBUTE_READONLY) != 0 && !ignores_read_only) {
        return NT_STATUS_CANNOT_DELETE;
    }
    if (nt_is_directory(file->node) && file->node->child_count > 0) {
        return NT_STATUS_DIRECTORY_NOT_EMPTY;
    }
    file->entry->delete_pending = true;
    file->deletes_posix = is_posix;
    return 0;
}
