/* Writing files on Windows so that a crash leaves the old or the new content, whole. */
#include <windows.h>

#include <inttypes.h>
#include <ntsecapi.h>
#include <string.h>
#include <wchar.h>

#include "common/os.h"
#include "win/acl.h"
#include "win/fault.h"
#include "win/handle.h"
#include "win/wide.h"

#include "common/base/banned.h"

#define TEMP_PREFIX L".sbx-tmp-"

enum {
    PATH_ARENA = 512 * 1024,
    TEMP_NAME_MAX = 64,
    TRIES = 16,
    LOCK_WAIT_MS = 30000,
    REPLACE_WAIT_MS = 2000,
};

static bool write_all(HANDLE file, struct sbx_str content)
{
    while (content.len > 0) {
        DWORD part = content.len > 1 << 20 ? 1 << 20 : (DWORD)content.len;
        DWORD put;
        if (!WriteFile(file, content.ptr, part, &put, NULL)) {
            return false;
        }
        content.ptr += put;
        content.len -= put;
    }
    return FlushFileBuffers(file);
}

/* ---- new files ----------------------------------------------------------------------------- */

enum sbx_code sbx_os_write_new(const char *path, struct sbx_str content, struct sbx_err *err)
{
    AUTO_ARENA scratch;
    sbx_arena_init(&scratch, PATH_ARENA);
    wchar_t *wide;
    enum sbx_code code = sbx_wide_path(&scratch, path, &wide, err);
    if (code != SBX_OK) {
        return code;
    }
    AUTO_HANDLE file = CreateFileW(wide, GENERIC_WRITE | DELETE, FILE_SHARE_READ, NULL, CREATE_NEW,
                                   FILE_ATTRIBUTE_NORMAL, NULL);
    if (!sbx_handle_is_open(file)) {
        DWORD raw = GetLastError();
        if (raw == ERROR_FILE_EXISTS || raw == ERROR_ALREADY_EXISTS) {
            return sbx_err_os(err, SBX_E_INVALID, SBX_OS_WIN32, raw, "CreateFileW",
                              "\"%s\" already exists", path);
        }
        return sbx_err_win32(err, raw, "CreateFileW", "cannot create \"%s\"", path);
    }
    if (!write_all(file, content)) {
        DWORD raw = GetLastError();
        FILE_DISPOSITION_INFO gone = {.DeleteFile = TRUE};
        (void)SetFileInformationByHandle(file, FileDispositionInfo, &gone, sizeof gone);
        return sbx_err_win32(err, raw, "WriteFile", "cannot write \"%s\"", path);
    }
    return SBX_OK;
}

/* ---- the directory of a file --------------------------------------------------------------- */

/* `path` as from sbx_wide_path; its last name is cut off while it works. */
static bool make_directories(wchar_t *path, SECURITY_ATTRIBUTES *attributes)
{
    wchar_t *last = wcsrchr(path, L'\\');
    for (wchar_t *at = path + wcslen(L"\\\\?\\C:\\"); at <= last; at++) {
        if (*at == L'\\') {
            *at = L'\0';
            BOOL made = CreateDirectoryW(path, attributes);
            DWORD raw = GetLastError();
            *at = L'\\';
            if (!made && raw != ERROR_ALREADY_EXISTS) {
                SetLastError(raw);
                return false;
            }
        }
    }
    return true;
}

/* ---- temporary files ----------------------------------------------------------------------- */

/* The process in ".sbx-tmp-<pid>-<random>"; 0 for any other name. */
static DWORD writer_of(const wchar_t *name)
{
    size_t prefix = wcslen(TEMP_PREFIX);
    if (wcsncmp(name, TEMP_PREFIX, prefix) != 0) {
        return 0;
    }
    uint64_t pid = 0;
    const wchar_t *at = name + prefix;
    for (; *at >= L'0' && *at <= L'9' && pid < UINT32_MAX / 10; at++) {
        pid = pid * 10 + (uint64_t)(*at - L'0');
    }
    return *at == L'-' ? (DWORD)pid : 0;
}

static bool is_alive(DWORD pid)
{
    AUTO_HANDLE process = OpenProcess(SYNCHRONIZE, FALSE, pid);
    if (!sbx_handle_is_open(process)) {
        return GetLastError() != ERROR_INVALID_PARAMETER; /* which means: there is none */
    }
    return WaitForSingleObject(process, 0) == WAIT_TIMEOUT;
}

/* What sbx that were killed while writing left in the directory of `path`. */
static void remove_leftovers(struct sbx_arena *arena, const wchar_t *path)
{
    size_t dir_len = (size_t)(wcsrchr(path, L'\\') - path) + 1;
    wchar_t *name = SBX_NEW_ARRAY(arena, wchar_t, dir_len + MAX_PATH);
    if (name == NULL) {
        return;
    }
    wmemcpy(name, path, dir_len);
    wmemcpy(name + dir_len, TEMP_PREFIX L"*", wcslen(TEMP_PREFIX L"*") + 1);
    WIN32_FIND_DATAW entry;
    HANDLE search = FindFirstFileW(name, &entry);
    if (search == INVALID_HANDLE_VALUE) {
        return;
    }
    do {
        DWORD writer = writer_of(entry.cFileName);
        size_t len = wcslen(entry.cFileName);
        if (writer != 0 && len < MAX_PATH && !is_alive(writer)) {
            wmemcpy(name + dir_len, entry.cFileName, len + 1);
            (void)DeleteFileW(name);
        }
    } while (FindNextFileW(search, &entry));
    (void)FindClose(search);
}

/* ".sbx-tmp-<pid>-<random>" in the directory of `path`; the name stays in *out. */
static HANDLE create_temp(struct sbx_arena *arena, const wchar_t *path,
                          SECURITY_ATTRIBUTES *attributes, wchar_t **out)
{
    size_t dir_len = (size_t)(wcsrchr(path, L'\\') - path) + 1;
    wchar_t *name = SBX_NEW_ARRAY(arena, wchar_t, dir_len + TEMP_NAME_MAX);
    if (name == NULL) {
        SetLastError(ERROR_NOT_ENOUGH_MEMORY);
        return INVALID_HANDLE_VALUE;
    }
    wmemcpy(name, path, dir_len);
    *out = name;
    HANDLE file = INVALID_HANDLE_VALUE;
    for (int i = 0; i < TRIES; i++) {
        uint64_t salt = 0;
        if (!RtlGenRandom(&salt, sizeof salt)) {
            salt = sbx_os_monotonic_ns(); /* CREATE_NEW keeps it safe; it only has to be unusual */
        }
        (void)swprintf(name + dir_len, TEMP_NAME_MAX, TEMP_PREFIX L"%lu-%016llx",
                       (unsigned long)GetCurrentProcessId(), (unsigned long long)salt);
        file = CreateFileW(name, GENERIC_WRITE, 0, attributes, CREATE_NEW, FILE_ATTRIBUTE_NORMAL,
                           NULL);
        if (sbx_handle_is_open(file) || GetLastError() != ERROR_FILE_EXISTS) {
            break;
        }
    }
    return file;
}

/* A virus scanner or an indexer may hold the old file open for a moment. */
static bool move_over(const wchar_t *from, const wchar_t *to)
{
    ULONGLONG begin = GetTickCount64();
    while (!MoveFileExW(from, to, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH)) {
        DWORD raw = GetLastError();
        DWORD target = GetFileAttributesW(to);
        bool is_directory =
            target != INVALID_FILE_ATTRIBUTES && (target & FILE_ATTRIBUTE_DIRECTORY) != 0;
        bool may_pass = raw == ERROR_ACCESS_DENIED || raw == ERROR_SHARING_VIOLATION;
        if (!may_pass || is_directory || GetTickCount64() - begin > REPLACE_WAIT_MS) {
            SetLastError(raw);
            return false;
        }
        Sleep(5);
    }
    return true;
}

/* Returns the call that failed, with the last error; NULL on success. The temporary file is gone
 * either way. */
static const char *replace(struct sbx_arena *arena, const wchar_t *path,
                           SECURITY_ATTRIBUTES *attributes, struct sbx_str content)
{
    wchar_t *temp;
    HANDLE file = create_temp(arena, path, attributes, &temp);
    if (!sbx_handle_is_open(file)) {
        return "CreateFileW";
    }
    const char *failed = write_all(file, content) ? NULL : "WriteFile";
    sbx_handle_close(&file);
    if (failed == NULL && !move_over(temp, path)) {
        failed = "MoveFileExW";
    }
    if (failed != NULL) {
        DWORD saved = GetLastError();
        (void)DeleteFileW(temp);
        SetLastError(saved);
    }
    return failed;
}

enum sbx_code sbx_os_write_atomic(const char *path, struct sbx_str content, struct sbx_err *err)
{
    AUTO_ARENA scratch;
    sbx_arena_init(&scratch, (size_t)2 * PATH_ARENA);
    wchar_t *wide;
    enum sbx_code code = sbx_wide_path(&scratch, path, &wide, err);
    if (code != SBX_OK) {
        return code;
    }
    AUTO_LOCAL PSECURITY_DESCRIPTOR descriptor = sbx_acl_private(&scratch);
    if (descriptor == NULL) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "ConvertStringSecurityDescriptorToSecurityDescriptorW",
                             "cannot make a private file \"%s\"", path);
    }
    SECURITY_ATTRIBUTES attributes = {.nLength = sizeof attributes,
                                      .lpSecurityDescriptor = descriptor};
    remove_leftovers(&scratch, wide);
    const char *failed = replace(&scratch, wide, &attributes, content);
    DWORD raw = GetLastError();
    if (failed != NULL && raw == ERROR_PATH_NOT_FOUND && make_directories(wide, &attributes)) {
        failed = replace(&scratch, wide, &attributes, content);
        raw = GetLastError();
    }
    return failed == NULL ? SBX_OK : sbx_err_win32(err, raw, failed, "cannot write \"%s\"", path);
}

/* ---- change under a lock ------------------------------------------------------------------- */

/* Waits in small steps, so that an owner that never lets go becomes an error. */
static enum sbx_code lock(const char *path, HANDLE file, struct sbx_err *err)
{
    ULONGLONG begin = GetTickCount64();
    DWORD step_ms = 1;
    OVERLAPPED first_byte = {0};
    while (!LockFileEx(file, LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0,
                       &first_byte)) {
        DWORD raw = GetLastError();
        if (raw != ERROR_LOCK_VIOLATION && raw != ERROR_IO_PENDING) {
            return sbx_err_win32(err, raw, "LockFileEx", "cannot lock \"%s.lock\"", path);
        }
        if (GetTickCount64() - begin > LOCK_WAIT_MS) {
            (void)sbx_err_os(err, SBX_E_UNAVAILABLE, SBX_OS_WIN32, raw, "LockFileEx",
                             "another sbx has held the lock \"%s.lock\" for 30 seconds", path);
            return sbx_err_hint(err, "look for a hanging sbx and end it");
        }
        Sleep(step_ms);
        step_ms = step_ms < 8 ? step_ms * 2 : step_ms;
    }
    return SBX_OK;
}

static enum sbx_code open_lock(const char *path, HANDLE *out, struct sbx_err *err)
{
    AUTO_ARENA scratch;
    sbx_arena_init(&scratch, (size_t)2 * PATH_ARENA);
    wchar_t *wide;
    const char *name = sbx_arena_printf(&scratch, "%s.lock", path);
    if (name == NULL) {
        return sbx_err_nomem(err);
    }
    enum sbx_code code = sbx_wide_path(&scratch, name, &wide, err);
    if (code != SBX_OK) {
        return code;
    }
    AUTO_LOCAL PSECURITY_DESCRIPTOR descriptor = sbx_acl_private(&scratch);
    SECURITY_ATTRIBUTES attributes = {.nLength = sizeof attributes,
                                      .lpSecurityDescriptor = descriptor};
    HANDLE file = NULL;
    for (int round = 0; round < 2; round++) {
        file = CreateFileW(wide, GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE,
                           &attributes, OPEN_ALWAYS, FILE_ATTRIBUTE_NORMAL, NULL);
        if (sbx_handle_is_open(file) || GetLastError() != ERROR_PATH_NOT_FOUND ||
            !make_directories(wide, &attributes)) {
            break;
        }
    }
    if (!sbx_handle_is_open(file)) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "CreateFileW", "cannot open the lock \"%s\"", name);
    }
    code = lock(path, file, err);
    if (code != SBX_OK) {
        sbx_handle_close(&file);
        return code;
    }
    *out = file;
    return SBX_OK;
}

enum sbx_code sbx_os_update_file(struct sbx_arena *arena, const char *path, size_t max_bytes,
                                 sbx_os_change *change, void *state, struct sbx_err *err)
{
    AUTO_HANDLE held = NULL;
    enum sbx_code code = open_lock(path, &held, err);
    if (code != SBX_OK) {
        return code;
    }
    struct sbx_str old = {"", 0};
    struct sbx_err missing; /* an absent file is no error, and leaves no trace of one */
    code = sbx_os_read_file(arena, path, max_bytes, &old, NULL, &missing);
    if (code != SBX_OK && code != SBX_E_NOT_FOUND) {
        if (err != NULL) {
            *err = missing;
        }
        return code;
    }
    struct sbx_str content = {"", 0};
    code = change(state, arena, old, &content, err);
    return code == SBX_OK ? sbx_os_write_atomic(path, content, err) : code;
}
