/* What changed below a root since it was granted, from the change journal of its volume.
 *
 * An ordinary user reads it through FSCTL_READ_UNPRIVILEGED_USN_JOURNAL, on a handle to the root directory of the
 * volume. The records then have no names, only the ids of the object and of its directory. So the directories in
 * which something was made are found by id, and those below the root are listed. */
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "win/fault.h"
#include "win/grant_internal.h"
#include "win/handle.h"
#include "win/wide.h"

#include "common/base/banned.h"

/* Not in every header. */
#define SBX_FSCTL_QUERY_USN_JOURNAL 0x000900F4
#define SBX_FSCTL_READ_UNPRIVILEGED_USN_JOURNAL 0x000903AB

#define BLOCK_BYTES ((size_t)64 << 10)
/* More than this, and a walk is not slower. */
#define DIRECTORIES_MAX ((size_t)1 << 16)
#define BLOCKS_MAX ((size_t)16384)
#define PATH_UNITS 32768

/* FILE_CREATE, RENAME_NEW_NAME, SECURITY_CHANGE, HARD_LINK_CHANGE, REPARSE_POINT_CHANGE: all ways by which a name
 * gets into a directory, or an entry onto what has the name. */
#define REASONS (0x00000100 | 0x00002000 | 0x00000800 | 0x00010000 | 0x00100000)

struct journal_data {
    uint64_t id;
    int64_t first, next, lowest, max;
    uint64_t maximum_size, allocation_delta;
    uint16_t min_version, max_version;
    uint32_t more[5];
};

struct read_request {
    int64_t start;
    uint32_t reasons;
    uint32_t only_on_close;
    uint64_t timeout;
    uint64_t bytes_to_wait_for;
    uint64_t journal;
    uint16_t min_version, max_version;
};

/* ---- opening ------------------------------------------------------------------------------- */

static bool is_on(HANDLE volume, const struct sbx_pin *root)
{
    FILE_ID_INFO info;
    return sbx_win()->GetFileInformationByHandleEx(volume, FileIdInfo, &info, sizeof info) &&
           info.VolumeSerialNumber == root->volume;
}

void sbx_journal_open(const struct sbx_pin *root, struct sbx_journal *out)
{
    wchar_t drive[] = L"\\\\?\\C:\\";
    struct journal_data data = {0};
    DWORD got = 0;
    *out = (struct sbx_journal){0};
    drive[4] = (wchar_t)root->path.text[0];
    AUTO_HANDLE volume =
        sbx_win()->CreateFileW(drive, FILE_TRAVERSE | FILE_READ_ATTRIBUTES | SYNCHRONIZE,
                               FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                               OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
    if (!sbx_handle_is_open(volume) || !is_on(volume, root)) {
        return;
    }
    if (!sbx_win()->DeviceIoControl(volume, SBX_FSCTL_QUERY_USN_JOURNAL, NULL, 0, &data,
                                    sizeof data, &got, NULL) ||
        got < offsetof(struct journal_data, lowest) || data.first < 0 || data.next < data.first) {
        return;
    }
    *out = (struct sbx_journal){.volume = SBX_TAKE(volume, NULL),
                                .id = data.id,
                                .first = (uint64_t)data.first,
                                .next = (uint64_t)data.next};
}

void sbx_journal_close(struct sbx_journal *journal)
{
    if (journal != NULL) {
        sbx_handle_close(&journal->volume);
    }
}

/* ---- directories in which something happened ----------------------------------------------- */

struct id {
    uint64_t low, high;
};

struct id_set {
    struct id *slots; /* of a zero id: free */
    size_t count, size;
};

static void release_set(struct id_set *set)
{
    free(set->slots);
}

static size_t slot_of(const struct id_set *set, struct id id)
{
    uint64_t hash =
        (id.low ^ id.high * UINT64_C(0x9E3779B97F4A7C15)) * UINT64_C(0xFF51AFD7ED558CCD);
    size_t at = (size_t)(hash >> 32) & (set->size - 1);
    while ((set->slots[at].low != 0 || set->slots[at].high != 0) &&
           (set->slots[at].low != id.low || set->slots[at].high != id.high)) {
        at = (at + 1) & (set->size - 1);
    }
    return at;
}

/* False when there are too many, or no memory. */
static bool add_id(struct id_set *set, struct id id)
{
    if (set->slots == NULL) {
        set->size = DIRECTORIES_MAX * 2;
        set->slots = calloc(set->size, sizeof *set->slots);
    }
    if (set->slots == NULL || (id.low == 0 && id.high == 0)) {
        return set->slots != NULL;
    }
    size_t at = slot_of(set, id);
    if (set->slots[at].low != 0 || set->slots[at].high != 0) {
        return true;
    }
    if (set->count == DIRECTORIES_MAX) {
        return false;
    }
    set->slots[at] = id;
    set->count++;
    return true;
}

/* The directory of one record; false for a record that is none. */
static bool parent_of(const BYTE *record, size_t size, struct id *out)
{
    uint16_t major;
    memcpy(&major, record + 4, sizeof major);
    *out = (struct id){0};
    if (major == 2 && size >= 60) {
        memcpy(&out->low, record + 16, sizeof out->low);
        return true;
    }
    if (major == 3 && size >= 76) {
        memcpy(&out->low, record + 24, sizeof out->low);
        memcpy(&out->high, record + 32, sizeof out->high);
        return true;
    }
    return false;
}

static bool take_block(const BYTE *block, size_t size, struct id_set *set)
{
    for (size_t at = sizeof(int64_t); at < size;) {
        uint32_t len;
        struct id parent;
        if (size - at < sizeof len) {
            return false;
        }
        memcpy(&len, block + at, sizeof len);
        if (len < 8 || len > size - at || !parent_of(block + at, len, &parent) ||
            !add_id(set, parent)) {
            return false;
        }
        at += len;
    }
    return true;
}

/* All of them from `usn` to what was next when the journal was opened. False when they cannot all be told. */
static bool collect(struct sbx_grant_tool *tool, const struct sbx_journal *journal, uint64_t usn,
                    struct id_set *set)
{
    _Alignas(8) static _Thread_local BYTE block[BLOCK_BYTES];
    struct read_request request = {.start = (int64_t)usn,
                                   .reasons = REASONS,
                                   .journal = journal->id,
                                   .min_version = 2,
                                   .max_version = 3};
    for (size_t i = 0; request.start < (int64_t)journal->next; i++) {
        DWORD got = 0;
        int64_t next;
        if (tool->guard != NULL) {
            sbx_guard_alive(tool->guard, "reading the change journal");
        }
        if (i == BLOCKS_MAX ||
            !sbx_win()->DeviceIoControl(journal->volume, SBX_FSCTL_READ_UNPRIVILEGED_USN_JOURNAL,
                                        &request, sizeof request, block, sizeof block, &got,
                                        NULL) ||
            got < sizeof next || got > sizeof block || !take_block(block, got, set)) {
            return false;
        }
        memcpy(&next, block, sizeof next);
        if (next <= request.start) {
            return false;
        }
        request.start = next;
    }
    return true;
}

/* ---- those below the root ------------------------------------------------------------------ */

struct names {
    wchar_t *root; /* "\Users\user\project" */
    wchar_t *here;
    char *path;
};

static void release_names(struct names *names)
{
    free(names->root);
    free(names->here);
    free(names->path);
}

static bool name_of(HANDLE file, wchar_t *out)
{
    DWORD len = sbx_win()->GetFinalPathNameByHandleW(file, out, PATH_UNITS,
                                                     FILE_NAME_NORMALIZED | VOLUME_NAME_NONE);
    return len > 0 && len < PATH_UNITS;
}

/* What comes behind the root in the name, "" for the root itself; NULL when it lies elsewhere. */
static const wchar_t *below(const struct names *names)
{
    size_t len = wcslen(names->root);
    if (wcsncmp(names->here, names->root, len) != 0 ||
        (names->here[len] != L'\\' && names->here[len] != L'\0')) {
        return NULL;
    }
    return names->here + len;
}

/* The path in the words of the policy. */
static bool describe(const struct sbx_grant_view *view, const wchar_t *rest, char *out, size_t size)
{
    AUTO_ARENA scratch;
    sbx_arena_init(&scratch, (size_t)512 << 10);
    const char *tail = NULL;
    if (sbx_wide_to(&scratch, rest, &tail, NULL) != SBX_OK ||
        view->rule->path.len + strlen(tail) >= size) {
        return false;
    }
    memcpy(out, view->rule->path.text, view->rule->path.len);
    memcpy(out + view->rule->path.len, tail, strlen(tail) + 1);
    return true;
}

/* One directory: what is in it now, and below what was not closed. */
static enum sbx_code list_one(struct sbx_grant_tool *tool, HANDLE directory,
                              const struct sbx_grant_view *view, const char *path,
                              struct sbx_err *err)
{
    struct sbx_path place = {path, strlen(path), SBX_PATH_WINDOWS};
    struct sbx_walk walk = {.kind = SBX_WALK_NAMES,
                            .view = view,
                            .directory = directory,
                            .path = path,
                            .is_flat = true,
                            .access = sbx_grant_access(view->policy, place, true)};
    bool is_ours = walk.access != SBX_ACCESS_NONE && sbx_grant_view_holds(view, place);
    return is_ours ? sbx_grant_walk(tool, &walk, err) : SBX_OK;
}

static HANDLE open_by_id(HANDLE volume, struct id id, DWORD access)
{
    FILE_ID_DESCRIPTOR what = {.dwSize = sizeof what, .Type = FileIdType};
    what.FileId.QuadPart = (LONGLONG)id.low;
    if (id.high != 0) {
        what.Type = ExtendedFileIdType;
        memcpy(what.ExtendedFileId.Identifier, &id, sizeof id);
    }
    return sbx_win()->OpenFileById(volume, &what, access,
                                   FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                                   FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT);
}

/* A directory that is gone holds nothing. One whose attributes the user may not read, as there are many of the system's,
 * is not below a root of his; nor could the box, which is no more than he, look into it. */
static bool is_nothing(DWORD raw)
{
    return raw == ERROR_FILE_NOT_FOUND || raw == ERROR_PATH_NOT_FOUND ||
           raw == ERROR_INVALID_PARAMETER || raw == ERROR_ACCESS_DENIED;
}

static enum sbx_code look_into(struct sbx_grant_tool *tool, const struct sbx_journal *journal,
                               struct id id, const struct sbx_grant_view *view, struct names *names,
                               bool *complete, struct sbx_err *err)
{
    const DWORD looks = FILE_READ_ATTRIBUTES | SYNCHRONIZE;
    AUTO_HANDLE directory = open_by_id(journal->volume, id, looks);
    if (!sbx_handle_is_open(directory)) {
        *complete &= is_nothing(GetLastError());
        return SBX_OK;
    }
    if (!name_of(directory, names->here)) {
        *complete = false;
        return SBX_OK;
    }
    const wchar_t *rest = below(names);
    if (rest == NULL) {
        return SBX_OK;
    }
    AUTO_HANDLE listed = open_by_id(journal->volume, id, looks | FILE_LIST_DIRECTORY);
    if (!sbx_handle_is_open(listed) || !describe(view, rest, names->path, (size_t)PATH_UNITS * 3)) {
        *complete = false;
        return SBX_OK;
    }
    return list_one(tool, listed, view, names->path, err);
}

/* Looks into every directory that changed; nothing is complete when the journal does not reach back so far. */
static enum sbx_code catch_up(struct sbx_grant_tool *tool, const struct sbx_journal *journal,
                              struct id_set *set, const struct sbx_grant_view *view,
                              struct names *names, bool *complete, struct sbx_err *err)
{
    enum sbx_code code = SBX_OK;
    for (size_t i = 0; i < set->size && code == SBX_OK; i++) {
        if (set->slots[i].low != 0 || set->slots[i].high != 0) {
            code = look_into(tool, journal, set->slots[i], view, names, complete, err);
        }
    }
    return code;
}

enum sbx_code sbx_journal_catch_up(struct sbx_grant_tool *tool, const struct sbx_journal *journal,
                                   uint64_t usn, const struct sbx_pin *root,
                                   const struct sbx_grant_view *view, bool *complete,
                                   struct sbx_err *err)
{
    struct id_set set = {0};
    struct names names = {
        .root = calloc(PATH_UNITS, sizeof(wchar_t)),
        .here = calloc(PATH_UNITS, sizeof(wchar_t)),
        .path = calloc(PATH_UNITS, 3),
    };
    enum sbx_code code = SBX_OK;
    *complete = false;
    if (names.root == NULL || names.here == NULL || names.path == NULL) {
        code = sbx_err_nomem(err);
    } else if (journal->id != 0 && usn >= journal->first && usn <= journal->next &&
               name_of(root->handle, names.root) && collect(tool, journal, usn, &set)) {
        *complete = true;
        code = catch_up(tool, journal, &set, view, &names, complete, err);
    }
    release_set(&set);
    release_names(&names);
    return code;
}
