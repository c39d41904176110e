/* Directories of sbx's own below its state directory: made private, checked, locked. */
#include "win/state.h"

#include <string.h>
#include <wchar.h>

#include "win/acl.h"
#include "win/fault.h"
#include "win/handle.h"
#include "win/token.h"
#include "win/wide.h"

#include "common/base/banned.h"

enum { SCRATCH = 512 * 1024, POLL_MS = 10 };

/* ---- making -------------------------------------------------------------------------------- */

/* Every directory on the way, `path` itself included. */
static bool make_all(wchar_t *path, SECURITY_ATTRIBUTES *attributes)
{
    wchar_t *end = path + wcslen(path);
    for (wchar_t *at = path + wcslen(L"\\\\?\\C:\\"); at <= end; at++) {
        if (*at != L'\\' && *at != L'\0') {
            continue;
        }
        wchar_t saved = *at;
        *at = L'\0';
        BOOL made = sbx_win()->CreateDirectoryW(path, attributes);
        DWORD raw = GetLastError();
        *at = saved;
        /* A directory above that we may not even look into can be there all the same. */
        if (!made && raw != ERROR_ALREADY_EXISTS && (at == end || raw != ERROR_ACCESS_DENIED)) {
            SetLastError(raw);
            return false;
        }
    }
    return true;
}

static enum sbx_code make(wchar_t *path, const char *shown, struct sbx_err *err)
{
    AUTO_ARENA scratch;
    sbx_arena_init(&scratch, SCRATCH);
    AUTO_LOCAL PSECURITY_DESCRIPTOR descriptor = sbx_acl_private(&scratch);
    if (descriptor == NULL) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "ConvertStringSecurityDescriptorToSecurityDescriptorW",
                             "cannot make the private directory \"%s\"", shown);
    }
    SECURITY_ATTRIBUTES attributes = {.nLength = sizeof attributes,
                                      .lpSecurityDescriptor = descriptor};
    if (!make_all(path, &attributes)) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "CreateDirectoryW", "cannot make the directory \"%s\"",
                             shown);
    }
    return SBX_OK;
}

/* ---- checking ------------------------------------------------------------------------------ */

static enum sbx_code untrusted(struct sbx_err *err, const char *shown, const char *why)
{
    (void)sbx_err_set(err, SBX_E_UNTRUSTED, "\"%s\" %s", shown, why);
    return sbx_err_hint(err, "sbx notes there what it must undo: remove it, or name another one");
}

static enum sbx_code check_owner(HANDLE directory, const char *shown, struct sbx_err *err)
{
    _Alignas(8) BYTE descriptor[8192];
    DWORD needed;
    PSID owner = NULL;
    PACL list = NULL;
    BOOL is_default;
    BOOL is_present = FALSE;
    AUTO_ARENA scratch;
    sbx_arena_init(&scratch, 4096);
    PSID user = NULL;
    enum sbx_code code = sbx_token_user(&scratch, &user, err);
    if (code != SBX_OK) {
        return code;
    }
    if (!sbx_win()->GetKernelObjectSecurity(directory,
                                            OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION,
                                            descriptor, sizeof descriptor, &needed)) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "GetKernelObjectSecurity", "cannot check \"%s\"", shown);
    }
    if (!GetSecurityDescriptorOwner(descriptor, &owner, &is_default) || owner == NULL ||
        !GetSecurityDescriptorDacl(descriptor, &is_present, &list, &is_default)) {
        return untrusted(err, shown, "does not tell its owner");
    }
    if (!EqualSid(owner, user) && !sbx_acl_is_admin(owner)) {
        return untrusted(err, shown, "belongs to another user");
    }
    if (!is_present || sbx_acl_others_may_write(list, user)) {
        return untrusted(err, shown, "can be written by others");
    }
    return SBX_OK;
}

/* Held without sharing deletion. */
static enum sbx_code open_checked(const wchar_t *path, const char *shown, HANDLE *out,
                                  struct sbx_err *err)
{
    BY_HANDLE_FILE_INFORMATION info;
    AUTO_HANDLE directory = sbx_win()->CreateFileW(
        path, FILE_LIST_DIRECTORY | FILE_READ_ATTRIBUTES | READ_CONTROL | SYNCHRONIZE,
        FILE_SHARE_READ | FILE_SHARE_WRITE, NULL, OPEN_EXISTING,
        FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT, NULL);
    if (!sbx_handle_is_open(directory)) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "CreateFileW", "cannot open \"%s\"", shown);
    }
    if (!sbx_win()->GetFileInformationByHandle(directory, &info)) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "GetFileInformationByHandle", "cannot check \"%s\"", shown);
    }
    if ((info.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0) {
        return untrusted(err, shown, "is a link");
    }
    if ((info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) == 0) {
        return untrusted(err, shown, "is no directory");
    }
    enum sbx_code code = check_owner(directory, shown, err);
    if (code == SBX_OK) {
        *out = SBX_TAKE(directory, NULL);
    }
    return code;
}

/* Looked for first: most of the time it is there. */
static enum sbx_code open_or_make(wchar_t *path, const char *shown, bool makes, HANDLE *out,
                                  struct sbx_err *err)
{
    struct sbx_err missing = {0};
    enum sbx_code code = open_checked(path, shown, out, &missing);
    if (code == SBX_E_NOT_FOUND && makes) {
        code = make(path, shown, err);
        return code == SBX_OK ? open_checked(path, shown, out, err) : code;
    }
    if (code != SBX_OK && err != NULL) {
        *err = missing;
    }
    return code;
}

static enum sbx_code open_both(struct sbx_arena *arena, struct sbx_path state_dir, const char *name,
                               bool makes, struct sbx_state *out, struct sbx_err *err)
{
    wchar_t *outer = NULL;
    wchar_t *inner = NULL;
    AUTO_HANDLE above = NULL;
    HANDLE handle = NULL;
    const char *shown = sbx_arena_printf(arena, "%s\\%s", state_dir.text, name);
    if (shown == NULL) {
        return sbx_err_nomem(err);
    }
    enum sbx_code code = sbx_wide_path(arena, state_dir.text, &outer, err);
    if (code == SBX_OK) {
        code = sbx_wide_path(arena, shown, &inner, err);
    }
    if (code == SBX_OK) {
        code = open_or_make(outer, state_dir.text, makes, &above, err);
    }
    if (code == SBX_OK) {
        code = open_or_make(inner, shown, makes, &handle, err);
    }
    if (code == SBX_OK) {
        *out = (struct sbx_state){.directory = inner, .shown = shown, .handle = handle};
    }
    return code;
}

enum sbx_code sbx_state_open(struct sbx_arena *arena, struct sbx_path state_dir, const char *name,
                             struct sbx_state *out, struct sbx_err *err)
{
    return open_both(arena, state_dir, name, true, out, err);
}

enum sbx_code sbx_state_find(struct sbx_arena *arena, struct sbx_path state_dir, const char *name,
                             struct sbx_state *out, struct sbx_err *err)
{
    return open_both(arena, state_dir, name, false, out, err);
}

void sbx_state_close(struct sbx_state *state)
{
    if (state != NULL) {
        sbx_handle_close(&state->handle);
    }
}

/* ---- one at a time ------------------------------------------------------------------------- */

enum sbx_code sbx_state_lock(const struct sbx_state *state, DWORD wait_ms, HANDLE *out,
                             struct sbx_err *err)
{
    AUTO_ARENA scratch;
    sbx_arena_init(&scratch, SCRATCH);
    wchar_t *path = sbx_state_path(&scratch, state, "lock");
    if (path == NULL) {
        return sbx_err_nomem(err);
    }
    ULONGLONG begin = sbx_win()->GetTickCount64();
    for (;;) {
        HANDLE file = sbx_win()->CreateFileW(path, GENERIC_READ | GENERIC_WRITE, 0, NULL,
                                             OPEN_ALWAYS, FILE_ATTRIBUTE_NORMAL, NULL);
        if (sbx_handle_is_open(file)) {
            *out = file;
            return SBX_OK;
        }
        DWORD raw = GetLastError();
        if (raw != ERROR_SHARING_VIOLATION) {
            return sbx_err_win32(err, raw, "CreateFileW", "cannot lock \"%s\"", state->shown);
        }
        if (sbx_win()->GetTickCount64() - begin >= wait_ms) {
            (void)sbx_err_os(err, SBX_E_UNAVAILABLE, SBX_OS_WIN32, raw, "CreateFileW",
                             "another sbx is at work in \"%s\"", state->shown);
            return sbx_err_hint(err, "wait until it is done, or end it");
        }
        sbx_win()->Sleep(POLL_MS);
    }
}
