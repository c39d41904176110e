/* sbx workspace purge: everything that sbx keeps for this user is taken away, as before its first run. */
#include "common/run/workspace.h"

#include <string.h>

#include "win/fault.h"
#include "win/handle.h"
#include "win/lease.h"
#include "win/state.h"
#include "win/wide.h"

#include "common/base/banned.h"

#define FILES_MAX ((size_t)4096)
#define REMARKS_MAX ((size_t)8)

/* All that sbx makes below its state directory, what lies deepest first. What else is there is the user's own, and then the
 * directory stays. */
static const char *const directories[] = {
    "leases\\quarantine",
    "leases",
    "workspaces\\quarantine",
    "workspaces",
};
static const char *const files[] = {"appcontainer.recipe", "trust", "trust.lock"};

struct purge {
    struct sbx_arena *arena;
    struct sbx_path state_dir;
    const char *remarks[REMARKS_MAX];
    size_t remark_count;
};

static void remark(struct purge *purge, const char *text)
{
    if (text != NULL && purge->remark_count < REMARKS_MAX) {
        purge->remarks[purge->remark_count++] = text;
    }
}

static bool is_gone(DWORD raw)
{
    return raw == ERROR_FILE_NOT_FOUND || raw == ERROR_PATH_NOT_FOUND;
}

/* One name below the state directory ("": itself). What cannot be removed is told. */
static void remove_name(struct purge *purge, const char *name, bool is_directory)
{
    wchar_t *wide = NULL;
    const char *path = name[0] == '\0'
                           ? purge->state_dir.text
                           : sbx_arena_printf(purge->arena, "%s\\%s", purge->state_dir.text, name);
    if (path == NULL || sbx_wide_path(purge->arena, path, &wide, NULL) != SBX_OK) {
        remark(purge, "not enough memory to remove everything");
        return;
    }
    bool is_removed =
        is_directory ? sbx_win()->RemoveDirectoryW(wide) : sbx_win()->DeleteFileW(wide);
    DWORD raw = is_removed ? ERROR_SUCCESS : GetLastError();
    if (!is_removed && !is_gone(raw)) {
        remark(purge, sbx_arena_printf(purge->arena, "\"%s\" stays: error %lu", path, raw));
    }
}

/* Its files, then itself. One that is not private to the user is left alone, as sbx never used it. */
static void remove_directory(struct purge *purge, const char *name)
{
    AUTO_STATE state = {0};
    struct sbx_err err = {0};
    const char *const *names = NULL;
    size_t count = 0;
    enum sbx_code code = sbx_state_find(purge->arena, purge->state_dir, name, &state, &err);
    if (code == SBX_E_NOT_FOUND) {
        return;
    }
    if (code == SBX_OK) {
        code = sbx_state_list(purge->arena, &state, "", FILES_MAX, &names, &count, &err);
    }
    for (size_t i = 0; i < count && code == SBX_OK; i++) {
        code = sbx_state_remove(&state, names[i], &err);
    }
    if (code != SBX_OK) {
        remark(purge, sbx_arena_copy(purge->arena, err.text, strlen(err.text)));
        return;
    }
    sbx_state_close(&state);
    state.handle = NULL;
    remove_name(purge, name, true);
}

/* ---- whether everything that they record is undone ------------------------------------------------ */

static enum sbx_code count_records(struct purge *purge, const char *directory, const char *suffix,
                                   size_t *count, struct sbx_err *err)
{
    AUTO_STATE state = {0};
    const char *const *names;
    struct sbx_err missing = {0};
    *count = 0;
    enum sbx_code code =
        sbx_state_find(purge->arena, purge->state_dir, directory, &state, &missing);
    if (code == SBX_E_NOT_FOUND) {
        return SBX_OK;
    }
    if (code != SBX_OK) {
        *err = missing;
        return code;
    }
    return sbx_state_list(purge->arena, &state, suffix, FILES_MAX, &names, count, err);
}

/* Profiles of dead runs. A record whose box still runs, or whose profile could not be deleted, must outlive us: it is all
 * that tells of it. */
static enum sbx_code end_leases(struct purge *purge, struct sbx_err *err)
{
    struct sbx_recovery recovery = {0};
    size_t leases = 0;
    enum sbx_code code = count_records(purge, "leases", ".lease", &leases, err);
    if (code == SBX_OK && leases > 0) {
        code = sbx_lease_recover(purge->arena, purge->state_dir, &recovery, err);
        if (code == SBX_OK) {
            code = count_records(purge, "leases", ".lease", &leases, err);
        }
    }
    if (code != SBX_OK || leases == 0) {
        return code;
    }
    (void)sbx_err_set(err, SBX_E_UNAVAILABLE,
                      "%zu boxes of this user run, or could not be undone%s%s", leases,
                      recovery.first_remark != NULL ? ": " : "",
                      recovery.first_remark != NULL ? recovery.first_remark : "");
    return sbx_err_hint(err, "end what runs in them, then run this again");
}

enum sbx_code sbx_workspace_purge(struct sbx_arena *arena, const struct sbx_context *context,
                                  const struct sbx_progress *progress, struct sbx_workspaces *out,
                                  struct sbx_err *err)
{
    struct purge purge = {.arena = arena, .state_dir = context->state_dir};
    struct sbx_workspaces removed = {0};
    struct sbx_path all = {.text = NULL};
    size_t records = 0;
    enum sbx_code code = end_leases(&purge, err);
    if (code == SBX_OK) {
        code = count_records(&purge, "workspaces", ".workspace", &records, err);
    }
    if (code == SBX_OK && records > 0) {
        code = sbx_workspace_remove(arena, context, all, progress, &removed, err);
    }
    if (code != SBX_OK) {
        return code;
    }
    for (size_t i = 0; i < removed.remark_count; i++) {
        remark(&purge, removed.remarks[i]);
    }
    for (size_t i = 0; i < sizeof directories / sizeof directories[0]; i++) {
        remove_directory(&purge, directories[i]);
    }
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        remove_name(&purge, files[i], false);
    }
    remove_name(&purge, "", true);
    const char **remarks = SBX_NEW_ARRAY(arena, const char *, purge.remark_count + 1);
    if (remarks == NULL) {
        return sbx_err_nomem(err);
    }
    for (size_t i = 0; i < purge.remark_count; i++) {
        remarks[i] = purge.remarks[i];
    }
    removed.remarks = remarks;
    removed.remark_count = purge.remark_count;
    *out = removed;
    return SBX_OK;
}
