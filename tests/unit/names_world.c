/* A few files behind the table of calls. */
#include "tests/unit/names_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "common/base/banned.h"

enum { HANDLE_BASE = 0x100000, HANDLES = 64, IGNORE_CASE = 23 };

static struct {
    struct world_file *files;
    size_t count;
    UINT drive;
    unsigned calls;
    unsigned fail_at;
    DWORD fail_error;
    const char *failed;
    unsigned opens;
    unsigned swap_at;
    void (*swap)(void);
    struct world_file *open[HANDLES]; /* as they were when opened */
    struct world_file copy[HANDLES];
    DWORD access;
    DWORD share;
} world;

void world_set(struct world_file *files, size_t count)
{
    memset(&world, 0, sizeof world);
    world.files = files;
    world.count = count;
    world.drive = DRIVE_FIXED;
}

void world_drive(UINT type)
{
    world.drive = type;
}

void world_before_open(unsigned n, void (*swap)(void))
{
    world.swap_at = n;
    world.swap = swap;
}

void world_fail(unsigned n, DWORD error)
{
    world.fail_at = n;
    world.fail_error = error;
}

unsigned world_calls(void)
{
    return world.calls;
}

const char *world_failed(void)
{
    return world.failed;
}

unsigned world_handles(void)
{
    unsigned count = 0;
    for (size_t i = 0; i < HANDLES; i++) {
        count += world.open[i] != NULL;
    }
    return count;
}

DWORD world_last_access(void)
{
    return world.access;
}

DWORD world_last_share(void)
{
    return world.share;
}

/* ---- calls --------------------------------------------------------------------------------- */

static bool fails(const char *call)
{
    if (++world.calls != world.fail_at) {
        return false;
    }
    world.failed = call;
    SetLastError(world.fail_error);
    return true;
}

static struct world_file *find(const wchar_t *name)
{
    for (size_t i = 0; i < world.count; i++) {
        if (_wcsicmp(world.files[i].name, name) == 0) {
            return &world.files[i];
        }
    }
    return NULL;
}

static HANDLE give(struct world_file *file)
{
    for (size_t i = 0; i < HANDLES; i++) {
        if (world.open[i] == NULL) {
            world.copy[i] = *file;
            world.open[i] = &world.copy[i];
            return (HANDLE)(uintptr_t)(HANDLE_BASE + i * 4);
        }
    }
    abort();
}

static struct world_file *of(HANDLE handle)
{
    uintptr_t index = ((uintptr_t)handle - HANDLE_BASE) / 4;
    if (index >= HANDLES || world.open[index] == NULL) {
        printf("# a call on a handle that is not open\n");
        abort();
    }
    return world.open[index];
}

static HANDLE WINAPI create_file(LPCWSTR path, DWORD access, DWORD share,
                                 LPSECURITY_ATTRIBUTES security, DWORD disposition, DWORD flags,
                                 HANDLE like)
{
    (void)security;
    (void)like;
    world.access = access;
    world.share = share;
    if (++world.opens == world.swap_at) {
        world.swap();
    }
    if (fails("CreateFileW")) {
        return INVALID_HANDLE_VALUE;
    }
    if (wcsncmp(path, L"\\\\?\\", 4) != 0 || disposition != OPEN_EXISTING) {
        abort(); /* every name of the pipeline has the prefix, and nothing is made */
    }
    struct world_file *file = find(path + 4);
    bool follows = (flags & FILE_FLAG_OPEN_REPARSE_POINT) == 0;
    if (file != NULL && file->tag != 0 && follows) {
        file = file->target == NULL ? NULL : find(file->target);
        if (file == NULL) {
            SetLastError(ERROR_CANT_ACCESS_FILE);
            return INVALID_HANDLE_VALUE;
        }
    }
    if (file == NULL || file->open_error != 0) {
        SetLastError(file == NULL ? ERROR_FILE_NOT_FOUND : file->open_error);
        return INVALID_HANDLE_VALUE;
    }
    return give(file);
}

static BOOL WINAPI close_handle(HANDLE handle)
{
    (void)of(handle);
    world.open[((uintptr_t)handle - HANDLE_BASE) / 4] = NULL;
    return TRUE;
}

static BOOL WINAPI information(HANDLE handle, LPBY_HANDLE_FILE_INFORMATION out)
{
    const struct world_file *file = of(handle);
    if (fails("GetFileInformationByHandle")) {
        return FALSE;
    }
    *out = (BY_HANDLE_FILE_INFORMATION){
        .dwFileAttributes = (file->is_directory ? FILE_ATTRIBUTE_DIRECTORY : 0U) |
                            (file->tag != 0 ? FILE_ATTRIBUTE_REPARSE_POINT : 0U),
        .nNumberOfLinks = file->links != 0 ? file->links : 1,
        .dwVolumeSerialNumber = 0xabcd,
        .nFileIndexLow = 0x01020304,
        .nFileIndexHigh = 0x05060708,
    };
    return TRUE;
}

static BOOL WINAPI information_ex(HANDLE handle, FILE_INFO_BY_HANDLE_CLASS which, LPVOID out,
                                  DWORD size)
{
    const struct world_file *file = of(handle);
    if (fails("GetFileInformationByHandleEx")) {
        return FALSE;
    }
    FILE_ATTRIBUTE_TAG_INFO tag = {.ReparseTag = file->tag};
    FILE_ID_INFO id = {.VolumeSerialNumber = 0x1122334455667788, .FileId = {{9}}};
    ULONG flags = file->is_case_sensitive ? 1 : 0;
    const void *answer = NULL;
    size_t len = 0;
    if (which == FileAttributeTagInfo) {
        answer = &tag;
        len = sizeof tag;
    } else if (which == FileIdInfo && !file->has_no_id) {
        answer = &id;
        len = sizeof id;
    } else if ((int)which == IGNORE_CASE && file->is_directory) {
        answer = &flags;
        len = sizeof flags;
    }
    if (answer == NULL || size < len) {
        SetLastError(ERROR_INVALID_PARAMETER);
        return FALSE;
    }
    memcpy(out, answer, len);
    return TRUE;
}

static DWORD WINAPI final_name(HANDLE handle, LPWSTR out, DWORD size, DWORD flags)
{
    const struct world_file *file = of(handle);
    static wchar_t name[40000];
    if (fails("GetFinalPathNameByHandleW")) {
        return 0;
    }
    if (flags != (FILE_NAME_NORMALIZED | VOLUME_NAME_DOS)) {
        abort();
    }
    const wchar_t *real = file->final != NULL ? file->final : file->name;
    (void)swprintf(name, sizeof name / sizeof name[0], L"\\\\?\\%ls", real);
    DWORD len = (DWORD)wcslen(name);
    if (len >= size) {
        return len + 1;
    }
    wmemcpy(out, name, len + 1);
    return len;
}

static BOOL WINAPI volume(HANDLE handle, LPWSTR name, DWORD name_size, LPDWORD serial,
                          LPDWORD component, LPDWORD flags, LPWSTR system, DWORD system_size)
{
    (void)name;
    (void)name_size;
    (void)serial;
    (void)component;
    (void)system;
    (void)system_size;
    const struct world_file *file = of(handle);
    if (fails("GetVolumeInformationByHandleW")) {
        return FALSE;
    }
    *flags = FILE_CASE_PRESERVED_NAMES | (file->has_no_lists ? 0U : FILE_PERSISTENT_ACLS);
    return TRUE;
}

static UINT WINAPI drive_type(LPCWSTR root)
{
    (void)root;
    return world.drive;
}

static BOOL WINAPI read_file(HANDLE handle, LPVOID out, DWORD size, LPDWORD read,
                             LPOVERLAPPED overlapped)
{
    const struct world_file *file = of(handle);
    if (fails("ReadFile")) {
        return FALSE;
    }
    size_t at = overlapped->Offset;
    size_t left = overlapped->OffsetHigh != 0 || at > file->size ? 0 : file->size - at;
    size_t part = left < size ? left : size;
    if (part == 0) {
        SetLastError(ERROR_HANDLE_EOF);
        return FALSE;
    }
    memcpy(out, (const char *)file->bytes + at, part);
    *read = (DWORD)part;
    return TRUE;
}

static UINT WINAPI windows_directory(LPWSTR out, UINT size)
{
    static const wchar_t name[] = L"C:\\Windows";
    UINT len = (UINT)wcslen(name);
    if (fails("GetSystemWindowsDirectoryW")) {
        return 0;
    }
    if (size > len) {
        wmemcpy(out, name, len + 1);
    }
    return len;
}

const struct sbx_winapi *sbx_win(void)
{
    static struct sbx_winapi table;
    if (table.CloseHandle == NULL) {
        sbx_winapi_load(&table);
        table.CreateFileW = create_file;
        table.CloseHandle = close_handle;
        table.GetFileInformationByHandle = information;
        table.GetFileInformationByHandleEx = information_ex;
        table.GetFinalPathNameByHandleW = final_name;
        table.GetVolumeInformationByHandleW = volume;
        table.GetDriveTypeW = drive_type;
        table.ReadFile = read_file;
        table.GetSystemWindowsDirectoryW = windows_directory;
    }
    return &table;
}
