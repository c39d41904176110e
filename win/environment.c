/* The environment block of a child. */
#include "win/environment.h"

#include <windows.h>

#include <string.h>

#include "common/base/buf.h"
#include "win/program.h"
#include "win/system.h"
#include "win/wide.h"

#include "common/base/banned.h"

/* Windows' maximum of one variable, with its name and the NUL. */
enum { VARIABLE_MAX = 32767 };

enum source { FROM_ROOT, FROM_DRIVE, FROM_FOLDER };

/* What Windows itself needs. The values come from the system, not from the caller. What is not here is not
 * needed to start: windir repeats SystemRoot, cmd and the C runtime make ComSpec and PATHEXT up themselves, and
 * USERPROFILE would tell a name that the box cannot use. */
static const struct need {
    const char *name;
    enum source source;
    bool is_for_boxes;
} needed[] = {
    /* The loader's side-by-side assemblies, Winsock, the cryptographic providers and the C runtime
     * look below it. */
    {"SystemRoot", FROM_ROOT, false},
    /* Programs build paths from it. */
    {"SystemDrive", FROM_DRIVE, false},
    /* CreateProcess looks it up for an AppContainer and fails with ERROR_ENVVAR_NOT_FOUND (203) without; any
     * value will do (microsoft/mxc#1158). The user's own would be a place where the box may not write. */
    {"LOCALAPPDATA", FROM_FOLDER, true},
    /* GetTempPath falls back to the profile and then to the Windows directory: neither is the box's. */
    {"TEMP", FROM_FOLDER, true},
    {"TMP", FROM_FOLDER, true},
};

struct request {
    const char *const *env;
    bool is_boxed;
    const char *folder;
};

static struct sbx_str name_of(const char *variable)
{
    struct sbx_str head;
    struct sbx_str tail;
    (void)sbx_str_split(sbx_str(variable), '=', &head, &tail);
    return head;
}

static bool is_declared(const char *const *env, const char *name)
{
    for (; *env != NULL; env++) {
        if (sbx_str_is_nocase(name_of(*env), name)) {
            return true;
        }
    }
    return false;
}

/* ---- PATH ---------------------------------------------------------------------------------- */

/* The next entry of a search path; a semicolon inside quotes does not end it. */
static struct sbx_str take_entry(struct sbx_str *list)
{
    bool is_quoted = false;
    size_t len = 0;
    while (len < list->len && (is_quoted || list->ptr[len] != ';')) {
        is_quoted ^= list->ptr[len] == '"';
        len++;
    }
    struct sbx_str entry = {list->ptr, len};
    size_t used = len < list->len ? len + 1 : len;
    list->ptr += used;
    list->len -= used;
    return entry;
}

/* "PATH=…" without the directories of the Store. */
static enum sbx_code filter(struct sbx_arena *arena, const char *variable, const char **out,
                            struct sbx_err *err)
{
    AUTO_BUF kept;
    struct sbx_str head = name_of(variable);
    size_t len = strlen(variable);
    sbx_buf_init(&kept, len);
    sbx_buf_add(&kept, variable, head.len + 1);
    struct sbx_str list = {variable + head.len + 1, len - head.len - 1};
    bool is_first = true;
    while (list.len > 0) {
        struct sbx_str entry = take_entry(&list);
        if (!sbx_program_is_of_store(entry)) {
            sbx_buf_add_text(&kept, is_first ? "" : ";");
            sbx_buf_add_str(&kept, entry);
            is_first = false;
        }
    }
    const char *copy = kept.failed ? NULL : sbx_arena_copy(arena, sbx_buf_text(&kept), kept.len);
    if (copy == NULL) {
        return sbx_err_nomem(err);
    }
    *out = copy;
    return SBX_OK;
}

/* ---- sorting ------------------------------------------------------------------------------- */

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

/* ---- the variables ------------------------------------------------------------------------- */

static enum sbx_code widen(struct sbx_arena *arena, const char *variable, wchar_t **out,
                           struct sbx_err *err)
{
    struct sbx_str name = name_of(variable);
    enum sbx_code code = sbx_wide_from(arena, variable, out, err);
    if (code == SBX_OK && wcslen(*out) >= VARIABLE_MAX) {
        code = sbx_err_set(err, SBX_E_LIMIT, "longer than %d characters, Windows' maximum",
                           VARIABLE_MAX - 1);
    }
    if (code == SBX_E_INVALID || code == SBX_E_LIMIT) {
        return sbx_err_context(err, "the variable \"" SBX_STR_FMT "\"", SBX_STR_ARG(name));
    }
    return code;
}

static enum sbx_code widen_declared(struct sbx_arena *arena, const char *variable, bool is_boxed,
                                    wchar_t **out, struct sbx_err *err)
{
    struct sbx_str name = name_of(variable);
    enum sbx_code code = SBX_OK;
    if (is_boxed && variable[name.len] == '=' && sbx_str_is_nocase(name, "PATH")) {
        code = filter(arena, variable, &variable, err);
    }
    return code == SBX_OK ? widen(arena, variable, out, err) : code;
}

static enum sbx_code widen_needed(struct sbx_arena *arena, const struct need *need,
                                  struct sbx_path root, const char *folder, wchar_t **out,
                                  struct sbx_err *err)
{
    const char *text = NULL;
    switch (need->source) {
    case FROM_ROOT:
        text = sbx_arena_printf(arena, "%s=%s", need->name, root.text);
        break;
    case FROM_DRIVE:
        text = sbx_arena_printf(arena, "%s=%.2s", need->name, root.text);
        break;
    case FROM_FOLDER:
        /* A box without a directory of its own still must have the variable. */
        text = folder != NULL ? sbx_arena_printf(arena, "%s=%s", need->name, folder)
                              : sbx_arena_printf(arena, "%s=%s\\Temp", need->name, root.text);
        break;
    }
    return text == NULL ? sbx_err_nomem(err) : widen(arena, text, out, err);
}

/* The declared ones and the needed ones, converted, in *entries. */
static enum sbx_code collect(struct sbx_arena *arena, const struct request *request,
                             wchar_t **entries, size_t *count, struct sbx_err *err)
{
    struct sbx_path root;
    enum sbx_code code = sbx_system_directory(arena, &root, err);
    for (size_t i = 0; code == SBX_OK && request->env[i] != NULL; i++) {
        code = widen_declared(arena, request->env[i], request->is_boxed, &entries[(*count)++], err);
    }
    for (size_t i = 0; code == SBX_OK && i < SBX_COUNT(needed); i++) {
        bool is_wanted = request->is_boxed || !needed[i].is_for_boxes;
        if (is_wanted && !is_declared(request->env, needed[i].name)) {
            code =
                widen_needed(arena, &needed[i], root, request->folder, &entries[(*count)++], err);
        }
    }
    return code;
}

/* ---- the block ----------------------------------------------------------------------------- */

static wchar_t *join(struct sbx_arena *arena, wchar_t *const *entries, size_t count)
{
    size_t units = 1;
    for (size_t i = 0; i < count; i++) {
        units += wcslen(entries[i]) + 1;
    }
    wchar_t *block = SBX_NEW_ARRAY(arena, wchar_t, units + 1);
    wchar_t *at = block;
    for (size_t i = 0; block != NULL && i < count; i++) {
        size_t len = wcslen(entries[i]) + 1;
        wmemcpy(at, entries[i], len);
        at += len;
    }
    return block; /* what follows the last entry is zero */
}

static void wipe(wchar_t *text)
{
    if (text != NULL) {
        SecureZeroMemory(text, wcslen(text) * sizeof *text);
    }
}

static enum sbx_code make(struct sbx_arena *arena, const struct request *request, wchar_t **out,
                          struct sbx_err *err)
{
    size_t declared = 0;
    while (request->env[declared] != NULL) {
        declared++;
    }
    size_t count = 0;
    wchar_t **entries = SBX_NEW_ARRAY(arena, wchar_t *, declared + SBX_COUNT(needed));
    if (entries == NULL) {
        return sbx_err_nomem(err);
    }
    wchar_t *block = NULL;
    enum sbx_code code = collect(arena, request, entries, &count, err);
    if (code == SBX_OK) {
        sort(entries, count);
        block = join(arena, entries, count);
        code = block == NULL ? sbx_err_nomem(err) : SBX_OK;
    }
    for (size_t i = 0; i < count; i++) {
        wipe(entries[i]);
    }
    if (code == SBX_OK) {
        *out = block;
    }
    return code;
}

enum sbx_code sbx_environment_block(struct sbx_arena *arena, const char *const *env, wchar_t **out,
                                    struct sbx_err *err)
{
    return make(arena, &(struct request){.env = env}, out, err);
}

enum sbx_code sbx_environment_block_boxed(struct sbx_arena *arena, const char *const *env,
                                          const char *folder, wchar_t **out, struct sbx_err *err)
{
    return make(arena, &(struct request){.env = env, .is_boxed = true, .folder = folder}, out, err);
}

void sbx_environment_wipe(wchar_t *block)
{
    for (wchar_t *at = block; at != NULL && *at != L'\0';) {
        size_t len = wcslen(at);
        wipe(at);
        at += len + 1;
    }
}
