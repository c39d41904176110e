/* Caller and machine on Windows: directories, variables, clocks. Names come from the system, not from
 * the environment, which the caller's caller may have bent. */
#include <windows.h>

#include <sddl.h>
#include <shlobj.h>

#include "common/os.h"
#include "win/acl.h"
#include "win/fault.h"
#include "win/handle.h"
#include "win/system.h"
#include "win/wide.h"

#include "common/base/banned.h"

static struct sbx_path no_path(void)
{
    return (struct sbx_path){"", 0, SBX_PATH_WINDOWS};
}

/* ---- variables ----------------------------------------------------------------------------- */

static const struct sbx_os_whom *caller;

void sbx_os_caller(const struct sbx_os_whom *whom)
{
    caller = whom;
}

/* Names of variables differ by more than their case. */
static const char *variable_of(const struct sbx_os_whom *whom, const char *name)
{
    for (const char *const *pair = whom->env; *pair != NULL; pair++) {
        struct sbx_str key;
        struct sbx_str value;
        if (sbx_str_split(sbx_str(*pair), '=', &key, &value) && sbx_str_is_nocase(key, name)) {
            return value.ptr;
        }
    }
    return NULL;
}

const char *sbx_os_env(struct sbx_arena *arena, const char *name)
{
    if (caller != NULL) {
        return variable_of(caller, name);
    }
    wchar_t *wide_name;
    if (sbx_wide_from(arena, name, &wide_name, NULL) != SBX_OK) {
        return NULL;
    }
    DWORD size = GetEnvironmentVariableW(wide_name, NULL, 0);
    if (size == 0) {
        return NULL;
    }
    wchar_t *value = SBX_NEW_ARRAY(arena, wchar_t, size);
    const char *text = NULL;
    if (value == NULL || GetEnvironmentVariableW(wide_name, value, size) >= size ||
        sbx_wide_to(arena, value, &text, NULL) != SBX_OK) {
        return NULL;
    }
    return text;
}

/* ---- directories --------------------------------------------------------------------------- */

static enum sbx_code known_folder(struct sbx_arena *arena, const KNOWNFOLDERID *folder,
                                  const char *name, struct sbx_path *out, struct sbx_err *err)
{
    PWSTR wide = NULL;
    HRESULT result = SHGetKnownFolderPath(folder, KF_FLAG_DEFAULT, NULL, &wide);
    enum sbx_code code;
    if (FAILED(result)) {
        code = sbx_err_os(err, SBX_E_IO, SBX_OS_HRESULT, result, "SHGetKnownFolderPath",
                          "cannot tell the directory \"%s\"", name);
    } else {
        code = sbx_wide_to_path(arena, wide, out, err);
    }
    CoTaskMemFree(wide);
    return code;
}

static enum sbx_code below(struct sbx_arena *arena, struct sbx_path base, struct sbx_path *out,
                           struct sbx_err *err)
{
    return sbx_path_join(arena, base, sbx_str("sbx"), out) == SBX_PATH_OK ? SBX_OK
                                                                          : sbx_err_nomem(err);
}

static enum sbx_code current_directory(struct sbx_arena *arena, struct sbx_path *out,
                                       struct sbx_err *err)
{
    if (caller != NULL) {
        return sbx_path_make(arena, SBX_PATH_WINDOWS, sbx_str(caller->cwd), out) == SBX_PATH_OK
                   ? SBX_OK
                   : sbx_err_set(err, SBX_E_INVALID, "\"%s\" is no directory", caller->cwd);
    }
    DWORD size = GetCurrentDirectoryW(0, NULL);
    wchar_t *wide = size == 0 ? NULL : SBX_NEW_ARRAY(arena, wchar_t, size);
    if (wide == NULL || GetCurrentDirectoryW(size, wide) == 0) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "GetCurrentDirectoryW", "cannot tell the current directory");
    }
    enum sbx_code code = sbx_wide_to_path(arena, wide, out, err);
    if (code == SBX_E_INVALID) {
        (void)sbx_err_context(err, "the current directory");
        return sbx_err_hint(err, "change to a directory on a drive (a network share can be mapped "
                                 "to one)");
    }
    return code;
}

static enum sbx_code temp_directory(struct sbx_arena *arena, struct sbx_path *out,
                                    struct sbx_err *err)
{
    wchar_t wide[MAX_PATH + 1];
    DWORD len = GetTempPathW(SBX_COUNT(wide), wide);
    if (len == 0 || len > MAX_PATH) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "GetTempPathW", "cannot tell the temporary directory");
    }
    return sbx_wide_to_path(arena, wide, out, err);
}

enum sbx_code sbx_system_directory(struct sbx_arena *arena, struct sbx_path *out,
                                   struct sbx_err *err)
{
    wchar_t wide[MAX_PATH + 1];
    UINT len = sbx_win()->GetSystemWindowsDirectoryW(wide, SBX_COUNT(wide));
    if (len == 0 || len > MAX_PATH) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "GetSystemWindowsDirectoryW",
                             "cannot tell the Windows directory");
    }
    return sbx_wide_to_path(arena, wide, out, err);
}

static enum sbx_node look_up(void *state, struct sbx_path path)
{
    (void)state;
    struct sbx_file_info info;
    sbx_os_file_info(path.text, &info);
    return info.node;
}

/* The account as its SID: the name behind it may be a question to a server. */
static const char *user_name(struct sbx_arena *arena)
{
    PSID user = sbx_acl_user(arena);
    AUTO_LOCAL wchar_t *wide = NULL;
    const char *text = NULL;
    if (user == NULL || !ConvertSidToStringSidW(user, &wide) ||
        sbx_wide_to(arena, wide, &text, NULL) != SBX_OK) {
        return "unknown";
    }
    return text;
}

bool sbx_system_is_elevated(void)
{
    AUTO_HANDLE token = NULL;
    TOKEN_ELEVATION elevation = {0};
    DWORD len;
    return OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token) &&
           GetTokenInformation(token, TokenElevation, &elevation, sizeof elevation, &len) &&
           elevation.TokenIsElevated != 0;
}

enum sbx_code sbx_os_context(struct sbx_arena *arena, struct sbx_context *out, struct sbx_err *err)
{
    struct sbx_context made = {
        .platform = SBX_WINDOWS,
        .is_root = sbx_system_is_elevated(),
        .user_name = user_name(arena),
        .runtime_dir = no_path(),
        .lookup = look_up,
    };
    struct sbx_path local = {0};
    enum sbx_code code = current_directory(arena, &made.cwd, err);
    if (code == SBX_OK) {
        code = temp_directory(arena, &made.tmp, err);
    }
    if (code == SBX_OK) {
        code = sbx_system_directory(arena, &made.system_root, err);
    }
    if (code == SBX_OK) {
        code =
            known_folder(arena, &FOLDERID_ProgramFiles, "ProgramFiles", &made.program_files, err);
    }
    if (code == SBX_OK) {
        code = known_folder(arena, &FOLDERID_LocalAppData, "LocalAppData", &local, err);
    }
    if (code == SBX_OK) {
        code = below(arena, local, &made.state_dir, err);
    }
    if (code != SBX_OK) {
        return code;
    }
    /* A service account may have no profile; it then has no home either. */
    if (known_folder(arena, &FOLDERID_Profile, "Profile", &made.home, NULL) != SBX_OK) {
        made.home = no_path();
    }
    made.config_dir = made.state_dir;
    made.project = made.cwd;
    *out = made;
    return SBX_OK;
}

enum sbx_code sbx_os_policy_dir(struct sbx_arena *arena, struct sbx_path *out, struct sbx_err *err)
{
    struct sbx_path data = {0};
    enum sbx_code code = known_folder(arena, &FOLDERID_ProgramData, "ProgramData", &data, err);
    return code == SBX_OK ? below(arena, data, out, err) : code;
}

enum sbx_code sbx_os_self(struct sbx_arena *arena, struct sbx_path *out, struct sbx_err *err)
{
    for (DWORD size = MAX_PATH;; size *= 2) {
        wchar_t *wide = SBX_NEW_ARRAY(arena, wchar_t, size);
        if (wide == NULL) {
            return sbx_err_nomem(err);
        }
        DWORD len = GetModuleFileNameW(NULL, wide, size);
        if (len == 0) {
            DWORD raw = GetLastError();
            return sbx_err_win32(err, raw, "GetModuleFileNameW",
                                 "cannot tell the path of the running sbx");
        }
        if (len < size) {
            return sbx_wide_to_path(arena, wide, out, err);
        }
    }
}

/* ---- clocks -------------------------------------------------------------------------------- */

uint64_t sbx_os_monotonic_ns(void)
{
    LARGE_INTEGER now;
    LARGE_INTEGER per_second;
    (void)QueryPerformanceFrequency(&per_second);
    (void)QueryPerformanceCounter(&now);
    uint64_t frequency = (uint64_t)per_second.QuadPart;
    uint64_t ticks = (uint64_t)now.QuadPart;
    return ticks / frequency * UINT64_C(1000000000) +
           ticks % frequency * UINT64_C(1000000000) / frequency;
}

int64_t sbx_os_unix_seconds(void)
{
    FILETIME now;
    GetSystemTimeAsFileTime(&now);
    ULARGE_INTEGER ticks = {.LowPart = now.dwLowDateTime, .HighPart = now.dwHighDateTime};
    /* 100 ns since 1601 */
    return (int64_t)(ticks.QuadPart / 10000000) - INT64_C(11644473600);
}
