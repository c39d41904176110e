/* Records of granted places: read all, and undone one by one. */
#include <stdarg.h>
#include <string.h>

#include "win/fault.h"
#include "win/grant_internal.h"
#include "win/handle.h"
#include "win/sid.h"
#include "win/wide.h"

#include "common/base/banned.h"

enum { SCRATCH = 512 * 1024 };

void sbx_grant_remark(struct sbx_grant_maker *maker, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    sbx_text_vformat(text, sizeof text, format, args);
    va_end(args);
    const char *copy = sbx_arena_copy(maker->arena, text, strlen(text));
    const char **slot =
        copy == NULL
            ? NULL
            : (const char **)sbx_arena_push(maker->arena, &maker->remarks, &maker->remark_count,
                                            &maker->remark_capacity, sizeof *slot);
    if (slot != NULL) {
        *slot = copy;
    }
}

/* ---- reading ------------------------------------------------------------------------------- */

static void put_away(struct sbx_grant_maker *maker, const char *file, const struct sbx_err *why)
{
    struct sbx_err failed = {0};
    bool is_moved = sbx_state_quarantine(&maker->state, file, &failed) == SBX_OK;
    sbx_grant_remark(maker, "%s\\%s is no record of a granted place (%s) and %s",
                     maker->state.shown, file, why->text,
                     is_moved ? "was moved to quarantine" : "cannot be moved away");
}

enum sbx_code sbx_grant_records(struct sbx_grant_maker *maker, struct sbx_record_file **out,
                                size_t *count, struct sbx_err *err)
{
    const char *const *files;
    size_t listed;
    size_t used = 0;
    enum sbx_code code = sbx_state_list(maker->arena, &maker->state, SBX_WORKSPACE_SUFFIX,
                                        SBX_WORKSPACES_MAX, &files, &listed, err);
    if (code != SBX_OK) {
        return code;
    }
    struct sbx_record_file *records = SBX_NEW_ARRAY(maker->arena, struct sbx_record_file, listed);
    if (records == NULL) {
        return sbx_err_nomem(err);
    }
    for (size_t i = 0; i < listed; i++) {
        struct sbx_record_file *slot = &records[used];
        struct sbx_err why = {0};
        code = sbx_state_read(maker->arena, &maker->state, files[i], &slot->record, &why);
        if (code == SBX_OK && slot->record.kind == SBX_RECORD_WORKSPACE) {
            slot->file = files[i];
            used++;
        } else if (code == SBX_OK || code == SBX_E_SYNTAX || code == SBX_E_LIMIT) {
            put_away(maker, files[i], &why);
        } else if (code == SBX_E_NOMEM) {
            *err = why;
            return code;
        }
    }
    *out = records;
    *count = used;
    return SBX_OK;
}

/* ---- finding the place --------------------------------------------------------------------- */

HANDLE sbx_grant_open(const wchar_t *path, bool is_directory)
{
    const DWORD lists = is_directory ? FILE_LIST_DIRECTORY | FILE_TRAVERSE : 0;
    return sbx_win()->CreateFileW(
        path, READ_CONTROL | WRITE_DAC | FILE_READ_ATTRIBUTES | SYNCHRONIZE | lists,
        FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_EXISTING,
        FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT, NULL);
}

static bool is_it(HANDLE file, const struct sbx_record *record)
{
    FILE_ID_INFO info;
    return sbx_win()->GetFileInformationByHandleEx(file, FileIdInfo, &info, sizeof info) &&
           info.VolumeSerialNumber == record->volume &&
           memcmp(info.FileId.Identifier, record->file, sizeof record->file) == 0;
}

/* Renamed or moved: its volume finds it by its id. */
static HANDLE open_by_id(const struct sbx_record *record)
{
    static const BYTE zeroes[8];
    wchar_t drive[] = L"\\\\?\\C:\\";
    FILE_ID_DESCRIPTOR id = {.dwSize = sizeof id, .Type = FileIdType};
    drive[4] = (wchar_t)record->path[0];
    AUTO_HANDLE volume =
        sbx_win()->CreateFileW(drive, FILE_READ_ATTRIBUTES | SYNCHRONIZE,
                               FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                               OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
    if (!sbx_handle_is_open(volume)) {
        return NULL;
    }
    memcpy(&id.FileId, record->file, sizeof id.FileId);
    if (memcmp(record->file + sizeof zeroes, zeroes, sizeof zeroes) != 0) {
        id.Type = ExtendedFileIdType;
        memcpy(id.ExtendedFileId.Identifier, record->file, sizeof record->file);
    }
    const DWORD lists = record->is_directory ? FILE_LIST_DIRECTORY | FILE_TRAVERSE : 0;
    return sbx_win()->OpenFileById(
        volume, &id, READ_CONTROL | WRITE_DAC | FILE_READ_ATTRIBUTES | SYNCHRONIZE | lists,
        FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
        FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT);
}

/* SBX_OK with NULL when it is nowhere any more. */
static enum sbx_code open_place(const struct sbx_record *record, HANDLE *out, struct sbx_err *err)
{
    AUTO_ARENA scratch;
    sbx_arena_init(&scratch, SCRATCH);
    wchar_t *wide = NULL;
    enum sbx_code code = sbx_wide_path(&scratch, record->path, &wide, err);
    if (code != SBX_OK) {
        return code;
    }
    AUTO_HANDLE file = sbx_grant_open(wide, record->is_directory);
    DWORD raw = sbx_handle_is_open(file) ? ERROR_SUCCESS : GetLastError();
    if (raw == ERROR_ACCESS_DENIED) {
        return sbx_err_win32(err, raw, "CreateFileW", "cannot change the access list of \"%s\"",
                             record->path);
    }
    if (raw != ERROR_SUCCESS || !is_it(file, record)) {
        sbx_handle_close(&file);
        file = open_by_id(record);
        if (!sbx_handle_is_open(file) || !is_it(file, record)) {
            return SBX_OK;
        }
    }
    *out = SBX_TAKE(file, NULL);
    return SBX_OK;
}

/* ---- undoing ------------------------------------------------------------------------------- */

/* What cannot be opened any more is left: an entry for a capability that no box carries gives nothing. */
static enum sbx_code take_one_above(struct sbx_grant_tool *tool, const char *path,
                                    struct sbx_err *err)
{
    AUTO_ARENA scratch;
    sbx_arena_init(&scratch, SCRATCH);
    wchar_t *wide = NULL;
    enum sbx_grant_result result;
    if (sbx_wide_path(&scratch, path, &wide, NULL) != SBX_OK) {
        return SBX_OK;
    }
    AUTO_HANDLE directory = sbx_grant_open(wide, false);
    if (!sbx_handle_is_open(directory)) {
        return SBX_OK;
    }
    struct sbx_grant_object object = {.handle = directory, .path = path, .is_directory = true};
    return sbx_grant_apply(tool, &object, SBX_PLACE_NOTHING, SBX_ACCESS_NONE, &result, err);
}

enum sbx_code sbx_grant_take_above(struct sbx_grant_tool *tool, const struct sbx_record *record,
                                   struct sbx_err *err)
{
    enum sbx_code code = SBX_OK;
    for (size_t i = 0; code == SBX_OK && i < record->above_count; i++) {
        code = take_one_above(tool, record->above[i], err);
    }
    return code;
}

static enum sbx_code take_tree(struct sbx_grant_tool *tool, const struct sbx_record *record,
                               struct sbx_err *err)
{
    AUTO_HANDLE place = NULL;
    enum sbx_grant_result result;
    enum sbx_code code = open_place(record, &place, err);
    if (code != SBX_OK || place == NULL) {
        return code;
    }
    struct sbx_grant_object object = {
        .handle = place, .path = record->path, .is_directory = record->is_directory};
    tool->counts.objects++;
    code = sbx_grant_apply(tool, &object, SBX_PLACE_NOTHING, SBX_ACCESS_NONE, &result, err);
    if (code != SBX_OK || !record->is_directory) {
        return code;
    }
    struct sbx_walk walk = {.kind = SBX_WALK_TAKE, .directory = place, .path = record->path};
    return sbx_grant_walk(tool, &walk, err);
}

enum sbx_code sbx_grant_take_back(struct sbx_grant_maker *maker, const char *file,
                                  const struct sbx_record *record, struct sbx_record_counts *counts,
                                  struct sbx_err *err)
{
    AUTO_ARENA scratch;
    sbx_arena_init(&scratch, SCRATCH);
    struct sbx_sid sid;
    struct sbx_record removing = *record;
    if (!sbx_sid_parse(record->sid, &sid)) {
        return sbx_err_set(err, SBX_E_INVALID, "\"%s\" is no SID", record->sid);
    }
    removing.state = SBX_RECORD_REMOVING;
    AUTO_TOOL tool = {0};
    enum sbx_code code = sbx_owner_self(&scratch, &removing.owner, err);
    if (code == SBX_OK) {
        code = sbx_state_write(&maker->state, file, &removing, err);
    }
    if (code == SBX_OK) {
        code = sbx_grant_tool_open(sid.bytes, maker->progress, maker->guard, &tool, err);
    }
    if (code == SBX_OK) {
        code = take_tree(&tool, record, err);
    }
    if (code == SBX_OK) {
        code = sbx_grant_take_above(&tool, record, err);
    }
    if (code == SBX_OK) {
        code = sbx_state_remove(&maker->state, file, err);
    }
    if (counts != NULL) {
        *counts = tool.counts;
    }
    return code;
}
