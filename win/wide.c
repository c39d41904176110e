/* The only door between UTF-8 and Windows' UTF-16, strict both ways. */
#include "win/wide.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <windows.h>

#include "common/base/utf8.h"
#include "win/fault.h"

#include "common/base/banned.h"

_Static_assert(sizeof(wchar_t) == 2, "wchar_t is UTF-16 on Windows");

#define LONG_PREFIX L"\\\\?\\"
enum { LONG_PREFIX_LEN = SBX_WIDE_PREFIX_LEN };

/* ---- texts --------------------------------------------------------------------------------- */

enum sbx_code sbx_wide_from(struct sbx_arena *arena, const char *text, wchar_t **out,
                            struct sbx_err *err)
{
    size_t len = strlen(text);
    wchar_t *wide = SBX_NEW_ARRAY(arena, wchar_t, len + 1); /* never more units than bytes */
    if (wide == NULL) {
        return sbx_err_nomem(err);
    }
    size_t units = 0;
    for (size_t at = 0; at < len;) {
        uint32_t character;
        size_t used = sbx_utf8_decode(text + at, len - at, &character);
        if (used == 0) {
            return sbx_err_set(err, SBX_E_INVALID, "a text is not valid UTF-8 at byte %zu", at);
        }
        at += used;
        if (character >= 0x10000) {
            character -= 0x10000;
            wide[units++] = (wchar_t)(0xd800 + (character >> 10));
            character = 0xdc00 + (character & 0x3ff);
        }
        wide[units++] = (wchar_t)character;
    }
    wide[units] = L'\0';
    *out = wide;
    return SBX_OK;
}

static bool is_high(wchar_t unit)
{
    return unit >= 0xd800 && unit <= 0xdbff;
}

static bool is_low(wchar_t unit)
{
    return unit >= 0xdc00 && unit <= 0xdfff;
}

enum sbx_code sbx_wide_to(struct sbx_arena *arena, const wchar_t *wide, const char **out,
                          struct sbx_err *err)
{
    size_t units = wcslen(wide);
    if (units > SIZE_MAX / 3 - 1) {
        return sbx_err_nomem(err);
    }
    char *text =
        SBX_NEW_ARRAY(arena, char, units * 3 + 1); /* a pair gives four bytes for two units */
    if (text == NULL) {
        return sbx_err_nomem(err);
    }
    size_t len = 0;
    for (size_t at = 0; at < units; at++) {
        uint32_t character = wide[at];
        if (is_high(wide[at]) && is_low(wide[at + 1])) { /* at worst that is the NUL */
            character = 0x10000 + ((character - 0xd800U) << 10) + (wide[at + 1] - 0xdc00U);
            at++;
        }
        char bytes[4];
        size_t used = sbx_utf8_encode(character, bytes);
        if (used == 0) {
            return sbx_err_set(err, SBX_E_INVALID, "a text is not valid UTF-16 at unit %zu", at);
        }
        memcpy(text + len, bytes, used);
        len += used;
    }
    text[len] = '\0';
    *out = text;
    return SBX_OK;
}

/* ---- paths --------------------------------------------------------------------------------- */

/* Win32's functions that fill a buffer of paths: the length they want, or what they wrote. */
typedef DWORD fill_path(const wchar_t *path, DWORD size, wchar_t *out);

static DWORD fill_full(const wchar_t *path, DWORD size, wchar_t *out)
{
    return GetFullPathNameW(path, size, out, NULL);
}

static DWORD fill_long(const wchar_t *path, DWORD size, wchar_t *out)
{
    return GetLongPathNameW(path, out, size);
}

/* NULL with the last error. The answer may grow between the two calls: then the next round has it. */
static wchar_t *filled(struct sbx_arena *arena, fill_path *fill, const wchar_t *path)
{
    DWORD size = MAX_PATH;
    for (int round = 0; round < 4; round++) {
        wchar_t *text = SBX_NEW_ARRAY(arena, wchar_t, size);
        if (text == NULL) {
            SetLastError(ERROR_NOT_ENOUGH_MEMORY);
            return NULL;
        }
        DWORD len = fill(path, size, text);
        if (len == 0) {
            return NULL;
        }
        if (len < size) {
            return text;
        }
        size = len + 1;
    }
    SetLastError(ERROR_FILENAME_EXCED_RANGE);
    return NULL;
}

static bool is_letter(wchar_t unit)
{
    return (unit >= L'A' && unit <= L'Z') || (unit >= L'a' && unit <= L'z');
}

static enum sbx_code add_prefix(struct sbx_arena *arena, const wchar_t *path, wchar_t **out,
                                struct sbx_err *err)
{
    size_t len = wcslen(path);
    wchar_t *prefixed = SBX_NEW_ARRAY(arena, wchar_t, LONG_PREFIX_LEN + len + 1);
    if (prefixed == NULL) {
        return sbx_err_nomem(err);
    }
    wmemcpy(prefixed, LONG_PREFIX, LONG_PREFIX_LEN);
    wmemcpy(prefixed + LONG_PREFIX_LEN, path, len + 1);
    *out = prefixed;
    return SBX_OK;
}

enum sbx_code sbx_wide_prefixed(struct sbx_arena *arena, struct sbx_path path, wchar_t **out,
                                struct sbx_err *err)
{
    wchar_t *wide = NULL;
    enum sbx_code code = sbx_wide_from(arena, path.text, &wide, err);
    return code == SBX_OK ? add_prefix(arena, wide, out, err) : code;
}

enum sbx_code sbx_wide_path(struct sbx_arena *arena, const char *path, wchar_t **out,
                            struct sbx_err *err)
{
    wchar_t *wide = NULL;
    enum sbx_code code = sbx_wide_from(arena, path, &wide, err);
    if (code != SBX_OK) {
        return code;
    }
    if (wide == NULL || *wide == L'\0') {
        return sbx_err_set(err, SBX_E_INVALID, "the name of the file is empty");
    }
    const wchar_t *full = filled(arena, fill_full, wide);
    if (full == NULL) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "GetFullPathNameW", "cannot use the path \"%s\"", path);
    }
    /* Win32 has turned NUL, COM1 and the like into \\.\ names by now. */
    if (!is_letter(full[0]) || full[1] != L':' || full[2] != L'\\') {
        return sbx_err_set(err, SBX_E_INVALID, "\"%s\" is a device or a network path", path);
    }
    if (wcschr(full + 2, L':') != NULL) {
        return sbx_err_set(err, SBX_E_INVALID, "\"%s\" names a stream inside a file", path);
    }
    return add_prefix(arena, full, out, err);
}

enum sbx_code sbx_wide_final(struct sbx_arena *arena, const wchar_t *wide, struct sbx_path *out,
                             struct sbx_err *err)
{
    if (wcsncmp(wide, LONG_PREFIX, LONG_PREFIX_LEN) == 0 && is_letter(wide[LONG_PREFIX_LEN])) {
        wide += LONG_PREFIX_LEN;
    }
    const char *text = NULL;
    enum sbx_code code = sbx_wide_to(arena, wide, &text, err);
    if (code != SBX_OK) {
        return code;
    }
    enum sbx_path_problem problem = sbx_path_make(arena, SBX_PATH_WINDOWS, sbx_str(text), out);
    if (problem == SBX_PATH_NO_MEMORY) {
        return sbx_err_nomem(err);
    }
    if (problem != SBX_PATH_OK) {
        return sbx_err_set(err, SBX_E_INVALID, "the path \"%s\" %s", text,
                           sbx_path_problem_text(problem));
    }
    return SBX_OK;
}

enum sbx_code sbx_wide_to_path(struct sbx_arena *arena, const wchar_t *wide, struct sbx_path *out,
                               struct sbx_err *err)
{
    /* Only asked where it can change something; a name that does not exist stays as it is. */
    if (wcschr(wide, L'~') != NULL) {
        const wchar_t *expanded = filled(arena, fill_long, wide);
        wide = expanded != NULL ? expanded : wide;
    }
    return sbx_wide_final(arena, wide, out, err);
}
