/* The tree below a granted root, walked by handle. */
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "common/base/utf8.h"
#include "win/fault.h"
#include "win/grant_internal.h"
#include "win/handle.h"
#include "win/relative.h"

#include "common/base/banned.h"

#define LISTING_BYTES ((size_t)32 << 10)
#define PATH_BYTES ((size_t)100000) /* the longest path in UTF-8 */

#define LOOKS (READ_CONTROL | FILE_READ_ATTRIBUTES | SYNCHRONIZE)
#define CHANGES (LOOKS | WRITE_DAC)
#define LISTS (FILE_LIST_DIRECTORY | FILE_TRAVERSE)

/* A directory on the way down. */
struct frame {
    HANDLE directory;
    bool is_ours; /* to close */
    enum sbx_walk_kind kind;
    enum sbx_access access;
    size_t path_len;
    bool is_started;
    bool has_more; /* in the listing, */
    size_t at;     /* from here on */
    BYTE *listing;
};

struct state {
    struct sbx_grant_tool *tool;
    const struct sbx_walk *walk;
    struct frame *frames; /* SBX_GRANT_DEPTH_MAX of them, */
    size_t depth;         /* so many in use */
    char *path;
    size_t path_len;
};

/* One name in the directory on top. */
struct entry {
    const wchar_t *name;
    USHORT bytes; /* of the name */
    bool is_directory;
    bool is_link;
    bool any_case; /* the name is from us, not from the disk */
};

/* What was opened of it. */
struct child {
    struct sbx_grant_object object;
    bool is_there;
    bool is_link;
    DWORD links;
    enum sbx_access access;
    bool is_narrower; /* than its directory */
    bool is_wider;    /* a root of its own */
};

/* ---- paths --------------------------------------------------------------------------------- */

/* A name that is no text matches no rule, but what is below it may: what is wrong in it becomes U+FFFD. */
static bool push_name(struct state *state, const struct entry *entry)
{
    size_t units = entry->bytes / sizeof(wchar_t);
    size_t len = state->path_len;
    if (len + 2 + units * 3 > PATH_BYTES) {
        return false;
    }
    if (len > 0 && state->path[len - 1] != '\\') {
        state->path[len++] = '\\';
    }
    for (size_t i = 0; i < units; i++) {
        uint32_t character = entry->name[i];
        bool is_pair = character >= 0xd800 && character < 0xdc00 && i + 1 < units &&
                       entry->name[i + 1] >= 0xdc00 && entry->name[i + 1] < 0xe000;
        if (is_pair) {
            character = 0x10000 + ((character - 0xd800U) << 10) + (entry->name[++i] - 0xdc00U);
        }
        char bytes[4];
        size_t used = sbx_utf8_encode(character, bytes);
        if (used == 0) {
            used = sbx_utf8_encode(0xfffd, bytes);
        }
        memcpy(state->path + len, bytes, used);
        len += used;
    }
    state->path[len] = '\0';
    state->path_len = len;
    return true;
}

static void cut_path(struct state *state, size_t len)
{
    state->path_len = len;
    state->path[len] = '\0';
}

/* ---- opening ------------------------------------------------------------------------------- */

static NTSTATUS open_child(HANDLE directory, const struct entry *entry, ACCESS_MASK access,
                           HANDLE *out)
{
    return sbx_relative_open(directory, entry->name, entry->bytes, entry->any_case, access, out);
}

static enum sbx_code open_failed(struct state *state, NTSTATUS status, struct sbx_err *err)
{
    DWORD raw = sbx_win()->RtlNtStatusToDosError(status);
    enum sbx_code code = sbx_win32_code(raw);
    return sbx_err_os(err, code == SBX_OK ? SBX_E_IO : code, SBX_OS_NTSTATUS, (int64_t)status,
                      "NtCreateFile", "cannot open \"%s\": %s", state->path, sbx_win32_text(raw));
}

/* With as much as we may: to change the list, else to read it. Not there: is_there is false. */
static enum sbx_code open_object(struct state *state, HANDLE directory, const struct entry *entry,
                                 struct child *out, struct sbx_err *err)
{
    const ACCESS_MASK lists = entry->is_directory && !entry->is_link ? LISTS : 0;
    BY_HANDLE_FILE_INFORMATION info;
    HANDLE handle = NULL;
    bool is_read_only = false;
    NTSTATUS status = open_child(directory, entry, CHANGES | lists, &handle);
    if (status == SBX_STATUS_ACCESS_DENIED) {
        is_read_only = true;
        status = open_child(directory, entry, LOOKS | lists, &handle);
    }
    if (sbx_relative_is_gone(status)) {
        return SBX_OK;
    }
    if (status < 0) {
        return open_failed(state, status, err);
    }
    if (!sbx_win()->GetFileInformationByHandle(handle, &info)) {
        DWORD raw = GetLastError();
        sbx_handle_close(&handle);
        return sbx_err_win32(err, raw, "GetFileInformationByHandle", "cannot look at \"%s\"",
                             state->path);
    }
    /* What the handle says counts: the name may have been given to something else since it was listed. */
    out->is_there = true;
    out->is_link = (info.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0 &&
                   sbx_relative_leads_away(handle);
    out->links = info.nNumberOfLinks;
    out->object = (struct sbx_grant_object){
        .handle = handle,
        .path = state->path,
        .is_directory = (info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0,
        .is_read_only = is_read_only};
    return SBX_OK;
}

static void close_child(struct child *child)
{
    sbx_handle_close(&child->object.handle);
}

/* ---- deciding ------------------------------------------------------------------------------ */

static bool minds(const struct state *state, const char *name)
{
    char text[1024];
    const struct sbx_grant_view *view = state->walk->view;
    if (strlen(name) + 4 > sizeof text) {
        return true;
    }
    sbx_text_format(text, sizeof text, "C:\\%s", name);
    return sbx_grant_view_minds(view, (struct sbx_path){text, strlen(text), SBX_PATH_WINDOWS});
}

static void decide(const struct state *state, const struct frame *frame, bool is_minded,
                   struct child *child)
{
    struct sbx_path path = {state->path, state->path_len, SBX_PATH_WINDOWS};
    bool is_directory = child->object.is_directory && !child->is_link;
    child->access =
        is_minded ? sbx_grant_access(state->walk->view->policy, path, is_directory) : frame->access;
    child->is_narrower = child->access < frame->access;
    child->is_wider = child->access > frame->access;
}

/* ---- descending ---------------------------------------------------------------------------- */

static void pop(struct state *state)
{
    struct frame *frame = &state->frames[--state->depth];
    if (frame->is_ours) {
        sbx_handle_close(&frame->directory);
    }
    free(frame->listing);
    frame->listing = NULL;
}

/* Takes the handle when it succeeds. */
static enum sbx_code push(struct state *state, HANDLE directory, bool is_ours,
                          enum sbx_walk_kind kind, enum sbx_access access, struct sbx_err *err)
{
    if (state->depth == SBX_GRANT_DEPTH_MAX) {
        (void)sbx_err_set(err, SBX_E_LIMIT, "\"%s\" is deeper than %d directories", state->path,
                          SBX_GRANT_DEPTH_MAX);
        return sbx_err_hint(err, "remove it, or grant a directory that does not contain it");
    }
    BYTE *listing = malloc(LISTING_BYTES);
    if (listing == NULL) {
        return sbx_err_nomem(err);
    }
    state->frames[state->depth++] = (struct frame){.directory = directory,
                                                   .is_ours = is_ours,
                                                   .kind = kind,
                                                   .access = access,
                                                   .path_len = state->path_len,
                                                   .listing = listing};
    return SBX_OK;
}

/* Goes into the directory next; what is open becomes the frame's. */
static enum sbx_code enter(struct state *state, struct child *child, enum sbx_walk_kind kind,
                           struct sbx_err *err)
{
    enum sbx_code code = push(state, child->object.handle, true, kind, child->access, err);
    if (code == SBX_OK) {
        child->object.handle = NULL;
    }
    return code;
}

/* ---- visits -------------------------------------------------------------------------------- */

static void count(struct sbx_grant_tool *tool, enum sbx_grant_result result)
{
    tool->counts.own_lists += result == SBX_RESULT_OWN_LIST ? 1 : 0;
    tool->counts.refused += result == SBX_RESULT_REFUSED ? 1 : 0;
}

/* A link is not followed. One that has something of ours, because it was made below the root, and should not,
 * loses it. */
static enum sbx_code visit_link(struct state *state, struct child *child, struct sbx_err *err)
{
    enum sbx_grant_result result;
    state->tool->counts.links++;
    if (!child->is_narrower) {
        return SBX_OK;
    }
    return sbx_grant_apply(state->tool, &child->object, SBX_PLACE_STARTS, SBX_ACCESS_NONE, &result,
                           err);
}

static enum sbx_code visit_give(struct state *state, struct frame *frame, struct child *child,
                                struct sbx_err *err)
{
    enum sbx_grant_result result = SBX_RESULT_SAME;
    struct sbx_grant_tool *tool = state->tool;
    if (child->is_wider) {
        return SBX_OK;
    }
    if (child->is_link) {
        return visit_link(state, child, err);
    }
    /* The entry would be on the file, so on all its names, and some may be outside. */
    if (!child->object.is_directory && child->links > 1 && child->access == SBX_ACCESS_WRITE) {
        child->access = SBX_ACCESS_READ;
        child->is_narrower = true;
        tool->counts.hard_links++;
    } else {
        tool->counts.narrowed += child->is_narrower ? 1 : 0;
    }
    enum sbx_code code = sbx_grant_apply(tool, &child->object,
                                         child->is_narrower ? SBX_PLACE_STARTS : SBX_PLACE_FOLLOWS,
                                         child->access, &result, err);
    if (code != SBX_OK) {
        return code;
    }
    count(tool, result);
    bool is_left = result == SBX_RESULT_OWN_LIST && !child->is_narrower;
    return child->object.is_directory && !is_left ? enter(state, child, frame->kind, err) : SBX_OK;
}

/* Something that should be closed and was not may have anything below it. */
static enum sbx_code visit_names(struct state *state, struct child *child, struct sbx_err *err)
{
    enum sbx_grant_result result = SBX_RESULT_SAME;
    enum sbx_code code = SBX_OK;
    if (child->is_wider) {
        return SBX_OK;
    }
    if (child->is_link) {
        return visit_link(state, child, err);
    }
    if (child->is_narrower) {
        code = sbx_grant_apply(state->tool, &child->object, SBX_PLACE_STARTS, child->access,
                               &result, err);
    }
    if (code != SBX_OK || !child->object.is_directory) {
        return code;
    }
    if (result == SBX_RESULT_DONE) {
        state->tool->counts.narrowed++;
        return enter(state, child, SBX_WALK_GIVE, err);
    }
    bool goes_in = child->access != SBX_ACCESS_NONE && !state->walk->is_flat;
    return goes_in ? enter(state, child, SBX_WALK_NAMES, err) : SBX_OK;
}

static enum sbx_code visit_take(struct state *state, struct child *child, struct sbx_err *err)
{
    enum sbx_grant_result result = SBX_RESULT_SAME;
    enum sbx_code code = sbx_grant_apply(state->tool, &child->object, SBX_PLACE_NOTHING,
                                         SBX_ACCESS_NONE, &result, err);
    if (code != SBX_OK) {
        return code;
    }
    count(state->tool, result);
    bool goes_in = child->object.is_directory && !child->is_link;
    return goes_in ? enter(state, child, SBX_WALK_TAKE, err) : SBX_OK;
}

/* Below a place that was closed, something may still have what the root gives. */
static bool may_be_open(const struct state *state, enum sbx_access access)
{
    return !state->tool->is_fresh && access < state->walk->access;
}

/* What one object denies is not the end of the walk, unless it should have been closed. */
static bool may_pass(const struct state *state, enum sbx_code code, const struct frame *frame,
                     const struct child *child)
{
    if (frame->kind == SBX_WALK_TAKE) {
        return code != SBX_E_NOMEM && code != SBX_E_LIMIT;
    }
    bool is_its_own = code == SBX_E_DENIED || code == SBX_E_IO || code == SBX_E_NOT_FOUND;
    return is_its_own && !child->is_narrower && !may_be_open(state, child->access);
}

static enum sbx_code visit_open(struct state *state, struct frame *frame, const struct entry *entry,
                                bool is_minded, struct sbx_err *err)
{
    SBX_CLEANUP(close_child) struct child child = {.access = frame->access};
    struct sbx_err failed = {0};
    if (frame->kind != SBX_WALK_TAKE) {
        /* What should be said of it if it cannot even be opened. */
        child.object.is_directory = entry->is_directory;
        child.is_link = entry->is_link;
        decide(state, frame, is_minded, &child);
    }
    enum sbx_code code = open_object(state, frame->directory, entry, &child, &failed);
    if (code == SBX_OK && !child.is_there) {
        return SBX_OK;
    }
    if (code == SBX_OK && frame->kind == SBX_WALK_TAKE) {
        code = visit_take(state, &child, &failed);
    } else if (code == SBX_OK) {
        decide(state, frame, is_minded, &child);
        code = frame->kind == SBX_WALK_GIVE ? visit_give(state, frame, &child, &failed)
                                            : visit_names(state, &child, &failed);
    }
    if (code != SBX_OK && may_pass(state, code, frame, &child)) {
        state->tool->counts.refused++;
        return SBX_OK;
    }
    if (code != SBX_OK && err != NULL) {
        *err = failed;
    }
    return code;
}

/* A walk of names opens what a name gives reason to, and directories, to list them. */
static enum sbx_code visit_unminded(struct state *state, struct frame *frame,
                                    const struct entry *entry, struct sbx_err *err)
{
    HANDLE handle = NULL;
    if (!entry->is_directory || entry->is_link || state->walk->is_flat) {
        return SBX_OK;
    }
    NTSTATUS status = open_child(frame->directory, entry, LISTS | SYNCHRONIZE, &handle);
    if (sbx_relative_is_gone(status)) {
        return SBX_OK;
    }
    if (status == SBX_STATUS_ACCESS_DENIED || (status < 0 && state->tool->is_fresh)) {
        state->tool->counts
            .refused++; /* the box is no more than the user, who may not look into it */
        return SBX_OK;
    }
    if (status < 0) {
        return open_failed(state, status, err);
    }
    enum sbx_code code = push(state, handle, true, SBX_WALK_NAMES, frame->access, err);
    if (code != SBX_OK) {
        sbx_handle_close(&handle);
    }
    return code;
}

static enum sbx_code visit(struct state *state, struct frame *frame, const struct entry *entry,
                           struct sbx_err *err)
{
    size_t before = state->path_len;
    size_t depth = state->depth;
    if (!push_name(state, entry)) {
        return sbx_err_set(err, SBX_E_LIMIT, "a path below \"%s\" is too long", state->path);
    }
    state->tool->counts.objects++;
    enum sbx_code code = sbx_grant_tool_tell(state->tool, state->path, err);
    if (code != SBX_OK) {
        return code;
    }
    const char *name = state->path + before;
    bool is_minded = state->walk->view != NULL && minds(state, *name == '\\' ? name + 1 : name);
    code = frame->kind == SBX_WALK_NAMES && !is_minded
               ? visit_unminded(state, frame, entry, err)
               : visit_open(state, frame, entry, is_minded, err);
    if (code == SBX_OK && state->depth == depth) {
        cut_path(state, before);
    }
    return code;
}

/* ---- listing ------------------------------------------------------------------------------- */

/* *done is false at the end. A directory that does not tell more is the end too, unless something in it may have
 * to be closed. */
static enum sbx_code fetch(struct state *state, struct frame *frame, bool *done,
                           struct sbx_err *err)
{
    *done = sbx_win()->GetFileInformationByHandleEx(
        frame->directory,
        frame->is_started ? FileIdBothDirectoryInfo : FileIdBothDirectoryRestartInfo,
        frame->listing, (DWORD)LISTING_BYTES);
    DWORD raw = *done ? ERROR_SUCCESS : GetLastError();
    frame->is_started = true;
    frame->at = 0;
    if (*done || raw == ERROR_NO_MORE_FILES || raw == ERROR_FILE_NOT_FOUND) {
        return SBX_OK;
    }
    bool must_see = (frame->kind == SBX_WALK_NAMES && !state->tool->is_fresh) ||
                    (frame->kind == SBX_WALK_GIVE && may_be_open(state, frame->access));
    if (must_see) {
        return sbx_err_win32(err, raw, "GetFileInformationByHandleEx", "cannot list \"%s\"",
                             state->path);
    }
    state->tool->counts.refused++;
    return SBX_OK;
}

/* The entry at frame->at, and past it. */
static void take_entry(struct frame *frame, struct entry *out)
{
    const FILE_ID_BOTH_DIR_INFO *info = (const void *)(frame->listing + frame->at);
    *out = (struct entry){
        .name = info->FileName,
        .bytes = (USHORT)info->FileNameLength,
        .is_directory = (info->FileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0,
        .is_link = (info->FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0,
    };
    frame->has_more = info->NextEntryOffset != 0;
    frame->at += info->NextEntryOffset;
}

static bool is_dots(const struct entry *entry)
{
    size_t units = entry->bytes / sizeof(wchar_t);
    return (units == 1 || units == 2) && entry->name[0] == L'.' && entry->name[units - 1] == L'.';
}

/* The next entry of the directory on top, or the end of it. */
static enum sbx_code step(struct state *state, struct sbx_err *err)
{
    struct frame *frame = &state->frames[state->depth - 1];
    struct entry entry;
    bool has_entry = frame->has_more;
    enum sbx_code code = has_entry ? SBX_OK : fetch(state, frame, &has_entry, err);
    if (code != SBX_OK) {
        return code;
    }
    if (!has_entry) {
        pop(state);
        if (state->depth > 0) {
            cut_path(state, state->frames[state->depth - 1].path_len);
        }
        return SBX_OK;
    }
    take_entry(frame, &entry);
    return is_dots(&entry) ? SBX_OK : visit(state, frame, &entry, err);
}

/* ---- the whole ----------------------------------------------------------------------------- */

static void release(struct state *state)
{
    while (state->depth > 0) {
        pop(state);
    }
    free(state->frames);
    free(state->path);
}

/* The directory where it begins is on top. */
static enum sbx_code begin(struct sbx_grant_tool *tool, const struct sbx_walk *walk,
                           struct state *out, struct sbx_err *err)
{
    size_t len = strlen(walk->path);
    *out = (struct state){.tool = tool, .walk = walk};
    out->frames = calloc(SBX_GRANT_DEPTH_MAX, sizeof *out->frames);
    out->path = malloc(PATH_BYTES + 1);
    if (out->frames == NULL || out->path == NULL) {
        return sbx_err_nomem(err);
    }
    if (len >= PATH_BYTES) {
        return sbx_err_set(err, SBX_E_LIMIT, "the path of a granted directory is too long");
    }
    memcpy(out->path, walk->path, len + 1);
    out->path_len = len;
    return push(out, walk->directory, false, walk->kind, walk->access, err);
}

/* Until the directories above `floor` are done. */
static enum sbx_code finish(struct state *state, size_t floor, struct sbx_err *err)
{
    enum sbx_code code = SBX_OK;
    while (code == SBX_OK && state->depth > floor) {
        code = step(state, err);
    }
    return code;
}

enum sbx_code sbx_grant_walk(struct sbx_grant_tool *tool, const struct sbx_walk *walk,
                             struct sbx_err *err)
{
    struct state state;
    enum sbx_code code = begin(tool, walk, &state, err);
    if (code == SBX_OK) {
        code = finish(&state, 0, err);
    }
    release(&state);
    return code;
}

/* What stands at the name, without asking for more than that. */
static bool find(HANDLE directory, struct entry *entry)
{
    AUTO_HANDLE handle = NULL;
    BY_HANDLE_FILE_INFORMATION info;
    NTSTATUS status = open_child(directory, entry, FILE_READ_ATTRIBUTES | SYNCHRONIZE, &handle);
    if (status >= 0 && sbx_win()->GetFileInformationByHandle(handle, &info)) {
        entry->is_directory = (info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
        entry->is_link = (info.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0;
    }
    return !sbx_relative_is_gone(status);
}

enum sbx_code sbx_grant_look_at(struct sbx_grant_tool *tool, const struct sbx_walk *walk,
                                const wchar_t *name, struct sbx_err *err)
{
    struct entry entry = {
        .name = name, .bytes = (USHORT)(wcslen(name) * sizeof *name), .any_case = true};
    if (!find(walk->directory, &entry)) {
        return SBX_OK;
    }
    struct state state;
    enum sbx_code code = begin(tool, walk, &state, err);
    if (code == SBX_OK) {
        code = visit(&state, &state.frames[0], &entry, err);
    }
    if (code == SBX_OK) {
        code = finish(&state, 1, err);
    }
    release(&state);
    return code;
}
