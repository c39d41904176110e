/* One granted root: its entries are made the first time; after that it is only checked. */
#include <string.h>
#include <wchar.h>

#include "win/fault.h"
#include "win/grant_internal.h"
#include "win/handle.h"
#include "win/sid.h"
#include "win/wide.h"

#include "common/base/banned.h"

#define LOCK_WAIT_MS (10u * 60 * 1000)
#define LOCK_STEP_MS 250
/* How far the journal may run ahead of the record before that is written again. */
#define USN_STEP ((uint64_t)1 << 20)

enum sbx_code sbx_grant_lock(struct sbx_grant_maker *maker, struct sbx_err *err)
{
    struct sbx_grant_tool tool = {.progress = maker->progress, .guard = maker->guard};
    struct sbx_err busy = {0};
    enum sbx_code code = SBX_OK;
    for (DWORD waited = 0; maker->lock == NULL && waited < LOCK_WAIT_MS; waited += LOCK_STEP_MS) {
        code = sbx_state_lock(&maker->state, LOCK_STEP_MS, &maker->lock, &busy);
        if (code != SBX_E_UNAVAILABLE) {
            break;
        }
        code = sbx_grant_tool_tell(&tool, "waiting for another sbx", err);
        if (code != SBX_OK) {
            return code;
        }
        code = SBX_E_UNAVAILABLE;
    }
    if (code != SBX_OK && err != NULL) {
        *err = busy;
    }
    return code;
}

/* ---- the record ---------------------------------------------------------------------------- */

/* The directories above the root, up to the drive. */
static enum sbx_code list_above(struct sbx_arena *arena, struct sbx_path path,
                                struct sbx_record *record, struct sbx_err *err)
{
    size_t depth = sbx_path_depth(path);
    size_t count = depth > SBX_RECORD_ABOVE_MAX ? SBX_RECORD_ABOVE_MAX : depth;
    record->above = SBX_NEW_ARRAY(arena, const char *, count);
    if (record->above == NULL) {
        return sbx_err_nomem(err);
    }
    for (record->above_count = 0; record->above_count < count; record->above_count++) {
        path = sbx_path_up(path);
        const char *copy = sbx_arena_copy(arena, path.text, path.len);
        if (copy == NULL) {
            return sbx_err_nomem(err);
        }
        record->above[record->above_count] = copy;
    }
    return SBX_OK;
}

static enum sbx_code new_record(struct sbx_grant_maker *maker, const struct sbx_grant_root *root,
                                struct sbx_record *out, struct sbx_err *err)
{
    struct sbx_record record = {.kind = SBX_RECORD_WORKSPACE,
                                .state = SBX_RECORD_ADDING,
                                .since = sbx_state_now(),
                                .capability = root->capability.name,
                                .sid = sbx_sid_text(maker->arena, root->capability.sid),
                                .is_write = root->rule->access == SBX_ACCESS_WRITE,
                                .is_directory = root->pin.is_directory,
                                .volume = root->pin.volume,
                                .path = root->pin.path.text};
    memcpy(record.file, root->pin.id.Identifier, sizeof record.file);
    enum sbx_code code = sbx_owner_self(maker->arena, &record.owner, err);
    if (code == SBX_OK) {
        code = list_above(maker->arena, root->pin.path, &record, err);
    }
    if (code == SBX_OK) {
        *out = record;
    }
    return code;
}

static bool is_complete(const struct sbx_grant_root *root, const struct sbx_record *record)
{
    return record != NULL && record->state == SBX_RECORD_COMPLETE &&
           record->volume == root->pin.volume &&
           memcmp(record->file, root->pin.id.Identifier, sizeof record->file) == 0 &&
           sbx_text_eq(record->path, root->pin.path.text);
}

/* Is the permission still on the root? */
static enum sbx_code has_entry(const struct sbx_grant_root *root, struct sbx_grant_tool *tool,
                               bool *out, struct sbx_err *err)
{
    struct sbx_ace ace = {
        .type = ACCESS_ALLOWED_ACE_TYPE,
        .flags = root->pin.is_directory ? OBJECT_INHERIT_ACE | CONTAINER_INHERIT_ACE : 0,
        .mask = root->rule->access == SBX_ACCESS_WRITE ? SBX_GRANT_WRITE : SBX_GRANT_READ,
        .sid = root->capability.sid};
    enum sbx_code code = sbx_dacl_read(root->pin.handle, root->pin.path.text, &tool->lists[0], err);
    *out = code == SBX_OK && sbx_dacl_has(&tool->lists[0], &ace);
    return code;
}

/* ---- the first time ------------------------------------------------------------------------ */

static struct sbx_walk walk_of(const struct sbx_grant_root *root, HANDLE directory,
                               enum sbx_walk_kind kind)
{
    return (struct sbx_walk){.kind = kind,
                             .view = &root->view,
                             .directory = directory,
                             .path = root->rule->path.text,
                             .access = root->rule->access};
}

static enum sbx_code open_root(const struct sbx_grant_root *root, HANDLE *out, struct sbx_err *err)
{
    FILE_ID_INFO info;
    AUTO_HANDLE place = sbx_grant_open(root->pin.wide, root->pin.is_directory);
    if (!sbx_handle_is_open(place)) {
        DWORD raw = GetLastError();
        (void)sbx_err_win32(err, raw, "CreateFileW", "cannot change the access list of \"%s\"",
                            root->pin.path.text);
        return sbx_err_hint(err, "grant a directory that is yours, or become its owner");
    }
    if (!sbx_win()->GetFileInformationByHandleEx(place, FileIdInfo, &info, sizeof info)) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "GetFileInformationByHandleEx", "cannot look at \"%s\"",
                             root->pin.path.text);
    }
    if (memcmp(&info.FileId, &root->pin.id, sizeof info.FileId) != 0) {
        return sbx_err_set(err, SBX_E_VERIFY, "\"%s\" was replaced while it was opened",
                           root->pin.path.text);
    }
    *out = SBX_TAKE(place, NULL);
    return SBX_OK;
}

/* Programs ask of every directory on the way whether it is there. Where the user may not say so, they get no
 * answer. */
static enum sbx_code give_above(struct sbx_grant_maker *maker, struct sbx_grant_tool *tool,
                                const struct sbx_record *record, struct sbx_err *err)
{
    const char *refused = NULL;
    for (size_t i = 0; i < record->above_count; i++) {
        AUTO_ARENA scratch;
        sbx_arena_init(&scratch, (size_t)512 << 10);
        wchar_t *wide = NULL;
        enum sbx_grant_result result = SBX_RESULT_SAME;
        enum sbx_code code = sbx_wide_path(&scratch, record->above[i], &wide, err);
        if (code != SBX_OK) {
            return code;
        }
        AUTO_HANDLE directory = sbx_grant_open(wide, false);
        struct sbx_grant_object object = {
            .handle = directory, .path = record->above[i], .is_directory = true};
        struct sbx_err failed = {0};
        bool is_done = sbx_handle_is_open(directory) &&
                       sbx_grant_apply(tool, &object, SBX_PLACE_ABOVE, SBX_ACCESS_NONE, &result,
                                       &failed) == SBX_OK;
        refused = is_done ? refused : record->above[i];
    }
    if (refused != NULL) {
        sbx_grant_remark(maker,
                         "the box cannot ask about \"%s\" above \"%s\": its access list is not "
                         "yours to change; some programs want to",
                         refused, record->path);
    }
    return SBX_OK;
}

static void remark_counts(struct sbx_grant_maker *maker, const struct sbx_grant_root *root,
                          const struct sbx_record_counts *counts)
{
    const struct {
        uint64_t count;
        const char *what;
    } rows[] = {
        {counts->hard_links, "with several names can only be read: they may have one elsewhere"},
        {counts->own_lists,
         "with access lists of their own were left alone: the box has no access"},
        {counts->links, "that are links or placeholders were left alone"},
        {counts->refused, "could not be changed: the box has no access"},
    };
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        if (rows[i].count > 0) {
            sbx_grant_remark(maker, "%llu objects below \"%s\" %s",
                             (unsigned long long)rows[i].count, root->pin.path.text, rows[i].what);
        }
    }
}

/* What was made while the walk went on got the permission by itself, a protected name among it. */
static enum sbx_code catch_up(const struct sbx_grant_root *root, struct sbx_grant_tool *tool,
                              HANDLE place, uint64_t journal, uint64_t usn,
                              struct sbx_record *record, bool *by_journal, struct sbx_err *err)
{
    AUTO_JOURNAL now = {0};
    bool complete = false;
    enum sbx_code code = SBX_OK;
    sbx_journal_open(&root->pin, &now);
    if (journal != 0 && now.id == journal) {
        code = sbx_journal_catch_up(tool, &now, usn, &root->pin, &root->view, &complete, err);
    }
    if (code == SBX_OK && !complete) {
        struct sbx_walk names = walk_of(root, place, SBX_WALK_NAMES);
        code = sbx_grant_walk(tool, &names, err);
    }
    record->journal = now.id;
    record->usn = now.id == 0 ? 0 : now.next;
    *by_journal = complete;
    return code;
}

static enum sbx_code give(struct sbx_grant_maker *maker, const struct sbx_grant_root *root,
                          struct sbx_grant_tool *tool, struct sbx_record *record,
                          struct sbx_err *err)
{
    AUTO_HANDLE place = NULL;
    AUTO_JOURNAL before = {0};
    enum sbx_grant_result result = SBX_RESULT_SAME;
    bool by_journal;
    sbx_journal_open(&root->pin, &before);
    enum sbx_code code = open_root(root, &place, err);
    struct sbx_grant_object object = {
        .handle = place, .path = root->pin.path.text, .is_directory = root->pin.is_directory};
    tool->counts.objects = 1;
    if (code == SBX_OK) {
        code = sbx_grant_apply(tool, &object, SBX_PLACE_ROOT, root->rule->access, &result, err);
    }
    if (code == SBX_OK && result == SBX_RESULT_OWN_LIST) {
        (void)sbx_err_set(err, SBX_E_UNSUPPORTED, "\"%s\" has no access list", root->pin.path.text);
        return sbx_err_hint(err, "give it one: icacls \"%s\" /reset", root->pin.path.text);
    }
    if (code == SBX_OK && root->pin.is_directory) {
        struct sbx_walk all = walk_of(root, place, SBX_WALK_GIVE);
        code = sbx_grant_walk(tool, &all, err);
    }
    if (code == SBX_OK) {
        code = give_above(maker, tool, record, err);
    }
    record->counts = tool->counts;
    if (code == SBX_OK && root->pin.is_directory) {
        code = catch_up(root, tool, place, before.id, before.next, record, &by_journal, err);
    }
    return code;
}

/* What was cancelled is undone to its end. */
static void undo(struct sbx_grant_maker *maker, const struct sbx_grant_root *root,
                 const struct sbx_record *record, bool has_changed, struct sbx_err *err)
{
    struct sbx_grant_maker quiet = *maker;
    struct sbx_err left = {0};
    quiet.progress = NULL;
    enum sbx_code code = has_changed ? sbx_grant_take_back(&quiet, root->file, record, NULL, &left)
                                     : sbx_state_remove(&maker->state, root->file, &left);
    if (code != SBX_OK && err != NULL) {
        (void)sbx_err_hint(
            err, "entries are left below it (%.200s); sbx workspace remove takes them away",
            left.text);
    }
}

static enum sbx_code add(struct sbx_grant_maker *maker, const struct sbx_grant_root *root,
                         const struct sbx_record *old, struct sbx_err *err)
{
    AUTO_TOOL tool = {0};
    struct sbx_record record = {0};
    enum sbx_code code =
        sbx_grant_tool_open(root->capability.sid, maker->progress, maker->guard, &tool, err);
    if (code == SBX_OK) {
        code = sbx_dacl_read(root->pin.handle, root->pin.path.text, &tool.lists[0], err);
    }
    if (code == SBX_OK) {
        /* A record that was lost does not make entries that are there go away. */
        tool.is_fresh = old == NULL && sbx_dacl_count_of(&tool.lists[0], root->capability.sid) == 0;
        code = new_record(maker, root, &record, err);
    }
    if (code == SBX_OK && old != NULL && !sbx_text_eq(old->path, record.path)) {
        code = sbx_grant_take_above(&tool, old, err); /* it was moved here */
    }
    if (code != SBX_OK) {
        return code;
    }
    record.since = old == NULL ? record.since : old->since;
    code = sbx_state_write(&maker->state, root->file, &record, err);
    if (code != SBX_OK) {
        return code;
    }
    code = give(maker, root, &tool, &record, err);
    if (code == SBX_OK) {
        record.state = SBX_RECORD_COMPLETE;
        code = sbx_state_write(&maker->state, root->file, &record, err);
    }
    if (code == SBX_OK) {
        remark_counts(maker, root, &record.counts);
        return SBX_OK;
    }
    /* One that was there before stays as it is, "adding": not used, and finished or undone by the next sbx. */
    if (old == NULL) {
        undo(maker, root, &record, tool.has_changed, err);
    }
    return code;
}

/* ---- every other time ---------------------------------------------------------------------- */

struct opened {
    struct sbx_grant_maker *maker;
    const struct sbx_grant_root *root;
    struct sbx_record *record;
};

/* Under the lock: has nobody taken it away since it was read? */
static bool is_still_there(struct sbx_grant_maker *maker, const struct sbx_grant_root *root)
{
    struct sbx_record now;
    struct sbx_err ignored = {0};
    return sbx_state_read(maker->arena, &maker->state, root->file, &now, &ignored) == SBX_OK &&
           now.state == SBX_RECORD_COMPLETE;
}

/* Before the first change to a root that is complete: a crash in the middle must not leave it called so. */
static enum sbx_code begin_change(void *state, struct sbx_err *err)
{
    struct opened *opened = state;
    enum sbx_code code = sbx_grant_lock(opened->maker, err);
    if (code == SBX_OK && !is_still_there(opened->maker, opened->root)) {
        (void)sbx_err_set(err, SBX_E_UNAVAILABLE, "the grant of \"%s\" was taken away meanwhile",
                          opened->root->pin.path.text);
        return sbx_err_hint(err, "run it again");
    }
    if (code == SBX_OK) {
        code = sbx_owner_self(opened->maker->arena, &opened->record->owner, err);
    }
    opened->record->state = SBX_RECORD_ADDING;
    return code == SBX_OK
               ? sbx_state_write(&opened->maker->state, opened->root->file, opened->record, err)
               : code;
}

/* Names directly in the root are asked for each time, whatever the journal says. */
static enum sbx_code look_at_names(const struct sbx_grant_root *root, struct sbx_grant_tool *tool,
                                   struct sbx_err *err)
{
    AUTO_ARENA scratch;
    sbx_arena_init(&scratch, (size_t)8 << 20);
    struct sbx_walk walk = walk_of(root, root->pin.handle, SBX_WALK_NAMES);
    enum sbx_code code = SBX_OK;
    walk.is_flat = true;
    for (size_t i = 0; i < root->view.count && code == SBX_OK; i++) {
        struct sbx_str name = sbx_path_name(root->view.names[i]);
        wchar_t *wide = NULL;
        if (sbx_path_is_glob(name)) {
            continue;
        }
        code = sbx_wide_from(&scratch, name.ptr, &wide, err);
        if (code == SBX_OK) {
            code = sbx_grant_look_at(tool, &walk, wide, err);
        }
    }
    return code;
}

static enum sbx_code note_progress(struct sbx_grant_maker *maker, const struct sbx_grant_root *root,
                                   const struct sbx_record *old, struct sbx_record *record,
                                   bool has_changed, struct sbx_err *err)
{
    bool is_far = record->journal != old->journal || record->usn > old->usn + USN_STEP;
    struct sbx_err busy = {0};
    record->state = SBX_RECORD_COMPLETE;
    if (has_changed) {
        return sbx_state_write(&maker->state, root->file, record, err);
    }
    /* Nothing depends on it: without the lock, or the write, the next run reads the same again. */
    bool is_held = is_far && (maker->lock != NULL ||
                              sbx_state_lock(&maker->state, 0, &maker->lock, &busy) == SBX_OK);
    if (is_held && is_still_there(maker, root)) {
        (void)!sbx_state_write(&maker->state, root->file, record, &busy);
    }
    return SBX_OK;
}

static enum sbx_code check(struct sbx_grant_maker *maker, const struct sbx_grant_root *root,
                           const struct sbx_record *old, struct sbx_err *err)
{
    AUTO_TOOL tool = {0};
    struct sbx_record record = *old;
    struct opened opened = {.maker = maker, .root = root, .record = &record};
    bool by_journal = true;
    if (!root->pin.is_directory || (root->view.count == 0 && !root->view.minds_all)) {
        return SBX_OK; /* nothing below it can be closed */
    }
    enum sbx_code code =
        sbx_grant_tool_open(root->capability.sid, maker->progress, maker->guard, &tool, err);
    tool.first = begin_change;
    tool.first_state = &opened;
    if (code == SBX_OK) {
        code = look_at_names(root, &tool, err);
    }
    if (code == SBX_OK) {
        code = catch_up(root, &tool, root->pin.handle, old->journal, old->usn, &record, &by_journal,
                        err);
    }
    if (code == SBX_OK && !by_journal) {
        sbx_grant_remark(
            maker,
            "the change journal of the volume does not tell what happened below \"%s\" "
            "since the last run: its names were looked through, which is slower",
            root->pin.path.text);
    }
    return code == SBX_OK ? note_progress(maker, root, old, &record, tool.has_changed, err) : code;
}

/* Is it complete, and the permission still on the root? */
static enum sbx_code is_held(const struct sbx_grant_maker *maker, const struct sbx_grant_root *root,
                             const struct sbx_record *record, bool *out, struct sbx_err *err)
{
    AUTO_TOOL tool = {0};
    *out = false;
    if (maker->is_fresh_walk || !is_complete(root, record)) {
        return SBX_OK;
    }
    enum sbx_code code = sbx_grant_tool_open(root->capability.sid, NULL, NULL, &tool, err);
    return code == SBX_OK ? has_entry(root, &tool, out, err) : code;
}

enum sbx_code sbx_grant_hold(struct sbx_grant_maker *maker, struct sbx_grant_root *root,
                             const struct sbx_record *record, struct sbx_err *err)
{
    struct sbx_record again;
    struct sbx_err missing = {0};
    bool is_there = false;
    enum sbx_code code = is_held(maker, root, record, &is_there, err);
    if (code == SBX_OK && is_there) {
        return check(maker, root, record, err);
    }
    if (code == SBX_OK) {
        code = sbx_grant_lock(maker, err);
    }
    if (code != SBX_OK) {
        return code;
    }
    /* Another sbx may have done it while we waited. */
    bool is_known =
        sbx_state_read(maker->arena, &maker->state, root->file, &again, &missing) == SBX_OK;
    code = is_held(maker, root, is_known ? &again : NULL, &is_there, err);
    if (code != SBX_OK) {
        return code;
    }
    return is_there ? check(maker, root, &again, err)
                    : add(maker, root, is_known ? &again : NULL, err);
}
