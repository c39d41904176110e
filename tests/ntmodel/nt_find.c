/* FindFirstFileW: a listing by pattern, taken when it begins. */
#include "tests/ntmodel/nt_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/banned.h"

static bool matches(const wchar_t *name, const wchar_t *pattern)
{
    if (*pattern == 0) {
        return *name == 0;
    }
    if (*pattern == '*') {
        for (const wchar_t *rest = name;; rest++) {
            if (matches(rest, pattern + 1)) {
                return true;
            }
            if (*rest == 0) {
                return false;
            }
        }
    }
    if (*name == 0 || (*pattern != '?' && nt_compare_names(name, 1, pattern, 1) != 0)) {
        return false;
    }
    return matches(name + 1, pattern + 1);
}

/* "*.*" is everything, as it always was. */
static bool is_wanted(const wchar_t *name, const wchar_t *alias, const wchar_t *pattern)
{
    return nt_same_name(pattern, L"*.*") || matches(name, pattern) ||
           (alias[0] != 0 && matches(alias, pattern));
}

static void add(struct nt_find *find, const wchar_t *name, const wchar_t *alias,
                const struct nt_node *node)
{
    size_t room = find->count;
    find->rows = nt_grow(find->rows, &room, find->count, sizeof find->rows[0]);
    WIN32_FIND_DATAW *row = &find->rows[find->count++];
    memset(row, 0, sizeof *row);
    row->dwFileAttributes = nt_attributes_of(node);
    row->ftCreationTime = nt_filetime((uint64_t)node->created.QuadPart);
    row->ftLastAccessTime = nt_filetime((uint64_t)node->written.QuadPart);
    row->ftLastWriteTime = nt_filetime((uint64_t)node->written.QuadPart);
    row->nFileSizeLow = (DWORD)node->bytes.size;
    row->dwReserved0 = node->tag;
    size_t len = nt_length(name);
    memcpy(row->cFileName, name, (len < MAX_PATH - 1 ? len : MAX_PATH - 1) * sizeof *name);
    memcpy(row->cAlternateFileName, alias, nt_length(alias) * sizeof *alias);
}

static void fill(struct nt_find *find, const struct nt_node *directory, const wchar_t *pattern)
{
    if (directory->entry != NULL) {
        if (is_wanted(L".", L"", pattern)) {
            add(find, L".", L"", directory);
        }
        if (is_wanted(L"..", L"", pattern)) {
            add(find, L"..", L"", directory->entry->parent);
        }
    }
    for (size_t i = 0; i < directory->child_count; i++) {
        const struct nt_entry *entry = directory->children[i];
        if (is_wanted(entry->name, entry->short_name, pattern)) {
            add(find, entry->name, entry->short_name, entry->node);
        }
    }
}

/* The pattern is the last name; what is before it must be a directory that the caller may list. */
HANDLE WINAPI nt_FindFirstFileW(LPCWSTR path, LPWIN32_FIND_DATAW out)
{
    size_t len = path == NULL ? 0 : nt_length(path);
    size_t cut = len;
    while (cut > 0 && path[cut - 1] != '\\' && path[cut - 1] != '/') {
        cut--;
    }
    if (len == 0 || cut == len || len >= NT_PATH_MAX) {
        SetLastError(len == 0 ? ERROR_PATH_NOT_FOUND : ERROR_FILE_NOT_FOUND);
        return INVALID_HANDLE_VALUE;
    }
    wchar_t head[NT_PATH_MAX] = L".";
    if (cut > 0) {
        memcpy(head, path, cut * sizeof *head);
        head[cut] = 0;
    }
    struct nt_process *process = nt_process_now();
    struct nt_open open = {
        .access = FILE_LIST_DIRECTORY | SYNCHRONIZE,
        .share = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
        .disposition = FILE_OPEN,
        .options = FILE_DIRECTORY_FILE,
    };
    void *file = NULL;
    DWORD granted;
    ULONG information;
    NTSTATUS status = nt_parse_path(process, head, &open.place);
    if (status == 0) {
        status = nt_file_open(process, &open, &file, &granted, &information);
    }
    if (status == NT_STATUS_OBJECT_NAME_NOT_FOUND) {
        status = NT_STATUS_OBJECT_PATH_NOT_FOUND;
    }
    if (status != 0) {
        return nt_fail_file(status);
    }
    struct nt_find *find = nt_object_new(process->object.model, NT_FIND, sizeof *find);
    fill(find, ((struct nt_file *)file)->node, path + cut);
    nt_object_unref(file);
    if (find->count == 0) {
        nt_object_unref(find);
        SetLastError(ERROR_FILE_NOT_FOUND);
        return INVALID_HANDLE_VALUE;
    }
    *out = find->rows[find->at++];
    HANDLE handle = nt_handle_add(process, find, 0, false);
    nt_object_unref(find);
    return handle;
}

BOOL WINAPI nt_FindNextFileW(HANDLE handle, LPWIN32_FIND_DATAW out)
{
    struct nt_find *find = nt_handle_get(handle, NT_FIND, 0);
    if (find == NULL) {
        return FALSE;
    }
    if (find->at == find->count) {
        return nt_fail(ERROR_NO_MORE_FILES);
    }
    *out = find->rows[find->at++];
    return TRUE;
}

BOOL WINAPI nt_FindClose(HANDLE handle)
{
    if (nt_handle_get(handle, NT_FIND, 0) == NULL) {
        return FALSE;
    }
    (void)nt_handle_drop(nt_process_now(), handle);
    return TRUE;
}
