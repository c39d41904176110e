/* sbx workspace: what grants left on the disk, shown, made and taken away on request. */
#include "common/run/workspace.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "win/grant_internal.h"
#include "win/handle.h"

#include "common/base/banned.h"

/* ---- Ctrl-C -------------------------------------------------------------------------------- */

static atomic_bool is_interrupted;

static BOOL WINAPI on_event(DWORD event)
{
    (void)event;
    atomic_store(&is_interrupted, true);
    return TRUE;
}

/* The caller's progress, and Ctrl-C. */
struct watched {
    const struct sbx_progress *outer;
    struct sbx_progress hook;
};

static void tell(void *state, uint64_t done, const char *path)
{
    const struct watched *watched = state;
    if (watched->outer != NULL && watched->outer->tell != NULL) {
        watched->outer->tell(watched->outer->state, done, path);
    }
}

static bool is_cancelled(void *state)
{
    const struct watched *watched = state;
    return atomic_load(&is_interrupted) ||
           (watched->outer != NULL && watched->outer->is_cancelled != NULL &&
            watched->outer->is_cancelled(watched->outer->state));
}

static void watch(struct watched *watched, const struct sbx_progress *outer)
{
    atomic_store(&is_interrupted, false);
    *watched = (struct watched){
        .outer = outer, .hook = {.tell = tell, .is_cancelled = is_cancelled, .state = watched}};
    (void)sbx_win()->SetConsoleCtrlHandler(on_event, TRUE);
}

static void unwatch(struct watched *watched)
{
    (void)watched;
    (void)sbx_win()->SetConsoleCtrlHandler(on_event, FALSE);
}

/* ---- records as they are shown -------------------------------------------------------------- */

static struct sbx_workspace shown(const struct sbx_record *record)
{
    return (struct sbx_workspace){.path = record->path,
                                  .is_write = record->is_write,
                                  .capability = record->capability,
                                  .state =
                                      sbx_name_text(sbx_record_state_names, (int)record->state),
                                  .objects = record->counts.objects,
                                  .narrowed = record->counts.narrowed + record->counts.hard_links,
                                  .since = record->since};
}

static int by_path(const void *left, const void *right)
{
    const struct sbx_workspace *a = left;
    const struct sbx_workspace *b = right;
    int order = strcmp(a->path, b->path);
    return order != 0 ? order : strcmp(a->capability, b->capability);
}

static enum sbx_code hand_out(const struct sbx_grant_maker *maker, struct sbx_workspace *items,
                              size_t count, struct sbx_workspaces *out)
{
    if (count > 1) {
        qsort(items, count, sizeof *items, by_path);
    }
    *out = (struct sbx_workspaces){.items = items,
                                   .count = count,
                                   .remarks = maker->remarks,
                                   .remark_count = maker->remark_count};
    return SBX_OK;
}

static void close_maker(struct sbx_grant_maker *maker)
{
    sbx_handle_close(&maker->lock);
    sbx_state_close(&maker->state);
}

/* Without a directory there are no records: SBX_OK with none. */
static enum sbx_code open_records(struct sbx_grant_maker *maker, const struct sbx_context *context,
                                  struct sbx_record_file **records, size_t *count,
                                  struct sbx_err *err)
{
    struct sbx_err missing = {0};
    enum sbx_code code =
        sbx_state_find(maker->arena, context->state_dir, "workspaces", &maker->state, &missing);
    *records = NULL;
    *count = 0;
    if (code == SBX_E_NOT_FOUND) {
        return SBX_OK;
    }
    if (code != SBX_OK) {
        if (err != NULL) {
            *err = missing;
        }
        return code;
    }
    return sbx_grant_records(maker, records, count, err);
}

enum sbx_code sbx_workspace_list(struct sbx_arena *arena, const struct sbx_context *context,
                                 struct sbx_workspaces *out, struct sbx_err *err)
{
    SBX_CLEANUP(close_maker) struct sbx_grant_maker maker = {.arena = arena};
    struct sbx_record_file *records;
    size_t count;
    enum sbx_code code = open_records(&maker, context, &records, &count, err);
    if (code != SBX_OK) {
        return code;
    }
    struct sbx_workspace *items = SBX_NEW_ARRAY(arena, struct sbx_workspace, count);
    if (items == NULL) {
        return sbx_err_nomem(err);
    }
    for (size_t i = 0; i < count; i++) {
        items[i] = shown(&records[i].record);
    }
    return hand_out(&maker, items, count, out);
}

/* ---- adding --------------------------------------------------------------------------------- */

static bool is_selected(const struct sbx_grants *grants, const char *capability)
{
    for (size_t i = 0; i < grants->count; i++) {
        if (sbx_text_eq(grants->capabilities[i].name, capability)) {
            return true;
        }
    }
    return false;
}

enum sbx_code sbx_workspace_add(struct sbx_arena *arena, const struct sbx_policy *policy,
                                const struct sbx_progress *progress, struct sbx_workspaces *out,
                                struct sbx_err *err)
{
    enum sbx_code code = sbx_winapi_check(sbx_win(), err);
    if (code != SBX_OK) {
        return code;
    }
    SBX_CLEANUP(unwatch) struct watched watched;
    struct sbx_grants grants = {0};
    struct sbx_workspaces all = {0};
    watch(&watched, progress);
    struct sbx_grant_request request = {.policy = policy,
                                        .state_dir = policy->context.state_dir,
                                        .progress = &watched.hook,
                                        .walks_again = true};
    code = sbx_grants_make(arena, &request, &grants, err);
    if (code != SBX_OK) {
        return code;
    }
    sbx_grants_close(&grants);
    code = sbx_workspace_list(arena, &policy->context, &all, err);
    struct sbx_workspace *items = SBX_NEW_ARRAY(arena, struct sbx_workspace, all.count);
    size_t count = 0;
    if (code != SBX_OK || items == NULL) {
        return code != SBX_OK ? code : sbx_err_nomem(err);
    }
    for (size_t i = 0; i < all.count; i++) {
        if (is_selected(&grants, all.items[i].capability)) {
            items[count++] = all.items[i];
        }
    }
    *out = (struct sbx_workspaces){.items = items,
                                   .count = count,
                                   .remarks = grants.remarks,
                                   .remark_count = grants.remark_count};
    return SBX_OK;
}

/* ---- removing ------------------------------------------------------------------------------- */

static bool is_meant(const struct sbx_record *record, struct sbx_path path)
{
    struct sbx_path here = {record->path, strlen(record->path), SBX_PATH_WINDOWS};
    return path.text == NULL || sbx_path_eq(here, path);
}

static enum sbx_code remove_all(struct sbx_grant_maker *maker,
                                const struct sbx_record_file *records, size_t count,
                                struct sbx_path path, struct sbx_workspace *items, size_t *used,
                                struct sbx_err *err)
{
    for (size_t i = 0; i < count; i++) {
        struct sbx_record_counts counts = {0};
        if (!is_meant(&records[i].record, path)) {
            continue;
        }
        enum sbx_code code =
            sbx_grant_take_back(maker, records[i].file, &records[i].record, &counts, err);
        if (code != SBX_OK) {
            return code;
        }
        items[*used] = shown(&records[i].record);
        items[(*used)++].objects = counts.objects;
        if (counts.refused > 0) {
            sbx_grant_remark(maker, "%llu objects below \"%s\" could not be opened or changed",
                             (unsigned long long)counts.refused, records[i].record.path);
        }
    }
    return SBX_OK;
}

enum sbx_code sbx_workspace_remove(struct sbx_arena *arena, const struct sbx_context *context,
                                   struct sbx_path path, const struct sbx_progress *progress,
                                   struct sbx_workspaces *out, struct sbx_err *err)
{
    SBX_CLEANUP(unwatch) struct watched watched;
    SBX_CLEANUP(close_maker)
    struct sbx_grant_maker maker = {.arena = arena, .progress = &watched.hook};
    struct sbx_record_file *records = NULL;
    size_t count = 0;
    size_t used = 0;
    watch(&watched, progress);
    enum sbx_code code = open_records(&maker, context, &records, &count, err);
    if (code == SBX_OK && count > 0) {
        code = sbx_grant_lock(&maker, err);
    }
    struct sbx_workspace *items = SBX_NEW_ARRAY(arena, struct sbx_workspace, count);
    if (code == SBX_OK && items == NULL) {
        code = sbx_err_nomem(err);
    }
    if (code == SBX_OK) {
        code = remove_all(&maker, records, count, path, items, &used, err);
    }
    if (code != SBX_OK) {
        return code;
    }
    if (used == 0 && path.text != NULL) {
        (void)sbx_err_set(err, SBX_E_NOT_FOUND, "\"%s\" has no entries of sbx", path.text);
        return sbx_err_hint(err, "sbx workspace list shows what has");
    }
    return hand_out(&maker, items, used, out);
}
