/* Protected names that do not exist yet: seen when they are made. */
#include "win/watch.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "win/fault.h"
#include "win/handle.h"
#include "win/wide.h"

#include "common/base/banned.h"

/* The system keeps what happens between two reads in a buffer of this size. One thread waits for all. */
enum {
    BUFFER_BYTES = 1 << 20,
    ROOTS_MAX = MAXIMUM_WAIT_OBJECTS - 1,
    STOP_WAIT_MS = 5000,
    DECIDE_ARENA = 4 << 20,
    NAME_MAX_UNITS = 32767, /* of a path, by the system */
    DEPTH_MAX = 64,         /* below a directory that arrived; more of it */
    ENTRIES_MAX = 100000    /* is told as lost */
};

struct root {
    const struct sbx_pin *pin; /* borrowed */
    HANDLE directory;
    OVERLAPPED overlapped; /* hEvent is signalled when something happened */
    bool is_asked;
    _Alignas(8) unsigned char buffer[BUFFER_BYTES];
};

struct sbx_watch {
    const struct sbx_policy *policy;
    struct root *roots[ROOTS_MAX];
    DWORD count;
    HANDLE stop;
    HANDLE alarm;
    HANDLE thread;
    char *path; /* the thread's until it ended */
    bool has_lost;
};

/* ---- judging --------------------------------------------------------------------------------- */

/* A name that the box may not change is one it may not make. */
static bool is_protected(struct sbx_watch *watch, const struct root *root, const wchar_t *name)
{
    AUTO_ARENA scratch;
    sbx_arena_init(&scratch, DECIDE_ARENA);
    const char *text;
    struct sbx_path path;
    enum sbx_code code = sbx_wide_to(&scratch, name, &text, NULL);
    if (code == SBX_E_NOMEM) {
        return true; /* unsure means ended */
    }
    if (code != SBX_OK ||
        sbx_path_join(&scratch, root->pin->path, sbx_str(text), &path) != SBX_PATH_OK) {
        return false; /* a name that no pattern can have */
    }
    struct sbx_decision decision = sbx_policy_decide(&scratch, watch->policy, path);
    bool is_closed = decision.access != SBX_ACCESS_WRITE;
    if (is_closed && watch->path == NULL) {
        watch->path = calloc(1, path.len + 1);
        if (watch->path != NULL) {
            memcpy(watch->path, path.text, path.len);
        }
    }
    return is_closed;
}

/* What is below a directory that arrived, depth first. `path` is absolute and has room for every path; `start` is
 * where the name below the root begins in it. */
struct look {
    struct sbx_watch *watch;
    const struct root *root;
    wchar_t path[NAME_MAX_UNITS + 1];
    size_t start;
    size_t left; /* entries that are still looked at */
};

static bool is_dots(const wchar_t *name)
{
    return name[0] == L'.' && (name[1] == L'\0' || (name[1] == L'.' && name[2] == L'\0'));
}

/* `len` is that of the directory's path in look->path. True: something protected is in it. */
static bool look_below(struct look *look, size_t len, unsigned depth)
{
    WIN32_FIND_DATAW entry;
    if (depth == DEPTH_MAX || len + 2 > NAME_MAX_UNITS) {
        look->watch->has_lost = true;
        return false;
    }
    wmemcpy(look->path + len, L"\\*", 3);
    HANDLE find = sbx_win()->FindFirstFileW(look->path, &entry);
    if (find == INVALID_HANDLE_VALUE) {
        return false; /* a file, or gone again */
    }
    bool is_found = false;
    do {
        size_t name = wcslen(entry.cFileName);
        if (is_dots(entry.cFileName)) {
            continue;
        }
        if (look->left == 0 || len + 1 + name > NAME_MAX_UNITS) {
            look->watch->has_lost = true;
            break;
        }
        look->left--;
        wmemcpy(look->path + len + 1, entry.cFileName, name + 1);
        bool is_followed =
            (entry.dwFileAttributes & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT)) ==
            FILE_ATTRIBUTE_DIRECTORY;
        is_found = is_protected(look->watch, look->root, look->path + look->start) ||
                   (is_followed && look_below(look, len + 1 + name, depth + 1));
    } while (!is_found && sbx_win()->FindNextFileW(find, &entry));
    (void)sbx_win()->FindClose(find);
    return is_found;
}

/* A directory that is moved in is told by its own name only, whatever it contains. */
static bool brings_protected(struct sbx_watch *watch, const struct root *root, const wchar_t *name)
{
    size_t head = wcslen(root->pin->wide);
    size_t tail = wcslen(name);
    struct look *look = head + 1 + tail > NAME_MAX_UNITS ? NULL : calloc(1, sizeof *look);
    if (look == NULL) {
        watch->has_lost = true;
        return false;
    }
    look->watch = watch;
    look->root = root;
    look->start = head + 1;
    look->left = ENTRIES_MAX;
    wmemcpy(look->path, root->pin->wide, head);
    look->path[head] = L'\\';
    wmemcpy(look->path + head + 1, name, tail + 1);
    bool is_found = look_below(look, head + 1 + tail, 0);
    free(look);
    return is_found;
}

static void judge_one(struct sbx_watch *watch, const struct root *root,
                      const FILE_NOTIFY_INFORMATION *info)
{
    size_t units = info->FileNameLength / sizeof(wchar_t);
    wchar_t *name = calloc(units + 1, sizeof *name);
    if (name == NULL) {
        watch->has_lost = true;
        (void)sbx_win()->SetEvent(watch->alarm); /* unsure means ended */
        return;
    }
    memcpy(name, info->FileName, units * sizeof *name);
    if (is_protected(watch, root, name) || brings_protected(watch, root, name)) {
        (void)sbx_win()->SetEvent(watch->alarm);
    }
    free(name);
}

static void judge(struct sbx_watch *watch, struct root *root, DWORD bytes)
{
    static const DWORD head = offsetof(FILE_NOTIFY_INFORMATION, FileName);
    if (bytes == 0) {
        watch->has_lost = true; /* the buffer was too small for what happened at once */
        return;
    }
    for (DWORD at = 0; at + head <= bytes;) {
        const FILE_NOTIFY_INFORMATION *info = (const void *)(root->buffer + at);
        if (info->Action == FILE_ACTION_ADDED || info->Action == FILE_ACTION_RENAMED_NEW_NAME) {
            judge_one(watch, root, info);
        }
        if (info->NextEntryOffset == 0) {
            break;
        }
        at += info->NextEntryOffset;
    }
}

/* ---- watching -------------------------------------------------------------------------------- */

static bool ask(struct root *root)
{
    root->is_asked = sbx_win()->ReadDirectoryChangesW(
        root->directory, root->buffer, BUFFER_BYTES, TRUE,
        FILE_NOTIFY_CHANGE_FILE_NAME | FILE_NOTIFY_CHANGE_DIR_NAME, NULL, &root->overlapped, NULL);
    return root->is_asked;
}

static void take(struct sbx_watch *watch, struct root *root)
{
    DWORD bytes = 0;
    if (sbx_win()->GetOverlappedResult(root->directory, &root->overlapped, &bytes, FALSE)) {
        judge(watch, root, bytes);
    } else {
        watch->has_lost = true;
    }
    root->is_asked = false;
}

static DWORD WINAPI watch_all(void *argument)
{
    struct sbx_watch *watch = argument;
    HANDLE handles[MAXIMUM_WAIT_OBJECTS];
    for (DWORD i = 0; i < watch->count; i++) {
        handles[i] = watch->roots[i]->overlapped.hEvent;
    }
    handles[watch->count] = watch->stop; /* last, so that what is there already comes first */
    for (;;) {
        DWORD got = sbx_win()->WaitForMultipleObjects(watch->count + 1, handles, FALSE, INFINITE);
        DWORD index = got - WAIT_OBJECT_0;
        if (got >= WAIT_OBJECT_0 + watch->count) {
            watch->has_lost |= index != watch->count;
            return 0;
        }
        take(watch, watch->roots[index]);
        if (!ask(watch->roots[index])) {
            watch->has_lost = true;
            return 0;
        }
    }
}

/* ---- opening and closing --------------------------------------------------------------------- */

static void close_root(struct root *root)
{
    DWORD bytes;
    if (root->is_asked && sbx_win()->CancelIoEx(root->directory, &root->overlapped)) {
        /* Until the system says so the buffer is still its. */
        (void)sbx_win()->GetOverlappedResult(root->directory, &root->overlapped, &bytes, TRUE);
    }
    sbx_handle_close(&root->directory);
    sbx_handle_close(&root->overlapped.hEvent);
    free(root);
}

static void discard(struct sbx_watch *watch)
{
    for (DWORD i = 0; i < watch->count; i++) {
        close_root(watch->roots[i]);
    }
    sbx_handle_close(&watch->stop);
    sbx_handle_close(&watch->alarm);
    sbx_handle_close(&watch->thread);
    free(watch->path);
    free(watch);
}

static enum sbx_code open_root(struct sbx_watch *watch, const struct sbx_pin *pin,
                               struct sbx_err *err)
{
    struct root *root = calloc(1, sizeof *root);
    if (root == NULL) {
        return sbx_err_nomem(err);
    }
    watch->roots[watch->count++] = root;
    root->pin = pin;
    const char *call = "CreateFileW";
    root->directory = sbx_win()->CreateFileW(
        pin->wide, FILE_LIST_DIRECTORY, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL, OPEN_EXISTING,
        FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT | FILE_FLAG_OVERLAPPED, NULL);
    bool is_open = sbx_handle_is_open(root->directory);
    if (is_open) {
        call = "CreateEventW";
        root->overlapped.hEvent = sbx_win()->CreateEventW(NULL, FALSE, FALSE, NULL);
        is_open = root->overlapped.hEvent != NULL;
    }
    if (is_open) {
        call = "ReadDirectoryChangesW";
        is_open = ask(root);
    }
    if (!is_open) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, call, "cannot watch \"%s\" for protected names",
                             pin->path.text);
    }
    return SBX_OK;
}

static enum sbx_code open_all(struct sbx_watch *watch, const struct sbx_pin *pins, size_t count,
                              struct sbx_err *err)
{
    AUTO_ARENA scratch;
    sbx_arena_init(&scratch, DECIDE_ARENA);
    enum sbx_code code = SBX_OK;
    for (size_t i = 0; i < count && code == SBX_OK; i++) {
        struct sbx_decision decision = sbx_policy_decide(&scratch, watch->policy, pins[i].path);
        if (!pins[i].is_directory || decision.access != SBX_ACCESS_WRITE) {
            continue;
        }
        code = watch->count == ROOTS_MAX
                   ? sbx_err_set(err, SBX_E_LIMIT, "more than %d writable roots cannot be watched",
                                 ROOTS_MAX)
                   : open_root(watch, &pins[i], err);
    }
    if (code != SBX_OK || watch->count == 0) {
        return code;
    }
    const char *call = "CreateEventW";
    watch->stop = sbx_win()->CreateEventW(NULL, TRUE, FALSE, NULL);
    watch->alarm = watch->stop == NULL ? NULL : sbx_win()->CreateEventW(NULL, TRUE, FALSE, NULL);
    if (watch->alarm != NULL) {
        call = "CreateThread";
        watch->thread = sbx_win()->CreateThread(NULL, 0, watch_all, watch, 0, NULL);
    }
    if (watch->thread == NULL) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, call, "cannot watch for protected names");
    }
    return SBX_OK;
}

enum sbx_code sbx_watch_open(const struct sbx_policy *policy, const struct sbx_pin *pins,
                             size_t pin_count, struct sbx_watch **out, struct sbx_err *err)
{
    struct sbx_watch *watch = calloc(1, sizeof *watch);
    if (watch == NULL) {
        return sbx_err_nomem(err);
    }
    watch->policy = policy;
    enum sbx_code code = open_all(watch, pins, pin_count, err);
    if (code != SBX_OK || watch->count == 0) {
        discard(watch);
        watch = NULL;
    }
    if (code == SBX_OK) {
        *out = watch;
    }
    return code;
}

HANDLE sbx_watch_alarm(const struct sbx_watch *watch)
{
    return watch == NULL ? NULL : watch->alarm;
}

void sbx_watch_close(struct sbx_watch *watch, struct sbx_arena *arena, struct sbx_watched *out)
{
    *out = (struct sbx_watched){0};
    if (watch == NULL) {
        return;
    }
    (void)sbx_win()->SetEvent(watch->stop);
    if (!sbx_handle_has_ended(watch->thread, STOP_WAIT_MS)) {
        out->has_lost = true;
        return; /* it is the thread's for good */
    }
    out->has_lost = watch->has_lost;
    if (watch->path != NULL) {
        out->path = sbx_arena_copy(arena, watch->path, strlen(watch->path));
    }
    discard(watch);
}
