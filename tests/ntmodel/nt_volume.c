/* Volumes, drive letters, and the names that the system gives a file. */
#include "tests/ntmodel/nt_internal.h"

#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "common/base/banned.h"

#define NTFS_FLAGS                                                                                 \
    (FILE_CASE_PRESERVED_NAMES | FILE_CASE_SENSITIVE_SEARCH | FILE_UNICODE_ON_DISK |               \
     FILE_PERSISTENT_ACLS | FILE_FILE_COMPRESSION | FILE_VOLUME_QUOTAS |                           \
     FILE_SUPPORTS_SPARSE_FILES | FILE_SUPPORTS_REPARSE_POINTS | FILE_SUPPORTS_OBJECT_IDS |        \
     FILE_SUPPORTS_ENCRYPTION | FILE_NAMED_STREAMS | FILE_SUPPORTS_HARD_LINKS |                    \
     FILE_SUPPORTS_OPEN_BY_FILE_ID | FILE_SUPPORTS_USN_JOURNAL)
#define FAT_FLAGS (FILE_CASE_PRESERVED_NAMES | FILE_UNICODE_ON_DISK)

static const struct {
    wchar_t letter;
    const wchar_t *share;
    const wchar_t *label;
    const wchar_t *system;
    const wchar_t *guid;
    const wchar_t *device;
    DWORD serial;
    UINT type;
    bool has_acls;
    bool has_ids;
} kinds[] = {
    {'C', NULL, L"Windows", L"NTFS", L"Volume{11111111-0000-0000-0000-100000000000}",
     L"\\Device\\HarddiskVolume3", 0xC0DE0001, DRIVE_FIXED, true, true},
    {'D', NULL, L"STICK", L"FAT32", L"Volume{22222222-0000-0000-0000-100000000000}",
     L"\\Device\\HarddiskVolume7", 0x0000FA7F, DRIVE_REMOVABLE, false, false},
    {'N', L"server\\share", L"Share", L"NTFS", NULL, L"\\Device\\Mup\\server\\share", 0x5A5A0002,
     DRIVE_REMOTE, true, true},
};

void nt_volumes_new(struct nt_model *model)
{
    for (size_t i = 0; i < SBX_COUNT(kinds); i++) {
        struct nt_volume *volume = nt_alloc(sizeof *volume);
        volume->model = model;
        volume->letter = kinds[i].letter;
        volume->share = kinds[i].share;
        volume->label = kinds[i].label;
        volume->system = kinds[i].system;
        volume->guid = kinds[i].guid;
        volume->device = kinds[i].device;
        volume->serial = kinds[i].serial;
        volume->drive_type = kinds[i].type;
        volume->has_acls = kinds[i].has_acls;
        volume->has_ids = kinds[i].has_ids;
        volume->root = nt_node_new(volume, FILE_ATTRIBUTE_DIRECTORY);
        model->volumes[i] = volume;
        model->drives[volume->letter - 'A'].volume = volume;
    }
    struct nt_drive *substituted = &model->drives['S' - 'A'];
    substituted->volume = model->volumes[0];
    memcpy(substituted->target, L"Users\\user\\project", sizeof L"Users\\user\\project");
}

void nt_volumes_free(struct nt_model *model)
{
    for (size_t i = 0; i < SBX_COUNT(model->volumes); i++) {
        if (model->volumes[i] != NULL) {
            nt_node_unref(model->volumes[i]->root);
            free(model->volumes[i]->changes);
            free(model->volumes[i]);
        }
    }
}

static void lose(void *state, struct nt_node *node, struct nt_entry *entry)
{
    (void)state;
    (void)entry;
    if (node->is_dirty) {
        node->bytes.size = 0;
        nt_bytes_put(&node->bytes, 0, node->safe.data, node->safe.size);
        node->is_dirty = false;
    }
}

/* The file system's own records survive: the file is there, with what was flushed of it. */
void nt_volumes_lose_power(struct nt_model *model)
{
    nt_each_node(model, lose, NULL);
}

/* ---- the calls ---------------------------------------------------------------------------------------- */

DWORD WINAPI nt_GetFinalPathNameByHandleW(HANDLE handle, LPWSTR out, DWORD size, DWORD flags)
{
    const struct nt_file *file = nt_handle_get(handle, NT_FILE, 0);
    if (file == NULL) {
        return 0;
    }
    const struct nt_volume *volume = file->node->volume;
    wchar_t path[NT_PATH_MAX];
    wchar_t full[NT_PATH_MAX + 64];
    (void)nt_node_path(file->node, file->entry, path);
    if (file->entry != NULL && file->entry->is_gone) {
        SetLastError(ERROR_ACCESS_DENIED);
        return 0;
    }
    switch (flags & 7) {
    case VOLUME_NAME_DOS:
        if (volume->share != NULL) {
            (void)swprintf(full, SBX_COUNT(full), L"\\\\?\\UNC\\%ls%ls", volume->share, path);
        } else {
            const wchar_t drive[] = {volume->letter, L':', L'\0'};
            (void)swprintf(full, SBX_COUNT(full), L"\\\\?\\%ls%ls", drive, path);
        }
        break;
    case VOLUME_NAME_GUID:
        if (volume->guid == NULL) {
            SetLastError(ERROR_PATH_NOT_FOUND);
            return 0;
        }
        (void)swprintf(full, SBX_COUNT(full), L"\\\\?\\%ls%ls", volume->guid, path);
        break;
    case VOLUME_NAME_NT:
        (void)swprintf(full, SBX_COUNT(full), L"%ls%ls", volume->device, path);
        break;
    default:
        (void)swprintf(full, SBX_COUNT(full), L"%ls", path);
        break;
    }
    size_t len = nt_length(full);
    if (len >= size) {
        SetLastError(ERROR_NOT_ENOUGH_MEMORY);
        return (DWORD)len + 1;
    }
    memcpy(out, full, (len + 1) * sizeof *full);
    return (DWORD)len;
}

static bool tell_text(LPWSTR out, DWORD size, const wchar_t *text)
{
    size_t len = nt_length(text);
    if (out == NULL) {
        return true;
    }
    if (len >= size) {
        return false;
    }
    memcpy(out, text, (len + 1) * sizeof *text);
    return true;
}

BOOL WINAPI nt_GetVolumeInformationByHandleW(HANDLE handle, LPWSTR name, DWORD name_size,
                                             LPDWORD serial, LPDWORD component, LPDWORD flags,
                                             LPWSTR system, DWORD system_size)
{
    const struct nt_file *file = nt_handle_get(handle, NT_FILE, 0);
    if (file == NULL) {
        return FALSE;
    }
    const struct nt_volume *volume = file->node->volume;
    if (!tell_text(name, name_size, volume->label) ||
        !tell_text(system, system_size, volume->system)) {
        return nt_fail(ERROR_BAD_LENGTH);
    }
    if (serial != NULL) {
        *serial = volume->serial;
    }
    if (component != NULL) {
        *component = 255;
    }
    if (flags != NULL) {
        *flags = volume->has_acls ? NTFS_FLAGS : FAT_FLAGS;
    }
    return TRUE;
}

UINT WINAPI nt_GetDriveTypeW(LPCWSTR root)
{
    struct nt_process *process = nt_process_now();
    struct nt_place place;
    wchar_t current[4] = L"C:\\";
    if (root == NULL) {
        root = current;
    }
    /* "C:" means the root of the drive here. */
    wchar_t letter[4] = {root[0], ':', '\\', 0};
    if (root[0] != 0 && root[1] == ':' && root[2] == 0) {
        root = letter;
    }
    size_t len = nt_length(root);
    if (len == 0 || root[len - 1] != '\\' || nt_parse_path(process, root, &place) != 0 ||
        place.volume == NULL) {
        return DRIVE_NO_ROOT_DIR;
    }
    const struct nt_drive *drive =
        root[1] == ':' ? &process->object.model->drives[(root[0] | 0x20) - 'a'] : NULL;
    const wchar_t *at_root = drive == NULL ? L"" : drive->target;
    return nt_same_name(place.rest, at_root) ? place.volume->drive_type : DRIVE_NO_ROOT_DIR;
}

UINT WINAPI nt_GetSystemWindowsDirectoryW(LPWSTR out, UINT size)
{
    static const wchar_t windows[] = L"C:\\Windows";
    if (size < SBX_COUNT(windows)) {
        return SBX_COUNT(windows);
    }
    memcpy(out, windows, sizeof windows);
    return SBX_COUNT(windows) - 1;
}

NTSTATUS WINAPI nt_RtlGetVersion(PRTL_OSVERSIONINFOW out)
{
    out->dwMajorVersion = 10;
    out->dwMinorVersion = 0;
    out->dwBuildNumber = nt_model_of_call()->world.build;
    out->dwPlatformId = VER_PLATFORM_WIN32_NT;
    out->szCSDVersion[0] = 0;
    return 0;
}
