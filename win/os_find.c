/* Where a command is found on Windows: the one search, for boxes and for plain runs. Each candidate is looked at
 * through a handle, and what is found is named as the disk names it. */
#include <string.h>

#include "common/os.h"
#include "win/fault.h"
#include "win/handle.h"
#include "win/program.h"
#include "win/system.h"
#include "win/wide.h"

#include "common/base/banned.h"

/* ---- kinds of files ------------------------------------------------------------------------ */

/* Windows runs these through cmd.exe, which reads the command line by its own rules: an argument
 * can break out and become a command (CVE-2024-24576 and its kin). */
static bool is_batch(struct sbx_str name)
{
    static const char *const endings[] = {".bat", ".cmd"};
    for (size_t i = 0; i < SBX_COUNT(endings); i++) {
        size_t len = strlen(endings[i]);
        struct sbx_str ending = {name.ptr + name.len - (name.len < len ? name.len : len), len};
        if (name.len >= len && sbx_str_is_nocase(ending, endings[i])) {
            return true;
        }
    }
    return false;
}

static enum sbx_code refuse_batch(const char *path, struct sbx_err *err)
{
    (void)sbx_err_set(err, SBX_E_DENIED,
                      "\"%s\" is a batch file: Windows gives its arguments to cmd.exe, where they "
                      "can become commands",
                      path);
    /* Past /c everything is one text for cmd, which wants its own quotes around a space. */
    return strchr(path, ' ') == NULL
               ? sbx_err_hint(err, "if you trust every argument: sbx run -- cmd /c \"%s\" …", path)
               : sbx_err_hint(
                     err, "if you trust every argument: sbx run -- cmd /c \"\\\"%s\\\" …\"", path);
}

static bool has_extension(const char *program)
{
    const char *dot = strrchr(program, '.');
    return dot != NULL && strpbrk(dot, "\\/") == NULL && dot[1] != '\0';
}

/* C:\Program Files\WindowsApps and AppData\Local\Microsoft\WindowsApps. */
bool sbx_program_is_of_store(struct sbx_str path)
{
    size_t begin = 0;
    for (size_t i = 0; i <= path.len; i++) {
        if (i == path.len || path.ptr[i] == '\\' || path.ptr[i] == '/' || path.ptr[i] == '"') {
            if (sbx_str_is_nocase((struct sbx_str){path.ptr + begin, i - begin}, "WindowsApps")) {
                return true;
            }
            begin = i + 1;
        }
    }
    return false;
}

/* ---- one candidate ------------------------------------------------------------------------- */

enum place { PLACE_EMPTY, PLACE_FILE, PLACE_DIRECTORY, PLACE_STORE };

struct candidate {
    enum place place;
    DWORD raw;            /* of an empty one: why */
    struct sbx_path path; /* of a file: its real name */
};

/* Nothing is there, as far as anyone can tell: also on a drive or a server that is away. Any other failure could
 * hide the right program and let another of the same name run. */
static bool is_absent(DWORD raw)
{
    static const DWORD absent[] = {
        ERROR_INVALID_NAME,       ERROR_FILENAME_EXCED_RANGE, ERROR_DIRECTORY,
        ERROR_BAD_NETPATH,        ERROR_BAD_NET_NAME,         ERROR_NETNAME_DELETED,
        ERROR_NO_NET_OR_BAD_PATH, ERROR_NETWORK_UNREACHABLE,  ERROR_HOST_UNREACHABLE,
        ERROR_SEM_TIMEOUT,
    };
    for (size_t i = 0; i < SBX_COUNT(absent); i++) {
        if (raw == absent[i]) {
            return true;
        }
    }
    return sbx_win32_code(raw) == SBX_E_NOT_FOUND;
}

static HANDLE open_candidate(const wchar_t *wide, DWORD flags)
{
    return sbx_win()->CreateFileW(
        wide, FILE_READ_ATTRIBUTES, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
        OPEN_EXISTING,
        FILE_FLAG_BACKUP_SEMANTICS | SECURITY_SQOS_PRESENT | SECURITY_ANONYMOUS | flags, NULL);
}

static enum sbx_code failed_at(const char *text, const char *call, DWORD raw, struct sbx_err *err)
{
    return sbx_err_win32(err, raw, call, "cannot look at the program \"%s\"", text);
}

/* A link to the program is followed: it is the program that runs, under its own name. */
static enum sbx_code follow(const wchar_t *wide, const char *text, HANDLE *file,
                            BY_HANDLE_FILE_INFORMATION *info, bool *is_alias, struct sbx_err *err)
{
    FILE_ATTRIBUTE_TAG_INFO tag = {0};
    if (!sbx_win()->GetFileInformationByHandleEx(*file, FileAttributeTagInfo, &tag, sizeof tag)) {
        DWORD raw = GetLastError();
        return failed_at(text, "GetFileInformationByHandleEx", raw, err);
    }
    *is_alias = tag.ReparseTag == SBX_TAG_APPEXECLINK;
    if (*is_alias) {
        return SBX_OK;
    }
    sbx_handle_close(file);
    *file = open_candidate(wide, 0);
    if (!sbx_handle_is_open(*file)) {
        DWORD raw = GetLastError();
        return failed_at(text, "CreateFileW", raw, err);
    }
    if (!sbx_win()->GetFileInformationByHandle(*file, info)) {
        DWORD raw = GetLastError();
        return failed_at(text, "GetFileInformationByHandle", raw, err);
    }
    return SBX_OK;
}

static enum sbx_code describe(struct sbx_arena *arena, HANDLE file, const char *text,
                              const BY_HANDLE_FILE_INFORMATION *info, struct candidate *out,
                              struct sbx_err *err)
{
    if ((info->dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0) {
        out->place = PLACE_DIRECTORY;
        return SBX_OK;
    }
    enum sbx_code code = sbx_pin_real_path(arena, file, &out->path, err);
    if (code == SBX_OK) {
        out->place = sbx_program_is_of_store(sbx_str(out->path.text)) ? PLACE_STORE : PLACE_FILE;
        return SBX_OK;
    }
    (void)sbx_err_context(err, "the program \"%s\"", text);
    if (err != NULL && (code == SBX_E_UNSUPPORTED || code == SBX_E_INVALID)) {
        err->code = SBX_E_DENIED; /* the command's fault, not that of the machine */
    }
    return code == SBX_E_NOMEM ? code : SBX_E_DENIED;
}

/* SBX_OK with what is there, which may be nothing. */
static enum sbx_code look_at(struct sbx_arena *arena, const char *text, struct candidate *out,
                             struct sbx_err *err)
{
    AUTO_ARENA scratch;
    sbx_arena_init(&scratch, (size_t)1 << 19);
    *out = (struct candidate){.raw = ERROR_FILE_NOT_FOUND};
    wchar_t *wide = NULL;
    enum sbx_code code = sbx_wide_path(&scratch, text, &wide, NULL);
    if (code != SBX_OK) { /* not the name of a file */
        return code == SBX_E_NOMEM ? sbx_err_nomem(err) : SBX_OK;
    }
    AUTO_HANDLE file = open_candidate(wide, FILE_FLAG_OPEN_REPARSE_POINT);
    if (!sbx_handle_is_open(file)) {
        out->raw = GetLastError();
        if (is_absent(out->raw)) {
            return SBX_OK;
        }
        if (sbx_program_is_of_store(sbx_str(text))) { /* closed to users, and of no use anyway */
            out->place = PLACE_STORE;
            return SBX_OK;
        }
        return failed_at(text, "CreateFileW", out->raw, err);
    }
    BY_HANDLE_FILE_INFORMATION info = {0};
    if (!sbx_win()->GetFileInformationByHandle(file, &info)) {
        DWORD raw = GetLastError();
        return failed_at(text, "GetFileInformationByHandle", raw, err);
    }
    if ((info.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0) {
        bool is_alias = false;
        code = follow(wide, text, &file, &info, &is_alias, err);
        if (code != SBX_OK || is_alias) {
            out->place = PLACE_STORE;
            return code;
        }
    }
    return describe(arena, file, text, &info, out, err);
}

/* ---- one place ----------------------------------------------------------------------------- */

/* `base` as it is when it has an extension, else with each that Windows would try, in its order. What is
 * no file, and an alias of the Store, is passed over, but told. */
static enum sbx_code try_place(struct sbx_arena *arena, const char *base, struct candidate *out,
                               struct sbx_err *err)
{
    static const char *const endings[] = {"", ".com", ".exe", ".bat", ".cmd"};
    struct candidate told = {.raw = ERROR_FILE_NOT_FOUND};
    for (size_t i = has_extension(base) ? 0 : 1; i < SBX_COUNT(endings); i++) {
        struct candidate found = {0};
        const char *text = sbx_arena_printf(arena, "%s%s", base, endings[i]);
        enum sbx_code code = text == NULL ? sbx_err_nomem(err) : look_at(arena, text, &found, err);
        if (code != SBX_OK) {
            return code;
        }
        if (found.place == PLACE_FILE) {
            *out = found;
            return is_batch(sbx_path_name(found.path)) ? refuse_batch(found.path.text, err)
                                                       : SBX_OK;
        }
        if (told.place == PLACE_EMPTY) {
            told = found;
        }
    }
    *out = told;
    return SBX_OK;
}

/* ---- the search ---------------------------------------------------------------------------- */

static enum sbx_code refuse_store(const char *program, struct sbx_err *err)
{
    (void)sbx_err_set(err, SBX_E_DENIED,
                      "\"%s\" is an app of the Microsoft Store, which Windows starts outside every "
                      "box",
                      program);
    return sbx_err_hint(err, "install it with its ordinary installer, or put that one into PATH");
}

/* A directory of PATH may be quoted. Relative ones are skipped: what runs must not depend on where
 * one stands. */
static bool is_searched(struct sbx_str *dir)
{
    if (dir->len >= 2 && dir->ptr[0] == '"' && dir->ptr[dir->len - 1] == '"') {
        dir->ptr++;
        dir->len -= 2;
    }
    return dir->len >= 3 && sbx_is_alpha(dir->ptr[0]) && dir->ptr[1] == ':' &&
           (dir->ptr[2] == '\\' || dir->ptr[2] == '/');
}

static enum sbx_code search(struct sbx_arena *arena, const char *program, struct sbx_str list,
                            struct sbx_path *out, struct sbx_err *err)
{
    bool is_in_store = false;
    while (list.len > 0) {
        struct sbx_str dir;
        (void)sbx_str_split(list, ';', &dir, &list);
        if (!is_searched(&dir)) {
            continue;
        }
        struct candidate found = {0};
        const char *base = sbx_arena_printf(arena, SBX_STR_FMT "\\%s", SBX_STR_ARG(dir), program);
        enum sbx_code code =
            base == NULL ? sbx_err_nomem(err) : try_place(arena, base, &found, err);
        if (code != SBX_OK) {
            return code;
        }
        if (found.place == PLACE_FILE) {
            *out = found.path;
            return SBX_OK;
        }
        is_in_store = is_in_store || found.place == PLACE_STORE;
    }
    if (is_in_store) {
        return refuse_store(program, err);
    }
    (void)sbx_err_set(err, SBX_E_NOT_FOUND, "the program \"%s\" is in no directory of PATH",
                      program);
    return sbx_err_hint(err, "check the spelling, or give its path");
}

static enum sbx_code default_path(struct sbx_arena *arena, const char **out, struct sbx_err *err)
{
    struct sbx_path root;
    enum sbx_code code = sbx_system_directory(arena, &root, err);
    if (code != SBX_OK) {
        return code;
    }
    const char *list = sbx_arena_printf(arena, "%s\\System32;%s", root.text, root.text);
    if (list == NULL) {
        return sbx_err_nomem(err);
    }
    *out = list;
    return SBX_OK;
}

/* A name that has no extension that runs may still be there, and may be a batch file: "x.bat." is x.bat. */
static enum sbx_code refuse_at(struct sbx_arena *arena, const char *program, struct candidate found,
                               struct sbx_err *err)
{
    if (found.place == PLACE_EMPTY) {
        enum sbx_code code = look_at(arena, program, &found, err);
        if (code != SBX_OK) {
            return code;
        }
    }
    switch (found.place) {
    case PLACE_STORE:
        return refuse_store(program, err);
    case PLACE_DIRECTORY:
        return sbx_err_set(err, SBX_E_DENIED, "\"%s\" is a directory, not a program", program);
    case PLACE_FILE:
        if (is_batch(sbx_path_name(found.path))) {
            return refuse_batch(found.path.text, err);
        }
        (void)sbx_err_set(err, SBX_E_DENIED, "\"%s\" is not a program", program);
        return sbx_err_hint(err, "Windows runs .exe and .com files; name its interpreter first");
    case PLACE_EMPTY:
        break;
    }
    return sbx_err_win32(err, found.raw, "CreateFileW", "cannot find the program \"%s\"", program);
}

static enum sbx_code find_at(struct sbx_arena *arena, const char *program, struct sbx_path *out,
                             struct sbx_err *err)
{
    wchar_t *wide;
    struct candidate found = {0};
    enum sbx_code code = sbx_wide_path(arena, program, &wide, err);
    if (code == SBX_E_INVALID) { /* a device, a share, a stream: said so */
        (void)sbx_err_set(err, SBX_E_DENIED, "\"%s\" cannot be run: only a file on a drive can",
                          program);
        return sbx_err_hint(err, "copy the program to a drive of this machine");
    }
    if (code == SBX_OK) {
        code = try_place(arena, program, &found, err);
    }
    if (code == SBX_OK && found.place != PLACE_FILE) {
        code = refuse_at(arena, program, found, err);
    }
    if (code == SBX_OK) {
        *out = found.path;
    }
    return code;
}

enum sbx_code sbx_os_find_program(struct sbx_arena *arena, const char *program,
                                  const char *search_path, struct sbx_path *out,
                                  struct sbx_err *err)
{
    if (*program == '\0') {
        return sbx_err_set(err, SBX_E_NOT_FOUND, "the name of the program is empty");
    }
    if (strpbrk(program, "\\/:") != NULL) {
        return find_at(arena, program, out, err);
    }
    enum sbx_code code = search_path == NULL ? default_path(arena, &search_path, err) : SBX_OK;
    return code == SBX_OK ? search(arena, program, sbx_str(search_path), out, err) : code;
}
