/* What doctor looks at on Windows: what makes programs fail inside a box although the box itself works, and what
 * earlier runs left. Changes nothing. */
#include <stdlib.h>
#include <string.h>

#include "common/os.h"
#include "common/run/workspace.h"
#include "win/dacl.h"
#include "win/handle.h"
#include "win/pin.h"
#include "win/program.h"
#include "win/state.h"
#include "win/wide.h"

#include "common/base/banned.h"

enum { LISTED_MAX = 1000 };

struct checks {
    struct sbx_arena *arena;
    struct sbx_check *rows;
    size_t count;
};

static void add(struct checks *checks, const char *group, const char *id, bool is_ok,
                const char *summary, const char *remedy)
{
    if (checks->count < SBX_CHECKS_MAX) {
        checks->rows[checks->count++] = (struct sbx_check){
            group, id, is_ok, summary == NULL ? "out of memory" : summary, is_ok ? NULL : remedy};
    }
}

/* ---- places that packages must be able to look at -------------------------------------------- */

/* Does the list give every package these rights? What cannot be read does not. */
static bool admits(const wchar_t *path, ACCESS_MASK rights)
{
    AUTO_HANDLE handle = sbx_win()->CreateFileW(
        path, READ_CONTROL, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
        OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
    struct sbx_dacl *list = sbx_handle_is_open(handle) ? calloc(1, sizeof *list) : NULL;
    bool does = list != NULL && sbx_dacl_read(handle, "", list, NULL) == SBX_OK &&
                (sbx_dacl_packages(list, false) & rights) == rights;
    free(list);
    return does;
}

static void check_places(struct checks *checks, const struct sbx_context *context)
{
    const char *drive = sbx_arena_printf(checks->arena, "%.2s\\", context->system_root.text);
    wchar_t *wide;
    if (drive == NULL || sbx_wide_from(checks->arena, drive, &wide, NULL) != SBX_OK) {
        return;
    }
    bool sees_drive = admits(wide, FILE_READ_ATTRIBUTES);
    add(checks, "places", "drive-root", sees_drive,
        sees_drive
            ? "boxes can look at the root of the system drive"
            : "boxes cannot look at the root of the system drive: cmd with a full path, node and "
              "PowerShell stumble over it",
        "as administrator, once: icacls C:\\ /grant *S-1-15-2-1:(S,RC,RA,REA) "
        "/grant *S-1-15-2-2:(S,RC,RA,REA)");
    bool has_null = admits(L"\\\\.\\NUL", FILE_READ_DATA | FILE_WRITE_DATA);
    add(checks, "places", "null-device", has_null,
        has_null
            ? "boxes can open the NUL device"
            : "boxes cannot open the NUL device: programs that redirect to NUL by themselves fail",
        "Windows resets this at every boot; redirect in the caller, or to a file");
}

/* ---- programs -------------------------------------------------------------------------------- */

/* A Store alias in front of a real program: the most frequent reason for "cannot start". */
static void check_alias(struct checks *checks, const char *name, const char *remedy)
{
    static const char store[] = "WindowsApps";
    struct sbx_path found;
    struct sbx_err err = {0};
    enum sbx_code code =
        sbx_os_find_program(checks->arena, name, sbx_os_env(checks->arena, "PATH"), &found, &err);
    bool is_alias = code == SBX_OK ? strstr(found.text, store) != NULL
                                   : code == SBX_E_DENIED && strstr(err.text, store) != NULL;
    if (is_alias) {
        add(checks, "programs", name, false,
            sbx_arena_printf(checks->arena,
                             "the %s in PATH is a Store alias, which no box can start", name),
            remedy);
    }
}

static void check_programs(struct checks *checks)
{
    size_t before = checks->count;
    check_alias(checks, "pwsh", "install PowerShell 7 with its MSI");
    check_alias(checks, "python", "install Python from its own installer, for all users");
    check_alias(checks, "winget", "call it outside a box");
    if (checks->count == before) {
        add(checks, "programs", "aliases", true, "no Store alias stands in front of a program",
            NULL);
    }
}

/* ---- the project, the session, the past ------------------------------------------------------ */

static void check_project(struct checks *checks, const struct sbx_context *context)
{
    struct sbx_pin pin = {0};
    struct sbx_err err = {0};
    enum sbx_code code = sbx_pin_open(checks->arena, context->cwd, SBX_PIN_ROOT, &pin, &err);
    bool is_ok = code == SBX_OK;
    add(checks, "places", "working-directory", is_ok,
        is_ok ? "the working directory can be granted"
              : sbx_arena_printf(checks->arena, "%s", err.text),
        sbx_arena_printf(checks->arena, "%s", err.hint));
    sbx_pin_close(&pin);
}

static void check_job(struct checks *checks)
{
    BOOL is_in = FALSE;
    bool is_alone =
        sbx_win()->IsProcessInJob(sbx_win()->GetCurrentProcess(), NULL, &is_in) && !is_in;
    add(checks, "session", "outer-job", is_alone,
        is_alone ? "sbx is in no job of another program"
                 : "sbx is in a job of another program: where that has desktop limits, boxes "
                   "cannot start",
        "start sbx from an ordinary console if boxes fail with code 5");
}

static size_t count_files(struct checks *checks, const struct sbx_context *context,
                          const char *directory, const char *suffix)
{
    AUTO_STATE state = {0};
    const char *const *names;
    size_t count = 0;
    struct sbx_err err;
    if (sbx_state_find(checks->arena, context->state_dir, directory, &state, &err) == SBX_OK &&
        sbx_state_list(checks->arena, &state, suffix, LISTED_MAX, &names, &count, &err) != SBX_OK) {
        count = 0;
    }
    return count;
}

static void check_leases(struct checks *checks, const struct sbx_context *context)
{
    size_t leases = count_files(checks, context, "leases", ".lease");
    size_t quarantined = count_files(checks, context, "leases\\quarantine", ".lease");
    const char *text = sbx_arena_printf(
        checks->arena, "%zu leases of boxes that run or were killed, %zu unreadable", leases,
        quarantined);
    add(checks, "leftovers", "leases", quarantined == 0, text,
        sbx_arena_printf(checks->arena, "look at and remove \"%s\\leases\\quarantine\"",
                         context->state_dir.text));
}

/* Grants that were not finished: the next run that grants something undoes or finishes them. */
static void check_workspaces(struct checks *checks, const struct sbx_context *context)
{
    struct sbx_workspaces list = {0};
    struct sbx_err err = {0};
    size_t interrupted = 0;
    if (sbx_workspace_list(checks->arena, context, &list, &err) != SBX_OK) {
        const char *why = sbx_arena_copy(checks->arena, err.text, strlen(err.text));
        add(checks, "leftovers", "workspaces", false, why, "look at the directory it names");
        return;
    }
    for (size_t i = 0; i < list.count; i++) {
        interrupted += sbx_text_eq(list.items[i].state, "complete") ? 0 : 1;
    }
    size_t quarantined = count_files(checks, context, "workspaces\\quarantine", ".workspace");
    add(checks, "leftovers", "workspaces", interrupted + quarantined == 0,
        sbx_arena_printf(checks->arena,
                         "%zu places with access entries of sbx, %zu of them interrupted, "
                         "%zu unreadable records",
                         list.count, interrupted, quarantined),
        "sbx workspace list shows them, sbx workspace remove takes them away");
}

size_t sbx_os_checks(struct sbx_arena *arena, const struct sbx_context *context,
                     struct sbx_check out[SBX_CHECKS_MAX])
{
    struct checks checks = {arena, out, 0};
    check_places(&checks, context);
    check_project(&checks, context);
    check_programs(&checks);
    check_job(&checks);
    check_leases(&checks, context);
    check_workspaces(&checks, context);
    return checks.count;
}
