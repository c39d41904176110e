/* Records in a directory of sbx's own: read, replaced so that a crash leaves a whole one, removed. */
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "win/acl.h"
#include "win/fault.h"
#include "win/handle.h"
#include "win/state.h"
#include "win/wide.h"

#include "common/base/banned.h"

enum { SCRATCH = 512 * 1024, REPLACE_WAIT_MS = 2000, POLL_MS = 5 };

wchar_t *sbx_state_path(struct sbx_arena *arena, const struct sbx_state *state, const char *file)
{
    wchar_t *name = NULL;
    if (sbx_wide_from(arena, file, &name, NULL) != SBX_OK) {
        return NULL;
    }
    size_t directory = wcslen(state->directory);
    size_t len = wcslen(name);
    wchar_t *path = SBX_NEW_ARRAY(arena, wchar_t, directory + 1 + len + 1);
    if (path != NULL) {
        wmemcpy(path, state->directory, directory);
        path[directory] = L'\\';
        wmemcpy(path + directory + 1, name, len + 1);
    }
    return path;
}

/* ---- listing ------------------------------------------------------------------------------- */

static void find_close(HANDLE *find)
{
    if (sbx_handle_is_open(*find)) {
        (void)sbx_win()->FindClose(*find);
    }
}

/* A name that is no text is nobody's record. */
static bool keep_name(struct sbx_arena *arena, const WIN32_FIND_DATAW *found, const char *suffix,
                      const char **out)
{
    return (found->dwFileAttributes & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT)) ==
               0 &&
           sbx_wide_to(arena, found->cFileName, out, NULL) == SBX_OK &&
           sbx_str_ends(sbx_str(*out), suffix);
}

enum sbx_code sbx_state_list(struct sbx_arena *arena, const struct sbx_state *state,
                             const char *suffix, size_t max, const char *const **out, size_t *count,
                             struct sbx_err *err)
{
    WIN32_FIND_DATAW found;
    size_t used = 0;
    const char **names = SBX_NEW_ARRAY(arena, const char *, max);
    wchar_t *pattern = sbx_state_path(arena, state, "*");
    if (names == NULL || pattern == NULL) {
        return sbx_err_nomem(err);
    }
    SBX_CLEANUP(find_close) HANDLE find = sbx_win()->FindFirstFileW(pattern, &found);
    const char *call = "FindFirstFileW";
    bool is_more = sbx_handle_is_open(find);
    DWORD raw = is_more ? ERROR_SUCCESS : GetLastError();
    while (is_more && used < max) {
        used += keep_name(arena, &found, suffix, &names[used]) ? 1 : 0;
        call = "FindNextFileW";
        is_more = sbx_win()->FindNextFileW(find, &found);
        raw = is_more ? ERROR_SUCCESS : GetLastError();
    }
    if (raw != ERROR_SUCCESS && raw != ERROR_NO_MORE_FILES && raw != ERROR_FILE_NOT_FOUND) {
        return sbx_err_win32(err, raw, call, "cannot list \"%s\"", state->shown);
    }
    *out = names;
    *count = used;
    return SBX_OK;
}

/* ---- reading ------------------------------------------------------------------------------- */

static enum sbx_code read_all(HANDLE file, const char *shown, struct sbx_buf *out,
                              struct sbx_err *err)
{
    char block[8192];
    for (;;) {
        DWORD got = 0;
        if (!sbx_win()->ReadFile(file, block, sizeof block, &got, NULL)) {
            DWORD raw = GetLastError();
            return sbx_err_win32(err, raw, "ReadFile", "cannot read \"%s\"", shown);
        }
        if (got == 0) {
            return SBX_OK;
        }
        if (got > out->max - out->len) {
            return sbx_err_set(err, SBX_E_LIMIT, "\"%s\" is too large for a record", shown);
        }
        sbx_buf_add(out, block, got);
    }
}

enum sbx_code sbx_state_read(struct sbx_arena *arena, const struct sbx_state *state,
                             const char *file, struct sbx_record *out, struct sbx_err *err)
{
    wchar_t *path = sbx_state_path(arena, state, file);
    const char *shown = sbx_arena_printf(arena, "%s\\%s", state->shown, file);
    if (path == NULL || shown == NULL) {
        return sbx_err_nomem(err);
    }
    AUTO_HANDLE handle = sbx_win()->CreateFileW(
        path, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
        OPEN_EXISTING, FILE_FLAG_OPEN_REPARSE_POINT, NULL);
    if (!sbx_handle_is_open(handle)) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "CreateFileW", "cannot read \"%s\"", shown);
    }
    AUTO_BUF text;
    sbx_buf_init(&text, SBX_RECORD_BYTES_MAX);
    enum sbx_code code = read_all(handle, shown, &text, err);
    if (code == SBX_OK) {
        code = sbx_buf_check(&text, err);
    }
    if (code == SBX_OK) {
        code = sbx_record_parse(arena, sbx_buf_str(&text), out, err);
    }
    return code == SBX_OK || code == SBX_E_NOMEM ? code : sbx_err_context(err, "\"%s\"", file);
}

/* ---- writing ------------------------------------------------------------------------------- */

/* Returns the call that failed, with the last error. */
static const char *put(HANDLE file, struct sbx_str content)
{
    while (content.len > 0) {
        DWORD part = content.len > 1 << 16 ? 1 << 16 : (DWORD)content.len;
        DWORD put = 0;
        if (!sbx_win()->WriteFile(file, content.ptr, part, &put, NULL)) {
            return "WriteFile";
        }
        if (put == 0 || put > content.len) {
            SetLastError(ERROR_WRITE_FAULT);
            return "WriteFile";
        }
        content.ptr += put;
        content.len -= put;
    }
    return sbx_win()->FlushFileBuffers(file) ? NULL : "FlushFileBuffers";
}

/* A virus scanner or an indexer may hold the old file open for a moment. */
static bool move_over(const wchar_t *from, const wchar_t *to)
{
    ULONGLONG begin = sbx_win()->GetTickCount64();
    while (!sbx_win()->MoveFileExW(from, to, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH)) {
        DWORD raw = GetLastError();
        bool may_pass = raw == ERROR_ACCESS_DENIED || raw == ERROR_SHARING_VIOLATION;
        if (!may_pass || sbx_win()->GetTickCount64() - begin >= REPLACE_WAIT_MS) {
            SetLastError(raw);
            return false;
        }
        sbx_win()->Sleep(POLL_MS);
    }
    return true;
}

static const char *replace(const wchar_t *path, const wchar_t *fresh, struct sbx_str content)
{
    /* A file of that name is what a dead sbx did not get done: names are per process or under the lock. */
    HANDLE file =
        sbx_win()->CreateFileW(fresh, GENERIC_WRITE, 0, NULL, CREATE_ALWAYS,
                               FILE_ATTRIBUTE_NORMAL | FILE_FLAG_OPEN_REPARSE_POINT, NULL);
    if (!sbx_handle_is_open(file)) {
        return "CreateFileW";
    }
    const char *failed = put(file, content);
    sbx_handle_close(&file);
    if (failed == NULL && !move_over(fresh, path)) {
        failed = "MoveFileExW";
    }
    if (failed != NULL) {
        DWORD saved = GetLastError();
        (void)sbx_win()->DeleteFileW(fresh);
        SetLastError(saved);
    }
    return failed;
}

enum sbx_code sbx_state_write(const struct sbx_state *state, const char *file,
                              const struct sbx_record *record, struct sbx_err *err)
{
    AUTO_ARENA scratch;
    sbx_arena_init(&scratch, SCRATCH);
    const char *temporary = sbx_arena_printf(&scratch, "%s.new", file);
    wchar_t *path = sbx_state_path(&scratch, state, file);
    wchar_t *fresh = temporary == NULL ? NULL : sbx_state_path(&scratch, state, temporary);
    AUTO_BUF text;
    sbx_buf_init(&text, SBX_RECORD_BYTES_MAX);
    sbx_record_print(record, &text);
    if (path == NULL || fresh == NULL || text.failed) {
        return sbx_err_nomem(err);
    }
    const char *failed = replace(path, fresh, sbx_buf_str(&text));
    if (failed != NULL) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, failed, "cannot write \"%s\\%s\"", state->shown, file);
    }
    return SBX_OK;
}

/* ---- removing ------------------------------------------------------------------------------ */

enum sbx_code sbx_state_remove(const struct sbx_state *state, const char *file, struct sbx_err *err)
{
    AUTO_ARENA scratch;
    sbx_arena_init(&scratch, SCRATCH);
    wchar_t *path = sbx_state_path(&scratch, state, file);
    if (path == NULL) {
        return sbx_err_nomem(err);
    }
    ULONGLONG begin = sbx_win()->GetTickCount64();
    while (!sbx_win()->DeleteFileW(path)) {
        DWORD raw = GetLastError();
        bool may_pass = raw == ERROR_ACCESS_DENIED || raw == ERROR_SHARING_VIOLATION;
        if (raw == ERROR_FILE_NOT_FOUND || raw == ERROR_PATH_NOT_FOUND) {
            return SBX_OK;
        }
        if (!may_pass || sbx_win()->GetTickCount64() - begin >= REPLACE_WAIT_MS) {
            return sbx_err_win32(err, raw, "DeleteFileW", "cannot remove \"%s\\%s\"", state->shown,
                                 file);
        }
        sbx_win()->Sleep(POLL_MS);
    }
    return SBX_OK;
}

enum sbx_code sbx_state_quarantine(const struct sbx_state *state, const char *file,
                                   struct sbx_err *err)
{
    AUTO_ARENA scratch;
    sbx_arena_init(&scratch, (size_t)2 * SCRATCH);
    const char *below = sbx_arena_printf(&scratch, "quarantine\\%s", file);
    wchar_t *path = sbx_state_path(&scratch, state, file);
    wchar_t *directory = sbx_state_path(&scratch, state, "quarantine");
    wchar_t *to = below == NULL ? NULL : sbx_state_path(&scratch, state, below);
    if (path == NULL || directory == NULL || to == NULL) {
        return sbx_err_nomem(err);
    }
    /* What is made below our directory inherits its list. */
    if (!sbx_win()->CreateDirectoryW(directory, NULL) && GetLastError() != ERROR_ALREADY_EXISTS) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "CreateDirectoryW", "cannot make \"%s\\quarantine\"",
                             state->shown);
    }
    if (!move_over(path, to)) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "MoveFileExW", "cannot move \"%s\\%s\" away", state->shown,
                             file);
    }
    return SBX_OK;
}
