/* Reading files and asking about them on Windows. */
#include <windows.h>

#include "common/base/buf.h"
#include "common/os.h"
#include "win/acl.h"
#include "win/fault.h"
#include "win/handle.h"
#include "win/pin.h"
#include "win/wide.h"

#include "common/base/banned.h"

enum { PATH_ARENA = 512 * 1024 };

/* ---- opening ------------------------------------------------------------------------------- */

/* Directories are opened too, to be told apart. A server of what turns out to be a pipe learns
 * nothing about the caller. */
static HANDLE open_existing(const wchar_t *path, DWORD access)
{
    return CreateFileW(
        path, access, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_EXISTING,
        FILE_FLAG_BACKUP_SEMANTICS | SECURITY_SQOS_PRESENT | SECURITY_ANONYMOUS, NULL);
}

static bool describe(HANDLE file, struct sbx_file_info *out)
{
    BY_HANDLE_FILE_INFORMATION info;
    struct sbx_file_info made = {.node = SBX_NODE_OTHER};
    if (GetFileType(file) == FILE_TYPE_DISK) {
        if (!GetFileInformationByHandle(file, &info)) {
            return false;
        }
        bool is_directory = (info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
        made.node = is_directory ? SBX_NODE_DIRECTORY : SBX_NODE_FILE;
        made.size_bytes = (uint64_t)info.nFileSizeHigh << 32 | info.nFileSizeLow;
    }
    sbx_acl_describe(file, &made);
    *out = made;
    return true;
}

bool sbx_os_may(const char *path, bool is_write, bool *out)
{
    /* Windows has no such question that a file's rights and those of its directory answer together. */
    (void)path;
    (void)is_write;
    (void)out;
    return false;
}

void sbx_os_file_info(const char *path, struct sbx_file_info *out)
{
    /* Of what cannot be looked at, the worst is assumed. */
    *out = (struct sbx_file_info){.node = SBX_NODE_OTHER, .others_may_write = true};
    AUTO_ARENA scratch;
    sbx_arena_init(&scratch, PATH_ARENA);
    wchar_t *wide;
    if (sbx_wide_path(&scratch, path, &wide, NULL) != SBX_OK) {
        return;
    }
    AUTO_HANDLE file = open_existing(wide, FILE_READ_ATTRIBUTES | READ_CONTROL);
    if (!sbx_handle_is_open(file) && GetLastError() == ERROR_ACCESS_DENIED) {
        file = open_existing(wide, FILE_READ_ATTRIBUTES); /* its kind, if not its owner */
    }
    if (sbx_handle_is_open(file)) {
        (void)describe(file, out);
        return;
    }
    enum sbx_code code = sbx_win32_code(GetLastError());
    if (code == SBX_E_NOT_FOUND) {
        out->node = SBX_NODE_MISSING;
    } else if (code == SBX_E_DENIED) {
        out->node = SBX_NODE_DENIED;
    }
}

/* ---- reading ------------------------------------------------------------------------------- */

static enum sbx_code too_large(const char *path, size_t max_bytes, struct sbx_err *err)
{
    return sbx_err_set(err, SBX_E_LIMIT, "\"%s\" is larger than %zu bytes", path, max_bytes);
}

static enum sbx_code read_all(struct sbx_arena *arena, HANDLE file, const char *path,
                              size_t max_bytes, struct sbx_str *out, struct sbx_err *err)
{
    AUTO_BUF all;
    sbx_buf_init(&all, max_bytes);
    char block[16384];
    for (;;) {
        DWORD got = 0;
        BOOL done = ReadFile(file, block, sizeof block, &got, NULL);
        DWORD raw = GetLastError();
        if (!done && raw != ERROR_BROKEN_PIPE && raw != ERROR_HANDLE_EOF) {
            return sbx_err_win32(err, raw, "ReadFile", "cannot read \"%s\"", path);
        }
        if (got == 0) {
            break;
        }
        if (got > max_bytes - all.len) {
            return too_large(path, max_bytes, err);
        }
        sbx_buf_add(&all, block, got);
        if (all.failed) {
            return sbx_err_nomem(err);
        }
    }
    char *copy = sbx_arena_copy(arena, sbx_buf_text(&all), all.len);
    if (copy == NULL) {
        return sbx_err_nomem(err);
    }
    *out = (struct sbx_str){copy, all.len};
    return SBX_OK;
}

static enum sbx_code read_stdin(struct sbx_arena *arena, size_t max_bytes, struct sbx_str *out,
                                struct sbx_file_info *info, struct sbx_err *err)
{
    HANDLE input = GetStdHandle(STD_INPUT_HANDLE);
    struct sbx_str text;
    if (!sbx_handle_is_open(input)) {
        return sbx_err_set(err, SBX_E_INVALID, "standard input is closed");
    }
    enum sbx_code code = read_all(arena, input, "standard input", max_bytes, &text, err);
    if (code != SBX_OK) {
        return code;
    }
    *out = text;
    if (info != NULL) {
        /* What the caller feeds us is the caller's own word. */
        *info = (struct sbx_file_info){
            .node = SBX_NODE_OTHER, .size_bytes = text.len, .is_callers = true};
    }
    return SBX_OK;
}

static enum sbx_code open_regular(const char *path, HANDLE *out, struct sbx_file_info *info,
                                  struct sbx_err *err)
{
    AUTO_ARENA scratch;
    sbx_arena_init(&scratch, PATH_ARENA);
    wchar_t *wide;
    enum sbx_code code = sbx_wide_path(&scratch, path, &wide, err);
    if (code != SBX_OK) {
        return code;
    }
    AUTO_HANDLE file = open_existing(wide, GENERIC_READ);
    if (!sbx_handle_is_open(file)) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "CreateFileW", "cannot read \"%s\"", path);
    }
    if (!describe(file, info)) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "GetFileInformationByHandle", "cannot read \"%s\"", path);
    }
    if (info->node != SBX_NODE_FILE) {
        return sbx_err_set(err, SBX_E_INVALID, "\"%s\" is %s, not a regular file", path,
                           info->node == SBX_NODE_DIRECTORY ? "a directory" : "a device");
    }
    *out = SBX_TAKE(file, NULL);
    return SBX_OK;
}

enum sbx_code sbx_os_read_file(struct sbx_arena *arena, const char *path, size_t max_bytes,
                               struct sbx_str *out, struct sbx_file_info *info, struct sbx_err *err)
{
    if (sbx_text_eq(path, "-")) {
        return read_stdin(arena, max_bytes, out, info, err);
    }
    AUTO_HANDLE file = NULL;
    struct sbx_file_info found = {0};
    enum sbx_code code = open_regular(path, &file, &found, err);
    if (code != SBX_OK) {
        return code;
    }
    if (found.size_bytes > max_bytes) {
        return too_large(path, max_bytes, err);
    }
    struct sbx_str text;
    code = read_all(arena, file, path, max_bytes, &text, err);
    if (code == SBX_OK) {
        *out = text;
        if (info != NULL) {
            *info = found;
        }
    }
    return code;
}

/* ---- real names ---------------------------------------------------------------------------- */

enum sbx_code sbx_os_real_path(struct sbx_arena *arena, const char *path, struct sbx_path *out,
                               struct sbx_err *err)
{
    wchar_t *wide;
    enum sbx_code code = sbx_wide_path(arena, path, &wide, err);
    if (code != SBX_OK) {
        return code;
    }
    AUTO_HANDLE file = open_existing(wide, FILE_READ_ATTRIBUTES);
    if (!sbx_handle_is_open(file)) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "CreateFileW", "cannot resolve \"%s\"", path);
    }
    code = sbx_pin_real_path(arena, file, out, err);
    return code == SBX_OK ? code : sbx_err_context(err, "cannot resolve \"%s\"", path);
}
