/* The environment block of a child. */
#include "win/environment.h"

#include <windows.h>

#include <stdlib.h>
#include <string.h>

#include "win/system.h"
#include "win/wide.h"

#include "common/base/banned.h"

/* What Windows itself needs: the loader's side-by-side assemblies, Winsock, the cryptographic
 * providers and the C runtime look below SystemRoot; programs build paths from SystemDrive. The
 * values come from the system, not from the caller. */
static const struct {
    const char *name;
    size_t len; /* of the Windows directory to take; 0: all of it */
} needed[] = {
    {"SystemRoot", 0},  /* C:\Windows */
    {"SystemDrive", 2}, /* C: */
};

static bool is_declared(const char *const *env, const char *name)
{
    for (; *env != NULL; env++) {
        struct sbx_str head;
        struct sbx_str tail;
        (void)sbx_str_split(sbx_str(*env), '=', &head, &tail);
        if (sbx_str_is_nocase(head, name)) {
            return true;
        }
    }
    return false;
}

/* By name, without case, as Windows looks variables up; equal names keep their order. The name may
 * begin with "=" (the current directories of drives). */
static int name_length(const wchar_t *entry)
{
    const wchar_t *end = *entry == L'\0' ? NULL : wcschr(entry + 1, L'=');
    return end == NULL ? (int)wcslen(entry) : (int)(end - entry);
}

static int compare(const wchar_t *a, const wchar_t *b)
{
    return CompareStringOrdinal(a, name_length(a), b, name_length(b), TRUE) - CSTR_EQUAL;
}

static void sort(wchar_t **entries, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        wchar_t *entry = entries[i];
        size_t at = i;
        for (; at > 0 && compare(entries[at - 1], entry) > 0; at--) {
            entries[at] = entries[at - 1];
        }
        entries[at] = entry;
    }
}

/* The declared ones and the needed ones, converted, in *entries. */
static enum sbx_code collect(struct sbx_arena *arena, const char *const *env, wchar_t **entries,
                             size_t *count, struct sbx_err *err)
{
    struct sbx_path root;
    enum sbx_code code = sbx_system_directory(arena, &root, err);
    for (size_t i = 0; code == SBX_OK && env[i] != NULL; i++) {
        code = sbx_wide_from(arena, env[i], &entries[(*count)++], err);
    }
    for (size_t i = 0; code == SBX_OK && i < SBX_COUNT(needed); i++) {
        if (!is_declared(env, needed[i].name)) {
            const char *text =
                sbx_arena_printf(arena, "%s=%.*s", needed[i].name,
                                 (int)(needed[i].len != 0 ? needed[i].len : root.len), root.text);
            code = text == NULL ? sbx_err_nomem(err)
                                : sbx_wide_from(arena, text, &entries[(*count)++], err);
        }
    }
    return code;
}

enum sbx_code sbx_environment_block(struct sbx_arena *arena, const char *const *env, wchar_t **out,
                                    struct sbx_err *err)
{
    size_t declared = 0;
    while (env[declared] != NULL) {
        declared++;
    }
    size_t count = 0;
    wchar_t **entries = SBX_NEW_ARRAY(arena, wchar_t *, declared + SBX_COUNT(needed));
    if (entries == NULL) {
        return sbx_err_nomem(err);
    }
    enum sbx_code code = collect(arena, env, entries, &count, err);
    if (code != SBX_OK) {
        return code;
    }
    sort(entries, count);
    size_t units = 1;
    for (size_t i = 0; i < count; i++) {
        units += wcslen(entries[i]) + 1;
    }
    wchar_t *block = SBX_NEW_ARRAY(arena, wchar_t, units + 1);
    if (block == NULL) {
        return sbx_err_nomem(err);
    }
    wchar_t *at = block;
    for (size_t i = 0; i < count; i++) {
        size_t len = wcslen(entries[i]) + 1;
        wmemcpy(at, entries[i], len);
        at += len;
    }
    *out = block; /* what follows the last entry is zero */
    return SBX_OK;
}
