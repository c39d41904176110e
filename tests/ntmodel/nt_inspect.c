/* What a test asks after a run: what is left, and what changed. */
#include "tests/ntmodel/nt_internal.h"

#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "tests/ntmodel/nt_layout.h"

#include "common/base/banned.h"

enum { GRACE_MS = 1000, SNAPSHOT_PATH = 512 };

static void begin(struct nt_model *model)
{
    model->report_size = 0;
    nt_say(model, "%s", "");
    model->report = nt_grow(model->report, &model->report_room, 0, sizeof(char));
    model->report[0] = '\0';
}

/* ---- entries on files ---------------------------------------------------------------------------------- */

static uint64_t digest(const unsigned char *bytes, size_t size)
{
    uint64_t hash = 0xCBF29CE484222325ull;
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ bytes[i]) * 0x100000001B3ull;
    }
    return hash;
}

/* One package's, or a capability made from a name: nothing that Windows puts there itself. */
static bool is_ours(const unsigned char *sid)
{
    DWORD parts[2];
    memcpy(parts, sid + 8, sizeof parts);
    return nt_sid_is_package(sid) ||
           (nt_sid_is_capability(sid) && sid[1] == 10 && parts[1] == 1024);
}

static void path_of(const struct nt_node *node, const struct nt_entry *entry, char *out, size_t max)
{
    wchar_t wide[NT_PATH_MAX];
    (void)nt_node_path(node, entry, wide);
    size_t len = 0;
    if (max > 2) {
        out[len++] = (char)node->volume->letter;
        out[len++] = ':';
    }
    for (size_t i = 0; wide[i] != 0 && len + 1 < max; i++) {
        out[len++] = wide[i] < 0x80 ? (char)wide[i] : '?';
    }
    out[len] = '\0';
}

static void say_node(void *state, struct nt_node *node, struct nt_entry *entry)
{
    struct nt_model *model = state;
    char path[SNAPSHOT_PATH];
    path_of(node, entry, path, sizeof path);
    if (!node->was_there) {
        nt_say(model, "%s: %s\n", nt_is_directory(node) ? "directory" : "file", path);
    }
    struct nt_view view;
    if (node->descriptor == NULL ||
        node->settled_acl == digest(node->descriptor, node->descriptor_size) ||
        !nt_view_descriptor(node->descriptor, &view) || view.dacl.bytes == NULL) {
        return;
    }
    struct nt_ace ace;
    for (size_t at = 0; nt_acl_next(&view.dacl, &at, &ace);) {
        if (ace.sid != NULL && is_ours(ace.sid)) {
            char sid[NT_SID_TEXT_MAX];
            (void)nt_sid_print(ace.sid, sid, sizeof sid);
            nt_say(model, "entry: %s %s\n", path, sid);
        }
    }
}

static void settle_node(void *state, struct nt_node *node, struct nt_entry *entry)
{
    (void)state;
    (void)entry;
    node->was_there = true;
    node->settled_acl =
        node->descriptor == NULL ? 0 : digest(node->descriptor, node->descriptor_size);
}

void nt_model_settle(struct nt_model *model)
{
    nt_lock(model);
    nt_each_node(model, settle_node, model);
    nt_unlock(model);
}

/* ---- what is left ------------------------------------------------------------------------------------------ */

static const char *const kind_names[] = {
    [NT_EVENT] = "event",     [NT_MUTEX] = "mutex",   [NT_THREAD] = "thread",
    [NT_PROCESS] = "process", [NT_JOB] = "job",       [NT_PORT] = "completion port",
    [NT_TOKEN] = "token",     [NT_FILE] = "file",     [NT_FIND] = "listing",
    [NT_PIPE] = "pipe",       [NT_DEVICE] = "device", [NT_STATION] = "window station",
    [NT_DESKTOP] = "desktop", [NT_ANY] = "?",
};

static void say_handles(struct nt_model *model)
{
    const struct nt_process *launcher = model->launcher;
    for (size_t i = launcher->own_handles; i < launcher->handles.count; i++) {
        const struct nt_object *object = launcher->handles.rows[i].object;
        if (object == NULL) {
            continue;
        }
        char path[SNAPSHOT_PATH] = "";
        if (object->kind == NT_FILE) {
            const struct nt_file *file = (const struct nt_file *)object;
            path_of(file->node, file->entry, path, sizeof path);
        }
        nt_say(model, "handle: %zu, a %s %s\n", (i + 1) * 4, kind_names[object->kind], path);
    }
}

static void say_processes(struct nt_model *model)
{
    for (const struct nt_process *process = model->processes; process != NULL;
         process = process->next) {
        if (!process->is_launcher && !process->is_ended) {
            nt_say(model, "process: %lu, %ls\n", process->id, process->image);
        }
    }
}

/* Threads that have said their last word may need a moment to be over. */
static void await_threads(struct nt_model *model)
{
    uint64_t until = nt_until(model, GRACE_MS);
    while (model->launcher->threads > 0 && nt_sleep_plain(model, until)) {
    }
    if (model->launcher->threads > 0) {
        nt_say(model, "threads: %u of the launcher\n", model->launcher->threads);
    }
}

const char *nt_model_leftovers(struct nt_model *model)
{
    nt_lock(model);
    begin(model);
    await_threads(model);
    say_processes(model);
    say_handles(model);
    for (const struct nt_profile *at = model->profiles; at != NULL; at = at->next) {
        nt_say(model, "profile: %ls\n", at->name);
    }
    nt_each_node(model, say_node, model);
    for (const struct nt_mutex *mutex = model->mutexes; mutex != NULL; mutex = mutex->next) {
        if (mutex->owner != NULL) {
            nt_say(model, "mutex: %ls is held\n",
                   mutex->object.name == NULL ? L"?" : mutex->object.name);
        }
    }
    if (!model->launcher->is_killed) { /* a dead one's memory is nobody's */
        for (size_t i = 0; i < model->local_count; i++) {
            nt_say(model, "memory: of %s\n", sbx_winapi_rows[model->locals[i].by].name);
        }
    }
    for (const struct nt_pseudo *at = model->pseudos; at != NULL; at = at->next) {
        nt_say(model, "pseudo console\n");
    }
    if (model->handler_count > 0) {
        nt_say(model, "console handler\n");
    }
    if (!model->launcher->is_ended && model->launcher->station != model->first_station) {
        nt_say(model, "station: %ls instead of the first\n", model->launcher->station->name);
    }
    if (model->bad_handles > 0) {
        nt_say(model, "bad handles: %u uses\n", model->bad_handles);
    }
    if (model->not_modelled > 0) {
        nt_say(model, "not modelled: %u calls\n", model->not_modelled);
    }
    nt_unlock(model);
    return model->report;
}

unsigned nt_model_processes(struct nt_model *model)
{
    nt_lock(model);
    unsigned count = 0;
    for (const struct nt_process *process = model->processes; process != NULL;
         process = process->next) {
        count += !process->is_launcher && !process->is_ended;
    }
    nt_unlock(model);
    return count;
}

unsigned nt_model_handles(struct nt_model *model)
{
    nt_lock(model);
    unsigned count = 0;
    const struct nt_process *launcher = model->launcher;
    for (size_t i = launcher->own_handles; i < launcher->handles.count; i++) {
        count += launcher->handles.rows[i].object != NULL;
    }
    nt_unlock(model);
    return count;
}

/* ---- access lists ------------------------------------------------------------------------------------------ */

struct snapshot_row {
    const struct nt_volume *volume;
    uint64_t id;
    uint64_t acl;
    char path[SNAPSHOT_PATH];
};

struct nt_snapshot {
    size_t count;
    struct snapshot_row rows[];
};

static void count_node(void *state, struct nt_node *node, struct nt_entry *entry)
{
    (void)node;
    (void)entry;
    ++*(size_t *)state;
}

static void take(void *state, struct nt_node *node, struct nt_entry *entry)
{
    struct nt_snapshot *snapshot = state;
    struct snapshot_row *row = &snapshot->rows[snapshot->count++];
    row->volume = node->volume;
    row->id = node->id;
    row->acl = node->descriptor == NULL ? 0 : digest(node->descriptor, node->descriptor_size);
    path_of(node, entry, row->path, sizeof row->path);
}

struct nt_snapshot *nt_model_acl_snapshot(struct nt_model *model)
{
    nt_lock(model);
    size_t count = 0;
    nt_each_node(model, count_node, &count);
    struct nt_snapshot *snapshot = nt_alloc(sizeof *snapshot + count * sizeof snapshot->rows[0]);
    nt_each_node(model, take, snapshot);
    nt_unlock(model);
    return snapshot;
}

const char *nt_model_acl_compare(struct nt_model *model, const struct nt_snapshot *snapshot)
{
    struct nt_snapshot *now = nt_model_acl_snapshot(model);
    nt_lock(model);
    begin(model);
    for (size_t i = 0; i < now->count; i++) {
        const struct snapshot_row *row = &now->rows[i];
        for (size_t j = 0; j < snapshot->count; j++) {
            /* Nearly always in the same place of both. */
            const struct snapshot_row *old = &snapshot->rows[(i + j) % snapshot->count];
            if (old->id == row->id && old->volume == row->volume) {
                if (old->acl != row->acl) {
                    nt_say(model, "%s\n", row->path);
                }
                break;
            }
        }
    }
    nt_unlock(model);
    free(now);
    return model->report;
}
