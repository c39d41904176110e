/* Where a command is found on Windows. */
#include <windows.h>

#include <string.h>

#include "common/os.h"
#include "win/fault.h"
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
    return sbx_err_hint(err, "if you trust every argument: sbx run -- cmd /c \"%s\" …", path);
}

static bool has_extension(const char *program)
{
    const char *dot = strrchr(program, '.');
    return dot != NULL && strpbrk(dot, "\\/") == NULL && dot[1] != '\0';
}

static bool is_file(const char *path, bool *is_directory)
{
    AUTO_ARENA scratch;
    sbx_arena_init(&scratch, (size_t)1 << 19);
    wchar_t *wide;
    if (sbx_wide_path(&scratch, path, &wide, NULL) != SBX_OK) {
        return false;
    }
    DWORD attributes = GetFileAttributesW(wide);
    if (attributes == INVALID_FILE_ATTRIBUTES) {
        return false;
    }
    *is_directory = (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
    return !*is_directory;
}

/* ---- one place ----------------------------------------------------------------------------- */

/* The found file as a path. The name is what Win32 makes of it: "x.bat. " is x.bat. */
static enum sbx_code accept(struct sbx_arena *arena, const char *text, struct sbx_path *out,
                            struct sbx_err *err)
{
    wchar_t *wide;
    struct sbx_path path;
    enum sbx_code code = sbx_wide_path(arena, text, &wide, err);
    if (code == SBX_OK) {
        code = sbx_wide_to_path(arena, wide, &path, err);
    }
    if (code != SBX_OK) {
        return code;
    }
    if (is_batch(sbx_path_name(path))) {
        return refuse_batch(path.text, err);
    }
    *out = path;
    return SBX_OK;
}

/* `base` as it is when it has an extension, else with each that Windows would try, in its order.
 * SBX_E_NOT_FOUND without a message when there is none. */
static enum sbx_code try_place(struct sbx_arena *arena, const char *base, struct sbx_path *out,
                               struct sbx_err *err)
{
    static const char *const endings[] = {".com", ".exe", ".bat", ".cmd"};
    bool is_directory = false;
    if (has_extension(base) && is_file(base, &is_directory)) {
        return accept(arena, base, out, err);
    }
    for (size_t i = 0; i < SBX_COUNT(endings); i++) {
        const char *text = sbx_arena_printf(arena, "%s%s", base, endings[i]);
        if (text == NULL) {
            return sbx_err_nomem(err);
        }
        if (is_file(text, &is_directory)) {
            return accept(arena, text, out, err);
        }
    }
    return SBX_E_NOT_FOUND;
}

/* ---- the search ---------------------------------------------------------------------------- */

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
    while (list.len > 0) {
        struct sbx_str dir;
        (void)sbx_str_split(list, ';', &dir, &list);
        if (!is_searched(&dir)) {
            continue;
        }
        const char *base = sbx_arena_printf(arena, SBX_STR_FMT "\\%s", SBX_STR_ARG(dir), program);
        if (base == NULL) {
            return sbx_err_nomem(err);
        }
        enum sbx_code code = try_place(arena, base, out, err);
        if (code != SBX_E_NOT_FOUND) {
            return code;
        }
    }
    (void)sbx_err_set(err, SBX_E_NOT_FOUND, "the program \"%s\" is in no directory of PATH",
                      program);
    return sbx_err_hint(err, "check the spelling, or give its path");
}

static const char *default_path(struct sbx_arena *arena)
{
    struct sbx_path root;
    if (sbx_system_directory(arena, &root, NULL) != SBX_OK) {
        return "";
    }
    const char *list = sbx_arena_printf(arena, "%s\\System32;%s", root.text, root.text);
    return list != NULL ? list : "";
}

static enum sbx_code find_at(struct sbx_arena *arena, const char *program, struct sbx_path *out,
                             struct sbx_err *err)
{
    enum sbx_code code = try_place(arena, program, out, err);
    if (code != SBX_E_NOT_FOUND) {
        return code;
    }
    bool is_directory = false;
    if (is_file(program, &is_directory)) {
        struct sbx_path path;
        code = accept(arena, program, &path, err); /* "x.bat." has no extension but is x.bat */
        if (code != SBX_OK) {
            return code;
        }
        (void)sbx_err_set(err, SBX_E_DENIED, "\"%s\" is not a program", program);
        return sbx_err_hint(err, "Windows runs .exe and .com files; name its interpreter first");
    }
    if (is_directory) {
        return sbx_err_set(err, SBX_E_DENIED, "\"%s\" is a directory, not a program", program);
    }
    return sbx_err_os(err, SBX_E_NOT_FOUND, SBX_OS_WIN32, ERROR_FILE_NOT_FOUND,
                      "GetFileAttributesW", "cannot find the program \"%s\"", program);
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
    if (search_path == NULL) {
        search_path = default_path(arena);
    }
    return search(arena, program, sbx_str(search_path), out, err);
}
